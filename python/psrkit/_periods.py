"""Searches of Fourier spectra for pulsars, accelerated or not."""
import numpy as np

from ._arrays import as_doubles, as_series, from_dlpack, refuse_spectra
from ._declarations import ffi
from ._library import Watch, check, fail, lib, new_error
from ._table import make_table, pad_rows

METHODS = {"boxes": (True, False), "matched": (False, True), "both": (True, True)}
UNITS = {"freq_hz": "Hz", "freq_err_hz": "Hz", "period_s": "s", "fd": "Hz s-1", "fdd": "Hz s-2", "dm": "pc cm-3"}


def candidate_rows(result, trial, tobs_s):
    """Candidates of one series as tuples."""
    for i in range(result.list.ncand):
        c = result.list.cand[i]
        harm = [c.harm[h].power.value for h in range(c.nharm)] if c.harm != ffi.NULL else []
        yield (trial, c.sigma, c.power, c.coherent, c.nharm, c.r.value, c.r.error, c.z.value, c.z.error, c.w.value, c.w.error,
               ffi.string(c.note).decode(errors="replace"), harm, tobs_s)


def make_candidates(rows, dms, harmonics, meta):
    columns = list(zip(*rows)) if rows else [[] for _ in range(14)]
    trial, tobs_s = np.array(columns[0], np.int64), np.array(columns[13], np.float64)
    r, z, w = (np.array(columns[i], np.float64) for i in (5, 7, 9))
    freq = r / tobs_s
    with np.errstate(divide="ignore"):
        period = 1 / freq
    harmonics = pad_rows(columns[12], harmonics)  # lists of one kind can be joined
    return make_table(len(rows), (
        ("sigma", "f8", columns[1]), ("freq_hz", "f8", freq), ("period_s", "f8", period), ("fd", "f8", z / tobs_s**2),
        ("fdd", "f8", w / tobs_s**3), ("dm", "f8", dms[trial] if len(rows) else []), ("trial", "i8", trial), ("nharm", "i4", columns[4]),
        ("power", "f8", columns[2]), ("coherent", "f8", columns[3]), ("r", "f8", r), ("z", "f8", z), ("w", "f8", w),
        ("freq_err_hz", "f8", np.array(columns[6], np.float64) / tobs_s), ("z_err", "f8", columns[8]), ("note", "U21", columns[11]),
        ("harmonics", "(%d,)f8" % harmonics.shape[1], harmonics), ("at", "U6", "middle")),
        UNITS, meta)


class FourierSearch:
    """The library's search, and its inputs."""

    def __init__(self, watch, shape, method, options):
        desc, self.err = ffi.new("struct psr_fourier_desc *"), new_error()
        lib.psr_fourier_set_defaults(desc, ffi.sizeof(desc[0]))
        desc.boxes, desc.matched = METHODS[method]
        for name, value in options.items():
            setattr(desc, name, value)
        desc.should_stop = watch.should_stop
        out = ffi.new("psr_fourier **")
        check(lib.psr_fourier_create(out, desc, self.err), self.err, desc)
        self.search, self.shape, self.watch, self.desc = ffi.gc(out[0], lib.psr_fourier_destroy), shape, watch, desc

    def fill(self, inputs, i, x):
        """Prepares series or spectrum x as input i."""
        room = lib.psr_fourier_room(self.search, 0, i)
        if room == ffi.NULL:
            fail("mem_bytes", self.desc.mem_bytes, "more")
        n = 2 * self.shape.nbin
        np.frombuffer(ffi.buffer(room, 4 * n), np.float32)[:] = x[:n]
        inputs[i].shape, inputs[i].x = self.shape, room
        check(lib.psr_fourier_prepare(self.search, inputs + i, ffi.NULL, self.err), self.err)
        check(lib.psr_fourier_whiten(self.search, inputs + i, self.err), self.err)

    def run(self, series, names):
        """Rows of candidates of all series."""
        check(lib.psr_fourier_plan(self.search, ffi.addressof(self.shape), len(series), self.err), self.err, self.desc)
        batch, rows = lib.psr_fourier_batch(self.search), []
        inputs = ffi.new("struct psr_fourier_input[]", batch)
        for first in range(0, len(series), batch):
            n = min(batch, len(series) - first)
            for i in range(n):
                inputs[i].name = names[first + i]
                self.fill(inputs, i, series[first + i])
            check(lib.psr_fourier_execute(self.search, 0, n, inputs, self.err), self.err)
            for i in range(n):
                rows.extend(self.list(i, first + i))
            self.watch.guard(self.watch.progress.update, first + n)
            if self.watch.stop:
                break
        return rows

    def list(self, i, trial):
        result = ffi.new("struct psr_fourier_result *")
        check(lib.psr_fourier_list(self.search, 0, i, result, self.err), self.err)
        try:
            return list(candidate_rows(result, trial, self.shape.tobs_s))
        finally:
            lib.psr_fourier_result_clear(result)


def as_inputs(x):
    """Series [trial, time] or spectra [trial, bin] as rows of floats; and whether they are series."""
    refuse_spectra(x)
    x = np.asarray(from_dlpack(x))
    if x.dtype.kind != "c":
        x = as_series(x)
        if x.shape[1] < 2:
            fail("series", "of %d samples" % x.shape[1], "of 2 samples or more")
        return x, True, x.shape[1] // 2
    x = np.ascontiguousarray(np.atleast_2d(x), dtype=np.complex64)
    if x.ndim != 2 or x.shape[1] < 1:
        fail("series", "an array of shape %s" % (x.shape,), "spectra [trial, bin]")
    return x.view(np.float32), False, x.shape[1]


def search_periods(series, tsamp_s=None, dms=0.0, *, tobs_s=None, method="boxes", zmax=200, zstep=2, wmax=0, harmonics=4, sigma=2.0,
                   flo_hz=1.0, fhi_hz=10000.0, rednoise=True, max_candidates=200, backend="auto", nthread=0, mem_bytes=0, progress=None):
    """Searches series or spectra for periodic signals, accelerated ones too.

    Parameters
    ----------
    series : array [time], [dm, time], or complex [bin], [dm, bin]
        Dedispersed series, as dedisperse gives them; or Fourier spectra from bin 0 on, whose bin 0 has the sum as
        real and the Nyquist bin as imaginary part.
    tsamp_s : float
        Sampling time, s.
    dms : float or array [dm]
        DM of each series, for the list.
    tobs_s : float, optional
        Of spectra: length of the observation, s.
    method : {"boxes", "matched", "both"}
        Sums over boxcars (fast; White et al.), matched filters (Ransom et al. 2002), or both.
    zmax, wmax : int
        Largest drift and jerk, bins over the observation.  Jerks need matched filters.
    zstep : int
        Step between drifts of boxcars, bins.
    harmonics : int
        Largest number of harmonics summed: 1, 2, 4 .. 32.
    sigma : float
        Threshold.
    flo_hz, fhi_hz : float
        Range of frequencies.
    rednoise : bool
        Remove red noise first.
    max_candidates : int
        Of each series; 0: all.
    backend, nthread, mem_bytes
        As in search_pulses.
    progress : callable or True, optional
        Is called as progress(done, total), in series.

    Returns
    -------
    Table
        A candidate a row, by series, best first: sigma, freq_hz and period_s (means over the observation), fd (Hz/s),
        fdd, dm, trial, nharm, power, coherent, r, z, w (bins), freq_err_hz, z_err, note, harmonics (their powers, NaN behind the
        last), at (when it has these values: the middle).  ``.strongest(5)`` has the best of all series.
    """
    if method not in METHODS:
        fail("method", repr(method), "boxes, matched or both")
    x, is_series, nbin = as_inputs(series)
    dms = np.broadcast_to(as_doubles(dms, "dms"), (len(x),)) if np.size(dms) in (1, len(x)) else fail(
        "dms", "%d DMs" % np.size(dms), "one for each of %d series" % len(x))
    if is_series and tsamp_s is None:
        fail("tsamp_s", None, "given with series")
    if not is_series and tobs_s is None:
        fail("tobs_s", None, "given with spectra")
    shape = ffi.new("struct psr_fourier_shape *")
    shape.nbin, shape.series, shape.tobs_s = nbin, is_series, 2 * nbin * tsamp_s if is_series else tobs_s
    if not shape.tobs_s > 0 or not np.isfinite(shape.tobs_s):
        fail("tsamp_s" if is_series else "tobs_s", tsamp_s if is_series else tobs_s, "above 0")
    watch = Watch(progress, len(x))
    device = ffi.new("char[]", str(backend).encode())
    options = dict(zmax=zmax, zstep=zstep, wmax=wmax if wmax else -1, numharm=harmonics, sigma=sigma, flo_hz=flo_hz, fhi_hz=fhi_hz, rednoise=rednoise,
                   maxcands=max_candidates, device=device, nthread=nthread, mem_bytes=mem_bytes)
    names = [ffi.new("char[]", b"series %d" % i) for i in range(len(x))]

    def work():
        return FourierSearch(watch, shape[0], method, options).run(x, names)

    rows = watch.run(work) if len(x) else []
    return make_candidates(rows, dms, harmonics, {"tobs_s": shape.tobs_s})
