/* device_backend.h: what a kind of accelerator offers so that device.c can list it (private). */
#ifndef PSR_BASE_DEVICE_BACKEND_H
#define PSR_BASE_DEVICE_BACKEND_H

#include <psrkit/device.h>
#include <stdbool.h>

struct psr_device_ops {
    const char *name;
    /* As psr_device_count. */
    int (*count)(psr_err *err);
    /* Fills *out but for backend; device is in range. */
    psr_status (*describe)(int device, struct psr_device *out, psr_err *err);
    /* Copies n samples of every series to x, or from it. */
    psr_status (*copy)(const struct psr_device_series *device_series, size_t n, float *x,
                       size_t stride, bool from_device, psr_err *err);
    /* As psr_device_pin and psr_device_unpin. */
    psr_status (*pin)(void **out, size_t bytes, psr_err *err);
    void (*unpin)(void *p);
};

extern const struct psr_device_ops psr_device_cuda;

/* The kind that a device of psr_device_count is of, which must be built in, or NULL; *number is the
 * device's among those of its kind. */
const struct psr_device_ops *psr_device_kind(int device, int *number);

#endif
