/* Subtracts the line between the ends of a series, from the series or its spectrum. */
#include "formats/series/series_internal.h"

#include <math.h>

/* Samples whose mean an end is: with so many the line that white noise has moves no bin beyond the
 * first ten.  An even number, so that the Nyquist frequency adds nothing. */
static int64_t end_samples(int64_t n)
{
    int64_t m = n / 2048 * 2;
    return m < 2 ? 2 : m;
}

void psr_series_detrend_ends(float *x, int64_t n)
{
    const int64_t m = end_samples(n);
    double step = 0;
    if (n < 2 * m)
        return;
    for (int64_t t = 0; t < m; t++)
        step += (double)x[n - m + t] - (double)x[t];
    const double slope = step / (double)m / (double)(n - m), middle = (double)(n - 1) / 2;
    if (!isfinite(slope))
        return;
    for (int64_t t = 0; t < n; t++)
        x[t] = (float)((double)x[t] - slope * ((double)t - middle));
}

/* The mean of the last m samples less that of the first: of bin k they see 4 / m n times
 * sin^2(pi k m / n) (Im X_k cot(pi k / n) - Re X_k).  What there is beyond 64 n / m
 * bins is 0.15 % of a line. */
static double step_of_spectrum(const float *x, int64_t n, int64_t m)
{
    double sum = 0;
    for (int64_t k = 1; k < n / 2 && k <= 64 * n / m; k++) {
        double angle = M_PI * (double)k / (double)n, seen = sin(angle * (double)m);
        sum += seen * seen * ((double)x[2 * k + 1] / tan(angle) - (double)x[2 * k]);
    }
    return 4 * sum / ((double)m * (double)n);
}

/* A line of slope 1 has n (i cot(pi k / n) - 1) / 2 in bin k. */
void psr_spectrum_detrend_ends(float *x, int64_t nbin)
{
    const int64_t n = 2 * nbin, m = end_samples(n);
    if (n < 2 * m)
        return;
    const double height = step_of_spectrum(x, n, m) / (double)(n - m) * (double)n / 2;
    const double step_cos = cos(M_PI / (double)n), step_sin = sin(M_PI / (double)n);
    double c = step_cos, s = step_sin; /* of pi k / n, but for a factor that c / s has not */
    if (!isfinite(height))
        return;
    for (int64_t k = 1; k < nbin; k++) {
        x[2 * k] = (float)((double)x[2 * k] + height);
        x[2 * k + 1] = (float)((double)x[2 * k + 1] - height * c / s);
        double next = c * step_cos - s * step_sin;
        s = c * step_sin + s * step_cos;
        c = next;
    }
}
