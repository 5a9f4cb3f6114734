#!/usr/bin/env python3
"""Sifts the candidates of accelsearch in this folder with accelsift.  Copy it and edit the numbers."""
import glob
import subprocess
import sys

globaccel = "*ACCEL_*0"  # lists of candidates
min_num_DMs = 2  # DMs at which a candidate must be found
low_DM_cutoff = 2.0  # lowest DM of a pulsar
sigma_threshold = 4.0
c_pow_threshold = 100.0  # coherent power that keeps one harmonic of a lower sigma
known_birds_p = []  # (period, error) in ms
known_birds_f = []  # (frequency, error) in Hz
r_err = 1.1  # bins within which two candidates are one
short_period = 0.0005  # s
long_period = 15.0  # s
harm_pow_cutoff = 8.0  # power that one harmonic must have

# PRESTO's list, but that PRESTO looks at no known birds.
options = ["-q"] if known_birds_p + known_birds_f else ["-q", "-compat", "presto"]
for name in ("min_num_DMs", "low_DM_cutoff", "sigma_threshold", "c_pow_threshold", "r_err", "short_period",
             "long_period", "harm_pow_cutoff"):
    options += ["-" + name, str(globals()[name])]
for name in ("known_birds_p", "known_birds_f"):
    for value, error in globals()[name]:
        options += ["-" + name, "%.17g,%.17g" % (value, error)]
lists = sorted(glob.glob(globaccel))
if not lists:
    sys.exit("ACCEL_sift.py: no list is named " + globaccel)
try:
    sys.exit(subprocess.call(["accelsift"] + options + lists))
except OSError as why:
    sys.exit("ACCEL_sift.py: accelsift: %s" % why.strerror)
