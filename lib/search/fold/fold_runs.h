/* fold_runs.h: which samples of a block lie in which bin (private). */
#ifndef PSR_SEARCH_FOLD_RUNS_H
#define PSR_SEARCH_FOLD_RUNS_H

#include "fold_phase.h"
#include "search/fold/kernels/fold_rows_kernel.h"

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
