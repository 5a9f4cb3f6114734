/* pulscan_residual.h: reads the normalised powers of a spectrum without those that candidates have
 * claimed (private).
 *
 * A bin that a candidate has claimed counts as 2, the mean of noise; from other bins the average side
 * lobes of candidates' lines are subtracted.  Bins that do not exist count as 0.
 * psr_residual_status returns read errors. */
#ifndef PSR_SEARCH_PULSCAN_BOXES_PULSCAN_RESIDUAL_H
#define PSR_SEARCH_PULSCAN_BOXES_PULSCAN_RESIDUAL_H

#include "search/pulscan/pulscan_search.h"

struct psr_residual;

/* For spectrum s of the plan's last execute, whose input must still be valid. */
PSR_MUST_CHECK psr_status psr_residual_create(struct psr_residual **out, psr_pulscan *plan,
                                              size_t s, psr_err *err);
void psr_residual_destroy(struct psr_residual *r); /* NULL is allowed */
psr_status psr_residual_status(const struct psr_residual *r, psr_err *err);

int64_t psr_residual_bins(const struct psr_residual *r);

/* chi^2 of n bins, each bin limited to most. */
double psr_residual_power(struct psr_residual *r, int64_t first, int64_t n, float most);

/* The same, with bins that owner holds unchanged. */
double psr_residual_shared(struct psr_residual *r, int64_t first, int64_t n, float most,
                           int64_t owner);

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

#endif
