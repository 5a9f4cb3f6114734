# %% [markdown]
# # A burst and its waterfall
#
# Bursts are found in all series at once, while the observation is read; detections at neighbouring DMs become one row.

# %%
import numpy as np

import psrkit

obs = psrkit.fake([psrkit.burst(4.2, dm=120, snr=35, width_s=3e-3)], nchan=128, nsamp=32768, foff_mhz=-2.0, seed=2)
pulses = psrkit.search_pulses(obs, np.arange(0, 250, 4.0))
print(pulses.dtype.names)
print(pulses[:1])

# %% [markdown]
# The spectra around it: their sum, dedispersed, and as they came.

# %%
best = pulses[0]
figure = psrkit.plot_waterfall(obs, best["time_s"], best["dm"])
assert abs(best["time_s"] - 4.2) < 0.01 and abs(best["dm"] - 120) <= 8

# %% [markdown]
# Over DM and time, the burst is a bow tie.

# %%
dms = np.arange(0, 250, 4.0)
figure = psrkit.plot_plane(psrkit.dedisperse(obs, dms)[:, 14000:19000], dms, obs.tsamp_s)
