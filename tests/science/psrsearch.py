#!/usr/bin/env python3
"""What psrsearch finds of pulsars and bursts that were put into skies of every kind, and what it finds in empty ones.

    tests/science/psrsearch.py FOLDER [-k] [-o "OPTIONS OF PSRSEARCH"] [SKY...] >tests/science/psrsearch.txt

FOLDER holds parkes_8bit_1.fil, 28.fil and gbt_lband/Lband_topo_DM0.00.dat.  Five files have four pulsars and two bursts each:
    quiet   fakebin: noise
    made    fakebin: every kind of interference, of strengths measured in real files (interference.txt)
    parkes  blocks of the real file in random order, and signals that this script adds
    askap   the same, without the real burst
    gbt     made by this script alone: noise, with the GBT's real interference (28.76, 60, 171, 178.5 Hz) in every channel
and five more are of the same skies without signals.  psrsearch searches each, as a user would, with its defaults and the
range of DMs; the page's table of candidates is read.  A pulsar is found if a row has its frequency, or a ratio of it, which is named, to 1.5 / T
and its DM as well as pulse and band allow, and is not marked as interference; a burst, if a row has its time and DM.  Bursts at the DMs of pulsars above 0.3 s
count as pulses of these, and not as false.  The first page is the first 20 rows of candidates without marks.
-k keeps the folders of the searches.  Needs numpy and psrkit's tools in PATH."""
import argparse
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from fractions import Fraction

import numpy as np

from clean_auto import MEASURED

SEED, KDM, LIGHT, FIRST_PAGE = 20261, 1 / 2.41e-4, 299792458.0, 20
GBT_BIRDS_HZ = (28.760, 59.991, 170.987, 178.495)

# period s, DM, width as a share of the period, S/N, acceleration m/s^2 or the keys of an orbit
QUIET = [
    (0.00537, 61.3, 0.12, 24, 0), (2.713, 92.0, 0.03, 25, 0), (0.3319, 27.5, 0.04, 16, 0),
    (0.0082, 44.0, 0.10, 26, "bper=0.2 bpmass=1.4 bcmass=0.8 bphase=0.3")]  # fmt: skip
MADE = [
    (0.0153, 83.1, 0.08, 26, 0), (1.127, 38.2, 0.04, 26, 0), (0.0893, 21.7, 0.05, 20, 0),
    (0.0251, 67.4, 0.06, 30, "bper=0.2 bpmass=1.4 bcmass=1.4 bphase=0.7")]  # fmt: skip
PARKES = [
    (0.0121, 155.0, 0.10, 26, 0), (0.2471, 330.0, 0.05, 22, 0), (1.613, 210.0, 0.03, 26, 0), (0.0337, 96.0, 0.08, 26, 9000.0)]
ASKAP = [
    (0.0487, 120.0, 0.08, 26, 0), (0.7133, 265.0, 0.03, 22, 0), (2.217, 188.0, 0.03, 26, 0), (0.0911, 342.0, 0.06, 26, 8000.0)]
GBT = [
    (0.00713, 48.0, 0.10, 26, 0), (0.1237, 74.0, 0.05, 20, 0), (1.441, 31.0, 0.03, 24, 0), (0.0169, 59.0, 0.08, 26, -6000.0)]
# time of the centre in the highest channel s, DM, width s, S/N
BURSTS = {
    "quiet": [(17.31, 87.0, 4e-3, 12), (41.77, 33.0, 1e-3, 10)], "made": [(11.93, 52.0, 2e-3, 14), (36.4, 98.0, 8e-3, 14)],
    "parkes": [(6.1, 260.0, 4e-3, 14), (19.7, 120.0, 2e-3, 12)], "askap": [(13.2, 310.0, 4e-3, 14), (38.9, 150.0, 8e-3, 12)],
    "gbt": [(9.3, 66.0, 3e-3, 14), (25.1, 40.0, 1.5e-3, 12)]}  # fmt: skip


class Sky:
    """A band, a sampling, and what is in it."""

    def __init__(self, name, pulsars, hidm, nchan, fch1, foff, tsamp, tobs, make):
        self.name, self.pulsars, self.hidm, self.make = name, pulsars, hidm, make
        self.nchan, self.fch1, self.foff, self.tsamp, self.tobs = nchan, fch1, foff, tsamp, tobs

    def sweep(self, dm):
        """Seconds from the highest to the lowest channel."""
        return KDM * dm * ((self.fch1 - self.foff * (self.nchan - 1)) ** -2 - self.fch1**-2)


# --- fakebin --------------------------------------------------------------------------------------


def fakebin(sky, path, signals, folder, rng):
    del folder, rng
    words = ["fakebin", "-q", "-seed", str(SEED + (not signals)), "-period", "0", "-nchans", str(sky.nchan), "-nbits", "8", "-tsamp",
             "%.3f" % (sky.tsamp * 1e6), "-tobs", str(sky.tobs), "-fch1", str(sky.fch1), "-foff", str(sky.foff)]  # fmt: skip
    for period, dm, width, snr, orbit in sky.pulsars if signals else ():
        words += ["-add", "pulsar period=%.9g dm=%g width=%.6g snr=%g %s" % (period, dm, period * width, snr, orbit or "")]
    for t, dm, width, snr in BURSTS[sky.name] if signals else ():
        words += ["-add", "burst t=%g dm=%g width=%g snr=%g" % (t, dm, width, snr)]
    for kind in MEASURED if sky.name == "made" else ():
        words += ["-rfi", kind]
    subprocess.run(words + ["-truth", path + ".truth", "-o", path], check=True)
    if not signals:
        return []
    with open(path + ".truth", encoding="ascii") as f:
        rows = [line.split() for line in f if not line.startswith("#")]
    with open(path + ".truth", encoding="ascii") as f:
        head = next(line for line in f if line.startswith("#kind")).lstrip("#").split()
    # The frequency of a drifting pulsar is that of the middle, as the search states it.
    return [float(r[head.index("middle_hz")]) for r in rows if r[0] == "pulsar"]


# --- a generator of its own -------------------------------------------------------------------------


def write_filterbank(path, sky, x):
    def text(s):
        return np.int32(len(s)).tobytes() + s.encode()

    with open(path, "wb") as f:
        f.write(text("HEADER_START") + text("source_name") + text("made"))
        for key, value in (("machine_id", 0), ("telescope_id", 0), ("data_type", 1), ("nchans", sky.nchan), ("nbits", 8), ("nifs", 1),
                           ("nbeams", 1), ("ibeam", 1)):  # fmt: skip
            f.write(text(key) + np.int32(value).tobytes())
        for key, value in (("fch1", sky.fch1), ("foff", -sky.foff), ("tstart", 57000.0), ("tsamp", sky.tsamp)):
            f.write(text(key) + np.float64(value).tobytes())
        f.write(text("HEADER_END") + x.tobytes())


def read_filterbank(path, nchan):
    data = open(path, "rb").read()
    return np.frombuffer(data[data.index(b"HEADER_END") + 10 :], np.uint8).reshape(-1, nchan)


def shuffle(x, n, rng):
    """n spectra: stretches of 50 to 400 spectra of x from random places."""
    out = []
    while sum(map(len, out)) < n:
        length = int(rng.integers(50, 400))
        first = int(rng.integers(0, len(x) - length))
        out.append(x[first : first + length])
    return np.concatenate(out)[:n].astype(np.float32)


def add_signals(y, sky, sigma, rng):
    """Gaussian pulses of the same S/N in every channel; widths grow by what a channel smears.
    Returned: the frequencies in the middle of the observation"""
    t = (np.arange(len(y)) + 0.5) * sky.tsamp
    freq = sky.fch1 - sky.foff * np.arange(sky.nchan)
    fwhm = 2 * np.sqrt(2 * np.log(2))
    middles = []
    for period, dm, share, snr, accn in sky.pulsars:
        f0, width = 1 / period, share * period / fwhm
        fdot, start = -accn * f0 / LIGHT, rng.uniform()
        # The sum over samples of the squares of all heights is snr^2.
        height = snr / np.sqrt(sky.nchan * len(y) * np.sqrt(np.pi) * width / period)
        for c in range(sky.nchan):
            smear = 2 * KDM * dm * sky.foff / freq[c] ** 3 / np.sqrt(12)
            wide = np.sqrt(width**2 + smear**2)
            u = t - KDM * dm * (freq[c] ** -2 - sky.fch1**-2) - sky.tobs / 2
            phase = start + f0 * u + fdot / 2 * u * u
            phase -= np.rint(phase)
            y[:, c] += sigma[c] * height * width / wide * np.exp(-0.5 * (phase * period / wide) ** 2)
        middles.append(f0)
    for at, dm, width, snr in BURSTS[sky.name]:
        width /= fwhm
        height = snr / np.sqrt(sky.nchan * np.sqrt(np.pi) * width / sky.tsamp)
        for c in range(sky.nchan):
            smear = 2 * KDM * dm * sky.foff / freq[c] ** 3 / np.sqrt(12)
            wide = np.sqrt(width**2 + smear**2 + sky.tsamp**2 / 12)
            u = t - at - KDM * dm * (freq[c] ** -2 - sky.fch1**-2)
            y[:, c] += sigma[c] * height * width / wide * np.exp(-0.5 * (u / wide) ** 2)
    return middles


def own(sky, path, signals, folder, rng):
    n = int(sky.tobs / sky.tsamp)
    if sky.name == "gbt":
        birds = np.fromfile(os.path.join(folder, "gbt_lband/Lband_topo_DM0.00.dat"), np.float32)
        few = int(round(sky.tsamp / 72e-6))
        birds = birds[: len(birds) // few * few].reshape(-1, few).sum(1)[:n]
        n = len(birds)
        step = 3000  # the receiver's slow changes are not wanted
        birds -= np.interp(np.arange(n), np.arange(n // step) * step + step / 2, np.median(birds[: n // step * step].reshape(-1, step), 1))
        scatter = 1.4826 * np.median(np.abs(birds - np.median(birds)))
        y = 96 + 12 * rng.standard_normal((n, sky.nchan), dtype=np.float32)
        y += (12 / np.sqrt(sky.nchan) * birds / scatter)[:, None]
        sigma = np.full(sky.nchan, 12.0)
    else:
        x = read_filterbank(os.path.join(folder, "parkes_8bit_1.fil" if sky.name == "parkes" else "28.fil"), sky.nchan)
        if sky.name == "askap":
            x = np.concatenate([x[:1500], x[2300:]])  # not the burst
        sigma = 1.4826 * np.median(np.abs(x - np.median(x, 0)), 0)
        y = shuffle(x, n, rng)
        y += rng.uniform(-0.5, 0.5, y.shape).astype(np.float32)  # so that what is added is not rounded away
    middles = add_signals(y, sky, sigma, rng) if signals else []
    write_filterbank(path, sky, np.clip(np.rint(y), 0, 255).astype(np.uint8))
    return middles


SKIES = [
    Sky("quiet", QUIET, 120, 256, 1500.0, 2.0, 256e-6, 60.0, fakebin), Sky("made", MADE, 120, 256, 1500.0, 2.0, 256e-6, 60.0, fakebin),
    Sky("parkes", PARKES, 400, 832, 4030.0, 4.0, 512e-6, 30.0, own), Sky("askap", ASKAP, 400, 336, 1465.0, 1.0, 1.266469e-3, 60.0, own),
    Sky("gbt", GBT, 120, 256, 1500.0, 2.0, 288e-6, 38.0, own)]  # fmt: skip


# --- searches ---------------------------------------------------------------------------------------


def table(page, name):
    """The texts of the cells of a table's rows."""
    found = re.search(r'<table[^>]*id="%s".*?</table>' % name, page, re.S)
    rows = re.findall(r"<tr>(.*?)</tr>", found.group(0), re.S) if found else []
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]*>", " ", c)).strip() for c in row] for row in cells if row]


def number(text):
    try:
        return float(text)
    except ValueError:
        return float("nan")


class Found:
    """Rows of candidates (S/N, DM, Hz, name) and of bursts (S/N, s, DM), best first; seconds; what the search said."""

    def __init__(self, path, sky, options):
        began = time.time()
        where = path[:-4] + "_search"
        done = subprocess.run(["psrsearch", "-json", "-hidm", str(sky.hidm), "-o", where, *options, path], capture_output=True, text=True, check=False)
        self.seconds = time.time() - began
        if done.returncode:
            sys.exit(done.stderr)
        page = open(os.path.join(where, "report.html"), encoding="utf-8").read()
        rows, marked = table(page, "candidates"), table(page, "marked")
        self.ngood = len(rows)
        self.cand = [(number(c[2]), number(c[3]), number(c[4]), 1 / number(c[5]), c[1].split()[0]) for c in rows + marked]
        self.burst = [(number(c[1]), number(c[2]), number(c[3])) for c in table(page, "bursts")]
        self.folded = sum(c[0] == c[0] for c in self.cand)


def ratio_of(f, f0, tobs, z):
    """p/q of smallest p + q at which f is f0 p/q."""
    for total in range(2, 34):
        for p in range(1, total):
            q = total - p
            if abs(f - f0 * p / q) < (1.5 + abs(z) * p / q / 2) / tobs and Fraction(p, q).denominator == q:
                return Fraction(p, q)
    return None


def score(sky, found, middles, say):
    """Prints a line for each signal.  Returned: pulsars and bursts found, and rows that no signal explains."""
    of_rows, npulsar, nburst = [None] * len(found.cand), 0, 0
    for (period, dm, share, snr, accn), f0 in zip(sky.pulsars, middles):
        slack = max(2.0, 1.5 * dm * max(share * period, sky.tsamp) / sky.sweep(dm))
        z = accn * f0 * sky.tobs**2 / LIGHT if not isinstance(accn, str) else 20
        best = None
        for k, (sigma, searched, at_dm, f, name) in enumerate(found.cand):
            ratio = ratio_of(f, f0, sky.tobs, z) if of_rows[k] is None and abs(at_dm - dm) < slack else None
            if ratio:
                of_rows[k] = ratio
            if ratio and (best is None or (ratio == 1 and best[1] != 1)):
                best = (k, ratio, sigma, searched, at_dm, f)
        marked = best is not None and best[0] >= found.ngood
        npulsar += best is not None and best[1] == 1 and not marked
        say("  pulsar %9.3f ms  DM %5.1f  S/N %2g%s: %s" % (
            period * 1e3, dm, snr, "  binary" if accn else "", "NOT FOUND" if best is None else
            "row %d, fold %.1f, search %.1f, DM %.2f, %.6f ms%s" % (
                best[0] + 1, best[2], best[3], best[4], 1e3 / best[5],
                ": MARKED" if marked else "" if best[1] == 1 else ": NOT ITS PERIOD, f ratio %s" % best[1])))  # fmt: skip
    for at, dm, width, snr in BURSTS[sky.name] if middles else ():
        near = [k for k, b in enumerate(found.burst) if abs(b[1] - at) < 0.03 + width and abs(b[2] - dm) < max(4, 3 * dm * width / sky.sweep(dm))]
        nburst += bool(near)
        say("  burst  %9.3f s   DM %5.1f  S/N %2g: %s" % (
            at, dm, snr, "row %d, S/N %.1f, DM %.1f" % (near[0] + 1, found.burst[near[0]][0], found.burst[near[0]][2]) if near else "NOT FOUND"))  # fmt: skip
    return npulsar, nburst, of_rows


def birds_of(sky, found, of_rows):
    """Rows of the first page at the interference's frequencies, its harmonics up to 4."""
    known = GBT_BIRDS_HZ if sky.name == "gbt" else (28.77, 60, 100.1, 10) if sky.name == "made" else ()
    return [c for k, c in enumerate(found.cand[: min(FIRST_PAGE, found.ngood)]) for b in known for h in (1, 2, 3, 4)
            if of_rows[k] is None and abs(c[3] - h * b) < 0.02 * h + 1.5 / sky.tobs]  # fmt: skip


def search(sky, signals, folder, options):
    rng = np.random.default_rng((SEED, len(sky.name), signals))
    path = "%s%s.fil" % (sky.name, "" if signals else "_empty")
    middles = sky.make(sky, path, signals, folder, rng)
    found = Found(path, sky, options)
    print("\n%s%s: %d channels of %g MHz from %g down, %g us, %g s, DM 0 to %d: %.1f s" % (
        sky.name, "" if signals else ", empty", sky.nchan, sky.foff, sky.fch1, sky.tsamp * 1e6, sky.tobs, sky.hidm, found.seconds))  # fmt: skip
    npulsar, nburst, of_rows = score(sky, found, middles, print)
    strange = [c for k, c in enumerate(found.cand[: found.ngood]) if of_rows[k] is None]
    relatives = sum(r is not None for r in of_rows) - npulsar
    birds = birds_of(sky, found, of_rows)
    truth = BURSTS[sky.name] if signals else []
    slow = [(q[0], q[1]) for q in sky.pulsars if q[0] > 0.3] if signals else []
    false = [b for b in found.burst if not any(abs(b[1] - t) < 0.03 + w and abs(b[2] - d) < 20 for t, d, w, s in truth)
             and not any(abs(b[2] - d) < max(15, 0.15 * d) for q, d in slow)]
    print("  rows: %d candidates and %d marked (%d folded), %d at ratios of pulsars, %d of nothing known, %d of these with a fold above 8; birdies on the first page: %d; %d bursts, %d false" % (
        found.ngood, len(found.cand) - found.ngood, found.folded, relatives, len(strange), sum(c[0] > 8 for c in strange), len(birds), len(found.burst), len(false)))  # fmt: skip
    for c in [c for c in strange if c[0] > 8 or c in birds][:6]:
        print("    %s: fold %.1f, search %.1f, DM %.1f, %.6f Hz%s" % (c[4], c[0], c[1], c[2], c[3], " (birdie)" if c in birds else ""))
    for k, c in [(k, c) for k, c in enumerate(found.cand) if of_rows[k] is not None and of_rows[k] != 1][:6]:
        print("    %s: fold %.1f, search %.1f, DM %.1f, %.6f Hz, at %s of a pulsar" % (c[4], c[0], c[1], c[2], c[3], of_rows[k]))
    for b in false[:4]:
        print("    burst of nothing known: S/N %.1f at %.3f s, DM %.1f" % b)
    sys.stdout.flush()
    return npulsar, len(sky.pulsars) * signals, nburst, len(truth), relatives, len(strange), sum(c[0] > 8 for c in strange), len(birds), len(false)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("sky", nargs="*")
    p.add_argument("-k", action="store_true")
    p.add_argument("-o", default="")
    a = p.parse_intermixed_args()
    folder, where = os.path.realpath(a.folder), tempfile.mkdtemp(prefix="psrkit-search.")
    os.chdir(where)
    print("psrsearch -hidm DM %s" % a.o)
    totals = {}
    for signals in (True, False):
        for sky in SKIES:
            if not a.sky or sky.name + ("" if signals else "_empty") in a.sky:
                counts = np.array(search(sky, signals, folder, shlex.split(a.o)))
                totals[signals] = totals.get(signals, 0) + counts
    for signals, c in totals.items():
        print("\n%s: %d of %d pulsars, %d of %d bursts; %d rows at ratios, %d of nothing known (%d with a fold above 8), %d birdies on first pages, %d false bursts" % (
            "with signals" if signals else "empty skies", *c))  # fmt: skip
    if a.k:
        print("kept: %s" % where, file=sys.stderr)
    else:
        shutil.rmtree(where)


if __name__ == "__main__":
    main()
