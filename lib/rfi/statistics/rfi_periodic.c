/* Searches a channel's powers for periodic signals.
 *
 * Positions are counted in half bins: j is bin j / 2.  The sum of h harmonics at j adds the powers
 * at (j + h' / 2) / h' for h' = 1 .. h, divisions rounding down: the highest harmonic is at j, the
 * others are at its fractions. */
#include "rfi_statistics.h"

#include "base/threads/isa.h"
#include "base/tool.h"

#include <math.h>
#include <psrkit/experimental/clean.h>
#include <psrkit/signif.h>
#include <stdlib.h>

/* --- computes powers of two channels from the transform of both ------------------------------- */

#if defined __x86_64__
#include <immintrin.h>
#endif

/* Bins before vectors, so that these are aligned; no fewer than PSR_RFI_LOBIN. */
enum { ALONE = 16 };

enum { WIDTH_base = 4, WIDTH_avx2 = 8, WIDTH_avx512 = 16 };

static const float HALF_BIN = (float)(4 / (M_PI * M_PI));

/* Real and imaginary parts of bin 0 on, and backwards from bin n. */
struct spectrum {
    const float *re, *im, *re_back, *im_back;
    float seed;
};

/* Vectors backwards; without the first of a and with the first of b; bits of the elements of a that are greater than those of b. */
#if defined __clang__
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t offsets_base __attribute__((vector_size(16)));
typedef int32_t offsets_avx2 __attribute__((vector_size(32)));
typedef int32_t offsets_avx512 __attribute__((vector_size(64)));
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif
#define BACK_base(a) SHUFFLE(offsets_base, a, a, 3, 2, 1, 0)
#define BACK_avx2(a) SHUFFLE(offsets_avx2, a, a, 7, 6, 5, 4, 3, 2, 1, 0)
#define BACK_avx512(a)                                                                             \
    SHUFFLE(offsets_avx512, a, a, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define NEXT_base(a, b) SHUFFLE(offsets_base, a, b, 1, 2, 3, 4)
#define NEXT_avx2(a, b) SHUFFLE(offsets_avx2, a, b, 1, 2, 3, 4, 5, 6, 7, 8)
#define NEXT_avx512(a, b)                                                                          \
    SHUFFLE(offsets_avx512, a, b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
#if defined __x86_64__
#define ABOVE_base(a, b) (unsigned)_mm_movemask_ps(_mm_cmpgt_ps((__m128)(a), (__m128)(b)))
#define ABOVE_avx2(a, b)                                                                           \
    (unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)(a), (__m256)(b), _CMP_GT_OQ))
#define ABOVE_avx512(a, b) (unsigned)_mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_GT_OQ)
#else
#define ABOVE_base(a, b)                                                                           \
    (((a)[0] > (b)[0]) | ((a)[1] > (b)[1]) << 1 | ((a)[2] > (b)[2]) << 2 | ((a)[3] > (b)[3]) << 3)
#endif

/* The greater of two elements; of what is no number, b. */
#if defined __x86_64__
#define GREATER_base(a, b)   (vector_base) _mm_max_ps((__m128)(a), (__m128)(b))
#define GREATER_avx2(a, b)   (vector_avx2) _mm256_max_ps((__m256)(a), (__m256)(b))
#define GREATER_avx512(a, b) (vector_avx512) _mm512_max_ps((__m512)(a), (__m512)(b))
#else
#define GREATER_AT(a, b, k) ((a)[k] > (b)[k] ? (a)[k] : (b)[k])
#define GREATER_base(a, b)                                                                         \
    (vector_base)                                                                                  \
    {                                                                                              \
        GREATER_AT(a, b, 0), GREATER_AT(a, b, 1), GREATER_AT(a, b, 2), GREATER_AT(a, b, 3)         \
    }
#endif

static inline void add_seeds(struct psr_rfi_powers *x, uint32_t *seed, size_t k, unsigned whole,
                             unsigned half)
{
    for (; whole; whole &= whole - 1)
        seed[x->nseed++] = 2 * (uint32_t)(k + (size_t)__builtin_ctz(whole));
    for (; half; half &= half - 1)
        seed[x->nseed++] = 2 * (uint32_t)(k + (size_t)__builtin_ctz(half)) + 1;
}

#define PSR_LANES "rfi/statistics/rfi_powers_lanes.h"
#include "base/threads/isa_lanes.h"

typedef size_t find_function(const struct spectrum *s, size_t k, size_t end,
                             const struct psr_rfi_power_room room[2],
                             struct psr_rfi_powers powers[2]);

static find_function *const find[PSR_NISA] = PSR_ISA_TABLE(find_powers);

/* Of one bin; the amplitudes of the next are 0 after the last bin. */
static void find_power(const struct spectrum *s, size_t k, size_t nbin,
                       const struct psr_rfi_power_room room[2], struct psr_rfi_powers powers[2])
{
    float part[2][4] = {{0}}; /* of k and k + 1: first real, imaginary, second real, imaginary */
    for (size_t h = 0; h < 2 && k + h < nbin; h++) {
        const ptrdiff_t at = (ptrdiff_t)(k + h);
        const float re = at ? s->re_back[-at] : s->re[0], im = at ? s->im_back[-at] : s->im[0];
        part[h][0] = s->re[at] + re;
        part[h][1] = s->im[at] - im;
        part[h][2] = s->im[at] + im;
        part[h][3] = s->re[at] - re;
    }
    for (size_t c = 0; c < 2; c++) {
        const float *a = part[0] + 2 * c, *b = part[1] + 2 * c, dr = a[0] - b[0], di = a[1] - b[1];
        const float whole = a[0] * a[0] + a[1] * a[1], half = HALF_BIN * (dr * dr + di * di);
        room[c].whole[k] = whole;
        room[c].half[k] = half;
        add_seeds(&powers[c], room[c].seed, k, whole > s->seed, half > s->seed);
        if (k >= PSR_RFI_LOBIN && whole > powers[c].largest)
            powers[c].largest = whole;
    }
}

void psr_rfi_powers_find(enum psr_isa isa, const float *z, size_t n, size_t nbin, float seed,
                         const struct psr_rfi_power_room room[2], struct psr_rfi_powers powers[2])
{
    const struct spectrum s = {z, z + n, z + n, z + 2 * n, seed};
    for (size_t c = 0; c < 2; c++)
        powers[c] = (struct psr_rfi_powers){
            .whole = room[c].whole, .half = room[c].half, .nbin = nbin, .seed = room[c].seed};
    size_t k = 0;
    for (; k < ALONE && k < nbin; k++)
        find_power(&s, k, nbin, room, powers);
    k = find[isa](&s, k, nbin, room, powers);
    for (; k < nbin; k++)
        find_power(&s, k, nbin, room, powers);
}

/* --- searches a channel's powers for periodic signals ----------------------------------------- */

enum { PRESTO_ROOM = 10 }; /* of its list of detections, which is doubled when full */
enum { HARM = PSR_RFI_NUMHARM, FIRST = PSR_RFI_LOBIN * PSR_RFI_NUMBETWEEN };

/* From here on significances are PRESTO's approximation (Abramowitz and Stegun 26.2.23), so that
 * lists agree. */
static const double LN_APPROXIMATE = -600;

double psr_rfi_power_for_sigma(double sigma, int nharm, double ntrials)
{
    double ln_p = psr_gauss_logp(sigma).ln_sf - log(ntrials);
    return psr_chi2_threshold(psr_logp_from_sf(ln_p), 2 * nharm) / 2;
}

void psr_rfi_threshold_set(struct psr_rfi_threshold *t, double sigma, size_t nbin)
{
    const double ntrials = (double)(nbin - PSR_RFI_LOBIN);
    double least = INFINITY;
    t->power[0] = 0;
    for (int h = 1; h <= HARM; h++) {
        t->power[h] = psr_rfi_power_for_sigma(sigma, h, ntrials);
        least = fmin(least, t->power[h] / h);
    }
    t->ln_trials = log(ntrials);
    t->seed = (float)(least * (1 - 1e-5));
}

static double significance(double power, int nharm, const struct psr_rfi_threshold *t)
{
    double ln_p = psr_chi2_logp(2 * power, 2 * nharm).ln_sf + t->ln_trials;
    if (ln_p >= LN_APPROXIMATE)
        return fmax(psr_gauss_sigma(psr_logp_from_sf(fmin(ln_p, 0))), 0);
    double u = sqrt(-2 * ln_p);
    return u - (2.515517 + u * (0.802853 + u * 0.010328)) /
                   (1 + u * (1.432788 + u * (0.189269 + u * 0.001308)));
}

static float power_at(const struct psr_rfi_powers *x, size_t j)
{
    return j % 2 ? x->half[j / 2] : x->whole[j / 2];
}

/* Sums of 1 .. HARM harmonics at j. */
static void sum_harmonics(const struct psr_rfi_powers *x, size_t j, float sum[HARM + 1])
{
    sum[0] = 0;
    for (size_t h = 1; h <= HARM; h++)
        sum[h] = sum[h - 1] + power_at(x, (j + h / 2) / h);
}

static psr_status append(struct psr_rfi_hits *hits, double r, double sigma, size_t order,
                         psr_err *err)
{
    psr_status st = psr_grow(&hits->hit, &hits->room, hits->n, sizeof *hits->hit,
                             "the list of periodic interference", err);
    if (!st)
        hits->hit[hits->n++] = (struct psr_rfi_hit){r, sigma, (uint32_t)order};
    return st;
}

PSR_COMPARE(by_place, struct psr_rfi_hit, PSR_RISING(r));

PSR_COMPARE(by_sigma, struct psr_rfi_hit, PSR_THEN(PSR_FALLING(sigma), PSR_RISING(order)));

/* All sums above their thresholds, at the places found. */
static psr_status take_hits(const struct psr_rfi_powers *x, const struct psr_rfi_threshold *t,
                            const struct psr_rfi_hits *places, struct psr_rfi_hits *hits,
                            psr_err *err)
{
    psr_status st = PSR_OK;
    const size_t before = hits->n;
    for (int h = 1; h <= HARM; h++)
        for (size_t k = 0; k < places->n && !st; k++) {
            float sum[HARM + 1];
            if (k && places->hit[k].r == places->hit[k - 1].r)
                continue;
            sum_harmonics(x, (size_t)places->hit[k].r, sum);
            if ((double)sum[h] > t->power[h])
                st = append(hits, places->hit[k].r / PSR_RFI_NUMBETWEEN,
                            significance((double)sum[h], h, t), hits->n - before, err);
        }
    return st;
}

/* The same for all places, in PRESTO's steps; sum [2 nbin]. */
static psr_status take_hits_as_presto(const struct psr_rfi_powers *x,
                                      const struct psr_rfi_threshold *t, struct psr_rfi_hits *hits,
                                      float *sum, psr_err *err)
{
    psr_status st = PSR_OK;
    size_t room = PRESTO_ROOM;
    const size_t end = 2 * x->nbin, before = hits->n;
    for (size_t j = 0; j < end; j++)
        sum[j] = 0;
    for (size_t h = 1; h <= HARM; h++)
        for (size_t j = FIRST; j < end && !st; j++) {
            sum[j] += power_at(x, (j + h / 2) / h);
            if (!((double)sum[j] > t->power[h]))
                continue;
            st = append(hits, (double)j / PSR_RFI_NUMBETWEEN,
                        significance((double)sum[j], (int)h, t), hits->n - before, err);
            if (hits->n - before < room)
                continue;
            room *= 2;
            j = h > 1 ? room : j;
        }
    return st;
}

psr_status psr_rfi_search(const struct psr_rfi_powers *x, const struct psr_rfi_threshold *t,
                          float *largest, struct psr_rfi_hits *hits, struct psr_rfi_hits *work,
                          float *presto, psr_err *err)
{
    const size_t before = hits->n;
    *largest = isnormal(x->largest) ? x->largest : 0;
    if (*largest == 0)
        return PSR_OK;
    /* The fractions of FIRST begin at FIRST / HARM, rounded. */
    psr_status st = PSR_OK;
    work->n = 0;
    for (size_t k = 0; k < x->nseed && !st; k++)
        if (x->seed[k] >= (FIRST + HARM / 2) / HARM) {
            /* Keeps the places at which a sum of harmonics that includes bin s may reach its threshold. */
            const size_t s = x->seed[k];
            st = PSR_OK;
            for (size_t h = 1; h <= HARM && !st; h++)
                for (size_t j = h * s - h / 2; j < h * s - h / 2 + h && !st; j++) {
                    float sum[HARM + 1];
                    if (j < FIRST || j >= 2 * x->nbin)
                        continue;
                    sum_harmonics(x, j, sum);
                    bool any = false;
                    for (int i = 1; i <= HARM; i++)
                        any |= (double)sum[i] > t->power[i];
                    if (any)
                        st = append(work, (double)j, 0, 0, err);
                }
        }
    if (st || !work->n)
        return st;
    qsort(work->hit, work->n, sizeof *work->hit, by_place);
    st = take_hits(x, t, work, hits, err);
    if (!st && presto && hits->n - before >= PRESTO_ROOM) {
        hits->n = before;
        st = take_hits_as_presto(x, t, hits, presto, err);
    }
    if (!st && hits->n > before)
        qsort(hits->hit + before, hits->n - before, sizeof *hits->hit, by_sigma);
    return st;
}
