"""Folds: what was injected, files, and folds of gpufold."""
import shutil
import subprocess

import numpy as np
import pytest

import psrkit
from conftest import takes_long


@pytest.fixture(scope="module")
def pulsar():
    return psrkit.fake([psrkit.pulsar(0.1, 30, snr=80, phase=0.3)], nchan=64, nsamp=65536, foff_mhz=-4, seed=4)


def test_a_pulsar_is_folded(pulsar, tmp_path):
    seen = []
    found = psrkit.fold(pulsar, dict(period_s=0.1, dm=30, name="mine"), npart=16, nsub=16, progress=lambda n, total: seen.append(n))
    assert found.profile.shape == (16, 16, 64) and found.candidate == "mine" and seen
    assert abs(found.period_s - 0.1) < 1e-5 and abs(found.dm - 30) < 3 and found.sigma > 30
    assert found.best_profile.shape == (64,) and found.plane.shape == (len(found.trial_pdot), len(found.trial_period_s))
    assert len(found.dm_redchi) == len(found.trial_dm) and found.time_profile.shape == (16, 64)
    # Samples are all in the profile, but for blocks at the end.
    assert abs(found.stats["numdata"][:, 0].sum() - pulsar.nsamp) < 5000
    assert found.sub_mhz[-1] == pulsar.highest_mhz and abs(found.sub_mhz[0] - (pulsar.lowest_mhz + 12)) < 1e-9
    found.write(tmp_path / "x.pfd")
    again = psrkit.read_pfd(tmp_path / "x.pfd")
    np.testing.assert_array_equal(again.profile, found.profile)
    np.testing.assert_array_equal(again.stats, found.stats)
    assert (again.period_s, again.dm, again.candidate) == (found.period_s, found.dm, found.candidate)
    assert again.plane is None and again.best_profile is not None


def test_profile_is_a_naive_sum(pulsar):
    """Of one sub-band and part, and a period of whole samples, bins are sums of samples."""
    nbin = 50
    x = np.ascontiguousarray(pulsar.data[:, :1])
    found = psrkit.fold(x, dict(freq_hz=1 / (nbin * 1e-3), nbin=nbin), fch1_mhz=1500, foff_mhz=-1, tsamp_s=1e-3, npart=1, search=False,
                        clip_sigma=0)
    turns = found.profile.shape[2] and len(x) // nbin
    want = x[:turns * nbin, 0].reshape(turns, nbin).sum(axis=0, dtype=np.float64)
    got = found.profile.sum(axis=(0, 1))
    # The turn that the end cuts is completed with means.
    assert got.shape == (nbin,) and np.abs(got - want).max() < 256


@pytest.mark.skipif(not shutil.which("gpufold"), reason="needs gpufold")
def test_folds_are_those_of_gpufold(pulsar, tmp_path):
    psrkit.write_filterbank(tmp_path / "x.fil", pulsar)
    subprocess.run(["gpufold", "-p", "0.1", "-dm", "30", "-n", "32", "-topo", "-noplot", "-npart", "16", "-nsub", "16", "-o", "x", "x.fil"], check=True,
                   capture_output=True, cwd=tmp_path)
    want = psrkit.read_pfd(next(tmp_path.glob("*.pfd")))
    got = psrkit.fold(psrkit.open(tmp_path / "x.fil"), [dict(period_s=0.1, dm=30, nbin=32)], npart=16, nsub=16, refine=False)[0]
    np.testing.assert_array_equal(got.profile, want.profile)
    assert (got.period_s, got.pd, got.dm) == (want.period_s, want.pd, want.dm)
    np.testing.assert_array_equal(got.trial_period_s, want.trial_period_s)


def test_candidates_of_a_search(pulsar):
    series = psrkit.dedisperse(pulsar, [30.0])
    found = psrkit.search_periods(series, pulsar.tsamp_s, 30.0, zmax=10, harmonics=16)
    folds = psrkit.fold(pulsar, found[:1], npart=8, nsub=8)
    assert len(folds) == 1 and abs(folds[0].period_s - 0.1) < 1e-5


def test_errors(pulsar, tmp_path):
    for row, field in ((dict(dm=3), "freq_hz"), (dict(period_s=1e-5, dm=3), None)):
        with pytest.raises(psrkit.InvalidError) as caught:
            psrkit.fold(pulsar, row)
        assert field is None or caught.value.field == field
        assert "candidate 1" in str(caught.value)
    with pytest.raises(psrkit.InvalidError):
        psrkit.fold(pulsar, dict(period_s=0.1, dm=3), at="noon")
    with pytest.raises(psrkit.InvalidError) as caught:
        psrkit.fold(pulsar, dict(period_s=0.1, dm=3), npart=-3)
    assert (caught.value.field, caught.value.value) == ("npart", -3)

    def stop(done, total):
        raise KeyError("enough")

    with pytest.raises(KeyError):
        psrkit.fold(pulsar, dict(period_s=0.1, dm=3), progress=stop)
    bad = tmp_path / "bad.pfd"
    bad.write_bytes(b"nothing" * 100)
    with pytest.raises(psrkit.Error):
        psrkit.read_pfd(bad)


def test_a_candidate_keeps_its_time():
    """Rows, dicts and frames of a list of search_periods have their values at the middle, as the list."""
    fast = psrkit.fake([psrkit.pulsar(0.05, 0, snr=150, pdot=4e-6)], nchan=4, nsamp=1 << 16, tsamp_s=1e-3, foff_mhz=-1, seed=3)
    found = psrkit.search_periods(fast.data.sum(axis=1, dtype=np.float32), 1e-3, method="matched", zmax=200)
    best = found.strongest(1)
    assert best["sigma"][0] == found["sigma"].max() and best["at"][0] == "middle" and best["fd"][0] < 0
    wanted = psrkit.fold(fast, best, search=False)[0]
    one = dict(zip(best.dtype.names, best[0]))
    for candidates in (best[0], one):
        assert psrkit.fold(fast, candidates, search=False).sigma == wanted.sigma
    assert psrkit.fold(fast, [best[0], one], search=False)[1].sigma == wanted.sigma
    assert psrkit.fold(fast, best[0], at="start", search=False).sigma < wanted.sigma - 5
    pandas = pytest.importorskip("pandas")
    assert psrkit.fold(fast, pandas.DataFrame(best.to_pandas()), search=False)[0].sigma == wanted.sigma


def test_no_candidates_and_two_periods(pulsar):
    assert psrkit.fold(pulsar, []) == []
    with pytest.raises(psrkit.InvalidError, match="period_s"):
        psrkit.fold(pulsar, dict(period_s=0.1, freq_hz=11.0, dm=30))


def test_a_fold_without_a_search_has_the_values_that_were_asked_for(pulsar):
    for dm in (0.0, 0.77, 30.123):
        found = psrkit.fold(pulsar, dict(period_s=0.1, dm=dm), npart=8, nsub=8, search=False)
        assert (found.period_s, found.pd, found.dm) == (0.1, 0, dm) and dm in found.trial_dm
    found = psrkit.fold(pulsar, dict(period_s=0.1, pd=1e-7, dm=30.1), npart=8, nsub=8, search=False)
    assert abs(found.pd - 1e-7) < 1e-15 and found.dm == 30.1


@pytest.mark.parametrize("period_s", [pytest.param(0.1, marks=takes_long), 0.10001, pytest.param(0.09998, marks=takes_long)])
def test_a_constant_period_has_no_derivative(pulsar, period_s):
    found = psrkit.fold(pulsar, dict(period_s=period_s, dm=30, nbin=32), npart=16, nsub=16)
    assert found.pd == 0 and found.pdd == 0 and abs(found.period_s - 0.1) < 4 * found.period_err_s


@takes_long
def test_errors_are_how_far_values_are_off():
    """Of six folds, each of another noise: with a constant period, and with one that changes."""
    for pdot in (0.0, 2e-6):
        off = []
        for seed in range(6):
            obs = psrkit.fake(psrkit.pulsar(0.0512, 40, snr=40, pdot=pdot), nchan=32, nsamp=32768, foff_mhz=-8, tsamp_s=512e-6, seed=seed)
            found = psrkit.fold(obs, dict(period_s=0.0512, pd=pdot, dm=41), npart=16, nsub=16)
            off.append(((found.period_s - 0.0512) / found.period_err_s, (found.pd - pdot) / found.pd_err, (found.dm - 40) / found.dm_err))
        scatter = np.sqrt(np.mean(np.square(off), axis=0))
        print(pdot, scatter)
        assert (scatter < 2.2).all() and (scatter[[0, 2]] > 0.25).all() and (scatter[1] == 0 if pdot == 0 else scatter[1] > 0.25)
    assert "+-" in repr(found)
    one = psrkit.fold(obs, dict(period_s=0.0512, dm=41), npart=16, nsub=1)
    assert np.isnan(one.dm_err) and one.period_err_s > 0


def test_names_that_a_candidate_does_not_have(pulsar):
    for row, name in ((dict(period_s=0.1, DM=30), "DM"), (dict(period=0.1, dm=30), "period"), (dict(period_s=0.1, dm=30, pdot=1), "pdot"),
                      (dict(period_s=0.1, dm=3, orbit=dict(omega_rad=1)), "omega_rad")):
        with pytest.raises(psrkit.InvalidError) as caught:
            psrkit.fold(pulsar, row)
        assert caught.value.field == name and caught.value.value is not None and "candidate 1" in str(caught.value)
    with pytest.raises(psrkit.InvalidError) as caught:
        psrkit.fold(pulsar, [dict(period_s=0.1, dm=30), dict(period_s=0.1)])
    assert caught.value.field == "dm" and "candidate 2" in str(caught.value)


def test_errors_name_arguments_not_options(pulsar):
    with pytest.raises(psrkit.InvalidError) as caught:
        psrkit.fold(pulsar, dict(period_s=100.0, dm=30))
    assert "period_s is in seconds, freq_hz in Hz" in str(caught.value) and "-p" not in str(caught.value)
    with pytest.raises(psrkit.InvalidError, match="nsub 7"):
        psrkit.fold(pulsar, dict(period_s=0.1, dm=30), nsub=7)


def test_an_orbit_is_the_same_where_it_is_made_and_folded():
    orbit = dict(period_s=900.0, asini_s=0.3, ecc=0.2, omega_deg=40.0, t0_mjd=60000 - 0.002)
    obs = psrkit.fake(psrkit.pulsar(0.05, 20, snr=60, orbit=orbit), nchan=8, nsamp=65536, tsamp_s=1e-3, foff_mhz=-4, seed=9)
    with_orbit = psrkit.fold(obs, dict(period_s=0.05, dm=20, orbit=orbit), search=False, npart=16, nsub=4)
    without = psrkit.fold(obs, dict(period_s=0.05, dm=20), search=False, npart=16, nsub=4)
    print(with_orbit, without)
    assert with_orbit.sigma > 40 and without.sigma < with_orbit.sigma / 2


@pytest.mark.parametrize("options", [{}, dict(search=False), pytest.param(dict(refine=False), marks=takes_long)])
def test_profiles_of_parts_and_bands_are_at_the_best_values(pulsar, options):
    found = psrkit.fold(pulsar, dict(period_s=0.10001, dm=31, pd=1e-6, nbin=32), npart=16, nsub=16, **options)
    for profile in (found.time_profile.sum(axis=0), found.band_profile.sum(axis=0)):
        assert np.abs(profile - found.best_profile).max() < 1e-4 * np.ptp(found.best_profile)


def test_folds_of_presto_are_drawn_aligned(data):
    found = psrkit.read_pfd(data("presto_folds/Ter5_080912_DM242.30_PSR_1748-2446A.pfd"))
    np.testing.assert_allclose(found.band_profile.sum(axis=0), found.best_profile, rtol=1e-6)
    peak = np.argmax(found.best_profile)
    bright = found.band_profile[5:20].argmax(axis=1)
    assert (np.abs((bright - peak + 32) % 64 - 32) <= 2).all()
    assert abs(found.period_s - 0.0115630585024741) < 1e-12 and 0 < found.period_err_s < 2.86e-10


def test_a_series_is_folded(data):
    series, inf = psrkit.read_series(data("GBT_J1807-0847.dat"))
    found = psrkit.fold(series, dict(period_s=0.163711), tsamp_s=inf["tbin_s"])
    assert abs(found.period_s - 0.163712) < 5e-6 and found.sigma > 100
    with pytest.raises(psrkit.UnsupportedError, match="read_series"):
        psrkit.open(data("GBT_J1807-0847.dat"))
    with pytest.raises(psrkit.InvalidError, match="a .dat file"):
        psrkit.read_series(data("GBT_J1807-0847.fft"))
    for row in (dict(period_s="a"), dict(period_s=0.1, pd=[1, 2])):
        with pytest.raises(psrkit.InvalidError, match="a number"):
            psrkit.fold(series, row, tsamp_s=inf["tbin_s"])
