/* spans.h: lists of spans of bins (private). */
#ifndef PSR_STATS_SPANS_H
#define PSR_STATS_SPANS_H

#include <psrkit/obs.h>
#include <stdbool.h>
#include <stddef.h>

/* Puts n spans, of any order and overlap, in ascending order and apart from each other, within bins
 * lo .. end - 1.
 * Returned: how many are left */
size_t psr_spans_tidy(struct psr_span *span, size_t n, int64_t lo, int64_t end);

enum { PSR_BAND_SHARES = 8 };

/* Whether an eighth of a band, wherever it is, has so much of a signal that without it less than half of the S/N
 * is left that a signal of the whole band would have.
 * Given:    a [n]        what each channel, or sub-band, has of the signal; 0 where it does not count
 *           counts [n]   which ones do
 * Returned: false for fewer than 8, and where there is no signal; *first   the eighth that has the most, of
 *           psr_band_span(n) channels; may be NULL */
bool psr_band_is_narrow(const double *a, const unsigned char *counts, size_t n, size_t *first);

/* Channels of an eighth of the band. */
size_t psr_band_span(size_t n);

#endif
