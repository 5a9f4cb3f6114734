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

enum psr_sigproc_key_id {
    PSR_KEY_SOURCE_NAME,
    PSR_KEY_RAWDATAFILE,
    PSR_KEY_MACHINE_ID,
    PSR_KEY_TELESCOPE_ID,
    PSR_KEY_DATA_TYPE,
    PSR_KEY_NCHANS,
    PSR_KEY_NBITS,
    PSR_KEY_NIFS,
    PSR_KEY_NBEAMS,
    PSR_KEY_IBEAM,
    PSR_KEY_BARYCENTRIC,
    PSR_KEY_PULSARCENTRIC,
    PSR_KEY_NBINS,
    PSR_KEY_NSAMPLES,
    PSR_KEY_NPULS,
    PSR_KEY_AZ_START,
    PSR_KEY_ZA_START,
    PSR_KEY_SRC_RAJ,
    PSR_KEY_SRC_DEJ,
    PSR_KEY_TSTART,
    PSR_KEY_TSAMP,
    PSR_KEY_FCH1,
    PSR_KEY_FOFF,
    PSR_KEY_REFDM,
    PSR_KEY_PERIOD,
    PSR_KEY_FCHANNEL,
    PSR_KEY_SIGNED,
    PSR_KEY_FREQUENCY_START,
    PSR_KEY_FREQUENCY_END,
    PSR_KEY_HEADER_END,
    PSR_NKEY,
};

/* Values outside [min, max] make the file unreadable; min = max = 0 is no limit. */
struct psr_sigproc_key {
    const char *name;
    enum psr_sigproc_type type;
    double min, max;
};

/* The values of a header, key by key. */
struct psr_sigproc_fields {
    const char *name; /* of the file */
    const struct psr_notes *notes;
    double value[PSR_NKEY];
    bool seen[PSR_NKEY];
    char source[PSR_TEXT_MAX];
    enum psr_pols pols; /* by the STATE in rawdatafile */
    double *table;      /* [ntable] of room for [table_room]; owned */
    size_t ntable, table_room;
};

#endif
