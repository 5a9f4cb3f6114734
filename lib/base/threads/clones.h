/* clones.h: compiles inner loops twice and selects one when the program is loaded (private).
 *
 * The second version uses AVX2 without fused multiply-adds, so both give the same bits.  For static
 * functions only, with names that are unique in the library: clang 14 hides the clones from the
 * linker but exports the function that selects. */
#ifndef PSR_BASE_THREADS_CLONES_H
#define PSR_BASE_THREADS_CLONES_H

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
