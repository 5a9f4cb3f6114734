/* Device probe.  One thread, no shared memory, nothing is computed: the kernel is launched only to
 * learn whether the code built in runs on the device. */
#include "common/probe_kernels.h"

#include <string.h>

__global__ void probe_k_nothing()
{
}

extern "C" cudaError_t probe_k_count(int *n)
{
    *n = 0;
    cudaError_t e = cudaGetDeviceCount(n);
    return e == cudaSuccess && *n == 0 ? cudaErrorNoDevice : e;
}

extern "C" void probe_k_versions(int *driver, int *runtime)
{
    *driver = *runtime = 0;
    (void)cudaDriverGetVersion(driver);
    (void)cudaRuntimeGetVersion(runtime);
}

/* On the current device. */
static cudaError_t describe_current(int device, struct probe_k_device *out)
{
    cudaDeviceProp prop;
    cudaError_t e = cudaGetDeviceProperties(&prop, device);
    if (e != cudaSuccess)
        return e;
    memcpy(out->name, prop.name, sizeof out->name - 1);
    out->sm = 10 * prop.major + prop.minor;
    out->nprocessor = prop.multiProcessorCount;
    e = cudaMemGetInfo(&out->mem_free, &out->mem_total);
    if (e != cudaSuccess)
        return e;
    probe_k_nothing<<<1, 1>>>();
    e = cudaGetLastError();
    return e == cudaSuccess ? cudaDeviceSynchronize() : e;
}

extern "C" cudaError_t probe_k_describe(int device, struct probe_k_device *out)
{
    memset(out, 0, sizeof *out);
    int current;
    cudaError_t e = cudaGetDevice(&current);
    if (e == cudaSuccess)
        e = cudaSetDevice(device);
    if (e != cudaSuccess)
        return e;
    e = describe_current(device, out);
    cudaError_t back = cudaSetDevice(current);
    return e == cudaSuccess ? back : e;
}
