#!/usr/bin/env python3
"""Whether gpurfifind -compat presto writes rfifind's masks, byte for byte, on inputs that no one chose.

    tests/science/rfifind.py [-rfifind PROGRAM] [CASES [SEED]] >rfifind.txt

Makes CASES observations (default 100) of random shape, bits, band, noise and interference, as one or
several filterbank files or as PSRFITS, draws flags for each, runs both programs and compares .mask,
.bytemask and .inf (without the line that names the analyst) byte for byte, and .stats and .rfi to
float rounding.  A cell whose flags differ is shown with its statistics.  Needs rfifind of PRESTO and
psrkit's tools in PATH, and numpy.
"""

import argparse
import collections
import pathlib
import random
import struct
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from prepsubband import make_filterbank, make_psrfits, run  # noqa: E402

FLAGS = {0x10: "power", 0x20: "standard deviation", 0x40: "mean", 0x04: "channel", 0x08: "interval", 0x01: "padding"}


def draw_flags(r, nchan, nsamp, tsamp, fits):
    block = 2400 * tsamp if not fits else 0.1
    flags = [r.choice([f"-time {block * r.choice([0.3, 1, 1, 2, 3.4]):.6f}", f"-blocks {r.randint(1, 3)}"])]
    flags += [r.choice(["", "", "-noclip", "-zerodm", f"-clip {r.uniform(1, 8):.3f}"])]
    flags += [r.choice(["", "", f"-ignorechan {r.randrange(nchan)},0:{r.randrange(nchan)}"])]
    flags += [r.choice(["", "", f"-timesig {r.uniform(2, 12):.3f}"]), r.choice(["", "", f"-freqsig {r.uniform(2, 8):.3f}"])]
    flags += [r.choice(["", f"-chanfrac {r.uniform(0, 1):.3f}"]), r.choice(["", f"-intfrac {r.uniform(0, 1):.3f}"])]
    flags += [r.choice(["", "", f"-zapchan {r.randrange(nchan)},0:{r.randrange(nchan)}:2"]), r.choice(["", "", "-zapints 1,0"])]
    flags += [r.choice([""] * 5 + ["-invert"])]
    if fits:
        flags += [r.choice(["", "", "-noscales -nooffsets", "-noweights"])]
    return " ".join(filter(None, flags))


def read_stats(path):
    b = path.read_bytes()
    nchan, nint = struct.unpack("2i", b[:8])
    return b[:20], np.frombuffer(b, "f4", offset=20).reshape(3, nint, nchan)


def read_list(path):
    """Header, and of every birdie its floats and the rest."""
    b = path.read_bytes()
    nchan, nint, *_, n = struct.unpack("7i", b[:28])
    size = 16 + (nint + 7) // 8 + (nchan + 7) // 8
    rows = [b[36 + k * size : 36 + (k + 1) * size] for k in range(n)]
    return b[:36], [(struct.unpack("3f", r[:12]), r[12:]) for r in rows]


def near(a, b, bound):
    return abs(a - b) <= bound * max(abs(a), abs(b))


def compare(folder, tally, case):
    """Whether all is the same; adds to the tally what differs and how much."""
    same = True
    file = {t: {s: folder / t / f"t_rfifind.{s}" for s in ("mask", "bytemask", "inf", "stats", "rfi")} for t in ("presto", "psrkit")}
    for s in ("mask", "bytemask", "inf"):
        got = [file[t][s].read_bytes() for t in file]
        if s == "inf":
            got = [[line for line in g.splitlines() if b"analyzed by" not in line] for g in got]
        tally[f"{s} {'the same' if got[0] == got[1] else 'differs'}"] += 1
        same &= got[0] == got[1]
    (head, a), (head2, b) = (read_stats(file[t]["stats"]) for t in file)
    same &= head == head2 and a.shape == b.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.nan_to_num(np.abs(a - b) / np.maximum(np.abs(a), np.abs(b)))
    for k, what in enumerate(("power", "mean", "standard deviation")):
        key = f"largest relative difference of a {what}, 1e-9"
        tally[key] = max(tally[key], int(error[k].max() * 1e9))
    flags = [np.frombuffer(file[t]["bytemask"].read_bytes(), "u1").reshape(a.shape[1:]) for t in file]
    for i, c in zip(*np.nonzero(flags[0] != flags[1])):
        tally["cells that differ"] += 1
        print(f"  {case}: cell {i}, {c}: flags {flags[0][i, c]:#x} and {flags[1][i, c]:#x}; power, mean, deviation"
              f" {a[0][i, c]:.9g} {a[1][i, c]:.9g} {a[2][i, c]:.9g} and {b[0][i, c]:.9g} {b[1][i, c]:.9g} {b[2][i, c]:.9g}")  # fmt: skip
    tally["cells compared"] += a[0].size
    tally["cells masked by rfifind"] += int(np.count_nonzero(flags[0] & 0x7C))
    compare_lists(file, tally)
    return same


def compare_lists(file, tally):
    (head, a), (head2, b) = (read_list(file[t]["rfi"]) for t in file)
    alike = head == head2 and len(a) == len(b)
    alike = alike and all(x[1] == y[1] and all(near(u, v, 1e-4) for u, v in zip(x[0], y[0])) for x, y in zip(a, b))
    tally["lists of birdies alike" if alike else "lists of birdies not alike"] += 1
    tally["birdies"] += len(a)


def try_case(seed, folder, tally, program):
    r = random.Random(seed)
    nbits, fits = r.choice([1, 2, 4, 8, 8, 16, 32]), r.random() < 0.2
    nchan, nsamp, tsamp, names = (make_psrfits if fits else make_filterbank)(r, folder, nbits)
    flags = draw_flags(r, nchan, nsamp, tsamp, fits)
    files = " ".join("../" + n for n in names)
    case = f"{seed}: {nbits} bits, {nchan} channels, {nsamp} spectra in {len(names)} {names[0][-4:]}: {flags}"
    said = {}
    for tool, command in (("presto", program), ("psrkit", "gpurfifind -q -compat presto")):
        (folder / tool).mkdir()
        said[tool] = run(f"{command} {flags} -o t {files}", folder / tool)
    if said["presto"][0] and said["psrkit"][0]:
        tally["refused by both"] += 1
        return
    if said["presto"][0] or said["psrkit"][0]:
        tally["failed in " + ("rfifind" if said["presto"][0] else "gpurfifind")] += 1
        print(f"failed: {case}: {(said['presto'] if said['presto'][0] else said['psrkit'])[1].strip().splitlines()[-1]}")
        return
    same = compare(folder, tally, case)
    tally["cases the same" if same else "cases with a difference"] += 1
    if not same:
        print(f"differs: {case}")
    for word in [f"{nbits} bits", "PSRFITS" if fits else "filterbank", "several files" if len(names) > 1 else "one file"]:
        tally["  of them " + word] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-rfifind", default="rfifind")
    parser.add_argument("cases", nargs="?", type=int, default=100)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    opt = parser.parse_args()
    tally = collections.Counter()
    for seed in range(opt.seed, opt.seed + opt.cases):
        with tempfile.TemporaryDirectory() as folder:
            try_case(seed, pathlib.Path(folder), tally, opt.rfifind)
    print(f"{opt.cases} cases from seed {opt.seed}")
    for what in sorted(tally, key=lambda w: (w.startswith("  "), w)):
        print(f"{what}: {tally[what]}")


if __name__ == "__main__":
    main()
