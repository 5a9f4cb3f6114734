/* isa.h: which of the instruction sets a kernel was compiled for this processor has (private). */
#ifndef PSR_BASE_ISA_H
#define PSR_BASE_ISA_H

enum psr_isa { PSR_ISA_BASE, PSR_ISA_AVX2, PSR_ISA_AVX512, PSR_NISA };

static inline enum psr_isa psr_isa_find(void)
{
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return PSR_ISA_AVX512;
    if (__builtin_cpu_supports("avx2"))
        return PSR_ISA_AVX2;
#endif
    return PSR_ISA_BASE;
}

#endif
