/* ffasearch_internal.h: searches on several devices whose finds become one list (private). */
#ifndef PSR_RUN_FFA_FFASEARCH_INTERNAL_H
#define PSR_RUN_FFA_FFASEARCH_INTERNAL_H

#include "base/output/outfile_internal.h"
#include <psrkit/experimental/ffa.h>

/* Moves what the k-th psr_ffasearch_take of a search has kept, from 0, behind what to has kept.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ffasearch_move(psr_ffasearch *to, psr_ffasearch *from, size_t k,
                                             psr_err *err);

/* Digest of all in a description that what is found in a series depends on, but for the zaplist. */
uint64_t psr_ffasearch_digest(uint64_t digest, const struct psr_ffasearch_desc *d);

/* Writes what the k-th psr_ffasearch_take has kept, in numbers that are exact. */
PSR_MUST_CHECK psr_status psr_ffasearch_save(const psr_ffasearch *f, size_t k, psr_outfile *to,
                                             psr_err *err);

/* Keeps that as psr_ffasearch_take would.
 * Returned: *good   false: the text is not such, and nothing is kept
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ffasearch_restore(psr_ffasearch *f, const struct psr_inf *inf,
                                                const char *text, bool *good, psr_err *err);

#endif
