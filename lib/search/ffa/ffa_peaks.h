/* ffa_peaks.h: groups trials above the threshold into peaks (private). */
#ifndef PSR_SEARCH_FFA_PEAKS_H
#define PSR_SEARCH_FFA_PEAKS_H

#include "ffa_backend.h"

/* Groups found's hits, which it reorders.
 * Returned: peaks in order of series, strongest first; *peak [*npeak], which grows; npeak_of [nseries] */
PSR_MUST_CHECK psr_status psr_ffa_group(const struct psr_ffa_search *s, struct psr_ffa_found *found,
                                        size_t nseries, struct psr_ffa_peak **peak, size_t *room,
                                        size_t *npeak_of, psr_err *err);

#endif
