#!/usr/bin/env python3
"""How deep the matched search sees, beside PRESTO's accelsearch on the same noise.

    depth.py ACCELSEARCH GPUACCEL_PULSCAN RESULTS NSERIES [-j WORKERS] [-rows SEARCH[:DUTY[:Z or W]],..]
             [-noise NNOISE] [-seconds LIMIT]                                        >depth.txt
    depth.py table RESULTS..                                                         >depth.txt
    depth.py ACCELSEARCH GPUACCEL_PULSCAN faint NSERIES [-j WORKERS]                 >faint.txt

Series of 2^17 samples are made here, of numpy's noise and pulses of a von Mises profile whose phase is
r u + z (u^2 - u) / 2 + w (u^3 / 6 - u^2 / 4 + u / 12), u from 0 to 1: frequency r, drift z and jerk w in
the mean.  Both programs search each series.  A pulsar is found where a candidate within 2 bins of p/q
times its frequency, p and q up to 8, is above what one series of noise in fifty is above anywhere; so
both have the same false alarms, whatever they call sigma.  Of the five amplitudes of a series the lowest
at which it is found is looked for by bisection, and from there for accelsearch.  The amplitude for 50 %
detection is that of a logistic curve in ln(amplitude).

Each series adds a line to the file RESULTS, whose name ends in .jsonl, as soon as it has been searched.
A later run with the same file does only what it lacks, with the thresholds that it has; table merges
the results of several runs.

faint: NSERIES pulsars of random period, drift and width, near the limit, with default flags: how many
each program finds, and how many of them at their own frequency."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from multiprocessing import Pool

import numpy as np

import made_inf

N, TSAMP = 1 << 17, 1e-3
STEPS = np.exp(np.linspace(-0.24, 0.24, 5))
RATIOS = sorted({Fraction(p, q) for p in range(1, 9) for q in range(1, 9)})
SEARCHES = {  # name: zmax, wmax, numharm, flo, fhi: beyond the highest harmonic, as accelsearch leaves out its last block
    "z200h8": (200, 0, 8, 5, 70),
    "z200h16": (200, 0, 16, 5, 120),
    "z20w300h2": (20, 300, 2, 50, 130),
    "z20w300h1": (20, 300, 1, 50, 130),
}
CASES = [  # search, r of the fundamental, z, w, duty cycle
    (s, 700, z, 0, duty)
    for s in ("z200h8", "z200h16") for duty in (0.02, 0.05, 0.10) for z in (0, 5, 20, 60, 120, 200)
] + [(s, 7000, 10, w, 0.30) for s in ("z20w300h2", "z20w300h1") for w in (0, 60, 150, 300)]  # fmt: skip
POWERS = {1: 24, 2: 27, 4: 31, 8: 39, 16: 54}  # about what sums of so many need


def profile(phase, duty):
    kappa = np.log(2) / (2 * np.sin(np.pi * duty / 2) ** 2)
    return np.exp(kappa * (np.cos(2 * np.pi * phase) - 1))


def guess(case):
    """About the amplitude for 50 %: that of the sum which needs least."""
    name, _, z, w, duty = case
    zmax, wmax, numharm = SEARCHES[name][:3]
    power = np.abs(np.fft.rfft(profile(np.arange(4096) / 4096, duty)))[1:] ** 2
    share = np.cumsum(power) / power.sum()
    sums = [h for h in POWERS if h <= numharm and h * z <= zmax and h * w <= max(wmax, 0)]
    return min(np.sqrt(2 * (POWERS[h] - h) / (0.85 * share[h - 1])) for h in sums)


def make_pulsar(r, z, w, duty):
    """Of unit energy over unit noise: amplitude a is a signal to noise of a in a perfect fold."""
    u = (np.arange(N) + 0.5) / N
    phase = r * u + z * (u * u - u) / 2 + w * (u**3 / 6 - u * u / 4 + u / 12)
    x = profile(phase, duty)
    x -= x.mean()
    return x / np.sqrt((x * x).sum())


def search(program, options, x, folder):
    """(r, sigma) of the candidates."""
    root = os.path.join(folder, "s")
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    np.fft.rfft(x)[: N // 2].astype("c8").tofile(root + ".fft")
    with open(root + ".inf", "w") as f:
        f.write(made_inf.describe(root, N, TSAMP, "depth"))
    subprocess.run([*program, *options, root + ".fft"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=True, timeout=300)
    found = []
    for name in os.listdir(folder):
        if "ACCEL" not in name or "cand" in name:
            continue
        for line in open(os.path.join(folder, name)).read().split("\n")[3:]:
            word = line.split()
            if not word:
                break
            found.append((float(word[7].split("(")[0]), float(word[1])))
    return found


def options_of(name):
    zmax, wmax, numharm, flo, fhi = SEARCHES[name]
    return ["-zmax", str(zmax), "-numharm", str(numharm), "-sigma", "1", "-flo", str(flo), "-fhi", str(fhi),
            *(["-wmax", str(wmax)] if wmax else [])]  # fmt: skip


PROGRAMS = []
DEADLINE = float("inf")
SCRATCH = "/dev/shm" if os.path.isdir("/dev/shm") else None


def loudest(options, x):
    """Of each program, the highest sigma."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        return [max([s for _, s in search(p, options, x, folder)], default=0) for p in PROGRAMS]


def noise_task(task):
    name, seed = task
    if time.time() > DEADLINE:
        return None
    return {"noise": name, "seed": seed, "sigma": loudest(options_of(name), np.random.default_rng([1, seed]).standard_normal(N))}


def sigma_at(candidates, r):
    return max([s for rc, s in candidates if min(abs(rc - float(q) * r) for q in RATIOS) < 2], default=0)


def pulsar_task(task):
    """Of each program, whether the pulsar is found at each amplitude."""
    case, seed, threshold = task
    if time.time() > DEADLINE:
        return None
    name, r, z, w, duty = CASES[case]
    random = np.random.default_rng([2, case, seed])
    r += 100 * random.random()
    x, signal = random.standard_normal(N), guess(CASES[case]) * make_pulsar(r, z, w, duty)
    found = np.zeros((2, len(STEPS)), bool)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:

        def is_found(p, k):
            candidates = search(PROGRAMS[p], options_of(name), x + STEPS[k] * signal, folder)
            return sigma_at(candidates, r) > threshold[p]

        lo, hi = 0, len(STEPS)  # found from hi on, not below lo
        while lo < hi:
            k = (lo + hi) // 2
            lo, hi = (lo, k) if is_found(1, k) else (k + 1, hi)
        found[1, hi:] = True
        while hi < len(STEPS) and not is_found(0, hi):
            hi += 1
        if hi == np.argmax(found[1]) or not found[1].any():
            while hi > 0 and is_found(0, hi - 1):
                hi -= 1
        found[0, hi:] = True
    return {"case": CASES[case], "seed": seed, "threshold": threshold, "found": found.astype(int).tolist()}


def faint_task(task):
    """Of each program: whether a pulsar of the seed is found, and whether at its own frequency."""
    seed, threshold = task
    random = np.random.default_rng([4, seed])
    r, z = np.exp(random.uniform(np.log(400), np.log(20000))), random.choice([0, 1]) * random.uniform(-100, 100)
    amplitude, duty = random.uniform(7, 14), np.exp(random.uniform(np.log(0.02), np.log(0.3)))
    x = random.standard_normal(N) + amplitude * make_pulsar(r, z, 0, duty)
    told = []
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        for p, program in enumerate(PROGRAMS):
            candidates = [c for c in search(program, ["-sigma", "1"], x, folder) if c[1] > threshold[p]]
            near = [c for c in candidates if sigma_at([c], r)]
            best = max(near, key=lambda c: c[1], default=(0, 0))
            told.append((bool(near), bool(near) and abs(best[0] - r) < 2))
    return (r, z, duty, amplitude), told


def half(found):
    """ln of the amplitude of 50 % over the guess, and its error: found [series, step]."""
    x, y = np.tile(np.log(STEPS), len(found)), found.ravel().astype(float)
    b = np.array([0.0, 10.0])
    design = np.stack([np.ones_like(x), x], 1)
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ b))
        hessian = design.T @ (design * (p * (1 - p))[:, None]) + 1e-6 * np.eye(2)
        b += np.linalg.solve(hessian, design.T @ (y - p))
        b[1] = np.clip(b[1], 1, 100)
    return -b[0] / b[1]


def find_faint(pool, n):
    noise = np.array(pool.starmap(loudest, [(["-sigma", "1"], np.random.default_rng([5, k]).standard_normal(N))
                                            for k in range(n)], chunksize=1))  # fmt: skip
    threshold = np.quantile(noise, 0.98, axis=0)
    print(f"{n} pulsars, thresholds {threshold[0]:.2f} {threshold[1]:.2f}: found, and at another frequency than their own")
    print("         r       z  duty  amplitude  accelsearch  matched")
    told = pool.map(faint_task, [(k, threshold) for k in range(n)], chunksize=1)
    word = {(False, False): "-", (True, True): "found", (True, False): "other"}
    for (r, z, duty, amplitude), (a, b) in told:
        print(f"{r:10.2f} {z:7.2f} {duty:5.3f} {amplitude:10.2f}  {word[a]:11s}  {word[b]}")
    for k, name in enumerate(("accelsearch", "matched")):
        print(f"{name}: {sum(t[k][0] for _, t in told)} found, {sum(t[k][0] > t[k][1] for _, t in told)} at another frequency")
    print(f"by both: {sum(t[0][0] and t[1][0] for _, t in told)}")


def read_results(paths):
    """The lines of the files; one that a killed run has cut short is left out."""
    lines = []
    for path in paths:
        for line in open(path) if os.path.exists(path) else []:
            try:
                lines.append(json.loads(line))
            except ValueError:
                print(f"{path}: a line that is not complete", file=sys.stderr)
    return lines


def thresholds(results, name):
    """What one series of noise in fifty is above, of each program; and the number of series."""
    noise = {r["seed"]: r["sigma"] for r in results if r.get("noise") == name}
    return np.quantile(list(noise.values()), 0.98, axis=0).round(3).tolist() if noise else None, len(noise)


def print_row(case, found, threshold):
    name, r, z, w, duty = case
    n = len(found)
    a = [half(found[:, p]) for p in range(2)]
    pick = np.random.default_rng(3).integers(0, n, (100, n))
    error = np.std([half(found[i, 1]) - half(found[i, 0]) for i in pick])
    print(f"{name:12s} {threshold[0]:6.2f} {threshold[1]:6.2f}      {z:4d} {w:4d} {duty:5.2f} "
          f"{guess(case) * np.exp(a[0]):10.2f} {guess(case) * np.exp(a[1]):9.2f}   {np.exp(a[1] - a[0]):.3f} +- {error:.3f}"
          f"   found {found[:, 0].mean():.2f} {found[:, 1].mean():.2f}   series {n}")


def print_table(results):
    print("ratio: amplitude for 50 % detection over accelsearch's, one false alarm in 50 series\n")
    for name in SEARCHES:
        if thresholds(results, name)[1]:
            print(f"{name}: {thresholds(results, name)[1]} series of noise")
    print("\nsearch      thresholds (sigma)    z    w  duty   accelsearch   matched   ratio")
    for case in CASES:
        rows = [r for r in results if tuple(r.get("case", ())) == case]
        for threshold in sorted({tuple(r["threshold"]) for r in rows}):
            found = {r["seed"]: r["found"] for r in rows if tuple(r["threshold"]) == threshold}
            print_row(case, np.array(list(found.values())).astype(bool), threshold)


def is_wanted(case, rows):
    name, _, z, w, duty = case
    return any(all(a in ("", b) for a, b in zip(row.split(":"), (name, f"{duty:.2f}", str(w or z)))) for row in rows)


def collect(pool, task, todo, file):
    """Does the tasks until the time is over, and writes each result as it comes."""
    for result in pool.imap_unordered(task, todo, chunksize=1):
        if result:
            file.write(json.dumps(result) + "\n")
            file.flush()


def run(pool, o):
    """Noise first, as thresholds must be known; then every row's first series, every row's second, .."""
    cases = [c for c, case in enumerate(CASES) if is_wanted(case, o.rows)]
    names = [n for n in SEARCHES if any(CASES[c][0] == n for c in cases)]
    done = read_results([o.results])
    have = {(r["noise"], r["seed"]) for r in done if "noise" in r}
    old = {(tuple(r["case"]), r["seed"]): tuple(r["threshold"]) for r in done if "case" in r}
    with open(o.results, "a") as file:
        todo = [(n, k) for k in range(o.noise) for n in names if not any(n == case[0] for case, _ in old)]
        collect(pool, noise_task, [t for t in todo if t not in have], file)
        limit = {n: thresholds(read_results([o.results]), n)[0] for n in names}
        limit.update({case[0]: list(threshold) for (case, _), threshold in old.items()})
        todo = [(c, k, limit[CASES[c][0]]) for k in range(o.nseries) for c in cases if (CASES[c], k) not in old]
        collect(pool, pulsar_task, [t for t in todo if t[2]], file)


def main():
    if sys.argv[1:2] == ["table"]:
        print_table(read_results(sys.argv[2:]))
        return
    p = argparse.ArgumentParser()
    for name in ("accelsearch", "gpuaccel_pulscan", "results"):
        p.add_argument(name)
    p.add_argument("nseries", type=int)
    p.add_argument("-j", type=int, default=os.cpu_count())
    p.add_argument("-noise", type=int)
    p.add_argument("-rows", type=lambda text: text.split(","), default=list(SEARCHES))
    p.add_argument("-seconds", type=float, default=float("inf"))
    o = p.parse_args()
    o.noise = o.noise or 6 * o.nseries
    global DEADLINE
    DEADLINE = time.time() + o.seconds
    PROGRAMS.extend([[o.accelsearch], [o.gpuaccel_pulscan, "-search", "matched", "-ncpus", "1", "-q", "-maxcands", "0"]])
    with Pool(o.j) as pool:
        if o.results == "faint":
            find_faint(pool, o.nseries)
            return
        run(pool, o)
    print_table(read_results([o.results]))


if __name__ == "__main__":
    main()
