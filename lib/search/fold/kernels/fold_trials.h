/* fold_trials.h: trials of DM, period and derivatives around a fold, in prepfold's arithmetic: this
 * is what the search compares its bounds with (private). */
#ifndef PSR_SEARCH_FOLD_KERNELS_FOLD_TRIALS_H
#define PSR_SEARCH_FOLD_KERNELS_FOLD_TRIALS_H

#include "base/stop.h"

#include <psrkit/experimental/fold.h>

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

#endif
