#!/usr/bin/env python3
"""What gpudedisp -clean auto makes of real skies, beside no cleaning and beside rfifind's mask.

    tests/science/clean_auto.py FOLDER [N] >tests/science/clean_auto.txt

FOLDER holds parkes_8bit_1.fil, parkes_4bit.fil, parkes_2bit.fil and parkes_1bit.fil, 28.fil and
askap_frb180417_beam29.fil.  N bursts (default 20) of S/N 8 to 20 are added to copies of the first, one a
copy, and to noise of the same shape.  Needs numpy, psrkit's tools and PRESTO's rfifind in PATH.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

CRAB = "-nobary -lodm 0 -dmstep 0.5 -numdms 240 -threshold 5"
FRB = "-nobary -lodm 440 -dmstep 0.5 -numdms 140 -threshold 5"
NCHAN, TSAMP, FCH1, FOFF, KDM = 832, 512e-6, 4030.0, -4.0, 1 / 2.41e-4
SEED, FOUND_AT = 2026, 6.0


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def search(path, flags, clean):
    """Rows of the .cand file: S/N, time, DM."""
    run("gpudedisp", "-q", *clean.split(), *flags.split(), "-singlepulse", "-nowrite", "-o", "x", path)
    rows = [line.split("\t") for line in open("x.cand") if not line.startswith("#")]
    return [(float(r[0]), float(r[2]), float(r[5])) for r in rows]


def mask_of(path):
    """The flags that apply rfifind's mask."""
    run("rfifind", "-time", "0.25", "-o", "x", path)
    return "-mask x_rfifind.mask"


def say(name, how, rows):
    counts = [sum(r[0] > s for r in rows) for s in (5, 7, 8)]
    best = max(rows, default=(0, 0, 0))
    print("%-28s %-8s %4d %4d %4d   %6.2f at DM %g, %.3f s" % (name, how, *counts, *(best[0], best[2], best[1])))


def real_files(folder):
    print("%-28s %-8s %4s %4s %4s   best" % ("clusters above", "", "5", "7", "8"))
    for depth in ("8bit_1", "4bit", "2bit", "1bit"):
        name = "parkes_%s.fil" % depth
        path = os.path.join(folder, name)
        for how, clean in (("plain", ""), ("auto", "-clean auto"), ("mask", mask_of(path))):
            say(name, how, search(path, CRAB, clean))
    for name in ("28.fil", "askap_frb180417_beam29.fil"):
        path = os.path.join(folder, name)
        for how, clean in (("plain", ""), ("auto", "-clean auto")):
            say(name, how, search(path, FRB, clean))


def read(path):
    data = open(path, "rb").read()
    start = data.index(b"HEADER_END") + 10
    return data[:start], np.frombuffer(data[start:], np.uint8).reshape(-1, NCHAN)


def add_burst(x, rng, snr, dm, t, width):
    """A top hat of the same height in every channel, in units of its robust scatter."""
    sigma = 1.4826 * np.median(np.abs(x - np.median(x, 0)), 0)
    height = snr / np.sqrt(NCHAN * width)
    y = x + rng.uniform(-0.5, 0.5, x.shape)  # so that what is added is not rounded away
    f = FCH1 + FOFF * np.arange(NCHAN)
    first = np.rint((t + KDM * dm * (f**-2 - FCH1**-2)) / TSAMP).astype(int)
    for c in range(NCHAN):
        y[first[c] : first[c] + width, c] += height * sigma[c]
    return np.clip(np.rint(y), 0, 255).astype(np.uint8)


def inject(folder, n):
    """Bursts into copies of a file and into noise; found and false."""
    rng = np.random.default_rng(SEED)
    sky = read(os.path.join(folder, "parkes_8bit_1.fil"))
    ways = {"plain": "", "auto": "-clean auto", "mask": None}
    found = {("sky", w): 0 for w in ways} | {("noise", w): 0 for w in ("plain", "auto")}
    false = dict.fromkeys(found, 0)
    for i in range(n):
        run("fakebin", "-q", "-seed", str(i), "-period", "0", "-nchans", str(NCHAN), "-nbits", "8", "-tsamp", "512",
            "-tobs", "2.097152", "-fch1", "4030", "-foff", "4", "-o", "noise.fil")
        burst = (rng.uniform(8, 20), rng.uniform(20, 110), rng.uniform(0.1, 0.9), int(2 ** rng.uniform(0, 5)))
        for place, (header, x) in (("sky", sky), ("noise", read("noise.fil"))):
            with open("b.fil", "wb") as f:
                f.write(header + add_burst(x.astype(float), rng, *burst).tobytes())
            for way in [w for p, w in found if p == place]:
                clean = mask_of("b.fil") if way == "mask" else ways[way]
                rows = [r for r in search("b.fil", CRAB, clean) if r[0] > FOUND_AT]
                mine = [abs(r[1] - burst[2] - burst[3] * TSAMP / 2) < 0.02 and abs(r[2] - burst[1]) < 10 for r in rows]
                found[place, way] += any(mine)
                false[place, way] += len(rows) - sum(mine)
    print("\n%d bursts of S/N 8 to 20, DM 20 to 110, 0.5 to 16 ms, in copies of parkes_8bit_1.fil and in noise;" % n)
    print("clusters above %g within 20 ms and DM 10 of the burst count as found, others as false\n" % FOUND_AT)
    print("%-8s %-8s %6s %16s" % ("in", "", "found", "false per copy"))
    for place, way in found:
        print("%-8s %-8s %6d %16.2f" % (place, way, found[place, way], false[place, way] / n), flush=True)


def main():
    folder = os.path.realpath(sys.argv[1])
    where = tempfile.mkdtemp(prefix="psrkit-clean.")
    os.chdir(where)
    try:
        print("gpudedisp %s; of the ASKAP files %s" % (CRAB, FRB))
        print("plain: clipping only; auto: -clean auto; mask: rfifind -time 0.25, and clipping\n")
        real_files(folder)
        inject(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    finally:
        shutil.rmtree(where)


main()
