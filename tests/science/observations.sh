#!/usr/bin/env bash
# Whether the pipelines of README.md find what is known to be in real observations: ASKAP's burst FRB 20180417A,
# as filterbank and as PSRFITS, and PSR J1807-0847 in a series of the GBT, which prepfold then folds.
# observations.txt holds what it printed.
#     tests/science/observations.sh FOLDER >observations.txt
# FOLDER holds 28.fil and 28.fits (tests/data of FRBs/sigpyproc3) and GBT_J1807-0847.dat and .inf (tests/data of
# thepetabyteproject/your).  Needs psrkit's tools and PRESTO's prepfold in PATH.
set -euo pipefail
data=$(realpath "$1")
dir=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-observations.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"

say() { printf '\n== %s\n' "$*"; }

# show COMMAND...: what it is, and what it prints.
show() {
    say "$*"
    "$@" 2>&1
}

ln -s "$data"/28.fil "$data"/28.fits .
cp "$data"/GBT_J1807-0847.{dat,inf} .

echo "FRB 20180417A (Agarwal et al. 2019): DM 474.8, width 2.3 ms"
for suffix in fil fits; do
    show gpudedisp -q -nobary -lodm 300 -dmstep 1 -numdms 400 -singlepulse -nowrite -o "frb_$suffix" "28.$suffix"
    head -n 3 "frb_$suffix.cand"
done
say "ddplan -d 1000 -plan obs.plan 28.fil; gpudedisp -plan obs.plan"
ddplan -d 1000 -plan obs.plan 28.fil >/dev/null
gpudedisp -q -nobary -plan obs.plan -singlepulse -nowrite -o plan 28.fil
head -n 2 plan.cand
show gpudedisp -q -nobary -lodm 465 -dmstep 0.1 -numdms 200 -singlepulse -nowrite -o fine 28.fil
head -n 2 fine.cand

say "PSR J1807-0847 (ATNF catalogue): 6.107714243738 Hz at MJD 48244, -1.074334e-15 Hz/s; DM 112.3802"
# Where the GBT stood and how fast it moved then: gpudedisp says so of any observation.
fakebin -q -period 0 -nchans 4 -tsamp 1000 -tobs 21.5 -tstart 59313.309837974 -seed 1 -o gbt.fil
velocity=$(gpudedisp -position 18:07:38.03,-08:47:43.3 -site -79.83983,38.43312,823.7 -lodm 0 -numdms 1 -o gbt gbt.fil 2>&1 |
    sed -n 's|.*v/c \([-+.e0-9]*\).*|\1|p')
awk -v v="$velocity" 'BEGIN { f = 6.107714243738 - 1.074334e-15 * (59313.31 - 48244) * 86400
    printf "v/c %s: P %.6f ms at the barycentre, %.6f ms at the telescope\n", v, 1000 / f, 1000 / f * (1 + v) }'
show gpuaccel-pulscan -q -zmax 0 -numharm 8 -rednoise GBT_J1807-0847.dat
sed '/^$/,$d' GBT_J1807-0847_ACCEL_0
say "prepfold -noxwin -n 64 -accelcand 1 -accelfile GBT_J1807-0847_ACCEL_0.cand GBT_J1807-0847.dat"
prepfold -noxwin -n 64 -accelcand 1 -accelfile GBT_J1807-0847_ACCEL_0.cand GBT_J1807-0847.dat >prepfold.txt 2>&1
grep -E 'Reduced|P_topo' GBT_J1807-0847_ACCEL_Cand_1.pfd.bestprof
show gpuaccel-pulscan -q -zmax 200 -rednoise GBT_J1807-0847.dat
sed '/^$/,$d' GBT_J1807-0847_ACCEL_200
