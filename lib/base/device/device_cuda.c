/* Lists CUDA devices, takes their memory, copies from them and pins host memory for them. */
#include "cuda_call.h"
#include "device_internal.h"

#include <common/probe_kernels.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

static psr_status copy_device_series(const struct psr_device_series *device_series, size_t n,
                                     float *x, size_t stride, psr_err *err)
{
    size_t size = sizeof *x;
    cudaStream_t stream = device_series->stream;
    cudaError_t e = cudaSetDevice(device_series->device);
    if (!e)
        e = cudaMemcpy2DAsync(x, stride * size, device_series->d_x, device_series->stride * size,
                              n * size, device_series->nseries, cudaMemcpyDeviceToHost, stream);
    if (!e)
        e = cudaStreamSynchronize(stream);
    return e ? psr_cuda_fail(device_series->device, e, "copying series", err) : PSR_OK;
}

static psr_status take_memory(int device, size_t bytes, int64_t leave, void **d_out, psr_err *err)
{
    size_t have = 0, total;
    cudaError_t e = cudaSetDevice(device);
    if (!e)
        e = cudaMemGetInfo(&have, &total);
    if (!e && (double)have < (double)bytes + (double)leave)
        return psr_fail_nomem(err, "series on a device", (double)bytes);
    if (!e)
        e = cudaMalloc(d_out, bytes);
    if (e != cudaErrorMemoryAllocation)
        return e ? psr_cuda_fail(device, e, "memory for series", err) : PSR_OK;
    (void)cudaGetLastError();
    return psr_fail_nomem(err, "series on a device", (double)bytes);
}

static void release_memory(int device, void *d)
{
    if (cudaSetDevice(device) == cudaSuccess)
        (void)cudaFree(d);
}

static psr_status keep_series(const struct psr_device_series *from, size_t n, float *d_x,
                              size_t stride, psr_err *err)
{
    cudaError_t e = cudaSetDevice(from->device);
    if (!e)
        e = cudaMemcpy2DAsync(d_x, stride * sizeof *d_x, from->d_x, from->stride * sizeof *d_x,
                              n * sizeof *d_x, from->nseries, cudaMemcpyDeviceToDevice,
                              from->stream);
    return e ? psr_cuda_fail(from->device, e, "keeping series", err) : PSR_OK;
}

static psr_status settle_series(const struct psr_device_series *where, psr_err *err)
{
    cudaError_t e = cudaSetDevice(where->device);
    if (!e)
        e = cudaStreamSynchronize(where->stream);
    return e ? psr_cuda_fail(where->device, e, "keeping series", err) : PSR_OK;
}

/* On a stream of the thread's own, as many copy at the same time. */
static psr_status fetch_samples(int device, const float *d_x, size_t n, float *x, psr_err *err)
{
    cudaError_t e = cudaSetDevice(device);
    if (!e)
        e = cudaMemcpyAsync(x, d_x, n * sizeof *x, cudaMemcpyDeviceToHost, cudaStreamPerThread);
    return e ? psr_cuda_fail(device, e, "fetching series", err) : PSR_OK;
}

/* An event of this kind is waited for asleep: as many threads as fetch would otherwise take the
 * processors from those that measure candidates. */
static cudaError_t wait_asleep(cudaStream_t stream)
{
    cudaEvent_t done;
    cudaError_t e = cudaEventCreateWithFlags(&done, cudaEventBlockingSync | cudaEventDisableTiming);
    if (e)
        return e;
    e = cudaEventRecord(done, stream);
    if (!e)
        e = cudaEventSynchronize(done);
    (void)cudaEventDestroy(done);
    return e;
}

static psr_status wait_for_samples(int device, psr_err *err)
{
    cudaError_t e = cudaSetDevice(device);
    if (!e)
        e = wait_asleep(cudaStreamPerThread);
    return e ? psr_cuda_fail(device, e, "fetching series", err) : PSR_OK;
}

/* Pages of 2 MB, where the system has them, take an eighth of the time to lock. */
enum { HUGE_PAGE = 2 << 20, PAGE = 4096 };

/* Precedes the memory returned, which begins at a huge page. */
struct pin_note {
    void *base;
    size_t length;
    bool pinned; /* false: the system would not */
};

/* Touches each page with all threads; the lock would do so one by one. */
static void touch_pages(char *p, size_t bytes)
{
#pragma omp parallel for schedule(dynamic) if (bytes > HUGE_PAGE)
    for (size_t at = 0; at < bytes; at += HUGE_PAGE)
        for (size_t k = at; k < bytes && k < at + HUGE_PAGE; k += PAGE)
            p[k] = 0;
}

static psr_status pin_memory(void **out, size_t bytes, psr_err *err)
{
    const size_t whole = (bytes / HUGE_PAGE + 1) * HUGE_PAGE,
                 length = whole + 2 * (size_t)HUGE_PAGE;
    *out = NULL;
    if (length < bytes)
        return psr_fail_nomem(err, "samples", (double)bytes);
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return psr_fail_nomem(err, "samples", (double)bytes);
    char *p = (char *)base + 2 * (size_t)HUGE_PAGE - (uintptr_t)base % HUGE_PAGE;
    struct pin_note *note = (struct pin_note *)(void *)(p - PAGE);
    (void)madvise(p, whole, MADV_HUGEPAGE);
    touch_pages(p, bytes);
    *note = (struct pin_note){.base = base, .length = length};
    note->pinned = bytes > 0 && cudaHostRegister(p, bytes, cudaHostRegisterPortable) == cudaSuccess;
    if (!note->pinned)
        (void)cudaGetLastError();
    *out = p;
    return PSR_OK;
}

static void unpin_memory(void *p)
{
    if (!p)
        return;
    const struct pin_note note = *(struct pin_note *)(void *)((char *)p - PAGE);
    if (note.pinned)
        (void)cudaHostUnregister(p);
    (void)munmap(note.base, note.length);
}

const struct psr_device_ops psr_device_cuda = {
    .name = "cuda",
    .count = count_devices,
    .describe = describe_device,
    .copy = copy_device_series,
    .take = take_memory,
    .release = release_memory,
    .keep = keep_series,
    .settle = settle_series,
    .fetch = fetch_samples,
    .fetched = wait_for_samples,
    .pin = pin_memory,
    .unpin = unpin_memory,
};
