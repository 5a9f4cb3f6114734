/* pulscan_search.h: resolves a description to the search that backends perform (private). */
#ifndef PSR_SEARCH_PULSCAN_SEARCH_H
#define PSR_SEARCH_PULSCAN_SEARCH_H

#include "pulscan_backend.h"
#include "pulscan_significance.h"

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_pulscan_check(const struct psr_pulscan_desc *d, psr_err *err);

/* Fills s and o from a checked description; psr_pulscan_forget frees what s holds, also after an
 * error. */
PSR_MUST_CHECK psr_status psr_pulscan_resolve(struct psr_pulscan_search *s,
                                              struct psr_significance *o,
                                              const struct psr_pulscan_desc *d, psr_err *err);
void psr_pulscan_forget(struct psr_pulscan_search *s);

struct psr_pulscan_lines;

/* Removes peaks that are side lobes of a line, as defined in psrkit/experimental/pulscan.h.
 * Given:  lines   those of its spectra
 *         found   by spectrum, H, width and start
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulscan_drop_lobes(const struct psr_pulscan_search *s,
                                                 const struct psr_pulscan_lines *lines,
                                                 struct psr_pulscan_found *found, psr_err *err);

/* Number of bins of harmonic sum H = harm. */
static inline int64_t psr_pulscan_length(const struct psr_pulscan_search *s, int harm)
{
    return (int64_t)s->nbin / harm;
}

/* A resolved description, and the sigma threshold of hits. */
const struct psr_pulscan_search *psr_pulscan_resolved(const psr_pulscan *p);
double psr_pulscan_least_sigma(const psr_pulscan *p);

/* Converts a peak to a hit. */
struct psr_pulscan_hit psr_pulscan_make_hit(const psr_pulscan *p, const struct psr_pulscan_peak *k);

/* Sets the power of a hit, and the corresponding sigma. */
void psr_pulscan_weigh_hit(const psr_pulscan *p, struct psr_pulscan_hit *hit, float power);

#endif
