/* device.h: the accelerators that plans can run on.
 *
 * A library built with CUDA runs on a machine that has neither GPU nor driver: it then has no
 * device, and says why. */
#ifndef PSRKIT_DEVICE_H
#define PSRKIT_DEVICE_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

enum { PSR_DEVICE_NAME_MAX = 256 };

struct psr_device {
    char name[PSR_DEVICE_NAME_MAX];
    const char *backend; /* "cuda"; static storage */
    int sm;              /* compute capability: 10 major + minor */
    int nprocessor;      /* multiprocessors */
    int64_t mem_total;   /* bytes */
    int64_t mem_free;    /* bytes, at the time of asking */
};

/* Returned: devices there are, numbered from 0; where none, 0 and *err (may be NULL) holds
 *           PSR_EDEVICE and the reason in words. */
int psr_device_count(psr_err *err);

/* Describes a device, having checked that the library's kernels run on it.
 * Status: PSR_EDEVICE where there is no such device or it cannot be used, with the reason.
 * Notes:  the first call for a device may take some tenths of a second, since it starts a context.
 */
PSR_MUST_CHECK psr_status psr_device_describe(int device, struct psr_device *out, psr_err *err);

/* What a command line says of devices, for a plan's description.
 * Given:    text   "auto", the name of a backend, or the number of a GPU
 * Returned: *backend, which borrows from text; *device
 * Status:   PSR_EINVAL for no such number */
PSR_MUST_CHECK psr_status psr_device_choose(const char *text, const char **backend, int *device,
                                            psr_err *err);

/* The same, where work may be split: "all" is every GPU, and there may be several numbers, as
 * "0,1,2".  Status: PSR_EINVAL; PSR_EDEVICE for all of none. */
enum { PSR_DEVICES_MAX = 64 };
struct psr_device_choice {
    const char *backend;
    int device;
    int devices[PSR_DEVICES_MAX];
    size_t ndevice; /* of devices; 0: device alone */
};
PSR_MUST_CHECK psr_status psr_devices_choose(struct psr_device_choice *c, const char *text,
                                             psr_err *err);

/* Threads that plans run on the host: those asked for, or all on offer where that is 0. */
int psr_count_threads(int asked);

/* Series that lie on a device, as one plan hands them to the next.
 *
 * They are made by work that was enqueued on the stream, so whoever reads them enqueues that on the
 * same stream, or makes another wait for it.  The next execute of the plan that gave them enqueues
 * there what overwrites them.  The stream is that plan's and lives as long. */
struct psr_device_series {
    int device;
    size_t first, nseries; /* which of all series */
    float *d_x;            /* [nseries][stride] on the device */
    size_t stride;
    void *stream; /* cudaStream_t */
};

/* Copies n samples of every series between device_series and host memory x [series][stride], having waited
 * for them.
 * Status: PSR_EDEVICE. */
PSR_MUST_CHECK psr_status psr_device_series_fetch(const struct psr_device_series *device_series,
                                                  size_t ndevice_series, size_t n, float *x,
                                                  size_t stride, psr_err *err);
PSR_MUST_CHECK psr_status psr_device_series_store(const struct psr_device_series *device_series,
                                                  size_t ndevice_series, size_t n, const float *x,
                                                  size_t stride, psr_err *err);

/* Host memory that devices copy from and to at the speed of the bus: page-locked, where there is a
 * device; plain memory where there is none.  To be freed by psr_device_unpin alone, which is fine
 * with NULL.
 * Status: PSR_ENOMEM, PSR_EDEVICE.
 * Notes:  takes 0.05 s a GB with pages of 2 MB, 0.4 s without: to be taken once. */
PSR_MUST_CHECK psr_status psr_device_pin(void **out, size_t bytes, psr_err *err);
void psr_device_unpin(void *p);

PSR_API_END
#endif
