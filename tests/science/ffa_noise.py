#!/usr/bin/env python3
"""Series of noise, and stacks of them, in which gpuffa has a false alarm at its default threshold, by bins and length.
   ffa_noise.py [SERIES [SEED]]     in a folder of its own; needs numpy"""
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

from made_inf import INF

nseries = int(sys.argv[1]) if len(sys.argv) > 1 else 600
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 2
rng = np.random.default_rng(seed)
tsamp_s = 1e-3


def write(n, of, bins, lo, hi, series, alarms):
    share = alarms / series
    trials = math.log(1 - share) / math.log(0.9) if share < 1 else math.inf
    print(f"{n}\t{of}\t{bins}\t{lo:.3f}-{hi:.2f}\t{series}\t{alarms}\t{share:.3f}\t{trials:.2f}", flush=True)


def has_rows(path):
    if not os.path.exists(path):
        return False
    with open(path) as f:
        rows = sum(1 for _ in f)
    os.remove(path)
    return rows > 1


def count(names, bins, lo, hi, folder):
    write(n, 1, bins, lo, hi, len(names), sum(has_rows(f"{folder}/{name}_ffa.csv") for name in names))


def count_stacks(names, bins, lo, hi, folder):
    """Stacks of two and of five epochs."""
    for of in (2, 5):
        alarms, stacks = 0, len(names) // of
        for k in range(stacks):
            some = [f"{name}.dat" for name in names[of * k : of * (k + 1)]]
            subprocess.run(["gpuffa", "-q", "-stack", "-o", "all", "-bmin", str(bins), "-pmin", str(lo), "-pmax", str(hi), *some],
                           cwd=folder, check=True)
            alarms += has_rows(f"{folder}/all_ffa.csv")
        write(n, of, bins, lo, hi, stacks, alarms)


print(f"# {nseries} series of 2^16 and 2^18 samples, half as many of 2^20, seed {seed}; "
      "trials: those that a bin and shift stands for, if the threshold were right at 1")
print("# samples\tepochs\tbins\tperiods_s\tseries\twith_alarm\tshare\ttrials")
for log2 in (16, 18, 20):
    n, most = 1 << log2, nseries // 2 if log2 == 20 else nseries
    with tempfile.TemporaryDirectory(dir=".") as folder:
        names = [f"n{i}" for i in range(most)]
        for name in names:
            rng.standard_normal(n, dtype=np.float32).tofile(f"{folder}/{name}.dat")
            with open(f"{folder}/{name}.inf", "w") as f:
                f.write(INF.format(root=name, made="noise", n=n, dt=tsamp_s, dm=0, note=""))
        with open(f"{folder}/list", "w") as f:
            f.writelines(f"{name}.dat\n" for name in names)
        for bins in (16, 32, 48, 64, 96, 128, 180, 240, 360, 520, 1000):
            lo = 1.02 * bins * tsamp_s
            hi = min(n * tsamp_s / 10, max(8 * lo, 2))
            if hi < 1.5 * lo:
                continue
            subprocess.run(["gpuffa", "-q", "-bmin", str(bins), "-pmin", str(lo), "-pmax", str(hi), "-files", "list"],
                           cwd=folder, check=True)
            count(names, bins, lo, hi, folder)
            if log2 == 16:
                count_stacks(names, bins, lo, hi, folder)
