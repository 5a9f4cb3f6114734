/* fbh5.h: filterbanks in HDF5, as blimpy writes and reads them (private).
 *
 * A dataset "data" of [time][feed][channel], whose attributes are the keys of a SIGPROC header. */
#ifndef PSR_FORMATS_HDF5_FBH5_H
#define PSR_FORMATS_HDF5_FBH5_H

#include "formats/spectra/spectra_reader.h"
#include <config.h>
#include <psrkit/experimental/outfile.h>

#define PSR_HDF5_MAGIC "\x89HDF\r\n\x1a\n" /* first bytes of every HDF5 file without a user block */

/* Whether these are the first bytes of an HDF5 file. */
static inline bool psr_is_hdf5(const uint8_t *bytes, size_t n)
{
    return n >= strlen(PSR_HDF5_MAGIC) && !memcmp(bytes, PSR_HDF5_MAGIC, strlen(PSR_HDF5_MAGIC));
}

PSR_MUST_CHECK psr_status psr_fbh5_open(struct psr_reader **out, const char *path,
                                        const struct psr_source_desc *desc, psr_err *err);

/* Writes spectra as they come, compressed by bitshuffle and LZ4 where HDF5 has the plugin. */
typedef struct psr_fbh5 psr_fbh5;

/* Given:  f   a file with a temporary name, to which nothing else is written; borrowed; the caller commits it
 *         obs   nif 1, 8 to 32 bits
 * Status: PSR_EUNSUPPORTED (bits, a table of frequencies, no HDF5), PSR_EFORMAT (as psr_obs_check),
 *         PSR_EIO (also for no regular file), PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_fbh5_create(psr_fbh5 **out, psr_outfile *f, const struct psr_obs *obs,
                                          psr_err *err);
PSR_MUST_CHECK psr_status psr_fbh5_append(psr_fbh5 *w, const void *rows, size_t nrow, psr_err *err);

/* Completes the file, before it is committed. */
PSR_MUST_CHECK psr_status psr_fbh5_finish(psr_fbh5 *w, psr_err *err);
void psr_fbh5_destroy(psr_fbh5 *w);

#ifdef PSR_HDF5_SO
#include "hdf5_library.h"

/* How a dataset is opened whose chunks have these sizes: those that lie beside each other are kept.  -1: no memory. */
#endif

/* --- cut-outs of bursts, as `your` writes and classifiers such as FETCH read them ------------- */

struct psr_cutout {
    double t_s, dm, snr;  /* the burst, at the highest frequency from the first spectrum on */
    int64_t width, label; /* width in samples of obs; label 1: astrophysical, 0: not, -1: unknown */
    const char *const *path;
    size_t npath;
    const struct psr_obs *obs, *input; /* what was cut, and the whole input */
    int64_t tsum, fsum;                /* samples and channels of the input in one of obs */
    size_t ntime, nfreq, ndm;
    const float *freq_time, *dm_time;
};

/* Writes a whole file.
 * Given:  f   a file with a temporary name, to which nothing else is written; the caller commits it
 * Status: PSR_EUNSUPPORTED (no HDF5), PSR_EIO (also for no regular file) */
PSR_MUST_CHECK psr_status psr_cutout_write(psr_outfile *f, const struct psr_cutout *c,
                                           psr_err *err);

#ifdef PSR_HDF5_SO
/* --- a process that reads --------------------------------------------------------------------- */

/* HDF5 follows damaged files out of its memory or without end.  In a child process it can crash, and is killed where it takes
 * too much processor time; the caller gets an error.  The child reads ahead. */
enum { PSR_FBH5_FEEDS = 16, PSR_FBH5_CHANNELS = 1 << 20, PSR_FBH5_KEYS = 1 << 12 };

struct psr_fbh5_facts {
    uint64_t dim[3]; /* spectra, feeds, channels */
    int nbit;
    enum psr_kind kind;
    char keys[PSR_FBH5_KEYS]; /* attributes that are numbers or angles, as lines "KEY VALUE" */
    char source[PSR_TEXT_MAX];
};

typedef struct psr_fbh5_process psr_fbh5_process;

void psr_fbh5_process_end(psr_fbh5_process *p); /* NULL is allowed */

/* --- the child's part (fbh5_file.c) ----------------------------------------------------------- */

struct psr_fbh5_file {
    const struct psr_hdf5 *lib;
    const char *name;
    hid_t file, data, type, space; /* -1: not open */
    double chunk_bytes;            /* of the chunks that a spectrum passes through */
};

PSR_MUST_CHECK psr_status psr_fbh5_file_open(struct psr_fbh5_file *f, struct psr_fbh5_facts *facts,
                                             const char *path, psr_err *err);

/* Returned: to [n], of the facts' shape and type */
PSR_MUST_CHECK psr_status psr_fbh5_file_read(const struct psr_fbh5_file *f,
                                             const struct psr_fbh5_facts *facts, int64_t start,
                                             size_t n, void *to, psr_err *err);
#endif

#endif
