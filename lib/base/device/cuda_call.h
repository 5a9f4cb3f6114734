/* cuda_call.h: checks CUDA calls and allocates device memory (private). */
#ifndef PSR_BASE_DEVICE_CUDA_CALL_H
#define PSR_BASE_DEVICE_CUDA_CALL_H

#include "device_internal.h"

#include <cuda_runtime_api.h>
#include <psrkit/device.h>
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

#endif
