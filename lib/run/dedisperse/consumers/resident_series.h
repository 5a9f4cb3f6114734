/* resident_series.h: keeps the series of a line on the devices that computed them until they are
 * complete; what has no room there goes to a store on the host (private).
 *
 * Samples are kept as they came, and bins that barycentring adds and removes are put in when a
 * series is read. */
#ifndef PSR_RUN_DEDISPERSE_CONSUMERS_RESIDENT_SERIES_H
#define PSR_RUN_DEDISPERSE_CONSUMERS_RESIDENT_SERIES_H

#include "series_store.h"
#include <psrkit/experimental/sink.h>

typedef struct psr_resident_series psr_resident_series;

struct psr_resident_series_desc {
    const struct psr_sink_stream *stream; /* borrowed */
    size_t line;                          /* of the stream */
    int64_t leave_bytes;                  /* must stay free on each device */
    psr_series_store *store; /* takes what has no room; used for no other samples of the line */
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_resident_series_create(psr_resident_series **out,
                                                     const struct psr_resident_series_desc *desc,
                                                     psr_err *err);

/* Appends a block on devices to the series of the line, each as far as it is complete.  All blocks
 * lie on the same devices.
 * Status: PSR_ENOMEM, PSR_EDEVICE, PSR_EIO (the store) */
PSR_MUST_CHECK psr_status psr_resident_series_append(psr_resident_series *r,
                                                     const struct psr_block *block, psr_err *err);

/* Waits for all samples; call it before the first psr_resident_series_read.
 * Status: PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_resident_series_settle(psr_resident_series *r, psr_err *err);

/* The device that made series i. */
const struct psr_device_series *psr_resident_series_where(const psr_resident_series *r, size_t i);

/* As those of the store; i counts all series. */
int64_t psr_resident_series_length(const psr_resident_series *r, size_t i);
PSR_MUST_CHECK psr_status psr_resident_series_read(psr_resident_series *r, size_t i, float *x,
                                                   int64_t n, psr_err *err);

/* Bytes on all devices. */
int64_t psr_resident_series_bytes(const psr_resident_series *r);

/* Frees it, but not the store; NULL is allowed. */
void psr_resident_series_destroy(psr_resident_series *r);

#endif
