/* spectra_plan.h: the plan from coded voltages to detected spectra, for its files (private). */
#ifndef PSR_DSP_CHANNELS_SPECTRA_PLAN_H
#define PSR_DSP_CHANNELS_SPECTRA_PLAN_H

#include "spectra.h"

enum { PSR_SPECTRA_SLOTS = 2 }; /* blocks under way */

/* A block under way. */
struct psr_spectra_slot {
    uint32_t *weight; /* [rows at most] good spectra of each */
    size_t nrow;      /* complete ones */
};

struct psr_spectra_ops {
    const char *name;
    psr_status (*create)(psr_spectra *s, psr_err *err);
    void (*destroy)(psr_spectra *s);
    /* Queues a block to slot k: nsegment segments, of spectra good (NULL: all are), behind what is held. */
    psr_status (*push)(psr_spectra *s, int k, const struct psr_spectra_block *b, size_t nsegment,
                       const bool *good, psr_err *err);
    /* Waits for slot k's rows. */
    psr_status (*collect)(psr_spectra *s, int k, float **x, psr_err *err);
};

extern const struct psr_spectra_ops psr_spectra_cuda;

struct psr_spectra {
    const struct psr_spectra_ops *ops;
    void *state;
    struct psr_spectra_desc d; /* valid while it is created: the first three pointers */
    size_t nplane, npol;       /* used */
    size_t nchan, n, nbin, ndim, ntap;
    struct psr_channelise_shape shape;
    bool real, upper;
    size_t nvalue;        /* of a row */
    size_t batch;         /* segments that are transformed at a time */
    size_t most_segments; /* of a block */
    size_t most_rows;     /* of a block, with those that are incomplete at both ends */
    size_t nheld;         /* samples kept from the blocks before */
    size_t fill;          /* spectra of the row that is incomplete */
    uint32_t ngood;       /* of them */
    int64_t npush, ncollect;
    struct psr_spectra_slot slot[PSR_SPECTRA_SLOTS];
    int64_t bytes;
};

#endif
