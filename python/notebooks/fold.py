# %% [markdown]
# # Fold and refine
#
# Candidates of a search are folded, and period, its derivative and DM are searched around each.

# %%
import psrkit

obs = psrkit.fake([psrkit.pulsar(0.0512, dm=40, snr=70)], nchan=64, nsamp=65536, foff_mhz=-4.0, tsamp_s=256e-6, seed=4)
series = psrkit.dedisperse(obs, [42.0])
found = psrkit.search_periods(series, obs.tsamp_s, 42.0, zmax=10, harmonics=8)
folds = psrkit.fold(obs, found[:1], npart=16, nsub=16, refine=True)
print(folds[0])

# %% [markdown]
# The cube [part, sub-band, bin] is an array; `write` makes a .pfd of it, which PRESTO reads.

# %%
print(folds[0].profile.shape, "of", folds[0].stats["numdata"][:, 0].sum(), "samples")
figure = psrkit.plot_fold(folds[0])
assert abs(folds[0].period_s / 0.0512 - 1) < 1e-4
