"""Single pulses: those that were injected, those of gpudedisp, and grouping."""
import shutil
import subprocess

import numpy as np
import pytest

import psrkit

DMS = np.arange(0, 200, 4.0)


@pytest.fixture(scope="module")
def bursts():
    return psrkit.fake([psrkit.burst(3.0, 100, snr=30, width_s=2e-3), psrkit.burst(5.0, 40, snr=25, width_s=4e-3)], nchan=64, nsamp=32768,
                       foff_mhz=-4, seed=5)


def test_injected_bursts_are_found_in_series(bursts):
    series = psrkit.dedisperse(bursts, DMS)
    found = psrkit.search_pulses(series, DMS, bursts.tsamp_s, lowest_mhz=bursts.lowest_mhz, highest_mhz=bursts.highest_mhz, threshold=7)
    assert len(found) == 2
    for truth in bursts.truth:
        best = found[np.argmin(abs(found["time_s"] - truth["t_s"]))]
        assert abs(best["time_s"] - truth["t_s"]) < 2e-3 and abs(best["dm"] - truth["dm"]) <= 4
        assert 0.8 * truth["snr_single"] < best["snr"] < 1.3 * truth["snr_single"]
    events = found.meta["events"]
    assert events["snr"].min() >= 7 and found["members"].sum() == len(events)
    assert found.units["dm"] == "pc cm-3"


def test_boxcar_of_a_spike():
    series = np.random.default_rng(1).normal(size=(1, 20000)).astype(np.float32)
    series[0, 9000:9003] += 30
    best = psrkit.search_pulses(series, [0.0], 1e-3)[0]
    assert (best["width"], best["sample"], best["trial"]) == (3, 9001, 0)
    assert abs(best["snr"] - 90 / 3**0.5) < 4


def test_an_observation_gives_what_its_series_give(bursts):
    seen = []
    found = psrkit.search_pulses(bursts, DMS, threshold=7, progress=lambda done, total: seen.append((done, total)))
    series = psrkit.search_pulses(psrkit.dedisperse(bursts, DMS), DMS, bursts.tsamp_s, lowest_mhz=bursts.lowest_mhz,
                                  highest_mhz=bursts.highest_mhz, threshold=7)
    assert seen[-1] == (bursts.nsamp, bursts.nsamp)
    assert len(found) == len(series)
    np.testing.assert_allclose(found["snr"], series["snr"], rtol=1e-3)
    np.testing.assert_array_equal(found["dm"], series["dm"])


@pytest.mark.skipif(not shutil.which("gpudedisp"), reason="needs gpudedisp")
def test_lists_are_those_of_gpudedisp(bursts, tmp_path):
    psrkit.write_filterbank(tmp_path / "x.fil", bursts)
    subprocess.run(["gpudedisp", "-lodm", "0", "-dmstep", "4", "-numdms", "50", "-nobary", "-noclip", "-singlepulse", "-nowrite", "-o",
                    "x", "x.fil"], check=True, capture_output=True, cwd=tmp_path)
    found = psrkit.search_pulses(psrkit.open(tmp_path / "x.fil"), DMS)
    psrkit.write_pulses(tmp_path / "mine.cand", found)
    assert (tmp_path / "mine.cand").read_bytes() == (tmp_path / "x.cand").read_bytes()
    again = psrkit.read_pulses(tmp_path / "x.cand")
    for name in ("sample", "width", "trial", "members", "first", "last", "marks", "dm"):
        np.testing.assert_array_equal(again[name], found[name])
    np.testing.assert_allclose(again["width_s"], found["width_s"], rtol=1e-4)
    events = psrkit.read_pulses(tmp_path / "x_DM100.00.singlepulse")
    mine = found.meta["events"]
    mine = mine[mine["dm"] == 100]
    np.testing.assert_array_equal(events["sample"], np.sort(mine["sample"]))


def test_errors(bursts):
    x = np.zeros((3, 100), np.float32)
    for args, field in (((x, [1, 2], 1e-3), "dms"), ((x, [1, 2, 3]), "tsamp_s"), ((x, [1, 2, 3], 0.0), "tsamp_s"),
                        ((x[None], [1], 1e-3), "series")):
        with pytest.raises(psrkit.InvalidError) as caught:
            psrkit.search_pulses(*args)
        assert caught.value.field == field
    with pytest.raises(psrkit.InvalidError):
        psrkit.search_pulses(bursts, DMS, clean="well")
    assert len(psrkit.search_pulses(x, [1, 2, 3], 1e-3)) == 0
    assert len(psrkit.search_pulses(np.full((1, 5000), np.nan), [1], 1e-3)) == 0
