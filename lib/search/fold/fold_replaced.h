/* fold_replaced.h: values that zeros in the window of a fold stand for (private). */
#ifndef PSR_SEARCH_FOLD_REPLACED_H
#define PSR_SEARCH_FOLD_REPLACED_H

#include "fold_plan.h"

/* Takes the steps of the next spectra.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_replaced_take(struct psr_fold *f, const struct psr_step *step,
                                                 size_t nstep, psr_err *err);

/* Forgets steps before the window, which has moved. */
void psr_fold_replaced_forget(struct psr_fold *f);

/* For the next block of a candidate: its value, offset and has_steps. */
void psr_fold_replaced_find(const struct psr_fold *f, struct psr_fold_cube *cube);

/* Adds the values to band, sub-bands [first, first + n) of that block. */
void psr_fold_replaced_add(const struct psr_fold *f, const struct psr_fold_cube *cube, size_t first,
                           size_t n, float *band);

#endif
