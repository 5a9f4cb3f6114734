/* zerodm.h: PRESTO's zero-DM, with its bits (private).
 *
 * Subtracts from each channel its share of the spectrum's sum, in proportion to the bandpass, and
 * adds the bandpass (Eatough, Keane and Lyne 2009, with weights). */
#ifndef PSR_RFI_RULES_ZERODM_H
#define PSR_RFI_RULES_ZERODM_H

#include <stdbool.h>
#include <stddef.h>

struct psr_zerodm {
    size_t nchan;
    float *bandpass, *weight; /* [nchan]; owned by the caller */
    bool balanced;            /* they are set */
};

/* Sum of a spectrum in single precision, channel after channel. */
float psr_zerodm_sum(const float *x, size_t nchan);

/* Sets bandpass and weights: padding [nchan] or, if its sum is 0, the means of x [n][nchan]. */
void psr_zerodm_balance(struct psr_zerodm *z, const float *padding, const float *x, size_t n);

/* Changes x [n][nchan]. */
void psr_zerodm_remove(const struct psr_zerodm *z, float *x, size_t n);

#endif
