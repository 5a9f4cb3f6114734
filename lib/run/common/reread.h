/* reread.h: reads spectra of a pipeline's input a second time, as floats (private). */
#ifndef PSR_RUN_COMMON_REREAD_H
#define PSR_RUN_COMMON_REREAD_H

#include "stage_clean.h"

#include <psrkit/experimental/source.h>

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

#endif
