/* spans.h: lists of spans of bins (private). */
#ifndef PSR_STATS_SPANS_H
#define PSR_STATS_SPANS_H

#include <psrkit/obs.h>
#include <stddef.h>

/* Puts n spans, of any order and overlap, in ascending order and apart from each other, within bins
 * lo .. end - 1.
 * Returned: how many are left */
size_t psr_spans_tidy(struct psr_span *span, size_t n, int64_t lo, int64_t end);

#endif
