#!/usr/bin/env python3
"""Prints signif_table.txt, the tails of chi-squared that t_signif.c and chi2sig.bats compare with.

    python3 make_signif_table.py > signif_table.txt

Needs python-flint (Arb: ball arithmetic, whose error bounds are proofs) and mpmath.  Powers and
degrees of freedom are doubles, taken as exact.  Every logarithm is computed until its ball is
narrower than one part in 1e60, and printed with 25 digits."""

import math
import random

from flint import arb, ctx
from mpmath import erfc, findroot, log, mp, mpf, pi, sqrt

DIGITS = 60
BITS = int(DIGITS * 3.33)


def good(ball):
    return ball.is_finite() and ball.rel_accuracy_bits() >= BITS


def tails_above(power, dof):
    """ln Q and ln P from Arb's upper incomplete gamma function."""
    bits = BITS + 60
    while True:
        ctx.prec = bits
        q = (arb(power) / 2).gamma_upper(arb(dof) / 2, regularized=1)
        ln_q, ln_p = q.log(), (-q).log1p()
        if good(ln_q) and good(ln_p):
            return ln_q, ln_p
        bits *= 2


def tails_below(power, dof):
    """ln Q and ln P from the power series of P, whose terms are all positive."""
    ctx.prec = BITS + 120
    a, x = arb(dof) / 2, arb(power) / 2
    total = term = arb(1)
    n = 0
    while not n or not (term * 10 ** (DIGITS + 15) < total) or not x < a + n:
        n += 1
        term *= x / (a + n)
        total += term
    ln_p = a * x.log() - x - (a + 1).lgamma() + total.log()
    # The terms left out are less than the last one over 1 - x/(a+n), or 1e-60 of it all.
    return (-(ln_p.exp())).log1p(), ln_p


def gauss_sigma(ln_q, ln_p):
    """The sigma whose tail is exp(min), negative where the lesser tail is P."""
    mp.dps = DIGITS
    lesser = min(ln_q, ln_p)
    if lesser < -1e13:
        return mpf("-inf") if ln_p < ln_q else mpf("inf")

    def ln_tail(s):
        if s < 1000:
            return log(erfc(s / sqrt(2)) / 2)
        total = term = mpf(1)
        for k in range(1, 12):
            term *= -(2 * k - 1) / s**2
            total += term
        return -s * s / 2 - log(s * sqrt(2 * pi)) + log(total)

    s = sqrt(max(-2 * lesser - log(-12 * lesser), mpf(0)) + mpf(1) / 100)
    s = findroot(lambda t: ln_tail(t) - lesser, (s, s * 1.001 + mpf(1) / 1000), tol=1e-40)
    return -s if ln_p < ln_q else s


def points():
    rng = random.Random(20)
    dofs = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 20, 23, 24, 25, 31, 40, 64, 99, 100, 101, 128, 200,
            462, 1000, 1999, 2000, 2001, 12345, 65536, 100000, 999999, 3e6, 1e7, 33333333, 1e8]
    dofs += [1.001, 1.5, 2.718281828459045, 7.25, 7.999, 8.001, 15.3, 23.9, 24.1, 50.5, 99.9, 100.1,
             777.77, 1999.9, 2000.1, 54321.5, 1.5e6 + 0.25, 12345678.9]
    for dof in dofs:
        sd = math.sqrt(2 * dof)
        for s in (-6, -3, -1, -0.3, 0, 0.1, 1, 2, 4, 8, 16, 40):
            yield dof + s * sd, dof
        # The ratios around which one method gives way to another.
        for r in (1e-6, 0.1, 0.2999, 0.3, 0.3017, 0.302, 0.49999, 0.50001, 0.999999, 1.000001, 2.357,
                  2.3578, 2.36, 5, 30):
            yield r * dof, dof
        ridge = dof + 2 + 4 * math.sqrt(dof / 2)
        yield ridge * 0.999999, dof
        yield ridge * 1.000001, dof
        for _ in range(6):
            yield dof * (1 + rng.choice((-1, 1)) * 10 ** rng.uniform(-9, -2)), dof
        for p in (1e-300, 1e-20, 1e-3, 1, 1e3, 1e6, 1e9, 1e12):
            yield p, dof
    for _ in range(300):
        yield 10 ** rng.uniform(-3, 12), 10 ** rng.uniform(0, 8)


def show(value):
    return value.str(25, radius=False) if isinstance(value, arb) else mp.nstr(value, 25)


def main():
    print("# power dof ln_p ln(1-p) sigma; made by make_signif_table.py, do not edit")
    for power, dof in points():
        power, dof = float(power), float(dof)
        if not 0 < power <= 1e12:
            continue
        ln_q, ln_p = (tails_below if power <= dof else tails_above)(power, dof)
        mp.dps = DIGITS
        as_mpf = [mpf(v.str(DIGITS, radius=False)) for v in (ln_q, ln_p)]
        print(repr(power), repr(dof), show(ln_q), show(ln_p), show(gauss_sigma(*as_mpf)))


if __name__ == "__main__":
    main()
