/* source.h: reads blocks of spectra from any supported input.
 *
 * A source is one observation: a SIGPROC filterbank file, several consecutive ones, PSRFITS
 * search-mode files, sub-band files written by prepsubband -sub, or standard input.  It reads
 * forward only and does not seek in pipes.  It reports missing data (notes, gaps) and never fills
 * samples in silently.  Not thread-safe: use each source from one thread. */
#ifndef PSRKIT_SOURCE_H
#define PSRKIT_SOURCE_H

#include <psrkit/inf.h>

PSR_API_BEGIN

typedef struct psr_source psr_source;

enum psr_input {
    PSR_INPUT_AUTO, /* from the first bytes of the file; sub-bands by their names, *.sub00 */
    PSR_INPUT_SIGPROC,
    PSR_INPUT_PSRFITS,
};

/* Missing data between two files, or two rows of a file, are padded up to this length. */
enum { PSR_GAP_DAYS_MAX = 1 };

struct psr_source_desc {
    const char *const *path; /* [npath] in any order; "-" is standard input, which must be the
                                only one */
    size_t npath;
    enum psr_input input;
    int if_choice; /* IF or polarisation, from 0; -1 sums them (total intensity) */
    bool invert;   /* reverse the order of the channels but not the frequencies */
    bool no_weights, no_scales, no_offsets; /* PSRFITS: ignore DAT_WTS, DAT_SCL, DAT_OFFS */
    bool as_presto; /* PSRFITS: read all rows to their ends, even without data, and use PRESTO's
                       date, beam and polarisation texts */
    bool runavg;    /* sub-band files: subtract each sub-band's mean over blocks of 1024 */
    int64_t skip;   /* spectra to skip at the start */
    int nthread;    /* threads that read a large block of a file together; 0: one */
    struct psr_notes notes; /* notes on unknown keys, truncation, gaps, lost rows */
};

/* Status: PSR_EIO, PSR_EFORMAT (also for files that overlap, do not match, or are further apart
 *         than PSR_GAP_DAYS_MAX), PSR_EUNSUPPORTED, PSR_EINVAL (skip beyond the end, no such IF, a
 *         file given twice), PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_source_open(psr_source **out, const struct psr_source_desc *desc,
                                          psr_err *err);

/* The observation as returned in blocks: nif 1, nbit and kind of the blocks, tstart of the first
 * spectrum returned, nsamp all spectra to come (gaps included), or -1.  Valid as long as the
 * source. */
const struct psr_obs *psr_source_obs(const psr_source *s);

/* The .inf file beside the input, or NULL if there is none.  Only sub-bands have one; it describes
 * the channels that they were summed from.  Valid as long as the source. */
const struct psr_inf *psr_source_inf(const psr_source *s);

/* Bits per sample in the file, for .inf files. */
int psr_source_file_nbit(const psr_source *s);

/* Bytes of nsamp spectra in a block; each spectrum starts on a byte boundary. */
size_t psr_source_block_bytes(const psr_source *s, size_t nsamp);

/* Reads the next spectra.
 * Given:    block   room for psr_source_block_bytes(s, nsamp), owned by the caller, aligned for its
 *                   samples
 * Returned: block   [nread][nchan] packed as in psr_source_obs, time-major; *nread < nsamp only at
 *                   the end of the input, 0 from then on
 * Status:   PSR_EIO, also if a signal whose handler was installed without SA_RESTART interrupts the
 *           wait for a pipe, and for a file that was truncated after it was opened; PSR_EFORMAT,
 *           PSR_ENOMEM.  An input shorter than its header states gives a note. */
PSR_MUST_CHECK psr_status psr_source_read(psr_source *s, size_t nsamp, void *block, size_t *nread,
                                          psr_err *err);

/* Ranges returned so far that hold padding instead of data: gaps between files, lost rows,
 * zero-filled ends.  In spectra from the first one returned, ascending.  *spans belongs to the
 * source and is valid until the next read.
 * Notes: padding is each channel's mean over the data returned before it (the first 1024 spectra
 *        and every 64th after them), or over the first 256 spectra after it if there are none
 *        before; it does not depend on block lengths */
size_t psr_source_gaps(const psr_source *s, const struct psr_span **spans);

/* Frees the source; NULL is allowed. */
void psr_source_close(psr_source *s);

PSR_API_END
#endif
