/* Finds the spectra of an interval to clip, with several threads. */
#include "base/base.h"
#include "rfi_detectors.h"

#include "rfi/rules/clean_internal.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An interval is summed in this many parts whatever the number of threads, so that sums of floats
 * have the same bits. */
enum { PARTS = 16 };

struct part {
    double *sum, *row; /* [nchan] */
    float *wide;       /* [nchan] */
};

struct psr_rfi_clip {
    struct psr_rfi_clip_desc d;
    struct psr_own own;
    bool exact; /* integers whose sums are exact in single precision */
    struct psr_clip clip;
    float *z, *work;           /* [n] */
    unsigned char *good, *bad; /* [n] */
    uint32_t *list;            /* [n] */
    double *sum;               /* [nchan] */
    struct part part[PARTS];
};

static psr_status allocate(psr_rfi_clip *p, psr_err *err)
{
    const size_t n = p->d.n, nchan = p->d.layout.nchan;
    p->z = psr_own(&p->own, n, sizeof *p->z);
    p->work = psr_own(&p->own, n, sizeof *p->work);
    p->good = psr_own(&p->own, n, 1);
    p->bad = psr_own(&p->own, n, 1);
    p->list = psr_own(&p->own, n, sizeof *p->list);
    p->sum = psr_own(&p->own, nchan, sizeof *p->sum);
    p->clip.level = psr_own(&p->own, nchan, sizeof *p->clip.level);
    for (int k = 0; k < PARTS; k++) {
        p->part[k].sum = psr_own(&p->own, nchan, sizeof *p->sum);
        p->part[k].row = psr_own(&p->own, nchan, sizeof *p->sum);
        p->part[k].wide = psr_own(&p->own, nchan, sizeof *p->z);
    }
    return psr_own_check(&p->own, "clipping", err);
}

void psr_rfi_clip_destroy(psr_rfi_clip *p)
{
    if (!p)
        return;
    psr_own_free(&p->own);
    free(p);
}

psr_status psr_rfi_clip_create(psr_rfi_clip **out, const struct psr_rfi_clip_desc *desc,
                               psr_err *err)
{
    psr_rfi_clip *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "clipping", sizeof *p);
    p->d = *desc;
    p->exact = desc->layout.kind != PSR_FLOAT && desc->layout.nbit <= 16 &&
               (double)desc->layout.nchan * (double)(1 << desc->layout.nbit) < (double)(1 << 24);
    p->clip.sigma = (float)desc->sigma;
    p->clip.nchan = desc->layout.nchan;
    psr_status st = allocate(p, err);
    if (st) {
        psr_rfi_clip_destroy(p);
        *out = NULL;
    }
    return st;
}

/* In the order of PRESTO, whose sums of floats begin with the lowest channel. */
static float sum_in_order(const psr_rfi_clip *p, const float *x)
{
    if (!p->d.reverse)
        return psr_zerodm_sum(x, p->d.layout.nchan);
    float sum = 0;
    for (size_t c = p->d.layout.nchan; c-- > 0;)
        sum += x[c];
    return sum;
}

static void sum_part(psr_rfi_clip *p, struct part *k, const unsigned char *in, size_t t0, size_t n)
{
    const struct psr_layout *l = &p->d.layout;
    if (p->exact)
        psr_block_sums(l, in + t0 * l->row_bytes, n, p->z + t0, k->sum, k->row);
    for (size_t t = t0; !p->exact && t < t0 + n; t++) {
        psr_spectrum_widen(l, in + t * l->row_bytes, k->wide);
        p->z[t] = sum_in_order(p, k->wide);
    }
}

/* Sums over good spectra.  Of exact sums the others are subtracted. */
static void sum_good_part(psr_rfi_clip *p, struct part *k, const unsigned char *in, size_t t0,
                          size_t n)
{
    const struct psr_layout *l = &p->d.layout;
    if (!p->exact)
        memset(k->sum, 0, l->nchan * sizeof *k->sum);
    for (size_t t = t0; t < t0 + n; t++) {
        if (p->exact ? p->good[t] : !p->good[t])
            continue;
        psr_spectrum_widen(l, in + t * l->row_bytes, k->wide);
        for (size_t c = 0; c < l->nchan; c++)
            k->sum[c] += (double)(p->exact ? -k->wide[c] : k->wide[c]);
    }
}

static void run_parts(psr_rfi_clip *p, const unsigned char *in,
                      void (*step)(psr_rfi_clip *, struct part *, const unsigned char *, size_t,
                                   size_t))
{
    const size_t n = p->d.n, width = (n + PARTS - 1) / PARTS;
#pragma omp parallel for num_threads(p->d.nthread) if (p->d.nthread > 1)
    for (size_t k = 0; k < PARTS; k++) {
        size_t first = k * width < n ? k * width : n;
        size_t end = first + width < n ? first + width : n;
        step(p, &p->part[k], in, first, end - first);
    }
}

size_t psr_rfi_clip_find(psr_rfi_clip *p, const void *in, const float **level, const uint32_t **bad)
{
    struct psr_clip_block block;
    size_t nbad = 0;
    run_parts(p, in, sum_part);
    psr_clip_measure(&block, p->z, p->d.n, p->good, p->work, PSR_MOMENTS_RUNNING);
    if (!p->exact || block.ngood < p->d.n)
        run_parts(p, in, sum_good_part);
    memset(p->sum, 0, p->d.layout.nchan * sizeof *p->sum);
    for (size_t k = 0; k < PARTS; k++)
        for (size_t c = 0; c < p->d.layout.nchan; c++)
            p->sum[c] += p->part[k].sum[c];
    psr_clip_update(&p->clip, &block, p->sum);
    psr_clip_find(&p->clip, p->z, p->d.n, p->bad);
    for (size_t t = 0; t < p->d.n; t++)
        if (p->bad[t])
            p->list[nbad++] = (uint32_t)t;
    *level = p->clip.level;
    *bad = p->list;
    return nbad;
}

const float *psr_rfi_clip_sums(psr_rfi_clip *p, const void *in)
{
    if (in)
        run_parts(p, in, sum_part);
    return p->z;
}

/* Finds interference in the sums of all channels. */

/* --- finds outliers of a series from its running median --------------------------------------- */

static const double PER_SIGMA = 1.3489795; /* inter-quartile range of a Gaussian */

struct windows {
    size_t n, length, count; /* samples; of each window but the last; windows */
    float *median, *range;   /* [count] */
};

static size_t start_of(const struct windows *w, size_t k)
{
    return k == w->count ? w->n : k * w->length;
}

static double middle_of(const struct windows *w, size_t k)
{
    return ((double)start_of(w, k) + (double)start_of(w, k + 1) - 1) / 2;
}

static void measure_windows(struct windows *w, const float *x)
{
    for (size_t k = 0; k < w->count; k++) {
        const float *from = x + start_of(w, k);
        const size_t n = start_of(w, k + 1) - start_of(w, k);
        w->median[k] = psr_quantile_select(from, n, n / 2);
        w->range[k] = psr_quantile_select(from, n, 3 * n / 4) - psr_quantile_select(from, n, n / 4);
    }
}

/* The running median at t, in windows k and k + 1; of the outer halves at the ends it is flat. */
static float level_at(const struct windows *w, size_t k, size_t t)
{
    if (w->count == 1)
        return w->median[0];
    const double a = middle_of(w, k), b = middle_of(w, k + 1);
    const double share = fmin(fmax(((double)t - a) / (b - a), 0), 1);
    return (float)((double)w->median[k] +
                   share * ((double)w->median[k + 1] - (double)w->median[k]));
}

psr_status psr_rfi_outliers(const float *x, size_t n, size_t window, double sigma, float *level,
                            unsigned char *bad, size_t *nbad, psr_err *err)
{
    const size_t count = (n + window / 2) / window;
    struct windows w = {.n = n, .length = window, .count = count ? count : 1};
    *nbad = 0;
    if (!n)
        return PSR_OK;
    w.median = malloc(w.count * sizeof *w.median);
    w.range = malloc(w.count * sizeof *w.range);
    psr_status st = PSR_OK;
    if (!w.median || !w.range) {
        st = psr_fail_nomem(err, "running medians", 8 * (double)w.count);
    } else {
        measure_windows(&w, x);
        const double range = (double)psr_quantile_select(w.range, w.count, w.count / 2);
        const double limit = sigma * range / PER_SIGMA;
        *nbad = 0;
        for (size_t t = 0, k = 0; t < w.n; t++) {
            while (k + 2 < w.count && (double)t > middle_of(&w, k + 1))
                k++;
            const float at = level_at(&w, k, t);
            bad[t] = limit > 0 && fabs((double)x[t] - (double)at) > limit;
            *nbad += bad[t];
            if (level)
                level[t] = at;
        }
    }
    free(w.median);
    free(w.range);
    return st;
}

struct psr_rfi_dm0 {
    size_t n;
    double burst_sigma;
    float *sum, *level; /* [n] */
    unsigned char *bad; /* [n] */
    float last;         /* running median at the end of the last interval */
    psr_rfi_line_search *search;
};

void psr_rfi_dm0_destroy(psr_rfi_dm0 *p)
{
    if (!p)
        return;
    free(p->sum);
    free(p->level);
    free(p->bad);
    psr_rfi_line_search_destroy(p->search);
    free(p);
}

psr_status psr_rfi_dm0_create(psr_rfi_dm0 **out, size_t n, double tsamp_s, double burst_sigma,
                              double line_sigma, psr_err *err)
{
    psr_rfi_dm0 *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "the sums of channels", sizeof *p);
    p->n = n;
    p->burst_sigma = burst_sigma;
    p->sum = malloc(n * sizeof *p->sum);
    p->level = malloc(n * sizeof *p->level);
    p->bad = malloc(n);
    psr_status st = PSR_OK;
    if (!p->sum || !p->level || !p->bad)
        st = psr_fail_nomem(err, "the sums of channels", 9 * (double)n);
    if (!st && line_sigma > 0)
        st = psr_rfi_line_search_create(&p->search, tsamp_s, PSR_RFI_LINES_LENGTH, line_sigma, err);
    if (st) {
        psr_rfi_dm0_destroy(p);
        *out = NULL;
    }
    return st;
}

/* The value before, or 0, stands for those that are not finite. */
static void take_finite(psr_rfi_dm0 *p, const float *sum)
{
    float last = p->last;
    for (size_t t = 0; t < p->n; t++) {
        last = isfinite(sum[t]) ? sum[t] : last;
        p->sum[t] = last;
    }
}

/* In bursts or not finite; what stands for the latter may be in a burst, too. */
static size_t count_bad(const psr_rfi_dm0 *p, const float *sum)
{
    size_t nbad = 0;
    for (size_t t = 0; t < p->n; t++)
        nbad += p->bad[t] || !isfinite(sum[t]);
    return nbad;
}

psr_status psr_rfi_dm0_push(psr_rfi_dm0 *p, const float *sum, float *share, psr_err *err)
{
    size_t nbad;
    if (!sum) {
        *share = 0;
        for (size_t t = 0; t < p->n; t++)
            p->sum[t] = p->last;
        return p->search ? psr_rfi_line_search_push(p->search, p->sum, p->n, err) : PSR_OK;
    }
    take_finite(p, sum);
    psr_status st = psr_rfi_outliers(p->sum, p->n, PSR_RFI_WINDOW, p->burst_sigma, p->level, p->bad,
                                     &nbad, err);
    if (st)
        return st;
    *share = (float)((double)count_bad(p, sum) / (double)p->n);
    p->last = p->level[p->n - 1];
    for (size_t t = 0; t < p->n; t++)
        p->sum[t] = p->bad[t] ? p->level[t] : p->sum[t];
    return p->search ? psr_rfi_line_search_push(p->search, p->sum, p->n, err) : PSR_OK;
}

psr_status psr_rfi_dm0_finish(psr_rfi_dm0 *p, struct psr_rfi_lines *lines, psr_err *err)
{
    *lines = (struct psr_rfi_lines){0};
    return p->search ? psr_rfi_line_search_finish(p->search, lines, err) : PSR_OK;
}
