/* rfi_fft.h: complex transforms of moderate length, real and imaginary parts apart (private).
 *
 * X(k) = sum x(t) exp(-2 pi i k t / n).  Lengths of 8 times factors 2, 3, 5 and 7 from 128
 * to PSR_RFI_FFT_LONGEST are transformed here, with the same bits on any processor; others by
 * FFTW. */
#ifndef PSR_RFI_STATISTICS_RFI_FFT_H
#define PSR_RFI_STATISTICS_RFI_FFT_H

#include "base/threads/isa.h"

#include <psrkit/status.h>
#include <stddef.h>

/* Before a pass of radix r the series is [n / s][s], s the product of the radices so far; with
 * m = n / s / r, point (p, k) of the result, p < m, k < r, is the sum over j of
 * exp(-2 pi i j k / r) x(p + m j), times exp(-2 pi i p k / (m r)), at r p + k. */

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

enum { PSR_RFI_FFT_LONGEST = 1 << 15 };

typedef struct psr_rfi_fft psr_rfi_fft;

/* Given:  n   1 or more
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_fft_create(psr_rfi_fft **out, size_t n, psr_err *err);

/* Threads may execute one plan at the same time.
 * Given:    x [2][n]      real and imaginary parts; overwritten
 *           work [2][n]   both from fftwf_malloc
 * Returned: x or work, whichever has the result */
float *psr_rfi_fft_execute(const psr_rfi_fft *plan, float *x, float *work);

void psr_rfi_fft_destroy(psr_rfi_fft *plan);

#endif
