"""Pictures with matplotlib: waterfalls, folds and planes of a search."""
import numpy as np

from ._dedispersion import delay_s
from ._library import fail
from ._observation import as_observation

SIZE_IN = 8.0  # 800 pixels at 100 dpi


def get_pyplot():
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from None
    return pyplot


def cell_size(n, most):
    """How many of n values a cell has, of which there are at most so many."""
    return max(1, -(-n // most))


def average(x, nt, nf):
    """Means of x over cells, at most nt [time] by nf [channel] of them."""
    kt, kf = cell_size(x.shape[0], nt), cell_size(x.shape[1], nf)
    n, m = x.shape[0] // kt * kt, x.shape[1] // kf * kf
    return x[:n, :m].reshape(n // kt, kt, m // kf, kf).mean(axis=(1, 3))


def normalise(x):
    """Each channel less its median, in units of its scatter."""
    level = np.median(x, axis=0)
    scatter = 1.4826 * np.median(np.abs(x - level), axis=0)
    spread = np.where(scatter > 0, scatter, x.std(axis=0))
    return (x - level) / np.where(spread > 0, spread, 1)


def plot_waterfall(x, t_s=None, dm=None, *, fch1_mhz=None, foff_mhz=None, tsamp_s=None, span_s=None, ntime=200, nchan=128, figure=None):
    """Draws spectra around a burst: as they came, dedispersed, and their sum.

    Parameters
    ----------
    x : Observation or array [time, channel]
    t_s : float
        Time of the burst at the highest channel, s; default: the middle.
    dm : float
        pc cm^-3.
    span_s : float, optional
        Length that is shown, s; default: the sweep and 0.2 s.
    ntime, nchan : int
        Largest number of cells.
    figure : matplotlib Figure, optional

    Returns
    -------
    matplotlib Figure
    """
    obs = as_observation(x, fch1_mhz, foff_mhz, tsamp_s)
    if dm is None:
        fail("dm", None, "given")
    freq, tsamp = obs.freq_mhz, obs.tsamp_s
    delay = np.rint((delay_s(dm, freq) - delay_s(dm, freq.max())) / tsamp).astype(int)
    sweep_s = delay.max() * tsamp
    t_s = obs.nsamp * tsamp / 2 if t_s is None else t_s
    span_s = sweep_s + 0.2 if span_s is None else span_s
    first = max(0, int((t_s - 0.25 * span_s) / tsamp))
    n = max(2, int(span_s / tsamp))
    raw = np.asarray(obs[first:min(first + n + delay.max(), obs.nsamp)], np.float64)
    if len(raw) < 2:
        fail("t_s", t_s, "within the observation")
    raw, n = normalise(raw), min(n, len(raw))
    shifted = np.full((n, raw.shape[1]), np.nan)
    for c, d in enumerate(delay):
        part = raw[d:d + n, c]
        shifted[:len(part), c] = part
    figure = figure or get_pyplot().figure(figsize=(SIZE_IN, 0.9 * SIZE_IN), layout="constrained")
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=(1, 2, 2))
    begin, end = first * tsamp, (first + n) * tsamp
    rows = np.linspace(begin, end, len(average(shifted, ntime, 1)), endpoint=False)
    scale = (raw.shape[1] * cell_size(n, ntime))**0.5  # a mean of so many values scatters by 1 over that
    with np.errstate(invalid="ignore"):
        top.step(rows, average(np.nan_to_num(shifted), ntime, raw.shape[1])[:, :].mean(axis=1) * scale, where="post", color="k")
    top.set_ylabel("S/N")
    top.set_title("DM %g, %.4f s" % (dm, t_s))
    for axis, image, name in ((middle, shifted, "dedispersed"), (bottom, raw[:n], "as it came")):
        cells = average(np.nan_to_num(image), ntime, nchan)
        limit = np.percentile(np.abs(cells), 99.5) or 1
        axis.imshow(cells.T, aspect="auto", origin="upper", extent=(begin, end, freq[-1], freq[0]), vmin=-limit / 2, vmax=limit,
                    cmap="viridis", interpolation="nearest")
        axis.set_ylabel("MHz (%s)" % name)
    bottom.set_xlabel("time, s")
    return figure


def plot_fold(fold, figure=None):
    """Draws a fold: profile, phase and time, phase and frequency, and the search over period and its derivative.

    Parameters
    ----------
    fold : Fold
        Of fold(), or read_pfd (then without the search).
    figure : matplotlib Figure, optional

    Returns
    -------
    matplotlib Figure
    """
    figure = figure or get_pyplot().figure(figsize=(SIZE_IN, SIZE_IN), layout="constrained")
    axes = figure.subplots(2, 2)
    parts, bands = fold.time_profile, fold.band_profile
    profile = fold.best_profile if fold.best_profile is not None else parts.sum(axis=0)
    axis = axes[0, 0]
    axis.step(np.arange(2 * len(profile)) / len(profile), np.tile(profile, 2), where="mid", color="k")
    axis.set_xlabel("phase, turns")
    axis.set_title("%s\nP %.9g s, DM %.4g, sigma %.1f" % (fold.candidate, fold.period_s, fold.dm, fold.sigma), fontsize=10)
    edges = ((0, fold.tobs_s, "time, s"), (fold.lofreq_mhz - fold.chan_mhz / 2, fold.sub_mhz[-1] + fold.chan_mhz / 2, "frequency, MHz"))
    for axis, image, (begin, end, name) in zip((axes[1, 0], axes[0, 1]), (parts, bands), edges):
        image = image - image.mean(axis=1, keepdims=True)
        axis.imshow(np.tile(image, 2), aspect="auto", origin="lower", extent=(0, 2, begin, end), interpolation="nearest", cmap="Greys")
        axis.set_xlabel("phase, turns")
        axis.set_ylabel(name)
    axis = axes[1, 1]
    if fold.plane is not None and fold.plane.size > 1:
        draw_plane(axis, fold)
    elif fold.dm_redchi is not None and fold.dm_redchi.size > 1:
        axis.plot(fold.trial_dm, fold.dm_redchi, "k")
        axis.set_xlabel("DM, pc cm$^{-3}$")
        axis.set_ylabel("reduced $\\chi^2$")
    else:
        axis.set_axis_off()
    return figure


def draw_plane(axis, fold):
    by_period, by_pdot = np.argsort(fold.trial_period_s), np.argsort(fold.trial_pdot)
    period, pdot = fold.trial_period_s[by_period], fold.trial_pdot[by_pdot]
    extent = ((period[0] - fold.period_s) * 1e6, (period[-1] - fold.period_s) * 1e6, pdot[0], pdot[-1])
    image = axis.imshow(fold.plane[np.ix_(by_pdot, by_period)], aspect="auto", origin="lower", extent=extent, cmap="viridis", interpolation="nearest")
    axis.set_xlabel("P - %.9g s, us" % fold.period_s)
    axis.set_ylabel("P-dot, s/s")
    axis.figure.colorbar(image, ax=axis, label="reduced $\\chi^2$")


def plot_plane(x, dms=None, tsamp_s=None, *, figure=None):
    """Draws a plane: that of a fold over period and its derivative, or series over DM and time.

    Parameters
    ----------
    x : Fold, or array [dm, time]
    dms : array [dm]
        Of series, pc cm^-3.
    tsamp_s : float
        Of series, s.
    figure : matplotlib Figure, optional

    Returns
    -------
    matplotlib Figure
    """
    figure = figure or get_pyplot().figure(figsize=(SIZE_IN, 0.6 * SIZE_IN), layout="constrained")
    axis = figure.subplots()
    if hasattr(x, "plane"):
        if x.plane is None:
            fail("x", "a fold without a plane", "a fold of fold()")
        draw_plane(axis, x)
        return figure
    if dms is None or tsamp_s is None:
        fail("dms" if dms is None else "tsamp_s", None, "given with series")
    series = normalise(np.asarray(x, np.float64).T)
    cells = average(series, 800, series.shape[1]).T
    limit = np.percentile(np.abs(cells), 99.9) or 1
    image = axis.imshow(cells, aspect="auto", origin="lower", extent=(0, len(series) * tsamp_s, dms[0], dms[-1]), vmin=0, vmax=limit,
                        cmap="viridis", interpolation="nearest")
    axis.set_xlabel("time, s")
    axis.set_ylabel("DM, pc cm$^{-3}$")
    figure.colorbar(image, ax=axis, label="standard deviations")
    return figure
