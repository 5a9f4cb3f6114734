/* Means of series, to the same bits however they come in blocks. */
#include "series_mean.h"

enum { LANES = PSR_SERIES_LANES };

void psr_series_mean_add(struct psr_series_mean *m, const float *x, size_t n)
{
    size_t t = 0, lane = (size_t)(m->n % LANES);
    for (; t < n && lane % LANES; t++, lane++)
        m->sum[lane] += (double)x[t];
    for (; t + LANES <= n; t += LANES)
        for (size_t k = 0; k < LANES; k++)
            m->sum[k] += (double)x[t + k];
    for (size_t k = 0; t < n; t++, k++)
        m->sum[k] += (double)x[t];
    m->n += (int64_t)n;
}

double psr_series_mean_sum(const struct psr_series_mean *m)
{
    double sum = 0;
    for (int k = 0; k < LANES; k++)
        sum += m->sum[k];
    return sum;
}

double psr_series_mean_value(const struct psr_series_mean *m)
{
    return psr_series_mean_sum(m) / (double)m->n;
}
