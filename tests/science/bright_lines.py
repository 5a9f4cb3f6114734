#!/usr/bin/env python3
"""Pulsars beside bright lines: how many the searches find, and what they list of lines alone.

    bright_lines.py GPUACCEL_PULSCAN [N [SEED]]

Every series has 32768 samples of noise of variance 1, a pulsar of S/N 16 (a Gaussian pulse of 5 %
of the period) near bin 500, and a line of power 400, 4000 or 40000 18 to 110 bins above or below it,
at a whole, half or any frequency, steady or drifting by up to 12 bins.  Found: a candidate within one
bin of the pulsar.  N series a row; accelsearch is `-compat presto`.  The last part has 2 N lines each
without a pulsar, and counts candidates above sigma 3 within zmax, but more than 2 bins, of them."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import made_inf

NSAMP, TSAMP = 1 << 15, 256e-6
SEARCHES = {
    'matched': ['-search', 'matched', '-numharm', '8'],
    'accelsearch': ['-search', 'matched', '-numharm', '8', '-compat', 'presto'],
    'boxes': ['-search', 'boxes', '-numharm', '4'],
}


class Series:
    """Noise, a line, and with snr > 0 a pulsar."""

    def __init__(self, rng, snr, away, power, kind):
        self.r = 500 + rng.random()
        self.line = round(self.r + away * rng.choice([-1, 1]))
        self.line += {'whole': 0, 'half': 0.5, 'steady': rng.random(), 'drifting': rng.random()}[kind]
        z = rng.uniform(2, 12) * rng.choice([-1, 1]) if kind == 'drifting' else 0
        u = np.arange(NSAMP) / NSAMP
        self.x = rng.standard_normal(NSAMP)
        phase = self.line * u + z * (u * u - u) / 2 + rng.random()
        self.x += 2 * np.sqrt(power / NSAMP) * np.cos(2 * np.pi * phase)
        if snr > 0:
            pulse = np.exp(-0.5 * ((((self.r * u + rng.random()) % 1) - 0.5) / 0.0212) ** 2)
            pulse -= pulse.mean()
            self.x += snr * pulse / np.sqrt((pulse * pulse).sum())

    def write(self, name):
        self.x.astype('<f4').tofile(name + '.dat')
        with open(name + '.inf', 'w', encoding='ascii') as out:
            out.write(made_inf.describe(os.path.basename(name), NSAMP, TSAMP, 'bright line'))


def read_rows(name):
    """(r, sigma) of the first table of a list."""
    if not os.path.exists(name):
        return
    with open(name, encoding='ascii') as lines:
        for line in lines:
            field = line.split()
            if len(field) > 8 and field[0].isdigit():
                yield float(field[7].split('(')[0]), float(field[1])
            elif field == []:
                return


def search(tool, series, flags):
    """Rows (r, sigma) of every series."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, f's{k:04d}') for k in range(len(series))]
        for name, one in zip(names, series):
            one.write(name)
        subprocess.run([tool, *flags, *[n + '.dat' for n in names]], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return [list(read_rows(f'{n}_ACCEL_{flags[-1]}')) for n in names]


def count_found(tool, series, flags):
    return sum(any(abs(r - one.r) < 1 for r, _ in rows)
               for one, rows in zip(series, search(tool, series, flags)))


def count_false(tool, series, flags, zmax):
    return sum(2 < abs(r - one.line) < zmax and sigma > 3
               for one, rows in zip(series, search(tool, series, flags)) for r, sigma in rows)


def main():
    tool, n = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    only = sys.argv[4].split(',') if len(sys.argv) > 4 else list(SEARCHES)
    rng = np.random.default_rng(seed)
    kinds = ('whole', 'half', 'steady', 'drifting')
    print(f'{n} pulsars a row, seed {seed}: found\n')
    print(f"{'zmax':>5} {'power':>6} {'bins off':>9}" + ''.join(f'{s:>13}' for s in only))
    for zmax in (20, 50, 200):
        for power in (400, 4000, 40000):
            for lo, hi in ((18, 22), (26, 26), (24, 38), (39, 60), (61, 110)):
                series = [Series(rng, 16, rng.uniform(lo, hi), power, kinds[k % 4]) for k in range(n)]
                found = [count_found(tool, series, SEARCHES[s] + ['-zmax', str(zmax)]) for s in only]
                print(f'{zmax:5} {power:6} {lo:4} to {hi:3}' + ''.join(f'{f:13}' for f in found),
                      flush=True)
    print(f'\n{2 * n} lines a row without a pulsar: other candidates above sigma 3 within zmax\n')
    print(f"{'zmax':>5} {'power':>6} {'kind':>9}" + ''.join(f'{s:>13}' for s in only))
    for zmax in (20, 50, 200):
        for power in (400, 4000, 40000):
            for kind in kinds:
                series = [Series(rng, 0, rng.uniform(18, 110), power, kind) for _ in range(2 * n)]
                false = [count_false(tool, series, SEARCHES[s] + ['-zmax', str(zmax)], zmax)
                         for s in only]
                print(f'{zmax:5} {power:6} {kind:>9}' + ''.join(f'{f:13}' for f in false), flush=True)


if __name__ == '__main__':
    main()
