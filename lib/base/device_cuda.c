#include "cuda_call.h"
#include "device_backend.h"

#include <cuda_runtime_api.h>
#include <probe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* cudaGetDeviceCount blames an insufficient driver where there is none at all. */
static psr_status fail_count(psr_err *err, cudaError_t e)
{
    int driver, runtime;
    probe_k_versions(&driver, &runtime);
    if (driver == 0)
        return psr_fail(err, PSR_EDEVICE, "no NVIDIA driver is loaded");
    if (e == cudaErrorInsufficientDriver)
        return psr_fail(err, PSR_EDEVICE,
                        "the NVIDIA driver is for CUDA %d.%d, psrkit was built with %d.%d",
                        driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return psr_fail(err, PSR_EDEVICE, "%s", cudaGetErrorString(e));
}

static int count_devices(psr_err *err)
{
    int n;
    cudaError_t e = probe_k_count(&n);
    if (e == cudaSuccess)
        return n;
    (void)fail_count(err, e);
    return 0;
}

static psr_status describe_device(int device, struct psr_device *out, psr_err *err)
{
    struct probe_k_device d;
    cudaError_t e = probe_k_describe(device, &d);
    if (e == cudaErrorNoKernelImageForDevice)
        return psr_fail(err, PSR_EDEVICE,
                        "device %d (%s, sm_%d): psrkit was built without code for it", device,
                        d.name, d.sm);
    if (e != cudaSuccess)
        return psr_fail(err, PSR_EDEVICE, "device %d: %s", device, cudaGetErrorString(e));
    memcpy(out->name, d.name, sizeof out->name);
    out->sm = d.sm;
    out->nprocessor = d.nprocessor;
    out->mem_total = (int64_t)d.mem_total;
    out->mem_free = (int64_t)d.mem_free;
    return PSR_OK;
}

static psr_status copy_slab(const struct psr_slab *slab, size_t n, float *x, size_t stride,
                            bool from_device, psr_err *err)
{
    size_t size = sizeof *x;
    cudaStream_t stream = slab->stream;
    cudaError_t e = cudaSetDevice(slab->device);
    if (!e && from_device)
        e = cudaMemcpy2DAsync(x, stride * size, slab->d_x, slab->stride * size, n * size,
                              slab->nseries, cudaMemcpyDeviceToHost, stream);
    else if (!e)
        e = cudaMemcpy2DAsync(slab->d_x, slab->stride * size, x, stride * size, n * size,
                              slab->nseries, cudaMemcpyHostToDevice, stream);
    if (!e)
        e = cudaStreamSynchronize(stream);
    return e ? psr_cuda_fail(slab->device, e, "copying series", err) : PSR_OK;
}

/* Memory of either kind begins with a note of which it is, and how it was taken. */
union pin_note {
    bool pinned;
    max_align_t align;
    char line[256]; /* what is handed out begins at the start of a line of any cache */
};

static psr_status pin_memory(void **out, size_t bytes, psr_err *err)
{
    void *p = NULL;
    bool pinned = cudaMallocHost(&p, sizeof(union pin_note) + bytes) == cudaSuccess;
    if (!pinned) {
        (void)cudaGetLastError();
        p = aligned_alloc(sizeof(union pin_note),
                          (bytes / sizeof(union pin_note) + 2) * sizeof(union pin_note));
    }
    *out = NULL;
    if (!p)
        return psr_fail_nomem(err, "samples", (double)bytes);
    union pin_note *note = p;
    note->pinned = pinned;
    *out = note + 1;
    return PSR_OK;
}

static void unpin_memory(void *p)
{
    if (!p)
        return;
    union pin_note *note = (union pin_note *)p - 1;
    if (note->pinned)
        cudaFreeHost(note);
    else
        free(note);
}

const struct psr_device_ops psr_device_cuda = {
    .name = "cuda",
    .count = count_devices,
    .describe = describe_device,
    .copy = copy_slab,
    .pin = pin_memory,
    .unpin = unpin_memory,
};
