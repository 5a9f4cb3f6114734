/* fold_search_device.h: what a kind of accelerator offers to the search around folds (private).
 *
 * A device finds the best trials; the numbers of the best are the host's, of the same bits. */
#ifndef PSR_SEARCH_FOLD_TRIALS_FOLD_SEARCH_DEVICE_H
#define PSR_SEARCH_FOLD_TRIALS_FOLD_SEARCH_DEVICE_H

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

/* Opens the device that the description asks for, if any: s->device stays NULL for the CPU, and with
 * "auto" where there is no device.
 * Status: PSR_EDEVICE naming the backend, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_search_device_open(struct psr_fold_search *s, psr_err *err);
void psr_fold_search_device_close(struct psr_fold_search *s);

/* Takes the fold, and searches a range.
 * Returned: *done   false: the CPU must
 * Status: PSR_EDEVICE, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_search_device_begin(struct psr_fold_search *s, bool *done,
                                                       psr_err *err);
PSR_MUST_CHECK psr_status psr_fold_search_device_find(struct psr_fold_search *s,
                                                      const struct psr_fold_range *range,
                                                      struct psr_fold_found *found, bool *done,
                                                      psr_err *err);

#endif
