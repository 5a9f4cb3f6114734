#!/usr/bin/env bash
# Voltages over the loopback interface to spectra: 8-bit complex VDIF frames at RATE GB/s of payload for SECONDS, to 1024 channels, sums of
# 16 and 8 bits; what is lost.  Before it, ceilings: the same packets only taken; the same frames from memory, all and half
# of them.  Run from the
# build folder; needs a second of frames under TMPDIR, which is memory where it can be.
#   bench_udp.sh [RATE [SECONDS]]
[ -n "${TMPDIR-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
rate=${1:-0.5} length=${2:-60}
set --
# shellcheck source=tests/bench/bench.bash
source "$(dirname "${BASH_SOURCE[0]}")/bench.bash"
port=$((20000 + RANDOM % 10000))
digifil=(gpudigifil -v -freq 1400 -F 1024 -t 16 -b 8 -I 1 -o -)

echo "rmem_max $(cat /proc/sys/net/core/rmem_max) bytes, $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
vdif_flood receive $port &
sleep 0.3
vdif_flood send $port 100 0.3 >/dev/null # 100: as fast as they leave
wait

for lost in 0 0.5; do
    vdif_flood write "$dir/frames" "$rate" 1 $lost >/dev/null
    for threads in 1 2; do
        echo "from memory, $lost lost, $threads threads:"
        "${digifil[@]}" -q -ncpus $threads "$dir/frames" 2>&1 >/dev/null | tail -n 1
    done
    rm "$dir/frames"
done

echo "at $rate GB/s for $length s:"
"${digifil[@]}" -q "udp://127.0.0.1:$port?idle=1&room=512M" >/dev/null 2>"$dir/spectra" &
sleep 0.5
vdif_flood send $port "$rate" "$length"
wait
tail -n 1 "$dir/spectra"
