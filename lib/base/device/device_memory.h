/* device_memory.h: memory of devices in which series are kept (private). */
#ifndef PSR_BASE_DEVICE_DEVICE_MEMORY_H
#define PSR_BASE_DEVICE_DEVICE_MEMORY_H

#include <psrkit/device.h>

/* Takes memory of the device that computed the series.
 * Given:  leave   bytes that must be free afterwards
 * Status: PSR_ENOMEM (there is less), PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_device_take(const struct psr_device_series *where, size_t bytes,
                                          int64_t leave, void **d_out, psr_err *err);

/* Frees it; NULL is allowed. */
void psr_device_release(const struct psr_device_series *where, void *d);

/* Copies n samples of each series to d_x [nseries][stride] on the same device, after what is
 * enqueued on their stream: enqueues only.
 * Status: PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_device_keep(const struct psr_device_series *from, size_t n,
                                          float *d_x, size_t stride, psr_err *err);

/* Waits for what psr_device_keep has enqueued for these series.
 * Status: PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_device_settle(const struct psr_device_series *where, psr_err *err);

/* Copies n samples to the host; fast into memory of psr_device_pin.  They are there once
 * psr_device_fetched has returned on the same thread, which waits without using its processor.
 * Safe on several threads.
 * Status: PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_device_fetch(const struct psr_device_series *where, const float *d_x,
                                           size_t n, float *x, psr_err *err);
PSR_MUST_CHECK psr_status psr_device_fetched(const struct psr_device_series *where, psr_err *err);

#endif
