/* The inner loops of a fold, for each instruction set. */
#include "fold_rows_kernel.h"

#include "base/threads/isa.h"

#include <string.h>

enum { GROUP = PSR_FOLD_GROUP, TILE = PSR_FOLD_TILE };

/* A vector of the instruction set, and the places that interleave the lower, or upper, halves of each
 * 16 bytes of two vectors of n elements. */
#define WORDS(name, bytes)                                                                         \
    typedef uint16_t words_##name __attribute__((vector_size(bytes)));                             \
    typedef uint16_t any_words_##name __attribute__((vector_size(bytes), aligned(1), may_alias))
#define MIX(i, n)                                                                                  \
    (i), (n) + (i), (i) + 1, (n) + (i) + 1, (i) + 2, (n) + (i) + 2, (i) + 3, (n) + (i) + 3
#define MIX_2(i, n) MIX(i, n), MIX((i) + 8, n)
#define MIX_4(i, n) MIX_2(i, n), MIX_2((i) + 16, n)
WORDS(base, 16);
static const words_base lower_base = {MIX(0, 8)}, upper_base = {MIX(4, 8)};
#if defined __x86_64__
WORDS(avx2, 32);
WORDS(avx512, 64);
static const words_avx2 lower_avx2 = {MIX_2(0, 16)}, upper_avx2 = {MIX_2(4, 16)};
static const words_avx512 lower_avx512 = {MIX_4(0, 32)}, upper_avx512 = {MIX_4(4, 32)};
#endif

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        sum_bytes_##s, moments_##s, turn_##s, fold_words_##s, fold_floats_##s                      \
    }

#define PSR_LANES "search/fold/kernels/fold_rows_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_fold_rows_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

const struct psr_fold_rows_loops *psr_fold_rows_choose(void)
{
    return &loops[psr_isa_find()];
}
