#!/usr/bin/env bash
# A pulsar, a burst, a binary, and a burst in the voltages of an array are made and found, and the first and the
# third are folded.  Run from the build folder, as make demo does, or anywhere with the tools in PATH; plots and
# tables stay in demo/.  Fails unless all are found where they were put.
set -euo pipefail
builddir=${builddir:-$PWD}
out=${1:-$builddir/demo}
PATH=$builddir/bin:$PATH
mkdir -p "$out"

say() { printf '\n== %s\n' "$*"; }

# near GOT WANT TOLERANCE
near() { awk -v a="$1" -v b="$2" -v tol="$3" 'BEGIN { d = a - b; exit !(d <= tol && -d <= tol) }'; }

# row NAME GOT WANT TOLERANCE: one line of the table; remembers what is off.
row() {
    local verdict=ok
    near "$2" "$3" "$4" || verdict=OFF
    [ $verdict = ok ] || off=1
    printf '  %-18s %12s %12s   %s\n' "$1" "$2" "$3" $verdict
}

say "making an observation: 20 s, 128 channels, 1500 to 1246 MHz, 512 us, 8 bits"
pulsar="pulsar period=0.0893 dm=68 width=0.0045 snr=40 phase=0.128"
burst="burst dm=212 t=8.127 width=0.004 snr=25"
making=(fakebin -seed 1967 -tobs 20.48 -tsamp 512 -nchans 128 -nbits 8 -fch1 1500 -foff 2
    -add "$pulsar" -add "$burst" -truth "$out/truth.txt" -o "$out/demo.fil")
printf '%q ' "${making[@]}"
echo
"${making[@]}"
read -r _ pulsar_dm _ _ _ _ pulsar_hz _ < <(grep '^pulsar' "$out/truth.txt")
read -r _ burst_dm burst_time _ _ _ _ _ _ _ _ burst_snr _ < <(grep '^burst' "$out/truth.txt")

plot=(-plot "$out/burst.png")
ddplan -d 1 -o "$out/smearing.png" >/dev/null || plot=() # built without cairo, which it says
smearing=(-o "$out/smearing.png")
[ ${#plot[@]} -gt 0 ] || smearing=()
planning=(ddplan -d 300 "${smearing[@]}" "$out/demo.fil")
say "${planning[*]}"
"${planning[@]}"
search=(gpudedisp -nobary -lodm 0 -dmstep 1 -numdms 300 -singlepulse "${plot[@]}" -o "$out/demo" "$out/demo.fil")
say "${search[*]}"
began=$(date +%s.%N)
"${search[@]}"
awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { printf "300 trials in %.2f s\n", b - a }'

off=
header() { printf '  %-18s %12s %12s\n' "$1" found true; }

say "the burst: the best line of demo.cand"
read -r snr _ time _ _ dm _ < <(grep -v '^#' "$out/demo.cand")
header burst
row "DM (pc cm^-3)" "$dm" "$burst_dm" 2
row "time (s)" "$time" "$burst_time" 0.002
row "S/N" "$snr" "$burst_snr" 5

trials=$((300 * 40000 * 15)) # DMs, samples and widths that were looked at
power=$(awk -v s="$snr" 'BEGIN { printf "%.2f", s * s }')
say "chi2sig -ntrials $trials $power 1: could noise have made it, anywhere in the search?"
chi2sig -ntrials "$trials" "$power" 1

# best_of: the candidate of the highest sigma in lists of gpuaccel-pulscan -csv.
best_of() { grep -v '^file,' | sort -t, -k3,3gr | head -n 1; }

search=(gpuaccel-pulscan -search matched -zmax 0 -numharm 16)
say "the pulsar: ${search[*]} demo_DM[4-9]?.00.dat, and the best of all candidates"
IFS=, read -r name _ sigma _ _ _ _ _ _ _ _ _ period hz _ < <("${search[@]}" -csv "$out"/demo_DM[4-9]?.00.dat | best_of)
dm=$(basename "$name" .dat | sed 's/.*DM//')
header pulsar
row "DM (pc cm^-3)" "$dm" "$pulsar_dm" 2
row "frequency (Hz)" "$hz" "$pulsar_hz" 0.002
printf '  sigma %.1f\n' "$sigma"

rm -f "$out"/demo_DM*

# value NAME: a number of the line of JSON that is read.
value() { sed -n "s/.*\"$1\": \([-0-9.e+]*\),.*/\1/p"; }

fold=(gpufold -topo -p "$period" -dm "$dm" -json -o "$out/pulsar" "$out/demo.fil")
say "${fold[*]}"
"${fold[@]}" >"$out/pulsar.json"
header "its fold"
row "period (ms)" "$(awk -v p="$(value p_s_topo <"$out/pulsar.json")" 'BEGIN { print 1000 * p }')" 89.3 0.01
row "DM (pc cm^-3)" "$(value dm <"$out/pulsar.json")" "$pulsar_dm" 3
printf '  sigma %.1f of %s trials\n' "$(value sigma <"$out/pulsar.json")" "$(sed 's/.*"trials": //; s/,.*//' "$out/pulsar.json")"

say "making a binary: a millisecond pulsar that orbits a neutron star in 1.2 h, 268 s, 32 channels, 512 us"
pulsar="pulsar period=0.0046 dm=50 width=0.0006 snr=40 bper=1.2 bpmass=1.4 bcmass=1.4 bphase=0.715"
making=(fakebin -seed 1974 -tobs 268.435456 -tsamp 512 -nchans 32 -nbits 8 -fch1 1500 -foff 4 -period 0
    -add "$pulsar" -truth "$out/binary.txt" -o "$out/binary.fil")
printf '%q ' "${making[@]}"
echo
"${making[@]}"
read -r _ binary_dm _ _ _ _ binary_hz _ _ binary_z _ < <(grep '^pulsar' "$out/binary.txt")
dedispersing=(gpudedisp -nobary -lodm 46 -dmstep 1 -numdms 9 -o "$out/binary" "$out/binary.fil")
say "${dedispersing[*]}"
"${dedispersing[@]}"
plane=(-plot "$out/plane.png")
[ ${#plot[@]} -gt 0 ] || plane=()
search=(gpuaccel-pulscan -zmax 100 -numharm 4 "${plane[@]}")
say "${search[*]} binary_DM*.dat"
began=$(date +%s.%N)
"${search[@]}" "$out"/binary_DM*.dat
awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { printf "9 series of 524288 samples in %.2f s\n", b - a }'
gpuaccel-pulscan -zmax 100 -numharm 4 -csv "$out"/binary_DM*.dat >"$out/all.csv"
{
    head -n 1 "$out/all.csv"
    best_of <"$out/all.csv"
} >"$out/binary.csv"
say "the binary: the best of all candidates"
IFS=, read -r name _ sigma _ _ _ _ _ _ _ z _ _ hz _ _ accel _ < <(tail -n 1 "$out/binary.csv")
header binary
row "DM (pc cm^-3)" "$(basename "$name" .dat | sed 's/.*DM//')" "$binary_dm" 1
row "frequency (Hz)" "$hz" "$binary_hz" 0.002
row "drift (bins)" "$z" "$binary_z" 2
printf '  sigma %.1f, acceleration %.0f m/s^2\n' "$sigma" "$accel"
fold=(gpufold -q -topo -cands "$out/binary.csv" -json -o "$out/fold" "$out/binary.fil")
say "${fold[*]}"
"${fold[@]}" >"$out/binary.json"
header "its fold"
row "DM (pc cm^-3)" "$(value dm <"$out/binary.json")" "$binary_dm" 1
row "frequency (Hz)" "$(awk -v p="$(value p_s_topo <"$out/binary.json")" -v pd="$(value pd_topo <"$out/binary.json")" \
    'BEGIN { printf "%.6f", 1 / (p + pd * 268.435456 / 2) }')" "$(awk '/^pulsar/ { print $8 }' "$out/binary.txt")" 0.002
printf '  sigma %.1f\n' "$(value sigma <"$out/binary.json")"
rm -f "$out"/binary_DM* "$out"/all.csv "$out"/*.json

shared=$(dirname "$0") # in the source, or installed
[ -d "$shared/arrays" ] || shared=$shared/../../data
array=$shared/arrays/chord-pathfinder-8x8.array
say "a burst in the voltages of 64 dishes, and the 256 beams of their grid"
voltages=(fakebin -seed 1967 -array "$array" -nchans 64 -fch1 700 -foff 1 -tsamp 200 -tobs 1
    -source "1.5,-0.5,60,dm=100,t=0.3,width=4e-3" -o "$out/demo.dada")
beams=(frbbeam -array "$array" -grid -o "$out/demo" "$out/demo.dada")
beam=(gpudedisp -nobary -lodm 60 -dmstep 2 -numdms 40 -singlepulse -nowrite -o "$out/beam" "$out/demo_beam0063.fil")
printf '%q ' "${voltages[@]}"
echo
"${voltages[@]}"
for command in beams beam; do
    declare -n words=$command
    echo "${words[*]}"
    "${words[@]}"
done
read -r snr _ time _ _ dm _ < <(grep -v '^#' "$out/beam.cand")
header "beam 63"
row "DM (pc cm^-3)" "$dm" 100 4
row "time (s)" "$time" 0.3 0.004
row "S/N" "$snr" 60 15

rm -f "$out"/demo_DM* "$out"/demo_beam* "$out/demo.dada" "$out/beam.cand" "$out/demo.scale"
if [ ${#plot[@]} -gt 0 ]; then
    for picture in burst plane; do
        [ "$(head -c 4 "$out/$picture.png" | tail -c 3)" = PNG ] || { echo "no $picture.png was made"; off=1; }
    done
    say "the searches are drawn in $out/burst.png and $out/plane.png"
fi
if [ -e "$out/pulsar_89.30ms_Cand.pfd.png" ]; then
    say "the folds are drawn in $out/pulsar_89.30ms_Cand.pfd.png and $(echo "$out"/fold_*.png)"
fi
[ -z "$off" ] || { say "something is not where it was put"; exit 1; }
