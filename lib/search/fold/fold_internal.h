/* fold_internal.h: the search of a fold, and parts of it (private). */
#ifndef PSR_FOLD_FOLD_INTERNAL_H
#define PSR_FOLD_FOLD_INTERNAL_H

#include <psrkit/experimental/fold.h>

/* Allocates the arrays with the shape that the counts state, filled with zeros.  The caller clears
 * *pfd, also after an error.
 * Status: PSR_EINVAL naming a count and its limit, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pfd_allocate(struct psr_pfd *pfd, psr_err *err);

/* Parses a .pfd file of n bytes, of either byte order; name is for messages.  The caller clears
 * *pfd, also after an error.
 * Status: PSR_EFORMAT naming file, field, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pfd_parse(struct psr_pfd *pfd, const void *bytes, size_t n,
                                        const char *name, psr_err *err);

/* Memory that a fold of all candidates of desc needs, in bytes, with the window of spectra that the
 * highest DM spans; 0 if desc is wrong. */
double psr_fold_bytes(const struct psr_fold_desc *desc);

/* True once every part is complete: further spectra change nothing. */
bool psr_fold_is_full(const psr_fold *f);

/* The results with each n parts joined to one, the last of fewer: [ceil(npart / n)][nsub][nbin], and [..][nsub]. */
void psr_fold_merge_parts(const psr_fold *f, size_t i, size_t n, double *profile,
                          struct psr_fold_stats *stats);

/* Spectra until the fold is full, with those that the delays of the last block need. */
int64_t psr_fold_missing(const psr_fold *f);

/* Samples folded of each candidate's sub-bands, if all have the same delays; else the fewest. */
int64_t psr_fold_count(const psr_fold *f);

/* Whether a device searches, and not the CPU. */
bool psr_fold_search_has_device(const psr_fold_search *s);

/* Status: PSR_EINVAL, PSR_ENOMEM, PSR_EDEVICE (a backend that is not built in, or a device that cannot
 *         be used, unless "auto").  *out is NULL on error */
PSR_MUST_CHECK psr_status psr_fold_search_create(psr_fold_search **out,
                                                 const struct psr_fold_search_desc *desc,
                                                 psr_err *err);

/* Searches one fold; further ones of the same shape are prepared faster.
 * Given:  fold   with its lists of trials, DM, profiles and statistics; no DMs: sub-bands must be 1
 * Notes:  the result does not depend on the threads.  Without any variance the folded values are
 *         the best, with chi^2 = 0
 * Status: PSR_EINVAL for a list that is missing, PSR_ENOMEM, also beyond mem_bytes, PSR_ESTOPPED */
PSR_MUST_CHECK psr_status psr_fold_search_run(psr_fold_search *s, const struct psr_pfd *fold,
                                              const struct psr_fold_times *times,
                                              struct psr_fold_best *best, psr_err *err);

/* Independent trials of a search around a fold over period, derivatives and DM: neighbouring trials agree in part.
 * Given: fold   its lists of trials and the best period
 *        is_refined   with psr_fold_refine */
double psr_fold_count_trials(const struct psr_pfd *fold, const struct psr_fold_search_desc *desc,
                             bool is_refined);

/* Sigma, 0 or more, of the best of ntrial independent trials; not a number if ntrial is below 1. */
double psr_fold_sigma_trials(double redchi, double dof, double ntrial);

/* Fills *view for a fold and its best trial.  The caller clears *view, also after an error.
 * Status: those of psr_fold_search_run */
PSR_MUST_CHECK psr_status psr_fold_search_view(psr_fold_search *s, const struct psr_pfd *fold,
                                               const struct psr_fold_times *times,
                                               const struct psr_fold_best *best,
                                               struct psr_fold_view *view, psr_err *err);

/* Frees the arrays; may be called again. */
void psr_fold_view_clear(struct psr_fold_view *view);

/* Frees the search; NULL is allowed. */
void psr_fold_search_destroy(psr_fold_search *s);

/* Finds them to a fraction of a trial: profiles are rotated by Fourier coefficients, by any fraction of a bin, and
 * the power of the pulse's harmonics is maximised, next to what was found.  The derivative is 0
 * unless another raises Z^2 by 16: over few turns drift and derivative are easily confused.
 * Given:    fold   with the period that a search has found
 *           best   what it has found, of which fdd stays; keep_p, keep_pd   f, fd stay, too
 * Returned: *best; as given where there is no maximum nearby (a period of the last harmonic away at most)
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_refine(struct psr_fold_refined *best, const struct psr_pfd *fold,
                                          const struct psr_fold_times *times, bool keep_p,
                                          bool keep_pd, psr_err *err);

#endif
