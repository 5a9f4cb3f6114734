#!/usr/bin/env bash
# Whether PRESTO takes what gpuaccel-pulscan writes: two binaries, one whose frequency falls and one
# whose frequency rises, are made, dedispersed and searched; ACCEL_sift.py sifts the candidates and prepfold
# folds the best.  A pulsar without companion is there too: left with a single candidate, ACCEL_sift.py
# fails.  presto.txt holds what it printed.
#     tests/science/presto.sh FOLDER ACCEL_sift.py >presto.txt
# Needs psrkit's tools and PRESTO's prepfold in PATH, and PRESTO's modules for $PYTHON (python3).
set -euo pipefail
folder=$1 sift=$(realpath "$2")
mkdir -p "$folder"
cd "$folder"

say() { printf '\n== %s\n' "$*"; }

# fold NAME: what prepfold makes of the first candidate at DM 50, its progress left out.
fold() {
    say "prepfold -noxwin -n 32 -accelcand 1 -accelfile $1_DM50.00_ACCEL_100.cand $1_DM50.00.dat"
    prepfold -noxwin -n 32 -accelcand 1 -accelfile "$1_DM50.00_ACCEL_100.cand" "$1_DM50.00.dat" 2>&1 |
        tr '\r' '\n' | grep -E '^(Folding|Best|Maximum)|  Searching|total trials' || true
    grep -E "Reduced|P_topo|P'_topo" "$1_DM50.00_ACCEL_Cand_1.pfd.bestprof"
}

for binary in falls:0.215 rises:0.715; do
    name=${binary%%:*}
    rm -rf "$name"
    mkdir "$name"
    (
        cd "$name"
        say "$name: a pulsar of 4.6 ms in an orbit of 1.2 h, 300 s; what was put in"
        fakebin -q -seed 11 -tobs 300 -tsamp 256 -nchans 32 -nbits 8 -fch1 1500 -foff 4 -period 0 \
            -add "pulsar period=0.0046 dm=50 width=0.0006 snr=60 bper=1.2 bpmass=1.4 bcmass=1.4 bphase=${binary##*:}" \
            -add "pulsar period=0.0331 dm=50 width=0.002 snr=30" -truth truth.txt -o "$name.fil"
        awk -F'\t' '/^pulsar/ && $10 * $10 > 1 { fdot = $10 / 90000; f = $8 - fdot * 150
            printf "mean %s Hz, z %s; at the start P %.6f ms, P dot %.3e\n", $7, $10, 1000 / f, -fdot / f / f }' truth.txt
        gpudedisp -q -nobary -lodm 48 -dmstep 0.5 -numdms 9 -o "$name" "$name.fil"
        say "gpuaccel-pulscan -zmax 100 -numharm 4 ${name}_DM*.dat; the list at DM 50"
        gpuaccel-pulscan -zmax 100 -numharm 4 "${name}"_DM*.dat
        sed -n 1,11p "${name}_DM50.00_ACCEL_100"
        say "python ACCEL_sift.py"
        "${PYTHON:-python3}" -W ignore "$sift" 2>/dev/null | sed -n '/file:candnum/,$p'
        fold "$name"
    )
done
