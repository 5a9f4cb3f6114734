#!/usr/bin/env bats
# psrsearch: finds what is there, repeats what has changed, and goes on after it was killed.

load helper

# x.fil: 8 s of 32 channels with two pulsars and a burst, of which a search of few trials has enough.
setup() {
    cd "$BATS_TEST_TMPDIR"
    make_sky 8.388608 -add "pulsar period=0.0273 dm=20 width=0.001 snr=30"
    run="psrsearch -hidm 100 -res 4 -fine 1 -numharm 4 -zmax 4 -ncands 3 -o d"
    one=${run/-ncands 3/-ncands 1} # for tests that are not of folds
}

# make_sky SECONDS [SIGNAL...]: x.fil, so long, with a pulsar and a burst.
make_sky() {
    fakebin -q -seed 7 -tobs "$1" -tsamp 512 -nchans 32 -nbits 8 -fch1 1500 -foff 8 -o x.fil \
        -add "pulsar period=0.0391 dm=40 width=0.002 snr=40" -add "burst dm=70 t=6 width=0.002 snr=25" "${@:2}"
}

# near GOT WANT TOLERANCE
near() {
    awk -v a="$1" -v b="$2" -v tol="$3" 'BEGIN { d = a - b; exit !(d <= tol && -d <= tol) }' ||
        { echo "$1 is not within $3 of $2"; false; }
}

# value KEY FILE: the first number of that name in JSON.
value() {
    grep -oE "\"$1\": [-0-9.e+]+" "$2" | head -n 1 | sed 's/.*: //'
}

# Steps that the last run began, as words.
begun() {
    sed -nE 's/^psrsearch: ([a-z]+): (gpu|ddplan|accelsift|psrreport).*/\1/p' said | tr '\n' ' '
}

# undated FILE: without dates and times.
undated() {
    sed -E 's/"(report.html|[^"]*.psrsearch.json)", "bytes": [0-9]+, "xxh": "[^"]*"/-/; s/"start_utc": "[^"]*", "seconds": [0-9.]+/-/; s/"seconds": \{[^}]*\}/-/' "$1"
}

# same_search DIR DIR: the same files with the same bytes, but for dates, times and messages.
same_search() {
    local f
    diff -rq -x '*.log' -x report.html -x '*.steps.json*' -x '*.psrsearch.json' "$1" "$2" || return 1
    for f in "$1"/steps/*.steps.jsonl "$1"/*.psrsearch.json; do
        cmp <(undated "$f") <(undated "$2/${f#"$1"/}") || return 1
    done
    [ -e "$1/report.html" ]
    [ -e "$2/report.html" ]
}

# top_files DIR: those beside pictures and folds.
top_files() {
    find "$1" -maxdepth 1 -type f ! -name '*.png' ! -name '*.pfd' ! -name '*.bestprof' -printf '%P\n' | sort
}

@test "the pulsar and the burst are found, and the summary says so" {
    make_sky 16.777216
    run=${run/-res 4 -fine 1/-res 2}
    printf 'NAME,P0,DM\nJ0000+0000,0.0391,40\n' >cat.csv
    $run -catalogue cat.csv -json x.fil >summary 2>said
    cmp summary d/x.psrsearch.json
    near "$(value period_s summary)" 0.0391 1e-5
    near "$(sed 's/.*"best"//' summary | grep -oE '"dm": [0-9.]+' | head -n 1 | cut -d' ' -f2)" 40 5
    near "$(value time_s summary)" 6 0.01
    near "$(sed 's/.*"best_burst"//' summary | grep -oE '"dm": [0-9.]+' | cut -d' ' -f2)" 70 5
    [ "$(value known summary)" -ge 1 ]
    [ "$(value candidates summary)" -eq "$(grep -c '^x_DM' d/x.sift)" ]
    [ "$(value bursts summary)" -eq "$(grep -vc '^#' d/x.cand)" ]
    [ "$(value folded summary)" -eq "$(ls d/*.pfd | wc -l)" ]
    grep -q '^psrsearch: best candidate: x_DM' said
    [[ $(begun) == "mask plan search sift fold "* ]]
    # The list has the numbers of the folds, and is in order of rank, of which the first row is the best.
    head -n 1 d/x.sift.csv | grep -q ',note,marks,alpha,beta,gamma,share_bands,share_parts,halves_band,halves_time,accel_ok,covered,probability,reasons$'
    near "$(value probability <(head -n 1 d/x.sift.jsonl))" "$(value probability <(grep -o '"best": {[^}]*}' summary))" 1e-9
    near "$(value probability <(head -n 1 d/x.sift.jsonl))" 0.95 0.05
    grep -o '"marks": "-".*"probability": [0-9.e-]*' d/x.sift.jsonl | sed 's/.*"probability": //' | sort -c -g -r
    # The page has what is in d/steps.
    grep -q 'gpurfifind -v .*</code>' d/report.html
    grep -q '>x_rfifind.png<\|alt="x_rfifind.png"\|-plot ROOT_rfifind.png' d/report.html
    # No series on disk, and a record of every file but messages and records.
    fails ls d/*.dat
    grep -oE '"name": "[^"]*", "bytes": [0-9]+' d/steps/x.steps.jsonl | sed 's/"//g; s/,//g' |
        while read -r _ name _ bytes; do [ "$(stat -c %s "d/$name")" -eq "$bytes" ]; done
    diff <(grep -oE '"name": "[^"]*", "bytes"' d/steps/x.steps.jsonl | cut -d'"' -f4 | sort) \
        <(find d -type f -printf '%P\n' | grep -vE '\.log$|steps\.jsonl$' | sort)
    # At the top is what people open.
    [ "$(top_files d | wc -l)" -le 20 ]
    fails eval "top_files d | grep -E 'rfifind|log$|plan$|steps'"
    for step in mask plan search sift fold score; do
        grep -q "^{\"step\": \"$step\", \"command\": \[\"" d/steps/x.steps.jsonl
        [ -s d/steps/x_$step.log ]
    done
}

@test "without a position all tools are topocentric, with one note each" {
    $run x.fil 2>said
    [ "$(grep -c 'position' said)" = 1 ]
    grep -q '^psrsearch: x.fil: the header has no position or date: times are topocentric$' said
    [ "$(cut -d, -f4,5 d/x.pulses.csv | sort -u | tr '\n' ' ')" = "frame,scale topocentric,UTC " ]
    fails grep -q '"p_s_bary": [^n]' d/x.fold.json
    # The same period, by hand.
    p=$(value p_s_topo <(head -n 1 d/x.fold.json))
    gpufold -p "$p" -dm 40 -fine -nodmsearch -refine -json -noplot -o f x.fil >f.json 2>said
    [ "$(grep -c 'position' said)" = 1 ]
    grep -q '"p_s_bary": null' f.json
    near "$(value p_s_topo f.json)" "$p" "$(value p_s_topo_error f.json)"
    gpudedisp -lodm 70 -numdms 1 -singlepulse -csv -o g x.fil 2>said
    [ "$(grep -c 'position' said)" = 1 ]
    grep -q '^ Barycentered?  *(1 yes, 0 no)  *=  0$' g_DM70.00.inf
    [ "$(cut -d, -f4,5 g.pulses.csv | sort -u | tr '\n' ' ')" = "frame,scale topocentric,UTC " ]
    # With one they are barycentric, and say nothing.
    gpufold -position 05:34:32,22:00:52 -site 10,50,100 -p "$p" -dm 40 -nosearch -noplot -json -o f x.fil >f.json 2>said
    fails grep -q position said
    grep -q '"p_s_bary": 0.039' f.json
}

@test "the printed commands do the same by hand" {
    mkdir a b
    (cd a && $run ../x.fil 2>../said)
    (cd b && $run -n ../x.fil >commands && sh -e commands 2>messages)
    rm a/d/steps/*.log a/d/steps/*.json* a/d/*.json b/commands b/messages
    rm b/d/*.json
    rm -f [ab]/d/report.html
    diff -r a/d b/d
    # Those that are told while it runs are the same.
    grep -oE '^psrsearch: [a-z]+: (gpu|ddplan|accelsift|psrreport).*' said | sed -E 's/^psrsearch: [a-z]+: //' >told
    (cd b && $run -n ../x.fil) | tail -n +2 | cmp - told
}

@test "names with blanks, quotes and patterns" {
    name="-a [b]*'c\".x"
    cp x.fil "./$name.fil"
    $run -q -o "-o [d] 'e" -- "$name.fil"
    [ "$(ls "./-o [d] 'e/"*.pfd | wc -l)" -ge 2 ]
    [ "$(grep -c . "./-o [d] 'e/steps/$name.steps.jsonl")" -ge 5 ]
    mkdir b
    (cd b && cp "../$name.fil" . && $run -o "-o [d] 'e" -n -- "$name.fil" | sh -e 2>messages)
    cmp "b/-o [d] 'e/$name.sift" "./-o [d] 'e/$name.sift"
}

@test "the lists of all DMs are one file, and read as if they were files" {
    run=${run/-res 4/-res 2}
    mkdir one files
    (cd one && $run -q -halve 1 ../x.fil)
    (cd files && $run -q -halve 1 -lists files ../x.fil)
    fails ls one/d/x_DM* one/d/x_*MHz.singlepulse
    mkdir out
    tar xf one/d/x.lists -C out
    [ "$(ls out/*_ACCEL_4 | wc -l)" -ge 5 ]
    rm out/x.index
    for name in out/*; do
        cmp "$name" "files/d/${name#out/}"
    done
    # What is missing is empty: a list without rows.
    for name in files/d/x_DM* files/d/x_*MHz.singlepulse; do
        [ -s "out/${name##*/}" ] || [ ! -s "$name" ] || [ "$(cat "$name")" = '# -search matched' ]
    done
    for name in x.sift x.sift.csv x.sift.jsonl steps/x.sift.rejects x.fold.json x.cand candidates.csv; do
        cmp one/d/$name files/d/$name
    done
    same='s/Lists: [0-9]*//; /<code>/d; /<footer/d'
    diff <(sed "$same" one/d/report.html | grep -c 'obs_DM\|x_DM') <(sed "$same" files/d/report.html | grep -c 'obs_DM\|x_DM')
    # Each by hand, and by its name alone.
    cd one/d
    name=$(tar tf x.lists | grep -m 1 'ACCEL_4[.]cand$')
    accelsift -compat presto x.lists >a
    (cd ../../files/d && accelsift -compat presto x_DM*_ACCEL_4) | cmp - a
    gpufold -q -topo -nosearch -noplot -ncands 2 -cands x.lists -o c ../../x.fil
    [ "$(ls c_ACCEL_Cand_1*.pfd | wc -l)" -ge 1 ]
    gpufold -q -topo -nosearch -noplot -accelcand 1 -accelfile "$name" -o n ../../x.fil
    (cd ../../files/d && gpufold -q -topo -nosearch -noplot -accelcand 1 -accelfile "$name" -o n ../../x.fil)
    cmp n_ACCEL_Cand_1.pfd ../../files/d/n_ACCEL_Cand_1.pfd
    head -c 3000 x.lists >cut.lists
    run -3 --separate-stderr accelsift cut.lists
    one_line '^accelsift: cut.lists: byte [0-9]*: cut short'
}

@test "lists, pulses, folds, pictures and masks are the same bytes for any number of threads" {
    local n
    leaves_cases
    for n in 1 ${PSRKIT_LONG:+2} 5; do
        mkdir t$n
        (cd t$n && $run -q -segments -halve 1 -device cpu -ncpus $n ../x.fil)
        # Their times, and the commands with -ncpus.
        rm t$n/d/report.html t$n/d/x.psrsearch.json t$n/d/steps/*.log t$n/d/steps/*.jsonl
    done
    ls t1/d/*.pfd t1/d/x.lists t1/d/x.pulses.csv t1/d/x.bursts.jsonl t1/d/steps/*.mask
    in_long diff -r t1 t2
    diff -r t1 t5
}

# A terminal of its own, as script makes it.
on_terminal() {
    type script >/dev/null || skip "there is no script"
    script -qec "$1" terminal >/dev/null </dev/null
}

@test "on a terminal its tools show how far they are, in one line each; with -q and in files they do not" {
    run=$one
    on_terminal "$run x.fil"
    tr '\r' '\n' <terminal >lines
    grep -q '^gpudedisp \[[#.]*\] *[0-9]*%  [0-9.e+]* MB/s  [0-9]* s left' lines
    grep -q '^gpudedisp \[[#.]*\] *[0-9]*%  [0-9.e+]* series/s' lines
    grep -q '^psrreport \[[#.]*\] *[0-9]*%  [0-9.e+]* folds/s' lines
    # What it says itself is not in the line of a bar.
    grep -q '^psrsearch: search: [0-9.]* s' <(sed 's/\x1b\[K//g' lines)
    fails grep -q '\[#' d/steps/*.log
    rm -r d
    on_terminal "$run -q x.fil"
    fails grep -q '%' terminal
    rm -r d
    $run -v x.fil 2>said
    fails grep -q 's left' said
    on_terminal "gpudedisp -nobary -numdms 40 -nowrite -accelsearch '-zmax 20' -o t x.fil"
    tr '\r' '\n' <terminal | grep -q '^\[[#.]*\] *[0-9]*%  [0-9.e+]* series/s  [0-9]* s left'
}

@test "on a terminal a search of one file, and a sift, show how far they are; in files they do not" {
    fakebin -q -seed 3 -tobs 64 -tsamp 64 -nchans 4 -nbits 8 -fch1 1500 -foff -4 -period 0 -dat -o s
    share='^\[[#.]*\] *[0-9]*%  [0-9.e+]* %/s  [0-9]* s left'
    leaves_cases
    for tool in "gpuaccel-pulscan -search matched -zmax 200 -numharm 8 -device cpu -ncpus 1" \
        ${PSRKIT_LONG:+"gpuffa -pmin 0.02 -bmin 240 -device cpu -ncpus 1"}; do
        on_terminal "$tool s_DM0.00.dat"
        tr '\r' '\n' <terminal | grep -q "$share" || { echo "$tool"; false; }
        rm -f s_DM0.00_*
        $tool s_DM0.00.dat 2>said
        [ ! -s said ]
        [ -n "${PSRKIT_LONG-}" ] || continue # -q is tested above
        rm -f s_DM0.00_*
        on_terminal "$tool -q s_DM0.00.dat"
        fails grep -q '%' terminal
    done
    gpudedisp -q -nobary -numdms 20 -nowrite -accelsearch '-zmax 0' -o t x.fil
    on_terminal "accelsift -o t.sift t_DM*_ACCEL_0"
    tr '\r' '\n' <terminal | grep -q '^\[[#.]*\] *[0-9]*%  [0-9.e+]* lists/s  [0-9]* s left'
    accelsift -o t.sift t_DM*_ACCEL_0 2>said
    [ ! -s said ]
}

@test "a bar shows the time where nothing is counted, and two searches of several files in one go" {
    on_terminal "(head -c 100000 x.fil; sleep 2.5; tail -c +100001 x.fil) | gpudedisp -nobary -numdms 2 -o t -"
    tr '\r' '\n' <terminal | grep -q '2 s so far'
    on_terminal "(head -c 100000 x.fil; sleep 2.5; tail -c +100001 x.fil) | gpudedisp -q -nobary -numdms 2 -o t -"
    fails grep -q 'so far' terminal
    for k in 1 2 3; do
        fakebin -q -seed $k -tobs 64 -tsamp 64 -nchans 4 -nbits 8 -fch1 1500 -foff -4 -period 0 -dat -o s$k
    done
    on_terminal "gpuaccel-pulscan -search both -zmax 200 -numharm 8 -device cpu -ncpus 1 s?_DM0.00.dat"
    tr '\r' '\n' <terminal | sed -n 's/^\[[#.]*\] *\([0-9]*\)%  .*files.*/\1/p' >share
    sort -n share | cmp - share
    on_terminal "psrpresto realfft s?_DM0.00.dat"
    tr '\r' '\n' <terminal | grep -q '^\[[#.]*\] *[0-9]*%  [0-9.e+]* files/s'
    awk '$1 > 15 && $1 < 95' share | sort -u >between
    [ "$(wc -l <between)" -ge 2 ]
}

@test "on a terminal folds, pulses, masks and files of which there are several show how far they are" {
    need_long
    local rate='^\[[#.]*\] *[0-9]*%  [0-9.e+]*'
    shows() { # PATTERN COMMAND
        on_terminal "$2"
        tr '\r' '\n' <terminal | grep -q "$rate $1/s  [0-9]* s left" || { echo "$2: no $1"; cat -v terminal; false; }
        # There is no bar when it has ended, and none with -q.
        [[ $(tr '\r' '\n' <terminal | sed 's/\x1b\[K//g' | tail -n 1) != *left* ]]
        on_terminal "$2 -q"
        fails grep -q 'left' terminal
    }
    for k in 1 2; do
        fakebin -q -seed $k -tobs 64 -tsamp 64 -nchans 4 -nbits 8 -fch1 1500 -foff -4 -period 0 -dat -o s$k
    done
    shows files "gpuaccel-pulscan -search matched -zmax 100 -numharm 8 -device cpu -ncpus 1 s1_DM0.00.dat s2_DM0.00.dat"
    shows files "gpuffa -pmin 0.05 -bmin 240 -device cpu -ncpus 1 s1_DM0.00.dat s2_DM0.00.dat"
    shows series "gpuffa -nobary -numdms 4 -pmin 0.5 -bmin 100 -device cpu -ncpus 1 -o t x.fil"
    printf '%s\n' '# name DM p' 'a 40 0.0391' 'b 20 0.0273' 'c 20 0.05' 'd 20 0.06' >list
    shows spectra "gpufold -topo -noplot -ncpus 1 -device cpu -cands list -o f x.fil"
    shows folds "gpufold -topo -noplot -ncpus 1 -device cpu -cands list -o f x.fil"
    shows pulses "gpudedisp -nobary -lodm 30 -numdms 20 -singlepulse -nowrite -threshold 4 -ncpus 1 -o p x.fil"
    shows spectra "gpurfifind -time 0.5 -ncpus 1 -o m x.fil"
}

@test "what has changed is repeated, with all that follows" {
    $run x.fil 2>said
    $run x.fil 2>said
    [ "$(begun)" = "" ]
    [ "$(grep -c 'complete already' said)" -ge 5 ]
    cp -a d before
    $run -ncands 1 x.fil 2>said
    [[ $(begun) == "fold "* ]]
    [ "$(ls d/*.pfd | wc -l)" -eq 1 ]
    $run x.fil 2>said
    [[ $(begun) == "fold "* ]]
    same_search before d
    rm d/steps/x.sift.rejects
    $run x.fil 2>said
    [[ $(begun) == "sift fold score "* ]]
    rm d/x.sift.csv
    $run x.fil 2>said
    [[ $(begun) == "score report"* ]]
    same_search before d
    echo more >>d/steps/x.plan
    $run x.fil 2>said
    [[ $(begun) == "plan search sift fold "* ]]
    printf '\0' | dd of=d/steps/x_rfifind.stats bs=1 seek=1000 conv=notrunc status=none
    $run x.fil 2>said
    [[ $(begun) == "mask sift fold "* ]] # the search needs no mask
    same_search before d
    # Lists of other DMs do not stay.
    $run -hidm 50 x.fil 2>said
    [[ $(begun) == "plan search sift fold "* ]]
    fails eval 'tar tf d/x.lists | grep x_DM9'
    $run x.fil 2>said
    same_search before d
    touch x.fil
    $run x.fil 2>said
    [[ $(begun) == "mask plan search sift fold "* ]]
    sed -i 's/"version": "/"version": "0/' d/steps/x.steps.jsonl
    $run x.fil 2>said
    [[ $(begun) == "mask plan search sift fold "* ]]
    # Of records that were cut nobody knows whose the files are.
    head -c 100 d/steps/x.steps.jsonl >cut && cp cut d/steps/x.steps.jsonl
    refuses 1 'd/steps/x_rfifind[a-z.]*: is there, and no search has recorded it' $run -q x.fil
}

@test "the folder of a version that had all its files in DIR is taken over, and searched again" {
    run=$one
    $run -q x.fil
    cp -a d ref
    mv d/steps/* d
    rmdir d/steps
    mv d/x.steps.jsonl d/x.steps.json
    sed -i 's|steps/||g' d/x.steps.json
    $run x.fil 2>said
    [[ $(begun) == "mask plan search sift fold "* ]]
    same_search ref d
    diff <(top_files ref) <(top_files d)
    $run x.fil 2>said
    [ "$(begun)" = "" ]
}

# Only what the records name, and as they name it, is removed.
@test "files of others stay" {
    $run -q -ncands 2 x.fil
    printf 'PSRJ J0000+0000\nRAJ 00:00:00\nDECJ 00:00:00\nF0 25.5754475703\nPEPOCH 50000\nDM 40\n' >p.par
    gpufold -q -par p.par -nosearch -o d/x x.fil
    others="x_rfifind.weights x.sift.notes x_DM1.00.dat x_DM1.00_ACCEL_4.txt x.clean.mask.old x.fold.json.bak x_rfifind.weights.part000000"
    for name in $others; do
        echo mine >"d/$name"
    done
    fold=$(ls d/x_x_*.bestprof | tail -n 1)
    echo mine >>"$fold"
    (cd d && cksum x_PSR* $others "${fold#d/}") >before
    touch x.fil
    $run -q -ncands 0 -numharm 2 x.fil
    (cd d && cksum x_PSR* $others "${fold#d/}") | cmp before -
    fails grep -q 'x_PSR\|weights\|notes\|ACCEL_4[.]txt"\|_Cand_' d/steps/x.steps.jsonl
    [ "$(ls d/x_x_* | wc -l)" -eq 1 ]
    # Those with the name of a result end the run, before it writes.
    refuses 1 "$fold: is there, and no search has recorded it" $run -q -ncands 2 -numharm 2 x.fil
    echo mine >d/x_DM1.02_ACCEL_4
    refuses 1 'd/x_DM1.02_ACCEL_4: is there, and no search has recorded it' $run -q -ncands 0 -sigma 3 x.fil
    # The search is complete, and what was found is sifted again.
    printf 'NAME,P0,DM\nJ0000+0000,0.0391,40\n' >cat.csv
    refuses 1 'd/x_DM1.02_ACCEL_4: is there' $run -q -ncands 0 -numharm 2 -catalogue cat.csv x.fil
    rm d/x_DM1.02_ACCEL_4
    rm "$fold"
    $run -q -ncands 2 x.fil
}

@test "-plan searches the DMs of a file, -cdm plans for channels without dispersion of their own" {
    fakebin -q -seed 3 -tobs 16 -tsamp 512 -nchans 32 -nbits 8 -fch1 1500 -foff 8 -o x.fil \
        -add "burst dm=70 t=6 width=0.002 snr=20"
    printf '60 2 10 1 0\n' >mine
    psrsearch -n -plan mine -o d x.fil >commands
    fails grep -q '^ddplan' commands
    grep -q '^gpudedisp .* -plan mine .* -maxwidth 0.5 ' commands
    psrsearch -n -cdm 70 -hidm 100 -o d x.fil | grep -q '^ddplan -l 0 -d 100 -c 70 -plan d/steps/x.plan'
    psrsearch -q -budget fast -plan mine -o d x.fil
    cut -f 6 d/x.cand | grep -qx 70
    [ "$(tar tf d/x.lists | grep -c '_DM.*[.]inf$')" -eq 10 ]
    run -2 psrsearch -plan mine -res 1 -o d x.fil
    run -2 psrsearch -plan mine -hidm 30 -o d x.fil
}

@test "the summary counts what is marked, and names the best without marks" {
    # A hum of the whole band and a spark beside the pulsar and the burst.
    fakebin -q -seed 9 -tobs 16.777216 -tsamp 512 -nchans 32 -nbits 8 -fch1 1500 -foff 8 -o x.fil \
        -add "pulsar period=0.0391 dm=40 width=0.002 snr=40" -add "pulsar period=0.0521 dm=0 width=0.004 snr=60" \
        -add "burst dm=70 t=6 width=0.002 snr=20" -add "burst dm=0 t=9 width=0.002 snr=60"
    $run -clean none x.fil -json >summary 2>said
    grep -q -- '-lines d/steps/x_rfifind.zaplist' said
    [ "$(grep '"marks": "[a-z]' d/x.sift.jsonl | grep -vc '"marks": "dm?"')" -eq "$(value marked_candidates summary)" ]
    near "$(value period_s summary)" 0.0391 1e-5
    grep -q '"best": {.*"marks": "-", "probability": [0-9.e-]*}, "best_burst": {.*"time_s": [56].*"marks": "-"}' summary
    near "$(value snr <(grep -o '"best_burst": {[^}]*}' summary))" "$(sed -n 2p d/x.cand | cut -f1)" 0.006
    [ "$(value marked_bursts summary)" -eq "$(grep -v '^#' d/x.cand | cut -f10 | grep -vcxE -e '-|dm\?|clip|dm\?,clip')" ]
    fails grep -q ' 0\.0520\|19\.19' <(sed -n '/id="candidates"/,/<.table>/p' d/report.html)
}

@test "weights of channels are gpudedisp's" {
    $run -n -weights snr x.fil | grep -q '^gpudedisp .*-clean auto -weights snr '
    fails grep -q -- -weights <($run -n x.fil)
    refuses 2 'weights.*few' $run -weights few x.fil
    refuses 2 'weights snr needs -clean auto' $run -weights snr -clean mask x.fil
}

@test "parts of the band are gpudedisp's" {
    $run -n -halve 2 x.fil | grep -q '^gpudedisp .*-singlepulse .*-halve 2 '
    fails grep -q -- -halve <($run -n x.fil)
    run=${run/-res 4/-res 1}
    $run -lists files -halve 1 x.fil 2>said
    # two halves, what is half of both, and the whole band with boxcars of more than 300 samples
    [ "$(ls d/x_*MHz.singlepulse | wc -l)" -eq 4 ]
    head -n 1 d/x.cand | grep -q 'high_mhz$'
    $run -lists files x.fil 2>said
    [ "$(ls d/x_*MHz.singlepulse | wc -l)" -eq 1 ]
}

@test "lines at DM 0 are left out with -zap, others with -zaplist" {
    $run -zap -ncands 0 x.fil 2>said
    grep -q -- "-zaplist .*d/steps/x_rfifind.zaplist" said
    printf '25.5754 0.5\n51.15 0.5\n76.73 0.5\n102.3 0.5\n' >"it's.zaplist"
    $run -zaplist "it's.zaplist" -ncands 0 x.fil 2>said
    [[ $(begun) == "search sift "* ]]
    fails grep -q ' 39\.1' d/x.sift
    echo '60 0.5' >>"it's.zaplist"
    $run -zaplist "it's.zaplist" -ncands 0 x.fil 2>said
    [[ $(begun) == "search sift "* ]]
    $run -ncands 0 x.fil 2>said
    grep -q ' 39\.1' d/x.sift
    refuses 2 '-zap and -zaplist exclude each other' $run -zap -zaplist z x.fil
}

@test "a short file is searched as far as half of it is left" {
    psrsearch -ncands 0 -o d -hidm 100000 -res 200 -search boxes -zmax 0 x.fil 2>said
    dm=$(sed -nE 's/^psrsearch: x.fil: is 8.38861 s long: DMs are searched up to ([0-9.e+]+), which sweeps over half of it, not to 100000$/\1/p' said)
    near "$(awk -v dm="$dm" 'BEGIN { print dm / 2.41e-4 * (1252 ^ -2 - 1500 ^ -2) }')" 4.1943 0.03
    refuses 3 'x.fil: is 8.38861 s long, and DM [0-9.e+]+ sweeps over more than half of it' psrsearch -q -lodm 20000 -hidm 30000 -o e x.fil
}

@test "budgets" {
    for budget in "fast -search matched -zmax 0 -numharm 8'" "normal -search matched -zmax 50 -numharm 16'" "deep -search matched -zmax 200 -numharm 32'"; do
        psrsearch -n -budget "${budget%% *}" x.fil | grep -qF -- "${budget#* }"
    done
    psrsearch -n -budget deep -zmax 4 x.fil | grep -q -- '-zmax 4 -numharm 32'
    psrsearch -n -budget normal x.fil | grep -q -- ' -fine 4 '
    psrsearch -n -budget deep x.fil | grep -q -- ' -fine 8 '
    psrsearch -n -budget fast x.fil | fails grep -q -- ' -fine [0-9]'
    psrsearch -n -fine 1 x.fil | fails grep -q -- ' -fine [0-9]'
    # What costs more than it may in the fast budget: a second pass for the right period, wider bursts.
    psrsearch -n -budget deep x.fil | grep -q -- '^gpudedisp .* -maxwidth 0.5 '
    psrsearch -n -budget deep x.fil | grep -q -- '^gpufold .* -harmonics '
    psrsearch -n -budget fast x.fil | fails grep -qE -- ' -maxwidth | -harmonics '
    psrsearch -n -budget fast -maxwidth 0.2 x.fil | grep -q -- ' -maxwidth 0.2 '
}

@test "slow pulsars are searched for in long observations, unless the budget is fast, and where it is asked for" {
    fakebin -q -seed 7 -tobs 120 -tsamp 8000 -nchans 4 -nbits 8 -fch1 1500 -foff 64 -period 0 -o long.fil
    psrsearch -n long.fil >commands
    grep -q "^gpudedisp .* -ffa '' " commands
    grep -q '^accelsift .* long_search/long_ffa.csv ' commands
    psrsearch -n -budget deep long.fil | grep -q "^gpudedisp .* -ffa '' "
    psrsearch -n -budget fast long.fil | fails grep -q _ffa.csv
    psrsearch -n -ffa none long.fil | fails grep -q _ffa.csv
    psrsearch -n x.fil | fails grep -q _ffa.csv
    psrsearch -n -zap -ffa "-pmin 1" x.fil | grep -qF -- "-ffa '-pmin 1 -zaplist"
    fakebin -q -seed 7 -tobs 40 -tsamp 1000 -nchans 16 -nbits 8 -fch1 1500 -foff 16 -period 0 -o slow.fil \
        -add "pulsar period=1.1 dm=60 width=0.01 snr=30"
    psrsearch -q -hidm 100 -res 4 -numharm 4 -zmax 0 -ncands 2 -ffa "-pmin 1 -pmax 2" -o d slow.fil
    [[ $(sed -n 2p d/slow.sift) == slow_DM*_ffa.csv:1\ *"  by "*ffa* ]]
    ls d/slow_slow_DM*_ffa.csv_Cand_1.pfd
    [[ $(sed -n 2p d/slow.sift.csv) == *_ffa.csv,1,* ]]
    [[ $(sed -n 2p d/slow.sift.csv) != *nan* ]]
    grep -q _ffa.csv d/candidates.csv
    psrsearch -hidm 100 -res 4 -numharm 4 -zmax 0 -ncands 2 -ffa "-pmin 1 -pmax 2" -o d slow.fil 2>said
    [ -z "$(begun)" ]
}

@test "nothing found is no failure" {
    fakebin -q -seed 8 -tobs 8 -tsamp 512 -nchans 32 -nbits 8 -fch1 1500 -foff 8 -period 0 -o x.fil
    $run -sigma 8 -threshold 9 -json x.fil >summary 2>said
    [ "$(value candidates summary)" -eq 0 ]
    [ "$(value bursts summary)" -eq 0 ]
    [ "$(value folded summary)" -eq 0 ]
    fails grep -q '"best' summary
    $run -sigma 8 -threshold 9 -json x.fil >again 2>said
    cmp summary again
    [ "$(begun)" = "" ]
}

@test "candidates that cannot be folded are no failure, and are counted" {
    # At the first sample its period is below two samples.
    few="-clean none -lodm 20 -hidm 30 -zmax 100 -numharm 1 -o d"
    pulsar="pulsar period=0.00102365 pdot=4.6e-8 dm=25 width=0.0005 snr=200"
    fakebin -q -seed 3 -tobs 30 -tsamp 512 -nchans 16 -nbits 8 -fch1 1500 -foff -4 -period 0 -o n.fil -add "$pulsar"
    psrsearch $few -json n.fil >summary 2>said
    [ "$(value candidates summary)" -eq 1 ]
    [ "$(value folded summary)" -eq 0 ]
    grep -q '^psrsearch: 1 candidates cannot be folded; d/steps/n_fold.log has the reasons$' said
    grep -q 'Cand_1: period = .* is 2 samples, must be 2 or more$' d/steps/n_fold.log
    [ ! -s d/n.fold.json ]
    [ "$(wc -l <d/n.sift.csv)" -eq 2 ]
    ls d/report.html d/candidates.csv
    psrsearch $few -json n.fil >again 2>said
    cmp summary again
    [ "$(begun)" = "" ]
}

@test "-clean mask, -ncands 0 and -par" {
    $run -q -clean mask -ncands 0 x.fil
    grep -q '"-mask", "d/steps/x_rfifind.mask"' d/steps/x.steps.jsonl
    fails grep -q '"step": "fold"' d/steps/x.steps.jsonl
    fails ls d/*.pfd d/x.clean.mask
    printf 'PSRJ J0000+0000\nRAJ 00:00:00\nDECJ 00:00:00\nF0 25.5754475703\nPEPOCH 50000\nDM 40\n' >p.par
    $run -q -par p.par -clean none x.fil
    ls d/x_PSR_0000+0000.pfd d/x_x_DM*.pfd
    # What is no longer wanted goes.
    $run -q -clean none x.fil
    fails ls d/x_PSR_0000+0000.pfd
    fails grep -q '"step": "par"' d/steps/x.steps.jsonl
    ls d/x_x_DM*.pfd
}

# tools_here: bin/ has a psrsearch whose tools may be replaced.
tools_here() {
    copy_tools bin $tools
    run="bin/$run"
}

@test "a step that fails is named with its code and its messages" {
    run=$one
    tools_here
    # Bad data are told from other faults by the exit status.
    printf '#!/bin/sh\necho no such luck >&2\nexit 3\n' >bin/accelsift
    run -3 --separate-stderr $run -q x.fil
    one_line '^psrsearch: step sift failed with exit code 3: no such luck; its messages are in d/steps/x_sift.log$'
    [[ $(head -n 1 d/steps/x_sift.log) == '# accelsift '* ]]
    printf '#!/bin/sh\nhead -c 100000 /dev/zero >&2; printf "\\na \\033[31mred\\n\\n" >&2; exit 1\n' >bin/accelsift
    run -1 --separate-stderr $run -q x.fil
    one_line '^psrsearch: step sift failed with exit code 1: a .\[31mred; its'
    # Threads that wait sleep, unless the user says otherwise.
    printf '#!/bin/sh\necho $OMP_WAIT_POLICY >&2; exit 1\n' >bin/accelsift
    refuses 1 'exit code 1: passive;' $run -q x.fil
    OMP_WAIT_POLICY=active refuses 1 'exit code 1: active;' $run -q x.fil
    printf '#!/bin/sh\nexit 1\n' >bin/accelsift
    run -1 --separate-stderr $run -q x.fil
    one_line '^psrsearch: step sift failed with exit code 1; its messages' 
    [ "$(wc -l <d/steps/x.steps.jsonl)" -eq 3 ]
    printf '#!/bin/sh\nkill -SEGV $$\n' >bin/accelsift
    run -1 --separate-stderr $run -q x.fil
    one_line 'step sift failed with signal 11'
    copy_tools bin accelsift
    $run x.fil 2>said
    [[ $(begun) == "sift fold "* ]]
    # A full disk.
    rm -r d
    run -1 --separate-stderr bash -c "ulimit -f 1; exec $run -q x.fil"
    one_line '^psrsearch: (step (mask|search) failed with exit code 1|d/x)'
    $run -q x.fil
}

@test "input and folder are checked first" {
    run=$one
    refuses 1 'no.fil: ' $run -q no.fil
    refuses 1 'no.cat: No such file' $run -n -catalogue no.cat x.fil
    refuses 1 'no.par: No such file' $run -n -par no.par x.fil
    refuses 1 'no.birds: No such file' $run -n -zaplist no.birds x.fil
    mkfifo pipe
    refuses 1 'pipe: is not a regular file' timeout 20 $run -n pipe
    refuses 1 'pipe: is not a regular file' timeout 20 $run -n -par pipe x.fil
    refuses 2 'no input given' $run
    refuses 2 'standard input can be read once only' $run -
    refuses 2 "'slow' is none of fast, normal and deep" $run -budget slow x.fil
    refuses 2 '.-lodm 100 must be below -hidm 100' $run -lodm 100 x.fil
    refuses 1 'no/such/d' $run -q -o no/such/d x.fil
    mkdir d
    : >d/x_DM1.00_ACCEL_4
    refuses 1 'd/x_DM1.00_ACCEL_4: is there, and no search has recorded it' $run -q x.fil
    rm -r d
    $run -q x.fil
    cp x.fil y.fil
    refuses 1 'd: holds the search of another observation, steps/x.steps.jsonl' $run -q y.fil
    # An input whose name is that of an output.
    mkdir e
    cp x.fil e/x_DM.inf
    printf '' >e/x.steps.json
    cp x.fil e/x.fil
    refuses 3 'x_DM.inf' $run -q -o e e/x.fil e/x_DM.inf
    [ -s e/x_DM.inf ]
}

# Nothing is written through a link or into a pipe, by any name that a search writes.
@test "links, pipes and other files with the names of outputs" {
    run=$one
    mkdir d
    cp x.fil kept.fil
    ln -s .. d/steps
    refuses 1 "d/steps: is there, and is not a folder" $run -q x.fil
    rm d/steps
    mkdir d/steps
    names=(steps/x_mask.log steps/x_rfifind.mask x.cand x.psrsearch.json steps/x.steps.jsonl report.html psrsearch.lock)
    in_long eval 'names+=(steps/x_{plan,search,sift,fold,report}.log steps/x.plan x.sift x.sift.jsonl x.fold.json candidates.csv)'
    for name in "${names[@]}"; do
        ln -s "$PWD/x.fil" d/$name
        refuses 1 "d/$name" $run -q x.fil
        rm d/$name
        ln -s nowhere d/$name
        refuses 1 "d/$name" $run -q x.fil
        rm d/$name
        ln x.fil d/$name
        refuses 1 "d/$name" $run -q x.fil
        rm d/$name
        mkfifo d/$name
        refuses 1 "d/$name: " timeout 20 $run -q x.fil
        rm d/$name
        cmp x.fil kept.fil
    done
    find d ! -type d >left
    [ ! -s left ]
    # A log of one's own, with one name or two, is kept; a log of psrsearch with two names keeps the other.
    echo mine >d/steps/x_mask.log
    refuses 1 'd/steps/x_mask.log: is there, and is no log of psrsearch' $run -q x.fil
    echo '# gpurfifind' >d/steps/x_mask.log
    ln d/steps/x_mask.log other
    $run -q x.fil
    [ "$(cat other)" = '# gpurfifind' ]
    [ "$(wc -l <d/steps/x_mask.log)" -gt 1 ]
}

@test "a picture that cannot be written ends no search" {
    run=$one
    $run -q x.fil
    [ -e d/x_rfifind.png ] || skip "built without cairo"
    mv d want
    mkdir -p d/x_rfifind.png/kept
    run -0 --separate-stderr $run x.fil
    grep -q '^psrsearch: mask: d/x_rfifind.png is left out; d/steps/x_mask.log has the reason$' <<<"$stderr"
    grep -q '^gpurfifind: d/x_rfifind.png: ' d/steps/x_mask.log
    [ -d d/x_rfifind.png/kept ]
    cmp want/x.sift d/x.sift
    [ -s d/report.html ]
    fails grep -q '"x_rfifind.png"' d/steps/x.steps.jsonl
    # A search that is repeated has nothing to do.
    $run x.fil 2>said
    [ "$(begun)" = "" ]
    # A pipe would wait for its reader.
    rm -r d
    mkdir d
    mkfifo d/x_rfifind.png
    refuses 1 'd/x_rfifind.png: is there, and is not a regular file' timeout 20 $run -q x.fil
    # Nor does a search end whose picture would go through a link.
    rm d/x_rfifind.png
    echo precious >kept
    ln -s ../kept d/x_rfifind.png
    run -0 --separate-stderr $run x.fil
    grep -q 'x_rfifind.png is left out' <<<"$stderr"
    [ "$(cat kept)" = precious ]
    [ "$(readlink d/x_rfifind.png)" = ../kept ]
    cmp want/x.sift d/x.sift
}

# waits_for NAME: until it is there.
waits_for() {
    for _ in $(seq 400); do
        [ ! -e "$1" ] || return 0
        sleep 0.02
    done
    return 1
}

@test "two searches in one folder, and signals" {
    run=$one
    tools_here
    mv bin/gpudedisp bin/real
    printf '#!/bin/sh\n: >began\nexec sleep 100\n' >bin/gpudedisp
    chmod +x bin/gpudedisp
    $run -q x.fil 3>&- &
    first=$!
    waits_for began
    refuses 1 "process $first on $(uname -n) is writing the same files" $run -q x.fil
    kill -TERM $first
    code=0
    wait $first || code=$?
    [ "$code" -eq 143 ]
    [ ! -e d/psrsearch.lock ]
    # The tool ends with it, even if it is killed.
    printf '#!/bin/sh\necho $$ >began\nexec sleep 100\n' >bin/gpudedisp
    rm began
    $run -q x.fil 3>&- &
    first=$!
    waits_for began
    sleep 0.1
    child=$(cat began)
    { kill -KILL $first && wait $first; } 2>/dev/null || true
    for _ in $(seq 100); do
        kill -0 "$child" 2>/dev/null || break
        sleep 0.02
    done
    fails kill -0 "$child"
    mv bin/real bin/gpudedisp
    # What gpufold has printed so far is no list of folds.
    mv bin/gpufold bin/real
    for signal in TERM KILL; do
        printf '#!/bin/sh\necho half\n: >began\nexec sleep 100\n' >bin/gpufold
        chmod +x bin/gpufold
        rm -f began
        $run x.fil 2>said 3>&- &
        first=$!
        waits_for began
        { kill -$signal $first && wait $first; } 2>/dev/null || true
        [ ! -e d/x.fold.json ]
    done
    grep -q '^psrsearch: search: complete already' said
    mv bin/real bin/gpufold
    $run x.fil 2>said
    [[ $(begun) == "fold "* ]]
    grep -q '^{' d/x.fold.json
    leaves_no 'd/*.part*'
}

# PSRKIT_KILLS times, in a long check 4; PSRKIT_TEST_SEED for other moments.
@test "killed at random moments, it goes on to the same bytes" {
    run=$one
    mkdir ref
    (cd ref && $run -q ../x.fil)
    rm -r ref
    mkdir ref
    began=$(date +%s%N)
    (cd ref && $run -q ../x.fil)
    took_ms=$((($(date +%s%N) - began) / 1000000))
    RANDOM=${PSRKIT_TEST_SEED:-1}
    leaves_cases
    cut=0 kills=${PSRKIT_LONG:+4}
    for k in $(seq "${PSRKIT_KILLS:-${kills:-1}}"); do
        mkdir at
        for again in 1 2; do
            (cd at && exec $run -q ../x.fil) 3>&- &
            first=$!
            # the first kill finds it at work, however long this run takes
            sleep "$(awk -v r=$RANDOM -v t=$took_ms -v first=$((k * again == 1)) 'BEGIN { print (first ? 0.1 : r / 32768) * t / 1000 }')"
            { kill -KILL $first && cut=$((cut + 1)) && wait $first; } 2>/dev/null || true
        done
        (cd at && $run -q ../x.fil)
        same_search ref/d at/d || { echo "kill $k of seed ${PSRKIT_TEST_SEED:-1}"; return 1; }
        rm -r at
    done
    [ "$cut" -gt 0 ]
}

@test "folds that are complete are not folded again, and those of a killed run that is not gone on with go" {
    mkdir ref few
    (cd ref && $run -q ../x.fil)
    (cd few && $run -q -ncands 1 ../x.fil)
    tools_here
    mv bin/gpufold bin/real
    # The tool is killed, or the whole search is after it.
    leaves_cases
    for end in ${PSRKIT_LONG:+'exit 1'} 'kill -KILL $PPID'; do
        export killer=$builddir/tests/support/kill_at.so ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0
        printf '#!/bin/sh\nexport KILL_AT=22 LD_PRELOAD=$killer\n"${0%%/*}/real" "$@"\n%s\n' "$end" >bin/gpufold
        chmod +x bin/gpufold
        rm -rf at
        mkdir at
        (cd at && ../$run -ncpus 1 -q ../x.fil) || true
        [ -n "$(find at -name '*.pfd')" ]
        [ ! -e at/d/x.fold.json ]
        cp -a at other
        cp bin/real bin/gpufold
        (cd at && ../$run -ncpus 1 ../x.fil 2>../said)
        [[ $(begun) == "fold "* ]]
        grep -q '1 of 2 candidates are complete' at/d/steps/x_fold.log
        diff -rq -x steps -x report.html -x '*.psrsearch.json' ref/d at/d
        (cd other && ../$run -ncpus 1 -ncands 1 -q ../x.fil)
        diff -rq -x steps -x report.html -x '*.psrsearch.json' few/d other/d
        (cd other && ../$run -ncpus 1 -ncands 1 ../x.fil 2>../said)
        [ "$(begun)" = "" ]
        rm -r other
    done
}

@test "a mask that is made while the search runs is not made again after a kill" {
    need_long
    # The search takes long, and is still at work when the mask is made.
    export OMP_NUM_THREADS=1
    long="psrsearch -nobary -hidm 200 -zmax 200 -numharm 8 -ffa none -ncands 2 -o d x.fil"
    $long 2>said 3>&- &
    first=$!
    for _ in $(seq 1200); do
        ! grep -qs '"step": "mask"' d/steps/x.steps.jsonl || break
        sleep 0.05
    done
    grep -q '"step": "mask"' d/steps/x.steps.jsonl
    fails grep -q '"step": "search"' d/steps/x.steps.jsonl
    { kill -KILL $first && wait $first; } 2>/dev/null || true
    cp -p d/steps/x_rfifind.mask mask
    $long 2>again
    grep -q '^psrsearch: mask: complete already' again
    fails grep -q '^psrsearch: search: complete already' again
    cmp mask d/steps/x_rfifind.mask
}

@test "a page that cannot be made ends no search, and is made by the next" {
    run=$one
    mkdir bin
    for tool in "$builddir"/bin/*; do ln -s "$tool" bin/; done
    rm -f bin/psrsearch bin/psrreport
    copy_tools bin psrsearch
    printf '#!/bin/sh\necho "psrreport: no ink" >&2\nexit 1\n' >bin/psrreport
    chmod +x bin/psrreport
    run -0 --separate-stderr bin/$run -json x.fil
    grep -q '^psrsearch: step report failed' <<<"$stderr"
    grep -q '^psrsearch: best candidate: x_DM' <<<"$stderr"
    cmp <(printf '%s\n' "$output") d/x.psrsearch.json
    fails grep -q '"step": "report"' d/steps/x.steps.jsonl
    $run x.fil 2>said
    [ "$(begun)" = "report " ]
    [ -s d/report.html ]
}

@test "a harmonic does not stand before a bright pulsar of 250 ms" {
    need_long
    need_data tutorial.fil
    psrsearch -q -budget fast -hidm 60 -device cpu -o d "$PSRKIT_TEST_DATA/tutorial.fil"
    sed -n 2p d/tutorial.sift.csv | awk -F, '{ exit !($9 > 0.2499 && $9 < 0.2501) }'
}

# What is there for a quarter of the time has half of its S/N in the whole; what is accelerated has none.
@test "halves and quarters are searched with -segments, a pulsar is one row, and its fold is of its part" {
    local noise=(-q -nbits 8 -nchans 16 -fch1 1500 -foff 16 -tsamp 512 -period 0)
    local binary="pulsar period=0.0071 dm=25 width=0.0007 snr=45 bper=0.15 bpmass=1.4 bcmass=1.4 bphase=0.25"
    fakebin "${noise[@]}" -seed 2 -tobs 128 -o p.fil
    fakebin "${noise[@]}" -seed 3 -tobs 32 -add "pulsar period=0.0331 dm=25 width=0.002 snr=14" -o quarter.fil
    { head -c -2000000 p.fil; tail -c 1000000 quarter.fil; tail -c 1000000 p.fil; } >part
    mv part p.fil
    fakebin "${noise[@]}" -seed 1 -tobs 128 -add "$binary" -o b.fil
    local dedisp="gpudedisp -q -nobary -nopad -lodm 23 -dmstep 2 -numdms 3" search="-search matched -zmax 10 -numharm 8"
    for f in p:33 b:7; do
        $dedisp -accelsearch "$search" -segments -o "${f%:*}" "${f%:*}.fil"
        # the names of the whole's lists sort before those of segments
        accelsift -q "${f%:*}"_DM??.00_ACCEL_10 -o whole.sift
        accelsift -q "${f%:*}"_DM*_ACCEL_10 -o "${f%:*}.sift" -o "${f%:*}.csv"
        fails grep -E " ${f#*:}\.[0-9]* " whole.sift
        grep -qE "_seg[1-4]of[24]_ACCEL_10:1 .* ${f#*:}\.[0-9]* " "${f%:*}.sift"
        [ "$(grep -cE "^[pb]_DM.* ${f#*:}\.[0-9]* " "${f%:*}.sift")" -eq 1 ]
    done
    grep -qE '^p_DM25.00_seg3of4_ACCEL_10,.*,3of4,' p.csv
    grep -qE '_ACCEL_10,.*,whole,' b.csv
    # The lists of a segment are those of its samples.
    cp p_DM25.00_seg3of4_ACCEL_10 list
    tail -c +$((124981 * 4 + 1)) p_DM25.00.dat | head -c $((62490 * 4)) >p_DM25.00_seg3of4.dat
    gpuaccel-pulscan -q -search matched -zmax 10 -numharm 8 p_DM25.00_seg3of4.dat
    cmp list p_DM25.00_seg3of4_ACCEL_10
    gpufold -q -json -noplot -nodmsearch -topo -cands p.sift p.fil >fold.json
    [ "$(value samples fold.json)" -eq 62500 ]
    near "$(value epoch_topo_mjd fold.json)" 50000.00074074 1e-8
    near "$(value p_s_topo fold.json)" 0.0331 1e-5
    near "$(value snr fold.json)" 14 3
    fails gpufold -q -noplot -start 0.1 -topo -cands p.sift p.fil
    psrsearch -n -segments -o d p.fil | grep -q "^gpudedisp .* -segments "
    fails gpudedisp -q -segments -lodm 21 -numdms 1 -o q p.fil
}
