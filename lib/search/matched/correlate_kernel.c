/* The correlations' inner loops, for each instruction set. */
#include "correlate_kernel.h"

#include "base/isa.h"

#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#endif

typedef float lanes __attribute__((vector_size(4 * CORRELATE_LANES)));
typedef float any_lanes __attribute__((vector_size(4 * CORRELATE_LANES), aligned(4), may_alias));
#define GET(p, i)    ((lanes)(*(const any_lanes *)((p) + (i))))
#define PUT(p, i, v) (*(any_lanes *)((p) + (i)) = (v))

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define NAME(x)      PASTE(x, SUFFIX)
#define LOOPS(s)                                                                                   \
    {                                                                                              \
        multiply_quarter_##s, power_##s, power_most_##s                                            \
    }

#define SUFFIX base
#define ISA
#include "correlate_lanes.h"
#undef SUFFIX
#undef ISA

#if defined __x86_64__
#define SUFFIX avx2
#define ISA    PSR_ISA_FOR_AVX2
#include "correlate_lanes.h"
#undef SUFFIX
#undef ISA

#define SUFFIX avx512
#define ISA    PSR_ISA_FOR_AVX512
#include "correlate_lanes.h"
#undef SUFFIX
#undef ISA
static const struct psr_correlate_loops loops[PSR_NISA] = {LOOPS(base), LOOPS(avx2), LOOPS(avx512)};
#else
static const struct psr_correlate_loops loops[PSR_NISA] = {LOOPS(base), LOOPS(base), LOOPS(base)};
#endif

const struct psr_correlate_loops *psr_correlate_loops_choose(void)
{
    return &loops[psr_isa_find()];
}
