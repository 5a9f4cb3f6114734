/* Measures the cells of an interval, and marks those whose samples are distributed unlike others of their channel. */
#include "rfi_detectors.h"

#include "base/base.h"
#include "base/threads/isa.h"
#include "base/threads/threads.h"
#include "rfi/statistics/rfi_statistics.h"
#include "stats/stats.h"
#include <fftw3.h>
#include <float.h>
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
        for (size_t lag = 1; lag <= p->nchan / 10; lag = lag < 4 ? lag + 1 : lag + lag / 2)
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

static psr_status allocate_shapes(struct shape_test *j, psr_err *err)
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
    psr_status st = nint && nchan ? allocate_shapes(&j, err) : PSR_OK;
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

/* --- measures the channels of one interval: mean, standard deviation, moments, powers --------- */

enum { TILE = PSR_RFI_TILE };

/* No power is searched in less than this standard deviation: PRESTO's rule, which depends on the unit of the data. */
static const float PRESTO_SD_LEAST = 1e-4F;

/* Otherwise in less than rounding leaves of a constant channel, in units of its mean. */
static const double ROUNDING = 1e-12;

/* Of one thread. */
struct scratch {
    float *x;              /* [TILE][n] */
    uint8_t *bytes;        /* [width / 2][n][2], instead of x */
    float *pair, *fourier; /* [2][n] two channels, or real and imaginary parts */
    struct psr_rfi_power_room room[2];
    float *sum; /* [2 nbin] */
    struct psr_rfi_hits work;
    psr_status status;
    psr_err err;
};

struct psr_rfi_cells {
    struct psr_rfi_cells_desc d;
    size_t nbin;
    bool bytes;   /* unsigned samples of up to 8 bits */
    size_t width; /* channels of a tile */
    struct psr_rfi_threshold threshold;
    psr_rfi_fft *fft;
    struct scratch *scratch; /* [nthread] */
};

/* --- create and destroy ----------------------------------------------------------------------- */

static bool allocate(psr_rfi_cells *p)
{
    const size_t n = p->d.n;
    bool all = true;
    for (int k = 0; k < p->d.nthread && all; k++) {
        struct scratch *s = &p->scratch[k];
        s->x = fftwf_malloc(p->bytes ? 1 : TILE * n * sizeof *s->x);
        s->bytes = fftwf_malloc(p->bytes ? p->width * n : 1);
        s->pair = fftwf_malloc(2 * n * sizeof *s->pair);
        s->fourier = fftwf_malloc(2 * n * sizeof *s->fourier);
        for (int c = 0; c < 2; c++) {
            s->room[c].whole = fftwf_malloc(p->nbin * sizeof *s->sum);
            s->room[c].half = fftwf_malloc(p->nbin * sizeof *s->sum);
            s->room[c].seed = fftwf_malloc(2 * p->nbin * sizeof *s->room[c].seed);
            all = all && s->room[c].whole && s->room[c].half && s->room[c].seed;
        }
        s->sum = fftwf_malloc(2 * p->nbin * sizeof *s->sum);
        all = all && s->x && s->bytes && s->pair && s->fourier && s->sum;
    }
    return all;
}

psr_status psr_rfi_cells_create(psr_rfi_cells **out, const struct psr_rfi_cells_desc *desc,
                                psr_err *err)
{
    const double bytes = (double)desc->nthread * (4 * TILE + 44) * (double)desc->n;
    psr_rfi_cells *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "statistics", sizeof *p);
    p->d = *desc;
    /* At the Nyquist frequency amplitudes are real: powers exceed a limit far more often. */
    p->nbin = desc->presto ? desc->n / 2 + 1 : (desc->n + 1) / 2;
    p->bytes = desc->layout.kind == PSR_UINT && desc->layout.nbit <= 8;
    /* Wide tiles read memory better; each thread should have some. */
    const size_t wide = PSR_RFI_BYTES_WIDTH;
    bool enough = p->d.layout.nchan >= 2 * wide * (size_t)p->d.nthread;
    p->width = p->bytes && enough ? wide : TILE;
    psr_rfi_threshold_set(&p->threshold, desc->freq_sigma, p->nbin);
    p->scratch = calloc((size_t)desc->nthread, sizeof *p->scratch);
    psr_status st = p->scratch && allocate(p) ? psr_rfi_fft_create(&p->fft, p->d.n, err)
                                              : psr_fail_nomem(err, "statistics", bytes);
    if (st) {
        psr_rfi_cells_destroy(p);
        *out = NULL;
    }
    return st;
}

void psr_rfi_cells_destroy(psr_rfi_cells *p)
{
    if (!p)
        return;
    for (int k = 0; p->scratch && k < p->d.nthread; k++) {
        fftwf_free(p->scratch[k].x);
        fftwf_free(p->scratch[k].bytes);
        fftwf_free(p->scratch[k].pair);
        fftwf_free(p->scratch[k].fourier);
        for (int c = 0; c < 2; c++) {
            fftwf_free(p->scratch[k].room[c].whole);
            fftwf_free(p->scratch[k].room[c].half);
            fftwf_free(p->scratch[k].room[c].seed);
        }
        fftwf_free(p->scratch[k].sum);
        free(p->scratch[k].work.hit);
    }
    psr_rfi_fft_destroy(p->fft);
    free(p->scratch);
    free(p);
}

/* --- one tile --------------------------------------------------------------------------------- */

/* Channels c0 .. c0 + width - 1, time after time: x [width][n]. */
static void transpose_tile(const psr_rfi_cells *p, const unsigned char *in, size_t c0, size_t width,
                           float *x)
{
    const struct psr_layout *l = &p->d.layout;
    const struct psr_layout part = {width, l->nbit, l->kind, l->row_bytes};
    const size_t n = p->d.n, offset = c0 * (size_t)l->nbit / 8;
    for (size_t t = 0; t < n; t++) {
        float sample[TILE];
        psr_spectrum_widen(&part, in + t * l->row_bytes + offset, sample);
        for (size_t k = 0; k < width; k++)
            x[k * n + t] = sample[k];
    }
}

static bool varies(const psr_rfi_cells *p, double mean, float sd)
{
    return p->d.presto ? sd > PRESTO_SD_LEAST : sd >= FLT_MIN && (double)sd > ROUNDING * fabs(mean);
}

/* Returned: the factor that gives a transform whose squares are powers in units of their mean; 0:
 *           nothing to be searched */
static float set_moments(const psr_rfi_cells *p, double mean, double var, size_t c,
                         const struct psr_rfi_row *row)
{
    row->power[c] = 0;
    row->hits[c].n = 0;
    row->mean[c] = (float)mean;
    row->sd[c] = (float)sqrt(var);
    if (!isfinite(row->mean[c]) || !isfinite(row->sd[c])) {
        row->mean[c] = row->sd[c] = 0;
        row->power[c] = FLT_MAX; /* which no mask spares */
        return 0;
    }
    if (!varies(p, mean, row->sd[c]))
        return 0;
    return (float)(1 / ((double)row->sd[c] * sqrt((double)p->d.n)));
}

PSR_CLONES
static void scale_channel(float *restrict to, const float *x, size_t n, float mean, float factor)
{
    for (size_t t = 0; t < n; t++)
        to[t] = (x[t] - mean) * factor;
}

/* Channels a and b, of which s->pair holds the scaled samples, as far as factor is above 0. */
static psr_status search_pair(psr_rfi_cells *p, struct scratch *s, size_t a, size_t b,
                              const float factor[2], const struct psr_rfi_row *row)
{
    struct psr_rfi_powers powers[2];
    psr_status st = PSR_OK;
    psr_rfi_powers_find(psr_isa_find(), psr_rfi_fft_execute(p->fft, s->pair, s->fourier), p->d.n,
                        p->nbin, p->threshold.seed, s->room, powers);
    for (size_t k = 0; k < 2 && !st; k++) {
        const size_t c = k ? b : a;
        if (factor[k] > 0)
            st = psr_rfi_search(&powers[k], &p->threshold, &row->power[c], &row->hits[c], &s->work,
                                p->d.presto ? s->sum : NULL, &s->err);
    }
    return st;
}

/* --- tiles of any samples --------------------------------------------------------------------- */

/* Of good samples.
 * Given: good [n]   overwritten */
static struct psr_rfi_cell describe_floats(const psr_rfi_cells *p, const float *x,
                                           const struct psr_rfi_replaced *r, float *good)
{
    const struct psr_layout *l = &p->d.layout;
    struct psr_rfi_moments m;
    size_t n = 0, from = 0;
    for (size_t k = 0; k <= r->nbad; k++) {
        const size_t end = k < r->nbad ? r->bad[k] : p->d.n;
        memcpy(good + n, x + from, (end - from) * sizeof *x);
        n += end - from;
        from = end + 1;
    }
    m = l->kind != PSR_FLOAT && l->nbit <= 16 ? psr_rfi_moments_of_integers(good, n)
                                              : psr_rfi_moments_of_floats(good, n);
    return psr_rfi_cell_from_moments(&m);
}

static psr_status measure_floats(psr_rfi_cells *p, struct scratch *s, const unsigned char *in,
                                 size_t c0, const struct psr_rfi_replaced *replaced,
                                 const struct psr_rfi_row *row)
{
    const size_t n = p->d.n, left = p->d.layout.nchan - c0, width = left < TILE ? left : TILE;
    float factor[TILE];
    size_t todo[TILE], ntodo = 0;
    transpose_tile(p, in, c0, width, s->x);
    for (size_t k = 0; k < width; k++) {
        if (row->cell)
            row->cell[c0 + k] = p->d.keep[c0 + k]
                                    ? describe_floats(p, s->x + k * n, replaced, s->pair)
                                    : (struct psr_rfi_cell){0};
        if (p->d.keep[c0 + k]) {
            const size_t c = c0 + k;
            float *x = s->x + k * n;
            for (size_t i = 0; i < replaced->nbad; i++)
                x[replaced->bad[i]] = replaced->level[c];
        } else
            memset(s->x + k * n, 0, n * sizeof *s->x);
        double mean, var;
        psr_moments_lanes(s->x + k * n, p->d.n, &mean, &var);
        factor[k] = set_moments(p, mean, var, c0 + k, row);
        if (factor[k] > 0)
            todo[ntodo++] = k;
    }
    psr_status st = PSR_OK;
    for (size_t k = 0; k < ntodo && !st; k += 2) {
        const bool two = k + 1 < ntodo;
        const size_t a = todo[k], b = todo[two ? k + 1 : k];
        const float both[2] = {factor[a], two ? factor[b] : 0};
        scale_channel(s->pair, s->x + a * n, n, row->mean[c0 + a], both[0] / 2);
        scale_channel(s->pair + n, s->x + b * n, n, row->mean[c0 + b], both[1] / 2);
        st = search_pair(p, s, c0 + a, c0 + b, both, row);
    }
    return st;
}

/* --- tiles of bytes --------------------------------------------------------------------------- */

static float measure_bytes_channel(const psr_rfi_cells *p, struct psr_rfi_power_sums *sums,
                                   const uint8_t *x, size_t c, const struct psr_rfi_replaced *r,
                                   const struct psr_rfi_row *row)
{
    double mean = 0, var = 0;
    struct psr_rfi_cell cell = {0};
    if (p->d.keep[c]) {
        /* Exact sums of good samples, from those of all. */
        for (size_t k = 0; k < r->nbad; k++)
            psr_rfi_power_sums_add(sums, x[2 * (size_t)r->bad[k]], -1);
        /* Moments of good samples and of those replaced by level. */
        size_t nall = p->d.n;
        double level = r->nbad ? (double)r->level[c] : 0;
        const int64_t o = sums->origin, about = (int64_t)sums->sum[0];
        const int64_t sum = about + sums->n * o;
        const int64_t sum_squares = (int64_t)sums->sum[1] + 2 * o * about + sums->n * o * o;
        const double ngood = (double)sums->n, n = (double)nall, nbad = n - ngood;
        const double middle = ngood > 0 ? (double)sum / ngood : level;
        mean = ((double)sum + nbad * level) / n;
        long double squares = 0; /* about the mean of the good ones; exact before the division */
        if (ngood > 0)
            squares = ((long double)sum_squares * (long double)ngood -
                       (long double)sum * (long double)sum) /
                      (long double)ngood;
        var = (double)squares + ngood * (middle - mean) * (middle - mean) +
              nbad * (level - mean) * (level - mean);
        var = nall > 1 ? var / (n - 1) : 0;
    }
    if (p->d.keep[c] && row->cell) {
        const struct psr_rfi_moments m = psr_rfi_moments_from_sums(sums);
        cell = psr_rfi_cell_from_moments(&m);
    }
    if (row->cell)
        row->cell[c] = cell;
    return set_moments(p, mean, var, c, row);
}

static psr_status measure_bytes_pair(psr_rfi_cells *p, struct scratch *s, const uint8_t *pair,
                                     size_t c, const struct psr_rfi_replaced *r,
                                     const struct psr_rfi_row *row)
{
    const size_t n = p->d.n, count = p->d.layout.nchan - c < 2 ? 1 : 2;
    struct psr_rfi_power_sums sums[2];
    float mean[2] = {0}, factor[2] = {0};
    psr_rfi_bytes_power_sums(pair, n, sums);
    for (size_t k = 0; k < count; k++) {
        factor[k] = measure_bytes_channel(p, &sums[k], pair + k, c + k, r, row) / 2;
        mean[k] = row->mean[c + k];
    }
    if (!(factor[0] > 0) && !(factor[1] > 0))
        return PSR_OK;
    psr_rfi_bytes_scale(pair, n, mean, factor, s->pair);
    for (size_t k = 0; k < r->nbad; k++)
        for (size_t h = 0; h < count; h++)
            s->pair[h * n + r->bad[k]] = (r->level[c + h] - mean[h]) * factor[h];
    return search_pair(p, s, c, c + 1, factor, row);
}

static psr_status measure_bytes(psr_rfi_cells *p, struct scratch *s, const unsigned char *in,
                                size_t c0, const struct psr_rfi_replaced *replaced,
                                const struct psr_rfi_row *row)
{
    psr_status st = PSR_OK;
    const size_t left = p->d.layout.nchan - c0, width = left < p->width ? left : p->width;
    psr_rfi_bytes_transpose(&p->d.layout, in, p->d.n, c0, width, s->bytes);
    for (size_t k = 0; k < width && !st; k += 2)
        st = measure_bytes_pair(p, s, s->bytes + k * p->d.n, c0 + k, replaced, row);
    return st;
}

/* --- all tiles -------------------------------------------------------------------------------- */

psr_status psr_rfi_cells_measure(psr_rfi_cells *p, const void *in,
                                 const struct psr_rfi_replaced *replaced,
                                 const struct psr_rfi_row *row, psr_err *err)
{
    const size_t ntile = (p->d.layout.nchan + p->width - 1) / p->width;
    const size_t also = p->d.meanwhile && p->d.nthread > 1;
    psr_status (*const measure)(psr_rfi_cells *, struct scratch *, const unsigned char *, size_t,
                                const struct psr_rfi_replaced *, const struct psr_rfi_row *) =
        p->bytes ? measure_bytes : measure_floats;
    for (int k = 0; k < p->d.nthread; k++)
        p->scratch[k].status = PSR_OK;
#pragma omp parallel for num_threads(p->d.nthread) schedule(dynamic) if (p->d.nthread > 1)
    for (size_t k = 0; k < ntile + also; k++) {
        struct scratch *s = &p->scratch[psr_thread_number()];
        if (k < also)
            p->d.meanwhile(p->d.ctx);
        else if (!s->status)
            s->status = measure(p, s, in, (k - also) * p->width, replaced, row);
    }
    for (int k = 0; k < p->d.nthread; k++)
        if (p->scratch[k].status) {
            if (err)
                *err = p->scratch[k].err;
            return p->scratch[k].status;
        }
    return PSR_OK;
}
