#!/usr/bin/env python3
"""Compares a cut-out of fbedit -cutout your with the same sums in numpy, sample by sample.

check_cutout.py FILE.fil CUTOUT.h5 T_S WIDTH_S HIGHEST_MHZ: FILE.fil is what was cut, 8 bits or floats, after decimation and the
choice of channels, from the first spectrum of the input on; T_S is the burst at HIGHEST_MHZ, the input's highest channel.
"""

import struct
import sys

import h5py
import numpy as np


def read_filterbank(path):
    """Header of a SIGPROC file that fbedit wrote, as far as it is needed, and its samples."""
    raw = open(path, "rb").read()
    end = raw.index(b"HEADER_END") + len(b"HEADER_END")
    header = raw[:end]

    def value(key, kind):
        return struct.unpack_from(kind, header, header.index(key) + len(key))[0]

    nchan, nbits = value(b"nchans", "<i"), value(b"nbits", "<i")
    kind = {8: np.uint8, 16: np.uint16, 32: np.float32}[nbits]
    x = np.frombuffer(raw, kind, offset=end).reshape(-1, nchan).astype(float)
    f = value(b"fch1", "<d") + np.arange(nchan) * value(b"foff", "<d")
    return x, f, value(b"tsamp", "<d")


def bins(y, step):
    return y.reshape(256, step, -1).mean(1)


def resize(y):
    """Means over 256 equal shares of the band."""
    nchan = y.shape[1]
    edge = np.arange(nchan + 1)
    total = np.concatenate([np.zeros((len(y), 1)), np.cumsum(y, 1)], 1)
    at = np.arange(257) * nchan / 256
    upto = np.array([np.interp(at, edge, row) for row in total])
    return np.diff(upto, axis=1) * 256 / nchan


def normalised(y):
    y = y - np.median(y.astype(np.float32))
    return y / y.std()


def main():
    fil, path, (t_s, width_s, highest_mhz) = sys.argv[1], sys.argv[2], map(float, sys.argv[3:])
    x, f, tsamp = read_filterbank(fil)
    with h5py.File(path) as h:
        attrs = dict(h.attrs)
        got_ft, got_dt = h["data_freq_time"][:], h["data_dm_time"][:]
        labels = [[d.label for d in h[name].dims] for name in ("data_freq_time", "data_dm_time")]
    assert labels == [["time", "frequency"], ["dm", "time"]], labels
    assert got_ft.shape == got_dt.shape == (256, 256) and got_ft.dtype == got_dt.dtype == np.float32
    width = max(1, int(np.rint(width_s / tsamp)))
    for key, want in {"width": width, "nchans": len(f), "fch1": f[0], "foff": f[1] - f[0], "tsamp": tsamp,
                      "dm_opt": -1, "snr_opt": -1, "label": -1, "npol": 1}.items():
        assert np.isclose(attrs[key], want, rtol=1e-12), (key, attrs[key], want)
    assert attrs["foff"] < 0 and isinstance(attrs["cand_id"], str) and attrs["rfi_mask"].dtype == bool
    assert attrs["cand_id"].startswith("cand_tstart_") and f"_dm_{attrs['dm']:.5f}_" in attrs["cand_id"]
    dm, step = attrs["dm"], max(1, width // 2)
    t_s += dm / 2.41e-4 * (1 / f.max() ** 2 - 1 / highest_mhz**2)
    begin = int(np.rint(t_s / tsamp)) - 128 * step
    # Spectra that a cut-out takes: the means of channels, which stand for what is beyond the ends, are over them.
    half = 128 * step
    sweep = 2 * dm / 2.41e-4 * (1 / f.min() ** 2 - 1 / f.max() ** 2) / tsamp
    from_ = max(0, int(np.floor(t_s / tsamp - half)) - 1)
    end = min(len(x), int(np.ceil(t_s / tsamp + half + sweep)) + 2)
    mean = x[from_:end].mean(0)

    def shifted(trial):
        delay = np.rint(trial / 2.41e-4 * (1 / f**2 - 1 / f.max() ** 2) / tsamp).astype(int)
        at = begin + np.arange(256 * step)[:, None] + delay
        inside = (at >= 0) & (at < len(x))
        return np.where(inside, np.take_along_axis(x, np.clip(at, 0, len(x) - 1), 0), mean), inside.mean()

    own, share = shifted(dm)
    want_ft = normalised(resize(bins(own, step)))
    want_dt = normalised(np.stack([bins(shifted(2 * dm * k / 255)[0], step).sum(1) for k in range(256)]))
    worst = [np.abs(got_ft - want_ft).max(), np.abs(got_dt - want_dt).max()]
    print(f"{path}: width {width}, step {step}, {share:.3f} within the input, differences {worst[0]:.2g} {worst[1]:.2g}")
    assert max(worst) < 2e-5, worst


main()
