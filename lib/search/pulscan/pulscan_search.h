/* pulscan_search.h: resolves a description to the search that backends perform (private). */
#ifndef PSR_SEARCH_PULSCAN_SEARCH_H
#define PSR_SEARCH_PULSCAN_SEARCH_H

#include "pulscan_backend.h"
#include <psrkit/series.h>
#include <psrkit/signif.h>

struct psr_significance {
    enum psr_pulscan_significance significance;
    bool compat;
    double nbin, normblock;
    double zmax;
    double trials;            /* N_eff of the whole search; not used in a compatible one */
    struct psr_redden redden; /* start 0: spectra were not de-reddened */
    struct psr_span last;     /* the bins whose level the last block of de-reddening sets */
};

/* Bins of the last block of de-reddening, and those before it that its level reaches. */
struct psr_span psr_significance_last_block(const struct psr_redden *redden, int64_t nbin);

/* N_eff for a box of this many harmonics. */
double psr_significance_trials(const struct psr_significance *o, int nharm);

/* A box: its harmonics, its width less one, and the lowest bin of the fundamental. */
struct psr_significance_box {
    int nharm, z;
    int64_t first;
};

/* Both tails of noise, before N_eff. */
struct psr_logp psr_significance_alone(const struct psr_significance *o, double power,
                                       const struct psr_significance_box *box);

double psr_significance_sigma(const struct psr_significance *o, double power,
                              const struct psr_significance_box *box);

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
