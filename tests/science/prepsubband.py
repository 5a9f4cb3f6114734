#!/usr/bin/env python3
"""Whether gpudedisp -compat presto writes prepsubband's files, byte for byte, on inputs that no one chose.

    tests/science/prepsubband.py [CASES [SEED]] >prepsubband.txt

Makes CASES observations (default 300) of random shape, bits, band, place, noise and interference, as one
or several filterbank files or as PSRFITS, draws flags for each, runs both programs and compares all
files that they write; of .inf files the line that names the analyst is left out.  Needs prepsubband
and rfifind of PRESTO and psrkit's tools in PATH, and numpy.
"""

import collections
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import numpy

COUNTS = {1: (0.5, 0.5), 2: (1.5, 0.9), 4: (7.5, 2.5), 8: (100, 20), 16: (2000, 300), 32: (50, 7)}  # mean, sigma
POSITIONS = [(53431.97, 220052.1), (193938.56, 213459.1), (0.5, -471509.1), (235959.99, -893000.0)]
TALLIED = "-clip -downsamp -ignorechan -invert -mask -nobary -noclip -numout -offset -start -sub -zerodm".split()


def run(command, folder):
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout + done.stderr


def text(s):
    return struct.pack("<i", len(s)) + s.encode()


def header(values):
    body = text("HEADER_START")
    for key, v in values.items():
        body += text(key) + (text(v) if isinstance(v, str) else struct.pack("<i" if isinstance(v, int) else "<d", v))
    return body + text("HEADER_END")


def pack(x, nbits):
    if nbits == 32:
        return x.astype("<f4").tobytes()
    q = numpy.clip(numpy.rint(x), 0, 2**nbits - 1)
    if nbits >= 8:
        return q.astype("<u%d" % (nbits // 8)).tobytes()
    q = q.astype(numpy.uint8).reshape(-1, 8 // nbits)
    return (q << (nbits * numpy.arange(8 // nbits))).sum(axis=1).astype(numpy.uint8).tobytes()


def draw_samples(r, nsamp, nchan, nbits):
    """Noise, a channel that hums, and broad-band bursts; 16 bits at times near the top of their range."""
    dice = numpy.random.default_rng(r.randrange(2**32))
    mean, sigma = COUNTS[nbits]
    x = dice.normal(mean, sigma, (nsamp, nchan))
    if r.random() < 0.6:
        x[:, r.randrange(nchan)] += 3 * sigma * numpy.sin(numpy.arange(nsamp) * r.uniform(0.01, 1))
    for _ in range(r.randint(0, 6)):
        t = r.randrange(nsamp)
        x[t : t + r.choice([r.randint(1, 30), r.randint(100, 5000)])] += r.uniform(0.3, 12) * sigma
    return x * (20 if nbits == 16 and r.random() < 0.3 else 1)


def make_filterbank(r, folder, nbits):
    nchan = r.choice([24, 40, 56, 72, 88, 96, 120, 200, 360] if nbits < 8 else [3, 5, 7, 15, 21, 33, 63, 75, 91, 135, 225])
    nsamp, tsamp = r.randint(9000, 60000), r.choice([64e-6, 81.92e-6, 256e-6, 0.001, 0.00054613333])
    top, width = r.uniform(300, 1800), r.uniform(0.05, 0.35) / nchan
    rising = r.random() < 0.2
    ra, dec = r.choice(POSITIONS)
    values = {
        "source_name": "J0534+2200", "machine_id": r.choice([0, 2, 10, 64]),
        "telescope_id": r.choice([0, 1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 20, 21, 30, 64, 65, 99]), "data_type": 1,
        "src_raj": ra, "src_dej": dec, "az_start": 0.0, "za_start": 0.0,
        "fch1": top * (1 - width * nchan) if rising else top, "foff": top * width * (1 if rising else -1),
        "nchans": nchan, "nbits": nbits, "tstart": r.uniform(45000, 60500), "tsamp": tsamp, "nifs": 1,
    }  # fmt: skip
    x = draw_samples(r, nsamp, nchan, nbits)
    edges = [0] + sorted(r.sample(range(3000, nsamp - 3000), r.choice([0, 0, 0, 1, 2]))) + [nsamp]
    names = []
    for i, (lo, hi) in enumerate(zip(edges, edges[1:])):
        names.append(f"in{i}.fil")
        later = dict(values, tstart=values["tstart"] + lo * tsamp / 86400)
        (folder / names[-1]).write_bytes(header(later) + pack(x[lo:hi], nbits))
    return nchan, nsamp, tsamp, names


def make_psrfits(r, folder, nbits):
    nchan = r.choice([24, 40, 56, 88, 120] if nbits < 8 else [5, 7, 15, 33, 63, 91, 135])
    tsamp, seconds, top = r.choice([64, 100, 256]), r.uniform(3, 8), r.uniform(300, 1800)
    run(f"fakebin -q -psrfits -seed {r.randrange(10**6)} -nifs {r.choice([1, 1, 2, 4])} -nbits {nbits} -nchans {nchan}"
        f" -tsamp {tsamp} -tobs {seconds} -fch1 {top} -foff {top * r.uniform(0.05, 0.3) / nchan}"
        f" -tstart {r.uniform(50000, 60000)} -period {r.uniform(5, 300)} -dm {r.uniform(5, 80)} -snrpeak 5 -o in.fits",
        folder)  # fmt: skip
    return nchan, int(seconds / tsamp * 1e6), tsamp * 1e-6, ["in.fits"]


def draw_flags(r, nchan, nsamp, fits):
    flags = [r.choice(["", "-nobary"]), r.choice(["", "-noclip", "-zerodm", f"-clip {r.uniform(1, 8):g}"])]
    flags += [r.choice(["", f"-downsamp {r.choice([2, 3, 4, 5, 8, 12, 16, 25, 48, 120])}"])]
    flags += [r.choice(["", "", "", f"-ignorechan {r.randrange(nchan)},0:{r.randrange(nchan)}"])]
    flags += [r.choice([""] * 5 + ["-invert"])]
    skip = f"-start {r.uniform(0, 0.7):.3f}"  # of PSRFITS prepsubband takes whole rows only
    flags += [r.choice([""] * 4 + [skip, skip if fits else f"-offset {r.randint(1, nsamp // 2)}"])]
    if fits:
        flags += [r.choice(["", "", "-noscales -nooffsets", "-noweights"])]
    nsub = r.choice([n for n in range(1, nchan + 1) if nchan % n == 0])
    if r.random() < 0.15:
        return f"-sub -subdm {r.uniform(0, 60):.2f} -nsub {nsub} " + " ".join(filter(None, flags))
    flags += [r.choice(["", "", "", f"-numout {r.randint(1000, 2 * nsamp)}"]), r.choice(["", "", "-dmprec 3", "-dmprec 4"])]
    trials = f"-lodm {r.choice([0, r.uniform(0, 200)]):.3f} -dmstep {r.choice([0.1, 0.5, 1, 7])} -numdms {r.randint(1, 6)}"
    return f"{trials} -nsub {nsub} " + " ".join(filter(None, flags))


def compare(folder):
    """The names of files that differ, and the number of files."""
    names = {p.name for tool in ("presto", "psrkit") for p in (folder / tool).iterdir()}
    differ = []
    for name in sorted(names):
        both = [folder / tool / name for tool in ("presto", "psrkit")]
        got = [p.read_bytes() if p.exists() else None for p in both]
        if name.endswith(".inf") and None not in got:
            got = [[line for line in g.splitlines() if b"analyzed by" not in line] for g in got]
        if got[0] != got[1]:
            differ.append(name)
    return differ, len(names)


def try_case(seed, folder, tally):
    r = random.Random(seed)
    nbits, fits = r.choice([1, 2, 4, 8, 8, 16, 32]), r.random() < 0.15
    nchan, nsamp, tsamp, names = (make_psrfits if fits else make_filterbank)(r, folder, nbits)
    flags = draw_flags(r, nchan, nsamp, fits)
    if r.random() < 0.4:
        run(f"rfifind -time {tsamp * 2400 * r.choice([1, 1, 2, 3, 0.7])} -zapchan {r.randrange(nchan)} -o r {' '.join(names)}",
            folder)  # fmt: skip
        if (folder / "r_rfifind.mask").exists():
            flags += " -mask ../r_rfifind.mask"
    files = " ".join("../" + n for n in names)
    said = {}
    for tool, command in (("presto", "prepsubband"), ("psrkit", "gpudedisp -q -compat presto")):
        (folder / tool).mkdir()
        said[tool] = run(f"{command} {flags} -o t {files}", folder / tool)
    case = f"{seed}: {nbits} bits, {nchan} channels, {nsamp} spectra in {len(names)} {names[0][-4:]}: {flags}"
    if said["presto"][0] and said["psrkit"][0]:
        tally["refused by both"] += 1
        return
    # Of several files prepsubband -sub writes all, and then fails when it looks for series to pad.
    if said["presto"][0] and not (flags.startswith("-sub") and "chkfopen" in said["presto"][1]):
        tally["prepsubband failed"] += 1
        print(f"prepsubband failed: {case}: {said['presto'][1].strip().splitlines()[-1]}")
        return
    differ, n = compare(folder)
    tally["files compared"] += n
    tally["cases with a difference" if differ or said["psrkit"][0] else "cases the same"] += 1
    if differ or said["psrkit"][0]:
        print(f"differs: {case}: {' '.join(differ)} {said['psrkit'][1].strip()}")
    kinds = [f"{nbits} bits", "PSRFITS" if fits else "filterbank", "several files" if len(names) > 1 else "one file"]
    for word in kinds + [w for w in flags.split() if w in TALLIED]:
        tally["  of them " + word] += 1


def main():
    cases, first = (int(v) for v in (sys.argv[1:] + ["300", "1"][len(sys.argv) - 1 :]))
    tally = collections.Counter()
    for seed in range(first, first + cases):
        with tempfile.TemporaryDirectory() as folder:
            try_case(seed, pathlib.Path(folder), tally)
    print(f"{cases} cases from seed {first}")
    for what in sorted(tally, key=lambda w: (w.startswith("  "), w)):
        print(f"{what}: {tally[what]}")


if __name__ == "__main__":
    main()
