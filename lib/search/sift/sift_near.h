/* sift_near.h: finds the candidates near a frequency that are left (private). */
#ifndef PSR_SEARCH_SIFT_NEAR_H
#define PSR_SEARCH_SIFT_NEAR_H

#include "sift_state.h"

/* The candidates of s->order by length of their series, in octaves, and by frequency: within an
 * octave tolerances differ by 2 at most, so that few are looked at that are not near. */
struct psr_sift_near;

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sift_near_create(struct psr_sift_near **out, const struct psr_sift *s,
                                               psr_err *err);

/* Calls take for candidates, not e itself, within tolerance of f_hz, and some beyond; those for
 * which it returns true are never found again.
 * Given:  tolerance   r_err over the shorter length, or if fixed_hz is above 0 that */
void psr_sift_near_find(struct psr_sift_near *near, const struct psr_sift *s, size_t e, double f_hz,
                        double fixed_hz, bool (*take)(void *ctx, size_t id), void *ctx);

void psr_sift_near_destroy(struct psr_sift_near *near);

#endif
