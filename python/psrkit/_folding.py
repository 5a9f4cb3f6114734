"""Folds: profiles of candidates, PRESTO's .pfd files, and searches around them."""
import tempfile

import numpy as np

from . import _constants
from ._arrays import address
from ._declarations import ffi
from ._files import as_paths, mask_path, output
from ._library import InvalidError, Strings, Watch, check, check_names, fail, lib, make_error, new_error, path_bytes
from ._observation import as_observation
from ._table import Table

TEXTS = ("input", "candidate", "telescope", "plot_device")
STATS = ("numdata", "data_avg", "data_var", "numprof", "prof_avg", "prof_var", "redchi")
SIGNIFICANT_POWER = 2.7  # of a harmonic, in units of noise, as prepfold has it
EPOCHS = {"start": lib.PSR_FOLD_AT_START, "beginning": lib.PSR_FOLD_AT_BEGINNING, "middle": lib.PSR_FOLD_AT_MIDDLE,
          "epoch": lib.PSR_FOLD_AT_EPOCH}
CANDIDATE = ("freq_hz", "fd", "fdd", "period_s", "pd", "dm", "name", "phase", "nbin", "epoch_mjd", "at", "orbit")
ORBIT = ("period_s", "asini_s", "ecc", "omega_deg", "t0_mjd")


def array_shapes(c):
    """Arrays of a psr_pfd and their shapes."""
    return {"trial_dm": (c.ndm,), "trial_period_s": (c.nperiod,), "trial_pdot": (c.npdot,), "profile": (c.npart, c.nsub, c.nbin),
            "stats": (c.npart, c.nsub), "sub_mhz": (c.nsub,)}


def copy_pfd(c):
    """A psr_pfd whose arrays and texts are numpy's and cffi's; returns it and what keeps them."""
    new, keep = ffi.new("struct psr_pfd *"), {}
    new[0] = c[0]
    for name in TEXTS:
        text = getattr(c, name)
        keep[name] = ffi.new("char[]", ffi.string(text) if text != ffi.NULL else b"")
        setattr(new, name, keep[name])
    for name, shape in array_shapes(c).items():
        pointer = getattr(c, name)
        if pointer == ffi.NULL:
            continue
        width = len(STATS) if name == "stats" else 1
        n = int(np.prod(shape)) * width
        array = np.frombuffer(ffi.buffer(pointer, 8 * n), np.float64).copy() if n else np.empty(0)
        keep[name] = array.reshape(shape + (width,) if width > 1 else shape)
        setattr(new, name, ffi.cast(ffi.typeof(pointer), address(array)))
    return new, keep


class Fold:
    """A fold of a candidate.

    Attributes
    ----------
    profile : array [part, sub-band, bin]
        Sums of samples; sub-bands from the lowest frequency up.
    best_profile : array [bin]
        At the best DM, period and derivative.
    period_s, pd, pdd : float
        Best period and its derivatives (s, s/s, s/s^2) at the first sample, at the barycentre if the data are barycentred.
    dm : float
        Best DM, pc cm^-3.
    period_err_s, pd_err, pdd_err, dm_err : float
        Their standard deviations, by the significant harmonics of the best profile together (a .bestprof has their mean, which
        is larger); the DM's is nan of one sub-band.  They hold for values that were refined: without refine these are trials
        of a grid, and as far off as its step.
    freq_hz, fd, fdd : float
        What the data were folded at.
    redchi, sigma : float
        Reduced chi^2 of the best profile and its significance.
    tobs_s, sub_mhz : float, array [sub-band]
        Length of what is folded, s; highest centre of a channel in each sub-band, MHz.
    nbin, npart, nsub, nchan, tsamp_s, candidate, telescope, input
        Of the fold and its data; tepoch_mjd and bepoch_mjd are its start at the telescope and the barycentre, 0: not known.
    trial_dm, trial_period_s, trial_pdot : arrays
        Trials of the search around the fold.
    stats : Table [part, sub-band]
        numdata, data_avg, data_var, numprof, prof_avg, prof_var, redchi.
    plane : array [p-dot, period] or None
        Reduced chi^2 at the best DM, of a fold made by fold().
    dm_redchi : array [dm] or None
    time_profile, band_profile : arrays [part, bin] and [sub-band, bin]
        Profiles at the best values.
    """

    def __init__(self, c, view=None):
        self._c, self._keep = copy_pfd(c)
        self.profile = self._keep["profile"]
        self.stats = Table(self._keep["stats"].view([(name, "f8") for name in STATS])[..., 0])
        for name in ("trial_dm", "trial_period_s", "trial_pdot"):
            setattr(self, name, self._keep.get(name, np.empty(0)))
        for name in ("nsub", "npart", "nbin", "nchan", "tsamp_s", "dm", "lofreq_mhz", "tepoch_mjd", "bepoch_mjd", "start", "end", "voverc"):
            setattr(self, name, getattr(self._c, name))
        self.chan_mhz = c.width_mhz
        self.candidate, self.telescope, self.input = (bytes(ffi.string(self._keep[name])).decode(errors="replace")
                                                      for name in ("candidate", "telescope", "input"))
        best = c.bary if c.bary.p > 0 else c.topo
        self.period_s, self.pd, self.pdd = best.p, best.pd, best.pdd
        self.freq_hz, self.fd, self.fdd = c.fold.f, c.fold.fd, c.fold.fdd
        self.plane = self.dm_redchi = None
        self._read_best()
        self.time_profile, self.band_profile = self._align()
        if view is not None:
            self._read_view(view)

    def _read_best(self):
        best, err = ffi.new("struct psr_bestprof *"), new_error()
        self.best_profile, self.redchi, self.sigma = None, float("nan"), float("nan")
        self.period_err_s = self.pd_err = self.pdd_err = self.dm_err = float("nan")
        try:
            if self.period_s > 0 and lib.psr_fold_bestprof(best, self._c, err) == 0:
                self.best_profile = np.frombuffer(ffi.buffer(best.profile, 8 * best.nbin)).copy()
                self.redchi, self.sigma = best.redchi, best.sigma
                self._set_errors(best)
        finally:
            lib.psr_bestprof_clear(best)

    def _set_errors(self, best):
        """Errors of the best values: prepfold's, by how much better the harmonics together tell than their mean, which these are.

        A drift of the period delays evenly over the observation, with a scatter of length / sqrt(12), a difference in DM in
        proportion to 1 / frequency^2: so the DM's error follows.  That of a period with a derivative is of the first sample.
        """
        values = best.topo if np.isfinite(best.topo[0].value) else best.bary
        excess = np.sum((self.best_profile - best.prof_avg)**2)
        if not (np.isfinite(values[0].value) and np.isfinite(best.redchi) and best.redchi > 0 and 0 < excess < np.inf):
            return
        correlation = excess / best.prof_std**2 / (best.nbin - 1) / best.redchi  # of bins, by samples that are spread over two
        power = np.abs(np.fft.rfft(self.best_profile))[1:best.nbin // 2]**2 * correlation / (best.ndata * best.data_std**2)
        number = np.flatnonzero(power > SIGNIFICANT_POWER)
        harmonic, power = number + 1, power[number]
        together = 1.0
        if len(number):
            together = np.sum(power**2 * harmonic**2) / np.sum(power**1.5 * harmonic) / np.sum(power * harmonic**2)**0.5
        period_err_s, self.pd_err, self.pdd_err = (float(together * values[k].error / (1 if k else 1000)) for k in range(3))
        length_s = best.ndata * best.tsamp_s
        self.period_err_s = period_err_s if self.pd == 0 else float(np.hypot(period_err_s, self.pd_err * length_s / 2))
        if self.nsub > 1:
            mhz = self._keep.get("sub_mhz", self.lofreq_mhz + self.chan_mhz * np.arange(self.nchan))
            delay_s = np.std(_constants.DMCONST_PRESTO / np.asarray(mhz)**2)
            self.dm_err = float(period_err_s * length_s / self.period_s / 12**0.5 / delay_s) if delay_s > 0 else float("nan")

    def _align(self):
        """Profiles of parts and of sub-bands, rotated by whole bins to the best values as prepfold does."""
        best, fold = self._c.bary if self._c.fold.flag == 1 else self._c.topo, self._c.fold
        sub_mhz, doppler = np.asarray(self.sub_mhz), 1 + self.voverc
        if not (best.p > 0 and fold.f > 0 and sub_mhz.min() * doppler > 0):
            return self.profile.sum(axis=1), self.profile.sum(axis=0)
        highest_mhz = sub_mhz[-1] if "sub_mhz" in self._keep else self.lofreq_mhz + (self.nchan - 1) * self.chan_mhz
        sweep_s = _constants.DMCONST_PRESTO * self.dm * ((sub_mhz * doppler)**-2 - (highest_mhz * doppler)**-2) if self.nsub > 1 else np.zeros(1)
        folded_pd = -fold.fd / fold.f**2
        df, dfd = 1 / best.p - fold.f, -best.pd * fold.f**2 - fold.fd
        dfdd = (2 * folded_pd**2 * fold.f**3 - best.pdd * fold.f**2 - fold.fdd) if best.pdd else 0.0
        t = (np.arange(self.npart) * (self._c.stats[0].numdata * self.tsamp_s)).astype(np.float32).astype(np.float64)  # as prepfold
        late = np.floor((df * t + dfd * t**2 / 2 + dfdd * t**3 / 6) * self.nbin + 0.5)
        shift = np.floor(sweep_s * fold.f * self.nbin + 0.5)[None, :] - late[:, None]
        bins = (np.arange(self.nbin) + np.mod(shift, self.nbin).astype(np.int64)[:, :, None]) % self.nbin
        aligned = np.take_along_axis(self.profile, bins, axis=2)
        return aligned.sum(axis=1), aligned.sum(axis=0)

    def _read_view(self, view):
        """Copies what a picture shows."""
        def take(pointer, shape, kind=np.float64):
            n = int(np.prod(shape))
            return np.frombuffer(ffi.buffer(pointer, n * np.dtype(kind).itemsize), kind).reshape(shape).copy() if n else np.empty(shape)

        self.dm_redchi = take(view.dm_redchi, (view.ndm,))
        self.plane = take(view.plane, (view.npdot, view.nperiod), np.float32)

    @property
    def tobs_s(self):
        """Length of what is folded, s."""
        return float(self.stats["numdata"][:, 0].sum() * self.tsamp_s)

    @property
    def sub_mhz(self):
        """Highest centre of a channel in each sub-band, MHz: array [sub-band]."""
        if "sub_mhz" in self._keep:
            return self._keep["sub_mhz"]
        per = self.nchan // max(1, self.nsub)
        return self.lofreq_mhz + (per * (np.arange(self.nsub) + 1) - 1) * self.chan_mhz

    def __getstate__(self):
        kept = {name: bytes(ffi.buffer(value)) if name in TEXTS else value for name, value in self._keep.items()}
        return dict(self.__dict__, _c=bytes(ffi.buffer(self._c)), _keep=kept)

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._c = ffi.new("struct psr_pfd *")
        ffi.buffer(self._c)[:] = state["_c"]
        for name, value in self._keep.items():
            if name in TEXTS:
                value = self._keep[name] = ffi.new("char[]", value)
            setattr(self._c, name, value if name in TEXTS else ffi.cast(ffi.typeof(getattr(self._c, name)), address(value)))

    def write(self, path):
        """Writes a .pfd file, which PRESTO reads."""
        with output(path) as f:
            err = new_error()
            check(lib.psr_pfd_write(f, self._c, err), err)

    def __repr__(self):
        return "<Fold %s: P %.9g +- %.2g s, DM %.6g +- %.2g, sigma %.2f, %d parts, %d sub-bands, %d bins>" % (
            self.candidate, self.period_s, self.period_err_s, self.dm, self.dm_err, self.sigma, self.npart, self.nsub, self.nbin)


def read_pfd(path):
    """Reads a fold of prepfold or gpufold.

    Returns
    -------
    Fold
    """
    c, err = ffi.gc(ffi.new("struct psr_pfd *"), lib.psr_pfd_clear), new_error()
    check(lib.psr_pfd_read(c, path_bytes(path), 0, err), err)
    return Fold(c)


def get(row, name, default=0.0):
    """Field of a row, or of a mapping."""
    names = row.dtype.names if hasattr(row, "dtype") else row
    return row[name] if name in names else default


def is_single(candidates):
    """Whether it is one candidate: a dict, or a row of a list."""
    return isinstance(candidates, (dict, np.void)) or getattr(candidates, "ndim", 1) == 0


def as_rows(candidates):
    if is_single(candidates):
        return [candidates]
    if hasattr(candidates, "to_dict"):  # of pandas
        return candidates.to_dict("records")
    return list(candidates)


def find_epoch(at):
    if at not in EPOCHS:
        fail("at", repr(at), "one of " + ", ".join(EPOCHS))
    return EPOCHS[at]


def check_orbit(orbit, whose):
    if not isinstance(orbit, dict):
        fail("orbit", repr(orbit), "a dict of " + ", ".join(ORBIT))
    check_names(orbit, ORBIT, "part of the orbit " + whose)


def fill_candidate(c, row, at, number, keep, has_channels):
    whose = "of candidate %d" % number
    if isinstance(row, dict) and "sigma" not in row and "snr" not in row:  # rows of lists have further columns
        check_names(row, CANDIDATE, "value " + whose)

    def value_of(name):
        value = get(row, name)
        try:
            return float(value)
        except (TypeError, ValueError):
            fail(name, repr(value), "a number, " + whose)

    freq, period = value_of("freq_hz"), value_of("period_s")
    if not (freq > 0 or period > 0):
        fail("freq_hz", freq, "above 0, or period_s, " + whose)
    if freq > 0 and period > 0 and abs(freq * period - 1) > 1e-6:
        fail("period_s", period, "1 / freq_hz = %.9g %s" % (1 / freq, whose))
    fd, fdd, pd = value_of("fd"), value_of("fdd"), value_of("pd")
    lib.psr_candlist_set_spin(ffi.addressof(c), period, pd, 0.0, freq, fd, fdd)
    c.at, c.epoch_mjd = find_epoch(str(get(row, "at", "start")) if at is None else at), value_of("epoch_mjd")
    if get(row, "dm", None) is None and has_channels:
        fail("dm", None, "given, " + whose)
    c.dm, c.phase, c.nbin = value_of("dm"), value_of("phase"), int(value_of("nbin"))
    name = str(get(row, "name", "cand_%d" % number)).encode()
    keep.append(ffi.new("char[]", name))
    c.name = keep[-1]
    keep.append(ffi.new("char[]", name + b".pfd.ps/CPS"))
    c.plot_device = keep[-1]
    orbit = get(row, "orbit", None)
    if orbit is not None:
        check_orbit(orbit, whose)
        for part, value in orbit.items():
            setattr(c.orbit, part, value)


class Folder:
    """The library's folder with what it borrows; collects folds."""

    def __init__(self, obs, candidates, at, watch, folder, options):
        rows = as_rows(candidates)
        self.folds, self.refused, self.watch, self.keep = [None] * len(rows), {}, watch, []
        desc = ffi.new("struct psr_folder_desc *")
        lib.psr_folder_set_defaults(desc, ffi.sizeof(desc[0]))
        paths, read_options = as_paths(obs, folder)
        names, cands = Strings(paths), ffi.new("struct psr_folder_candidate[]", len(rows) or 1)
        for i, row in enumerate(rows):
            fill_candidate(cands[i], row, at, i + 1, self.keep, obs.nchan > 1)
        desc.path, desc.npath, desc.cand, desc.ncand = names.array, len(paths), cands, len(rows)
        for name, value in list(read_options.items()) + list(options.items()):
            if name == "nthread" and name not in options:
                continue
            if isinstance(value, (str, bytes)) or hasattr(value, "__fspath__"):
                value = ffi.new("char[]", path_bytes(value))
                self.keep.append(value)
            if value is not None:
                setattr(desc, name, value)
        self.take = ffi.callback("psr_status(void *, size_t, const struct psr_folder_fold *, psr_err *)", self.on_take,
                                 error=lib.PSR_ESTOPPED)
        self.refuse = ffi.callback("void(void *, size_t, const psr_err *)", self.on_refuse)
        desc.take, desc.refuse, desc.view = self.take, self.refuse, True
        desc.should_stop, desc.progress = watch.should_stop, watch.on_progress
        self.keep += [desc, names, cands]
        out, self.err = ffi.new("psr_folder **"), new_error()
        status = lib.psr_folder_create(out, desc, self.err)
        self.raise_refused()
        check(status, self.err, desc)
        self.folder = ffi.gc(out[0], lib.psr_folder_destroy)

    def on_take(self, ctx, i, fold, err):
        self.watch.guard(self.store, i, fold)
        return lib.PSR_ESTOPPED if self.watch.stop else lib.PSR_OK

    def store(self, i, fold):
        self.folds[i] = Fold(fold.pfd, fold.view if fold.view != ffi.NULL else None)

    def on_refuse(self, ctx, i, why):
        self.refused[i] = make_error(why)

    def raise_refused(self):
        """Raises why a candidate cannot be folded."""
        for i, error in sorted(self.refused.items()):
            raise InvalidError("candidate %d: %s" % (i + 1, error), error.field, error.value, error.limit) from error

    def run(self):
        return lib.psr_folder_run(self.folder, self.err)


def fold(x, candidates, *, fch1_mhz=None, foff_mhz=None, tsamp_s=None, at=None, npart=64, nsub=0, search=True, refine=None, mask=None,
         clip_sigma=6.0, zerodm=False, clean="none", barycentre=False, backend="auto", nthread=0, mem_bytes=0, progress=None):
    """Folds candidates in one pass over an observation, and searches around each.

    Parameters
    ----------
    x : Observation, array [time, channel] or array [time]
        An array with fch1_mhz, foff_mhz and tsamp_s; a series with tsamp_s, on whose clock the candidates are.
    candidates : Table or a row of it, or dict, or sequence of these, or pandas.DataFrame
        With freq_hz (Hz), fd (Hz/s), fdd, or period_s (s), pd (s/s); dm (pc cm^-3), but of a series; optional name, phase (turns), nbin,
        epoch_mjd, at, orbit (dict of period_s, asini_s (light-seconds), ecc, omega_deg, t0_mjd).  A dict has no other keys, unless
        it is the row of a list, with a sigma or an S/N; rows and frames may have other columns.
    at : {"start", "beginning", "middle", "epoch"}, optional
        When they have these values; default: what each says itself, as those of search_periods do ("middle"), else the start.
    npart, nsub : int
        Parts in time and sub-bands; nsub 0: chosen.
    search : bool
        Search period, derivative and DM around each, on a grid; it takes some seconds a candidate.  Without, these are those of
        the candidate, exactly.
    refine : bool, optional
        Find them to a fraction of a trial, and no derivative that is not significant; default: as search.  Without, they are those
        of the best trial, whose derivative is as noise has it.
    mask : Mask or path, optional
    clip_sigma, zerodm
        As in clean().
    clean : {"none", "auto"}
    barycentre : bool
        The candidates are barycentric.
    backend, nthread, mem_bytes, progress
        As in search_pulses.

    Returns
    -------
    list of Fold
        One for each candidate; with a single dict or row, a Fold.

    Raises
    ------
    InvalidError
        Also for a candidate that cannot be folded.
    """
    if getattr(x, "ndim", 2) == 1:  # a series, whose frequency does not matter
        x, fch1_mhz, foff_mhz = x[:, None], 1000.0 if fch1_mhz is None else fch1_mhz, 1.0 if foff_mhz is None else foff_mhz
    obs = as_observation(x, fch1_mhz, foff_mhz, tsamp_s)
    if at is not None:
        find_epoch(at)
    single = is_single(candidates)
    if not single and len(candidates) == 0:
        return []
    options = dict(npart=npart, nsub=nsub, nosearch=not search, refine=search if refine is None else refine, clip_sigma=clip_sigma, noclip=clip_sigma == 0,
                   zerodm=zerodm, clean_auto=clean == "auto", topo=not barycentre, device=str(backend), nthread=nthread,
                   mem_bytes=mem_bytes)
    watch = Watch(progress, obs.nsamp)
    with tempfile.TemporaryDirectory(prefix="psrkit") as folder:
        options["mask"] = mask_path(mask, folder)
        job = Folder(obs, candidates, at, watch, folder, options)
        status = watch.run(job.run)
    job.raise_refused()
    check(status, job.err)
    return job.folds[0] if single else job.folds
