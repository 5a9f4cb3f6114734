/* accelsearch_internal.h: batches and trials of the matched search (private). */
#ifndef PSR_RUN_FOURIER_ACCELSEARCH_INTERNAL_H
#define PSR_RUN_FOURIER_ACCELSEARCH_INTERNAL_H

#include <psrkit/experimental/accelsearch.h>

/* As psr_accelsearch_execute for n <= batch spectra: in [n], result [n].  A GPU searches two at a
 * time, and prepares the next while it searches. */
PSR_MUST_CHECK psr_status psr_accelsearch_execute_batch(psr_accelsearch *p, size_t n,
                                                        const struct psr_accelsearch_input *in,
                                                        struct psr_accelsearch_result *result,
                                                        psr_err *err);

/* Merges two lists: the candidates of a matched search, followed by those of another list that are
 * at least 15 bins from all of them, each in its order.
 * Returned: *all [*n], malloc'd, caller frees; the memory that it points to keeps its owner
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accelsearch_join(const struct psr_accelsearch_result *matched,
                                               const struct psr_accel_cand *other, size_t nother,
                                               struct psr_accel_cand **all, size_t *n,
                                               psr_err *err);

/* Number of independent trials of sums of this many harmonics. */
double psr_accelsearch_trials(const psr_accelsearch *p, int nharm);

/* The threshold of S_H for sums of this many harmonics. */
double psr_accelsearch_threshold(const psr_accelsearch *p, int nharm);

#endif
