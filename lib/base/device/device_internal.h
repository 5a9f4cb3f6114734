/* device_internal.h: memory of devices, and the choice of devices and backends (private). */
#ifndef PSR_BASE_DEVICE_DEVICE_INTERNAL_H
#define PSR_BASE_DEVICE_DEVICE_INTERNAL_H

#include <psrkit/device.h>
#include <psrkit/status.h>

#include <stdbool.h>

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

/* Copies n samples of every series to host memory x [series][stride], after waiting for them.
 * Status: PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_device_series_fetch(const struct psr_device_series *device_series,
                                                  size_t ndevice_series, size_t n, float *x,
                                                  size_t stride, psr_err *err);

/* Allocates host memory that devices copy from and to at bus speed: page-locked if there is a
 * device, ordinary memory otherwise.  Free it only with psr_device_unpin, which accepts NULL.
 * Status: PSR_ENOMEM, PSR_EDEVICE
 * Notes:  takes 0.05 s per GB with 2-MB pages, 0.4 s without: allocate once */
PSR_MUST_CHECK psr_status psr_device_pin(void **out, size_t bytes, psr_err *err);
void psr_device_unpin(void *p);

/* --- which backend of a table does the work, by one rule for all tables --- */

/* A name asks for one backend, whose failure is the caller's.  NULL and "auto" ask for the first one
 * of the table whose device is there and which supports what is wanted; any other failure ends the
 * choice. */

bool psr_backend_is_any(const char *asked);

bool psr_backend_is_asked(const char *asked, const char *name);

/* Whether the next one is tried after one that was asked for ended with st. */
bool psr_backend_is_passed(const char *asked, psr_status st);

/* Ends a choice in which every backend was passed.
 * Given:  st     of the last one that was tried, whose error stays; PSR_OK: there was none
 *         what   for the message: "WHAT: no backend 'NAME' in this build"
 * Status: st, or PSR_EDEVICE naming the field backend */
PSR_MUST_CHECK psr_status psr_backend_none(psr_status st, const char *asked, const char *what,
                                           psr_err *err);

#endif
