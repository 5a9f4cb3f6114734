/* The correlations' inner loops, for each instruction set. */
#include "correlate_kernel.h"

#include "base/threads/isa.h"

typedef float lanes __attribute__((vector_size(4 * CORRELATE_LANES)));
typedef float any_lanes __attribute__((vector_size(4 * CORRELATE_LANES), aligned(4), may_alias));
#define GET(p, i)    ((lanes)(*(const any_lanes *)((p) + (i))))
#define PUT(p, i, v) (*(any_lanes *)((p) + (i)) = (v))

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        multiply_quarter_##s, power_##s, power_most_##s                                            \
    }

#define PSR_LANES "search/matched/response/correlate_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_correlate_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

const struct psr_correlate_loops *psr_correlate_loops_choose(void)
{
    return &loops[psr_isa_find()];
}
