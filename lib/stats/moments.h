/* moments.h: mean and variance of floats (private). */
#ifndef PSR_STATS_MOMENTS_H
#define PSR_STATS_MOMENTS_H

#include <stddef.h>

/* Both give the mean and the variance (divided by n - 1; 0 if n is 1) of n > 0 floats. */

/* Sample after sample (algorithm AS 52), with the bits of PRESTO's. */
void psr_moments_running(const float *x, size_t n, double *mean, double *var);

/* Two passes of several sums that do not wait for each other. */
void psr_moments_lanes(const float *x, size_t n, double *mean, double *var);

#endif
