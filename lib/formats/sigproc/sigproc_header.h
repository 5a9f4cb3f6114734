/* sigproc_header.h: a complete SIGPROC header, including fields that struct psr_obs does not have
 * (private). */
#ifndef PSR_FORMATS_SIGPROC_SIGPROC_HEADER_H
#define PSR_FORMATS_SIGPROC_SIGPROC_HEADER_H

#include <psrkit/experimental/source.h>

/* How the value behind a key is stored. */
enum psr_sigproc_type {
    PSR_SIGPROC_FLAG, /* no value */
    PSR_SIGPROC_CHAR,
    PSR_SIGPROC_INT32,
    PSR_SIGPROC_INT64,
    PSR_SIGPROC_DOUBLE,
    PSR_SIGPROC_TEXT, /* int32 length and that many bytes */
};

/* Longest key, and longest text that SIGPROC itself reads. */
enum { PSR_SIGPROC_KEY_MAX = 80 };

/* Precedes, in rawdatafile, what the polarisations are: a STATE as in DADA headers. */
#define PSR_SIGPROC_STATE ";STATE="

struct psr_sigproc_header {
    struct psr_obs obs; /* owned: psr_obs_clear */
    int data_type;
    size_t bytes;   /* where the samples begin */
    bool need_more; /* after an error: more bytes may help */
};

/* As psr_sigproc_parse. */
PSR_MUST_CHECK psr_status psr_sigproc_parse_header(struct psr_sigproc_header *h, const void *bytes,
                                                   size_t n, const char *name,
                                                   const struct psr_notes *notes, psr_err *err);

/* The header that psr_sigproc_write writes.
 * Returned: *bytes [*n], malloc'd, caller frees
 * Status:   as psr_sigproc_write */
PSR_MUST_CHECK psr_status psr_sigproc_make_header(unsigned char **bytes, size_t *n,
                                                  const struct psr_obs *obs, int data_type,
                                                  psr_err *err);

#endif
