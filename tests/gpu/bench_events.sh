#!/usr/bin/env bash
# gpudedisp from a file in the page cache to events, on the GPU sets named (default 0): what the run takes once
# plans and buffers are made, and where it goes.  Run from the build folder; needs 1.1 GB under TMPDIR, which is
# memory where it can be: thousands of files of events take a disk longer than the search.
#   bench_events.sh [DEVICES]...
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=${builddir:-$PWD}/bin:$PATH
plans=$here/../../data/surveys
[ -n "${TMPDIR-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
dir=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# 10 s of 1400 +- 150 MHz at 64 us, 3050 trials to DM 500; and 100 s of 400 +- 100 MHz at 256 us.
fakebin -q -period 0 -nbits 8 -nchans 64 -tsamp 64 -tobs 1 -fch1 1550 -foff -1 -seed 1 -o "$dir/small.fil"
if ! why=$(gpudedisp -q -v -nobary -numdms 1 -nowrite -device all "$dir/small.fil" 2>&1); then
    echo "SKIP: $why"
    exit 0
fi
fakebin -q -period 0 -nbits 8 -nchans 4096 -tsamp 64 -tobs 10 -fch1 1549.963 -foff -0.0732421875 -seed 1 -o "$dir/n.fil"
fakebin -q -period 0 -nbits 8 -nchans 1024 -tsamp 256 -tobs 100 -fch1 499.902 -foff -0.1953125 -seed 1 -o "$dir/l.fil"
awk 'BEGIN {
    for (i = 0; i < 1500; i++) print 0.1 * i
    for (i = 0; i < 750; i++) print 150 + 0.2 * i
    for (i = 0; i < 800; i++) print 300 + 0.25 * i
}' >"$dir/n.dms"
cat "$dir"/*.fil >/dev/null

# events OPTION...: three runs.
events() {
    echo "-device $device $*" | sed "s|$dir/||g; s|$plans/||"
    for _ in 1 2 3; do
        gpudedisp -v -singlepulse -nowrite -device "$device" "$@" -o "$dir/n" 2>&1 |
            grep -E 'device.*copy in|setup' | sed 's/^gpudedisp: /    /'
    done
}

sky='-position 05:34:31.97,+22:00:52.1 -site 149,-33,400'
for device in "${@:-0}"; do
    events -noclip -nobary -dms "$dir/n.dms" "$dir/n.fil"
    events -clip 6 -nobary -dms "$dir/n.dms" "$dir/n.fil"
    events -clip 6 $sky -dms "$dir/n.dms" "$dir/n.fil"
    events -noclip -nobary -plan "$plans/novotny-table3-high.plan" "$dir/n.fil"
    events -noclip -nobary -plan "$plans/novotny-table3-low.plan" "$dir/l.fil"
done
