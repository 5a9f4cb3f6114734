/* redden.h: blocks in which red noise is measured (private). */
#ifndef PSR_DSP_REDDEN_H
#define PSR_DSP_REDDEN_H

#include <psrkit/series.h>

/* Length of the block that begins at bin k; the first begins at 1, each of the others where the
 * previous one ends, below nbin. */
int64_t psr_redden_length(const struct psr_redden *how, int64_t k, int64_t nbin);

/* All blocks of a spectrum.
 * Returned: how many; block [that many], or NULL */
size_t psr_redden_blocks(const struct psr_redden *how, int64_t nbin, struct psr_span *block);

#endif
