/* pulscan_search.h: from a description to the search that backends carry out (private). */
#ifndef PSR_SEARCH_PULSCAN_SEARCH_H
#define PSR_SEARCH_PULSCAN_SEARCH_H

#include "pulscan_backend.h"
#include "pulscan_odds.h"

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_pulscan_check(const struct psr_pulscan_desc *d, psr_err *err);

/* Fills s and o from a checked description; psr_pulscan_forget frees what s holds, also after an
 * error. */
PSR_MUST_CHECK psr_status psr_pulscan_resolve(struct psr_pulscan_search *s, struct psr_odds *o,
                                              const struct psr_pulscan_desc *d, psr_err *err);
void psr_pulscan_forget(struct psr_pulscan_search *s);

/* Bins of harmonic sum H = harm that exist. */
static inline int64_t psr_pulscan_length(const struct psr_pulscan_search *s, int harm)
{
    return (int64_t)s->nbin / harm;
}

#endif
