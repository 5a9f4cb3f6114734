/* Computes means and variances of floats. */
#include "stats.h"

void psr_moments_running(const float *x, size_t n, double *mean, double *var)
{
    *mean = (double)x[0];
    *var = 0;
    for (size_t t = 1; t < n; t++) {
        double before = (double)t, count = before + 1;
        double step = ((double)x[t] - *mean) / count;
        *var += count * before * step * step;
        *mean += step;
    }
    if (n > 1)
        *var /= (double)(n - 1);
}

void psr_moments_lanes(const float *x, size_t n, double *mean, double *var)
{
    enum { LANES = 16 };
    double sum[LANES] = {0}, square[LANES] = {0};
    size_t whole = n / LANES * LANES;
    for (size_t t = 0; t < whole; t += LANES)
        for (size_t k = 0; k < LANES; k++)
            sum[k] += (double)x[t + k];
    for (size_t t = whole; t < n; t++)
        sum[0] += (double)x[t];
    for (size_t k = 1; k < LANES; k++)
        sum[0] += sum[k];
    double m = sum[0] / (double)n;
    for (size_t t = 0; t < whole; t += LANES)
        for (size_t k = 0; k < LANES; k++)
            square[k] += ((double)x[t + k] - m) * ((double)x[t + k] - m);
    for (size_t t = whole; t < n; t++)
        square[0] += ((double)x[t] - m) * ((double)x[t] - m);
    for (size_t k = 1; k < LANES; k++)
        square[0] += square[k];
    *mean = m;
    *var = n > 1 ? square[0] / (double)(n - 1) : 0;
}
