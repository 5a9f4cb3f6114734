/* zaplist.h: reads frequencies of known interference from PRESTO's .zaplist and .birds files.
 *
 * A line is "FREQ WIDTH", or "FREQ WIDTH NHARM [GROW [BARY]]" for harmonics 1 .. NHARM, each as
 * wide as the first or, if GROW is not 0, the harmonic number times as wide.  Frequencies and full
 * widths are in Hz.  A line that begins with B, or with a non-zero BARY, is barycentric, others are
 * topocentric.  '#' begins a comment. */
#ifndef PSRKIT_ZAPLIST_H
#define PSRKIT_ZAPLIST_H

#include <psrkit/obs.h>

PSR_API_BEGIN

struct psr_bird {
    double freq_hz, width_hz;
    bool barycentric;
};

struct psr_zaplist {
    struct psr_bird *bird; /* [n], in the order of the file; owned */
    size_t n;
};

enum { PSR_ZAPLIST_MAX_BYTES = 1 << 24, PSR_ZAPLIST_MAX_BIRDS = 1 << 20 };

/* Reads path.  The caller clears *list, also after an error.
 * Status: PSR_EIO; PSR_EFORMAT naming file, line and value; PSR_EUNSUPPORTED for a line with a
 *         pulsar name, which needs a catalogue; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_zaplist_read(struct psr_zaplist *list, const char *path,
                                           psr_err *err);

/* As psr_zaplist_read, from text of n bytes; name is for messages. */
PSR_MUST_CHECK psr_status psr_zaplist_parse(struct psr_zaplist *list, const char *text, size_t n,
                                            const char *name, psr_err *err);

/* Bins of a spectrum that birds cover, each at least one bin wide, from floor to ceiling.
 * Given:    baryv   mean velocity of the telescope towards the source over c, which shifts
 *                   topocentric frequencies in a barycentred spectrum
 * Returned: *span [*n] within 1 .. nbin - 1, in the order of the list; malloc'd, caller frees
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_zaplist_bins(const struct psr_zaplist *list, double tobs_s,
                                           double baryv, int64_t nbin, struct psr_span **span,
                                           size_t *n, psr_err *err);

/* Frees the list; may be called again. */
void psr_zaplist_clear(struct psr_zaplist *list);

PSR_API_END
#endif
