"""Observations: files in any format that psrkit reads, and arrays."""
import functools
import os

import numpy as np

from ._arrays import address, as_doubles, as_samples, dtype_of, unpack, SAMPLES
from ._declarations import ffi
from ._library import Strings, check, check_names, fail, lib, new_error

READ_BYTES = 1 << 26  # read at once, so that Ctrl-C does not wait long

POLS = {name: getattr(lib, "PSR_POLS_" + name.upper()) for name in ("unknown", "intensity", "powers", "coherence", "stokes")}


HEADER_TEXTS = ("source", "telescope", "instrument", "observer", "project_id")
HEADER_NUMBERS = ("telescope_id", "machine_id", "ibeam", "nbeam", "refdm", "chan_dm", "barycentric")


def text_property(name, doc):
    return property(lambda self: ffi.string(getattr(self._c, name)).decode(errors="replace"), doc=doc)


def number_property(name, doc):
    return property(lambda self: getattr(self._c, name), doc=doc)


@functools.lru_cache(16)
def channel_mhz(nchan, fch1_mhz, foff_mhz):
    """Centres of channels, MHz, with the rounding of psr_obs_freq_mhz: upwards from the lowest; read-only."""
    c = np.arange(nchan, dtype=np.float64)
    if foff_mhz >= 0:
        mhz = fch1_mhz + c * foff_mhz
    else:
        mhz = fch1_mhz + (nchan - 1) * foff_mhz + (nchan - 1 - c) * -foff_mhz
    mhz.flags.writeable = False
    return mhz


class Observation:
    """An observation: header, and spectra [time, channel] in the order of the file.

    ``obs[a:b]`` has samples a to b - 1, as ``obs.seconds(a, b)`` has those between two times, and
    ``obs.blocks()`` all, in turn.  Attributes have units in their names.
    """

    nchan = number_property("nchan", "Number of channels.")
    nbit = number_property("nbit", "Bits per sample, as they are read.")
    fch1_mhz = number_property("fch1_mhz", "Centre of the first channel, MHz.")
    foff_mhz = number_property("foff_mhz", "Channel spacing, MHz; negative if the first channel is the highest.")
    tsamp_s = number_property("tsamp_s", "Sampling time, s.")
    nsamp = number_property("nsamp", "Spectra; -1 if unknown until the input ends.")
    barycentric = number_property("barycentric", "Times are those of the barycentre.")
    refdm = number_property("refdm", "DM of a dedispersed series, pc cm^-3.")
    chan_dm = number_property("chan_dm", "DM of coherent dedispersion within channels, pc cm^-3.")
    ibeam = number_property("ibeam", "Number of the beam; 0 if unknown.")
    nbeam = number_property("nbeam", "Beams; 0 if unknown.")
    telescope_id = number_property("telescope_id", "SIGPROC's number of the telescope; -1 if unknown.")
    machine_id = number_property("machine_id", "SIGPROC's number of the backend; -1 if unknown.")
    source = text_property("source", "Name of the source.")
    telescope = text_property("telescope", "Name of the telescope.")
    instrument = text_property("instrument", "Name of the instrument.")
    observer = text_property("observer", "Name of the observer.")
    project_id = text_property("project_id", "Name of the project.")

    def __init__(self):
        self._c = ffi.gc(ffi.new("struct psr_obs *"), lib.psr_obs_clear)
        lib.psr_obs_init(self._c)

    @property
    def freq_mhz(self):
        """Centres of the channels in the order of the data, MHz: array [nchan]."""
        if self._c.freq_mhz != ffi.NULL:
            return np.frombuffer(ffi.buffer(self._c.freq_mhz, 8 * self.nchan)).copy()
        return channel_mhz(self.nchan, self.fch1_mhz, self.foff_mhz).copy()

    @property
    def lowest_mhz(self):
        """Centre of the lowest channel, MHz."""
        return lib.psr_obs_lowest_mhz(self._c)

    @property
    def highest_mhz(self):
        """Centre of the highest channel, MHz."""
        return lib.psr_obs_highest_mhz(self._c)

    @property
    def tstart_mjd(self):
        """Time of the first sample at the highest frequency, MJD; tstart has all its digits."""
        return self._c.tstart.day + self._c.tstart.frac

    @property
    def tstart(self):
        """The same as (day, fraction of the day)."""
        return self._c.tstart.day, self._c.tstart.frac

    @property
    def ra_deg(self):
        """Right ascension, J2000, degrees; None if the header has none."""
        return self._c.ra_deg if self._c.has_position else None

    @property
    def dec_deg(self):
        """Declination, J2000, degrees; None if the header has none."""
        return self._c.dec_deg if self._c.has_position else None

    @property
    def tobs_s(self):
        """Length, s; None if it is unknown."""
        return self.nsamp * self.tsamp_s if self.nsamp >= 0 else None

    @property
    def dtype(self):
        """Type of the samples of obs[a:b]."""
        return dtype_of(self.nbit, self._c.kind)

    def __len__(self):
        return max(self.nsamp, 0)

    def _spectra(self, first, count):
        raise NotImplementedError

    def __getitem__(self, key):
        """obs[a:b] or obs[a]: samples as an array [time, channel], or [channel]; obs[a:b, c:d] of some channels."""
        if isinstance(key, tuple):
            return self[key[0]][(...,) + key[1:]]
        if isinstance(key, slice):
            if key.step not in (None, 1):
                fail("step", key.step, "1")
            if self.nsamp < 0 and (key.stop is None or min(key.start or 0, key.stop) < 0):
                fail("nsamp", "unknown", "known for a slice without an end")
            length = self.nsamp if self.nsamp >= 0 else key.stop
            first, last, _ = slice(key.start, key.stop).indices(length)
            return self._spectra(first, max(last - first, 0))
        if not hasattr(key, "__index__"):
            fail("index", repr(key), "a number of a sample, or a slice of samples")
        first = key.__index__()
        if first < -len(self) or (self.nsamp >= 0 and first >= self.nsamp):
            raise IndexError("sample %d of %d" % (first, self.nsamp))
        return self._spectra(first + (self.nsamp if first < 0 else 0), 1)[0]

    def seconds(self, start, end):
        """Samples from start to end, seconds since the first sample; what lies outside is left out.

        Returns
        -------
        array [time, channel]
        """
        first, behind = (max(0, int(np.ceil(t / self.tsamp_s - 1e-6))) for t in (start, end))
        return self[first:behind]

    def _packed_blocks(self, nsamp):
        """Yields (array, spectra) of samples as the library takes them."""
        raise NotImplementedError

    def blocks(self, nsamp=None):
        """Yields all samples in order, arrays [time, channel] of nsamp spectra, the last of fewer.

        Parameters
        ----------
        nsamp : int, optional
            Spectra of a block; default about 64 MiB.
        """
        for block, n in self._packed_blocks(nsamp or self._block_nsamp()):
            yield block[:n] if self.nbit >= 8 else unpack(block[:n], n, self.nchan, self.nbit)

    def _block_nsamp(self, nbyte=READ_BYTES):
        return int(max(1, nbyte // max(1, self.nchan * self.nbit // 8)))

    def __repr__(self):
        length = "unknown length" if self.nsamp < 0 else "%.3f s" % self.tobs_s
        return "<%s: %s, %d channels, %.3f to %.3f MHz, %d bits, %s of %.6g us>" % (
            self._title(), self.source or "unknown source", self.nchan, self.lowest_mhz, self.highest_mhz, self.nbit, length,
            self.tsamp_s * 1e6)


class FileObservation(Observation):
    """An observation in files; see psrkit.open."""

    def __init__(self, paths, **options):
        super().__init__()
        self.paths, self._options = [os.fspath(path) for path in paths], options
        source = self._open(0)
        try:
            err = new_error()
            check(lib.psr_obs_copy(self._c, lib.psr_source_obs(source), err), err)
            self._inf = None
        finally:
            lib.psr_source_close(source)

    def __reduce__(self):
        return functools.partial(FileObservation, **self._options), (self.paths,)

    def _title(self):
        return ", ".join(self.paths[:2]) + (", .." if len(self.paths) > 2 else "")

    def _open(self, skip):
        desc = ffi.new("struct psr_source_desc *")
        names = Strings(self.paths)
        desc.size = ffi.sizeof(desc[0])
        desc.path, desc.npath, desc.skip = names.array, len(self.paths), skip
        for name, value in self._options.items():
            setattr(desc, name, value)
        out, err = ffi.new("psr_source **"), new_error()
        check(lib.psr_source_open(out, desc, err), err, desc)
        return out[0]

    def _packed_blocks(self, nsamp, first=0, count=None):
        source, err, nread = self._open(first), new_error(), ffi.new("size_t *")
        row = lib.psr_source_block_bytes(source, 1)
        try:
            while count is None or count > 0:
                want = nsamp if count is None else min(nsamp, count)
                block = np.empty((want, row // self.dtype.itemsize), self.dtype)
                check(lib.psr_source_read(source, want, address(block), nread, err), err)
                if nread[0] == 0:
                    return
                count = None if count is None else count - nread[0]
                yield block, nread[0]
        finally:
            lib.psr_source_close(source)

    def _spectra(self, first, count):
        out = np.empty((count, self.nchan), self.dtype)
        if self.nbit >= 8:
            return self._read_into(out, first)
        at = 0
        for block, n in self._packed_blocks(self._block_nsamp(), first, count):
            out[at:at + n] = unpack(block[:n], n, self.nchan, self.nbit)
            at += n
        return out[:at]

    def _read_into(self, out, first):
        """Reads spectra from first on into an array, without a copy in between."""
        if len(out) == 0:
            return out
        source, err, nread, at = self._open(first), new_error(), ffi.new("size_t *"), 0
        step = self._block_nsamp()
        try:
            while at < len(out):
                part = out[at:at + step]
                check(lib.psr_source_read(source, len(part), address(part), nread, err), err)
                if nread[0] == 0:
                    break
                at += nread[0]
        finally:
            lib.psr_source_close(source)
        return out[:at]


class ArrayObservation(Observation):
    """An observation in memory; see psrkit.from_array.  ``data`` is its array [time, channel]."""

    def __init__(self, data, **header):
        super().__init__()
        self.data = as_samples(data)
        c = self._c
        c.nif, c.nsamp, c.nchan = 1, self.data.shape[0], self.data.shape[1]
        c.nbit, c.kind = SAMPLES[self.data.dtype]
        set_header(c, **header)

    def __reduce__(self):
        header = {name: getattr(self, name) for name in ("fch1_mhz", "foff_mhz", "tsamp_s", "ra_deg", "dec_deg") + HEADER_TEXTS + HEADER_NUMBERS}
        return functools.partial(type(self), tstart_mjd=self.tstart, **header), (self.data,), dict(self.__dict__, _c=None, data=None)

    def __setstate__(self, state):
        self.__dict__.update({name: value for name, value in state.items() if value is not None})

    def _title(self):
        return "array"

    def _spectra(self, first, count):
        return self.data[first:first + count]

    def _packed_blocks(self, nsamp):
        for at in range(0, len(self.data), nsamp):
            block = self.data[at:at + nsamp]
            yield block, len(block)


def set_header(c, fch1_mhz, foff_mhz, tsamp_s, tstart_mjd=50000, ra_deg=None, dec_deg=None, also=(), **texts):
    """Fills a psr_obs; also: further arguments of the caller, for hints."""
    c.fch1_mhz, c.foff_mhz, c.tsamp_s = fch1_mhz, foff_mhz, tsamp_s
    day, frac = tstart_mjd if isinstance(tstart_mjd, tuple) else (int(tstart_mjd // 1), tstart_mjd % 1)
    c.tstart.day, c.tstart.frac = day, frac
    if (ra_deg is None) != (dec_deg is None):
        fail("ra_deg" if ra_deg is None else "dec_deg", None, "given with the other coordinate")
    if ra_deg is not None:
        c.has_position, c.ra_deg, c.dec_deg = True, ra_deg, dec_deg
    check_names(texts, HEADER_TEXTS + HEADER_NUMBERS + also, "argument")
    for name, value in texts.items():
        setattr(c, name, value.encode()[:255] if name in HEADER_TEXTS else value)


def open(path, polarisation=None, pols="unknown", invert=False, weights=True, scales=True, offsets=True, nthread=1):
    """Opens an observation: SIGPROC, PSRFITS, DADA spectra, sub-bands; one file, or a list of its parts.

    Parameters
    ----------
    path : str, path or list of them
        Files, in any order.
    polarisation : int, optional
        This one, from 0; default: total intensity.
    pols : {"unknown", "intensity", "powers", "coherence", "stokes"}
        What several polarisations are, instead of what the header says.
    invert : bool
        Reverse the order of the channels, but not the frequencies.
    weights, scales, offsets : bool
        Apply those of PSRFITS.
    nthread : int
        Threads that read.

    Returns
    -------
    Observation

    Raises
    ------
    FileError, FormatError, UnsupportedError, InvalidError
    """
    if pols not in POLS:
        fail("pols", repr(pols), "one of " + ", ".join(POLS))
    paths = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
    return FileObservation(
        paths, if_choice=-1 if polarisation is None else polarisation, pols=POLS[pols], invert=invert, no_weights=not weights,
        no_scales=not scales, no_offsets=not offsets, nthread=nthread)


MOST_MHZ, MOST_S = 1e6, 1000


def check_units(fch1_mhz, foff_mhz, tsamp_s):
    """Refuses what is in other units: no telescope has such bands, and no spectra are so long."""
    for name, value in (("fch1_mhz", fch1_mhz), ("foff_mhz", foff_mhz)):
        if abs(value) > MOST_MHZ:
            fail(name, value, "in MHz, below %g" % MOST_MHZ)
    if tsamp_s > MOST_S:
        fail("tsamp_s", tsamp_s, "in s, below %g" % MOST_S)


def from_array(x, fch1_mhz, foff_mhz, tsamp_s, **header):
    """An observation of an array, which is not copied if its rows are contiguous.

    Parameters
    ----------
    x : array [time, channel]
        uint8, int8, uint16, int16, uint32 or float32; other types are copied to float32.
    fch1_mhz, foff_mhz : float
        Centre of the first channel, and channel spacing (negative if it is the highest), MHz.
    tsamp_s : float
        Sampling time, s.
    **header
        tstart_mjd, ra_deg, dec_deg, source, telescope, instrument, observer, project_id, telescope_id,
        machine_id, ibeam, nbeam, chan_dm, barycentric.

    Returns
    -------
    Observation
    """
    check_units(fch1_mhz, foff_mhz, tsamp_s)
    return ArrayObservation(x, fch1_mhz=fch1_mhz, foff_mhz=foff_mhz, tsamp_s=tsamp_s, **header)


def names_observation(x):
    """Whether x is an observation or its path, and not an array."""
    return type(x) is not np.ndarray and isinstance(x, (Observation, str, bytes, os.PathLike))


def as_observation(x, fch1_mhz=None, foff_mhz=None, tsamp_s=None):
    """x, or an observation of the array x."""
    if names_observation(x):
        return x if isinstance(x, Observation) else open(x)
    for name, value in (("fch1_mhz", fch1_mhz), ("foff_mhz", foff_mhz), ("tsamp_s", tsamp_s)):
        if value is None:
            fail(name, None, "given with an array")
        if not np.isfinite(as_doubles(value, name)).all():
            fail(name, value, "finite")
    check_units(fch1_mhz, foff_mhz, tsamp_s)
    return from_array(x, fch1_mhz, foff_mhz, tsamp_s)
