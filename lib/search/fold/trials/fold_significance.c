/* Independent trials of a search around a fold. */
#include "search/fold/fold_internal.h"
#include "search/fold/kernels/fold_trials.h"

#include <math.h>

/* Drift over the fold, in uncorrelated bins, by which chi^2 becomes another one: of trials that drift evenly, and as the
 * square of time.  Measured on folds of noise. */
static const double even_bins = 1.8, square_bins = 3;

/* At most all trials are independent. */
static double count_steps(int64_t ntrial, double step_bins, double unit)
{
    const double most = (double)ntrial;
    return fmin(1 + (most - 1) * step_bins / unit, most);
}

/* Trials delay the lowest channel against infinite frequency by steps, against the highest by less. */
static double count_dms(const struct psr_pfd *p, double correlation)
{
    const double high_mhz = p->lofreq_mhz + (p->nchan - 1.0) * p->width_mhz;
    const double share = 1 - p->lofreq_mhz * p->lofreq_mhz / (high_mhz * high_mhz);
    return count_steps(p->ndm, p->dmstep * correlation * share, even_bins);
}

/* Without a significant p-dot psr_fold_refine gives none: then those that were searched do not count.  What it gains
 * between trials is less than it loses by maximising harmonics, not chi^2. */
double psr_fold_count_trials(const struct psr_pfd *p, const struct psr_fold_search_desc *d,
                             bool is_refined)
{
    const double correlation = 1 / psr_fold_correction(p), nbin = p->nbin;
    const double pd = p->fold.flag == 1 ? p->bary.pd : p->topo.pd;
    double drifts = 1, dms = 1;
    if (!d->keep_p)
        drifts *= count_steps(p->nperiod, p->pstep * correlation, even_bins);
    if (!d->keep_pd && !(is_refined && pd == 0))
        drifts *= count_steps(p->npdot, p->pdstep * correlation, square_bins);
    if (d->pddot)
        drifts *= count_steps(p->npdot, p->pdstep * correlation, square_bins);
    if (!d->keep_dm && p->ndm)
        dms = count_dms(p, correlation);
    /* Few parts or sub-bands can be rotated against each other in so many ways only. */
    return fmin(drifts, pow(nbin, p->npart - 1)) * fmin(dms, pow(nbin, p->nsub - 1));
}
