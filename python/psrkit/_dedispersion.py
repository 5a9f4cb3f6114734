"""Dedispersion plans, and dedispersion."""
import functools

import numpy as np

from . import _constants
from ._arrays import SAMPLES, address, as_doubles, as_samples, struct_dtype, copy_struct_array
from ._declarations import ffi
from ._files import output
from ._library import Progress, check, fail, lib, new_error
from ._observation import as_observation, channel_mhz, check_units, names_observation
from ._table import Table

ALGORITHMS = {"direct": lib.PSR_DEDISP_DIRECT, "tree": lib.PSR_DEDISP_TREE}
DM_UNIT = "pc cm-3"
SIGPROC_BLOCKLEN = 2400

# Additions of a call of the library, and values that it makes: about a tenth of a second of a core, so that Ctrl-C does not wait long.
CALL_ADDS, CALL_VALUES = 3e8, 1 << 24
CALL_LEAST = 1024  # spectra

# A result of more bytes is touched before the library fills it, rows of some MiB at a time.
TOUCH_BYTES, TOUCH_ROWS = 1 << 25, 16

DESC, INFO, PLAN, SIZE, DOUBLES, FLOATS = (ffi.typeof(name) for name in (
    "struct psr_dedisp_desc *", "struct psr_dedisp_info *", "psr_dedisp **", "size_t *", "double *", "float *"))


def as_algorithm(name):
    if name not in ALGORITHMS:
        fail("algorithm", repr(name), "direct or tree")
    return ALGORITHMS[name]


class Plan:
    """A dedispersion plan: lines of trial DMs, each with its sampling.

    Attributes
    ----------
    lines : Table
        lodm, hidm, dmstep (pc cm^-3), ndm, downsamp, bw_ms (smearing from half a step) and more; a row a line.
    dms : array
        All trial DMs, pc cm^-3: those of each line, from its lodm to a step below its hidm, where the next begins.  So the last
        is up to a step below dm_max, as ddplan's is: ask for a step more where dm_max is to be one of them.
    """

    def __init__(self, c, desc):
        self._c, self._desc = c, desc
        kind = struct_dtype("struct psr_ddplan_line")
        units = {"lodm": DM_UNIT, "hidm": DM_UNIT, "dmstep": DM_UNIT, "dsubdm": DM_UNIT, "bw_ms": "ms", "sub_ms": "ms"}
        self.lines = Table(copy_struct_array(c.line, c.nline, kind), units)
        self.dms = np.concatenate([line["lodm"] + line["dmstep"] * np.arange(line["ndm"]) for line in self.lines])

    def __len__(self):
        return len(self.dms)

    def __reduce__(self):
        return restore_plan, tuple(bytes(ffi.buffer(c)) for c in (self._c, self._desc))

    def smearing(self, dm):
        """Smearing at a DM of the plan.

        Returns
        -------
        dict
            total, optimal, sample, chan, bw and sub, ms.
        """
        if not self.lines["lodm"][0] <= dm <= self.lines["hidm"][-1]:
            fail("dm", dm, "%g to %g, of the plan" % (self.lines["lodm"][0], self.lines["hidm"][-1]))
        i = int(np.searchsorted(self.lines["hidm"], dm, side="right"))
        found = lib.psr_ddplan_smearing(self._c, min(i, self._c.nline - 1), dm)
        return {name: getattr(found, name) for name, _ in ffi.typeof(found).fields}

    def write(self, path):
        """Writes the plan as gpudedisp -plan reads it."""
        file, err = ffi.new("struct psr_planfile *"), new_error()
        check(lib.psr_planfile_from_ddplan(file, self._c, err), err)
        try:
            with output(path) as f:
                check(lib.psr_planfile_write(f, file, ffi.NULL, err), err)
        finally:
            lib.psr_planfile_clear(file)

    def __repr__(self):
        return "<Plan: %d DMs in %d lines, %g to %g>" % (len(self), len(self.lines), self.dms[0], self.dms[-1])


def restore_plan(plan_bytes, desc_bytes):
    desc, c = ffi.new("struct psr_ddplan_desc *"), ffi.new("struct psr_ddplan *")
    ffi.buffer(c)[:], ffi.buffer(desc)[:] = plan_bytes, desc_bytes
    c.desc = desc
    return Plan(c, desc)


def plan(obs=None, dm_max=1000.0, dm_min=0.0, *, fctr_mhz=None, bw_mhz=None, nchan=None, tsamp_s=None, resolution_ms=0.0,
         coherent_dm=0.0, blocklen=None):
    """Plans trial DMs: steps and sampling that lose little beside the smearing within a channel.

    Parameters
    ----------
    obs : Observation, optional
        Has the band; or give the next four.
    dm_max, dm_min : float
        Range of DMs, pc cm^-3, which the lines cover; the last trial is up to a step below dm_max.
    fctr_mhz, bw_mhz, nchan, tsamp_s
        Centre and width of the band, MHz; channels; sampling time, s.
    resolution_ms : float
        Acceptable time resolution; 0: the best possible.
    coherent_dm : float
        DM of coherent dedispersion within channels.
    blocklen : int, optional
        Its divisors below 260 are the numbers of samples that are summed; default as ddplan: of PSRFITS spectra of a
        row, else 2400.

    Returns
    -------
    Plan
    """
    desc, c, err = ffi.new("struct psr_ddplan_desc *"), ffi.new("struct psr_ddplan *"), new_error()
    desc.size = ffi.sizeof(desc[0])
    if obs is not None:
        band = lib.psr_obs_band(obs._c)
        fctr_mhz = (band.highest_mhz + band.lowest_mhz) / 2 if fctr_mhz is None else fctr_mhz
        bw_mhz = band.spacing_mhz * obs.nchan if bw_mhz is None else bw_mhz
        nchan, tsamp_s = nchan or obs.nchan, tsamp_s or obs.tsamp_s
        coherent_dm, blocklen = coherent_dm or obs.chan_dm, blocklen or obs._c.block_nsamp
    for name, value in (("fctr_mhz", fctr_mhz), ("bw_mhz", bw_mhz), ("nchan", nchan), ("tsamp_s", tsamp_s)):
        if value is None:
            fail(name, None, "given, or obs")
        setattr(desc.band, name, value)
    desc.lodm, desc.hidm, desc.cohdm = dm_min, dm_max, coherent_dm
    desc.blocklen, desc.nproc, desc.res_ms = blocklen or SIGPROC_BLOCKLEN, 1, resolution_ms
    check(lib.psr_ddplan_make_sized(c, ffi.sizeof(c[0]), desc, err), err, desc)
    return Plan(c, desc)


@functools.lru_cache(32)
def plain_desc(tsamp_s, nbit, kind, downsamp, dmconst, algorithm, backend, device, nthread, mem_bytes, smear):
    """A description but for its arrays, and the text in it; kept, since calls are often alike, and fields take longer to set than to copy."""
    desc, text = ffi.new(DESC), ffi.new("char[]", backend.encode())
    desc.size, desc.tsamp_s, desc.nbit, desc.kind, desc.downsamp = ffi.sizeof(DESC.item), tsamp_s, nbit, kind, downsamp
    desc.dmconst = _constants.DMCONST_PRESTO if dmconst is None else dmconst
    desc.algo, desc.backend, desc.device = as_algorithm(algorithm), text, device
    desc.nthread, desc.mem_bytes, desc.smear = nthread, mem_bytes, smear
    return desc, text


class Dedisperser:
    """A stream of spectra that is dedispersed: the library's plan, with what it borrows."""

    def __init__(self, nbit, kind, freq_mhz, tsamp_s, dms, algorithm="direct", downsamp=1, keep=None, dmconst=None, backend="auto",
                 device=0, nthread=0, mem_bytes=0, smear=0.0, nsamp=-1):
        plain = plain_desc(tsamp_s, nbit, kind, downsamp, dmconst, algorithm, backend, device, nthread, mem_bytes, smear)
        desc = ffi.new(DESC, plain[0][0])
        desc.nchan, desc.freq_mhz, desc.ndm, desc.dm = len(freq_mhz), address(freq_mhz, DOUBLES), len(dms), address(dms, DOUBLES)
        if keep is not None:
            keep = np.ascontiguousarray(keep, dtype=np.bool_)
            if keep.shape != (len(freq_mhz),):
                fail("keep", "of shape %s" % (keep.shape,), "a flag for each of %d channels" % len(freq_mhz))
            desc.keep = address(keep, "unsigned char *")
        out, self.err = ffi.new(PLAN), new_error()
        check(lib.psr_dedisp_create(out, desc, self.err), self.err, desc)
        self.desc, self.borrowed = desc, (freq_mhz, dms, plain, keep)
        self.plan, self.ndm, self.downsamp, self.nout = out[0], len(dms), downsamp, ffi.new(SIZE)
        self.maxshift = lib.psr_dedisp_maxshift(self.plan)
        self.step = CALL_LEAST if 0 <= nsamp <= CALL_LEAST else self.choose_step(len(freq_mhz))

    def choose_step(self, nchan):
        """Spectra of a call: so few that it is short, and so many that copies of the sweep cost little."""
        info = ffi.new(INFO)
        lib.psr_dedisp_describe_sized(self.plan, info, ffi.sizeof(info[0]))
        if ffi.string(info.backend) != b"cpu":
            return max(1, lib.psr_dedisp_block(self.plan))
        step = max(min(CALL_ADDS / max(1, nchan), CALL_VALUES) / self.ndm, 10 * self.maxshift * self.downsamp / self.ndm, CALL_LEAST)
        return max(1, min(int(step), lib.psr_dedisp_block(self.plan)))

    def length(self, nsamp):
        return max(0, nsamp // self.downsamp - self.maxshift)

    def execute(self, spectra, nsamp, out, at):
        """Appends what nsamp spectra complete to out[:, at:]; returns its length."""
        to = address(out, FLOATS) + at
        status = lib.psr_dedisp_execute(self.plan, address(spectra), nsamp, to, out.shape[1], self.nout, self.err)
        check(status, self.err)
        return self.nout[0]

    def close(self):
        lib.psr_dedisp_destroy(self.plan)


def touch(out, at, n):
    """Has the system provide the ends of out[:, at:at + n], a few rows at a time.

    numpy asks for pages of 2 MiB.  As each row lies in pages of its own, a call of the library would meet as many as there
    are trials, and clear gigabytes before Ctrl-C counts.
    """
    ends = [min(at, out.shape[1] - 1), min(at + n, out.shape[1]) - 1]
    for row in range(0, len(out), TOUCH_ROWS):
        out[row:row + TOUCH_ROWS, ends] = 0


def run_blocks(dedisperser, blocks, nsamp, progress):
    """Dedisperses (array, spectra) of blocks, nsamp in all, or -1."""
    parts, at, done = [], 0, 0
    out = np.empty((dedisperser.ndm, dedisperser.length(nsamp)), np.float32) if nsamp >= 0 else None
    bar = Progress(progress, nsamp if nsamp >= 0 else None) if progress else None
    for block, n in blocks:
        if out is None:
            part = np.empty((dedisperser.ndm, n // dedisperser.downsamp + 1), np.float32)
            parts.append(part[:, :dedisperser.execute(block, n, part, 0)])
        else:
            if out.nbytes > TOUCH_BYTES and at < out.shape[1]:
                touch(out, at, n // dedisperser.downsamp + 1)
            at += dedisperser.execute(block, n, out, at)
        done += n
        if bar:
            bar.update(done)
    if bar:
        bar.close()
    if out is None:
        return np.concatenate(parts, axis=1) if parts else np.empty((dedisperser.ndm, 0), np.float32)
    return out if at == out.shape[1] else out[:, :at].copy()


def dedisperse(x, dms, fch1_mhz=None, foff_mhz=None, tsamp_s=None, *, freq_mhz=None, algorithm="direct", downsamp=1, keep=None,
               dmconst=None, backend="auto", device=0, nthread=0, mem_bytes=0, smear=0.0, progress=None):
    """Dedisperses spectra at trial DMs.

    out[i, t] is the sum over channels c of x[t + d(i, c), c], where d(i, c) is the delay of channel c relative
    to the highest channel at DM i, rounded to samples.  Sums of integers are exact.

    Parameters
    ----------
    x : Observation or array [time, channel]
        An array of a type that from_array names is not copied if its rows are contiguous.
    dms : float or array [dm]
        Trial DMs, pc cm^-3.
    fch1_mhz, foff_mhz, tsamp_s : float
        Of an array: centre of the first channel and channel spacing, MHz; sampling time, s.
    freq_mhz : array [channel], optional
        Centres of channels that are not evenly spaced, instead of fch1_mhz and foff_mhz.
    algorithm : {"direct", "tree"}
        Exact delays; or a tree of sums, with far fewer additions and delays within smear.
    downsamp : int
        Samples summed first; the result is divided by it.
    keep : array [channel] of bool, optional
        False leaves a channel out.
    dmconst : float, optional
        Dispersion constant, MHz^2 s; default PRESTO's, 1 / 2.41e-4.
    backend : {"auto", "cpu", "cuda"}
    device : int
        Of the backend.
    nthread : int
        Threads; 0: all cores.
    mem_bytes : int
        Limit of memory; 0: a quarter of the machine's.
    smear : float
        Of the tree: largest smearing, as a multiple of the unavoidable one; 0: 1.07.
    progress : callable or True, optional
        Is called as progress(done, total), in spectra; True is a bar of tqdm.

    Returns
    -------
    array [dm, time] of float32
        All rows as long as the shortest trial: samples less the largest delay.

    Raises
    ------
    InvalidError
        For DMs and arrays out of their range; of dms, if the sweep of the largest is as long as the data, of which nothing
        would be left.

    Notes
    -----
    The global interpreter lock is released.  Barsdell et al. 2012; tree: Taylor 1974, Zackay & Ofek 2017.
    """
    dms = as_doubles(dms, "dms")
    options = dict(algorithm=algorithm, downsamp=downsamp, keep=keep, dmconst=dmconst, backend=backend, device=device,
                   nthread=nthread, mem_bytes=mem_bytes, smear=smear)
    if freq_mhz is None:
        if names_observation(x):
            x = as_observation(x)
            band, tsamp_s = np.ascontiguousarray(x.freq_mhz), x.tsamp_s
        else:
            as_band(fch1_mhz, foff_mhz)
            x = as_samples(x)
            band = channel_mhz(x.shape[1], float(fch1_mhz), float(foff_mhz))
    else:
        x = as_samples(x)
        band = as_doubles(freq_mhz, "freq_mhz")
        if len(band) != x.shape[1]:
            fail("freq_mhz", "of %d channels" % len(band), "one for each of %d channels" % x.shape[1])
    if tsamp_s is None:
        fail("tsamp_s", None, "given with an array")
    check_units(band[0] if len(band) else 0.0, 0.0, float(tsamp_s))
    is_array = isinstance(x, np.ndarray)
    nbit, kind = SAMPLES[x.dtype] if is_array else (x.nbit, x._c.kind)
    nsamp = len(x) if is_array else x.nsamp
    dedisperser = Dedisperser(nbit, kind, band, float(tsamp_s), dms, nsamp=nsamp, **options)
    try:
        if nsamp > 0 and dedisperser.maxshift and not dedisperser.length(nsamp):
            one = _constants.DMCONST_PRESTO if dmconst is None else dmconst
            most = nsamp * tsamp_s / (delay_s(1, band.min(), one) - delay_s(1, band.max(), one))
            fail("dms", dms.max(), "below %.6g: its sweep is as long as the %d samples" % (most, nsamp))
        step = dedisperser.step
        if not is_array:
            blocks = x._packed_blocks(step)
        elif nsamp <= step:
            blocks = ((x, nsamp),) if nsamp else ()
        else:
            blocks = ((x[at:at + step], min(step, nsamp - at)) for at in range(0, nsamp, step))
        return run_blocks(dedisperser, blocks, nsamp, progress)
    finally:
        dedisperser.close()


def as_band(fch1_mhz, foff_mhz):
    for name, value in (("fch1_mhz", fch1_mhz), ("foff_mhz", foff_mhz)):
        if value is None:
            fail(name, None, "given with an array")


def delay_s(dm, freq_mhz, dmconst=_constants.DMCONST_PRESTO):
    """Dispersion delay relative to infinite frequency, s.

    Parameters
    ----------
    dm : float or array
        pc cm^-3.
    freq_mhz : float or array
        MHz.
    dmconst : float
        MHz^2 s.
    """
    return dmconst * np.asarray(dm, np.float64) / np.asarray(freq_mhz, np.float64)**2
