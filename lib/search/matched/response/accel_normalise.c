/* Divides bins by the square root of the local mean power. */
#include "response.h"

#include "base/threads/isa.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_BLOCK = 1024, MOST_BLOCK = 8192, NEAR = 6, FAR = 15 };

struct psr_accel_normalise {
    const struct psr_accel_search *s;
    size_t nblock, longest;
    int64_t *first; /* [nblock + 1] */
    double *mean;   /* [nblock] power */
    struct psr_accelsearch_input in;
};

/* --- blocks ----------------------------------------------------------------------------------- */

static int64_t length_of(int64_t k, int64_t least)
{
    int64_t n = k / 4 < LEAST_BLOCK ? LEAST_BLOCK : k / 4;
    n = n < MOST_BLOCK ? n : MOST_BLOCK;
    return n > least ? n : least;
}

/* A rest that is too short for a block belongs to the last block. */
static size_t cut_blocks(int64_t *first, int64_t nbin, int64_t least)
{
    size_t n = 0;
    int64_t k = 1;
    do {
        if (first)
            first[n] = k;
        k += length_of(k, least);
        n++;
    } while (nbin - k >= length_of(k, least) / 2);
    if (first)
        first[n] = nbin;
    return n;
}

psr_status psr_accel_normalise_create(struct psr_accel_normalise **out,
                                      const struct psr_accel_search *s, int reach, psr_err *err)
{
    struct psr_accel_normalise *norm = calloc(1, sizeof *norm);
    *out = norm;
    if (!norm)
        return psr_fail_nomem(err, "levels", sizeof *norm);
    norm->s = s;
    norm->nblock = cut_blocks(NULL, (int64_t)s->nbin, 8 * (int64_t)reach);
    norm->first = malloc((norm->nblock + 1) * sizeof *norm->first);
    norm->mean = malloc(norm->nblock * sizeof *norm->mean);
    if (!norm->first || !norm->mean) {
        psr_status st = psr_fail_nomem(err, "levels", 16.0 * (double)norm->nblock);
        psr_accel_normalise_destroy(norm);
        *out = NULL;
        return st;
    }
    cut_blocks(norm->first, (int64_t)s->nbin, 8 * (int64_t)reach);
    for (size_t b = 0; b < norm->nblock; b++) {
        size_t n = (size_t)(norm->first[b + 1] - norm->first[b]);
        norm->longest = n > norm->longest ? n : norm->longest;
    }
    return PSR_OK;
}

void psr_accel_normalise_destroy(struct psr_accel_normalise *norm)
{
    if (!norm)
        return;
    free(norm->first);
    free(norm->mean);
    free(norm);
}

/* --- measuring -------------------------------------------------------------------------------- */

/* The first span that ends behind bin k. */
static size_t span_behind(const struct psr_accel_search *s, int64_t k)
{
    size_t lo = 0, hi = s->nzap;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (s->zap[mid].first + s->zap[mid].count > k)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static double measure_block(const struct psr_accel_normalise *norm, size_t b, float *power)
{
    const struct psr_accel_search *s = norm->s;
    size_t n = 0, z = span_behind(s, norm->first[b]);
    for (int64_t k = norm->first[b]; k < norm->first[b + 1]; k++) {
        while (z < s->nzap && k >= s->zap[z].first + s->zap[z].count)
            z++;
        if (z < s->nzap && k >= s->zap[z].first)
            continue;
        const float *bin = norm->in.x + 2 * k;
        power[n++] = bin[0] * bin[0] + bin[1] * bin[1];
    }
    return n ? psr_quantile_median(power, n) / M_LN2 : 0;
}

psr_status psr_accel_normalise_measure(struct psr_accel_normalise *norm,
                                       const struct psr_accelsearch_input *in, psr_err *err)
{
    bool complete = true;
    norm->in = *in;
    if (norm->s->norm != PSR_ACCELSEARCH_MEDIAN)
        return PSR_OK;
#pragma omp parallel num_threads(norm->s->nthread)
    {
        float *power = malloc(norm->longest * sizeof *power);
#pragma omp for schedule(dynamic)
        for (size_t b = 0; b < norm->nblock; b++)
            if (power)
                norm->mean[b] = measure_block(norm, b, power);
        if (!power) {
#pragma omp atomic write
            complete = false;
        }
        free(power);
    }
    return complete ? PSR_OK : psr_fail_nomem(err, "levels", 4.0 * (double)norm->longest);
}

void psr_accel_normalise_take(struct psr_accel_normalise *norm,
                              const struct psr_accelsearch_input *in, const double *mean)
{
    norm->in = *in;
    memcpy(norm->mean, mean, norm->nblock * sizeof *mean);
}

size_t psr_accel_normalise_blocks(const struct psr_accel_normalise *norm, const int64_t **first,
                                  size_t *longest)
{
    *first = norm->first;
    *longest = norm->longest;
    return norm->nblock;
}

/* --- bins ------------------------------------------------------------------------------------- */

static double middle(const struct psr_accel_normalise *norm, size_t b)
{
    return (double)(norm->first[b] + norm->first[b + 1]) / 2;
}

static size_t block_with(const struct psr_accel_normalise *norm, int64_t k)
{
    size_t lo = 0, hi = norm->nblock - 1;
    while (lo < hi) {
        size_t mid = (lo + hi + 1) / 2;
        if (norm->first[mid] <= k)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

static double power_of(const struct psr_accel_normalise *norm, int64_t k)
{
    const float *bin = norm->in.x + 2 * k;
    double re = (double)bin[0], im = (double)bin[1];
    return re * re + im * im;
}

static void clear_zapped(const struct psr_accel_search *s, int64_t first, size_t n, float *x)
{
    const int64_t end = first + (int64_t)n;
    for (size_t z = span_behind(s, first); z < s->nzap && s->zap[z].first < end; z++) {
        int64_t from = s->zap[z].first > first ? s->zap[z].first : first;
        int64_t to =
            s->zap[z].first + s->zap[z].count < end ? s->zap[z].first + s->zap[z].count : end;
        memset(x + (from - first), 0, (size_t)(to - from) * sizeof *x);
    }
}

/* The first bin at or behind the middle of block b; beyond all where there is no such block. */
static int64_t bin_behind(const struct psr_accel_normalise *norm, size_t b)
{
    return b < norm->nblock ? (norm->first[b] + norm->first[b + 1] + 1) / 2 : INT64_MAX;
}

PSR_CLONES
static void fill_ramp(float *mean, size_t n, double first, double middle, double far, double from,
                      double by)
{
    for (size_t i = 0; i < n; i++)
        mean[i] = (float)(from + by * (first + (double)(int)i - middle) / far);
}

/* Levels between the middles of blocks. */
static void fill_between(const struct psr_accel_normalise *norm, int64_t first, size_t n,
                         float *mean)
{
    const int64_t end = first + (int64_t)n;
    size_t left = block_with(norm, first);
    if (left > 0 && first < bin_behind(norm, left))
        left--;
    for (int64_t k = first, next; k < end; k = next) {
        while (k >= bin_behind(norm, left + 1))
            left++;
        const int64_t behind = bin_behind(norm, left);
        const bool ramp = left + 1 < norm->nblock && k >= behind;
        next = k >= behind ? bin_behind(norm, left + 1) : behind;
        next = next < end ? next : end;
        float *to = mean + (k - first);
        if (ramp)
            fill_ramp(to, (size_t)(next - k), (double)k, middle(norm, left),
                      middle(norm, left + 1) - middle(norm, left), norm->mean[left],
                      norm->mean[left + 1] - norm->mean[left]);
        else
            for (int64_t i = 0; i < next - k; i++)
                to[i] = (float)norm->mean[left];
    }
}

/* Bins first .. first + n - 1 exist. */
static void fill_levels(const struct psr_accel_normalise *norm, int64_t first, size_t n,
                        float *mean)
{
    switch (norm->s->norm) {
    case PSR_ACCELSEARCH_MEDIAN:
        fill_between(norm, first, n, mean);
        break;
    case PSR_ACCELSEARCH_LOCAL: {
        /* The mean of bins NEAR .. FAR away to both sides. */
        const int64_t nbin = (int64_t)norm->s->nbin;
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            int count = 0;
            for (int64_t d = NEAR; d <= FAR; d++)
                for (int side = -1; side <= 1; side += 2) {
                    int64_t k = first + (int64_t)i + side * d;
                    bool exists = k > 0 && k < nbin;
                    sum += exists ? power_of(norm, k) : 0;
                    count += exists;
                }
            mean[i] = count ? (float)(sum / count) : 0;
        }
    } break;
    case PSR_ACCELSEARCH_PHOTON:
        for (size_t i = 0; i < n; i++)
            mean[i] = (float)norm->in.photons;
    }
}

double psr_accel_normalise_at(const struct psr_accel_normalise *norm, int64_t k)
{
    const int64_t last = (int64_t)norm->s->nbin - 1;
    float mean = 0;
    fill_levels(norm, k < 1 ? 1 : k > last ? last : k, 1, &mean);
    return (double)mean;
}

void psr_accel_normalise_scale(const struct psr_accel_normalise *norm, int64_t first, size_t n,
                               float *scale)
{
    const struct psr_accel_search *s = norm->s;
    memset(scale, 0, n * sizeof *scale);
    int64_t from = first > 1 ? first : 1, end = first + (int64_t)n;
    end = end < (int64_t)s->nbin ? end : (int64_t)s->nbin;
    if (from >= end)
        return;
    float *level = scale + (from - first);
    fill_levels(norm, from, (size_t)(end - from), level);
    for (int64_t i = 0; i < end - from; i++)
        level[i] = level[i] > 0 ? 1 / sqrtf(level[i]) : 0;
    clear_zapped(s, first, n, scale);
}

void psr_accel_normalise_load(const struct psr_accel_normalise *norm, int64_t first, size_t n,
                              struct psr_split out)
{
    const int64_t nbin = (int64_t)norm->s->nbin;
    psr_accel_normalise_scale(norm, first, n, out.re);
    memset(out.im, 0, n * sizeof *out.im);
    for (size_t i = first < 1 ? (size_t)(1 - first) : 0; i < n && first + (int64_t)i < nbin; i++) {
        const float *x = norm->in.x + 2 * (first + (int64_t)i), scale = out.re[i];
        out.re[i] = x[0] * scale;
        out.im[i] = x[1] * scale;
    }
    clear_zapped(norm->s, first, n, out.re);
    clear_zapped(norm->s, first, n, out.im);
}
