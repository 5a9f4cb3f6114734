/* rfifind_reader.h: reads intervals, the next one while another is measured (private). */
#ifndef PSR_RUN_RFIFIND_RFIFIND_READER_H
#define PSR_RUN_RFIFIND_RFIFIND_READER_H

#include <psrkit/experimental/source.h>

/* Intervals of more than this are not read ahead. */
enum { PSR_RFI_READ_AHEAD_BYTES = 64 << 20 };

struct psr_rfi_reader {
    psr_source *source; /* borrowed */
    size_t nsamp;       /* spectra per interval */
    void *
        spectra[2]; /* [nsamp] of the interval that was taken, and of the next one; the second NULL:
                           intervals are not read ahead */
    int next;       /* which is the next one's */
    bool filled;    /* it was read: n spectra, with this status */
    size_t n;
    psr_status status;
    psr_err err;
    double seconds; /* spent reading */
};

/* Given:  ahead   the caller calls psr_rfi_reader_fill between takes
 * Status: PSR_ENOMEM; what was allocated is freed by psr_rfi_reader_clear */
PSR_MUST_CHECK psr_status psr_rfi_reader_init(struct psr_rfi_reader *r, psr_source *source,
                                              size_t nsamp, bool ahead, psr_err *err);

/* Reads the next interval if it is not there already; r is a struct psr_rfi_reader.  What
 * psr_source_gaps returned before is no longer valid. */
void psr_rfi_reader_fill(void *r);

/* Returned: *n spectra, fewer than nsamp at the end; *spectra, until the next call
 * Status:   those of psr_source_read */
PSR_MUST_CHECK psr_status psr_rfi_reader_take(struct psr_rfi_reader *r, const void **spectra,
                                              size_t *n, psr_err *err);

void psr_rfi_reader_clear(struct psr_rfi_reader *r);

#endif
