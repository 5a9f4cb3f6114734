"""Plans and dedispersion against naive sums, and against the tools."""
import os
import shutil
import subprocess

import numpy as np
import pytest

import psrkit

BAND = dict(fch1_mhz=1500.0, tsamp_s=256e-6)


def naive(x, dms, freq_mhz, tsamp_s):
    delay = np.array([psrkit.delay_s(dm, freq_mhz) - psrkit.delay_s(dm, freq_mhz.max()) for dm in dms]) / tsamp_s
    shift = np.floor(delay + 0.5).astype(int)
    n = max(0, len(x) - shift.max())
    return np.array([sum(x[s:s + n, c].astype(np.float64) for c, s in enumerate(row)) for row in shift])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("foff_mhz", [-1.3, 1.7])
def test_integers_are_exact(rng, dtype, foff_mhz):
    x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (3000, 61), dtype=dtype)
    dms = np.sort(rng.uniform(0, 100, 7))
    got = psrkit.dedisperse(x, dms, foff_mhz=foff_mhz, **BAND)
    want = naive(x, dms, 1500 + foff_mhz * np.arange(61), BAND["tsamp_s"])
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, want.astype(np.float32))


def test_floats_and_channels(rng):
    x = rng.normal(size=(2000, 32)).astype(np.float32)
    keep = rng.random(32) < 0.7
    got = psrkit.dedisperse(x, [0, 30], foff_mhz=-1, keep=keep, **BAND)
    want = naive(np.where(keep, x, 0), [0, 30], 1500 - np.arange(32.0), BAND["tsamp_s"])
    np.testing.assert_allclose(got, want, atol=1e-4)
    freq = 1500 - np.cumsum(rng.uniform(0.5, 2, 32))
    got = psrkit.dedisperse(x, 20, freq_mhz=freq, tsamp_s=BAND["tsamp_s"])
    np.testing.assert_allclose(got, naive(x, [20], freq, BAND["tsamp_s"]), atol=1e-4)


def test_blocks_and_progress_change_nothing(rng, monkeypatch):
    x = rng.integers(0, 255, (20000, 16), dtype=np.uint8)
    want, seen = psrkit.dedisperse(x, [0, 50], foff_mhz=-4, **BAND), []
    monkeypatch.setattr(psrkit._dedispersion.Dedisperser, "choose_step", lambda self, nchan: 1713)
    obs = psrkit.from_array(x, foff_mhz=-4, **BAND)
    got = psrkit.dedisperse(obs, [0, 50], progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(got, want)
    assert seen[0] == (1713, 20000) and seen[-1] == (20000, 20000)
    np.testing.assert_array_equal(psrkit.dedisperse(x, [0, 50], foff_mhz=-4, nthread=1, **BAND), want)


def test_an_exception_of_progress_ends_the_call(rng):
    def stop(done, total):
        raise KeyError("enough")

    with pytest.raises(KeyError):
        psrkit.dedisperse(np.zeros((5000, 8), np.uint8), [0], foff_mhz=-1, progress=stop, **BAND)


def test_packed_files(data):
    obs = psrkit.open(data("parkes_2bit.fil"))
    np.testing.assert_array_equal(psrkit.dedisperse(obs, [0, 20.0]),
                                  psrkit.dedisperse(obs[:], [0, 20.0], obs.fch1_mhz, obs.foff_mhz, obs.tsamp_s))


@pytest.mark.skipif(not shutil.which("gpudedisp"), reason="needs gpudedisp")
def test_series_are_those_of_gpudedisp(data, tmp_path):
    path = data("parkes_8bit_1.fil")
    obs, dms = psrkit.open(path), [0.0, 12.5, 25.0]
    subprocess.run(["gpudedisp", "-lodm", "0", "-dmstep", "12.5", "-numdms", "3", "-noclip", "-nobary", "-nopad", "-o",
                    str(tmp_path / "x"), path], check=True, capture_output=True)
    got = psrkit.dedisperse(obs, dms)
    for i, dm in enumerate(dms):
        want = np.fromfile(tmp_path / ("x_DM%.2f.dat" % dm), np.float32)
        np.testing.assert_array_equal(got[i], want[:got.shape[1]])


@pytest.mark.skipif(not shutil.which("ddplan"), reason="needs ddplan")
def test_plan_is_that_of_ddplan(data, tmp_path):
    path = data("parkes_8bit_1.fil")
    plan = psrkit.plan(psrkit.open(path), dm_max=800)
    plan.write(tmp_path / "mine.plan")
    subprocess.run(["ddplan", "-d", "800", "-plan", "theirs.plan", path], check=True, capture_output=True, cwd=tmp_path)

    def lines(name):
        return [line for line in (tmp_path / name).read_text().splitlines() if not line.startswith("#")]

    assert lines("mine.plan") == lines("theirs.plan")
    assert len(plan) == plan.lines["ndm"].sum() and plan.dms[-1] >= 800 - plan.lines["dmstep"][-1]
    assert plan.smearing(100)["total"] > 0 and plan.lines.units["dmstep"] == "pc cm-3"


def test_errors():
    x = np.zeros((1000, 8), np.uint8)
    for change, field, value in (
            (dict(dms=[-1.0]), "dm", -1), (dict(tsamp_s=0.0), "tsamp_s", 0), (dict(algorithm="fast"), "algorithm", "'fast'"),
            (dict(foff_mhz=None), "foff_mhz", None), (dict(tsamp_s=None), "tsamp_s", None), (dict(downsamp=0), "downsamp", 0),
            (dict(x=x[0]), "x", "an array of 1 dimensions"), (dict(keep=[True]), "keep", "of shape (1,)"),
            (dict(backend="abacus"), "backend", "abacus"), (dict(x=x.astype(complex)), "x", "of type complex128")):
        args = dict(x=x, dms=[1.0], foff_mhz=-1.0, **BAND)
        args.update(change)
        with pytest.raises(psrkit.Error) as caught:
            psrkit.dedisperse(**args)
        assert (caught.value.field, caught.value.value) == (field, value), str(caught.value)
    with pytest.raises(psrkit.NoMemoryError):
        psrkit.dedisperse(x, [1000.0], foff_mhz=-100.0, mem_bytes=1000, **BAND)


@pytest.mark.skipif(not os.environ.get("PSRKIT_PREFIX"), reason="needs an installed library")
def test_the_library_is_the_installed_one():
    assert psrkit.library_path.startswith(os.environ["PSRKIT_PREFIX"])


def test_a_sweep_longer_than_the_data_is_refused(rng):
    x = rng.integers(0, 255, (2000, 16), dtype=np.uint8)
    with pytest.raises(psrkit.InvalidError) as caught:
        psrkit.dedisperse(x, [0, 10, 5000.0], foff_mhz=-4, **BAND)
    error = caught.value
    most = float(error.limit.split()[1].rstrip(":"))
    assert (error.field, error.value) == ("dms", 5000) and 10 < most < 5000
    assert psrkit.dedisperse(x, [0, 0.99 * most], foff_mhz=-4, **BAND).shape[1] > 0
    with pytest.raises(psrkit.InvalidError):
        psrkit.dedisperse(x, [0, 1.01 * most], foff_mhz=-4, **BAND)


def test_a_plan_says_where_it_ends():
    plan = psrkit.plan(dm_max=300, fctr_mhz=1400, bw_mhz=256, nchan=64, tsamp_s=256e-6)
    assert plan.lines["hidm"][-1] >= 300 > plan.dms[-1] >= 300 - plan.lines["dmstep"][-1]
    assert "a step below dm_max" in psrkit.plan.__doc__ and "a step below dm_max" in psrkit.Plan.__doc__
