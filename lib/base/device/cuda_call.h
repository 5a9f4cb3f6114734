/* cuda_call.h: checks CUDA calls and allocates device memory (private). */
#ifndef PSR_BASE_DEVICE_CUDA_CALL_H
#define PSR_BASE_DEVICE_CUDA_CALL_H

#include "device_internal.h"
#include <cuda_runtime_api.h>
#include <psrkit/device.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Returns from the calling function if the call fails. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_)                                                                                    \
            return e_;                                                                             \
    } while (0)

/* PSR_EDEVICE with the device, the operation and the reason. */
static inline psr_status psr_cuda_fail(int device, cudaError_t e, const char *what, psr_err *err)
{
    (void)cudaGetLastError();
    return psr_fail(err, PSR_EDEVICE, "device %d: %s: %s", device, what, cudaGetErrorString(e));
}

/* Whether a device is new enough for kernels that are built for this compute capability, 10 major + minor.
 * Status: those of psr_device_describe; PSR_EUNSUPPORTED naming the device */
static inline psr_status psr_cuda_check_sm(int device, int oldest, psr_err *err)
{
    struct psr_device is;
    psr_status st = psr_device_describe(device, &is, err);
    if (st || is.sm >= oldest)
        return st;
    return psr_fail(err, PSR_EUNSUPPORTED, "device %d: %s: compute capability %d.%d, must be %d.%d",
                    device, is.name, is.sm / 10, is.sm % 10, oldest / 10, oldest % 10);
}

/* Allocates memory of the current device, or with psr_device_pin, to be freed with
 * psr_device_unpin.
 * Given: to   address of a pointer of any type
 *        taken   incremented by bytes */
static inline cudaError_t psr_cuda_take(void *to, size_t bytes, int64_t *taken)
{
    void *p = NULL;
    TRY(cudaMalloc(&p, bytes ? bytes : 1));
    memcpy(to, &p, sizeof p);
    *taken += (int64_t)bytes;
    return cudaSuccess;
}

static inline cudaError_t psr_cuda_take_pinned(void *to, size_t bytes, int64_t *taken)
{
    void *p = NULL;
    if (psr_device_pin(&p, bytes, NULL))
        return cudaErrorMemoryAllocation;
    memcpy(to, &p, sizeof p);
    *taken += (int64_t)bytes;
    return cudaSuccess;
}

/* Copies to the device and waits for completion: cudaMemcpy alone may return while the last part of
 * pageable memory is being copied, and non-blocking streams would not wait for it. */
static inline cudaError_t psr_cuda_send(void *to, const void *from, size_t bytes)
{
    TRY(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    return cudaStreamSynchronize(cudaStreamLegacy);
}

/* Allocates memory of the current device and copies from into it. */
static inline cudaError_t psr_cuda_upload(void *to, const void *from, size_t bytes, int64_t *taken)
{
    void *p;
    TRY(psr_cuda_take(to, bytes, taken));
    memcpy(&p, to, sizeof p);
    return psr_cuda_send(p, from, bytes);
}

/* --- Fourier transforms by cuFFT, which is loaded on demand ------------------------------------ */

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
