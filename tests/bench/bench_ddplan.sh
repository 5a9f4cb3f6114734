#!/usr/bin/env bash
# Seconds that a plan takes, beside starting a program that does nothing.  Run from the build folder.
set -euo pipefail
PATH=${builddir:-$PWD}/bin:$PATH

# seconds COMMAND...: of one run, from a hundred.
seconds() {
    local began=$EPOCHREALTIME
    for _ in {1..100}; do "$@" >/dev/null; done
    awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.5f", (b - a) / 100 }'
}

nothing=$(seconds "$(type -P true)")
plan=$(seconds ddplan -d 3000 -n 4096 -b 300 -f 1400 -t 64e-6)
awk -v p="$plan" -v n="$nothing" 'BEGIN {
    printf "a plan to DM 3000: %.1f ms; starting a program that does nothing: %.1f ms; ratio %.1f\n",
        1e3 * p, 1e3 * n, p / n }'
