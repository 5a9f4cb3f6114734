/* Measures the channels of one interval: mean, standard deviation, powers.
 *
 * Two channels, of zero mean and unit variance, are the real and the imaginary part of one complex
 * transform; their spectra are its even and odd parts. */
#include "rfi_cells.h"

#include "base/clones.h"
#include "base/moments.h"
#include "base/threads.h"
#include "rfi_bytes.h"
#include "rfi_shapes.h"

#include <fftw3.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = PSR_RFI_TILE };

/* No power is searched in less than this standard deviation: PRESTO's rule. */
static const float SD_LEAST = 1e-4F;

/* Of one thread. */
struct scratch {
    float *x;              /* [TILE][n] */
    uint8_t *bytes;        /* [width / 2][n][2], instead of x */
    float *amplitude;      /* [2 channels][real, imaginary][nbin + 1] */
    float *pair, *fourier; /* [n] complex */
    float *powers;         /* [whole, half][nbin] */
    float *sum;            /* [2 nbin] */
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
    fftwf_plan plan;
    struct scratch *scratch; /* [nthread] */
};

/* --- create and destroy ----------------------------------------------------------------------- */

/* FFTW's estimates depend on nothing but the length, so that results do not vary. */
static psr_status plan_transform(psr_rfi_cells *p, psr_err *err)
{
    fftwf_iodim64 dim = {.n = (ptrdiff_t)p->d.n, .is = 1, .os = 1};
    struct scratch *s = &p->scratch[0];
    fftwf_make_planner_thread_safe();
    p->plan = fftwf_plan_guru64_dft(1, &dim, 0, NULL, (fftwf_complex *)s->pair,
                                    (fftwf_complex *)s->fourier, FFTW_FORWARD, FFTW_ESTIMATE);
    return p->plan ? PSR_OK : psr_fail_nomem(err, "a transform", 16 * (double)p->d.n);
}

static bool allocate(psr_rfi_cells *p)
{
    const size_t n = p->d.n;
    bool all = true;
    for (int k = 0; k < p->d.nthread && all; k++) {
        struct scratch *s = &p->scratch[k];
        s->x = fftwf_malloc(p->bytes ? 1 : TILE * n * sizeof *s->x);
        s->bytes = fftwf_malloc(p->bytes ? p->width * n : 1);
        s->amplitude = fftwf_malloc(4 * (p->nbin + 1) * sizeof *s->amplitude);
        s->pair = fftwf_malloc(2 * n * sizeof *s->pair);
        s->fourier = fftwf_malloc(2 * n * sizeof *s->fourier);
        s->powers = fftwf_malloc(2 * p->nbin * sizeof *s->powers);
        s->sum = fftwf_malloc(2 * p->nbin * sizeof *s->sum);
        all = s->x && s->bytes && s->amplitude && s->pair && s->fourier && s->powers && s->sum;
    }
    return all;
}

/* Wide tiles read memory better; each thread should have some. */
static size_t choose_width(const psr_rfi_cells *p)
{
    const size_t wide = PSR_RFI_BYTES_WIDTH;
    bool enough = p->d.layout.nchan >= 2 * wide * (size_t)p->d.nthread;
    return p->bytes && enough ? wide : TILE;
}

psr_status psr_rfi_cells_create(psr_rfi_cells **out, const struct psr_rfi_cells_desc *desc,
                                psr_err *err)
{
    const double bytes = (double)desc->nthread * (4 * TILE + 36) * (double)desc->n;
    psr_rfi_cells *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "statistics", sizeof *p);
    p->d = *desc;
    p->nbin = desc->n / 2 + 1;
    p->bytes = desc->layout.kind == PSR_UINT && desc->layout.nbit <= 8;
    p->width = choose_width(p);
    psr_rfi_threshold_set(&p->threshold, desc->freq_sigma, p->nbin);
    p->scratch = calloc((size_t)desc->nthread, sizeof *p->scratch);
    psr_status st = p->scratch && allocate(p) ? plan_transform(p, err)
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
        fftwf_free(p->scratch[k].amplitude);
        fftwf_free(p->scratch[k].pair);
        fftwf_free(p->scratch[k].fourier);
        fftwf_free(p->scratch[k].powers);
        fftwf_free(p->scratch[k].sum);
        free(p->scratch[k].work.hit);
    }
    if (p->plan)
        fftwf_destroy_plan(p->plan);
    free(p->scratch);
    free(p);
}

/* --- one tile --------------------------------------------------------------------------------- */

/* Channels c0 .. c0 + width - 1, time after time: x [width][n]. */
static void turn_tile(const psr_rfi_cells *p, const unsigned char *in, size_t c0, size_t width,
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

static void replace(const struct psr_rfi_replaced *r, size_t c, float *x)
{
    for (size_t k = 0; k < r->nbad; k++)
        x[r->bad[k]] = r->level[c];
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
    if (!(row->sd[c] > SD_LEAST))
        return 0;
    return (float)(1 / ((double)row->sd[c] * sqrt((double)p->d.n)));
}

PSR_CLONES
static void pair_channels(float *restrict pair, const float *a, const float *b, size_t n,
                          const float mean[2], const float factor[2])
{
    const float ma = mean[0], mb = mean[1], fa = factor[0] / 2, fb = factor[1] / 2;
    for (size_t t = 0; t < n; t++) {
        pair[2 * t] = (a[t] - ma) * fa;
        pair[2 * t + 1] = (b[t] - mb) * fb;
    }
}

PSR_CLONES
static void split_parts(const float *restrict f, size_t n, float *restrict re, float *restrict im)
{
    for (size_t k = 0; k < n; k++) {
        re[k] = f[2 * k];
        im[k] = f[2 * k + 1];
    }
}

/* One part of the amplitudes of one channel at bins 1 and above; x at n - k is back[-k]. */
PSR_CLONES
static void add_back(const float *restrict x, const float *restrict back, float sign, size_t nbin,
                     float *restrict out)
{
    for (size_t k = 1; k < nbin; k++)
        out[k] = x[k] + sign * back[-(ptrdiff_t)k];
}

/* Amplitudes of the two channels at bin k are the sum and the difference of those of the pair at k
 * and n - k: amplitude [first real, imaginary, second real, imaginary][nbin + 1], the last of which
 * are 0.
 * Given: part [n][2]   overwritten */
static void part_pair(const float *f, size_t n, size_t nbin, float *part, float *amplitude)
{
    const size_t stride = nbin + 1;
    float *const re = part, *const im = part + n;
    split_parts(f, n, re, im);
    add_back(re, re + n, 1, nbin, amplitude);
    add_back(im, im + n, -1, nbin, amplitude + stride);
    add_back(im, im + n, 1, nbin, amplitude + 2 * stride);
    add_back(re, re + n, -1, nbin, amplitude + 3 * stride);
    for (size_t k = 0; k < 4; k++)
        amplitude[k * stride] = amplitude[k * stride + nbin] = 0;
    amplitude[0] = 2 * re[0];
    amplitude[2 * stride] = 2 * im[0];
}

/* The powers of whole bins, and of half bins by interbinning. */
PSR_CLONES
static void find_powers(const float *re, const float *im, size_t nbin, float *restrict whole,
                        float *restrict half)
{
    const float share = (float)(4 / (M_PI * M_PI));
    for (size_t k = 0; k < nbin; k++) {
        const float dr = re[k] - re[k + 1], di = im[k] - im[k + 1];
        whole[k] = re[k] * re[k] + im[k] * im[k];
        half[k] = share * (dr * dr + di * di);
    }
}

/* Channels a and b, of which s->pair holds the scaled samples, as far as factor is above 0. */
static psr_status search_pair(psr_rfi_cells *p, struct scratch *s, size_t a, size_t b,
                              const float factor[2], const struct psr_rfi_row *row)
{
    const size_t nbin = p->nbin, stride = nbin + 1;
    psr_status st = PSR_OK;
    fftwf_execute_dft(p->plan, (fftwf_complex *)s->pair, (fftwf_complex *)s->fourier);
    part_pair(s->fourier, p->d.n, nbin, s->pair, s->amplitude);
    for (size_t k = 0; k < 2 && !st; k++) {
        const float *re = s->amplitude + 2 * k * stride;
        const struct psr_rfi_powers x = {s->powers, s->powers + nbin, nbin};
        const size_t c = k ? b : a;
        if (!(factor[k] > 0))
            continue;
        find_powers(re, re + stride, nbin, s->powers, s->powers + nbin);
        st = psr_rfi_search(&x, &p->threshold, &row->power[c], &row->hits[c], &s->work,
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

static float measure_channel(const psr_rfi_cells *p, const float *x, size_t c,
                             const struct psr_rfi_row *row)
{
    double mean, var;
    psr_moments_lanes(x, p->d.n, &mean, &var);
    return set_moments(p, mean, var, c, row);
}

static psr_status measure_floats(psr_rfi_cells *p, struct scratch *s, const unsigned char *in,
                                 size_t c0, const struct psr_rfi_replaced *replaced,
                                 const struct psr_rfi_row *row)
{
    const size_t n = p->d.n, left = p->d.layout.nchan - c0, width = left < TILE ? left : TILE;
    float factor[TILE];
    size_t todo[TILE], ntodo = 0;
    turn_tile(p, in, c0, width, s->x);
    for (size_t k = 0; k < width; k++) {
        if (row->cell)
            row->cell[c0 + k] = p->d.keep[c0 + k]
                                    ? describe_floats(p, s->x + k * n, replaced, s->pair)
                                    : (struct psr_rfi_cell){0};
        if (p->d.keep[c0 + k])
            replace(replaced, c0 + k, s->x + k * n);
        else
            memset(s->x + k * n, 0, n * sizeof *s->x);
        factor[k] = measure_channel(p, s->x + k * n, c0 + k, row);
        if (factor[k] > 0)
            todo[ntodo++] = k;
    }
    psr_status st = PSR_OK;
    for (size_t k = 0; k < ntodo && !st; k += 2) {
        const bool two = k + 1 < ntodo;
        const size_t a = todo[k], b = todo[two ? k + 1 : k];
        const float mean[2] = {row->mean[c0 + a], row->mean[c0 + b]};
        const float both[2] = {factor[a], two ? factor[b] : 0};
        pair_channels(s->pair, s->x + a * n, s->x + b * n, n, mean, both);
        st = search_pair(p, s, c0 + a, c0 + b, both, row);
    }
    return st;
}

/* --- tiles of bytes --------------------------------------------------------------------------- */

/* Moments of good samples and of those replaced by level, from exact sums of all. */
static void combine_moments(const struct psr_rfi_sums *all, const uint8_t *x, size_t n,
                            const struct psr_rfi_replaced *r, double level, double *mean,
                            double *var)
{
    struct psr_rfi_sums good = *all;
    for (size_t k = 0; k < r->nbad; k++) {
        const int64_t v = x[2 * (size_t)r->bad[k]];
        good.sum -= v;
        good.squares -= v * v;
    }
    const double nbad = (double)r->nbad, ngood = (double)n - nbad, sum = (double)good.sum;
    const double middle = ngood > 0 ? sum / ngood : level;
    *mean = (sum + nbad * level) / (double)n;
    long double squares = 0; /* about the mean of the good ones; exact before the division */
    if (ngood > 0)
        squares = ((long double)good.squares * (long double)ngood -
                   (long double)good.sum * (long double)good.sum) /
                  (long double)ngood;
    *var = (double)squares + ngood * (middle - *mean) * (middle - *mean) +
           nbad * (level - *mean) * (level - *mean);
    *var = n > 1 ? *var / (double)(n - 1) : 0;
}

/* Of good samples, from sums of all. */
static struct psr_rfi_cell describe_bytes(const struct psr_rfi_power_sums *all, const uint8_t *x,
                                          const struct psr_rfi_replaced *r)
{
    struct psr_rfi_power_sums good = *all;
    for (size_t k = 0; k < r->nbad; k++)
        psr_rfi_power_sums_add(&good, x[2 * (size_t)r->bad[k]], -1);
    const struct psr_rfi_moments m = psr_rfi_moments_from_sums(&good);
    return psr_rfi_cell_from_moments(&m);
}

/* Sums of one pair; with cells of its kept channels. */
static void sum_pair(const psr_rfi_cells *p, const uint8_t *pair, size_t c, size_t count,
                     const struct psr_rfi_replaced *r, const struct psr_rfi_row *row,
                     struct psr_rfi_sums sums[2])
{
    struct psr_rfi_power_sums powers[2];
    if (!row->cell) {
        psr_rfi_bytes_sum(pair, p->d.n, sums);
        return;
    }
    psr_rfi_bytes_power_sums(pair, p->d.n, powers);
    for (size_t k = 0; k < 2; k++) {
        const int64_t n = powers[k].n, o = powers[k].origin, sum = (int64_t)powers[k].sum[0];
        sums[k].sum = sum + n * o;
        sums[k].squares = (int64_t)powers[k].sum[1] + 2 * o * sum + n * o * o;
    }
    for (size_t k = 0; k < count; k++)
        row->cell[c + k] =
            p->d.keep[c + k] ? describe_bytes(&powers[k], pair + k, r) : (struct psr_rfi_cell){0};
}

static float measure_bytes_channel(const psr_rfi_cells *p, const struct psr_rfi_sums *sums,
                                   const uint8_t *x, size_t c, const struct psr_rfi_replaced *r,
                                   const struct psr_rfi_row *row)
{
    double mean = 0, var = 0;
    if (p->d.keep[c])
        combine_moments(sums, x, p->d.n, r, r->nbad ? (double)r->level[c] : 0, &mean, &var);
    return set_moments(p, mean, var, c, row);
}

static psr_status measure_bytes_pair(psr_rfi_cells *p, struct scratch *s, const uint8_t *pair,
                                     size_t c, const struct psr_rfi_replaced *r,
                                     const struct psr_rfi_row *row)
{
    const size_t n = p->d.n, count = p->d.layout.nchan - c < 2 ? 1 : 2;
    struct psr_rfi_sums sums[2];
    float mean[2] = {0}, factor[2] = {0};
    sum_pair(p, pair, c, count, r, row, sums);
    for (size_t k = 0; k < count; k++) {
        factor[k] = measure_bytes_channel(p, &sums[k], pair + k, c + k, r, row) / 2;
        mean[k] = row->mean[c + k];
    }
    if (!(factor[0] > 0) && !(factor[1] > 0))
        return PSR_OK;
    psr_rfi_bytes_scale(pair, n, mean, factor, s->pair);
    for (size_t k = 0; k < r->nbad; k++)
        for (size_t h = 0; h < count; h++)
            s->pair[2 * (size_t)r->bad[k] + h] = (r->level[c + h] - mean[h]) * factor[h];
    return search_pair(p, s, c, c + 1, factor, row);
}

static psr_status measure_bytes(psr_rfi_cells *p, struct scratch *s, const unsigned char *in,
                                size_t c0, const struct psr_rfi_replaced *replaced,
                                const struct psr_rfi_row *row)
{
    psr_status st = PSR_OK;
    const size_t left = p->d.layout.nchan - c0, width = left < p->width ? left : p->width;
    psr_rfi_bytes_turn(&p->d.layout, in, p->d.n, c0, width, s->bytes);
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
    psr_status (*const measure)(psr_rfi_cells *, struct scratch *, const unsigned char *, size_t,
                                const struct psr_rfi_replaced *, const struct psr_rfi_row *) =
        p->bytes ? measure_bytes : measure_floats;
    for (int k = 0; k < p->d.nthread; k++)
        p->scratch[k].status = PSR_OK;
#pragma omp parallel for num_threads(p->d.nthread) schedule(dynamic) if (p->d.nthread > 1)
    for (size_t k = 0; k < ntile; k++) {
        struct scratch *s = &p->scratch[psr_thread_number()];
        if (!s->status)
            s->status = measure(p, s, in, k * p->width, replaced, row);
    }
    for (int k = 0; k < p->d.nthread; k++)
        if (p->scratch[k].status) {
            if (err)
                *err = p->scratch[k].err;
            return p->scratch[k].status;
        }
    return PSR_OK;
}
