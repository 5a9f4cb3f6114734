"""Lists that are read and written, tables, and results of a search."""
import copy
import glob
import pickle
import shutil

import numpy as np
import pytest

import psrkit


def test_inf_files_come_back(data, tmp_path):
    inf = psrkit.read_inf(data("GBT_J1807-0847.inf"))
    psrkit.write_inf(tmp_path / "x.inf", inf)
    again = psrkit.read_inf(tmp_path / "x.inf")
    assert again == inf
    assert inf["tbin_s"] > 0 and isinstance(inf["object"], str)
    with pytest.raises(psrkit.InvalidError):
        psrkit.write_inf(tmp_path / "y.inf", dict(inf, onoff=[(0, 1)] * 100))
    assert not (tmp_path / "y.inf").exists()


def test_series_come_back(tmp_path, data):
    inf = psrkit.read_inf(data("GBT_J1807-0847.inf"))
    x = np.arange(100, dtype=np.float32)
    psrkit.write_series(tmp_path / "x.dat", x, dict(inf, onoff=[]))
    got, meta = psrkit.read_series(tmp_path / "x.dat")
    np.testing.assert_array_equal(got, x)
    assert meta["nbin"] == 100 and meta["name"].endswith("x")


def test_tables():
    table = psrkit.search_pulses(np.zeros((1, 100), np.float32), [0], 1e-3)
    assert len(table) == 0 and table.units["time_s"] == "s"
    full = psrkit.fake([psrkit.burst(1, 50, snr=10), psrkit.pulsar(0.1, 10, snr=10)], nsamp=16384, nchan=16, foff_mhz=-10).truth
    assert full[:1].units == full.units and isinstance(full["dm"], np.ndarray) and not isinstance(full["dm"], psrkit.Table)
    assert pickle.loads(pickle.dumps(full)).units == full.units
    pandas = pytest.importorskip("pandas")
    frame = full.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["dm"]) == [50, 10] and frame.attrs["units"]["dm"] == "pc cm-3"


def test_astropy_tables():
    pytest.importorskip("astropy")
    table = psrkit.fake([psrkit.burst(1, 50, snr=10)], nsamp=16384, nchan=16, foff_mhz=-10).truth.to_table()
    assert str(table["dm"].unit) == "pc / cm3" and table["dm"][0] == 50


def test_malformed_lists(tmp_path):
    for name, text in (("a.cand", "1 2 3\n"), ("b.cand", "x\t2\t3\t4\t5\t6\t7\t8\t9\t-\n"), ("c.singlepulse", "1 2\n")):
        (tmp_path / name).write_text(text)
        with pytest.raises(psrkit.FormatError) as caught:
            psrkit.read_pulses(tmp_path / name)
        assert name in str(caught.value)
    with pytest.raises(psrkit.FormatError):
        psrkit.read_report(tmp_path / "nothing")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(psrkit.FormatError):
        psrkit.read_jsonl(tmp_path / "x.json")
    (tmp_path / "x_ACCEL_0").write_text("nothing\n")
    with pytest.raises(psrkit.FormatError):
        psrkit.read_accel(tmp_path / "x_ACCEL_0")


@pytest.mark.skipif(not shutil.which("psrsearch"), reason="needs psrsearch")
def test_a_search_by_psrsearch(tmp_path):
    obs = psrkit.fake([psrkit.pulsar(0.1, 30, snr=60), psrkit.burst(3.0, 60, snr=30)], nchan=32, nsamp=32768, foff_mhz=-8, seed=8)
    lines = []
    found = psrkit.run(obs, tmp_path / "search", hidm=80, budget="fast", ncands=3, progress=lines.append)
    assert abs(found.pulses["dm"][0] - 60) < 10 and abs(found.pulses["time_s"][0] - 3) < 0.01
    assert any(abs(p / 0.1 - 1) < 1e-3 for p in found.candidates["period_s"])
    row = found.candidates[0]
    assert found.folds()[0].candidate.endswith("%s_Cand_%d" % (str(row["file"]).split("/")[-1], row["cand"]))
    assert found.folds()[0].profile.ndim == 3 and {"search", "sift", "fold"} <= {step["step"] for step in found.steps}
    assert any("search" in line for line in lines) and found.summary["root"]
    pulses = psrkit.read_csv(glob.glob(str(tmp_path / "search" / "*.pulses.csv"))[0])
    np.testing.assert_allclose(pulses["time_s"], found.pulses["time_s"])
    assert (pulses.units["width_s"], pulses.units["high_mhz"], pulses.units["mjd_top"], pulses.units["dm"]) == ("s", "MHz", "d", "pc cm-3")
    for options in (dict(nonsense=True), dict(hidm=-4)):
        with pytest.raises(psrkit.InvalidError) as caught:
            psrkit.run(obs, tmp_path / "other", **options)
        assert {caught.value.field: caught.value.value} == options
    with pytest.raises(psrkit.InvalidError):
        psrkit.run(obs, o="x")


def test_a_folder_without_a_search(tmp_path):
    with pytest.raises(psrkit.FormatError, match="no results of a search"):
        psrkit.read_report(tmp_path)


def test_a_list_shows_its_columns_and_units():
    table = psrkit.fake([psrkit.burst(1, 50, snr=10), psrkit.pulsar(0.1, 10, snr=10)], nsamp=16384, nchan=16, foff_mhz=-10).truth
    shown = str(table).splitlines()
    assert shown[0].split()[:3] == ["dm", "t_s", "width_s"] and "pc cm-3" in shown[1] and shown[2].split()[0] == "50"
    assert all(name in repr(table) for name in table.dtype.names) and max(map(len, shown)) <= 120
    many = np.concatenate([table] * 50)
    assert len(str(many).splitlines()) < 80 and " .." in str(many)
    assert "dm" in repr(table[:0]) and str(table[0])


def test_lists_keep_units():
    table = psrkit.fake([psrkit.burst(1, 50, snr=10), psrkit.pulsar(0.1, 10, snr=10)], nsamp=16384, nchan=16, foff_mhz=-10).truth
    for some in (table[1:], table[[1, 0]], table[table["dm"] > 20], table[["dm", "t_s"]], np.sort(table, order="dm"), table.copy(),
                 np.concatenate([table, table]), np.concatenate((table[:1], table)), np.unique(table), np.append(table, table),
                 np.hstack([table, table]), np.flip(table), np.delete(table, 0)):
        assert isinstance(some, psrkit.Table) and some.units["dm"] == "pc cm-3", type(some)
        assert some.dtype.names[0] == "dm"



def test_lists_of_one_kind_can_be_joined():
    noise = np.random.default_rng(3).normal(size=(2, 1 << 14)).astype(np.float32)
    noise[1] += 0.3 * np.sin(np.arange(1 << 14) * 0.2)
    one, two = (psrkit.search_periods(x, 1e-3, method="matched", zmax=0, harmonics=8) for x in noise)
    both = np.concatenate([one, two])
    assert len(both) == len(one) + len(two) and both.units["freq_hz"] == "Hz" and both.meta["tobs_s"] == one.meta["tobs_s"]


def test_files_of_another_kind(tmp_path):
    binary = tmp_path / "x.csv"
    binary.write_bytes(bytes(range(256)) * 10)
    for read in (psrkit.read_csv, psrkit.read_jsonl):
        with pytest.raises(psrkit.FormatError, match="not a file of text"):
            read(binary)
        with pytest.raises(psrkit.FileError):
            read(tmp_path / "none.csv")
        with pytest.raises(psrkit.FileError):
            read(tmp_path)
    for name, hint in (("x_ACCEL_200.cand", "without an ending"), ("x.cand", "read_pulses")):
        (tmp_path / name).write_text("1\t2\n")
        with pytest.raises(psrkit.InvalidError, match=hint):
            psrkit.read_accel(tmp_path / name)
    with pytest.raises(psrkit.FileError):
        psrkit.read_pulses(tmp_path / "none.cand")
    with pytest.raises(psrkit.InvalidError, match="tbin_s"):
        psrkit.write_inf(tmp_path / "x.inf", dict(tsamp_s=1e-3))


@pytest.mark.skipif(not shutil.which("psrsearch"), reason="needs psrsearch")
def test_run_takes_the_words_of_the_package(tmp_path):
    obs = psrkit.fake([psrkit.pulsar(0.1, 30, snr=60)], nchan=32, nsamp=16384, foff_mhz=-8, seed=8)
    assert "dm_max" in psrkit.run.__doc__ and "harmonics" in psrkit.run.__doc__
    for options, field in ((dict(dm_max=-4), "dm_max"), (dict(harmonics=5), "harmonics"), (dict(dm_mx=3), "dm_mx"), (dict(nfold=-1), "nfold")):
        with pytest.raises(psrkit.Error) as caught:
            psrkit.run(obs, tmp_path / "other", **options)
        assert caught.value.field == field and caught.value.value == options[field] and field in str(caught.value)
        assert "-hidm" not in str(caught.value)
    with pytest.raises(psrkit.InvalidError, match="given once"):
        psrkit.run(obs, dm_max=10, hidm=10)
    found = psrkit.run(obs, tmp_path / "search", dm_max=60, budget="fast", nfold=1, method="boxes", nthread=1, barycentre=False)
    command = " ".join(next(step for step in found.steps if step["step"] == "search")["command"])
    assert "-search boxes" in command and len(found.fold_paths) == 1 and found.candidates["dm"].max() < 61


@pytest.mark.skipif(not shutil.which("psrsearch"), reason="needs psrsearch")
def test_run_reads_as_the_observation_was_opened(tmp_path):
    obs = psrkit.fake([psrkit.pulsar(0.1, 30, snr=60)], nchan=32, nsamp=16384, foff_mhz=-8, seed=8)
    psrkit.write_filterbank(tmp_path / "x.fil", obs)
    found = psrkit.run(psrkit.open(tmp_path / "x.fil", invert=True), tmp_path / "search", dm_max=60, budget="fast", nfold=1)
    assert "-invert" in next(step for step in found.steps if step["step"] == "search")["command"]


def test_lists_of_presto(data):
    found = psrkit.read_accel(data("gbt_lband/Lband_topo_DM0.00_ACCEL_0"))
    assert len(found) == 4 and found["sigma"][0] > 5 and found.units["freq_hz"] == "Hz"
    mask = psrkit.read_mask(data("gbt_lband/Lband_rfifind.mask"))
    assert mask.array.shape == (37, 96) and mask.array[:, 94].all() and abs(mask.fraction - 0.0366) < 1e-4


def test_what_calls_give_goes_to_other_processes(data, tmp_path):
    obs = psrkit.fake([psrkit.pulsar(0.1, 30, snr=60)], nchan=16, nsamp=32768, foff_mhz=-16, source="mine", ra_deg=10, dec_deg=-3)
    again = pickle.loads(pickle.dumps(obs))
    np.testing.assert_array_equal(again.data, obs.data)
    assert (repr(again), again.tstart, again.ra_deg, again.truth.units) == (repr(obs), obs.tstart, 10, obs.truth.units)
    fold = psrkit.fold(obs, dict(period_s=0.1, dm=30, nbin=32), npart=8, nsub=8)
    for other in (pickle.loads(pickle.dumps(fold)), copy.deepcopy(fold)):
        np.testing.assert_array_equal(other.profile, fold.profile)
        np.testing.assert_array_equal(other.plane, fold.plane)
        other.write(tmp_path / "again.pfd")
    fold.write(tmp_path / "x.pfd")
    assert (tmp_path / "again.pfd").read_bytes() == (tmp_path / "x.pfd").read_bytes()
    plan = psrkit.plan(obs, dm_max=100)
    again = pickle.loads(pickle.dumps(plan))
    np.testing.assert_array_equal(again.dms, plan.dms)
    assert again.smearing(50) == plan.smearing(50)
    with pytest.raises(psrkit.InvalidError, match="of the plan"):
        plan.smearing(5000)
    mask = psrkit.make_mask(np.arange(16) == 3, obs)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(mask)).array, mask.array)
    files = psrkit.open(data("parkes_4bit.fil"), invert=True)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(files))[5:9], files[5:9])
    with pytest.raises(psrkit.InvalidError, match="do you mean dm"):
        obs.truth["DMs"]
