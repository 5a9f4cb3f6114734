/* accel_plan.h: derives the search from its description (private). */
#ifndef PSR_SEARCH_MATCHED_ACCEL_PLAN_H
#define PSR_SEARCH_MATCHED_ACCEL_PLAN_H

#include "search/matched/response/accel_search.h"

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_accelsearch_check(const struct psr_accelsearch_desc *d, psr_err *err);

/* Fills s from a checked description; psr_accel_search_forget frees what s holds, also after an
 * error. */
PSR_MUST_CHECK psr_status psr_accel_search_resolve(struct psr_accel_search *s,
                                                   const struct psr_accelsearch_desc *d,
                                                   psr_err *err);
void psr_accel_search_forget(struct psr_accel_search *s);

/* Given:    in [n], finite series
 * Returned: in: x is spectrum, photons what bin 0 was before red noise was taken out
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_series_transform(const struct psr_accel_search *s,
                                                     const psr_rfft *rfft, size_t n,
                                                     struct psr_accelsearch_input *in,
                                                     psr_err *err);

#endif
