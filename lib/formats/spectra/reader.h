/* reader.h: interface between a file format and source.c (private).
 *
 * A reader reads one file forward.  source.c orders readers in time, checks that they match, pads
 * gaps between and within them, skips and inverts, and keeps the list of gaps. */
#ifndef PSR_FORMATS_SPECTRA_READER_H
#define PSR_FORMATS_SPECTRA_READER_H

#include "polarisation.h"

#include <psrkit/experimental/source.h>
#include <string.h>

#define PSR_FITS_MAGIC "SIMPLE  =" /* first bytes of every FITS file */

/* Whether these are the first bytes of a FITS file. */
static inline bool psr_is_fits(const uint8_t *bytes, size_t n)
{
    return n >= strlen(PSR_FITS_MAGIC) && !memcmp(bytes, PSR_FITS_MAGIC, strlen(PSR_FITS_MAGIC));
}

struct psr_reader;

struct psr_reader_ops {
    /* Returns either up to nsamp spectra in block (*nread > 0, *gap = 0), or the number of spectra
     * missing here (*nread = 0, *gap > 0), or the end (both 0). */
    psr_status (*next)(struct psr_reader *r, size_t nsamp, void *block, size_t *nread, int64_t *gap,
                       psr_err *err);
    /* Seeks to spectrum n of this file (gaps included); NULL if the input cannot seek. */
    psr_status (*seek)(struct psr_reader *r, int64_t n, psr_err *err);
    /* Frees everything, r included. */
    void (*close)(struct psr_reader *r);
};

/* The first member of each format's own struct. */
struct psr_reader {
    const struct psr_reader_ops *ops;
    struct psr_obs obs; /* as in blocks: nif 1; nsamp includes this file's gaps; -1 for a pipe */
    int file_nbit;      /* bits per sample in the file */
    int file_nif;       /* IFs or polarisations per spectrum in the file */
    struct psr_pol_choice pols; /* which of them blocks hold */
};

/* desc gives the options (if_choice, no_weights, notes...); its path list is ignored. */
PSR_MUST_CHECK psr_status psr_sigproc_open(struct psr_reader **out, const char *path,
                                           const struct psr_source_desc *desc, psr_err *err);
PSR_MUST_CHECK psr_status psr_dada_open(struct psr_reader **out, const char *path,
                                        const struct psr_source_desc *desc, psr_err *err);
PSR_MUST_CHECK psr_status psr_pipe_open(struct psr_reader **out, const char *path,
                                        const struct psr_source_desc *desc, psr_err *err);
PSR_MUST_CHECK psr_status psr_psrfits_open(struct psr_reader **out, const char *path,
                                           const struct psr_source_desc *desc, psr_err *err);
PSR_MUST_CHECK psr_status psr_udp_reader_open(struct psr_reader **out, const char *path,
                                              const struct psr_source_desc *desc, psr_err *err);

#endif
