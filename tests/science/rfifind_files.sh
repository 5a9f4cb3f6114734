#!/usr/bin/env bash
# Whether PRESTO takes what gpurfifind writes, and gpurfifind what rfifind wrote: a real observation's
# files are read, and its mask made anew from them; an observation with interference is made, gpurfifind
# finds it by all its tests, and rfifind -nocompute, prepsubband -mask, rfifind.py, makezaplist.py and
# accelsearch -zaplist read its files.  rfifind_files.txt holds what it printed.
#     tests/science/rfifind_files.sh FOLDER GBT_ROOT MAKEZAPLIST >rfifind_files.txt
# GBT_ROOT is the start of the names of the real observation's files, MAKEZAPLIST PRESTO's
# makezaplist.py.  Needs psrkit's tools and PRESTO's in PATH, and PRESTO's modules for $PYTHON (python3).
set -euo pipefail
gbt=$(realpath -s "$2") zaplist=$(realpath "$3")
mkdir -p "$1"
cd "$1"
python=${PYTHON:-python3}

say() { printf '\n== %s\n' "$*"; }

# same A B: whether two files have the same bytes.
same() {
    if cmp -s "$1" "$2"; then
        echo "$1: the bytes of $2"
    else
        echo "$1: NOT the bytes of $2"
    fi
}

say "the real observation: gpurfifind -compat presto -nocompute, from .stats, .rfi, .inf and .bytemask"
for suffix in mask bytemask stats rfi inf; do
    cp "${gbt}_rfifind.$suffix" real_rfifind.$suffix
    cp "${gbt}_rfifind.$suffix" theirs.$suffix
    chmod u+w real_rfifind.$suffix theirs.$suffix
done
gpurfifind -q -compat presto -nocompute -o real
same real_rfifind.mask theirs.mask
same real_rfifind.bytemask theirs.bytemask

say "an observation of 60 s with calls, hum, sparks and a tone; gpurfifind by all tests"
fakebin -q -seed 3 -period 0 -nchans 128 -nbits 8 -tsamp 256 -tobs 60 -fch1 1500 -foff -1 \
    -rfi "phone freq=1440 bw=4 rate=0.3 width=0.5 level=3" -rfi "mains level=0.05 wander=0.01" \
    -rfi "spark rate=2 level=3" -rfi "tone freq=1400 level=2 mod=1" -o obs.fil
gpurfifind -time 1 -o ours obs.fil 2>&1 | grep -v 'birdies\|^ '

say "rfifind -nocompute reads our files; its mask is that of gpurfifind -compat presto -nocompute"
for suffix in mask bytemask stats rfi inf; do
    cp ours_rfifind.$suffix again_rfifind.$suffix
    cp ours_rfifind.$suffix other_rfifind.$suffix
done
rfifind -nocompute -time 1 -o again obs.fil >rfifind.log
gpurfifind -q -compat presto -nocompute -o other
same again_rfifind.mask other_rfifind.mask
same again_rfifind.stats other_rfifind.stats
same again_rfifind.rfi other_rfifind.rfi

say "prepsubband -mask takes our mask; its series are those of gpudedisp -compat presto"
prepsubband -nobary -mask ours_rfifind.mask -nsub 128 -lodm 20 -dmstep 5 -numdms 4 -o psb obs.fil >psb.log
gpudedisp -q -compat presto -nobary -mask ours_rfifind.mask -nsub 128 -lodm 20 -dmstep 5 -numdms 4 -o gd obs.fil
for dm in 20 25 30 35; do
    same gd_DM$dm.00.dat psb_DM$dm.00.dat
done

say "rfifind.py reads our mask and statistics"
"$python" - <<'END'
from presto import rfifind

a = rfifind.rfifind("ours_rfifind.mask")
print(f"{a.nchan} channels, {a.nint} intervals of {a.ptsperint}, whole channels {sorted(map(int, a.mask_zap_chans))}")
print(f"median over channels: mean {sorted(a.bandpass_avg)[64]:.3f}, deviation {sorted(a.bandpass_std)[64]:.3f}")
END

say "prepsubband -mask and rfifind.py take the mask of gpudedisp -clean auto"
gpudedisp -q -clean auto -nobary -lodm 20 -numdms 1 -singlepulse -nowrite -o auto obs.fil
prepsubband -nobary -mask auto.clean.mask -nsub 128 -lodm 20 -dmstep 5 -numdms 2 -o psa obs.fil >psa.log
gpudedisp -q -compat presto -nobary -mask auto.clean.mask -nsub 128 -lodm 20 -dmstep 5 -numdms 2 -o ga obs.fil
for dm in 20 25; do
    same ga_DM$dm.00.dat psa_DM$dm.00.dat
done
# rfifind.py finds .stats and .inf by its own names.
for suffix in mask stats; do
    cp auto.clean.$suffix auto_rfifind.$suffix
done
cp ga_DM20.00.inf auto_rfifind.inf
"$python" - <<'END'
from presto import rfifind

a = rfifind.rfifind("auto_rfifind.mask")
print(f"{a.nchan} channels, {a.nint} intervals of {a.ptsperint}, whole channels {sorted(map(int, a.mask_zap_chans))}")
print(f"median over channels: mean {sorted(a.bandpass_avg)[64]:.3f}, deviation {sorted(a.bandpass_std)[64]:.3f}")
END

say "makezaplist.py and accelsearch -zaplist read our .birds and .zaplist"
gpudedisp -q -nobary -noclip -lodm 0 -numdms 1 -o dm obs.fil
cp ours_rfifind.birds dm_DM0.00.birds
"$python" "$zaplist" dm_DM0.00.birds | grep -i 'total\|freqs\|trains\|birds' || true
echo "lines: $(grep -vc '^#' ours_rfifind.zaplist) in ours, $(grep -vc '^#' dm_DM0.00.zaplist) by makezaplist.py"
# search NAME OPTION...: what accelsearch lists.
search() {
    echo "accelsearch $1:"
    shift
    rm -f dm_DM0.00_ACCEL_0*
    accelsearch -numharm 4 -zmax 0 -flo 1 "$@" dm_DM0.00.dat >accel.log
    grep 'No candidates' accel.log || awk 'NR > 3 && NF == 0 { exit } NR > 3 { print substr($0, 1, 80) }' dm_DM0.00_ACCEL_0
}
search "without a list"
search "with ours" -zaplist ours_rfifind.zaplist
gpuaccel-pulscan -q -zmax 0 -numharm 4 -zaplist ours_rfifind.zaplist dm_DM0.00.dat >pulscan.log && echo "gpuaccel-pulscan -zaplist reads it"
