/* signif.h: significance of powers: logarithmic chi-squared and Gaussian tails, trials, sigma.
 *
 * A power here is a value of chi^2, as in Pulscan.  The summed power of accelsearch is chi^2 / 2,
 * with 2 degrees of freedom per harmonic, and must be doubled first.
 *
 * All functions are pure: no state, no errno; NaN in gives NaN out. */
#ifndef PSRKIT_SIGNIF_H
#define PSRKIT_SIGNIF_H

#include <psrkit/status.h>

PSR_API_BEGIN

/* A tail probability p and its complement as logarithms, so that both p = exp(-1e11) and p = 1 -
 * exp(-1e11) are representable.  The smaller of p and 1 - p carries the information; the other is
 * rounded. */
struct psr_logp {
    double ln_sf;  /* ln p, where p is the probability of this value or more in noise */
    double ln_cdf; /* ln(1 - p) */
};

/* Both tails from ln p alone; l > 0 gives NaN.  If p is near 1, psr_chi2_logp and similar functions
 * give 1 - p more accurately. */
struct psr_logp psr_logp_from_sf(double l);

/* Given:    power   chi^2; negative values count as 0
 *           dof   degrees of freedom, 1 or more, integer or not
 * Returned: both tails; NaN if dof < 1 or infinite
 * Notes:    relative error of each logarithm below 1e-12 for dof up to 1e6, 1e-10 up to 1e12, and
 *           power up to 1e12
 * Reference: Temme 1979 (uniform expansion); DLMF 8.7, 8.9, 8.12 */
struct psr_logp psr_chi2_logp(double power, double dof);

/* The power with tails p: the inverse of psr_chi2_logp in its first argument.
 * Notes: uses the smaller of the two tails; relative error below 1e-10.  p = 1 gives 0, p = 0
 *        infinity. */
double psr_chi2_threshold(struct psr_logp p, double dof);

/* Tails of the standard normal distribution beyond sigma; relative error below 2e-13 (1e-15 for the
 * logarithm of the smaller one). */
struct psr_logp psr_gauss_logp(double sigma);

/* The sigma with Gaussian tail p: negative if p > 1/2, -inf if p = 1.
 * Notes: error below 1e-14 max(1, |sigma|), for ln p down to -5e11 and below */
double psr_gauss_sigma(struct psr_logp p);

enum psr_trials {
    PSR_TRIALS_BONFERRONI, /* p' = min(1, n p): an upper limit for any correlation of trials */
    PSR_TRIALS_SIDAK,      /* p' = 1 - (1 - p)^n: exact for n independent trials */
};

/* Given:    ntrials   any number > 0 up to 1e300; 1/n reverses n
 * Returned: probability that the best of ntrials is this significant; NaN if ntrials <= 0
 * Notes:    once Bonferroni's n p reaches 1, this cannot be reversed (ln_cdf = -inf, sigma = -inf)
 */
struct psr_logp psr_logp_trials(struct psr_logp p, double ntrials, enum psr_trials how);

/* H(H+1)(z+1): degrees of freedom of Pulscan's sum over harmonics 1 .. H, made by decimation, in a
 * box of z + 1 bins (White et al., section 2.3). */
double psr_pulscan_dof(double nharm, double z);

/* ln p as published by White et al. (section 2.6, appendix, algorithm 3): a polynomial of degree 16
 * in 1500 dof / power, and 0 if dof >= 1.05 power.
 * Notes: for comparison; searches use it only with PSR_PULSCAN_POLY.  Accurate to 2 % of ln p for
 *        dof >= 300 and power >= 2.6 dof.  With fewer dof, only far from the mean (power >= 5.5 dof
 *        at 100 dof, 22 dof at 20, 210 dof at 2); near power = dof the error is unbounded. */
double psr_pulscan_logp(double power, double dof);

PSR_API_END
#endif
