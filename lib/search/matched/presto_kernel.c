/* The inner loop of accelsearch's sums, for each instruction set. */
#include "presto_kernel.h"

#include "base/isa.h"

#if !defined __clang__
#pragma GCC diagnostic ignored "-Wpsabi" /* functions that take vectors are inline */
#endif

typedef float floats __attribute__((vector_size(4 * PRESTO_LANES)));
typedef int32_t ints __attribute__((vector_size(4 * PRESTO_LANES)));
typedef float any_floats __attribute__((vector_size(4 * PRESTO_LANES), aligned(4), may_alias));
typedef int32_t any_ints __attribute__((vector_size(4 * PRESTO_LANES), aligned(4), may_alias));

#if defined __clang__ /* a function would pass vectors that not every instruction set has */
#define SHUFFLE(x, offset)                                                                         \
    __extension__({                                                                                \
        const floats x_ = (x);                                                                     \
        const ints offset_ = (ints)(offset);                                                       \
        floats out_;                                                                               \
        for (int k_ = 0; k_ < PRESTO_LANES; k_++)                                                  \
            out_[k_] = x_[offset_[k_]];                                                            \
        out_;                                                                                      \
    })
#else
#define SHUFFLE(x, offset) __builtin_shuffle(x, (ints)(offset))
#endif

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define NAME(x)      PASTE(x, SUFFIX)

#define SUFFIX base
#define ISA
#include "presto_lanes.h"
#undef SUFFIX
#undef ISA

#if defined __x86_64__
#define SUFFIX avx2
#define ISA    PSR_ISA_FOR_AVX2
#include "presto_lanes.h"
#undef SUFFIX
#undef ISA

#define SUFFIX avx512
#define ISA    PSR_ISA_FOR_AVX512
#include "presto_lanes.h"
#undef SUFFIX
#undef ISA
#endif

static psr_presto_add *const adds[PSR_NISA] = PSR_ISA_TABLE(add);

psr_presto_add *psr_presto_add_choose(void)
{
    return adds[psr_isa_find()];
}
