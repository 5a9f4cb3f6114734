/* reader.h: what a file format offers so that source.c can make a source of it (private).
 *
 * A reader is one file, read forward.  source.c puts readers in time order, checks that they match,
 * pads gaps between and inside them, skips, inverts, and keeps the account of gaps. */
#ifndef PSR_FORMATS_READER_H
#define PSR_FORMATS_READER_H

#include <psrkit/source.h>

#define PSR_FITS_MAGIC "SIMPLE  =" /* what every FITS file begins with */

struct psr_reader;

struct psr_reader_ops {
    /* Gives what comes next: either up to nsamp spectra in block (*nread > 0, *gap = 0), or the
     * number of spectra that the file lacks here (*nread = 0, *gap > 0), or the end (both 0). */
    psr_status (*next)(struct psr_reader *r, size_t nsamp, void *block, size_t *nread, int64_t *gap,
                       psr_err *err);
    /* Moves to spectrum n of this file (gaps counted); NULL where the input cannot seek. */
    psr_status (*seek)(struct psr_reader *r, int64_t n, psr_err *err);
    /* Frees everything, r included. */
    void (*close)(struct psr_reader *r);
};

/* The first member of each format's own struct. */
struct psr_reader {
    const struct psr_reader_ops *ops;
    struct psr_obs obs; /* as blocks hold it: nif 1; nsamp counts this file's gaps; -1 for a pipe */
    int file_nbit;      /* bits per sample in the file */
    int file_nif;       /* IFs or polarisations per spectrum in the file */
};

/* desc gives the choices (if_choice, no_weights, notes...); its path list is not looked at. */
PSR_MUST_CHECK psr_status psr_sigproc_open(struct psr_reader **out, const char *path,
                                           const struct psr_source_desc *desc, psr_err *err);
PSR_MUST_CHECK psr_status psr_psrfits_open(struct psr_reader **out, const char *path,
                                           const struct psr_source_desc *desc, psr_err *err);

#endif
