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

/* --- interface between device.c and a kind of accelerator --- */

struct psr_device_ops {
    const char *name;
    /* As psr_device_count. */
    int (*count)(psr_err *err);
    /* Fills *out except backend; device is in range. */
    psr_status (*describe)(int device, struct psr_device *out, psr_err *err);
    /* Copies n samples of every series to x. */
    psr_status (*copy)(const struct psr_device_series *device_series, size_t n, float *x,
                       size_t stride, psr_err *err);
    /* As the functions of the same names. */
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

/* --- memory of devices in which series are kept --- */

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
