/* The inner loop of accelsearch's sums, for each instruction set. */
#include "presto_kernel.h"

#include "base/threads/isa.h"

typedef float floats __attribute__((vector_size(4 * PRESTO_LANES)));
typedef int32_t ints __attribute__((vector_size(4 * PRESTO_LANES)));
typedef float any_floats __attribute__((vector_size(4 * PRESTO_LANES), aligned(4), may_alias));
typedef int32_t any_ints __attribute__((vector_size(4 * PRESTO_LANES), aligned(4), may_alias));

#define PSR_LANES "compat/presto/presto_lanes.h"
#include "base/threads/isa_lanes.h"

static psr_presto_add *const adds[PSR_NISA] = PSR_ISA_TABLE(add);

psr_presto_add *psr_presto_add_choose(void)
{
    return adds[psr_isa_find()];
}
