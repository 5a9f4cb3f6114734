/* quantile.h: order statistics of floats (private). */
#ifndef PSR_BASE_QUANTILE_H
#define PSR_BASE_QUANTILE_H

#include <stddef.h>

/* The k-th smallest, from 0, of n finite floats, k < n < 2^31.  x is left as it is.  Takes some
 * five fast readings of x, and 40 at the very worst. */
float psr_quantile_select(const float *x, size_t n, size_t k);

/* The median of n > 0 floats, the mean of the two middle ones where n is even.  x is put into
 * another order; with floats among them that are no numbers the result is some float. */
double psr_quantile_median(float *x, size_t n);

#endif
