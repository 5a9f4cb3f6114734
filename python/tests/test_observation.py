"""Observations: headers, slices and blocks, of files and of arrays."""
import numpy as np
import pytest

import psrkit
from psrkit._observation import channel_mhz
from psrkit._library import lib

HEADER = dict(fch1_mhz=1500.0, foff_mhz=-0.5, tsamp_s=1e-4)


def naive_unpack(path, nchan, nbit):
    """Samples of a SIGPROC file, bit by bit."""
    with open(path, "rb") as f:
        raw = f.read()
    raw = np.frombuffer(raw[raw.index(b"HEADER_END") + 10:], np.uint8)
    bits = (raw[:, None] >> np.arange(8)) & 1
    samples = bits.reshape(len(raw), 8 // nbit, nbit) << np.arange(nbit)
    return samples.sum(axis=2).reshape(-1, nchan)


@pytest.mark.parametrize("name, nbit", [("parkes_1bit.fil", 1), ("parkes_2bit.fil", 2), ("parkes_4bit.fil", 4), ("parkes_8bit_1.fil", 8)])
def test_spectra_of_files(data, name, nbit):
    obs = psrkit.open(data(name))
    assert obs.nbit == nbit
    want = naive_unpack(obs.paths[0], obs.nchan, nbit)
    x = obs[:]
    assert x.shape == (obs.nsamp, obs.nchan)
    np.testing.assert_array_equal(x, want[:obs.nsamp])
    np.testing.assert_array_equal(obs[10:17], x[10:17])
    np.testing.assert_array_equal(obs[-5:], x[-5:])
    np.testing.assert_array_equal(obs[-1], x[-1])
    np.testing.assert_array_equal(np.concatenate(list(obs.blocks(777))), x)
    np.testing.assert_array_equal(obs.seconds(100 * obs.tsamp_s, 200 * obs.tsamp_s), x[100:200])
    assert obs[5:5].shape == (0, obs.nchan)
    np.testing.assert_array_equal(obs[10:17, 3:5], x[10:17, 3:5])
    np.testing.assert_array_equal(obs[-1, ::-1], x[-1, ::-1])
    with pytest.raises(IndexError):
        obs[obs.nsamp]


def test_header(data):
    obs = psrkit.open(data("parkes_8bit_1.fil"))
    assert obs.freq_mhz[0] == lib.psr_obs_freq_mhz(obs._c, 0)
    assert obs.highest_mhz == obs.freq_mhz.max() and obs.lowest_mhz == obs.freq_mhz.min()
    assert obs.tobs_s == obs.nsamp * obs.tsamp_s and len(obs) == obs.nsamp
    assert obs.source in repr(obs)


@pytest.mark.parametrize("foff_mhz", [-0.37, 0.41])
def test_frequencies_are_those_of_the_library(foff_mhz):
    obs = psrkit.from_array(np.zeros((2, 97), np.uint8), 1433.3, foff_mhz, 1e-4)
    want = [lib.psr_obs_freq_mhz(obs._c, c) for c in range(97)]
    np.testing.assert_array_equal(channel_mhz(97, 1433.3, foff_mhz), want)


def test_arrays(rng):
    x = rng.integers(0, 255, (100, 16), dtype=np.uint8)
    obs = psrkit.from_array(x, source="B0000+00", ra_deg=10, dec_deg=-5, tstart_mjd=(60000, 0.25), **HEADER)
    assert np.shares_memory(obs.data, x) and np.shares_memory(obs[3:7], x)
    assert (obs.source, obs.ra_deg, obs.dec_deg, obs.tstart, obs.tstart_mjd) == ("B0000+00", 10, -5, (60000, 0.25), 60000.25)
    np.testing.assert_array_equal(np.concatenate(list(obs.blocks(33))), x)
    assert psrkit.from_array(x.astype(np.float64), **HEADER).dtype == np.float32
    with pytest.raises(psrkit.InvalidError):
        psrkit.from_array(x, dec_deg=1.0, **HEADER)


def test_errors(tmp_path):
    with pytest.raises(psrkit.FileError) as caught:
        psrkit.open(tmp_path / "none.fil")
    assert isinstance(caught.value, OSError) and "none.fil" in str(caught.value)
    assert (caught.value.field, caught.value.value) == ("path", str(tmp_path / "none.fil"))
    bad = tmp_path / "bad.fil"
    bad.write_bytes(b"\x0c\0\0\0HEADER_START" + b"?" * 100)
    with pytest.raises(psrkit.FormatError):
        psrkit.open(bad)
    with pytest.raises(psrkit.InvalidError) as caught:
        psrkit.open(bad, pols="round")
    assert (caught.value.field, caught.value.value) == ("pols", "'round'")
    with pytest.raises(TypeError):
        psrkit.from_array(np.zeros((2, 2)), colour="red", **HEADER)


def test_seconds_outside_are_left_out():
    obs = psrkit.from_array(np.zeros((100, 4), np.uint8), 1500.0, -1.0, 0.1)
    assert [len(obs.seconds(*t)) for t in ((-3, 5), (-3, -1), (5, 50), (20, 30))] == [50, 0, 50, 0]


def test_other_units_and_places_are_refused():
    x = np.zeros((100, 4), np.uint8)
    for band, field in (((1.5e9, -1e6, 1e-3), "fch1_mhz"), ((1500.0, -1e7, 1e-3), "foff_mhz"), ((1500.0, -1.0, 1266.0), "tsamp_s")):
        for call in (lambda: psrkit.from_array(x, *band), lambda: psrkit.clean(x, fch1_mhz=band[0], foff_mhz=band[1], tsamp_s=band[2])):
            with pytest.raises(psrkit.InvalidError, match="must be in"):
                call()
    with pytest.raises(psrkit.InvalidError, match="in s"):
        psrkit.dedisperse(x, [0.0], 1500.0, -1.0, 1266.0)
    obs = psrkit.from_array(x, **HEADER)
    for place in (1.5, [1, 2], "a"):
        with pytest.raises(psrkit.InvalidError) as caught:
            obs[place]
        assert caught.value.field == "index"


def test_an_observation_in_two_files(data, tmp_path):
    whole = psrkit.open(data("parkes_8bit_1.fil"))
    half = whole.nsamp // 2
    day, frac = whole.tstart
    for name, first, last in (("a.fil", 0, half), ("b.fil", half, whole.nsamp)):
        part = psrkit.from_array(whole[first:last], whole.fch1_mhz, whole.foff_mhz, whole.tsamp_s, source=whole.source,
                                 tstart_mjd=(day, frac + first * whole.tsamp_s / 86400))
        psrkit.write_filterbank(tmp_path / name, part)
    again = psrkit.open([tmp_path / "b.fil", tmp_path / "a.fil"])
    np.testing.assert_array_equal(again[:], whole[:])
    assert again.source == whole.source and again.tstart == whole.tstart
