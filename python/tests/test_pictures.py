"""Pictures, where matplotlib is."""
import numpy as np
import pytest

import psrkit

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def obs():
    return psrkit.fake([psrkit.burst(3.0, 100, snr=40), psrkit.pulsar(0.1, 30, snr=60)], nchan=64, nsamp=16384, foff_mhz=-4)


@pytest.fixture(scope="module")
def fold(obs):
    return psrkit.fold(obs, dict(period_s=0.1, dm=30, nbin=32), npart=8, nsub=8)


def test_pictures(obs, fold, tmp_path):
    dms = np.arange(0, 200, 10.0)
    waterfall = psrkit.plot_waterfall(obs, 3.0, 100)
    for i, figure in enumerate((waterfall, psrkit.plot_fold(fold), psrkit.plot_plane(fold),
                                psrkit.plot_plane(psrkit.dedisperse(obs, dms), dms, obs.tsamp_s))):
        figure.savefig(tmp_path / ("%d.png" % i), dpi=100)
        assert figure.get_size_inches()[0] == 8
        assert (tmp_path / ("%d.png" % i)).stat().st_size > 10000
    # The burst is the brightest column of the dedispersed sum.
    line = waterfall.axes[0].lines[0] if waterfall.axes[0].lines else None
    if line is not None:
        assert abs(line.get_xdata()[np.argmax(line.get_ydata())] - 3.0) < 0.01
    fold.write(tmp_path / "x.pfd")
    psrkit.plot_fold(psrkit.read_pfd(tmp_path / "x.pfd"))


def test_errors():
    with pytest.raises(psrkit.InvalidError):
        psrkit.plot_waterfall(np.zeros((100, 4)), fch1_mhz=1500, foff_mhz=-1, tsamp_s=1e-3)
    with pytest.raises(psrkit.InvalidError):
        psrkit.plot_plane(np.zeros((3, 100)))


def test_axes_of_a_fold_have_units(obs, fold):
    axes = {axis.get_ylabel(): axis for axis in psrkit.plot_fold(fold).axes}
    time, band = axes["time, s"].get_ylim(), axes["frequency, MHz"].get_ylim()
    assert time[0] == 0 and abs(time[1] - fold.tobs_s) < 1e-9 and abs(fold.tobs_s - obs.tobs_s) < 1
    assert band == (obs.lowest_mhz - 2, obs.highest_mhz + 2)
