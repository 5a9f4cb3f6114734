#!/usr/bin/env bash
# gpudedisp -plan with four lines against runs of its lines: seconds, and the ratio to what the lines take with
# one read of the file, which should be at most 1.15.  Run from the build folder; needs 500 MB under TMPDIR.
#   bench_plan.sh [REPEATS]
# shellcheck source=tests/bench/bench.bash
source "$(dirname "${BASH_SOURCE[0]}")/bench.bash"

# DMs, steps, trials and downsampling as a survey has them.
plan='0 0.5 200 1
100 1 200 2
300 2 200 4
700 4 200 8'
printf '%s\n' "$plan" >"$dir/plan"

by_lines() {
    local lo step n ds
    while read -r lo step n ds; do
        gpudedisp "$@" -lodm "$lo" -dmstep "$step" -numdms "$n" -downsamp "$ds" "$dir/obs.fil"
    done <"$dir/plan"
}

# compare THREADS BITS: the three in turn, so that a machine that slows down does so for all.
compare() {
    local flags="-q -v -nowrite -nobary -noclip -ncpus $1"
    cat "$dir/obs.fil" >/dev/null
    for _ in $(seq "$repeats"); do
        seconds by_lines $flags >>"$dir/lines"
        seconds cat "$dir/obs.fil" >>"$dir/read"
        seconds gpudedisp $flags -plan "$dir/plan" "$dir/obs.fil" >>"$dir/whole"
    done
    awk -v bits="$2" -v k="$1" -v l="$(middle <"$dir/lines")" -v r="$(middle <"$dir/read")" \
        -v w="$(middle <"$dir/whole")" 'BEGIN {
        printf "%4d %7d %9.3f %9.3f %9.3f %9.3f\n", bits, k, l, r, w, w / (l - 3 * r) }'
    rm "$dir/lines" "$dir/read" "$dir/whole"
}

printf '%4s %7s %9s %9s %9s %9s\n' bits threads lines_s read_s plan_s ratio
for bits in 8 2; do
    fakebin -period 0 -nbits $bits -seed 1 -nchans 1024 -tsamp 128 -tobs 30 -fch1 1550 -foff -0.292968752 \
        -o "$dir/obs.fil"
    compare 1 $bits
    compare 2 $bits
done
