#!/usr/bin/env bash
# fbedit beside what others edit filterbanks with: seconds of processor time and of the clock, medians of runs that take turns.  One thread,
# 8 bits, files in memory.  Peers that are not in PATH are left out: decimate (SIGPROC), downsample_filterbank.py (PRESTO), filtool (PulsarX),
# your_writer.py (your), which only cuts here: it does not sum yet, and its zero-DM and flagging take minutes.  Run from the build folder; needs 2 GB under TMPDIR.
#   TMPDIR=/dev/shm bench_fbedit_peers.sh [REPEATS]
# shellcheck source=tests/bench/bench.bash
source "$(dirname "${BASH_SOURCE[0]}")/bench.bash"
TIMEFORMAT='%U %S %R'
export OMP_NUM_THREADS=1
in=$dir/in.fil
fakebin -period 0 -nbits 8 -seed 1 -nchans 1024 -tsamp 256 -tobs 120 -fch1 1500 -foff -0.3 -o "$in"
cd "$dir" || exit 1

edit() { fbedit -q -ncpus 1 -o out.fil "$@" in.fil; }
sigproc() { "$@" >out.fil; }
tool() { filtool -t 1 -l 2 -o out -f in.fil "$@"; }
your() { your_writer.py -f in.fil -o . -name out --no_progress --no_log_file "$@"; }
rows=('a minute cut out|edit -start 30 -end 90' 'a minute cut out|your -t fil -nstart 117188 -nsamp 234375'
    'sums of 8 spectra|edit -tdecimate 8' 'sums of 8 spectra|sigproc decimate in.fil -c 1 -t 8' 'sums of 8 spectra|downsample_filterbank.py 8 in.fil'
    'sums of 8 spectra|tool --td 8'
    'sums of 4 channels|edit -fdecimate 4' 'sums of 4 channels|sigproc decimate in.fil -c 4' 'sums of 4 channels|tool --fd 4'
    'to 4 bits|edit -nbits 4' 'to 4 bits|sigproc decimate in.fil -c 1 -n 4' 'to 4 bits|tool --nbits 4 --mean 6 --std 2'
    'zero-DM|edit -zerodm' 'zero-DM|tool -z zero'
    'cleaned|edit -clean auto' 'cleaned|tool -z kadaneF 8 4 zdot')
program() { # of a command, as it is called in the table
    case $1 in
    edit | fbedit) echo fbedit ;;
    sigproc) echo "$2" ;;
    tool) echo filtool ;;
    your) echo your_writer.py ;;
    *) echo "$1" ;;
    esac
}
for _ in $(seq "$repeats"); do
    for k in "${!rows[@]}"; do
        read -ra command <<<"${rows[k]#*|}"
        command -v "$(program "${command[@]}")" >/dev/null || continue
        { time "${command[@]}" >/dev/null 2>"$dir/messages"; } 2>"$dir/time" || { echo "${command[*]} failed: $(tail -n 1 "$dir/messages")" >&2; continue; }
        awk '{ print $1 + $2, $3 }' "$dir/time" >>"$dir/times.$k"
        [ -n "$(find . ! -name in.fil -size +100k)" ] || echo "${command[*]} wrote nothing" >&2
        rm -f out* .out* in_DS8.fil
    done
done
printf '%-20s %-26s %8s %8s\n' work program cpu_s clock_s
for k in "${!rows[@]}"; do
    read -ra command <<<"${rows[k]#*|}"
    [ ! -s "$dir/times.$k" ] || printf '%-20s %-26s %8.2f %8.2f\n' "${rows[k]%%|*}" "$(program "${command[@]}")" \
        "$(cut -d ' ' -f 1 "$dir/times.$k" | middle)" "$(cut -d ' ' -f 2 "$dir/times.$k" | middle)"
done
