#!/usr/bin/env bash
# What PRESTO's show_pfd, get_TOAs.py and prepfold.py make of gpufold's .pfd and of prepfold's, folded alike.  Needs PRESTO's
# programs and get_TOAs.py in PATH, its python modules in PYTHONPATH, and gpufold and fakebin.  Prints what fold_consumers.txt holds.
set -euo pipefail
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"

making=(fakebin -q -seed 11 -tobs 120 -tsamp 512 -nchans 64 -nbits 8 -fch1 1500 -foff 2 -period 0
    -add "pulsar period=0.0893 dm=68 width=0.0045 snr=60" -o c.fil)
"${making[@]}"
options="-topo -nopsearch -nopdsearch -p 0.0893 -dm 68 -n 64 -nsub 16 -npart 8"
echo "== $options"
gpufold -q -compat presto $options -o our c.fil
prepfold -noxwin $options -o their c.fil >log 2>&1
for f in our their; do
    pfd=${f}_89.30ms_Cand.pfd
    echo "== get_TOAs.py -n 8 -s 1 -g 0.05 $pfd"
    get_TOAs.py -n 8 -s 1 -g 0.05 "$pfd"
    echo "== show_pfd -noxwin -killparts 1 $pfd"
    show_pfd -noxwin -killparts 1 "$pfd" 2>&1 | grep -i 'folded\|best\|chi' || :
    echo "== prepfold.pfd: candidate, shape, period, DM, reduced chi-squared, first bins, correction, fit for timing"
    python3 - "$pfd" <<'END'
import sys
from presto.prepfold import pfd
p = pfd(sys.argv[1])
p.dedisperse()
p.adjust_period()
print(p.candnm, p.npart, p.nsub, p.proflen, "%.12g %.6g %.6f" % (p.curr_p1, p.bestdm, p.calc_redchi2()),
      " ".join("%.5g" % x for x in p.sumprof[:4]), "%.9f" % p.DOF_corr(), p.use_for_timing())
END
done
