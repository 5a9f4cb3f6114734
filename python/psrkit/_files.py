"""Files that are written complete or not at all, and observations as files."""
import contextlib
import os

import numpy as np

from ._arrays import address
from ._declarations import ffi
from ._library import check, lib, new_error, path_bytes
from ._observation import FileObservation, as_observation


@contextlib.contextmanager
def output(path):
    """A psr_outfile, which is renamed to path at the end, or removed after an error."""
    out, err = ffi.new("psr_outfile **"), new_error()
    check(lib.psr_outfile_create(out, path_bytes(path), err), err)
    try:
        yield out[0]
    except BaseException:
        lib.psr_outfile_abort(out[0])
        raise
    check(lib.psr_outfile_commit(out[0], err), err)


def commit(path, target):
    """Copies a file to another name."""
    with output(target) as f:
        err = new_error()
        with open(path, "rb") as of:
            for part in iter(lambda: of.read(1 << 24), b""):
                check(lib.psr_outfile_write(f, part, len(part), err), err)


def mask_path(mask, folder):
    """The path of a mask, which is written to a folder if it is a Mask, or an Interference that has one."""
    mask = getattr(mask, "mask", mask)
    if not hasattr(mask, "write"):
        return mask
    path = os.path.join(folder, "given.mask")
    mask.write(path)
    return path


def write_bytes(f, array):
    array, err = np.ascontiguousarray(array), new_error()
    if array.nbytes:
        check(lib.psr_outfile_write(f, address(array), array.nbytes, err), err)


def write_filterbank(path, x, fch1_mhz=None, foff_mhz=None, tsamp_s=None):
    """Writes a SIGPROC filterbank file.

    Parameters
    ----------
    path : path
    x : Observation, or array [time, channel] with the band
    fch1_mhz, foff_mhz, tsamp_s : float
        Of an array.
    """
    obs, err = as_observation(x, fch1_mhz, foff_mhz, tsamp_s), new_error()
    with output(path) as f:
        check(lib.psr_sigproc_write(f, obs._c, lib.PSR_SIGPROC_FILTERBANK, err), err)
        for block, n in obs._packed_blocks(obs._block_nsamp()):
            write_bytes(f, block[:n])


def as_paths(obs, folder):
    """Names of an observation's files, and options of psr_source_desc; an array is written to the folder."""
    if isinstance(obs, FileObservation):
        return obs.paths, obs._options
    path = os.path.join(folder, "array.fil")
    write_filterbank(path, obs)
    return [path], {}
