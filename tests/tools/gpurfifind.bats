#!/usr/bin/env bats
# gpurfifind: rfifind's files of an observation with interference, and what it refuses.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    make_rfi
    run="gpurfifind -q -time 1"
}

# near_floats BOUND A B: the floats of two files, from byte 20 on, agree relatively.
near_floats() {
    paste <(od -An -v -w4 -j 20 -tf4 "$2") <(od -An -v -w4 -j 20 -tf4 "$3") |
        awk -v bound="$1" '{ d = $1 - $2; if (d < 0) d = -d; m = $2 < 0 ? -$2 : $2
            if (NF != 2 || d > bound * (m + 1e-30)) { print; bad = 1 } } END { exit bad || NR == 0 }'
}

@test "-compat presto writes rfifind's mask, flags and description to the byte" {
    mkdir -p out/rfifind
    $run -compat presto -o out/rfifind/r rfi.fil
    cmp out/rfifind/r_rfifind.mask "$golden/mask/r_rfifind.mask"
    cmp out/rfifind/r_rfifind.bytemask "$golden/mask/r_rfifind.bytemask"
    diff <(grep -v 'Data analyzed' out/rfifind/r_rfifind.inf) <(grep -v 'Data analyzed' "$golden/mask/r_rfifind.inf")
    [ "$(ls out/rfifind | wc -l)" -eq 5 ]
}

@test "statistics and birdies agree to float rounding" {
    $run -compat presto -o r rfi.fil
    cmp -n 20 r_rfifind.stats "$golden/mask/r_rfifind.stats"
    near_floats 2e-6 r_rfifind.stats "$golden/mask/r_rfifind.stats"
    [ "$(stat -c %s r_rfifind.rfi)" = "$(stat -c %s "$golden/mask/r_rfifind.rfi")" ]
    cmp -n 36 r_rfifind.rfi "$golden/mask/r_rfifind.rfi"
    # Four birdies of 21 bytes: three floats, the number of detections, where they were seen.
    for k in 0 1 2 3; do
        at=$((36 + 21 * k))
        cmp -i $((at + 12)) -n 9 r_rfifind.rfi "$golden/mask/r_rfifind.rfi"
        diff <(od -An -j $at -N 12 -tf4 r_rfifind.rfi | awk '{ printf "%.4g %.4g %.4g", $1, $2, $3 }') \
            <(od -An -j $at -N 12 -tf4 "$golden/mask/r_rfifind.rfi" | awk '{ printf "%.4g %.4g %.4g", $1, $2, $3 }')
    done
}

@test "threads and pipes change no byte" {
    $run -ncpus 1 -o a rfi.fil
    $run -ncpus 3 -o b rfi.fil
    cat rfi.fil | $run -o c -
    for suffix in mask bytemask stats moments zaplist birds rfi; do
        cmp a_rfifind.$suffix b_rfifind.$suffix
        cmp a_rfifind.$suffix c_rfifind.$suffix
    done
    diff <(tail -n +2 a_rfifind.inf) <(tail -n +2 c_rfifind.inf)
}

@test "-nocompute makes the mask anew, as if it had been asked for at once" {
    $run -o a rfi.fil
    $run -timesig 3 -freqsig 2 -intfrac 0.1 -zapchan 3,0 -zapints 1 -o b rfi.fil
    fails cmp -s a_rfifind.mask b_rfifind.mask
    cp a_rfifind.stats before
    gpurfifind -q -nocompute -timesig 3 -freqsig 2 -intfrac 0.1 -zapchan 3,0 -zapints 1 -o a
    cmp a_rfifind.mask b_rfifind.mask
    cmp a_rfifind.bytemask b_rfifind.bytemask
    cmp a_rfifind.stats before
    # The old mask may be the one that is replaced; its cells are marked.
    gpurfifind -q -nocompute -mask a_rfifind.mask -o a rfi.fil
    fails cmp -s a_rfifind.bytemask b_rfifind.bytemask
}

@test "gpudedisp takes the mask" {
    $run -o r rfi.fil
    gpudedisp -q -nobary -lodm 47 -numdms 1 -mask r_rfifind.mask -o t rfi.fil
    gpudedisp -q -nobary -lodm 47 -numdms 1 -mask "$mask" -o u rfi.fil
    cmp t_DM47.00.dat u_DM47.00.dat
}

@test "an ascending band has its own frequencies, and PRESTO's with -compat" {
    { cat "$golden/headers/posfoff.hdr"; tail -c 950272 "$g8"; } >up.fil
    $run -o a up.fil
    $run -compat presto -o b up.fil
    grep -q 'low channel (MHz)  *=  1498$\|low channel (MHz)  *=  1[0-9.]*$' a_rfifind.inf
    fails diff <(grep 'low channel' a_rfifind.inf) <(grep 'low channel' b_rfifind.inf)
    gpudedisp -q -nobary -lodm 47 -numdms 1 -mask a_rfifind.mask -o t up.fil
    gpudedisp -q -nobary -lodm 47 -numdms 1 -mask b_rfifind.mask -o u up.fil
}

@test "ignored channels have no statistics, inverted bands are turned" {
    $run -noclip -o a rfi.fil
    $run -noclip -ignorechan 0:9 -o b rfi.fil
    $run -noclip -invert -o c rfi.fil
    # Means of the first interval, after 20 bytes and 7 * 32 powers.
    means() { od -An -v -w4 -tf4 -j $((20 + 4 * 7 * 32)) -N 128 "$1" | tr -d ' '; }
    [ "$(means b_rfifind.stats | head -n 10 | sort -u)" = 0 ]
    diff <(means a_rfifind.stats | tail -n 22) <(means b_rfifind.stats | tail -n 22)
    diff <(means a_rfifind.stats | tac) <(means c_rfifind.stats)
}

@test "it says what it masked and why, on standard error" {
    run --separate-stderr gpurfifind -time 1 -rfips -o r rfi.fil
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ $stderr == *"-rfips"*ignored* ]]
    [[ $stderr == *"7 intervals of 4800 spectra, 32 channels; masked: 2 of 224 cells"* ]]
    [[ $stderr == *"2 cells (0.893 %) are periodic"* ]]
    [[ $stderr == *"the most significant birdies"* ]]
    run --separate-stderr $run -o r rfi.fil
    [ -z "$output$stderr" ]
}

@test "what is asked for wrongly is a usage error" {
    refuses 2 'no input given' gpurfifind -o r
    refuses 2 '-o ROOT is missing' gpurfifind rfi.fil
    refuses 2 '-o -: ' gpurfifind -o - rfi.fil
    refuses 2 "'sigproc' is not presto" gpurfifind -compat sigproc -o r rfi.fil
    refuses 2 'exclude each other' gpurfifind -filterbank -psrfits -o r rfi.fil
    refuses 2 '-intfrac' gpurfifind -intfrac 1.5 -o r rfi.fil
    leaves_no 'r_*'
}

@test "what cannot be done is an error, and nothing is written" {
    refuses 1 'nowhere.fil' $run -o r nowhere.fil
    refuses 1 '-zapchan' $run -zapchan 32 -o r rfi.fil
    refuses 1 "-zapints: '9'" $run -zapints 9 -o r rfi.fil
    refuses 1 'at most 2147483647' gpurfifind -q -time 1e9 -o r rfi.fil
    refuses 3 ': [0-9]* spectra, [0-9.]* s, are less than a block of' $run -o r <(head -c 20000 rfi.fil)
    refuses 1 'r_rfifind.inf' gpurfifind -q -nocompute -o r rfi.fil
    refuses 1 'nofolder' $run -o nofolder/r rfi.fil
    leaves_no 'r_*'
}

@test "no output is an input" {
    cp rfi.fil r_rfifind.mask
    refuses 1 'r_rfifind.mask' $run -o r r_rfifind.mask
    cmp rfi.fil r_rfifind.mask
    rm r_rfifind.mask
    $run -o r rfi.fil
    cp r_rfifind.mask before
    refuses 1 'r_rfifind.(mask|stats)' $run -mask r_rfifind.mask -o r rfi.fil
    cmp before r_rfifind.mask
}

@test "a broken earlier run is an error" {
    $run -o r rfi.fil
    cp r_rfifind.stats whole
    head -c 100 whole >r_rfifind.stats
    refuses 3 'r_rfifind.stats: ' gpurfifind -q -nocompute -o r
    cp whole r_rfifind.stats
    echo >>r_rfifind.bytemask
    refuses 3 'r_rfifind.bytemask: ' gpurfifind -q -nocompute -o r
}

@test "a real observation's mask comes again from its statistics" {
    need_data gbt_lband/Lband_rfifind.mask
    for suffix in mask bytemask stats rfi inf; do
        cp "$PSRKIT_TEST_DATA/gbt_lband/Lband_rfifind.$suffix" r_rfifind.$suffix
        chmod u+w r_rfifind.$suffix
    done
    gpurfifind -q -compat presto -nocompute -o r
    for suffix in mask bytemask; do
        cmp "$PSRKIT_TEST_DATA/gbt_lband/Lband_rfifind.$suffix" r_rfifind.$suffix
    done
}

@test "real PSRFITS data with scales and weights are taken" {
    need_data parkes_4bit.sf
    $run -compat presto -blocks 1 -o a "$PSRKIT_TEST_DATA/parkes_4bit.sf"
    $run -compat presto -blocks 1 -noscales -nooffsets -o b "$PSRKIT_TEST_DATA/parkes_4bit.sf"
    [ "$(stat -c %s a_rfifind.bytemask)" -gt 0 ]
    fails cmp -s a_rfifind.stats b_rfifind.stats
}

@test "a channel that stands out from its neighbours is masked by -iqrm alone" {
    fakebin -q -period 0 -nchans 128 -nbits 8 -tsamp 256 -tobs 4 -fch1 1500 -foff 1 -seed 5 -o noise.fil
    $run -noclip -sk 0 -skew 0 -kurt 0 -o a noise.fil
    $run -noclip -iqrm 0 -sk 0 -skew 0 -kurt 0 -o b noise.fil
    $run -noclip -compat presto -o c noise.fil
    cmp b_rfifind.bytemask c_rfifind.bytemask
    cmp a_rfifind.bytemask b_rfifind.bytemask
    # The standard deviation of channel 64 in the first interval, of 31 to 33, becomes 40.
    at=$((20 + 2 * 4 * $(stat -c %s a_rfifind.bytemask) + 4 * 64))
    printf '\x00\x00\x20\x42' | dd of=a_rfifind.stats bs=1 seek=$at conv=notrunc status=none
    gpurfifind -q -nocompute -timesig 1000 -sk 0 -skew 0 -kurt 0 -o a
    [ "$(od -An -v -w1 -tu1 a_rfifind.bytemask | awk '$1 >= 128 { n++; at = NR } END { print n, at }')" = "1 65" ]
    refuses 2 'rfifind has no -iqrm' gpurfifind -compat presto -iqrm 5 -o r rfi.fil
}

# made_noise FILE BITS OPTION...: 40 s of 128 channels.
made_noise() {
    local file="$1" bits="$2"
    shift 2
    fakebin -q -period 0 -nchans 128 -nbits "$bits" -tsamp 256 -tobs 40 -fch1 1500 -foff -1 -seed 5 "$@" -o "$file"
}

@test "noise of any depth is hardly masked, and has no lines" {
    for bits in 2 4 8; do
        made_noise noise.fil $bits
        $run -o n noise.fil
        [ "$(od -An -v -w1 -tu1 n_rfifind.bytemask | awk '$1 >= 16 { n++ } END { print n <= 1 }')" = 1 ]
        [ "$(grep -vc '^#' n_rfifind.zaplist)" = 0 ]
    done
}

@test "each test finds its interference, alone and together with others" {
    made_noise rfi.fil 8 -rfi "phone freq=1440 bw=4 rate=0.3 width=0.5 level=3" -rfi "mains level=0.15 wander=0" \
        -rfi "spark rate=10 t=20 length=2 width=0.02 level=20"
    run --separate-stderr gpurfifind -time 1 -noclip -o all rfi.fil
    [[ $stderr == *"cells ("*"(-sk)"* ]]
    [[ $stderr == *"(-skew)"* ]]
    [[ $stderr == *"(-kurt)"* ]]
    [[ $stderr == *"(-bursts, -burstfrac)"* ]]
    [[ $stderr == *"% of the spectra are in bursts at DM 0"* ]]
    [[ $stderr == *"lines at DM 0 are in .zaplist"*" 50"* ]]
    [ "$(awk '!/^#/ && $1 > 49.9 && $1 < 50.1 { print ($3 >= 3) }' all_rfifind.birds)" = 1 ]
    for test in sk skew kurt; do
        off="-iqrm 0 -sk 0 -skew 0 -kurt 0 -burstfrac 0"
        gpurfifind -nocompute ${off/-$test 0/} -o all 2>said
        grep -q "(-$test)" said
        [ "$(grep -c '(-[a-z]*)' said)" = 1 ]
    done
    gpurfifind -nocompute $off -o all 2>said
    fails grep -q '(-[a-z]*)' said
    run --separate-stderr gpurfifind -time 1 -noclip -lines 0 -o none rfi.fil
    [ ! -e none_rfifind.zaplist ]
}

@test "without .moments of the earlier run, a note says what does nothing" {
    $run -compat presto -o r rfi.fil
    [ ! -e r_rfifind.moments ]
    run --separate-stderr gpurfifind -nocompute -o r
    [ "$status" -eq 0 ]
    [[ $stderr == *"no .moments"* ]]
    $run -o r rfi.fil
    head -c 30 r_rfifind.moments >x && cp x r_rfifind.moments
    refuses 3 'r_rfifind.moments: ' gpurfifind -q -nocompute -o r
}

@test "-compat presto has none of the other tests" {
    for option in iqrm sk skew kurt bursts burstfrac lines; do
        refuses 2 "rfifind has no -$option" gpurfifind -compat presto -$option 1 -o r rfi.fil
    done
    $run -compat presto -sk 0 -lines 0 -o r rfi.fil
}

# draws OPTION...: a picture is drawn; skips the test in a build that cannot.
draws() {
    gpurfifind -time 1 "$@" 2>says && return
    grep -q 'built without cairo' says || { cat says; return 1; }
    leaves_no 'r_*'
    skip "built without cairo"
}

@test "the picture shows what is masked, the same each time" {
    made_noise rfi.fil 8 -rfi "phone freq=1440 bw=4 rate=0.3 width=0.5 level=3" \
        -rfi "spark rate=10 t=20 length=2 width=0.02 level=20"
    draws -plot a.png -o r rfi.fil
    # White, black, no data, mean, whole: what is not white is axes, text and images.
    colours="ffffff 000000 cccccc d62728 333333"
    read -r width height white black padded mean whole < <("$builddir/tests/support/png_colours" a.png $colours)
    [ "$width $height" = "1280 880" ]
    [ "$white" -gt 300000 ]
    [ "$white" -lt 900000 ]
    [ "$black" -gt 5000 ]
    [ "$padded" -gt 3000 ]
    [ "$mean" -gt 150 ]
    [ "$whole" -gt 3000 ]
    draws -ncpus 1 -plot b.png -o r rfi.fil
    cmp a.png b.png
    gpurfifind -q -nocompute -zapchan 0:63 -plot c.png -o r
    read -r width height more < <("$builddir/tests/support/png_colours" c.png 333333)
    [ "$more" -gt $((whole + 50000)) ]
    # Noise has no cells that are drawn as bad: only the key has these colours.
    made_noise noise.fil 8
    draws -plot n.png -o r noise.fil
    read -r width height white black padded mean whole < <("$builddir/tests/support/png_colours" n.png $colours)
    [ "$mean" -lt 150 ]
    [ "$whole" -lt 400 ]
    # The interval without data is grey in all four panels.
    [ "$padded" -gt 12000 ]
}

@test "the picture is drawn, or left out" {
    name="it's \"a\" \`touch ran\`"
    draws -plot "$name.png" -o "$name" rfi.fil
    [ ! -e ran ]
    [ "$(tail -c 8 "./$name.png" | od -An -tx1)" = " 49 45 4e 44 ae 42 60 82" ]
    cp rfi.fil in.png
    refuses 1 'in.png' $run -plot in.png -o r in.png
    cmp rfi.fil in.png
    # A picture that cannot be written is left out, and the results are made.
    leaves_no 'r_*'
    run -1 --separate-stderr $run -plot nowhere/x.png -o r rfi.fil
    one_line '^gpurfifind: nowhere/x.png: cannot create'
    $run -o q rfi.fil
    for file in mask stats rfi; do cmp q_rfifind.$file r_rfifind.$file; done
    rm q_rfifind.* r_rfifind.*
    # Two channels; one interval, which the data do not fill
    fakebin -q -period 0 -nchans 2 -nbits 8 -tsamp 256 -tobs 2 -fch1 1500 -foff -1 -o one.fil
    draws -plot one.png -o r one.fil
    gpurfifind -q -time 1000 -plot none.png -o r rfi.fil
    [ -s none.png ]
}

# scaled FACTOR FILE: that FACTOR times the floats of FILE, a filterbank with data to the last byte.
scaled() {
    local head
    head=$(($(grep -obUa HEADER_END "$2" | head -n 1 | cut -d: -f1) + 10))
    "$builddir/tests/support/scale_floats" "$head" "$1" <"$2"
}

@test "floats of any unit have the same masks, pulses, candidates and folds" {
    fakebin -q -seed 11 -nbits 32 -nchans 32 -tsamp 512 -tobs 20 -fch1 1500 -foff 4 -period 0 \
        -add "pulsar period=0.0391 dm=40 width=0.003 snr=40" -add "burst dm=70 t=6 width=0.004 snr=25" \
        -rfi "tone freq=1450 bw=4 period=0.02 width=0.01 level=2" -rfi "spark rate=1 t=10 length=4 width=0.02 level=5" \
        -o unit.fil
    [ "$(od -An -td4 -j$(($(grep -obUa nbits unit.fil | cut -d: -f1) + 5)) -N4 unit.fil | tr -d ' ')" -eq 32 ]
    scaled 1 unit.fil | cmp - unit.fil
    scaled 1e-9 unit.fil >small.fil
    scaled 1e9 unit.fil >large.fil
    for f in unit small large; do
        gpurfifind -q -time 1 -o $f $f.fil
        gpurfifind -q -time 1 -noclip -iqrm 0 -o ${f}_n $f.fil
        gpudedisp -q -nobary -lodm 0 -dmstep 10 -numdms 11 -singlepulse -accelsearch "-zmax 0 -numharm 8" -o ${f}_p $f.fil
        gpudedisp -q -nobary -lodm 0 -dmstep 10 -numdms 11 -clean auto -singlepulse -nowrite -o ${f}_c $f.fil
        gpufold -q -topo -noplot -p 0.0391 -dm 40 -n 32 -nsub 16 -npart 8 -o ${f}_f $f.fil
        gpuaccel-pulscan -q -zmax 20 -numharm 4 -csv -o $f.csv ${f}_p_DM40.00.dat
        gpuaccel-pulscan -q -search both -zmax 20 -numharm 4 -csv -o $f.both ${f}_p_DM40.00.dat
        gpuaccel-pulscan -q -rednoise -zmax 20 -numharm 4 -csv -o $f.red ${f}_p_DM40.00.dat
        gpudedisp -q -nobary -lodm 0 -dmstep 10 -numdms 11 -halve 2 -scrunch 4 -singlepulse -nowrite -o ${f}_h $f.fil
        gpufold -q -topo -noplot -p 0.0391 -n 32 -npart 8 -o ${f}_d ${f}_p_DM40.00.dat
        gpudedisp -q -nobary -lodm 0 -dmstep 10 -numdms 11 -clean auto -weights snr \
            -singlepulse -nowrite -o ${f}_w $f.fil
        gpudedisp -q -live -lodm 0 -dmstep 10 -numdms 11 -o ${f}_l $f.fil
        gpufold -q -topo -noplot -p 0.0391 -dm 40 -n 32 -nsub 16 -npart 8 -clean auto -fine -refine -json -o ${f}_g $f.fil >${f}_g
        gpudedisp -q -nobary -lodm 40 -numdms 1 -format tim -o ${f}_t $f.fil
        gpuaccel-pulscan -q -search matched -zmax 20 -numharm 4 -csv -o $f.tim.csv ${f}_t_DM40.00.tim
        gpuaccel-pulscan -q -search matched -zmax 20 -numharm 4 -csv -fftout -o $f.dat.csv ${f}_p_DM40.00.dat
        gpuaccel-pulscan -q -search matched -zmax 20 -numharm 4 -csv -o $f.fft.csv ${f}_p_DM40.00.fft
    done
    # To four digits, without names of files.
    digits() { awk -F'[,\t ]+' '{ for (i = 2; i <= NF; i++) printf "%s ", $i ~ /^[-+0-9.e]+$/ ? sprintf("%.4g", $i) : $i; print "" }' "$@"; }
    rounded() { awk '{ for (i = 1; i <= NF; i++) printf "%s ", $i ~ /^[-+0-9.e]+,?$/ ? sprintf("%.4g", $i) : $i; print "" }'; }
    # The channel of the tone, and the intervals of sparks.
    [ "$(od -An -v -w1 -tu1 unit_rfifind.bytemask | awk '$1 >= 16 { n++ } END { print (n >= 16) }')" = 1 ]
    [ "$(grep -vc '^#' unit_p.cand)" -ge 1 ]
    for f in small large; do
        cmp unit_rfifind.bytemask ${f}_rfifind.bytemask
        cmp unit_n_rfifind.bytemask ${f}_n_rfifind.bytemask
        diff <(sed 's/ # power.*//' unit_rfifind.zaplist) <(sed 's/ # power.*//' ${f}_rfifind.zaplist)
        cmp unit_c.cand ${f}_c.cand
        diff <(cut -f2-6,8- unit_h.cand) <(cut -f2-6,8- ${f}_h.cand)
        cmp unit_w.cand ${f}_w.cand
        for list in both red tim.csv dat.csv fft.csv; do diff <(digits unit.$list) <(digits $f.$list); done
        diff <(grep 'P_topo\|Reduced' unit_d_*.bestprof) <(grep 'P_topo\|Reduced' ${f}_d_*.bestprof)
        diff <(sed 's/, "latency_s".*//' unit_l | rounded) <(sed 's/, "latency_s".*//' ${f}_l | rounded)
        diff <(grep -o '"\(p_s_topo\|dm\|snr\|sigma\)": [^,]*' unit_g | rounded) \
            <(grep -o '"\(p_s_topo\|dm\|snr\|sigma\)": [^,]*' ${f}_g | rounded)
        diff <(cut -f2-6,8- unit_p.cand) <(cut -f2-6,8- ${f}_p.cand)
        # Powers are rounded to floats.
        for list in unit_p_DM*_ACCEL_0; do
            diff <(sed '/^ *$/,$d' "$list" | cut -c1-11) <(sed '/^ *$/,$d' "${f}${list#unit}" | cut -c1-11)
        done
        diff <(awk -F, '{ printf "%.1f %.2f\n", $3, $9 }' unit.csv) <(awk -F, '{ printf "%.1f %.2f\n", $3, $9 }' $f.csv)
        diff <(grep 'Reduced\|Best DM\|P_topo' unit_f*.bestprof) <(grep 'Reduced\|Best DM\|P_topo' ${f}_f*.bestprof)
    done
}
