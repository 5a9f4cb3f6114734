#!/usr/bin/env python3
"""S/N of the fast folding search beside riptide's, trial by trial: the same samples, bins and shifts.

    ffa_riptide.py [INJECTIONS [SEED]]     needs the package psrkit, numpy and riptide-ffa 0.2.7

Pulsars of S/N 9 to 30, duty cycles of 1 to 20 % and one bin a sample in white noise, searched with 240 to 260 bins.  riptide's ffa2
sums the series less its centre in units of its noise, and its snr2 rates all rows with the plan's widths.  Then the loss of the search's
shifts against an ideal fold, which gives every sample to the bin of its time: the same pulsars without noise."""
import sys

import numpy as np
from psrkit._arrays import address
from psrkit._declarations import ffi
from psrkit._library import check, lib, new_error
from riptide import libcpp

N, TSAMP_S, DUCYMAX = 1 << 17, 1e-3, 0.3


def find_widths(nbin):
    w = [1, 2, 3]
    while w[-1] + w[-3] <= DUCYMAX * nbin:
        w.append(w[-1] + w[-3])
    return np.array(w, dtype=np.uint64)


def search(x, nbin):
    """S/N of all shifts of a fold with so many bins, and the noise of a sample."""
    desc, out, err = ffi.new("struct psr_ffa_desc *"), ffi.new("psr_ffa **"), new_error()
    span = ffi.new("struct psr_ffa_range *", [nbin * TSAMP_S, (nbin + 1) * TSAMP_S, nbin, nbin, DUCYMAX])
    desc.size, desc.nsamp, desc.tsamp_s, desc.range, desc.nrange = ffi.sizeof(desc[0]), len(x), TSAMP_S, span, 1
    backend = ffi.new("char[]", b"cpu")
    desc.rmed_s, desc.sigma, desc.nthread, desc.backend = -1, 5, 1, backend
    check(lib.psr_ffa_create(out, desc, err), err)
    plan = ffi.gc(out[0], lib.psr_ffa_destroy)
    info, result = ffi.new("struct psr_ffa_info *"), ffi.new("struct psr_ffa_result *")
    lib.psr_ffa_describe_sized(plan, info, ffi.sizeof(info[0]))
    inputs = ffi.new("float *[1]", [ffi.cast("float *", address(x))])
    check(lib.psr_ffa_execute(plan, 1, inputs, result, err), err)
    snr = np.zeros(info.ntrial, dtype=np.float32)
    check(lib.psr_ffa_periodogram(plan, 0, ffi.cast("float *", address(snr)), ffi.NULL, err), err)
    return snr, result.rms


def make_pulse(period_s, duty, phase):
    turns = (np.arange(N) + 0.5) * TSAMP_S / period_s + phase
    x = np.exp(-0.5 * ((turns % 1 - 0.5) / (duty / 2.3548)) ** 2)
    return x / np.sqrt(((x - x.mean()) ** 2).sum())


def rate(x, nbin, sigma=1.0):
    rows = x[: len(x) // nbin * nbin].reshape(-1, nbin).astype(np.float32)
    return libcpp.snr2(libcpp.ffa2(rows), find_widths(nbin), sigma * np.sqrt(len(rows))).max(axis=1)


def fold_ideally(x, period_s, nbin):
    rows = len(x) // nbin
    turns = (np.arange(rows * nbin) + 0.5) * TSAMP_S / period_s
    profile = np.bincount((turns % 1 * nbin).astype(int), x[: rows * nbin], nbin).astype(np.float32)
    return libcpp.snr2(profile[np.newaxis], find_widths(nbin), np.sqrt(rows)).max()


def main():
    n, seed = (int(a) for a in (sys.argv[1:3] + ["100", "1"][len(sys.argv[1:3]) :]))
    r, ratios, differ, losses = np.random.default_rng(seed), [], [], []
    for _ in range(n):
        nbin, duty, snr = int(r.integers(240, 261)), r.choice([0.01, 0.03, 0.1, 0.2]), r.uniform(9, 30)
        period_s = TSAMP_S * nbin * (1 + r.uniform(0, 0.9) / nbin)
        pulse = make_pulse(period_s, duty, r.uniform())
        x = (100 + 3 * (r.standard_normal(N) + snr * pulse)).astype(np.float32)
        own, rms = search(x, nbin)
        other = rate((x - x.mean()) / rms, nbin)[: len(own)]
        best = int(np.argmax(other))
        ratios.append(own[best] / other[best])
        differ += list(np.abs(own - other))
        losses.append(rate(30 * (pulse - pulse.mean()), nbin).max() / fold_ideally(30 * (pulse - pulse.mean()), period_s, nbin))
    ratios, losses = np.array(ratios), np.array(losses)
    print(f"{n} injections, seed {seed}: S/N over riptide's in its best trial {ratios.mean():.4f}, {ratios.min():.4f} to {ratios.max():.4f}; "
          f"{np.mean(np.array(differ) < 0.15):.4f} of all trials within 0.15, all within {max(differ):.2f}")
    print(f"best trial over an ideal fold, without noise: {losses.mean():.4f}, {losses.min():.4f} to {losses.max():.4f}")


main()
