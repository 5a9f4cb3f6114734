/* fold_device.h: what folds blocks in place of the CPU (private). */
#ifndef PSR_SEARCH_FOLD_DEVICE_H
#define PSR_SEARCH_FOLD_DEVICE_H

#include "fold_plan.h"

/* Candidates that a device folds at once, and bytes of the window that it is given. */
enum { PSR_FOLD_DEVICE_CHUNK = 128, PSR_FOLD_DEVICE_WINDOW = 64 << 20 };

struct psr_fold_device_ops {
    const char *name;

    /* Status: PSR_EDEVICE, PSR_EUNSUPPORTED, PSR_ENOMEM */
    psr_status (*create)(void **state, const struct psr_fold *f, int device, psr_err *err);

    /* Folds every block of the window that is complete; the window may change at once.
     * Status: PSR_EDEVICE, PSR_ENOMEM */
    psr_status (*run)(void *state, struct psr_fold *f, psr_err *err);

    /* Waits, and brings the profiles and statistics of the parts that ended, and the sums of those at hand
     * to the slices.  Status: as of run */
    psr_status (*finish)(void *state, struct psr_fold *f, psr_err *err);
    void (*destroy)(void *state);
};

extern const struct psr_fold_device_ops psr_fold_cuda;

/* Whether folds of this backend may run on a device, and need memory for it. */
bool psr_fold_device_wanted(const char *backend);

/* Opens what f->d.backend names; f->device stays NULL for the CPU.
 * Status: as psr_fold_create */
PSR_MUST_CHECK psr_status psr_fold_device_open(struct psr_fold *f, psr_err *err);
PSR_MUST_CHECK psr_status psr_fold_device_run(struct psr_fold *f, psr_err *err);
PSR_MUST_CHECK psr_status psr_fold_device_finish(struct psr_fold *f, psr_err *err);
void psr_fold_device_close(struct psr_fold *f);

#endif
