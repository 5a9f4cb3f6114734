#!/usr/bin/env bats
# gpuaccel-pulscan -search matched, and the name accelsearch: its lists, PRESTO's own, and mistakes.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# spectrum: the spectrum that tests/golden/accelsearch_* are of, as s.fft and s.inf.
spectrum() {
    "$builddir/tests/compat/t_accel_presto" write s.fft
    sed -e 's/\(Number of bins in the time series *= *\)[0-9]*/\148000/' \
        -e 's/\(Width of each time series bin (sec) *= *\)[0-9.]*/\10.0005/' \
        -e 's/\(suffix *= *\)acc3/\1s/' "$srcdir/tests/golden/acc3.inf" >s.inf
}

# series ROOT: 67 s of a pulsar of 5.1 ms that drifts, as ROOT.dat and ROOT.inf.
series() {
    fakebin -q -seed 5 -tobs 67.108864 -tsamp 512 -nchans 8 -fch1 1500 -foff 4 -period 0 -dat -o m \
        -add "pulsar period=0.0051 dm=0 width=0.001 snr=20 accn=3000" -truth truth.txt
    mv m_DM0.00.dat "$1.dat"
    mv m_DM0.00.inf "$1.inf"
}

# rows LIST: its candidates without powers, which may differ in the last digit.
rows() { awk 'NR > 3 { if (NF == 0) exit; print $1, $5, $8, $10 }' "$1"; }

# others LIST NAME: how many of its lines, before the .inf, are not those of the golden list.
others() { diff <(sed '/Data file/,$d' "$1") <(sed '/Data file/,$d' "$srcdir/tests/golden/accelsearch_$2") | grep -c '^<'; }

near() { awk -v a="$1" -v b="$2" -v tol="$3" 'BEGIN { d = a - b; exit !(d <= tol && -d <= tol) }'; }

@test "-compat presto gives accelsearch's lists" {
    spectrum
    while read -r name list options; do
        gpuaccel-pulscan -compat presto $options s.fft
        [ -n "$(rows "$list")" ]
        diff <(rows "$list") <(rows "$srcdir/tests/golden/accelsearch_$name")
        # Without jerk every number is PRESTO's, but for the last digit of a line here and there.
        [[ $options == *-wmax\ [1-9]* || $(uname -m) != x86_64 ]] || [ "$(others "$list" "$name")" -le 2 ]
        [ "$(stat -c %s "$list.cand")" = "$(stat -c %s "$srcdir/tests/golden/accelsearch_$name.cand")" ]
    done <<'LISTS'
plane s_ACCEL_60 -zmax 60 -numharm 8 -sigma 2
blocks s_ACCEL_60 -zmax 60 -wmax 0 -numharm 8 -sigma 2
jerk s_ACCEL_20_JERK_60 -zmax 20 -wmax 60 -numharm 4 -sigma 3
local s_ACCEL_40 -zmax 40 -numharm 4 -sigma 3 -noharmremove -locpow -flo 30 -fhi 400
apart s_ACCEL_8 -zmax 7 -numharm 16 -sigma 3 -noharmpolish -flo 20
one s_ACCEL_90 -zmax 90 -numharm 1 -sigma 4
LISTS
}

@test "-search matched finds a pulsar that drifts, from .dat and .fft, on any number of threads" {
    series p
    read -r _ _ _ _ _ _ _ _ r z _ < <(grep '^pulsar' truth.txt)
    run -0 --separate-stderr gpuaccel-pulscan -search matched -zmax 100 -numharm 4 -ncpus 1 p.dat
    [ -z "$output$stderr" ]
    read -r _ _ _ _ _ _ _ found _ drift _ < <(sed -n 4p p_ACCEL_100)
    near "${found%%(*}" "$r" 0.3
    near "${drift%%(*}" "$z" 2
    [ "$(head -n 1 p_ACCEL_100.txtcand)" = "# -search matched" ]
    mv p_ACCEL_100 one
    gpuaccel-pulscan -search matched -zmax 100 -numharm 4 -ncpus 3 p.dat
    cmp p_ACCEL_100 one
    gpuaccel-pulscan -fftout -zmax 4 p.dat
    gpuaccel-pulscan -search matched -zmax 100 -numharm 4 -rlo 100.5 -rhi 3e4 -csv -o t.csv p.fft
    [ "$(sed -n 2p t.csv | cut -d, -f 9 | cut -c 1-6)" = "${found:0:6}" ]
}

@test "-wmax searches jerks, and names the lists" {
    spectrum
    gpuaccel-pulscan -search matched -zmax 20 -wmax 41 -numharm 2 s.fft
    [ -s s_ACCEL_20_JERK_60.cand ]
    head -n 1 s_ACCEL_20_JERK_60 | grep -q "FFT 'w'"
}

@test "run as accelsearch it is the matched search" {
    spectrum
    ln -s "$(command -v gpuaccel-pulscan)" accelsearch
    ./accelsearch -zmax 20 s.fft
    [ "$(head -n 1 s_ACCEL_20.txtcand)" = "# -search matched" ]
    mv s_ACCEL_20 alias
    gpuaccel-pulscan -search matched -zmax 20 -numharm 8 s.fft
    cmp alias s_ACCEL_20
    run -2 ./accelsearch -nosuch s.fft
    [[ $output == gpuaccel-pulscan:* ]]
}

@test "-search both lists what either finds" {
    spectrum
    gpuaccel-pulscan -search matched -zmax 20 s.fft
    n=$(rows s_ACCEL_20 | wc -l)
    mkdir both
    gpuaccel-pulscan -search both -zmax 20 -outdir both s.fft
    [ "$(rows both/s_ACCEL_20 | wc -l)" -ge "$n" ]
    diff <(rows s_ACCEL_20) <(rows both/s_ACCEL_20 | head -n "$n")
    rows both/s_ACCEL_20 | awk -v n="$n" '
        { sub(/\(.*/, "", $3); r[NR] = $3 }
        NR > n { for (i = 1; i <= n; i++) { d = r[i] - r[NR]; if (d < 15 && -d < 15) exit 1 } }'
}

@test "the lists of one search stay where another's would have their names" {
    spectrum
    gpuaccel-pulscan -search matched -zmax 20 s.fft
    cp s_ACCEL_20 before
    refuses 1 "s_ACCEL_20 is a list of -search matched" gpuaccel-pulscan -zmax 20 s.fft
    cmp s_ACCEL_20 before
    gpuaccel-pulscan -search matched -zmax 20 s.fft
    rm s_ACCEL_20*
    gpuaccel-pulscan -zmax 20 s.fft
    refuses 1 "s_ACCEL_20 is a list of -search boxes" gpuaccel-pulscan -search matched -zmax 20 s.fft
    refuses 1 "s_ACCEL_20 is a list of -search boxes" gpuaccel-pulscan -search both -zmax 20 s.fft
    refuses 1 "s_ACCEL_20 is a list of -search boxes" gpuaccel-pulscan -confirm -zmax 20 s.fft
}

@test "mistakes are one line" {
    spectrum
    while read -r options; do
        refuses 2 "^gpuaccel-pulscan: -" gpuaccel-pulscan $options s.fft
    done <<'OPTIONS'
-search nothing
-search matched -numharm 3
-search matched -zmax 1202
-search matched -device hybrid
-compat presto -device cuda
-search matched -rblock
-search matched -confirm
-search both -confirm
-search matched -photon -locpow
-search both -rblock
-search boxes -compat presto
-compat presto -lobin 5
-compat presto -csv
-compat pulscan -search matched
-compat nothing
-search boxes -lobin 5
OPTIONS
    refuses 1 "-mem" gpuaccel-pulscan -search matched -mem 1M s.fft
    PSRKIT_MEM=1M refuses 1 "-mem" gpuaccel-pulscan -search matched s.fft
    PSRKIT_MEM=1M refuses 1 "nothing to search" gpuaccel-pulscan -search matched -mem 1G -rlo 30000 s.fft
    PSRKIT_MEM=much refuses 2 "PSRKIT_MEM: 'much'" gpuaccel-pulscan -search matched s.fft
    PSRKIT_DEVICE=abacus refuses 1 "abacus" gpuaccel-pulscan -search matched s.fft
    refuses 1 "nothing to search: -rlo is bin 30000" gpuaccel-pulscan -search matched -rlo 30000 s.fft
    [ -z "$(find . -name '*ACCEL*')" ]
}

@test "spectra that hold no data are one line each" {
    spectrum
    for name in nan zeros short; do
        cp s.inf $name.inf
        cp s.fft $name.fft
    done
    printf '\0\0\300\177' | dd of=nan.fft bs=4 seek=2001 conv=notrunc status=none
    head -c 192000 /dev/zero >zeros.fft
    head -c 96 s.fft >short.fft
    sed -i 's/48000/24/' short.inf
    run -3 gpuaccel-pulscan -search matched -zmax 20 nan.fft zeros.fft short.fft s.fft
    [ "${#lines[@]}" -eq 3 ]
    [[ $output == *"nan.fft: bin 1000 is no finite number"* ]]
    [[ $output == *"zeros.fft: "* ]]
    [[ $output == *"short.fft: "* ]]
    [ -s s_ACCEL_20 ]
}

# lined ROOT: that series, with a line of 60.003 Hz and its second harmonic as strong as the pulsar.
lined() {
    series "$1"
    fakebin -q -seed 6 -tobs 67.108864 -tsamp 512 -nchans 8 -fch1 1500 -foff 4 -dat -o l -period 0 \
        -add "pulsar period=0.0166658333750 dm=0 width=0.004 snr=60"
    "$builddir/tests/compat/t_accel_presto" sum "$1.dat" l_DM0.00.dat >sum
    mv sum "$1.dat"
}

# found_near LIST R: whether a candidate's r is within a bin of R
found_near() { rows "$1" | awk -v r="$2" '{ sub(/\(.*/, "", $3); d = $3 - r; if (d < 1 && -d < 1) f = 1 } END { exit !f }'; }

@test "-zaplist, -baryv and -lobin of a matched search: bins that are zapped are not found" {
    lined p
    gpuaccel-pulscan -search matched -zmax 20 -numharm 4 -noharmremove p.dat
    found_near p_ACCEL_20 4026.7
    echo '60 0.5
120 0.5
180 0.5
240 0.5' >z.birds
    gpuaccel-pulscan -search matched -zmax 20 -numharm 4 -noharmremove -zaplist z.birds p.dat
    fails found_near p_ACCEL_20 4026.7
    gpuaccel-pulscan -search matched -zmax 20 -numharm 4 -noharmremove -zaplist z.birds -baryv 0.02 p.dat
    found_near p_ACCEL_20 4026.7
    gpuaccel-pulscan -search matched -zmax 20 -numharm 4 -noharmremove -lobin 5000 -csv -o t.csv p.dat
    awk -F, 'NR > 1 && $8 * $9 < 4999 { bad = 1 } END { exit bad || NR < 2 }' t.csv
}

@test "-locpow, -median, -noharmremove and -noharmpolish of a matched search" {
    lined p
    for flag in "" -median -locpow -noharmpolish -noharmremove; do
        gpuaccel-pulscan -search matched -zmax 20 -numharm 4 $flag p.dat
        found_near p_ACCEL_20 4026.7
        rows p_ACCEL_20 >"list$flag"
    done
    cmp list list-median
    fails cmp list list-locpow
    [ "$(wc -l <list-noharmremove)" -gt "$(wc -l <list)" ]
    [ "$(wc -l <list-noharmpolish)" -eq "$(wc -l <list)" ]
}

@test ".sdat holds the samples of a .dat as shorts" {
    series p
    "$builddir/tests/compat/t_accel_presto" shorten p.dat >s.sdat
    sed 's/\(suffix *= *\)m_DM0.00/\1s/' p.inf >s.inf
    "$builddir/tests/compat/t_accel_presto" widen s.sdat >w.dat
    cp s.inf w.inf
    gpuaccel-pulscan -search matched -zmax 100 -numharm 4 s.sdat w.dat
    cmp s_ACCEL_100.cand w_ACCEL_100.cand
    [ -s s_ACCEL_100.cand ]
    gpuaccel-pulscan -compat presto -zmax 20 -numharm 1 s.sdat w.dat
    cmp s_ACCEL_20.cand w_ACCEL_20.cand
    head -c 1001 s.sdat >short.sdat
    cp s.inf short.inf
    refuses 3 "short.sdat: 1001 bytes, but the 131072 samples of its .inf make 262144" \
        gpuaccel-pulscan -search matched short.sdat
}

@test "-compat presto searches padding as it is, as accelsearch does" {
    series m
    { head -c 458752 m.dat; head -c 65536 /dev/zero | tr '\0' '?'; } >s.dat
    sed -e 's/\(breaks.* = *\)0/\11\n On\/Off bin pair #  1                   =  0          , 114687     \n On\/Off bin pair #  2                   =  131071     , 131071     /' m.inf >s.inf
    gpuaccel-pulscan -compat presto -zmax 60 -numharm 4 -sigma 3 s.dat
    # Sigma and power; the transform's last digits reach the others.
    diff <(awk 'NR > 3 { if (NF == 0) exit; print $1, $2, $3, $5, $6, $7, $8, $9, $10, $11 }' s_ACCEL_60) - \
        <<<'1 12.97 112.59 4 5.10004(5) 196.077(2) 13158.50(13) -0.0020(1) -9.00(50) -3.06(17)x10^3'
    # A search of its own puts the mean of the samples there.
    gpuaccel-pulscan -search matched -zmax 60 -numharm 4 -sigma 3 s.dat
    cp s_ACCEL_60 with
    { head -c 458752 m.dat; head -c 65532 /dev/zero; printf '????'; } >s.dat
    gpuaccel-pulscan -search matched -zmax 60 -numharm 4 -sigma 3 s.dat
    cmp s_ACCEL_60 with
}

@test "tables have w where jerks are searched" {
    spectrum
    gpuaccel-pulscan -search matched -zmax 20 -wmax 60 -numharm 2 -csv -o t.csv s.fft
    [ "$(head -n 1 t.csv | cut -d, -f 23-24)" = w,w_err ]
    awk -F, 'NR > 1 && ($23 == "" || !($24 > 0)) { bad = 1 } END { exit bad || NR < 2 }' t.csv
    gpuaccel-pulscan -search matched -zmax 20 -numharm 2 -json -o t.json s.fft
    [[ $(head -n 1 t.json) == *'"w": null, "w_err": null}' ]]
}

@test "-plot draws the plane of a matched search, and of a confirmed one" {
    need_pictures
    series p
    gpuaccel-pulscan -search matched -zmax 100 -numharm 4 -plot p.svg p.dat
    grep -q '^</svg>' p.svg
    gpuaccel-pulscan -search matched -zmax 100 -numharm 4 p.dat
    mkdir c
    gpuaccel-pulscan -confirm -zmax 100 -outdir c -plot c.svg p.dat
    grep -q '^</svg>' c.svg
}
