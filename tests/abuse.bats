#!/usr/bin/env bats
# What goes wrong around the tools: files that change, signals at bad moments, odd names and places.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    one="-q -nobary -noclip -lodm 47 -numdms 1"
}

@test "a file that is cut while it is read is an error, also with -q" {
    cp "$g8" in.fil
    chmod u+w in.fil
    for _ in 1 2 3; do tail -c 950272 "$g8" >>in.fil; done
    mkfifo out
    exec 7<>out
    gpudedisp $one -nopad -mem 2M -o - in.fil >out 2>err 7>&- &
    pid=$!
    # It has begun by now, and cannot go on far before the pipe is read again.
    head -c 60000 <&7 >/dev/null
    truncate -s 3000000 in.fil
    cat <&7 >/dev/null &
    cat=$!
    code=0
    wait $pid || code=$?
    kill $cat
    [ "$code" -eq 1 ]
    grep -qx 'gpudedisp: in.fil: ended after [0-9]* of 118784 spectra while it was read' err || { cat err; false; }
}

@test "a signal is heeded while series are padded" {
    for more in '' '-compat presto -nsub 8'; do
        gpudedisp -q -nobary -noclip -numdms 2 $more -numout 4000000000000 -o t "$g8" 2>err &
        pid=$!
        # Much more than the samples.
        while [ "$(cat t_DM0.00.dat.part* 2>/dev/null | head -c 2000000 | wc -c)" -lt 2000000 ]; do sleep 0.05; done
        kill -TERM $pid
        (sleep 3; kill -KILL $pid) 2>/dev/null &
        late=$!
        code=0
        wait $pid || code=$?
        kill $late
        [ "$code" -eq 143 ]
        [ ! -s err ]
        leaves_no 't[_.]*'
    done
}

# wide.fil: 6000 spectra of 16384 channels, a hole but for the header.
make_wide() {
    fakebin -q -period 0 -nchans 16384 -nbits 8 -tsamp 1000 -tobs 0.001 -fch1 1500 -foff 0.01 -seed 1 -o wide.fil
    truncate -s $(($(stat -c %s wide.fil) + 5999 * 16384)) wide.fil
}

@test "-mem bounds cleaning too, or says what that takes" {
    make_wide
    for more in '' '-sub -subdm 0'; do
        refuses 1 '-mem: 20 MiB, must be above the [0-9.]+ MiB ' gpudedisp -q -nobary -mem 20M $more -o t wide.fil
        leaves_no 't[_.]*'
    done
    refuses 1 '-mem: .*; cleaning takes 7[0-9.]+ MiB of 85 MiB' gpudedisp -q -nobary -mem 85M -numdms 5 -o t wide.fil
    ldd "$builddir/tools/gpudedisp" | grep -q san && skip "sanitizers take memory of their own"
    for more in -noclip '' -zerodm '-clip 3 -singlepulse'; do
        mem=120
        [ "$more" = -zerodm ] && mem=300
        run -0 --separate-stderr gpudedisp -v -nobary -numdms 5 $more -mem ${mem}M -o t wide.fil
        peak=$(sed -n 's/.* peak \([0-9]*\) MB$/\1/p' <<<"$stderr")
        [ "$peak" -lt $((mem * 1048576 / 1000000 + 25)) ] || { echo "$more: $stderr"; false; }
        rm -f t_* t.cand
    done
}
