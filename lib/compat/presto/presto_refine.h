/* presto_refine.h: measures candidates as accelsearch does (private). */
#ifndef PSR_COMPAT_PRESTO_PRESTO_REFINE_H
#define PSR_COMPAT_PRESTO_PRESTO_REFINE_H

#include "search/matched/refine/accel_refine.h"
#include "search/matched/response/response.h"
#include <stdint.h>

/* The summed powers of harmonics, each over the mean of 20 powers near it, are climbed or, with jerk,
 * searched on a finer grid; responses are cut off where accelsearch cuts them.  A candidate's r, z and
 * w remain those of the search, with half a step as error.
 * Given:    x   the spectrum [s->nbin][2]
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_refine(struct psr_accel_measured *out,
                                            const struct psr_accel_search *s,
                                            const struct psr_accelsearch_input *in,
                                            const struct psr_accel_peaks *peaks, psr_err *err);

#endif
