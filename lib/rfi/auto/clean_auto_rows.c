/* Automatic cleaning, spectrum by spectrum: sums of samples, and their quantisation. */
#include "clean_auto_plan.h"

#include "base/threads/isa.h"
#include "stats/stats.h"
#include <math.h>
#include <string.h>

/* Loops over bytes are compiled for AVX-512, too: it makes bytes of numbers in one instruction. */
#if defined __x86_64__
#define FOR_WIDE PSR_ISA_FOR_AVX512
#else
#define FOR_WIDE
#endif
#define IN_BOTH static inline __attribute__((always_inline))

static bool is_wide(void)
{
    return psr_isa_find() == PSR_ISA_AVX512;
}

enum { ROWS = 4, CHANNELS = 256 }; /* added at a time */

/* Four spectra at a time, so that sums are loaded less often. */
IN_BOTH void add_bytes(const uint8_t *x, size_t stride, size_t nrow, size_t n, uint32_t *s1,
                       uint32_t *s2)
{
    size_t t = 0;
    for (; t + ROWS <= nrow; t += ROWS) {
        const uint8_t *a = x + t * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        for (size_t k = 0; k < n; k++) {
            uint32_t p = a[k], q = b[k], r = c[k], s = d[k];
            s1[k] += p + q + r + s;
            s2[k] += p * p + q * q + r * r + s * s;
        }
    }
    for (; t < nrow; t++)
        for (size_t k = 0; k < n; k++) {
            uint32_t p = x[t * stride + k];
            s1[k] += p;
            s2[k] += p * p;
        }
}

PSR_CLONES static void auto_add_bytes(const uint8_t *x, size_t stride, size_t nrow, size_t n,
                                      uint32_t *s1, uint32_t *s2)
{
    add_bytes(x, stride, nrow, n, s1, s2);
}

FOR_WIDE static void auto_add_bytes_wide(const uint8_t *x, size_t stride, size_t nrow, size_t n,
                                         uint32_t *s1, uint32_t *s2)
{
    add_bytes(x, stride, nrow, n, s1, s2);
}

static void sum_bytes(const psr_clean_auto *p, struct psr_auto_block *b)
{
    const size_t nchan = p->d.nchan;
    void (*const add)(const uint8_t *, size_t, size_t, size_t, uint32_t *, uint32_t *) =
        is_wide() ? auto_add_bytes_wide : auto_add_bytes;
    uint32_t s1[CHANNELS], s2[CHANNELS];
    for (size_t c = 0; c < nchan; c += CHANNELS) {
        size_t n = nchan - c < CHANNELS ? nchan - c : CHANNELS;
        memset(s1, 0, sizeof s1);
        memset(s2, 0, sizeof s2);
        add(p->win.from + b->first * nchan + c, nchan, b->n, n, s1, s2);
        for (size_t k = 0; k < n; k++) {
            b->s1[c + k] = s1[k];
            b->s2[c + k] = s2[k];
        }
    }
}

static bool is_bytes(const psr_clean_auto *p)
{
    return p->in.nbit == 8 && p->in.kind == PSR_UINT;
}

void psr_auto_sum(const psr_clean_auto *p, struct psr_auto_block *b, float *row)
{
    const size_t nchan = p->d.nchan;
    if (is_bytes(p)) {
        sum_bytes(p, b);
        return;
    }
    memset(b->s1, 0, nchan * sizeof *b->s1);
    memset(b->s2, 0, nchan * sizeof *b->s2);
    for (size_t t = b->first; t < b->first + b->n; t++) {
        psr_spectrum_widen(&p->in, p->win.from + t * p->in.row_bytes, row);
        for (size_t c = 0; c < nchan; c++) {
            b->s1[c] += (double)row[c];
            b->s2[c] += (double)row[c] * (double)row[c];
        }
    }
}

/* --- quantisation ----------------------------------------------------------------------------- */

enum { CHUNK = 64 }; /* channels at a time, in registers and the nearest cache */

/* Bytes nearest to n values.  Adding 2^23 rounds a float to the nearest whole number.  One
 * comparison in a loop, and nothing after it: of more, compilers make jumps, and no vectors. */
IN_BOTH void store_levels(uint8_t *restrict out, float *restrict y, size_t n)
{
    for (size_t k = 0; k < n; k++)
        y[k] = y[k] > 0.0f ? y[k] : 0.0f;
    for (size_t k = 0; k < n; k++)
        y[k] = y[k] < 255.0f ? y[k] : 255.0f;
    for (size_t k = 0; k < n; k++)
        y[k] = (y[k] + 8388608.0f) - 8388608.0f;
    for (size_t k = 0; k < n; k++)
        out[k] = (uint8_t)(int32_t)y[k];
}

IN_BOTH void make_levels(uint8_t *restrict out, const uint8_t *restrict x,
                         const float *restrict gain, const float *restrict offset, size_t n)
{
    float y[CHUNK];
    for (size_t k = 0; k < n; k++) {
        float now = (float)x[k] * gain[k];
        y[k] = now + offset[k];
    }
    store_levels(out, y, n);
}

/* Loops over a number of channels that is known are made into vectors without jumps. */
IN_BOTH void make_all_levels(uint8_t *restrict out, const uint8_t *restrict x,
                             const float *restrict gain, const float *restrict offset, size_t n)
{
    size_t c = 0;
    for (; c + CHUNK <= n; c += CHUNK)
        make_levels(out + c, x + c, gain + c, offset + c, CHUNK);
    if (c < n)
        make_levels(out + c, x + c, gain + c, offset + c, n - c);
}

PSR_CLONES static void auto_levels_of_bytes(uint8_t *restrict out, const uint8_t *restrict x,
                                            const float *restrict gain,
                                            const float *restrict offset, size_t n)
{
    make_all_levels(out, x, gain, offset, n);
}

FOR_WIDE static void auto_levels_of_bytes_wide(uint8_t *restrict out, const uint8_t *restrict x,
                                               const float *restrict gain,
                                               const float *restrict offset, size_t n)
{
    make_all_levels(out, x, gain, offset, n);
}

PSR_CLONES static void auto_levels_of_floats(uint8_t *restrict out, const float *restrict x,
                                             const float *restrict gain,
                                             const float *restrict offset, size_t n)
{
    float y[CHUNK];
    for (size_t c = 0; c < n; c += CHUNK) {
        size_t m = n - c < CHUNK ? n - c : CHUNK;
        for (size_t k = 0; k < m; k++) {
            float now = x[c + k] * gain[c + k];
            y[k] = now + offset[c + k];
        }
        store_levels(out + c, y, m);
    }
}

/* Masked channels have a gain of 0, and keep their level. */
PSR_CLONES static void auto_levels_less(uint8_t *restrict out, const float *restrict x,
                                        const float *restrict gain, const float *restrict offset,
                                        float less, size_t n)
{
    float y[CHUNK];
    for (size_t c = 0; c < n; c += CHUNK) {
        size_t m = n - c < CHUNK ? n - c : CHUNK;
        for (size_t k = 0; k < m; k++) {
            float now = x[c + k] * gain[c + k];
            now += offset[c + k];
            y[k] = now - (gain[c + k] > 0.0f ? less : 0.0f);
        }
        store_levels(out + c, y, m);
    }
}

/* The same of bytes. */
IN_BOTH void make_levels_less(uint8_t *restrict out, const uint8_t *restrict x,
                              const float *restrict gain, const float *restrict offset, float less,
                              size_t n)
{
    float y[CHUNK];
    for (size_t c = 0; c < n; c += CHUNK) {
        size_t m = n - c < CHUNK ? n - c : CHUNK;
        for (size_t k = 0; k < m; k++) {
            float now = (float)x[c + k] * gain[c + k];
            now += offset[c + k];
            y[k] = now - (gain[c + k] > 0.0f ? less : 0.0f);
        }
        store_levels(out + c, y, m);
    }
}

PSR_CLONES static void auto_levels_of_bytes_less(uint8_t *restrict out, const uint8_t *restrict x,
                                                 const float *restrict gain,
                                                 const float *restrict offset, float less, size_t n)
{
    make_levels_less(out, x, gain, offset, less, n);
}

FOR_WIDE static void auto_levels_of_bytes_less_wide(uint8_t *restrict out,
                                                    const uint8_t *restrict x,
                                                    const float *restrict gain,
                                                    const float *restrict offset, float less,
                                                    size_t n)
{
    make_levels_less(out, x, gain, offset, less, n);
}

/* As auto_levels_less, with so many levels a sigma. */
PSR_CLONES static void auto_levels_weighted(uint8_t *restrict out, const float *restrict x,
                                            const float *restrict gain,
                                            const float *restrict offset,
                                            const uint8_t *restrict weight, float less, size_t n)
{
    float y[CHUNK];
    for (size_t c = 0; c < n; c += CHUNK) {
        size_t m = n - c < CHUNK ? n - c : CHUNK;
        for (size_t k = 0; k < m; k++) {
            float now = x[c + k] * gain[c + k];
            now += offset[c + k];
            now -= gain[c + k] > 0.0f ? less : 0.0f;
            now -= (float)PSR_AUTO_ZERO;
            now *= (float)weight[c + k] / (float)PSR_AUTO_SIGMA;
            y[k] = now + (float)PSR_AUTO_ZERO;
        }
        store_levels(out + c, y, m);
    }
}

PSR_CLONES static uint32_t auto_sum_levels(const uint8_t *x, size_t n)
{
    uint32_t sum = 0;
    for (size_t c = 0; c < n; c++)
        sum += x[c];
    return sum;
}

/* Given: row   the spectrum as floats; NULL: it is the bytes in */
static void subtract_common(const psr_clean_auto *p, const struct psr_auto_block *b, size_t t,
                            const unsigned char *in, const float *row, bool wide, uint8_t *out)
{
    for (size_t g = 0; g < p->ngroup; g++) {
        size_t c = psr_auto_first(p, g), n = psr_auto_first(p, g + 1) - c;
        float less = p->modes.less[t * p->ngroup + g];
        if (p->d.weights)
            auto_levels_weighted(out + c, row + c, b->gain + c, b->offset + c, p->weight + c, less,
                                 n);
        else if (row)
            auto_levels_less(out + c, row + c, b->gain + c, b->offset + c, less, n);
        else if (wide)
            auto_levels_of_bytes_less_wide(out + c, in + c, b->gain + c, b->offset + c, less, n);
        else
            auto_levels_of_bytes_less(out + c, in + c, b->gain + c, b->offset + c, less, n);
    }
}

void psr_auto_quantise(const psr_clean_auto *p, const struct psr_auto_block *b, bool filter,
                       float *row)
{
    const size_t nchan = p->d.nchan;
    const bool bytes = is_bytes(p) && !(filter && p->d.weights), wide = is_wide();
    for (size_t t = b->first; t < b->first + b->n; t++) {
        const unsigned char *in = p->win.from + t * p->in.row_bytes;
        uint8_t *out = p->win.to + t * nchan;
        if (!bytes) {
            psr_spectrum_widen(&p->in, in, row);
            /* What is not a number becomes 0 sigma. */
            for (size_t c = 0; p->in.kind == PSR_FLOAT && c < p->d.nchan; c++)
                row[c] = isfinite(row[c]) ? row[c] : (float)p->levels.l_now[c];
        }
        if (filter)
            subtract_common(p, b, t, in, bytes ? NULL : row, wide, out);
        else if (bytes && wide)
            auto_levels_of_bytes_wide(out, in, b->gain, b->offset, nchan);
        else if (bytes)
            auto_levels_of_bytes(out, in, b->gain, b->offset, nchan);
        else
            auto_levels_of_floats(out, row, b->gain, b->offset, nchan);
        if (!filter) {
            int32_t *sum = p->band.sum + t * p->ngroup;
            for (size_t g = 0; g < p->ngroup; g++) {
                size_t first = psr_auto_first(p, g), n = psr_auto_first(p, g + 1) - first;
                sum[g] = (int32_t)auto_sum_levels(out + first, n) - (int32_t)(PSR_AUTO_ZERO * n);
            }
        }
    }
}

/* --- measures how sub-bands vary together, in tiles of each width ----------------------------- */

/* Spectra of a step from which it takes longer to start threads than to add. */
enum { ALONE = 8 };

/* Leaves in fold the sums over steps of a block, of spectra that are not to be skipped: those of half the step, which
 * must be there, become those of the step.
 * Given: step   1, or a power of 2
 *        skip   [n] */
static void auto_fold(psr_clean_auto *p, size_t step, const unsigned char *skip)
{
    const size_t G = p->ngroup;
#pragma omp parallel for num_threads(p->nthread) if (step < ALONE)
    for (size_t k = 0; k < p->win.nrange; k++) {
        const size_t first = p->win.block[k].first;
        int64_t *x = p->band.fold + first * G;
        for (size_t t = 0; t < p->win.block[k].n && step == 1; t++)
            for (size_t g = 0; g < G; g++)
                x[t * G + g] = skip[first + t] ? 0 : p->band.sum[(first + t) * G + g];
        for (size_t j = 0; j < p->win.block[k].n / step && step > 1; j++)
            for (size_t g = 0; g < G; g++)
                x[j * G + g] = x[2 * j * G + g] + x[(2 * j + 1) * G + g];
    }
}

static size_t count_tiles(const psr_clean_auto *p, size_t length)
{
    size_t n = 0;
    for (size_t k = 0; k < p->win.nrange; k++)
        n += p->win.block[k].n / length;
    return n;
}

/* Whether a tile has no spark, and at most half of it is pulses: these are in few tiles of their length, but in most of
 * those that are as long as their period. */
static bool is_usual(const psr_clean_auto *p, size_t first, size_t length)
{
    size_t n = 0;
    for (size_t t = first; t < first + length; t++)
        n += p->band.pulse[t];
    return 2 * n <= length && !memchr(p->band.spark + first, 1, length);
}

/* Subtracts medians, clips, so that a pulse in a few tiles hardly counts, and subtracts means. */
static void level_tiles(float *rate, size_t G, size_t n, struct psr_auto_scale *s)
{
    float work[PSR_AUTO_TILES];
    for (size_t g = 0; g < G; g++) {
        for (size_t j = 0; j < n; j++)
            work[j] = rate[j * G + g];
        s->middle[g] = psr_quantile_median(work, n);
        for (size_t j = 0; j < n; j++)
            work[j] = (float)fabs((double)rate[j * G + g] - s->middle[g]);
        s->most[g] = PSR_AUTO_CLIP * fmax(1, PSR_AUTO_SCATTER * psr_quantile_median(work, n));
        for (size_t j = 0; j < n; j++)
            rate[j * G + g] =
                (float)psr_auto_clip((double)rate[j * G + g] - s->middle[g], s->most[g]);
        /* Subtracts the mean of a sub-band in n tiles: that of coarse or skewed samples is not their median, and would be common
         * to all sub-bands. */
        int64_t sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += psr_auto_fixed(rate[j * G + g]);
        const double mean = (double)sum / (PSR_AUTO_FIXED_ONE * (double)n);
        for (size_t j = 0; j < n; j++)
            rate[j * G + g] = (float)((double)rate[j * G + g] - mean);
    }
}

/* Adds the products of the G values of each of n tiles, tile by tile. */
PSR_CLONES static void auto_add_products(const float *rate, size_t G, size_t n, double *sum)
{
    for (size_t j = 0; j < n; j++, rate += G)
        for (size_t g = 0; g < G; g++)
            for (size_t h = 0; h < G; h++)
                sum[g * G + h] += (double)rate[g] * (double)rate[h];
}

static void enter_products(const float *rate, size_t G, struct psr_auto_products *to)
{
    double sum[PSR_AUTO_GROUPS * PSR_AUTO_GROUPS] = {0};
    auto_add_products(rate, G, to->n, sum);
    for (size_t i = 0; i < G * G; i++)
        to->sum[i] = (float)sum[i];
}

void psr_auto_measure(psr_clean_auto *p, struct psr_auto_products *now, struct psr_auto_scale *one)
{
    const size_t G = p->ngroup, nwidth = psr_auto_count_widths(p);
    for (size_t k = 0; k < nwidth; k++) {
        const struct psr_auto_width w = psr_auto_make_width(k);
        if (k == 0 || w.step > 1)
            auto_fold(p, w.step, p->band.pulse);
        float *rate = p->band.rate + k * PSR_AUTO_TILES * G;
        const size_t all = count_tiles(p, w.length),
                     step = (all + PSR_AUTO_TILES - 1) / PSR_AUTO_TILES;
        size_t n = 0, j = 0;
        for (size_t m = 0; m < p->win.nrange; m++) {
            const struct psr_auto_block *b = &p->win.block[m];
            for (size_t t = 0; t + w.length <= b->n; t += w.length, j++)
                if (j % step == 0 && b->ncount && is_usual(p, b->first + t, w.length)) {
                    float *r = rate + n++ * p->ngroup;
                    const int64_t *x = p->band.fold + (b->first + t / w.step) * p->ngroup;
                    int64_t sum[PSR_AUTO_GROUPS] = {0};
                    for (size_t i = 0; i < w.nweight; i++)
                        for (size_t g = 0; g < p->ngroup; g++)
                            sum[g] += (int64_t)w.weight[i] * x[i * p->ngroup + g];
                    for (size_t g = 0; g < p->ngroup; g++)
                        r[g] = psr_auto_sigmas(sum[g], b->count[g], w.noise);
                }
        }
        now[k].n = n;
    }
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < nwidth; k++) {
        struct psr_auto_scale s;
        float *rate = p->band.rate + k * PSR_AUTO_TILES * G;
        if (now[k].n < PSR_AUTO_FEWEST) {
            now[k].n = 0;
            continue;
        }
        level_tiles(rate, G, now[k].n, k ? &s : one);
        enter_products(rate, G, now + k);
    }
}

/* --- sparks and pulses in sums over sub-bands, and the mean of the band ----------------------- */

/* Tiles at a time: compilers make vectors of a loop over so many, and unroll one over fewer. */
enum { LANES = 64 };

/* --- order statistics of many tiles ----------------------------------------------------------- */

/* One comparison in a loop: of more, compilers make jumps, and no vectors. */
static inline void exchange(float *restrict a, float *restrict b)
{
    float low[LANES], high[LANES];
    for (size_t i = 0; i < LANES; i++)
        low[i] = a[i] < b[i] ? a[i] : b[i];
    for (size_t i = 0; i < LANES; i++)
        high[i] = a[i] < b[i] ? b[i] : a[i];
    memcpy(a, low, sizeof low);
    memcpy(b, high, sizeof high);
}

/* Sorts the n values of each lane by Batcher's odd-even merges (Knuth 1998, vol. 3, 5.3.4). */
PSR_CLONES static void auto_sort_lanes(float (*x)[LANES], size_t n)
{
    for (size_t p = 1; p < n; p *= 2)
        for (size_t k = p; k > 0; k /= 2)
            for (size_t j = k % p; j + k < n; j += 2 * k)
                for (size_t i = j; i < j + k && i + k < n; i++)
                    if ((i ^ (i + k)) < 2 * p) /* in the same part of 2 p */
                        exchange(x[i], x[i + k]);
}

/* Of n sorted values of lane i. */
static double middle_of(float (*x)[LANES], size_t n, size_t i)
{
    return n % 2 ? (double)x[n / 2][i] : ((double)x[n / 2 - 1][i] + (double)x[n / 2][i]) / 2;
}

/* --- tiles ------------------------------------------------------------------------------------ */

/* M and Q of the tiles of a width: tiles of block k are after those of the blocks before.  By one thread: this is
 * less work than it takes threads to meet where other programs run too. */
static void rate_width(const psr_clean_auto *p, size_t w, float *most)
{
    for (size_t k = 0; k < p->win.nrange; k++) {
        const struct psr_auto_block *b = &p->win.block[k];
        const size_t before = k * (p->win.size / w), all = b->n / w;
        double noise[PSR_AUTO_GROUPS];
        for (size_t g = 0; g < p->ngroup; g++)
            noise[g] = psr_auto_spark_noise(b->count[g], w);
        for (size_t j = 0; j < all; j += LANES) {
            const size_t n = all - j < LANES ? all - j : LANES;
            struct psr_auto_spark now[LANES] = {{0}};
            if (b->ncount) {
                float u[PSR_AUTO_GROUPS][LANES] = {{0}};
                size_t good[LANES];
                for (size_t i = 0; i < n; i++) {
                    const int64_t *sum = p->band.fold + (b->first + j + i) * p->ngroup;
                    size_t m = 0;
                    /* Spectra of a tile that are no sparks. */
                    const size_t first = b->first + (j + i) * w;
                    size_t q = w;
                    for (size_t t = first; t < first + w; t++)
                        q -= p->band.spark[t];
                    good[i] = q;
                    for (size_t g = 0; g < p->ngroup && 2 * good[i] >= w; g++)
                        if (b->count[g])
                            u[m++][i] = good[i] == w
                                            ? (float)((double)sum[g] / noise[g])
                                            : psr_auto_spark_sigmas(sum[g], b->count[g], good[i]);
                }
                const size_t m = b->ncount;
                auto_sort_lanes(u, m);
                for (size_t i = 0; i < n; i++)
                    now[i] = 2 * good[i] < w
                                 ? (struct psr_auto_spark){0, 0}
                                 : psr_auto_join_sigmas(middle_of(u, m, i), (double)u[m / 4][i],
                                                        (double)u[m - 1 - m / 4][i], m);
            }
            for (size_t i = 0; i < n; i++) {
                p->band.tile[before + j + i] = now[i].half;
                most[before + j + i] = now[i].most;
            }
        }
    }
}

/* As psr_auto_flatten for each tile. */
static void flatten_tiles(const float *m, size_t n, float *flat)
{
    enum { NEAR = 2 * PSR_AUTO_AROUND + 1 };
    float near[NEAR][LANES];
    for (size_t j = 0; j < n;) {
        if (j < PSR_AUTO_AROUND || j + LANES + PSR_AUTO_AROUND > n) {
            flat[j] = psr_auto_flatten(m, n, j);
            j++;
            continue;
        }
        for (size_t i = 0; i < NEAR; i++)
            memcpy(near[i], m + j - PSR_AUTO_AROUND + i, sizeof near[i]);
        auto_sort_lanes(near, NEAR);
        for (size_t i = 0; i < LANES; i++, j++)
            flat[j] = (float)((double)m[j] - middle_of(near, NEAR, i));
    }
}

static double scatter_about(const float *m, size_t n, double middle, float *work)
{
    for (size_t j = 0; j < n; j++)
        work[j] = (float)fabs((double)m[j] - middle);
    return PSR_AUTO_SCATTER * psr_quantile_median(work, n);
}

/* Looks for sparks and pulses of one width.
 * Given: again   sums over tiles of half the width are not there, or of spectra that are sparks */
static bool look_at_width(psr_clean_auto *p, size_t w, bool again)
{
    float *flat = p->work, *work = flat + p->window, *most = work + p->window;
    const size_t last = p->win.nrange - 1, n = last * (p->win.size / w) + p->win.block[last].n / w;
    if (!n)
        return true;
    for (size_t step = again ? 1 : w; step <= w; step *= 2)
        auto_fold(p, step, p->band.spark);
    rate_width(p, w, most);
    flatten_tiles(p->band.tile, n, flat);
    const double scatter = fmax(1, scatter_about(flat, n, 0, work));
    const double clip = p->d.clip_sigma;
    bool some = false;
    size_t j = 0;
    for (size_t k = 0; k < p->win.nrange; k++) {
        const struct psr_auto_block *b = &p->win.block[k];
        for (size_t t = 0; t + w <= b->n && j < n; t += w, j++) {
            if (psr_auto_stands_out(flat[j], most[j], PSR_AUTO_PULSE * scatter, PSR_AUTO_PULSE))
                memset(p->band.pulse + b->first + t, 1, w);
            if (clip > 0 && psr_auto_stands_out(flat[j], most[j], clip * scatter, clip)) {
                /* Masks spectra first .. first + w - 1, and half as many on either side: what begins or ends there is
                 * not seen in tiles that it fills in part. */
                const size_t first = b->first + t;
                const size_t from = first > w / 2 ? first - w / 2 : 0, to = first + w + w / 2;
                memset(p->band.spark + from, 1, (to < p->win.n ? to : p->win.n) - from);
                some = true;
            }
        }
    }
    return some;
}

void psr_auto_find_sparks(psr_clean_auto *p)
{
    memset(p->band.spark, 0, p->window);
    memset(p->band.pulse, 0, p->window);
    bool again = true;
    for (size_t w = 1; !p->d.zerodm && 4 * w <= p->win.size; w *= 2)
        again = look_at_width(p, w, again);
}

/* --- zero-DM ---------------------------------------------------------------------------------- */

/* Of n channels. */
static double mean_of_all(const psr_clean_auto *p, size_t n, size_t t)
{
    int64_t sum = 0;
    for (size_t g = 0; g < p->ngroup; g++)
        sum += p->band.sum[t * p->ngroup + g];
    return n ? (double)sum / (double)n : 0;
}

void psr_auto_find_mean(psr_clean_auto *p)
{
    double sum = 0;
    for (size_t k = 0; k < p->win.nrange; k++) {
        const struct psr_auto_block *b = &p->win.block[k];
        size_t n = 0;
        for (size_t c = 0; c < p->d.nchan; c++)
            n += !b->masked[c];
        for (size_t t = b->first; t < b->first + b->n; t++) {
            p->modes.mode[t] = (float)mean_of_all(p, n, t);
            sum += (double)p->modes.mode[t];
        }
    }
    for (size_t t = 0; t < p->win.n; t++)
        for (size_t g = 0; g < p->ngroup; g++)
            p->modes.less[t * p->ngroup + g] =
                (float)((double)p->modes.mode[t] - sum / (double)p->win.n);
}
