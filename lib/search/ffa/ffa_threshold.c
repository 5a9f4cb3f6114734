/* Finds the S/N that noise exceeds in one series in ten. */
#include "ffa_internal.h"

#include <math.h>
#include <psrkit/signif.h>

/* Independent trials for each bin and shift of boxcars of one bin: of 1000 series of noise (2^16 and 2^18 samples, 500 of
 * 2^20) each, the best S/N has that of 0.8 of them for profiles of 16 bins, 1.2 for 32, 1.6 for 64, 1.8 for 96, 2.4 for 128
 * to 240, 2.7 for 520 and 3 for 1000, within a fifth of this. */
static double trials_per_bin(size_t nbin)
{
    return fmax(0.5, 0.8 + 0.53 * log((double)nbin / 16));
}

/* A boxcar of w bins has b / w independent phases, and the next independent shift is w away. */
double psr_ffa_count_trials(const struct psr_ffa_search *s)
{
    double n = 0;
    for (size_t i = 0; i < s->nfold; i++) {
        const struct psr_ffa_fold *f = &s->fold[i];
        const struct psr_ffa_widths *w = &s->widths[s->step[f->step].range];
        double widths = 0;
        for (size_t k = 0; k < w->n; k++)
            widths += 1.0 / ((double)w->width[k] * w->width[k]);
        n += trials_per_bin((size_t)f->nbin) * (double)f->nbin * (double)(f->s_hi - f->s_lo) *
             widths;
    }
    return n;
}

double psr_ffa_threshold(double ntrial_eff)
{
    const struct psr_logp one_in_ten = psr_logp_from_sf(log(0.1));
    return psr_gauss_sigma(psr_logp_trials(one_in_ten, 1 / ntrial_eff, PSR_TRIALS_SIDAK));
}
