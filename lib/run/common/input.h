/* input.h: opens the source of spectra of a pipeline, reads it ahead and again (private). */
#ifndef PSR_RUN_COMMON_INPUT_H
#define PSR_RUN_COMMON_INPUT_H

#include "run/dedisperse/lines/lines.h"
#include "stage_clean.h"
#include <psrkit/experimental/sink.h>
#include <psrkit/experimental/source.h>

struct psr_input_desc {
    struct psr_source_desc source;       /* npath 0: the caller provides the spectra */
    const struct psr_obs *obs;           /* and this describes them */
    double start;                        /* fraction of a file to skip; 0: use source.skip */
    bool presto;                         /* with prepsubband's rounding */
    const struct psr_trial_list *trials; /* used for that rounding */
};

/* Initialise with zeros. */
struct psr_input_file {
    const char *name;          /* for messages */
    psr_source *source;        /* NULL if the caller provides the spectra */
    const struct psr_obs *obs; /* borrowed from the source or the caller, as are all below */
    const struct psr_inf *inf; /* as psr_source_inf */
    int file_nbit;             /* as psr_source_file_nbit */
    size_t row_bytes;          /* bytes per spectrum in a block */
    int64_t skip;              /* spectra before the first */
};

/* Status: those of psr_source_open; PSR_EINVAL for a fraction of an input of unknown length */
PSR_MUST_CHECK psr_status psr_input_open(struct psr_input_file *in,
                                         const struct psr_input_desc *desc, psr_err *err);

/* Closes the source; may be called again. */
void psr_input_close(struct psr_input_file *in);

typedef struct psr_reread psr_reread;

struct psr_reread_desc {
    struct psr_source_desc source; /* as the input was opened; borrowed */
    int64_t skip;                  /* spectra before the first that is counted */
    psr_stage_clean *clean;        /* what was masked; borrowed */
};

/* Nothing is opened until it is needed.
 * Returned: *out; NULL, with PSR_OK, if the input is none of regular files
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_reread_create(psr_reread **out, const struct psr_reread_desc *desc,
                                            psr_err *err);

/* Returned: x [n][nchan], spectra from first on, as psr_stage_clean_mark leaves them; not a number before the
 *           first and beyond the last
 * Status:   those of psr_source_open and psr_source_read, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_reread_read(psr_reread *r, int64_t first, size_t n, float *x,
                                          psr_err *err);

/* Frees the object; NULL is allowed. */
void psr_reread_destroy(psr_reread *r);

typedef struct psr_read_ahead psr_read_ahead;

struct psr_read_ahead_desc {
    psr_source *source; /* borrowed; not to be read by others until the end; NULL: the caller
                         provides the spectra */
    size_t row_bytes;   /* bytes per spectrum */
    size_t nsamp;       /* spectra per block */
    size_t gaps;        /* spectra before a block whose gaps it tells, too; 0: all */
    bool for_device;    /* blocks are in page-locked memory, and those of files are read ahead */
};

/* Status: PSR_ENOMEM, PSR_EDEVICE.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_read_ahead_create(psr_read_ahead **out,
                                                const struct psr_read_ahead_desc *desc,
                                                psr_err *err);

/* Without a source: collects spectra for the next block, [nsamp][row_bytes], which must be taken
 * when it is full.
 * Returned: number of spectra that fitted */
size_t psr_read_ahead_gather(psr_read_ahead *r, const void *spectra, size_t nsamp);
bool psr_read_ahead_is_full(const psr_read_ahead *r);

/* Returned: *block, the next spectra, which may be modified until the next call; an empty block is
 *           the last
 * Status:   those of psr_source_read, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_read_ahead_next(psr_read_ahead *r, struct psr_block *block,
                                              psr_err *err);

/* The next block is empty, and the last; not where blocks are read ahead. */
void psr_read_ahead_end(psr_read_ahead *r);

/* Frees the object; NULL is allowed. */
void psr_read_ahead_destroy(psr_read_ahead *r);

#endif
