/* cuFFT, loaded at run time: a program that searches spectra, or has no device, does without it.
 * It stays loaded, as CUDA's libraries do not stand being unloaded. */
#include "pulscan_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { CUFFT_REAL_TO_COMPLEX = 0x2a, CUFFT_MAJOR = CUDART_VERSION / 1000 - 1 };

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

psr_status psr_cufft_open(struct psr_cufft *f, size_t n, cudaStream_t stream, psr_err *err)
{
    int (*plan)(int *handle, int n, int type, int batch) = NULL;
    int (*set_stream)(int handle, cudaStream_t stream) = NULL;
    if (n > INT32_MAX)
        return psr_fail(err, PSR_EUNSUPPORTED, "cuFFT: %zu samples are above its limit of %d", n,
                        INT32_MAX);
    void *library = load_library();
    if (!library)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "cuFFT: libcufft.so.%d, needed to transform series, is not found",
                        CUFFT_MAJOR);
    if (!find(library, "cufftPlan1d", &plan) || !find(library, "cufftSetStream", &set_stream) ||
        !find(library, "cufftExecR2C", &f->transform) ||
        !find(library, "cufftDestroy", &f->destroy))
        return psr_fail(err, PSR_EDEVICE, "cuFFT: libcufft.so.%d lacks a function", CUFFT_MAJOR);
    int e = plan(&f->handle, (int)n, CUFFT_REAL_TO_COMPLEX, 1);
    if (e) {
        f->destroy = NULL;
        return psr_fail(err, PSR_EDEVICE, "cuFFT: no plan for %zu samples (error %d)", n, e);
    }
    if ((e = set_stream(f->handle, stream)))
        return psr_fail(err, PSR_EDEVICE, "cuFFT: no stream (error %d)", e);
    return PSR_OK;
}

void psr_cufft_close(struct psr_cufft *f)
{
    if (f->destroy)
        f->destroy(f->handle);
    *f = (struct psr_cufft){0};
}
