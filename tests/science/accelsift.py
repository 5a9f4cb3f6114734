#!/usr/bin/env python3
"""Whether accelsift -compat presto sifts as PRESTO's ACCEL_sift.py, on lists that no one chose.

    tests/science/accelsift.py ACCEL_SIFT ACCELSEARCH [CASES [SEED]] >accelsift.txt

ACCEL_SIFT is ACCEL_sift.py, whose modules are in PYTHONPATH; accelsift, fakebin and gpudedisp are in PATH.  Of CASES
sets of lists (default 40) one in four is what ACCELSEARCH makes of an observation of fakebin with pulsars, some in
binaries; the others are written by this script: families of harmonics over the DMs, chance candidates, powers up to
10^9, equal sigmas, lists of different lengths.  ACCEL_sift.py runs with random values of its parameters, and accelsift
gets the lists in the order in which ACCEL_sift.py finds them.  Prints for each set whether the texts are the same bytes,
the candidates and the seconds that each took."""
import contextlib
import glob
import io
import os
import pathlib
import random
import re
import runpy
import subprocess
import sys
import tempfile
import time

import made_inf


def centre(text, width):
    return text[:width].center(width)


def write_power(p):
    """As accelsearch writes a power and its error, sqrt(2 p)."""
    error = (2 * p) ** 0.5
    if p < 100:
        return f"{p:.{1 if error < 10 else 0}f}({error:.{1 if error < 10 else 0}f})"
    if p < 5000:
        return f"{p:.0f}({error:.0f})"
    exponent = len(str(int(p))) - 1
    digits = max(0, exponent - (len(str(int(error))) - 2))
    return f"{p / 10**exponent:.{digits}f}({error / 10 ** (exponent - digits):.0f})x10^{exponent}"


def write_list(path, cands, nbin, dt, dm):
    widths = (4, 5, 6, 8, 4, 16, 15, 15, 15, 11, 15)
    with open(path, "w", encoding="ascii") as f:
        f.write("  ".join(centre(t, w) for t, w in zip(["", "", "Summed", "Coherent", "Num", "Period", "Frequency", "FFT 'r'",
                                                       "Freq Deriv", "FFT 'z'", "Accel"], widths)) + "\n")  # fmt: skip
        f.write("Cand  Sigma\n" + "-" * 150 + "\n")
        for i, c in enumerate(cands):
            cells = [f"{i + 1:<4d}", f"{c['sigma']:.2f}", f"{sum(c['pows']):.2f}", f"{c['cpow']:.2f}", str(len(c["pows"])),
                     "1.0(1)", "1.0(1)", f"{c['r']:.2f}(50)", "0.00(1)", f"{c['z']:.1f}(2.0)", "0.00(1)"]  # fmt: skip
            f.write("  ".join(centre(t, w) for t, w in zip(cells, widths)) + "\n")
        f.write("\n\n   Power\nCand   Harm\n" + "-" * 150 + "\n")
        for i, c in enumerate(cands):
            for h, p in enumerate(c["pows"]):
                first = f" {i + 1:<4d}" if h == 0 else "     "
                f.write("  ".join([first, centre(f"{h + 1:<4d}", 4), centre("5.00", 5), centre(write_power(p), 15),
                                   centre("1.0", 11), centre("1.0(1)", 18), centre("1.0", 13), centre("0.0(1)", 12),
                                   centre("0.0", 9), centre("1.00(1)", 12), "0.5", "1.0"]) + "\n")  # fmt: skip
        f.write("\n\n")
        f.write(made_inf.describe("made", nbin, dt, "made", dm, "made"))


def make_lists(folder, rng):
    """Families of harmonics around peaks in DM, and chance candidates."""
    ndm, step = rng.randrange(3, 40), rng.choice([0.05, 0.5, 1, 3])
    nbin, dt = rng.choice([1 << 16, 1 << 18, 1000000]), 6.4e-5
    lengths = [nbin] if rng.random() < 0.7 else [nbin, nbin // 2]
    signals = []
    for _ in range(rng.randrange(0, 6)):
        f = 10 ** rng.uniform(-0.5, 2.5)
        signals += [(f * rng.choice([1, 2, 3, 0.5, 1.5, 0.75, 7, 1 / 16, 1 / 17]), rng.randrange(ndm), rng.uniform(5, 500))
                    for _ in range(rng.randrange(1, 8))]  # fmt: skip
    for i in range(ndm):
        dm, n = i * step, rng.choice(lengths)
        root = f"made_DM{dm:.2f}"
        tobs = n * dt
        (folder / f"{root}.inf").write_text(made_inf.describe(root, n, dt, "made", dm, "made"), encoding="ascii")
        cands = []
        for f, peak, power in signals:
            power *= max(0.0, 1 - abs(i - peak) / rng.choice([2, 5, 20]))
            if power < 3:
                continue
            nharm = rng.choice([1, 2, 4, 8, 16])
            pows = [max(0.1, power * rng.uniform(0, 1) * (1000000 if rng.random() < 0.01 else 1)) for _ in range(nharm)]
            cands.append({"r": f * tobs + rng.choice([0, 0, rng.gauss(0, 1)]), "pows": pows})
        for _ in range(rng.randrange(0, 12)):
            pows = [rng.expovariate(1) + rng.choice([0, 10, 20]) for _ in range(rng.choice([1, 2, 4, 8]))]
            cands.append({"r": 10 ** rng.uniform(-1, 4.5), "pows": pows if rng.random() < 0.8 else [20.0] * len(pows)})
        for c in cands:
            c.update(sigma=5, cpow=rng.uniform(1, 150), z=rng.choice([0, -20, 4]))
            c["r"] = max(0.05, c["r"])
        if cands:
            write_list(folder / f"{root}_ACCEL_{rng.choice([0, 200]) if len(lengths) == 1 else 0}", cands, n, dt, dm)


def search(folder, rng, accelsearch):
    """An observation, dedispersed and searched."""
    nsamp, ndm = rng.choice([1 << 13, 1 << 14]), rng.randrange(6, 16)
    dm = rng.uniform(5, 60)
    run = lambda *words: subprocess.run(words, cwd=folder, check=True, capture_output=True)  # noqa: E731
    signals = []
    if rng.random() < 0.6:
        signals = ["-binary", "-bper", "0.5", "-bcmass", "0.3"]
    run("fakebin", "-q", "-tobs", str(nsamp * 512e-6), "-tsamp", "512", "-nchans", "32", "-fch1", "400", "-foff", "2",
        "-nbits", "8", "-seed", str(rng.randrange(1 << 30)), "-dm", f"{dm:.3f}", "-period", f"{10 ** rng.uniform(1, 2.3):.6f}",
        "-snrpeak", str(rng.choice([0.2, 0.5, 1, 3])), *signals, "-o", "o.fil")  # fmt: skip
    run("gpudedisp", "-q", "-lodm", f"{max(0, dm - 5):.2f}", "-dmstep", "0.5", "-numdms", str(ndm), "-o", "o", "o.fil")
    for dat in sorted(folder.glob("*.dat")):
        run(accelsearch, "-zmax", rng.choice(["0", "20"]), "-numharm", rng.choice(["4", "8"]), "-sigma", "2", dat.name)


def choose(rng):
    """Values of parameters, sifting.py's names."""
    values = {}
    for name, choices in {"sigma_threshold": [2, 4, 6.5], "c_pow_threshold": [10, 100], "r_err": [0.3, 1.1, 5],
                          "short_period": [0.0005, 0.01], "long_period": [1, 15], "harm_pow_cutoff": [4, 8, 20],
                          "min_num_DMs": [1, 2, 5], "low_DM_cutoff": [0, 2, 10]}.items():  # fmt: skip
        if rng.random() < 0.4:
            values[name] = rng.choice(choices)
    return values


def run_peer(folder):
    """Runs the script in this process, as importing its modules takes longer than sifting.  It sets all parameters."""
    said, failure, here = io.StringIO(), None, os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path("sift.py")
    except Exception as why:  # pylint: disable=broad-except
        failure = f"{type(why).__name__}: {why}"
    finally:
        os.chdir(here)
    return failure, said.getvalue()


def main():
    sift, accelsearch = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    script = pathlib.Path(sift).read_text(encoding="ascii")
    __import__("presto.sifting")
    same = crashed = 0
    for case in range(1, cases + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            kind = "searched" if case % 4 == 0 else "made"
            search(folder, rng, accelsearch) if kind == "searched" else make_lists(folder, rng)
            values = choose(rng)
            text = script
            for key, value in values.items():
                text = re.sub(rf"^(sifting\.)?{key} = .*$", rf"\g<1>{key} = {value}", text, flags=re.M)
            (folder / "sift.py").write_text(text, encoding="ascii")
            order = glob.glob("*ACCEL_*0", root_dir=name)
            if not order:
                print(f"{case}: {kind}: no list")
                continue
            began = time.time()
            failure, said = run_peer(folder)
            middle = time.time()
            options = [word for key, value in values.items() for word in (f"-{key}", str(value))]
            own = subprocess.run(["accelsift", "-q", "-compat", "presto", *options, *order], cwd=folder,
                                 capture_output=True, text=True)  # fmt: skip
            end = time.time()
            at = said.find("#     ")
            want = said[at:] if at >= 0 else ""
            rows = sum(not line.startswith(("#", " ")) for line in own.stdout.splitlines())
            if failure:
                result = f"ACCEL_sift.py fails: {failure}"
                crashed += 1
            else:
                result = "same" if want == own.stdout and own.returncode == 0 else "DIFFERENT"
                same += result == "same"
                if result != "same" and os.environ.get("KEEP"):
                    subprocess.run(["cp", "-r", name, f"{os.environ['KEEP']}/case{case}"], check=True)
            print(f"{case}: {kind}: {len(order)} lists, {' '.join(options) or 'defaults'}: {result}, {rows} candidates, "
                  f"{middle - began:.2f} s and {end - middle:.2f} s {own.stderr.strip()}", flush=True)  # fmt: skip
    print(f"{same} of {cases} the same, {crashed} that ACCEL_sift.py fails on")


if __name__ == "__main__":
    main()
