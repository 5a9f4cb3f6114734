"""Synthetic observations: noise, pulsars, bursts and interference."""
import numpy as np

from . import _constants
from ._arrays import address, as_doubles, dtype_of, unpack
from ._declarations import ffi
from ._folding import check_orbit
from ._library import InvalidError, check, check_names, fail, lib, new_error
from ._observation import ArrayObservation, set_header
from ._table import make_table

SHAPES = {name: getattr(lib, "PSR_FAKE_" + name.upper()) for name in ("tophat", "gaussian", "vonmises", "profile")}
FAKE_MJD, DAY_S = 60000, 86400
RFI_KINDS = ("tone", "radar", "phone", "mains", "spark", "jump", "bandpass", "drop")
TRUTH = ("dm", "t_s", "width_s", "peak", "pulses", "mean_hz", "middle_hz", "r", "z", "w", "snr_single", "snr_folded", "snr_boxcar")
TRUTH_UNITS = {"dm": "pc cm-3", "t_s": "s", "width_s": "s", "mean_hz": "Hz", "middle_hz": "Hz"}


def pulsar(period_s, dm, *, width_s=None, snr=0.0, peak=0.0, pdot=0.0, phase=0.0, shape="gaussian", profile=None, scatter_s=0.0,
           scatter_index=-4.0, spectral_index=0.0, smear=True, orbit=None):
    """A pulsar for fake().

    Parameters
    ----------
    period_s, pdot : float
        Intrinsic period and its derivative at time 0, s and s/s.
    dm : float
        pc cm^-3.
    width_s : float, optional
        Full width (top-hat) or at half maximum before smearing, s; default 5 % of the period.
    snr : float
        Of all pulses together, before smearing and quantisation; or give peak, the height of a pulse in
        standard deviations of a channel.
    phase : float
        Rotational phase at time 0, turns; the pulse is centred on 0.5.
    shape : {"tophat", "gaussian", "vonmises", "profile"}
        The last takes profile, an array over one period.
    scatter_s, scatter_index : float
        Scattering tail at 1000 MHz, s, and its power of frequency.
    spectral_index : float
    smear : bool
        Dispersion within a channel broadens the pulse.
    orbit : dict, optional

    Returns
    -------
    dict

    Raises
    ------
    InvalidError
        For a value that no observation can have.
    """
    return checked(
        "pulsar", kind=lib.PSR_FAKE_PULSAR, period_s=period_s, dm=dm, width_s=0.05 * period_s if width_s is None else width_s, snr=snr,
        peak=peak, pdot=pdot, phase=phase, shape=shape, profile=profile, scatter_s=scatter_s, scatter_index=scatter_index,
        spectral_index=spectral_index, smear=smear, orbit=orbit)


def burst(t_s, dm, *, width_s=1e-3, snr=0.0, peak=0.0, shape="gaussian", profile=None, scatter_s=0.0, scatter_index=-4.0,
          spectral_index=0.0, lowest_mhz=0.0, highest_mhz=0.0, smear=True):
    """A burst for fake().

    Parameters
    ----------
    t_s : float
        Centre of the pulse at the highest channel, s.
    dm, width_s, snr, peak, shape, profile, scatter_s, scatter_index, spectral_index, smear
        As in pulsar().
    lowest_mhz, highest_mhz : float
        Channels outside have no signal; 0: all have it.

    Returns
    -------
    dict
    """
    return checked(
        "burst", kind=lib.PSR_FAKE_BURST, t_s=t_s, dm=dm, width_s=width_s, snr=snr, peak=peak, shape=shape, profile=profile,
        scatter_s=scatter_s, scatter_index=scatter_index, spectral_index=spectral_index, lowest_mhz=lowest_mhz,
        highest_mhz=highest_mhz, smear=smear)


def rfi(kind, level=0.0, **fields):
    """Interference for fake().

    Parameters
    ----------
    kind : str
        "tone": steady, drifting or in pulses.  "radar": pulses of an antenna that turns.  "phone": calls at random times and
        carriers.  "mains": hum and its harmonics.  "spark": impulses of the whole band at random times, of random lengths and
        heights.  "jump": changes of level.  "bandpass": a ripple and a roll-off.  "drop": lost packets.
    level : float
        Power, standard deviations of a channel; of bandpass the height of the ripple; not of drop.
    **fields
        A number each; 0, the default, is none.

        =========================  =====================================================================================
        freq_mhz, bw_mhz           band, its centre and width: channels with their centre in it; freq_mhz 0: all.
        drift_mhz_s                drift of the centre, MHz/s.
        t_s, duration_s            when it begins, and how long it lasts (0: to the end), s.
        modulation                 power varies from sample to sample by this share: of tone, radar, phone, spark.
        period_s, width_s          pulses: on for width_s each period_s, s.  width_s is also the mean length of random events
                                   (phone, spark, jump), and the length of a lost packet.
        rate_hz                    random events of a second; 0: one, at t_s.
        rotation_s, beam           of radar: a turn of the antenna, s; full width at half maximum of its beam, turns.
        carrier_mhz                of phone: width of a carrier, within freq_mhz and bw_mhz.
        frame_s, slot_s            of phone: on for slot_s in each frame_s, s.
        hz, nharm                  of mains: frequency, and harmonics, of level / number each.
        wander_hz, wander_s        of mains: how much its frequency wanders, and in what time.
        period_mhz, rolloff        of bandpass: of the ripple, MHz; share of the band that falls to 0 at either end.
        share                      of drop: of the packets that are lost, of bw_mhz (0: the band) and width_s each.
        =========================  =====================================================================================

    Returns
    -------
    dict

    Examples
    --------
    >>> psrkit.rfi("tone", 2, freq_mhz=1450, bw_mhz=3)
    >>> psrkit.rfi("radar", 10, period_s=3e-3, width_s=3e-6, rotation_s=10, beam=0.01)
    >>> psrkit.rfi("phone", 10, freq_mhz=1450, bw_mhz=10, rate_hz=1, width_s=0.1, carrier_mhz=0.2, frame_s=4.615e-3, slot_s=577e-6)
    >>> psrkit.rfi("mains", 0.1, hz=50, nharm=5, wander_hz=0.02, wander_s=10)
    >>> psrkit.rfi("spark", 1, rate_hz=2, width_s=1e-3)
    >>> psrkit.rfi("drop", share=0.01, width_s=0.01)
    """
    if kind not in RFI_KINDS:
        fail("kind", repr(kind), "one of " + ", ".join(RFI_KINDS))
    check_parts("interference", fields, "struct psr_fake_rfi", "kind", "level")
    if level == 0 and kind not in ("bandpass", "drop"):
        fail("level", 0, "other than 0, or there is no %s" % kind)
    return dict(fields, kind=getattr(lib, "PSR_FAKE_RFI_" + kind.upper()), level=level)


def check_parts(what, given, struct, *others):
    """Raises if one of the given names is no field of a struct, or is one of the others."""
    check_names(given, [name for name, _ in ffi.typeof(struct).fields if name not in others], "part of " + what)


def checked(what, **signal):
    """A signal whose values the library takes, but for those that go by the observation."""
    obs, keep = new_obs(nchan=1, nsamp=1, nbit=32, fch1_mhz=1e9, foff_mhz=-1e-6, tsamp_s=1e-3, tstart_mjd=FAKE_MJD), []
    alone = dict(signal, scatter_index=-10.0, lowest_mhz=0.0, highest_mhz=0.0)
    try:
        lib.psr_fake_destroy(new_plan(obs, [alone], [], keep))
    except InvalidError as error:
        raise type(error)(str(error).replace("signal 0", what), error.field, error.value, error.limit) from None
    return signal


def as_signal(signal):
    """What pulsar() or burst() makes of a dict that neither has made."""
    if not isinstance(signal, dict):
        fail("signals", repr(signal), "what pulsar() and burst() return")
    if "kind" not in signal:
        return burst(**signal) if "t_s" in signal else pulsar(**signal)
    check_parts("a signal", signal, "struct psr_fake_signal", "nprofile", "binary")
    return signal


def as_interference(item):
    if not isinstance(item, dict) or "kind" not in item:
        fail("interference", repr(item), "what rfi() returns")
    check_parts("interference", item, "struct psr_fake_rfi")
    return item


def as_list(items, function):
    """One item, or a sequence of them."""
    return [function(item) for item in ([items] if isinstance(items, dict) else items)]


def as_count(name, value):
    """A number of samples or such, which may be a float."""
    if not isinstance(value, (int, float, np.number)) or value != int(value):
        fail(name, repr(value), "a whole number")
    return int(value)


def fill_orbit(c, orbit, tstart):
    check_orbit(orbit, "of a pulsar")
    c.binary = True
    for name, value in orbit.items():
        if name == "omega_deg":
            c.orbit.omega_rad = np.deg2rad(value)
        elif name == "t0_mjd":
            c.orbit.t0_s = ((value - tstart.day) - tstart.frac) * DAY_S
        else:
            setattr(c.orbit, name, value)


def fill_signal(c, signal, keep, tstart):
    for name, value in signal.items():
        if name == "shape":
            if value not in SHAPES:
                fail("shape", repr(value), "one of " + ", ".join(SHAPES))
            c.shape = SHAPES[value]
        elif name == "profile":
            if value is not None:
                profile = as_doubles(value, "profile")
                keep.append(profile)
                c.shape, c.profile, c.nprofile = SHAPES["profile"], address(profile, "double *"), profile.size
        elif name == "orbit":
            if value is not None:
                fill_orbit(c, value, tstart)
        else:
            setattr(c, name, value)


def new_obs(nchan, nsamp, nbit, fch1_mhz, foff_mhz, tsamp_s, tstart_mjd, **header):
    """Header of a synthetic observation."""
    obs = ffi.gc(ffi.new("struct psr_obs *"), lib.psr_obs_clear)
    lib.psr_obs_init(obs)
    obs.nchan, obs.nif, obs.nbit, obs.kind, obs.nsamp = nchan, 1, nbit, lib.PSR_FLOAT if nbit == 32 else lib.PSR_UINT, nsamp
    set_header(obs, fch1_mhz, foff_mhz, tsamp_s, tstart_mjd, also=("nchan", "nsamp", "nbit", "seed"), **header)
    return obs


def new_plan(obs, signals, interference, keep, **options):
    """The library's plan; options are fields of its description, keep holds what it borrows."""
    c_signals, c_rfi = ffi.new("struct psr_fake_signal[]", len(signals) or 1), ffi.new("struct psr_fake_rfi[]", len(interference) or 1)
    for i, signal in enumerate(signals):
        fill_signal(c_signals[i], signal, keep, obs.tstart)
    for i, item in enumerate(interference):
        for name, value in item.items():
            setattr(c_rfi[i], name, value)
    desc, out, err = ffi.new("struct psr_fake_desc *"), ffi.new("psr_fake **"), new_error()
    desc.size, desc.obs, desc.dmconst = ffi.sizeof(desc[0]), obs, _constants.DMCONST_PRESTO
    desc.nsignal, desc.signal, desc.nrfi, desc.rfi = len(signals), c_signals, len(interference), c_rfi
    for name, value in options.items():
        if value is not None:
            setattr(desc, name, value)
    check(lib.psr_fake_create(out, desc, err), err, desc)
    keep += [c_signals, c_rfi]
    return out[0]


class FakeObservation(ArrayObservation):
    """A synthetic observation.

    Attributes
    ----------
    data : array [time, channel]
    truth : Table
        The signals as a search should find them, a row each: dm, t_s, width_s, peak, pulses, mean_hz, middle_hz, r, z, w,
        snr_single, snr_folded, snr_boxcar.
    """

    truth = None


def fake(signals=(), interference=(), *, nchan=256, nsamp=65536, nbit=8, fch1_mhz=1500.0, foff_mhz=-1.0, tsamp_s=256e-6, seed=1,
         noise_sigma=1.0, red_sigma=0.0, red_index=-2.0, gain=None, dmconst=None, nthread=0, tstart_mjd=FAKE_MJD, **header):
    """Makes a synthetic observation in memory.

    Parameters
    ----------
    signals : dict or sequence of dict
        What pulsar() and burst() return, or their arguments.
    interference : dict or sequence of dict
        What rfi() returns.
    nchan, nsamp : int
        Channels and spectra.
    nbit : int
        1, 2, 4, 8, 16, or 32 for floats.  A value x, in standard deviations of the noise, is stored as
        rint((x + 4) (2^nbit - 1) / 8).
    fch1_mhz, foff_mhz, tsamp_s : float
        Band and sampling time.
    seed : int
        The data depend on it and on what is asked, not on threads or the machine.
    noise_sigma : float
        1; 0: signals only.
    red_sigma, red_index : float
        Red noise that all channels have in common, and the index of its power spectrum.
    gain : array [channel], optional
        Bandpass.
    **header
        As in from_array.

    Returns
    -------
    FakeObservation
    """
    signals, interference, keep = as_list(signals, as_signal), as_list(interference, as_interference), []
    nchan, nsamp, nbit = as_count("nchan", nchan), as_count("nsamp", nsamp), as_count("nbit", nbit)
    obs = new_obs(nchan, nsamp, nbit, fch1_mhz, foff_mhz, tsamp_s, tstart_mjd, **header)
    if gain is not None:
        gain = np.ascontiguousarray(gain, np.float64)
        if gain.shape != (nchan,):
            fail("gain", "of shape %s" % (gain.shape,), "one for each of %d channels" % nchan)
        keep.append(gain)
        gain = address(gain, "double *")
    plan = new_plan(obs, signals, interference, keep, seed=seed, nthread=nthread, noise_sigma=noise_sigma, red_sigma=red_sigma,
                    red_index=red_index, gain=gain, dmconst=dmconst)
    try:
        data, truth = execute(plan, nsamp, nchan, nbit, dtype_of(nbit, obs.kind)), read_truth(plan, len(signals))
    finally:
        lib.psr_fake_destroy(plan)
    found = FakeObservation(data, fch1_mhz=fch1_mhz, foff_mhz=foff_mhz, tsamp_s=tsamp_s, tstart_mjd=tstart_mjd, **header)
    found.truth = truth
    return found


def execute(plan, nsamp, nchan, nbit, dtype):
    """All samples, a block at a time, so that Ctrl-C does not wait long."""
    err, row = new_error(), lib.psr_fake_row_bytes(plan)
    raw = np.empty((nsamp, row // dtype.itemsize), dtype)
    step = max(1, (1 << 24) // max(1, nchan))
    for at in range(0, nsamp, step):
        check(lib.psr_fake_execute(plan, at, min(step, nsamp - at), address(raw[at:]), err), err)
    return raw if nbit >= 8 else unpack(raw, nsamp, nchan, nbit)


def read_truth(plan, n):
    truth, err, rows = ffi.new("struct psr_fake_truth *"), new_error(), []
    for i in range(n):
        check(lib.psr_fake_report_sized(plan, i, truth, ffi.sizeof(truth[0]), err), err)
        rows.append([getattr(truth, name) for name in TRUTH])
    columns = list(zip(*rows)) if rows else [[] for _ in TRUTH]
    return make_table(n, [(name, "f8", column) for name, column in zip(TRUTH, columns)], TRUTH_UNITS)
