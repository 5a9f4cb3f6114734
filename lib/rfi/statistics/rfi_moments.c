/* Computes moments to the fourth order, and their limits in noise. */
#include "rfi_statistics.h"

#include "base/threads/isa.h"

#include <math.h>
#include <psrkit/signif.h>
#include <stdbool.h>
#include <string.h>

/* --- inner loops over pairs of channels of bytes, for each instruction set -------------------- */

#if defined __x86_64__
#include <immintrin.h>
#endif

enum { WORDS_base = 8, WORDS_avx2 = 16, WORDS_avx512 = 32 };

/* Squares of -128 .. 127 are about MIDDLE within 2^13, so that the sum of FOURTHS times two of their
 * squares is less than 2^31; sums of BLOCK times two cubes are, too. */
enum { MIDDLE = 1 << 13, FOURTHS = 15, BLOCK = 32 * FOURTHS };

/* Products of words, sums of two of them. */
#if defined __x86_64__
#define MADD_base(a, b)   (ints_base) _mm_madd_epi16((__m128i)(a), (__m128i)(b))
#define MADD_avx2(a, b)   (ints_avx2) _mm256_madd_epi16((__m256i)(a), (__m256i)(b))
#define MADD_avx512(a, b) (ints_avx512) _mm512_madd_epi16((__m512i)(a), (__m512i)(b))
#else
#define MADD_AT(a, b, k) ((a)[k] * (b)[k] + (a)[(k) + 1] * (b)[(k) + 1])
#define MADD_base(a, b)                                                                            \
    (ints_base)                                                                                    \
    {                                                                                              \
        MADD_AT(a, b, 0), MADD_AT(a, b, 2), MADD_AT(a, b, 4), MADD_AT(a, b, 6)                     \
    }
#endif

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        add_powers_##s, scale_pair_##s                                                             \
    }

#define PSR_LANES "rfi/statistics/rfi_bytes_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_rfi_bytes_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

const struct psr_rfi_bytes_loops *psr_rfi_bytes_choose(enum psr_isa isa)
{
    return &loops[isa];
}

/* --- computes moments to the fourth order, and their limits in noise -------------------------- */

enum { LANES = 8 };

void psr_rfi_power_sums_add(struct psr_rfi_power_sums *s, int64_t x, int64_t count)
{
    const int64_t d = x - s->origin;
    psr_int128 power = count;
    s->n += count;
    for (int k = 0; k < 4; k++) {
        power *= d;
        s->sum[k] += power;
    }
}

/* About the integer next to the mean, exactly; what is left of the mean is then small, so that
 * nothing cancels. */
struct psr_rfi_moments psr_rfi_moments_from_sums(const struct psr_rfi_power_sums *s)
{
    const psr_int128 *const a = s->sum, n = s->n;
    if (s->n <= 0)
        return (struct psr_rfi_moments){0};
    const double count = (double)n;
    const int64_t near = (int64_t)llround((double)a[0] / count);
    const psr_int128 c = near;
    const double d = (double)(a[0] - n * c) / count;
    const double p2 = (double)(a[1] - 2 * c * a[0] + n * c * c) / count;
    const double p3 = (double)(a[2] - 3 * c * a[1] + 3 * c * c * a[0] - n * c * c * c) / count;
    const double p4 = (double)(a[3] - 4 * c * a[2] + 6 * c * c * a[1] - 4 * c * c * c * a[0] +
                               n * c * c * c * c) /
                      count;
    const double m2 = p2 - d * d;
    return (struct psr_rfi_moments){.n = count,
                                    .mean = (double)(s->origin + near) + d,
                                    .m2 = m2 > 0 ? m2 : 0,
                                    .m3 = p3 - 3 * d * p2 + 2 * d * d * d,
                                    .m4 = p4 - 4 * d * p3 + 6 * d * d * p2 - 3 * d * d * d * d};
}

/* Fourth powers of 17 bits fill 64, so that they are added in two halves. */
struct psr_rfi_moments psr_rfi_moments_of_integers(const float *x, size_t n)
{
    enum { MOST = 1 << 12 };
    struct psr_rfi_power_sums s = {(int64_t)n, 0, {0}};
    for (size_t t0 = 0; t0 < n; t0 += MOST) {
        const size_t end = n - t0 < MOST ? n : t0 + MOST;
        int64_t s1 = 0, s2 = 0, s3 = 0;
        uint64_t low = 0, high = 0;
        for (size_t t = t0; t < end; t++) {
            const int64_t d = (int64_t)x[t], square = d * d;
            const uint64_t fourth = (uint64_t)square * (uint64_t)square;
            s1 += d;
            s2 += square;
            s3 += square * d;
            low += fourth & 0xffffffff;
            high += fourth >> 32;
        }
        s.sum[0] += s1;
        s.sum[1] += s2;
        s.sum[2] += s3;
        s.sum[3] += ((psr_int128)high << 32) + low;
    }
    return psr_rfi_moments_from_sums(&s);
}

struct psr_rfi_moments psr_rfi_moments_of_floats(const float *x, size_t n)
{
    double sum[LANES] = {0}, p2[LANES] = {0}, p3[LANES] = {0}, p4[LANES] = {0};
    if (!n)
        return (struct psr_rfi_moments){0};
    for (size_t t = 0; t < n; t++)
        sum[t % LANES] += (double)x[t];
    for (size_t k = 1; k < LANES; k++)
        sum[0] += sum[k];
    const double mean = sum[0] / (double)n;
    for (size_t t = 0; t < n; t++) {
        const double d = (double)x[t] - mean, square = d * d;
        p2[t % LANES] += square;
        p3[t % LANES] += square * d;
        p4[t % LANES] += square * square;
    }
    for (size_t k = 1; k < LANES; k++) {
        p2[0] += p2[k];
        p3[0] += p3[k];
        p4[0] += p4[k];
    }
    return (struct psr_rfi_moments){(double)n, mean, p2[0] / (double)n, p3[0] / (double)n,
                                    p4[0] / (double)n};
}

double psr_rfi_skewness(const struct psr_rfi_moments *m)
{
    return m->m2 > 0 ? m->m3 / (m->m2 * sqrt(m->m2)) : 0;
}

double psr_rfi_kurtosis(const struct psr_rfi_moments *m)
{
    return m->m2 > 0 ? m->m4 / (m->m2 * m->m2) - 3 : 0;
}

/* --- generalised spectral kurtosis ------------------------------------------------------------ */

/* Central moments of the estimator, from the moments of S2 / S1^2, which does not depend on S1. */
void psr_rfi_sk_moments(double n, double d, double *variance, double *skewness, double *kurtosis)
{
    const double nd = n * d, dd = d * (d + 1), n1 = n - 1;
    const double m2 = 2 * dd * n * n / (n1 * (nd + 2) * (nd + 3));
    const double m3 = 4 * m2 * n * (d * (nd + 4 * n - 5) - 2) / (n1 * (nd + 4) * (nd + 5));
    const double p2 = d * (125 * n * n - 245 * n + 84), p1 = 48 - 32 * n;
    const double p3 = d * d * n * (n * n + 68 * n - 93), p4 = d * d * d * n * n * (n + 3);
    const double sum = d * (p4 + p3 + p2 + p1) + 24;
    const double m4 = 6 * m2 * n * n * sum / (n1 * n1 * (nd + 4) * (nd + 5) * (nd + 6) * (nd + 7));
    *variance = m2;
    *skewness = m3 / (m2 * sqrt(m2));
    *kurtosis = m4 / (m2 * m2) - 3;
}

/* Relative variance, times n, of variance / mean^2 of samples of this shape, skewness and kurtosis,
 * to first order in 1 / n; of a gamma distribution 2 + 2 / d. */
static double scatter_of(const struct psr_rfi_noise *noise, bool has_shape)
{
    double v = 2 + noise->kurtosis;
    if (has_shape)
        v += 4 / noise->shape - 4 * noise->skewness / sqrt(noise->shape);
    return fmax(v, 0);
}

double psr_rfi_sk_deviation(const struct psr_rfi_moments *m, const struct psr_rfi_noise *noise)
{
    const bool has_shape = noise->shape >= PSR_RFI_LEAST_SHAPE && m->mean > 0;
    const double n = m->n, d = noise->shape;
    double sk, variance;
    if (has_shape) {
        sk = (n * d + 1) / (n - 1) * m->m2 / (m->mean * m->mean);
        variance = 2 * d * (d + 1) * n * n / ((n - 1) * (n * d + 2) * (n * d + 3));
        variance *= scatter_of(noise, true) / (2 + 2 / d);
    } else {
        sk = n / (n - 1) * m->m2 / noise->variance;
        variance = scatter_of(noise, false) / n;
    }
    return variance > 0 ? (sk - 1) / sqrt(variance) : 0;
}

/* A Pearson curve of mean 0 and variance 1: f' / f = -(c1 + x) / (c0 + c1 x + c2 x^2). */
struct pearson {
    double c0, c1, c2;
};

static double slope(const struct pearson *p, double x)
{
    const double q = p->c0 + p->c1 * x + p->c2 * x * x;
    return q > 0 ? -(p->c1 + x) / q : -INFINITY;
}

enum { STEPS = 4000 };

static const double FARTHEST = 40; /* standard deviations */

/* The tail of the curve on one side of its mode, in steps of that sign.
 * Returned: tail [STEPS + 1], tail[k] the integral from mode + k step on, for a maximum of 1 */
static void sum_tail(const struct pearson *p, double step, double tail[STEPS + 1])
{
    double f[STEPS + 1];
    f[0] = 1;
    double at = -p->c1, ln = 0;
    for (int k = 1; k <= STEPS; k++, at += step) {
        const double a = slope(p, at), b = slope(p, at + step / 2), c = slope(p, at + step);
        ln += isfinite(a + b + c) ? step * (a + 4 * b + c) / 6 : -INFINITY;
        f[k] = exp(ln);
    }
    tail[STEPS] = 0;
    for (int k = STEPS; k > 0; k--)
        tail[k - 1] = tail[k] + fabs(step) * (f[k] + f[k - 1]) / 2;
}

/* Where a tail that falls like an exponential within a step has a given integral. */
static double find_tail(const double tail[STEPS + 1], double area)
{
    int k = 0;
    while (k < STEPS - 1 && tail[k + 1] > area)
        k++;
    if (!(tail[k + 1] > 0))
        return k;
    return k + log(tail[k] / area) / log(tail[k] / tail[k + 1]);
}

struct psr_rfi_limits psr_rfi_sk_limits(double n, double d, double sigma)
{
    double variance, g, k, low[STEPS + 1], high[STEPS + 1];
    psr_rfi_sk_moments(n, d, &variance, &g, &k);
    const double b1 = g * g, b2 = k + 3, below = 10 * b2 - 12 * b1 - 18;
    const struct pearson p = {(4 * b2 - 3 * b1) / below, g * (b2 + 3) / below,
                              (2 * b2 - 3 * b1 - 6) / below};
    const double step = FARTHEST / STEPS, area = exp(psr_gauss_logp(sigma).ln_sf);
    sum_tail(&p, -step, low);
    sum_tail(&p, step, high);
    const double all = low[0] + high[0];
    return (struct psr_rfi_limits){-p.c1 - step * find_tail(low, area * all),
                                   -p.c1 + step * find_tail(high, area * all)};
}

/* --- skewness and kurtosis -------------------------------------------------------------------- */

struct psr_rfi_limits psr_rfi_skewness_limits(double n, double sigma)
{
    const double b2 =
        3 * (n * n + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9));
    const double w2 = sqrt(2 * (b2 - 1)) - 1;
    const double delta = 1 / sqrt(log(w2) / 2), alpha = sqrt(2 / (w2 - 1));
    const double limit = alpha * sinh(sigma / delta);
    return (struct psr_rfi_limits){-limit, limit};
}

struct psr_rfi_limits psr_rfi_kurtosis_limits(double n, double sigma)
{
    const double b1 = 6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) *
                      sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)));
    const double a = 6 + 8 / b1 * (2 / b1 + sqrt(1 + 4 / (b1 * b1)));
    const double root = 1 - 2 / (9 * a) - sigma * sqrt(2 / (9 * a));
    const double ratio = (1 - 2 / a) / (root * root * root);
    const double high = root > 0 ? (ratio - 1) * sqrt((a - 4) / 2) : INFINITY;
    return (struct psr_rfi_limits){-sigma, high};
}

/* Transposes, sums and scales channels of unsigned samples of up to 8 bits, two at a time. */

enum { WIDTH = PSR_RFI_BYTES_WIDTH, ROWS = 32 };

/* Samples of less than a byte, as bytes. */
static void widen(uint8_t to[WIDTH], const unsigned char *from, size_t nbyte, int nbit)
{
    const unsigned mask = (1U << nbit) - 1;
    const size_t each = 8 / (size_t)nbit;
    for (size_t b = 0; b < nbyte; b++)
        for (size_t k = 0; k < each; k++)
            to[b * each + k] = (uint8_t)(from[b] >> k * (size_t)nbit & mask);
}

typedef uint16_t any_eight __attribute__((vector_size(16), aligned(1), may_alias));

/* Eight pairs of channels in one spectrum, or eight spectra of one pair. */
typedef uint16_t eight __attribute__((vector_size(16)));

#if defined __clang__
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define LOWER(a, b) __builtin_shuffle(a, b, (eight){0, 8, 1, 9, 2, 10, 3, 11})
#define UPPER(a, b) __builtin_shuffle(a, b, (eight){4, 12, 5, 13, 6, 14, 7, 15})
#endif

static inline __attribute__((always_inline)) void
transpose_eight(const unsigned char *from, size_t stride, uint8_t *to, size_t pair_bytes)
{
    eight a[8], b[8];
    for (size_t k = 0; k < 8; k++)
        a[k] = *(const any_eight *)(const void *)(from + k * stride);
    for (int step = 0; step < 3; step++) {
        for (int k = 0; k < 4; k++) {
            b[2 * k] = LOWER(a[k], a[k + 4]);
            b[2 * k + 1] = UPPER(a[k], a[k + 4]);
        }
        memcpy(a, b, sizeof a);
    }
    for (size_t k = 0; k < 8; k++)
        *(any_eight *)(void *)(to + k * pair_bytes) = a[k];
}

/* Rows that lie in the first cache: eight pairs after the other, eight rows of them at a time. */
PSR_CLONES
static void transpose_pairs(const unsigned char *rows, size_t stride, size_t n, size_t npair,
                            uint8_t *pair, size_t pair_bytes)
{
    const size_t whole = n - n % 8, together = npair - npair % 8;
    for (size_t k = 0; k < together; k += 8)
        for (size_t t = 0; t < whole; t += 8)
            transpose_eight(rows + t * stride + 2 * k, stride, pair + k * pair_bytes + 2 * t,
                            pair_bytes);
    for (size_t k = 0; k < npair; k++)
        for (size_t t = k < together ? whole : 0; t < n; t++)
            memcpy(pair + k * pair_bytes + 2 * t, rows + t * stride + 2 * k, 2);
}

void psr_rfi_bytes_transpose(const struct psr_layout *l, const unsigned char *in, size_t n,
                             size_t c0, size_t width, uint8_t *pair)
{
    const size_t nbyte = (width * (size_t)l->nbit + 7) / 8;
    const unsigned char *from = in + c0 * (size_t)l->nbit / 8;
    const bool whole = l->nbit == 8 && width % 2 == 0;
    for (size_t t = 0; t < n; t += ROWS) {
        uint8_t row[ROWS][WIDTH];
        const size_t m = n - t < ROWS ? n - t : ROWS, ahead = n - t - m < ROWS ? n - t - m : ROWS;
        const unsigned char *at = from + t * l->row_bytes;
        const unsigned char *rows = at + m * l->row_bytes;
        const size_t stride = l->row_bytes;
        for (size_t i = 0; i < ahead; i++)
            __builtin_prefetch(rows + i * stride);
        for (size_t k = 0; k < m && !whole; k++) {
            widen(row[k], at + k * l->row_bytes, nbyte, l->nbit);
            memset(row[k] + width, 0, WIDTH - width);
        }
        transpose_pairs(whole ? at : row[0], whole ? l->row_bytes : WIDTH, m, (width + 1) / 2,
                        pair + 2 * t, 2 * n);
    }
}

void psr_rfi_bytes_power_sums(const uint8_t *pair, size_t n, struct psr_rfi_power_sums sums[2])
{
    const size_t whole = n - n % PSR_RFI_BYTES_STEP;
    int64_t s[2][4] = {{0}};
    psr_rfi_bytes_choose(psr_isa_find())->add_powers(pair, whole, s);
    for (size_t c = 0; c < 2; c++) {
        sums[c] = (struct psr_rfi_power_sums){(int64_t)whole, PSR_RFI_BYTES_ORIGIN, {0}};
        for (size_t j = 0; j < 4; j++)
            sums[c].sum[j] = s[c][j];
    }
    for (size_t k = 2 * whole; k < 2 * n; k++)
        psr_rfi_power_sums_add(&sums[k % 2], pair[k], 1);
}

void psr_rfi_bytes_scale(const uint8_t *pair, size_t n, const float mean[2], const float factor[2],
                         float *z)
{
    psr_rfi_bytes_choose(psr_isa_find())->scale(pair, n, mean, factor, z, z + n);
}
