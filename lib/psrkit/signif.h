/* signif.h: significance of powers: chi-squared and Gaussian tails in logarithms, trials, sigma.
 *
 * A power here is a value of chi^2.  Pulscan's power is one; the summed power of accelsearch is
 * chi^2 / 2, with 2 degrees of freedom a harmonic, and has to be doubled first.
 *
 * Every function is pure: no state, no errno to look at, NaN in gives NaN out. */
#ifndef PSRKIT_SIGNIF_H
#define PSRKIT_SIGNIF_H

#include <psrkit/api.h>

PSR_API_BEGIN

/* A tail probability p and its complement, by their logarithms, so that neither p = exp(-1e11) nor
 * p = 1 - exp(-1e11) is lost.  Whichever of p and 1 - p is the smaller carries the information; the
 * other is rounded to it. */
struct psr_logp {
    double ln_sf;  /* ln p, p the chance that noise gives this much or more */
    double ln_cdf; /* ln(1 - p) */
};

/* Both tails from ln p alone; l > 0 gives NaN.  Where p is near 1 only psr_chi2_logp and the like
 * know 1 - p well. */
struct psr_logp psr_logp_from_sf(double l);

/* Given:    power   chi^2; negative is as 0
 *           dof     degrees of freedom, 1 or more, whole or not
 * Returned: both tails; NaN where dof < 1 or is infinite
 * Notes:    relative error of each logarithm below 1e-12 for dof up to 1e6, 1e-10 up to 1e12, power
 *           up to 1e12.
 * Reference: Temme 1979 (uniform expansion); DLMF 8.7, 8.9, 8.12. */
struct psr_logp psr_chi2_logp(double power, double dof);

/* The power whose tails are p: the inverse of psr_chi2_logp in its first argument.
 * Notes:    uses the smaller of the two tails; relative error below 1e-10.  p = 1 gives 0, p = 0
 *           infinity. */
double psr_chi2_threshold(struct psr_logp p, double dof);

/* Tails of the standard normal distribution beyond sigma, relative error below 2e-13 (1e-15 for the
 * logarithm of the smaller one). */
struct psr_logp psr_gauss_logp(double sigma);

/* The sigma whose Gaussian tail is p: negative where p > 1/2, -inf where p = 1.
 * Notes:    absolute or relative error below 1e-14, whichever is the larger, down to ln p = -5e11
 *           and beyond. */
double psr_gauss_sigma(struct psr_logp p);

enum psr_trials {
    PSR_TRIALS_BONFERRONI, /* p' = min(1, n p): an upper bound, whatever the trials' correlations */
    PSR_TRIALS_SIDAK,      /* p' = 1 - (1 - p)^n: exact for n independent trials */
};

/* Given:    ntrials   any number > 0 up to 1e300; 1/n undoes n
 * Returned: the chance that the best of ntrials is this good; NaN where ntrials <= 0
 * Notes:    where Bonferroni's n p reaches 1 it stays there (ln_cdf = -inf, sigma = -inf). */
struct psr_logp psr_logp_trials(struct psr_logp p, double ntrials, enum psr_trials how);

/* H(H+1)(z+1): degrees of freedom of Pulscan's sum over harmonics 1 .. H, made by decimation, and
 * over a box of z + 1 bins (White et al., section 2.3). */
double psr_pulscan_dof(double nharm, double z);

/* ln p as White et al. print it (section 2.6, appendix, algorithm 3): a polynomial of degree 16 in
 * 1500 dof / power, 0 where dof >= 1.05 power.
 * Notes:    kept for comparison: searches use it where PSR_PULSCAN_POLY asks for it.  Within 2 % of
 *           ln p for dof >= 300 and power >= 2.6 dof.  With fewer dof only far out (power >= 5.5
 *           dof at 100 dof, 22 dof at 20, 210 dof at 2), and near power = dof it is off by any
 *           factor. */
double psr_pulscan_logp(double power, double dof);

PSR_API_END
#endif
