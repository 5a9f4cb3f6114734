/* resume.h: finds the trials that an earlier run has completed (private). */
#ifndef PSR_RUN_DEDISPERSE_RESUME_H
#define PSR_RUN_DEDISPERSE_RESUME_H

#include "run/dedisperse/lines/trials.h"

#include <psrkit/series.h>

/* Given:    series   all trials, with their notes and epochs
 *           changed   modification time of the input: older files belong to another input
 *           independent [nline]   each trial is independent of the others; otherwise all trials of
 *                                 a line are made or skipped together
 * Returned: done [ndm]; *ndone, their number */
void psr_resume_find(const struct psr_trial_list *trials, const struct psr_series_desc *series,
                     struct timespec changed, const bool *independent, bool *done, size_t *ndone);

#endif
