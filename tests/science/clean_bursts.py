#!/usr/bin/env python3
"""Bursts that gpudedisp finds in noise with -clean auto, beside no cleaning, and sparks that -clean auto leaves.

    tests/science/clean_bursts.py [-n BURSTS] [-k SPARKS] [-s SEED] [-j PROCESSES] >tests/science/clean_bursts.txt

D = S/N^2 (1 - 1/sqrt(1 + 0.462 (sweep/width)^2)) is the chi-squared by which a Gaussian pulse rejects DM 0.  BURSTS (default
200) of S/N 10 to 30 and DM 1 to 60 in three bands with D above 16, half as many with D of 4 to 16, a quarter with less; and
SPARKS (default 200) of the same S/N and widths at DM 0.
Needs psrkit's tools in PATH.
"""
import argparse
import math
import multiprocessing
import os
import random
import shutil
import subprocess
import tempfile

KDM, TSAMP, LENGTH_S = 1 / 2.41e-4, 256e-6, 8.0
BANDS = {"3196 to 2692": (3196, 64, -8), "1498 to 1180": (1498, 128, -2.5), "800 to 610": (800, 96, -2)}
CLASSES = [("above 16", 16, math.inf, 1), ("4 to 16", 4, 16, 2), ("below 4", 0, 4, 4)]
FOUND_AT = 6.0


def sweep_s(band, dm):
    fch1, nchan, foff = BANDS[band]
    return KDM * dm * ((fch1 + foff * (nchan - 1)) ** -2 - fch1**-2)


def rejection(snr, ratio):
    return snr**2 * (1 - 1 / math.sqrt(1 + 0.462 * ratio**2))


def draw(rng, least, most):
    """A burst whose D is in that range."""
    while True:
        b = {"band": rng.choice(sorted(BANDS)), "snr": rng.uniform(10, 30), "dm": 60 ** rng.random(),
             "width": 1e-3 * 30 ** rng.random(), "t": rng.uniform(4, 6), "seed": rng.randrange(1 << 30)}
        b["d"] = rejection(b["snr"], sweep_s(b["band"], b["dm"]) / b["width"])
        if least <= b["d"] < most:
            return b


def best_near(burst, flags):
    subprocess.run(["gpudedisp", "-q", "-ncpus", "1", "-nobary", *flags, "-lodm", "0", "-dmstep", "1.5", "-numdms", "45", "-threshold",
                    "5", "-singlepulse", "-nowrite", "-o", "x", "b.fil"], check=True, stdout=subprocess.DEVNULL)
    rows = [line.split("\t") for line in open("x.cand") if not line.startswith("#")]
    near = burst["width"] + 2 * sweep_s(burst["band"], burst["dm"]) + 5e-3
    return max([float(r[0]) for r in rows if abs(float(r[2]) - burst["t"]) < near], default=0)


def measure(burst):
    """S/N without and with cleaning."""
    fch1, nchan, foff = BANDS[burst["band"]]
    where = tempfile.mkdtemp(prefix="psrkit-clean.")
    os.chdir(where)
    try:
        subprocess.run(["fakebin", "-q", "-seed", str(burst["seed"]), "-period", "0", "-nbits", "8", "-nchans", str(nchan), "-fch1",
                        str(fch1), "-foff", str(foff), "-tsamp", "256", "-tobs", str(LENGTH_S), "-add",
                        "burst t=%.6f dm=%.4f width=%.6f snr=%.3f" % tuple(burst[k] for k in ("t", "dm", "width", "snr")),
                        "-o", "b.fil"], check=True, stdout=subprocess.DEVNULL)
        return burst, best_near(burst, []), best_near(burst, ["-clean", "auto"])
    finally:
        os.chdir("/")
        shutil.rmtree(where)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=200)
    p.add_argument("-k", type=int, default=200)
    p.add_argument("-s", type=int, default=2026)
    p.add_argument("-j", type=int, default=1)
    p.add_argument("-v", action="store_true", help="print each burst that is lost")
    a = p.parse_args()
    rng = random.Random(a.s)
    print("Bursts of S/N 10 to 30, DM 1 to 60, 1 to 30 ms in noise, found above %g; seed %d" % (FOUND_AT, a.s))
    print("\n%-12s %-14s %7s %7s %7s %7s" % ("D", "band (MHz)", "bursts", "plain", "auto", "lost"))
    with multiprocessing.Pool(a.j) as pool:
        for name, least, most, part in CLASSES:
            total = {b: [0, 0, 0, 0] for b in (*sorted(BANDS), "all")}
            for b, plain, auto in pool.imap(measure, [draw(rng, least, most) for _ in range(a.n // part)]):
                lost = plain > FOUND_AT and auto <= FOUND_AT
                for k in (b["band"], "all"):
                    for i, x in enumerate((1, plain > FOUND_AT, auto > FOUND_AT, lost)):
                        total[k][i] += x
                if a.v and lost:
                    print("# D %.1f S/N %.1f (plain %.1f) dm %.2f width %.4f sweep/width %.2f %s seed %d t %.4f" % (
                        b["d"], b["snr"], plain, b["dm"], b["width"], sweep_s(b["band"], b["dm"]) / b["width"], b["band"],
                        b["seed"], b["t"]), flush=True)
            for k, c in total.items():
                print("%-12s %-14s %7d %7d %7d %7d" % (name, k, *c), flush=True)
        sparks = []
        for _ in range(a.k):
            b = draw(rng, 0, math.inf)
            b["dm"] = 0
            sparks.append(b)
        told = list(pool.imap(measure, sparks))
        print("\n%d sparks (DM 0): %d above %g without cleaning, %d with" % (
            a.k, sum(t[1] > FOUND_AT for t in told), FOUND_AT, sum(t[2] > FOUND_AT for t in told)))


if __name__ == "__main__":
    main()
