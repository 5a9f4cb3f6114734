#!/usr/bin/env python3
"""Pulses of two DMs that cross in time: how many of them are rows of their own.

    crossing.py BIN DIR [SET,...]

BIN: folder of fakebin and gpudedisp; DIR: folder for their files.  Of each set, 5 pairs in white noise; the second pulse
is earlier at the highest frequency, so that both meet at a share of the sweep.  A pulse is found if a row has its DM,
within two trials or the DM that delays it by two widths, its time, within two widths, and 0.6 of its S/N.  Other rows
are those within 0.3 s of a pair.  The last line sums up.
"""
import subprocess
import sys

K = 1 / 2.41e-4
# name; fch1, foff, tsamp in us, step and number of DMs; DM, width and S/N of each; where they cross
SETS = [
    ("middle", 1500, -4.6875, 256, 0.5, 120, (10, 2e-3, 15), (40, 2e-3, 15), 0.5),
    ("top", 1500, -4.6875, 256, 0.5, 120, (10, 2e-3, 15), (40, 2e-3, 15), 0.1),
    ("bottom", 1500, -4.6875, 256, 0.5, 120, (10, 2e-3, 15), (40, 2e-3, 15), 0.9),
    ("near", 1500, -4.6875, 256, 0.5, 120, (20, 2e-3, 15), (36, 2e-3, 15), 0.5),
    ("weaker", 1500, -4.6875, 256, 0.5, 120, (10, 2e-3, 15), (40, 2e-3, 10), 0.5),
    ("weak", 1500, -4.6875, 256, 0.5, 120, (10, 2e-3, 10), (40, 2e-3, 10), 0.5),
    ("bright", 1500, -4.6875, 256, 0.5, 120, (10, 2e-3, 60), (40, 2e-3, 20), 0.5),
    ("far", 1500, -4.6875, 256, 1, 200, (30, 2e-3, 15), (150, 2e-3, 15), 0.5),
    ("wide", 1500, -4.6875, 256, 0.5, 120, (10, 2e-3, 15), (40, 6e-3, 15), 0.5),
    ("800 MHz", 800, -3, 512, 0.5, 120, (20, 4e-3, 15), (32, 4e-3, 15), 0.5),
]
TIMES = [8 + 9 * k for k in range(5)]


def delay(dm, mhz):
    return K * dm / mhz / mhz


def make(path, tools, row):
    _, fch1, foff, tsamp, _, _, a, b, share = row
    low = fch1 + 63 * foff
    mhz = (fch1**-2 + share * (low**-2 - fch1**-2)) ** -0.5
    earlier = delay(b[0] - a[0], mhz) - delay(b[0] - a[0], fch1)
    truth, adds = [], []
    for t in TIMES:
        for (dm, width, snr), at in ((a, t), (b, t - earlier)):
            truth.append((at, dm, width, snr))
            adds += ["-add", f"burst t={at:.6f} dm={dm} width={width} snr={snr}"]
    subprocess.run([tools + "/fakebin", "-q", "-seed", "9", "-period", "0", "-nbits", "8", "-nchans", "64", "-fch1",
                    str(fch1), "-foff", str(foff), "-tsamp", str(tsamp), "-tobs", "55", "-o", path, *adds], check=True)
    return truth


def score(row, truth, rows):
    _, fch1, foff, _, step, *_ = row
    each = delay(1, fch1 + 63 * foff) - delay(1, fch1)
    used = set()
    for at, dm, width, snr in truth:
        for i, r in enumerate(rows):
            if (i not in used and abs(r[5] - dm) < max(2 * step, 2 * width / each)
                    and abs(r[2] - at) < 2 * width + 0.002 and r[0] > 0.6 * snr):
                used.add(i)
                break
    others = sum(i not in used and any(abs(r[2] - t) < 0.3 for t in TIMES) for i, r in enumerate(rows))
    return len(used), others


def main():
    tools, folder = sys.argv[1:3]
    wanted = sys.argv[3].split(",") if len(sys.argv) > 3 else None
    total = [0, 0, 0]
    for row in SETS:
        if wanted and row[0] not in wanted:
            continue
        truth = make(folder + "/x.fil", tools, row)
        subprocess.run([tools + "/gpudedisp", "-q", "-nobary", "-lodm", "0", "-dmstep", str(row[4]), "-numdms",
                        str(row[5]), "-singlepulse", "-nowrite", "-o", folder + "/x", folder + "/x.fil"], check=True)
        with open(folder + "/x.cand") as f:
            rows = [[float(x) for x in line.split("\t")[:9]] for line in f if not line.startswith("#")]
        found, others = score(row, truth, rows)
        total = [total[0] + found, total[1] + len(truth), total[2] + others]
        print(f"{row[0]:10s} {found:3d} of {len(truth)}, other rows {others}", flush=True)
    print(f"{'all':10s} {total[0]:3d} of {total[1]}, other rows {total[2]}")


main()
