"""Masks and cleaning, and the synthetic data that they are tried with."""
import shutil
import subprocess

import numpy as np
import pytest

import psrkit


@pytest.fixture(scope="module")
def tone():
    return psrkit.fake((), [psrkit.rfi("tone", 2.0, freq_mhz=1480, bw_mhz=2, t_s=4, duration_s=3.5)], nchan=64, nsamp=65536, seed=6)


def test_a_tone_is_masked(tone, tmp_path):
    found = psrkit.find_interference(tone, interval_s=1.0, root=tmp_path / "kept")
    bad = 63 - int(tone.freq_mhz[0] - 1480)  # from the lowest channel
    intervals = [i for i in range(found.mask.nint) if 4 < i * found.mask.dtint_s < 6]
    assert intervals and found.mask.array[intervals][:, bad].all()
    assert 0 < found.mask.fraction < 0.2 and not found.mask.array[:2].any()
    # Statistics of a cell are those of its samples.
    cell = tone.data[:found.mask.ptsperint, 63 - 5].astype(np.float64)
    assert abs(found.mean[0, 5] - cell.mean()) < 0.05 and abs(found.sd[0, 5] - cell.std()) < 0.05
    kept = psrkit.read_mask(tmp_path / "kept_rfifind.mask")
    np.testing.assert_array_equal(kept.array, found.mask.array)
    found.mask.write(tmp_path / "again.mask")
    assert (tmp_path / "again.mask").read_bytes() == (tmp_path / "kept_rfifind.mask").read_bytes()
    np.testing.assert_array_equal(psrkit.read_mask(tmp_path / "again.mask").padding, found.mask.padding)
    # Searches and folds take the mask, or its name.
    for call in (lambda mask: psrkit.search_pulses(tone, [0.0, 10.0], threshold=5, mask=mask),
                 lambda mask: psrkit.fold(tone, dict(period_s=0.1, dm=0), search=False, mask=mask).profile):
        np.testing.assert_array_equal(call(found.mask), call(tmp_path / "again.mask"))


@pytest.mark.skipif(not shutil.which("gpurfifind"), reason="needs gpurfifind")
def test_masks_are_those_of_gpurfifind(tone, tmp_path):
    psrkit.write_filterbank(tmp_path / "x.fil", tone)
    subprocess.run(["gpurfifind", "-time", "1", "-o", "y", "x.fil"], check=True, capture_output=True, cwd=tmp_path)
    found = psrkit.find_interference(psrkit.open(tmp_path / "x.fil"), interval_s=1.0)
    want = psrkit.read_mask(tmp_path / "y_rfifind.mask")
    assert found.mask.array.shape == want.array.shape and found.mask.ptsperint == want.ptsperint
    with pytest.raises(psrkit.InvalidError) as caught:
        psrkit.find_interference(psrkit.open(tmp_path / "x.fil"), interval_s=-1)
    assert (caught.value.field, caught.value.value) == ("interval_s", -1)
    assert (found.mask.array & want.array).sum() >= 0.9 * found.mask.array.sum()


def test_cleaning(tone):
    mask = psrkit.find_interference(tone, interval_s=1.0).mask
    untouched = psrkit.clean(tone, clip_sigma=0)
    np.testing.assert_array_equal(untouched, tone.data)
    x = psrkit.clean(tone, mask=mask, clip_sigma=0)
    assert x.dtype == np.float32 and x.shape == tone.data.shape
    t, c = int(6 / tone.tsamp_s), int(tone.freq_mhz[0] - 1480)
    assert x[t, c] == mask.padding[63 - c]
    zero = psrkit.clean(tone, zerodm=True)
    assert zero.sum(axis=1).std() < 1e-2 * tone.data.sum(axis=1).std()
    auto = psrkit.clean(tone, auto=True)
    assert auto.dtype == np.uint8 and abs(auto.mean() - 32) < 0.5
    with pytest.raises(psrkit.InvalidError):
        psrkit.clean(tone, auto=True, mask=mask)
    with pytest.raises(psrkit.InvalidError):
        psrkit.clean(tone, keep=[True])


def test_synthetic_data(tmp_path):
    signals = [psrkit.burst(1.0, 50, snr=20)]
    one = psrkit.fake(signals, nchan=32, nsamp=8192, foff_mhz=-8, seed=3)
    two = psrkit.fake(signals, nchan=32, nsamp=8192, foff_mhz=-8, seed=3, nthread=1)
    np.testing.assert_array_equal(one.data, two.data)
    assert abs(one.data.mean() - 127.5) < 0.5 and abs(one.data.std() - 255 / 8) < 0.5
    floats = psrkit.fake((), nchan=32, nsamp=8192, nbit=32)
    assert floats.dtype == np.float32 and abs(floats.data.std() - 1) < 0.01
    for nbit in (1, 2, 4):
        few = psrkit.fake((), nchan=32, nsamp=1000, nbit=nbit)
        assert few.data.max() == (1 << nbit) - 1 and few.data.shape == (1000, 32)
    psrkit.write_filterbank(tmp_path / "x.fil", one)
    again = psrkit.open(tmp_path / "x.fil")
    np.testing.assert_array_equal(again[:], one.data)
    assert (again.tsamp_s, again.fch1_mhz, again.foff_mhz) == (one.tsamp_s, one.fch1_mhz, one.foff_mhz)
    with pytest.raises(psrkit.InvalidError):
        psrkit.fake([psrkit.burst(1.0, 50, snr=20, width_s=-1)])
    with pytest.raises(psrkit.InvalidError):
        psrkit.rfi("gossip")
    with pytest.raises(psrkit.InvalidError):
        psrkit.fake(gain=[1.0])


def test_a_mask_of_an_array(tone, tmp_path):
    found = psrkit.find_interference(tone, interval_s=1.0).mask
    made = psrkit.make_mask(found.array, tone, interval_s=found.dtint_s)
    np.testing.assert_array_equal(made.array, found.array)
    assert (made.ptsperint, made.lofreq_mhz, made.dfreq_mhz) == (found.ptsperint, found.lofreq_mhz, found.dfreq_mhz)
    assert np.abs(made.padding - found.padding).max() < 0.3
    channels = np.zeros(64, bool)
    channels[[3, 40]] = True  # in the order of the data
    made = psrkit.make_mask(channels[np.argsort(tone.freq_mhz)], tone)
    x = psrkit.clean(tone, mask=made, clip_sigma=0)
    np.testing.assert_array_equal((x != tone.data).any(axis=0), channels)
    made.write(tmp_path / "x.mask")
    np.testing.assert_array_equal(psrkit.read_mask(tmp_path / "x.mask").array, made.array)
    psrkit.search_pulses(tone, [0.0, 10.0], mask=made)
    for bad in (channels[:5], channels.astype(int), channels[None, None]):
        with pytest.raises(psrkit.InvalidError) as caught:
            psrkit.make_mask(bad, tone)
        assert caught.value.field == "array"


def test_automatic_cleaning_says_what_it_took(tone):
    x, took = psrkit.clean(tone, auto=True, details=True)
    np.testing.assert_array_equal(x, psrkit.clean(tone, auto=True))
    bad = 63 - int(tone.freq_mhz[0] - 1480)
    assert took.mask.array[:, bad].any() and 0 < took.share < 0.1 and took.nsamp == len(x) and "masked" in repr(took)
    assert abs(took.share - took.mask.fraction - took.nspark / took.nsamp) < 0.02
    with pytest.raises(psrkit.InvalidError):
        psrkit.clean(tone, details=True)


def test_help_says_what_words_mean():
    for name in ("freq_mhz", "rotation_s", "rolloff", "share", "wander_hz", "frame_s"):
        assert name in psrkit.rfi.__doc__
    assert "64 its mean" in psrkit.Interference.__doc__
    assert all('"%s"' % mark in psrkit.search_pulses.__doc__ for mark in psrkit._pulses.MARKS)


def test_one_signal_whole_numbers_and_near_names():
    one = psrkit.fake(psrkit.burst(0.5, 20, snr=20), psrkit.rfi("spark", 1, rate_hz=2, width_s=1e-3), nchan=16.0, nsamp=8192.0, foff_mhz=-8)
    assert one.data.shape == (8192, 16) and len(one.truth) == 1
    same = psrkit.fake([dict(t_s=0.5, dm=20, snr=20)], [psrkit.rfi("spark", 1, rate_hz=2, width_s=1e-3)], nchan=16, nsamp=8192, foff_mhz=-8)
    np.testing.assert_array_equal(same.data, one.data)
    for call, word in ((lambda: psrkit.fake(nchans=16), "nchan"), (lambda: psrkit.fake(nsamp=20.5), "whole"), (lambda: psrkit.fake(nsamp="a"), "whole"),
                       (lambda: psrkit.fake([3]), "pulsar"), (lambda: psrkit.fake(dict(t_s=1, dm=3, sn=4)), "sn"),
                       (lambda: psrkit.fake(dict(period_s=1)), "dm"), (lambda: psrkit.fake(dict(psrkit.burst(1, 2), sn=4)), "sn"),
                       (lambda: psrkit.fake((), dict(level=3)), "rfi"), (lambda: psrkit.rfi("tone"), "level")):
        with pytest.raises((psrkit.InvalidError, TypeError), match=word):
            call()
