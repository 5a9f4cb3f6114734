#!/usr/bin/env python3
"""Slow pulsars beside each other, in series of white noise: how many of them a matched search lists, and what it lists besides.

    slow_pulsars.py BIN DIR FIRST END [OPTION ..]

BIN: folder of gpuaccel-pulscan; DIR: an empty folder; seeds FIRST to END - 1; further options of the search, as -compat presto.
Each series of 60 to 130 s has two or three pulsars of 0.25 to 4 s, duty cycles of 1 to 13 %, S/N 12 to 26, one in four 30 to 150.
One is right if a row is within a bin of its frequency, a harmonic if a row is within a bin of p/q of it, p up to 16, q up to 4.
Then as many series each of other kinds without a second pulsar, of which the rows are counted."""
import collections
import json
import pathlib
import subprocess
import sys

import made_inf
import numpy as np

TSAMP_S = 512e-6
KINDS = "white red steps hum wandering radar binary lines".split()


def pulse(turns, duty, snr):
    x = np.exp(-0.5 * (((turns + 0.5) % 1 - 0.5) / (duty / 2.3548)) ** 2)
    x -= x.mean()
    return snr / np.sqrt((x * x).sum()) * x


def red(r, n, index, rms):
    f = np.fft.rfftfreq(n, TSAMP_S)
    f[0] = 1e9
    z = np.fft.irfft(f ** (-index / 2) * (r.standard_normal(len(f)) + 1j * r.standard_normal(len(f))), n)
    return rms * z / z.std()


def slow(r, t):
    y, truth = r.standard_normal(len(t)).astype(np.float32), []
    for k in range(int(r.integers(2, 4))):
        p, duty = 10 ** r.uniform(np.log10(0.25), np.log10(4)), 10 ** r.uniform(-2, -0.9)
        snr = r.uniform(12, 26) if r.uniform() > 0.25 else r.uniform(30, 150)
        y += pulse(t / p + r.uniform(), duty, snr).astype(np.float32)
        truth.append(p)
    return y, truth


def other(r, t, kind):
    y, n = r.standard_normal(len(t)), len(t)
    if kind == "red":
        y += red(r, n, r.uniform(1, 3), 10 ** r.uniform(-1, 1))
    if kind == "steps":
        y += red(r, n, 2, r.uniform(0.1, 1))
        for k in range(4):
            y[int(r.uniform(0, n)) :] += r.normal() * 0.5
    if kind == "hum":
        f = r.choice([10.0, 12.5, 50.0, 60.0])
        y += sum(10 ** r.uniform(-2, -0.7) * np.sin(2 * np.pi * f * k * t + k) for k in range(1, 9))
    if kind == "wandering":
        f, slow_s = r.choice([1.0, 2.5, 10.0, 50.0]), r.uniform(5, 30)
        turns = f * t + 0.3 * np.sin(2 * np.pi * t / slow_s) + np.cumsum(r.standard_normal(n)) * TSAMP_S**0.5 * 0.05
        y += sum(10 ** r.uniform(-2, -0.5) * np.sin(2 * np.pi * k * turns + k) for k in range(1, 9))
    if kind == "radar":
        on = (((t + r.uniform(0, 9)) % r.uniform(1, 9)) < r.uniform(0.02, 0.1)) & (t % 2.5e-3 < 1e-3)
        y += on * r.uniform(0.3, 2)
    if kind == "binary":
        p, orbit_s = 10 ** r.uniform(-1, 0.3), r.uniform(0.5, 3) * t[-1]
        turns = t / p + r.uniform(0.05, 5) * np.sin(2 * np.pi * t / orbit_s + r.uniform(0, 6))
        y += pulse(turns, r.uniform(0.02, 0.1), r.uniform(15, 150))
    if kind == "lines":
        y += sum(10 ** r.uniform(-2, -0.5) * np.sin(2 * np.pi * 10 ** r.uniform(-1, 2) * t + k) for k in range(12))
    return y, []


def search(tools, folder, seed, kind, options):
    """Bins of the rows, and of the pulsars."""
    r = np.random.default_rng(seed)
    n = int(r.uniform(60, 130) / TSAMP_S) // 2 * 2
    t = (np.arange(n) + 0.5) * TSAMP_S
    y, truth = slow(r, t) if kind == "slow" else other(r, t, kind)
    y.astype(np.float32).tofile(folder / "s.dat")
    (folder / "s.inf").write_text(made_inf.describe("s", n, TSAMP_S, "random"))
    command = [tools / "gpuaccel-pulscan", "-q", "-search", "matched", "-zmax", "50", "-numharm", "16", *options]
    subprocess.run([*command, "-json", "-o", folder / "s.json", folder / "s.dat"], check=True)
    text = (folder / "s.json").read_text()
    return [json.loads(line)["r"] for line in text.splitlines() if line], [n * TSAMP_S / p for p in truth]


def main():
    tools, folder, options = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[5:]
    seeds, sums = range(int(sys.argv[3]), int(sys.argv[4])), collections.Counter()
    for seed in seeds:
        rows, pulsars = search(tools, folder, seed, "slow", options)
        sums["rows"] += len(rows)
        for p in pulsars:
            ratios = [(a, b) for r in rows for a in range(1, 17) for b in range(1, 5) if abs(r - p * a / b) < 1]
            sums["right" if (1, 1) in ratios else "harmonic" if ratios else "missed"] += 1
    print(dict(sums), flush=True)
    for kind in KINDS:
        rows = [len(search(tools, folder, seed, kind, options)[0]) for seed in seeds]
        print(kind, sum(rows), "rows, at most", max(rows), flush=True)


main()
