#!/usr/bin/env bats
# gpuffa: lists of slow pulsars, series in batches, mistakes.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# series ROOT PERIOD SNR [SEED]: 64 s in samples of 1 ms, with a pulsar, as ROOT.dat and ROOT.inf.
series() {
    fakebin -q -seed "${4:-5}" -tobs 64 -tsamp 1000 -nchans 8 -fch1 1500 -foff 4 -period 0 -dat -o made \
        -add "pulsar period=$2 dm=0 width=0.03 snr=$3"
    mv made_DM0.00.dat "$1.dat"
    mv made_DM0.00.inf "$1.inf"
}

# column N FILE: its values, without the header.
column() { awk -F, -v n="$1" 'NR > 1 { print $n }' "$2"; }

near() { awk -v a="$1" -v b="$2" -v tol="$3" 'BEGIN { d = a - b; exit !(d <= tol && -d <= tol) }'; }

@test "a slow pulsar leads NAME_ffa.csv, in the current folder, and its harmonics are not in it" {
    mkdir data
    (cd data && series p 1.3 20)
    run -0 --separate-stderr gpuffa data/p.dat
    [ -z "$output$stderr" ]
    [ "$(head -n 1 p_ffa.csv)" = "period_s,freq_hz,dm,snr,width_s,duty,nbin,marks,hits,tobs_s,tsamp_s,mjd,barycentric,telescope,ra_deg,dec_deg,low_mhz,high_mhz" ]
    near "$(column 1 p_ffa.csv | head -n 1)" 1.3 0.001
    near "$(column 4 p_ffa.csv | head -n 1)" 19 3
    near "$(column 5 p_ffa.csv | head -n 1)" 0.03 0.015
    [ "$(column 4 p_ffa.csv | sort -rg)" = "$(column 4 p_ffa.csv)" ]
    fails awk -F, 'NR > 1 && ($1 / 1.3 > 1.99 && $1 / 1.3 < 2.01 || $1 / 1.3 > 0.499 && $1 / 1.3 < 0.501) { found = 1 } END { exit !found }' p_ffa.csv
    leaves_no 'data/*_ffa.csv'
}

@test "batches, threads and .tim give the same list" {
    series a 1.3 20
    series b 2.1 20 6
    series c 0.7 20 7
    gpuffa -o one -ncpus 1 a.dat
    gpuffa -ncpus 2 a.dat b.dat c.dat
    cmp a_ffa.csv one_ffa.csv
    printf '%s\n' a.dat b.dat c.dat | (mkdir list && cd list && sed 's|^|../|' | gpuffa -batch 2 -files -)
    for name in a b c; do cmp $name"_ffa.csv" list/$name"_ffa.csv"; done
    gpuffa -o - a.dat | cmp - a_ffa.csv
    leaves_cases
    for devices in ${PSRKIT_LONG:+cpu,cpu} cpu,cpu,cpu; do
        printf '%s\n' a.dat b.dat c.dat | (mkdir $devices && cd $devices && sed 's|^|../|' | gpuffa -device $devices -files -)
        for name in a b c; do cmp $name"_ffa.csv" $devices/$name"_ffa.csv"; done
    done
}

@test "-pmin, -pmax and -bmin say what is searched, and -zaplist leaves periods out" {
    series p 1.3 20
    gpuffa -pmin 0.5 -pmax 1 -o short p.dat
    fails awk -F, 'NR > 1 && $1 > 1.01 { found = 1 } END { exit !found }' short_ffa.csv
    gpuffa -bmin 128 -bmax 140 -pmin 1 -pmax 2 -o bins p.dat
    near "$(column 1 bins_ffa.csv | head -n 1)" 1.3 0.002
    fails awk -F, 'NR > 1 && ($7 < 128 || $7 > 140) { found = 1 } END { exit !found }' bins_ffa.csv
    echo "3.846154 0.02" >p.zap # its fifth harmonic
    gpuffa -v -zaplist p.zap -o zapped p.dat 2>account
    fails awk -F, 'NR > 1 && $1 > 1.29 && $1 < 1.31 { found = 1 } END { exit !found }' zapped_ffa.csv
    grep -q '1 files searched, .* [1-9][0-9]* of -zaplist left out' account
}

@test "red noise is taken out, unless -rmed is given" {
    leaves_cases
    for seed in 1 ${PSRKIT_LONG:+2 3}; do
        fakebin -q -seed $seed -tobs 128 -tsamp 1000 -nchans 8 -fch1 1500 -foff 4 -nbits 32 -period 0 -dat -o made \
            -rednoise 10 -redindex -3 -add "pulsar period=4.3 dm=0 width=0.03 snr=20"
        gpuffa made_DM0.00.dat
        near "$(column 1 made_DM0.00_ffa.csv | head -n 1)" 4.3 0.003
        near "$(column 4 made_DM0.00_ffa.csv | head -n 1)" 18.5 2.5
        [ "$(column 4 made_DM0.00_ffa.csv | awk '$1 > 8.5' | wc -l)" -eq 1 ]
        gpuffa -rmed 20 made_DM0.00.dat
        [ "$(column 4 made_DM0.00_ffa.csv | awk '$1 > 8.5' | wc -l)" -gt 2 ]
    done
}

@test "-pmax beyond a quarter of the series is said; short and coarse series are refused" {
    series p 1.3 20
    run -0 --separate-stderr gpuffa -pmin 1 -pmax 100 p.dat
    one_line "p.dat: periods up to 16 s are searched, a quarter of its length"
    run -0 --separate-stderr gpuffa -q -pmin 1 -pmax 100 p.dat
    [ -z "$stderr" ]
    refuses 1 "p.dat: no period to search: -pmin is 30 s, and 6.4 s the longest" gpuffa -o x -pmin 30 p.dat
    refuses 1 "p.dat: -pmin = 0.1 s, must be at least 0.24 s" gpuffa -o x -pmin 0.1 p.dat
    leaves_no 'x_ffa.csv'
}

@test "files that cannot be searched are reported, the others are searched" {
    series p 1.3 20
    cp p.inf no.inf
    head -c 1000 p.dat >no.dat
    cp p.inf nan.inf
    { head -c 1000 p.dat; printf '\0\0\300\177'; tail -c +1005 p.dat; } >nan.dat
    run -3 --separate-stderr gpuffa no.dat nan.dat p.dat
    [ "${#lines[@]}" -eq 0 ]
    [ "$(printf '%s\n' "$stderr" | wc -l)" -eq 2 ]
    [[ $stderr == *"no.dat: "* ]]
    [[ $stderr == *"nan.dat: "*"250"* ]]
    [ -f p_ffa.csv ]
    leaves_no 'n*_ffa.csv'
    refuses 1 "missing.dat" gpuffa missing.dat
    cp p.dat p.fft
    refuses 1 "p.fft: a spectrum" gpuffa p.fft
}

@test "mistakes on the command line" {
    series p 1.3 20
    refuses 2 "no input given" gpuffa
    refuses 2 "o names the output of one file" gpuffa -o x p.dat p.dat
    refuses 2 "bmax needs -bmin" gpuffa -bmax 300 p.dat
    refuses 2 "must be above -pmin" gpuffa -pmin 3 -pmax 2 p.dat
    refuses 2 "must be above -bmin" gpuffa -bmin 300 -bmax 300 p.dat
    refuses 1 "p.zap" gpuffa -zaplist p.zap p.dat
    refuses 1 "p.dat: given twice" gpuffa p.dat p.dat
    cp p.dat q_ffa.csv
    refuses 1 "q_ffa.csv" gpuffa -zaplist q_ffa.csv -o q p.dat
    cmp p.dat q_ffa.csv
}

@test "-stack finds what no epoch shows, and one epoch's list is its own" {
    for e in 1 2 3 4; do series e$e 1.3 5.3 $e; done
    gpuffa -sigma 7 e1.dat e2.dat e3.dat e4.dat
    [ -z "$(column 1 e1_ffa.csv)$(column 1 e2_ffa.csv)$(column 1 e3_ffa.csv)$(column 1 e4_ffa.csv)" ]
    gpuffa -sigma 7 -pmin 1 -pmax 2 -stack -o all e1.dat e2.dat e3.dat e4.dat
    near "$(column 1 all_ffa.csv)" 1.3 0.001
    gpuffa -sigma 7 -pmin 1 -pmax 2 -stack -batch 1 -ncpus 1 -o - e1.dat e2.dat e3.dat e4.dat | cmp - all_ffa.csv
    gpuffa -sigma 5 -o own e1.dat
    gpuffa -sigma 5 -stack -o one e1.dat
    [ "$(column 4 own_ffa.csv | wc -l)" -gt 0 ]
    cmp own_ffa.csv one_ffa.csv
    [ "$(echo *_ffa.csv)" = "all_ffa.csv e1_ffa.csv e2_ffa.csv e3_ffa.csv e4_ffa.csv one_ffa.csv own_ffa.csv" ]
}

@test "epochs of a stack differ in length and gaps, not in DM" {
    for e in 1 2 3; do series e$e 1.3 9 $e; done
    head -c 240000 e2.dat >cut && mv cut e2.dat
    sed -i '/Number of bins/s/=.*/=  60000/' e2.inf
    gpuffa -sigma 7 -stack -o all e1.dat e2.dat e3.dat
    near "$(column 1 all_ffa.csv | head -n 1)" 1.3 0.001
    sed -i '/Dispersion measure/s/=.*/=  12.5/' e3.inf
    refuses 1 "e3.dat: DM = 12.5, that of the stack is 0" gpuffa -stack -o two e1.dat e2.dat e3.dat
    refuses 2 "-stack is for series, and needs -o" gpuffa -stack e1.dat
    refuses 1 "-stack takes one device, not 2" gpuffa -stack -device cpu,cpu -o x e1.dat e2.dat
}

# observation: 64 s of 32 channels, with a pulsar of 1.3 s at DM 200, as obs.fil.
observation() {
    fakebin -q -seed 5 -tobs 64 -tsamp 1000 -nchans 32 -fch1 1500 -foff 10 -nbits 8 -period 0 -o obs.fil \
        -add "pulsar period=1.3 dm=200 width=0.03 snr=25"
}

@test "gpudedisp -ffa makes one list of all DMs, whose row has its best DM, and no series" {
    observation
    run -0 --separate-stderr gpudedisp -q -nobary -lodm 0 -dmstep 50 -numdms 9 -nowrite -ffa "-pmin 1 -pmax 2" -o all obs.fil
    [ -z "$output$stderr" ]
    near "$(column 1 all_ffa.csv | head -n 1)" 1.3 0.001
    [ "$(column 3 all_ffa.csv | head -n 1)" = 200 ]
    [ "$(column 8 all_ffa.csv | head -n 1)" = - ]
    [[ $(column 9 all_ffa.csv | head -n 1) == *"150:"*" 200:"*" 250:"* ]]
    [ "$(awk -F, 'NR > 1 && $1 > 1.29 && $1 < 1.31' all_ffa.csv | wc -l)" -eq 1 ]
    [ -f all_DM200.00.inf ]
    leaves_no 'all_*.dat'
    # Each series has the S/N of its file.
    gpudedisp -q -nobary -lodm 0 -dmstep 50 -numdms 9 -o one obs.fil
    gpuffa -pmin 1 -pmax 2 one_DM200.00.dat one_DM250.00.dat
    [[ $(column 9 all_ffa.csv | head -n 1) == *"$(column 9 one_DM200.00_ffa.csv | head -n 1) $(column 9 one_DM250.00_ffa.csv | head -n 1)"* ]]
    gpudedisp -q -nobary -lodm 0 -dmstep 50 -numdms 9 -nowrite -ncpus 1 -ffa "-pmin 1 -pmax 2" -o two obs.fil
    cmp all_ffa.csv two_ffa.csv
}

@test "stretches that a mask leaves without data are counted, not folded" {
    observation
    # Intervals of 4.8 s, of 64: S/N is that of the whole, 22.3, times the root of the share that is left.
    while read -r name intervals share; do
        gpurfifind -q -time 4 -zapints "$intervals" -o "$name" obs.fil
        gpudedisp -q -nobary -lodm 0 -dmstep 50 -numdms 9 -nowrite -mask "${name}_rfifind.mask" -ffa "-pmin 1 -pmax 2" -o "$name" obs.fil
        [ "$(column 3 "${name}_ffa.csv" | head -n 1)" = 200 ]
        near "$(column 1 "${name}_ffa.csv" | head -n 1)" 1.3 0.001
        near "$(column 4 "${name}_ffa.csv" | head -n 1)" "$(awk "BEGIN { print 22.3 * sqrt($share) }")" 1.5
    done <<<$'part 5:8 0.7\nmost 0:7,12 0.325'
}

# interference WHAT SEED: 128 s of noise with interference as rfi.fil, and its list at DMs of 0 to 300.
interference() {
    fakebin -q -seed "$2" -tobs 128 -tsamp 1000 -nchans 32 -fch1 1500 -foff -10 -nbits 8 -period 0 -rfi "$1" -o rfi.fil
    gpuffa -q -topo -lodm 0 -dmstep $((320 / $3)) -numdms "$3" rfi.fil
}

@test "hum is found at multiples of its period and at DM 0, whose rows are marked; drop-outs leave no rows without a mark" {
    leaves_cases
    for seed in 1 ${PSRKIT_LONG:+2}; do
        interference "mains level=0.3" $seed 16
        # Of 12 cycles of 20 ms and more.
        [ "$(awk -F, 'NR > 1 && $3 == 0 && $8 ~ /dm0/' rfi_ffa.csv | wc -l)" -gt 50 ]
        [ "$(awk -F, 'NR > 1 && $3 == 0 && $8 == "-"' rfi_ffa.csv)" = "" ]
        [[ $(sed -n 2p rfi_ffa.csv) == *dm0,* ]]
        # Nor is it unmarked at other DMs, but for rows near the threshold.
        [ "$(awk -F, 'NR > 1 && $8 ~ /line/' rfi_ffa.csv | wc -l)" -gt 50 ]
        # What is left of it at other DMs, at which it is in step again, is far below.
        awk -F, 'NR == 2 { most = $4 } NR > 1 && $8 == "-" && $4 > most / 3 { bad = 1 } END { exit bad }' rfi_ffa.csv
        for drop in "drop width=20e-3 share=0.01" "drop width=0.1 share=0.01"; do
            interference "$drop" $seed ${PSRKIT_LONG:+1}6
            [ "$(awk -F, 'NR > 1 && $8 == "-"' rfi_ffa.csv)" = "" ]
        done
    done
}

@test "gpudedisp -ffa beside -accelsearch, and its mistakes" {
    observation
    gpudedisp -q -nobary -lodm 100 -dmstep 100 -numdms 2 -nowrite -ffa "-pmin 1 -pmax 2" -accelsearch "-zmax 0" -o both obs.fil
    [ -f both_ffa.csv ]
    [ -f both_DM200.00.inf ]
    [ -f both_DM200.00_ACCEL_0 ]
    refuses 2 "pmax = 2 s must be above" gpudedisp -nowrite -ffa "-pmin 3 -pmax 2" -o x obs.fil
    refuses 2 "-o - takes no lists of -ffa" gpudedisp -numdms 1 -nowrite -ffa "" -o - obs.fil
    refuses 1 "must be at least 0.24 s" gpudedisp -nobary -nowrite -ffa "-pmin 0.01" -o x obs.fil
    refuses 1 "no.zap" gpudedisp -nobary -nowrite -ffa "-zaplist no.zap" -o x obs.fil
    cp obs.fil obs_ffa.csv
    refuses 1 "obs_ffa.csv would be written over" gpudedisp -nobary -nowrite -ffa "" -o obs obs_ffa.csv
    leaves_no 'x_*'
}

@test "accelsift makes one list of both searches, which gpufold folds and accelsift -folds scores" {
    observation
    gpudedisp -q -nobary -lodm 0 -dmstep 100 -numdms 5 -nowrite -ffa "" -accelsearch "-zmax 0 -numharm 16" -o both obs.fil
    accelsift -o both.sift both_DM*_ACCEL_0 both_ffa.csv
    [[ $(sed -n 2p both.sift) == both_DM200.00_ffa.csv:1\ *"  by fourier+ffa" ]]
    run -0 --separate-stderr gpufold -q -topo -n 32 -noplot -cands both.sift -ncands 1 -json -o both obs.fil
    [ -z "$stderr" ]
    [[ $output == '{"candidate": "both_DM200.00_ffa.csv_Cand_1"'* ]]
    echo "$output" >folds.json
    accelsift -folds folds.json -csv -o both.csv both_DM*_ACCEL_0 both_ffa.csv
    [[ $(sed -n 2p both.csv) == both_DM200.00_ffa.csv,1,200,*',fourier+ffa,'* ]]
    [[ $(sed -n 2p both.csv) != *nan* && $(<both.csv) != *moved* ]]
    # A fold that went half a bin away is another signal's.
    obs_s=$(sed -n 2p both.csv | cut -d, -f13)
    [ "$(head -n 1 both.csv | cut -d, -f13)" = tobs_s ]
    p=$(sed 's/.*"p_s_topo": \([0-9.e-]*\),.*/\1/' folds.json)
    sed "s/\"p_s_topo\": [0-9.e-]*/\"p_s_topo\": $(awk "BEGIN { printf \"%.12g\", 1 / (1 / $p + 0.5 / $obs_s) }")/" folds.json >moved.json
    accelsift -folds moved.json -csv -o moved.csv both_DM*_ACCEL_0 both_ffa.csv
    [[ $(<moved.csv) == *"the fold moved the period"* ]]
}

@test "an observation is searched at many DMs, as gpudedisp -ffa does" {
    fakebin -q -seed 5 -tobs 64 -tsamp 1000 -nchans 16 -fch1 400 -foff -4 -nbits 8 -period 0 -o s.fil \
        -add "pulsar period=1.3 dm=20 width=0.03 snr=25"
    mkdir a b
    (cd a && run -0 --separate-stderr gpuffa -topo -lodm 10 -dmstep 5 -numdms 4 ../s.fil && [ -z "$output$stderr" ])
    (cd b && gpudedisp -q -nobary -lodm 10 -dmstep 5 -numdms 4 -nowrite -ffa "" -o s ../s.fil)
    cmp a/s_ffa.csv b/s_ffa.csv
    near "$(column 1 a/s_ffa.csv | head -n 1)" 1.3 0.001
    [ "$(column 3 a/s_ffa.csv | head -n 1)" = 20 ]
    (cd a && leaves_no '*.dat')
    refuses 2 'a series has its DM' gpuffa -lodm 3 s.dat
    refuses 2 'one after the other' gpuffa s.dat s.fil
    refuses 2 'names of series' gpuffa -files list s.fil
    refuses 1 'none.fil: No such file' gpuffa none.fil
}
