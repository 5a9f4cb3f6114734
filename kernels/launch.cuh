/* launch.cuh: what launching a kernel asks of the device. */
#ifndef PSR_KERNELS_LAUNCH_CUH
#define PSR_KERNELS_LAUNCH_CUH

#include <cuda_runtime_api.h>

/* Allows a kernel that has none of its own all the shared memory of a thread block, to the last byte, as
 * other threads may launch the same kernel.
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
