/* pulscan_fundamental.h: determines the fundamental of the signal in a box (private).
 *
 * A box of H harmonics at r / 8 holds a line at r as its harmonic 8, and the brightest box of a
 * narrow pulse may be at any multiple of its frequency.  The fundamental is the frequency whose
 * harmonics have power.  From the evidence e of each harmonic, -ln of the probability that noise gives
 * its bins as much power, follows a weight:
 *
 *   w(e) = ln(1 - q + q / s exp(e (1 - 1/s)))
 *
 * is the log-likelihood ratio of e if q = 0.9 of the harmonics have power, with mean evidence s, to
 * none having any.  Above ln(q / 0.02), the significance that another signal's line may have in its
 * place, it grows only slowly, so an empty harmonic costs half of what a bright one gains.  The weight
 * of a fundamental is the sum of its harmonics' w, over the number of harmonics that maximises it.
 *
 * First the multiple of the hit's frequency (one of its harmonics) of the largest weight is taken, then
 * its fraction 1/k, k <= 16, of the largest weight, if that is larger by ln 90 than without the new
 * harmonics, and if the new harmonics below the frequency have a positive weight: a signal's power
 * begins at its fundamental.  This is repeated from the new frequency. */
#ifndef PSR_SEARCH_PULSCAN_BOXES_PULSCAN_FUNDAMENTAL_H
#define PSR_SEARCH_PULSCAN_BOXES_PULSCAN_FUNDAMENTAL_H

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

/* Side lobes of harmonic h: of a line of power S that is f bins from a bin, S sin^2(pi f) / (pi d)^2 at
 * a distance of d, but at least half of the largest possible value; of a drifting signal, whose ends may
 * be anywhere, that half. */
struct psr_residual_source psr_harmonics_source(struct psr_residual *r,
                                                const struct psr_harmonics *lines, int h);

#endif
