#!/usr/bin/env bash
# frbbeam from a file in memory to files in memory: CHORD's 512 dishes and 256 channels, to 5760 beams anywhere,
# to the 2304 of the grid, to one.  The whole command's seconds, its start and its end included, and where they went.
# Run from the build folder; needs 30 GB of free space under TMPDIR, which should be memory.
#   bench_frbbeam.sh [SECONDS]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=${builddir:-$PWD}/tools:$PATH
array=$here/../../data/arrays/chord.array
seconds=${1:-2.3}
export TMPDIR=${TMPDIR:-/dev/shm}
dir=$(mktemp -d "$TMPDIR/psrkit-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

free=$(df --output=avail -B 1000000000 "$dir" | tail -n 1)
if [ "$free" -lt "$(awk "BEGIN { print int(13 * $seconds) }")" ]; then
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
voltages "$seconds" "$dir/v.dada"
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

beams '5760 beams anywhere' -beams "$dir/anywhere"
beams '2304 beams of the grid' -grid
beams 'one beam' -beams "$dir/anywhere" -beam 5
