/* presto_view.h: prepsubband's interpretation of a header (private). */
#ifndef PSR_COMPAT_PRESTO_PRESTO_VIEW_H
#define PSR_COMPAT_PRESTO_PRESTO_VIEW_H

#include "dedisp_presto.h"

#include <psrkit/series.h>

struct psr_presto_view {
    struct psr_obs obs; /* the observation as PRESTO sees it */
    bool reverse;       /* the first channel of the source is treated as the highest */
};

/* Given: invert   as in psr_source_desc, which has already inverted the band */
void psr_presto_view_make(struct psr_presto_view *view, const struct psr_obs *obs, bool invert);

/* Fills the part of a description that determines blocks and delays, for an input with this view.
 * Given: inf   of sub-band files, or NULL
 *        nsub   sub-bands; for sub-band files, the number of files
 *        dm [ndm]   borrowed */
struct psr_compat_desc psr_presto_describe(const struct psr_presto_view *view,
                                           const struct psr_inf *inf, size_t nsub, const double *dm,
                                           size_t ndm);

/* Number of the nsamp spectra that PRESTO skips for this start fraction.
 * Status: those of psr_compat_worklen */
PSR_MUST_CHECK psr_status psr_presto_skip(const struct psr_compat_desc *desc, double start,
                                          int64_t nsamp, int64_t *skip, psr_err *err);

#endif
