/* edit_sums.h: adds rows of packed samples to sums, and makes rows of sums (private). */
#ifndef PSR_RUN_EDIT_EDIT_SUMS_H
#define PSR_RUN_EDIT_EDIT_SUMS_H

#include <psrkit/obs.h>
#include <stdint.h>

/* Channels [first, first + n) of the sums, of fsum of the row each; first is a multiple of 64. */
struct psr_edit_slice {
    size_t first, n, fsum;
};

/* Adds a row of integers of up to 16 bits.
 * Given:  sum   [n] of the slice
 *         scratch   [n fsum] bytes */
void psr_edit_add_whole(int32_t *sum, const uint8_t *row, const struct psr_edit_slice *s, int nbit,
                        enum psr_kind kind, uint8_t *scratch);

/* Adds a row of any kind.
 * Given:  scratch   [n fsum] */
void psr_edit_add_any(double *sum, const uint8_t *row, const struct psr_edit_slice *s, int nbit,
                      enum psr_kind kind, double *scratch);

/* Rounds sum / count to the nearest, halves up, in place: |sum| < 2^31. */
void psr_edit_mean_whole(int32_t *sum, size_t n, int64_t count);

/* Packs whole numbers that the type can hold; rows are all, of which the slice is a part. */
void psr_edit_pack_whole(uint8_t *rows, const int32_t *sum, const struct psr_edit_slice *s,
                         int nbit);

void psr_edit_to_floats(float *x, const int32_t *sum, size_t n);

/* The same, (sum - offset) gain. */
void psr_edit_to_scaled(float *x, const int32_t *sum, const float *offset, const float *gain,
                        size_t n);

#endif
