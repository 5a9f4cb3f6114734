/* equalise_kernels.h: gives series on the device a common scatter, as psr_mask_correction_equalise does, with
 * the same bits. */
#ifndef PSR_KERNELS_EQUALISE_KERNELS_H
#define PSR_KERNELS_EQUALISE_KERNELS_H

#include <cuda_runtime_api.h>

#include "search/dedisp/equalise_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names as in struct psr_equalise_partition and psr_equalise_chunk. */
struct equalise_k_job {
    const float *d_in;
    float *d_out;
    size_t in_stride, out_stride, nseries, n;
    int64_t now;
    const int32_t *d_delay; /* [nseries][nchan] */
    size_t nchan;
    const struct psr_equalise_channel *d_channel; /* [nchannel] */
    const struct psr_equalise_edge *d_edge;
    size_t nchannel;
    int64_t constant;
    double unit, level, variance;
};

/* Returned: d_out [nseries][out_stride], n samples of each */
cudaError_t equalise_k_run(const struct equalise_k_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
