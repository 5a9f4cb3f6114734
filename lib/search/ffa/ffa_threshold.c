/* Finds the S/N that noise exceeds in one series in ten. */
#include "ffa_internal.h"

#include <math.h>
#include <psrkit/signif.h>

/* Independent trials for each bin and shift of boxcars of one bin.  The best S/N of noise series has
 * that of 2.3 to 2.6 of them for profiles of 240 to 520 bins with 20000 to 1000000 samples, and of 1.0
 * for 32 bins: with this number, one series in five to one in fourteen has a false alarm. */
#define PER_BIN 1.9

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
        n += (double)f->nbin * (double)(f->s_hi - f->s_lo) * widths;
    }
    return PER_BIN * n;
}

double psr_ffa_threshold(double ntrial_eff)
{
    const struct psr_logp one_in_ten = psr_logp_from_sf(log(0.1));
    return psr_gauss_sigma(psr_logp_trials(one_in_ten, 1 / ntrial_eff, PSR_TRIALS_SIDAK));
}
