/* beamformer_state.h: state of a beamformer, shared by its setup, loop and report (private).
 *
 * The parts of the beamformer do not include this header: each gets what it needs through its own
 * description. */
#ifndef PSR_RUN_BEAMFORM_BEAMFORMER_STATE_H
#define PSR_RUN_BEAMFORM_BEAMFORMER_STATE_H

#include "beam/beam_internal.h"
#include "beam_rows.h"

struct psr_beamformer {
    struct psr_beamformer_desc d;
    int nthread;
    int64_t mem_bytes;
    struct psr_beam_input input;
    struct psr_beam_sums sums;
    struct psr_beam_directions directions;
    struct psr_beam_outputs outputs;
    struct psr_beam_scales scales;
    psr_beam *plan;
    struct psr_beam_info plan_info;
    size_t block;                        /* samples */
    void *in[PSR_BEAM_READER_SLOTS];     /* memory for blocks */
    void *buffer[PSR_BEAM_ROWS_BUFFERS]; /* and for rows */
    struct psr_monitor monitor;          /* of the ring of blocks and the pool */
    struct psr_worker_pool pool;
    struct psr_beam_reader reader;
    struct psr_beam_rows rows;
    struct psr_async_task wake; /* of the device */

    int64_t nread; /* samples so far */
    double start_s, read_s, beam_s, write_s, end_s;
};

/* Copies a description of any size, and checks what the parts do not check themselves.
 * Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_beamformer_take_desc(struct psr_beamformer_desc *to,
                                                   const struct psr_beamformer_desc *from,
                                                   psr_err *err);

/* Creates everything; files have temporary names.  It can be released whatever the status. */
PSR_MUST_CHECK psr_status psr_beamformer_prepare(struct psr_beamformer *p, psr_err *err);
void psr_beamformer_release(struct psr_beamformer *p);

/* Processes blocks until the input ends or the caller stops. */
PSR_MUST_CHECK psr_status psr_beamformer_loop(struct psr_beamformer *p, psr_err *err);

#endif
