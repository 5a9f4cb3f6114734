# %% [markdown]
# # Interference found and removed
#
# A transmitter fills three channels for some seconds. The mask names them, and only these.

# %%
import numpy as np

import psrkit

transmitter = psrkit.rfi("tone", 3.0, freq_mhz=1450, bw_mhz=6, t_s=5, duration_s=4, period_s=0.02, width_s=0.01)
obs = psrkit.fake([psrkit.pulsar(0.1, dm=30, snr=50)], [transmitter], nchan=64, nsamp=65536, foff_mhz=-2.0, seed=3)
found = psrkit.find_interference(obs, interval_s=1.0)
print(found.mask)
print("channels, from the lowest frequency:", np.flatnonzero(found.mask.array.any(axis=0)))

# %% [markdown]
# Before and after: the transmitter's period in the sum of all channels.

# %%
def sigma_of(series, period_s):
    table = psrkit.search_periods(series, obs.tsamp_s, zmax=4, harmonics=1)
    near = table[abs(table["period_s"] / period_s - 1) < 0.01]
    return near["sigma"].max() if len(near) else 0.0


clean = psrkit.clean(obs, mask=found.mask)
before = psrkit.dedisperse(obs, [0.0])
after = psrkit.dedisperse(clean, [0.0], obs.fch1_mhz, obs.foff_mhz, obs.tsamp_s)
print("sigma at 50 Hz: %.1f before, %.1f after" % (sigma_of(before, 0.02), sigma_of(after, 0.02)))
assert sigma_of(after, 0.02) < 0.5 * sigma_of(before, 0.02)
