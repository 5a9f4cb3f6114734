/* spectra_reader.h: reads spectra that follow a header, from files, pipes and rings (private).
 *
 * Formats differ by their headers: each has a parser.  What follows is read in one way. */
#ifndef PSR_FORMATS_SPECTRA_SPECTRA_READER_H
#define PSR_FORMATS_SPECTRA_SPECTRA_READER_H

#include "reader.h"
#include "unpack.h"

/* The first bytes of an input. */
struct psr_spectra_start {
    const unsigned char *bytes;
    size_t n;
    bool end;    /* there are no more */
    bool stream; /* no regular file */
    const char *name;
    const struct psr_notes *notes; /* NULL: remarks are not wanted yet */
};

struct psr_spectra_header {
    struct psr_obs obs; /* owned by the reader; nsamp is what the header promises, or -1 */
    size_t bytes;       /* where the samples begin */
    bool need_more;     /* after an error: more bytes may help */
};

/* Returned: *h, whose obs is initialised, and clear on error
 * Status:   PSR_EFORMAT, PSR_EUNSUPPORTED, PSR_ENOMEM */
typedef psr_status psr_spectra_parse(struct psr_spectra_header *h,
                                     const struct psr_spectra_start *start, psr_err *err);

psr_spectra_parse psr_sigproc_parse_start, psr_dada_parse_start;

/* Opens an input whose header parse understands: samples [t][nif][nchan] follow it. */
PSR_MUST_CHECK psr_status psr_spectra_reader_open(struct psr_reader **out, const char *path,
                                                  const struct psr_source_desc *desc,
                                                  psr_spectra_parse *parse, psr_err *err);

/* How the IFs of a spectrum as stored become one. */
struct psr_ifs {
    const struct psr_if_sum *sum; /* NULL: one is copied */
    size_t first_at, row_bytes;   /* of what is taken, as stored; of a spectrum in a block */
    size_t spectrum_bytes;        /* as stored, all IFs */
};

/* Chooses the IFs of a reader whose obs is that of its header; obs, pols and file_nif become those of its blocks.
 * Status: those of psr_pols_choose */
PSR_MUST_CHECK psr_status psr_ifs_choose(struct psr_ifs *ifs, struct psr_reader *r,
                                         const char *name, const struct psr_source_desc *desc,
                                         psr_err *err);

/* Given:  from   [nsamp][spectrum_bytes] aligned for its samples */
void psr_ifs_merge(const struct psr_ifs *ifs, const struct psr_reader *r, size_t nsamp,
                   const unsigned char *from, unsigned char *block);

#endif
