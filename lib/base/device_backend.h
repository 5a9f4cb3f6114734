/* device_backend.h: interface between device.c and a kind of accelerator (private). */
#ifndef PSR_BASE_DEVICE_BACKEND_H
#define PSR_BASE_DEVICE_BACKEND_H

#include <psrkit/device.h>
#include <stdbool.h>

struct psr_device_ops {
    const char *name;
    /* As psr_device_count. */
    int (*count)(psr_err *err);
    /* Fills *out except backend; device is in range. */
    psr_status (*describe)(int device, struct psr_device *out, psr_err *err);
    /* Copy n samples of every series to x, or from it. */
    psr_status (*copy)(const struct psr_device_series *device_series, size_t n, float *x,
                       size_t stride, bool from_device, psr_err *err);
    /* As psr_device_pin and psr_device_unpin. */
    psr_status (*pin)(void **out, size_t bytes, psr_err *err);
    void (*unpin)(void *p);
};

extern const struct psr_device_ops psr_device_cuda;

/* The kind of a device of psr_device_count, which must be built in, or NULL; *number is its index
 * among devices of that kind. */
const struct psr_device_ops *psr_device_kind(int device, int *number);

#endif
