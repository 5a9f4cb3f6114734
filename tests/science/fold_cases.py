#!/usr/bin/env python3
"""Whether gpufold folds, searches and writes as PRESTO's prepfold, on made skies of every kind and on real observations.

    tests/science/fold_cases.py DATA [SIGPROC [FIRST LAST]] >fold_cases.txt

Needs PRESTO's prepfold, rfifind, show_pfd and get_TOAs.py, and psrkit's gpufold and fakebin in PATH, PRESTO's python modules
in PYTHONPATH, numpy and astropy.  DATA is the folder of real observations that PSRKIT_TEST_DATA names, SIGPROC one with files
of SIGPROC's fake.  Filterbank files and series are made by this script, PSRFITS
by fakebin.  Each case is folded by both programs without search, and with it: profiles, statistics and all numbers of the header are compared,
then the best DM, period and p-dot in steps of prepfold's own grid, and reduced chi^2.  Then PRESTO's show_pfd, get_TOAs.py and
prepfold.pfd read both files: what they say must be the same, but for rounding.  A case that prepfold cannot fold counts only if gpufold
cannot either, or folds nothing, as of one block alone.

Where both programs differ on purpose, in masks of intervals, clipped data with a mask, and gaps between files, the script itself makes the
spectra that prepfold folds (presto_mask.py), and gpufold's fold of these must be prepfold's of the original in every bin; of the direct
comparison only the header and the best trials are then asked.

Chosen, not drawn: 64 channels, 36.9 s and one pulse shape in all made skies, 32 bins and 16 sub-bands in most folds; the search has prepfold's
default range, but for the cases named coarse, fine and p-dot-dot.  Not compared: files that prepfold reads otherwise, which are printed with
the reason (NOT_READ); the last row of 28.fits, whose padding prepfold folds."""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy
from astropy.io import fits

import fold
import made_inf
import prepsubband
import presto_mask

NCHAN, TSAMP, NSAMP, FCH1, FOFF = 64, 256e-6, 144000, 1500.0, -2.0
MEAN = {1: (0.5, 0.5), 2: (1.5, 0.9), 4: (7.5, 2.2), 8: (100, 12), 16: (2000, 100), 32: (50, 7)}
BLOCK = "-n 32 -nsub 16 -npart 20"
ORBIT = "-bin -pb 3000 -x 0.1 -e {e} -w 30 -To 55999.99"
NOT_READ = {"nifs2.fil": "prepfold takes two polarisations for twice as many spectra",
            "posfoff.fil": "prepfold takes an ascending band to begin below its lowest channel",
            "psr60.fil": "prepfold writes not-a-number of 29 spectra, gpufold refuses less than a block",
            "unknownkey.fil": "prepfold refuses an unknown word of the header"}  # fmt: skip
READ_PFD = """
import sys
from presto.prepfold import pfd
p = pfd(sys.argv[1])
p.dedisperse()
p.adjust_period()
print(p.npart, p.nsub, p.proflen, "%.12g %.6g %.6g" % (p.curr_p1, p.bestdm, p.calc_redchi2()),
      " ".join("%.6g" % x for x in p.sumprof), "%.9f" % p.DOF_corr())
"""


# --- made observations -----------------------------------------------------------------------------------------------------


def find_phase(t, sky):
    """Turns of the pulsar, whose clock runs p, pd, and an orbit of 3000 s and 0.1 light seconds."""
    if "e" in sky:
        mean = 2 * numpy.pi * (t + 864) / 3000
        ecc = mean.copy()
        for _ in range(20):
            ecc = mean + sky["e"] * numpy.sin(ecc)
        w = numpy.radians(30)
        t = t - 0.1 * ((numpy.cos(ecc) - sky["e"]) * numpy.sin(w) + numpy.sqrt(1 - sky["e"] ** 2) * numpy.sin(ecc) * numpy.cos(w))
    return (t - sky.get("pd", 0) * t * t / (2 * sky["p"])) / sky["p"]


def make_pulse(t, sky):
    turn = find_phase(t, sky) % 1
    return sky["snr"] * numpy.exp(-0.5 * ((turn - 0.4) / 0.03) ** 2)


def make_red(dice, n, strength):
    power = numpy.fft.rfft(dice.normal(size=n))
    f = numpy.arange(len(power)) + 1.0
    red = numpy.fft.irfft(power * f**-1.0, n)
    return strength * red / red.std()


def make_spectra(sky, seed, nsamp=NSAMP):
    """In units of a channel's noise."""
    dice = numpy.random.default_rng(seed)
    x = dice.normal(size=(nsamp, NCHAN))
    t = numpy.arange(nsamp) * TSAMP
    freq = FCH1 + FOFF * numpy.arange(NCHAN)
    delay = 4148.808 * sky.get("dm", 0) * (freq**-2.0 - freq[0] ** -2.0)
    for c in range(NCHAN):
        if sky.get("snr"):
            x[:, c] += make_pulse(t - delay[c], sky)
    if sky.get("red"):
        x += make_red(dice, nsamp, sky["red"])[:, None]
    if sky.get("lines"):
        x[:, 5] += 3 * numpy.sin(2 * numpy.pi * 50 * t)
        x[:, 40:43] += 4 * numpy.sign(numpy.sin(2 * numpy.pi * 3.3 * t))[:, None]
    if sky.get("rfi"):
        x[:, 5] += 3 * numpy.sin(2 * numpy.pi * 50 * t)
        x[:, 40:43] += 4 * (numpy.arange(nsamp)[:, None] // 9000 % 3 == 0)
        x[dice.integers(0, nsamp, 12)] += 5
        x[60000:60400, 20:50] += 6
    return x


def write_fil(path, x, nbits, first=0, scale=True):
    mean, sigma = MEAN[nbits] if scale else (0, 1)
    head = {"telescope_id": 6, "machine_id": 0, "data_type": 1, "source_name": "made", "src_raj": 193938.56, "src_dej": 213459.1,
            "fch1": FCH1, "foff": FOFF, "nchans": NCHAN, "nbits": nbits,
            "tstart": 56000.0 + first * TSAMP / 86400, "tsamp": TSAMP, "nifs": 1}  # fmt: skip
    pathlib.Path(path).write_bytes(prepsubband.header(head) + prepsubband.pack(mean + sigma * x, nbits))


def write_series(root, x, dt, bary=False, dm=50):
    numpy.asarray(x, "<f4").tofile(root + ".dat")
    text = made_inf.describe(root, len(x), dt, "made", dm=dm)
    pathlib.Path(root + ".inf").write_text(text.replace("(1 yes, 0 no)  =  0", "(1 yes, 0 no)  =  1", 1) if bary else text)


PULSAR = {"p": 0.0893, "dm": 68, "snr": 0.1}


ZAP = ["-timesig", "1000", "-freqsig", "1000", "-zapchan", "5,40:42"]


def list_made():
    """Kind, sky, options of the fold; the options of making as keywords."""
    a, weak, none = PULSAR, {**PULSAR, "snr": 0.025}, {"p": 0.0893}
    strong, fast = {**PULSAR, "snr": 0.7}, {"p": 0.00713, "dm": 31, "snr": 0.1}
    slow = {"p": 1.37, "dm": 150, "snr": 0.3}
    red, rfi = {**a, "red": 1.0}, {**a, "red": 0.5, "rfi": True}
    lines = {**a, "red": 0.5, "lines": True}
    moved, curved = {**a, "pd": 3e-6}, {**a, "e": 0.0}
    near = "-p 0.0893006 -dm 67"
    yield "isolated, 64 bins", a, f"-topo {near} -n 64 -nsub 32 -npart 30", {}
    yield "isolated", a, f"-topo {near}", {}
    yield "isolated, weak", weak, f"-topo {near}", {}
    yield "isolated, strong", strong, f"-topo {near}", {}
    yield "isolated, 7 ms", fast, "-topo -p 0.0071302 -dm 30", {}
    yield "isolated, slow", slow, "-topo -slow -p 1.3702 -dm 149", {}
    yield "noise alone", none, f"-topo {near}", {}
    yield "red noise", red, f"-topo {near}", {}
    yield "red noise, weak", {**weak, "red": 1.0}, f"-topo {near}", {}
    yield "interference", rfi, f"-topo {near}", {}
    yield "interference, not clipped", rfi, f"-topo -noclip {near}", {}
    yield "interference, zero-DM", rfi, f"-topo -zerodm {near}", {}
    zap = {"mask": ZAP}
    yield "channels masked", lines, f"-topo -noclip -mask m_rfifind.mask {near}", zap
    yield "channels masked, barycentred", lines, f"-noclip -mask m_rfifind.mask {near}", zap
    yield "channels masked, and clipped", lines, f"-topo -mask m_rfifind.mask {near}", {**zap, "near": True}
    yield "lines, masked", lines, f"-topo -mask m_rfifind.mask {near}", {"mask": [], "near": True}
    yield "lines, masked, barycentred", lines, f"-mask m_rfifind.mask {near}", {"mask": [], "near": True}
    yield "interference, masked, not clipped", rfi, f"-topo -noclip -mask m_rfifind.mask {near}", {"mask": [], "near": True}
    yield "channels ignored", rfi, f"-topo -ignorechan 5,40:42 {near}", {}
    yield "accelerated, as folded", moved, f"-topo -pd 3e-6 {near}", {}
    yield "accelerated, to be found", moved, f"-topo -pd 1e-6 {near}", {}
    yield "accelerated, by frequency", moved, "-topo -f 11.1982 -fd -0.0003 -dm 67", {}
    yield "orbit, circular", curved, f"-topo {near} " + ORBIT.format(e=0), {}
    yield "orbit, eccentric", {**a, "e": 0.6}, f"-topo {near} " + ORBIT.format(e=0.6), {}
    yield "orbit, barycentred", {**a, "e": 0.6}, f"{near} " + ORBIT.format(e=0.6), {}
    yield "barycentred", a, near, {}
    yield "barycentred, accelerated", moved, f"-pd 2e-6 {near}", {}
    for nbits in (1, 2, 4, 16, 32):
        yield f"{nbits} bits", a, f"-topo {near}", {"nbits": nbits}
    yield "fine", a, "-topo -fine -p 0.0893001 -dm 68", {}
    yield "coarse", moved, f"-topo -coarse -n 16 -nsub 8 -npart 20 {near}", {}
    yield "two files", a, f"-topo {near}", {"cut": 0}
    yield "two files, a gap of 3 s", a, f"-topo {near}", {"cut": 12000, "near": True}
    yield "from 0.2 to 0.9", a, f"-topo -start 0.2 -end 0.9 {near}", {}
    yield "DM only", a, f"-topo -nopsearch -nopdsearch {near}", {}
    yield "period only", a, f"-topo -nodmsearch -nopdsearch {near}", {}
    yield "p-dot-dot too", a, "-topo -searchpdd -npfact 1 -nodmsearch -n 16 -nsub 16 -npart 20 -p 0.0893001 -dm 68", {}


def list_series():
    a = {**PULSAR, "snr": 1}
    near = "-n 32 -npart 20 -p 0.0893006"
    yield "series", a, near, {}
    yield "series, red noise", {**a, "red": 1.0}, near, {}
    yield "series, weak", {**a, "snr": 0.2}, near, {}
    yield "series, accelerated", {**a, "pd": 3e-6}, near + " -pd 2e-6", {}
    yield "series, orbit", {**a, "e": 0.6}, near + " " + ORBIT.format(e=0.6), {}
    yield "series, barycentred before", a, near, {"bary": True}


def list_psrfits():
    pulsar = ["-add", "pulsar period=0.0893 dm=68 width=0.0045 snr=40"]
    yield "PSRFITS", pulsar, f"-topo -p 0.0893006 -dm 67 {BLOCK}", {}
    yield "PSRFITS, barycentred", pulsar, f"-p 0.0893006 -dm 67 {BLOCK}", {}
    yield "PSRFITS, masked", pulsar, f"-topo -mask m_rfifind.mask -p 0.0893006 -dm 67 {BLOCK}", {"mask": [], "near": True}
    yield "PSRFITS, channels masked", pulsar, f"-topo -noclip -mask m_rfifind.mask -p 0.0893006 -dm 67 {BLOCK}", {"mask": ZAP}
    yield "PSRFITS, accelerated", pulsar, f"-topo -p 0.0893006 -pd 2e-6 -dm 67 {BLOCK}", {}


def make_case(kind, sky, opt, number):
    """The file that is made in the current folder."""
    if kind == "series":
        dice = numpy.random.default_rng(number)
        t = numpy.arange(2 * NSAMP) * TSAMP
        x = dice.normal(size=len(t)) + make_pulse(t, sky)
        write_series("o", x + (make_red(dice, len(t), sky["red"]) if sky.get("red") else 0), TSAMP, **opt)
        return "o.dat"
    if kind == "psrfits":
        subprocess.run(["fakebin", "-q", "-seed", str(number), "-tobs", "36.700160", "-tsamp", "512", "-nchans", "64", "-nbits", "8",
                        "-fch1", "1500", "-foff", "2", "-period", "0", *sky, "-psrfits", "-o", "o.fits"], check=True)  # fmt: skip
    else:
        x, middle, nbits = make_spectra(sky, number), NSAMP // 2, opt.get("nbits", 8)
        if "cut" in opt:
            write_fil("o.fil", x[:middle], nbits)
            write_fil("q.fil", x[middle + opt["cut"] :], nbits, middle + opt["cut"])
            return "o.fil q.fil"
        write_fil("o.fil", x, nbits)
    name = "o.fits" if kind == "psrfits" else "o.fil"
    if "mask" in opt:
        subprocess.run(["rfifind", "-time", "1", *opt["mask"], "-o", "m", name], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return name


def read_fils(names):
    """Spectra of 8-bit files, and of the gap of 3 s between them."""
    parts = []
    for name in names.split():
        data = pathlib.Path(name).read_bytes()
        x = numpy.frombuffer(data, numpy.uint8, offset=data.index(b"HEADER_END") + 10)
        parts += [x.reshape(-1, NCHAN).astype("f4"), numpy.full((12000, NCHAN), numpy.nan, "f4")]
    return numpy.concatenate(parts[:-1])


def clean_rows(name, path, mask, clip):
    """The same for PSRFITS of fakebin, whose scales are 1 and offsets 0."""
    with fits.open(name) as f:
        head, rows = f["SUBINT"].header, f["SUBINT"].columns
        x = f["SUBINT"].data["DATA"].reshape(-1, NCHAN).astype("f4")
        x = presto_mask.clean(x, head["TBIN"], mask, clip, head["NSBLK"])
        data = fits.Column("DATA", f"{head['NSBLK'] * NCHAN}E", array=x.reshape(head["NAXIS2"], -1))
        f["SUBINT"] = fits.BinTableHDU.from_columns([c for c in rows if c.name != "DATA"] + [data], header=head)
        f["SUBINT"].header["NBITS"] = 32
        f.writeto(path)


def make_as_prepfold(names, options, folder):
    """The spectra that prepfold folds, in floats in the folder; the options that fold just these."""
    mask = presto_mask.Mask("m_rfifind") if "-mask" in options else None
    clip, path = "-noclip" not in options, f"{folder}/{names.split()[0]}"
    os.mkdir(folder)
    if names.endswith(".fits"):
        clean_rows(names, path, mask, clip)
    else:
        write_fil(path, presto_mask.clean(read_fils(names), TSAMP, mask, clip), 32, scale=False)
    return options.replace("-mask m_rfifind.mask", "").replace("-noclip", "") + " -noclip"


# --- real observations -----------------------------------------------------------------------------------------------------


def list_real(data):
    """File, what else it needs, options; raw series of the Lovell telescope become .dat first."""
    burst = "-topo -n 32 -nsub 16 -npart 2 -p 0.5 -dm 475.5"
    for name in ("28.fil", "askap_frb180417_beam29.fil"):
        yield name, burst
    yield "28.fits", burst + " -end 0.7"
    yield "28.fil", "-n 32 -nsub 16 -npart 2 -p 0.5 -dm 475.5"
    for name in ("parkes_8bit_1.fil", "parkes_4bit.fil", "parkes_2bit.fil", "parkes_1bit.fil", "parkes_4bit.sf"):
        yield name, "-topo -n 32 -nsub 16 -npart 1 -p 0.0337 -dm 56.77"
    yield "GBT_J1807-0847.dat", "-n 64 -p 0.163711"
    yield "GBT_J1807-0847.dat", "-n 64 -p 0.163711 -fine -npart 30"
    for p in (1 / 28.760, 1 / 59.991, 1 / 170.987):
        yield "gbt_lband/Lband_topo_DM0.00.dat", f"-n 32 -p {p:.9f}"
    yield "gbt_lband/Lband_topo_DM0.00.dat", f"-n 32 -accelfile {data}/gbt_lband/Lband_topo_DM0.00_ACCEL_0.cand -accelcand 1"
    for name, p in (("psr0", 0.22653), ("psr2", 0.47663), ("psr3", 0.73977), ("psr5", 0.71461)):
        yield f"lovell/{name}.dat", f"-n 64 -npart 12 -p {p}"


def fetch_real(path, folder):
    """The file, with its .inf, or made one."""
    if folder.name == "lovell":
        x = numpy.fromfile(path, numpy.int8)
        head = path.with_suffix(".hdr").read_text().split()
        write_series(path.stem, x, float(head[head.index("Tsamp") + 1]) / 1e3, dm=0)
        return path.name
    for source in path.parent.glob(path.stem + ".*"):
        if source.suffix in (path.suffix, ".inf"):
            shutil.copy(source, source.name)
    return path.name


# --- comparison ------------------------------------------------------------------------------------------------------------


def read_header(path):
    """Every number of a .pfd but for profiles and trials: positions, then doubles; text but for names."""
    data = pathlib.Path(path).read_bytes()
    at, text = 48, []
    for _ in range(4):
        n = int.from_bytes(data[at : at + 4], "little")
        text.append(data[at + 4 : at + 4 + n])
        at += 4 + n
    text += [data[at : at + 16].split(b"\0")[0], data[at + 16 : at + 32].split(b"\0")[0]]
    numbers = list(numpy.frombuffer(data, "<f8", 9, at + 32))
    at += 32 + 72
    for k in range(3):
        numbers.append(float(numpy.frombuffer(data, "<f4", 1, at + 32 * k)[0]))
        numbers += list(numpy.frombuffer(data, "<f8", 3, at + 32 * k + 8))
    at += 96
    numbers += list(numpy.frombuffer(data, "<f8", 7, at))
    return text[2:3] + text[4:], numpy.array(numbers), at + 56


def find_moves(a, b, length_s):
    """By how many turns a and b differ within the observation: three periods and derivatives each, of the telescope, the barycentre
    and the fold, whose are frequencies."""
    worst = 0
    for k in (9, 13, 17):
        x, y = a[k + 1 : k + 4], b[k + 1 : k + 4]
        f = 1 if k == 17 else x[0] ** -2 if x[0] else 0
        worst = max([worst] + [abs(x[i] - y[i]) * f * length_s ** (i + 1) / (1, 2, 6)[i] for i in range(3)])
    return worst


def read_stats(path, pfd, at):
    start = at + 8 * (pfd["ndm"] + pfd["nperiod"] + pfd["npdot"] + pfd["npart"] * pfd["nsub"] * pfd["nbin"])
    data = pathlib.Path(path).read_bytes()[start:]
    return numpy.frombuffer(data, "<f8", len(data) // 8)


def find_worst(a, b):
    """Where prepfold divides by no variance, its numbers are not compared."""
    a, b = numpy.asarray(a, float), numpy.asarray(b, float)
    if a.shape != b.shape:
        return numpy.inf
    b, a = b[numpy.isfinite(a)], a[numpy.isfinite(a)]
    scale = numpy.maximum(abs(a), 1e-300)
    return float(numpy.max(numpy.where(a == b, 0, abs(a - b) / scale), initial=0))


def compare_files(p, g, searched, near):
    """The worst relative difference of the header, of a bin, of a statistic; steps; chi^2; whether these agree.
    near: bins and chi^2 may differ."""
    a, b = fold.read_pfd(p), fold.read_pfd(g)
    (words, head, at), (others, heads, where) = read_header(p), read_header(g)
    same = all(a[x] == b[x] for x in fold.COUNTS) and words == others
    if not same:
        return f"headers differ: {[(x, a[x], b[x]) for x in fold.COUNTS if a[x] != b[x]]} {words} {others}", False
    steps = [fold.find_step(a[x], a[y]) - fold.find_step(b[x], b[y]) for x, y in (("dms", "dm"),)]
    steps += [fold.find_step(a[x], a["spin"][i]) - fold.find_step(b[x], b["spin"][i]) for x, i in (("periods", 1), ("pdots", 2))]
    spins = (numpy.arange(len(head)) >= 9) & (numpy.arange(len(head)) < 21)  # find_moves has them
    header = find_worst(numpy.where(spins, 0, head), numpy.where(spins, 0, heads))
    length = head[0] * numpy.sum(read_stats(p, a, at).reshape(a["npart"], a["nsub"], 7)[:, 0, 0])
    turns = find_moves(head, heads, length)
    bins = find_worst(a["profile"], b["profile"])
    if not any(a["profile"]) and not any(b["profile"]):
        return "neither folds anything", True
    stats = find_worst(read_stats(p, a, at), read_stats(g, b, where))
    chi = [fold.read_redchi(x + ".bestprof") for x in (p, g)]
    same = (bins <= 1e-5 or near) and max(abs(s) for s in steps) <= 1 and (searched or (header <= 1e-8 and turns <= 1e-6))
    same = same and (near or chi == [None, None] or abs(chi[0] - chi[1]) <= max(0.005 * chi[0], 0.001))
    return (f"header {header:.0e} turns {turns:.0e} bins {bins:.0e} statistics {stats:.0e} steps {steps[0]} {steps[1]} {steps[2]} "
            f"chi2 {chi[0]} {chi[1]}"), same  # fmt: skip


def read_as_presto(path):
    """What PRESTO's programs say of a fold, without its name."""
    commands = {"show_pfd": ["show_pfd", "-noxwin", path], "get_TOAs.py": ["get_TOAs.py", "-n", "1", "-s", "1", "-g", "0.05", path],
                "pfd": [sys.executable, "-c", READ_PFD, path]}  # fmt: skip
    said = {}
    for name, command in commands.items():
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        text = re.sub(r"\b[pg](_[\w.]+|\b)", "", done.stdout + (done.stderr if done.returncode else ""))
        said[name] = (done.returncode, re.sub(r"0x[0-9a-f]+", "", text))
    return said


def is_near(x, y):
    """Words: the same, or numbers that differ by rounding; dates to 1e-10 days; below 1e-9 all derivatives are alike."""
    try:
        a, b = float(x.strip("'[],;()")), float(y.strip("'[],;()"))
    except ValueError:
        return x == y
    return abs(a - b) <= (1e-10 if 4e4 < abs(a) < 1e5 and len(x) > 12 else max(2e-5 * abs(a), 1e-9))


def are_alike(a, b):
    words = a[1].split(), b[1].split()
    return a[0] == b[0] and len(words[0]) == len(words[1]) and all(map(is_near, *words))


def read_both(p, g):
    a, b = read_as_presto(p), read_as_presto(g)
    words = []
    for name, (code, _) in a.items():
        alike = are_alike(a[name], b[name])
        words.append(f"{name} {'same' if alike else 'DIFFERENT'}{'' if code == 0 else f' (both exit {code})' if alike else ''}")
    return ", ".join(words), all("DIFFERENT" not in w for w in words)


def fold_and_compare(path, options, flags, near):
    """Leaves p_*.pfd and g_*.pfd."""
    theirs, slow = fold.run(["prepfold", "-noxwin", *options.split(), *flags, "-o", "p", *path.split()])
    ours, fast = fold.run(["gpufold", "-q", "-noplot", "-compat", "presto", *options.split(), *flags, "-o", "g", *path.split()])
    p, g = sorted(glob.glob("p_*.pfd")), sorted(glob.glob("g_*.pfd"))
    if not p or not g:
        return f"prepfold {theirs.returncode}, gpufold {ours.returncode}: {ours.stderr.strip()[-160:]}", not p and not g
    line, same = compare_files(p[0], g[0], not flags, near)
    line += f", {slow:.1f} and {fast:.1f} s"
    if not flags and not near and not line.startswith("neither"):
        read, alike = read_both(p[0], g[0])
        line, same = f"{line}; {read}", same and alike
    return line, same


def compare_as_prepfold(path, options, flags):
    """prepfold's fold that is there, and gpufold's of the spectra that prepfold folded."""
    as_folded = make_as_prepfold(path, options, "as_prepfold")
    p = os.path.abspath(glob.glob("p_*.pfd")[0])
    os.chdir("as_prepfold")
    fold.run(["gpufold", "-q", "-noplot", "-compat", "presto", *as_folded.split(), *flags, "-o", "g", path.split()[0]])
    g = glob.glob("g_*.pfd")
    line, same = compare_files(p, g[0], not flags, False) if g else ("no fold", False)
    if g and not flags:
        read, alike = read_both(p, g[0])
        line, same = f"{line}; {read}", same and alike
    os.chdir("..")
    shutil.rmtree("as_prepfold")
    return line, same


def run_case(title, path, options, near):
    """Prints what was found; whether all agrees."""
    good = True
    print(f"{title}: {options}")
    for flags in (["-nosearch"], []):
        line, same = fold_and_compare(path, options, flags, near)
        if near:
            other, alike = compare_as_prepfold(path, options, flags)
            line, same = f"{line}\n        the spectra that prepfold folds: {other}", same and alike
        good &= same
        print(f"    {'without' if flags else 'with'} search: {line}{'' if same else ' WRONG'}", flush=True)
        for name in glob.glob("[pg]_*"):
            os.remove(name)
    return good


def list_all(data, sigproc):
    """Title, how to get the file in the current folder, options, whether bins may differ as above."""
    number = 0
    for kind, cases in (("fil", list_made()), ("series", list_series()), ("psrfits", list_psrfits())):
        for title, sky, options, opt in cases:
            number += 1
            if kind == "fil" and "-n " not in options:
                options += " " + BLOCK
            yield f"{number}: {title}", lambda k=kind, s=sky, o=opt, n=number: make_case(k, s, o, n), options, "near" in opt
    for path in sorted(pathlib.Path(sigproc).glob("*.fil")) if sigproc else []:
        number += 1
        yield f"{number}: fake's {path.name}", lambda q=path: fetch_real(q, q.parent), f"-topo -noclip -p 0.0314165 -dm 46 {BLOCK.replace('-npart 20', '-npart 5')}", False
    for name, options in list_real(data):
        path = pathlib.Path(data) / name
        number += 1
        yield f"{number}: real {name}", lambda q=path: fetch_real(q, q.parent), options, False


def main():
    data = os.path.abspath(sys.argv[1])
    sigproc = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    first, last = map(int, sys.argv[3:5]) if len(sys.argv) > 4 else (1, sys.maxsize)
    wrong = total = skipped = 0
    for title, make, options, near in list_all(data, sigproc):
        if not first <= int(title.split(":")[0]) <= last:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            good = run_case(title, make(), options, near)
            os.chdir("/")
        reason = NOT_READ.get(title.split()[-1])
        if reason:
            print(f"    not compared: {reason}", flush=True)
        skipped += bool(reason)
        total += not reason
        wrong += not good and not reason
    print(f"{total} cases, each without and with search: {wrong} differ; {skipped} not compared")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
