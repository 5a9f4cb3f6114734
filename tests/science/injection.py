#!/usr/bin/env python3
"""S/N of bursts that fbedit -add injects, asked for against measured at their time, DM and width, by S/N, width and bits.

injection.py BIN [FILE.fil...]: BIN is the folder of the programs; files are real ones of 1 to 8 bits.  Prints the table of injection.txt.

The S/N is that of the best boxcar on the noiseless pulse: channels less their mean and over their scatter, dedispersed, summed over the boxcar, over the
square root of how many samples these are.  "added" is that of what the injection changed, without the noise; "found" is that
of the samples, noise and all.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from check_edits import read_filterbank

SNRS, WIDTHS_MS, BURSTS, DM = (6, 8, 12, 20, 30), (1, 4, 16, 64), 24, 40.0

# What a sample has room for above its mean, in its scatter: beyond it no signal is larger.
ROOM = {1: 0.8, 2: 1.2}


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def load(path):
    with open(path, "rb") as f:
        return read_filterbank(f.read())


def series_of(x, scatter, f, tsamp):
    """Dedispersed sums of channels over their scatter, over the root of their number; as long as the largest delay allows."""
    good = scatter > 0
    delay = np.rint(DM / 2.41e-4 * (1 / f**2 - 1 / f.max() ** 2) / tsamp).astype(int)
    n = len(x) - delay.max()
    total = np.zeros(n)
    for c in np.flatnonzero(good):
        total += x[delay[c]:delay[c] + n, c] / scatter[c]
    return total / np.sqrt(good.sum())


def best_box(series, at, most):
    """First sample and width of the boxcar of the largest S/N near a sample."""
    low = max(0, at - 3 * most)
    total = np.concatenate([[0], np.cumsum(series[low:at + 3 * most + 8])])
    best = (-1, 0, 1)
    for w in range(1, 3 * most + 2):
        s = (total[w:] - total[:-w]) / np.sqrt(w)
        k = int(s.argmax())
        best = max(best, (s[k], low + k, w))
    return best[1:]


def measure(bin_, noise, snr, width_ms, bursts, spacing_s, before_digitising=0, begin_s=1.0):
    """Ratios of each burst: added, and found."""
    fbedit = os.path.join(bin_, "fbedit")
    x, nbits, keys = load(noise)
    if before_digitising:
        run(fbedit, "-q", "-nbits", "32", "-o", "whole.fil", noise)
    times = [begin_s + spacing_s * k for k in range(bursts)]
    add = [word for t in times for word in ("-add", f"burst dm={DM} t={t} width={width_ms}e-3 snr={snr}")]
    run(fbedit, "-q", "-nbits", "32", "-o", "floats.fil", noise)
    run(fbedit, "-q", "-seed", "1", *add, "-o", "exact.fil", "floats.fil")
    if before_digitising:
        run(fbedit, "-q", "-nbits", str(before_digitising), "-o", "low.fil", noise)
        run(fbedit, "-q", "-nbits", str(before_digitising), "-o", "added.fil", "exact.fil")
        x = load("low.fil")[0]
    else:
        run(fbedit, "-q", "-seed", "1", *add, "-o", "added.fil", noise)
    y, floats, exact = load("added.fil")[0], load("floats.fil")[0], load("exact.fil")[0]
    f = keys["fch1"] + keys["foff"] * np.arange(x.shape[1])
    tsamp, scatter = keys["tsamp"], x.std(0)
    pulse = series_of(exact - floats, floats.std(0), f, tsamp)
    added, found = series_of(y - x, scatter, f, tsamp), series_of(y - x.mean(0), scatter, f, tsamp)
    most = max(2, int(width_ms * 1e-3 / tsamp))
    ratios = []
    for t in times:
        at = int(t / tsamp)
        if at + 3 * most + 8 > len(pulse):
            continue
        first, w = best_box(pulse, at, most)
        ratios.append([s[first:first + w].sum() / np.sqrt(w) / snr for s in (added, found)])
    return np.array(ratios)


def tell(name, r):
    """Means, with the error of the mean."""
    error = r.std(0, ddof=1) / np.sqrt(len(r))
    print(f"{name:34s} {len(r):5d}  {r[:, 0].mean():.3f} +- {error[0]:.3f}  {r[:, 1].mean():.3f} +- {error[1]:.3f}", flush=True)


def made(bin_, nbits):
    name = f"noise{nbits}.fil"
    run(os.path.join(bin_, "fakebin"), "-q", "-period", "0", "-nchans", "64", "-nbits", str(nbits), "-tobs", "60", "-tsamp",
        "1000", "-fch1", "1500", "-foff", "-2", "-seed", str(nbits), "-o", name)
    return name


def main():
    bin_, files = os.path.abspath(sys.argv[1]), [os.path.abspath(p) for p in sys.argv[2:]]
    os.chdir(tempfile.mkdtemp())
    print("# noise of 64 channels                bursts  added / asked   found / asked")
    rows = {}
    for nbits in (1, 2, 4, 8, 16, 32):
        noise = made(bin_, nbits)
        for snr in SNRS:
            for width in WIDTHS_MS:
                rows[nbits, snr, width] = measure(bin_, noise, snr, width, BURSTS, 2.2)
        fits = {key: r for key, r in rows.items()
                if key[0] == nbits and key[1] / np.sqrt(64 * key[2]) <= ROOM.get(nbits, np.inf)}
        tell(f"{nbits} bits", np.concatenate(list(fits.values())))
        if nbits in ROOM:
            rest = [r for key, r in rows.items() if key[0] == nbits and key not in fits]
            tell(f"{nbits} bits, no room for so much", np.concatenate(rest))
    many = [4, 8, 16, 32]
    for snr in SNRS:
        tell(f"S/N {snr}, 4 to 32 bits", np.concatenate([r for (b, s, _), r in rows.items() if b in many and s == snr]))
    for width in WIDTHS_MS:
        tell(f"{width} samples, 4 to 32 bits", np.concatenate([r for (b, _, w), r in rows.items() if b in many and w == width]))
    print("# injected into floats, which were digitised then; 16 samples, S/N 6 to 12: no more than 0.4 of the scatter of a sample")
    for nbits in (1, 2, 4, 8):
        r = [measure(bin_, "noise32.fil", snr, 16, BURSTS, 2.2, nbits) for snr in SNRS[:3]]
        tell(f"to {nbits} bits", np.concatenate(r))
    print("# real files; 4 and 16 ms, all S/N")
    for path in files:
        x, nbits, keys = load(path)
        n = int((len(x) * keys["tsamp"] - 0.5) / 0.15)
        r = [measure(bin_, path, snr, width, n, 0.15, begin_s=0.2) for snr in SNRS for width in (4, 16)]
        tell(f"{os.path.basename(path)}, {nbits} bits", np.concatenate(r))


if __name__ == "__main__":
    main()
