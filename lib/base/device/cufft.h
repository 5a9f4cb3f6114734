/* cufft.h: Fourier transforms on a CUDA device by cuFFT, which is loaded on demand, so that nothing
 * else depends on it (private). */
#ifndef PSR_BASE_DEVICE_CUFFT_H
#define PSR_BASE_DEVICE_CUFFT_H

#include "cuda_call.h"

#include <stdbool.h>

struct psr_cufft {
    int handle;
    size_t n;
    int (*transform)(int handle, float *in, float *out);
    int (*destroy)(int handle);
};

/* Estimates the device memory that a plan for n samples takes.
 * Status: PSR_EUNSUPPORTED without cuFFT, and above 2^31 - 1 samples; PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_cufft_room(size_t n, double *bytes, psr_err *err);

/* Plans transforms of n real samples on a stream, in place, in room for n + 2 floats.
 * Status: as psr_cufft_room */
PSR_MUST_CHECK psr_status psr_cufft_open(struct psr_cufft *f, size_t n, cudaStream_t stream,
                                         psr_err *err);

/* Queues a transform on the plan's stream, to the layout of psr_rfft_execute. */
PSR_MUST_CHECK cudaError_t psr_cufft_execute(const struct psr_cufft *f, float *d_x,
                                             cudaStream_t stream);

/* What was not opened is fine. */
void psr_cufft_close(struct psr_cufft *f);

/* --- batches ---------------------------------------------------------------------------------- */

/* Transforms of n points each, which are in_apart and out_apart points apart. */
struct psr_cufft_batch {
    bool real; /* to n / 2 + 1 complex points; otherwise complex to complex */
    size_t n, in_apart, out_apart, count;

    /* of an open one */
    int handle;
    int (*transform)(int handle, float *in, float *out);
    int (*transform_complex)(int handle, float *in, float *out, int sign);
    int (*destroy)(int handle);
};

/* Plans what the first fields say.
 * Status: as psr_cufft_room */
PSR_MUST_CHECK psr_status psr_cufft_batch_open(struct psr_cufft_batch *f, cudaStream_t stream,
                                               psr_err *err);

/* Queues all transforms; in and out may be the same where they are as far apart.
 * Given: sign   of the exponent, -1 or 1; not used of real ones */
PSR_MUST_CHECK cudaError_t psr_cufft_batch_execute(const struct psr_cufft_batch *f, float *d_in,
                                                   float *d_out, int sign);
void psr_cufft_batch_close(struct psr_cufft_batch *f); /* what was not opened is fine */

#endif
