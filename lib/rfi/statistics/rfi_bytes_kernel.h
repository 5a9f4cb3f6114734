/* rfi_bytes_kernel.h: inner loops over pairs of channels of bytes, for this processor (private). */
#ifndef PSR_RFI_STATISTICS_RFI_BYTES_KERNEL_H
#define PSR_RFI_STATISTICS_RFI_BYTES_KERNEL_H

#include "base/threads/isa.h"
#include <stdint.h>

enum { PSR_RFI_BYTES_ORIGIN = 128, PSR_RFI_BYTES_STEP = 32 };

struct psr_rfi_bytes_loops {
    /* Adds powers 1 to 4 of x - PSR_RFI_BYTES_ORIGIN to the exact sums of both channels.
     * Given: pair [n][2]   n a multiple of PSR_RFI_BYTES_STEP */
    void (*add_powers)(const uint8_t *pair, size_t n, int64_t sum[2][4]);
    /* Returned: a, b [n], (x - mean) factor of each channel */
    void (*scale)(const uint8_t *restrict pair, size_t n, const float mean[2],
                  const float factor[2], float *restrict a, float *restrict b);
};

/* The same bits with any instruction set. */
const struct psr_rfi_bytes_loops *psr_rfi_bytes_choose(enum psr_isa isa);

#endif
