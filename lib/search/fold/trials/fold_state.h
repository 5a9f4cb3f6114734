/* fold_state.h: state of a search around a fold, and what searches and pictures prepare (private). */
#ifndef PSR_SEARCH_FOLD_TRIALS_FOLD_STATE_H
#define PSR_SEARCH_FOLD_TRIALS_FOLD_STATE_H

#include "base/base.h"
#include "search/fold/kernels/fold_sums.h"
#include <complex.h>

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
    struct psr_own own;
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

/* The Fourier coefficients of a fold's profiles, which rotate by any fraction of a
 * bin. */

enum { PSR_FOLD_HARMONICS = 32 };

/* Coefficients of harmonics 1, 2, .. of a profile, or of a sum of profiles; zeros where the bins give none. */
struct psr_fold_coefs {
    double complex h[PSR_FOLD_HARMONICS];
};

struct psr_fold_harmonics {
    size_t npart, nsub;
    size_t most;                /* harmonics that the bins give, of 1 .. PSR_FOLD_HARMONICS */
    struct psr_fold_coefs *row; /* [npart][nsub]; owned, as are the next three */
    double *var;    /* [nsub] expected |coefficient|^2 of the noise of a sub-band, over all parts */
    double *u;      /* [npart] middles of the parts, -1/2 to 1/2 of the fold */
    double *per_dm; /* [nsub] turns by which a unit of DM delays the sub-band */
    double length_s; /* of the parts */
};

/* Makes what psr_fold_transform needs, its room to work in with it; to be freed, NULL without memory. */
double complex *psr_fold_roots(size_t nbin);

/* Coefficients of harmonics first, first + 1 .. of a profile; 0 is its sum.
 * Given: profile [nbin]; to [n], first + n <= nbin */
void psr_fold_transform(const double *profile, size_t nbin, double complex *root, size_t first,
                        size_t n, double complex *to);

/* Transforms all profiles.
 * Status: PSR_ENOMEM; *h is cleared on error */
PSR_MUST_CHECK psr_status psr_fold_harmonics_init(struct psr_fold_harmonics *h,
                                                  const struct psr_pfd *fold,
                                                  const struct psr_fold_times *times, psr_err *err);
void psr_fold_harmonics_clear(struct psr_fold_harmonics *h);

/* Adds a row, advanced by turns. */
void psr_fold_coefs_add(struct psr_fold_coefs *sum, const struct psr_fold_coefs *row, double turns);

/* What a sum has of a profile, of n harmonics. */
double psr_fold_coefs_project(const struct psr_fold_coefs *a, const struct psr_fold_coefs *b,
                              size_t n);

/* How a pulse drifts over the fold, in turns: linear u + square u^2 + cubic (u + 1/2)^3. */
struct psr_fold_drift {
    double linear, square, cubic;
};

/* Those for the best values that a .pfd states. */
void psr_fold_harmonics_best_turns(const struct psr_fold_harmonics *h, const struct psr_pfd *p,
                                   double *part);

/* Z^2 of the first n harmonics of a sum over all parts and sub-bands: of noise 2 n are expected. */
double psr_fold_harmonics_power(const struct psr_fold_harmonics *h,
                                const struct psr_fold_coefs *sum, size_t n);

/* How many harmonics a pulse has: those for which Z^2 - 4 n is largest (de Jager, Raubenheimer and
 * Swanepoel 1989). */
size_t psr_fold_harmonics_count(const struct psr_fold_harmonics *h,
                                const struct psr_fold_coefs *sum);

/* What a kind of accelerator offers to the search around folds.
 *
 * A device finds the best trials; the numbers of the best are the host's, of the same bits. */

/* A trial that no bound excludes, and its chi^2 / (nbin - 1). */
struct psr_fold_device_hit {
    struct psr_fold_trial trial;
    double redchi;
};

struct psr_fold_search_device_ops {
    const char *name;
    /* Status: PSR_EDEVICE, PSR_EUNSUPPORTED (a device that is too old), PSR_ENOMEM */
    psr_status (*create)(void **state, int device, psr_err *err);
    /* Takes the fold of s.
     * Status: PSR_EUNSUPPORTED for a shape that the CPU must search, PSR_EDEVICE, PSR_ENOMEM */
    psr_status (*begin)(void *state, const struct psr_fold_search *s, psr_err *err);
    /* The best trial of a range, the first of equals; redchi is 0 if there is none.
     * Returned: *nsummed   trials that were summed in full
     * Status: PSR_EUNSUPPORTED if the bound excludes too few trials, PSR_EDEVICE, PSR_ENOMEM */
    psr_status (*find)(void *state, const struct psr_fold_search *s,
                       const struct psr_fold_range *range, struct psr_fold_device_hit *best,
                       int64_t *nsummed, psr_err *err);
    void (*destroy)(void *state);
};

extern const struct psr_fold_search_device_ops psr_fold_search_cuda;

#endif
