#!/usr/bin/env bats
# Ring buffers of psrdada, dada://KEY: what is read from one and written to one is what files and pipes hold.

load helper

dada=$srcdir/tests/fuzz/corpus/baseband/time.dada
array=$srcdir/data/arrays/chord-pathfinder-8x8.array

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# need_rings [BLOCK] [READERS]: makes a ring with a key of its own and blocks of so many bytes, or skips the test.
need_rings() {
    if gpudigifil -q -o x dada://1 2>&1 | grep -q 'this build has no psrdada'; then
        skip "this build has no psrdada"
    fi
    command -v dada_db >/dev/null || skip "needs psrdada's dada_db"
    key=$(printf '%x' $((0x10000 + RANDOM * 2)))
    dada_db -k "$key" -n 4 -b "${1-65536}" -r "${2-1}" >/dev/null
    ring=dada://$key
    sky=(-q -seed 3 -nchans 64 -nbits 8 -tsamp 500 -fch1 1500 -foff -2 -period 0 -tstart 58849.25)
    search=(-q -nobary -lodm 0 -dmstep 40 -numdms 3)
}

# need TOOL: skips the test without this tool of psrdada.
need() {
    command -v "$1" >/dev/null || skip "needs psrdada's $1"
}

# ends_within SECONDS PID: its exit code is code.
ends_within() {
    local began=${EPOCHREALTIME/[.,]/}
    code=0
    wait "$2" || code=$?
    [ $((${EPOCHREALTIME/[.,]/} - began)) -lt $(($1 * 1000000)) ]
}

# make_dada FILE LINES: a DADA file of 400 spectra of 64 channels, with keys as Heimdall wants them, and these lines.
make_dada() {
    {
        printf 'HDR_SIZE 4096\nFILE_SIZE 25600\nNCHAN 64\nNBIT 8\nNPOL 1\nNDIM 1\nORDER TF\nFREQ 1437\nBW -128\nTSAMP 500\n'
        printf 'UTC_START 2020-01-01-06:00:00\nOBS_OFFSET 0\nSOURCE B0531+21\nRA 05:34:31.97\nDEC 22:00:52.1\nTELESCOPE Parkes\n'
        printf '%b' "$2"
    } | dd bs=4096 conv=sync iflag=fullblock status=none >"$1"
    fakebin "${sky[@]}" -tobs 0.2 | tail -c 25600 >>"$1"
}

teardown() {
    [ -z "${key-}" ] || dada_db -k "$key" -d >/dev/null
}

@test "a build without psrdada says so in a line" {
    gpudigifil -q -o x dada://1 2>&1 | grep -q 'this build has no psrdada' || skip "this build has psrdada"
    refuses 3 'dada://dada: this build has no psrdada' gpudigifil -q -F 16 -o x dada://dada
    refuses 3 'dada://dada: this build has no psrdada' gpudedisp -q -nobary -o x dada://dada
    refuses 3 'dada://dada: this build has no psrdada' gpufold -q -p 1 -o x dada://dada
    refuses 3 'dada://dada: this build has no psrdada' fakebin -q -tobs 0.1 -o dada://dada
    refuses 3 'dada://dada: this build has no psrdada' gpudigifil -q -F 16 -o dada://dada "$dada"
    refuses 3 'dada://dada: this build has no psrdada' frbbeam -q -array "$array" -grid -o x dada://dada
    refuses 3 'dada://dada: this build has no psrdada' fakebin -q -tobs 0.1 -array "$array" -nchans 2 -fch1 700 -foff 1 -o dada://dada
    leaves_no '*x*'
}

@test "voltages of a ring make the filterbank of a file" {
    need_rings
    need dada_diskdb
    { head -c 4096 "$dada" | tr -d '\0'; printf 'OBS_OFFSET 0\nFILE_SIZE 800\n'; } |
        dd bs=4096 conv=sync iflag=fullblock status=none >a.dada
    tail -c +4097 "$dada" | head -c 800 >>a.dada
    gpudigifil -q -F 16 -b 8 -o file.fil a.dada
    gpudigifil -q -F 16 -b 8 -o ring.fil "dada://$key" &
    dada_diskdb -k "$key" -f a.dada -s >log 2>&1 || { cat log; kill $!; false; }
    wait $!
    cmp file.fil ring.fil
}

@test "voltages written to a ring make the beams of a file" {
    need_rings
    made=(-q -seed 1 -array "$array" -nchans 16 -fch1 700 -foff 1 -tsamp 200 -tobs 0.5 -source "1.5,-0.5,60,dm=100,t=0.2")
    fakebin "${made[@]}" -o a.dada
    frbbeam -q -array "$array" -grid -o file a.dada
    frbbeam -q -array "$array" -grid -o ring "dada://$key" 2>log &
    fakebin "${made[@]}" -o "dada://$key"
    wait $!
    cat log
    [ "$(ls file_beam*.fil | wc -l)" -eq 256 ]
    for beam in file_beam*.fil; do
        cmp "$beam" "ring${beam#file}"
    done
}

@test "a reader that waits ends when it is told to" {
    need_rings
    gpudigifil -q -F 16 -o x.fil "dada://$key" &
    sleep 0.5
    kill -TERM $!
    local code=0
    wait $! || code=$?
    [ $code -eq 143 ]
    leaves_no 'x.fil*'
}

@test "spectra of a ring make the series of a pipe, whatever its blocks hold" {
    need_rings 100003
    made=("${sky[@]}" -tobs 20 -add "burst dm=80 t=10 width=4e-3 snr=25")
    fakebin "${made[@]}" | gpudedisp "${search[@]}" -o pipe -
    gpudedisp "${search[@]}" -o ring "$ring" &
    fakebin "${made[@]}" -o "$ring"
    wait $!
    for dm in 0.00 40.00 80.00; do
        cmp "pipe_DM$dm.dat" "ring_DM$dm.dat"
        diff <(sed '1d;4d' "pipe_DM$dm.inf") <(sed '1d;4d' "ring_DM$dm.inf")
    done
}

@test "fbedit adds signals to what comes from a ring, and writes into one" {
    need_rings 100003
    local added=(-q -seed 5 -add "burst dm=80 t=4 width=4e-3 snr=25")
    fakebin "${sky[@]}" -tobs 8 -o a.fil
    fbedit "${added[@]}" -o file.fil a.fil
    fails cmp -s file.fil a.fil
    fbedit "${added[@]}" -o ring.fil "$ring" &
    fakebin "${sky[@]}" -tobs 8 -o "$ring"
    wait $!
    cmp <(tail -c $((16000 * 64)) file.fil) <(tail -c $((16000 * 64)) ring.fil)
    gpudedisp "${search[@]}" -o file file.fil
    gpudedisp "${search[@]}" -o ring "$ring" &
    fbedit "${added[@]}" -o "$ring" a.fil
    wait $!
    cmp file_DM80.00.dat ring_DM80.00.dat
}

@test "two programs read one ring, one after the other observation" {
    need_rings 30000 2
    fakebin "${sky[@]}" -tobs 5 | gpudedisp "${search[@]}" -o pipe -
    for run in 1 2 3; do
        gpudedisp "${search[@]}" -o "a$run" "$ring" &
        local one=$!
        gpudedisp "${search[@]}" -o "b$run" "$ring" &
        fakebin "${sky[@]}" -tobs 5 -o "$ring"
        wait $!
        wait $one
        cmp pipe_DM40.00.dat "a${run}_DM40.00.dat"
        cmp pipe_DM40.00.dat "b${run}_DM40.00.dat"
    done
}

@test "floats, few bits and polarisations go through a ring" {
    need_rings 5000
    for kind in '-nbits 32' '-nbits 2' '-nbits 16 -nifs 2'; do
        # shellcheck disable=SC2086
        fakebin "${sky[@]}" $kind -tobs 1 | gpudedisp "${search[@]}" -o pipe -
        gpudedisp "${search[@]}" -o ring "$ring" &
        # shellcheck disable=SC2086
        fakebin "${sky[@]}" $kind -tobs 1 -o "$ring"
        wait $!
        cmp pipe_DM40.00.dat ring_DM40.00.dat
    done
}

@test "voltages to spectra to a burst, by a ring" {
    need_rings 100000
    fakebin -q -seed 5 -vdif -nchans 1 -fch1 610 -foff 20 -nifs 1 -nbits 8 -tobs 2 -add "burst dm=20 t=1.2 width=2e-3 snr=40" -o v.vdif
    divide=(gpudigifil -q -device cpu -freq 610 -bw 20 -F 256 -t 8 -b 8 -I 0.5)
    find=(gpudedisp -live -lodm 0 -dmstep 0.5 -numdms 81 -maxwidth 0.02)
    "${divide[@]}" -o - v.vdif | "${find[@]}" -q -o pipe -
    "${find[@]}" -o ring "$ring" 2>log &
    "${divide[@]}" -o "$ring" v.vdif
    wait $!
    cat ring log
    grep -q '19531 spectra, .* 1 pulses' log
    [ "$(grep -c '"dm": 20,' ring)" -eq 1 ]
    cmp <(sed 's/"latency_s.*//' pipe) <(sed 's/"latency_s.*//' ring)
}

@test "a header goes through a ring to a file, and back" {
    need_rings 30000
    need dada_dbdisk
    mkdir disk
    dada_dbdisk -k "$key" -D disk -s >log 2>&1 &
    fakebin "${sky[@]}" -tobs 2 -o "$ring"
    wait $!
    cat log
    head -c 4096 disk/*.dada | tr -d '\0'
    for line in 'NCHAN 64' 'NBIT 8' 'NPOL 1' 'NDIM 1' 'ORDER TF' 'FREQ 1437' 'BW -128' 'TSAMP 500' \
        'UTC_START 2020-01-01-06:00:00' 'PICOSECONDS 0' 'OBS_OFFSET 0' 'RESOLUTION 64'; do
        head -c 4096 disk/*.dada | tr -d '\0' | tr -s ' ' | grep -qx "$line *"
    done
    fakebin "${sky[@]}" -tobs 2 -o a.fil
    cmp <(tail -c 256000 a.fil) <(tail -c +4097 disk/*.dada)
    gpudedisp "${search[@]}" -o fil a.fil
    gpudedisp "${search[@]}" -o dada disk/*.dada
    cmp fil_DM40.00.dat dada_DM40.00.dat
    diff <(sed '1d;4d;/settings/d' fil_DM40.00.inf) <(sed '1d;4d;/settings/d' dada_DM40.00.inf)
    # Blanks would end a name.
    grep -q '= *P:_0.000000000000_ms,_DM:_0.000$' dada_DM40.00.inf
}

@test "a header with the keys of other programs is read from a ring, a pipe and a file" {
    need_rings
    need dada_diskdb
    make_dada a.dada ''
    gpudedisp "${search[@]}" -o file a.dada
    gpudedisp "${search[@]}" -o pipe - <a.dada
    gpudedisp "${search[@]}" -o ring "$ring" &
    dada_diskdb -k "$key" -f a.dada -s >log 2>&1 || { cat log; kill $!; false; }
    wait $!
    cmp file_DM40.00.dat ring_DM40.00.dat
    cmp file_DM40.00.dat pipe_DM40.00.dat
    diff <(sed '1d;/settings/d' file_DM40.00.inf) <(sed '1d;/settings/d' ring_DM40.00.inf)
    grep -q '= *B0531+21$' ring_DM40.00.inf
    grep -q '= *58849.25' ring_DM40.00.inf
    grep -q '= *05:34:31.9700$' ring_DM40.00.inf
}

@test "spectra of a ring are folded, and searched for interference" {
    need_rings
    fakebin "${sky[@]}" -tobs 5 -o a.fil
    gpufold -q -p 0.05 -dm 10 -length 5 -o pipe - <a.fil
    gpurfifind -q -time 1 -o pipe - <a.fil
    gpufold -q -p 0.05 -dm 10 -length 5 -o ring "$ring" &
    fakebin "${sky[@]}" -tobs 5 -o "$ring"
    wait $!
    gpurfifind -q -time 1 -o ring "$ring" &
    fakebin "${sky[@]}" -tobs 5 -o "$ring"
    wait $!
    cmp pipe_rfifind.mask ring_rfifind.mask
    # Names of the file and of the source differ.
    [ "$(grep -a '^# Profile\|^# Reduced' pipe*.bestprof)" = "$(grep -a '^# Profile\|^# Reduced' ring*.bestprof)" ]
    refuses 2 "$ring needs -o" gpufold -q -p 0.05 -length 5 "$ring"
}

@test "headers that cannot be read are refused in a line" {
    need_rings
    need dada_diskdb
    while IFS='|' read -r lines pattern; do
        make_dada bad.dada "$lines\n"
        refuses 3 "^gpudedisp: bad.dada: $pattern" gpudedisp -q -nobary -o x bad.dada
        dada_diskdb -k "$key" -f bad.dada -s >log 2>&1
        refuses 3 "^gpudedisp: $ring: $pattern" gpudedisp -q -nobary -o x "$ring"
        # What was not read is still in the ring.
        dada_db -k "$key" -d >/dev/null
        dada_db -k "$key" -n 4 -b 65536 >/dev/null
    done <<'LIST'
NDIM 2|NDIM is 2, voltages or products of them, must be 1: spectra
NBEAM 8|NBEAM is 8, must be 1
ORDER FT|ORDER is FT with NPOL 1, must be TF
NBIT 12|NBIT is 12, must be 1, 2, 4, 8, 16 or 32
TSAMP -1|TSAMP: -1 is below
NCHAN 0|NCHAN: 0 is below 1
LIST
    leaves_no '*x*'
}

@test "a silent ring is left at once" {
    need_rings
    gpudedisp -live "${search[@]}" -o pulses "$ring" 2>log &
    sleep 0.5
    kill -TERM $!
    ends_within 1 $!
    [ $code -eq 143 ]
    # And in the middle of an observation, with what was found until then.
    fakebin -q -seed 5 -vdif -nchans 1 -fch1 610 -foff 20 -nifs 1 -nbits 8 -tobs 1.6 -add "burst dm=20 t=1 width=2e-3 snr=40" -o v.vdif
    mkfifo pipe
    gpudigifil -q -device cpu -freq 610 -bw 20 -F 256 -t 8 -b 8 -I 0.5 -o "$ring" - <pipe &
    local writer=$!
    gpudedisp -live -lodm 0 -dmstep 0.5 -numdms 81 -maxwidth 0.02 -block 0.05 -o pulses "$ring" 2>log &
    local reader=$!
    exec 7>pipe
    cat v.vdif >&7
    for ((i = 0; i < 100; i++)); do
        [ ! -s pulses ] || break
        sleep 0.1
    done
    kill -TERM $reader
    ends_within 1 $reader
    cat pulses log
    [ $code -eq 0 ]
    grep -q '1 pulses' log
    kill -TERM $writer
    exec 7>&-
    ends_within 1 $writer
    [ $code -eq 143 ]
}

@test "a writer that is killed announces the end, whether a ring is read or not" {
    need_rings 20000
    # Nobody reads: 80000 bytes fit.
    fakebin "${sky[@]}" -tobs 100 -o "$ring" &
    sleep 0.5
    kill -TERM $!
    ends_within 1 $!
    [ $code -eq 143 ]
    timeout 10 gpudedisp "${search[@]}" -o first "$ring"
    fakebin "${sky[@]}" -tobs 100 -o a.fil
    head -c $(($(stat -c %s a.fil) - 12800000 + 80000)) a.fil | gpudedisp "${search[@]}" -o same -
    cmp first_DM0.00.dat same_DM0.00.dat
    # It is read while it is written.
    timeout 20 gpudedisp "${search[@]}" -o second "$ring" &
    local reader=$!
    fakebin "${sky[@]}" -tobs 10000 -o "$ring" &
    sleep 0.5
    kill -TERM $!
    # What it makes at a time takes a while with sanitizers.
    ends_within 5 $!
    ends_within 5 $reader
    [ $code -eq 0 ]
    [ -s second_DM0.00.dat ]
}

@test "a run that writes no data leaves nothing in a ring" {
    need_rings
    refuses 1 'HDR_SIZE 0, must be 4096 to 4096' fakebin -q -psrfits -tobs 0.1 -o "$ring"
    refuses 1 'samples are too few' gpudigifil -q -device cpu -F 65536 -o "$ring" "$dada"
    timeout 10 gpudedisp "${search[@]}" -o ring "$ring" &
    fakebin "${sky[@]}" -tobs 1 -o "$ring"
    wait $!
    fakebin "${sky[@]}" -tobs 1 | gpudedisp "${search[@]}" -o pipe -
    cmp pipe_DM40.00.dat ring_DM40.00.dat
}

@test "rings and headers that cannot be" {
    need_rings
    refuses 1 'no ring has this key' gpudigifil -q -o x dada://7654321
    refuses 1 'up to 8 hexadecimal digits' gpudigifil -q -o x dada://ring
    refuses 1 'up to 8 hexadecimal digits' gpudigifil -q -o x dada://
    refuses 1 'no ring has this key' gpudedisp -q -nobary -o x dada://7654321
    refuses 1 'no ring has this key' gpudigifil -q -F 16 -o dada://7654321 "$dada"
    refuses 1 "$ring would be written over $ring, which is read" gpudigifil -q -F 16 -o "$ring" "$ring"
    refuses 1 'must be the only one' gpudedisp -q -nobary -o x "$ring" "$g8"
    leaves_no 'x*'
}
