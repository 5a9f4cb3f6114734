#!/usr/bin/env bats
# gpudedisp -accelsearch: the lists are those of gpuaccel-pulscan on the series' files, byte for byte,
# and no series is written.

load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR"
    fakebin -tobs 16 -nchans 32 -tsamp 256 -nbits 8 -period 37 -dm 30 -snrpeak 0.5 -width 8 -accn 40 \
        -rednoise 0.3 -seed 5 -o f.fil
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    f=$BATS_FILE_TMPDIR/f.fil
    trials="-nobary -lodm 20 -dmstep 5 -numdms 4"
}

# both OPTIONS SEARCH [INPUT]: lists by way of files, and without; as many as files say.
both() {
    local input=${3:-$f}
    rm -rf two one && mkdir two one
    (cd two && gpudedisp -q $1 -o x "$input" && gpuaccel-pulscan -q $2 x_DM*.dat && rm x_DM*.dat)
    (cd one && gpudedisp -q -nowrite $1 -accelsearch "$2" -o x "$input")
    [ "$(ls two | wc -l)" -ge "${files:-3}" ]
    diff -r two one
}

@test "lists are those of the series' files, for every kind of search" {
    files=16
    both "$trials" "-search matched -zmax 20"
    both "$trials" "-search boxes -zmax 20 -rednoise"
    both "$trials -zerodm" "-search both -zmax 8 -numharm 4 -noharmremove"
    both "$trials" "-search boxes -confirm -zmax 8"
    both "$trials" "-search matched -zmax 8 -wmax 40 -numharm 2"
    files=8 both "$trials -numdms 2" "-search matched -compat presto -zmax 8 -numharm 4"
    files=8 both "$trials" "-search boxes -compat pulscan"
}

@test "lengths: padded, as they are, and as asked" {
    both "$trials -nopad" "-search matched -zmax 4 -numharm 2"
    both "$trials -numout 30001" "-search matched -zmax 4 -numharm 2"
    both "$trials -numout 80000" "-search boxes -zmax 4 -numharm 2"
    both "$trials -sametail -downsamp 3" "-search matched -zmax 4 -numharm 2"
}

@test "lines of a plan, and barycentred series" {
    printf '%s\n' '0 10 3 1 0' '30 15 2 2 0' '60 20 2 4 0' >p.plan
    files=28 both "-nobary -plan $PWD/p.plan" "-search matched -zmax 4 -numharm 2"
    make_radec radec.fil
    both "-lodm 20 -dmstep 5 -numdms 3" "-search matched -zmax 4 -numharm 2" "$PWD/radec.fil"
}

@test "a zap list, and batches on three threads" {
    echo '27.03 0.5 4 0' >birds.zaplist
    both "$trials" "-search matched -zmax 4 -zaplist $PWD/birds.zaplist"
    both "$trials -ncpus 3" "-search matched -zmax 4 -numharm 2"
}

@test "what does not fit in memory waits in a scratch file that nobody sees" {
    mkdir one all
    (cd all && gpudedisp -q -device cpu -nowrite $trials -numdms 150 -accelsearch "-zmax 4 -numharm 2" -o x "$f")
    (cd one && gpudedisp -v -device cpu -nowrite $trials -numdms 150 -mem 32M -accelsearch "-zmax 4 -numharm 2" -o x "$f") 2>said
    diff -r all one
    grep -qE '150 series searched for pulsars, [0-9]+ candidates; kept 0 MB on devices, [0-9]+ MB in memory, [1-9][0-9]* MB in a scratch file' said
    [ "$(ls -A one | grep -v ACCEL | grep -vc '\.inf$')" -eq 0 ]
}

@test "series, events and lists in one run" {
    mkdir all
    (cd all && gpudedisp -q $trials -singlepulse -accelsearch "-zmax 4 -numharm 2" -o x "$f")
    [ "$(ls all/*.dat all/*.singlepulse all/*.txtcand | wc -l)" -eq 12 ]
    both "$trials" "-search matched -zmax 4 -numharm 2"
    for list in one/*; do
        cmp "$list" "all/$(basename "$list")"
    done
}

@test "sifting and folding take the lists" {
    gpudedisp -q -nowrite $trials -numdms 9 -accelsearch "-zmax 20" -o x "$f"
    accelsift -o cands.txt x_DM*_ACCEL_20
    gpufold -q -topo -nosearch -cands cands.txt -o y "$f"
    [ -s "$(ls y_*.pfd | head -n 1)" ]
}

@test "series without data are named, and the others searched" {
    local header=$(($(grep -obUa HEADER_END "$f" | head -n 1 | cut -d: -f1) + 10))
    { head -c $header "$f" && head -c $((62500 * 32)) /dev/zero | tr '\0' '\7'; } >flat.fil
    run -0 --separate-stderr gpudedisp -nowrite $trials -accelsearch "-zmax 4" -o x flat.fil
    [ "$(grep -c 'all samples are .*: there is nothing to search' <<<"$stderr")" -eq 4 ]
    [ -z "$(ls x_*ACCEL* 2>/dev/null)" ]
}

@test "topocentric lines are moved as the series are barycentred" {
    fakebin -q -seed 4 -tobs 67.108864 -tsamp 256 -nchans 4 -nbits 8 -fch1 1500 -foff 8 -o z.fil \
        -add "pulsar period=0.0025 width=0.0008 snr=40"
    echo '400 0.01' >z.zaplist
    go="gpudedisp -q -nowrite -lodm 0 -numdms 1 -position 06:00:00,20:00:00 -site 0,0,0 -o z"
    $go -accelsearch "-zmax 0 -numharm 1" z.fil
    grep -q ' 2\.500238' z_DM0.00_ACCEL_0
    $go -accelsearch "-zmax 0 -numharm 1 -zaplist z.zaplist" z.fil
    fails grep -q ' 2\.500238' z_DM0.00_ACCEL_0
    grep -q ' 1\.250121' z_DM0.00_ACCEL_0
    $go -accelsearch "-zmax 0 -numharm 1 -zaplist z.zaplist -baryv 1e-12" z.fil
    grep -q ' 2\.500238' z_DM0.00_ACCEL_0
}

@test "refusals come before anything is read" {
    refuses 2 'gpudedisp -accelsearch: .*-zmax' gpudedisp -nowrite $trials -accelsearch "-zmax x" -o x "$f"
    refuses 2 'gpudedisp -accelsearch' gpudedisp -nowrite $trials -accelsearch "-zmax 20 file.dat" -o x "$f"
    refuses 2 '-o - takes no lists' gpudedisp -nowrite $trials -accelsearch "-zmax 20" -o - "$f"
    refuses 2 '-o ROOT is missing' gpudedisp -nowrite $trials -accelsearch "-zmax 20" "$f"
    refuses 1 'nothing to search: -flo is bin' gpudedisp -nowrite $trials -accelsearch "-flo 5000" -o x "$f"
    refuses 1 'none.zaplist' gpudedisp -nowrite $trials -accelsearch "-zaplist none.zaplist" -o x "$f"
    [ -z "$(ls x_* 2>/dev/null)" ]
}
