#!/usr/bin/env python3
"""Prints signif_wide.txt: the tails of chi-squared with 3e8 to 1e12 degrees of freedom, where the
series of make_signif_table.py have too many terms.

    python3 make_signif_wide.py > signif_wide.txt
    python3 make_signif_wide.py signif_table.txt    (compares its rows from 1e5 degrees of freedom: 8e-19)

Needs mpmath.  A tail is the integral of t^(a-1) exp(-t) over its greatest value, piece by piece of
the width over which that falls, with 50 digits; Gamma(a) is divided by afterwards.  Powers and degrees of
freedom are doubles, taken as exact."""

import random
import sys

from mpmath import e, erfc, inf, log, log1p, loggamma, mp, mpf, nstr, pi, quad, sqrt

mp.dps = 50
STEPS = (1, 2, 4, 8, 14, 20, 30, 45, 60, 90, 120, 160)


def ln_tail(a, x, above):
    """ln of the integral from x up, or from 0 to x, over Gamma(a)."""

    def ln_f(t):
        return (a - 1) * log(t) - t

    def f(t):
        return e ** (ln_f(t) - greatest)

    top = max(x, a - 1) if above else min(x, a - 1)
    top = top if top > 0 else x
    greatest = ln_f(top)
    slope = abs((a - 1) / top - 1)
    width = min(sqrt(a), 1 / slope) if slope else sqrt(a)
    places = [top + k * width for s in STEPS for k in (-s, s)] + [top]
    lo, hi = (x, inf) if above else (0, x)
    cuts = sorted({p for p in places if lo < p < hi} | {x})
    if not above and top - STEPS[-1] * width <= 0:
        cuts.insert(0, mpf(0))
    return log(quad(f, cuts)) + greatest - loggamma(a)


def tails(power, dof):
    a, x = mpf(dof) / 2, mpf(power) / 2
    lesser = ln_tail(a, x, x > a)
    other = log1p(-(e**lesser)) if lesser > -5000 else -(e**lesser)
    return (lesser, other) if x > a else (other, lesser)


def ln_gauss(s):
    """Where erfc has too small an exponent, 1 - 1/s^2 + 3/s^4 ... has 40 digits."""
    if s < 1000:
        return log(erfc(s / sqrt(2)) / 2)
    total = term = mpf(1)
    for k in range(1, 12):
        term *= -(2 * k - 1) / s**2
        total += term
    return -s * s / 2 - log(s * sqrt(2 * pi)) + log(total)


def gauss_sigma(ln_q, ln_p):
    """The sigma whose tail is exp(min), negative where the lesser tail is P."""
    lesser = min(ln_q, ln_p)
    s = sqrt(-2 * lesser)
    for _ in range(200):
        step = (ln_gauss(s) - lesser) * e ** (ln_gauss(s) + s * s / 2) * sqrt(2 * pi)
        s += step
        if abs(step) < mpf(10) ** -35 * max(1, s):
            break
    return -s if ln_p < ln_q else s


def points():
    rng = random.Random(21)
    for dof in (3e8, 1e9, 1e10, 123456789012.5, 1e12):
        for z in (-1000, -40, -8, -3, -1, -0.1, 0, 0.1, 1, 3, 8, 40, 300, 3e3, 3e4, 1e5, 1e6):
            yield dof + (2 * dof) ** 0.5 * z * (1 + 0.01 * rng.random()), dof
        for ratio in (1e-3, 0.1, 0.3, 0.5, 0.999999, 1.000001, 2.36, 5):
            yield dof * ratio * (1 + 1e-3 * rng.random()), dof


def compare(path):
    with open(path, encoding="ascii") as table:
        rows = [line.split() for line in table if not line.startswith("#")]
    worst = mpf(0)
    for row in (r for r in rows if float(r[1]) >= 1e5):
        for mine, theirs in zip(tails(float(row[0]), float(row[1])), row[2:4]):
            if abs(mpf(theirs)) > mpf("1e-300"):
                worst = max(worst, abs(mine / mpf(theirs) - 1))
    print(nstr(worst, 3))


def main():
    if len(sys.argv) > 1:
        compare(sys.argv[1])
        return
    print("# power dof ln_p ln(1-p) sigma; made by make_signif_wide.py, do not edit")
    for power, dof in points():
        if power > 0:
            ln_q, ln_p = tails(power, dof)
            print(repr(power), repr(dof), *(nstr(v, 18) for v in (ln_q, ln_p, gauss_sigma(ln_q, ln_p))))


if __name__ == "__main__":
    main()
