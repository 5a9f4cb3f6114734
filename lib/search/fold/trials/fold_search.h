/* fold_search.h: what a kind of accelerator offers to the search around folds (private).
 *
 * A device finds the best trials; the numbers of the best are the host's, of the same bits. */
#ifndef PSR_SEARCH_FOLD_TRIALS_FOLD_SEARCH_H
#define PSR_SEARCH_FOLD_TRIALS_FOLD_SEARCH_H

#include "fold_state.h"

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
