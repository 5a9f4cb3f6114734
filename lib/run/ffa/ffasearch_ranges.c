/* Chooses which periods a search folds, with how many bins. */
#include "ffasearch_state.h"

#include <math.h>

/* A pulse of a given length has a smaller share of a longer period. */
static const struct psr_ffa_range usual[PSR_FFASEARCH_RANGES] = {
    {.pmin_s = 0.2, .pmax_s = 0.5, .bmin = 240, .bmax = 260},
    {.pmin_s = 0.5, .pmax_s = 2, .bmin = 480, .bmax = 520},
    {.pmin_s = 2, .pmax_s = 120, .bmin = 960, .bmax = 1040},
};

/* Turns in a series: of a period that nobody asked for, and at least.  Red noise has all of fewer turns. */
static const double USUAL_TURNS = 10, LEAST_TURNS = 4;

/* Of no period that was asked for, the series is to blame. */
static psr_status fail_short(bool asked, double pmin_s, double pmax_s, double tobs_s, psr_err *err)
{
    return psr_fail_field(err, asked ? PSR_EINVAL : PSR_EUNSUPPORTED, "pmin",
                          "no period to search: -pmin is %g s, and %g s the longest in a series of "
                          "%g s",
                          pmin_s, pmax_s, tobs_s);
}

static psr_status fail_coarse(double pmin_s, int bmin, double tsamp_s, psr_err *err)
{
    return psr_fail_field(
        err, PSR_EINVAL, "pmin",
        "-pmin = %g s, must be at least %g s, which has %d samples of %g s, a bin "
        "each",
        pmin_s, bmin * tsamp_s, bmin, tsamp_s);
}

/* The bins of range k, or those of a range before it, that samples are short enough for at a period.
 * Returned: false if they are too long for all */
static bool fit_bins(struct psr_ffa_range *r, size_t k, double tsamp_s)
{
    for (size_t i = k + 1; i-- > 0;)
        if (usual[i].bmin * tsamp_s <= r->pmin_s) {
            r->bmin = usual[i].bmin;
            r->bmax = usual[i].bmax;
            return true;
        }
    return false;
}

static psr_status choose_usual(struct psr_ffasearch_ranges *to, const struct psr_ffasearch_desc *d,
                               double pmin_s, double pmax_s, double tsamp_s, psr_err *err)
{
    const double least_s = usual[0].bmin * tsamp_s;
    if (pmin_s < least_s && d->pmin_s > 0)
        return fail_coarse(pmin_s, usual[0].bmin, tsamp_s, err);
    pmin_s = fmax(pmin_s, least_s);
    for (size_t k = 0; k < PSR_FFASEARCH_RANGES; k++) {
        struct psr_ffa_range r = {
            .pmin_s = k == 0 ? pmin_s : fmax(pmin_s, usual[k].pmin_s),
            .pmax_s = k + 1 == PSR_FFASEARCH_RANGES ? pmax_s : fmin(pmax_s, usual[k].pmax_s),
            .ducymax = d->ducymax,
        };
        if (r.pmin_s < r.pmax_s && fit_bins(&r, k, tsamp_s))
            to->range[to->n++] = r;
    }
    return PSR_OK;
}

static psr_status choose_one(struct psr_ffasearch_ranges *to, const struct psr_ffasearch_desc *d,
                             double pmin_s, double pmax_s, double tsamp_s, psr_err *err)
{
    const int64_t bmax = d->bmax ? d->bmax : d->bmin + (d->bmin + 11) / 12;
    const double least_s = (double)d->bmin * tsamp_s;
    if (pmin_s < least_s && d->pmin_s > 0)
        return fail_coarse(pmin_s, (int)d->bmin, tsamp_s, err);
    to->range[0] = (struct psr_ffa_range){.pmin_s = fmax(pmin_s, least_s),
                                          .pmax_s = pmax_s,
                                          .bmin = (int)d->bmin,
                                          .bmax = (int)bmax,
                                          .ducymax = d->ducymax};
    to->n = to->range[0].pmin_s < pmax_s;
    return PSR_OK;
}

psr_status psr_ffasearch_choose(struct psr_ffasearch_ranges *to, const struct psr_ffasearch_desc *d,
                                const struct psr_ffasearch_shape *shape, psr_err *err)
{
    const double tobs_s = (double)shape->nsamp * shape->tsamp_s;
    const double pmin_s = d->pmin_s > 0 ? d->pmin_s : usual[0].pmin_s;
    const double longest_s = tobs_s / (d->pmax_s > 0 ? LEAST_TURNS : USUAL_TURNS);
    const double pmax_s =
        fmin(d->pmax_s > 0 ? d->pmax_s : usual[PSR_FFASEARCH_RANGES - 1].pmax_s, longest_s);
    *to = (struct psr_ffasearch_ranges){.cut = d->pmax_s > longest_s};
    psr_status st = d->bmin ? choose_one(to, d, pmin_s, pmax_s, shape->tsamp_s, err)
                            : choose_usual(to, d, pmin_s, pmax_s, shape->tsamp_s, err);
    return !st && to->n == 0 ? fail_short(d->pmin_s > 0, pmin_s, pmax_s, tobs_s, err) : st;
}
