"""Searches for single pulses."""
import os
import tempfile

import numpy as np

from . import _constants
from ._arrays import address, as_doubles, as_series, copy_struct_array, struct_dtype
from ._declarations import ffi
from ._files import mask_path
from ._library import Progress, Strings, Watch, check, fail, lib, new_error, path_bytes
from ._dedispersion import as_algorithm
from ._observation import FileObservation, as_observation, names_observation
from ._table import make_table

PULSE_UNITS = {"dm": "pc cm-3", "time_s": "s", "width_s": "s"}
MARKS = ("dm0", "edge", "narrow", "dm?", "clip")  # bits of enum psr_pulse_mark

# Values of a call of the library: some tenths of a second, so that Ctrl-C does not wait long.
CALL_VALUES = 1 << 24


def name_marks(bits):
    """Names of marks with + between them."""
    return ["+".join(mark for i, mark in enumerate(MARKS) if value >> i & 1) for value in bits]


def make_pulses(clusters, dms, scale, tsamp_s, meta):
    """The list of pulses, best first; scale is that of each trial."""
    best = clusters["best"]
    trial = best["trial"].astype(np.int64)
    factor = scale[trial] if len(clusters) else np.empty(0, np.int64)
    sample, width = best["sample"] * factor, best["width"] * factor
    return make_table(len(clusters), (
        ("snr", "f8", best["snr"]), ("dm", "f8", dms[trial]), ("time_s", "f8", sample * tsamp_s),
        ("width_s", "f8", width * tsamp_s), ("sample", "i8", sample), ("width", "i8", width), ("trial", "i8", trial),
        ("members", "i8", clusters["members"]), ("first", "i8", clusters["first"]), ("last", "i8", clusters["last"]),
        ("marks", "U24", name_marks(clusters["marks"]))), PULSE_UNITS, meta)


def make_events(events, dms, scale, tsamp_s):
    trial = events["trial"].astype(np.int64)
    factor = scale[trial] if len(events) else np.empty(0, np.int64)
    return make_table(len(events), (
        ("snr", "f8", events["snr"]), ("dm", "f8", dms[trial]), ("time_s", "f8", events["sample"] * factor * tsamp_s),
        ("width_s", "f8", events["width"] * factor * tsamp_s), ("sample", "i8", events["sample"]), ("width", "i8", events["width"]),
        ("trial", "i8", trial)), PULSE_UNITS)


class SeriesSearch:
    """The library's plan for series, with what it borrows."""

    def __init__(self, series, dms, tsamp_s, sweep, threshold, maxwidth_s, detrend, nthread):
        desc = ffi.new("struct psr_singlepulse_desc *")
        desc.size, desc.nseries, desc.dm = ffi.sizeof(desc[0]), len(series), address(dms, "double *")
        desc.tsamp_s, desc.threshold, desc.maxwidth_s, desc.detrend, desc.nthread = tsamp_s, threshold, maxwidth_s, detrend, nthread
        if sweep is not None:
            desc.sweep = address(sweep, "size_t *")
        out, self.err = ffi.new("psr_singlepulse **"), new_error()
        check(lib.psr_singlepulse_create(out, desc, self.err), self.err, desc)
        self.plan = ffi.gc(out[0], lib.psr_singlepulse_destroy)
        self.series = series

    def run(self, progress):
        series, nsamp = self.series, self.series.shape[1]
        step = max(1, CALL_VALUES // len(series))
        bar = Progress(progress, nsamp, " samples")
        for at in range(0, nsamp, step):
            n = min(step, nsamp - at)
            x = address(series, "float *") + at
            check(lib.psr_singlepulse_execute(self.plan, x, series.strides[0] // 4, n, self.err), self.err)
            bar.update(at + n)
        check(lib.psr_singlepulse_finish(self.plan, self.err), self.err)
        bar.close()

    def events(self):
        out, parts, kind = ffi.new("struct psr_event **"), [], struct_dtype("struct psr_event")
        for i in range(len(self.series)):
            n = lib.psr_singlepulse_events(self.plan, i, out)
            parts.append(bytes(ffi.buffer(out[0], n * kind.itemsize)) if n else b"")
        return np.frombuffer(bytearray().join(parts), kind)  # concatenate would drop the padding of the struct


def cluster_events(events, sweep, band_ratio, time_tol, trial_tol):
    """Groups events that are one pulse: array of psr_cluster."""
    desc, out, n, err = ffi.new("struct psr_cluster_desc *"), ffi.new("struct psr_cluster **"), ffi.new("size_t *"), new_error()
    desc.size, desc.time_tol, desc.trial_tol = ffi.sizeof(desc[0]), time_tol, trial_tol
    desc.band_ratio = band_ratio
    if sweep is not None:
        desc.sweep = address(sweep, "size_t *")
    check(lib.psr_cluster_events(desc, address(events, "struct psr_event *"), len(events), out, n, err), err, desc)
    try:
        return copy_struct_array(out[0], n[0], struct_dtype("struct psr_cluster"))
    finally:
        lib.free(out[0])


def search_series(series, dms, tsamp_s, lowest_mhz, highest_mhz, threshold, maxwidth_s, detrend, time_tol, trial_tol, nthread, progress):
    series, dms = as_series(series), as_doubles(dms, "dms")
    if len(dms) != len(series):
        fail("dms", "%d DMs" % len(dms), "one for each of %d series" % len(series))
    if tsamp_s is None:
        fail("tsamp_s", None, "given with series")
    if (lowest_mhz is None) != (highest_mhz is None):
        fail("lowest_mhz", None, "given with highest_mhz")
    sweep, band_ratio = None, 0
    if lowest_mhz is not None:
        band_ratio = highest_mhz / lowest_mhz
        delay = _constants.DMCONST_PRESTO * dms * (1 / lowest_mhz**2 - 1 / highest_mhz**2)
        sweep = np.floor(delay / tsamp_s + 0.5).astype(np.uint64)
    search = SeriesSearch(series, dms, tsamp_s, sweep, threshold, maxwidth_s, detrend, nthread)
    search.run(progress)
    events = search.events()
    clusters = cluster_events(events, sweep, band_ratio, time_tol, trial_tol)
    scale = np.ones(len(dms), np.int64)
    return make_pulses(clusters, dms, scale, tsamp_s, {"events": make_events(events, dms, scale, tsamp_s), "tsamp_s": tsamp_s})


def new_pipeline(obs, dms, keep, **options):
    """A pipeline over an observation; options are fields of its description.  keep holds what it borrows."""
    desc, out, err = ffi.new("struct psr_pipeline_desc *"), ffi.new("psr_pipeline **"), new_error()
    lib.psr_pipeline_set_defaults(desc, ffi.sizeof(desc[0]))
    if isinstance(obs, FileObservation):
        names = Strings(obs.paths)
        desc.path, desc.npath = names.array, len(obs.paths)
        keep.append(names)
        for name, value in obs._options.items():
            if name != "nthread":
                setattr(desc, name, value)
    else:
        desc.obs = obs._c
    desc.dm, desc.ndm = address(dms, "double *"), len(dms)
    for name, value in options.items():
        if isinstance(value, (str, bytes)) or hasattr(value, "__fspath__"):
            value = ffi.new("char[]", path_bytes(value))
            keep.append(value)
        if value is not None:
            setattr(desc, name, value)
    check(lib.psr_pipeline_create(out, desc, err), err, desc)
    keep.append((desc, obs, dms))
    return ffi.gc(out[0], lib.psr_pipeline_destroy)


def run_pipeline(obs, pipeline, watch):
    """Processes the whole observation."""
    err = new_error()
    if isinstance(obs, FileObservation):
        check(lib.psr_pipeline_run(pipeline, err), err)
    else:
        done = 0
        for block, n in obs._packed_blocks(obs._block_nsamp(1 << 24)):
            check(lib.psr_pipeline_execute(pipeline, address(block), n, err), err)
            done += n
            watch.guard(watch.progress.update, done)
            if watch.stop:
                return
    check(lib.psr_pipeline_finish(pipeline, err), err)


def search_observation(obs, dms, threshold, maxwidth_s, detrend, time_tol, trial_tol, progress, **options):
    dms = as_doubles(dms, "dms")
    pulses = ffi.new("struct psr_sink_pulses_desc *")
    lib.psr_sink_pulses_set_defaults(pulses, ffi.sizeof(pulses[0]))
    pulses.threshold, pulses.maxwidth_s, pulses.detrend = threshold, maxwidth_s, detrend
    pulses.time_tol, pulses.trial_tol = time_tol, trial_tol
    watch, keep = Watch(progress, obs.nsamp if obs.nsamp >= 0 else None), []
    options = dict(options, pulses=pulses, should_stop=watch.should_stop)
    if watch.on_progress != ffi.NULL and isinstance(obs, FileObservation):
        options["progress"] = watch.on_progress
    with tempfile.TemporaryDirectory(prefix="psrkit") as folder:  # the library writes its lists; they are not kept
        options["mask"] = mask_path(options["mask"], folder)
        pipeline = new_pipeline(obs, dms, keep, root=os.path.join(folder, "pulses"), **options)
        watch.run(run_pipeline, obs, pipeline, watch)
        return read_found(pipeline)


def read_found(pipeline):
    """The pulses of a pipeline that has finished."""
    report = ffi.new("struct psr_pipeline_report *")
    lib.psr_pipeline_describe_sized(pipeline, report, ffi.sizeof(report[0]))
    found = ffi.cast("struct psr_pulses_found *", lib.psr_pipeline_result(pipeline, b"pulses"))
    trials = np.frombuffer(ffi.buffer(report.dm, 8 * report.ndm)).copy()
    scale = np.frombuffer(ffi.buffer(found.scale, 8 * report.ndm), np.uint64).astype(np.int64)
    clusters = copy_struct_array(found.cluster, found.ncluster, struct_dtype("struct psr_cluster"))
    events = copy_struct_array(found.event, found.nevent, struct_dtype("struct psr_event"))
    return make_pulses(clusters, trials, scale, found.tsamp_s,
                       {"events": make_events(events, trials, scale, found.tsamp_s), "tsamp_s": found.tsamp_s})


def search_pulses(x, dms, tsamp_s=None, *, lowest_mhz=None, highest_mhz=None, threshold=6.0, maxwidth_s=0.0, detrend=0.0, time_tol=None,
                  trial_tol=None, clean="none", mask=None, clip_sigma=None, algorithm="direct", backend="auto", nthread=0, mem_bytes=0,
                  progress=None):
    """Searches for single pulses with boxcars, and groups detections of one pulse.

    Parameters
    ----------
    x : Observation, or array [dm, time]
        An observation is dedispersed and searched block by block, in memory that does not grow; or series, as
        dedisperse gives them.
    dms : array [dm]
        Trial DMs, pc cm^-3.
    tsamp_s : float
        Sampling time of series, s.
    lowest_mhz, highest_mhz : float, optional
        Centres of the lowest and the highest channel of series: detections that are further apart than their
        dispersion explains are then different pulses.
    threshold : float
        Least S/N.
    maxwidth_s : float
        Longest boxcar, s; 0: 300 samples.
    detrend : float
        Length of baselines, samples; 0: chosen.
    time_tol, trial_tol : int, optional
        Samples and trials between detections of one pulse; default those of gpudedisp.
    clean : {"none", "auto"}
        Remove interference from an observation while it is read.
    mask : Mask or path, optional
        Of an observation.
    clip_sigma : float, optional
        Of clean and mask: clips spectra; 0: none; default 6 with either, else none.
    algorithm : {"direct", "tree"}
        As in dedisperse, of an observation.
    backend : str
        "auto", "cpu", "cuda" or the number of a GPU.
    nthread, mem_bytes
        As in dedisperse.
    progress : callable or True, optional
        Is called as progress(done, total), in spectra or samples.

    Returns
    -------
    Table
        A pulse a row, best first: snr, dm (pc cm^-3), time_s (of the middle of its boxcar, at the highest channel,
        since the first sample), width_s, sample, width (both in samples), trial (of dms), members (detections), first and last
        (samples that they cover), marks (with + between).  ``meta["events"]`` has all detections.

        Marks that speak for interference: "dm0", the S/N at DM 0 and at its own is that of a pulse without dispersion; "edge",
        beside samples without data, or where much of the band begins or ends to be masked; "narrow", in an eighth of the band
        only.  Others: "dm?", both a dispersed and an undispersed pulse fit; "clip", it is so bright that it was clipped.
    """
    defaults = ffi.new("struct psr_sink_pulses_desc *")
    lib.psr_sink_pulses_set_defaults(defaults, ffi.sizeof(defaults[0]))
    time_tol = defaults.time_tol if time_tol is None else time_tol
    trial_tol = defaults.trial_tol if trial_tol is None else trial_tol
    if clean not in ("none", "auto"):
        fail("clean", repr(clean), "none or auto")
    if not names_observation(x):
        return search_series(x, dms, tsamp_s, lowest_mhz, highest_mhz, threshold, maxwidth_s, detrend, time_tol, trial_tol, nthread,
                             progress)
    obs = as_observation(x)
    if clip_sigma is None:
        clip_sigma = 6.0 if clean == "auto" or mask is not None else 0.0
    return search_observation(obs, dms, threshold, maxwidth_s, detrend, time_tol, trial_tol, progress, clean_auto=clean == "auto",
                              mask=mask, clip_sigma=clip_sigma, noclip=clip_sigma == 0, algo=as_algorithm(algorithm),
                              device=str(backend), nthread=nthread, mem_bytes=mem_bytes, nobary=True)
