#!/usr/bin/env bats
# frbbeam from the command line: a burst found in its beam, files and pipes, and what is refused.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    array=$srcdir/data/arrays/chord-pathfinder-8x8.array
    printf 'grid 3 2\nspacing 8 6\nsite -119 49 500\ndish 0 0 0\ndish 1 0 1\ndish 2 1 1\ndish 3 2 0\ndish 4 none\n' >s.array
    printf 'theta 0 0\ntheta 0.5 0.25 at 699\nazel 90 88\n' >s.beams
}

# small FILE: a few samples of the small array.
small() {
    fakebin -q -seed 3 -array s.array -nchans 4 -fch1 700 -foff 1 -tsamp 100 -tobs 0.1 -tstart 60634.2 \
        -source 0.5,0.25,20 -o "$1"
}

# rewrite FILE SED: the file with its header edited.
rewrite() {
    head -c 4096 "$1" | tr -d '\0' | sed "$2" | dd bs=4096 conv=sync iflag=fullblock status=none
    tail -c +4097 "$1"
}

# refused CODE PATTERN ARGS...: frbbeam must exit with CODE, say one line that matches, and leave nothing.
refused() {
    refuses "$1" "$2" frbbeam -q "${@:3}"
    leaves_no 'x[_.]*'
}

samples() { # FILE: what follows its header
    tail -c +$(($(grep -obUa HEADER_END "$1" | head -n 1 | cut -d: -f1) + 11)) "$1"
}

@test "--help and --version go to standard output and exit 0" {
    run -0 --separate-stderr frbbeam --help
    [[ $output == Usage:* && -z $stderr ]]
    run -0 --separate-stderr frbbeam -version
    [[ $output == "frbbeam (psrkit) "* ]]
}

# find_burst ROOT FILE: the burst of the next test must be the best of FILE; ROOT.cand has what is found.
find_burst() {
    gpudedisp -q -nobary -lodm 60 -dmstep 2 -numdms 60 -singlepulse -nowrite -o "$1" "$2"
    awk 'function off(a, b) { return a > b ? a - b : b - a }
        NR == 2 { found = $1 > 45 && off($3, 0.3) < 0.005 && off($6, 100) <= 4 }
        END { exit !found }' "$1.cand"
}

@test "a burst comes out of the beam at its place, at its DM and time, and not out of far ones" {
    fakebin -q -seed 3 -array "$array" -nchans 64 -fch1 700 -foff 1 -tsamp 200 -tobs 1 \
        -source "1.5,-0.7,60,dm=100,t=0.3,width=4e-3" -o v.dada
    printf 'theta 1.5 -0.7 at 668.5\ntheta -2 2.2 at 668.5\ntheta 1.5 3 at 668.5\n' >beams
    frbbeam -q -device cpu -array "$array" -beams beams -tds 5 -o b v.dada
    find_burst c0 b_beam0000.fil
    for beam in 1 2; do
        gpudedisp -q -nobary -lodm 60 -dmstep 2 -numdms 60 -singlepulse -nowrite -o c$beam b_beam000$beam.fil
        [ "$(wc -l <c$beam.cand)" -eq 1 ]
    done
    frbbeam -q -device cpu -array "$array" -beams beams -tds 5 -scale b.scale -beam 0 -o - v.dada |
        gpudedisp -q -nobary -lodm 60 -dmstep 2 -numdms 60 -singlepulse -nowrite -o p -
    cmp c0.cand p.cand
    if [ -e /dev/nvidiactl ]; then
        frbbeam -q -array "$array" -beams beams -tds 5 -o g v.dada
        find_burst g0 g_beam0000.fil
    fi
}

@test "threads, pipes and pieces of files change no bit" {
    small v.dada
    frbbeam -q -array s.array -beams s.beams -tds 3 -ncpus 1 -o a v.dada
    frbbeam -q -array s.array -beams s.beams -tds 3 -ncpus 3 -o b v.dada
    frbbeam -q -array s.array -beams s.beams -tds 3 -o c - <v.dada
    frbbeam -q -array s.array -beams s.beams -tds 3 -mem 1M -o e v.dada
    cut=$((377 * 4 * 2 * 5))
    head -c $((4096 + cut)) v.dada >p1.dada
    { rewrite v.dada "s/OBS_OFFSET 0/OBS_OFFSET $cut/" | head -c 4096; tail -c +$((4097 + cut)) v.dada; } >p2.dada
    frbbeam -q -array s.array -beams s.beams -tds 3 -o d p2.dada p1.dada
    for beam in 0000 0001 0002; do
        for run in b c d e; do
            cmp a_beam$beam.fil ${run}_beam$beam.fil
        done
    done
    [ "$(samples a_beam0000.fil | wc -c)" -eq $((1000 / 3 * 4)) ]
}

@test "the header says which beam it is and where it looks" {
    small v.dada
    frbbeam -q -array s.array -beams s.beams -o a v.dada
    for key in ibeam nbeams src_raj src_dej az_start za_start tstart; do
        grep -qa $key a_beam0002.fil
    done
    at=$(grep -obUa ibeam a_beam0002.fil | cut -d: -f1)
    [ "$(tail -c +$((at + 6)) a_beam0002.fil | od -An -td4 -N4 | tr -d ' ')" -eq 3 ]
    [ "$(double a_beam0002.fil az_start | awk '{ print int($1 + 0.5) }')" -eq 90 ]
    [ "$(double a_beam0002.fil za_start | awk '{ print int($1 + 0.5) }')" -eq 2 ]
}

@test "-grid gives every half-integer beam, one descriptor at a time if need be; -beam K one of them" {
    fakebin -q -seed 3 -array "$array" -nchans 4 -fch1 700 -foff 1 -tsamp 100 -tobs 0.05 -o v.dada
    (ulimit -n 32 && frbbeam -q -device cpu -array "$array" -grid -nbits 32 -o g v.dada)
    [ "$(ls g_beam*.fil | wc -l)" -eq 256 ]
    frbbeam -q -device cpu -array "$array" -grid -beam 37 -nbits 32 -o k v.dada
    paste <(samples g_beam0037.fil | od -An -v -w4 -tf4) <(samples k_beam0037.fil | od -An -v -w4 -tf4) |
        awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-5 * $1 + 1) bad = 1 } END { exit bad || NR != 200 }'
    [ ! -e g.scale ]
}

@test "scales are written, and read again" {
    small v.dada
    for bits in 4 8; do
        frbbeam -q -array s.array -beams s.beams -nbits $bits -tds 3 -o a v.dada
        [ "$(grep -vc '^#' a.scale)" -eq 5 ]
        frbbeam -q -array s.array -beams s.beams -nbits $bits -tds 3 -scale a.scale -o b v.dada
        cmp a_beam0001.fil b_beam0001.fil
        cmp a.scale b.scale
    done
    samples a_beam0001.fil | od -An -v -w1 -tu1 >/dev/null
    samples b_beam0001.fil | od -An -v -w1 -tu1 | awk -v want=8 '
        { sum += $1; n++ } END { mean = sum / n; exit !(mean > 60 && mean < 68) }'
    refused 3 'a.scale: line 2: bits: 8 is above 4' -array s.array -beams s.beams -nbits 4 -scale a.scale -o x v.dada
    head -n 4 a.scale >short.scale
    refused 3 'scales of 2 channels' -array s.array -beams s.beams -scale short.scale -o x v.dada
}

@test "beams that track move, others stay" {
    small v.dada
    printf 'radec 12:00:00 80:00:00\n' >stay
    printf 'track 12:00:00 80:00:00\n' >track
    for kind in stay track; do
        frbbeam -q -array s.array -beams $kind -nbits 32 -tds 10 -cadence 0.02 -o $kind v.dada
    done
    fails cmp -s <(samples stay_beam0000.fil) <(samples track_beam0000.fil)
    paste <(samples stay_beam0000.fil | od -An -v -w4 -tf4) <(samples track_beam0000.fil | od -An -v -w4 -tf4) |
        awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 0.01 * $1 + 1) bad = 1 } END { exit bad }'
    frbbeam -q -array s.array -beams track -nbits 32 -tds 10 -cadence 0.02 -o pipe - <v.dada
    cmp track_beam0000.fil pipe_beam0000.fil
}

# double FILE KEY: a number of its header.
double() {
    local at
    at=$(grep -obUa "$2" "$1" | head -n 1 | cut -d: -f1)
    tail -c +$((at + ${#2} + 1)) "$1" | od -An -tf8 -N8
}

@test "a lattice is what its beams are one by one" {
    small v.dada
    echo 'lattice 2 3 0.25 -1 0.5 1.25 at 650' >lattice
    for ns in 0.25 0.75; do
        for ew in -1 0.25 1.5; do
            echo "theta $ns $ew at 650"
        done
    done >list
    echo 'theta 0 3 at 650' >>list # keeps it from being a lattice
    for run in lattice list; do
        frbbeam -q -array s.array -beams $run -nbits 32 -tds 3 -o $run v.dada
    done
    for beam in 0 1 2 3 4 5; do
        for key in az_start za_start src_raj src_dej; do
            [ "$(double lattice_beam000$beam.fil $key)" = "$(double list_beam000$beam.fil $key)" ]
        done
        paste <(samples lattice_beam000$beam.fil | od -An -v -w4 -tf4) <(samples list_beam000$beam.fil | od -An -v -w4 -tf4) |
            awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-5 * $1 + 0.1) bad = 1 } END { exit bad || !NR }'
    done
}

@test "gains are applied" {
    small v.dada
    echo '* * * 2 0' >double
    frbbeam -q -array s.array -beams s.beams -nbits 32 -o a v.dada
    frbbeam -q -array s.array -beams s.beams -nbits 32 -weights double -o b v.dada
    paste <(samples a_beam0001.fil | od -An -v -w4 -tf4) <(samples b_beam0001.fil | od -An -v -w4 -tf4) |
        awk '{ d = 4 * $1 - $2; if (d < 0) d = -d; if (d > 1e-5 * $2) bad = 1 } END { exit bad || !NR }'
    frbbeam -q -array s.array -beams s.beams -nbits 32 -weights <(cat double) -o c v.dada
    cmp b_beam0001.fil c_beam0001.fil
    frbbeam -q -array s.array -beams s.beams -nbits 32 -weights - -o d v.dada <double
    cmp b_beam0001.fil d_beam0001.fil
}

@test "voltages that cannot be used are refused" {
    small v.dada
    set -- -array s.array -beams s.beams -o x
    rewrite v.dada '/^NCHAN/d' >bad.dada
    refused 3 'bad.dada: NCHAN is missing' "$@" bad.dada
    rewrite v.dada 's/^NBIT 4/NBIT 8/' >bad.dada
    refused 3 'NBIT is 8, only 4' "$@" bad.dada
    rewrite v.dada 's/^OBS_OFFSET 0/NCHAN 5/' >bad.dada
    refused 3 'NCHAN is 4, and it is 5' "$@" bad.dada
    rewrite v.dada 's/^ENCODING .*/ENCODING GRAY/' >bad.dada
    refused 3 'ENCODING is GRAY' "$@" bad.dada
    head -c 4110 v.dada >bad.dada
    refused 3 'bad.dada: no samples: 14 bytes follow the header, one takes 40' "$@" bad.dada
    refused 3 'standard input: holds 0 samples' "$@" - <bad.dada
    head -c 100 v.dada >bad.dada
    refused 3 'bad.dada: NCHAN is missing|ends within its header' "$@" bad.dada
    refused 1 'No such file' "$@" none.dada
    refused 3 'fewer than the 2000 of -tds' "$@" -tds 2000 v.dada
    refused 3 'NANT is 5, .* has 64 dishes' -array "$array" -beams s.beams -o x v.dada
}

# part FROM TO: samples FROM .. TO - 1 of v.dada as a file of their own.
part() {
    local bytes=$((4 * 2 * 5))
    rewrite v.dada "s/OBS_OFFSET 0/OBS_OFFSET $(($1 * bytes))/" | head -c 4096
    tail -c +$((4097 + $1 * bytes)) v.dada | head -c $((($2 - $1) * bytes))
}

# levels FILE: a row of 8-bit levels a line.
levels() {
    samples "$1" | od -An -v -w4 -tu1
}

@test "a file or a pipe that is cut within a sample is used to its last whole one" {
    small v.dada
    head -c $((4096 + 500 * 40 + 24)) v.dada >cut.dada
    part 0 500 >whole.dada
    set -- -array s.array -beams s.beams -tds 3
    frbbeam -q "$@" -o w whole.dada
    run -0 --separate-stderr frbbeam "$@" -o c cut.dada
    [[ $stderr == 'frbbeam: cut.dada: is cut: after 500 samples the last 24 bytes are no whole one of 40 and are left out' ]]
    run -0 --separate-stderr frbbeam "$@" -o p - <cut.dada
    [[ $stderr == 'frbbeam: standard input: is cut: after 500 samples the last 24 bytes '* ]]
    run -0 --separate-stderr frbbeam -q "$@" -o c cut.dada
    [ -z "$stderr" ]
    cmp w_beam0001.fil c_beam0001.fil
    cmp w_beam0001.fil p_beam0001.fil
    [ "$(levels c_beam0001.fil | wc -l)" -eq 166 ]
}

@test "voltages that are missing between files count as 0, and scales do not see them" {
    small v.dada
    part 0 400 >a.dada
    part 430 1000 >b.dada
    { head -c $((4096 + 400 * 40)) v.dada; head -c $((30 * 40)) /dev/zero; tail -c +$((4097 + 430 * 40)) v.dada; } >zero.dada
    set -- -array s.array -beams s.beams -tds 10
    frbbeam -q "$@" -o z zero.dada
    run -0 --separate-stderr frbbeam "$@" -o g b.dada a.dada
    [[ $stderr == 'frbbeam: b.dada begins 30 samples (0.003 s) after the end of a.dada: filled with zeros' ]]
    cmp z_beam0001.fil g_beam0001.fil
    cmp z.scale g.scale
    frbbeam -q "$@" -nbits 32 -o f b.dada a.dada
    samples f_beam0001.fil | od -An -v -w16 -tf4 | awk '
        { none = $1 == 0 && $2 == 0 && $3 == 0 && $4 == 0 }
        none != (NR > 40 && NR <= 43) { bad = 1 }
        END { exit bad || NR != 100 }'
    frbbeam -q "$@" -o v v.dada
    paste v.scale g.scale | awk 'NR > 2 { d = $3 / $6 - 1; if (d < -0.2 || d > 0.2) bad = 1 } END { exit bad }'
    rewrite b.dada 's/^UTC_START 2024/UTC_START 2025/' >late.dada
    refused 3 'late.dada begins 3\.1536e\+07 s after the end of a.dada \([0-9]* samples\), must be at most 60 s' \
        "$@" -o x a.dada late.dada
    part 390 1000 >b.dada
    refused 3 'b.dada overlaps a.dada by 10 samples' "$@" -o x a.dada b.dada
}

@test "sums of each channel's own length: -tds @FILE" {
    small v.dada
    printf '# low frequencies: long sums\n0 12\n698.6 3\n699.5 6\n' >tds # 700 699 698 697 MHz: 6 3 12 12
    set -- -array s.array -beams s.beams -nbits 32
    frbbeam -q "$@" -tds @tds -o t v.dada
    for n in 3 6 12; do
        frbbeam -q "$@" -tds $n -o t$n v.dada
    done
    # Channel c of row k is that of row k / (n / 3) of the run with n samples, over n / 3.
    paste <(samples t3_beam0001.fil | od -An -v -w16 -tf4) <(samples t_beam0001.fil | od -An -v -w16 -tf4) >rows
    samples t6_beam0001.fil | od -An -v -w16 -tf4 >rows6
    samples t12_beam0001.fil | od -An -v -w16 -tf4 >rows12
    awk 'function off(a, b) { a -= b; if (a < 0) a = -a; if (a > 1e-5 * b + 1e-3) bad = 1 }
        FILENAME == "rows6" { six[FNR - 1] = $1 }
        FILENAME == "rows12" { c[FNR - 1] = $3; d[FNR - 1] = $4 }
        FILENAME == "rows" && NF == 8 {
            k = FNR - 1
            off($5, six[int(k / 2)] / 2); off($6, $2); off($7, c[int(k / 4)] / 4); off($8, d[int(k / 4)] / 4)
            n++
        }
        END { exit bad || n != 332 }' rows6 rows12 rows
    for bits in 4 8; do
        frbbeam -q -array s.array -beams s.beams -nbits $bits -tds @tds -o q v.dada
        frbbeam -q -array s.array -beams s.beams -nbits $bits -tds @tds -scale q.scale -o r v.dada
        frbbeam -q -array s.array -beams s.beams -nbits $bits -tds @tds -scale q.scale -mem 1M -o p - <v.dada
        cmp q_beam0001.fil r_beam0001.fil
        cmp q_beam0001.fil p_beam0001.fil
    done
    # A channel whose sums are four times as long has half the deviation.
    levels q_beam0001.fil | awk 'NR % 4 == 1 { a += $4; b += $4 * $4; n++ }
        END { s = sqrt(b / n - a * a / n / n); exit !(s > 3.5 && s < 4.5) }'
    head -n 2 tds | tail -n 1 | sed 's/^0/698.6/' >bad
    refused 3 'bad: no row for channel 2, at 698 MHz' -array s.array -beams s.beams -tds @bad -o x v.dada
    printf '0 5\n699 3\n' >bad
    refused 3 'bad: sums of 5 samples at 698 MHz, must be a multiple of the shortest, 3' \
        -array s.array -beams s.beams -tds @bad -o x v.dada
    printf '0 1048576\n699 1\n' >bad
    head -c 4096 v.dada >long.dada # 1100000 samples of 0
    truncate -s $((4096 + 1100000 * 4 * 2 * 5)) long.dada
    refused 1 'bad: sums end together after 1048576 samples, which with their rows are 92.3 MB; a quarter of 105 MB' \
        -array s.array -beams s.beams -tds @bad -mem 100M -o x long.dada
    printf '0 6\n699 3\n699 9\n' >bad
    refused 3 'bad: line 3: a second row from 699 MHz' -array s.array -beams s.beams -tds @bad -o x v.dada
    refused 2 '-tds: .*0' -array s.array -beams s.beams -tds 0 -o x v.dada
    refused 2 '-tds: ' -array s.array -beams s.beams -tds many -o x v.dada
}

@test "scales are measured within -mem, and -v says on what" {
    fakebin -q -seed 3 -array "$array" -nchans 64 -fch1 700 -foff 1 -tsamp 20 -tobs 0.05 -o v.dada
    set -- -array "$array" -grid -tds 5
    run -0 --separate-stderr frbbeam -q -v "$@" -o a v.dada
    [[ $stderr == *'scales measured on 500 rows of each beam, 0.05 s, 33 MB'* ]]
    run -0 --separate-stderr frbbeam -q -v "$@" -mem 64M -o b v.dada
    [[ $stderr == *'scales measured on 128 rows of each beam, 0.0128 s, 8 MB'* ]]
    frbbeam -q "$@" -mem 64M -o p - <v.dada
    cmp b.scale p.scale
    cmp b_beam0100.fil p_beam0100.fil
    paste a.scale b.scale | awk 'NR > 2 { d = $3 / $6 - 1; if (d < -0.1 || d > 0.1) bad = 1 } END { exit bad }'
}

@test "what is a stand-in in an array is remarked on" {
    fakebin -q -seed 3 -array "$array" -nchans 4 -fch1 700 -foff 1 -tsamp 100 -tobs 0.05 -o v.dada
    run -0 --separate-stderr frbbeam -array "$array" -grid -beam 3 -o a v.dada
    [[ $stderr == "frbbeam: $array: stand-ins, not the telescope's own: site, inputs" ]]
    run -0 --separate-stderr frbbeam -q -array "$array" -grid -beam 3 -o a v.dada
    [ -z "$stderr" ]
}

@test "arrays, beams and gains that cannot be used are refused" {
    small v.dada
    { cat s.array; echo 'dish 1 2 1'; } >bad.array
    refused 3 'bad.array: line 9: dish 1 is listed twice' -array bad.array -beams s.beams -o x v.dada
    echo 'theta 300 0' >bad
    refused 1 'beam 0: .* outside the sky' -array s.array -beams bad -o x v.dada
    echo 'radec 0 -80' >bad
    refused 1 'below the horizon' -array s.array -beams bad -o x v.dada
    refused 1 'beams 0 to 2' -array s.array -beams s.beams -beam 3 -o x v.dada
    for what in "-array " "-beams " "-weights " "-scale " "-tds @"; do
        refused 3 '/dev/zero: line 1: longer than 4096 bytes' -array s.array -beams s.beams $what/dev/zero -o x v.dada
    done
    echo '4 0 0 1 0' >bad
    refused 3 'bad: line 1: channel: 4 is above 3' -array s.array -beams s.beams -weights bad -o x v.dada
    echo '0 0 0 nan 0' >bad
    refused 3 'not a number' -array s.array -beams s.beams -weights bad -o x v.dada
    echo '0 0 0 1e12 -1e12' >most
    frbbeam -q -array s.array -beams s.beams -nbits 32 -weights most -o y v.dada
    echo '0 0 0 1e13 0' >bad
    refused 3 'real part: 1e13 is above 1e\+12' -array s.array -beams s.beams -weights bad -o x v.dada
    printf '\x93NUMPY\x01\x00\x3f\x00%-62s\n' "{'descr': '<c8', 'fortran_order': False, 'shape': (4, 2, 6), }" >bad
    refused 3 'must be \(4, 2, 5\)' -array s.array -beams s.beams -weights bad -o x v.dada
}

@test "mistakes on the command line exit 2" {
    refused 2 'no input' -array s.array -grid -o x
    refused 2 '-array FILE is needed' -grid -o x v.dada
    refused 2 '-beams FILE or -grid' -array s.array -o x v.dada
    refused 2 'exclude each other' -array s.array -beams s.beams -grid -o x v.dada
    refused 2 '-o ROOT' -array s.array -grid v.dada
    refused 2 'needs -beam K' -array s.array -grid -o - v.dada
    refused 2 'none of 4, 8, 32' -array s.array -grid -nbits 16 -o x v.dada
    refused 2 'for one purpose only' -array - -beams s.beams -o x -
    refused 2 'for one purpose only' -array s.array -beams s.beams -weights - -o x -
    refused 2 'the name is missing' -array s.array -grid -tds @ -o x v.dada
    refused 2 'floats are not scaled' -array s.array -grid -nbits 32 -scale s -o x v.dada
}

@test "a full disk and a closed pipe end it, and nothing half-written stays" {
    small v.dada
    run -1 bash -c 'frbbeam -q -array s.array -beams s.beams -beam 0 -o - v.dada >/dev/full'
    run -1 bash -c 'frbbeam -q -array s.array -beams s.beams -o none/x v.dada'
    [ -z "$(find . -name '*.part*')" ]
}

@test "a file that may not grow, and a name that is taken, end it, and nothing stays" {
    small v.dada
    run -1 --separate-stderr bash -c 'ulimit -f 1; frbbeam -q -array s.array -beams s.beams -nbits 32 -tds 1 -o x v.dada'
    [[ $stderr == *': cannot write: File too large' ]]
    mkdir x.scale
    run -1 --separate-stderr frbbeam -q -array s.array -beams s.beams -o x v.dada
    [[ $stderr == 'frbbeam: x.scale: '* ]]
    [ "$(find . -name 'x*')" = ./x.scale ]
}

@test "no output takes the place of an input" {
    small v.dada
    cp v.dada x_beam0001.fil
    refuses 1 '^frbbeam: x_beam0001.fil would be written over ./x_beam0001.fil, which is read' \
        frbbeam -q -array s.array -beams s.beams -o x ./x_beam0001.fil
    cmp v.dada x_beam0001.fil
    for input in "array s.array" "beams s.beams"; do
        ln -f "${input#* }" y.scale
        refuses 1 "^frbbeam: y.scale would be written over ${input#* }, which is read" \
            frbbeam -q -array s.array -beams s.beams -o y v.dada
        rm y.scale
    done
    leaves_no 'y*'
    frbbeam -q -array s.array -beams s.beams -o z v.dada
    touch -d 2001-01-01 z.scale
    frbbeam -q -array s.array -beams s.beams -scale ./z.scale -o z v.dada
    [ "$(date -r z.scale +%Y)" = 2001 ]
}

@test "a run that waits for a pipe can be stopped, and nothing stays" {
    small v.dada
    mkfifo pipe
    { cat v.dada; sleep 20; } 3>&- >pipe &
    local feeder=$!
    frbbeam -q -array s.array -beams s.beams -tds 3 -o x - <pipe 3>&- &
    local run=$!
    for i in $(seq 100); do [ -z "$(find . -name 'x_beam0002.fil.part*')" ] || break; sleep 0.05; done
    kill -TERM $run
    local code=0 since=$SECONDS
    wait $run || code=$?
    kill $feeder
    [ $code -eq 143 ]
    [ $((SECONDS - since)) -le 5 ]
    [ -z "$(find . -name 'x*')" ]
}

@test "a run that makes its files can be stopped, and none stays" {
    small v.dada
    echo 'lattice 1000 1000 -0.5 -0.5 0.0002 0.00017' >million
    frbbeam -q -array s.array -beams million -nbits 32 -tds 500 -o x v.dada 3>&- &
    local run=$!
    for i in $(seq 100); do [ -z "$(find . -name 'x_beam*' -print -quit)" ] || break; sleep 0.05; done
    kill -TERM $run
    local code=0 since=$SECONDS
    wait $run || code=$?
    [ $code -eq 143 ]
    [ $((SECONDS - since)) -le 10 ]
    [ -z "$(find . -name 'x_beam*' -print -quit)" ]
}

@test "any lengths of what a pipe gives, and a stream of one sample, will do" {
    small v.dada
    frbbeam -q -array s.array -beams s.beams -tds 3 -o a v.dada
    for n in 39 777 4097; do
        dd if=v.dada bs=$n status=none | frbbeam -q -array s.array -beams s.beams -tds 3 -o b -
        cmp a_beam0001.fil b_beam0001.fil
    done
    head -c 4136 v.dada | frbbeam -q -array s.array -beams s.beams -nbits 32 -tds 1 -o c -
    [ "$(samples c_beam0001.fil | wc -c)" -eq 16 ]
    head -c 4136 v.dada >one.dada
    refused 3 'one.dada: holds 1 samples, fewer than the 2 of -tds' -array s.array -beams s.beams -tds 2 -o x one.dada
    : >empty.dada
    refused 3 'empty.dada: is empty' -array s.array -beams s.beams -o x empty.dada
    refused 3 'standard input: is empty' -array s.array -beams s.beams -o x - </dev/null
}

@test "thousands of beams with few descriptors" {
    small v.dada
    # 3000 of them in a long check, 1200 in others.
    local rows=20
    [ -z "${PSRKIT_LONG-}" ] || rows=50
    echo "lattice $rows 60 -0.5 -0.5 0.02 0.017" >many
    # CUDA takes some 40 for itself, and more where there are several GPUs.
    (ulimit -n 64 && frbbeam -q -device cpu -array s.array -beams many -o m v.dada)
    [ "$(ls m_beam*.fil | wc -l)" -eq $((60 * rows)) ]
    local last=$((60 * rows - 1))
    frbbeam -q -array s.array -beams many -beam $last -scale m.scale -o k v.dada
    paste <(levels m_beam$last.fil) <(levels k_beam$last.fil) |
        awk '{ for (i = 1; i <= 4; i++) { d = $i - $(i + 4); if (d > 1 || d < -1) bad = 1 } } END { exit bad || NR != 100 }'
}

@test "fakebin -array makes the same voltages whatever the threads, and refuses what it has no use for" {
    small a.dada
    fakebin -q -ncpus 3 -seed 3 -array s.array -nchans 4 -fch1 700 -foff 1 -tsamp 100 -tobs 0.1 -tstart 60634.2 \
        -source 0.5,0.25,20 | cmp - a.dada
    for bad in 1,2 1,2,x 1,2,3,dm 1,2,3,size=4 1,2,-3; do
        run -2 --separate-stderr fakebin -q -array s.array -source $bad -o x.dada
        [[ $stderr == *source* ]]
    done
    run -2 fakebin -q -array s.array -add 'burst dm=1' -o x.dada
    [ ! -e x.dada ]
}
