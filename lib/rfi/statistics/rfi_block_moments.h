/* rfi_block_moments.h: moments to the fourth order of every channel of a block (private). */
#ifndef PSR_RFI_STATISTICS_RFI_BLOCK_MOMENTS_H
#define PSR_RFI_STATISTICS_RFI_BLOCK_MOMENTS_H

#include "dsp/block_sums.h"
#include "rfi_moments.h"

/* Moments of every channel of a block, on the calling thread.
 * Given:    in     [n] spectra, n at most 2^31
 *           skip   [n]   1: the spectrum is left out; NULL: none is
 * Returned: m [nchan], in the order of the data
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_block_moments(const struct psr_layout *layout, const void *in,
                                                size_t n, const unsigned char *skip,
                                                struct psr_rfi_moments *m, psr_err *err);

#endif
