/* series_store.h: keeps series until they are complete: in memory, and what does not fit in a
 * scratch file (private). */
#ifndef PSR_RUN_DEDISPERSE_CONSUMERS_SERIES_STORE_H
#define PSR_RUN_DEDISPERSE_CONSUMERS_SERIES_STORE_H

#include <psrkit/experimental/sink.h>
#include <stddef.h>
#include <stdint.h>

typedef struct psr_series_store psr_series_store;

struct psr_series_store_desc {
    size_t nseries;
    int64_t mem_bytes;  /* most to keep in memory; each series takes 16 kB at least */
    const char *prefix; /* the scratch file lies in the folder of files of this prefix */
    int64_t samples;    /* that a series will have, about; 0: not known */
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_series_store_create(psr_series_store **out,
                                                  const struct psr_series_store_desc *desc,
                                                  psr_err *err);

/* Appends n samples to series i.  Threads may append to different series at the same time.
 * Status: PSR_ENOMEM, PSR_EIO (the scratch file) */
PSR_MUST_CHECK psr_status psr_series_store_append(psr_series_store *s, size_t i, const float *x,
                                                  size_t n, psr_err *err);

/* Appends a block on the host to all series of a line, each as far as it is complete. */
PSR_MUST_CHECK psr_status psr_series_store_append_line(psr_series_store *s,
                                                       const struct psr_sink_stream *stream,
                                                       size_t line, const struct psr_block *block,
                                                       psr_err *err);

/* Samples of series i so far. */
int64_t psr_series_store_length(const psr_series_store *s, size_t i);

/* Copies the first n samples of series i, or all if there are fewer.  Threads may read different
 * series at the same time.
 * Status: PSR_EIO */
PSR_MUST_CHECK psr_status psr_series_store_read(const psr_series_store *s, size_t i, float *x,
                                                int64_t n, psr_err *err);

/* Frees the memory of series i, which is not read again. */
void psr_series_store_drop(psr_series_store *s, size_t i);

/* Bytes of series in memory and in the scratch file, at most so far. */
void psr_series_store_bytes(const psr_series_store *s, int64_t *memory, int64_t *scratch);

/* Frees the store, with its file; NULL is allowed. */
void psr_series_store_destroy(psr_series_store *s);

#endif
