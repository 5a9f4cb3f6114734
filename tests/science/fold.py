#!/usr/bin/env python3
"""Whether gpufold folds and finds what PRESTO's prepfold does, on observations that no one chose.

    tests/science/fold.py PREPFOLD [CASES [SEED]] >fold.txt

Makes CASES observations (default 30) with fakebin: filterbank, PSRFITS or .dat, noise with or without a
pulsar, at times in a binary.  Each is folded near the pulsar's or at a random period and DM, by random flags, with
-nosearch and with the search, by PREPFOLD and by gpufold; both gpufold and fakebin are in PATH.  Prints for
each case the largest relative difference of a bin and of a trial's value, how many steps of the search
the best DM, period and p-dot are apart, both reduced chi^2 of the .bestprof, and the seconds that each took.  Series have few parts: prepfold folds
nothing of those with fewer blocks of 1024 samples than parts.  PSRFITS rows are full: prepfold folds the zeros that
fill a last row, gpufold does not."""
import glob
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

COUNTS = "ndm nperiod npdot nsub npart nbin nchan pstep pdstep dmstep ndmfact npfact".split()


def read_pfd(path):
    """Header counts, best DM, period and p-dot at the telescope or barycentre, trials and profiles."""
    data = pathlib.Path(path).read_bytes()
    pfd = dict(zip(COUNTS, struct.unpack_from("<12i", data)))
    at = 48
    for _ in range(4):
        at += 4 + struct.unpack_from("<i", data, at)[0]
    numbers = struct.unpack_from("<9d", data, at + 32)
    at += 32 + 72
    spins = [struct.unpack_from("<f4x3d", data, at + 32 * k) for k in range(3)]
    at += 96 + 56
    pfd["dm"], pfd["spin"] = numbers[8], spins[0] if spins[0][1] else spins[1]
    for name, n in (("dms", pfd["ndm"]), ("periods", pfd["nperiod"]), ("pdots", pfd["npdot"]),
                    ("profile", pfd["npart"] * pfd["nsub"] * pfd["nbin"])):  # fmt: skip
        pfd[name] = struct.unpack_from(f"<{n}d", data, at)
        at += 8 * n
    return pfd


def find_step(values, best):
    """Place of the best value in the list of trials."""
    return min(range(len(values)), key=lambda i: abs(values[i] - best)) if values else 0


def find_worst(a, b):
    """The largest relative difference."""
    return max((abs(x - y) / max(abs(x), 1e-300) for x, y in zip(a, b) if x != y), default=0)


def read_redchi(path):
    for line in open(path, encoding="ascii"):
        if line.startswith("# Reduced"):
            return float(line.split("=")[1])
    return None


def draw_case(r):
    """Options of fakebin, of the fold, and a name for the kind of input."""
    kind = r.choice(["fil", "fil", "psrfits", "dat"])
    period, dm = 10 ** r.uniform(-2.2, -0.1), r.choice([0, 1]) * r.uniform(5, 300)
    tsamp, rows = r.choice([128, 256, 512]), r.choice([40, 55, 70])
    made = ["-tobs", f"{rows * 1024 * tsamp * 1e-6:.6f}", "-tsamp", str(tsamp),
            "-nchans", str(r.choice([32, 64, 96])), "-fch1", "1500", "-foff", "2", "-nbits", "8",
            "-seed", str(r.randrange(1 << 30)), "-dm", f"{dm:.3f}"]  # fmt: skip
    made += ["-period", f"{period * 1e3:.9f}" if r.random() < 0.7 else "0", "-snrpeak", str(r.choice([0.1, 0.5, 3]))]
    if r.random() < 0.3:
        made += ["-pdot", f"{r.uniform(-1e-6, 1e-6):.3g}"]
    made += {"psrfits": ["-psrfits"], "dat": ["-dat"]}.get(kind, [])
    fold = ["-p", f"{period * (1 + r.gauss(0, 2e-5)):.12f}", "-n", str(r.choice([16, 20, 32, 50]))]
    fold += r.choice([[], ["-pd", "1e-7"], ["-npart", "12"], ["-start", "0.2"]])
    fold += r.choice([[], [], ["-fine"], ["-nopsearch"], ["-npfact", "1"], ["-pstep", "1", "-pdstep", "2"]])
    if r.random() < 0.2:
        fold += ["-bin", "-pb", "3000", "-x", "0.1", "-e", "0.2", "-w", "30", "-To", "49999.99"]
    if kind == "dat" and "-npart" not in fold:
        fold += ["-npart", "10"]
    if kind != "dat":
        fold += ["-dm", f"{dm + r.uniform(0, 5):.3f}", "-topo", "-nsub", str(r.choice([8, 16, 32])), "-noclip"]
        fold += r.choice([[], ["-nodmsearch"], ["-ndmfact", "1"]])
    return kind, made, fold


def run(command, **more):
    began = time.time()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, **more)
    return done, time.time() - began


def compare(prepfold, made_by, fold, flags):
    """One line about both programs' folds, and whether they agree."""
    theirs, slow = run([prepfold, "-noxwin", *fold, *flags, "-o", "p", made_by])
    ours, fast = run(["gpufold", "-q", "-noplot", "-compat", "presto", *fold, *flags, "-o", "g", made_by])
    p, g = sorted(glob.glob("p_*.pfd")), sorted(glob.glob("g_*.pfd"))
    if not p or not g:
        return f"prepfold {theirs.returncode}, gpufold {ours.returncode}: {ours.stderr.strip()[-200:]}", not p and not g
    a, b = read_pfd(p[0]), read_pfd(g[0])
    steps = [find_step(a[x], a[y]) - find_step(b[x], b[y]) for x, y in (("dms", "dm"),)]
    steps += [find_step(a[x], a["spin"][i]) - find_step(b[x], b["spin"][i]) for x, i in (("periods", 1), ("pdots", 2))]
    bins, trials = find_worst(a["profile"], b["profile"]), max(find_worst(a[x], b[x]) for x in ("dms", "periods"))
    chi = [read_redchi(x[0] + ".bestprof") for x in (p, g)]
    same = all(a[x] == b[x] for x in COUNTS) and bins <= 1e-5 and not any(steps)
    same = same and abs(chi[0] - chi[1]) <= max(0.005 * chi[0], 0.001)
    for path in glob.glob("[pg]_*"):
        os.remove(path)
    return (f"bins {bins:.1e}, trials {trials:.1e}, steps {steps[0]} {steps[1]} {steps[2]}, "
            f"chi2 {chi[0]:.3f} {chi[1]:.3f}, {slow:.2f} s and {fast:.2f} s"), same  # fmt: skip


def main():
    prepfold, ncase = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 30
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    wrong = 0
    for number in range(1, ncase + 1):
        kind, made, fold = draw_case(random.Random(seed * 1000 + number))
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            out = {"dat": "o", "psrfits": "o.fits"}.get(kind, "o.fil")
            subprocess.run(["fakebin", "-q", *made, "-o", out], check=True)
            data = (glob.glob("o*.dat") or [out])[0]
            print(f"{number}: {kind}: fakebin {' '.join(made)}; {' '.join(fold)}")
            for flags in (["-nosearch"], []):
                line, same = compare(prepfold, data, fold, flags)
                wrong += not same
                print(f"    {'without' if flags else 'with'} search: {line}{'' if same else ' DIFFERENT'}", flush=True)
            os.chdir("/")
    print(f"{ncase} cases, each without and with search: {wrong} folds differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
