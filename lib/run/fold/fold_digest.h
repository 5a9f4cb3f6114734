/* fold_digest.h: digests of everything that affects a fold, to find those that an earlier run made
 * (private). */
#ifndef PSR_RUN_FOLD_FOLD_DIGEST_H
#define PSR_RUN_FOLD_FOLD_DIGEST_H

#include <psrkit/experimental/fold.h>

/* Digest of the input and of what all candidates have in common.
 * Given:    nsamp   of the input
 * Returned: *changed, when the input or the mask was
 * Status:   PSR_EIO */
PSR_MUST_CHECK psr_status psr_fold_digest_run(uint64_t *digest, struct timespec *changed,
                                              const struct psr_folder_desc *desc, int64_t nsamp,
                                              psr_err *err);

/* run, and what is a candidate's own; never 0. */
uint64_t psr_fold_digest_candidate(uint64_t run, const struct psr_fold_candidate *cand,
                                   const struct psr_fold_orbit *orbit);

#endif
