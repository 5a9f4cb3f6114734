# %% [markdown]
# # A first search
#
# A synthetic observation of a minute with one pulsar: look at it, dedisperse it, and find the pulsar.

# %%
import numpy as np

import psrkit

obs = psrkit.fake([psrkit.pulsar(0.0893, dm=67, snr=60)], nchan=64, nsamp=65536, foff_mhz=-4.0, tsamp_s=512e-6, seed=1)
print(obs)

# %% [markdown]
# `obs[a:b]` is an array [time, channel], here the mean of each channel in the first second. With a file it is the same: `psrkit.open("x.fil")`.

# %%
bandpass = obs.seconds(0, 1).mean(axis=0)
print("channels of mean", bandpass.min().round(1), "to", bandpass.max().round(1))

# %% [markdown]
# A plan has the trial DMs: as fine as the smearing within a channel asks for.

# %%
plan = psrkit.plan(obs, dm_max=150)
print(plan)
series = psrkit.dedisperse(obs, plan.dms)
print("series", series.shape, series.dtype)

# %% [markdown]
# The search of all series gives a table; the best row is at the pulsar's period and DM.

# %%
found = psrkit.search_periods(series, obs.tsamp_s, plan.dms, zmax=10, harmonics=8)
found.sort(order="sigma")
best = found[-1]
print("P %.7f s, DM %.1f, sigma %.1f" % (best["period_s"], best["dm"], best["sigma"]))
assert abs(best["period_s"] / 0.0893 - 1) < 1e-4 and abs(best["dm"] - 67) < 10
