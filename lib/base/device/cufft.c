/* Loads cuFFT at run time: a program that has no device, or no series to transform, works without it.
 * It stays loaded, as CUDA's libraries must not be unloaded. */
#include "base/device/cuda_call.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    CUFFT_REAL_TO_COMPLEX = 0x2a,
    CUFFT_COMPLEX = 0x29,
    CUFFT_MAJOR = CUDART_VERSION / 1000 - 1
};

/* The library of this toolkit, where the linker or the toolkit has it. */
static void *load_library(void)
{
    static const char *const places[] = {"", "/usr/local/cuda/lib64/"};
    for (size_t n = 0; n < sizeof places / sizeof *places; n++) {
        char name[64];
        snprintf(name, sizeof name, "%slibcufft.so.%d", places[n], CUFFT_MAJOR);
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

/* A function pointer takes the place of an object pointer, as dlsym has it. */
static bool find(void *library, const char *name, void *function)
{
    void *p = dlsym(library, name);
    memcpy(function, &p, sizeof p);
    return p;
}

static psr_status open_library(void **library, size_t n, psr_err *err)
{
    if (n > INT32_MAX)
        return psr_fail(err, PSR_EUNSUPPORTED, "cuFFT: %zu samples are above its limit of %d", n,
                        INT32_MAX);
    *library = load_library();
    return *library ? PSR_OK
                    : psr_fail(err, PSR_EUNSUPPORTED,
                               "cuFFT: libcufft.so.%d, needed for transforms, is not found",
                               CUFFT_MAJOR);
}

static psr_status fail_function(psr_err *err)
{
    return psr_fail(err, PSR_EDEVICE, "cuFFT: libcufft.so.%d lacks a function", CUFFT_MAJOR);
}

psr_status psr_cufft_room(size_t n, double *bytes, psr_err *err)
{
    int (*estimate)(int n, int type, int batch, size_t *bytes) = NULL;
    void *library;
    size_t need = 0;
    psr_status st = open_library(&library, n, err);
    if (st)
        return st;
    if (!find(library, "cufftEstimate1d", &estimate))
        return fail_function(err);
    int e = estimate((int)n, CUFFT_REAL_TO_COMPLEX, 1, &need);
    *bytes = (double)need;
    return e ? psr_fail(err, PSR_EDEVICE, "cuFFT: no plan for %zu samples (error %d)", n, e)
             : PSR_OK;
}

psr_status psr_cufft_open(struct psr_cufft *f, size_t n, cudaStream_t stream, psr_err *err)
{
    int (*plan)(int *handle, int n, int type, int batch) = NULL;
    int (*set_stream)(int handle, cudaStream_t stream) = NULL;
    void *library;
    psr_status st = open_library(&library, n, err);
    if (st)
        return st;
    if (!find(library, "cufftPlan1d", &plan) || !find(library, "cufftSetStream", &set_stream) ||
        !find(library, "cufftExecR2C", &f->transform) ||
        !find(library, "cufftDestroy", &f->destroy))
        return fail_function(err);
    int e = plan(&f->handle, (int)n, CUFFT_REAL_TO_COMPLEX, 1);
    if (e) {
        f->destroy = NULL;
        return psr_fail(err, PSR_EDEVICE, "cuFFT: no plan for %zu samples (error %d)", n, e);
    }
    f->n = n;
    if ((e = set_stream(f->handle, stream)))
        return psr_fail(err, PSR_EDEVICE, "cuFFT: no stream (error %d)", e);
    return PSR_OK;
}

/* The highest frequency takes the place of the imaginary part of the lowest, which is 0. */
cudaError_t psr_cufft_execute(const struct psr_cufft *f, float *d_x, cudaStream_t stream)
{
    if (f->transform(f->handle, d_x, d_x))
        return cudaErrorUnknown;
    return cudaMemcpyAsync(d_x + 1, d_x + f->n, sizeof *d_x, cudaMemcpyDeviceToDevice, stream);
}

void psr_cufft_close(struct psr_cufft *f)
{
    if (f->destroy)
        f->destroy(f->handle);
    *f = (struct psr_cufft){0};
}

/* --- batches ---------------------------------------------------------------------------------- */

static psr_status plan_batch(struct psr_cufft_batch *f, void *library, psr_err *err)
{
    int (*plan)(int *handle, int rank, int *n, int *in_room, int in_stride, int in_apart,
                int *out_room, int out_stride, int out_apart, int type, int count) = NULL;
    int n = (int)f->n;
    if (!find(library, "cufftPlanMany", &plan) || !find(library, "cufftExecR2C", &f->transform) ||
        !find(library, "cufftExecC2C", &f->transform_complex) ||
        !find(library, "cufftDestroy", &f->destroy))
        return fail_function(err);
    int e = plan(&f->handle, 1, &n, &n, 1, (int)f->in_apart, &n, 1, (int)f->out_apart,
                 f->real ? CUFFT_REAL_TO_COMPLEX : CUFFT_COMPLEX, (int)f->count);
    if (!e)
        return PSR_OK;
    f->destroy = NULL;
    return psr_fail(err, PSR_EDEVICE, "cuFFT: no plan for %zu transforms of %zu samples (error %d)",
                    f->count, f->n, e);
}

psr_status psr_cufft_batch_open(struct psr_cufft_batch *f, cudaStream_t stream, psr_err *err)
{
    int (*set_stream)(int handle, cudaStream_t stream) = NULL;
    const size_t apart = f->in_apart > f->out_apart ? f->in_apart : f->out_apart;
    void *library;
    psr_status st = open_library(&library, f->n > apart ? f->n : apart, err);
    if (!st && !find(library, "cufftSetStream", &set_stream))
        st = fail_function(err);
    if (!st)
        st = plan_batch(f, library, err);
    if (st)
        return st;
    int e = set_stream(f->handle, stream);
    return e ? psr_fail(err, PSR_EDEVICE, "cuFFT: no stream (error %d)", e) : PSR_OK;
}

cudaError_t psr_cufft_batch_execute(const struct psr_cufft_batch *f, float *d_in, float *d_out,
                                    int sign)
{
    int e = f->real ? f->transform(f->handle, d_in, d_out)
                    : f->transform_complex(f->handle, d_in, d_out, sign);
    return e ? cudaErrorUnknown : cudaSuccess;
}

void psr_cufft_batch_close(struct psr_cufft_batch *f)
{
    if (f->destroy)
        f->destroy(f->handle);
    f->destroy = NULL;
}
