/* mask_kernels.h: corrects series on the device for what is masked, as psr_mask_correction does, with the same
 * bits. */
#ifndef PSR_KERNELS_MASK_KERNELS_H
#define PSR_KERNELS_MASK_KERNELS_H

#include <cuda_runtime_api.h>

#include "search/dedisp/mask/mask_correction.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names as in struct psr_mask_device_partition and psr_mask_device_chunk. */
struct mask_k_job {
    const float *d_in;
    float *d_out;
    size_t in_stride, out_stride, nseries, n;
    int64_t now;
    const int32_t *d_delay; /* [nseries][nchan] */
    size_t nchan;
    const struct psr_mask_device_channel *d_channel; /* [nchannel] */
    const struct psr_mask_device_edge *d_edge;
    size_t nchannel;
    int64_t constant;
    double unit, level, variance;
};

/* As psr_mask_correction_equalise, and psr_mask_correction_execute, with d_out d_in.
 * Returned: d_out [nseries][out_stride], n samples of each */
cudaError_t mask_k_equalise(const struct mask_k_job *job, cudaStream_t stream);
cudaError_t mask_k_restore(const struct mask_k_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
