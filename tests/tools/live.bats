#!/usr/bin/env bats
# gpudedisp -live: pulses of an endless input, told as they come; and the same list of files, -json.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    sky=(-q -seed 11 -nchans 128 -nbits 8 -tsamp 500 -fch1 1500 -foff 2 -period 0)
    bursts=(-add "burst dm=80 t=2.0 width=4e-3 snr=25" -add "burst dm=150 t=4.0 width=2e-3 snr=20"
        -add "burst dm=40 t=6.0 width=3e-3 snr=30")
    search=(-lodm 0 -dmstep 10 -numdms 21 -maxwidth 0.02 -threshold 7)
}

# field NAME FILE: its values, a line each.
field() {
    sed -n "s/.*\"$1\": \([^,}]*\)[,}].*/\1/p" "$2"
}

# While the input goes on, within the bound.
told_soon() {
    choose_address
    gpudedisp -live "${search[@]}" -o pulses "udp://$at?idle=5" 2>log &
    await_receiver
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 9 -udp "$at" &
    sleep 5
    [ "$(grep -c . pulses)" -ge 1 ]
    wait
    cat pulses log
    [ "$(field dm pulses | paste -sd ' ')" = "80 150 40" ]
    # 0.1 s, 256 samples and the sweeps of a few trials are 0.29 s; a busy machine may take as long again.
    [ "$(field latency_s pulses | awk '!($1 < 0.75)' | wc -l)" -eq 0 ]
    grep -q ' spectra, 9.0 s: 3 pulses, 0 of them marked; latency 0\.[0-9]* s, 0\.[0-9]* s at most (bound: 0\.[0-9]* s and what the machine takes); peak [0-9]* MB' log
}

no_wait_for_higher_dms() {
    choose_address
    # DM 4000 sweeps over 3.4 s.
    gpudedisp -live -lodm 0 -dmstep 20 -numdms 201 -maxwidth 0.02 -threshold 7 -o pulses "udp://$at?idle=5" 2>log &
    await_receiver
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 9 -udp "$at"
    wait
    cat pulses log
    [ "$(field dm pulses | paste -sd ' ')" = "80 160 40" ] || [ "$(field dm pulses | paste -sd ' ')" = "80 140 40" ]
    [ "$(field latency_s pulses | awk '!($1 < 1)' | wc -l)" -eq 0 ]
    awk '/bound: / {sub(".*bound: ", ""); exit !($1 < 0.5)}' log
}

dumps_from_network() {
    choose_address
    mkdir kept
    gpudedisp -live "${search[@]}" -ring 3 -dump kept -o pulses "udp://$at?idle=5" 2>log &
    await_receiver
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 5 -udp "$at"
    wait
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 5 -o a.fil
    cat pulses log
    [ "$(ls kept | wc -l)" -eq 2 ]
    for dump in kept/*; do
        same_spectra "$dump" a.fil 128
    done
}

@test "pulses are told while the input goes on, none waits for the sweep of higher DMs, and what comes over a network is dumped" {
    [ -r /proc/net/udp ] || skip "needs /proc/net/udp"
    side_by_side told_soon no_wait_for_higher_dms dumps_from_network
}

@test "the bound counts the sweep of each trial's neighbours, where DMs are not even" {
    fakebin "${sky[@]}" -tobs 2 -o a.fil
    # DM 1000 sweeps over 0.83 s, DM 70 to 90 over 0.06 s and 0.07 s; all others and their neighbours are close.
    printf '%s\n' 0 10 20 30 40 50 60 70 80 90 1000 >dms
    gpudedisp -live -dms dms -maxwidth 0.02 -threshold 7 a.fil 2>log
    cat log
    awk '/bound: / {sub(".*bound: ", ""); exit !($1 > 0.8 && $1 < 1.2)}' log
}

# cpu_s COMMAND...: its processor time.
cpu_s() {
    (TIMEFORMAT='%U %S'; { time "$@" >out 2>&1; } 2>&1) | awk '{ print $1 + $2 }'
}

@test "an endless input takes no more than twice the processor time of a file" {
    fakebin "${sky[@]}" -nchans 256 -tsamp 128 -foff 1 -tobs 12 -o a.fil
    search=(-nobary -ncpus 2 -dmstep 1 -numdms 200 -maxwidth 0.05 -q)
    file=$(cpu_s gpudedisp "${search[@]}" -singlepulse -nowrite -o f a.fil)
    live=$(cpu_s gpudedisp "${search[@]}" -live a.fil)
    awk -v live="$live" -v file="$file" 'BEGIN { print live, file; exit !(live <= 2 * file) }'
}

@test "-block is what a pulse waits at most, or cannot be" {
    fakebin "${sky[@]}" -tobs 2 -o a.fil
    gpudedisp -live "${search[@]}" -block 0.4 a.fil 2>log
    cat log
    awk '/bound: / {sub(".*bound: ", ""); exit !($1 > 0.3 && $1 < 0.45)}' log
    refuses 1 '-block 0.1 s: pulses are told after .*must be at least 0.1' gpudedisp -live "${search[@]}" -block 0.1 a.fil
    refuses 1 '-block 1 s: pulses are told after blocks of .*must be at least' gpudedisp -live "${search[@]}" -clean auto -block 1 a.fil
}

@test "a live search has the dates and strengths of a file's" {
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 8 -o a.fil
    gpudedisp -q -live "${search[@]}" - <a.fil >live
    gpudedisp -q -singlepulse -json -nowrite -nobary "${search[@]}" -o file a.fil
    sort -t'"' -k3,3 file.pulses.jsonl >file
    [ "$(grep -c . live)" -eq 3 ]
    [ "$(grep -c . file)" -eq 3 ]
    paste -d' ' <(field snr live) <(field snr file) | awk '!($1 > 0.9 * $2 && $1 < 1.1 * $2)' >off
    cat off
    [ ! -s off ]
    paste -d' ' <(field mjd_inf live | cut -c7-) <(field mjd_inf file | cut -c7-) |
        awk '{d = ($1 - $2) * 1e-12 * 86400; if (d * d > 1e-6) print}' >off
    [ ! -s off ]
}

@test "dates: at infinite frequency and at the top of the band" {
    fakebin "${sky[@]}" -tstart 58000.25 -add "burst dm=100 t=3 width=2e-3 snr=40" -tobs 5 -o a.fil
    gpudedisp -q -live -lodm 100 -numdms 1 -o - a.fil >line
    # 3 s is 0.0000347222 days; the delay of DM 100 at 1500 MHz is 0.18442 s.
    field mjd_top line | awk '{d = (($1 - 58000.25) * 86400 - 3); exit !(d < 2e-3 && d > -2e-3)}'
    paste -d' ' <(field mjd_top line) <(field mjd_inf line) |
        awk '{d = ($1 - $2) * 86400 - 0.18442; exit !(d < 1e-4 && d > -1e-4)}'
    [ "$(field frame line)" = '"topocentric"' ]
    [ "$(field scale line)" = '"UTC"' ]
    [ "$(field low_mhz line)" = 1245 ]
    [ "$(field high_mhz line)" = 1501 ]
}

@test "SIGTERM ends the input: what was found is told, and the exit is clean" {
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 3 -o a.fil
    mkfifo pipe
    gpudedisp -live "${search[@]}" -block 0.2 -o pulses - <pipe 2>log &
    exec 7>pipe
    cat a.fil >&7
    for ((i = 0; i < 100; i++)); do
        [ ! -s pulses ] || break
        sleep 0.1
    done
    [ "$(field dm pulses)" = 80 ]
    kill -TERM $!
    wait $!
    exec 7>&-
    grep -q '1 pulses' log
}

@test "SIGHUP opens the file anew" {
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 8 -o a.fil
    mkfifo pipe
    gpudedisp -live "${search[@]}" -block 0.2 -o pulses - <pipe 2>log &
    exec 7>pipe
    head -c 1200000 a.fil >&7
    for ((i = 0; i < 100; i++)); do
        [ "$(grep -c . pulses 2>/dev/null)" != 2 ] || break
        sleep 0.1
    done
    mv pulses old
    kill -HUP $!
    sleep 0.2
    tail -c +1200001 a.fil >&7
    exec 7>&-
    wait $!
    [ "$(field dm old | paste -sd ' ')" = "80 150" ]
    [ "$(field dm pulses)" = 40 ]
}

# await FILE: until it is there and not empty, or is a socket.
await() {
    local i
    for ((i = 0; i < 100; i++)); do
        [ ! -s "$1" ] && [ ! -S "$1" ] || return 0
        sleep 0.05
    done
    return 1
}

@test "pulses are told to sockets" {
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 8 -o a.fil
    "$builddir/tests/support/listen_lines" unix s 1 >unix &
    "$builddir/tests/support/listen_lines" tcp port 1 >tcp &
    await s
    await port
    gpudedisp -q -live "${search[@]}" -o unix:s a.fil
    gpudedisp -q -live "${search[@]}" -o "tcp://127.0.0.1:$(cat port)" a.fil
    wait
    [ "$(field dm unix | paste -sd ' ')" = "80 150 40" ]
    [ "$(field dm tcp | paste -sd ' ')" = "80 150 40" ]
}

@test "a listener that goes is missed, and found again" {
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 8 -o a.fil
    mkfifo pipe
    "$builddir/tests/support/listen_lines" unix s 1 >first &
    first=$!
    await s
    gpudedisp -live "${search[@]}" -block 0.2 -o unix:s - <pipe 2>log &
    exec 7>pipe
    head -c 700000 a.fil >&7
    await first
    kill $first
    rm s
    head -c 1150000 a.fil | tail -c +700001 >&7
    sleep 1.5
    "$builddir/tests/support/listen_lines" unix s 1 >second 7>&- &
    await s
    tail -c +1150001 a.fil >&7
    exec 7>&-
    wait
    cat log
    [ "$(field dm first)" = 80 ]
    [ "$(field dm second)" = 40 ]
    grep -q 'unix:s: 1 pulses were told to nobody' log
}

@test "automatic cleaning works live, with the marks of a file's search" {
    fakebin "${sky[@]}" "${bursts[@]}" -rfi "tone freq=1400 level=4" -tobs 8 -o a.fil
    gpudedisp -q -live -clean auto "${search[@]}" -o pulses a.fil
    gpudedisp -q -singlepulse -json -clean auto -nowrite -nobary "${search[@]}" -o file a.fil
    cat pulses file.pulses.jsonl
    [ "$(grep '"marks": \[\]' pulses | field dm /dev/stdin | sort -n | paste -sd ' ')" = \
        "$(grep '"marks": \[\]' file.pulses.jsonl | field dm /dev/stdin | sort -n | paste -sd ' ')" ]
}

@test "lines of a plan, and scrunched trials, are one search" {
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 8 -o a.fil
    gpudedisp -q -live -scrunch 0.5 "${search[@]}" a.fil >pulses
    [ "$(field dm pulses | paste -sd ' ')" = "80 150 40" ]
}

# What series are made from is kept in 34 MB, which fill up first.
@test "memory stays" {
    need_long
    fakebin "${sky[@]}" -tobs 1 -o head.fil
    fakebin "${sky[@]}" -add "burst dm=80 t=2.0 width=4e-3 snr=25" -tobs 24 -headerless -o a.raw
    (cat head.fil; for ((i = 0; i < 7; i++)); do cat a.raw; done) | gpudedisp -live "${search[@]}" - >short 2>log.short
    (cat head.fil; for ((i = 0; i < 14; i++)); do cat a.raw; done) | gpudedisp -live "${search[@]}" - >long 2>log.long
    cat log.short log.long
    [ "$(grep -c '"dm": 80,' long)" -eq 14 ]
    ldd "$builddir/bin/gpudedisp" | grep -q san && skip "sanitizers take memory of their own"
    short=$(sed -n 's/.*peak \([0-9]*\) MB/\1/p' log.short)
    long=$(sed -n 's/.*peak \([0-9]*\) MB/\1/p' log.long)
    [ "$long" -le $((short + 1)) ]
}

# value KEY FILE: a double of a filterbank's header.
value() {
    od -An -tf8 -j$(($(grep -obUam1 "$1" "$2" | head -n 1 | cut -d: -f1) + ${#1})) -N8 "$2" | tr -d ' '
}

# payload FILE: its spectra.
payload() {
    tail -c +$(($(grep -obUa HEADER_END "$1" | head -n 1 | cut -d: -f1) + 11)) "$1"
}

# same_spectra DUMP FILE BYTES: the dump has spectra of the file, of so many bytes each, that begin when it says.
same_spectra() {
    local first
    first=$(awk -v a="$(value tstart "$1")" -v b="$(value tstart "$2")" -v dt="$(value tsamp "$2")" \
        'BEGIN {printf "%.0f", (a - b) * 86400 / dt}')
    cmp <(payload "$1") <(payload "$2" | tail -c +$((first * $3 + 1)) | head -c "$(payload "$1" | wc -c)")
}

@test "the input around each pulse is kept, byte for byte" {
    mkdir kept
    fakebin "${sky[@]}" -tstart 58000.25 "${bursts[@]}" -tobs 9 -o a.fil
    gpudedisp -live "${search[@]}" -ring 2 -dump kept a.fil >pulses 2>log
    cat pulses log
    grep -q 'spectra around 3 pulses kept in 3 files$' log
    [ "$(field dump pulses | tr -d '"' | sort)" = "$(ls kept)" ]
    [ "$(ls kept | sed 's/.*_//' | paste -sd ' ')" = "DM80.00.fil DM150.00.fil DM40.00.fil" ]
    for dump in kept/*; do
        same_spectra "$dump" a.fil 128
        gpudedisp -q -live "${search[@]}" "$dump" >again
        gpudedisp -q -singlepulse -json -nowrite -nobary "${search[@]}" -o again "$dump"
        dm=${dump##*_DM}
        # The search that sees all, at the date of the first.
        [ "$(field dm again.pulses.jsonl)" = "${dm%.00.fil}" ]
        paste -d' ' <(field mjd_top again.pulses.jsonl) <(grep -F "${dump#kept/}" pulses | field mjd_top /dev/stdin) |
            awk '{d = ($1 - $2) * 86400; exit !(d * d < 1e-6)}'
    done
    # Half a second before the pulse and after it, and twice its width; its delay is 0.0663 s.
    dump=kept/$(sed -n 's/.*"dm": 80,.*"dump": "\([^"]*\)".*/\1/p' pulses)
    awk -v n="$(payload "$dump" | wc -c)" 'BEGIN {s = n / 128 * 5e-4; exit !(s > 1.08 && s < 1.1)}'
}

@test "dumps of samples of any size" {
    mkdir kept
    for bits in 1 2 4 16 32; do
        fakebin "${sky[@]}" -nbits $bits -foff -2 -add "burst dm=80 t=2.0 width=4e-3 snr=40" -tobs 4 -o a.fil
        gpudedisp -q -live "${search[@]}" -ring 2 -dump kept a.fil >pulses
        dump=kept/$(field dump pulses | tr -d '"')
        same_spectra "$dump" a.fil $((128 * bits / 8))
        rm "$dump"
    done
}

@test "dumps that cannot be kept are counted, and the search goes on" {
    mkdir kept
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 9 -o a.fil
    gpudedisp -live "${search[@]}" -ring 0.5 -dump kept a.fil >pulses 2>log
    cat pulses log
    grep -q -e '-ring 0.5: sweep of DM 200 is 0.166 s, .*; -ring 1 keeps all' log
    grep -q 'spectra around 0 pulses kept in 0 files; 3 pulses began before what the ring held' log
    [ "$(grep -c '"dump": null}' pulses)" -eq 3 ]
    (ulimit -f 16; gpudedisp -live "${search[@]}" -ring 2 -dump kept a.fil) >pulses 2>log
    cat pulses log
    [ "$(grep -c 'File too large: not kept, and the search goes on' log)" -eq 1 ]
    grep -q 'kept in 0 files; 3 files could not be written' log
    [ "$(grep -c . pulses)" -eq 3 ]
    leaves_no '*.fil?*'
    [ -z "$(ls kept)" ]
}

# The voltages of two bursts in 2 MHz, sent, channelised and searched: chain ARGS..., where ARGS are the sender's.
chain() {
    choose_address
    gpudigifil -freq 200 -F 64 -t 16 -b 8 -I 1 -o - "udp://$at?idle=1" 2>log.digifil |
        gpudedisp -live -lodm 0 -dmstep 5 -numdms 21 -maxwidth 0.02 -threshold 7 -o pulses - 2>log &
    await_receiver
    fakebin -q -v -seed 4 -vdif -fch1 200 -foff 2 -nchans 1 -nifs 2 -nbits 8 -tobs 5 -udp "$at" "$@" \
        -add "burst dm=30 t=2 width=4e-3 snr=50" -add "burst dm=70 t=3.5 width=4e-3 snr=50" 2>sent
    wait
    cat sent log.digifil log pulses
    [ "$(field dm pulses | paste -sd ' ')" = "30 70" ]
    # 2 s and 3.5 s at the top of the band, in days, to a sample
    field mjd_top pulses | awk '{d = ($1 - 60000) * 86400 - (NR == 1 ? 2 : 3.5); if (d > 2e-3 || d < -2e-3) exit 1}'
}

chain_finds() {
    chain
    fails grep 'are lost' log.digifil
}

# Lost, late and repeated frames are counted and make no pulses.
chain_counts() {
    chain -loss 0.05 -twice 0.05 -reorder 64
    lost=$(sed -n 's/.* frames, \([0-9]*\) of them.*/\1/p' sent)
    [ "$lost" -gt 5 ]
    overflowed=$(sed -n 's/.* received; \([0-9]*\) datagrams found the kernel.*/\1/p' log.digifil | tail -n 1)
    missing=$(sed -n 's/.* frames read, \([0-9]*\) missing.*/\1/p' log.digifil | tail -n 1)
    [ "$missing" -eq $((lost + overflowed)) ]
}

says_how_late() {
    choose_address
    voltages=(-q -vdif -fch1 610 -foff 2 -nchans 1 -nifs 1 -nbits 8)
    gpudigifil -freq 610 -F 64 -t 16 -b 8 -I 0.5 -o a.fil "udp://$at?idle=1" 2>log &
    await_receiver
    fakebin "${voltages[@]}" -tobs 3 -udp "$at"
    wait
    cat log
    # A block of 0.05 s, and twice 128 frames of 2 ms, and one: a busy machine may take ten times as long.
    read -r n mean worst bound < <(sed -n \
        's/.*: \([0-9]*\) spectra were written \(.*\) s after their last voltages came, \(.*\) s at most (bound: \([0-9.]*\) s, a block.*/\1 \2 \3 \4/p' log)
    echo "$n $mean $worst $bound" | awk '!($1 > 2000 && $1 <= 5859 && $2 > 0 && $3 >= $2 && $3 < 10 * $4 && $4 > 0.55 && $4 < 0.58) { exit 1 }'
    fakebin "${voltages[@]}" -tobs 0.3 -o a.vdif
    gpudigifil -v -freq 610 -F 64 -t 16 -b 8 -I 0.1 -o b.fil a.vdif 2>log
    fails grep 'spectra were written' log
    gpudigifil -q -freq 610 -F 64 -t 16 -b 8 -I 0.1 -o c.fil - <a.vdif 2>log
    [ ! -s log ]
    cmp b.fil c.fil
}

@test "voltages from the network: bursts have their DMs and times, what is lost is counted, and how late spectra were is said" {
    [ -r /proc/net/udp ] || skip "needs /proc/net/udp"
    side_by_side chain_finds chain_counts says_how_late
}

@test "SIGTERM ends the wait for a sender that is silent, before and after it began" {
    [ -r /proc/net/udp ] || skip "needs /proc/net/udp"
    mkfifo pipe
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 3 -o a.fil
    gpudedisp -live "${search[@]}" -o pulses pipe 2>log &
    receiver=$!
    exec 7>pipe
    head -c 30 a.fil >&7
    sleep 0.3
    ends_soon $receiver 1
    # 5990 of the spectra fill no block.
    gpudedisp -live "${search[@]}" -o pulses pipe 2>log &
    receiver=$!
    exec 7>pipe
    head -c $((5990 * 128 + 250)) a.fil >&7
    sleep 0.5
    ends_soon $receiver 1
    exec 7>&-
    grep -q ' 599[0-9] spectra, ' log
    [ "$(field dm pulses)" = 80 ]
    choose_address
    gpudedisp -live "${search[@]}" -o pulses "udp://$at" 2>log &
    receiver=$!
    await_receiver
    ends_soon $receiver 1
    rm pulses
    gpudedisp -live "${search[@]}" -o pulses "udp://$at" 2>log &
    receiver=$!
    await_receiver
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 60 -udp "$at" -rate 10 &
    sender=$!
    sleep 0.6
    kill -KILL $sender
    wait $sender || true
    sleep 0.3
    ends_soon $receiver 1
    cat log
    [ "$(field dm pulses | head -n 1)" = 80 ]
}

# All that a pipe gives at once is too much for any machine.
@test "a slow search of a pipe drops whole blocks, which are counted and give nothing" {
    fakebin "${sky[@]}" "${bursts[@]}" -tobs 40 -o a.fil
    gpudedisp -live "${search[@]}" -o all - <a.fil
    gpudedisp -live -threshold 6 "${search[@]}" -drop 0.5 -o pulses - <a.fil 2>log
    cat pulses log
    grep -q 'gpudedisp: 80000 spectra, 40.0 s: ' log
    dropped=$(sed -n 's/.*standard input: too much for this machine: \([0-9]*\) spectra, .* s in [0-9]* blocks, were dropped unread.*/\1/p' log)
    [ "$(tail -n 1 <<<"$dropped")" -gt 1000 ]
    # None but what a file's search finds, too.
    for date in $(field mjd_top pulses); do
        cut -c1-200 all | grep -q "${date:0:12}"
    done
    gpudedisp -live "${search[@]}" -drop 50 -o some - <a.fil 2>log
    cmp <(sed 's/, "latency.*//' all) <(sed 's/, "latency.*//' some)
    [ "$(grep -c dropped log)" -eq 0 ]
}

@test "what does not go with it is refused" {
    refuses 2 '-drop belongs to -live' gpudedisp -drop 5 -o x "$g8"
    refuses 2 '-ring and -dump belong to -live' gpudedisp -ring 5 -dump . -o x "$g8"
    refuses 2 '-ring and -dump need each other' gpudedisp -live -ring 5 "$g8"
    refuses 2 '-ring and -dump need each other' gpudedisp -live -dump . "$g8"
    refuses 1 'two blocks of 0[.0-9]* s or more' gpudedisp -live -ring 0.1 -dump . "$g8"
    refuses 1 '-dump nowhere: No such file' gpudedisp -live -ring 5 -dump nowhere "$g8"
    refuses 1 '-ring 10000 s: takes .* at most 1 MiB' gpudedisp -live -ring 10000 -dump . -mem 1M "$g8"
    refuses 2 '-live tells of pulses.*-singlepulse' gpudedisp -live -singlepulse "$g8"
    refuses 2 '-live tells of pulses.*-resume' gpudedisp -live -resume "$g8"
    refuses 2 '-block belongs to -live' gpudedisp -block 1 -o x "$g8"
    refuses 2 '-json.*needs -singlepulse' gpudedisp -json -o x "$g8"
    refuses 2 '-csv writes ROOT.pulses.csv: -o - names no file' gpudedisp -singlepulse -nowrite -csv -o - "$g8"
    refuses 2 '-json writes ROOT.pulses.jsonl: -o - names no file' gpudedisp -singlepulse -nowrite -json -o - "$g8"
    refuses 1 'unix:nothing: No such file' gpudedisp -live -o unix:nothing "$g8"
    refuses 1 'is not tcp://HOST:PORT' gpudedisp -live -o tcp://1.2.3.4 "$g8"
    refuses 1 'tcp://127.0.0.1:1: Connection refused' gpudedisp -live -o tcp://127.0.0.1:1 "$g8"
    refuses 1 'must have 1 to 107' gpudedisp -live -o "unix:$(printf '%0200d' 1)" "$g8"
    refuses 1 'nowhere/pulses' gpudedisp -live -o nowhere/pulses "$g8"
    cp "$g8" in.fil
    refuses 1 'in.fil' gpudedisp -live -o in.fil in.fil
    cmp "$g8" in.fil
}
