/* spectra.h: coded voltages to detected spectra on a device (private).
 *
 * What psr_baseband_read, psr_channelise_execute and psr_detect do one after the other on the host, in
 * one plan: the voltages go to the device as they are coded, and sums of tsum detected spectra come
 * back.  Sums are over the same values in the same order; transforms are cuFFT's, so that powers
 * differ by some 1e-7 of the mean.  Results do not depend on the length of blocks.
 *
 * A block is pushed while another is under way: push, push, collect, push, collect, ...  Not
 * thread-safe: use each plan from one thread; blocks are filled by another. */
#ifndef PSR_DSP_CHANNELS_SPECTRA_H
#define PSR_DSP_CHANNELS_SPECTRA_H

#include "channelise.h"
#include "dsp/detect.h"
#include "formats/voltages/baseband_reader.h"

typedef struct psr_spectra psr_spectra;

/* --- blocks of coded voltages --- */

/* Samples [from, from + n) of frames that follow each other, or n that are missing. */
struct psr_spectra_run {
    size_t from, n;
    size_t byte;  /* of the first frame, in the block's bytes */
    size_t flags; /* of the frames' groups that are present, in the same; SIZE_MAX: all are */
    bool missing;
};

struct psr_spectra_block {
    uint8_t *bytes; /* page-locked */
    size_t room, nbytes;
    struct psr_spectra_run *run;
    size_t nrun;
    size_t nsamp;
};

/* Bytes of nsamp samples that come in frames; a block has room for more than that. */
size_t psr_spectra_bytes(const struct baseband_layout *l, int nbit, size_t nsamp);

/* Status: PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_spectra_block_make(struct psr_spectra_block *b, size_t bytes,
                                                 psr_err *err);
void psr_spectra_block_free(struct psr_spectra_block *b); /* all zeros are allowed */

/* Fills a block with the next nsamp samples, or fewer where they do not fit: none at the end.
 * Status: those of psr_baseband_read */
PSR_MUST_CHECK psr_status psr_spectra_block_fill(struct psr_spectra_block *b, psr_baseband *reader,
                                                 size_t nsamp, psr_err *err);

/* --- the plan --- */
struct psr_spectra_desc {
    const psr_channelise *channels; /* that the plan is to do; needed until it exists */
    const struct baseband_layout *layout;
    const struct baseband_coding *coding;
    size_t npol; /* polarisations of the voltages; planes are [nchan_in][npol] */
    int64_t pol; /* use this one; -1: all */
    enum psr_detect what;
    size_t tsum, fsum;
    size_t block;        /* samples pushed at a time, at most */
    size_t block_bytes;  /* room of such a block */
    const char *backend; /* "cuda"; "auto": the first that there is a device for */
    int device;
};

/* Status: PSR_EDEVICE (no device, or no such backend in this build), PSR_EUNSUPPORTED (the device
 *         lacks what the plan needs), PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_spectra_create(psr_spectra **out, const struct psr_spectra_desc *desc,
                                             psr_err *err);

/* Segments of psr_channelise that a device transforms at a time: always as many, so that each has the
 * same bits.  Blocks of so many steps, or twice as many .., leave none of them idle. */
size_t psr_spectra_batch(const psr_channelise *channels);

/* Spectra that come of nsamp more samples, before they are summed. */
size_t psr_spectra_ready(const psr_spectra *s, size_t nsamp);

/* Begins to process a block; not while two are under way.
 * Given:  b      stays as it is until its rows are collected
 *         good   [psr_spectra_ready(s, b->nsamp)]: those not good add nothing
 * Status: PSR_EDEVICE; the plan can only be destroyed then */
PSR_MUST_CHECK psr_status psr_spectra_push(psr_spectra *s, const struct psr_spectra_block *b,
                                           const bool *good, psr_err *err);

/* Waits for the rows that became complete with the earliest block under way.
 * Returned: *x [*nrow][nproduct][nchan / fsum], *weight [*nrow] good spectra in each; the plan's, until
 *           the next push but one: the caller may change *x
 * Status:   PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_spectra_collect(psr_spectra *s, float **x, const uint32_t **weight,
                                              size_t *nrow, psr_err *err);

/* Name of the backend. */
const char *psr_spectra_backend(const psr_spectra *s);

void psr_spectra_destroy(psr_spectra *s); /* NULL is allowed */

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
