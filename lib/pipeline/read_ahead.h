/* read_ahead.h: blocks of a source, read by a thread of their own where that pays (private). */
#ifndef PSR_PIPELINE_READ_AHEAD_H
#define PSR_PIPELINE_READ_AHEAD_H

#include <psrkit/block.h>
#include <psrkit/source.h>

typedef struct psr_read_ahead psr_read_ahead;

struct psr_read_ahead_desc {
    psr_source
        *source; /* borrowed; nobody else's until the end, but for what it tells of itself; NULL:
                           the caller brings the spectra */
    size_t row_bytes; /* of a spectrum */
    size_t nsamp;     /* spectra of a block */
    bool
        for_device; /* blocks lie in memory that devices copy from, and those of files are read ahead */
};

/* Status: PSR_ENOMEM, PSR_EDEVICE.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_read_ahead_create(psr_read_ahead **out,
                                                const struct psr_read_ahead_desc *desc,
                                                psr_err *err);

/* Without a source: gathers spectra for the next block, [nsamp][row_bytes], which is to be taken when
 * it is full.
 * Returned: how many there was room for */
size_t psr_read_ahead_gather(psr_read_ahead *r, const void *spectra, size_t nsamp);
bool psr_read_ahead_is_full(const psr_read_ahead *r);

/* Returned: *block   the next spectra, to be changed at will until the next call; after a block
 *                    without any there is none
 * Status:   those of psr_source_read, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_read_ahead_next(psr_read_ahead *r, struct psr_block *block,
                                              psr_err *err);

/* NULL is fine. */
void psr_read_ahead_destroy(psr_read_ahead *r);

#endif
