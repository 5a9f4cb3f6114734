/* Inner loops over pairs of channels of bytes, for each instruction set. */
#include "rfi_statistics.h"

#include "base/threads/isa.h"

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
