/* Marks cells whose samples are distributed unlike those of their channel in other intervals. */
#include "base/base.h"
#include "rfi_detectors.h"

#include "stats/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- finds channels that are out of line with their neighbours, by votes ---------------------- */

static const double PER_SIGMA = 1.3489795; /* inter-quartile range of a Gaussian */

/* Of 2^20 channels there are 30. */
enum { MOST_LAGS = 32 };

struct psr_rfi_iqrm {
    size_t nchan;
    float sigma;
    struct psr_own own;
    float *difference;          /* [nchan] */
    uint32_t *cast, *received;  /* [nchan] votes */
    float limit[2 * MOST_LAGS]; /* of each lag, down and up */
};

psr_status psr_rfi_iqrm_create(psr_rfi_iqrm **out, size_t nchan, double sigma, psr_err *err)
{
    psr_rfi_iqrm *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "votes", sizeof *p);
    p->nchan = nchan;
    p->sigma = (float)sigma;
    p->difference = psr_own(&p->own, nchan, sizeof *p->difference);
    p->cast = psr_own(&p->own, nchan, sizeof *p->cast);
    p->received = psr_own(&p->own, nchan, sizeof *p->received);
    psr_status st = psr_own_check(&p->own, "votes", err);
    if (st) {
        psr_rfi_iqrm_destroy(p);
        *out = NULL;
    }
    return st;
}

void psr_rfi_iqrm_destroy(psr_rfi_iqrm *p)
{
    if (!p)
        return;
    psr_own_free(&p->own);
    free(p);
}

static size_t next_lag(size_t lag)
{
    return lag < 4 ? lag + 1 : lag + lag / 2;
}

static size_t largest_lag(const psr_rfi_iqrm *p)
{
    return p->nchan / 10;
}

/* The channel that channel c is compared with. */
static size_t voter_of(size_t c, size_t lag, bool up)
{
    return up ? c + lag : c - lag;
}

/* Returned: the difference above which a channel gets a vote; infinite: there is no scatter */
static float find_limit(const float *difference, size_t n, float sigma)
{
    const float low = psr_quantile_select(difference, n, n / 4);
    const float middle = psr_quantile_select(difference, n, n / 2);
    const float high = psr_quantile_select(difference, n, 3 * n / 4);
    if (!(high > low))
        return INFINITY;
    return middle + sigma * (float)((double)(high - low) / PER_SIGMA);
}

/* Calls count for every vote against a channel at this lag. */
static void vote(psr_rfi_iqrm *p, size_t lag, bool up, float limit,
                 void (*count)(psr_rfi_iqrm *, size_t voter, size_t c, unsigned char *),
                 unsigned char *bad)
{
    const size_t first = up ? 0 : lag;
    for (size_t k = 0; k < p->nchan - lag; k++)
        if (p->difference[k] > limit)
            count(p, voter_of(first + k, lag, up), first + k, bad);
}

static void count_vote(psr_rfi_iqrm *p, size_t voter, size_t c, unsigned char *bad)
{
    (void)bad;
    p->cast[voter]++;
    p->received[c]++;
}

static void apply_vote(psr_rfi_iqrm *p, size_t voter, size_t c, unsigned char *bad)
{
    if (p->cast[voter] < p->received[c])
        bad[c] = 1;
}

void psr_rfi_iqrm_find(psr_rfi_iqrm *p, const float *x, unsigned char *bad)
{
    memset(p->cast, 0, p->nchan * sizeof *p->cast);
    memset(p->received, 0, p->nchan * sizeof *p->received);
    memset(bad, 0, p->nchan);
    for (int pass = 0; pass < 2; pass++) {
        float *limit = p->limit;
        for (size_t lag = 1; lag <= largest_lag(p); lag = next_lag(lag))
            for (int up = 0; up < 2; up++, limit++) {
                const size_t n = p->nchan - lag, first = up ? 0 : lag;
                for (size_t k = 0; k < n; k++)
                    p->difference[k] = x[first + k] - x[voter_of(first + k, lag, up)];
                if (!pass)
                    *limit = find_limit(p->difference, p->nchan - lag, p->sigma);
                vote(p, lag, up, *limit, pass ? apply_vote : count_vote, bad);
            }
    }
}

enum {
    OWN_SCATTER = 8,     /* intervals from which a channel has a scatter of its own */
    MANY_INTERVALS = 32, /* intervals whose median is nearly the mean */
};

static const double MOST_SCATTER = 3; /* of a channel, times that of all */
static const double BITS = 1e-5;      /* rounding of the kurtosis of bits */

struct shape_test {
    struct psr_own own;
    const struct psr_rfi_cell *cell;
    size_t nint, nchan;
    unsigned char *found;
    struct psr_rfi_noise *noise; /* [nchan] */
    size_t *count;               /* [nchan] cells with data */
    float *deviation, *all;      /* [nint][nchan] in units of a standard deviation; compact copy */
    float *column;               /* [nint] */
};

struct psr_rfi_cell psr_rfi_cell_from_moments(const struct psr_rfi_moments *m)
{
    return (struct psr_rfi_cell){(float)m->n, (float)m->mean, (float)m->m2,
                                 (float)psr_rfi_skewness(m), (float)psr_rfi_kurtosis(m)};
}

static bool has_data(const struct psr_rfi_cell *c)
{
    return c->n > 7 && c->m2 > 0 && isfinite(c->m2) && isfinite(c->mean) && isfinite(c->kurtosis);
}

/* --- noise ------------------------------------------------------------------------------------ */

static float shape_of(const struct psr_rfi_cell *c)
{
    const double n = (double)c->n, mean = (double)c->mean;
    return mean > 0 ? (float)(((n - 1) * mean * mean / (double)c->m2 - 1) / n) : 0;
}

static float variance_of(const struct psr_rfi_cell *c)
{
    return c->m2 * c->n / (c->n - 1);
}

static float skewness_of(const struct psr_rfi_cell *c)
{
    return c->skewness;
}

static float kurtosis_of(const struct psr_rfi_cell *c)
{
    return c->kurtosis;
}

static double median_over(struct shape_test *j, size_t chan,
                          float (*value)(const struct psr_rfi_cell *))
{
    size_t n = 0;
    for (size_t k = chan; k < j->nint * j->nchan; k += j->nchan)
        if (has_data(&j->cell[k]))
            j->column[n++] = value(&j->cell[k]);
    j->count[chan] = n;
    return n ? psr_quantile_median(j->column, n) : 0;
}

/* Of two values, and of nothing else, the kurtosis is the square of the skewness less 2. */
static bool has_bits(const struct shape_test *j, size_t chan)
{
    for (size_t k = chan; k < j->nint * j->nchan; k += j->nchan) {
        const double square = (double)j->cell[k].skewness * (double)j->cell[k].skewness;
        if (has_data(&j->cell[k]) &&
            !(fabs((double)j->cell[k].kurtosis + 2 - square) < BITS * (1 + square)))
            return false;
    }
    return true;
}

/* --- deviations ------------------------------------------------------------------------------- */

static double scatter_of(const float *x, size_t n)
{
    if (!n)
        return 0;
    const float low = psr_quantile_select(x, n, n / 4), high = psr_quantile_select(x, n, 3 * n / 4);
    return (double)(high - low) / PER_SIGMA;
}

static double scatter_of_all(struct shape_test *j)
{
    size_t n = 0;
    for (size_t k = 0; k < j->nint * j->nchan; k++)
        if (!isnan(j->deviation[k]))
            j->all[n++] = j->deviation[k];
    return scatter_of(j->all, n);
}

static double scatter_of_channel(struct shape_test *j, size_t chan)
{
    size_t n = 0;
    for (size_t k = chan; k < j->nint * j->nchan; k += j->nchan)
        if (!isnan(j->deviation[k]))
            j->column[n++] = j->deviation[k];
    return n < OWN_SCATTER ? 0 : scatter_of(j->column, n);
}

static void mark(struct shape_test *j, size_t chan, double scatter,
                 const struct psr_rfi_limits *limits, unsigned flag)
{
    const float low = (float)(limits->low * scatter), high = (float)(limits->high * scatter);
    if (!(scatter > 0))
        return;
    for (size_t k = chan; k < j->nint * j->nchan; k += j->nchan)
        if (j->deviation[k] < low || j->deviation[k] > high)
            j->found[k] |= (unsigned char)flag;
}

static size_t most_samples(const struct shape_test *j)
{
    float most = 0;
    for (size_t k = 0; k < j->nint * j->nchan; k++)
        most = fmaxf(most, j->cell[k].n);
    return (size_t)most;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_sk(struct shape_test *j, double sigma)
{
    size_t n = 0;
    for (size_t c = 0; c < j->nchan; c++)
        if (j->count[c] >= PSR_RFI_LEAST_INTERVALS)
            j->all[n++] = (float)fmin(j->noise[c].shape, 1e6);
    const double d =
        n ? fmax((double)psr_quantile_select(j->all, n, n / 2), PSR_RFI_LEAST_SHAPE) : 0;
    if (!(sigma > 0) || !(d > 0))
        return;
    for (size_t k = 0; k < j->nint * j->nchan; k++) {
        const struct psr_rfi_cell *c = &j->cell[k];
        const struct psr_rfi_moments m = {(double)c->n, (double)c->mean, (double)c->m2, 0, 0};
        const size_t chan = k % j->nchan;
        j->deviation[k] = has_data(c) && j->count[chan] >= PSR_RFI_LEAST_INTERVALS
                              ? (float)psr_rfi_sk_deviation(&m, &j->noise[chan])
                              : NAN;
    }
    const struct psr_rfi_limits limits = psr_rfi_sk_limits((double)most_samples(j), d, sigma);
    const double scatter = fmax(scatter_of_all(j), 1);
    for (size_t c = 0; c < j->nchan; c++)
        mark(j, c, scatter, &limits, PSR_RFI_FOUND_SK);
}

static void test_moment(struct shape_test *j, float (*value)(const struct psr_rfi_cell *),
                        const struct psr_rfi_limits *limits, unsigned flag)
{
    /* The middle one of all cells with data. */
    size_t n = 0;
    for (size_t k = 0; k < j->nint * j->nchan; k++)
        if (has_data(&j->cell[k]))
            j->all[n++] = value(&j->cell[k]);
    const double of_all = n ? (double)psr_quantile_select(j->all, n, n / 2) : 0;
    for (size_t c = 0; c < j->nchan; c++) {
        const bool few = j->count[c] < PSR_RFI_LEAST_INTERVALS, bits = has_bits(j, c);
        const double own =
            flag == PSR_RFI_FOUND_SKEWNESS ? j->noise[c].skewness : j->noise[c].kurtosis;
        const double median = few ? of_all : own;
        for (size_t k = c; k < j->nint * j->nchan; k += j->nchan)
            j->deviation[k] =
                has_data(&j->cell[k]) && !bits
                    ? (float)(((double)value(&j->cell[k]) - median) * sqrt((double)j->cell[k].n))
                    : NAN;
    }
    /* Scatter about medians of few intervals, for that about the mean: the middle half of deviations from
     * the median of n values is narrower by 1.2 / n of itself, to 3 % for n = 4 and 2 % beyond. */
    const double scatter = scatter_of_all(j);
    size_t i = 0;
    for (size_t c = 0; c < j->nchan; c++)
        if (j->count[c] >= PSR_RFI_LEAST_INTERVALS)
            j->all[i++] = (float)j->count[c];
    const double typical = i ? (double)psr_quantile_select(j->all, i, i / 2) : MANY_INTERVALS;
    const double all = typical < MANY_INTERVALS ? scatter / (1 - 1.2 / typical) : scatter;
    for (size_t c = 0; c < j->nchan; c++)
        mark(j, c, fmin(fmax(all, scatter_of_channel(j, c)), MOST_SCATTER * all), limits, flag);
}

static psr_status allocate(struct shape_test *j, psr_err *err)
{
    const size_t n = j->nint * j->nchan;
    j->noise = psr_own(&j->own, j->nchan, sizeof *j->noise);
    j->count = psr_own(&j->own, j->nchan, sizeof *j->count);
    j->deviation = psr_own(&j->own, n, sizeof *j->deviation);
    j->all = psr_own(&j->own, n > j->nchan ? n : j->nchan, sizeof *j->all);
    j->column = psr_own(&j->own, j->nint, sizeof *j->column);
    return psr_own_check(&j->own, "a comparison of intervals", err);
}

psr_status psr_rfi_test_shapes(const struct psr_rfi_cell *cell, size_t nint, size_t nchan,
                               const struct psr_rfi_shape_rules *rules, unsigned char *found,
                               psr_err *err)
{
    struct shape_test j = {.cell = cell, .nint = nint, .nchan = nchan, .found = found};
    psr_status st = nint && nchan ? allocate(&j, err) : PSR_OK;
    if (!st && nint && nchan) {
        const double n = (double)most_samples(&j);
        for (size_t c = 0; c < j.nchan; c++)
            j.noise[c] = (struct psr_rfi_noise){.shape = median_over(&j, c, shape_of),
                                                .variance = median_over(&j, c, variance_of),
                                                .skewness = median_over(&j, c, skewness_of),
                                                .kurtosis = median_over(&j, c, kurtosis_of)};
        test_sk(&j, rules->sk);
        if (rules->skewness > 0 && n > 7) {
            const struct psr_rfi_limits limits = psr_rfi_skewness_limits(n, rules->skewness);
            test_moment(&j, skewness_of, &limits, PSR_RFI_FOUND_SKEWNESS);
        }
        if (rules->kurtosis > 0 && n > 7) {
            const struct psr_rfi_limits limits = psr_rfi_kurtosis_limits(n, rules->kurtosis);
            test_moment(&j, kurtosis_of, &limits, PSR_RFI_FOUND_KURTOSIS);
        }
    }
    psr_own_free(&j.own);
    return st;
}
