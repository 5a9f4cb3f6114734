/* device_backend.h: interface between device.c and a kind of accelerator (private). */
#ifndef PSR_BASE_DEVICE_DEVICE_BACKEND_H
#define PSR_BASE_DEVICE_DEVICE_BACKEND_H

#include <psrkit/device.h>
#include <stdbool.h>

struct psr_device_ops {
    const char *name;
    /* As psr_device_count. */
    int (*count)(psr_err *err);
    /* Fills *out except backend; device is in range. */
    psr_status (*describe)(int device, struct psr_device *out, psr_err *err);
    /* Copies n samples of every series to x. */
    psr_status (*copy)(const struct psr_device_series *device_series, size_t n, float *x,
                       size_t stride, psr_err *err);
    /* As those of device_memory.h. */
    psr_status (*take)(int device, size_t bytes, int64_t leave, void **d_out, psr_err *err);
    void (*release)(int device, void *d);
    psr_status (*keep)(const struct psr_device_series *from, size_t n, float *d_x, size_t stride,
                       psr_err *err);
    psr_status (*settle)(const struct psr_device_series *where, psr_err *err);
    psr_status (*fetch)(int device, const float *d_x, size_t n, float *x, psr_err *err);
    psr_status (*fetched)(int device, psr_err *err);
    /* As psr_device_pin and psr_device_unpin. */
    psr_status (*pin)(void **out, size_t bytes, psr_err *err);
    void (*unpin)(void *p);
};

extern const struct psr_device_ops psr_device_cuda;

/* The kind of a device of psr_device_count, which must be built in, or NULL; *number is its index
 * among devices of that kind. */
const struct psr_device_ops *psr_device_kind(int device, int *number);

/* The kind of this name, the first for NULL; NULL if it was not built in. */
const struct psr_device_ops *psr_device_find_kind(const char *name);

#endif
