/* Plans of the fast folding search: drives a backend and groups what it finds. */
#include "base/base.h"

#include "base/device/device_internal.h"
#include "base/threads/threads.h"
#include "ffa_backend.h"
#include "ffa_internal.h"
#include "stats/stats.h"

#include <config.h>
#include <math.h>
#include <psrkit/signif.h>
#include <stdlib.h>
#include <string.h>

/* --- checks ----------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < d->ngap; i++)
        if (d->gap[i].count < 0)
            return psr_fail_field(err, PSR_EINVAL, "gap",
                                  "search: a gap of %lld samples from sample %lld",
                                  (long long)d->gap[i].count, (long long)d->gap[i].first);
    s->gap = malloc(d->ngap * sizeof *s->gap);
    if (!s->gap)
        return psr_fail_nomem(err, "gaps", (double)d->ngap * sizeof *s->gap);
    memcpy(s->gap, d->gap, d->ngap * sizeof *s->gap);
    s->ngap = psr_spans_tidy(s->gap, d->ngap, 0, (int64_t)d->nsamp);
    return PSR_OK;
}

static psr_status ffa_resolve(struct psr_ffa_search *s, const struct psr_ffa_desc *d, psr_err *err)
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
        .stop = {d->should_stop, d->ctx, d->progress},
    };
    if ((st = copy_ranges(s, d, err)) || (st = copy_gaps(s, d, err)) ||
        (st = psr_ffa_make_ladder(s, err)))
        return st;
    s->ntrial_eff = ffa_count_trials(s);
    s->sigma = d->sigma > 0 ? d->sigma : ffa_threshold(s->ntrial_eff);
    return PSR_OK;
}

/* Checks and resolves a description; ffa_forget frees what it made, also after failure. */
static void ffa_forget(struct psr_ffa_search *s)
{
    free(s->step);
    free(s->fold);
    free(s->gap);
}

/* --- peaks ------------------------------------------------------------------------------------ */

/* Turns over the series within which neighbouring trials are of one peak. */
#define NEAR_TURNS 0.5

static double period_of(const struct psr_ffa_search *s, const struct psr_ffa_hit *h)
{
    const struct psr_ffa_fold *f = &s->fold[h->fold];
    return psr_ffa_period(&s->step[f->step], f->nbin, f->nrow, f->s_lo + (h->trial - f->trial0));
}

struct placed {
    double period_s;
    const struct psr_ffa_hit *hit;
};

PSR_COMPARE(by_series_and_period, struct placed,
            PSR_THEN(PSR_RISING(hit->series),
                     PSR_THEN(PSR_RISING(period_s), PSR_RISING(hit->trial))));
PSR_COMPARE(by_strength, struct psr_ffa_peak, PSR_THEN(PSR_FALLING(snr), PSR_RISING(trial)));

static struct psr_ffa_peak make_peak(const struct psr_ffa_search *s, const struct placed *at,
                                     size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (at[i].hit->snr > at[best].hit->snr)
            best = i;
    const struct psr_ffa_hit *h = at[best].hit;
    const struct psr_ffa_fold *f = &s->fold[h->fold];
    const struct psr_ffa_step *k = &s->step[f->step];
    const int width = s->widths[k->range].width[h->width];
    const double p = at[best].period_s;
    return (struct psr_ffa_peak){
        .period_s = p,
        .freq_hz = 1 / p,
        .snr = (double)h->snr,
        .width_s = p * width / f->nbin,
        .duty = (double)width / f->nbin,
        .nbin = f->nbin,
        .range = k->range,
        .step = k->k,
        .lo_hz = 1 / at[n - 1].period_s,
        .hi_hz = 1 / at[0].period_s,
        .ntrial = n,
        .trial = h->trial,
    };
}

static size_t group_end(const struct placed *at, size_t i, size_t n, double near_hz)
{
    for (i++; i < n && at[i].hit->series == at[i - 1].hit->series; i++)
        if (1 / at[i - 1].period_s - 1 / at[i].period_s > near_hz)
            break;
    return i;
}

/* Groups found's hits, which it reorders.
 * Returned: peaks in order of series, strongest first; *peak [*npeak], which grows; npeak_of [nseries] */
static psr_status ffa_group(const struct psr_ffa_search *s, struct psr_ffa_found *found,
                            size_t nseries, struct psr_ffa_peak **peak, size_t *room,
                            size_t *npeak_of, psr_err *err)
{
    const double near_hz = NEAR_TURNS / ((double)s->nsamp * s->tsamp_s);
    struct placed *at = malloc((found->n + 1) * sizeof *at);
    psr_status st = PSR_OK;
    size_t n = 0, first = 0;
    if (!at)
        return psr_fail_nomem(err, "trials above the threshold", (double)found->n * sizeof *at);
    for (size_t i = 0; i < found->n; i++)
        at[i] = (struct placed){period_of(s, &found->hit[i]), &found->hit[i]};
    qsort(at, found->n, sizeof *at, by_series_and_period);
    for (size_t series = 0, i = 0; series < nseries && !st; series++, first = n) {
        for (size_t end; i < found->n && at[i].hit->series == series && !st; i = end) {
            end = group_end(at, i, found->n, near_hz);
            if (!(st = psr_grow(peak, room, n, sizeof **peak, "peaks", err)))
                (*peak)[n++] = make_peak(s, at + i, end - i);
        }
        npeak_of[series] = n - first;
        if (n > first)
            qsort(*peak + first, n - first, sizeof **peak, by_strength);
    }
    free(at);
    return st;
}

/* --- searches --------------------------------------------------------------------------------- */

/* In order of preference for "auto". */
static const struct psr_ffa_ops *const backends[] = {
#ifdef HAVE_CUDA
    &psr_ffa_cuda,
#endif
    &psr_ffa_cpu,
};
enum { NBACKEND = sizeof backends / sizeof *backends };

struct psr_ffa {
    struct psr_ffa_search search;
    const struct psr_ffa_ops *ops;
    void *state;
    struct psr_ffa_found found;
    struct psr_ffa_peak *peak;
    size_t room;         /* peaks */
    size_t *npeak;       /* [batch] */
    const float **input; /* [batch] of the last execute */
    size_t nseries;
};

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status start_backend(psr_ffa *p, const char *name, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int b = 0; b < NBACKEND; b++) {
        if (!psr_backend_is_asked(name, backends[b]->name))
            continue;
        p->ops = backends[b];
        st = p->ops->create(&p->state, &p->search, err);
        if (!psr_backend_is_passed(name, st))
            return st;
    }
    return psr_backend_none(st, name, "search", err);
}

static psr_status allocate(psr_ffa *p, psr_err *err)
{
    const size_t batch = p->search.batch;
    p->found.bad = calloc(batch, sizeof *p->found.bad);
    p->found.rms = calloc(batch, sizeof *p->found.rms);
    p->npeak = calloc(batch, sizeof *p->npeak);
    p->input = calloc(batch, sizeof *p->input);
    if (!p->found.bad || !p->found.rms || !p->npeak || !p->input)
        return psr_fail_nomem(err, "a search", 32.0 * (double)batch);
    return PSR_OK;
}

psr_status psr_ffa_create(psr_ffa **out, const struct psr_ffa_desc *desc, psr_err *err)
{
    struct psr_ffa_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "search", err);
    if (st)
        return st;
    psr_ffa *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a search", sizeof *p);
    if ((st = ffa_resolve(&p->search, &d, err)) || (st = allocate(p, err)) ||
        (st = start_backend(p, d.backend, err)))
        psr_ffa_destroy(p);
    else
        *out = p;
    return st;
}

void psr_ffa_destroy(psr_ffa *p)
{
    if (!p)
        return;
    if (p->state)
        p->ops->destroy(p->state);
    free(p->found.hit);
    free(p->found.bad);
    free(p->found.rms);
    free(p->peak);
    free(p->npeak);
    free(p->input);
    ffa_forget(&p->search);
    free(p);
}

psr_status psr_ffa_replace_gaps(psr_ffa *p, const struct psr_span *gap, size_t ngap, bool *done,
                                psr_err *err)
{
    const struct psr_ffa_desc d = {.nsamp = p->search.nsamp, .gap = gap, .ngap = ngap};
    struct psr_ffa_search with = {.ngap = 0};
    psr_status st = copy_gaps(&with, &d, err);
    *done = !st && with.ngap && p->search.ngap;
    if (!*done) {
        free(with.gap);
        return st;
    }
    free(p->search.gap);
    p->search.gap = with.gap;
    p->search.ngap = with.ngap;
    p->nseries = 0;
    return p->ops->replace_gaps ? p->ops->replace_gaps(p->state, err) : PSR_OK;
}

/* --- execute ---------------------------------------------------------------------------------- */

struct psr_ffa_found *psr_ffa_hits(psr_ffa *p)
{
    return &p->found;
}

psr_status psr_ffa_make_peaks(psr_ffa *p, size_t nseries, struct psr_ffa_result *result,
                              psr_err *err)
{
    psr_status st = ffa_group(&p->search, &p->found, nseries, &p->peak, &p->room, p->npeak, err);
    size_t first = 0;
    for (size_t s = 0; s < nseries && !st; s++) {
        result[s] = (struct psr_ffa_result){
            .peak = p->npeak[s] ? p->peak + first : NULL,
            .npeak = p->npeak[s],
            .bad = p->found.bad[s],
            .rms = p->found.rms[s],
        };
        first += p->npeak[s];
    }
    return st;
}

psr_status psr_ffa_execute(psr_ffa *p, size_t nseries, const float *const *in,
                           struct psr_ffa_result *result, psr_err *err)
{
    if (nseries > p->search.batch)
        return psr_fail_field(err, PSR_EINVAL, "nseries",
                              "search: %zu series are above the batch of %zu", nseries,
                              p->search.batch);
    p->nseries = 0;
    p->found.n = 0;
    for (size_t s = 0; s < nseries; s++) {
        p->found.bad[s] = -1;
        p->found.rms[s] = 0;
        p->input[s] = in[s];
    }
    psr_status st = p->ops->execute(p->state, nseries, in, &p->found, err);
    if (st || (st = psr_ffa_make_peaks(p, nseries, result, err)))
        return st;
    p->nseries = nseries;
    return PSR_OK;
}

/* --- trials ----------------------------------------------------------------------------------- */

void psr_ffa_trials(const psr_ffa *p, double *period_s)
{
    for (size_t i = 0; i < p->search.nfold; i++) {
        const struct psr_ffa_fold *f = &p->search.fold[i];
        for (size_t s = f->s_lo; s < f->s_hi; s++)
            period_s[f->trial0 + s - f->s_lo] =
                psr_ffa_period(&p->search.step[f->step], f->nbin, f->nrow, s);
    }
}

/* Replaces indices of widths by widths. */
static void name_widths(const struct psr_ffa_search *s, int *width)
{
    for (size_t i = 0; i < s->nfold; i++) {
        const struct psr_ffa_fold *f = &s->fold[i];
        const struct psr_ffa_widths *w = &s->widths[s->step[f->step].range];
        for (size_t t = f->trial0; t < f->trial0 + f->s_hi - f->s_lo; t++)
            width[t] = w->width[width[t]];
    }
}

psr_status psr_ffa_periodogram(psr_ffa *p, size_t s, float *snr, int *width, psr_err *err)
{
    const size_t n = p->search.ntrial;
    if (s >= p->nseries)
        return psr_fail_field(err, PSR_EINVAL, "s",
                              "search: no series %zu among the %zu of the last", s, p->nseries);
    memset(snr, 0, n * sizeof *snr);
    if (width)
        memset(width, 0, n * sizeof *width);
    if (p->found.bad[s] >= 0 || !(p->found.rms[s] > 0))
        return PSR_OK;
    psr_status st = p->ops->periodogram(p->state, p->input[s], snr, width, err);
    if (!st && width)
        name_widths(&p->search, width);
    return st;
}

const struct psr_ffa_search *psr_ffa_resolved(const psr_ffa *p)
{
    return &p->search;
}

void psr_ffa_describe_sized(const psr_ffa *p, struct psr_ffa_info *info, size_t size)
{
    size_t widths = 0;
    for (size_t r = 0; r < p->search.nrange; r++)
        widths = p->search.widths[r].n > widths ? p->search.widths[r].n : widths;
    const struct psr_ffa_info all = {
        .backend = p->ops->name,
        .ntrial = p->search.ntrial,
        .nstep = p->search.nstep,
        .nwidth_max = widths,
        .sigma = p->search.sigma,
        .ntrial_eff = p->search.ntrial_eff,
        .bytes = p->ops->bytes(p->state),
    };
    psr_give_desc(info, size, &all, sizeof all);
}
