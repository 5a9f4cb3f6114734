#!/usr/bin/env bash
# A live search that goes on for MINUTES (30): a sender at the sampling rate, a burst each 20 s.  Every burst must be found, at S/N 8
# or more and with its dump; memory at the end must be within 1 % of that after the first minute, descriptors as many, and nothing lost.
#   PATH=BUILD/bin:$PATH tests/bench/soak_live.sh [MINUTES]
set -euo pipefail
minutes=${1:-30}
seconds=$((minutes * 60))
folder=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-soak.XXXXXX")
search='' sender=''
finish() {
    [ -z "$sender" ] || kill "$sender" 2>/dev/null || true
    [ -z "$search" ] || kill "$search" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT
cd "$folder"
mkdir kept
port=$((20000 + RANDOM % 30000))
at=127.$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1)).1:$port

bursts=()
: >sent
for ((t = 10, k = 0; t < seconds - 5; t += 20, k++)); do
    dm=$((50 + 40 * (k % 6)))
    bursts+=(-add "burst dm=$dm t=$t width=4e-3 snr=20")
    echo "$t $dm" >>sent
done

gpudedisp -live -clean auto -ncpus 1 -lodm 0 -dmstep 10 -numdms 31 -maxwidth 0.05 -threshold 7 -ring 5 -dump kept -o found \
    "udp://$at?idle=5" 2>log &
search=$!
while ! grep -q "$(printf ':%04X ' "$port")" /proc/net/udp; do sleep 0.1; done
fakebin -q -seed 11 -ncpus 1 -nchans 1024 -nbits 8 -tsamp 500 -fch1 1500 -foff 0.25 -period 0 -tobs "$seconds" "${bursts[@]}" -udp "$at" &
sender=$!

resident_kb() { awk '/^VmRSS/ {print $2}' "/proc/$search/status"; }
descriptors() { find "/proc/$search/fd" -mindepth 1 | wc -l; }
sleep 60
first_kb=$(resident_kb) first_fd=$(descriptors)
sleep $((seconds - 60 - 3))
last_kb=$(resident_kb) last_fd=$(descriptors)
cpu_s=$(awk -v hz="$(getconf CLK_TCK)" '{print ($14 + $15) / hz}' "/proc/$search/stat")
wait "$sender"
sender=''
wait "$search"
search=''
cat log

# A line of what was found: seconds, DM, S/N.
sed 's/.*"mjd_top": 50000\([0-9.]*\),.*"dm": \([0-9.]*\), "snr": \([0-9.]*\),.*"dump": \(.*\)}/\1 \2 \3 \4/' found >list
awk -v kept="$(ls kept | tr '\n' ' ')" '
    NR == FNR {t[NR] = $1; dm[NR] = $2; n = NR; next}
    {s = $1 * 86400; name = $4; gsub("\"", "", name); hit = 0
     for (k = 1; k <= n; k++)
         if (s > t[k] - 0.1 && s < t[k] + 0.1 && $2 > dm[k] - 25 && $2 < dm[k] + 25) {
             hit = 1
             if ($3 > snr[k]) snr[k] = $3
             if (index(kept, name)) dump[k] = 1
         }
     other += !hit}
    END {for (k = 1; k <= n; k++) {found += snr[k] > 8; dumps += dump[k]; least = k == 1 || snr[k] < least ? snr[k] : least}
         printf "%d of %d bursts found, S/N %.1f at least, %d with a dump; %d other pulses\n", found, n, least, dumps, other
         exit !(found == n && dumps == n)}' sent list
echo "memory: $first_kb kB after a minute, $last_kb kB at the end; descriptors: $first_fd and $last_fd; the search took $cpu_s s of a processor"
awk -v a="$first_kb" -v b="$last_kb" 'BEGIN {exit !(b < 1.01 * a && b > 0.99 * a)}'
[ "$first_fd" -eq "$last_fd" ]
grep -q ' packets received, 0 lost,' log
echo "soak of $minutes min: passed"
