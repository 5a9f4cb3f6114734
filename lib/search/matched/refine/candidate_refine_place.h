/* candidate_refine_place.h: position of a signal within a box, from matched filters (private).
 *
 * psrkit/experimental/accel.h states the rules. */
#ifndef PSR_SEARCH_MATCHED_REFINE_CANDIDATE_REFINE_PLACE_H
#define PSR_SEARCH_MATCHED_REFINE_CANDIDATE_REFINE_PLACE_H

#include <psrkit/experimental/accel.h>

/* Errors are of powers above this. */
#define PSR_REFINE_LEAST_POWER 0.01

/* A candidate being refined. */
struct psr_refine_box {
    const struct psr_pulscan_hit *hit;
    double lost; /* bins by which r may be off where only its block is known */
    double excess[PSR_PULSCAN_MAX_HARM]; /* chi^2 of harmonic h + 1 less its mean in noise */
    double chi2[PSR_PULSCAN_MAX_HARM];
    psr_accel_template *matched[PSR_PULSCAN_MAX_HARM]; /* NULL where not made */
};

/* What was found for one sign of the drift. */
struct psr_refine_place {
    struct psr_accel_value r, z; /* of the fundamental */
    bool matched;                /* rather than of the box */
};

/* Reads the bins of a candidate's harmonics and prepares responses to them, but with desc->boxes_only.
 * Given:    plan, s   as in psr_candidate_refine; threads take turns at them
 * Returned: *b, to be dropped, after an error too
 * Status:   those of psr_pulscan_amplitudes */
PSR_MUST_CHECK psr_status psr_refine_box_take(struct psr_refine_box *b, psr_pulscan *plan, size_t s,
                                              const struct psr_pulscan_cand *cand,
                                              const struct psr_refine_desc *desc, psr_err *err);
void psr_refine_box_drop(struct psr_refine_box *b);

/* Returned: places to write, 1 or 2; *known, whether the sign of z is */
int psr_refine_places(const struct psr_refine_box *b, const struct psr_refine_desc *desc,
                      struct psr_refine_place place[2], bool *known);

#endif
