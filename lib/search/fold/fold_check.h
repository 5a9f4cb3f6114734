/* fold_check.h: checks a description of a fold (private). */
#ifndef PSR_SEARCH_FOLD_CHECK_H
#define PSR_SEARCH_FOLD_CHECK_H

#include "formats/unpack.h"
#include <psrkit/fold.h>

/* Status: PSR_EINVAL, PSR_EUNSUPPORTED */
PSR_MUST_CHECK psr_status psr_fold_check(const struct psr_fold_desc *desc, psr_err *err);

/* Given:  window   bytes of the window of channels
 * Status: PSR_ENOMEM beyond the limit of desc */
PSR_MUST_CHECK psr_status psr_fold_check_memory(const struct psr_fold_desc *desc, double window,
                                                psr_err *err);

/* Number of groups of sub-bands. */
size_t psr_fold_groups(const struct psr_fold_desc *desc);

#endif
