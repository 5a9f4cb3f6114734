/* accel_series.h: series to spectra on the host (private). */
#ifndef PSR_SEARCH_MATCHED_ACCEL_SERIES_H
#define PSR_SEARCH_MATCHED_ACCEL_SERIES_H

#include "search/matched/response/accel_search.h"

/* Given:    in [n], finite series
 * Returned: in: x is spectrum, photons what bin 0 was before red noise was taken out
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_series_transform(const struct psr_accel_search *s,
                                                     const psr_rfft *rfft, size_t n,
                                                     struct psr_accelsearch_input *in,
                                                     psr_err *err);

#endif
