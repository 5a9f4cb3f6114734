/* pulscan_series.h: transforms a batch of series to spectra on the CPU (private). */
#ifndef PSR_SEARCH_PULSCAN_SERIES_H
#define PSR_SEARCH_PULSCAN_SERIES_H

#include "pulscan_backend.h"

struct psr_pulscan_series;

/* Memory needed, in bytes. */
double psr_pulscan_series_bytes(const struct psr_pulscan_search *s);

PSR_MUST_CHECK psr_status psr_pulscan_series_create(struct psr_pulscan_series **out,
                                                    const struct psr_pulscan_search *s,
                                                    psr_err *err);

/* Transforms in [nspec][2 nbin], each on its own thread, and removes red noise if the search
 * requests it.
 * Returned: bad [nspec]   the lowest sample that is not finite: such a series is skipped; -1: none
 */
PSR_MUST_CHECK psr_status psr_pulscan_series_transform(struct psr_pulscan_series *x, size_t nspec,
                                                       const float *const *in, int64_t *bad,
                                                       psr_err *err);

/* Location of spectrum slot: a series stored there is transformed in place. */
float *psr_pulscan_series_room(struct psr_pulscan_series *x, size_t slot);

/* Spectrum slot, [nbin][2], of the last transform. */
const float *psr_pulscan_series_spectrum(const struct psr_pulscan_series *x, size_t slot);

/* Frees the object; NULL is allowed. */
void psr_pulscan_series_destroy(struct psr_pulscan_series *x);

#endif
