/* sigproc_keys.h: the keys of a SIGPROC header, between its bytes and struct psr_obs (private).
 *
 * sigproc.c      bytes to values of keys
 * sigproc_obs.c  values of keys to an observation */
#ifndef PSR_FORMATS_SIGPROC_SIGPROC_KEYS_H
#define PSR_FORMATS_SIGPROC_SIGPROC_KEYS_H

#include "sigproc_header.h"

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

extern const struct psr_sigproc_key psr_sigproc_keys[PSR_NKEY];

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

/* Fills an initialised obs, and takes the table of frequencies over.
 * Status: PSR_EFORMAT (a key that must be there; as psr_obs_check), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sigproc_fill(struct psr_obs *obs, struct psr_sigproc_fields *fields,
                                           psr_err *err);

#endif
