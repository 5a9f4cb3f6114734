/* read_ahead.h: reads blocks of a source, in a separate thread if that is faster (private). */
#ifndef PSR_RUN_COMMON_READ_AHEAD_H
#define PSR_RUN_COMMON_READ_AHEAD_H

#include <psrkit/experimental/sink.h>
#include <psrkit/experimental/source.h>

typedef struct psr_read_ahead psr_read_ahead;

struct psr_read_ahead_desc {
    psr_source *source; /* borrowed; not to be read by others until the end; NULL: the caller
                         provides the spectra */
    size_t row_bytes;   /* bytes per spectrum */
    size_t nsamp;       /* spectra per block */
    size_t gaps;        /* spectra before a block whose gaps it tells, too; 0: all */
    bool for_device;    /* blocks are in page-locked memory, and those of files are read ahead */
};

/* Status: PSR_ENOMEM, PSR_EDEVICE.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_read_ahead_create(psr_read_ahead **out,
                                                const struct psr_read_ahead_desc *desc,
                                                psr_err *err);

/* Without a source: collects spectra for the next block, [nsamp][row_bytes], which must be taken
 * when it is full.
 * Returned: number of spectra that fitted */
size_t psr_read_ahead_gather(psr_read_ahead *r, const void *spectra, size_t nsamp);
bool psr_read_ahead_is_full(const psr_read_ahead *r);

/* Returned: *block, the next spectra, which may be modified until the next call; an empty block is
 *           the last
 * Status:   those of psr_source_read, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_read_ahead_next(psr_read_ahead *r, struct psr_block *block,
                                              psr_err *err);

/* The next block is empty, and the last; not where blocks are read ahead. */
void psr_read_ahead_end(psr_read_ahead *r);

/* Frees the object; NULL is allowed. */
void psr_read_ahead_destroy(psr_read_ahead *r);

#endif
