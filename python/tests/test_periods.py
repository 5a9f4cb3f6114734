"""Periodic signals: what was injected, and lists of gpuaccel-pulscan."""
import shutil
import subprocess

import numpy as np
import pytest

import psrkit

TSAMP = 1e-3


def tone(freq_hz, n=1 << 16, fd=0.0, size=0.2, seed=2):
    t = np.arange(n) * TSAMP
    return (np.random.default_rng(seed).normal(size=n) + size * np.sin(2 * np.pi * (freq_hz * t + fd * t * t / 2))).astype(np.float32)


@pytest.mark.parametrize("method", ["boxes", "matched", "both"])
def test_a_tone_is_found(method):
    found = psrkit.search_periods(tone(37.0), TSAMP, 12.0, method=method, zmax=20, harmonics=1)
    assert abs(found["freq_hz"][0] - 37) < 0.5 / 65.536 and found["dm"][0] == 12 and found["sigma"][0] > 10
    assert found["period_s"][0] == 1 / found["freq_hz"][0] and found["harmonics"].shape == (len(found), 1)


def test_drift_and_series_of_several_dms():
    fd = 20 / 65.536**2
    series = np.array([tone(37.0), tone(101.0, fd=fd), np.zeros(1 << 16)], np.float32)[:2]
    seen = []
    found = psrkit.search_periods(series, TSAMP, [1.0, 2.0], method="matched", zmax=40, harmonics=1,
                                  progress=lambda done, total: seen.append((done, total)))
    second = found[found["trial"] == 1][0]
    assert abs(second["fd"] - fd) < 3 / 65.536**2 and second["dm"] == 2
    assert seen[-1] == (2, 2)


def test_spectra_give_what_series_give():
    x = tone(37.0)
    spectrum = np.fft.rfft(x)[:-1].astype(np.complex64)
    spectrum[0] = x.sum()
    got = psrkit.search_periods(spectrum, tobs_s=65.536, method="matched", zmax=10, harmonics=2)
    want = psrkit.search_periods(x, TSAMP, method="matched", zmax=10, harmonics=2)
    assert abs(got["r"][0] - want["r"][0]) < 1e-3 and abs(got["sigma"][0] - want["sigma"][0]) < 0.05


@pytest.mark.skipif(not shutil.which("gpuaccel-pulscan"), reason="needs gpuaccel-pulscan")
def test_lists_are_those_of_the_tool(data, tmp_path):
    series, inf = psrkit.read_series(data("GBT_J1807-0847.dat"))
    psrkit.write_series(tmp_path / "x.dat", series, inf)
    subprocess.run(["gpuaccel-pulscan", "-rednoise", "-zmax", "20", "x.dat"], check=True, capture_output=True, cwd=tmp_path)
    want = psrkit.read_accel(tmp_path / "x_ACCEL_20")
    got = psrkit.search_periods(series, inf["tbin_s"], inf["dm"], zmax=20)
    assert len(got) == len(want) >= 2
    np.testing.assert_allclose(got["r"], want["r"], atol=0.06)
    np.testing.assert_allclose(got["sigma"], want["sigma"], atol=0.006)
    np.testing.assert_array_equal(got["nharm"], want["nharm"])


def test_fast_folding_finds_a_slow_pulsar():
    obs = psrkit.fake([psrkit.pulsar(1.3, 20, snr=60, width_s=0.03)], nchan=16, nsamp=65536, tsamp_s=1e-3, foff_mhz=-10, seed=2)
    series = psrkit.dedisperse(obs, [0, 20.0])
    found = psrkit.ffa(series, obs.tsamp_s, [0, 20.0])
    best = found[found["trial"] == 1][0]
    assert abs(best["period_s"] - 1.3) < 2e-3 and best["dm"] == 20 and best["snr"] > 30


def test_fast_folding_takes_red_noise_out_as_gpuffa_does(tmp_path):
    n = 1 << 17
    level = np.fft.rfftfreq(n, TSAMP)
    level[1:] = np.sqrt(1 + (level[1:] / 10) ** -3.0)  # as strong as white noise at 10 Hz, of slope 3
    noise = np.fft.irfft(np.fft.rfft(np.random.default_rng(4).normal(size=n)) * level).astype(np.float32)
    kept = noise.copy()
    strongest = [max(psrkit.ffa(noise, TSAMP, sigma=5, **options)["snr"]) for options in ({}, {"rmed_s": 20.0})]
    assert strongest[0] < 8 and strongest[1] > 12, strongest
    np.testing.assert_array_equal(noise, kept)
    x = noise + np.where(np.arange(n) * TSAMP % 4.3 < 0.03, np.float32(1.2), np.float32(0))
    found = psrkit.ffa(x, TSAMP)
    assert abs(found["period_s"][0] - 4.3) < 3e-3 and found["snr"][0] > 12 and np.all(found["period_s"] <= n * TSAMP / 10)
    if shutil.which("gpuffa"):
        psrkit.write_series(tmp_path / "x.dat", x, dict(tbin_s=TSAMP))
        subprocess.run(["gpuffa", "-q", "-device", "cpu", "x.dat"], check=True, capture_output=True, cwd=tmp_path)
        best = np.genfromtxt(tmp_path / "x_ffa.csv", delimiter=",", names=True, usecols=range(7)).flat[0]
        assert abs(best["period_s"] / found["period_s"][0] - 1) < 1e-9 and abs(best["snr"] - found["snr"][0]) < 2e-3


def test_errors():
    for args, options, field in (((np.zeros(100), None), {}, "tsamp_s"), ((np.zeros(100), 0.0), {}, "tsamp_s"),
                                 ((np.zeros(4096), TSAMP), {"harmonics": 3, "method": "matched"}, "harmonics"), ((np.zeros(4096), TSAMP), {"method": "luck"}, "method"),
                                 ((np.zeros(1), TSAMP), {}, "series"), ((np.zeros(100), TSAMP, [1, 2]), {}, "dms")):
        with pytest.raises(psrkit.InvalidError) as caught:
            psrkit.search_periods(*args, **options)
        assert caught.value.field == field, str(caught.value)
    with pytest.raises(psrkit.Error):
        psrkit.search_periods(np.full(4096, np.nan), TSAMP)
    with pytest.raises(psrkit.InvalidError):
        psrkit.ffa(np.zeros(10), TSAMP)
    assert len(psrkit.search_periods(np.empty((0, 4096)), TSAMP)) == 0


def test_an_observation_is_no_series():
    obs = psrkit.from_array(np.zeros((100, 4), np.uint8), 1500.0, -1.0, TSAMP)
    for call in (lambda: psrkit.search_periods(obs, TSAMP), lambda: psrkit.ffa(obs, TSAMP)):
        with pytest.raises(psrkit.InvalidError, match="dedisperse"):
            call()
