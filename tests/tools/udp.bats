#!/usr/bin/env bats
# Filterbanks over UDP: fakebin -udp sends, gpudedisp receives.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    choose_address
    sky=(-q -seed 11 -nchans 256 -nbits 8 -tsamp 500 -fch1 1500 -foff 1 -period 0)
    burst=(-add "burst dm=80 t=1.5 width=4e-3 snr=25")
    search=(-q -lodm 0 -dmstep 10 -numdms 17 -singlepulse -nobary -nowrite)
}

# receive ARGS...: gpudedisp in the background, its messages in log; end_receiver waits for it.
receive() {
    gpudedisp "$@" >out 2>log &
    receiver=$!
    await_receiver
}
end_receiver() {
    wait "$receiver"
}

teardown() {
    [ -z "${receiver:-}" ] || kill "$receiver" 2>/dev/null || true
}

@test "what is received is searched like a file" {
    [ -r /proc/net/udp ] || skip "needs /proc/net/udp"
    fakebin "${sky[@]}" "${burst[@]}" -tobs 3 -o a.fil
    gpudedisp "${search[@]}" -o file a.fil
    receive "${search[@]}" -o net "udp://$at?idle=5"
    fakebin "${sky[@]}" "${burst[@]}" -tobs 3 -udp "$at" -rate 3
    end_receiver
    [ "$(grep -c . file.cand)" -gt 1 ]
    cmp file.cand net.cand
}

@test "signals are added to a live stream as to a file, while it comes" {
    [ -r /proc/net/udp ] || skip "needs /proc/net/udp"
    local i added=(-q -seed 5 "${burst[@]}" -add "burst dm=20 t=4.5 width=8e-3 snr=15")
    fakebin "${sky[@]}" -tobs 6 -o a.fil
    fbedit "${added[@]}" -o file.fil a.fil
    fbedit "${added[@]}" -truth truth -o - "udp://$at?idle=5" >net.fil 2>log &
    receiver=$!
    await_receiver
    fakebin "${sky[@]}" -tobs 6 -udp "$at" -rate 2 &
    local sender=$!
    for ((i = 0; i < 28; i++)); do # the first 4096 spectra, of 2 s, before the last ones come
        [ "$(stat -c %s net.fil)" -lt $((4096 * 256)) ] || break
        sleep 0.1
    done
    kill -0 $sender
    wait $sender
    end_receiver
    cat log
    cmp file.fil net.fil
    cmp <(grep -v '^#' file.fil.truth) <(grep -v '^#' truth)
    gpudedisp "${search[@]}" -o net net.fil
    awk '!/^#/ && $6 > 70 && $6 < 90 && $1 > 15 { n++ } END { exit !n }' net.cand
}

@test "lost datagrams are counted to the last, and give no events" {
    [ -r /proc/net/udp ] || skip "needs /proc/net/udp"
    receive "${search[@]:1}" -threshold 6 -o net "udp://$at?idle=5"
    fakebin "${sky[@]}" -v -tobs 6 -udp "$at" -rate 3 -loss 0.05 -reorder 64 2>sent
    end_receiver
    cat sent log
    lost=$(sed -n 's/.* datagrams, \([0-9]*\) of them.*/\1/p' sent)
    # On a busy machine some are given up as lost before they come.
    read -r missed late overflowed < <(sed -n \
        's/.* received, \([0-9]*\) lost, of which \([0-9]*\) came late, \([0-9]*\) found the kernel.*/\1 \2 \3/p' log | tail -n 1)
    [ "$lost" -gt 5 ]
    [ "$missed" -eq $((lost + overflowed + late)) ]
    [ "$(grep -vc '^#' net.cand)" -eq 0 ]
}

@test "names and options that cannot be are refused in one line" {
    refuses 1 "udp://127.0.0.1: must be udp://ADDRESS:PORT" gpudedisp -o x udp://127.0.0.1
    refuses 1 "localhost.*must be numeric" gpudedisp -o x udp://localhost:9999
    refuses 1 "from=here: must be a numeric address" gpudedisp -o x "udp://$at?from=here"
    refuses 1 "must be the only one" gpudedisp -o x "udp://$at" "udp://$at"
    refuses 2 "-udp excludes -o" fakebin -q -tobs 0.1 -udp "$at" -o x.fil
    refuses 2 "need -udp" fakebin -q -tobs 0.1 -loss 0.1 -o x.fil
    refuses 1 "ADDRESS:PORT" fakebin -q -tobs 0.1 -udp 127.0.0.1
    leaves_no 'x*'
}

@test "a receiver ends when it is told to" {
    [ -r /proc/net/udp ] || skip "needs /proc/net/udp"
    receive "${search[@]}" -o net "udp://$at"
    kill -TERM "$receiver"
    local code=0
    end_receiver || code=$?
    [ $code -eq 143 ]
    leaves_no 'net*'
}

@test "and when nothing comes" {
    [ -r /proc/net/udp ] || skip "needs /proc/net/udp"
    receive "${search[@]}" -o net "udp://$at?idle=0.5"
    fakebin "${sky[@]}" -tobs 100 -udp "$at" &
    local sender=$!
    sleep 1
    kill -KILL "$sender"
    end_receiver
    [ -e net.cand ]
}

@test "foreign packets are reported while nothing else comes" {
    [ -r /proc/net/udp ] || skip "needs /proc/net/udp"
    receive "${search[@]:1}" -o net "udp://$at"
    printf hello >"/dev/udp/${at%:*}/${at##*:}"
    for _ in {1..50}; do
        grep -q 'packets are no part of the stream so far, the last of 5 bytes from' log && break
        sleep 0.1
    done
    grep -q 'gpudedisp: udp://.*: 1 packets are no part of the stream so far, the last of 5 bytes from' log
}
