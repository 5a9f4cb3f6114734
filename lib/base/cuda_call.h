/* cuda_call.h: how calls of CUDA are checked (private). */
#ifndef PSR_BASE_CUDA_CALL_H
#define PSR_BASE_CUDA_CALL_H

#include <cuda_runtime_api.h>
#include <psrkit/status.h>

/* Returns from the function with the first call that fails. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_)                                                                                    \
            return e_;                                                                             \
    } while (0)

/* PSR_EDEVICE, saying which device failed at what and why. */
static inline psr_status psr_cuda_fail(int device, cudaError_t e, const char *what, psr_err *err)
{
    (void)cudaGetLastError();
    return psr_fail(err, PSR_EDEVICE, "device %d: %s: %s", device, what, cudaGetErrorString(e));
}

#endif
