#!/usr/bin/env bash
# gpudedisp from file to files: seconds of whole runs, on 1 and 2 threads, beside what reading the input and
# writing the output alone take.  Run from the build folder; needs 2.5 GB under TMPDIR.
#   bench_gpudedisp.sh [REPEATS]
# shellcheck source=tests/bench/bench.bash
source "$(dirname "${BASH_SOURCE[0]}")/bench.bash"

# median COMMAND...: of $repeats runs, after one that warms up.
median() {
    seconds "$@" >/dev/null
    for _ in $(seq "$repeats"); do seconds "$@"; done | middle
}

write_alone() { head -c "$1" /dev/zero >"$dir/zeros"; }

printf '%-4s %7s %9s %9s %9s %9s %9s\n' work threads seconds read_s write_s ratio MB_peak

# bench NAME OUTPUT_BYTES "FAKEBIN OPTIONS" "GPUDEDISP OPTIONS"
bench() {
    local name=$1 bytes=$2 read_s write_s run_s peak threads
    fakebin -period 0 -nbits 8 -seed 1 $3 -o "$dir/$name.fil"
    read_s=$(median cat "$dir/$name.fil")
    write_s=$(median write_alone "$bytes")
    for threads in 1 2; do
        run_s=$(median gpudedisp -q -nobary -noclip -ncpus $threads $4 -o "$dir/$name" "$dir/$name.fil")
        peak=$(gpudedisp -q -v -nobary -noclip -ncpus $threads $4 -o "$dir/$name" "$dir/$name.fil" 2>&1 |
            sed -n 's/.*peak \([0-9]*\) MB.*/\1/p')
        awk -v n="$name" -v k=$threads -v t="$run_s" -v r="$read_s" -v w="$write_s" -v p="$peak" 'BEGIN {
            printf "%-4s %7d %9.3f %9.3f %9.3f %9.2f %9s\n", n, k, t, r, w, t / (r + w), p }'
    done
    rm -f "$dir/$name"* "$dir/zeros"
}

bench W1 376320000 "-nchans 1024 -tsamp 128 -tobs 60 -fch1 1550 -foff -0.292968752" \
    "-lodm 150 -dmstep 0.5 -numdms 200"
bench W2 1881600000 "-nchans 256 -tsamp 128 -tobs 600 -fch1 1550 -foff -1.171875" \
    "-lodm 150 -dmstep 1 -numdms 100"
bench W3 1 "-nchans 4096 -tsamp 64 -tobs 10 -fch1 1549.963 -foff -0.0732421875" \
    "-lodm 0 -dmstep 0.2442 -numdms 4096 -nowrite -v"
