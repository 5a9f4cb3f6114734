/* redden.h: blocks in which red noise is measured (private). */
#ifndef PSR_DSP_REDDEN_H
#define PSR_DSP_REDDEN_H

#include <psrkit/series.h>
#include <stdint.h>

/* Length of the block that begins at bin k; the first begins at 1, each of the others where the
 * previous one ends, below nbin. */
int64_t psr_redden_length(const struct psr_redden *how, int64_t k, int64_t nbin);

/* All blocks of a spectrum.
 * Returned: how many; block [that many], or NULL */
size_t psr_redden_blocks(const struct psr_redden *how, int64_t nbin, struct psr_span *block);

/* One step of Newton's from the well-known guess by a subtraction: 0.2 % off at most. */
static inline float psr_rough_inverse_root(float x)
{
    union {
        float x;
        int32_t bits;
    } guess = {.x = x};
    guess.bits = INT32_C(0x5f3759df) - (guess.bits >> 1);
    return guess.x * (1.5F - 0.5F * x * guess.x * guess.x);
}

#endif
