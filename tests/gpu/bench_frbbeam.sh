#!/usr/bin/env bash
# frbbeam from a file in memory to files in memory: CHORD's 512 dishes and 256 channels, to 5760 beams anywhere,
# to the 2304 of the grid, to one.  The whole command's seconds, its start and its end included, and where they went.
# Run from the build folder; needs 30 GB of free space under TMPDIR, which should be memory (13 GB a second of voltages).
#   bench_frbbeam.sh [SECONDS...]   of voltages, the longest first; default 2.3
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=${builddir:-$PWD}/bin:$PATH
array=$here/../../data/arrays/chord.array
lengths=("${@:-2.3}")
export TMPDIR=${TMPDIR:-/dev/shm}
dir=$(mktemp -d "$TMPDIR/psrkit-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

free=$(df --output=avail -B 1000000000 "$dir" | tail -n 1)
if [ "$free" -lt "$(awk "BEGIN { print int(13 * ${lengths[0]}) }")" ]; then
    echo "SKIP: $free GB are free under $TMPDIR"
    exit 0
fi
voltages() { # SECONDS FILE
    fakebin -q -seed 1 -array "$array" -nchans 256 -fch1 603.113 -foff 0.024414 -tsamp 27.306 -tobs "$1" -o "$2"
}
voltages 0.01 "$dir/small.dada"
if ! why=$(frbbeam -q -device cuda -array "$array" -grid -beam 0 -o "$dir/s" "$dir/small.dada" 2>&1); then
    echo "SKIP: $why"
    exit 0
fi
voltages "${lengths[0]}" "$dir/v.dada"
awk 'BEGIN { srand(1); for (i = 0; i < 5760; i++) print "theta", 18 * rand() - 9, 18 * rand() - 9, "at 600" }' >"$dir/anywhere"

# beams WHAT OPTION...: three runs.
beams() {
    echo "$1"
    shift
    for _ in 1 2 3; do
        mkdir "$dir/out"
        local began=${EPOCHREALTIME/./}
        frbbeam -q -v -device cuda -array "$array" "$@" -o "$dir/out/x" "$dir/v.dada" 2>&1 |
            grep 'samples in' | sed 's/^frbbeam: .*;/   /'
        local took=$((${EPOCHREALTIME/./} - began))
        awk "BEGIN { printf \"    %.3f s in all, %.2f x real time, %.1f GB/s\n\", 1e-6 * $took, $seconds / 1e-6 / $took,
            $(stat -c %s "$dir/v.dada") * 1e-3 / $took }"
        rm -r "$dir/out"
    done
}

for seconds in "${lengths[@]}"; do
    truncate -s "$(awk "BEGIN { print 4096 + int($seconds / 27.306e-6) * 2 * 256 * 512 }")" "$dir/v.dada"
    beams "$seconds s to 5760 beams anywhere" -beams "$dir/anywhere"
    beams "$seconds s to 2304 beams of the grid" -grid
    beams "$seconds s to one beam" -beams "$dir/anywhere" -beam 5
done
