#!/usr/bin/env bash
# gpurfifind from file to files: seconds of whole runs on 1 and 2 threads, beside those of rfifind if it
# is in PATH, and beside a ceiling: reading the file and doing the same transforms.  Programs take
# turns.  Run from the build folder; needs 0.5 GB under TMPDIR.
#   bench_rfifind.sh [REPEATS]
# shellcheck source=tests/bench/bench.bash
source "$(dirname "${BASH_SOURCE[0]}")/bench.bash"

file=$dir/in.fil
fakebin -q -period 0 -nbits 8 -seed 1 -nchans 1024 -tsamp 128 -tobs 60 -fch1 1550 -foff -0.292968752 -o "$file"
header=$(($(stat -c %s "$file") % 1024))
for _ in $(seq "$repeats"); do
    for threads in 1 2; do
        transforms "$file" $header 1024 7200 $threads >>"$dir/ceiling.$threads"
        seconds gpurfifind -q -time 1 -ncpus $threads -o "$dir/a" "$file" >>"$dir/default.$threads"
        seconds gpurfifind -q -time 1 -ncpus $threads -compat presto -o "$dir/b" "$file" >>"$dir/compat.$threads"
        ! command -v rfifind >/dev/null ||
            seconds rfifind -time 1 -ncpus $threads -o "$dir/c" "$file" >>"$dir/rfifind.$threads"
    done
done

printf '%-10s %7s %9s %9s %9s\n' program threads seconds ceiling rfifind
for threads in 1 2; do
    ceiling=$(cut -d' ' -f1 "$dir/ceiling.$threads" | middle)
    for program in rfifind compat default; do
        [ -s "$dir/$program.$threads" ] || continue
        peer=$(middle <"$dir/rfifind.1" 2>/dev/null || echo 0)
        awk -v p=$program -v k=$threads -v t="$(middle <"$dir/$program.$threads")" -v c="$ceiling" -v r="$peer" 'BEGIN {
            printf "%-10s %7d %9.3f %9.2f %9.1f\n", p, k, t, c / t, r / t }'
    done
    awk -v k=$threads '{ if (NR == 1 || $1 < best) { best = $1; line = $0 } } END {
        split(line, x, " "); printf "# ceiling, %d threads: %.3f s; read %.3f, FFTW %.3f, own %.3f\n", k, x[1], x[2], x[3], x[4] }' "$dir/ceiling.$threads"
done
