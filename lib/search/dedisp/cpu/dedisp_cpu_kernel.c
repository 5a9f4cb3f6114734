/* Chooses the dedispersion kernels for this processor. */
#include "dedisp_cpu.h"

#include "base/threads/isa.h"

#if defined __x86_64__
#include <immintrin.h>
#endif

/* Every kind of lane for one instruction set: the table below names them in this order. */
#define PASTE_(a, b, c) a##_##b##_##c
#define PASTE(a, b, c)  PASTE_(a, b, c)
#define NAME(x)         PASTE(x, KIND, SUFFIX)

#define SUFFIX base
#define ISA
#define VECTOR 16
#include "dedisp_cpu_kinds.h"
#undef SUFFIX
#undef ISA
#undef VECTOR

#if defined __x86_64__
#define SUFFIX avx2
#define ISA    PSR_ISA_FOR_AVX2
#define VECTOR 32
#include "dedisp_cpu_kinds.h"
#undef SUFFIX
#undef ISA
#undef VECTOR

#define SUFFIX avx512
#define ISA    PSR_ISA_FOR_AVX512
#define VECTOR 64
/* One instruction each, where gcc makes five of a conversion of vectors this wide. */
#define WIDEN_8_16(p)  _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define WIDEN_16_32(p) _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define WIDEN_32_64(p) _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#include "dedisp_cpu_kinds.h"
#undef SUFFIX
#undef ISA
#undef VECTOR
#endif

/* Narrowest first: the first whose node holds 32 channels is taken, or all channels of fewer. */
static const struct {
    uint64_t store_max, node_max;
    size_t store_bytes, node_bytes, total_bytes;
    void (*run[PSR_NISA])(const struct psr_tile *tile);
} kinds[] = {
    {UINT8_MAX, UINT16_MAX, 1, 2, 4, PSR_ISA_TABLE(run_k8_16)},
    {UINT16_MAX, UINT16_MAX, 2, 2, 4, PSR_ISA_TABLE(run_k16_16)},
    {UINT16_MAX, UINT32_MAX, 2, 4, 8, PSR_ISA_TABLE(run_k16_32)},
    {UINT32_MAX, UINT32_MAX, 4, 4, 8, PSR_ISA_TABLE(run_k32_32)},
    {UINT32_MAX, UINT64_MAX, 4, 8, 8, PSR_ISA_TABLE(run_k32_64)},
    {0, 0, 4, 4, 8, PSR_ISA_TABLE(run_kfloat)},
};

struct psr_lanes psr_lanes_for(uint64_t sample_max, size_t nkept)
{
    size_t k = 0, last = sizeof kinds / sizeof *kinds - 1, nchan = nkept < 32 ? nkept : 32;
    if (sample_max == 0)
        k = last;
    else
        while (sample_max > kinds[k].store_max || sample_max > kinds[k].node_max / nchan)
            k++;
    return (struct psr_lanes){
        .store_bytes = kinds[k].store_bytes,
        .node_bytes = kinds[k].node_bytes,
        .total_bytes = kinds[k].total_bytes,
        .node_max = kinds[k].node_max,
        .run = kinds[k].run[psr_isa_find()],
    };
}
