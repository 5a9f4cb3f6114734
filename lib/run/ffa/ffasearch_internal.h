/* ffasearch_internal.h: searches on several devices whose finds become one list (private). */
#ifndef PSR_RUN_FFA_FFASEARCH_INTERNAL_H
#define PSR_RUN_FFA_FFASEARCH_INTERNAL_H

#include <psrkit/experimental/ffa.h>

/* Moves what the k-th psr_ffasearch_take of a search has kept, from 0, behind what to has kept.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ffasearch_move(psr_ffasearch *to, psr_ffasearch *from, size_t k,
                                             psr_err *err);

#endif
