/* Inner loops of the fast folding search, for each instruction set. */
#include "search/ffa/cpu/ffa_cpu.h"

#include "search/ffa/ffa_internal.h"

#include <math.h>
#include <string.h>

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

enum { BYTES_base = 16, BYTES_avx2 = 32, BYTES_avx512 = 64 };

#define CHOOSE(a, b, mask) (((a) & (mask)) | ((b) & ~(mask)))

static inline __attribute__((always_inline)) int16_t add_word(int a, int b)
{
    const int c = a + b;
    return (int16_t)(c > 32767 ? 32767 : c < -32768 ? -32768 : c);
}

typedef int32_t plain_ints __attribute__((vector_size(16)));
static inline plain_ints more_ints(plain_ints a, plain_ints b)
{
    return CHOOSE(a, b, a > b);
}

/* Saturating sums and larger elements of words, larger elements of integers, products of words with 1
 * in pairs. */
#if defined __x86_64__
#define ADD_WORDS_base(a, b)    (words_base) _mm_adds_epi16((__m128i)(a), (__m128i)(b))
#define ADD_WORDS_avx2(a, b)    (words_avx2) _mm256_adds_epi16((__m256i)(a), (__m256i)(b))
#define ADD_WORDS_avx512(a, b)  (words_avx512) _mm512_adds_epi16((__m512i)(a), (__m512i)(b))
#define MORE_WORDS_base(a, b)   (words_base) _mm_max_epi16((__m128i)(a), (__m128i)(b))
#define MORE_WORDS_avx2(a, b)   (words_avx2) _mm256_max_epi16((__m256i)(a), (__m256i)(b))
#define MORE_WORDS_avx512(a, b) (words_avx512) _mm512_max_epi16((__m512i)(a), (__m512i)(b))
#define MORE_INTS_base(a, b)    more_ints(a, b)
#define MORE_INTS_avx2(a, b)    (ints_avx2) _mm256_max_epi32((__m256i)(a), (__m256i)(b))
#define MORE_INTS_avx512(a, b)  (ints_avx512) _mm512_max_epi32((__m512i)(a), (__m512i)(b))
#define PAIRS_base(a)           (ints_base) _mm_madd_epi16((__m128i)(a), _mm_set1_epi16(1))
#define PAIRS_avx2(a)           (ints_avx2) _mm256_madd_epi16((__m256i)(a), _mm256_set1_epi16(1))
#define PAIRS_avx512(a)         (ints_avx512) _mm512_madd_epi16((__m512i)(a), _mm512_set1_epi16(1))
#define ROOTS_base(a)           (floats_base) _mm_sqrt_ps((__m128)(a))
#define ROOTS_avx2(a)           (floats_avx2) _mm256_sqrt_ps((__m256)(a))
#define ROOTS_avx512(a)         (floats_avx512) _mm512_sqrt_ps((__m512)(a))

/* The largest element. */
static inline __attribute__((always_inline)) int most_of_8(__m128i v)
{
    v = _mm_max_epi16(v, _mm_srli_si128(v, 8));
    v = _mm_max_epi16(v, _mm_srli_si128(v, 4));
    v = _mm_max_epi16(v, _mm_srli_si128(v, 2));
    return (int16_t)_mm_extract_epi16(v, 0);
}
#define MOST_base(v) most_of_8((__m128i)(v))
#define MOST_16(v)                                                                                 \
    most_of_8(_mm_max_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)))
#define MOST_avx2(v) MOST_16((__m256i)(v))
#define MOST_avx512(v)                                                                             \
    MOST_16(_mm256_max_epi16(_mm512_castsi512_si256((__m512i)(v)),                                 \
                             _mm512_extracti64x4_epi64((__m512i)(v), 1)))
#elif defined __aarch64__
#define ADD_WORDS_base(a, b)  (words_base) vqaddq_s16((int16x8_t)(a), (int16x8_t)(b))
#define MORE_WORDS_base(a, b) (words_base) vmaxq_s16((int16x8_t)(a), (int16x8_t)(b))
#define MORE_INTS_base(a, b)  (ints_base) vmaxq_s32((int32x4_t)(a), (int32x4_t)(b))
#define PAIRS_base(a)         (ints_base) vpaddlq_s16((int16x8_t)(a))
#define ROOTS_base(a)         (floats_base) vsqrtq_f32((float32x4_t)(a))
#define MOST_base(v)          vmaxvq_s16((int16x8_t)(v))
#else
typedef int16_t plain_words __attribute__((vector_size(16)));
typedef float plain_floats __attribute__((vector_size(16)));

static inline plain_words add_words(plain_words a, plain_words b)
{
    for (int k = 0; k < 8; k++)
        a[k] = add_word(a[k], b[k]);
    return a;
}
static inline int most_of_8(plain_words v)
{
    int most = v[0];
    for (int k = 1; k < 8; k++)
        most = v[k] > most ? v[k] : most;
    return most;
}
static inline plain_words more_words(plain_words a, plain_words b)
{
    return CHOOSE(a, b, a > b);
}
static inline plain_ints add_pairs(plain_words a)
{
    return (plain_ints){a[0] + a[1], a[2] + a[3], a[4] + a[5], a[6] + a[7]};
}
static inline plain_floats roots(plain_floats a)
{
    return (plain_floats){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
}
#define ADD_WORDS_base(a, b)  add_words(a, b)
#define MORE_WORDS_base(a, b) more_words(a, b)
#define MORE_INTS_base(a, b)  more_ints(a, b)
#define PAIRS_base(a)         add_pairs(a)
#define ROOTS_base(a)         roots(a)
#define MOST_base(v)          most_of_8(v)
#endif

/* Steps through the rows that shift s takes of a sum of "rows" of nrow rows, as psr_ffa_row. */
struct walk {
    size_t row, rest, step, period;
};

static inline struct walk begin_walk(size_t s, size_t rows, size_t nrow)
{
    const size_t period = 2 * (nrow - 1), at = 2 * s * (rows - 1) + (nrow - 1);
    return (struct walk){at / period, at % period, 2 * (rows - 1), period};
}

static inline void step_walk(struct walk *w)
{
    w->rest += w->step;
    if (w->rest >= w->period) {
        w->rest -= w->period;
        w->row++;
    }
}

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        merge_words_##s, merge_floats_##s, sum_words_##s, sum_floats_##s, total_##s,               \
            may_exceed_##s, largest_##s, rate_counted_##s, round_samples_##s, sum_block_##s,       \
            all_finite_##s, round_sums_##s, count_below_##s                                        \
    }

#define PSR_LANES "search/ffa/cpu/ffa_cpu_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_ffa_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

const struct psr_ffa_loops *psr_ffa_loops_choose(enum psr_isa isa)
{
    return &loops[isa];
}
