/* beam_reader.h: blocks of voltages, read by threads ahead of those that form beams of them
 * (private). */
#ifndef PSR_BEAMFORMER_BEAM_READER_H
#define PSR_BEAMFORMER_BEAM_READER_H

#include "base/read_ring.h"
#include "base/worker_pool.h"
#include "beam_input.h"

enum { PSR_BEAM_READER_SLOTS = 4 };

struct psr_beam_reader_desc {
    const struct psr_beam_input *in; /* borrowed, as are the next two */
    struct psr_monitor *monitor;
    struct psr_worker_pool *pool; /* threads that read many files' blocks do its work, too */
    size_t block;                 /* samples */
    bool (*should_stop)(void *ctx);
    void *ctx;
};

struct psr_beam_reader {
    struct psr_beam_reader_desc d;
    void *slot[PSR_BEAM_READER_SLOTS]; /* the caller's */
    struct psr_read_ring ring;
    size_t first; /* block that this go of reading began with */
    struct psr_async_task task;
};

/* Starts to read, to the end of the input or until it is told to stop.
 * Given:  slot   memory for a block each, that lives until end has returned */
void psr_beam_reader_start(struct psr_beam_reader *r, const struct psr_beam_reader_desc *desc,
                           void *const slot[PSR_BEAM_READER_SLOTS]);

/* Returned: *in [*n], the next samples; none at the end, and where should_stop said so
 * Status:   those of psr_voltages_pump */
PSR_MUST_CHECK psr_status psr_beam_reader_next(struct psr_beam_reader *r, const uint8_t **in,
                                               size_t *n, psr_err *err);

/* All blocks but the last are done with. */
void psr_beam_reader_release(struct psr_beam_reader *r);

/* Whether threads of the reader come by to do the pool's work. */
bool psr_beam_reader_helps(struct psr_beam_reader *r);

/* Has the reading stop; and waits for that.  What is all zero is fine. */
void psr_beam_reader_stop(struct psr_beam_reader *r);
void psr_beam_reader_end(struct psr_beam_reader *r);

#endif
