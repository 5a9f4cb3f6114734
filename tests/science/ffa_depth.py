#!/usr/bin/env python3
"""S/N at which half of the pulsars are found, at one false alarm in ten series: gpuffa beside riptide, the matched search and accelsearch.

    [ROWS="PERIOD,.. DUTY,.."] ffa_depth.py BIN DIR [SERIES [ALONE [SEED [NOISE ..]]]]

BIN: folder of gpuffa and gpuaccel-pulscan; DIR: an empty folder; needs numpy, and riptide-ffa 0.2.7 for its column.
Series of 2^20 samples of 0.4 ms: white noise, or with red noise of a slope of 1, 2 or 3 that is as strong at 0.3 Hz.  Thresholds
are what the best candidate of ALONE series of noise exceeds in one of ten, of both foldings in each of the three ranges of periods by
itself.  Pulses are Gaussian, their FWHM the duty cycle; S/N is that of a matched filter in the white noise.  Each of SERIES series has a
pulsar of a period up to 2 % above that given, at any phase; with the same noise for all programs the S/N is sought at which it is found,
and the median over series is listed.  Both foldings search 1 to 3 % around the period, and find it within two bins of a spectrum of the
series; a Fourier search finds a pulsar that has a row within 1.5 bins of one of its first 64 harmonics, in the first 3 series, bisected
in steps of 6 %.  accelsearch is gpuaccel-pulscan -compat presto, which lists its rows."""
import csv
import json
import os
import pathlib
import subprocess
import sys

import made_inf
import numpy as np

try:
    import riptide
except ImportError:
    riptide = None

N, TSAMP_S = 1 << 20, 0.4e-3
TOBS_S = N * TSAMP_S
RANGES = ((0.2, 0.5, 240, 260), (0.5, 2, 480, 520), (2, TOBS_S / 10, 960, 1040))
PERIODS, DUTIES = (0.2, 0.5, 2, 10, 30), (0.005, 0.01, 0.03, 0.1, 0.3)
if "ROWS" in os.environ:  # "2,10 0.01,0.3"
    PERIODS, DUTIES = ([float(x) for x in part.split(",")] for part in os.environ["ROWS"].split())
NOISES = {"white": 0, "slope 1": 1, "slope 2": 2, "slope 3": 3}
LEAST, MOST, STEPS = 4.0, 128.0, 6
FEW = 3  # series that the Fourier searches take
FOURIER = {"matched": ["-search", "matched"], "accelsearch": ["-compat", "presto"]}


def make_noise(r, slope):
    x = r.standard_normal(N)
    if slope:
        f = np.fft.rfftfreq(N, TSAMP_S)
        f[0] = np.inf
        red = (f / 0.3) ** (-slope / 2) * (r.standard_normal(len(f)) + 1j * r.standard_normal(len(f)))
        x += np.fft.irfft(red, N) * np.sqrt(N / 2)
    return x.astype(np.float32)


def make_pulse(period_s, duty, phase):
    turns = (np.arange(N) + 0.5) * TSAMP_S / period_s + phase
    x = np.exp(-0.5 * ((turns % 1 - 0.5) / (duty / 2.3548)) ** 2)
    x -= x.mean()
    return (x / np.sqrt((x * x).sum())).astype(np.float32)


class Tools:
    def __init__(self, tools, folder):
        self.tools, self.folder = pathlib.Path(tools), pathlib.Path(folder)
        self.environment = dict(os.environ, OMP_NUM_THREADS="1")

    def write(self, series):
        names = [f"s{k}" for k in range(len(series))]
        for name, x in zip(names, series):
            x.tofile(self.folder / f"{name}.dat")
            (self.folder / f"{name}.inf").write_text(made_inf.describe(name, N, TSAMP_S, "noise"))
        return names

    def run(self, name, *options):
        subprocess.run([self.tools / name, "-q", "-ncpus", "1", *map(str, options)], cwd=self.folder, check=True, env=self.environment)

    def gpuffa(self, names, lo_s, hi_s, bmin, bmax):
        """Frequencies and S/N of the rows of each series."""
        self.run("gpuffa", "-sigma", 4.5, "-pmin", lo_s, "-pmax", hi_s, "-bmin", bmin, "-bmax", bmax, *(f"{n}.dat" for n in names))
        found = []
        for name in names:
            with open(self.folder / f"{name}_ffa.csv") as f:
                found.append([(float(row["freq_hz"]), float(row["snr"])) for row in csv.DictReader(f)])
        return found

    def fourier(self, name, which):
        """Bins and sigma of the rows of a series."""
        command = ["gpuaccel-pulscan", *FOURIER[which], "-zmax", 0, "-numharm", 16, "-sigma", 1]
        if which == "matched":
            self.run(*command, "-json", "-o", "list.json", f"{name}.dat")
            text = (self.folder / "list.json").read_text()
            return [(row["r"], row["sigma"]) for row in map(json.loads, text.splitlines())]
        self.run(*command, f"{name}.dat")
        lines = (self.folder / f"{name}_ACCEL_0").read_text().splitlines()
        rows = [line.split() for line in lines[3:] if line[:1].isdigit()]
        return [(float(row[7].split("(")[0]), float(row[1])) for row in rows]


def fold_riptide(x, lo_s, hi_s, bmin, bmax):
    series = riptide.TimeSeries.from_numpy_array(x, TSAMP_S)
    _, p = riptide.ffa_search(series, period_min=lo_s, period_max=hi_s, bins_min=bmin, bins_max=bmax, ducy_max=0.3, rmed_width=5.0)
    return 1 / np.asarray(p.periods), np.asarray(p.snrs).max(axis=1)


def find_thresholds(tools, r, slope, n):
    """What one of ten series of noise exceeds: {(program, range or None): threshold}."""
    best = {}
    for _ in range(n):
        x = make_noise(r, slope)
        names = tools.write([x])
        for k, span in enumerate(RANGES):
            rows = tools.gpuffa(names, *span)[0]
            best.setdefault(("gpuffa", k), []).append(max((snr for _, snr in rows), default=4.5))
            if riptide:
                best.setdefault(("riptide", k), []).append(fold_riptide(x, *span)[1].max())
        for which in FOURIER:
            rows = tools.fourier(names[0], which)
            best.setdefault((which, None), []).append(max((sigma for _, sigma in rows), default=1))
    return {key: float(np.quantile(values, 0.9)) for key, values in best.items()}


def bisect(noise, pulses, is_found):
    """S/N of each pulse at which it is found."""
    lo, hi = np.full(len(noise), LEAST), np.full(len(noise), MOST)
    for _ in range(STEPS):
        middle = np.sqrt(lo * hi)
        found = np.array(is_found([x + np.float32(a) * p for x, a, p in zip(noise, middle, pulses)]))
        lo, hi = np.where(found, lo, middle), np.where(found, middle, hi)
    return np.where(hi >= MOST, np.inf, np.sqrt(lo * hi))


def solve(noise, pulses, threshold, rate):
    """S/N of each pulse at which what rate finds of it is the threshold, nearly proportional to it."""
    a = np.full(len(noise), threshold)
    for _ in range(STEPS):
        z = np.maximum(rate([x + np.float32(h) * p for x, h, p in zip(noise, a, pulses)]), 4)
        a *= np.clip(threshold / z, 0.5, 2)
    return np.where(a > MOST, np.inf, a)


def measure(tools, noise, period_s, duty, threshold, r):
    periods = [period_s * (1 + 0.02 * r.uniform()) for _ in noise]
    pulses = [make_pulse(p, duty, r.uniform()) for p in periods]
    k = max(i for i, span in enumerate(RANGES) if span[0] <= period_s)
    lo_s, hi_s, span = max(RANGES[k][0], 0.99 * period_s), 1.03 * period_s, RANGES[k][2:]

    def near(rows, p):
        return max((snr for f, snr in rows if abs(f - 1 / p) < 2 / TOBS_S), default=0)

    def by_gpuffa(series):
        rows = tools.gpuffa(tools.write(series), lo_s, hi_s, *span)
        return [near(found, p) for found, p in zip(rows, periods)]

    def by_riptide(series):
        return [near(zip(*fold_riptide(x, lo_s, hi_s, *span)), p) for x, p in zip(series, periods)]

    def by_fourier(which):
        def by(series):
            found = []
            for name, p in zip(tools.write(series), periods):
                turns = TOBS_S / p
                rows = [b for b, sigma in tools.fourier(name, which) if sigma > threshold[which, None]]
                found.append(any(0.5 < b / turns < 64.5 and abs(b - round(b / turns) * turns) < 1.5 for b in rows))
            return found

        return by

    depth = {"gpuffa": solve(noise, pulses, threshold["gpuffa", k], by_gpuffa)}
    if riptide:
        depth["riptide"] = solve(noise, pulses, threshold["riptide", k], by_riptide)
    for which in FOURIER:
        depth[which] = bisect(noise[:FEW], pulses[:FEW], by_fourier(which))
    return depth


def describe(depth):
    """Medians, and gpuffa's over riptide's with its error by 200 drawings of the series."""
    words = []
    for which in ("gpuffa", "riptide", "matched", "accelsearch"):
        value = np.median(depth[which]) if which in depth else np.nan
        words.append("    -" if np.isnan(value) else f">{MOST:4.0f}" if np.isinf(value) else f"{value:5.1f}")
    if "riptide" in depth and np.isfinite(depth["riptide"]).all() and np.isfinite(depth["gpuffa"]).all():
        a, b, draw = depth["gpuffa"], depth["riptide"], np.random.default_rng(1)
        some = [draw.integers(0, len(a), len(a)) for _ in range(200)]
        error = np.std([np.median(a[i]) / np.median(b[i]) for i in some])
        words.append(f"{np.median(a) / np.median(b):.3f} +- {error:.3f}")
    return "\t".join(words)


def main():
    tools = Tools(sys.argv[1], sys.argv[2])
    nseries, nalone, seed = (int(a) for a in (sys.argv[3:6] + ["12", "40", "1"][len(sys.argv[3:6]) :]))
    print(f"# {nseries} series a row, {nalone} of noise alone, seed {seed}")
    for name in sys.argv[6:] or NOISES:
        r = np.random.default_rng([seed, NOISES[name]])
        threshold = find_thresholds(tools, r, NOISES[name], nalone)
        words = (f"{which}{'' if k is None else f' {RANGES[k][0]:g} s'} {value:.2f}" for (which, k), value in sorted(threshold.items(), key=str))
        print(f"\n# {name}; thresholds: {', '.join(words)}", flush=True)
        print("# period_s\tduty\tgpuffa\triptide\tmatched\taccelsearch\tgpuffa/riptide")
        noise = [make_noise(r, NOISES[name]) for _ in range(nseries)]
        for period_s in PERIODS:
            for duty in DUTIES:
                print(f"{period_s:g}\t{duty:g}\t{describe(measure(tools, noise, period_s, duty, threshold, r))}", flush=True)


if __name__ == "__main__":
    main()
