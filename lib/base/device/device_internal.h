/* device_internal.h: memory of devices (private). */
#ifndef PSR_BASE_DEVICE_DEVICE_INTERNAL_H
#define PSR_BASE_DEVICE_DEVICE_INTERNAL_H

#include <psrkit/device.h>

/* As psr_device_choose, if work can be split: "all" means every GPU, and several numbers may be
 * given, as in "0,1,2".
 * Status: PSR_EINVAL; PSR_EDEVICE for "all" without a GPU */
enum { PSR_DEVICES_MAX = 64 };
struct psr_device_choice {
    const char *backend;
    int device;
    int devices[PSR_DEVICES_MAX];
    size_t ndevice; /* length of devices; 0: only device */
};
PSR_MUST_CHECK psr_status psr_devices_choose(struct psr_device_choice *c, const char *text,
                                             psr_err *err);

/* Copy n samples of every series between device_series and host memory x [series][stride], after
 * waiting for them.
 * Status: PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_device_series_fetch(const struct psr_device_series *device_series,
                                                  size_t ndevice_series, size_t n, float *x,
                                                  size_t stride, psr_err *err);
PSR_MUST_CHECK psr_status psr_device_series_store(const struct psr_device_series *device_series,
                                                  size_t ndevice_series, size_t n, const float *x,
                                                  size_t stride, psr_err *err);

/* Allocates host memory that devices copy from and to at bus speed: page-locked if there is a
 * device, ordinary memory otherwise.  Free it only with psr_device_unpin, which accepts NULL.
 * Status: PSR_ENOMEM, PSR_EDEVICE
 * Notes:  takes 0.05 s per GB with 2-MB pages, 0.4 s without: allocate once */
PSR_MUST_CHECK psr_status psr_device_pin(void **out, size_t bytes, psr_err *err);
void psr_device_unpin(void *p);

#endif
