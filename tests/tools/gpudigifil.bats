#!/usr/bin/env bats
# gpudigifil from the command line: formats, files and pipes, bits and products, and what is refused.

load helper

corpus=$srcdir/tests/fuzz/corpus/baseband
dada=$corpus/time.dada      # 100 samples of 2 channels of 16 MHz about 400 MHz, 2 polarisations, and a byte
vdif=$corpus/threads.vdif   # 30 frames of 64 real samples, 2 threads, 25 frames a second; one is missing
raw=$corpus/overlap.raw     # blocks of 88 samples, 8 of them repeated; the third of four is missing

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# refused CODE PATTERN ARGS...: gpudigifil must exit with CODE, say one line that matches, and leave nothing.
refused() {
    refuses "$1" "$2" gpudigifil -q "${@:3}"
    leaves_no 'x[_.]*'
}

# data_bytes FILE: bytes that follow the header.
data_bytes() {
    echo $(($(stat -c %s "$1") - $(grep -obUa HEADER_END "$1" | head -n 1 | cut -d: -f1) - 10))
}

@test "--help and --version go to standard output and exit 0" {
    run -0 --separate-stderr gpudigifil --help
    [[ $output == Usage:* && -z $stderr ]]
    run -0 --separate-stderr gpudigifil --version
    [[ $output == "gpudigifil (psrkit) "* ]]
}

@test "bits, products and sums make files of the right length" {
    gpudigifil -q -F 16 -o a.fil "$dada" # 12 spectra of 16 channels, 2 bits
    [ "$(data_bytes a.fil)" = $((12 * 16 * 2 / 8)) ]
    gpudigifil -q -F 16 -b 8 -o a.fil "$dada"
    [ "$(data_bytes a.fil)" = $((12 * 16)) ]
    gpudigifil -q -F 16 -b -32 -t 5 -f 4 -o a.fil "$dada"
    [ "$(data_bytes a.fil)" = $((2 * 4 * 4)) ]
    gpudigifil -q -F 16 -b 8 -d 2 -o a.fil "$dada"
    [ "$(data_bytes a.fil)" = $((12 * 16 * 2)) ]
    gpudigifil -q -F 16 -b 16 -d 4 -o a.fil "$dada"
    [ "$(data_bytes a.fil)" = $((12 * 16 * 4 * 2)) ]
    gpudigifil -q -F 16 -b 8 -stokes -o a.fil "$dada"
    [ "$(data_bytes a.fil)" = $((12 * 16 * 4)) ]
    gpudigifil -q -b 8 -o a.fil "$dada" # the input's own channels
    [ "$(data_bytes a.fil)" = $((100 * 2)) ]
    gpudigifil -q -F 4:10 -b 8 -o a.fil "$dada"
    [ "$(data_bytes a.fil)" = $((50 * 4)) ]
    gpudigifil -q -pfb 4 -F 4 -b 8 -o a.fil "$dada"
    [ "$(data_bytes a.fil)" = $((47 * 4)) ]
}

@test "every format comes out as gpudedisp reads it" {
    gpudigifil -q -b 8 -F 8 -o dada.fil "$dada"
    gpudigifil -q -b 8 -F 8 -freq 1400 -o vdif.fil "$vdif"
    gpudigifil -q -b 8 -F 8 -o raw.fil "$raw"
    for kind in dada vdif raw; do
        gpudedisp -q -nobary -lodm 0 -dmstep 1 -numdms 1 -o $kind $kind.fil
        [ -s ${kind}_DM0.00.dat ]
    done
    grep -q '^ Telescope used *= *Parkes' dada_DM0.00.inf
    grep -q '^ Central freq of low channel (MHz) *= *384' dada_DM0.00.inf
    grep -q '^ Width of each time series bin (sec) *= *2.5e-07' dada_DM0.00.inf
}

@test "pipes and any number of threads give the same bytes" {
    gpudigifil -q -F 16 -o a.fil "$dada"
    gpudigifil -q -F 16 -ncpus 1 -o b.fil "$dada"
    cmp a.fil b.fil
    gpudigifil -q -F 16 -o - - <"$dada" >c.fil
    cmp a.fil c.fil
    cat "$vdif" | gpudigifil -q -freq 1400 -F 16 -o d.fil -
    gpudigifil -q -freq 1400 -F 16 -threads 3 -B 4 -2 -p -o e.fil "$vdif"
    cmp d.fil e.fil
}

@test "lost voltages are the same in blocks of any length" {
    fakebin -q -seed 3 -vdif -fch1 610 -foff 2 -nchans 1 -nifs 1 -nbits 8 -tobs 1 -o whole.vdif
    # Of 500 frames of 8032 bytes: a tenth in one piece, and single ones.  Blocks of a pipe are of 0.05 s, and their memory
    # has other voltages where some are lost.
    for piece in "0 100" "150 60" "211 40" "252 100" "353 147"; do
        dd if=whole.vdif bs=8032 skip="${piece% *}" count="${piece#* }" status=none
    done >lossy.vdif
    for channels in "-F 64" "-F 64 -pfb 8" "-F 64:32" "-F 64:D -D 100"; do
        read -ra flags <<<"$channels"
        gpudigifil -q -freq 610 -b -32 -I 0 "${flags[@]}" -o file.fil lossy.vdif
        gpudigifil -q -freq 610 -b -32 -I 0 "${flags[@]}" -o pipe.fil - < <(cat lossy.vdif)
        cmp file.fil pipe.fil
    done
}

@test "what is lost is told, with its numbers" {
    run -0 --separate-stderr gpudigifil -freq 1400 -F 16 -o a.fil "$vdif"
    [[ $stderr == *"threads.vdif: of 1920 samples 128 are lost; 58 frames read, 2 missing, 2 invalid, 0 came twice or too late; "*" bytes are no frame" ]]
    run -0 --separate-stderr gpudigifil -F 8 -o b.fil "$raw"
    [[ $stderr == *"overlap.raw: of 328 samples 72 are lost; 3 blocks read, 1 missing"* ]]
    run -0 --separate-stderr gpudigifil -F 8 -o c.fil "$dada"
    [[ $stderr == *"time.dada: is cut: the last 1 bytes are no whole sample and are left out" ]]
    run -0 --separate-stderr gpudigifil -v -F 8 -o c.fil "$dada"
    [[ $stderr == *"100 samples in (0 lost), 25 spectra out"* ]]
}

@test "files that follow each other are one observation, in any order" {
    # 100 samples of 2 channels, 2 polarisations and 2 dimensions are 800 bytes
    head -c 4896 "$dada" >one.dada
    head -c 4896 "$dada" | sed 's/UTC_START/OBS_OFFSET 800\nUTC_START/' | tr -d '\0' | head -c 300 >head
    { head -c 4096 one.dada | tr -d '\0'; echo 'OBS_OFFSET 800'; } | dd bs=4096 conv=sync iflag=fullblock status=none >two.dada
    tail -c 800 one.dada >>two.dada
    gpudigifil -q -F 8 -b -32 -I 0 -o both.fil two.dada one.dada
    gpudigifil -q -F 8 -b -32 -I 0 -o one.fil one.dada
    [ "$(data_bytes both.fil)" = $((2 * $(data_bytes one.fil))) ]
    cmp <(head -c $((25 * 32)) <(tail -c $((50 * 32)) both.fil)) <(tail -c $((25 * 32)) one.fil)
    cmp <(tail -c $((25 * 32)) both.fil) <(tail -c $((25 * 32)) one.fil)
    refused 3 'overlaps' -F 8 -o x.fil one.dada one.dada
}

@test "usage errors exit 2" {
    refused 2 'no input' -F 8 -o x.fil
    refused 2 '-o FILE is needed' -F 8 "$dada"
    refused 2 '-b: 3 is none of' -b 3 -o x.fil "$dada"
    refused 2 '-b: 32 is none of' -b 32 -o x.fil "$dada"
    refused 2 '-F: .x. is not a whole number' -F x -o x.fil "$dada"
    refused 2 '-F N:M: .y. is not' -F 8:y -o x.fil "$dada"
    refused 2 '-F N:D needs -D' -F 8:D -o x.fil "$dada"
    refused 2 '-d 3, the square' -d 3 -o x.fil "$dada"
    refused 2 '-stokes has 4 products' -d 2 -stokes -o x.fil "$dada"
    refused 2 '-circular is for -stokes' -circular -o x.fil "$dada"
}

@test "run-time errors exit 1, and leave no file" {
    refused 1 'no frequency' -F 8 -o x.fil "$vdif"
    refused 1 'No such file' -F 8 -o x.fil none.dada
    refused 1 'must be a multiple of the 2' -b 8 -F 9 -o x.fil "$dada"
    refused 3 'too few for a sum' -F 8 -t 1000 -o x.fil "$dada"
    refused 3 'too few for a sum' -S 1 -F 8 -o x.fil "$dada"
    refused 3 'neither VDIF, DADA nor GUPPI' -F 8 -o x.fil "$srcdir/README.md"
    refused 1 'must be the only input, as any pipe' -F 8 -o x.fil "$dada" -
    cp "$dada" y.dada
    refuses 1 'would be written over' gpudigifil -q -F 8 -o y.dada y.dada
    cmp y.dada "$dada"
    if [ -w /dev/full ]; then
        refuses 1 'No space left' gpudigifil -q -F 8 -o /dev/full "$dada"
    fi
}

@test "real files" {
    need_data sample.dada
    gpudigifil -q -F 64:D -D 0.5 -b 8 -o a.fil "$PSRKIT_TEST_DATA/sample.dada"
    gpudigifil -q -freq 1400 -F 64 -b 8 -o b.fil "$PSRKIT_TEST_DATA/sample.vdif"
    [ "$(data_bytes b.fil)" = $((1250 * 64)) ]
    gpudigifil -q -b 8 -o c.fil "$PSRKIT_TEST_DATA/sample_mkbf.dada"
    [ "$(data_bytes c.fil)" = $((256 * 1024)) ]
}

@test "total intensity is found in whatever products are written" {
    fakebin -q -seed 5 -vdif -nchans 1 -fch1 610 -foff 16 -nifs 2 -nbits 8 -tobs 1 \
        -add "burst dm=20 t=0.5 width=2e-3 snr=30" -o v.vdif
    for products in '-d 1' '-d 2' '-d 4' -stokes; do
        # shellcheck disable=SC2086
        gpudigifil -q -freq 610 -bw 16 -F 64 -t 32 -b 8 -I 0.5 $products -o x.fil v.vdif
        gpudedisp -q -nobary -lodm 20 -numdms 1 -singlepulse -nowrite -o x x.fil
        awk 'NR == 2 { print; exit !($1 > 24 && $1 < 36) }' x.cand
    done
    grep -qa ';STATE=Stokes' x.fil
}
