/* Chooses the beamformer's inner loops for this processor. */
#include "beam_cpu_kernel.h"

#include "base/isa.h"

#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define NAME(x)      PASTE(x, SUFFIX)
#define LOOPS(s)                                                                                   \
    {                                                                                              \
        add_power_##s, mix_rows_##s, dot_##s, cotangents_##s                                       \
    }

#define SUFFIX base
#define ISA
#include "beam_cpu_lanes.h"
#undef SUFFIX
#undef ISA

#if defined __x86_64__
#define SUFFIX avx2
#define ISA    PSR_ISA_FOR_AVX2
#include "beam_cpu_lanes.h"
#undef SUFFIX
#undef ISA

#define SUFFIX avx512
#define ISA    PSR_ISA_FOR_AVX512
#include "beam_cpu_lanes.h"
#undef SUFFIX
#undef ISA
static const struct psr_beam_loops loops[PSR_NISA] = {LOOPS(base), LOOPS(avx2), LOOPS(avx512)};
#else
static const struct psr_beam_loops loops[PSR_NISA] = {LOOPS(base), LOOPS(base), LOOPS(base)};
#endif

const struct psr_beam_loops *psr_beam_loops_choose(void)
{
    return &loops[psr_isa_find()];
}
