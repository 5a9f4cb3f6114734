/* redden.h: the blocks that red noise is measured in (private). */
#ifndef PSR_SIGNAL_REDDEN_H
#define PSR_SIGNAL_REDDEN_H

#include <psrkit/spectrum.h>

/* Bins of the block that begins at bin k; the first begins at 1, and each where the one before
 * ends, below nbin. */
int64_t psr_redden_length(const struct psr_redden *how, int64_t k, int64_t nbin);

#endif
