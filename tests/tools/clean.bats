#!/usr/bin/env bats
# gpudedisp's cleaning from the command line: masks, clipping, zero-DM, and flags that do nothing.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    make_rfi
    one="-nobary -q -nopad -lodm 47 -numdms 1"
}

# differ A B: the first and last sample in which two series differ.
differ() {
    cmp -l "$1" "$2" | awk '{ at = int(($1 - 1) / 4); if (NR == 1) printf "%d ", at } END { print at }'
}

# near A B TOLERANCE: two series are the same but for so much.
near() {
    paste <(od -An -v -t f4 -w4 "$1") <(od -An -v -t f4 -w4 "$2") |
        awk -v tol="$3" '{ d = $1 - $2; if (NF != 2 || d > tol || -d > tol) bad++ }
                         END { if (bad || !NR) { print bad + 0, "of", NR, "differ"; exit 1 } }'
}

@test "a mask works at its own time, and gives its padding" {
    gpudedisp $one -noclip -o plain rfi.fil
    gpudedisp $one -noclip -mask "$mask" -o masked rfi.fil
    # Channels 13 and 14, delayed by 35 and 33 samples, in the interval from 14400 to 19199; the
    # block before it touches it.
    read -r first last < <(differ plain_DM47.00.dat masked_DM47.00.dat)
    [ "$first" -ge $((12000 - 35)) ]
    [ "$first" -lt $((12000 + 10)) ]
    [ "$last" -lt 19200 ]
    [ "$last" -gt 19150 ]
    # prepdata's, up to the block whose first interval PRESTO forgets.
    near <(tail -c +$((9000 * 4 + 1)) masked_DM47.00.dat | head -c $((7765 * 4))) \
        <(head -c $((7765 * 4)) "$golden/prepdata_mask.dat") 0.002
}

@test "clipping is on, and is PRESTO's" {
    sub="-nobary -q -nopad -algo subband -nsub 8 -lodm 40 -dmstep 7 -numdms 3"
    gpudedisp $sub -o clipped rfi.fil
    gpudedisp $sub -noclip -o raw rfi.fil
    gpudedisp $sub -clip 0 -o zero rfi.fil
    gpudedisp -q -compat presto -nobary -nsub 8 -lodm 40 -dmstep 7 -numdms 3 -o presto rfi.fil
    cmp raw_DM47.00.dat zero_DM47.00.dat
    near <(head -c 96000 clipped_DM47.00.dat) <(head -c 96000 presto_DM47.00.dat) 0.002
    [ "$(differ raw_DM47.00.dat clipped_DM47.00.dat)" != "" ]
    run -0 --separate-stderr gpudedisp -nobary -v -numdms 1 -nopad -o v rfi.fil
    [[ $stderr == *": 4 spectra clipped"* ]]
    gpudedisp $sub -clip 1000 -o high rfi.fil
    cmp raw_DM47.00.dat high_DM47.00.dat
}

@test "zero-DM is PRESTO's, and turns clipping off" {
    sub="-nobary -q -nopad -algo subband -nsub 8 -lodm 40 -dmstep 7 -numdms 3 -zerodm"
    compat="-q -compat presto -nobary -nsub 8 -lodm 40 -dmstep 7 -numdms 3 -zerodm"
    gpudedisp $sub -o a rfi.fil
    gpudedisp $compat -o b rfi.fil
    near <(head -c 96000 a_DM47.00.dat) <(head -c 96000 b_DM47.00.dat) 0.01
    gpudedisp $sub -noclip -o c rfi.fil
    cmp a_DM47.00.dat c_DM47.00.dat
}

@test "threads, memory and pipes do not change a bit" {
    gpudedisp $one -mask "$mask" -clip 4 -ncpus 1 -o a rfi.fil
    gpudedisp $one -mask "$mask" -clip 4 -ncpus 3 -mem 16M -o b rfi.fil
    cat rfi.fil | gpudedisp $one -mask "$mask" -clip 4 -o c -
    cmp a_DM47.00.dat b_DM47.00.dat
    cmp a_DM47.00.dat c_DM47.00.dat
}

@test "an offset moves the mask with it" {
    gpudedisp $one -noclip -mask "$mask" -o all rfi.fil
    gpudedisp $one -noclip -mask "$mask" -offset 2400 -o off rfi.fil
    cmp <(tail -c +9601 all_DM47.00.dat) off_DM47.00.dat
}

@test "a masked interval holds no events, and a clipped burst is none" {
    # The same mask with all of interval 3 masked: 1 masked interval, number 3.
    { head -c 64 "$mask"; printf '\1\0\0\0\3\0\0\0'; tail -c +69 "$mask"; } >whole.mask
    cp "$golden/mask/r_rfifind.stats" whole.stats
    search="-q -nobary -lodm 0 -dmstep 10 -numdms 10 -singlepulse -nowrite -threshold 6"
    gpudedisp $search -noclip -o raw rfi.fil
    gpudedisp $search -o clipped rfi.fil
    gpudedisp $search -noclip -mask whole.mask -o masked rfi.fil
    # A burst of all channels at once, from spectrum 8000 on; pulses between 12000 and 19200.
    awk '$2 >= 7990 && $2 < 8010 && $6 == 0 { n++ } END { exit !n }' raw.cand
    awk '$2 >= 7990 && $2 < 8010 && $6 == 0 { exit 1 }' clipped.cand
    awk 'NR > 1 && $2 >= 12000 && $2 < 19200 { n++ } END { exit !n }' raw.cand
    awk 'NR > 1 && $2 >= 12000 && $2 < 19200 { exit 1 }' masked.cand
}

# refused CODE PATTERN ARGS...: one line that matches, and no file.
refused() {
    refuses "$1" "$2" gpudedisp -q -nobary -o t "${@:3}"
    leaves_no 't[_.]*'
}

@test "bad masks are refused with one line" {
    refused 1 'missing.mask: No such file' -mask missing.mask rfi.fil
    cp "$mask" lone.mask
    refused 1 'lone.stats: No such file' -mask lone.mask rfi.fil
    head -c 70 "$mask" >cut.mask
    refused 3 'cut.mask: ' -mask cut.mask rfi.fil
    # Twice as many data, and a band elsewhere, from the same start.
    { cat rfi.fil; tail -c 950272 "$g8"; } >long.fil
    refused 1 'a mask of 8.6016 s, and the data last 15.2044 s' -mask "$mask" long.fil
    at=$(($(grep -obUa fch1 rfi.fil | head -n 1 | cut -d: -f1) + 4))
    { head -c $((at + 6)) rfi.fil; printf '\230'; tail -c +$((at + 8)) rfi.fil; } >band.fil
    refused 1 'a mask of channels from 1376 MHz by 4 MHz' -mask "$mask" band.fil
    refused 1 'start at MJD 56789.012' -mask "$mask" "$g8"
    head -c 100 /dev/urandom >random.mask
    refused 3 'random.mask: ' -mask random.mask rfi.fil
    cp "$mask" short.mask
    head -c 2000 "$golden/mask/r_rfifind.stats" >short.stats
    refused 3 'short.stats: ' -mask short.mask rfi.fil
    refused 2 '-clip: -1 is below 0' -clip -1 rfi.fil
    refused 2 '-clip: 1001 is above 1000' -clip 1001 rfi.fil
}

@test "flags that say nothing of this input are accepted with a remark" {
    run -0 --separate-stderr gpudedisp -nobary -wapp -window -numwapps 3 -runavg -numdms 1 -o t rfi.fil
    [[ $stderr == *"-wapp, -window and -numwapps"*"ignored"* && $stderr == *"-runavg"*"ignored"* ]]
    run -0 --separate-stderr gpudedisp -q -nobary -runavg -numdms 1 -o t rfi.fil
    [ -z "$stderr" ]
}

@test "-clean auto: S/N in spite of interference, and the files that say what was removed" {
    sky="-q -seed 3 -nbits 8 -nchans 128 -tsamp 256 -tobs 6 -fch1 1500 -foff 2"
    search="-q -nobary -nowrite -singlepulse -lodm 0 -dmstep 4 -numdms 100"
    fakebin $sky -add "burst dm=200 t=3 width=4e-3 snr=20" -o clean.fil
    fakebin $sky -add "burst dm=200 t=3 width=4e-3 snr=20" -rfi "tone freq=1400 level=3 mod=1" \
        -rfi "tone freq=1420 level=20 mod=1 t=2 length=1" -rfi "spark rate=3 level=3" -o sky.fil
    gpudedisp $search -o n clean.fil
    gpudedisp $search -noclip -o p sky.fil
    gpudedisp $search -clean auto -o c sky.fil
    [ "$(grep -vc '^#' p.cand)" -gt 10 ]
    # The burst with 95 % of the S/N that it has in noise; else only sparks weaker than -clip allows, at DM 0.
    awk -F'\t' '/^#/ { next } $6 == 200 { snr[FILENAME] = $1; next } $6 > 8 || $1 > 8 { other = 1 }
        END { exit !(snr["c.cand"] > .95 * snr["n.cand"] && !other) }' n.cand c.cand
    grep -q '"spark_spectra": [1-9]' c.clean.json
    grep -q '"windows": 3' c.clean.json
    # The tone at 1400 MHz is channel 77 from the lowest.
    gpudedisp -q -mask c.clean.mask -nobary -lodm 0 -numdms 1 -o m sky.fil
    [ -s m_DM0.00.dat ]
}

@test "-clean auto: gains of three receivers that drift are no pulses" {
    [ -n "${PSRKIT_TEST_DATA-}" ] || skip "PSRKIT_TEST_DATA is not set"
    for name in parkes_4bit parkes_1bit; do
        [ -r "$PSRKIT_TEST_DATA/$name.fil" ] || skip "there is no $name.fil in PSRKIT_TEST_DATA"
        gpudedisp -q -clean auto -nobary -nowrite -singlepulse -lodm 0 -dmstep 0.5 -numdms 240 -o x "$PSRKIT_TEST_DATA/$name.fil"
        awk '/^[^#]/ && $1 > 6.5 { print; bad = 1 } END { exit bad }' x.cand
    done
}

@test "single pulses: those of one sub-band, and at the edge of a masked stretch, are marked; bursts are not" {
    sky="-q -seed 5 -nbits 32 -nchans 64 -tsamp 256 -tobs 8 -fch1 1500 -foff 4"
    search="-q -nobary -nowrite -singlepulse -threshold 7 -lodm 0 -dmstep 10 -numdms 40"
    fakebin $sky -add "burst dm=150 t=3 width=4e-3 snr=15" -rfi "tone freq=1400 level=30 t=5 length=4e-3" -o sky.fil
    gpudedisp $search -noclip -o p sky.fil
    awk -F'\t' '/^#/ { next } $3 > 2.98 && $3 < 3.02 && $6 > 100 && $6 < 200 && $10 == "-" { burst = 1 }
        $3 > 4 && $10 ~ /narrow/ { tone++ } $3 > 4 && $10 !~ /narrow/ { other++ }
        END { exit !(burst && tone && !other) }' p.cand
    # Of a pipe, which cannot be read twice, nothing is known.
    gpudedisp $search -noclip -o pipe - <sky.fil
    cut -f 1-9 p.cand | cmp - <(cut -f 1-9 pipe.cand)
    fails grep -q narrow pipe.cand
}

@test "single pulses: several narrow signals at once are marked, and an even pulse as strong is not" {
    sky="-q -seed 5 -nbits 32 -nchans 64 -tsamp 256 -tobs 8 -fch1 1500 -foff 4 -period 0"
    fakebin $sky -add "burst dm=30 t=2 width=4e-3 snr=9" -rfi "tone freq=1300 level=4 t=5.0183 length=4e-3" \
        -rfi "tone freq=1372 level=4 t=5.0108 length=4e-3" -rfi "tone freq=1452 level=4 t=5.0037 length=4e-3" -o three.fil
    gpudedisp -q -nobary -nowrite -singlepulse -threshold 6 -lodm 0 -dmstep 5 -numdms 40 -noclip -o three three.fil
    awk -F'\t' '/^#/ { next } $3 > 1.98 && $3 < 2.02 && $10 !~ /narrow|edge/ { burst++ } $3 > 4.9 && $10 ~ /narrow/ { tones++ }
        $3 > 4.9 && $10 !~ /narrow/ { other++ } END { exit !(burst && tones && !other) }' three.cand
}

@test "single pulses: in a band of nearly six to one a burst is one row" {
    local seed
    for seed in 1 6; do
        fakebin -q -seed $seed -period 0 -nchans 832 -nbits 8 -tsamp 512 -tobs 2 -fch1 4030 -foff 4 \
            -add "burst t=0.6 dm=5$seed width=9e-3 snr=25" -o w.fil
        gpudedisp -q -nobary -lodm 0 -dmstep 0.5 -numdms 240 -singlepulse -nowrite -o w w.fil
        [ "$(awk '!/^#/ && $1 > 6 { print ($6 > 49 && $6 < 58) }' w.cand)" = 1 ]
        gpudedisp -q -live -nobary -lodm 0 -dmstep 0.5 -numdms 240 -threshold 6 -o l$seed w.fil
        [ "$(grep -c snr l$seed)" -eq 1 ]
    done
}

@test "single pulses of which spectra were clipped say so, and weaker ones do not" {
    fakebin -q -seed 3 -period 0 -nbits 8 -nchans 64 -fch1 1500 -foff -4.6875 -tsamp 256 -tobs 12 \
        -add "burst t=4 dm=30 width=4e-3 snr=1000" -add "burst t=8 dm=30 width=4e-3 snr=15" -o b.fil
    search="-q -nobary -nowrite -singlepulse -lodm 0 -dmstep 2 -numdms 30"
    gpudedisp $search -o c b.fil
    awk -F'\t' '/^#/ { next } $3 < 6 { bright = $10 == "clip" } $3 > 6 { faint = $10 == "-" } END { exit !(bright && faint) }' c.cand
    # Also of a pipe, and without clipping not.
    gpudedisp $search -o p - <b.fil
    cmp c.cand p.cand
    gpudedisp $search -noclip -json -o n b.fil
    fails grep -q clip n.cand
    gpudedisp $search -halve 1 -o h b.fil
    fails awk -F'\t' '!/^#/ && $3 < 6 && $10 !~ /clip/ { found = 1 } END { exit !found }' h.cand
}

@test "-clean auto: the same series from files and streams, on any number of threads, whatever the memory" {
    auto="-q -clean auto -nobary -nopad -lodm 10 -numdms 3"
    gpudedisp $auto -ncpus 1 -o a rfi.fil
    gpudedisp $auto -ncpus 3 -mem 200M -o b rfi.fil
    gpudedisp $auto -ncpus 2 -o c - <rfi.fil
    for dm in 10 11 12; do
        cmp a_DM$dm.00.dat b_DM$dm.00.dat
        cmp a_DM$dm.00.dat c_DM$dm.00.dat
    done
    cmp a.clean.mask b.clean.mask
    cmp a.clean.stats c.clean.stats
    # Sums of 32 per channel, and of what noise is left.
    od -An -v -t f4 -w4 a_DM10.00.dat | awk '{ sum += $1; if ($1 != int($1)) exit 1 }
        END { mean = sum / NR / 32; exit !(mean > 31 && mean < 33) }'
}

@test "-weights snr: more S/N where channels have noise of their own, and the weights are told" {
    sky="-q -seed 3 -nbits 8 -nchans 64 -tsamp 256 -tobs 10 -fch1 1500 -foff 4"
    for f in 1500 1496 1488 1472 1460 1448 1440 1424 1416 1400 1380 1360 1352 1340 1328 1320 1308 1300 1288 1276; do
        sky="$sky -rfi 'tone freq=$f level=3 mod=1'"
    done
    eval "fakebin $sky -add 'burst dm=200 t=5 width=4e-3 snr=25' -o sky.fil"
    search="-q -nobary -nowrite -singlepulse -lodm 190 -dmstep 2 -numdms 11 -clean auto"
    gpudedisp $search -o alike sky.fil
    gpudedisp $search -ncpus 1 -weights snr -o one sky.fil
    gpudedisp $search -ncpus 3 -weights snr -o three sky.fil
    cmp one.cand three.cand
    awk -F'\t' '/^#/ { next } $3 > 4.95 && $3 < 5.05 && $1 > snr[FILENAME] { snr[FILENAME] = $1 }
        END { print snr["alike.cand"], snr["one.cand"]; exit !(snr["one.cand"] > 1.05 * snr["alike.cand"]) }' alike.cand one.cand
    grep -q weights_of_channels one.clean.json
    fails grep -q weights alike.clean.json
}

@test "-clean auto: what does not go with it is one line" {
    refuses 2 "-clean: 'full' is neither auto nor none" gpudedisp -clean full -o x rfi.fil
    refuses 2 'not with -mask' gpudedisp -clean auto -mask "$mask" -o x rfi.fil
    refuses 2 'not with -sub' gpudedisp -clean auto -sub -subdm 10 -nsub 8 -o x rfi.fil
    refuses 2 'not with -compat presto' gpudedisp -clean auto -compat presto -o x rfi.fil
    refuses 2 '-weights snr needs -clean auto' gpudedisp -weights snr -o x rfi.fil
    refuses 2 "-weights: 'all' is neither snr nor none" gpudedisp -clean auto -weights all -o x rfi.fil
    cp rfi.fil x.clean.mask
    refuses 1 'x.clean.mask' gpudedisp -q -clean auto -nobary -o x x.clean.mask
}
