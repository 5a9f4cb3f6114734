/* The inner loops of a fold's search, for each instruction set. */
#include "fold_sum_kernel.h"

#include "base/threads/isa.h"

typedef int16_t words __attribute__((vector_size(2 * FOLD_VECTOR)));
typedef int16_t any_words __attribute__((vector_size(2 * FOLD_VECTOR), aligned(2), may_alias));
typedef uint32_t codes __attribute__((vector_size(4 * FOLD_VECTOR)));
typedef float floats __attribute__((vector_size(4 * FOLD_VECTOR)));
typedef float any_floats __attribute__((vector_size(4 * FOLD_VECTOR), aligned(4), may_alias));
#define GET_WORDS(p)     ((words)(*(const any_words *)(p)))
#define PUT_WORDS(p, v)  (*(any_words *)(p) = (v))
#define GET_FLOATS(p)    ((floats)(*(const any_floats *)(p)))
#define PUT_FLOATS(p, v) (*(any_floats *)(p) = (v))

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        add_##s, round_##s, find_##s, measure_##s                                                  \
    }

#define PSR_LANES "search/fold/kernels/fold_sum_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_fold_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

const struct psr_fold_loops *psr_fold_loops_choose(void)
{
    return &loops[psr_isa_find()];
}
