/* presto_refine.h: measures candidates as accelsearch does (private). */
#ifndef PSR_SEARCH_MATCHED_PRESTO_REFINE_H
#define PSR_SEARCH_MATCHED_PRESTO_REFINE_H

#include "accel_refine.h"

/* Powers of harmonics, over the mean of 20 near them, are added up and climbed, or, with jerk, looked
 * at on a finer grid; what they are made of is cut off where accelsearch cuts it.  A candidate's own
 * r, z and w stay those of the search, with half a step for errors.
 * Given:    x   the spectrum [s->nbin][2]
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_refine(struct psr_accel_measured *out,
                                            const struct psr_accel_search *s,
                                            const struct psr_accelsearch_input *in,
                                            const struct psr_accel_peaks *peaks, psr_err *err);

#endif
