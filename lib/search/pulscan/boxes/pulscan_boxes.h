/* pulscan_boxes.h: decides whether a box is part of a better one (private). */
#ifndef PSR_SEARCH_PULSCAN_BOXES_PULSCAN_BOXES_H
#define PSR_SEARCH_PULSCAN_BOXES_PULSCAN_BOXES_H

#include "search/pulscan/pulscan_internal.h"

/* Reads the normalised powers of a spectrum without those that candidates have
 * claimed.
 *
 * A bin that a candidate has claimed counts as 2, the mean of noise; from other bins the average side
 * lobes of candidates' lines are subtracted.  Bins that do not exist count as 0.
 * psr_residual_status returns read errors. */

struct psr_residual;

/* For spectrum s of the plan's last execute, whose input must still be valid. */
PSR_MUST_CHECK psr_status psr_residual_create(struct psr_residual **out, psr_pulscan *plan,
                                              size_t s, psr_err *err);
void psr_residual_destroy(struct psr_residual *r); /* NULL is allowed */
psr_status psr_residual_status(const struct psr_residual *r, psr_err *err);

int64_t psr_residual_bins(const struct psr_residual *r);

/* chi^2 of n bins, each bin limited to most. */
double psr_residual_power(struct psr_residual *r, int64_t first, int64_t n, float most);

/* Held power and side lobes in n bins. */
struct psr_residual_held {
    double excess; /* chi^2 over the mean of noise */
    int64_t owner; /* of the brightest of these bins; -1: there are none */
    float most;    /* its chi^2, of what is held */
};
void psr_residual_add_held(const struct psr_residual *r, int64_t first, int64_t n,
                           struct psr_residual_held *sum);

/* Assigns to a candidate those of n bins that no other holds and whose chi^2 is at most most; and
 * bins beyond either end as far as the line continues. */
void psr_residual_hold(struct psr_residual *r, int64_t first, int64_t n, float most, int64_t owner);

/* The side lobes of a line in bins lo .. hi: power / d^2 in d bins distance, in bins that nobody has
 * claimed. */
struct psr_residual_source {
    double lo, hi, power;
};
void psr_residual_add_lobes(struct psr_residual *r, const struct psr_residual_source *line,
                            int64_t owner);

/* -ln of the probability that noise of the local level gives the bins of [lo, hi] as much power: of mean
 * 1 in noise, whatever the number of bins. */
double psr_residual_evidence(struct psr_residual *r, int64_t lo, int64_t hi);

/* The power, of mean 1 in noise, of a line between bins; and its evidence. */
double psr_residual_line(struct psr_residual *r, double at);
double psr_residual_line_evidence(struct psr_residual *r, double at);

/* Splits wide boxes that hold several signals side by side.
 *
 * The most significant box of two drifting signals may contain both.  If more than PSR_PULSCAN_NEAR
 * consecutive bins have no more than noise, while the mean of the whole box is much higher, the
 * bins on either side are parts: separate signals, whose own boxes are processed first. */

/* chi^2 over noise that is in parts of n bins, but for the brightest one; no bin counts for more
 * than most. */
double psr_blend_power(struct psr_residual *r, int64_t first, int64_t n, float most);

/* Determines the fundamental of the signal in a box.
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

/* The spectrum of a box, and the power that it has there. */
struct psr_pulscan_place {
    struct psr_residual *residual;
    psr_pulscan *plan;
    size_t spec;
    float whole;
};

/* Whether a box is near the best of candidate c, or there is power all the way between them; but not
 * where the candidate has a bright line, without which the box is significant and has most of its
 * power.
 * Given:    p   NULL: only whether it is near */
bool psr_pulscan_touches(const struct psr_pulscan_hit *best, int64_t c,
                         const struct psr_pulscan_hit *h, const struct psr_pulscan_place *p);

#endif
