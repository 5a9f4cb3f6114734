#include "pair.h"
#include "lose_after.h"
#include "lost.h"

#include <common/probe_kernels.h>
#include <stddef.h>

enum { MOST = 1024 }; /* streams and events of the second device */

static atomic_bool played, lost;
static _Thread_local int current;
static const void *second[MOST];
static atomic_int nsecond;

bool pair_is_played(void)
{
    return played;
}

void pair_lose(void)
{
    if (played) {
        lost = true;
        return;
    }
    int device = 0;
    (void)cudaGetDevice(&device);
    if (!cudaSetDevice(1))
        (void)lost_trap();
    (void)cudaSetDevice(device);
}

static void note(const void *made)
{
    if (made && played && current == 1 && nsecond < MOST)
        second[nsecond++] = made;
}

/* Another may be made at the same place. */
static void forget(const void *made)
{
    for (int n = 0; n < nsecond; n++)
        if (second[n] == made)
            second[n] = NULL;
}

/* A stream or an event that cannot be used any more. */
static bool is_lost(const void *used)
{
    for (int n = 0; lost && n < nsecond; n++)
        if (used && second[n] == used)
            return true;
    return false;
}

static bool here_is_lost(void)
{
    return lost && current == 1;
}

/* --- devices ---------------------------------------------------------------------------------- */

cudaError_t __real_probe_k_count(int *n);
cudaError_t __wrap_probe_k_count(int *n);
cudaError_t __wrap_probe_k_count(int *n)
{
    cudaError_t e = __real_probe_k_count(n);
    if (!e && *n == 1) {
        played = true;
        *n = 2;
    }
    return e;
}

cudaError_t __real_cudaSetDevice(int device);
cudaError_t __wrap_cudaSetDevice(int device);
cudaError_t __wrap_cudaSetDevice(int device)
{
    static atomic_int asked;
    if (lost && device == 1 && asked++ % 2)
        return cudaErrorLaunchFailure; /* and the other stays the current one */
    current = device;
    return __real_cudaSetDevice(played ? 0 : device);
}

cudaError_t __real_cudaGetDevice(int *device);
cudaError_t __wrap_cudaGetDevice(int *device);
cudaError_t __wrap_cudaGetDevice(int *device)
{
    if (!played)
        return __real_cudaGetDevice(device);
    *device = current;
    return cudaSuccess;
}

cudaError_t __real_probe_k_describe(int device, struct probe_k_device *out);
cudaError_t __wrap_probe_k_describe(int device, struct probe_k_device *out);
cudaError_t __wrap_probe_k_describe(int device, struct probe_k_device *out)
{
    return lost && device == 1 ? cudaErrorLaunchFailure
                               : __real_probe_k_describe(played ? 0 : device, out);
}

cudaError_t __real_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device);
cudaError_t __wrap_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device);
cudaError_t __wrap_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device)
{
    return __real_cudaDeviceGetAttribute(value, what, played ? 0 : device);
}

/* --- what is made on them --------------------------------------------------------------------- */

#define WRAP(name, params, args, fails, made)                                                      \
    cudaError_t __real_##name params;                                                              \
    cudaError_t __wrap_##name params;                                                              \
    cudaError_t __wrap_##name params                                                               \
    {                                                                                              \
        cudaError_t e = (fails) ? cudaErrorLaunchFailure : __real_##name args;                     \
        if (!e)                                                                                    \
            note(made);                                                                            \
        return e;                                                                                  \
    }

WRAP(cudaStreamCreateWithFlags, (cudaStream_t * s, unsigned f), (s, f), here_is_lost(), *s)
WRAP(cudaStreamCreateWithPriority, (cudaStream_t * s, unsigned f, int p), (s, f, p), here_is_lost(),
     *s)
WRAP(cudaEventCreate, (cudaEvent_t * x), (x), here_is_lost(), *x)
WRAP(cudaEventCreateWithFlags, (cudaEvent_t * x, unsigned f), (x, f), here_is_lost(), *x)

cudaError_t __real_cudaStreamDestroy(cudaStream_t s);
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t s);
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t s)
{
    forget(s);
    return __real_cudaStreamDestroy(s);
}

cudaError_t __real_cudaEventDestroy(cudaEvent_t x);
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t x);
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t x)
{
    forget(x);
    return __real_cudaEventDestroy(x);
}

WRAP(cudaStreamSynchronize, (cudaStream_t s), (s), s ? is_lost(s) : here_is_lost(), NULL)
WRAP(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t x, unsigned f), (s, x, f),
     is_lost(s) || is_lost(x), NULL)
WRAP(cudaEventRecord, (cudaEvent_t x, cudaStream_t s), (x, s), is_lost(s) || is_lost(x), NULL)
WRAP(cudaEventSynchronize, (cudaEvent_t x), (x), is_lost(x), NULL)
WRAP(cudaEventElapsedTime, (float *ms, cudaEvent_t a, cudaEvent_t b), (ms, a, b),
     is_lost(a) || is_lost(b), NULL)
WRAP(cudaDeviceSynchronize, (void), (), here_is_lost(), NULL)

WRAP(cudaMalloc, (void **p, size_t n), (p, n), here_is_lost(), NULL)
WRAP(cudaMemset, (void *p, int v, size_t n), (p, v, n), here_is_lost(), NULL)
WRAP(cudaMemsetAsync, (void *p, int v, size_t n, cudaStream_t s), (p, v, n, s), is_lost(s), NULL)
WRAP(cudaMemcpy, (void *to, const void *from, size_t n, enum cudaMemcpyKind k), (to, from, n, k),
     here_is_lost(), NULL)
WRAP(cudaMemcpyAsync, (void *to, const void *from, size_t n, enum cudaMemcpyKind k, cudaStream_t s),
     (to, from, n, k, s), is_lost(s), NULL)
WRAP(cudaMemcpy2DAsync,
     (void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h, enum cudaMemcpyKind k,
      cudaStream_t s),
     (to, tp, from, fp, w, h, k, s), is_lost(s), NULL)

/* --- input ------------------------------------------------------------------------------------ */

ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n)
{
    return lose_after(__real_read(fd, to, n), pair_lose);
}

ssize_t __real_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at)
{
    return lose_after(__real_pread64(fd, to, n, at), pair_lose);
}
