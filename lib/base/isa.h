/* isa.h: selects the instruction set of a kernel for this processor (private). */
#ifndef PSR_BASE_ISA_H
#define PSR_BASE_ISA_H

/* Function attributes of each instruction set, and a table [PSR_NISA] of the functions name_base,
 * name_avx2, name_avx512. */
#if defined __clang__
#define PSR_ISA_WIDE
#else
#define PSR_ISA_WIDE ",prefer-vector-width=512"
#endif
#define PSR_ISA_FOR_AVX2 __attribute__((target("avx2")))
#define PSR_ISA_FOR_AVX512                                                                         \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq" PSR_ISA_WIDE)))
#if defined __x86_64__
#define PSR_ISA_TABLE(name)                                                                        \
    {                                                                                              \
        name##_base, name##_avx2, name##_avx512                                                    \
    }
#else
#define PSR_ISA_TABLE(name)                                                                        \
    {                                                                                              \
        name##_base, name##_base, name##_base                                                      \
    }
#endif

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
