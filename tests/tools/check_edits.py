#!/usr/bin/env python3
"""Random operations of fbedit against numpy, for so many seconds, and the same through formats, pipes and threads.

check_edits.py FBEDIT SECONDS [SEED [FIRST]]: prints the seed; a case that fails prints its number and its commands, and
check_edits.py FBEDIT 0 SEED NUMBER runs it again.
"""

import os
import struct
import subprocess
import sys
import time

import numpy as np

LEVELS = {1: (0.5, 1), 2: (1.5, 1), 4: (6, 2), 8: (64, 8), 16: (16384, 2048)}


# --- files ---------------------------------------------------------------------------------------


def text(word):
    return struct.pack("<i", len(word)) + word.encode()


def write_filterbank(path, x, nbits, fch1, foff, tsamp):
    """Samples of fewer than 8 bits lie from the lowest bits up."""
    head = text("HEADER_START")
    for key, kind, value in (("telescope_id", "<i", 4), ("machine_id", "<i", 0), ("data_type", "<i", 1),
                             ("nchans", "<i", x.shape[1]), ("nbits", "<i", nbits), ("nifs", "<i", 1),
                             ("tstart", "<d", 55000.5), ("tsamp", "<d", tsamp), ("fch1", "<d", fch1), ("foff", "<d", foff)):
        head += text(key) + struct.pack(kind, value)
    head += text("HEADER_END")
    if nbits < 8:
        per = 8 // nbits
        shifts = np.arange(per) * nbits
        body = (x.astype(np.uint8).reshape(-1, per) << shifts).sum(1).astype(np.uint8)
    else:
        body = x.astype({8: "u1", 16: "<u2", 32: "<f4"}[nbits])
    with open(path, "wb") as f:
        f.write(head + body.tobytes())


def read_filterbank(raw):
    end = raw.index(b"HEADER_END") + 10
    head = raw[:end]

    def value(key, kind):
        return struct.unpack_from(kind, head, head.index(key) + len(key))[0]

    nbits, nchan = value(b"nbits", "<i"), value(b"nchans", "<i")
    keys = {key.decode(): value(key, "<d") for key in (b"fch1", b"foff", b"tsamp", b"tstart")}
    if nbits < 8:
        x = np.frombuffer(raw, "u1", offset=end)[:, None] >> np.arange(8 // nbits) * nbits & (1 << nbits) - 1
    else:
        x = np.frombuffer(raw, {8: "u1", 16: "<u2", 32: "<f4"}[nbits], offset=end)
    return x.reshape(-1, nchan).astype(float), nbits, keys


# --- what is expected ----------------------------------------------------------------------------


class Case:
    """An input, and operations as options and as what they make of it."""

    def __init__(self, r):
        self.r = r
        self.nbits = int(r.choice([1, 2, 4, 8, 16, 32]))
        self.nchan = 8 * int(r.integers(1, 13))
        self.nsamp = int(r.choice([1, 2, 7, 64, 500, 3000, 20000]))
        self.foff = float(r.choice([-1, 1])) * float(r.choice([0.5, 1, 3]))
        self.fch1 = 1400.0
        self.tsamp = float(r.choice([64e-6, 256e-6, 1e-3]))
        shape = (self.nsamp, self.nchan)
        if self.nbits == 32:
            self.x = (r.normal(size=shape) * 10 + 3).astype(np.float32).astype(float)
        elif r.random() < 0.3:
            self.x = r.choice([0, (1 << self.nbits) - 1], size=shape).astype(float)  # extremes
        else:
            self.x = r.integers(0, 1 << self.nbits, size=shape).astype(float)

    def choose(self):
        """Options, and the result: values, bits, and the tolerance of values."""
        r, options = self.r, []
        y, f = self.x, self.fch1 + self.foff * np.arange(self.nchan)
        start, floats = 0, self.nbits == 32
        if r.random() < 0.5:
            start = int(r.integers(0, len(y)))
            end = int(r.integers(start + 1, len(y) + 1))
            options += ["-start", f"{start}smp", "-end", f"{end}smp"]
            if r.random() < 0.3 and start + 1 < end:
                options[1] = f"{start * self.tsamp:.12f}"
            y = y[start:end]
        per = max(1, 8 // self.nbits)
        if r.random() < 0.5:
            a = int(r.integers(0, self.nchan // per))
            b = int(r.integers(a + 1, self.nchan // per + 1))
            y, f = y[:, a * per:b * per], f[a * per:b * per]
            options += ["-chans", f"{a * per}:{b * per}"] if r.random() < 0.5 else ["-band", f"{f.min():.6f}:{f.max():.6f}"]
        if r.random() < 0.5:
            order = str(r.choice(["up", "down"]))
            options += ["-order", order]
            if len(f) > 1 and (f[1] > f[0]) != (order == "up") or len(f) == 1 and (self.foff > 0) != (order == "up"):
                y, f = y[:, ::-1], f[::-1]
        if r.random() < 0.3:
            dm = float(r.choice([1.0, 10.0, 60.0]))
            delay = np.rint(dm / 2.41e-4 * (1 / f**2 - 1 / f.max() ** 2) / self.tsamp).astype(int)
            if delay.max() < len(y):
                n = len(y) - delay.max()
                y = np.stack([y[d:d + n, c] for c, d in enumerate(delay)], 1)
                options += ["-dedisperse", f"{dm:g}"]
        return self.change(options, y, f, start, floats)

    def change(self, options, y, f, start, floats):
        r = self.r
        tsum = int(r.integers(1, min(len(y), 9) + 1)) if r.random() < 0.5 else 1
        fsum = int(r.integers(1, min(y.shape[1], 5) + 1)) if r.random() < 0.4 else 1
        nbits = int(r.choice([1, 2, 4, 8, 16, 32])) if r.random() < 0.6 else 0
        nchan = y.shape[1] // fsum
        out = nbits or self.nbits
        if nchan * out % 8:
            fsum, nchan = 1, y.shape[1]
            if nchan * out % 8:
                nbits, out = 0, self.nbits
        options += ["-tdecimate", str(tsum)] if tsum > 1 else []
        options += ["-fdecimate", str(fsum)] if fsum > 1 else []
        options += ["-nbits", str(nbits)] if nbits else []
        n = len(y) // tsum
        sums = y[:n * tsum, :nchan * fsum].reshape(n, tsum, nchan, fsum).sum((1, 3))
        count, largest = tsum * fsum, (1 << self.nbits) - 1
        most = (1 << 24) if out == 32 else (1 << out) - 1
        exact = True
        if floats:
            exact = out == 32
            want = sums.astype(np.float32).astype(float)
            tolerance = 1e-5 * np.abs(y).max() * count if count > 1 else 0
        else:
            tolerance = 0
            if largest * count <= most:
                want = sums
            elif out == 32:
                want, tolerance = sums / count, 1e-6 * largest
            elif largest <= most:
                want = np.floor(sums / count + 0.5)
            else:
                want, exact = sums, False
        if not exact:
            want, tolerance = levels(want if floats else sums, out), None
        keys = {"fch1": f[:fsum].mean(), "tsamp": self.tsamp * tsum, "tstart": 55000.5 + start * self.tsamp / 86400,
                "foff": (f[1] - f[0] if len(f) > 1 else None)}
        if keys["foff"] is not None:
            keys["foff"] *= fsum
        return options, want, out, tolerance, keys


def levels(sums, nbits):
    """Before rounding; channels that do not vary are not a number."""
    mean, scatter = LEVELS[nbits]
    std = sums.std(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (sums - sums.mean(0)) / std * scatter + mean
    return np.where(std > 1e-6 * np.abs(sums).max(), np.clip(x, 0, (1 << nbits) - 1), np.nan)


def differs(got, want, nbits, tolerance):
    """Levels are rounded from single precision: to the nearest, or where two are as near to either."""
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    known = np.isfinite(want)
    worst = np.abs(got - want)[known].max(initial=0)
    limit = 0.501 + 2e-7 * 2.0**nbits if tolerance is None else tolerance
    return "" if worst <= limit else f"off by {worst:g}, more than {limit:g}"


# --- running -------------------------------------------------------------------------------------


def run(fbedit, options, source, output, piped):
    """Through files, or from one pipe to another in pieces of any size."""
    command = [fbedit, "-q", *options, "-o", "-" if piped else output, "-" if piped else source]
    if piped:
        with open(source, "rb") as f, open(output, "wb") as out:
            p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out)
            try:
                while piece := f.read(piped):
                    p.stdin.write(piece)
                    p.stdin.flush()
                p.stdin.close()
            except BrokenPipeError:  # the range has ended
                pass
            status = p.wait()
    else:
        status = subprocess.run(command).returncode
    if status:
        sys.exit(f"exit code {status}: {' '.join(command)}")
    with open(output, "rb") as f:
        return f.read()


def check(fbedit, seed, number, has_hdf5):
    r = np.random.default_rng([seed, number])
    case = Case(r)
    write_filterbank("in.fil", case.x, case.nbits, case.fch1, case.foff, case.tsamp)
    options, want, nbits, tolerance, keys = case.choose()
    where = f"seed {seed}, case {number}: {case.nsamp} x {case.nchan} of {case.nbits} bits: fbedit {' '.join(options)}"
    first = run(fbedit, [*options, "-ncpus", "1"], "in.fil", "out.fil", 0)
    got, got_nbits, got_keys = read_filterbank(first)
    fault = differs(got, want, nbits, tolerance) or (got_nbits != nbits and f"{got_nbits} bits, not {nbits}")
    for key, value in keys.items():
        if not fault and value is not None and not np.isclose(got_keys[key], value, rtol=1e-9, atol=0):
            fault = f"{key} {got_keys[key]!r}, not {value!r}"
    if fault:
        sys.exit(f"{where}: {fault}")
    second = run(fbedit, [*options, "-ncpus", "3"], "in.fil", "out.fil", int(r.choice([100, 4097, 1 << 20])))
    if second != first:
        sys.exit(f"{where}: pipes and threads make another file")
    # Through another format, before or after.  Of PSRFITS levels stand for values, 16 bits come back as floats, and rows of
    # zeros at the end count as never written.
    formats = ["dada"] + ["h5"] * (has_hdf5 and min(nbits, case.nbits) >= 8)
    formats += ["fits"] * (16 not in (nbits, case.nbits) and tolerance is not None and bool(got[-1].any() and case.x[-1].any()))
    kind = str(r.choice(formats))
    run(fbedit, [], "in.fil", f"in.{kind}", 0)
    run(fbedit, options, f"in.{kind}", f"out.{kind}", 0)
    back = read_filterbank(run(fbedit, [], f"out.{kind}", "back.fil", 0))
    if not np.array_equal(back[0], got) or back[1] != got_nbits:
        sys.exit(f"{where}: not the same through {kind}")
    return kind


def main():
    fbedit, seconds = os.path.abspath(sys.argv[1]) if "/" in sys.argv[1] else sys.argv[1], float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    number = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    write_filterbank("in.fil", np.ones((4, 8)), 8, 1400, -1, 1e-3)
    has_hdf5 = not subprocess.run([fbedit, "-q", "-o", "try.h5", "in.fil"], stderr=subprocess.DEVNULL).returncode
    print("seed", seed, flush=True)
    until, ran = time.time() + seconds, {}
    while True:
        kind = check(fbedit, seed, number, has_hdf5)
        ran[kind] = ran.get(kind, 0) + 1
        number += 1
        if time.time() >= until:
            break
    print(sum(ran.values()), "cases", ran)


if __name__ == "__main__":
    main()
