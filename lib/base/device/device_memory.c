/* Memory of devices: takes it, and copies series to it, from it and within it.  A file of its own, as tests put devices of theirs in its place. */
#include "device_internal.h"

/* *kind is that of a device with series. */
static psr_status find(const struct psr_device_series *s, const struct psr_device_ops **kind,
                       psr_err *err)
{
    *kind = psr_device_find_kind(s->backend);
    return *kind ? PSR_OK : psr_fail(err, PSR_EDEVICE, "psrkit was built without CUDA");
}

psr_status psr_device_take(const struct psr_device_series *where, size_t bytes, int64_t leave,
                           void **d_out, psr_err *err)
{
    const struct psr_device_ops *kind;
    *d_out = NULL;
    psr_status st = find(where, &kind, err);
    return st ? st : kind->take(where->device, bytes, leave, d_out, err);
}

void psr_device_release(const struct psr_device_series *where, void *d)
{
    const struct psr_device_ops *kind = d ? psr_device_find_kind(where->backend) : NULL;
    if (kind)
        kind->release(where->device, d);
}

psr_status psr_device_keep(const struct psr_device_series *from, size_t n, float *d_x,
                           size_t stride, psr_err *err)
{
    const struct psr_device_ops *kind;
    psr_status st = find(from, &kind, err);
    return st ? st : kind->keep(from, n, d_x, stride, err);
}

psr_status psr_device_settle(const struct psr_device_series *where, psr_err *err)
{
    const struct psr_device_ops *kind;
    psr_status st = find(where, &kind, err);
    return st ? st : kind->settle(where, err);
}

psr_status psr_device_fetch(const struct psr_device_series *where, const float *d_x, size_t n,
                            float *x, psr_err *err)
{
    const struct psr_device_ops *kind;
    psr_status st = find(where, &kind, err);
    return st ? st : kind->fetch(where->device, d_x, n, x, err);
}

psr_status psr_device_fetched(const struct psr_device_series *where, psr_err *err)
{
    const struct psr_device_ops *kind;
    psr_status st = find(where, &kind, err);
    return st ? st : kind->fetched(where->device, err);
}

psr_status psr_device_series_fetch(const struct psr_device_series *device_series,
                                   size_t ndevice_series, size_t n, float *x, size_t stride,
                                   psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < ndevice_series && st == PSR_OK; k++) {
        const struct psr_device_ops *kind;
        st = find(&device_series[k], &kind, err);
        if (!st)
            st = kind->copy(device_series + k, n, x + device_series[k].first * stride, stride, err);
    }
    return st;
}
