/* Lists accelerators, whatever their kind, and copies series between them and the host. */
#include "device_backend.h"

#include <config.h>
#include <stddef.h>
#include <stdlib.h>

/* The one place that knows which kinds of accelerator were built in. */
static const struct psr_device_ops *const backend =
#ifdef HAVE_CUDA
    &psr_device_cuda;
#else
    NULL;
#endif

int psr_device_count(psr_err *err)
{
    if (backend)
        return backend->count(err);
    (void)psr_fail(err, PSR_EDEVICE, "psrkit was built without CUDA");
    return 0;
}

psr_status psr_device_describe(int device, struct psr_device *out, psr_err *err)
{
    int n = psr_device_count(err);
    if (n == 0)
        return PSR_EDEVICE;
    if (device < 0 || device >= n)
        return psr_fail(err, PSR_EDEVICE, "device %d: there are %d, numbered from 0", device, n);
    out->backend = backend->name;
    return backend->describe(device, out, err);
}

static psr_status copy_device_series(const struct psr_device_series *device_series,
                                     size_t ndevice_series, size_t n, float *x, size_t stride,
                                     bool from_device, psr_err *err)
{
    psr_status st = PSR_OK;
    if (!backend)
        return psr_fail(err, PSR_EDEVICE, "psrkit was built without CUDA");
    for (size_t k = 0; k < ndevice_series && st == PSR_OK; k++)
        st = backend->copy(device_series + k, n, x + device_series[k].first * stride, stride,
                           from_device, err);
    return st;
}

psr_status psr_device_series_fetch(const struct psr_device_series *device_series,
                                   size_t ndevice_series, size_t n, float *x, size_t stride,
                                   psr_err *err)
{
    return copy_device_series(device_series, ndevice_series, n, x, stride, true, err);
}

psr_status psr_device_series_store(const struct psr_device_series *device_series,
                                   size_t ndevice_series, size_t n, const float *x, size_t stride,
                                   psr_err *err)
{
    return copy_device_series(device_series, ndevice_series, n, (float *)x, stride, false, err);
}

psr_status psr_device_pin(void **out, size_t bytes, psr_err *err)
{
    if (backend)
        return backend->pin(out, bytes, err);
    *out = malloc(bytes ? bytes : 1);
    return *out ? PSR_OK : psr_fail_nomem(err, "samples", (double)bytes);
}

void psr_device_unpin(void *p)
{
    if (backend)
        backend->unpin(p);
    else
        free(p);
}
