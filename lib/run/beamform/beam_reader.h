/* beam_reader.h: reads blocks of voltages ahead, in separate threads (private). */
#ifndef PSR_RUN_BEAMFORM_BEAM_READER_H
#define PSR_RUN_BEAMFORM_BEAM_READER_H

#include "base/threads/threads.h"
#include "base/tool.h"
#include "beam_input.h"

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
