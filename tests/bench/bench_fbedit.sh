#!/usr/bin/env bash
# What fbedit costs: seconds of processor time and of the clock, and gigabytes of input a second of a processor, medians of runs
# that take turns, so that a machine that slows down slows all.  One thread, 8 bits, files in memory.  Run from the build folder; needs 3 GB under TMPDIR.
#   TMPDIR=/dev/shm bench_fbedit.sh [REPEATS]
# shellcheck source=tests/bench/bench.bash
source "$(dirname "${BASH_SOURCE[0]}")/bench.bash"
TIMEFORMAT='%U %S %R'
in=$dir/in.fil

# measure NUMBER COMMAND...: appends user and system time of one run, and that of the clock.
measure() {
    local k=$1
    shift
    { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2, $3 }' >>"$dir/times.$k"
}

copy() { cat "$in" >"$dir/out.fil"; }
edit() { fbedit -q -ncpus 1 "$@"; }
through() { cat "$in" | edit "${@:2}" -o - - >"$dir/out.fil"; }

fakebin -period 0 -nbits 8 -seed 1 -nchans 1024 -tsamp 256 -tobs 240 -fch1 1500 -foff -0.3 -o "$in"
bytes=$(stat -c %s "$in")
names=('cat' 'cut: all but 2 spectra' 'the same, by pipes' '512 of 1024 channels' 'band reversed' '8 to 16 bits' '8 to 32 bits'
    '8 to 4 bits (levels)' '8 to 1 bit (levels)' 'to PSRFITS' 'to DADA' 'sums of 8 spectra' 'sums of 4 channels' 'dedispersed' 'zero-DM'
    '-clean auto' 'gpudedisp -clean auto, DM 0' '40 bursts added')
add=()
for ((i = 0; i < 40; i++)); do add+=(-add "burst dm=$((50 + 10 * i)) t=$((5 * i + 3)) width=4e-3 snr=15"); done
last=$((bytes / 1024 - 2))smp
commands=('copy' "edit -start 1smp -end $last -o $dir/out.fil $in" "through x -start 1smp -end $last" "edit -chans 256:768 -o $dir/out.fil $in"
    "edit -order up -o $dir/out.fil $in" "edit -nbits 16 -o $dir/out.fil $in" "edit -nbits 32 -o /dev/null $in"
    "edit -nbits 4 -o $dir/out.fil $in" "edit -nbits 1 -o $dir/out.fil $in" "edit -o $dir/out.fits $in" "edit -o $dir/out.dada $in"
    "edit -tdecimate 8 -o $dir/out.fil $in" "edit -fdecimate 4 -o $dir/out.fil $in" "edit -dedisperse 100 -o $dir/out.fil $in"
    "edit -zerodm -o $dir/out.fil $in" "edit -clean auto -o $dir/out.fil $in"
    "gpudedisp -q -nobary -ncpus 1 -clean auto -lodm 0 -numdms 1 -o $dir/out $in" "add_bursts")
add_bursts() { edit "${add[@]}" -seed 1 -o "$dir/out.fil" "$in"; }
for n in $(seq "$repeats"); do
    for k in "${!names[@]}"; do
        measure "$k" ${commands[k]}
        rm -f "$dir"/out*
    done
done
printf '%.3f GB, 1024 channels\n%-30s %8s %8s %12s\n' "$(awk "BEGIN { print $bytes / 1e9 }")" work cpu_s clock_s GB/s_a_core
for k in "${!names[@]}"; do
    awk -v name="${names[k]}" -v c="$(cut -d ' ' -f 1 "$dir/times.$k" | middle)" -v t="$(cut -d ' ' -f 2 "$dir/times.$k" | middle)" -v b="$bytes" \
        'BEGIN { printf "%-30s %8.3f %8.3f %12.2f\n", name, c, t, b / 1e9 / c }'
done
