/* clones.h: inner loops compiled twice, the right one chosen when the program is loaded (private).
 *
 * AVX2 without fused multiply-adds: both versions give the same bits.  For static functions only, and
 * of names that no other in the library has: clang 14 hides the name of others from the linker, and
 * shows it that of the function that chooses. */
#ifndef PSR_BASE_CLONES_H
#define PSR_BASE_CLONES_H

/* The choice is made before ThreadSanitizer is there to watch it, which ends the program. */
#if defined(__SANITIZE_THREAD__)
#define PSR_CLONES
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PSR_CLONES
#endif
#endif

#if !defined(PSR_CLONES) && defined(__x86_64__) && defined(__gnu_linux__) &&                       \
    defined(__has_attribute)
#if __has_attribute(target_clones)
#define PSR_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef PSR_CLONES
#define PSR_CLONES
#endif

#endif
