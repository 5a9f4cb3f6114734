#!/usr/bin/env python3
"""What gpudedisp -clean auto makes of real and of made skies, beside no cleaning and beside rfifind's mask.

    tests/science/clean_auto.py FOLDER [-n BURSTS] [-p PULSARS] [-j PROCESSES] [-t SECONDS] >tests/science/clean_auto.txt

FOLDER holds parkes_8bit_1.fil, parkes_4bit.fil, parkes_2bit.fil and parkes_1bit.fil, 28.fil and
askap_frb180417_beam29.fil; files that are not there are left out.  BURSTS (default 20) bursts of S/N 8 to 20
are added to copies of the first, one a copy, and to noise of the same shape; as many, five a file, to skies
with every kind of fakebin's interference, and to their noise; and PULSARS (default 8) to such files of 60 s.  What is not
done after SECONDS is left out of the tables.  Needs numpy, psrkit's tools and PRESTO's rfifind in PATH.
"""
import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

CRAB = "-nobary -lodm 0 -dmstep 0.5 -numdms 240 -threshold 5"
FRB = "-nobary -lodm 440 -dmstep 0.5 -numdms 140 -threshold 5"
NCHAN, TSAMP, FCH1, FOFF, KDM = 832, 512e-6, 4030.0, -4.0, 1 / 2.41e-4
SEED, FOUND_AT = 2026, 6.0
# S/N from which half of the pulsars in white noise are found by is_pulsar(), periods of 0.02 to 12 s: 28 % at 5, 58 % at 6, 88 % at 7.
FOLD_AT = 6.0
WAYS = {"plain": "", "auto": "-clean auto", "mask": None}
# The made sky: its band, sampling and lengths; and every kind of interference that fakebin makes.
SKY = "-nchans 256 -nbits 8 -tsamp 512 -fch1 1500 -foff 2"
MADE_S, BURSTS_EACH, PULSAR_S = 36, 5, 60
# From tests/science/interference.txt; no file had steady and drifting tones, a radar's sweeps, or lost packets.
MEASURED = [
    "phone freq=1090 bw=4 carrier=2 rate=85 width=5e-4 level=10 frame=5e-4 slot=5e-4",  # aircraft, Parkes 1082 to 1094 MHz
    "phone freq=1460 bw=14 carrier=4 rate=230 width=1e-3 level=7 frame=5e-4 slot=5e-4",  # Parkes 1806 to 1850 MHz
    "phone freq=1020 bw=8 carrier=2 rate=40 width=4e-3 level=9 frame=5e-4 slot=5e-4",  # Parkes 874 MHz
    "phone freq=1180 bw=8 carrier=4 rate=80 width=1e-3 level=5 frame=5e-4 slot=5e-4",  # Parkes 910, 914 MHz
    "phone freq=1240 bw=12 carrier=4 rate=24 width=5e-4 level=5 frame=5e-4 slot=5e-4",  # Wi-Fi, Parkes 2438 to 2446 MHz
    "tone freq=1141 level=6.7 period=0.1 width=1.3e-3",  # ASKAP 1141 MHz
    "mains hz=28.77 level=0.17 harmonics=1", "mains hz=60 level=0.01", "mains hz=100.1 level=0.14 harmonics=1",  # GBT, Lovell psr3
    "spark rate=0.007 level=1.2 width=90e-3",  # Lovell psr2
    "jump rate=0.024 width=10 level=1",  # Lovell psr2, if its steps were in the whole band
    "jump rate=2 width=0.3 level=0.072 freq=1073 bw=170",  # receivers, Parkes: 0.056 of a sigma below 1344 MHz,
    "jump rate=2 width=0.3 level=0.026 freq=1328 bw=340",  # 0.020 above
    "bandpass ripple=0.5 period=16",  # GBT
    "tone freq=1420 level=3", "tone freq=1350 level=2 drift=0.5", "radar freq=1300 bw=20 level=30 rotation=5", "drop share=1e-3"]
# Of strengths that were invented before any were measured: strong steps in parts of the band.
INVENTED = ["tone freq=1420 level=3", "tone freq=1350 level=2 drift=0.5", "tone freq=1180 level=3 period=1.3 width=0.2",
            "radar freq=1300 bw=20 level=30 rotation=5", "phone freq=1100 bw=40 rate=2 level=5", "mains level=0.02",
            "spark rate=0.5 level=1 width=4e-3", "jump t=7 level=1 freq=1250 bw=30", "jump rate=2 width=0.1 level=0.3 freq=1070 bw=80",
            "jump rate=1 width=0.3 level=0.1 freq=1400 bw=200", "drop share=1e-3", "bandpass ripple=0.1 period=60"]
SKIES = {"made": MEASURED, "strong": INVENTED, "quiet": []}
# Of pulsars also one whose receivers have constant levels: where these wander, slow pulsars drown in them.
PULSAR_SKIES = {"made": MEASURED, "calm": [k for k in MEASURED if not k.startswith("jump")], "quiet": []}


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def search(path, flags, clean):
    """Rows of the .cand file: S/N, time, DM, and whether it is marked."""
    run("gpudedisp", "-q", "-ncpus", "1", *clean.split(), *flags.split(), "-singlepulse", "-nowrite", "-o", "x", path)
    rows = [line.rstrip("\n").split("\t") for line in open("x.cand") if not line.startswith("#")]
    return [(float(r[0]), float(r[2]), float(r[5]), r[9] != "-") for r in rows]


def mask_of(path):
    """The flags that apply rfifind's mask."""
    run("rfifind", "-time", "0.25", "-o", "x", path)
    return "-mask x_rfifind.mask"


def flags_of(way, path):
    return mask_of(path) if WAYS[way] is None else WAYS[way]


def say(name, how, rows):
    counts = [sum(r[0] > s for r in rows) for s in (5, 7, 8)]
    marked = sum(r[3] for r in rows)
    best = max(rows, default=(0, 0, 0))
    print("%-28s %-8s %4d %4d %4d %8d   %6.2f at DM %g, %.3f s" % (name, how, *counts, marked, *(best[0], best[2], best[1])))


def real_files(folder):
    print("%-28s %-8s %4s %4s %4s %8s   best" % ("clusters above", "", "5", "7", "8", "marked"))
    for name in ["parkes_%s.fil" % depth for depth in ("8bit_1", "4bit", "2bit", "1bit")]:
        path = os.path.join(folder, name)
        for how in WAYS if os.path.exists(path) else ():
            say(name, how, search(path, CRAB, flags_of(how, path)))
    for name in ("28.fil", "askap_frb180417_beam29.fil"):
        path = os.path.join(folder, name)
        for how in ("plain", "auto") if os.path.exists(path) else ():
            say(name, how, search(path, FRB, WAYS[how]))


# --- bursts in copies of the real file ------------------------------------------------------------


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


def tell(rows, bursts):
    """How many bursts (time, DM, width in s) are found, and what else is above FOUND_AT: all, and unmarked."""
    rows = [r for r in rows if r[0] > FOUND_AT]
    near = [[abs(r[1] - t - width / 2) < 0.02 + width / 2 and abs(r[2] - dm) < 10 for r in rows] for t, dm, width in bursts]
    false = [r for k, r in enumerate(rows) if not any(n[k] for n in near)]
    return np.array([sum(any(n) for n in near), len(bursts), len(false), sum(not r[3] for r in false), 1])


def copy_task(i, folder):
    rng = np.random.default_rng((SEED, i))
    snr, dm, t, width = rng.uniform(8, 20), rng.uniform(20, 110), rng.uniform(0.1, 0.9), int(2 ** rng.uniform(0, 5))
    run("fakebin", "-q", "-seed", str(i), "-period", "0", "-nchans", str(NCHAN), "-nbits", "8", "-tsamp", "512",
        "-tobs", "2.097152", "-fch1", "4030", "-foff", "4", "-o", "noise.fil")
    told = {}
    for place, path in (("copy", os.path.join(folder, "parkes_8bit_1.fil")), ("noise", "noise.fil")):
        header, x = read(path)
        with open("b.fil", "wb") as f:
            f.write(header + add_burst(x.astype(float), rng, snr, dm, t, width).tobytes())
        for way in WAYS if place == "copy" else ("plain", "auto"):
            told[place, way] = tell(search("b.fil", CRAB, flags_of(way, "b.fil")), [(t, dm, width * TSAMP)])
    return told


# --- bursts and pulsars in made skies -------------------------------------------------------------


def make_sky(seed, length_s, signals, rfi):
    words = ["fakebin", "-q", "-seed", str(seed), "-period", "0", *SKY.split(), "-tobs", str(length_s)]
    for s in signals:
        words += ["-add", s]
    for s in rfi:
        words += ["-rfi", s]
    run(*words, "-o", "m.fil")


def made_task(i, folder):
    rng = np.random.default_rng((SEED + 1, i))
    t = np.arange(BURSTS_EACH) * 6.5 + rng.uniform(1, 5, BURSTS_EACH)
    dm, width = rng.uniform(20, 110, BURSTS_EACH), TSAMP * 2 ** rng.uniform(0, 5, BURSTS_EACH)
    words = ["burst dm=%.3f t=%.6f width=%.6f snr=%.3f" % (d, a, w, s)
             for d, a, w, s in zip(dm, t, width, rng.uniform(8, 20, BURSTS_EACH))]
    told = {}
    for place, rfi in SKIES.items():
        make_sky(i, MADE_S, words, rfi)
        for way in WAYS if place == "made" else ("plain", "auto"):
            # The time of a burst is its centre.
            told[place, way] = tell(search("m.fil", CRAB, flags_of(way, "m.fil")), list(zip(t, dm, 0 * width)))
    return told


def fold(x, tsamp, period):
    """Best boxcar over phase of a folded series, as a deviation."""
    phase = (np.arange(len(x)) * tsamp / period * 128).astype(int) % 128
    n = np.bincount(phase, minlength=128)
    profile = np.bincount(phase, x, minlength=128) / np.maximum(n, 1)
    best = 0.0
    for w in (1, 2, 4, 8, 16, 32):
        best = max(best, np.max(np.convolve(np.tile(profile, 2), np.ones(w), "valid")[:128]) / np.sqrt(w))
    return best


def is_pulsar(x, period, rng):
    """Whether a fold stands out of those at 200 other periods, by 6 of their scatters."""
    few = max(int(0.55 * period / 128 / TSAMP), 1)
    x = x[: len(x) // few * few].reshape(-1, few).sum(1) / np.sqrt(few)
    x = x - np.mean(x)
    other = [fold(x, few * TSAMP, period * f) for f in np.concatenate([rng.uniform(0.55, 0.93, 100), rng.uniform(1.07, 1.45, 100)])]
    middle = np.median(other)
    return fold(x, few * TSAMP, period) > middle + 6 * 1.4826 * np.median(np.abs(other - middle))


def steps_in(rfi):
    """Of random steps of receivers: channels, and the spectrum of their level over that of noise, as a function of frequency (Hz)."""
    f = 1500 - 2 * np.arange(256)
    for kind in rfi:
        v = dict(w.split("=") for w in kind.split()[1:])
        if kind.startswith("jump") and "freq" in v:
            r, w, a, f0, bw = (float(v[k]) for k in ("rate", "width", "level", "freq", "bw"))
            yield np.abs(f - f0) <= bw / 2, lambda nu: r * (a * w) ** 2 * 2 / (1 + (2 * np.pi * nu * w) ** 2) / TSAMP


def ideal(period, dm, width, rfi):
    """Share of a pulsar's S/N that a linear filter keeps which knows the spectrum and the channels of every receiver's steps,
    and has nothing else to remove: the sum over harmonics of a^2 s C^-1 s, where C is white and has a mode a receiver."""
    nu = np.arange(1, 4000) / period
    power = np.exp(-((2 * np.pi * nu * width / 2.3548) ** 2))
    nu, power = nu[power > 1e-6], power[power > 1e-6]
    delay = KDM * dm * (1500 - 2 * np.arange(256.0)) ** -2
    kept = np.full(len(nu), 256.0)
    for channels, spectrum in steps_in(rfi):
        along = np.abs(np.exp(2j * np.pi * nu[:, None] * delay[channels]).sum(1)) ** 2
        kept -= along * spectrum(nu) / (1 + channels.sum() * spectrum(nu))
    return np.sqrt(np.sum(power * kept) / np.sum(power * 256))


def pulsar_task(i, folder):
    rng = np.random.default_rng((SEED + 2, i))
    period = 10 ** rng.uniform(1.3, 3.6) if i % 4 else 1e3 * rng.uniform(5, 15)  # ms; one in four is slow
    dm, snr = rng.uniform(10, 110), rng.uniform(12, 40)
    width = period / 1e3 * rng.uniform(0.02, 0.1)
    words = ["pulsar period=%.6f dm=%.3f width=%.6f snr=%.3f" % (period / 1e3, dm, width, snr)]
    told = {}
    for place, rfi in PULSAR_SKIES.items():
        best = snr * ideal(period / 1e3, dm, width, rfi) > FOLD_AT
        told["pulsar " + place, "ideal"] = np.array([best, 1, best * (period > 4e3), period > 4e3, 1])
        make_sky(10000 + i, PULSAR_S, words, rfi)
        for way in WAYS if rfi else ("plain", "auto"):
            run("gpudedisp", "-q", "-ncpus", "1", *flags_of(way, "m.fil").split(), "-nobary", "-nopad", "-lodm", "%.3f" % dm,
                "-numdms", "1", "-dmprec", "3", "-o", "p", "m.fil")
            x = np.fromfile("p_DM%.3f.dat" % dm, np.float32).astype(float)
            found = is_pulsar(x, period / 1e3, np.random.default_rng(i))
            slow = found * (period > 4e3), period > 4e3
            told["pulsar " + place, way] = np.array([found, 1, *slow, 1])
    return told


# --- all ------------------------------------------------------------------------------------------


def work(task):
    name, i, folder, deadline = task
    if time.time() > deadline:
        return None
    where = tempfile.mkdtemp(prefix="psrkit-clean.")
    os.chdir(where)
    try:
        return {"copy": copy_task, "made": made_task, "pulsar": pulsar_task}[name](i, folder)
    finally:
        os.chdir("/")
        shutil.rmtree(where)


def collect(folder, n, pulsars, processes, deadline):
    tasks = {"copy": n if os.path.exists(os.path.join(folder, "parkes_8bit_1.fil")) else 0,
             "made": n // BURSTS_EACH, "pulsar": pulsars}
    # In turn, so that whatever is done in time holds of each.
    order = sorted((k / tasks[name], name, k) for name in tasks for k in range(tasks[name]))
    total = {}
    with multiprocessing.Pool(processes) as pool:
        rest = pool.imap_unordered(work, [(name, k, folder, deadline) for _, name, k in order])
        for _ in order:
            try:
                told = rest.next(max(deadline - time.time(), 0) + 1)
            except multiprocessing.TimeoutError:
                break
            for key, counts in (told or {}).items():
                total[key] = total.get(key, 0) + counts
    return total


def tables(total):
    print("\nBursts of S/N 8 to 20, DM 20 to 110, 0.5 to 16 ms.  copy: one in each copy of parkes_8bit_1.fil; noise: in noise of")
    print("that shape; made: %d in %d s of a sky with all kinds of interference, as measured in real files; strong: of other" % (BURSTS_EACH, MADE_S))
    print("strengths; quiet: in their noise.  Clusters above %g near a burst count as found, others as false, per file; clear: those without a mark\n" % FOUND_AT)
    print("%-8s %-8s %6s %6s %8s %8s %8s" % ("in", "", "bursts", "found", "share", "false", "clear"))
    for place in ("copy", "noise", "made", "strong", "quiet"):
        for way in WAYS:
            c = total.get((place, way))
            if c is not None:
                print("%-8s %-8s %6d %6d %8.3f %8.2f %8.2f" % (place, way, c[1], c[0], c[0] / c[1], c[2] / c[4], c[3] / c[4]))
    print("\nPulsars in %d s of such skies, found if the fold at period and DM stands out of 200 at other periods by 6 scatters;" % PULSAR_S)
    print("slow: those above 4 s; calm: made without steps of levels; ideal: S/N above %g behind a linear filter that knows the" % FOLD_AT)
    print("spectrum of the receivers' steps and has nothing else to remove, in theory\n\n%-8s %-8s %7s %6s %8s %8s" % ("in", "", "pulsars", "found", "slow", "found"))
    for place in PULSAR_SKIES:
        for way in (*WAYS, "ideal"):
            c = total.get(("pulsar " + place, way))
            if c is not None:
                print("%-8s %-8s %7d %6d %8d %8d" % (place, way, c[1], c[0], c[3], c[2]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("-n", type=int, default=20)
    p.add_argument("-p", type=int, default=8)
    p.add_argument("-j", type=int, default=1)
    p.add_argument("-t", type=float, default=1e9)
    a = p.parse_args()
    folder, deadline = os.path.realpath(a.folder), time.time() + a.t
    print("gpudedisp %s; of the ASKAP files %s" % (CRAB, FRB))
    print("plain: clipping only; auto: -clean auto; mask: rfifind -time 0.25, and clipping\n")
    where = tempfile.mkdtemp(prefix="psrkit-clean.")
    os.chdir(where)
    try:
        real_files(folder)
    finally:
        os.chdir("/")
        shutil.rmtree(where)
    sys.stdout.flush()
    tables(collect(folder, a.n, a.p, a.j, deadline))


if __name__ == "__main__":
    main()
