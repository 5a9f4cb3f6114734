#!/usr/bin/env bash
# gpuaccel-pulscan -search matched from .dat files in the page cache to lists, on GPU 0: FILES series (default
# 512) of 2^22 samples, zmax 200, 8 harmonics.  Run from the build folder; needs 17 MB a file under TMPDIR.
#   bench_accelsearch.sh [FILES]
set -euo pipefail
files=${1:-512}
PATH=${builddir:-$PWD}/bin:$PATH
[ -n "${TMPDIR-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
dir=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# Sixteen series of a 64-channel filterbank of noise with a pulsar, and copies of them.
fakebin -q -period 12.3 -snrpeak 0.02 -dm 10 -nbits 8 -nchans 64 -tsamp 128 -tobs 536.870912 -fch1 1550 -foff -1 -seed 1 -o n.fil
gpudedisp -q -noclip -nobary -lodm 0 -dmstep 5 -numdms 16 -numout 4194304 -o s n.fil
rm n.fil
i=0
for dat in $(ls s_DM*.dat); do
    for ((k = 0; k * 16 + i < files; k++)); do
        cp "$dat" "c$((k * 16 + i)).dat"
        sed "1s/=.*/=  c$((k * 16 + i))/" "${dat%.dat}.inf" >"c$((k * 16 + i)).inf"
    done
    i=$((i + 1))
done
rm s_DM*
cat c*.dat >/dev/null
if ! why=$(gpuaccel-pulscan -q -search matched -device cuda c0.dat 2>&1); then
    echo "SKIP: $why"
    exit 0
fi
for _ in 1 2; do
    began=$EPOCHREALTIME
    gpuaccel-pulscan -v -search matched -device cuda -zmax 200 -numharm 8 c*.dat 2>&1 | tail -1
    awk -v a="$began" -v b="$EPOCHREALTIME" -v n="$files" 'BEGIN { printf "    %d files in %.2f s\n", n, b - a }'
done
