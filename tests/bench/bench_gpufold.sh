#!/usr/bin/env bash
# Folding 100 candidates in one pass: wall-clock and processor seconds of whole runs of gpufold with two threads, without search, with
# prepfold's search over DM, period and p-dot, and with pictures, beside prepfold_multi if it is in PATH, of 10 and 2 of them, as it takes
# minutes.  Candidates have periods of 5 to 500 ms and DMs of 10 to 1000; every second one is a pulsar in the data.
# Run from the build folder; needs 1.5 GB under TMPDIR.
#   bench_gpufold.sh [REPEATS]
# shellcheck source=tests/bench/bench.bash
source "$(dirname "${BASH_SOURCE[0]}")/bench.bash"
TIMEFORMAT='%R %U %S'

# both_seconds COMMAND...: wall-clock, and user and system time.
both_seconds() { { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.2f %.2f\n", $1, $2 + $3 }'; }

# Multiples of the golden ratio: spread evenly, in no order.
awk 'BEGIN {
    print "# name DM p"
    for (i = 0; i < 100; i++)
        printf "c%02d %.6g %.12g\n", i, 10 + 990 * ((i + 0.5) * 0.6180339887498949 % 1), 0.005 * exp(log(100) * ((i + 0.5) * 0.3819660112501051 * 0.97 % 1))
}' >"$dir/list"
awk '$1 !~ /#/ && NR % 2 { printf "pulsar period=%s dm=%s width=%.9f snr=20\n", $3, $2, 0.05 * $3 }' "$dir/list" >"$dir/pulsars"
fakebin -q -period 0 -nbits 8 -seed 1 -nchans 1024 -tsamp 64 -tobs 60 -fch1 1550 -foff -0.292968752 -addfile "$dir/pulsars" -o "$dir/in.fil"

# run NAME PROGRAM CANDIDATES OPTIONS...: one line of its times.
run() {
    local name=$1 program=$2 n=$3
    shift 3
    mkdir "$dir/out"
    head -n $((n + 1)) "$dir/list" >"$dir/some"
    (cd "$dir/out" && both_seconds "$program" -ncpus 2 -topo -n 64 -candfile "$dir/some" -o t "$@" "$dir/in.fil") >>"$dir/times.$name"
    [ "$(find "$dir/out" -name '*.pfd' | wc -l)" -eq "$n" ] || echo "$name: not $n folds" >&2
    rm -r "$dir/out"
}

works=(gpufold-100 gpufold-100-search gpufold-100-plots gpufold-10 gpufold-2-search prepfold_multi-10 prepfold_multi-2-search)
for _ in $(seq "$repeats"); do
    run gpufold-100 gpufold 100 -q -noplot -nosearch
    run gpufold-100-plots gpufold 100 -q -nosearch
    run gpufold-100-search gpufold 100 -q -noplot
    run gpufold-10 gpufold 10 -q -nosearch
    run gpufold-2-search gpufold 2 -q
    ! command -v prepfold_multi >/dev/null || run prepfold_multi-10 prepfold_multi 10 -noxwin -nosearch
    ! command -v prepfold_multi >/dev/null || run prepfold_multi-2-search prepfold_multi 2 -noxwin
done
printf '%-24s %8s %8s\n' work wall_s cpu_s
for work in "${works[@]}"; do
    [ -s "$dir/times.$work" ] || continue
    printf '%-24s %8s %8s\n' "$work" "$(cut -d' ' -f1 "$dir/times.$work" | middle)" "$(cut -d' ' -f2 "$dir/times.$work" | middle)"
done
