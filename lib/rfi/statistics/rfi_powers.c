/* Computes powers of two channels from the transform of both. */
#include "rfi_statistics.h"

#include "base/threads/isa.h"

#include <math.h>
#include <psrkit/experimental/clean.h>

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
