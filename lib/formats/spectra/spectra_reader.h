/* spectra_reader.h: reads spectra that follow a header, from files, pipes and rings (private).
 *
 * Formats differ by their headers: each has a parser.  What follows is read in one way. */
#ifndef PSR_FORMATS_SPECTRA_SPECTRA_READER_H
#define PSR_FORMATS_SPECTRA_SPECTRA_READER_H

#include "unpack.h"
#include <psrkit/experimental/source.h>
#include <string.h>

/* --- which polarisations of a spectrum make total intensity ------------------------------------ */

/* Polarisations [first, first + count) are summed. */
struct psr_pol_choice {
    int first, count;
    bool guessed; /* the header does not say what the two that are summed are */
};

/* The kind that a word begins with: DADA's STATE or PSRFITS' POL_TYPE. */
enum psr_pols psr_pols_find(const char *text);

/* Its word in a STATE, or NULL if it has none. */
const char *psr_pols_state(enum psr_pols pols);

/* Chooses polarisations of a file.
 * Given:  name   the file, for the message
 *         key, text   what was to say the kind, for the message; text may be empty
 *         npol, pols   stored in a spectrum; desc->pols, unless it is unknown, overrides pols
 * Status: PSR_EINVAL (field if_choice: there is no such polarisation), PSR_EUNSUPPORTED (field key: 3 or more of
 *         unknown kind) */
PSR_MUST_CHECK psr_status psr_pols_choose(struct psr_pol_choice *choice, const char *name,
                                          const char *key, const char *text, int npol,
                                          enum psr_pols pols, const struct psr_source_desc *desc,
                                          psr_err *err);

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

/* Forgets ranges that end at or before this spectrum, so that the account of an endless input does not grow. */
void psr_source_forget_gaps(psr_source *s, int64_t before);

/* Parses a header from the first n bytes of a file.
 * Given:    name   the file, for messages
 *           notes   for skipped keys
 * Returned: *obs, initialised here, cleared by the caller; nsamp is -1 unless the header has
 *           nsamples
 *           *header_bytes, offset of the first sample
 * Status:   PSR_EFORMAT; *need_more is set if n bytes were too few and more may help.
 *           PSR_EUNSUPPORTED for a big-endian header; PSR_ENOMEM.
 * Notes:    an unknown key is skipped if its value can only be an int32, a double or a text (a key
 *           must follow it); otherwise it is an error.  A position of 0, 0 is treated as unknown.
 */
PSR_MUST_CHECK psr_status psr_sigproc_parse(struct psr_obs *obs, size_t *header_bytes,
                                            bool *need_more, const void *bytes, size_t n,
                                            const char *name, const struct psr_notes *notes,
                                            psr_err *err);

/* Parses a header.
 * Given:    bytes [n]   the start of a file
 *           name   the file, for messages
 *           notes   for a missing date
 * Returned: *obs, initialised here, cleared by the caller; nsamp is -1
 *           *header_bytes, offset of the first sample
 * Status:   PSR_EFORMAT naming file, key, value and limit; *need_more is set if n bytes were too few and more may
 *           help.  PSR_EUNSUPPORTED, the same, for voltages, several beams or another order; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dada_parse_spectra(struct psr_obs *obs, size_t *header_bytes,
                                                 bool *need_more, const void *bytes, size_t n,
                                                 const char *name, const struct psr_notes *notes,
                                                 psr_err *err);

/* Writes a header of 4096 bytes, which Heimdall and DSPSR can read, too.
 * Notes:  blanks in names become _; machine_id and what telescope_id says without a name are omitted
 * Status: PSR_EFORMAT (as psr_obs_check), PSR_EUNSUPPORTED (a table of frequencies, barycentric, more than 4 IFs,
 *         whole numbers of 32 bits), and those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_dada_write_spectra(psr_outfile *f, const struct psr_obs *obs,
                                                 psr_err *err);

/* What samples stand for, sample scale + offset, instead of themselves: DAT_SCL and DAT_OFFS of all rows.  Before the
 * first spectrum.
 * Given:  scale, offset   [nif][nchan]; samples of 16 bits count from 0 */
void psr_psrfits_set_scales(psr_psrfits *w, const float *scale, const float *offset);

#endif
