"""Searches series for slow pulsars by fast folding."""
import numpy as np

from ._arrays import address, as_doubles, as_series, struct_dtype, copy_struct_array
from ._declarations import ffi
from ._library import FormatError, Watch, check, fail, lib, new_error
from ._table import make_table

LEAST_SAMPLES = 4096
CPU = ffi.new("char[]", b"cpu")
UNITS = {"period_s": "s", "freq_hz": "Hz", "width_s": "s", "lo_hz": "Hz", "hi_hz": "Hz", "dm": "pc cm-3"}


def ffa(series, tsamp_s, dms=0.0, *, ranges=None, sigma=0.0, rmed_s=0.0, backend="auto", device=0, nthread=0, mem_bytes=0, progress=None):
    """Searches series for periodic signals by fast folding, best for periods above a second and narrow pulses.

    Parameters
    ----------
    series : array [time] or [dm, time]
    tsamp_s : float
        Sampling time, s.
    dms : float or array [dm]
        DM of each series, for the list.
    ranges : sequence of (pmin_s, pmax_s) or (pmin_s, pmax_s, bmin, bmax), optional
        Periods, ascending, and bins of a profile; default: those of gpuffa, 0.2 to 120 s or a tenth of the series.
    sigma : float
        Threshold; 0: one false alarm in ten series of noise.
    rmed_s : float
        Window of the running median that is subtracted, s; 0: two periods, and red noise is taken out first, as by gpuffa; below 0: none is.
    backend, device, nthread, mem_bytes
        As in dedisperse.
    progress : callable or True, optional
        Is called as progress(done, total), in series.

    Returns
    -------
    Table
        A peak a row, by series, strongest first: snr, period_s, freq_hz, width_s, duty, dm, trial (of the DM), nbin, lo_hz,
        hi_hz, ntrial.

    Notes
    -----
    Staelin 1969; Morello et al. 2020.
    """
    x, dms = as_series(series), as_doubles(dms, "dms")
    if len(dms) not in (1, len(x)):
        fail("dms", "%d DMs" % len(dms), "one for each of %d series" % len(x))
    search, desc, out, err, watch = make_search(rmed_s), ffi.new("struct psr_ffa_desc *"), ffi.new("psr_ffa **"), new_error(), Watch(progress, len(x))
    desc.size, desc.nsamp, desc.tsamp_s, desc.sigma, desc.rmed_s = ffi.sizeof(desc[0]), x.shape[1], tsamp_s, sigma, rmed_s
    name = ffi.new("char[]", backend.encode())
    desc.backend, desc.device, desc.nthread, desc.mem_bytes, desc.should_stop = name, device, nthread, mem_bytes, watch.should_stop
    if ranges is None and x.shape[1] >= LEAST_SAMPLES:
        ranges = choose_ranges(search, x.shape[1], tsamp_s)
    c_ranges = ffi.new("struct psr_ffa_range[]", len(ranges) if ranges is not None else 1)
    for c, item in zip(c_ranges, ranges or ()):
        c.pmin_s, c.pmax_s = item[:2]
        c.bmin, c.bmax = item[2:4] if len(item) >= 4 else (0, 0)
    if ranges is not None:
        desc.range, desc.nrange = c_ranges, len(ranges)
    check(lib.psr_ffa_create(out, desc, err), err, desc)
    plan = ffi.gc(out[0], lib.psr_ffa_destroy)

    def work():
        rows, result, inputs, kind = [], ffi.new("struct psr_ffa_result *"), ffi.new("float *[1]"), struct_dtype("struct psr_ffa_peak")
        for i in range(len(x)):
            row = x[i].copy()  # from which red noise is taken out
            inputs[0] = address(row, "float *")
            check(lib.psr_ffasearch_prepare(search, inputs[0], len(row), tsamp_s, err), err)
            check(lib.psr_ffa_execute(plan, 1, inputs, result, err), err)
            if result.bad >= 0:
                raise FormatError("series %d: sample %d is no finite number" % (i, result.bad), "series", float(x[i][result.bad]), "finite")
            rows.append((i, copy_struct_array(result.peak, result.npeak, kind)))
            watch.guard(watch.progress.update, i + 1)
            if watch.stop:
                break
        return rows

    return make_peaks(watch.run(work) or [], np.broadcast_to(dms, (len(x),)))


def make_search(rmed_s):
    """The search of gpuffa, which knows its ranges and how series are prepared."""
    desc, out, err = ffi.new("struct psr_ffasearch_desc *"), ffi.new("psr_ffasearch **"), new_error()
    lib.psr_ffasearch_set_defaults(desc, ffi.sizeof(desc[0]))
    desc.rmed_s, desc.device = rmed_s, CPU
    check(lib.psr_ffasearch_create(out, desc, err), err)
    return ffi.gc(out[0], lib.psr_ffasearch_destroy)


def choose_ranges(search, nsamp, tsamp_s):
    shape, info, err = ffi.new("struct psr_ffasearch_shape *"), ffi.new("struct psr_ffasearch_info *"), new_error()
    shape.nsamp, shape.tsamp_s = nsamp, tsamp_s
    check(lib.psr_ffasearch_plan_sized(search, shape, 1, info, ffi.sizeof(info[0]), err), err)
    return [(r.pmin_s, r.pmax_s, r.bmin, r.bmax) for r in info.range[0:info.nrange]]


def make_peaks(rows, dms):
    trial = np.concatenate([np.full(len(peaks), i) for i, peaks in rows] or [np.empty(0)]).astype(np.int64)

    def column(name):
        return np.concatenate([peaks[name] for _, peaks in rows]) if rows else []

    names = (("snr", "f8"), ("period_s", "f8"), ("freq_hz", "f8"), ("width_s", "f8"), ("duty", "f8"), ("nbin", "i4"), ("lo_hz", "f8"),
             ("hi_hz", "f8"), ("ntrial", "i8"))
    columns = [(name, kind, column(name)) for name, kind in names]
    return make_table(len(trial), columns + [("dm", "f8", dms[trial] if len(trial) else []), ("trial", "i8", trial)], UNITS)
