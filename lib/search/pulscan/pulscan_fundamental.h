/* pulscan_fundamental.h: which harmonic of a signal a box has taken for its fundamental (private).
 *
 * A box of H harmonics at r / 8 holds a line at r as its harmonic 8, and the brightest box of a
 * narrow pulse may be at any multiple of its frequency.  The fundamental is the one whose harmonics
 * hold power.  Each harmonic's evidence e, -ln of the chance that noise gives its bins as much, is
 * weighed as one that holds power, or does not:
 *
 *   w(e) = ln(1 - q + q / s exp(e (1 - 1/s)))
 *
 * is the ratio of the chances of e if q = 0.9 of the harmonics hold power, of mean evidence s, and
 * if none does.  Above ln(q / 0.02), the significance of another signal's line in its place, it grows but
 * slowly.  So an empty harmonic costs half of what a bright one gains.  A fundamental weighs the sum
 * of its harmonics' w, of as many of them as weigh most.
 *
 * Of the multiples of the hit's frequency that are its harmonics the one is taken that weighs most.
 * Of fractions 1/k of that, k <= 16, the one is taken that weighs most, if that is ln 90 more than
 * without the harmonics that are new, and what is new below the frequency weighs more than nothing:
 * a signal's power begins at its fundamental.  And so on with that. */
#ifndef PSR_SEARCH_PULSCAN_FUNDAMENTAL_H
#define PSR_SEARCH_PULSCAN_FUNDAMENTAL_H

#include "pulscan_residual.h"

/* Where the lines of a signal are: harmonic h in bins h r - h width / 2 .. h r + h width / 2, or in
 * the two that are next to h r where width is 0. */
struct psr_harmonics {
    double r, width;
    int nharm;
};

/* Returned: the box of the search at the fundamental that is most significant, or the hit itself
 *           where none is above the search's sigma; *lines, where its lines are */
struct psr_pulscan_hit psr_pulscan_fundamental(struct psr_residual *r, psr_pulscan *plan,
                                               const struct psr_pulscan_hit *hit,
                                               struct psr_harmonics *lines);

/* Whether harmonics n + 1 .. 2 n hold power, where r is made better by them.
 * Returned: e [n], the evidence of each */
bool psr_harmonics_above(struct psr_residual *r, struct psr_harmonics *lines, int n, double *e);

/* The bins of harmonic h. */
struct psr_span psr_harmonics_bins(const struct psr_harmonics *lines, double h);

/* What harmonic h leaves around it: of a line of power S that is f bins from one, S sin^2(pi f) /
 * (pi d)^2 at a distance of d, but no less than half of the most of that; of what drifts, whose ends
 * may be anywhere, that half. */
struct psr_residual_source psr_harmonics_source(struct psr_residual *r,
                                                const struct psr_harmonics *lines, int h);

#endif
