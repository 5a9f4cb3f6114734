/* ceilings.h: what a device does at most, measured, to put beside what kernels reach. */
#ifndef PSR_TESTS_CEILINGS_H
#define PSR_TESTS_CEILINGS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each does its work once, on the default stream; time them with events. */
cudaError_t ceiling_products(int *d_sink,
                             double *macs); /* products of bytes on tensor cores, added up */
cudaError_t ceiling_halves(void *d_sink,
                           double *flops);              /* products of halves, added up as floats */
cudaError_t ceiling_shared(int *d_sink, double *bytes); /* reads of shared memory */

/* Random bytes. */
cudaError_t ceiling_fill(void *d_to, size_t bytes, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
