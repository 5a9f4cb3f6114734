/* signif_core.h: the arithmetic of signif.h, for both the host compiler and nvcc.
 *
 * With a = dof / 2 and x = power / 2 the tails are the regularised incomplete gamma functions Q(a,
 * x) and P(a, x).  To avoid cancellation, the prefactor of every method is written
 *   x^a exp(-x) / Gamma(a + 1) = exp(-a phi - rest(a)) / sqrt(2 pi a),
 *   phi = mu - ln(1 + mu), mu = (x - a) / a,
 * where rest(a) corrects Stirling's formula.  Each method computes the logarithm of one tail, which
 * is never much above one half, and the other tail follows from it:
 *   - a >= 12 and phi <= 1/2: Temme's uniform expansion in eta = sign(mu) sqrt(2 phi), for the
 *     smaller of P and Q;
 *   - a < 12, dof an integer and x > a / 2, or a = 1: the finite sum of Q;
 *   - otherwise P by its power series below the ridge, Q by a continued fraction above it. */
#ifndef PSR_STATS_SIGNIF_CORE_H
#define PSR_STATS_SIGNIF_CORE_H

#include <math.h>
#include <psrkit/signif.h>
#include <stdbool.h>

#ifndef SIGNIF_FN
#define SIGNIF_FN    static inline
#define SIGNIF_TABLE static const
#endif

#include "signif_coef.h"

#define SIGNIF_LN2           0.69314718055994530942
#define SIGNIF_INV_SQRT_2PI  0.39894228040143267794
#define SIGNIF_INV_SQRT_2    0.70710678118654752440
#define SIGNIF_SQRT_2_BY_PI  0.79788456080286535588
#define SIGNIF_2_BY_SQRT_PI  1.12837916709551257390
#define SIGNIF_TEMME_MIN_A   12.0
#define SIGNIF_TEMME_COLUMNS 14
#define SIGNIF_TEMME_ROWS    19

/* Sum of c[i] x^i, n a multiple of 4: four chains, since one would be all latency. */
SIGNIF_FN double signif_poly(const double *c, int n, double x)
{
    double x2 = x * x, x4 = x2 * x2;
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int i = n - 4; i >= 0; i -= 4) {
        s0 = s0 * x4 + c[i];
        s1 = s1 * x4 + c[i + 1];
        s2 = s2 * x4 + c[i + 2];
        s3 = s3 * x4 + c[i + 3];
    }
    return (s0 + s1 * x) + (s2 + s3 * x) * x2;
}

/* exp(y^2) erfc(y) for y >= 0, by the mapping of Shepherd and Laframboise 1981. */
SIGNIF_FN double signif_erfcx(double y)
{
    return signif_poly(signif_erfc_coef, 24, (y - 3.75) / (y + 3.75)) / (1 + 2 * y);
}

/* ln(1 - exp(l)) for l <= 0. */
SIGNIF_FN double signif_log1mexp(double l)
{
    double r = l > -SIGNIF_LN2 ? log(-expm1(l)) : log1p(-exp(l));
    return r + 0.0; /* no negative zero */
}

/* mu - ln(1 + mu) with mu = x / a - 1. */
SIGNIF_FN double signif_phi(double a, double x)
{
    double d = x - a, mu = d / a;
    if (mu < -0.7 || mu > 1.36)
        return mu - log(x / a);
    double r = d / (x + a); /* ln(1 + mu) = 2 atanh(r) */
    double r2 = r * r;
    return r * (mu - 2 * r2 * signif_poly(signif_atanh_coef, 16, r2));
}

/* ln Gamma(a) - (a - 1/2) ln a + a - ln(2 pi) / 2, for a >= 1/2. */
SIGNIF_FN double signif_stirling_rest(double a)
{
    double t = 1 / a;
    if (a >= 4)
        return t * signif_poly(signif_stirling_coef, 8, t * t);
    return t * signif_poly(signif_gamma_coef, 24, (8 * t - 9) * (1 / 7.0));
}

/* Sum over k < nk of C_k(eta) a^-k.  nk is a constant wherever this is called. */
SIGNIF_FN double signif_temme_sum(int nk, double eta, double a)
{
    double c[SIGNIF_TEMME_COLUMNS] = {0};
    for (int n = SIGNIF_TEMME_ROWS - 1; n >= 0; n--)
        for (int k = 0; k < nk; k++)
            c[k] = c[k] * eta + signif_temme_coef[n][k];
    double t = 1 / a, sum = 0;
    for (int k = nk - 1; k >= 0; k--)
        sum = sum * t + c[k];
    return sum;
}

/* ln Q where x > a, else ln P (DLMF 8.12.3 to 8.12.8). */
SIGNIF_FN double signif_ln_temme(double a, double x, double phi)
{
    double side = x > a ? 1 : -1;
    double eta = side * sqrt(2 * phi), sum;
    if (a >= 1000)
        sum = signif_temme_sum(6, eta, a);
    else if (a >= 50)
        sum = signif_temme_sum(8, eta, a);
    else
        sum = signif_temme_sum(14, eta, a);
    double half = 0.5 * signif_erfcx(sqrt(a * phi));
    return log(half + side * sum * SIGNIF_INV_SQRT_2PI / sqrt(a)) - a * phi;
}

/* ln P, from P = D (1 + x/(a+1) + x^2/((a+1)(a+2)) + ...), D the prefactor (DLMF 8.7.1). */
SIGNIF_FN double signif_ln_series(double a, double x, double phi)
{
    double sum = 1, term = 1;
    for (double n = a + 1; term > 1e-17 * sum; n += 1) {
        term *= x / n;
        sum += term;
    }
    return log(sum * SIGNIF_INV_SQRT_2PI / sqrt(a)) - signif_stirling_rest(a) - a * phi;
}

/* ln Q for a whole dof: exp(-x) times a finite sum of positive terms (DLMF 8.4.10, 8.4.11). */
SIGNIF_FN double signif_ln_finite(double a, double x)
{
    bool odd = a != floor(a);
    double k = odd ? 0.5 : 1.0;
    double sum = odd ? signif_erfcx(sqrt(x)) : 1.0;
    double term = odd ? SIGNIF_2_BY_SQRT_PI * sqrt(x) : x;
    for (; k < a; k += 1) {
        sum += term;
        term *= x / (k + 1);
    }
    return log(sum) - x;
}

/* ln Q by Legendre's continued fraction (DLMF 8.9.2), numerators and denominators by forward
 * recurrence in units of x, a quotient every four steps. */
SIGNIF_FN double signif_ln_fraction(double a, double x, double phi)
{
    double unit = 1 / x, b = (x + 1 - a) * unit;
    double num0 = 0, num1 = 1, den0 = 1, den1 = b;
    double now = 1 / b, before = 0;
    for (double k = 1; fabs(now - before) > 1e-15 * now && k < 400;) {
        for (int i = 0; i < 4; i++, k += 1) {
            double c = k * unit * ((a - k) * unit);
            b += 2 * unit;
            double num2 = b * num1 + c * num0, den2 = b * den1 + c * den0;
            num0 = num1, num1 = num2;
            den0 = den1, den1 = den2;
        }
        before = now;
        now = num1 / den1;
    }
    return log(now * unit * SIGNIF_INV_SQRT_2PI * sqrt(a)) - signif_stirling_rest(a) - a * phi;
}

SIGNIF_FN struct psr_logp signif_from_sf(double ln_sf)
{
    struct psr_logp p = {ln_sf, signif_log1mexp(ln_sf)};
    return p;
}

SIGNIF_FN struct psr_logp signif_from_cdf(double ln_cdf)
{
    struct psr_logp p = {signif_log1mexp(ln_cdf), ln_cdf};
    return p;
}

/* psr_chi2_logp for a >= 1/2 and x > 0, both finite. */
SIGNIF_FN struct psr_logp signif_gamma_logp(double a, double x)
{
    bool small = a < SIGNIF_TEMME_MIN_A;
    bool whole = 2 * a == floor(2 * a);
    if (small && whole && (x > 0.5 * a || a == 1))
        return signif_from_sf(signif_ln_finite(a, x));
    double phi = signif_phi(a, x);
    if (!small && phi <= 0.5) {
        double ln_tail = signif_ln_temme(a, x, phi);
        return x > a ? signif_from_sf(ln_tail) : signif_from_cdf(ln_tail);
    }
    double ridge = small ? a + 1 + 2 * sqrt(a) : a;
    if (x <= ridge)
        return signif_from_cdf(signif_ln_series(a, x, phi));
    return signif_from_sf(signif_ln_fraction(a, x, phi));
}

SIGNIF_FN struct psr_logp signif_chi2_logp(double power, double dof)
{
    struct psr_logp none = {NAN, NAN}, all = {0, -INFINITY}, nothing = {-INFINITY, 0};
    if (isnan(power) || !(dof >= 1) || isinf(dof))
        return none;
    if (power <= 0)
        return all;
    if (isinf(power))
        return nothing;
    return signif_gamma_logp(0.5 * dof, 0.5 * power);
}

SIGNIF_FN struct psr_logp signif_gauss_logp(double sigma)
{
    double s = fabs(sigma);
    double ln_far = log(0.5 * signif_erfcx(s * SIGNIF_INV_SQRT_2)) - 0.5 * s * s;
    if (isinf(sigma))
        ln_far = -INFINITY;
    double ln_near = signif_log1mexp(ln_far);
    struct psr_logp above = {ln_far, ln_near}, below = {ln_near, ln_far};
    return sigma < 0 ? below : above;
}

/* Abramowitz and Stegun 26.2.23: the s >= 0 with ln of the Gaussian tail beyond it = l, l <= -ln 2,
 * within 4.5e-4. */
SIGNIF_FN double signif_rough_quantile(double l)
{
    double t = sqrt(-2 * l);
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/* The same exactly, by two steps of Halley's method. */
SIGNIF_FN double signif_gauss_quantile(double l)
{
    double s = signif_rough_quantile(l);
    for (int i = 0; i < 2; i++) {
        double e = signif_erfcx(s * SIGNIF_INV_SQRT_2);
        double excess = log(0.5 * e) - 0.5 * s * s - l;
        double hazard = SIGNIF_SQRT_2_BY_PI / e; /* -d/ds of ln tail */
        double step = excess / hazard;
        s += step / (1 + 0.5 * step * (hazard - s));
    }
    return s;
}

SIGNIF_FN double signif_gauss_sigma(struct psr_logp p)
{
    double l = p.ln_sf <= p.ln_cdf ? p.ln_sf : p.ln_cdf;
    double s = isinf(l) ? INFINITY : signif_gauss_quantile(l);
    return p.ln_sf <= p.ln_cdf ? s : -s;
}

#endif
