#!/usr/bin/env bats
# Ring buffers of psrdada, dada://KEY: what is read from one and written to one is what files hold.

load helper

dada=$srcdir/tests/fuzz/corpus/baseband/time.dada
array=$srcdir/data/arrays/chord-pathfinder-8x8.array

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# need_rings: makes a ring with a key of its own, or skips the test.
need_rings() {
    if gpudigifil -q -o x dada://1 2>&1 | grep -q 'this build has no psrdada'; then
        skip "this build has no psrdada"
    fi
    command -v dada_db >/dev/null || skip "needs psrdada's dada_db"
    key=$(printf '%x' $((0x10000 + RANDOM * 2)))
    dada_db -k "$key" -n 4 -b 65536 >/dev/null
}

teardown() {
    [ -z "${key-}" ] || dada_db -k "$key" -d >/dev/null
}

@test "a build without psrdada says so in a line" {
    gpudigifil -q -o x dada://1 2>&1 | grep -q 'this build has no psrdada' || skip "this build has psrdada"
    refuses 1 'dada://dada: this build has no psrdada' gpudigifil -q -F 16 -o x dada://dada
    refuses 1 'dada://dada: this build has no psrdada' frbbeam -q -array "$array" -grid -o x dada://dada
    refuses 1 'dada://dada: this build has no psrdada' fakebin -q -tobs 0.1 -array "$array" -nchans 2 -fch1 700 -foff 1 -o dada://dada
    leaves_no '*x*'
}

@test "voltages of a ring make the filterbank of a file" {
    need_rings
    command -v dada_diskdb >/dev/null || skip "needs psrdada's dada_diskdb"
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

@test "rings and headers that cannot be" {
    need_rings
    refuses 1 'no ring has this key' gpudigifil -q -o x dada://7654321
    refuses 1 'up to 8 hexadecimal digits' gpudigifil -q -o x dada://ring
    refuses 1 'up to 8 hexadecimal digits' gpudigifil -q -o x dada://
    refuses 1 'HDR_SIZE 0, must be 4096 to 4096' fakebin -q -tobs 0.1 -o "dada://$key"
    leaves_no 'x*'
}
