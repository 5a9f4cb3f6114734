#!/usr/bin/env bats
# fakebin from the command line: fake's flags, what it writes, and what it says of bad input.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    small="-q -seed 42 -tobs 0.5 -nchans 32 -fch1 1500 -foff 4"
}

# need_golden FILE: skips the test where the peers' files are not at hand.
need_golden() {
    golden=${PSRKIT_TEST_DATA:-/nonexistent}/../golden/in
    [ -r "$golden/$1" ] || skip "PSRKIT_TEST_DATA/../golden has no $1"
}

# refused CODE PATTERN ARGS...: fakebin must exit with CODE, say one line that matches, and leave nothing.
refused() {
    refuses "$1" "$2" fakebin -tobs 0.1 "${@:3}"
    leaves_no 'x*'
}

header_bytes() {
    echo $(($(grep -obUa HEADER_END "$1" | head -n 1 | cut -d: -f1) + 10))
}

@test "--help and --version go to standard output and exit 0" {
    run -0 --separate-stderr fakebin --help
    [[ $output == Usage:* && -z $stderr ]]
    run -0 --separate-stderr fakebin -version
    [[ $output == "fakebin (psrkit) "* ]]
}

golden_header() { # BITS FILE
    fakebin -q -seed 42 -nbits $1 -nchans 32 -tsamp 256 -tobs 7.602176 -fch1 1500 -foff -4 \
        -period 31.4159 -dm 47 -o g.fil
    cmp -n "$(header_bytes g.fil)" g.fil "$2"
}

@test "header and length are those of SIGPROC fake" {
    golden_header 8 "$srcdir/tests/golden/g8.fil"
    [ "$(stat -c %s g.fil)" -eq "$(stat -c %s "$srcdir/tests/golden/g8.fil")" ]
}

@test "the header is that of SIGPROC fake at every depth" {
    need_golden g1.fil
    for bits in 1 2 4 16 32; do
        golden_header $bits "$golden/g$bits.fil"
    done
}

@test "fake's own defaults: 4 bits, 128 channels, 80 us, 10 s, 433.968 MHz" {
    fakebin -q -seed 1 -o d.fil -truth d.txt
    [ "$(stat -c %s d.fil)" -eq $((125000 * 64 + $(header_bytes d.fil))) ]
    awk '$1 == "pulsar" { found = $2 >= 1 && $2 <= 1000 && $7 >= 1 && $7 <= 1000 } END { exit !found }' d.txt
    fakebin -q -seed 2 -o e.fil -truth e.txt
    fails cmp -s <(tail -n 1 d.txt) <(tail -n 1 e.txt)
}

@test "-tobs is exact" {
    fakebin -q -tobs 0.3333 -tsamp 100 -nchans 8 -nbits 8 -headerless -o n.raw
    [ "$(stat -c %s n.raw)" -eq $((3333 * 8)) ]
}

@test "the same seed gives the same bytes for any threads and to a file or a pipe" {
    for n in 1 2 7; do
        fakebin $small -ncpus $n -binary -period 10 -dm 30 -rednoise 0.2 -o $n.fil
    done
    cmp 1.fil 2.fil
    cmp 1.fil 7.fil
    fakebin $small -binary -period 10 -dm 30 -rednoise 0.2 | cmp - 1.fil
    fakebin $small -seed 43 -binary -period 10 -dm 30 -rednoise 0.2 >other.fil
    fails cmp -s 1.fil other.fil
}

@test "the signal does not change the noise" {
    fakebin $small -period 0 -nbits 8 -headerless -o noise.raw
    fakebin $small -add "burst dm=0 t=0.4 width=0.01 snr=100" -nbits 8 -headerless -o burst.raw
    cmp -n $((4000 * 32)) noise.raw burst.raw
    fails cmp -s noise.raw burst.raw
}

@test "-headerless leaves the header out, -swapout turns every number over" {
    fakebin $small -period 0 -dm 0 -nbits 16 -o a.fil
    fakebin $small -period 0 -dm 0 -nbits 16 -headerless -o b.fil
    n=$(header_bytes a.fil)
    cmp <(tail -c +$((n + 1)) a.fil) b.fil
    fakebin $small -period 0 -dm 0 -nbits 16 -swapout -o c.fil
    cmp <(tail -c +$((n + 1)) c.fil | dd conv=swab status=none) b.fil
    [ "$(head -c 4 c.fil | od -An -tx1 | tr -d ' ')" = 0000000c ]
    run -3 gpudedisp -q -nobary -o x c.fil
    [[ $output == *endian* ]]
}

@test "-evenodd writes 0 and 1, as fake does" {
    fakebin $small -evenodd -headerless -nchans 4 -o eo.raw
    [ "$(head -c 32 eo.raw | od -An -tf4 -v | tr -s ' \n' ' ')" = " 0 1 0 1 0 1 0 1 " ]
    fakebin $small -evenodd -o eo.fil
    grep -qa 'Even-Odd channel test' eo.fil
}

@test "one channel is a time series with its DM" {
    fakebin $small -nchans 1 -nbits 8 -period 20 -dm 12.5 -o one.tim
    grep -qa refdm one.tim
}

@test "what was put in is found through a pipe" {
    fakebin -q -seed 5 -nbits 8 -nchans 128 -tsamp 256 -tobs 8 -fch1 1500 -foff 2 \
        -add "burst dm=475 t=2.0 width=2e-3 snr=30" -truth truth.txt |
        gpudedisp -q -nobary -lodm 400 -dmstep 3 -numdms 50 -singlepulse -nowrite -o t -
    read -r _ dm t _ _ _ _ _ _ _ _ snr _ < <(grep '^burst' truth.txt)
    awk -v dm="$dm" -v t="$t" -v snr="$snr" '
        function off(a, b) { return a > b ? a - b : b - a }
        NR == 2 { found = off($6, dm) < 4 && off($3, t) < 0.002 && off($1, snr) < 5 }
        END { exit !found }' t.cand
}

@test "bursts and pulsars come from a file, and a profile too" {
    printf '# two\nburst dm=10 t=0.1 width=0.01 snr=20 shape=gauss\n\n' >list
    echo 'pulsar period=0.05 width=0.005 dm=3 snr=9 shape=vonmises bper=2 becc=0.3 # orbit' >>list
    echo 0 1 2 1 0 >profile
    fakebin $small -addfile list -add "burst dm=1 t=.3 width=.02 peak=1 shape=profile" -truth t.txt -o l.fil
    [ "$(grep -vc '^#' t.txt)" -eq 3 ]
    grep -q "^# .*-add 'burst dm=1" t.txt
}

@test "PSRFITS and filterbank hold the same samples" {
    fakebin $small -nbits 4 -period 20 -dm 30 -psrfits | cat >a.fits
    fakebin $small -nbits 4 -period 20 -dm 30 -o a.fil
    for suffix in fits fil; do
        gpudedisp -q -nobary -nopad -lodm 30 -numdms 1 -o $suffix a.$suffix
    done
    cmp fits_DM30.00.dat fil_DM30.00.dat
}

@test "-dat writes a series and its .inf" {
    fakebin -q -seed 1 -tobs 4 -period 50 -dm 30 -snrpeak 8 -dat -o s -truth t.txt
    [ "$(stat -c %s s_DM30.00.dat)" -eq 200000 ]
    grep -q 'Dispersion measure (cm-3 pc)           =  30' s_DM30.00.inf
    # Noise of variance 1, and 4 % of the samples 8 higher.
    od -An -v -tf4 -w4 s_DM30.00.dat | awk '{ s += $1; high += $1 > 4 } END {
        exit !(s / NR > 0.30 && s / NR < 0.34 && high / NR > 0.039 && high / NR < 0.042) }'
}

@test "-dat makes series of an even length" {
    for tobs in 0.0004 0.00048; do
        run -0 --separate-stderr fakebin -seed 1 -tobs $tobs -period 0 -dm 3 -dat -o s
        [ -z "$stderr" ]
        [ "$(stat -c %s s_DM3.00.dat)" -eq 24 ]
        grep -q 'Number of bins in the time series      =  6 ' s_DM3.00.inf
    done
    run -0 --separate-stderr fakebin -q -seed 1 -tobs 0.0004 -period 0 -dm 3 -dat -o s
    [ -z "$stderr" ]
}

@test "a bandpass needs a number for each channel" {
    seq 1 32 | sed 's/.*/1/' >flat
    fakebin $small -period 0 -dm 0 -bandpass flat -o a.fil
    fakebin $small -period 0 -dm 0 -o b.fil
    cmp a.fil b.fil
    seq 1 31 >short
    refused 3 'short: 31 numbers for 32 channels' -nchans 32 -bandpass short -o x
    { seq 1 30; printf '1.%070d\n' 1; } >long # no two numbers
    refused 3 "long: '1.0000.*\.\.\.' is longer than numbers are" -nchans 32 -bandpass long -o x
    refused 1 '^fakebin: .: cannot read: Is a directory' -nchans 32 -bandpass . -o x
}

@test "a signal that clips is told" {
    run -0 --separate-stderr fakebin -seed 1 -tobs 0.1 -nchans 8 -period 10 -dm 0 -snrpeak 8 -o c.fil
    [[ $stderr == *"clipped"* ]]
    run -0 --separate-stderr fakebin -q -seed 1 -tobs 0.1 -nchans 8 -period 10 -dm 0 -snrpeak 8 -o c.fil
    [ -z "$stderr" ]
}

@test "interference is added and listed, and the noise stays" {
    fakebin $small -nbits 8 -period 0 -o clean.fil
    fakebin $small -nbits 8 -period 0 -o rfi.fil -truth t.txt -rfi "tone freq=1400 level=2 mod=0" \
        -rfi "spark rate=20 width=2e-3" -rfi "drop share=.01 bw=32" -rfi "mains" -rfi "phone freq=1450 bw=40" \
        -rfi "radar freq=1440" -rfi "jump t=.3 level=.5 length=.1" -rfi "bandpass period=30"
    fails cmp -s clean.fil rfi.fil
    [ "$(stat -c %s clean.fil)" -eq "$(stat -c %s rfi.fil)" ]
    awk -F'\t' '$1 == "tone" { found = $2 == 0 && $3 == .5 && $4 == 1400 && $5 == 1400 && $6 == 2 } END { exit !found }' t.txt
    [ "$(grep -cE '^(tone|mains|radar|jump|bandpass)' t.txt)" -eq 5 ]
    [ "$(grep -c '^spark' t.txt)" -ge 1 ]
    [ "$(grep -c '^drop' t.txt)" -ge 1 ]
    fakebin $small -nbits 8 -period 0 -rfi "tone freq=1400 level=2 mod=0" -o tone.fil
    fails cmp -s clean.fil tone.fil
    cmp -l <(tail -c 16000 clean.fil) <(tail -c 16000 tone.fil) | awk '$1 % 32 != 26 { exit 1 }'
}

@test "mistakes in interference exit 2 with a line" {
    refused 2 "'thunder' is none of tone" -rfi thunder -o x
    refused 2 "'level' is no key=value" -rfi "tone level" -o x
    refused 2 "tone has no key 'rate'" -rfi "tone rate=3" -o x
    refused 2 "spark: width: 'abc' is not a number" -rfi "spark width=abc" -o x
    refused 2 'interference 1: freq .MHz. 0, must be above 0' -rfi tone -rfi phone -o x
    refused 2 'interference 0: share 2, must be in 0..1' -rfi "drop share=2" -o x
    refused 2 '-rfi excludes -dat' -rfi tone -dat -o x
}

@test "mistakes on the command line exit 2" {
    refused 2 "unknown option '-perod'" -perod 3 -o x
    refused 2 '-nbits: 3' -nbits 3 -o x
    refused 2 '-becc: 1.5 is above' -binary -becc 1.5 -o x
    refused 2 '-width: 200 is above 100' -width 200 -o x
    refused 2 'no operands' -o x y
    refused 2 "-truth: 'x' is where the observation goes" -o x -truth x
    refused 2 "-truth: '-' is where the observation goes" -truth -
    refused 2 '-dat needs -o' -dat
    refused 2 '-dat excludes' -dat -psrfits -o x
    refused 2 '-foff: 0 does not tell 8 channels apart' -nchans 8 -foff 0 -o x
    refused 2 'reach 0' -nchans 1000 -fch1 30 -foff 1 -o x
    refused 2 "'blast' is neither" -add "blast dm=3" -o x
    refused 2 "unknown key 'dn'" -add "burst dn=3" -o x
    refused 2 "no key=value" -add "burst dm" -o x
    refused 2 "'abc' is not a number" -add "burst dm=abc" -o x
    refused 2 'width= is missing' -add "burst dm=3 t=1 snr=2" -o x
    refused 2 'a burst has no period' -add "burst period=3" -o x
    refused 2 'dispersion constant' -dmconst foo -o x
    refused 2 '-vdif excludes -period' -vdif -period 5 -o x
    refused 2 '-vdif excludes -tsamp' -vdif -tsamp 5 -o x
    refused 2 '-array excludes -vdif' -vdif -array none -o x
    refused 2 '-real needs -vdif' -real -o x
    refused 2 'with -vdif a signal has dm' -vdif -add "burst dm=3 t=1 width=1e-3 peak=2" -o x
    refused 2 '3 channels, must be a power of 2' -vdif -nchans 3 -foff 1 -o x
    refused 2 '3 polarisations, must be 1 or 2' -vdif -nchans 1 -nifs 3 -foff 1 -o x
    refused 2 'dates from 2000 to 2031' -vdif -nchans 1 -foff 1 -tstart 50000 -o x
    refused 2 'light' -binary -bper 0.001 -bcmass 1e6 -period 5 -o x
}

@test "failures at run time exit 1" {
    refused 1 'No such file' -addfile none -o x
    refused 3 '/dev/zero: line 1: longer than 4094 bytes' -addfile /dev/zero -o x
    refused 1 'No such file' -add "burst dm=1 t=0 width=1 snr=1 shape=none" -o x
    refused 1 'none/x' -o none/x
    refused 3 'end within a byte' -nchans 3 -nbits 2 -o x
    run -1 bash -c 'fakebin -q -tobs 0.1 >/dev/full'
    [[ $output == *"No space left"* ]]
    run -1 bash -c 'set -o pipefail; fakebin -q -tobs 60 | head -c 10 >/dev/null'
}

@test "the source is named after what was made" {
    source_of() { head -c 400 "$1" | tr -d '\0' | grep -aoE 'P: [0-9.]+ ms, DM: [0-9.]+|Burst, DM: [0-9.]+|Noise' | head -n 1; }
    fakebin -q -tobs 0.1 -period 30 -dm 12 -o a.fil
    [ "$(source_of a.fil)" = 'P: 30.000000000000 ms, DM: 12.000' ]
    fakebin -q -tobs 0.1 -add "pulsar period=0.05 dm=40 width=0.002 snr=40" -add "burst dm=9 t=0.05 width=0.001 snr=9" -o b.fil
    [ "$(source_of b.fil)" = 'P: 50.000000000000 ms, DM: 40.000' ]
    fakebin -q -tobs 0.1 -add "burst dm=9 t=0.05 width=0.001 snr=9" -o c.fil
    [ "$(source_of c.fil)" = 'Burst, DM: 9.000' ]
    fakebin -q -tobs 0.1 -period 0 -o d.fil
    [ "$(source_of d.fil)" = 'Noise' ]
}

@test "-dat -o takes a name with its suffix" {
    fakebin -q -seed 1 -tobs 0.1 -period 0 -dm 3 -dat -o s
    fakebin -q -seed 1 -tobs 0.1 -period 0 -dm 3 -dat -o x.dat
    cmp s_DM3.00.dat x_DM3.00.dat
    [ "$(ls x*)" = "$(printf 'x_DM3.00.dat\nx_DM3.00.inf')" ]
    mkdir d
    fakebin -q -seed 1 -tobs 0.1 -period 0 -dm 3 -dat -o d/.dat
    [ -s d/.dat_DM3.00.dat ]
}
