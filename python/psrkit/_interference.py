"""Finds interference, and removes it: rfifind masks, clipping, zero-DM, automatic cleaning."""
import contextlib
import os
import tempfile

import numpy as np

from ._arrays import address
from ._declarations import ffi
from ._files import as_paths, commit, output, write_bytes
from ._library import Progress, Strings, Watch, check, fail, lib, new_error, path_bytes
from ._observation import as_observation
from ._table import make_table


CELL_VALUES = 1 << 20  # that are looked at at a time, as doubles, so that Ctrl-C does not wait long


class Mask:
    """An rfifind mask: which channels are bad in which intervals.  make_mask makes one of an array, read_mask reads one.

    Channels are numbered from the lowest frequency, intervals from the start.

    Attributes
    ----------
    array : array [interval, channel] of bool
        True: masked.
    dtint_s : float
        Length of an interval, s.
    ptsperint : int
        Spectra of an interval.
    lofreq_mhz, dfreq_mhz : float
        Centre of the lowest channel, and channel spacing.
    padding : array [channel] or None
        Values that replace masked samples.
    """

    def __init__(self, c, stats):
        self._c, self._stats = c, stats
        self.dtint_s, self.ptsperint, self.lofreq_mhz, self.dfreq_mhz = c.dtint_s, c.ptsperint, c.lofreq_mhz, c.dfreq_mhz
        self.nchan, self.nint = c.nchan, c.nint
        self.timesigma, self.freqsigma, self.mjd = c.timesigma, c.freqsigma, c.mjd
        self.padding = None
        if c.padding != ffi.NULL:
            self.padding = np.frombuffer(ffi.buffer(c.padding, 4 * c.nchan), np.float32).copy()
        self.array = read_array(c)

    @property
    def fraction(self):
        """Fraction of the cells that is masked."""
        return float(self.array.mean()) if self.array.size else 0.0

    def write(self, path):
        """Writes the mask, and its .stats file beside it if it has statistics."""
        with output(path) as f:
            err = new_error()
            check(lib.psr_mask_write(f, self._c, err), err)
        if self._stats is not None:
            with output(stats_path(path)) as f:
                err = new_error()
                check(lib.psr_outfile_write(f, self._stats, len(self._stats), err), err)

    def __reduce__(self):
        with tempfile.TemporaryDirectory(prefix="psrkit") as folder:
            path = os.path.join(folder, "x.mask")
            self.write(path)
            with open(path, "rb") as f:
                return restore_mask, (f.read(), self._stats)

    def __repr__(self):
        return "<Mask: %d channels, %d intervals of %.3f s, %.1f %% masked>" % (self.nchan, self.nint, self.dtint_s, 100 * self.fraction)


def restore_mask(mask, stats):
    with tempfile.TemporaryDirectory(prefix="psrkit") as folder:
        path = os.path.join(folder, "x.mask")
        for name, content in ((path, mask), (stats_path(path), stats)):
            with open(name, "wb") as f:
                f.write(content)
        return read_mask(path)


def stats_path(path):
    path = os.fspath(path)
    return (path[:-5] if path.endswith(".mask") else path) + ".stats"


def read_array(c):
    """Masked cells [interval, channel] of a psr_mask."""
    def flags(pointer, n):
        return np.frombuffer(ffi.buffer(pointer, n), np.uint8).astype(bool) if n else np.zeros(0, bool)

    array = flags(c.zap_int, c.nint)[:, None] | flags(c.all_chan, c.nint)[:, None] | flags(c.zap_chan, c.nchan)[None, :]
    first = np.frombuffer(ffi.buffer(c.first, 8 * (c.nint + 1)), np.uint64).astype(np.int64)
    if first[-1]:
        chan = np.frombuffer(ffi.buffer(c.chan, 4 * int(first[-1])), np.int32)
        array[np.repeat(np.arange(c.nint), np.diff(first)), chan] = True
    return array


def read_mask(path):
    """Reads an rfifind mask and the .stats file beside it.

    Returns
    -------
    Mask
    """
    c, err = ffi.gc(ffi.new("struct psr_mask *"), lib.psr_mask_clear), new_error()
    check(lib.psr_mask_read(c, path_bytes(path), 0, err), err)
    with open(stats_path(path), "rb") as f:
        return Mask(c, f.read())


def write_mask(path, array, mean, sd, obs, ptsperint):
    """Writes masked cells [interval, channel], from the lowest channel, and statistics of the cells beside it."""
    nint, nchan = array.shape
    zap_chan, zap_int = (np.flatnonzero(array.all(axis=axis)).astype(np.int32) for axis in (0, 1))
    all_chan = array.all(axis=1).astype(np.uint8)
    some = array & (all_chan == 0)[:, None]
    first = np.concatenate([[0], np.cumsum(some.sum(axis=1))]).astype(np.uint64)
    chan = np.nonzero(some)[1].astype(np.int32)
    band = lib.psr_obs_band(obs._c)
    c, err = ffi.new("struct psr_mask *"), new_error()
    c.mjd, c.dtint_s, c.lofreq_mhz, c.dfreq_mhz = obs.tstart_mjd, ptsperint * obs.tsamp_s, band.lowest_mhz, band.spacing_mhz
    c.nchan, c.nint, c.ptsperint, c.nzap_chan, c.nzap_int = nchan, nint, ptsperint, len(zap_chan), len(zap_int)
    kept = dict(zap_chans=zap_chan, zap_ints=zap_int, all_chan=all_chan, first=first, chan=chan, zap_int=all_chan,
                zap_chan=array.all(axis=0).astype(np.uint8))
    for name, part in kept.items():
        setattr(c, name, ffi.cast(ffi.typeof(getattr(c, name)), part.ctypes.data))
    with output(path) as f:
        check(lib.psr_mask_write(f, c, err), err)
    with output(stats_path(path)) as f:
        write_bytes(f, np.array([nchan, nint, ptsperint, 5, 2], np.int32))  # the Fourier bins of rfifind, of which there are none
        for part in (np.ones_like(mean), mean, sd):
            write_bytes(f, np.ascontiguousarray(part, np.float32))


def cell_statistics(obs, nint, ptsperint):
    """Mean and standard deviation of each cell [interval, channel], from the lowest channel."""
    sums = np.zeros((3, nint, obs.nchan))
    at = 0
    for block in obs.blocks(max(1, CELL_VALUES // obs.nchan)):
        while len(block):
            part = block[:ptsperint - at % ptsperint]
            if at // ptsperint < nint:
                x = part.astype(np.float64)
                sums[:, at // ptsperint] += np.full(obs.nchan, len(x)), x.sum(axis=0), (x * x).sum(axis=0)
            at, block = at + len(part), block[len(part):]
    n = np.maximum(sums[0], 1)
    mean = sums[1] / n
    return from_lowest(obs, mean), from_lowest(obs, np.sqrt(np.maximum(sums[2] / n - mean**2, 0)))


def from_lowest(obs, cells):
    """Cells [.., channel] in the order of the data, from the lowest frequency."""
    return cells if lib.psr_obs_band(obs._c).rising else cells[..., ::-1]


def make_mask(array, obs, *, interval_s=None):
    """Makes a mask of what is bad.

    Parameters
    ----------
    array : array [interval, channel] or [channel] of bool
        True: masked.  Channels from the lowest frequency, as those of Mask.array: of channels in the order of the data,
        take ``array[..., np.argsort(obs.freq_mhz)]``.
    obs : Observation or path
        Has the band, and the values that replace masked samples: the means of its channels, which takes a pass over it.
    interval_s : float, optional
        Length of an interval, s, such as dtint_s of another mask; default: the observation's over the number of intervals.

    Returns
    -------
    Mask
    """
    obs, array = as_observation(obs), np.atleast_2d(np.asarray(array))
    if array.dtype != np.bool_ or array.ndim != 2 or not array.shape[0] or array.shape[1] != obs.nchan:
        fail("array", "of %s and shape %s" % (array.dtype, array.shape), "of bool and shape [interval, channel], of %d channels" % obs.nchan)
    ptsperint = -(-obs.nsamp // len(array)) if interval_s is None else int(round(interval_s / obs.tsamp_s))
    if ptsperint < 1:
        fail("interval_s", interval_s, "a sample or more")
    mean, sd = cell_statistics(obs, len(array), ptsperint)
    return new_mask(array, mean, sd, obs, ptsperint)


def new_mask(*args):
    with tempfile.TemporaryDirectory(prefix="psrkit") as folder:
        path = os.path.join(folder, "x.mask")
        write_mask(path, *args)
        return read_mask(path)


class Interference:
    """What find_interference found.

    Attributes
    ----------
    mask : Mask
    mean, sd, power : arrays [interval, channel] of float32
        Statistics of cells: mean, standard deviation, largest power of the Fourier transform over that of noise.
    flags : array [interval, channel] of uint8
        Why a cell is bad, bits: 1 data are missing, 4 the channel is masked throughout, 8 the interval is masked whole, 16 periodic
        (its power), 32 its standard deviation, 64 its mean.  So ``flags & 32 > 0`` are those of unusual scatter.
    nread, nclipped : int
        Spectra that were read, and those of them that were clipped.
    birdies : Table
        Periodic interference: freq_hz, sigma, nobs.
    """

    def __init__(self, report, mask):
        stats, shape = report.stats, (report.stats.nint, report.stats.nchan)
        n = shape[0] * shape[1]
        self.mask, self.nread, self.nclipped = mask, report.nread, report.nclipped
        self.mean, self.sd, self.power = (
            np.frombuffer(ffi.buffer(pointer, 4 * n), np.float32).reshape(shape).copy() for pointer in (stats.mean, stats.sd, stats.power))
        self.flags = np.frombuffer(ffi.buffer(report.flags, n), np.uint8).reshape(shape).copy()
        birdies = [report.list.birdie[i] for i in range(report.list.n)]
        self.birdies = make_table(len(birdies), (
            ("freq_hz", "f8", [b.freq_hz for b in birdies]), ("sigma", "f8", [b.sigma for b in birdies]),
            ("nobs", "i4", [b.nobs for b in birdies])), {"freq_hz": "Hz"})

    def __repr__(self):
        return "<Interference: %s, %d periodic signals>" % (self.mask, len(self.birdies))


def find_interference(x, *, fch1_mhz=None, foff_mhz=None, tsamp_s=None, interval_s=30.0, time_sigma=10.0, freq_sigma=4.0, clip_sigma=6.0,
                      zerodm=False, ignorechan=None, root=None, nthread=0, mem_bytes=0, progress=None):
    """Finds interference as PRESTO's rfifind does, and makes the mask of it.

    Parameters
    ----------
    x : Observation or array [time, channel]
        An array with fch1_mhz, foff_mhz and tsamp_s.
    interval_s : float
        Length of an interval, s, rounded to whole blocks.
    time_sigma, freq_sigma : float
        Thresholds of means and standard deviations, and of Fourier powers.
    clip_sigma : float
        Of clipping; 0: none.
    zerodm : bool
    ignorechan : str, or sequence of int, optional
        Channels to leave out: "3,5:9,20:30:5".
    root : path, optional
        Keep the files ROOT_rfifind.mask and others.
    nthread, mem_bytes, progress
        As in search_pulses.

    Returns
    -------
    Interference
    """
    obs, watch = as_observation(x, fch1_mhz, foff_mhz, tsamp_s), Watch()
    bar = Progress(progress, None)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="psrkit"))
        paths, options = as_paths(obs, folder)
        prefix = os.path.join(folder, "x")
        desc, source, rules = (ffi.new("struct psr_%s *" % name) for name in ("rfi_run_desc", "source_desc", "rfi_rules"))
        lib.psr_rfi_run_set_defaults(desc, ffi.sizeof(desc[0]))
        lib.psr_rfi_rules_set_defaults(rules, ffi.sizeof(rules[0]))
        names, root_name = Strings(paths), ffi.new("char[]", path_bytes(prefix))
        source.size, source.path, source.npath = ffi.sizeof(source[0]), names.array, len(paths)
        for name, value in options.items():
            setattr(source, name, value)
        rules.time_sigma, rules.freq_sigma = time_sigma, freq_sigma
        desc.source, desc.rules, desc.root, desc.interval_s, desc.clip_sigma = source, rules, root_name, interval_s, clip_sigma
        desc.zerodm, desc.nthread, desc.mem_bytes, desc.should_stop = zerodm, nthread, mem_bytes, watch.should_stop
        if ignorechan is not None and not isinstance(ignorechan, str):
            ignorechan = ",".join("%d" % channel for channel in ignorechan)
        ignored = ffi.new("char[]", ignorechan.encode()) if ignorechan else ffi.NULL
        desc.ignorechan = ignored

        def report_progress(ctx, done, total):
            bar.total = total
            watch.guard(bar.update, done)

        callback = ffi.callback("void(void *, int64_t, int64_t)", report_progress)
        if progress:
            desc.progress = callback
        report, err = ffi.gc(ffi.new("struct psr_rfi_run_report *"), lib.psr_rfi_run_clear), new_error()
        status = watch.run(lib.psr_rfi_run_sized, report, ffi.sizeof(report[0]), desc, err)
        bar.close()
        check(status, err, desc)
        found = Interference(report, read_mask(prefix + "_rfifind.mask"))
        if root is not None:
            for name in sorted(os.listdir(folder)):
                if name.startswith("x_rfifind."):
                    commit(os.path.join(folder, name), os.fspath(root) + name[1:])
    return found


def clean(x, *, fch1_mhz=None, foff_mhz=None, tsamp_s=None, mask=None, clip_sigma=6.0, zerodm=False, auto=False, keep=None, details=False,
          nthread=0, progress=None):
    """Removes interference from spectra.

    Parameters
    ----------
    x : Observation or array [time, channel]
        An array with fch1_mhz, foff_mhz and tsamp_s.
    mask : Mask or path, optional
        Masked samples get the mask's padding.
    clip_sigma : float
        Spectra whose sum over channels deviates further are replaced; 0: none are.
    zerodm : bool
        Subtract the mean over channels; then nothing is clipped.
    auto : bool
        psrkit's own cleaning instead, of spectra that are first scaled to a level of 32 and a scatter of 5: masks
        channels and sparks, and subtracts what receivers have in common.
    keep : array [channel] of bool, optional
        False: the channel is not used.
    details : bool
        With auto: return also what was removed.
    nthread, progress
        As in search_pulses.

    Returns
    -------
    array [time, channel]
        float32; with auto uint8.
    Cleaned
        With details.
    """
    obs = as_observation(x, fch1_mhz, foff_mhz, tsamp_s)
    if keep is not None:
        keep = np.ascontiguousarray(keep, np.bool_)
        if keep.shape != (obs.nchan,):
            fail("keep", "of shape %s" % (keep.shape,), "a flag for each of %d channels" % obs.nchan)
    kind = "clean_auto" if auto else "clean"
    desc, err = ffi.new("struct psr_%s_desc *" % kind), new_error()
    desc.size, desc.nchan, desc.nbit, desc.kind = ffi.sizeof(desc[0]), obs.nchan, obs.nbit, obs._c.kind
    desc.tsamp_s, desc.clip_sigma, desc.zerodm, desc.nthread = obs.tsamp_s, clip_sigma, zerodm, nthread
    desc.ascending = lib.psr_obs_band(obs._c).rising
    if keep is not None:
        desc.keep = address(keep, "unsigned char *")
    if not auto:
        desc.floats = True
        if mask is not None:
            mask = getattr(mask, "mask", mask)
            mask = mask if isinstance(mask, Mask) else read_mask(mask)
            desc.mask = mask._c
    elif mask is not None:
        fail("mask", "given", "None with auto")
    if details and not auto:
        fail("details", details, "False without auto")
    out = ffi.new("psr_%s **" % kind)
    check(getattr(lib, "psr_%s_create" % kind)(out, desc, err), err, desc)
    plan = ffi.gc(out[0], getattr(lib, "psr_%s_destroy" % kind))
    held = lib.psr_clean_auto_window(plan) if auto else lib.PSR_CLEAN_BLOCK
    x = run_clean(obs, plan, kind, held, np.uint8 if auto else np.float32, Progress(progress, max(obs.nsamp, 0)))
    return (x, Cleaned(plan, obs)) if details else x


class Cleaned:
    """What clean(auto=True) removed.

    Attributes
    ----------
    share : float
        Of all samples, those that were masked.
    mask : Mask
        Channels that were masked in more than half of a window, as intervals; not sparks.
    nspark, nsamp : int
        Spectra that were masked in all channels, for sparks, and all spectra.
    nfiltered, nwindow : int
        Windows from which noise was subtracted that receivers have in common, and all windows.
    """

    def __init__(self, plan, obs):
        report = ffi.new("struct psr_clean_auto_report *")
        lib.psr_clean_auto_describe_sized(plan, report, ffi.sizeof(report[0]))
        self.nspark, self.nsamp, self.nfiltered, self.nwindow = report.nspark, report.nsamp, report.nfiltered, report.nwindow
        masked = np.frombuffer(ffi.buffer(report.masked, 8 * obs.nchan), np.int64)
        self.share = float(masked.sum() + self.nspark * obs.nchan) / max(1, self.nsamp * obs.nchan)
        n, shape = self.nwindow * obs.nchan, (self.nwindow, obs.nchan)
        self.mask = None
        if n:
            cells = [np.frombuffer(ffi.buffer(pointer, n * size), kind).reshape(shape) for pointer, size, kind in (
                (report.mask, 1, np.bool_), (report.level, 4, np.float32), (report.sd, 4, np.float32))]
            self.mask = new_mask(*(np.ascontiguousarray(from_lowest(obs, part)) for part in cells), obs, report.window)

    def __repr__(self):
        return "<Cleaned: %.2f %% of the samples masked, %d of %d spectra for sparks, %d of %d windows filtered>" % (
            100 * self.share, self.nspark, self.nsamp, self.nfiltered, self.nwindow)


def run_clean(obs, plan, kind, held, dtype, bar):
    """Passes all spectra through a plan that holds up to "held" back."""
    execute, finish = getattr(lib, "psr_%s_execute" % kind), getattr(lib, "psr_%s_finish" % kind)
    parts, nout, err, done = [], ffi.new("size_t *"), new_error(), 0
    for block, n in obs._packed_blocks(max(held, (1 << 22) // max(1, obs.nchan))):
        part = np.empty((n + held, obs.nchan), dtype)
        check(execute(plan, address(block), n, address(part), nout, err), err)
        parts.append(part[:nout[0]].copy() if nout[0] < n // 2 else part[:nout[0]])
        done += n
        bar.update(done)
    part = np.empty((held, obs.nchan), dtype)
    check(finish(plan, address(part), nout, err), err)
    bar.close()
    return np.concatenate(parts + [part[:nout[0]]])
