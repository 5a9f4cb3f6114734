/* rfi_bytes.h: channels of unsigned samples of up to 8 bits, two at a time (private).
 *
 * A pair holds the samples of two adjacent channels in turn, [n][2] bytes. */
#ifndef PSR_RFI_STATISTICS_RFI_BYTES_H
#define PSR_RFI_STATISTICS_RFI_BYTES_H

#include "base/threads/isa.h"
#include "dsp/block_sums.h"
#include "rfi_moments.h"
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

/* Channels that are transposed together: at most a cache line of them, and a multiple of 8. */
enum { PSR_RFI_BYTES_WIDTH = 64 };

/* Given:    channels c0 .. c0 + width - 1, c0 a multiple of 8, width at most PSR_RFI_BYTES_WIDTH
 * Returned: pair [(width + 1) / 2][n][2]; what there is beyond the last channel is 0 */
void psr_rfi_bytes_transpose(const struct psr_layout *layout, const unsigned char *in, size_t n,
                             size_t c0, size_t width, uint8_t *pair);

/* Exact sums of powers of the two channels, about origin 128. */
void psr_rfi_bytes_power_sums(const uint8_t *pair, size_t n, struct psr_rfi_power_sums sums[2]);

/* Returned: z [2][n], z = (x - mean) factor of each channel */
void psr_rfi_bytes_scale(const uint8_t *pair, size_t n, const float mean[2], const float factor[2],
                         float *z);

#endif
