#!/usr/bin/env bash
# What cleaning costs: seconds of processor time of whole runs of gpudedisp, series written, with a
# mask and clipping and with zero-DM, beside those of the same run without.  Ways take turns, so that
# a machine that slows down slows all.  Run from the build folder; needs 1 GB under TMPDIR.
#   bench_cleaning.sh [REPEATS]
# shellcheck source=tests/bench/bench.bash
source "$(dirname "${BASH_SOURCE[0]}")/bench.bash"
TIMEFORMAT='%U %S'

# cpu_seconds COMMAND...: user and system time of one run.
cpu_seconds() { { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.3f\n", $1 + $2 }'; }

names=(plain clip mask+clip zero-DM)
flags=(-noclip "" "-mask $dir/r.mask" -zerodm)
goals=(- - 1.3 2.5)

# bench WORK NCHAN NSAMP TSAMP_US FOFF "GPUDEDISP OPTIONS"
bench() {
    local work=$1 nchan=$2 nsamp=$3 us=$4 foff=$5 options=$6 k n plain run_s
    fakebin -period 0 -nbits 8 -seed 1 -nchans "$nchan" -tsamp "$us" -tobs "$(awk "BEGIN { print $nsamp * $us / 1e6 }")" \
        -fch1 1550 -foff "-$foff" -o "$dir/in.fil"
    make_mask "$dir/r" "$nchan" "$nsamp" "${us}e-6" 50000 "$(awk "BEGIN { printf \"%.9f\", 1550 - ($nchan - 1) * $foff }")" "$foff"
    rm -f "$dir"/times.*
    for n in $(seq "$repeats"); do
        for k in "${!names[@]}"; do
            cpu_seconds gpudedisp -q -nobary -ncpus 1 ${flags[k]} $options -o "$dir/out" "$dir/in.fil" >>"$dir/times.$k"
        done
    done
    plain=$(middle <"$dir/times.0")
    for k in "${!names[@]}"; do
        run_s=$(middle <"$dir/times.$k")
        awk -v w="$work" -v c="${names[k]}" -v t="$run_s" -v p="$plain" -v g="${goals[k]}" \
            'BEGIN { printf "%-14s %-10s %9.3f %7.2f %6s\n", w, c, t, t / p, g }'
    done
    rm -f "$dir"/in.fil "$dir"/out_*
}

printf '%-14s %-10s %9s %7s %6s\n' work cleaning cpu_s ratio goal
bench 1024ch-200DM 1024 156250 128 0.292968752 "-lodm 150 -dmstep 0.5 -numdms 200"
bench 1024ch-100DM 1024 156250 128 0.292968752 "-lodm 150 -dmstep 0.5 -numdms 100"
bench 256ch-100DM 256 625000 128 1.171875 "-lodm 150 -dmstep 1 -numdms 100"
