/* isa.h: selects the instruction set of a kernel for this processor (private). */
#ifndef PSR_BASE_THREADS_ISA_H
#define PSR_BASE_THREADS_ISA_H

#include <stddef.h>

/* What every kernel needs: the same bits whether or not there are fused multiply-adds; and no word on
 * how vectors are passed, as functions that take some are inline. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#pragma GCC diagnostic ignored "-Wpsabi"

/* The instruction sets: base is what all processors have, SSE2 or, on aarch64, NEON, for whose 16 bytes
 * vectors of base are made.
 *
 * Function attributes of each instruction set.  PSR_ISA_EACH makes a table [PSR_NISA] of what macro
 * makes of base, avx2 and avx512; PSR_ISA_TABLE one of the functions name_base, name_avx2 and
 * name_avx512. */
#if defined __clang__
#define PSR_ISA_WIDE
#else
#define PSR_ISA_WIDE ",prefer-vector-width=512"
#endif
#define PSR_ISA_FOR_AVX2 __attribute__((target("avx2")))
#define PSR_ISA_FOR_AVX512                                                                         \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq" PSR_ISA_WIDE)))
#if defined __x86_64__
#define PSR_ISA_EACH(macro)                                                                        \
    {                                                                                              \
        macro(base), macro(avx2), macro(avx512)                                                    \
    }
#define PSR_ISA_TABLE(name)                                                                        \
    {                                                                                              \
        name##_base, name##_avx2, name##_avx512                                                    \
    }
#else
#define PSR_ISA_EACH(macro)                                                                        \
    {                                                                                              \
        macro(base), macro(base), macro(base)                                                      \
    }
#define PSR_ISA_TABLE(name)                                                                        \
    {                                                                                              \
        name##_base, name##_base, name##_base                                                      \
    }
#endif

/* Vector of elements x[offset[k]]; a function would pass vectors that not every instruction set
 * has. */
#if defined __clang__
#define PSR_ISA_SHUFFLE(x, offset)                                                                 \
    __extension__({                                                                                \
        const __typeof__(x) x_ = (x);                                                              \
        const __typeof__(offset) offset_ = (offset);                                               \
        __typeof__(x) out_;                                                                        \
        for (size_t k_ = 0; k_ < sizeof out_ / sizeof out_[0]; k_++)                               \
            out_[k_] = x_[offset_[k_]];                                                            \
        out_;                                                                                      \
    })
#else
#define PSR_ISA_SHUFFLE(x, offset) __builtin_shuffle(x, offset)
#endif

/* Vector of the elements of x followed by those of y, at offset[k]. */
#if defined __clang__
#define PSR_ISA_SHUFFLE_PAIR(x, y, offset)                                                         \
    __extension__({                                                                                \
        const __typeof__(x) x_ = (x), y_ = (y);                                                    \
        const __typeof__(offset) offset_ = (offset);                                               \
        const size_t n_ = sizeof x_ / sizeof x_[0];                                                \
        __typeof__(x) out_;                                                                        \
        for (size_t k_ = 0; k_ < n_; k_++)                                                         \
            out_[k_] = offset_[k_] < n_ ? x_[offset_[k_]] : y_[offset_[k_] - n_];                  \
        out_;                                                                                      \
    })
#else
#define PSR_ISA_SHUFFLE_PAIR(x, y, offset) __builtin_shuffle(x, y, offset)
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

/* --- inner loops compiled twice, of which one is selected when the program is loaded ----------- */

/* The second version uses AVX2 without fused multiply-adds, so both give the same bits.  For static
 * functions only, with names that are unique in the library: clang 14 hides the clones from the
 * linker but exports the function that selects. */

/* The selection runs before ThreadSanitizer is initialised, which would crash the program. */
#if defined(__SANITIZE_THREAD__)
#define PSR_CLONES
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PSR_CLONES
#endif
#endif

/* These loops are vectors also where the compiler is told -O2, which otherwise makes none of a number of turns that it
 * does not know. */
#if defined(__GNUC__) && !defined(__clang__)
#define PSR_CLONES_VECTORS __attribute__((optimize("vect-cost-model=dynamic")))
#else
#define PSR_CLONES_VECTORS
#endif

#if !defined(PSR_CLONES) && defined(__x86_64__) && defined(__gnu_linux__) &&                       \
    defined(__has_attribute)
#if __has_attribute(target_clones)
#define PSR_CLONES __attribute__((target_clones("avx2", "default"))) PSR_CLONES_VECTORS
#endif
#endif
#ifndef PSR_CLONES
#define PSR_CLONES PSR_CLONES_VECTORS
#endif

#endif
