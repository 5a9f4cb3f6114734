/* Takes red noise out of a series: a median over two periods leaves what is faster. */
#include "base/tool.h"
#include "ffasearch_state.h"
#include "formats/series/series_internal.h"
#include "stats/stats.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Noise is measured in samples of 5 ms or longer, and taken out below 25 Hz where it is three times as strong as above, or
 * five times where a median is that of few bins, four of which a pulsar's line may have; in a series with such noise, all
 * above half as much again. */
#define COARSE_S      5e-3
#define MOST_HZ       25.0
#define LEAST_REDNESS 3.0f
#define REST_REDNESS  1.5f
enum { LEAST_COARSE = 1024, LEAST_HALF = 5, MOST_HALF = 200, CLIP = 5 };

/* Parts of a series, each half over the next. */
enum { PARTS = 8, NPART = 2 * PARTS - 1 };

/* A series in sums of "times" samples. */
struct coarse {
    size_t n, times;    /* n is even */
    float *x, *clipped; /* [n + 2]; clipped is x without its outliers */
    float *work;        /* [n + 2] */
    float *all;         /* [n / 2] powers of the whole */
    float *part;        /* [n / 2 / PARTS] and of its parts, medians */
    float line[2];      /* that was subtracted from x, at its ends */
};

/* Sums beside each other do not wait for one another.  Returned: false if a sum is not finite */
static bool sum_samples(struct coarse *c, const float *x)
{
    enum { BESIDE = 4 };
    double all = 0;
    for (size_t i = 0; i < c->n; i += BESIDE) {
        const size_t last = c->n - i < BESIDE ? c->n - i - 1 : BESIDE - 1;
        const float *from[BESIDE];
        double sum[BESIDE] = {0};
        for (size_t j = 0; j < BESIDE; j++)
            from[j] = x + (i + (j < last ? j : last)) * c->times;
        for (size_t k = 0; k < c->times; k++)
            for (size_t j = 0; j < BESIDE; j++)
                sum[j] += (double)from[j][k];
        for (size_t j = 0; j <= last; j++) {
            c->x[i + j] = (float)(sum[j] / (double)c->times);
            all += (double)c->x[i + j];
        }
    }
    for (size_t i = 0; i < c->n; i++)
        c->x[i] -= (float)(all / (double)c->n);
    return isfinite(all);
}

/* A burst and a drop-out have power at all frequencies. */
static void clip_outliers(const struct coarse *c)
{
    float *x = c->clipped;
    const float middle = psr_quantile_select(c->x, c->n, c->n / 2);
    for (size_t i = 0; i < c->n; i++)
        x[i] = fabsf(c->x[i] - middle);
    const float most = CLIP * 1.4826f * psr_quantile_select(x, c->n, c->n / 2);
    for (size_t i = 0; i < c->n; i++)
        x[i] = fminf(fmaxf(c->x[i], middle - most), middle + most);
}

/* A transform of n values with weights that keep a line within four bins. */
struct weighted {
    struct weighted *next;
    size_t n;
    psr_rfft *plan;
    float *weight; /* [n] */
};

/* Those of all lengths so far: to plan one takes longer than to run it, and only one thread at a time can. */
struct psr_ffasearch_weights {
    pthread_mutex_t lock;
    struct weighted *first;
};

psr_status psr_ffasearch_weights_create(struct psr_ffasearch_weights **out, psr_err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return psr_fail_nomem(err, "spectra", sizeof **out);
    pthread_mutex_init(&(*out)->lock, NULL);
    return PSR_OK;
}

static void weighted_destroy(struct weighted *w)
{
    psr_rfft_destroy(w->plan);
    free(w->weight);
    free(w);
}

void psr_ffasearch_weights_destroy(struct psr_ffasearch_weights *all)
{
    if (!all)
        return;
    for (struct weighted *w = all->first, *next; w; w = next) {
        next = w->next;
        weighted_destroy(w);
    }
    pthread_mutex_destroy(&all->lock);
    free(all);
}

static psr_status weighted_create(struct weighted **out, size_t n, psr_err *err)
{
    struct weighted *w = calloc(1, sizeof *w);
    float *weight = malloc(n * sizeof *weight);
    psr_status st = w && weight ? psr_rfft_create(&w->plan, (int64_t)n, err)
                                : psr_fail_nomem(err, "a spectrum", 4.0 * (double)n);
    if (st) {
        free(weight);
        free(w);
        return st;
    }
    w->n = n;
    w->weight = weight;
    for (size_t i = 0; i < n; i++)
        weight[i] = (float)(1 - cos(2 * M_PI * ((double)i + 0.5) / (double)n));
    *out = w;
    return PSR_OK;
}

static psr_status find_weighted(struct psr_ffasearch_weights *all, size_t n,
                                const struct weighted **out, psr_err *err)
{
    psr_status st = PSR_OK;
    pthread_mutex_lock(&all->lock);
    struct weighted *w = all->first;
    while (w && w->n != n)
        w = w->next;
    if (!w && !(st = weighted_create(&w, n, err))) {
        w->next = all->first;
        all->first = w;
    }
    pthread_mutex_unlock(&all->lock);
    *out = w;
    return st;
}

/* Powers of x over the median of the upper half. */
static void measure(struct coarse *c, const struct weighted *w, const float *x, float *power)
{
    const size_t n = w->n;
    for (size_t i = 0; i < n; i++)
        c->work[i] = x[i] * w->weight[i];
    psr_rfft_execute_centred(w->plan, c->work, c->work);
    power[0] = 0;
    for (size_t k = 1; k < n / 2; k++)
        power[k] = c->work[2 * k] * c->work[2 * k] + c->work[2 * k + 1] * c->work[2 * k + 1];
    const float white = psr_quantile_select(power + n / 4, n / 2 - n / 4, n / 8);
    for (size_t k = 1; k < n / 2 && white > 0; k++)
        power[k] /= white;
}

/* Medians of the powers of all parts. */
static psr_status measure_parts(struct coarse *c, const struct weighted *w, psr_err *err)
{
    const size_t n = w->n, nbin = n / 2;
    float *each = malloc(NPART * nbin * sizeof *each), at[NPART];
    if (!each)
        return psr_fail_nomem(err, "spectra", 4.0 * NPART * (double)nbin);
    for (size_t p = 0; p < NPART; p++)
        measure(c, w, c->clipped + p * (c->n - n) / (NPART - 1), each + p * nbin);
    for (size_t k = 0; k < nbin; k++) {
        for (size_t p = 0; p < NPART; p++)
            at[p] = each[p * nbin + k];
        c->part[k] = psr_quantile_select(at, NPART, NPART / 2);
    }
    free(each);
    return PSR_OK;
}

/* The median power around bin k, of nbin. */
static float find_level(const float *power, size_t nbin, size_t k, size_t half)
{
    const size_t lo = k > half ? k - half : 1, end = k + half + 1 < nbin ? k + half + 1 : nbin;
    return psr_quantile_select(power + lo, end - lo, (end - lo) / 2);
}

/* How red noise is at bin k.  The whole has lines of a pulsar of ten turns apart from each other, and of parts few have
 * a drop-out: both must be red. */
static float find_redness(const struct coarse *c, size_t k, size_t half)
{
    const float all = find_level(c->all, c->n / 2, k, half);
    const size_t nbin = c->n / PARTS / 2, at = (k + PARTS / 2) / PARTS;
    if (at < 2 || at >= nbin)
        return all;
    return fminf(all, find_level(c->part, nbin, at, at / 4));
}

/* Windows of bins from 1 on: the one at k is half as wide as its bins on either side. */
static size_t find_half(size_t k)
{
    return k / 4 < LEAST_HALF ? LEAST_HALF : k / 4 > MOST_HALF ? MOST_HALF : k / 4;
}

static size_t find_step(size_t k, size_t end)
{
    const size_t step = find_half(k) / 4 > 1 ? find_half(k) / 4 : 1;
    return step < end - k ? step : end - k;
}

static bool is_red(const struct coarse *c, size_t end)
{
    bool any = false;
    for (size_t k = 1; k < end && !any; k += find_step(k, end))
        any = find_redness(c, k, find_half(k)) > LEAST_REDNESS + 10 / (float)find_half(k);
    return any;
}

/* Bins of c->x, a spectrum, become those of the red noise. */
static void keep_red(const struct coarse *c, size_t end)
{
    c->x[0] = c->x[1] = 0;
    for (size_t k = 1, step; k < end; k += step) {
        const float redness = find_redness(c, k, find_half(k));
        const float share = redness > REST_REDNESS ? 1 - 1 / sqrtf(redness) : 0;
        step = find_step(k, end);
        for (size_t i = 2 * k; i < 2 * (k + step); i++)
            c->x[i] *= share;
    }
    memset(c->x + 2 * end, 0, (c->n - 2 * end) * sizeof *c->x);
}

/* Makes the ends of the series meet, as a transform has it. */
static void take_line(struct coarse *c)
{
    const float first = c->x[0], last = c->x[c->n - 1];
    psr_series_detrend_ends(c->x, (int64_t)c->n);
    c->line[0] = first - c->x[0];
    c->line[1] = last - c->x[c->n - 1];
}

/* Subtracts red noise, by lines between the middles of sums: in parts at the ends medians see only one side of a line
 * through all. */
static void subtract(const struct coarse *c, float *x, size_t nsamp)
{
    const double times = (double)c->times;
    const float rise = (c->line[1] - c->line[0]) / (float)(c->n - 1);
    for (size_t i = 0; i < c->n; i++)
        c->x[i] += c->line[0] + rise * (float)i;
    for (size_t t = 0; t < nsamp; t++) {
        const double at = fmin(fmax(((double)t + 0.5) / times - 0.5, 0), (double)c->n - 1);
        const size_t i = at < (double)c->n - 2 ? (size_t)at : c->n - 2;
        x[t] -= c->x[i] + (c->x[i + 1] - c->x[i]) * (float)(at - (double)i);
    }
}

static psr_status whiten(struct coarse *c, struct psr_ffasearch_weights *weights, float *x,
                         size_t nsamp, size_t end, psr_err *err)
{
    const int64_t n = (int64_t)c->n;
    const struct weighted *whole, *part;
    if (!sum_samples(c, x))
        return PSR_OK;
    take_line(c);
    clip_outliers(c);
    psr_status st = find_weighted(weights, c->n, &whole, err);
    if (!st)
        st = find_weighted(weights, c->n / PARTS / 2 * 2, &part, err);
    if (st)
        return st;
    measure(c, whole, c->clipped, c->all);
    st = measure_parts(c, part, err);
    if (st || !is_red(c, end))
        return st;
    st = psr_spectrum_transform(c->x, n, false, err);
    keep_red(c, end);
    if (!st)
        st = psr_spectrum_transform(c->x, n, true, err);
    if (!st)
        subtract(c, x, nsamp);
    return st;
}

psr_status psr_ffasearch_prepare(const psr_ffasearch *f, float *x, int64_t nsamp, double tsamp_s,
                                 psr_err *err)
{
    struct coarse c = {.times = (size_t)fmax(1, floor(COARSE_S / tsamp_s))};
    c.n = (size_t)nsamp / c.times / 2 * 2;
    const double all_s = (double)(c.n * c.times) * tsamp_s;
    /* The level is that of the upper half of the spectrum. */
    const size_t end = (size_t)fmin(MOST_HZ * all_s, (double)(c.n / 4));
    if (f->d.rmed_s > 0 || f->d.rmed_s < 0 || c.n < LEAST_COARSE)
        return PSR_OK;
    const size_t each = (c.n + 2 + 15) / 16 * 16; /* aligned, as transforms have it */
    float *room = malloc(4 * each * sizeof *room);
    if (!room)
        return psr_fail_nomem(err, "a spectrum", 16.0 * (double)each);
    c.x = room;
    c.clipped = c.x + each;
    c.work = c.clipped + each;
    c.all = c.work + each;
    c.part = c.all + c.n / 2;
    const psr_status st = whiten(&c, f->weights, x, (size_t)nsamp, end, err);
    free(room);
    return st;
}
