#!/usr/bin/env bats
# gpudedisp from the command line: numbers, files, manners, and what it says of bad input.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    trials="-nobary -noclip -q -lodm 40 -dmstep 7 -numdms 3"
}

# spoil KEY BYTE HEX: bad.fil, g8.fil with one byte of the value of KEY replaced.
spoil() {
    cp "$g8" bad.fil
    chmod u+w bad.fil
    patch bad.fil "$@"
}

# refused CODE PATTERN ARGS...: gpudedisp must exit with CODE, say one line that matches, and leave nothing.
refused() {
    refuses "$1" "$2" gpudedisp "${@:3}"
    leaves_no 't[_.]*'
}

@test "--help and --version go to standard output and exit 0" {
    run -0 --separate-stderr gpudedisp --help
    [[ $output == Usage:* && -z $stderr ]]
    run -0 --separate-stderr gpudedisp -version
    [[ $output == "gpudedisp (psrkit) "* ]]
}

@test "exact series equal prepsubband -nsub nchan -noclip over all it wrote" {
    gpudedisp $trials -o t "$g8"
    cmp -n 96000 t_DM47.00.dat "$golden/nsubfull.dat"
}

@test "-algo subband equals prepsubband -nsub over all it wrote" {
    gpudedisp $trials -algo subband -nsub 8 -o t "$g8"
    cmp -n 96000 t_DM47.00.dat "$golden/noclip.dat"
}

@test "-algo tree gives the same bits on any number of threads, in any memory and from a pipe" {
    gpudedisp -q $trials -algo tree -ncpus 1 -o a "$g8"
    gpudedisp -q $trials -algo tree -ncpus 3 -mem 16M -o b "$g8"
    cat "$g8" | gpudedisp -q $trials -algo tree -o c -
    for dm in 40 47 54; do
        cmp a_DM$dm.00.dat b_DM$dm.00.dat
        cmp a_DM$dm.00.dat c_DM$dm.00.dat
    done
    grep -q '^    psrkit .* gpudedisp, tree 1.07, settings' a_DM40.00.inf
    gpudedisp -q $trials -algo tree -smear 3 -o d "$g8"
    fails cmp -s a_DM47.00.dat d_DM47.00.dat
    gpudedisp -v $trials -algo tree -o e "$g8" 2>&1 | grep -q 'delays differ from exact ones by [0-9.]* samples at most'
}

@test "-algo tree finds FRB 20180417A with 95 % of its exact S/N" {
    [ -r "${PSRKIT_TEST_DATA:-/nonexistent}/28.fil" ] || skip 'no 28.fil in PSRKIT_TEST_DATA'
    for algo in direct tree; do
        gpudedisp -q -nobary -lodm 300 -dmstep 1 -numdms 400 -algo $algo -singlepulse -nowrite -o $algo \
            "$PSRKIT_TEST_DATA/28.fil"
    done
    paste <(sed -n 2p direct.cand) <(sed -n 2p tree.cand) |
        awk '{ print; exit !($1 > 16.5 && $11 >= 0.95 * $1 && $16 >= 473 && $16 <= 477) }'
}

@test ".inf equals PRESTO's but for the analyst and its lost blocks" {
    mkdir -p out/nsubfull
    gpudedisp $trials -o out/nsubfull/t "$g8"
    peculiar='Data analyzed by|On/Off bin pair #  1|    psrkit '
    diff <(grep -vE "$peculiar" out/nsubfull/t_DM40.00.inf) \
        <(grep -vE "$peculiar" "$golden/inf/nsubfull-t_DM40.00.inf")
    # A skipped start moves the epoch and not the date.
    gpudedisp $trials -offset 5000 -o off "$g8"
    for line in 'Epoch of observation' 'Date: '; do
        diff <(grep "$line" off_DM40.00.inf) <(grep "$line" "$golden/inf/offset-t_DM40.00.inf")
    done
    # Every sample that can be dedispersed is there: 29696 less the sweep at DM 40, 47, 54.
    grep -q 'On/Off bin pair #  1 .*=  0          , 29' out/nsubfull/t_DM54.00.inf
}

@test "threads, memory and pipes do not change a bit" {
    gpudedisp $trials -ncpus 1 -o a "$g8"
    gpudedisp $trials -ncpus 3 -mem 16M -o b "$g8"
    cat "$g8" | gpudedisp $trials -o c -
    gpudedisp $trials -mem 2M -o d "$g8"
    for dm in 40.00 47.00 54.00; do
        cmp a_DM$dm.dat b_DM$dm.dat
        cmp a_DM$dm.dat c_DM$dm.dat
        cmp a_DM$dm.dat d_DM$dm.dat
        diff <(tail -n +2 a_DM$dm.inf) <(tail -n +2 b_DM$dm.inf)
        # Of a pipe nothing is known beforehand that could be digested.
        diff <(tail -n +2 a_DM$dm.inf | grep -v psrkit) <(tail -n +2 c_DM$dm.inf | grep -v psrkit)
    done
}

@test "-offset and -start skip, -numout cuts and pads, -nopad does not" {
    gpudedisp $trials -nopad -o all "$g8"
    gpudedisp $trials -nopad -offset 100 -o off "$g8"
    cmp <(tail -c +401 all_DM47.00.dat) off_DM47.00.dat
    gpudedisp $trials -nopad -start 0.25 -o start "$g8"
    cmp <(tail -c +29697 all_DM47.00.dat) start_DM47.00.dat
    gpudedisp $trials -numout 1000 -o cut "$g8"
    [ "$(stat -c %s cut_DM47.00.dat)" -eq 4000 ]
    cmp -n 4000 all_DM47.00.dat cut_DM47.00.dat
    gpudedisp $trials -numout 40000 -o long "$g8"
    [ "$(stat -c %s long_DM47.00.dat)" -eq 160000 ]
    cmp -n "$(stat -c %s all_DM47.00.dat)" all_DM47.00.dat long_DM47.00.dat
}

@test "a series pipes as .tim" {
    gpudedisp $trials -nopad -o t "$g8"
    gpudedisp -q -nobary -noclip -nopad -lodm 47 -numdms 1 -o - "$g8" >one.tim
    gpudedisp -q -nobary -noclip -nopad -lodm 47 -numdms 1 -format tim -o two "$g8"
    cmp one.tim two_DM47.00.tim
    # The series of one trial is longer: no higher DM cuts it short.
    header=$(($(grep -obUa HEADER_END one.tim | cut -d: -f1) + 10))
    cmp -n "$(stat -c %s t_DM47.00.dat)" <(tail -c +$((header + 1)) one.tim) t_DM47.00.dat
}

@test "-nowrite -v prints the CRC-32 of each series" {
    gpudedisp $trials -nopad -o t "$g8"
    run -0 --separate-stderr gpudedisp $trials -nopad -nowrite -v "$g8"
    [ "$(ls | wc -l)" -eq 6 ]
    want=$(gzip -1 <t_DM47.00.dat | tail -c 8 | head -c 4 | od -An -tx4 | tr -d ' ')
    [[ $stderr == *"DM 47.00: "*" samples, CRC-32 $want"* ]]
}

@test "a row of .cand is one burst of a train" {
    awk 'BEGIN { for (k = 0; k < 30; k++) print "burst dm=100 t=" 3 + 0.2 * k " width=20e-3 snr=50" }' >train
    fakebin -seed 1 -nbits 8 -nchans 64 -tsamp 1000 -fch1 1500 -foff -4 -tobs 12 -addfile train -o train.fil
    gpudedisp -q -nobary -lodm 0 -dmstep 2.5 -numdms 80 -singlepulse -nowrite -o t train.fil
    [ "$(awk '$1 > 20 { print int($3 / 0.2 + 0.5) }' t.cand | sort -u | wc -l)" -eq 30 ]
    [ "$(awk '$1 > 20' t.cand | wc -l)" -eq 30 ]
    gpudedisp -q -nobary -lodm 0 -dmstep 2.5 -numdms 80 -singlepulse -nowrite -trialtol 0 -o apart train.fil
    [ "$(awk '$1 > 20' apart.cand | wc -l)" -gt 300 ]
    gpudedisp -q -nobary -lodm 0 -dmstep 2.5 -numdms 80 -singlepulse -nowrite -timetol 1000000 -o all train.fil
    [ "$(wc -l <all.cand)" -lt 10 ]
    fails gpudedisp -q -nobary -singlepulse -nowrite -timetol -1 -o t train.fil
}

@test "the pulsar of the test file is found as single pulses at its DM" {
    gpudedisp -nobary -q -lodm 0 -dmstep 1 -numdms 100 -singlepulse -nowrite -threshold 5 -o t "$g8"
    [ -e t.cand ]
    [ -e t_DM47.00.singlepulse ]
    awk 'NR == 2 { good = $6 > 40 && $6 < 54 } END { exit !good }' t.cand
}

# uwl.fil: 2.1 s of the band of Parkes' UWL with a burst whose lowest channel comes 0.2 s before the end.
make_uwl() {
    fakebin -q -period 0 -nbits 8 -nchans 832 -tsamp 256 -tobs 2.1 -fch1 4030 -foff -4 -seed 5 \
        -add "burst dm=57 t=1.44 width=2e-3 snr=20" -o uwl.fil
}

@test "a burst near the end of a short file is found, whatever the highest DM" {
    make_uwl
    gpudedisp -q -nobary -lodm 0 -numdms 201 -dmstep 1 -singlepulse -nowrite -o t uwl.fil
    awk 'NR == 2 { good = $1 > 17 && $3 > 1.435 && $3 < 1.445 && $6 >= 56 && $6 <= 58 } END { exit !good }' t.cand ||
        { head -n 3 t.cand; false; }
    # To where the highest DM ends it had not yet begun.
    gpudedisp -q -nobary -lodm 0 -numdms 201 -dmstep 1 -sametail -singlepulse -nowrite -o s uwl.fil
    [ "$(wc -l <s.cand)" -eq 1 ]
}

@test "each trial ends where it ends alone, and .inf files say where" {
    make_uwl
    leaves_cases
    for more in '-nobary -downsamp 3 -tol 1' '-position 05:34:31.97,+22:00:52.1 -site 149,-33,400' \
        ${PSRKIT_LONG:+-nobary '-nobary -zerodm' '-nobary -clip 3' '-nobary -numout 7000'}; do
        gpudedisp -q $more -nopad -lodm 0 -dmstep 19 -numdms 8 -o all uwl.fil
        for dm in 0 57 133; do
            gpudedisp -q $more -nopad -lodm $dm -numdms 1 -o one uwl.fil
            cmp all_DM$dm.00.dat one_DM$dm.00.dat || { echo "$more"; false; }
        done
        [[ $more == *-numout* ]] || [ "$(stat -c %s all_DM0.00.dat)" -gt "$(stat -c %s all_DM57.00.dat)" ]
    done
    printf '0 19 4 1 0\n76 19 4 2 0\n' >plan
    gpudedisp -q -nobary -nopad -plan plan -o plan uwl.fil
    gpudedisp -q -nobary -nopad -downsamp 2 -lodm 95 -numdms 1 -o one uwl.fil
    cmp plan_DM95.00.dat one_DM95.00.dat
    # Padded to one length: 8203 samples, less the sweep of DM 57.
    gpudedisp -q -nobary -lodm 0 -dmstep 57 -numdms 3 -o pad uwl.fil
    for dm in 0 57 114; do
        [ "$(stat -c %s pad_DM$dm.00.dat)" -eq $((8400 * 4)) ]
    done
    gpudedisp -q -nobary -nopad -lodm 57 -numdms 1 -o one uwl.fil
    own=$(($(stat -c %s one_DM57.00.dat) / 4))
    grep -q "On/Off bin pair #  1 .*=  0          , $((own - 1)) " pad_DM57.00.inf
    cmp -n $((own * 4)) pad_DM57.00.dat one_DM57.00.dat
    # As before, where that is asked for.
    gpudedisp -q -nobary -nopad -sametail -lodm 0 -dmstep 57 -numdms 3 -o same uwl.fil
    [ "$(stat -c %s same_DM0.00.dat)" -eq "$(stat -c %s same_DM114.00.dat)" ]
    cmp -n "$(stat -c %s same_DM57.00.dat)" same_DM57.00.dat one_DM57.00.dat
}

@test "usage mistakes exit 2" {
    refused 2 'no input given'
    refused 2 'ROOT is missing' "$g8"
    refused 2 "unknown option '-lowdm'" -lowdm 3 -o t "$g8"
    refused 2 '-lodm: -3 is below 0' -lodm -3 -o t "$g8"
    refused 2 "-numdms: 'x' is not a whole number" -numdms x -o t "$g8"
    refused 2 '-numdms: 0 is below 1' -numdms 0 -o t "$g8"
    refused 2 '-dmprec: 5 is above 4' -dmprec 5 -o t "$g8"
    refused 2 '-o needs a value' "$g8" -o
    mkdir folder
    refused 2 "-o: 'folder/' is a folder: give the start of the names of files, such as folder/obs" -o folder/ "$g8"
    refused 2 "-o: '' is empty" -o '' "$g8"
    refused 2 'none of direct, subband and tree' -algo bush -o t "$g8"
    refused 2 '-smear belongs to -algo tree' -smear 1.2 -o t "$g8"
    refused 2 '-tol belongs to -algo direct' -algo tree -tol 1 -o t "$g8"
    refused 2 '-smear: 1 is below 1.01' -algo tree -smear 1 -o t "$g8"
}

@test "a header without a position is told of, of files and of a pipe" {
    run -0 --separate-stderr gpudedisp -numdms 1 -o a "$g8"
    [[ $stderr == *"g8.fil: the header has no position: "* ]]
    run -0 --separate-stderr gpudedisp -numdms 1 -o a - <"$g8"
    [[ $stderr == *": standard input: the header has no position: "* ]]
    fakebin -q -psrfits -nchans 8 -nbits 8 -tobs 1 -dm 10 -seed 1 -o x.fits
    run -0 --separate-stderr gpudedisp -numdms 1 -o a x.fits
    [[ $stderr == *"x.fits: the header has no position: "* ]]
}

@test "a device that is not there is refused, and auto does without" {
    gpudedisp $trials -device cpu -o a "$g8"
    gpudedisp $trials -device auto -o b "$g8"
    cmp a_DM47.00.dat b_DM47.00.dat
    refused 1 'backend' -q -device tpu -o t "$g8"
    refused 1 '-device.*above 1023' -q -device 9999 -o t "$g8"
    refused 1 '[Dd]evice|CUDA|backend' -q -device 1000 -o t "$g8"
}

@test "bad trials are refused before anything is written" {
    refused 1 'DM.*decimals|decimals.*DM' -q -dmstep 0.002 -numdms 4 -o t "$g8"
    refused 3 'DM 100009 sweeps over [0-9]+ samples' -q -lodm 1e5 -o t "$g8"
    refused 1 'sub-bands do not divide 32' -q -algo subband -nsub 7 -o t "$g8"
    refused 1 'g8.fil: offset of 30000 spectra, must be 0 to 29695' -q -offset 30000 -o t "$g8"
    refused 1 'g8.fil: offset of 29696 spectra, must be 0 to 29695' -q -start 1 -o t "$g8"
    run -1 bash -c "gpudedisp -q -nobary -offset 30000 -o t - <'$g8'"
    [[ $output == *'standard input: offset of 30000 spectra, must be 0 to 29695' ]]
    refused 1 'DMs 40 and 40 would both be .*; a DM may be searched once' -q -lodm 40 -dmstep 0 -numdms 2 -o t "$g8"
    refused 1 'ignored channels.*32' -q -ignorechan 32 -o t "$g8"
    printf '# bad\n3\n5 99\n' >bad.chans
    refused 3 "bad.chans: line 3: ignored channels: '99' is no range within 0 to 31" -q -ignorechan bad.chans -o t "$g8"
}

@test "bad input is refused with one line" {
    : >empty.fil
    refused 3 'empty.fil' -q -o t empty.fil
    head -c 100 "$g8" >cut.fil
    refused 3 'cut.fil.*header' -q -o t cut.fil
    head -c $(($(stat -c %s "$g8") - 29696 * 32)) "$g8" >header.fil
    refused 3 'header.fil' -q -o t header.fil
    head -c 5000 /dev/urandom >random.fil
    refused 3 'random.fil' -q -o t random.fil
    spoil nbits 0 03
    refused 3 'bad.fil.*nbits.*3' -q -o t bad.fil
    spoil nchans 0 00
    refused 3 'bad.fil.*nchans.*0' -q -o t bad.fil
    spoil tsamp 7 BF
    refused 3 'bad.fil.*tsamp.*-' -q -o t bad.fil
    refused 1 'missing.fil.*No such file' -q -o t missing.fil
}

@test "several files: all there, each once, all of one kind, or nothing is written" {
    refused 1 'missing.fil: No such file' -q -o t "$g8" missing.fil
    refused 1 'is given twice, also as ' -q -o t "$g8" "$golden/../golden/g8.fil"
    ln -s "$g8" link.fil
    refused 1 'is given twice, also as ' -q -o t "$g8" link.fil
    refused 1 'standard input .-. among 2 inputs' -q -o t "$g8" -
    # The last byte that counts, and what it becomes.
    for change in 'nchans 0 10' 'nbits 0 10' 'tsamp 6 31' 'foff 6 11'; do
        spoil $change
        refused 3 "(bad|g8).fil: ${change%% *} = .*, must be .* as in" -q -o t "$g8" bad.fil
    done
    spoil fch1 6 98
    refused 3 "(bad|g8).fil: fch1 = 1500 MHz, must be 1436 MHz to lie beside .*(bad|g8).fil, which begins at the same time" \
        -q -o t "$g8" bad.fil
}

@test "truncated data is used as far as it goes" {
    head -c 500000 "$g8" >cut.fil
    gpudedisp $trials -nopad -o whole "$g8"
    run -0 --separate-stderr gpudedisp -nobary -noclip -lodm 40 -dmstep 7 -numdms 3 -nopad -o part cut.fil
    [[ $stderr == *cut.fil* ]]
    cmp -n "$(stat -c %s part_DM54.00.dat)" part_DM54.00.dat whole_DM54.00.dat
}

@test "an empty PSRFITS file is refused" {
    need_data empty.fits
    refused 3 'empty.fits' -q -o t "$PSRKIT_TEST_DATA/empty.fits"
}

@test "an output that cannot be written is a failure" {
    refused 1 'nowhere/t' -q -o nowhere/t "$g8"
    run -1 bash -c "gpudedisp -q -nobary -numdms 1 -o - '$g8' >/dev/full"
    [[ $output == *"No space left"* ]]
    run bash -c "gpudedisp -q -nobary -numdms 1 -o - '$g8' | head -c 10 >/dev/null; exit \${PIPESTATUS[0]}"
    [ "$status" -ne 0 ]
}

@test "a killed run leaves nothing, and says so but with -q" {
    local said
    mkfifo pipe
    for said in '' 'gpudedisp: stopped: nothing is kept, and the same command begins again'; do
        gpudedisp $trials -o t - <pipe 2>err &
        pid=$!
        exec 7>pipe
        head -c 500000 "$g8" >&7
        sleep 0.5
        ls t_DM*.part* >/dev/null
        # The pipe stays open and gives nothing more.
        kill -TERM $pid
        code=0
        wait $pid || code=$?
        exec 7>&-
        [ "$code" -eq 143 ]
        [ "$(tail -n 1 err)" = "$said" ]
        leaves_no 't[_.]*'
        trials=${trials/-q/}
    done
}

@test "a limit on the size of files is an error like a full disk" {
    run -1 bash -c "ulimit -f 50; gpudedisp -q -nobary -numdms 2 -o t '$g8'"
    [[ $output == *'cannot write: File too large' ]]
    leaves_no 't[_.]*'
}

# The burst of ASKAP FRB 180417: one line on top of the list.
check_frb() {
    awk 'NR == 2 { good = $1 >= 15 && $3 > 2.023 && $3 < 2.033 && $6 > 473.5 && $6 < 477.5 } END { exit !good }' "$1" ||
        { head -n 5 "$1"; false; }
}

@test "FRB 180417 is found in filterbank, PSRFITS and a pipe" {
    need_data 28.fil
    search="-q -nobary -lodm 300 -dmstep 1 -numdms 400 -singlepulse -nowrite"
    gpudedisp $search -o fil "$PSRKIT_TEST_DATA/28.fil"
    gpudedisp $search -o fits "$PSRKIT_TEST_DATA/28.fits"
    cat "$PSRKIT_TEST_DATA/28.fil" | gpudedisp $search -o pipe -
    check_frb fil.cand
    check_frb fits.cand
    cmp fil.cand pipe.cand
    # Nothing from the zero-filled end of the PSRFITS file.
    [ "$(wc -l <fits.cand)" -eq "$(wc -l <fil.cand)" ]
    awk 'NR > 1 && $3 > 5120 * 0.001266469 { exit 1 }' fits.cand
}

@test "all depths of a Parkes block are read" {
    need_data parkes_8bit_1.fil
    for f in parkes_8bit_1.fil parkes_4bit.fil parkes_2bit.fil parkes_1bit.fil parkes_4bit.sf; do
        gpudedisp -q -nobary -lodm 56.7 -numdms 1 -nopad -o "${f%.*}_${f##*.}" "$PSRKIT_TEST_DATA/$f"
    done
    [ "$(ls *.dat | wc -l)" -eq 5 ]
}

@test "-halve names a burst of the whole band once, and gives each part its list" {
    fakebin -q -period 0 -tobs 12 -tsamp 512 -nchans 128 -nbits 8 -fch1 1500 -foff 2 -seed 5 \
        -add "burst dm=80 t=5 width=4e-3 snr=25" -o in.fil
    gpudedisp -q -nobary -noclip -nowrite -dmstep 4 -numdms 40 -singlepulse -halve 2 -json -csv -o t in.fil
    [ "$(ls t_*MHz.singlepulse | wc -l)" -eq 10 ]
    head -n 1 t.cand | grep -q $'\tmarks\tlow_mhz\thigh_mhz$'
    awk -F'\t' '$3 > 4.5 && $3 < 5.5 { n++; good = $1 > 18 && $6 >= 72 && $6 <= 88 && $11 == 1245 && $12 == 1501 }
        END { exit !(n == 1 && good) }' t.cand
    head -n 1 t.pulses.jsonl | grep -q '"low_mhz": 1245, "high_mhz": 1501,'
    [ "$(head -n 1 t.pulses.csv)" = time_s,mjd_inf,mjd_top,frame,scale,dm,snr,width_s,low_mhz,high_mhz,beam,members,marks ]
    [ "$(awk -F, 'NR > 1 { printf "%s %.2f %s %s %s %s\n", $1, $7, $6, $12, $9, $10 }' t.pulses.csv)" = \
        "$(awk 'NR > 1 { print $3, $1, $6, $7, $11, $12 }' t.cand)" ]
    [ "$(awk -F, 'NR > 1 { print $2, $3 }' t.pulses.csv)" = "$(sed 's/.*mjd_inf": \([0-9.]*\), "mjd_top": \([0-9.]*\),.*/\1 \2/' t.pulses.jsonl)" ]
    # What they have of it: half the channels, 0.7 of the S/N.
    awk '!/#/ && $2 > best { best = $2 } END { exit !(best > 13 && best < 23) }' t_1245.000-1373.000MHz.singlepulse
    # spcoincidence keeps the columns.
    cp t.cand u.cand
    spcoincidence -update t.cand u.cand
    [ "$(cut -f 1-9,11- t.cand | cksum)" = "$(cut -f 1-9,11- u.cand | cksum)" ]
    awk -F'\t' 'NF != 12 { exit 1 }' t.cand
    spcoincidence t.cand u.cand | awk -F'\t' 'NF != 14 { exit 1 }'
    gpudedisp -q -nobary -nowrite -numdms 3 -singlepulse -halve 1 -threshold 50 -o none in.fil
    [ "$(cat none*.singlepulse none.cand | wc -l)" -eq 1 ]
}

@test "-halve leaves FRB 20180417A one line, and series as they are" {
    [ -r "${PSRKIT_TEST_DATA:-/nonexistent}/28.fil" ] || skip 'no 28.fil in PSRKIT_TEST_DATA'
    run="-q -nobary -lodm 440 -dmstep 4 -numdms 20 -singlepulse"
    gpudedisp $run -o a "$PSRKIT_TEST_DATA/28.fil"
    gpudedisp $run -halve 2 -o b "$PSRKIT_TEST_DATA/28.fil"
    awk 'NR == 2 { good = $1 > 16 && $11 == 1129.5 && $12 == 1465.5 } END { exit !(NR == 2 && good) }' b.cand
    for f in a_DM*; do
        [ "${f##*.}" = inf ] || cmp "$f" "b${f#a}"
    done
    [ "$(ls b_DM*.dat | wc -l)" -eq 20 ]
}

@test "masked samples of a part are those of its channels alone" {
    fakebin -q -period 0 -tobs 12 -tsamp 512 -nchans 32 -nbits 8 -fch1 1500 -foff 8 -seed 6 \
        -add "burst dm=80 t=5 width=4e-3 snr=30" -o in.fil
    gpurfifind -q -time 1 -zapints 3,7 -zapchan 2,20:23 -o m in.fil
    run="-q -nobary -noclip -nowrite -mask m_rfifind.mask -singlepulse -threshold 4 -lodm 0 -numdms 12 -dmstep 8"
    gpudedisp $run -halve 1 -o t in.fil
    # The upper half: of 27 channels kept, 14.
    part=$(ls t_*-1504.000MHz.singlepulse | head -n 1)
    ignored=$(echo "$part" | awk -F'[_-]' '{ printf "0:%d", ($2 + 4 - 1252) / 8 - 1 }')
    awk '!/#/ { print $1 }' "$part" | sort -gu >dms
    gpudedisp $run -ignorechan "$ignored" -o alone in.fil
    [ "$(wc -l <dms)" -gt 3 ]
    while read -r dm; do
        awk -v dm="$dm" '!/#/ && $1 == dm' "$part" | cmp - <(grep -v '#' "alone_DM$dm.singlepulse")
    done <dms
}

@test "marks of barycentred pulses do not depend on the lengths of blocks" {
    # Sparks of one sample in two channels: of a sample beside, there is nothing in them.
    mapfile -t sparks < <(seq 1 100 | awk '{ printf "-add\nburst dm=0 t=%.5f width=3e-4 flo=1479 fhi=1483 snr=40\n", $1 * 0.3017 }')
    fakebin -q -period 0 -tobs 31 -tsamp 512 -nchans 32 -nbits 32 -fch1 1500 -foff -2 -seed 5 "${sparks[@]}" -o in.fil
    run="gpudedisp -q -position 05:34:31.97,+22:00:52.1 -site 149,-33,400 -nowrite -noclip -numdms 25 -singlepulse"
    $run -o a in.fil
    for mem in 8M 12M 20M; do
        $run -mem $mem -o $mem in.fil
        cmp a.cand $mem.cand
    done
    awk -F'\t' 'NR > 1 { n++; narrow += $10 ~ /narrow/ } END { exit !(n > 100 && narrow == n) }' a.cand
}

@test "dates of pulses at the barycentre are TDB, at the telescope UTC, and say so" {
    fakebin -q -seed 5 -period 0 -nbits 8 -nchans 32 -fch1 1500 -foff -4 -tsamp 512 -tobs 8 -tstart 58000.25 \
        -add "burst dm=50 t=4 width=4e-3 snr=40" -o in.fil
    search="gpudedisp -q -nowrite -lodm 50 -numdms 1 -singlepulse -csv"
    $search -position 05:34:31.97,+22:00:52.1 -site 149,-33,400 -o b in.fil
    $search -nobary -o t in.fil
    [ "$(awk -F, 'NR == 2 { print $4, $5 }' b.pulses.csv)" = "barycentric TDB" ]
    [ "$(awk -F, 'NR == 2 { print $4, $5 }' t.pulses.csv)" = "topocentric UTC" ]
    # TDB was 69.184 s ahead of UTC; from the Earth, 103 degrees from this position as the Sun sees them, the barycentre is some 110 s behind.
    paste -d, <(sed -n 2p b.pulses.csv) <(sed -n 2p t.pulses.csv) |
        awk -F, '{ d = ($2 - $15) * 86400 - 69.184; exit !(d > -125 && d < -95) }'
}

@test "-maxwidth beyond 300 samples finds long bursts, once, and leaves others as they are" {
    fakebin -q -seed 5 -period 0 -nbits 8 -nchans 64 -fch1 1500 -foff -4.6875 -tsamp 256 -tobs 60 -o in.fil \
        -add "burst t=20 dm=50 width=0.3 snr=20" -add "burst t=45 dm=30 width=3e-3 snr=15"
    run="gpudedisp -q -nobary -dmstep 1 -numdms 60 -singlepulse -nowrite"
    $run -o a in.fil
    $run -maxwidth 0.5 -o b in.fil
    awk -F'\t' '$3 > 19.5 && $3 < 20.5 { n++; low = $1 < 13 } END { exit !(n == 2 && low) }' a.cand
    awk -F'\t' '$3 > 19.5 && $3 < 20.5 { n++; good = $1 > 18 && 2^$4 * 256e-6 > 0.2 && $5 == $6 && NF == 10 }
        END { exit !(n == 1 && good) }' b.cand
    cmp <(awk -F'\t' '$3 > 40' a.cand) <(awk -F'\t' '$3 > 40' b.cand)
    for f in a_DM*.singlepulse; do cmp "$f" "b${f#a}"; done
    # Boxcars of the long series alone are listed, those that others do not reach.
    awk '!/#/ { exit !($5 * 7 > 300) }' b_*MHz.singlepulse
    cat in.fil | $run -maxwidth 0.5 -o pipe - && cut -f 1-9 b.cand | cmp - <(cut -f 1-9 pipe.cand)
    $run -maxwidth 0.0768 -o c in.fil && cmp a.cand c.cand && [ ! -e c_1202.344-1502.344MHz.singlepulse ]
}

@test "-fine finds bursts that are short for a plan's samples, each once, and leaves series as they are" {
    fakebin -q -seed 3 -period 0 -nbits 8 -nchans 128 -fch1 1500 -foff -2 -tsamp 64 -tobs 16 \
        -add "burst t=5 dm=568 width=8e-4 snr=14 smear=0" -add "burst t=10 dm=568 width=4e-2 snr=15" -o short.fil
    ddplan -l 500 -d 650 -plan short.plan short.fil | grep -q ' 48 x 0.064 ms'
    run="gpudedisp -q -nobary -plan short.plan -nowrite -singlepulse"
    $run -o plain short.fil
    $run -fine 8 -o fine short.fil
    awk -F'\t' '/^#/ { next } $3 > 4.9 && $3 < 5.1 { exit 1 }' plain.cand
    awk -F'\t' '/^#/ { next } $3 > 4.9 && $3 < 5.1 && $1 > 9 && $6 > 560 && $6 < 576 && $10 == "-" { short++ }
        $3 > 9.9 && $3 < 10.1 && $1 > 13 { long++ } $1 > 6.5 { n++ }
        END { print short, long, n; exit !(short == 1 && long == 1 && n == 2) }' fine.cand
    [ -s fine_fine.singlepulse ]
    fails ls plain_fine.singlepulse
    for dm in 500.00 570.00; do cmp plain_DM$dm.singlepulse fine_DM$dm.singlepulse; done
}

@test "-fine belongs to -singlepulse, and changes nothing where no samples are summed" {
    refused 2 '-fine searches for single pulses: it needs -singlepulse' -nowrite -v -fine 2 -o t "$g8"
    run="gpudedisp -q -nobary -nowrite -singlepulse -dmstep 5 -numdms 5"
    $run -o a "$g8"
    $run -fine 4 -o b "$g8"
    cmp a.cand b.cand
    fails ls b_fine.singlepulse
}

@test "-halve belongs to -singlepulse" {
    refused 2 '-halve searches for single pulses: it needs -singlepulse' -nowrite -v -halve 1 -o t "$g8"
}

@test "-beams makes of each beam what it makes alone" {
    for b in 1 2 3; do
        fakebin -q -period 0 -tobs $((5 + b)) -tsamp 512 -nchans 64 -nbits 8 -fch1 1500 -foff 4 -seed $b \
            -add "burst dm=60 t=3 width=4e-3 snr=$((10 * b))" -o "beam$b.fil"
    done
    run="gpudedisp -q -nobary -dmstep 5 -numdms 20 -algo tree -singlepulse -threshold 5 -halve 1 -json"
    clean="-clean auto -nowrite"
    mkdir many alone
    (cd many && $run -beams -o t ../beam?.fil && $run $clean -beams -mem 300M -o c ../beam?.fil)
    for b in 1 2 3; do
        (cd alone && $run -o t_beam$b ../beam$b.fil && $run $clean -o c_beam$b ../beam$b.fil)
    done
    diff -r many alone
    [ "$(ls many/?_beam?.cand | wc -l)" -eq 6 ]
    gpudedisp -v -dmstep 5 -numdms 20 -singlepulse -nowrite -beams -o v beam?.fil 2>&1 |
        grep -q '^gpudedisp: beam v_beam2: 13672 spectra in, .* pulses'
}

@test "-beams with tree sums shares a plan, and makes of each beam what it makes alone" {
    for b in 1 2 3; do
        fakebin -q -period 0 -tobs $((3 + b)) -tsamp 512 -nchans 64 -nbits 8 -fch1 1500 -foff 4 \
            -seed $b -add "burst dm=60 t=2 width=4e-3 snr=$((10 * b))" -o "beam$b.fil"
    done
    run="gpudedisp -q -nobary -dmstep 40 -numdms 60 -algo tree -singlepulse -threshold 5"
    mkdir many alone
    (cd many && $run -beams -o t ../beam?.fil && $run -scrunch 1 -beams -o s ../beam?.fil &&
        $run -scrunch 1 -downsamp 2 -clean auto -beams -mem 300M -o c ../beam?.fil &&
        $run -ignorechan 3,9:12 -numout 5000 -sametail -beams -o n ../beam?.fil)
    for b in 1 2 3; do
        (cd alone && $run -o t_beam$b ../beam$b.fil && $run -scrunch 1 -o s_beam$b ../beam$b.fil &&
            $run -scrunch 1 -downsamp 2 -clean auto -o c_beam$b ../beam$b.fil &&
            $run -ignorechan 3,9:12 -numout 5000 -sametail -o n_beam$b ../beam$b.fil)
    done
    diff -r many alone
    [ "$(ls many/?_beam?_DM*.dat | wc -l)" -eq 720 ]
    told="gpudedisp -v -nobary -dmstep 40 -numdms 60 -algo tree -singlepulse -nowrite -beams -o v"
    $told -scrunch 1 beam?.fil 2>shared
    grep -q '^gpudedisp: 3 beams share a plan, which holds .* MB more for all$' shared
    [ "$(grep -c '^gpudedisp: beam v_beam[123]: dedispersion holds .* MB$' shared)" -eq 3 ]
    # Parts of the band, DMs that fall, and one beam: plans of their own.
    $told -halve 1 beam?.fil 2>own
    fails grep 'share a plan' own
    seq 100 -10 0 >falls.dms
    gpudedisp -v -nobary -dms falls.dms -algo tree -singlepulse -nowrite -beams -o v beam?.fil 2>own
    fails grep 'share a plan' own
    $told beam1.fil 2>own
    fails grep 'share a plan' own
}

@test "beams differ by name, and in nothing else" {
    fakebin -q -period 0 -tobs 2 -tsamp 512 -nchans 64 -nbits 8 -seed 1 -o a.fil
    fakebin -q -period 0 -tobs 2 -tsamp 512 -nchans 32 -nbits 8 -seed 1 -o b.fil
    mkdir -p d
    cp a.fil d/a.fil
    refused 1 'a.fil and d/a.fil: both beams would be t_a' -nobary -singlepulse -nowrite -beams -o t a.fil d/a.fil
    refused 1 'b.fil: nchans 32, and the first beam, a.fil, has 64' -nobary -singlepulse -nowrite -beams -o t a.fil b.fil
    refused 2 '-beams makes the files of each beam: not with -plot' -singlepulse -nowrite -plot x.png -beams -o t a.fil
    refused 2 '-beams names beams after their files' -singlepulse -nowrite -beams -o t -
    # An output of one beam that is the input of another.
    cp a.fil t_a.cand
    run -1 --separate-stderr gpudedisp -q -nobary -singlepulse -nowrite -numdms 2 -beams -o t a.fil t_a.cand
    [[ $stderr == *'t_a.cand would be written over t_a.cand, which is read' ]]
    cmp a.fil t_a.cand
}

@test "pictures of pulses near the end show what there is" {
    fakebin -q -seed 3 -tobs 2 -tsamp 128 -nchans 16 -nbits 8 -fch1 1500 -foff 8 -period 0 \
        -add "burst dm=20 t=1.85 width=0.2 snr=60" -o end.fil
    search="gpudedisp -q -nobary -lodm 0 -dmstep 10 -numdms 4 -singlepulse -maxwidth 0.4 -nowrite"
    $search -o a end.fil
    $search -views 5 -o b end.fil
    cmp a.cand b.cand
    # Sixteen widths are to be seen on either side: more than 4096 spectra beyond the end.
    awk -F'\t' '!/^#/ { end = $2 + 16 * ($9 - $8); far += end > 15625 + 4400 } END { exit !far }' b.cand
    [ "$(wc -l <b.bursts.jsonl)" -ge 1 ]
    [ "$(wc -l <b.bursts.jsonl)" -eq "$(grep -vc '^#' b.cand | awk '{ print $1 < 5 ? $1 : 5 }')" ]
}

@test "noise near the end of real data, at a DM that sweeps over most of it, ends no search" {
    need_data parkes_4bit.sf
    search="gpudedisp -q -nobary -lodm 90 -dmstep 1 -numdms 40 -nowrite -singlepulse"
    $search -o a "$PSRKIT_TEST_DATA/parkes_4bit.sf"
    $search -views 10 -o b "$PSRKIT_TEST_DATA/parkes_4bit.sf"
    cmp a.cand b.cand
    [ "$(wc -l <b.bursts.jsonl)" -eq 10 ]
}

@test "pictures of pulses that cannot be written are left out, in one line" {
    search="gpudedisp -nobary -noclip -lodm 40 -dmstep 7 -numdms 3 -singlepulse -threshold 4 -nowrite"
    $search -q -o a "$g8"
    mkdir b.bursts.jsonl
    run -0 --separate-stderr $search -views 3 -o b "$g8"
    one_line '^gpudedisp: no pictures of pulses: b.bursts.jsonl: cannot '
    cmp a.cand b.cand
}
