# %% [markdown]
# # From a fold to times of arrival
#
# Times of arrival of a pulsar's parts, written as a .tim file that PINT, TEMPO2 and TEMPO read. The synthetic observation is
# barycentric, so that no ephemeris of the planets is needed; one of a telescope needs those that PINT downloads.

# %%
import numpy as np

import psrkit

period_s, dm = 0.1, 20.0
obs = psrkit.fake([psrkit.pulsar(period_s, dm=dm, snr=150, width_s=0.004)], nchan=32, nsamp=65536, foff_mhz=-4.0, seed=6, tstart_mjd=60000)
fold = psrkit.fold(obs, dict(period_s=period_s, dm=dm), npart=8, nsub=1, search=False)

# %% [markdown]
# The shift of each part against the template is that of the largest correlation, interpolated in the Fourier domain (Taylor 1992).

# %%
def shift_of(profile, template):
    """Phase by which a profile is late, turns."""
    cross = np.fft.rfft(profile) * np.conj(np.fft.rfft(template))
    cross[0] = 0
    fine = np.fft.irfft(cross, 64 * len(profile))
    shift = np.argmax(fine) / len(fine)
    return shift - np.rint(shift)


phase = (np.arange(fold.nbin) + 0.5) / fold.nbin
template = np.exp(-0.5 * ((phase - 0.5) * period_s / 0.0017)**2)
parts = fold.profile.sum(axis=1)
length_s = obs.tobs_s / fold.npart
lines = ["FORMAT 1"]
for i, profile in enumerate(parts):
    turns = np.rint((i + 0.5) * length_s / period_s)
    late_s = (turns + 0.5 + shift_of(profile, template)) * period_s
    lines.append("part%d 0 %.13f 20.0 @" % (i, 60000 + late_s / 86400))
with open("pulsar.tim", "w") as f:
    f.write("\n".join(lines) + "\n")
toas = np.array([float(line.split()[2]) for line in lines[1:]])
residual_s = ((toas - 60000) * 86400 / period_s - 0.5 + 0.5) % 1 - 0.5
print("residuals, ms:", (residual_s * period_s * 1e3).round(2))
assert (abs(residual_s) * period_s < 3e-4).all()
