/* quantile.h: order statistics of floats (private). */
#ifndef PSR_STATS_QUANTILE_H
#define PSR_STATS_QUANTILE_H

#include <stddef.h>

/* Returns the k-th smallest, from 0, of n finite floats, k < n < 2^31.  Does not change x.  Reads x
 * about five times, and at worst 40 times. */
float psr_quantile_select(const float *x, size_t n, size_t k);

/* Returns the median of n > 0 floats, the mean of the two middle ones if n is even.  Reorders x; if
 * x contains NaN, the result is one of the floats. */
double psr_quantile_median(float *x, size_t n);

#endif
