/* fold_sums.h: sums that the trials of a fold share, and the trials' own from them, as upper bounds
 * of chi^2 (private).
 *
 * A trial adds the profiles of parts, each rotated by some bins.  Trials share sums of neighbouring
 * parts: of 2, of 4, of 8 (a group), told apart by the rotations against their first part alone.  So a
 * trial of 64 parts takes 8 rotated sums.  The sums of groups are rounded to 16-bit integers.
 *
 * Bound.  Let x = sum of the parts x_i of a trial, their means removed, and q that of the groups'
 * rounded sums, both rotated as the trial says, scaled by s.  Then x s = q + e, where e is the sum of
 * ngroup rounding errors of at most 1/2 in each of nbin bins, and by the triangle inequality
 *
 *     |x| <= (|q| + |e|) / s,   |e| <= ngroup sqrt(nbin) / 2 .
 *
 * A trial with |q| < s |x*| - |e| is worse than the best so far, x*; all others are summed in double
 * precision, so that the best is the one of a search without bounds.  Likewise |x| <= sum of |x_i|:
 * a DM at which this is below |x*| needs no trial. */
#ifndef PSR_SEARCH_FOLD_KERNELS_FOLD_SUMS_H
#define PSR_SEARCH_FOLD_KERNELS_FOLD_SUMS_H

#include "fold_trials.h"

enum { FOLD_LEVELS = 4, FOLD_VECTOR = 32 };

/* Where the two terms of a sum begin in the table of the level below, rotated. */
struct psr_fold_terms {
    uint32_t left, right;
};

/* Sums of 2^level parts: [n]. */
struct psr_fold_level {
    struct psr_fold_terms *sum;
    size_t n;
};

/* How the trials of a range are made of sums; the same for all folds of a shape. */
struct psr_fold_sums {
    size_t nbin, npart;
    size_t padded; /* bins, up to whole vectors */
    size_t stride; /* of rows of tables: a row holds the profile again behind it, for rotations */
    size_t ngroup, ntop;                      /* groups of 2^ntop parts */
    struct psr_fold_level level[FOLD_LEVELS]; /* from 1 to ntop */
    uint32_t *trial; /* [ntrial][ngroup] where each group begins in the table of groups */
    uint32_t *place; /* [ntrial] (pdot - first pdot) nperiod + period */
    size_t ntrial;
    double table_bytes; /* limit */
    struct psr_stop stop;
};

/* Ranges of trials: those from "first" on and before "end". */
struct psr_fold_range {
    size_t pddot, first_pdot, end_pdot, first_period, end_period;
};

/* Given:  table_bytes   limit of the table of groups: they are smaller if it would exceed that
 * Status: PSR_ENOMEM, PSR_ESTOPPED; *sums is cleared on error */
PSR_MUST_CHECK psr_status psr_fold_sums_init(struct psr_fold_sums *sums,
                                             const struct psr_fold_trials *t,
                                             const struct psr_fold_range *range, double table_bytes,
                                             psr_err *err);
void psr_fold_sums_clear(struct psr_fold_sums *sums);

/* What a thread needs. */
struct psr_fold_table {
    float *level[FOLD_LEVELS]; /* [n][stride]; level 0: parts, the last ones zeros; below ntop */
    int16_t *group;            /* [n][stride] of level ntop */
    double scale, slack;       /* |x| <= |q| / scale + slack */
    double most;               /* the sum of |x_i| */
};

/* Bytes of a table. */
double psr_fold_table_bytes(const struct psr_fold_sums *sums);

PSR_MUST_CHECK psr_status psr_fold_table_init(struct psr_fold_table *table,
                                              const struct psr_fold_sums *sums, psr_err *err);
void psr_fold_table_clear(struct psr_fold_table *table);

/* Takes the parts' profiles, [npart][nbin]; only "most" is set. */
void psr_fold_table_set(struct psr_fold_table *table, const struct psr_fold_sums *sums,
                        const double *part);

/* Makes all sums of the parts that were set, unless it is stopped. */
void psr_fold_table_fill(struct psr_fold_table *table, const struct psr_fold_sums *sums);

/* The first trial from "from" on that is not excluded by norm: its |x| may be norm or above.
 * Returned: ntrial: none */
size_t psr_fold_table_find(const struct psr_fold_table *table, const struct psr_fold_sums *sums,
                           size_t from, double norm);

/* Square norm of every trial, scaled by scale^2 and as far as sums are rounded: [ntrial]. */
void psr_fold_table_measure(const struct psr_fold_table *table, const struct psr_fold_sums *sums,
                            int32_t *norm);

#endif
