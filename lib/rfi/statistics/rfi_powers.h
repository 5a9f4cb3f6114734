/* rfi_powers.h: powers of two channels from the transform of both (private).
 *
 * Two channels are the real and the imaginary part of one complex transform; the amplitudes of the
 * first are the even part of the result, those of the second the odd part. */
#ifndef PSR_RFI_STATISTICS_RFI_POWERS_H
#define PSR_RFI_STATISTICS_RFI_POWERS_H

#include "base/threads/isa.h"
#include "rfi_periodic.h"

/* Room for the powers of one channel. */
struct psr_rfi_power_room {
    float *whole, *half; /* [nbin] */
    uint32_t *seed;      /* [2 nbin] */
};

/* Powers of bins and, by interbinning, half a bin above them: (pi / 4)^-2 |a(k) - a(k + 1)|^2 / 4.
 * Given:    z [2][n]   real and imaginary part of the transform, so scaled that the squares of sums
 *                      and differences are powers in units of their mean
 *           nbin       how many bins; the amplitude after the last one is 0
 *           seed       of psr_rfi_threshold
 * Returned: of both channels, in their rooms; the same bits with any instruction set */
void psr_rfi_powers_find(enum psr_isa isa, const float *z, size_t n, size_t nbin, float seed,
                         const struct psr_rfi_power_room room[2], struct psr_rfi_powers powers[2]);

#endif
