/* probe_kernels.h: properties of the CUDA devices of this machine. */
#ifndef PSR_KERNELS_PROBE_KERNELS_H
#define PSR_KERNELS_PROBE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct probe_k_device {
    char name[256];
    int sm;                     /* compute capability: 10 major + minor */
    int nprocessor;             /* streaming multiprocessors */
    size_t mem_total, mem_free; /* bytes */
};

/* Number of devices; cudaErrorNoDevice and *n = 0 if there are none. */
cudaError_t probe_k_count(int *n);

/* Versions as 1000 major + 10 minor: of the driver, 0 if none is loaded, and of the CUDA runtime of
 * the build. */
void probe_k_versions(int *driver, int *runtime);

/* Describes a device and checks that the compiled kernels can run on it
 * (cudaErrorNoKernelImageForDevice if they cannot). */
cudaError_t probe_k_describe(int device, struct probe_k_device *out);

#ifdef __cplusplus
}
#endif
#endif
