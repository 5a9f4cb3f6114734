#!/usr/bin/env python3
"""Whether gpuaccel-pulscan -compat presto lists what PRESTO's accelsearch lists, on spectra that no one chose.

    tests/science/accelsearch.py ACCELSEARCH [CASES [SEED [WORKERS]]] >accelsearch.txt

Makes CASES series (default 300) of random length, noise, red noise, pulsars and lines, writes each as
.dat or .fft, draws flags, and runs ACCELSEARCH (one thread) and gpuaccel-pulscan, which is in PATH.  Rows
are compared in the order of the lists: harmonics, r, z and w as printed, sigma to 0.01,
coherent power and records of the .cand file within the printed errors.  A row that differs is a tie
if its power is within 1e-5 of the cut, or of that of a row of the other list less than 15 bins away, or
of that which has its place; ties are printed, and so is everything that differs.

accelsearch reads parts of its plane that it has not written, below -flo: it runs with a malloc whose
memory is 0 (made with $CC or cc).  With -locpow its local powers are rounding errors near strong
lines: lists with NaN, and those that another malloc changes, are counted apart."""
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from multiprocessing import Pool

import numpy

import made_inf

TIE = 1e-5
ZERO = """#include <stdlib.h>
#include <string.h>
extern void *__libc_memalign(size_t, size_t);
void *malloc(size_t n) { return calloc(1, n); }
void *memalign(size_t a, size_t n) { void *p = __libc_memalign(a, n); return p ? memset(p, 0, n) : p; }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { return (*p = memalign(a, n)) ? 0 : 12; }
"""
PLACES, MEASURED = ("r", "rerr", "z", "zerr", "w", "werr"), "pow powerr sig rawpow phs phserr cen cenerr pur purerr locpow".split()
RECORD = numpy.dtype(
    [f for name in ("r", "z") for f in ((name, "f8"), (name + "err", "f4"), (name + "pad", "V4"))]
    + [("w", "f8"), ("werr", "f4")] + [(name, "f4") for name in MEASURED])  # fmt: skip
PSRKIT = ["gpuaccel-pulscan", "-q", "-compat", "presto", "-ncpus", "1"]
Row = collections.namedtuple("Row", "sigma power coherent nharm r z w")


def draw_series(r, n):
    """Noise, at times red, with pulsars that drift and lines, at times strong."""
    dice = numpy.random.default_rng(r.randrange(2**32))
    u = (numpy.arange(n) + 0.5) / n
    x = dice.standard_normal(n)
    if r.random() < 0.4:
        walk = numpy.cumsum(dice.standard_normal(n))
        x += r.uniform(0.5, 8) * (walk - walk.mean()) / walk.std()
    for _ in range(r.randint(0, 4)):
        f, z, w = numpy.exp(r.uniform(numpy.log(20), numpy.log(n / 6))), r.uniform(-60, 60), r.choice([0, 0, r.uniform(-90, 90)])
        phase = f * u + z * (u * u - u) / 2 + w * (u**3 / 6 - u * u / 4 + u / 12)
        kappa = r.choice([0.3, 5, 40])
        pulse = numpy.exp(kappa * (numpy.cos(2 * numpy.pi * phase) - 1))
        pulse -= pulse.mean()
        x += numpy.exp(r.uniform(numpy.log(5), numpy.log(80))) * pulse / numpy.sqrt((pulse**2).sum())
    for _ in range(r.choice([0, 0, 1, 3])):
        x += numpy.exp(r.uniform(numpy.log(0.05), numpy.log(3))) * numpy.sin(2 * numpy.pi * r.uniform(10, n / 2) * u + r.uniform(0, 6))
    return r.choice([1, 1, 37.5]) * x + r.choice([0, 5, 100])


def draw_flags(r, nyquist, is_fft):
    jerk = r.random() < 0.25
    zmax = r.choice([0, r.randint(1, 20), r.randint(21, 60)] if jerk else [0, 0, r.randint(1, 30), r.randint(31, 120), 200, r.randint(201, 300)])
    numharm = r.choice([1, 2, 4] if jerk else [1, 2, 4, 8, 8, 16])
    flags = [f"-zmax {zmax}", f"-numharm {numharm}", f"-sigma {r.choice([2, 2, 3, 1.5, 5, 8]):g}"]
    if jerk:
        flags += [f"-wmax {r.choice([0, 20, 35, 60, 100])}"]
    if r.random() < 0.4:
        flags += [f"-flo {r.uniform(0.01, 0.2) * nyquist:.4f}"]
    if r.random() < 0.4:
        flags += [f"-fhi {r.uniform(0.4, 1.2) * nyquist:.4f}"]
    if r.random() < 0.15:
        flags += [f"-rlo {r.randint(1, 400)}", f"-rhi {r.randint(1000, 9000)}"]
    if r.random() < 0.1:
        flags += ["-lobin 0"]
    flags += r.choice([[]] * 4 + [["-median"], ["-locpow"], ["-photon"]])
    flags += [f for f in ("-noharmremove", "-noharmpolish", "-inmem", "-otheropt") if r.random() < 0.15]
    return " ".join(flags)


def number(text):
    return float(re.sub(r"\(.*?\)", "", text).split("x")[0])


def read_list(path):
    rows = []
    for line in path.read_text().split("\n")[3:]:
        word = line.split()
        if not word:
            break
        rows.append(Row(float(word[1]), float(word[2]), float(word[3]), int(word[4]), word[7], word[9], word[10] if "JERK" in path.name else ""))
    return rows


def read_records(path):
    return numpy.fromfile(path, RECORD) if path.exists() else numpy.zeros(0, RECORD)


def close(a, b):
    return abs(a.power - b.power) <= TIE * b.power + 0.0101  # powers are printed to 0.01


def is_tie(row, place, other, lowest):
    """row, at its place in its list; other: the other list."""
    if row.sigma <= lowest + 0.0101:
        return True
    if place < len(other) and abs(other[place].sigma - row.sigma) < 0.0101 and close(row, other[place]):
        return True
    return any(close(row, o) and abs(number(o.r) - number(row.r)) < 15 for o in other)


def align(a, b):
    """Rows of a and b that are the same, in their order; and those of each that are in it alone or elsewhere."""
    import difflib

    key = lambda rows: [tuple(row[3:]) for row in rows]
    pairs, only = [], [[], []]
    for op, i, j, k, m in difflib.SequenceMatcher(None, key(a), key(b), False).get_opcodes():
        if op == "equal":
            pairs += list(zip(range(i, j), range(k, m)))
        else:
            only[0] += list(range(i, j))
            only[1] += list(range(k, m))
    return pairs, only


def explain(case, want, got, lowest, tally):
    """Counts and tells the rows that differ."""
    pairs, only = align(want, got)
    said, ties = [], 0
    for name, here, mine, theirs in (("accelsearch", only[0], want, got), ("psrkit", only[1], got, want)):
        for k in here:
            tie = is_tie(mine[k], k, theirs, lowest)
            ties += tie
            said.append(f"    {name:11s} row {k + 1} {'tie' if tie else 'DIFFERS'}: {tuple(mine[k])}")
    tally["rows of accelsearch"] += len(want)
    tally["rows of one list, ties"] += ties
    tally["ROWS OF ONE LIST, NO TIES"] += len(said) - ties
    tally["LISTS THAT DIFFER" if len(said) > ties else "lists with ties only" if said else "lists the same"] += 1
    for i, k in pairs:
        a, b = want[i], got[k]
        if abs(a.sigma - b.sigma) > 0.0101:
            tally["ROWS WITH ANOTHER SIGMA"] += 1
            said.append(f"    DIFFERS in sigma: {tuple(a)} {tuple(b)}")
        if abs(a.coherent - b.coherent) > (2 * a.coherent) ** 0.5:  # the error of a power
            tally["coherent powers beyond their errors, first bins" if number(a.r) < 2 else "coherent powers beyond their errors"] += 1
            said.append(f"    other coherent power: {tuple(a)} {tuple(b)}")
    if said:
        print(f"{case}\n" + "\n".join(said[:20]), flush=True)


def compare_records(case, a, b, tally):
    """Places to the bit, what is measured within errors."""
    if len(a) != len(b):
        return
    same = numpy.ones(len(a), bool)
    for name in PLACES:
        same &= a[name] == b[name]
    tally["records with another place"] += int((~same).sum())
    with numpy.errstate(all="ignore"):
        off = {name: numpy.abs(a[name] - b[name]) / a[name + "err"] for name in ("pow", "cen", "pur")}
        apart = numpy.abs(a["phs"] - b["phs"])
        off["phs"] = numpy.minimum(apart, 2 * numpy.pi - apart) / a["phserr"]
        worst = numpy.nanmax(list(off.values()), axis=0)
        near = worst <= 1
    for limit in (0.1, 0.3):
        tally[f"  records within {limit} of the printed errors"] += int((same & (worst <= limit)).sum())
    tally["records measured alike"] += int((same & near).sum())
    tally["records measured otherwise"] += int((same & ~near).sum())
    for k in numpy.flatnonzero(same & ~near)[:2]:
        print(f"{case}\n    record {k + 1} measured otherwise: " + ", ".join(f"{m} {a[k][m]:.6g} {b[k][m]:.6g}" for m in MEASURED))


def make_malloc(folder):
    """A library whose malloc gives memory that is 0."""
    (folder / "zero.c").write_text(ZERO)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", folder / "zero.so", folder / "zero.c"], check=True)
    return str(folder / "zero.so")


def run(program, flags, file, folder, malloc=""):
    """The list, its records, exit code and what was said."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", LD_PRELOAD=malloc)
    try:
        done = subprocess.run([*program, *flags.split(), file], cwd=folder, capture_output=True, text=True, errors="replace",
                              timeout=100, env=environment)  # fmt: skip
        code, said = done.returncode, (done.stderr or done.stdout)[-300:].strip()
    except subprocess.TimeoutExpired:
        code, said = -1, "timeout"
    found = [p for p in folder.glob("s_ACCEL_*") if "cand" not in p.name]
    rows = read_list(found[0]) if found else []
    records = read_records(pathlib.Path(f"{found[0]}.cand")) if found else numpy.zeros(0, RECORD)
    for p in folder.glob("s_ACCEL_*"):
        p.unlink()
    return (rows, records), code, said


def differ(a, b):
    """Whether rows of two runs differ in place or sigma."""
    return [(*row[3:], round(row.sigma, 1)) for row in a[0][0]] != [(*row[3:], round(row.sigma, 1)) for row in b[0][0]]


def try_case(seed):
    r = random.Random(seed)
    tally = collections.Counter()
    n = r.choice([2 ** r.randint(13, 17), 2 * r.randint(5000, 60000)]) + (r.random() < 0.05)
    dt = r.choice([64e-6, 0.000256, 0.001])
    is_fft = r.random() < 0.6
    n -= n % 2 if is_fft else 0
    flags = draw_flags(r, 0.5 / dt, is_fft)
    case = f"{seed}: {'fft' if is_fft else 'dat'} of {n} samples of {dt * 1e6:g} us: {flags}"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        x = draw_series(r, n)
        (folder / "s.inf").write_text(made_inf.describe("s", n, dt, "random"))
        if is_fft:
            spectrum = numpy.fft.rfft(x)
            spectrum[0] = spectrum[0].real + 1j * spectrum[-1].real
            spectrum[:-1].astype("c8").tofile(folder / "s.fft")
        else:
            x.astype("f4").tofile(folder / "s.dat")
        file = "s.fft" if is_fft else "s.dat"
        runs = [run([ACCELSEARCH], flags, file, folder, MALLOC), run(PSRKIT, flags, file, folder)]
        if differ(*runs):
            runs.append(run([ACCELSEARCH], flags, file, folder))
        return case, flags, runs, n, is_fft


def main():
    global ACCELSEARCH
    ACCELSEARCH = str(pathlib.Path(sys.argv[1]).resolve())
    global MALLOC
    cases, first, workers = (int(v) for v in (sys.argv[2:] + ["300", "1", "1"][len(sys.argv) - 2 :]))
    tally = collections.Counter()
    keep = tempfile.TemporaryDirectory()
    MALLOC = make_malloc(pathlib.Path(keep.name))
    with Pool(workers) as pool:
        for case, flags, runs, n, is_fft in pool.imap(try_case, range(first, first + cases)):
            ((want, wrec), code, said), ((got, grec), my_code, my_said) = runs[:2]
            if code or my_code:
                tally["accelsearch failed" if code else "PSRKIT FAILED"] += 1
                print(f"{case}\n    accelsearch {code}: {said.splitlines()[-1:]}, psrkit {my_code} {my_said}", flush=True)
                continue
            if any(row.sigma != row.sigma for row in want):
                tally["accelsearch lists rows that are NaN"] += 1
                print(f"{case}\n    accelsearch lists {sum(row.sigma != row.sigma for row in want)} rows that are NaN", flush=True)
                continue
            if len(runs) > 2 and differ(runs[0], runs[2]):
                tally["accelsearch's own list changes with where its memory lies"] += 1
                print(f"{case}\n    accelsearch's own list changes with where its memory lies", flush=True)
                continue
            explain(case, want, got, float(re.search(r"-sigma (\S+)", flags)[1]), tally)
            compare_records(case, wrec, grec, tally)
            tally["lists with candidates"] += bool(want)
            for word in [w for w in flags.split() if w in "-wmax -flo -fhi -rlo -locpow -photon -noharmremove -noharmpolish -inmem".split()] + [
                "odd length" if n % 2 else "even length", ".fft" if is_fft else ".dat"]:  # fmt: skip
                tally["  of them " + word] += 1
    print(f"{cases} cases from seed {first}")
    for what in sorted(tally, key=lambda w: (w.startswith("  "), w)):
        print(f"{what}: {tally[what]}")


if __name__ == "__main__":
    main()
