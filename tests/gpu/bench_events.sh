#!/usr/bin/env bash
# gpudedisp from a file in the page cache to events, on every GPU set that is there: what the run takes once
# plans and buffers are made, and where it goes.  Run from the build folder; needs 0.7 GB under TMPDIR.
set -euo pipefail
PATH=${builddir:-$PWD}/tools:$PATH
dir=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# 10 s of 1400 +- 150 MHz at 64 us, 3050 trials to DM 500.
fakebin -period 0 -nbits 8 -nchans 4096 -tsamp 64 -tobs 10 -fch1 1549.963 -foff -0.0732421875 -seed 1 -o "$dir/n.fil"
awk 'BEGIN {
    for (i = 0; i < 1500; i++) print 0.1 * i
    for (i = 0; i < 750; i++) print 150 + 0.2 * i
    for (i = 0; i < 800; i++) print 300 + 0.25 * i
}' >"$dir/n.dms"
cat "$dir/n.fil" >/dev/null

for device in "${@:-0}"; do
    for cleaning in -noclip -clip\ 6; do
        echo "-device $device $cleaning"
        for _ in 1 2 3; do
            gpudedisp -v -nobary $cleaning -singlepulse -nowrite -device "$device" -dms "$dir/n.dms" \
                -o "$dir/n" "$dir/n.fil" 2>&1 | grep -E 'device.*copy in|setup' | sed 's/^gpudedisp: /    /'
        done
    done
done
