/* accel_fft_host.h: the transforms of accel_fft.cuh on the host, thread by thread. */
#ifndef PSR_TESTS_ACCEL_FFT_HOST_H
#define PSR_TESTS_ACCEL_FFT_HOST_H

#include <matched/accel_kernels.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The transforms back of in [2][2048], two of them, as double complex numbers: out [2][2048].
 * Returned: false for want of memory */
bool accel_fft_host(enum accel_k_number kind, const double (*in)[2], double (*out)[2]);

#ifdef __cplusplus
}
#endif
#endif
