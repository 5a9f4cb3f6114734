/* stats.h: moments, order statistics, eigenvalues, minima and spans of bins (private). */
#ifndef PSR_STATS_STATS_H
#define PSR_STATS_STATS_H

#include <psrkit/obs.h>
#include <stdbool.h>
#include <stddef.h>

/* --- eigenvalues of small symmetric matrices --- */

/* Diagonalises a symmetric matrix by cyclic Jacobi rotations (Golub and Van Loan, section 8.5).
 * Given:    a [n][n]   destroyed
 * Returned: value [n], largest first; vector [n][n]: vector[k] has length 1 and belongs to value[k]
 * Notes:    the same bits wherever doubles are IEEE and products are not fused */
void psr_eigen_symmetric(double *a, size_t n, double *value, double *vector);

/* --- mean and variance of floats --- */

/* Both give the mean and the variance (divided by n - 1; 0 if n is 1) of n > 0 floats. */

/* Sample after sample (algorithm AS 52), with the bits of PRESTO's. */
void psr_moments_running(const float *x, size_t n, double *mean, double *var);

/* Two passes of several sums that do not wait for each other. */
void psr_moments_lanes(const float *x, size_t n, double *mean, double *var);

/* --- accelsearch's significance of summed powers --- */

/* accelsearch's sigma, by its series and approximations. */
double psr_presto_sigma(double power, int nharm, double trials);

/* --- order statistics of floats --- */

/* Returns the k-th smallest, from 0, of n finite floats, k < n < 2^31.  Does not change x.  Reads x
 * about five times, and at worst 40 times. */
float psr_quantile_select(const float *x, size_t n, size_t k);

/* Returns the median of n > 0 floats, the mean of the two middle ones if n is even.  Reorders x; if
 * x contains NaN, the result is one of the floats. */
double psr_quantile_median(float *x, size_t n);

/* --- the minimum of a function of few variables --- */

enum { PSR_SIMPLEX_MOST = 3 };

struct psr_simplex {
    double (*value)(void *ctx, const double *x); /* finite */
    void *ctx;
    int n; /* variables */
};

/* Nelder and Mead's (1965) descent, from x and n points step away from it in one variable each, to
 * where the corners are tol from their middle (rms) or after 5000 moves.
 * Returned: the value; x [n], where it is */
double psr_simplex_descend(const struct psr_simplex *f, double *x, double step, double tol);

/* Two of Newton's steps to the bottom of a smooth function, from x near it, by differences of reach:
 * where the corners of a simplex come to rest hangs on the last bit of the function, the bottom does
 * not.  x stays where that is not within reach. */
void psr_simplex_polish(const struct psr_simplex *f, double *x, double reach);

/* --- whole numbers --- */

/* The greatest common divisor; that of 0 and another is the other. */
static inline int64_t psr_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* --- lists of spans of bins --- */

/* Puts n spans, of any order and overlap, in ascending order and apart from each other, within bins
 * lo .. end - 1.
 * Returned: how many are left */
size_t psr_spans_tidy(struct psr_span *span, size_t n, int64_t lo, int64_t end);

/* Puts n spans in ascending order, those that touch as one.
 * Returned: how many are left */
size_t psr_spans_join(struct psr_span *span, size_t n);

enum { PSR_BAND_SHARES = 8 };

/* Whether an eighth of a band, wherever it is, has so much of a signal that without it less than half of the S/N
 * is left that a signal of the whole band would have.
 * Given:    a [n]        what each channel, or sub-band, has of the signal; 0 where it does not count
 *           counts [n]   which ones do
 * Returned: false for fewer than 8, and where there is no signal; *first   the eighth that has the most, of
 *           psr_band_span(n) channels; may be NULL */
bool psr_band_is_narrow(const double *a, const unsigned char *counts, size_t n, size_t *first);

/* Channels of an eighth of the band. */
size_t psr_band_span(size_t n);

#endif
