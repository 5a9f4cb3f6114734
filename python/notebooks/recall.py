# %% [markdown]
# # A population of injections and its recall curve
#
# Bursts of known S/N are injected, and the share that is found above the threshold is counted.

# %%
import numpy as np

import psrkit

rng = np.random.default_rng(5)
dms, found, injected = np.arange(0, 200, 5.0), [], []
for trial in range(4):
    signals = [psrkit.burst(2.0 + 3.0 * i, dm=rng.uniform(20, 180), snr=rng.uniform(4, 16), width_s=2e-3) for i in range(4)]
    obs = psrkit.fake(signals, nchan=64, nsamp=65536, foff_mhz=-4.0, seed=100 + trial)
    pulses = psrkit.search_pulses(obs, dms, threshold=6)
    for truth in obs.truth:
        near = (abs(pulses["time_s"] - truth["t_s"]) < 0.02) & (abs(pulses["dm"] - truth["dm"]) < 25)
        injected.append(truth["snr_single"])
        found.append(near.any())

# %%
injected, found = np.array(injected), np.array(found)
for low in (3, 6, 9, 12):
    these = (injected >= low) & (injected < low + 3)
    if these.any():
        print("S/N %2d to %2d: %d of %d found" % (low, low + 3, found[these].sum(), these.sum()))
assert found[injected > 9].mean() > 0.9
