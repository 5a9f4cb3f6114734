/* pulscan_residual.h: a spectrum's normalised powers, read where they are asked for, less those
 * that candidates hold (private).
 *
 * A bin that a candidate holds counts as 2, the mean of noise; of others' powers what side lobes of
 * candidates' lines leave there on average is taken off.  Bins that do not exist count as 0.
 * What goes wrong while reading is kept, and told by psr_residual_status. */
#ifndef PSR_SEARCH_PULSCAN_RESIDUAL_H
#define PSR_SEARCH_PULSCAN_RESIDUAL_H

#include "pulscan_search.h"

struct psr_residual;

/* Of spectrum s of the plan's last execute, whose input is still where it was. */
PSR_MUST_CHECK psr_status psr_residual_create(struct psr_residual **out, psr_pulscan *plan,
                                              size_t s, psr_err *err);
void psr_residual_destroy(struct psr_residual *r); /* NULL is fine */
psr_status psr_residual_status(const struct psr_residual *r, psr_err *err);

int64_t psr_residual_bins(const struct psr_residual *r);

/* chi^2 of n bins, no bin of more than most. */
double psr_residual_power(struct psr_residual *r, int64_t first, int64_t n, float most);

/* And bins that owner holds count as they are. */
double psr_residual_shared(struct psr_residual *r, int64_t first, int64_t n, float most,
                           int64_t owner);

/* What is held of n bins, or side lobes left there. */
struct psr_residual_held {
    double excess; /* chi^2 over the mean of noise */
    int64_t owner; /* of the brightest of these bins; -1: there are none */
    float most;    /* its chi^2, of what is held */
};
void psr_residual_add_held(const struct psr_residual *r, int64_t first, int64_t n,
                           struct psr_residual_held *sum);

/* Gives a candidate those of n bins that no other holds, and no more than most of which is in one;
 * and those beyond either end as far as the line goes on. */
void psr_residual_hold(struct psr_residual *r, int64_t first, int64_t n, float most, int64_t owner);

/* What a line leaves outside of the bins that it is in, lo .. hi: d bins away power / d^2, in bins
 * that nobody holds. */
struct psr_residual_source {
    double lo, hi, power;
};
void psr_residual_add_lobes(struct psr_residual *r, const struct psr_residual_source *line,
                            int64_t owner);

/* -ln of the chance that noise as it is thereabouts gives the bins of [lo, hi] as much: of mean 1
 * in noise, whatever the number of bins. */
double psr_residual_evidence(struct psr_residual *r, int64_t lo, int64_t hi);

/* The power, of mean 1 in noise, of a line between bins; and its evidence. */
double psr_residual_line(struct psr_residual *r, double at);
double psr_residual_line_evidence(struct psr_residual *r, double at);

#endif
