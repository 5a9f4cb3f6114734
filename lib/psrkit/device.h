/* device.h: accelerators that plans can run on, and memory on them.
 *
 * A library built with CUDA also works on a machine without a GPU or driver: it then finds no
 * device and reports the reason. */
#ifndef PSRKIT_DEVICE_H
#define PSRKIT_DEVICE_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

enum { PSR_DEVICE_NAME_MAX = 256 };

struct psr_device {
    size_t size; /* sizeof the struct */
    char name[PSR_DEVICE_NAME_MAX];
    const char *backend; /* "cuda"; static storage */
    int sm;              /* compute capability: 10 major + minor */
    int nprocessor;      /* multiprocessors */
    int64_t mem_total;   /* bytes */
    int64_t mem_free;    /* bytes, at the time of the call */
};

/* Returned: number of devices, numbered from 0; if 0, *err (may be NULL) holds PSR_EDEVICE and the
 *           reason */
int psr_device_count(psr_err *err);

/* Describes a device after checking that the library's kernels run on it.
 * Status: PSR_EDEVICE, with the reason, if the device does not exist or cannot be used
 * Notes:  the first call for a device may take some tenths of a second, as it creates a context */
PSR_MUST_CHECK psr_status psr_device_describe_sized(int device, struct psr_device *out, size_t size,
                                                    psr_err *err);
#define psr_device_describe(device, out, err)                                                      \
    psr_device_describe_sized((device), (out), sizeof *(out), (err))

/* Parses the device argument of a command line.
 * Given:    text   "auto", the name of a backend, or the number of a GPU
 * Returned: *backend, which points into text or static storage; *device
 * Status:   PSR_EINVAL for an invalid number */
PSR_MUST_CHECK psr_status psr_device_choose(const char *text, const char **backend, int *device,
                                            psr_err *err);

/* Threads that plans use on the host: the number asked for, or all available if it is 0. */
int psr_count_threads(int asked);

/* Series in device memory, as one plan passes them to the next.
 *
 * They are computed by work enqueued on stream; a reader must enqueue its work on the same stream
 * or make its own stream wait for it.  The next execute of the plan that returned them overwrites
 * them on that stream.  The stream belongs to that plan and lives as long. */
struct psr_device_series {
    const char *backend;   /* as in struct psr_device; NULL: the first kind that was built in */
    int device;            /* of the backend */
    size_t first, nseries; /* range within all series */
    float *d_x;            /* [nseries][stride] on the device */
    size_t stride;
    void *stream; /* cudaStream_t */
};

/* A change of clock of such series: a bin added before sample at, as the mean of that sample and the one before it (step 1), or
 * sample at removed (step -1). */
struct psr_resample_bin {
    size_t at;
    int step; /* 1, -1 */
};

PSR_API_END
#endif
