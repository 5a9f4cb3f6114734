#!/usr/bin/env python3
"""Measures the interference in real files, from which tests/science/clean_auto.py takes the strengths of its made sky.

    tests/science/interference.py FOLDER >tests/science/interference.txt

FOLDER holds parkes_8bit_1.fil, 28.fil, gbt_lband/Lband_topo_DM0.00.dat, gbt_lband/Lband_rfifind.stats and
lovell/psr*.dat; files that are not there are left out.  Needs numpy.

sigma: robust scatter of a sample of a channel.  Tsys: the receiver's noise; sigma is Tsys / sqrt(2 B t) with two
polarisations.  made: the same in sigma of the made sky, 2 MHz and 512 us, of which Tsys is 45.3.
"""
import os
import sys

import numpy as np

MADE = np.sqrt(2 * 2e6 * 512e-6)


def scatter(x, axis=0):
    return 1.4826 * np.median(np.abs(x - np.median(x, axis, keepdims=True)), axis)


def read_fil(path, nchan):
    data = open(path, "rb").read()
    start = data.index(b"HEADER_END") + 10
    return np.frombuffer(data[start:], np.uint8).reshape(-1, nchan).astype(float)


def runs(on):
    """Starts and lengths of runs of True."""
    edge = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(int), [0]])))
    return edge[::2], edge[1::2] - edge[::2]


def moved(z, width):
    """Scatter of means over width spectra, in that of noise, of each channel."""
    n = len(z) // width
    return scatter(z[: n * width].reshape(n, width, -1).mean(1)) * np.sqrt(width)


def pulses(name, z, freq, tsamp, bad):
    """Channels with pulses: duty, events, lengths and heights of what is above 4 sigma."""
    print("\n%s: %d of %d channels (%.1f %%) have kurtosis above 1 or means that move; those with pulses above 6 sigma\n"
          % (name, bad.sum(), len(bad), 100 * bad.mean()))
    print("%9s %7s %9s %9s %9s %8s" % ("MHz", "duty", "events/s", "ms, mid", "mid sig", "most"))
    for c in np.flatnonzero(bad):
        first, length = runs(z[:, c] > 4)
        if len(first) >= 5 and z[:, c].max() > 6:
            on = z[:, c] > 4
            print("%9.0f %7.4f %9.1f %9.2f %9.1f %8.1f" % (freq[c], on.mean(), len(first) / len(z) / tsamp,
                                                          np.median(length) * tsamp * 1e3, np.median(z[on, c]), z[:, c].max()))


def levels(name, z, freq, sigmas, ok, edges):
    """How the common level of good channels of parts of the band moves, less noise."""
    print("\n%s: standard deviation of the mean level of parts of the band, less noise, over 1, 16, 64 and 256 spectra, in sigma" % name)
    print("of a channel; and over 64 in that of the made sky\n")
    for low, high in zip(edges[:-1], edges[1:]):
        k = ok & (freq >= low) & (freq < high)
        u = np.clip(z[:, k], -5, 5).mean(1)
        row = []
        for w in (1, 16, 64, 256):
            n = len(u) // w
            row.append(np.sqrt(max(np.var(u[: n * w].reshape(n, w).mean(1)) - 1 / (k.sum() * w), 0)))
        print("%5.0f to %4.0f MHz %7.4f %7.4f %7.4f %7.4f   made %.3f" % (low, high, *row, row[2] / sigmas * MADE))


def filterbank(path, nchan, fch1, foff, tsamp, edges):
    x = read_fil(path, nchan)
    freq, sigmas = fch1 + foff * np.arange(nchan), np.sqrt(2 * abs(foff) * 1e6 * tsamp)
    s = scatter(x)
    z = (x - np.median(x, 0)) / np.maximum(s, 1)
    d = x - x.mean(0)
    kurtosis = (d**4).mean(0) / np.maximum((d**2).mean(0), 1e-6) ** 2 - 3
    bad = (kurtosis > 1) | (moved(z, 128) > 6) | (s == 0)
    name = os.path.basename(path)
    pulses(name, z, freq, tsamp, bad)
    levels(name, z, freq, sigmas, ~bad & (moved(z, 128) < 2), edges)


def series(name, x, tsamp, sigmas):
    """Lines, sparks and steps of a series: sigmas is Tsys in scatters of its samples."""
    block = max(int(0.3 / tsamp), 16)
    n = len(x) // block
    s = max(np.sqrt(np.var(np.diff(x)) / 2), 1e-6)
    middle = np.median(x[: n * block].reshape(n, block), 1)
    flat = ((x[: n * block].reshape(n, block) - middle[:, None]) / s).ravel()
    power = np.abs(np.fft.rfft(flat)) ** 2 / len(flat)
    hz = np.fft.rfftfreq(len(flat), tsamp)
    power[hz < 4 / (block * tsamp)] = 0
    lines = []
    while len(lines) < 4:
        top = np.argmax(power)
        near = np.abs(hz - hz[top]) < 0.2
        lines.append((hz[top], np.sqrt(4 * np.sum(power[near][power[near] > 20]) / len(flat))))
        power[near] = 0
    print("%-22s lines, Hz (amplitude in made sigma): %s" % (name, ", ".join("%.2f (%.3f)" % (f, a / sigmas * MADE) for f, a in lines)))
    first, length = runs(flat > 8)
    heights = [flat[a : a + k].max() for a, k in zip(first, length)]
    print("%-22s above 8 scatters: %d in %.0f s%s" % ("", len(first), len(x) * tsamp, ": " + ", ".join(
        "%.0f ms x %.2f" % (k * tsamp * 1e3, h / sigmas * MADE) for k, h in list(zip(length, heights))[:4]) if heights else ""))
    step = np.abs(np.diff(middle)) / s
    big = step > 6 / np.sqrt(block) + 2.5
    print("%-22s steps beyond noise: %d, %.3f/s%s" % ("", big.sum(), big.sum() / len(x) / tsamp, ", in made sigma: " + ", ".join(
        "%.2f" % (v / sigmas * MADE) for v in np.sort(step[big])[::-1][:8]) if big.any() else ""))


def cells(path):
    """Levels of rfifind's cells: common to the band, of single channels; and the bandpass."""
    nchan, nint = 96, 37
    all_ = np.frombuffer(open(path, "rb").read()[20:], "f4").reshape(3, nint, nchan).astype(float)
    mean, sd = all_[1, :-1], all_[2, :-1]
    ok = np.median(sd, 0) > 0
    mean, sd = mean[:, ok], sd[:, ok]
    z = (mean - np.median(mean, 0)) / np.median(sd, 0)
    common = np.median(z, 1)
    sigmas = np.sqrt(2 * 1e6 * 72e-6)
    rest = scatter(z - common[:, None])
    print("\nLband_rfifind.stats, intervals of 1.04 s: level of the whole band moves by %.4f sigma rms (made %.3f), of a channel by %.4f"
          % (common.std(), common.std() / sigmas * MADE, np.median(rest)))
    print("(noise %.4f); %d of %d channels by more than 5 times that" % (1 / np.sqrt(14400), (rest > 5 / np.sqrt(14400)).sum(), len(rest)))
    print("level over channels: %.2f to %.2f of its median, repeating every 16 MHz" % tuple(np.quantile(np.median(mean, 0) / np.median(mean), (0.02, 0.98))))


def main():
    folder = sys.argv[1]
    here = lambda name: os.path.exists(os.path.join(folder, name))
    print(__doc__.split("\n\n")[3])
    if here("parkes_8bit_1.fil"):
        filterbank(os.path.join(folder, "parkes_8bit_1.fil"), 832, 4030, -4, 512e-6, (704, 1344, 2368, 4034))
    if here("28.fil"):
        filterbank(os.path.join(folder, "28.fil"), 336, 1465, -1, 1.266469e-3, (1129, 1297, 1466))
    print("\nSeries: of GBT 96 MHz at 72 us, of Lovell 64 MHz; strengths as if the whole band had them\n")
    if here("gbt_lband/Lband_topo_DM0.00.dat"):
        x = np.fromfile(os.path.join(folder, "gbt_lband/Lband_topo_DM0.00.dat"), np.float32).astype(float)
        series("Lband_topo_DM0.00.dat", x, 72e-6, np.sqrt(2 * 96e6 * 72e-6))
    for name, tsamp in (("psr2", 2.5e-3), ("psr3", 2e-3), ("psr5", 10e-3)):
        if here("lovell/%s.dat" % name):
            x = np.fromfile(os.path.join(folder, "lovell/%s.dat" % name), np.int8).astype(float)
            series(name + ".dat", x, tsamp, np.sqrt(2 * 64e6 * tsamp))
    if here("gbt_lband/Lband_rfifind.stats"):
        cells(os.path.join(folder, "gbt_lband/Lband_rfifind.stats"))


if __name__ == "__main__":
    main()
