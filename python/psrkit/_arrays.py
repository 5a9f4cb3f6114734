"""Arrays of callers as the library takes them, without a copy where that is possible."""
import numpy as np

from ._declarations import ffi
from ._library import InvalidError, fail, lib

# Types of samples that the library reads as they are: bits and kind.
SAMPLES = {
    np.dtype(np.uint8): (8, lib.PSR_UINT), np.dtype(np.int8): (8, lib.PSR_INT),
    np.dtype(np.uint16): (16, lib.PSR_UINT), np.dtype(np.int16): (16, lib.PSR_INT),
    np.dtype(np.uint32): (32, lib.PSR_UINT), np.dtype(np.float32): (32, lib.PSR_FLOAT),
}
DOUBLE = np.dtype(np.float64)


def dtype_of(nbit, kind):
    """Type of samples as the library returns them; packed ones are bytes."""
    for dtype, mine in SAMPLES.items():
        if mine == (max(nbit, 8), kind):
            return dtype
    fail("nbit", nbit, "1 2 4 8 16 or 32, of a kind that numpy has")


def from_dlpack(x):
    """Arrays of other packages (torch, CuPy on the host, ..) by DLPack, without a copy."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        fail("x", "an array with %d masked elements" % np.ma.count_masked(x), "without any: fill them, or use keep, or mask= of a search")
    if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack__"):
        return x
    try:
        return np.from_dlpack(x)
    except (BufferError, TypeError, RuntimeError, ValueError):  # such as of a tensor that is on a device
        raise InvalidError("x is on a device, must be on the host", "x", type(x).__name__, "an array on the host") from None


def is_plain(x):
    """Whether an array lies in memory as C has it."""
    flags = x.flags
    return flags.c_contiguous and flags.aligned


def as_samples(x):
    """x [time, channel] in rows without gaps and of a type that the library takes.

    bool becomes uint8, every other type float32; strides, byte order and such are copied away.
    """
    if type(x) is np.ndarray and x.ndim == 2 and x.dtype in SAMPLES and is_plain(x):
        return x  # at once, since calls may be short
    x = np.asarray(from_dlpack(x))
    if x.ndim != 2:
        fail("x", "an array of %d dimensions" % x.ndim, "an array [time, channel]")
    dtype = x.dtype.newbyteorder("=")
    if dtype.kind not in "biuf":
        fail("x", "of type %s" % x.dtype, "of integers or real numbers")
    if dtype == np.bool_:
        dtype = np.dtype(np.uint8)
    if dtype not in SAMPLES:
        dtype = np.dtype(np.float32)
    return np.require(x, dtype, ("C", "A"))


def refuse_spectra(x, field="series"):
    """Raises for an observation where series are wanted."""
    if hasattr(x, "_packed_blocks"):
        fail(field, "an observation", "series, as dedisperse makes them of it")


def as_series(x, field="series"):
    """x [trial, time] of float32 whose rows have no gaps; one series [time] becomes a row of one."""
    refuse_spectra(x, field)
    x = np.asarray(from_dlpack(x))
    if x.ndim not in (1, 2):
        fail(field, "an array of %d dimensions" % x.ndim, "an array [time] or [trial, time]")
    if x.dtype.kind not in "biuf":
        fail(field, "of type %s" % x.dtype, "of integers or real numbers")
    x = x.reshape(-1, x.shape[-1]) if x.ndim == 1 else x
    if x.dtype != np.float32 or not x.dtype.isnative or not x.flags.aligned or x.strides[1] != 4 or x.strides[0] % 4 or x.strides[0] < 4 * x.shape[1]:
        x = np.ascontiguousarray(x, dtype=np.float32)
    return x


def as_doubles(x, field):
    """x as doubles, one-dimensional."""
    if type(x) is np.ndarray and x.ndim == 1 and x.dtype == DOUBLE and is_plain(x):
        return x
    try:
        x = np.ascontiguousarray(np.atleast_1d(from_dlpack(x)), dtype=np.float64)
    except (TypeError, ValueError):
        fail(field, repr(x), "numbers")
    if x.ndim != 1:
        fail(field, "an array of %d dimensions" % x.ndim, "a list of numbers")
    return x


def address(x, ctype="void *"):
    """The array's memory; valid as long as the array."""
    try:
        return ffi.cast(ctype, ffi.from_buffer(x))
    except ValueError:  # rows are apart
        return ffi.cast(ctype, x.ctypes.data)


def unpack(bytes_, nsamp, nchan, nbit):
    """Samples of 1, 2 or 4 bits [nsamp, nchan] as bytes; the first channel is in the low bits."""
    rows = bytes_.reshape(nsamp, -1)
    if nbit == 1:
        return np.unpackbits(rows, axis=1, bitorder="little")[:, :nchan]
    out = np.empty(rows.shape + (8 // nbit,), np.uint8)
    for i in range(8 // nbit):
        np.bitwise_and(rows >> (nbit * i), (1 << nbit) - 1, out=out[:, :, i])
    return np.ascontiguousarray(out.reshape(nsamp, -1)[:, :nchan])


def copy_struct_array(pointer, n, dtype):
    """n structs of C at pointer as a structured array of their own; dtype has their layout."""
    if n == 0:
        return np.empty(0, dtype)
    return np.frombuffer(ffi.buffer(pointer, n * dtype.itemsize), dtype=dtype).copy()


def struct_dtype(name, fields=None):
    """numpy's type of a struct of C, from the declarations; of "fields", by default all that are numbers."""
    ctype = ffi.typeof(name)
    names, formats, offsets = [], [], []
    for field, info in ctype.fields:
        if fields is not None and field not in fields:
            continue
        kind = number_format(info.type)
        if kind is None:
            continue
        names.append(field)
        formats.append(kind)
        offsets.append(info.offset)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": ffi.sizeof(ctype)})


def number_format(ctype):
    """numpy's format of a number, or of a struct of numbers; None for others."""
    size = ffi.sizeof(ctype) if ctype.kind in ("primitive", "enum") else 0
    if ctype.kind == "enum":
        return "u%d" % size if ctype.relements and min(ctype.elements) >= 0 else "i%d" % size
    if ctype.kind == "primitive":
        if ctype.cname in ("double", "float"):
            return "f%d" % size
        if ctype.cname in ("_Bool", "bool"):
            return "?"
        return ("u%d" if int(ffi.cast(ctype, -1)) > 0 else "i%d") % size
    if ctype.kind == "struct":
        return struct_dtype(ctype.cname)
    return None
