/* The passes of Stockham's transform, for each instruction set. */
#include "rfi_statistics.h"

#include "base/threads/isa.h"

#include <stdint.h>

enum { FIRST = PSR_RFI_FFT_FIRST, RADIX_MOST = 10 };
enum { WIDTH_base = 8, WIDTH_avx2 = 8, WIDTH_avx512 = 16 };

#define INLINE static inline __attribute__((always_inline))
#define V      NAME(vector)

/* The lower and the upper halves of a and b, element by element in turn. */
#if defined __clang__
#define SHUFFLE_8(a, b, ...)  __builtin_shufflevector(a, b, __VA_ARGS__)
#define SHUFFLE_16(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t offsets_8 __attribute__((vector_size(32)));
typedef int32_t offsets_16 __attribute__((vector_size(64)));
#define SHUFFLE_8(a, b, ...)  __builtin_shuffle(a, b, (offsets_8){__VA_ARGS__})
#define SHUFFLE_16(a, b, ...) __builtin_shuffle(a, b, (offsets_16){__VA_ARGS__})
#endif
#define LOWER_8(a, b)  SHUFFLE_8(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER_8(a, b)  SHUFFLE_8(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOWER_16(a, b) SHUFFLE_16(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER_16(a, b)                                                                             \
    SHUFFLE_16(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOWER_base   LOWER_8
#define LOWER_avx2   LOWER_8
#define LOWER_avx512 LOWER_16
#define UPPER_base   UPPER_8
#define UPPER_avx2   UPPER_8
#define UPPER_avx512 UPPER_16

struct passes {
    size_t width;
    psr_rfi_pass_run *first, *other[RADIX_MOST + 1];
};

#define PASSES(s)                                                                                  \
    {                                                                                              \
        WIDTH_##s, fft_first_##s,                                                                  \
        {                                                                                          \
            NULL, NULL, fft_pass_2_##s, fft_pass_3_##s, fft_pass_4_##s, fft_pass_5_##s,            \
                fft_pass_6_##s, fft_pass_7_##s, fft_pass_8_##s, fft_pass_9_##s, fft_pass_10_##s    \
        }                                                                                          \
    }

#define PSR_LANES "rfi/statistics/rfi_fft_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct passes passes[PSR_NISA] = PSR_ISA_EACH(PASSES);

psr_rfi_pass_run *psr_rfi_pass_choose(enum psr_isa isa, int radix, size_t s)
{
    const struct passes *p = &passes[isa];
    if (radix < 2 || radix > RADIX_MOST)
        return NULL;
    if (s == 1)
        return radix == FIRST ? p->first : NULL;
    /* What runs wider vectors runs these, too. */
    return s % p->width ? passes[PSR_ISA_AVX2].other[radix] : p->other[radix];
}
