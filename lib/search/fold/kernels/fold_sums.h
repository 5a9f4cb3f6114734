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

#include "base/base.h"
#include <psrkit/experimental/fold.h>

/* --- trials ---------------------------------------------------------------------------------------- */

/* Trials of DM, period and derivatives around a fold, in prepfold's arithmetic: this
 * is what the search compares its bounds with (private). */

/* What the trials of a fold are made of; owns part_s, fdot and fdotdot. */
struct psr_fold_trials {
    const struct psr_pfd *fold;
    size_t npart, nsub, nbin, nperiod, npdot;
    double *part_s;         /* [npart] when parts begin */
    double *fdot, *fdotdot; /* [npdot] differences from the folded values, Hz/s and Hz/s^2 */
    double high_mhz;        /* centre of the highest channel */
    struct psr_stop stop;
};

/* One trial: its numbers in the lists of the .pfd; pddot as pdot, the middle if none is searched. */
struct psr_fold_trial {
    size_t dm, pddot, pdot, period;
};

/* Given:  block_s, part_blocks, length_s   of blocks, blocks of a part, and of what was folded
 * Status: PSR_ENOMEM; *t is cleared on error */
PSR_MUST_CHECK psr_status psr_fold_trials_init(struct psr_fold_trials *t,
                                               const struct psr_pfd *fold,
                                               const struct psr_fold_times *times, psr_err *err);
void psr_fold_trials_clear(struct psr_fold_trials *t);

/* delay[i] of part i, in bins, by the derivatives of a trial. */
void psr_fold_trials_delays(const struct psr_fold_trials *t, size_t pddot, size_t pdot,
                            double *delay);

/* Bins by which part i of a trial is advanced, below nbin, where delay is what psr_fold_trials_delays
 * gives for it. */
size_t psr_fold_trials_offset(const struct psr_fold_trials *t, double delay, size_t i,
                              size_t period);

/* What reduced chi^2 is multiplied by, because samples that are spread over bins correlate them. */
double psr_fold_correction(const struct psr_pfd *fold);

/* Bins by which sub-band j is late at a DM, and by which each is advanced for that: rounded, below nbin. */
double psr_fold_trials_dm_bins(const struct psr_fold_trials *t, double dm, size_t j);
void psr_fold_trials_dm_offsets(const struct psr_fold_trials *t, double dm, size_t *offset);

/* Adds part i's sub-bands, advanced by offset, to profile: [nbin], zeros. */
void psr_fold_trials_add_bands(const struct psr_fold_trials *t, size_t i, const size_t *offset,
                               double *profile);

/* stats of every part: the sums over its sub-bands. */
void psr_fold_trials_add_stats(const struct psr_fold_trials *t, struct psr_fold_stats *stats);

/* Sum of the parts' profiles, [npart][nbin], as a trial advances them, with its statistics.
 * Given: delay   room for [npart] */
void psr_fold_trials_sum(const struct psr_fold_trials *t, const struct psr_fold_trial *trial,
                         const double *part, const struct psr_fold_stats *part_stats, double *delay,
                         double *profile, struct psr_fold_stats *stats);

/* --- sums that they share ------------------------------------------------------------------------- */

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
