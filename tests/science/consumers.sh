#!/usr/bin/env bash
# Whether PRESTO's ACCEL_sift.py, quick_prune_cands.py and prepfold -accelcand take the lists of the matched
# search, by default and with -compat presto, with and without jerk: a pulsar in an orbit of 1.2 h is made
# and dedispersed twice, where its frequency falls and where only its drift does.  consumers.txt is what it printed.
#     tests/science/consumers.sh FOLDER ACCEL_sift.py quick_prune_cands.py >consumers.txt
# Needs psrkit's tools and PRESTO's prepfold in PATH, and PRESTO's modules for $PYTHON (python3).
set -euo pipefail
folder=$1 sift=$(realpath "$2") prune=$(realpath "$3")
mkdir -p "$folder"
cd "$folder"

say() { printf '\n== %s\n' "$*"; }

# sky NAME PHASE SECONDS: NAME_DM*.dat and .inf
sky() {
    say "$1: a pulsar of 4.6 ms in an orbit of 1.2 h, and one of 33 ms without, $3 s"
    fakebin -q -seed 11 -tobs "$3" -tsamp 256 -nchans 32 -nbits 8 -fch1 1500 -foff 4 -period 0 \
        -add "pulsar period=0.0046 dm=50 width=0.0006 snr=60 bper=1.2 bpmass=1.4 bcmass=1.4 bphase=$2" \
        -add "pulsar period=0.0331 dm=50 width=0.002 snr=30" -truth "$1.txt" -o "$1.fil"
    grep '^pulsar' "$1.txt" | awk -F'\t' '{ printf "put in: mean %s Hz, r %s, z %s, w %s\n", $7, $9, $10, $11 }'
    gpudedisp -q -nobary -lodm 49 -dmstep 0.5 -numdms 5 -o "$1" "$1.fil"
}

# use NAME LIST OPTIONS...: searches, and hands the lists over
use() {
    local name=$1 list=$2
    shift 2
    say "gpuaccel-pulscan -search matched $* ${name}_DM*.dat; the best 3 at DM 50"
    rm -f "$name"_DM*ACCEL*
    gpuaccel-pulscan -q -search matched "$@" "$name"_DM*.dat
    sed -n 1,6p "${name}_DM50.00_$list"
    say "ACCEL_sift.py"
    "${PYTHON:-python3}" -W ignore "$sift" 2>/dev/null | sed -n '/file:candnum/,$p' | head -7
    say "quick_prune_cands.py ${name}_DM50.00_$list"
    "${PYTHON:-python3}" -W ignore "$prune" "${name}_DM50.00_$list" 2>&1 | tr '\r' '\n' | grep -vE '^$|Read|Done' | head -20
    n=$(awk '$6 + 0 > 4.5 && $6 + 0 < 4.7 { print $1; exit }' "${name}_DM50.00_$list")
    say "prepfold -noxwin -nosearch -n 32 -accelcand $n -accelfile ${name}_DM50.00_$list.cand ${name}_DM50.00.dat"
    rm -f ./*.bestprof
    prepfold -noxwin -nosearch -n 32 -accelcand "$n" -accelfile "${name}_DM50.00_$list.cand" "${name}_DM50.00.dat" 2>&1 |
        tr '\r' '\n' | grep -E '^(Folding|Maximum)' || true
    grep -hE "Reduced|P_topo|P'_topo|P''_topo" ./*.bestprof
}

sky falls 0.215 300
use falls ACCEL_100 -zmax 100 -numharm 8
use falls ACCEL_100 -zmax 100 -numharm 8 -compat presto
cd ..
rm -rf "$folder-jerk"
mkdir "$folder-jerk"
cd "$folder-jerk"
sky jerk 0.57 600
use jerk ACCEL_60_JERK_300 -zmax 60 -wmax 300 -numharm 2 -flo 100 -fhi 500
use jerk ACCEL_60_JERK_300 -zmax 60 -wmax 300 -numharm 2 -flo 100 -fhi 500 -compat presto
