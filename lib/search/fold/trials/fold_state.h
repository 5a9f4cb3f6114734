/* fold_state.h: state of a search around a fold, and what searches and pictures prepare (private). */
#ifndef PSR_SEARCH_FOLD_TRIALS_FOLD_STATE_H
#define PSR_SEARCH_FOLD_TRIALS_FOLD_STATE_H

#include "search/fold/kernels/fold_sums.h"

/* DMs whose parts a thread makes at a time: the fold is read from memory once for all of them. */
enum { FOLD_DMS_AT_ONCE = 16 };

/* The best so far, in the order of the search. */
struct psr_fold_found {
    struct psr_fold_stats stats;
    struct psr_fold_trial trial;
    bool any;
    int64_t nsummed;
};

struct psr_fold_worker {
    struct psr_fold_table table;
    double *part;            /* [FOLD_DMS_AT_ONCE][npart][nbin] */
    double *delay, *profile; /* [npart], [nbin] */
    size_t *offset;          /* [nsub] */
    struct psr_fold_found found;
};

/* Sums, and what they were listed for. */
struct psr_fold_listed {
    bool is_listed;
    struct psr_fold_sums sums;
    size_t npart, nbin, nperiod, npdot;
    int32_t pstep, pdstep;
    struct psr_fold_times times;
    struct psr_fold_range range;
};

struct psr_fold_search {
    struct psr_fold_search_desc d;
    int nthread;
    struct psr_fold_listed listed, other;

    /* Of the fold that is searched. */
    struct psr_fold_trials trials;
    struct psr_fold_stats *part_stats; /* [npart] */
    size_t first_dm, end_dm;
    double prof_avg, prof_var;
    struct psr_fold_worker *worker; /* [nworker] */
    int nworker;
    double least; /* sum of squares of the best profile so far */

    void *device; /* state of psr_fold_search_device_ops; NULL: the CPU searches */
};

/* Status: PSR_EINVAL for a list that is missing */
PSR_MUST_CHECK psr_status psr_fold_state_check(const struct psr_pfd *fold, psr_err *err);

/* Place of the DM of the fold: the nearest of its list. */
size_t psr_fold_state_dm(const struct psr_pfd *fold);

/* Takes a fold, valid until psr_fold_state_end.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_state_begin(struct psr_fold_search *s,
                                               const struct psr_pfd *fold,
                                               const struct psr_fold_times *times, psr_err *err);
void psr_fold_state_end(struct psr_fold_search *s);

/* Rows of p-dots, of nperiod trials, whose sums are listed at a time. */
size_t psr_fold_state_rows(const struct psr_fold_search *s, size_t nperiod);

/* Lists the sums of a range in s->listed, unless they are those of the last two.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_state_list(struct psr_fold_search *s,
                                              const struct psr_fold_times *times,
                                              const struct psr_fold_range *range, psr_err *err);

/* As many workers as asked for and as the memory limit allows, for the sums that are listed.
 * Status: PSR_ENOMEM, also beyond the limit */
PSR_MUST_CHECK psr_status psr_fold_state_make_workers(struct psr_fold_search *s, int nworker,
                                                      psr_err *err);
void psr_fold_state_clear_workers(struct psr_fold_search *s);

/* Makes the worker's parts of DMs first .. end - 1; without sub-bands they are the fold's own. */
void psr_fold_state_make_parts(const struct psr_fold_search *s, struct psr_fold_worker *w,
                               size_t first, size_t end);

#endif
