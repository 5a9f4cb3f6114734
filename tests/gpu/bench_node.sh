#!/usr/bin/env bash
# The whole job and each of its searches on 1, 2, 4 .. all GPUs of this machine: a made sky of SECONDS (600) x 1024
# channels at 64 us, 8 bits (9.6 GB).  For each job and number of GPUs: seconds, how many times faster than on one, the
# share of each second in which each GPU was busy, and whether every result has the bytes that one GPU gave (lists, pulses,
# folds; sizes and CRC-32).  Run from the build folder; needs some 30 GB under TMPDIR for 600 s.
#   bench_node.sh [-j "JOB.."] [-n "1 2 4"] [-d DM] [SECONDS]
# JOBs: psrsearch fourier0 fourier200 pulses ffa pulscan fold.  Exit 1 if a result differs or a job fails.
set -uo pipefail
jobs="psrsearch fourier0 fourier200 pulses ffa pulscan fold" counts="" dm=500
while getopts j:n:d: option; do
    case $option in
    j) jobs=$OPTARG ;;
    n) counts=$OPTARG ;;
    d) dm=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
seconds=${1:-600}
PATH=${builddir:-$PWD}/bin:$PATH
if ! command -v nvidia-smi >/dev/null || ! gpus=$(nvidia-smi -L 2>/dev/null | grep -c ^GPU) || [ "$gpus" -eq 0 ]; then
    echo "SKIP: no GPU"
    exit 0
fi
if [ -z "$counts" ]; then
    for ((n = 1; n < gpus; n *= 2)); do counts="$counts $n"; done
    counts="$counts $gpus"
fi
[ -n "${TMPDIR-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
dir=$(mktemp -d "${TMPDIR:-/tmp}/psrkit-bench.XXXXXX")
trap 'kill $watch 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
watch=

# One pulsar in a fast orbit, one slow, one of a few ms, and bursts.
sky() {
    fakebin -q -seed 1 -period 0 -nbits 8 -nchans 1024 -fch1 1499.9 -foff 0.29296875 -tsamp 64 -tobs "$seconds" \
        -add "pulsar period=0.0123 dm=56 width=1e-3 snr=30" -add "pulsar period=1.731 dm=121 width=0.05 snr=25" \
        -add "pulsar period=0.00457 dm=231 width=5e-4 snr=40" -add "burst dm=300 t=11.5 width=2e-3 snr=25" \
        -add "burst dm=80 t=29 width=5e-4 snr=15" -o sky.fil && ddplan -l 0 -d "$dm" -plan sky.plan sky.fil >/dev/null
}

# What a job reads beside the sky: 64 series for pulscan, candidates for folds.
inputs() {
    local dat name k
    case $1 in
    pulscan)
        mkdir -p series && gpudedisp -q -noclip -nobary -lodm 0 -dmstep 5 -numdms 64 -o series/s sky.fil || return 1
        for ((k = 1; k < 8; k++)); do
            for dat in series/s_DM*.dat; do
                name=$(basename "$dat" .dat)
                ln "$dat" "series/c${k}_$name.dat"
                sed "1s/=.*/=  c${k}_$name/" "series/$name.inf" >"series/c${k}_$name.inf"
            done
        done
        ;;
    fold)
        awk 'BEGIN { print "#name p dm"; for (k = 0; k < 1000; k++) printf "c%04d %.9f %.2f\n", k, 0.005 * 1.006 ^ k, (k * 37) % 500 }' >cands.txt
        ;;
    esac
}

# job NAME DEVICES: writes results into the current folder
job() {
    local common=(-device "$2" -nobary -plan ../sky.plan -nowrite -q)
    case $1 in
    psrsearch) psrsearch -q -device "$2" -nobary -hidm "$dm" -zmax 200 -numharm 8 -ncands 50 -ffa none -o . ../sky.fil ;;
    fourier0) gpudedisp "${common[@]}" -accelsearch "-zmax 0 -numharm 8" -lists one -o x ../sky.fil ;;
    fourier200) gpudedisp "${common[@]}" -accelsearch "-zmax 200 -numharm 8" -lists one -o x ../sky.fil ;;
    pulses) gpudedisp "${common[@]}" -singlepulse -lists one -o x ../sky.fil ;;
    ffa) gpudedisp "${common[@]}" -ffa "" -o x ../sky.fil ;;
    pulscan) gpuaccel-pulscan -q -device "$2" -search matched -zmax 200 -numharm 8 -outdir . ../series/*.dat ;;
    fold) gpufold -q -device "$2" -nobary -noplot -cands ../cands.txt -o f ../sky.fil ;;
    esac
}

# Names, sizes and CRC-32 of what a run left, but for pages and records, which hold times and paths.
digest() {
    (cd "$1" && find . -type f ! -name '*.html' ! -name '*.steps.jsonl' ! -name '*.psrsearch.json' ! -name '*.log' |
        LC_ALL=C sort | xargs -d '\n' cksum)
}

# busy FILE N: the mean of each GPU, and its seconds in tens of per cent
busy() {
    awk -F, -v n="$2" '$1 + 0 < n { k = $1 + 0; sum[k] += $2; c[k]++; t[k] = t[k] sprintf("%s", $2 >= 95 ? "#" : int($2 / 10)) }
        END { for (k = 0; k < n; k++) if (c[k]) printf "    GPU %d: %3.0f %%  %s\n", k, sum[k] / c[k], t[k] }' "$1"
}

echo "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1) x $gpus, $(nproc) cores, $seconds s x 1024 channels"
sky || exit 1
echo "$(grep -vc '^#' sky.plan) lines of plan, $(stat -c %s sky.fil) bytes"
failed=0
for name in $jobs; do
    inputs "$name" || exit 1
    cat sky.fil >/dev/null
    first=
    for n in $counts; do
        rm -rf run && mkdir run
        nvidia-smi --query-gpu=index,utilization.gpu --format=csv,noheader,nounits -l 1 >busy.txt &
        watch=$!
        began=$EPOCHREALTIME
        (cd run && job "$name" "$(seq -s, 0 $((n - 1)))" >../log 2>&1) || {
            echo "$name on $n: failed: $(tail -1 log)"
            failed=1
        }
        ended=$EPOCHREALTIME
        kill $watch 2>/dev/null
        wait $watch 2>/dev/null
        digest run >digest.$n
        same=same
        if [ -z "$first" ]; then
            first=$n one=$(awk -v a="$began" -v b="$ended" 'BEGIN { print b - a }')
            same="$(wc -l <digest.$n) files"
            [ -s digest.$n ] || failed=1
        elif ! cmp -s digest.$first digest.$n; then
            same="DIFFERS: $(diff digest.$first digest.$n | head -3 | tr '\n' ' ')"
            failed=1
        fi
        awk -v name="$name" -v n="$n" -v a="$began" -v b="$ended" -v one="$one" -v same="$same" \
            'BEGIN { printf "%-11s %d GPU %7.2f s %5.2fx  %s\n", name, n, b - a, one / (b - a), same }'
        busy busy.txt "$n"
    done
done
exit $failed
