/* rough_root.h: the approximate inverse square root that PRESTO uses (private). */
#ifndef PSR_BASE_OUTPUT_ROUGH_ROOT_H
#define PSR_BASE_OUTPUT_ROUGH_ROOT_H

#include <stdint.h>

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
