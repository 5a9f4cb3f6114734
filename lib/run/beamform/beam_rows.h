/* beam_rows.h: buffers the rows of all beams between the plan and the files (private).
 *
 * Rows of several blocks are collected in a buffer, [nbeam][stride], before they are kept for
 * measuring scales, or written.  Meanwhile the next buffer fills, and rows for the one after it may
 * be started. */
#ifndef PSR_RUN_BEAMFORM_BEAM_ROWS_H
#define PSR_RUN_BEAMFORM_BEAM_ROWS_H

#include "base/threads/threads.h"
#include "base/threads/worker_pool.h"
#include "base/tool.h"
#include "beam/beam_internal.h"
#include "beam_input.h"
#include "beam_outputs.h"
#include "beam_scales.h"

enum { PSR_BEAM_ROWS_BUFFERS = 3 };

/* All is borrowed. */
struct psr_beam_rows_desc {
    psr_beam *plan;
    const struct psr_beam_sums *sums;
    struct psr_beam_scales *scales;
    struct psr_beam_outputs *outputs;
    struct psr_worker_pool *pool;
    void *buffer[PSR_BEAM_ROWS_BUFFERS];
    size_t nbeam;
    bool gathers;         /* else each block's rows go on by themselves */
    size_t stride;        /* rows of a beam in a buffer */
    size_t stride_floats; /* while scales are measured, a block's */
};

/* Rows of every beam that are being kept or written. */
struct psr_beam_rows_task {
    const char *rows; /* [nbeam][stride] */
    size_t stride, n;
    size_t first; /* where they are kept */
};

struct psr_beam_rows {
    struct psr_beam_rows_desc d;
    unsigned buffer_now;    /* buffer that rows are begun in, counted on */
    size_t begun;           /* rows begun in it */
    size_t came;            /* rows that have come where the last ones did */
    size_t coming;          /* of the last block begun */
    unsigned buffer_coming; /* and where to */
    size_t kept_begun;      /* rows to keep that are begun, or there */
    int64_t nrow;           /* that have come in all */
    struct psr_beam_rows_task task;
};

/* Where the next rows, nrow of each beam, go; and rows of a beam in that memory. */
void *psr_beam_rows_place(struct psr_beam_rows *r, size_t nrow);
size_t psr_beam_rows_stride(const struct psr_beam_rows *r);

/* Notes that the plan has begun to make them. */
void psr_beam_rows_begin(struct psr_beam_rows *r, size_t nrow);

/* Notes that they are complete; submits complete buffers, or, with "all", all rows.
 * Status: those of what was submitted before, and of psr_beam_scales_measure */
PSR_MUST_CHECK psr_status psr_beam_rows_came(struct psr_beam_rows *r, bool all, psr_err *err);

/* Rows that may still be begun before scales are measured; SIZE_MAX where that is done. */
size_t psr_beam_rows_to_keep(const struct psr_beam_rows *r);

/* Waits for what was submitted. */
PSR_MUST_CHECK psr_status psr_beam_rows_wait(struct psr_beam_rows *r, psr_err *err);

/* At the end of the input: measures scales on the rows so far, and waits. */
PSR_MUST_CHECK psr_status psr_beam_rows_end(struct psr_beam_rows *r, psr_err *err);

enum { PSR_BEAM_READER_SLOTS = 4 };

struct psr_beam_reader_desc {
    const struct psr_beam_input *in; /* borrowed, as are the next two */
    struct psr_monitor *monitor;
    size_t block; /* samples */
    bool (*should_stop)(void *ctx);
    void *ctx;
};

struct psr_beam_reader {
    struct psr_beam_reader_desc d;
    void *slot[PSR_BEAM_READER_SLOTS]; /* the caller's */
    struct psr_read_ring ring;
    size_t first; /* first block of the current reading */
    struct psr_async_task task;
};

/* Starts reading, until the end of the input or until stopped.
 * Given: slot   memory of one block each, which must outlive end */
void psr_beam_reader_start(struct psr_beam_reader *r, const struct psr_beam_reader_desc *desc,
                           void *const slot[PSR_BEAM_READER_SLOTS]);

/* Returned: *in [*n], the next samples; none at the end, or if should_stop returned true
 * Status:   those of psr_voltages_pump */
PSR_MUST_CHECK psr_status psr_beam_reader_next(struct psr_beam_reader *r, const uint8_t **in,
                                               size_t *n, psr_err *err);

/* Releases all blocks except the last one. */
void psr_beam_reader_release(struct psr_beam_reader *r);

/* Stop reading, and wait until it has stopped.  An all-zero object is allowed. */
void psr_beam_reader_stop(struct psr_beam_reader *r);
void psr_beam_reader_end(struct psr_beam_reader *r);

#endif
