/* fbh5_process.h: a filterbank in HDF5, read by a process of its own (private).
 *
 * HDF5 follows damaged files out of its memory or without end.  In a child process it can crash, and is killed where it takes
 * too much processor time; the caller gets an error.  The child reads ahead. */
#ifndef PSR_FORMATS_HDF5_FBH5_PROCESS_H
#define PSR_FORMATS_HDF5_FBH5_PROCESS_H

#include "fbh5.h"

#ifdef PSR_HDF5_SO
enum { PSR_FBH5_FEEDS = 16, PSR_FBH5_CHANNELS = 1 << 20, PSR_FBH5_KEYS = 1 << 12 };

struct psr_fbh5_facts {
    uint64_t dim[3]; /* spectra, feeds, channels */
    int nbit;
    enum psr_kind kind;
    char keys[PSR_FBH5_KEYS]; /* attributes that are numbers or angles, as lines "KEY VALUE" */
    char source[PSR_TEXT_MAX];
};

typedef struct psr_fbh5_process psr_fbh5_process;

/* Given:    path, name   what is opened, and what messages call it; borrowed
 * Returned: *facts, of the process
 * Status:   PSR_EFORMAT, PSR_EUNSUPPORTED, PSR_ENOMEM, PSR_EIO.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_fbh5_process_start(psr_fbh5_process **out,
                                                 const struct psr_fbh5_facts **facts,
                                                 const char *path, const char *name, psr_err *err);

/* Reads spectra as they are stored.
 * Given:    start   that comes first; the file has it
 * Returned: *rows [*n], *n >= 1, valid until the next call
 * Status:   PSR_EFORMAT */
PSR_MUST_CHECK psr_status psr_fbh5_process_rows(psr_fbh5_process *p, int64_t start,
                                                const unsigned char **rows, size_t *n,
                                                psr_err *err);

void psr_fbh5_process_end(psr_fbh5_process *p); /* NULL is allowed */

/* --- the child's part (fbh5_file.c) --- */

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
