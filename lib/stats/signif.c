/* Computes logarithmic chi-squared and Gaussian tails, and their inverses. */
#include "signif_core.h"

#include "stats.h"

#include <math.h>
#include <psrkit/signif.h>

/* --- accelsearch's significance of summed powers ---------------------------------------------- */

/* ln of the upper incomplete gamma function for large z (Abramowitz and Stegun 6.5.32), which ends
 * of itself where a is whole. */
static double ln_upper_gamma(double a, double z)
{
    double term = 1, sum = 1;
    for (int k = 1; fabs(term) > 1e-15; k++) {
        term *= (a - k) / z;
        sum += term;
    }
    return (a - 1) * log(z) - z + log(sum);
}

/* Abramowitz and Stegun 6.1.41 to four terms, for all a. */
static double ln_gamma(double a)
{
    double y = 1 / (a * a);
    double tail = ((-y / 1680 + 1.0 / 1260) * y - 1.0 / 360) * y + 1.0 / 12;
    return (a - 0.5) * log(a) - a + 0.5 * log(2 * M_PI) + tail / a;
}

/* Abramowitz and Stegun 26.2.23. */
static double far_sigma(double ln_p)
{
    double t = sqrt(-2 * ln_p);
    double above = 2.515517 + t * (0.802853 + t * 0.010328);
    return t - above / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

double psr_presto_sigma(double power, int nharm, double trials)
{
    const double chi2 = 2 * power, dof = 2.0 * nharm;
    if (power <= 0)
        return 0;
    double ln_p = chi2 > 1200 || (dof > 30 && chi2 > 100)
                      ? ln_upper_gamma(dof / 2, chi2 / 2) - ln_gamma(dof / 2)
                      : psr_chi2_logp(chi2, dof).ln_sf;
    ln_p += log(trials);
    double sigma = ln_p < -600 ? far_sigma(ln_p) : psr_gauss_sigma(psr_logp_from_sf(ln_p));
    return sigma < 0 ? 0 : sigma;
}

/* --- computes logarithmic chi-squared and Gaussian tails, and their inverses ------------------ */

struct psr_logp psr_chi2_logp(double power, double dof)
{
    return signif_chi2_logp(power, dof);
}

struct psr_logp psr_gauss_logp(double sigma)
{
    return signif_gauss_logp(sigma);
}

double psr_gauss_sigma(struct psr_logp p)
{
    return signif_gauss_sigma(p);
}

struct psr_logp psr_logp_from_sf(double l)
{
    return signif_from_sf(l <= 0 ? l : NAN);
}

static struct psr_logp correct_bonferroni(struct psr_logp p, double ntrials)
{
    double ln_sf = p.ln_sf + log(ntrials);
    return signif_from_sf(ln_sf < 0 ? ln_sf : 0);
}

static struct psr_logp correct_sidak(struct psr_logp p, double ntrials)
{
    double u = -ntrials * p.ln_cdf; /* p' = 1 - exp(-u) */
    if (p.ln_sf > -36 && u > 1e-300)
        return signif_from_cdf(-u);
    /* Here ln(1 - p) is -p to all digits, and p may be too small for a double. */
    double ln_u = p.ln_sf > -36 ? log(ntrials) + log(-p.ln_cdf) : log(ntrials) + p.ln_sf;
    if (ln_u < -36)
        return signif_from_sf(ln_u);
    return signif_from_cdf(-exp(ln_u));
}

struct psr_logp psr_logp_trials(struct psr_logp p, double ntrials, enum psr_trials how)
{
    if (!(ntrials > 0) || isinf(ntrials) || isnan(p.ln_sf) || isnan(p.ln_cdf))
        return (struct psr_logp){NAN, NAN};
    if (ntrials == 1 || isinf(p.ln_sf) || isinf(p.ln_cdf))
        return p;
    return how == PSR_TRIALS_SIDAK ? correct_sidak(p, ntrials) : correct_bonferroni(p, ntrials);
}

/* ln of the density of 2x where power = 2x, times x: the slope of P against ln x. */
static double ln_slope(double a, double x)
{
    return log(a * SIGNIF_INV_SQRT_2PI / sqrt(a)) - signif_stirling_rest(a) - a * signif_phi(a, x);
}

/* A first guess at x = power / 2: Wilson and Hilferty's cube, or where that is useless, the leading
 * term of the tail. */
static double guess_threshold(struct psr_logp p, double a)
{
    double c = 1 / (9 * a);
    double root = 1 - c + psr_gauss_sigma(p) * sqrt(c);
    if (root > 0.1 && p.ln_sf > -1e3)
        return a * root * root * root;
    if (p.ln_sf < p.ln_cdf)
        return a - p.ln_sf;
    /* P is about (x/a)^a exp(a) / sqrt(2 pi a). */
    double ln_x = log(a) + (p.ln_cdf + signif_stirling_rest(a) + 0.5 * log(2 * M_PI * a)) / a - 1;
    return exp(ln_x);
}

double psr_chi2_threshold(struct psr_logp p, double dof)
{
    if (isnan(p.ln_sf) || isnan(p.ln_cdf) || !(dof >= 1) || isinf(dof))
        return NAN;
    if (isinf(p.ln_sf) || isinf(p.ln_cdf))
        return p.ln_sf < p.ln_cdf ? INFINITY : 0;
    double a = 0.5 * dof, x = guess_threshold(p, a);
    if (x < 0x1p-1000) /* the guess is right to x itself, and x / a may be no double */
        return 2 * x;
    bool upper = p.ln_sf < p.ln_cdf;
    /* Both tails are log-concave, so Newton's method converges from any start: Q in x, P in ln x.
     */
    for (int i = 0; i < 100; i++) {
        struct psr_logp now = signif_gamma_logp(a, x);
        double miss = upper ? now.ln_sf - p.ln_sf : now.ln_cdf - p.ln_cdf;
        double slope = exp(ln_slope(a, x) - (upper ? now.ln_sf : now.ln_cdf));
        double step = miss / slope; /* relative */
        x = upper ? x * (1 + step) : x * exp(-step);
        if (fabs(step) < 1e-13)
            break;
    }
    return 2 * x;
}

double psr_pulscan_dof(double nharm, double z)
{
    return nharm * (nharm + 1) * (z + 1);
}

/* The polynomial that Pulscan's GPU version uses for ln p, with its published digits. */
double psr_pulscan_logp(double power, double dof)
{
    static const double c[17] = {
        -755.24091,     2.9515954,     -0.021494231,   0.00016945948, -9.0466418e-7,  3.2136336e-9,
        -7.8617952e-12, 1.3660070e-14, -1.7231488e-17, 1.5991804e-20, -1.0973877e-23, 5.5480334e-27,
        -2.0376166e-30, 5.2810851e-34, -9.1470451e-38, 9.4927863e-42, -4.4604059e-46,
    };
    if (dof >= 1.05 * power)
        return 0;
    double x = 1500 * dof / power, f = 0;
    for (int i = 16; i >= 0; i--)
        f = f * x + c[i];
    return power * f / 1500;
}
