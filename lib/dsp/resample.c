/* Converts series to another clock by adding and removing single bins. */
#include "base/tool.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads/threads.h"
#include "dsp/dsp.h"
#include "plan/ddplan_internal.h"

/* Seconds between comparisons of the clocks; the fastest drift and so the most bins added. */
static const double grid_s = 20, max_rate = 0.01;

/* A bin added before input sample at (step 1), or sample at removed (step -1). */
struct bin {
    int64_t at;
    int step;
    float fill; /* PRESTO's way: the value of all series there */
};

struct psr_resample {
    struct psr_resample_desc d;
    struct bin *bin; /* [nbin] those at input sample done and later, ascending */
    size_t nbin, bin_room;

    double node_bins; /* bins from one comparison of the clocks to the next */
    int64_t node;     /* comparisons made so far */
    double gain;      /* of the last, in bins */
    int64_t whole;    /* bins added less bins removed that it calls for */
    int64_t last_at;  /* of all bins found */

    int64_t done;  /* input samples taken */
    int64_t shift; /* bins added less bins removed among them */
    int64_t added, removed;
    float *prev;                       /* [nseries] input sample done - 1 */
    struct psr_resample_bin *reported; /* [reported_room] */
    size_t nreported, reported_room;
    float **row;     /* [nthread] a series as it came */
    size_t row_room; /* samples */
};

psr_status psr_resample_create(psr_resample **out, const struct psr_resample_desc *desc,
                               psr_err *err)
{
    *out = NULL;
    if (desc->nseries < 1)
        return psr_fail_field(err, PSR_EINVAL, "nseries", "no series to resample");
    if (!(desc->tsamp_s > 0 && isfinite(desc->tsamp_s)))
        return psr_fail_field(err, PSR_EINVAL, "tsamp_s", "tsamp = %g s, must be above 0",
                              desc->tsamp_s);
    psr_resample *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "resampling", sizeof *p);
    p->d = *desc;
    p->d.nthread = psr_count_threads(desc->nthread);
    p->node_bins = grid_s * ceil(desc->tsamp_s / grid_s) / desc->tsamp_s;
    p->last_at = -1;
    p->prev = calloc(desc->nseries, sizeof *p->prev);
    p->row = calloc((size_t)p->d.nthread, sizeof *p->row);
    if (!p->prev || !p->row) {
        psr_resample_destroy(p);
        return psr_fail_nomem(err, "resampling", (double)desc->nseries * sizeof *p->prev);
    }
    *out = p;
    return PSR_OK;
}

/* Puts the bin where the straight line between the last two comparisons crosses the half. */
static psr_status append_bin(psr_resample *p, int step, double gain, psr_err *err)
{
    psr_status st =
        psr_grow(&p->bin, &p->bin_room, p->nbin, sizeof *p->bin, "the list of bins", err);
    if (st)
        return st;
    double half = (double)p->whole + 0.5 * step;
    double first = (double)(p->node - 1) * p->node_bins, last = (double)p->node * p->node_bins;
    int64_t at = psr_round(first + (half - p->gain) * (last - first) / (gain - p->gain));
    if (at <= p->last_at)
        at = p->last_at + 1;
    p->last_at = at;
    p->bin[p->nbin++] = (struct bin){.at = at, .step = step};
    return PSR_OK;
}

/* Compares the clocks once more. */
static psr_status extend_list(psr_resample *p, psr_err *err)
{
    double t_s = (double)(p->node + 1) * p->node_bins * p->d.tsamp_s;
    double gain = p->d.drift(p->d.ctx, t_s) / p->d.tsamp_s;
    if (!(fabs(gain - p->gain) <= max_rate * p->node_bins))
        return psr_fail(err, PSR_EUNSUPPORTED, "clocks drift by %g s in %g s, at most %g s can be",
                        (gain - p->gain) * p->d.tsamp_s, p->node_bins * p->d.tsamp_s,
                        max_rate * p->node_bins * p->d.tsamp_s);
    p->node++;
    psr_status st = PSR_OK;
    while (!st && fabs(gain - (double)p->whole) > 0.5) {
        int step = gain > (double)p->whole ? 1 : -1;
        bool back = p->whole * step < 0;
        if (!(back && p->d.presto_block))
            st = append_bin(p, step, gain, err);
        p->whole += step;
    }
    p->gain = gain;
    return st;
}

/* Makes the list hold all bins before input sample end. */
static psr_status extend_list_to(psr_resample *p, int64_t end, psr_err *err)
{
    psr_status st = PSR_OK;
    while (!st && (double)p->node * p->node_bins < (double)end + 1)
        st = extend_list(p, err);
    return st;
}

size_t psr_resample_room(const psr_resample *p, size_t n)
{
    (void)p;
    return n + (size_t)((double)n * max_rate) + 2;
}

static psr_status reserve_rows(psr_resample *p, size_t n, psr_err *err)
{
    if (n <= p->row_room)
        return PSR_OK;
    p->row_room = 0;
    for (int k = 0; k < p->d.nthread; k++) {
        free(p->row[k]);
        p->row[k] = malloc(n * sizeof **p->row);
        if (!p->row[k])
            return psr_fail_nomem(err, "a series to resample", (double)n * sizeof **p->row);
    }
    p->row_room = n;
    return PSR_OK;
}

/* The mean as PRESTO's block averages are computed, to the last bit. */
static float block_mean(const float *x, size_t n)
{
    double mean = 0;
    for (size_t t = 0; t < n; t++)
        mean += ((double)x[t] - mean) / (double)(t + 1);
    return (float)mean;
}

/* How many bins fall among the next n samples. */
static size_t count_bins(const psr_resample *p, size_t n)
{
    size_t k = 0;
    while (k < p->nbin && p->bin[k].at < p->done + (int64_t)n)
        k++;
    return k;
}

static void resample_row(psr_resample *p, size_t i, size_t nbin, float *x, size_t n)
{
    float *in = p->row[psr_thread_number()], *out = x;
    size_t from = 0;
    memcpy(in, x, n * sizeof *in);
    for (size_t k = 0; k < nbin; k++) {
        const struct bin *bin = p->bin + k;
        size_t at = (size_t)(bin->at - p->done);
        memcpy(out, in + from, (at - from) * sizeof *in);
        out += at - from;
        from = at;
        if (bin->step < 0)
            from++;
        else if (p->d.presto_block)
            *out++ = bin->fill;
        else
            *out++ = ((at ? in[at - 1] : p->prev[i]) + in[at]) / 2;
    }
    memcpy(out, in + from, (n - from) * sizeof *in);
}

/* Counts and forgets the first nbin bins. */
static void advance(psr_resample *p, size_t nbin, size_t n)
{
    p->done += (int64_t)n;
    for (size_t k = 0; k < nbin; k++) {
        p->shift += p->bin[k].step;
        p->added += p->bin[k].step > 0;
        p->removed += p->bin[k].step < 0;
    }
    p->nbin -= nbin;
    if (nbin)
        memmove(p->bin, p->bin + nbin, p->nbin * sizeof *p->bin);
}

/* Lists the first nbin bins by their place among the next samples. */
static psr_status report_bins(psr_resample *p, size_t nbin, psr_err *err)
{
    psr_status st = psr_reserve(&p->reported, &p->reported_room, nbin + 1, sizeof *p->reported,
                                "the list of bins", err);
    if (st)
        return st;
    for (size_t k = 0; k < nbin; k++)
        p->reported[k] =
            (struct psr_resample_bin){(size_t)(p->bin[k].at - p->done), p->bin[k].step};
    p->nreported = nbin;
    return PSR_OK;
}

psr_status psr_resample_execute(psr_resample *p, float *x, size_t stride, size_t n, size_t *nout,
                                psr_err *err)
{
    *nout = p->nreported = 0;
    if (n == 0)
        return PSR_OK;
    if (stride < psr_resample_room(p, n))
        return psr_fail_field(err, PSR_EINVAL, "stride",
                              "stride = %zu samples, must be at least %zu", stride,
                              psr_resample_room(p, n));
    if (p->d.presto_block && n % p->d.presto_block)
        return psr_fail(err, PSR_EINVAL, "%zu samples, must be a multiple of %zu", n,
                        p->d.presto_block);
    psr_status st = extend_list_to(p, p->done + (int64_t)n, err);
    size_t nbin = count_bins(p, n);
    if (!st && nbin)
        st = reserve_rows(p, n, err);
    if (!st)
        st = report_bins(p, nbin, err);
    if (st)
        return st;
    int64_t before = p->done + p->shift;
    /* Series 0 tells what PRESTO puts into the first nbin bins. */
    size_t block = p->d.presto_block;
    for (size_t k = 0; k < nbin && block; k++)
        if (p->bin[k].step > 0)
            p->bin[k].fill =
                block_mean(x + (size_t)(p->bin[k].at - p->done) / block * block, block);
#pragma omp parallel for num_threads(p->d.nthread) if (nbin)
    for (size_t i = 0; i < p->d.nseries; i++) {
        float last = x[i * stride + n - 1];
        if (nbin)
            resample_row(p, i, nbin, x + i * stride, n);
        p->prev[i] = last;
    }
    advance(p, nbin, n);
    *nout = (size_t)(p->done + p->shift - before);
    return PSR_OK;
}

psr_status psr_resample_report(psr_resample *p, size_t n, const struct psr_resample_bin **bin,
                               size_t *nbin, size_t *nout, psr_err *err)
{
    *bin = NULL;
    *nbin = *nout = 0;
    if (p->d.presto_block)
        return psr_fail(err, PSR_EUNSUPPORTED, "PRESTO's bins need the samples themselves");
    psr_status st = extend_list_to(p, p->done + (int64_t)n, err);
    size_t count = count_bins(p, n);
    if (!st)
        st = report_bins(p, count, err);
    if (st)
        return st;
    int64_t before = p->done + p->shift;
    advance(p, count, n);
    *bin = p->reported;
    *nbin = count;
    *nout = (size_t)(p->done + p->shift - before);
    return PSR_OK;
}

void psr_resample_last(const psr_resample *p, const struct psr_resample_bin **bin, size_t *nbin)
{
    *bin = p->reported;
    *nbin = p->nreported;
}

psr_status psr_resample_count_next(psr_resample *p, size_t n, size_t *nout, psr_err *err)
{
    psr_status st = extend_list_to(p, p->done + (int64_t)n, err);
    size_t count = count_bins(p, n);
    *nout = n;
    for (size_t k = 0; k < count; k++)
        *nout += (size_t)p->bin[k].step; /* -1 wraps */
    return st;
}

psr_status psr_resample_map(psr_resample *p, int64_t t, int64_t *to, psr_err *err)
{
    psr_status st = extend_list_to(p, t + 1, err);
    if (st)
        return st;
    *to = t + p->shift;
    for (size_t k = 0; k < p->nbin && p->bin[k].at <= t; k++)
        *to += p->bin[k].at < t || p->bin[k].step > 0 ? p->bin[k].step : 0;
    return PSR_OK;
}

void psr_resample_count(const psr_resample *p, int64_t *added, int64_t *removed)
{
    *added = p->added;
    *removed = p->removed;
}

void psr_resample_destroy(psr_resample *p)
{
    if (!p)
        return;
    for (int k = 0; p->row && k < p->d.nthread; k++)
        free(p->row[k]);
    free(p->row);
    free(p->reported);
    free(p->prev);
    free(p->bin);
    free(p);
}
