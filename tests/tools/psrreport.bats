#!/usr/bin/env bats
# psrreport: the page of a folder, what may be missing or wrong in it, hostile names, and a browser.

load helper

# make_folder NAME [OPTION]...: d/ as the tools leave it: a mask, single pulses, lists, folds; options are fakebin's.  That of a
# name without options is made once, where bats has a folder of the run.
make_folder() {
    local kept=${BATS_RUN_TMPDIR:+$BATS_RUN_TMPDIR/psrreport}
    if [ "$*" != J0000 ] || [ -z "$kept" ]; then
        make_new_folder "$@"
    else
        [ -d "$kept" ] || (mkdir "$kept.part" && cd "$kept.part" && make_new_folder "$@" && mv "$kept.part" "$kept")
        cp -a "$kept"/* .
    fi
    pictures=0
    [ "$(ls d/*.pfd.png 2>/dev/null | wc -l)" -eq 0 ] || pictures=1
}

make_new_folder() {
    fakebin -seed 5 -tobs 20 -tsamp 1024 -nchans 32 -nbits 8 -fch1 1500 -foff 8 -source "$1" \
        -add "pulsar period=0.0893 dm=40 width=0.0045 snr=40" -add "burst dm=60 t=11.27 width=0.004 snr=30" "${@:2}" -o obs.fil
    mkdir d
    gpurfifind -q -time 2 -o d/obs obs.fil
    gpudedisp -q -nobary -lodm 0 -dmstep 10 -numdms 10 -singlepulse -accelsearch "-zmax 0 -numharm 8" \
        -nowrite -o d/obs obs.fil
    accelsift -o d/obs.sift -o d/obs.csv -o d/obs.cands.json d/obs_DM*_ACCEL_0
    gpufold -q -topo -nosearch -n 32 -nsub 8 -npart 8 -candfile d/obs.sift -o d/obs obs.fil
    printf '%s\n' '{"step": "mask", "command": ["gpurfifind", "-o", "a b", "obs.fil"], "start_utc": "2026-01-02T03:04:05Z", "seconds": 0.5, "outputs": [{"name": "obs_rfifind.mask", "bytes": 2048}], "version": "9.9"}' >d/obs.steps.json
}

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# count PATTERN: how often it is in the page.
count() {
    grep -oE -- "$1" d/report.html | wc -l
}

# column NAME FILE: the values of a column of comma-separated values, without its head.
column() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$2"
}

check() {
    "$builddir/tests/support/page_check" "${1:-d/report.html}"
}

@test "a page with candidates, folds, bursts and steps; the same bytes each time" {
    make_folder J0000
    psrreport d
    check
    n=$(grep -c '^obs_DM' d/obs.sift)
    [ "$n" -ge 1 ]
    [ "$(count '<td class="fold">(<label|no picture)')" -ge "$n" ]
    [ "$(count 'obs_DM40.00_ACCEL_0:1<')" -eq 1 ]
    grep -oE 'data-v="0.08[0-9]*"' d/report.html | awk -F'"' 'NR == 1 { exit !($2 > 0.0892 && $2 < 0.0894) }'
    [ "$(count '<code>gpurfifind -o &#39;a b&#39; obs.fil</code>')" -eq 1 ]
    [ "$(count '>1, 2 KiB<')" -eq 1 ]
    [ "$(count 'id="bursts"')" -eq 1 ]
    [ "$(count 'http:|https:')" -eq 0 ]
    [ "$(count '<title>J0000: d</title>')" -eq 1 ]
    cp d/report.html before.html
    cp d/candidates.csv before.csv
    psrreport d
    cmp d/report.html before.html
    cmp d/candidates.csv before.csv
    [ -z "$(find . -name '*.part*')" ]
    # Verdicts that the page saved come back, unless the candidate is another one now.
    printf 'candidate,period_s,dm,verdict\n"obs_DM40.00_ACCEL_0:1",0.0893,40,accepted\n"obs_DM40.00_ACCEL_0:1",0.1893,40,rejected\n' >verdicts.csv
    psrreport -verdicts verdicts.csv d 2>said
    check
    grep -q 'verdicts.csv: 1 verdicts are of candidates that are not in d' said
    [ "$(count '<tr data-c="obs_DM40.00_ACCEL_0:1" data-verdict="accepted">')" -eq 1 ]
    [ "$(count '<tr [^>]*data-verdict=')" -eq 1 ]
    sed 's/rejected/maybe/' verdicts.csv >wrong.csv
    run -3 psrreport -verdicts wrong.csv d
    [[ $output == *"wrong.csv: line 3: "* ]]
    run -1 psrreport -verdicts verdicts.csv -o verdicts.csv d
}

@test "the period and the sigma after trials are those that gpufold tells" {
    make_folder J0000
    gpufold -q -topo -nosearch -n 32 -nsub 8 -npart 8 -json -candfile d/obs.sift -o d/obs obs.fil >d/obs.fold.json
    psrreport d
    name=$(grep -oE 'obs_DM40.00_ACCEL_0_Cand_1"' d/obs.fold.json)
    p=$(grep "$name" d/obs.fold.json | sed 's/.*"p_s_topo": \([0-9.]*\).*/\1/')
    f=$(column f0_opt d/candidates.csv | head -n 1)
    [ "$(count '>After trials<')" -ge 1 ]
    [ "$(count ">123.4<")" -eq 0 ]
    sed -i "/$name/s/\"p_ratio\": 1,/\"p_ratio\": 2,/; /$name/s/\"sigma_trials\": [0-9.]*/\"sigma_trials\": 123.4/" d/obs.fold.json
    psrreport d
    check
    [ "$(count ">123.4<")" -eq 1 ]
    grep -oE 'data-v="[0-9.]*">[0-9.]*<' d/report.html | awk -F'"' -v p="$p" '$2 > 1.999999 * p && $2 < 2.000001 * p { n++ } END { exit n != 1 }'
    column f0_opt d/candidates.csv | awk -v f="$f" '{ q = f / $1; n += q > 1.999999 && q < 2.000001 } END { exit n != 1 }'
    # A fold that was made anew has other numbers.
    sed -i "/$name/s/\"sigma\": [0-9.]*/\"sigma\": 1/" d/obs.fold.json
    psrreport d
    [ "$(count ">123.4<")" -eq 0 ]
    sed -i "/$name/s/\"p_ratio\": 2,/\"p_ratio\": 2.5,/" d/obs.fold.json
    run -3 --separate-stderr psrreport d
    one_line '^psrreport: .*p_ratio = 2.5, must be'
}

@test "all pictures are embedded, and can be decoded" {
    make_folder J0000
    [ "$pictures" = 1 ] || skip "built without cairo: NO picture was checked"
    n=$(ls d/*.pfd.png | wc -l)
    psrreport d
    run check
    [ "${output%% *}" -gt "$((n + 1))" ] # those of bursts too
    [ "$(count '<img ')" -eq "${output%% *}" ]
    [ "$(count 'and histograms of bursts" width="1000" height="880"')" -eq 1 ]
}

@test "spectra around bursts are drawn where they are, and a damaged picture is left out" {
    make_folder J0000
    [ "$pictures" = 1 ] || skip "built without cairo: NO picture was checked"
    gpudedisp -q -nobary -lodm 0 -dmstep 10 -numdms 10 -singlepulse -views 3 -nowrite -o d/obs obs.fil
    n=$(wc -l <d/obs.bursts.jsonl)
    [ "$n" -ge 1 ]
    [ "$n" -le 3 ]
    # The first is the best one of the list, and the brightest column of its series is the burst.
    [ "$(sed -n 's/.*"time_s": \([0-9]*\.[0-9][0-9]\).*/\1/p' d/obs.bursts.jsonl | head -n 1)" = "$(grep -v '^#' d/obs.cand | head -n 1 | cut -f3 | cut -c1-5)" ]
    head -n 1 d/obs.bursts.jsonl | sed 's/.*"series": {"start_s": \([^,]*\), "step_s": \([^,]*\),.*"cells": "\([0-9a-f]*\)"}, "aligned.*/\1 \2 \3/' >series
    awk '{ n = length($3) / 2; for (i = 0; i < n; i++) if (substr($3, 2 * i + 1, 2) == "ff") { t = $1 + $2 * i; exit !(t > -0.01 && t < 0.01) } exit 1 }' series
    psrreport d
    run check
    [ "$(count 'width="1000" height="680"')" -eq "$n" ]
    sed -i '1s/"cells": "../"cells": "zz/' d/obs.bursts.jsonl
    psrreport d
    check
    [ "$(count 'width="1000" height="680"')" -eq "$((n - 1))" ]
    echo '{"time_s"' >>d/obs.bursts.jsonl
    run -3 --separate-stderr psrreport d
    one_line '^psrreport: d/obs.bursts.jsonl: line [0-9]*: byte '
    refuses 2 'views.*singlepulse' gpudedisp -q -nowrite -v -views 3 -o x obs.fil
}

@test "the three formats of a list give the same table" {
    make_folder J0000
    psrreport d
    sed -n '/id="candidates"/,/<.table>/p' d/report.html >json
    rm d/obs.cands.json
    psrreport d
    sed -n '/id="candidates"/,/<.table>/p' d/report.html >csv
    cmp json csv
    rm d/obs.csv
    psrreport d
    # The text has fewer digits.
    diff <(grep -oE 'obs_DM[^<]*' json) <(sed -n '/id="candidates"/,/<.table>/p' d/report.html | grep -oE 'obs_DM[^<]*')
    cp d/report.html text.html
    rm d/obs.sift
    psrreport d
    [ "$(count 'sifted here')" -eq 1 ]
    diff <(grep -oE 'obs_DM[0-9.]*_ACCEL_0:[0-9]*' text.html) <(grep -oE 'obs_DM[0-9.]*_ACCEL_0:[0-9]*' d/report.html)
}

@test "candidates with marks come after the others, in a table of their own, in each format" {
    make_folder J0000 -add "pulsar period=0.7 dm=0 width=0.35 snr=40"
    # A wave that any DM fits is at a line of DM 0 that is as strong; the pulsar, at another, is none.
    fails grep -q '"marks": "line' d/obs.cands.json
    hz=$(grep '"period_s": 0\.\(69\|70\)' d/obs.cands.json | sed -n 's/.*"freq_hz": \([0-9.]*\).*/\1/p' | head -n 1)
    file=$(grep "\"freq_hz\": $hz" d/obs.cands.json | sed -n 's/.*"file": "d.\([^"]*\)", "cand": \([0-9]*\).*/\1:\2/p' | head -n 1)
    pulsar=$(sed -n 's/.*"freq_hz": \(11\.[12][0-9.]*\).*/\1/p' d/obs.cands.json | head -n 1)
    printf '%s 0.1 # power 1e9\n' "$pulsar" >p.zaplist
    accelsift -lines p.zaplist -json d/obs_DM*_ACCEL_0 >said
    grep -q "\"freq_hz\": $pulsar.*\"marks\": \"-\"" said
    printf '%s 0.1 # power 1e9\n' "$hz" >z.zaplist
    accelsift -lines z.zaplist -o d/obs.sift -o d/obs.csv -o d/obs.cands.json d/obs_DM*_ACCEL_0
    n=$(grep -c '^obs_DM' d/obs.sift)
    marked=$(grep -c '^obs_DM.* ! line' d/obs.sift)
    [ "$marked" -ge 1 ]
    [ "$(grep -c '^obs_DM' d/obs.sift)" -gt "$marked" ] || printf '%s\n' "all $n are marked"
    # In the list too.
    grep '^obs_DM' d/obs.sift | tail -n "$marked" | grep -vc ' ! ' | grep -qx 0
    for list in d/obs.cands.json d/obs.csv d/obs.sift; do
        psrreport d
        check
        [ "$(sed -n '/id="marked"/,/<.table>/p' d/report.html | grep -c '^<tr data-c')" -eq "$marked" ]
        sed -n '/id="marked"/,/<.table>/p' d/report.html | grep -q '<td>line+dm?</td>'
        fails grep -q "$file<" <(sed -n '/id="candidates"/,/<.table>/p' d/report.html)
        tail -n +2 d/candidates.csv | tail -n "$marked" | grep -vc ',line+dm?$' | grep -qx 0
        rm "$list"
    done
    # Without a list, by that of the mask's tool.
    cp z.zaplist d/obs_rfifind.zaplist
    psrreport d
    sed -n '/id="marked"/,/<.table>/p' d/report.html | grep -q "$file<"
}

@test "known pulsars have a table of their own, and the first lines say which, and at which ratio" {
    make_folder J0000
    printf 'PSRJ,F0,DM\nJ1111+2222,%s,40\nJ3333+4444,%s,40\n' 11.19820829 22.39641658 >cat.csv
    accelsift -catalogue cat.csv -o d/obs.sift -o d/obs.csv -o d/obs.cands.json d/obs_DM*_ACCEL_0
    n=$(grep -c '^obs_DM.* = .*J1111+2222' d/obs.sift)
    [ "$n" -ge 1 ]
    all=$(grep -c '^obs_DM' d/obs.sift)
    for list in d/obs.cands.json d/obs.csv d/obs.sift; do
        psrreport d
        check
        [ "$(sed -n '/id="known"/,/<.table>/p' d/report.html | grep -c '^<tr data-c')" -eq "$n" ]
        sed -n '/id="known"/,/<.table>/p' d/report.html | grep -q '<td>J1111+2222</td>'
        fails grep -q 'J1111+2222' <(sed -n '/id="candidates"/,/<.table>/p' d/report.html)
        grep -q "^<p id=\"summary\">.* $n of known pulsars: .*J1111+2222" d/report.html
        rm "$list"
    done
}

@test "lists of gpuffa without a sifted list are sifted, and what found a candidate is told" {
    fakebin -q -seed 5 -tobs 64 -tsamp 1000 -nchans 8 -nbits 8 -fch1 1500 -foff 4 -add "pulsar period=1.3 dm=40 width=0.03 snr=25" -o slow.fil
    mkdir d
    gpudedisp -q -nobary -lodm 0 -dmstep 20 -numdms 5 -ffa "-pmin 0.5 -pmax 5" -nowrite -o d/obs slow.fil
    psrreport d
    check
    [ "$(count 'sifted here, with its defaults, from 1 lists')" -eq 1 ]
    sed -n '/id="candidates"/,/<.table>/p' d/report.html >table
    grep -q 'obs_DM[0-9.]*_ffa.csv:1<.*>1\.\(29\|30\)[0-9]*<.*<td>ffa</td>' table
    # The text of a list says it after the hits, where a note may be, too.
    accelsift -o d/obs.sift d/obs_ffa.csv
    grep -q 'by ffa' d/obs.sift
    psrreport d
    [ "$(count 'id="known"')" -eq 0 ]
    sed -n '/id="candidates"/,/<.table>/p' d/report.html | grep -q 'obs_DM[0-9.]*_ffa.csv:1<.*<td>ffa</td>'
}

@test "each number of the score and each mark is explained" {
    make_folder J0000
    psrreport d
    for word in alpha beta gamma share_bands share_parts halves_band halves_time accel_ok covered snr dm0_sigma bands_ratio pulse_share \
        line dm0 narrow turns edge 'dm\?' clip; do
        [ "$(count "<dt>$word</dt><dd>[A-Za-z1]")" -eq 1 ] || { echo "no word on $word"; false; }
    done
}

@test "what is missing is left out, and the page says so" {
    mkdir d
    psrreport d
    check
    for words in 'No .inf file' 'There is no candidate' 'No single pulses were searched' 'There is no mask' 'Not known'; do
        [ "$(count "$words")" -eq 1 ] || { echo "not there: $words"; false; }
    done
    [ "$(wc -l <d/candidates.csv)" -eq 1 ]
}

@test "a file that is wrong is one line, the rest is done, and the exit status is 1" {
    make_folder J0000
    psrreport d
    rows=$(count '<tr>')
    head -c 1000 "$(ls d/*.pfd | head -n 1)" >d/bad.pfd
    run -3 --separate-stderr psrreport d
    one_line '^psrreport: d/bad.pfd: '
    check
    [ "$(count '<li>d/bad.pfd: ')" -eq 1 ]
    [ "$(count '<tr>')" -eq "$rows" ]
    rm d/bad.pfd
    echo '{"step": ' >>d/obs.steps.json
    run -3 --separate-stderr psrreport d
    one_line '^psrreport: d/obs.steps.json: line 2: byte '
    [ "$(count '>9.9<')" -eq 1 ]
    sed -i 2d d/obs.steps.json
    printf 'x y z\n' >d/obs_DM99.00.singlepulse
    run -3 --separate-stderr psrreport d
    one_line "^psrreport: d/obs_DM99.00.singlepulse: line 1: DM: 'x' is not a number"
    rm d/obs_DM99.00.singlepulse
    echo 'no picture' >d/other.png
    run -0 --separate-stderr psrreport d
    one_line '^psrreport: d/other.png: no PNG, or one that is cut off'
    check
    rm d/other.png
    ln -s obs.csv d/other.png
    run -0 --separate-stderr psrreport d
    one_line '^psrreport: d/other.png: no PNG, or one that is cut off'
    check
}

@test "hostile names and texts are text" {
    evil=$'<script>alert("1")<b>&\'\n\xff'
    make_folder '<script>alert(1)</script>"&'
    echo 'x' >"d/$evil.pfd"
    printf '%s\n' '{"step": "</code><script>alert(2)</script>", "command": ["a", "<b>\u0000\ud800", "\n\t"], "seconds": 1}' >>d/obs.steps.json
    sed -i '2s/,[^,]*,[^,]*\(\(,[^,]*\)\{11\}\)$/,"<script>alert(3)<\/script>","<script>"\1/' d/obs.csv
    rm d/obs.cands.json
    run -3 --separate-stderr psrreport -title '<script>"' d
    one_line '^psrreport: d/<script>'
    check
    [ "$(count '<script')" -eq 1 ]
    [ "$(count '&lt;script&gt;alert\(3\)')" -eq 2 ] # in the table, and in the first lines
    [ "$(count '&lt;script&gt;alert\(2\)')" -eq 1 ]
    [ "$(count '<title>&lt;script&gt;&quot;</title>')" -eq 1 ]
}

@test "pipes are passed over, and a name that begins a formula is text" {
    for name in '=1+1' '+1' '-1' '@x'; do
        rm -rf d
        make_folder "$name"
        mkfifo d/x.cand d/x.png d/x_DM1.00_ACCEL_0 d/x.steps.json
        timeout 60 psrreport d
        fails grep -q ",$name," d/candidates.csv
        fails grep -q "\"$name" d/candidates.csv
        grep -qF ",'$name," d/candidates.csv
    done
}

@test "the policy lets the page's own script run, and no other" {
    mkdir d
    psrreport d
    sum=$(sed -n '/<script>/,/<\/script>/p' d/report.html | sed '1s/.*<script>//; $s/<\/script>.*//' | head -c -1 |
        sha256sum | cut -c 1-64 | sed 's/../\\x&/g')
    printf "$sum" | base64 >sum
    grep -qF "script-src 'sha256-$(cat sum)'" d/report.html
}

@test "pages are bounded: rows, bursts and pictures, and say what is left out" {
    make_folder J0000
    [ "$pictures" = 1 ] || skip "built without cairo: NO bound was checked"
    psrreport -q -maxsize 1K d
    check
    [ "$(count 'pictures are linked, not embedded')" -eq 1 ]
    [ "$(count 'href="./obs_obs_DM[^"]*pfd.png"')" -ge 1 ]
    head -n 1 d/obs.csv >head
    rm d/obs.sift d/obs.cands.json d/*.pfd
    {
        cat head
        awk 'BEGIN { for (i = 5000; i; i--) print "x_ACCEL_0," i ",10,20," i ",1,30,30,0." 1000 + i "," i "," i ",0,20,0,2,5,15,fourier,whole,,-,,,,,,,,,,," }'
    } >d/obs.csv
    psrreport -rows 100 d
    check
    [ "$(count 'The best 100 of 5000 candidates')" -eq 1 ]
    [ "$(count 'x_ACCEL_0:5000<')" -eq 1 ]
    [ "$(count 'x_ACCEL_0:4900<')" -eq 0 ]
    [ "$(stat -c %s d/report.html)" -lt 3000000 ]
}

@test "candidates.csv has CandyJar's columns" {
    make_folder 'A,B utc_start'
    psrreport -pointing_id 7 -beam_id 3 -beam_name b03 d
    f=d/candidates.csv
    [ "$(head -n 1 $f)" = pointing_id,beam_id,beam_name,source_name,ra,dec,gl,gb,mjd_start,utc_start,f0_user,f0_opt,f0_opt_err,f1_user,f1_opt,f1_opt_err,acc_user,acc_opt,acc_opt_err,dm_user,dm_opt,dm_opt_err,sn_fft,sn_fold,pepoch,maxdm_ymw16,dist_ymw16,png_path,metafile_path,filterbank_path,candidate_tarball_path,tobs,marks ]
    [ "$(wc -l <$f)" -eq "$(($(ls d/*.pfd | wc -l) + 1))" ]
    awk -F, 'NF != 33 { exit 1 } { for (i = 1; i <= NF; i++) if ($i == "") exit 1 }' $f
    [ "$(grep -c utc_start $f)" -eq 1 ]
    [ "$(column source_name $f | head -n 1)" = 'A_B utc-start' ]
    [ "$(column beam_name $f | head -n 1)" = b03 ]
    [ "$(column utc_start $f | head -n 1)" = 1995-10-10T00:00:00.000 ]
    column f0_opt $f | awk 'NR == 1 { exit !($1 > 11.197 && $1 < 11.199) }'
    column sn_fft $f | awk 'NR == 1 { exit !($1 > 8) }'
    column ra $f | grep -qx 0.0
    column gl $f | grep -qx NaN
}

@test "galactic coordinates are those of the position" {
    cp "$golden/fold/commands" commands
    make_radec
    gpufold -q -topo -nosearch -p 0.02 -dm 40 -n 16 -nsub 4 -npart 3 -o x radec.fil
    gpudedisp -q -nobary -lodm 40 -numdms 1 -o x radec.fil
    mkdir d
    mv x_* d
    psrreport d
    # The page has them as astronomers write them, the .inf with more digits.
    inf=$(sed -n 's/.*Right Ascension.*= *//p' d/x_DM40.00.inf)
    [ "$(grep -oE 'RA, J2000</td><td>[0-9:.]+' d/report.html | cut -d'>' -f3)" = "${inf%?}" ]
    inf=$(sed -n 's/.*Declination.*= *//p' d/x_DM40.00.inf)
    [ "$(grep -oE 'Dec, J2000</td><td>[-+0-9:.]+' d/report.html | cut -d'>' -f3 | tr -d +)" = "${inf%??}" ]
    IFS=: read -r h m s < <(column ra d/candidates.csv)
    IFS=: read -r deg min sec < <(column dec d/candidates.csv)
    # The pole of the galaxy is at 192.85948, 27.12825; the node at 32.93192.
    awk -v h="$h" -v m="$m" -v s="$s" -v d="$deg" -v n="$min" -v t="$sec" -v gl="$(column gl d/candidates.csv)" -v gb="$(column gb d/candidates.csv)" 'BEGIN {
        rad = atan2(0, -1) / 180
        a = 15 * (h + m / 60 + s / 3600) - 192.85948; if (d ~ /-/) { n = -n; t = -t }
        d = (d + n / 60 + t / 3600) * rad; p = 27.12825 * rad; a *= rad
        sb = sin(d) * sin(p) + cos(d) * cos(p) * cos(a)
        l = atan2(sin(d) * cos(p) - cos(d) * sin(p) * cos(a), cos(d) * sin(a)) / rad + 32.93192
        while (l < 0) l += 360; while (l >= 360) l -= 360
        dl = l - gl; if (dl > 180) dl -= 360; if (dl < -180) dl += 360
        b = atan2(sb, sqrt(1 - sb * sb)) / rad
        print l, b, gl, gb
        exit !(dl ^ 2 < 1e-8 && (b - gb) ^ 2 < 1e-8) }'
}

@test "several folders: one page, which names the bad one" {
    make_folder J0000
    psrreport d
    mkdir bad
    echo 'done' >bad/obs_mask.log
    touch -d 2020-01-01 bad/obs_mask.log
    printf '%s\n' 'begun' 'gpudedisp: x.fil: no header' >bad/obs.log
    echo 'done' >bad/obs_zap.log
    touch -d 2020-01-02 bad/obs_zap.log
    run -1 --separate-stderr psrreport -o all.html d bad none
    one_line '^psrreport: none: No such file or directory'
    check all.html
    grep -q '<a href="./d/report.html">d</a>' all.html
    grep -q 'no report: gpudedisp: x.fil: no header' all.html
    grep -q '1 folders are complete, 2 are not' all.html
    printf '# folders\nd\nbad\n' >list
    psrreport -overview -o two.html d bad
    script -qec "psrreport -overview -o shown.html d bad" terminal >/dev/null </dev/null
    tr '\r' '\n' <terminal | grep -q '^\[[#.]*\] *[0-9]*%  [0-9.e+]* folders/s'
    psrreport -o listed.html -list list -csv all.csv
    grep -q 'Fold sigma' listed.html
    [ "$(head -n 1 all.csv)" = "$(head -n 1 d/candidates.csv)" ]
    diff <(sed "s|,d/\\([^,]*\\.png\\),|,\\1,|" all.csv) d/candidates.csv
    cmp two.html listed.html
    # A picture for the folder that has folds, controls to filter, and links where pictures are too large.
    [ "$(grep -c '<tr data-c=' two.html)" = 2 ]
    [ "$(grep -o 'src="data:image/png' two.html | wc -l)" = 1 ]
    grep -q '<select data-k="State">' two.html
    grep -q 'data-k="Fold sigma" data-side="from"' two.html
    run -0 --separate-stderr psrreport -overview -maxsize 1 -o linked.html d bad
    [[ $stderr == *"1 pictures are linked, not embedded"* ]]
    grep -oE 'href="\./d/[^"]*\.png">picture' linked.html
    check linked.html
    refuses 1 '^psrreport: none: No such file' psrreport -o three.html -list none
    [ ! -e three.html ]
}

# make_beam NAME RA FREQUENCY...: what a search of a beam leaves of these signals, strongest first, and a burst in all but b1.
make_beam() {
    mkdir "$1"
    printf ' %-38s =  %s\n' 'Telescope used' Parkes 'J2000 Right Ascension (hh:mm:ss.ssss)' "$2" \
        'J2000 Declination     (dd:mm:ss.ssss)' -10:00:00.0000 'Epoch of observation (MJD)' 60000.25 \
        'Number of bins in the time series' 60000 'Width of each time series bin (sec)' 0.001 'Any breaks in the data? (1 yes, 0 no)' 0 >"$1/x_rfifind.inf"
    {
        cat head
        n=0
        for hz in "${@:3}"; do
            printf 'x_ACCEL_0,%d,%s,20,%s,1,30,30,%s,%s,5,0,%s,0,2,5,15,fourier,whole,,%s,,,,,,,,,,,\n' \
                $((++n)) 50 $((20 - n)) "$(awk -v f="$hz" 'BEGIN { printf "%.9f", 1 / f }')" "$hz" 60 -
        done
    } >"$1/x.csv"
    {
        printf '# S/N\tsample\ttime_s\tfilter\tDM_trial\tDM\tmembers\tfirst\tlast\tmarks\n'
        [ "$1" = b1 ] || printf '20.00\t4000\t4.000000\t2\t3\t30\t5\t3996\t4004\t-\n'
        printf '9.00\t%d\t%d.000000\t2\t3\t30\t5\t%d\t%d\t-\n' "${1#b}0000" "${1#b}0" "${1#b}0000" "${1#b}0002"
    } >"$1/x.cand"
}

# cells COLUMN FOLDER...: the texts of the overview's cells, a line each.
cells() {
    python3 - "$@" <<'END'
import re, sys
page = open("all.html").read()
heads = re.findall(r"<th[^>]*><button[^>]*>(.*?)</button>", page)
for column, folder in zip(sys.argv[1::2], sys.argv[2::2]):
    row = re.search(r'<tr data-c="%s">.*?</tr>' % folder, page, re.S).group(0)
    print(re.sub("<[^>]*>", "", re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)[heads.index(column)]))
END
}

@test "what most beams of a pointing see at once is marked, and comes after the rest" {
    command -v python3 >/dev/null || skip "there is no python3"
    make_folder J0000
    head -n 1 d/obs.csv >head
    for b in 1 2 3 4 5; do
        # 50.005 Hz is within the resolution of 1/60 Hz of 50 Hz; b2 and b3 are neighbours with one pulsar.
        make_beam b$b 05:0$b:00.0 50.00$((b % 2 * 5)) 1$b.3 $([ $b = 2 ] || [ $b = 3 ] && echo 7.77)
    done
    psrreport -o all.html b?
    check all.html
    local asked=()
    for b in 1 2 3 4 5; do asked+=('Period (s)' b$b Beams b$b 'Best burst S/N' b$b); done
    diff <(cells "${asked[@]}") <(awk 'BEGIN {
        for (b = 1; b <= 5; b++) { p = sprintf("%.9f", 1 / (10 + b + 0.3)); sub(/0*$/, "", p); print p "\n1 of 5\n9.00" } }')
    grep -q '5 candidates and 4 bursts are seen in more than half of the beams of a pointing' all.html
    # Searches of one direction are one beam, and observations at other times are others.
    make_beam b9 05:01:00.0 50
    psrreport -o all.html b1 b9
    [ "$(cells Beams b1 'Best sigma' b1)" = $'\n19.0' ]
    sed -i 's/60000.25/60000.26/' b9/x_rfifind.inf
    psrreport -o all.html b1 b2 b9
    [ "$(cells Beams b2 'Best sigma' b9)" = $'1 of 2\n19.0' ]
}

@test "a second run into the folder takes the place of the first" {
    make_folder J0000
    for _ in 1 2; do
        psrreport -q -o d/x.html -csv d/x.csv d
        [ -s d/x.html ]
        rm d/x.html
        echo other >d/x.html
    done
    echo other >d/x.csv
    refuses 1 'd/x.csv would be written over' psrreport -o d/x.html -csv d/x.csv d
}

@test "no output is an input, and nothing is left of what cannot be written" {
    make_folder J0000
    refuses 1 'obs.sift' psrreport -o d/obs.sift d
    refuses 1 'candidates.csv|report.html|x.html' psrreport -o x.html -csv x.html d
    refuses 1 'none/x.html' psrreport -o none/x.html d
    refuses 1 '^psrreport: none: ' psrreport none
    refuses 2 'no folder given' psrreport
    refuses 2 'one folder' psrreport -verdicts x d d
    refuses 1 'x.html would be the page and' psrreport -o x.html -csv x.html d d
    refuses 1 'pfd would be written over' psrreport -csv "$(ls d/*.pfd | head -n 1)" d d
    leaves_no report.html
}

@test "in a browser the page sorts by a click, runs its script under the policy, and draws" {
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
        skip "no chromium: NOTHING was tried in a browser"
    make_folder J0000
    head -n 1 d/obs.csv >head
    rm d/obs.sift d/obs.cands.json
    printf 'a_ACCEL_0,%s,%s,20,%s,1,30,30,%s,5,5,0,20,0,2,5,15,fourier,whole,,%s,,,,,,,,,,,\n' 1 300 9 0.5 - 2 20 40 0.7 dm? 3 100 6 0.001 - >>d/obs.csv
    psrreport d
    # The same page with a further script, without the policy that forbids it.
    {
        grep -v Content-Security-Policy d/report.html | sed '/<\/body>/,$d'
        cat <<'END'
<script>
var out = [], saved = [];
function title(name, find) {
  return Array.from(document.querySelectorAll(find)).filter(function (e) { return e.textContent.indexOf(name) === 0; })[0];
}
function rows() {
  return Array.from(document.querySelectorAll("#candidates tbody tr")).filter(function (r) {
    return !r.hidden && r.getAttribute("data-c").indexOf("a_ACCEL") === 0; });
}
function say(column) {
  out.push(rows().map(function (r) { return r.cells[title(column, "#candidates th").cellIndex].textContent; }).join(" "));
}
function sort(column) { title(column, "#candidates th").firstChild.click(); say("DM ("); }
function set(column, side, value) {
  var c = document.querySelector("#filter [data-k^=\"" + column + "\"]" + (side ? "[data-side=" + side + "]" : ""));
  c.value = value;
  c.dispatchEvent(new Event("input"));
}
["DM (", "DM (", "Search", "Period"].forEach(sort);
set("DM (", "from", "30"); set("DM (", "to", "200"); say("DM ("); set("DM (", "from", ""); set("DM (", "to", "");
set("Marks", "", "dm?"); say("DM ("); set("Marks", "", "none"); say("DM ("); set("Marks", "", "");
set("Probability", "from", "0.1"); say("DM ("); set("Probability", "from", "");
rows()[0].querySelectorAll(".v button")[1].click();
rows()[1].querySelectorAll(".v button")[0].click();
set("Verdict", "", "rejected"); say("DM ("); set("Search", "from", "5.5"); say("DM (");
// What the two buttons save, without a file.
URL.createObjectURL = function (blob) { saved.push(blob.text()); return "#"; };
HTMLAnchorElement.prototype.click = function () {};
document.getElementById("save").click();
document.getElementById("export").click();
set("Verdict", "", ""); set("Search", "from", "");
var images = Array.from(document.images).filter(function (i) { return i.naturalWidth > 0; }).length;
var box = document.querySelector(".pic input"), before = box ? box.nextSibling.getBoundingClientRect().width : 0;
if (box) { box.click(); }
var grown = box && box.nextSibling.getBoundingClientRect().width > 1.5 * before;
Promise.all(saved).then(function (text) {
  document.body.setAttribute("data-out", out.join("|") + "|" + (images === document.images.length) + "|" + grown);
  document.body.setAttribute("data-csv", btoa(text[1]));
  document.body.setAttribute("data-page", btoa(unescape(encodeURIComponent(text[0]))));
});
</script>
</body></html>
END
    } >d/test.html
    go="timeout 60 $browser --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/profile --virtual-time-budget=3000"
    $go --dump-dom "file://$PWD/d/report.html" 2>log >dom || skip "$browser does not start: NOTHING was tried in it"
    grep -q '<span id="hint">' dom
    grep -q '<div id="filter">' dom
    $go --dump-dom "file://$PWD/d/test.html" 2>log >dom
    said=$(grep -o 'data-out="[^"]*"' dom)
    [[ $said == 'data-out="20.00 100.00 300.00|300.00 100.00 20.00|20.00 300.00 100.00|100.00 300.00 20.00|100.00|20.00|100.00 300.00||100.00|100.00|true|'* ]] || { echo "$said"; false; }
    [ "$pictures" = 0 ] || [[ $said == *'|true"' ]] || { echo "$said"; false; }
    grep -o 'data-csv="[^"]*"' dom | cut -d'"' -f2 | base64 -d >verdicts.csv
    diff verdicts.csv - <<'END'
candidate,period_s,dm,verdict
"a_ACCEL_0:3",0.001,100,rejected
"a_ACCEL_0:1",0.5,300,accepted
END
    # The saved page has the verdicts and the filters, which its script applies again.
    grep -o 'data-page="[^"]*"' dom | cut -d'"' -f2 | base64 -d | sed '/^var out = /,/^<\/script>/d' >d/saved.html
    grep -q '<tr data-c="a_ACCEL_0:1" data-verdict="accepted"' d/saved.html
    $go --dump-dom "file://$PWD/d/saved.html" 2>log >dom
    grep -q '<span id="shown">1 of [0-9]* rows shown, 1 accepted, 1 rejected.</span>' dom
    $go --screenshot="$PWD/shot.png" --window-size=1200,2000 "file://$PWD/d/report.html" 2>log >/dev/null
    [ "$(stat -c %s shot.png)" -gt 20000 ]
    # All columns of an overview fit 1200 px, with long names and reasons.
    mkdir p1030_20240101_123456_beam07_search
    printf 'x: /%0120d: no header\n' 7 >p1030_20240101_123456_beam07_search/x.log
    psrreport -o all.html d p1030_20240101_123456_beam07_search
    { grep -v Content-Security-Policy all.html | sed '/<\/body>/,$d'
      echo '<script>document.body.setAttribute("data-wide", document.documentElement.scrollWidth)</script></body></html>'; } >wide.html
    $go --window-size=1200,900 --dump-dom "file://$PWD/wide.html" 2>log >dom
    [ "$(grep -o 'data-wide="[0-9]*' dom | cut -d'"' -f2)" -le 1200 ]
}
