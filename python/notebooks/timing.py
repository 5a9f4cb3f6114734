# %% [markdown]
# # From a candidate to PINT
#
# A candidate of a search becomes an ephemeris (.par) and times of arrival (.tim), which PINT, TEMPO2 and TEMPO read. The synthetic
# observation is barycentric: its times have the site `@`, and need neither the positions of planets nor a clock of a telescope. Those of
# a telescope take its name instead of `@`, and PINT downloads what they need.

# %%
import numpy as np

import psrkit

obs = psrkit.fake([psrkit.pulsar(0.1, dm=20, snr=150, width_s=0.004)], nchan=32, nsamp=65536, foff_mhz=-4.0, seed=6, tstart_mjd=60000)
series = psrkit.dedisperse(obs, [20.0])
found = psrkit.search_periods(series, obs.tsamp_s, [20.0], zmax=0, harmonics=8)
best = psrkit.fold(obs, found[np.argmax(found["sigma"])][None], refine=True)[0]
print(best)

# %% [markdown]
# The best period is folded again, in eight parts. The shift of each against the profile of all is that of the largest correlation,
# interpolated in the Fourier domain (Taylor 1992).

# %%
fold = psrkit.fold(obs, dict(period_s=best.period_s, dm=best.dm), npart=8, nsub=1, search=False)


def shift_of(profile, template):
    """Phase by which a profile is late, turns."""
    cross = np.fft.rfft(profile) * np.conj(np.fft.rfft(template))
    cross[0] = 0
    fine = np.fft.irfft(cross, 64 * len(profile))
    shift = np.argmax(fine) / len(fine)
    return shift - np.rint(shift)


parts = fold.profile.sum(axis=1)
length_s, error_us = obs.tobs_s / fold.npart, 1e6 * fold.period_s / fold.nbin / 10
lines = ["FORMAT 1"]
for i, profile in enumerate(parts):
    turns = np.rint((i + 0.5) * length_s / fold.period_s) + shift_of(profile, parts.sum(axis=0))
    lines.append("part%d %.6f %.13f %.1f @" % (i, obs.fch1_mhz, 60000 + turns * fold.period_s / 86400, error_us))
with open("pulsar.tim", "w") as f:
    f.write("\n".join(lines) + "\n")
with open("pulsar.par", "w") as f:
    f.write("PSR J0000+0000\nRAJ 00:00:00\nDECJ 00:00:00\nF0 %.12f 1\nPEPOCH 60000\nDM %.6f\nUNITS TDB\nEPHEM builtin\n" % (1 / fold.period_s, fold.dm))
toas = np.array([float(line.split()[2]) for line in lines[1:]])
turns = (toas - 60000) * 86400 / 0.1
residual_s = ((turns - turns[0] + 0.5) % 1 - 0.5) * 0.1
print("residuals of the true period, ms:", (residual_s * 1e3).round(2))
assert np.ptp(residual_s) < 6e-4

# %% [markdown]
# PINT fits the frequency to them, with the ephemeris of astropy, which needs no network.

# %%
try:
    from pint.fitter import WLSFitter
    from pint.models import get_model
    from pint.toa import get_TOAs
except ImportError:
    print("PINT is not installed")
else:
    fitter = WLSFitter(get_TOAs("pulsar.tim", ephem="builtin", planets=False, include_bipm=False), get_model("pulsar.par"))
    fitter.fit_toas()
    f0 = fitter.model.F0
    print("F0 = %.7f +- %.7f Hz, the pulsar has 10" % (f0.value, f0.uncertainty_value))
    assert abs(f0.value - 10) < 4 * f0.uncertainty_value
