/* correlate_kernel.h: the inner loops of correlations with responses, compiled for what the
 * processor has (private).  Real and imaginary parts are arrays of their own; n is a multiple of
 * CORRELATE_LANES. */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_CORRELATE_KERNEL_H
#define PSR_SEARCH_MATCHED_RESPONSE_CORRELATE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { CORRELATE_LANES = 16 };

/* Complex numbers whose parts lie apart. */
struct psr_split {
    float *re, *im;
};

struct psr_correlate_loops {
    /* The product z = x y of 4 n numbers, and the first step of its transform back, by decimation
     * in frequency: out[c][i] = turn_c[i] sum_a i^(a c) z[a n + i], turn_0 = 1, turn[c - 1] the
     * others. */
    void (*multiply_quarter)(const struct psr_split out[4], struct psr_split x, struct psr_split y,
                             const struct psr_split twiddle[3], size_t n);

    /* p[i] = |z[i]|^2, and p[i] = max(p[i], |z[i]|^2). */
    void (*power)(float *p, struct psr_split z, size_t n);
    void (*power_most)(float *p, struct psr_split z, size_t n);
};

const struct psr_correlate_loops *psr_correlate_loops_choose(void);

#endif
