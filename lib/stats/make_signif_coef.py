#!/usr/bin/env python3
"""Prints signif_coef.h, the polynomials of signif_core.h; needs mpmath.

    python3 make_signif_coef.py > signif_coef.h

Every function is expanded in Chebyshev polynomials with 80 digits, cut where the rest is below one
unit in 1e16, and written as powers.  Lengths are multiples of four, padded with zeros."""

from mpmath import (atanh, bernoulli, cos, erfc, exp, log, loggamma, mp, mpf, pi, polyval, sqrt)

mp.dps = 80


def chebyshev(f, lo, hi, n):
    """Coefficients 0 .. n of f on [lo, hi], by interpolation at n + 20 nodes."""
    nodes = n + 20
    angle = [pi * (k + mpf(1) / 2) / nodes for k in range(nodes)]
    value = [f((hi - lo) / 2 * cos(t) + (hi + lo) / 2) for t in angle]
    return [(2 if j else 1) * sum(v * cos(j * t) for v, t in zip(value, angle)) / nodes
            for j in range(n + 1)]


def powers(c):
    """Power-series coefficients of a sum of Chebyshev polynomials."""
    out = [mpf(0)] * len(c)
    before, now = [mpf(1)], [mpf(0), mpf(1)]
    for j, cj in enumerate(c):
        t = before if j == 0 else now
        for i, ti in enumerate(t):
            out[i] += cj * ti
        if j:
            after = [mpf(0)] + [2 * ti for ti in now]
            for i, ti in enumerate(before):
                after[i] -= ti
            before, now = now, after
    return out


def shifted(c, lo, hi):
    """Powers of x where c holds powers of (2x - lo - hi) / (hi - lo)."""
    scale, offset = 2 / (hi - lo), -(hi + lo) / (hi - lo)
    out = [mpf(0)]
    for cj in reversed(c):
        grown = [mpf(0)] * (len(out) + 1)
        for i, oi in enumerate(out):
            grown[i] += oi * offset
            grown[i + 1] += oi * scale
        grown[0] += cj
        out = grown
    return out[:len(c)]


def scaled_erfc(u):
    """(1 + 2y) exp(y^2) erfc(y) with y = 3.75 (1 + u) / (1 - u)."""
    if u >= 1:
        return 2 / sqrt(pi)
    y = mpf("3.75") * (1 + u) / (1 - u)
    if y < 200:
        return (1 + 2 * y) * erfc(y) * exp(y * y)
    total = term = mpf(1)
    for i in range(1, 30):
        term *= -(2 * i - 1) / (2 * y * y)
        total += term
    return (1 + 2 * y) * total / (y * sqrt(pi))


def atanh_tail(s):
    """(atanh(r) / r - 1) / s with s = r^2."""
    if s < mpf(10) ** -30:
        return mpf(1) / 3 + s / 5
    r = sqrt(s)
    return (atanh(r) / r - 1) / s


def stirling_rest(t):
    """a times the correction to Stirling's formula for ln Gamma(a), with t = 1 / a."""
    if t < mpf(10) ** -12:
        return mpf(1) / 12 - t * t / 360
    a = 1 / t
    return (loggamma(a) - (a - mpf(1) / 2) * log(a) + a - log(2 * pi) / 2) * a


def temme(nk, length):
    """Taylor coefficients of C_0 .. C_nk-1 in eta, from the recurrence of the uniform expansion."""
    m = [mpf(0), mpf(1)]  # mu as a series in eta, from mu mu' = eta (1 + mu)
    for n in range(2, length):
        m.append((m[n - 1] - sum(m[i] * (n + 1 - i) * m[n + 1 - i] for i in range(2, n))) / (n + 1))
    inverse = [mpf(1)]  # inverse[i] belongs to eta^(i-1) in 1 / mu
    for n in range(1, length - 1):
        inverse.append(-sum(m[i + 1] * inverse[n - i] for i in range(1, n + 1)))
    ln_gamma = [mpf(0)] * nk
    for i in range(1, nk // 2 + 1):
        ln_gamma[2 * i - 1] = bernoulli(2 * i) / (2 * i * (2 * i - 1))
    gamma = [mpf(1)]  # of the corrected Gamma function, in powers of -1 / a
    for n in range(1, nk):
        gamma.append(sum(j * -ln_gamma[j] * gamma[n - j] for j in range(1, n + 1) if j % 2) / n)
    c = [inverse[1:]]
    for k in range(1, nk):
        slope = [(i + 1) * v for i, v in enumerate(c[-1][1:])]
        assert abs(slope[0] + gamma[k] * inverse[0]) < mpf(10) ** -50
        c.append([slope[i + 1] + gamma[k] * inverse[i + 1]
                  for i in range(min(len(slope), len(inverse)) - 1)])
    return c


def temme_table(nk, rows, a_min):
    table = [[mpf(0)] * nk for _ in range(rows)]
    for k, series in enumerate(temme(nk, 130)):
        c = chebyshev(lambda eta: polyval(series[90::-1], eta), mpf(-1), mpf(1), 30)
        tiny = mpf(10) ** -17 * mpf(a_min) ** k
        n = max([j + 1 for j, v in enumerate(c) if abs(v) > tiny] + [1])
        for i, v in enumerate(powers(c[:min(n, rows)])):
            table[i][k] = v
    return table


def show(name, comment, values):
    values = list(values) + [mpf(0)] * (-len(values) % 4)
    print(f"\n/* {comment} */\nSIGNIF_TABLE double {name}[{len(values)}] = {{")
    for i in range(0, len(values), 4):
        print("    " + " ".join(number(v) + "," for v in values[i:i + 4]))
    print("};")


def number(v):
    return "0" if v == 0 else repr(float(v))


def main():
    print("/* signif_coef.h: the polynomials of signif_core.h, made by make_signif_coef.py. */")
    print("/* clang-format off */")
    show("signif_erfc_coef", "(1 + 2y) exp(y^2) erfc(y) in powers of (y - 3.75) / (y + 3.75)",
         powers(chebyshev(scaled_erfc, mpf(-1), mpf(1), 23)))
    hi = mpf("0.29")
    show("signif_atanh_coef", "(atanh(r) / r - 1) / r^2 in powers of r^2, for r^2 <= 0.29",
         shifted(powers(chebyshev(atanh_tail, mpf(0), hi, 15)), mpf(0), hi))
    hi = mpf(1) / 16
    show("signif_stirling_coef", "a times the correction to Stirling's formula, in powers of a^-2, "
         "for a >= 4", shifted(powers(chebyshev(lambda s: stirling_rest(sqrt(s)), mpf(0), hi, 7)),
                               mpf(0), hi))
    show("signif_gamma_coef", "the same for 1/2 <= a < 4, in powers of (8/a - 9) / 7",
         powers(chebyshev(stirling_rest, mpf(1) / 4, mpf(2), 23)))
    table = temme_table(14, 19, 12)
    print("\n/* Temme's C_k(eta), |eta| <= 1: row n holds the coefficients of eta^n, column k is k. */")
    print(f"SIGNIF_TABLE double signif_temme_coef[{len(table)}][14] = {{")
    for row in table:
        print("    {" + ", ".join(number(v) for v in row) + "},")
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    main()
