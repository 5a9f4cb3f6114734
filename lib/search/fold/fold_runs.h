/* fold_runs.h: which samples of a block lie in which bin (private). */
#ifndef PSR_SEARCH_FOLD_RUNS_H
#define PSR_SEARCH_FOLD_RUNS_H

#include "search/fold/kernels/fold_rows_kernel.h"
#include <math.h>
#include <psrkit/experimental/fold.h>
#include <stdint.h>

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

/* Phases closer than this count as equal. */
static const double psr_fold_tiny = 1e-12;

/* fmin and floor are calls, which take as long as all the rest; there are no NaNs here. */
static inline double psr_fold_least(double a, double b)
{
    return a < b ? a : b;
}

/* Of x from 0 to 2^62. */
static inline double psr_fold_whole(double x)
{
    return (double)(int64_t)x;
}

/* Begins a sample of width turns (none if not above 0) that starts at phase, 0 to 1. */
static inline void psr_fold_spread_begin(struct psr_fold_spread *s, double phase, double width)
{
    s->place = phase * (double)s->nbin;
    s->left = s->width = width;
    s->over = 0;
}

/* The bin that the sample has reached receives what of the sample lies in it, as in prepfold; where that
 * completes the turn, what exceeds it follows as a weight of its own.
 * Returned: false if nothing is left of the sample */
static inline bool psr_fold_spread_next(struct psr_fold_spread *s, struct psr_fold_weight *weight)
{
    const double nbin = (double)s->nbin;
    if (!(s->left > psr_fold_tiny))
        return false;
    const double bin = psr_fold_whole(s->place + psr_fold_tiny),
                 to_edge = (bin + 1 - s->place) / nbin;
    const double here = psr_fold_least(to_edge, s->left);
    weight->bin = (size_t)bin;
    if (weight->bin >= s->nbin) /* a division takes longer than the rest */
        weight->bin %= s->nbin;
    weight->completes_rotation = false;
    if (s->over != 0) {
        weight->value = s->over / s->width;
        s->filled = s->over;
        s->over = 0;
    } else {
        const double room = 1 - s->filled, now = psr_fold_least(room, here);
        weight->value = now / s->width;
        s->filled += now;
        weight->completes_rotation = fabs(s->filled - 1) < psr_fold_tiny;
        if (weight->completes_rotation) {
            s->filled = 0;
            s->over = here - room;
            if (s->over != 0)
                return true;
        }
    }
    s->left -= here;
    s->place += here * nbin;
    return true;
}

/* Of one candidate; the clock and the spread last from block to block. */
struct psr_fold_runs {
    struct psr_fold_clock clock;
    struct psr_fold_spread spread;
    bool steady; /* the phase ascends throughout: samples between two in the same bin are in it */
    struct psr_fold_run *run; /* [n] of the current block; owned */
    size_t n, room;
};

/* Samples of a block. */
struct psr_fold_samples {
    double begin_s, tsamp_s; /* of the first one */
    size_t n;
};

/* Begins with the first block; cand is borrowed, length_s is what is folded in all. */
void psr_fold_runs_begin(struct psr_fold_runs *r, const struct psr_fold_candidate *cand,
                         double length_s);

/* Finds the runs of the next block.  Only the last turn that the block completes is marked: no part
 * ends before it.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_runs_find(struct psr_fold_runs *r,
                                             const struct psr_fold_samples *block, psr_err *err);

#endif
