/* resume.h: which trials an earlier run has completed (private). */
#ifndef PSR_PIPELINE_RESUME_H
#define PSR_PIPELINE_RESUME_H

#include "trials.h"

#include <psrkit/series.h>

/* Given:    series        all trials, with their notes and epochs
 *           changed       when the input was last written: what is older is of another input
 *           independent   [nline] each trial is what it is whatever the others are; others are made
 *                         together or not at all
 * Returned: done [ndm]; *ndone, how many */
void psr_resume_find(const struct psr_trial_list *trials, const struct psr_series_desc *series,
                     struct timespec changed, const bool *independent, bool *done, size_t *ndone);

#endif
