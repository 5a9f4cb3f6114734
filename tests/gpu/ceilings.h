/* ceilings.h: what a device does at most, measured, to put beside what kernels reach. */
#ifndef PSR_TESTS_CEILINGS_H
#define PSR_TESTS_CEILINGS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each does its work once, on the default stream, and says how much that is; d_sink has a few bytes
 * that it will never write. */
cudaError_t ceiling_products(void *d_sink, double *macs); /* of bytes on tensor cores, added up */
cudaError_t ceiling_halves(void *d_sink, double *flops);  /* of halves, added up as floats */
cudaError_t ceiling_shared(void *d_sink, double *bytes);  /* reads of shared memory */

/* Random bytes. */
cudaError_t ceiling_fill(void *d_to, size_t bytes, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
