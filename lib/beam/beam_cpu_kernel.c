/* Chooses the beamformer's inner loops for this processor. */
#include "beam_cpu_kernel.h"

#include "base/threads/isa.h"

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        add_power_##s, mix_rows_##s, dot_##s, cotangents_##s                                       \
    }

#define PSR_LANES "beam/beam_cpu_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_beam_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

const struct psr_beam_loops *psr_beam_loops_choose(void)
{
    return &loops[psr_isa_find()];
}
