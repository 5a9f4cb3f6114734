/* cornerturn_kernels.h: transposes packed spectra [t][c] to one run of samples per channel on the
 * device, with downsampling. */
#ifndef PSR_KERNELS_CORNERTURN_KERNELS_H
#define PSR_KERNELS_CORNERTURN_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Output n of channel k is the sum over u < downsamp of sample first + n downsamp + pre[k] + u of
 * channel chan[k]. */
struct cornerturn_k_desc {
    int nbit;         /* of the input: 1 2 4 8 16 32 */
    int is_float;     /* 32 bits: floats instead of unsigned integers; both are summed as floats */
    uint32_t bias;    /* added to each integer sample, modulo its bits */
    size_t row_bytes; /* of a spectrum */
    size_t nkept, downsamp;
    const uint32_t *d_chan; /* [nkept] */
    const int32_t *d_pre;   /* [nkept] */
    size_t nchan;
    const int32_t *d_place; /* [nchan] k of a channel, -1 if it is not kept */
    int32_t maxpre;         /* of d_pre */
    int nplane;             /* of bytes, lowest first; 0: floats */
    size_t pitch, plane;    /* bytes from run to run and from plane to plane of the output */
    void *d_sum;            /* [cornerturn_k_sum_bytes], 16-byte aligned; NULL: slower */
};

/* Memory for spectra summed before the transpose; 0: they are not, and d_sum is NULL. */
size_t cornerturn_k_sum_bytes(const struct cornerturn_k_desc *desc);

/* Given:    d_in  spectra from sample 0 on; Returned: n outputs of each channel at d_runs */
cudaError_t cornerturn_k_turn(const struct cornerturn_k_desc *desc, const void *d_in, size_t first,
                              void *d_runs, size_t n, cudaStream_t stream);

/* Moves n bytes of each of nrun runs from byte "from" to its start; source and destination may
 * overlap. */
cudaError_t cornerturn_k_slide(void *d_run, size_t pitch, size_t nrun, size_t from, size_t n,
                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
