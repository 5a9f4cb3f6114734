/* fold_phase.h: the phase of samples, and the bins that a sample is spread over (private). */
#ifndef PSR_SEARCH_FOLD_PHASE_H
#define PSR_SEARCH_FOLD_PHASE_H

#include <psrkit/fold.h>

/* The clock of a candidate: gives the phase at ascending times. */
struct psr_fold_clock {
    const struct psr_fold_candidate *cand;
    size_t node; /* of the table of delays: the last interval used */
};

/* Phase in turns, not reduced, at time_s after the first sample. */
long double psr_fold_phase(struct psr_fold_clock *clock, double time_s);

/* Part of a sample: the fraction of its value that a bin receives. */
struct psr_fold_weight {
    size_t bin;
    double value;
    bool completes_rotation; /* afterwards the turn is complete */
};

/* A sample on its way over the bins.  filled is how much of the current turn is filled, from 0 to
 * 1, which lasts from sample to sample. */
struct psr_fold_spread {
    size_t nbin;
    double place, left, width; /* in bins; in turns */
    double over;               /* of the turn after the one that was completed, still to be added */
    double filled;
};

/* Begins a sample of width turns (none if not above 0) that starts at phase, 0 to 1. */
void psr_fold_spread_begin(struct psr_fold_spread *s, double phase, double width);

/* Returned: false if nothing is left of the sample */
bool psr_fold_spread_next(struct psr_fold_spread *s, struct psr_fold_weight *weight);

#endif
