/* launch.cuh: limits of the device for launching kernels. */
#ifndef PSR_KERNELS_LAUNCH_CUH
#define PSR_KERNELS_LAUNCH_CUH

#include <cuda_runtime_api.h>

/* Allows a kernel without static shared memory all that a thread block may have: always all, as other
 * threads may launch the same kernel.
 * Returned: *processors   multiprocessors of the device */
template <class KERNEL> static cudaError_t allow_all_shared(KERNEL *kernel, int *processors)
{
    int device, most;
    cudaError_t e = cudaGetDevice(&device);
    if (!e)
        e = cudaDeviceGetAttribute(processors, cudaDevAttrMultiProcessorCount, device);
    if (!e)
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return e ? e : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
}

#endif
