/* Makes the ladder: samplings, folds and trials of a fast folding search. */
#include "ffa_internal.h"

#include "base/tool.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

bool psr_ffa_noise(const float *mean, const float *var, size_t n, struct psr_ffa_noise *noise)
{
    const double c = 1 - 2 / (9.0 * (PSR_FFA_BLOCK - 1));
    if (!n)
        return false;
    noise->sigma = sqrt((double)psr_quantile_select(var, n, (n - 1) / 2) / (c * c * c));
    noise->scale = (float)(PSR_FFA_FINE / noise->sigma);
    if (!isnormal(noise->sigma) || !isnormal(noise->scale))
        return false;
    noise->centre = psr_quantile_select(mean, n, (n - 1) / 2);
    return true;
}

double psr_ffa_period(const struct psr_ffa_step *k, int nbin, size_t nrow, size_t s)
{
    const double b = nbin;
    return k->tsamp_s * (b * b / (b - (double)s / (double)(nrow - 1)));
}

/* Samples of the step: as many as end within the series. */
static size_t count_samples(const struct psr_ffa_step *k, size_t nsamp)
{
    size_t n = (size_t)((double)nsamp / k->f) + 1;
    while (n > 0 && psr_ffa_boundary(k, n) > nsamp)
        n--;
    return n;
}

static void find_baseline(struct psr_ffa_step *k, const struct psr_ffa_search *s)
{
    const double window =
        s->rmed_s > 0 ? s->rmed_s / k->tsamp_s : 2.0 * (s->range[k->range].bmax + 1);
    if (s->rmed_s < 0)
        return;
    k->part = (size_t)fmax(1, floor(fmin(window, (double)k->n) / PSR_FFA_PARTS));
    k->nparts = k->n / k->part;
    k->half = (size_t)fmax(1, floor(fmin(window, 2.0 * (double)k->n) / (2.0 * (double)k->part)));
}

static void find_units(struct psr_ffa_step *k, const struct psr_ffa_search *s)
{
    const double rows = (double)(k->n / (size_t)s->range[k->range].bmin);
    const double most = 32767 / (PSR_FFA_FULL_SNR * sqrt(fmax(rows, 1)));
    k->floats = s->floats || most < PSR_FFA_LEAST_UNITS;
    k->units = k->floats ? 1 : fmin(most, PSR_FFA_UNITS);
}

/* Sampling of step k. */
static struct psr_ffa_step make_sampling(const struct psr_ffa_search *s, int range, int k)
{
    const struct psr_ffa_range *a = &s->range[range];
    struct psr_ffa_step step = {.range = range, .k = k, .granule = 1};
    const double f = pow((a->bmax + 1.0) / a->bmin, k);
    while (f >= 128.0 * (double)step.granule)
        step.granule *= 2;
    step.advance = (uint64_t)(ldexp(f / (double)step.granule, 32) + 0.5);
    step.f = ldexp((double)step.advance, -32) * (double)step.granule;
    step.tsamp_s = s->tsamp_s * step.f;
    return step;
}

static struct psr_ffa_step make_step(const struct psr_ffa_search *s, int range, int k)
{
    struct psr_ffa_step step = make_sampling(s, range, k);
    step.n = count_samples(&step, s->nsamp);
    find_baseline(&step, s);
    find_units(&step, s);
    return step;
}

/* The lowest shift whose period is at least p, of all nrow. */
static size_t first_shift(const struct psr_ffa_step *k, int nbin, size_t nrow, double p)
{
    size_t lo = 0, hi = nrow;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (psr_ffa_period(k, nbin, nrow, mid) >= p)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static psr_status add_folds(struct psr_ffa_search *s, struct psr_ffa_step *k, size_t *room,
                            psr_err *err)
{
    const struct psr_ffa_range *a = &s->range[k->range];
    /* Rounding of the samplings: the next step may begin before (bmax + 1) t_k. */
    const double next = make_sampling(s, k->range, k->k + 1).tsamp_s * a->bmin;
    k->fold0 = s->nfold;
    for (int b = a->bmin; b <= a->bmax; b++) {
        const size_t nrow = k->n / (size_t)b;
        if (nrow < PSR_FFA_MIN_ROWS)
            break;
        const double end = fmin(fmin(k->tsamp_s * (b + 1), next), a->pmax_s);
        struct psr_ffa_fold fold = {
            .step = s->nstep,
            .nbin = b,
            .nrow = nrow,
            .s_lo = first_shift(k, b, nrow, a->pmin_s),
            .s_hi = first_shift(k, b, nrow, end),
            .trial0 = s->ntrial,
        };
        if (fold.s_lo >= fold.s_hi)
            continue;
        psr_status st = psr_grow(&s->fold, room, s->nfold, sizeof *s->fold, "folds", err);
        if (st)
            return st;
        s->fold[s->nfold++] = fold;
        s->ntrial += fold.s_hi - fold.s_lo;
        k->nfold++;
    }
    return PSR_OK;
}

static psr_status add_range(struct psr_ffa_search *s, int range, size_t room[2], psr_err *err)
{
    const struct psr_ffa_range *a = &s->range[range];
    const double growth = (a->bmax + 1.0) / a->bmin;
    int k = (int)floor(log(a->pmin_s / (s->tsamp_s * a->bmin)) / log(growth)) - 1;
    for (k = k > 0 ? k : 0;; k++) {
        struct psr_ffa_step step = make_step(s, range, k);
        if (step.tsamp_s * a->bmin >= a->pmax_s || step.n / (size_t)a->bmin < PSR_FFA_MIN_ROWS)
            return PSR_OK;
        psr_status st = add_folds(s, &step, &room[1], err);
        if (!st && step.nfold)
            st = psr_grow(&s->step, &room[0], s->nstep, sizeof *s->step, "steps", err);
        if (st)
            return st;
        if (step.nfold)
            s->step[s->nstep++] = step;
    }
}

psr_status psr_ffa_make_ladder(struct psr_ffa_search *s, psr_err *err)
{
    size_t room[2] = {0, 0};
    for (size_t r = 0; r < s->nrange; r++) {
        psr_status st = add_range(s, (int)r, room, err);
        if (st)
            return st;
    }
    if (!s->ntrial)
        return psr_fail_field(err, PSR_EINVAL, "range",
                              "search: no period of the ranges fits %d times into %g s",
                              PSR_FFA_MIN_ROWS, (double)s->nsamp * s->tsamp_s);
    return PSR_OK;
}

void psr_ffa_gains(const struct psr_ffa_step *k, const struct psr_ffa_fold *fold,
                   const struct psr_ffa_widths *widths, float *gain, float *loss)
{
    const double b = fold->nbin, noise = k->units * sqrt((double)fold->nrow);
    for (size_t i = 0; i < widths->n; i++) {
        const double w = widths->width[i], h = sqrt((b - w) / (b * w)), g = h * w / (b - w);
        gain[i] = (float)((h + g) / noise);
        loss[i] = (float)(g / noise);
    }
}
