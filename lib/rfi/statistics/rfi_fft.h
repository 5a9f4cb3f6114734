/* rfi_fft.h: complex transforms of moderate length, real and imaginary parts apart (private).
 *
 * X(k) = sum x(t) exp(-2 pi i k t / n).  Lengths of 8 times factors 2, 3, 5 and 7 from 128
 * to PSR_RFI_FFT_LONGEST are transformed here, with the same bits on any processor; others by
 * FFTW. */
#ifndef PSR_RFI_STATISTICS_RFI_FFT_H
#define PSR_RFI_STATISTICS_RFI_FFT_H

#include <psrkit/status.h>
#include <stddef.h>

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
