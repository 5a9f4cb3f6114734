/* whole_series.h: the series of all trials, kept once for all sinks that search whole series: on the devices that
 * compute them, as far as there is room, then in memory, then in a scratch file (private).
 *
 * A sink of its own takes them, which the table of sinks has before those that read them. */
#ifndef PSR_RUN_DEDISPERSE_CONSUMERS_WHOLE_SERIES_H
#define PSR_RUN_DEDISPERSE_CONSUMERS_WHOLE_SERIES_H

#include "formats/series/series_name.h"
#include "resident_series.h"
#include <psrkit/experimental/sink.h>

/* Bytes of series that are kept. */
struct psr_whole_series_bytes {
    int64_t device, memory, scratch;
};

struct psr_whole_series {
    size_t nreader;    /* sinks that read all series */
    int64_t mem_bytes; /* of series kept in memory; 0: a quarter of the machine's */
    bool nopad;        /* series are not padded */

    const struct psr_sink_stream *stream;
    psr_series_store *store;
    psr_resident_series **resident; /* [nline] series that came on devices; NULL: in the store */
    int64_t leave_bytes;            /* of devices, for what else needs them */
    struct psr_inf common;          /* what the .inf of all say */
    struct psr_whole_series_bytes bytes; /* once the input has ended */
    unsigned char *nread;                /* [ndm] readers that have read a series */
};

/* A series, or a segment of it, as it is read: padded as its file would be. */
struct psr_whole_series_read {
    size_t line, i;
    struct psr_segment segment;
    int64_t length;                 /* of the padded series; below 0: not padded */
    const struct psr_sink_end *end; /* of the line */
};

/* Samples that series of the first line will have, if that is known: not padded. */
int64_t psr_whole_series_expect(const struct psr_sink_stream *stream, bool nopad);

/* Description of the sink that keeps series, and of one that reads them. */
struct psr_whole_series_use {
    struct psr_whole_series *series; /* its first three fields are set */
    const void *desc;                /* of a sink that reads them */
};

extern const struct psr_sink_ops psr_sink_whole_series;

/* After plans that use devices were made: leaves so much of devices for others.
 * Given:  planned   there is a plan */
void psr_whole_series_leave(struct psr_whole_series *w, bool planned);

/* The device on which series i of a line lies; NULL: the host. */
const struct psr_device_series *psr_whole_series_where(const struct psr_whole_series *w,
                                                       size_t line, size_t i);

int64_t psr_whole_series_length(const struct psr_whole_series *w, size_t line, size_t i);

/* Its samples, without padding. */
int64_t psr_whole_series_count(const struct psr_whole_series *w,
                               const struct psr_whole_series_read *r);

/* Names a series, says what its .inf does, and writes that with the other outputs if it is wanted: sifting and
 * folding ask it for the DMs that were searched and the length of the series.
 * Returned: stem, *inf
 * Status:   those of psr_series_fill_inf and of outputs */
PSR_MUST_CHECK psr_status psr_whole_series_describe(const struct psr_whole_series *w,
                                                    const struct psr_whole_series_read *r,
                                                    bool write, char stem[PSR_TEXT_MAX],
                                                    struct psr_inf *inf, psr_err *err);

/* Reads a series into x [r->length], cut or padded with its mean or the value of its line.  Threads may read
 * different series at the same time.
 * Status: PSR_EIO, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_whole_series_read(const struct psr_whole_series *w,
                                                const struct psr_whole_series_read *r, float *x,
                                                psr_err *err);

/* A reader does not read series i again; frees its memory after the last one. */
void psr_whole_series_drop(const struct psr_whole_series *w, size_t i);

#endif
