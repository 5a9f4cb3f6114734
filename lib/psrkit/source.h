/* source.h: blocks of spectra from whatever holds them.
 *
 * A source is one observation: a SIGPROC filterbank file, several that follow each other, PSRFITS
 * search-mode files, the files of sub-bands that prepsubband -sub writes, or standard input.  It
 * reads forward only and never seeks unless the input can.  It reports what is missing (notes,
 * gaps) and never invents a sample silently.  One source, one thread. */
#ifndef PSRKIT_SOURCE_H
#define PSRKIT_SOURCE_H

#include <psrkit/inf.h>

PSR_API_BEGIN

typedef struct psr_source psr_source;

enum psr_input {
    PSR_INPUT_AUTO, /* by the first bytes of the file; sub-bands by their names, *.sub00 */
    PSR_INPUT_SIGPROC,
    PSR_INPUT_PSRFITS,
};

/* What is missing between two files, or two rows of one, is padded where it is no longer. */
enum { PSR_GAP_DAYS_MAX = 1 };

struct psr_source_desc {
    const char *const *path; /* [npath] in time order or not; "-" is standard input, alone */
    size_t npath;
    enum psr_input input;
    int if_choice; /* which IF or polarisation, from 0; -1 sums (total intensity) */
    bool invert;   /* take the channels in the opposite order, frequencies staying */
    bool no_weights, no_scales, no_offsets; /* PSRFITS: take DAT_WTS, DAT_SCL, DAT_OFFS as absent */
    bool as_presto; /* PSRFITS: all rows to their ends, whether they hold data or not, and PRESTO's
                       words on date, beam and polarisations */
    bool runavg;    /* files of sub-bands: take off each sub-band's mean over blocks of 1024 */
    int64_t skip;   /* spectra to leave out at the start */
    int nthread;    /* that read a large block of a file at once; 0: one */
    struct psr_notes notes; /* remarks on unknown keys, truncation, gaps, lost rows */
};

/* Status: PSR_EIO, PSR_EFORMAT (also for files that overlap, do not match, or
 *         are further apart than PSR_GAP_DAYS_MAX), PSR_EUNSUPPORTED,
 *         PSR_EINVAL (skip beyond the end, no such IF, a file given twice), PSR_ENOMEM.  *out is
 *         NULL on error. */
PSR_MUST_CHECK psr_status psr_source_open(psr_source **out, const struct psr_source_desc *desc,
                                          psr_err *err);

/* The observation as blocks hold it: nif 1, nbit and kind those of the blocks, tstart that of the
 * first spectrum returned, nsamp all spectra to come (gaps counted), or -1.  Lives as long as the
 * source. */
const struct psr_obs *psr_source_obs(const psr_source *s);

/* What a .inf file says of the input, or NULL where none is beside it: only sub-bands have one, and
 * it tells of the channels they were summed from.  Lives as long as the source. */
const struct psr_inf *psr_source_inf(const psr_source *s);

/* Bits per sample as stored in the file, which .inf files record. */
int psr_source_file_nbit(const psr_source *s);

/* Bytes that nsamp spectra take in a block; each spectrum starts on a byte. */
size_t psr_source_block_bytes(const psr_source *s, size_t nsamp);

/* Reads the next spectra.
 * Given:    block   room for psr_source_block_bytes(s, nsamp), caller's
 * Returned: block [nread][nchan] packed as psr_source_obs says, time-major;
 *           *nread < nsamp only where the input ended, 0 from then on
 * Notes:    block is aligned for its samples
 * Status:   PSR_EIO, also where a signal whose handler was installed without SA_RESTART ends the
 *           wait for a pipe, and for a file that has been cut since it was opened; PSR_EFORMAT,
 *           PSR_ENOMEM.  An input shorter than its header promises is a note. */
PSR_MUST_CHECK psr_status psr_source_read(psr_source *s, size_t nsamp, void *block, size_t *nread,
                                          psr_err *err);

/* Stretches returned so far that hold padding and no data: gaps between files, lost rows,
 * zero-filled ends.  In spectra from the first one returned, ascending.  *spans is the source's and
 * stays valid until the next read.
 * Notes:    padding is each channel's mean over the data returned before it, taken from the
 *           first 1024 spectra and one in 64 after that, or over the first 256 spectra after it
 *           where none came before; so it does not depend on the blocks read. */
size_t psr_source_gaps(const psr_source *s, const struct psr_span **spans);

/* NULL is fine. */
void psr_source_close(psr_source *s);

PSR_API_END
#endif
