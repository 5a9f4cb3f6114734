/* Checks the description of a fast folding search and resolves its defaults. */
#include "ffa_internal.h"

#include "base/memory.h"
#include "base/threads/threads.h"
#include "stats/stats.h"

#include <math.h>
#include <psrkit/signif.h>
#include <stdlib.h>
#include <string.h>

/* --- finds the S/N that noise exceeds in one series in ten ------------------------------------ */

/* Independent trials for each bin and shift of boxcars of one bin: of 1000 series of noise (2^16 and 2^18 samples, 500 of
 * 2^20) each, the best S/N has that of 0.8 of them for profiles of 16 bins, 1.2 for 32, 1.6 for 64, 1.8 for 96, 2.4 for 128
 * to 240, 2.7 for 520 and 3 for 1000, within a fifth of this. */
static double trials_per_bin(size_t nbin)
{
    return fmax(0.5, 0.8 + 0.53 * log((double)nbin / 16));
}

/* A boxcar of w bins has b / w independent phases, and the next independent shift is w away. */
static double ffa_count_trials(const struct psr_ffa_search *s)
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

static double ffa_threshold(double ntrial_eff)
{
    const struct psr_logp one_in_ten = psr_logp_from_sf(log(0.1));
    return psr_gauss_sigma(psr_logp_trials(one_in_ten, 1 / ntrial_eff, PSR_TRIALS_SIDAK));
}

/* --- checks the description of a fast folding search and resolves its defaults ---------------- */

static psr_status check_input(const struct psr_ffa_desc *d, psr_err *err)
{
    if (d->nsamp < 4 * PSR_FFA_BLOCK || d->nsamp > (size_t)1 << 31)
        return psr_fail_field(err, PSR_EINVAL, "nsamp", "search: %zu samples is outside %d to 2^31",
                              d->nsamp, 4 * PSR_FFA_BLOCK);
    if (!(d->tsamp_s > 0) || !(d->tsamp_s < 1e6))
        return psr_fail_field(err, PSR_EINVAL, "tsamp_s",
                              "search: samples of %g s are outside 0 to 1e6", d->tsamp_s);
    if (d->batch > 1 << 16)
        return psr_fail_field(err, PSR_EINVAL, "batch", "search: a batch of %zu is above 65536",
                              d->batch);
    if (!(fabs(d->rmed_s) < 1e9))
        return psr_fail_field(err, PSR_EINVAL, "rmed_s", "search: a running median of %g s",
                              d->rmed_s);
    if (!(d->sigma >= 0 && d->sigma <= 1e4))
        return psr_fail_field(err, PSR_EINVAL, "sigma", "search: sigma of %g is outside 0 to 10000",
                              d->sigma);
    for (size_t i = 0; i < d->ngap; i++)
        if (d->gap[i].count < 0)
            return psr_fail_field(err, PSR_EINVAL, "gap",
                                  "search: a gap of %lld samples from sample %lld",
                                  (long long)d->gap[i].count, (long long)d->gap[i].first);
    return psr_check_resources("search", d->nthread, d->mem_bytes, err);
}

static psr_status check_range(const struct psr_ffa_search *s, size_t r, psr_err *err)
{
    const struct psr_ffa_range *a = &s->range[r];
    if (a->bmin < 8 || a->bmax < a->bmin || a->bmax > PSR_FFA_MAX_BINS)
        return psr_fail_field(err, PSR_EINVAL, "bmin",
                              "search: profiles of %d to %d bins are outside 8 to %d", a->bmin,
                              a->bmax, PSR_FFA_MAX_BINS);
    if (!(a->pmin_s >= a->bmin * s->tsamp_s))
        return psr_fail_field(err, PSR_EINVAL, "pmin_s",
                              "search: periods from %g s are below %d bins of %g s", a->pmin_s,
                              a->bmin, s->tsamp_s);
    if (!(a->pmax_s > a->pmin_s) || !(a->pmax_s <= 1e9))
        return psr_fail_field(err, PSR_EINVAL, "pmax_s", "search: periods of %g to %g s", a->pmin_s,
                              a->pmax_s);
    if (a->pmax_s / s->tsamp_s > 65535.0 * a->bmin)
        return psr_fail_field(
            err, PSR_EINVAL, "pmax_s",
            "search: periods to %g s are above 65535 samples of %g s a bin, for %d bins", a->pmax_s,
            s->tsamp_s, a->bmin);
    if (r && !(a->pmin_s >= s->range[r - 1].pmax_s))
        return psr_fail_field(err, PSR_EINVAL, "pmin_s",
                              "search: periods from %g s overlap a range that ends at %g s",
                              a->pmin_s, s->range[r - 1].pmax_s);
    if (!(a->ducymax > 0) || !(a->ducymax <= 0.5))
        return psr_fail_field(err, PSR_EINVAL, "ducymax",
                              "search: a duty cycle of %g is outside 0 to 0.5", a->ducymax);
    return PSR_OK;
}

/* Widths 1, 2, 3, then each the sum of the one before and the third before. */
static void make_widths(struct psr_ffa_widths *w, const struct psr_ffa_range *a)
{
    const double most = a->ducymax * a->bmin;
    w->n = 0;
    while (w->n < PSR_FFA_MAX_WIDTH) {
        int next = w->n < 3 ? (int)w->n + 1 : w->width[w->n - 1] + w->width[w->n - 3];
        if (w->n && next > most)
            break;
        w->width[w->n++] = next;
    }
}

size_t psr_ffa_default_ranges(size_t nsamp, double tsamp_s,
                              struct psr_ffa_range range[PSR_FFA_MAX_RANGE])
{
    static const struct psr_ffa_range all[] = {
        {0.2, 0.5, 240, 260, 0}, {0.5, 2, 480, 520, 0}, {2, 120, 960, 1040, 0}};
    const double most = (double)nsamp * tsamp_s / PSR_FFA_MIN_ROWS;
    size_t n = 0;
    for (size_t r = 0; r < sizeof all / sizeof *all; r++) {
        struct psr_ffa_range a = all[r];
        a.pmin_s = fmax(a.pmin_s, a.bmin * tsamp_s);
        a.pmax_s = fmin(a.pmax_s, most);
        if (a.pmin_s < a.pmax_s)
            range[n++] = a;
    }
    return n;
}

static psr_status copy_ranges(struct psr_ffa_search *s, const struct psr_ffa_desc *d, psr_err *err)
{
    if (d->nrange > PSR_FFA_MAX_RANGE)
        return psr_fail_field(err, PSR_EINVAL, "nrange", "search: %zu ranges are above %d",
                              d->nrange, PSR_FFA_MAX_RANGE);
    s->nrange = d->nrange;
    if (d->nrange)
        memcpy(s->range, d->range, d->nrange * sizeof *d->range);
    else
        s->nrange = psr_ffa_default_ranges(d->nsamp, d->tsamp_s, s->range);
    for (size_t r = 0; r < s->nrange; r++) {
        struct psr_ffa_range *a = &s->range[r];
        if (!a->bmin && !a->bmax) {
            a->bmin = 240;
            a->bmax = 260;
        }
        if (a->ducymax == 0)
            a->ducymax = 0.3;
        psr_status st = check_range(s, r, err);
        if (st)
            return st;
        make_widths(&s->widths[r], a);
    }
    return PSR_OK;
}

static psr_status copy_gaps(struct psr_ffa_search *s, const struct psr_ffa_desc *d, psr_err *err)
{
    if (!d->ngap)
        return PSR_OK;
    s->gap = malloc(d->ngap * sizeof *s->gap);
    if (!s->gap)
        return psr_fail_nomem(err, "gaps", (double)d->ngap * sizeof *s->gap);
    memcpy(s->gap, d->gap, d->ngap * sizeof *s->gap);
    s->ngap = psr_spans_tidy(s->gap, d->ngap, 0, (int64_t)d->nsamp);
    return PSR_OK;
}

psr_status psr_ffa_resolve(struct psr_ffa_search *s, const struct psr_ffa_desc *d, psr_err *err)
{
    psr_status st = check_input(d, err);
    if (st)
        return st;
    *s = (struct psr_ffa_search){
        .nsamp = d->nsamp,
        .batch = d->batch ? d->batch : 1,
        .tsamp_s = d->tsamp_s,
        .rmed_s = d->rmed_s,
        .floats = d->floats,
        .nthread = psr_count_threads(d->nthread),
        .mem_bytes = psr_count_memory(d->mem_bytes),
        .device = d->device,
        .stop = {d->should_stop, d->ctx},
    };
    if ((st = copy_ranges(s, d, err)) || (st = copy_gaps(s, d, err)) ||
        (st = psr_ffa_make_ladder(s, err)))
        return st;
    s->ntrial_eff = ffa_count_trials(s);
    s->sigma = d->sigma > 0 ? d->sigma : ffa_threshold(s->ntrial_eff);
    return PSR_OK;
}

void psr_ffa_forget(struct psr_ffa_search *s)
{
    free(s->step);
    free(s->fold);
    free(s->gap);
}
