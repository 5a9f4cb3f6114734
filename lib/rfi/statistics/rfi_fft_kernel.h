/* rfi_fft_kernel.h: one pass of Stockham's transform, for this processor (private).
 *
 * Before a pass of radix r the series is [n / s][s], s the product of the radices so far; with
 * m = n / s / r, point (p, k) of the result, p < m, k < r, is the sum over j of
 * exp(-2 pi i j k / r) x(p + m j), times exp(-2 pi i p k / (m r)), at r p + k. */
#ifndef PSR_RFI_STATISTICS_RFI_FFT_KERNEL_H
#define PSR_RFI_STATISTICS_RFI_FFT_KERNEL_H

#include "base/threads/isa.h"

/* The first pass, of s = 1, has radix 8 and works on several p at a time; the others work on
 * several of the s series, at least 8 at a time. */
enum { PSR_RFI_FFT_FIRST = 8 };

struct psr_rfi_pass {
    int radix;
    size_t m, s;
    float *twiddle; /* first pass [radix - 1][re, im][m], others [m][radix - 1][re, im] */
};

/* Real and imaginary parts of the series before and after the pass; not the same. */
typedef void psr_rfi_pass_run(const struct psr_rfi_pass *pass, const float *x, const float *xi,
                              float *y, float *yi);

/* The same bits with any instruction set.
 * Given:    s   1, where m is 16 or more, or a multiple of 8
 * Returned: NULL: there is no pass of this radix. */
psr_rfi_pass_run *psr_rfi_pass_choose(enum psr_isa isa, int radix, size_t s);

#endif
