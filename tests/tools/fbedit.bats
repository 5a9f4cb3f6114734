#!/usr/bin/env bats
# fbedit from the command line: ranges, formats, files and pipes, and what is refused.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# refused CODE PATTERN ARGS...: fbedit must exit with CODE, say one line that matches, and leave nothing.
refused() {
    refuses "$1" "$2" fbedit -q -o x.fil "${@:3}"
    leaves_no 'x[_.]*'
}

# data FILE: the bytes that follow the header.
data() {
    tail -c +$(($(grep -obUa HEADER_END "$1" | head -n 1 | cut -d: -f1) + 11)) "$1"
}

# value FILE KEY TYPE: what od reads of the header behind KEY.
value() {
    local at
    at=$(grep -obUa "$2" "$1" | head -n 1 | cut -d: -f1)
    od -An -t "$3" -j $((at + ${#2})) -N "${3:1}" "$1" | tr -d ' '
}

@test "--help and --version go to standard output and exit 0" {
    run -0 --separate-stderr fbedit --help
    [[ $output == Usage:* && -z $stderr ]]
    run -0 --separate-stderr fbedit --version
    [[ $output == "fbedit (psrkit) "* ]]
}

@test "a cut in time is a copy of the bytes, with its own start" {
    fbedit -q -start 1000smp -end 3000smp -o a.fil "$g8"
    cmp <(data a.fil) <(data "$g8" | tail -c +$((1000 * 32 + 1)) | head -c $((2000 * 32)))
    [ "$(value a.fil tstart f8)" = "$(value "$g8" tstart f8 | awk '{ printf "%.9f", $1 }' | sed 's/0*$//; s/\.$//')" ] ||
        awk -v a="$(value a.fil tstart f8)" -v b="$(value "$g8" tstart f8)" 'BEGIN { exit !((d = (a - b) * 86400 - 0.256) < 1e-3 && d > -1e-3) }'
    fbedit -q -start 0.256 -end 0.768 -o b.fil "$g8"
    cmp a.fil b.fil
    fbedit -q -start 0.2561 -end 50000.00000888889mjd -o c.fil "$g8" # the nearest spectrum
    cmp a.fil c.fil
    fbedit -q -o d.fil "$g8"
    cmp <(data d.fil) <(data "$g8")
}

@test "channels and their order: those of the file, or of a band" {
    fbedit -q -chans 3:8 -o a.fil "$g8" # 1500 MHz and down by 4
    [ "$(value a.fil nchans d4)" = 5 ]
    [ "$(value a.fil fch1 f8)" = 1488 ]
    fbedit -q -band 1472:1488 -o b.fil "$g8"
    cmp a.fil b.fil
    fbedit -q -band 1488:1472 -order down -o b.fil "$g8"
    cmp a.fil b.fil
    fbedit -q -band 1488:1472 -order up -o up.fil "$g8"
    [ "$(value up.fil fch1 f8)" = 1472 ]
    [ "$(value up.fil foff f8)" = 4 ]
    fails cmp -s up.fil a.fil
    fbedit -q -order down -o b.fil up.fil # twice is not at all
    cmp a.fil b.fil
    fbedit -q -chans :5 -o a.fil "$g8"
    fbedit -q -chans 0:5 -o b.fil "$g8"
    cmp a.fil b.fil
    fbedit -q -chans 30: -o a.fil "$g8"
    [ "$(value a.fil nchans d4)" = 2 ]
}

@test "pipes are files: in, out, and from within" {
    fbedit -q -start 1 -end 2 -chans 4:20 -order up -o a.fil "$g8"
    fbedit -q -start 1 -end 2 -chans 4:20 -order up -o - - <"$g8" >b.fil
    cmp a.fil b.fil
    cat "$g8" | fbedit -q -start 1 -end 2 -chans 4:20 -order up -o c.fil -
    cmp a.fil c.fil
    fbedit -q -ncpus 1 -start 1 -end 2 -chans 4:20 -order up -o c.fil "$g8"
    cmp a.fil c.fil
}

@test "gpudedisp makes of a cut what it makes of the whole from there on" {
    fbedit -q -start 2000smp -end 12000smp -o a.fil "$g8"
    gpudedisp -q -nobary -noclip -lodm 0 -numdms 2 -nopad -o a a.fil
    gpudedisp -q -nobary -noclip -lodm 0 -numdms 2 -nopad -offset 2000 -numout 10000 -o b "$g8"
    cmp a_DM0.00.dat b_DM0.00.dat
}

@test "PSRFITS, DADA and several files come out as SIGPROC" {
    fakebin -q -nbits 8 -nchans 16 -tsamp 256 -tobs 1 -seed 3 -o a.fil
    fakebin -q -nbits 8 -nchans 16 -tsamp 256 -tobs 1 -seed 3 -psrfits -o a.fits
    fbedit -q -o b.fil a.fits
    cmp <(data a.fil) <(data b.fil)
    fbedit -q -end 1000smp -o one.fil a.fil
    fbedit -q -start 1000smp -o two.fil a.fil
    fbedit -q -o joined.fil two.fil one.fil
    cmp <(data a.fil) <(data joined.fil)
}

@test "PSRFITS and DADA hold the same values" {
    for nbits in 1 2 4 8 16 32; do
        fbedit -q -nbits $nbits -o a.fil "$g8"
        fbedit -q -o a.fits a.fil
        fbedit -q -o a.dada a.fil
        fbedit -q -o c.fil a.dada
        cmp <(data a.fil) <(data c.fil)
        fbedit -q -start 1smp -o b.fil a.fits
        [ $nbits != 16 ] || fbedit -q -nbits 32 -o a.fil c.fil # they come back as floats: PSRFITS has signed ones
        cmp <(data a.fil | tail -c +$((32 * $(value b.fil nbits d4) / 8 + 1))) <(data b.fil)
    done
    [ "$(head -c 80 a.fits)" = "$(printf '%-80s' 'SIMPLE  =                    T')" ]
    [ "$(value b.fil tstart f8)" = "$(fbedit -q -start 1smp -o - a.fil >d.fil && value d.fil tstart f8)" ]
    fbedit -q -format psrfits -end 1001smp -o - "$g8" >e.sf # rows that are not full
    fbedit -q -o e.fil e.sf
    [ "$(data e.fil | wc -c)" = $((1001 * 32)) ]
    cat "$g8" | fbedit -q -format psrfits -end 1001smp -o - - | cmp - e.sf
    refuses 3 'PSRFITS says first how many spectra' fbedit -q -format psrfits -o x - < <(cat "$g8")
    refuses 2 "'fil' is neither sigproc nor" fbedit -q -format fil -o x "$g8"
    leaves_no 'x[_.]*'
}

@test "PSRFITS says where a telescope is, if that is known, and its shape as Parkes does" {
    fbedit -q -end 1024smp -set telescope=Parkes -o a.fits "$g8"
    head -c 5760 a.fits | fold -w 80 >cards
    grep -q '^ANT_X   = *-4554231.5' cards
    grep -q '^ANT_Z   = *-3454036.2' cards
    grep -q '^BE_PHASE= *0' cards
    fbedit -q -nbits 4 -end 1024smp -o b.fits "$g8"
    head -c 11520 b.fits | grep -q "TDIM7   = '(32,1,512)'" # as in Parkes' files of 4 bits
    fbedit -q -end 1024smp -set telescope=0 -o a.fits "$g8"
    [ "$(head -c 5760 a.fits | grep -c ANT_X)" = 0 ]
}

@test "levels in PSRFITS stand for values" {
    local spectra=29696
    [ -n "${PSRKIT_LONG-}" ] || spectra=2048
    leaves_cases
    fbedit -q -nbits 32 -end ${spectra}smp -o a.fil "$g8"
    for nbits in 4 8 16; do
        fbedit -q -nbits $nbits -o b.fits a.fil
        fbedit -q -o c.fil b.fits
        [ "$(value c.fil nbits d4)" = 32 ]
        # The scatter of a channel is some 35; half a level is a quarter of it with 4 bits.
        paste <(data a.fil | od -An -v -w4 -t f4) <(data c.fil | od -An -v -w4 -t f4) | awk -v nbits=$nbits -v spectra=$spectra '
            { d = $1 - $2; s += d * d; n++ }
            END { most = nbits == 4 ? 8 : nbits == 8 ? 2 : 0.01; print sqrt(s / n); exit !(n == spectra * 32 && sqrt(s / n) < most) }'
    done
}

@test "sums and bits: what fits is kept, and what fills no sum is told" {
    fbedit -q -tdecimate 4 -nbits 16 -o a.fil "$g8"
    [ "$(value a.fil nbits d4)" = 16 ]
    [ "$(value a.fil tsamp f8)" = 0.001024 ]
    [ "$(data a.fil | head -c 2 | od -An -t u2 | tr -d ' ')" = \
        "$(data "$g8" | head -c 128 | od -An -v -w32 -t u1 | awk '{ s += $1 } END { print s }')" ]
    run -0 --separate-stderr fbedit -v -tdecimate 7 -fdecimate 3 -o b.fil "$g8"
    [[ $stderr == *"7 spectra and 3 channels each, 8 to 8 bits, written as means"* ]]
    [[ $stderr == *"the last 2 spectra fill no sum"*"the last 2 channels fill no sum"* ]]
    [ "$(data b.fil | wc -c)" = $((29696 / 7 * 10)) ]
    [ "$(value b.fil fch1 f8)" = 1496 ] # of 1500, 1496, 1492
    [ "$(value b.fil foff f8)" = -12 ]
    fbedit -q -nbits 16 -o c.fil "$g8"
    fbedit -q -nbits 8 -o d.fil c.fil # levels: 16 bits may hold more
    [ "$(value d.fil nbits d4)" = 8 ]
    run -0 --separate-stderr fbedit -v -nbits 2 -o d.fil "$g8"
    [[ $stderr == *"written as levels: mean 1.5, scatter 1"* ]]
    cat "$g8" | fbedit -q -nbits 2 -o e.fil -
    cmp d.fil e.fil
}

@test "threads change nothing" {
    fakebin -q -nbits 8 -nchans 2048 -tsamp 1000 -tobs 4 -seed 4 -o a.fil
    for flags in '-nbits 4' '-nbits 16' '-tdecimate 3 -nbits 16' '-fdecimate 2 -nbits 2'; do
        fbedit -q -ncpus 1 $flags -o one.fil a.fil
        fbedit -q -ncpus 3 $flags -o three.fil a.fil
        cmp one.fil three.fil
    done
}

# series FLAGS... FILE: one.dat of gpudedisp at DM 40.
series() {
    gpudedisp -q -nobary -nopad -lodm 40 -numdms 1 -o "$@"
}

@test "levels of whole numbers are those of the same floats, beyond what they are measured on" {
    fakebin -q -period 0 -nchans 40 -nbits 8 -tobs 4.5 -tsamp 10 -fch1 1500 -foff 2 -seed 3 -o a.fil
    fbedit -q -nbits 32 -o floats.fil a.fil
    leaves_cases
    for bits in 4 ${PSRKIT_LONG:+2 1}; do
        fbedit -q -nbits $bits -o b.fil a.fil
        fbedit -q -nbits $bits -o c.fil floats.fil
        cmp b.fil c.fil
    done
    fbedit -q -nbits 4 -fdecimate 5 -o b.fil a.fil
    fbedit -q -nbits 4 -fdecimate 5 -ncpus 1 -o c.fil floats.fil
    cmp b.fil c.fil
}

@test "what is cleaned is what gpudedisp searches" {
    make_rfi
    for how in '-clean auto' '-zerodm -nbits 32'; do
        fbedit -q $how -o a.fil rfi.fil
        series a -noclip a.fil
        series b -noclip ${how% -nbits*} rfi.fil
        cmp a_DM40.00.dat b_DM40.00.dat
    done
    fbedit -q -mask "$mask" -clip 6 -nbits 32 -o a.fil rfi.fil
    series a -noclip a.fil
    series b -mask "$mask" rfi.fil
    paste <(od -An -v -w4 -t f4 a_DM40.00.dat) <(od -An -v -w4 -t f4 b_DM40.00.dat) |
        awk '{ d = $1 - $2; if (d > 0.001 || d < -0.001) bad++ } END { exit !(NR == 29642 && !bad) }'
    fbedit -q -mask "$mask" -clip 6 -o b.fil rfi.fil # rounded to 8 bits
    fbedit -q -nbits 32 -o c.fil b.fil
    leaves_cases
    local most=$((29696 * 32)) # in a long check, in others a quarter
    [ -n "${PSRKIT_LONG-}" ] || most=$((most / 4))
    paste <(data a.fil | od -An -v -w4 -N $((4 * most)) -t f4) <(data c.fil | od -An -v -w4 -N $((4 * most)) -t f4) |
        awk -v most=$most '{ d = $1 - $2; if (d > 0.5001 || d < -0.5001) bad++; if (d) n++ }
            END { exit !(NR == most && !bad && n < most / 50) }'
    fbedit -q -mask "$mask" -start 9600smp -o a.fil rfi.fil # the mask's time is the file's
    fbedit -q -mask "$mask" -o b.fil rfi.fil
    cmp <(data a.fil) <(data b.fil | tail -c +$((9600 * 32 + 1)))
    cat rfi.fil | fbedit -q -mask "$mask" -start 9600smp -o c.fil -
    cmp a.fil c.fil
    fbedit -q -clean auto -o a.fil rfi.fil
    cat rfi.fil | fbedit -q -ncpus 3 -clean auto -o b.fil -
    cmp a.fil b.fil
}

@test "-add injects signals: files, pipes and threads agree, with the table of them beside" {
    fakebin -q -period 0 -nchans 64 -nbits 4 -tobs 6 -tsamp 256 -fch1 1500 -foff 2 -seed 3 -o n.fil
    printf '# two\nburst dm=60 t=2 width=4e-3 snr=20\nburst dm=200 t=99 width=4e-3 snr=20\n' >list
    add=(-add "burst dm=30 t=1 width=2e-3 snr=12" -addfile list -add "pulsar period=0.1 dm=20 width=5e-3 snr=30" -seed 7)
    fbedit -q "${add[@]}" -o a.fil n.fil
    [ "$(grep -c '^burst' a.fil.truth)" = 3 ]
    [ "$(grep -c '^pulsar' a.fil.truth)" = 1 ]
    grep -q '^# fbedit -q -add' a.fil.truth
    awk '/^burst/ && $3 < 3 && ($14 < 11.99 || $14 > 20.01) || /^burst/ && $3 > 3 && $14 != 0 ||
         /^pulsar/ && sqrt(($14 * sqrt($6) - 30) ^ 2) > 0.01 { exit 1 }' a.fil.truth
    fails cmp -s a.fil n.fil
    [ "$(wc -c <a.fil)" = "$(wc -c <n.fil)" ]
    fbedit -q -ncpus 1 "${add[@]}" -truth t.txt -o b.fil n.fil
    cmp a.fil b.fil
    cmp <(grep -v '^# ' t.txt) <(grep -v '^# ' a.fil.truth)
    [ ! -e b.fil.truth ]
    cat n.fil | fbedit -q "${add[@]}" -end 23438smp -o - - >c.fil
    cmp a.fil c.fil
    fbedit -q -seed 8 "${add[@]:0:6}" -o d.fil n.fil # another seed rounds otherwise
    fails cmp -s a.fil d.fil
    gpudedisp -q -lodm 60 -numdms 1 -singlepulse -o e a.fil
    awk '/^ / && sqrt(($2 - 20) ^ 2) < 4 && sqrt(($3 - 2) ^ 2) < 0.01 { n++ } END { exit n != 1 }' e_DM60.00.singlepulse
    [ "$(fbedit -v -seed 9 -o x.fil -add "${add[1]}" n.fil 2>&1 | grep -c '1 signals added, seed 9')" = 1 ]
    rm -f x.fil*
    refused 1 "'pulse' is neither burst nor pulsar" -add pulse "$g8"
    refused 1 "a burst has no period" -add "burst period=1" "$g8"
    refused 1 'the S/N of a pulsar is over all spectra' -add "${add[5]}" - < <(cat "$g8")
    refused 2 '-truth needs -add' -truth t "$g8"
    refused 1 'would be written' -truth x.fil -add "${add[1]}" "$g8"
}

@test "-around cuts out each burst of a list" {
    fakebin -q -add "burst dm=60 t=2 width=4e-3 snr=25" -add "burst dm=200 t=4 width=4e-3 snr=25" -nchans 64 -nbits 8 \
        -tobs 6 -tsamp 256 -fch1 1500 -foff 2 -seed 3 -o n.fil
    gpudedisp -q -lodm 20 -dmstep 20 -numdms 10 -singlepulse -o n n.fil
    n=$(grep -vc '^#' n.cand)
    [ "$n" -ge 2 ]
    fbedit -q -around n.cand -pad 0.5 -o d.fil n.fil
    [ "$(ls d_*.fil | wc -l)" = "$n" ]
    read -r _ _ t _ _ dm _ < <(grep -v '^#' n.cand | head -n 1)
    s=$(awk -v t="$t" 'BEGIN { printf "%.9f", t - 0.5 }')
    e=$(awk -v t="$t" -v dm="$dm" 'BEGIN { printf "%.9f", t + 0.5 + dm / 2.41e-4 * (1 / 1374 ^ 2 - 1 / 1500 ^ 2) }')
    fbedit -q -start "$s" -end "$e" -o one.fil n.fil
    cmp d_0001.fil one.fil
    printf '9\t1\t99\t0\t0\t10\n' >far
    refuses 1 'lies outside of the input' fbedit -q -around far -o f.fil n.fil
    printf 'text\n' >wrong
    refuses 3 'line 1 is no row' fbedit -q -around wrong -o f.fil n.fil
    refuses 2 'excludes -start' fbedit -q -around far -start 1 -o f.fil n.fil
    refuses 2 'is one stream' fbedit -q -around far -o - n.fil
    leaves_no 'f[_.]*'
}

@test "-around takes the list of a barycentred search with -bary" {
    local how bary a b
    fakebin -q -add "burst dm=60 t=290 width=8e-3 snr=40" -nchans 16 -nbits 8 -tobs 300 -tsamp 2000 -fch1 1500 -foff 4 -seed 3 -o all.fil
    fbedit -q -set telescope=Parkes -set position=12:00:00,0:0:0 -set tstart=55000.3 -o n.fil all.fil
    for how in '' -nobary; do
        [ -n "$how" ] && bary= || bary=-bary
        gpudedisp -q $how -lodm 60 -numdms 1 -singlepulse -o "n$how" n.fil
        fbedit -q -around "n$how.cand" $bary -pad 0.5 -o "d$how.fil" n.fil
    done
    a=$(value d_0001.fil tstart f8) b=$(value d-nobary_0001.fil tstart f8)
    awk -v a="$a" -v b="$b" 'BEGIN { d = (a - b) * 86400; print d; exit !(d < 0.005 && d > -0.005) }'
    awk 'FNR == 2 { t[n++] = $3 } END { d = t[0] - t[1]; print d; exit !(d * d > 0.02 ^ 2) }' n.cand n-nobary.cand
    refuses 2 '-bary needs a list' fbedit -q -bary -o x.fil n.fil
    refuses 3 'all.fil has no position' fbedit -q -around n.cand -bary -o x.fil all.fil
}

@test "-dedisperse shifts channels" {
    for nbits in 2 8 16 32; do
        fbedit -q -nbits $nbits -o a.fil "$g8"
        fbedit -q -dedisperse 40 -o b.fil a.fil
        series a -noclip a.fil
        gpudedisp -q -nobary -noclip -nopad -lodm 0 -numdms 1 -o b b.fil
        cmp a_DM40.00.dat b_DM0.00.dat
    done
    [ "$(value b.fil refdm f8)" = 40 ]
    refused 1 'dm 100000 is a delay of .* spectra, the range has 29696' -dedisperse 100000 "$g8"
    cat "$g8" >one.fil
    refused 1 'dm 100000 is a delay of .* spectra' -dedisperse 100000 - < <(cat one.fil)
    refused 2 'not with -mask' -clean auto -mask m "$g8"
    refused 1 'm.mask: No such file' -mask m.mask "$g8"
    refused 2 "-clean: 'well' is neither" -clean well "$g8"
}

@test "-set corrects the header before all else" {
    fbedit -q -set source=B1234+56 -set telescope=Parkes -set tstart=60000.25 -set foff=4 -set fch1=1000 \
        -set position=12:34:56,-1:2:3 -start 60000.25001mjd -band 1000:1010 -o a.fil "$g8"
    grep -qa 'B1234+56' a.fil
    [ "$(value a.fil telescope_id d4)" = 4 ]
    [ "$(value a.fil nchans d4)" = 3 ]
    [ "$(value a.fil src_raj f8)" = 123456 ]
    cmp <(data a.fil | head -c 3) <(data "$g8" | tail -c +$((3375 * 32 + 1)) | head -c 3) # 0.864 s
    refused 1 "set 'colour=red', must be KEY=VALUE" -set colour=red "$g8"
    refused 1 "set tsamp: 'x' is not a number" -set tsamp=x "$g8"
    refused 1 'tsum 30000, must be at most the 29696' -tdecimate 30000 "$g8"
    refused 1 'nbits 3, must be' -nbits 3 "$g8"
    refused 1 'fsum 33, must be 1 to the number of channels, 32' -fdecimate 33 "$g8"
}

@test "-v says what is done, in its order" {
    run -0 --separate-stderr fbedit -v -start 1 -end 2 -chans 4:20 -order up -o a.fil "$g8"
    [[ $stderr == *"spectra 3906 to 7811"*"channels 4 to 19"*"reverse order"*"out: 16 channels"*"3906 spectra in, 3906 out"* ]]
    [ -z "$output" ]
}

@test "bad ranges and options are one line each" {
    refused 1 'start 100 is spectrum 390625, the input has 29696' -start 100 "$g8"
    refused 1 'end 29697smp is spectrum 29697, the input has 29696' -end 29697smp "$g8"
    refused 1 'must be after the start, 4000' -start 4000smp -end 1 "$g8"
    refused 1 'before the first spectrum' -start 49999.5mjd "$g8"
    refused 1 "start: 'soon' is not a number" -start soon "$g8"
    refused 1 'chans 4:33, must be a range within 0:32' -chans 4:33 "$g8"
    refused 1 'holds no channel of 1376 to 1500 MHz' -band 1:2 "$g8"
    refused 2 "-chans: '4' is no range" -chans 4 "$g8"
    refused 2 "-chans: '4:4' is empty" -chans 4:4 "$g8"
    refused 2 "-band: '1:x'|'x' is not a number" -band 1:x "$g8"
    refused 2 'must be one of both' -chans 1:2 -band 1:2 "$g8"
    refused 2 "'sideways' is neither up nor down" -order sideways "$g8"
    refused 2 'no input'
    refuses 2 '-o FILE is needed' fbedit "$g8"
    refused 1 'the input has 29696' -start 100 - <"$g8" # a pipe
    refused 1 'the input has 29696' -end 100 - < <(cat "$g8")
    refused 1 'the input has 29696' -start 100 - < <(cat "$g8")
    cp "$g8" y.fil
    refuses 1 'would be written over' fbedit -q -o y.fil y.fil
    cmp y.fil "$g8"
    refused 3 'HEADER_START' "$srcdir/README.md"
    [ ! -e /dev/full ] || refuses 1 'No space left' fbedit -q -o /dev/full "$g8"
}

@test "filterbanks in HDF5 hold the same samples, and what HDF5 cannot hold is refused" {
    local f
    if ! grep -q '^#define PSR_HDF5_SO' "$builddir/config.h"; then
        refuses 3 'built without HDF5' fbedit -q -o x.h5 "$g8"
        skip "built without HDF5"
    fi
    for f in 8 16 32; do
        fbedit -q -nbits $f -o $f.fil "$g8"
        fbedit -q -o $f.h5 $f.fil
    done
    sleep 1.1 # a file of HDF5 would hold the time at which it was made
    for f in 8 16 32; do
        mv $f.fil a.fil
        mv $f.h5 a.h5
        fbedit -q -o b.fil a.h5
        fbedit -q -o b.h5 a.fil
        cmp a.h5 b.h5
        cmp a.fil b.fil
        fbedit -q -start 1000smp -end 3001smp -chans 1:6 -o c.fil a.fil
        fbedit -q -start 1000smp -end 3001smp -chans 1:6 -o d.fil a.h5
        cmp c.fil d.fil
        fbedit -q -format fbh5 -o b.hdf5 - <a.fil # of unknown length
        fbedit -q -o b.fil b.hdf5
        cmp a.fil b.fil
    done
    refuses 3 'samples of 4 bits, must be 8, 16 or 32' fbedit -q -nbits 4 -o x.h5 "$g8"
    refuses 1 'to a file, not to a pipe' fbedit -q -format fbh5 -o - "$g8"
    refused 3 'HDF5 files cannot be read from a pipe' - < <(cat a.h5)
    refuses 1 'HDF5 cannot write' bash -c "ulimit -f 4; trap '' XFSZ; fbedit -q -o x.h5 '$g8'"
    leaves_no 'x[_.]*'
    for f in 8 100 5000 20000; do # bytes that are left of a file
        head -c $f a.h5 >x.h5
        run fbedit -q -o y.fil x.h5
        [ "$status" = 3 ]
        [ "${#lines[@]}" = 1 ]
    done
}

@test "HDF5 files in tiles, of several feeds, are read from anywhere" {
    local python=${PSRKIT_PYTHON:-python3} range
    grep -q '^#define PSR_HDF5_SO' "$builddir/config.h" || skip "built without HDF5"
    "$python" -c 'import h5py, numpy' 2>/dev/null || skip "no h5py"
    "$python" - 0 5000 777 4001 4999 5000 1500 1501 <<'END'
import sys, h5py, numpy as np
x = np.random.default_rng(1).integers(0, 30000, (5000, 2, 300), dtype="u2")
with h5py.File("f.h5", "w") as f:
    f.attrs["CLASS"] = "FILTERBANK"
    d = f.create_dataset("data", data=x, chunks=(90, 1, 77), compression="gzip", compression_opts=1)
    d.attrs.update(dict(fch1=1500.0, foff=-1.0, tsamp=1e-4, tstart=60000.0, nchans=300, nifs=2, nbits=16))
for first, end in zip(map(int, sys.argv[1::2]), map(int, sys.argv[2::2])):
    x[first:end].astype("i4").sum(axis=1).astype("f4").tofile(f"sum{first}")
    x[first:end, 1].tofile(f"second{first}")
END
    for range in '0 5000' '777 4001' '4999 5000' '1500 1501'; do
        set -- $range
        fbedit -q -state Coherence -nbits 32 -start ${1}smp -end ${2}smp -o a.fil f.h5
        cmp <(data a.fil) sum$1
        fbedit -q -if 1 -start ${1}smp -end ${2}smp -o a.fil f.h5
        cmp <(data a.fil) second$1
    done
}

@test "bands side by side are joined, in any order and format" {
    local bits
    for bits in 4 8 32; do
        fbedit -q -nbits $bits -o all.fil "$g8"
        fbedit -q -chans 0:2 -o a.fil all.fil
        fbedit -q -chans 2:6 -o b.fil all.fil
        fbedit -q -chans 6: -o c.sf all.fil
        fbedit -o x.fil c.sf a.fil b.fil 2>notes
        grep 'bands side by side: .* channels from 1500 MHz' notes
        cmp <(data x.fil) <(data all.fil)
        [ "$(value x.fil fch1 f8)" = 1500 ]
        fbedit -q -start 777smp -end 1777smp -o y.fil b.fil a.fil c.sf
        fbedit -q -start 777smp -end 1777smp -o z.fil all.fil
        cmp <(data y.fil) <(data z.fil)
    done
    fbedit -q -end 1000smp -o d.fil b.fil
    fbedit -o x.fil a.fil d.fil 2>notes
    grep 'which not all bands have, are left out' notes
    rm x.fil
    refused 3 'c.sf: fch1 = .* MHz, must be 1492 MHz to lie beside a.fil, which begins at the same time' a.fil c.sf
    fbedit -q -tdecimate 2 -o e.fil b.fil
    refused 3 'e.fil: nbits, tsamp and foff must be those of a.fil' a.fil e.fil
}

@test "gaps are filled as asked" {
    fbedit -q -nbits 8 -o all.fil "$g8"
    fbedit -q -end 1000smp -o a.fil all.fil
    fbedit -q -start 1010smp -end 2000smp -o b.fil all.fil
    local row=$(($(data a.fil | wc -c) / 1000)) at
    at=$((1000 * row))
    fbedit -gaps zero -o x.fil a.fil b.fil 2>notes
    grep '10 spectra .* are missing from spectrum 1000 on: padded with zeros' notes
    cmp <(data x.fil | tail -c +$((at + 1)) | head -c $((10 * row))) <(head -c $((10 * row)) /dev/zero)
    cmp <(data x.fil | tail -c +$((at + 10 * row + 1))) <(data b.fil)
    fbedit -q -gaps mean -o y.fil a.fil b.fil
    fbedit -q -o z.fil a.fil b.fil
    cmp y.fil z.fil
    rm x.fil
    refused 3 'b.fil: 10 spectra .* are missing from spectrum 1000 on' -gaps none a.fil b.fil
    refused 2 "'some' is neither mean nor zero nor none" -gaps some a.fil b.fil
}

@test "PSRFITS files have any name" {
    fbedit -q -o x.sf "$g8"
    fbedit -q -o x.fil x.sf
    for name in ' b l.sf' '~x.sf' 'k=[1].sf' 'z .sf' '*.sf' '!x.sf' 'a(b).sf' '@l.sf'; do
        cp x.sf "./$name"
        fbedit -q -o y.fil "$name"
        [ "$(tail -c 1000 x.fil | md5sum)" = "$(tail -c 1000 y.fil | md5sum)" ]
        rm "./$name" y.fil
    done
}

@test "a run that is stopped or killed leaves no file" {
    mkfifo pipe
    fbedit -o x.fil - <pipe 2>said &
    pid=$!
    exec 7>pipe
    cat "$g8" >&7
    for ((i = 0; i < 100; i++)); do
        [ -z "$(find . -name 'x.fil.part*')" ] || break
        sleep 0.05
    done
    kill -TERM $pid
    wait $pid || true
    exec 7>&-
    grep -qx 'fbedit: stopped: nothing is kept, and the same command begins again' said
    leaves_no 'x[_.]*'
}

@test "-cutout your makes pictures of bursts for classifiers" {
    if ! grep -q '^#define PSR_HDF5_SO' "$builddir/config.h"; then
        skip "built without HDF5"
    fi
    refuses 2 '-cutout needs a list' fbedit -q -cutout your -o x.h5 "$g8"
    printf '20\t7813\t2.000128\t4.907\t2\t60\n' >list # 30 samples of 256 us
    refuses 2 'excludes -format, -nbits and -dedisperse' fbedit -q -cutout your -around list -nbits 8 -o x.h5 "$g8"
    refuses 2 "'mine' is neither your" fbedit -q -cutout mine -around list -o x.h5 "$g8"
    printf '20\t7813\t99\t4.907\t2\t60\n' >far
    refuses 1 'the burst at 99.000000 s lies outside of the input' fbedit -q -cutout your -around far -o x.h5 "$g8"
    refuses 1 'HDF5 cannot write' bash -c "ulimit -f 4; trap '' XFSZ; fbedit -q -cutout your -around list -o x.h5 '$g8'"
    leaves_no 'x[_.]*'
    fbedit -q -cutout your -around list -o a.h5 "$g8"
    cp a_0001.h5 b.h5
    fbedit -q -ncpus 1 -cutout your -around list -o a.h5 "$g8"
    cmp a_0001.h5 b.h5
    python=${PSRKIT_PYTHON:-python3}
    "$python" -c 'import h5py, numpy' 2>/dev/null || skip "no h5py"
    check() { # LIST-ROW WIDTH FLAGS...: the pictures are those that numpy makes of what fbedit writes with FLAGS
        printf '%b\n' "$1" >row
        fbedit -q -cutout your -around row "${@:3}" -o c.h5 in.fil
        fbedit -q -order down "${@:3}" -nbits 32 -o c.fil in.fil
        "$python" "$srcdir/tests/tools/check_cutout.py" c.fil c_0001.h5 "$(printf '%b' "$1" | cut -f 3)" "$2" "$highest"
    }
    highest=1500
    fakebin -q -add "burst dm=60 t=2 width=8e-3 snr=40" -nchans 64 -nbits 8 -tobs 6 -tsamp 256 -fch1 1500 -foff 2 -seed 3 -o down.fil
    fbedit -q -order up -o in.fil down.fil
    check '40\t7813\t2.000128\t3.585\t2\t60' 3.072e-3
    in_long check '40\t7813\t2.000128\t0\t2\t60' 2.56e-4     # bins of a sample
    in_long check '40\t78\t0.019968\t5\t2\t200' 8.192e-3     # before the first spectrum
    check '40\t23200\t5.9393\t4\t2\t100' 4.096e-3         # after the last
    in_long check '40\t7813\t2.000128\t4.907\t2\t0' 7.680e-3 # DM 0
    check '40\t7813\t2.000128\t4.907\t2\t60' 7.680e-3 -tdecimate 3 -fdecimate 2
    in_long check '40\t7813\t2.000128\t4.907\t2\t60' 7.680e-3 -chans 4:60 # the highest is another
    make_rfi
    mv rfi.fil in.fil
    check '40\t7813\t2.000128\t3.585\t2\t60' 3.072e-3 -mask "$mask"
    highest=800
    leaves_cases
    for bits in 4 ${PSRKIT_LONG:+32}; do
        fakebin -q -nchans 300 -nbits $bits -tobs 3 -tsamp 256 -fch1 800 -foff -1 -seed 3 -period 0 -o in.fil
        check '40\t3000\t0.768\t2\t2\t500' 1.024e-3
    done
}

@test "random operations are those of numpy, and formats, pipes and threads change nothing" {
    local python=${PSRKIT_PYTHON:-python3} seconds=2
    "$python" -c 'import numpy' 2>/dev/null || skip "no numpy"
    [ -z "${PSRKIT_LONG-}" ] || seconds=60
    "$python" "$srcdir/tests/tools/check_edits.py" fbedit $seconds ${PSRKIT_TEST_SEED-}
}

@test "a damaged HDF5 file is read, or refused in one line" {
    grep -q '^#define PSR_HDF5_SO' "$builddir/config.h" || skip "built without HDF5"
    local seed=${PSRKIT_TEST_SEED-1} times=2 corpus=$srcdir/tests/fuzz/corpus/fbh5 size at i f
    try() {
        run timeout 60 fbedit -q -o y.fil "$1"
        [ "$status" = 0 ] || { [[ $status == [13] ]] && [ "${#lines[@]}" = 1 ] && [ ! -e y.fil ]; }
        rm -f y.fil
    }
    try "$srcdir/tests/tools/fbh5_crash.h5" # HDF5 1.10 follows a text out of its memory
    in_long try "$srcdir/tests/tools/fbh5_hang.h5" # and reads without end, which ends after 5 s of a processor
    [ -z "${PSRKIT_LONG-}" ] || times=30
    RANDOM=$seed
    for f in "$corpus"/b*.h5 "$corpus"/text.h5; do
        size=$(stat -c %s "$f")
        for ((i = 0; i < times; i++)); do
            cp "$f" x.h5
            chmod u+w x.h5
            for at in $((RANDOM % size)) $((RANDOM % 1000)) $((RANDOM % size)); do
                printf "\\x$(printf %x $((RANDOM % 256)))" | dd of=x.h5 bs=1 seek=$at conv=notrunc status=none
            done
            [ $((i % 3)) != 0 ] || truncate -s $((RANDOM % size)) x.h5
            try x.h5
        done
    done
}
