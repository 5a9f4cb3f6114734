#!/usr/bin/env bash
# Voltages in the page cache to events on one GPU (default 0): gpudigifil alone, and gpudigifil | gpudedisp, by stage.
#   Magro et al. 2011, tables 5 and 6: 256 channels of 78125 Hz at 610 MHz, 8 bits, to 2048 channels, 500 DMs to 60: 5.785 s for 6.7 s
#   3.3 GHz of two polarisations, 8 bits, to 4096 channels and 64.5 us, 2000 DMs to 1000
# Voltages are random bytes, repeated.  Run from the build folder.  TMPDIR, which is memory where it can be, needs the wide band's
# GB (default 27, 2 s; 80 is 6 s).
#   bench_live.sh [DEVICE [GB]]
set -euo pipefail
PATH=${builddir:-$PWD}/bin:$PATH
device=${1:-0} wide_gb=${2:-27}
[ -n "${TMPDIR-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
dir=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
noise_bytes=1000000000

# make NAME N HEADER: a DADA file of N times the noise.
make() {
    printf 'HDR_VERSION 1.0\nHDR_SIZE 4096\nNBIT 8\nTELESCOPE Parkes\nUTC_START 2024-01-02-03:04:05\n%b' "$3" >"$dir/$1"
    truncate -s 4096 "$dir/$1"
    for ((n = 0; n < $2; n++)); do cat "$dir/noise"; done >>"$dir/$1"
}

# tell: where the time went.
tell() { grep -E 'samples in|setup|device: copy in|real time' | sed 's/^/    /'; }

# alone FILE OPTION...
alone() {
    echo "gpudigifil ${*:2}"
    for _ in 1 2 3; do gpudigifil -v -device "$device" "${@:2}" -o - "$dir/$1" 2>&1 >/dev/null | tell; done
}

# chain FILE 'OPTIONS OF gpudigifil' OPTIONS OF gpudedisp...
chain() {
    echo "gpudigifil $2 | gpudedisp ${*:3}"
    for _ in 1 2 3; do
        { gpudigifil -v -device "$device" $2 -o - "$dir/$1" |
            gpudedisp -v -device "$device" -nowrite -singlepulse -nobary "${@:3}" -o "$dir/x" -; } 2>&1 | tell
        rm -f "$dir"/x*
    done
}

head -c 1048576 /dev/urandom >"$dir/noise"
make small.dada 1 'NCHAN 256\nNPOL 1\nNDIM 2\nFREQ 610\nBW 20\nTSAMP 12.8\n'
if ! why=$(gpudigifil -q -device "$device" -F 2048 -o - "$dir/small.dada" 2>&1 >/dev/null); then
    echo "SKIP: $why"
    exit 0
fi
head -c "$noise_bytes" /dev/urandom >"$dir/noise"
echo "Magro et al. 2011: 4 GB, 100 s"
make magro.dada 4 'NCHAN 256\nNPOL 1\nNDIM 2\nFREQ 610\nBW 20\nTSAMP 12.8\n'
alone magro.dada -F 2048 -b 8
chain magro.dada '-F 2048 -b 8' -noclip -lodm 0 -dmstep 0.12 -numdms 500
rm "$dir/magro.dada"
echo "3.3 GHz: $wide_gb GB"
make wide.dada "$wide_gb" 'NCHAN 1\nNPOL 2\nNDIM 1\nFREQ 3000\nBW 3300\nTSAMP 0.000151515151515\n'
alone wide.dada -F 4096 -t 52 -b 8
alone wide.dada -F 4096 -t 52 -b -32 -I 0
chain wide.dada '-F 4096 -t 52 -b 8' -clean auto -lodm 0 -dmstep 0.5 -numdms 2000
