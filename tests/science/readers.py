#!/usr/bin/env python3
"""What other programs read of the files that fbedit writes: the same values, or what they say.

readers.py BIN: BIN is the folder of the programs.  Uses what is installed of your, blimpy, h5py, astropy and sigpyproc, and PRESTO's readfile and
prepdata; prints the table of readers.txt.
"""

import importlib.metadata
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from check_edits import read_filterbank

NCHAN = 64


def read_your(path):
    import your

    file = your.Your(path)
    return file.get_data(0, int(file.your_header.nspectra))


def read_blimpy(path):
    import blimpy

    return blimpy.Waterfall(path, max_load=4).data


def read_h5py(path):
    import h5py

    with h5py.File(path) as f:
        assert not f["mask"][:].any()
        return f["data"][:]


def read_astropy(path):
    """Below 8 bits the first sample is in the highest bits."""
    from astropy.io import fits

    with fits.open(path) as f:
        table = f["SUBINT"]
        nbits, rows = table.header["NBITS"], len(table.data)
        x = np.asarray(table.data["DATA"])
        if nbits < 8:
            x = x.reshape(-1).astype("u1")[:, None] >> 8 - nbits - np.arange(8 // nbits) * nbits & (1 << nbits) - 1
        x = x.reshape(rows, -1, NCHAN) * table.data["DAT_SCL"].reshape(rows, 1, -1) + table.data["DAT_OFFS"].reshape(rows, 1, -1)
        return x.reshape(-1, NCHAN)


def read_sigpyproc(path):
    from sigpyproc import readers

    file = (readers.PFITSReader if path.endswith("fits") else readers.FilReader)(path)
    return file.read_block(0, file.header.nsamples).data.T


def read_presto(path):
    """readfile shows the header, prepdata sums channels: what both say must hold."""
    text = subprocess.run(["readfile", path], capture_output=True, text=True, check=True).stdout
    header = {key: float(re.search(rf"{key} += +([-0-9.]+)", text)[1]) for key in
              (r"Number of channels", r"Sample time \(us\)", r"Low channel \(MHz\)", r"High channel \(MHz\)", r"Channel width \(MHz\)")}
    assert np.allclose(list(header.values()), (NCHAN, 256, 1500 - 2 * (NCHAN - 1), 1500, 2)), header
    subprocess.run(["prepdata", "-nobary", "-noclip", "-dm", "0", "-o", "presto", path], stdout=subprocess.DEVNULL, check=True)
    return np.fromfile("presto.dat", "f4")


READERS = {"your": (read_your, "fil", "fits"), "blimpy": (read_blimpy, "fil", "h5"), "h5py": (read_h5py, "h5"),
           "astropy": (read_astropy, "fits"), "sigpyproc": (read_sigpyproc, "fil", "fits"), "presto": (read_presto, "fil", "fits")}


def compare(read, path, want):
    try:
        got = np.asarray(read(path)).astype(float)
    except BaseException as e:  # blimpy leaves by SystemExit
        return f"{type(e).__name__}: {str(e).strip()[:70]}"
    if read is read_presto:
        differ = ~np.isclose(got[:len(want)], want.sum(axis=1), rtol=1e-6)  # it goes on with the mean up to a length that it likes
        return f"{differ.mean():.0%} of the sums differ" if differ.any() else "same, summed over channels"
    got = got.reshape(-1, NCHAN)
    if got.shape != want.shape:
        return f"{got.shape[0]} spectra, not {want.shape[0]}"
    return "same" if np.array_equal(got, want) else f"{(got != want).mean():.0%} of the samples differ"


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    bin_ = os.path.abspath(sys.argv[1])
    os.chdir(tempfile.mkdtemp())
    run = lambda tool, *words: subprocess.run([os.path.join(bin_, tool), "-q", *words], check=True)  # noqa: E731
    run("fakebin", "-add", "burst dm=60 t=1 width=8e-3 snr=40", "-nchans", str(NCHAN), "-nbits", "8", "-tobs", "2.9", "-tsamp", "256",
        "-fch1", "1500", "-foff", "-2", "-seed", "3", "-o", "fake.fil")
    run("fbedit", "-set", "telescope=Parkes", "-o", "all.fil", "fake.fil")
    for name, (read, *kinds) in READERS.items():
        try:
            version = importlib.metadata.version(name) if name != "presto" else shutil.which("readfile") and ""
        except importlib.metadata.PackageNotFoundError:
            version = None
        print(name, "is not installed" if version is None else version)
        if version is None:
            continue
        for kind in kinds:
            for nbits in (1, 2, 4, 8, 16, 32):
                if kind == "h5" and nbits < 8:
                    continue
                run("fbedit", "-end", "9600smp", "-nbits", str(nbits), "-o", "want.fil", "all.fil")
                run("fbedit", "-o", f"x.{kind}", "want.fil")
                with open("want.fil", "rb") as f:
                    want = read_filterbank(f.read())[0]
                print(f"  {kind:5s}{nbits:3d} bits  {compare(read, f'x.{kind}', want)}", flush=True)


if __name__ == "__main__":
    main()
