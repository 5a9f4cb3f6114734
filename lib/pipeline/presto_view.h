/* presto_view.h: what prepsubband makes of a header (private). */
#ifndef PSR_PIPELINE_PRESTO_VIEW_H
#define PSR_PIPELINE_PRESTO_VIEW_H

#include <psrkit/compat.h>
#include <psrkit/inf.h>

struct psr_presto_view {
    struct psr_obs obs; /* the observation as PRESTO takes it */
    bool reverse;       /* the source's first channel is taken for the highest */
};

/* Given:  invert   as psr_source_desc has it, which has inverted already */
void psr_presto_view_make(struct psr_presto_view *view, const struct psr_obs *obs, bool invert);

/* The part of a description that decides on blocks and delays, of an input that view shows.
 * Given:  inf        of files of sub-bands, or NULL
 *         nsub       sub-bands; of files of sub-bands there are as many as files
 *         dm [ndm]   borrowed */
struct psr_compat_desc psr_presto_describe(const struct psr_presto_view *view,
                                           const struct psr_inf *inf, size_t nsub, const double *dm,
                                           size_t ndm);

/* Spectra that PRESTO skips of nsamp for a start at such a fraction.
 * Status: those of psr_compat_worklen */
PSR_MUST_CHECK psr_status psr_presto_skip(const struct psr_compat_desc *desc, double start,
                                          int64_t nsamp, int64_t *skip, psr_err *err);

#endif
