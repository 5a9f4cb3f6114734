/* Centre and noise of a series from its blocks. */
#include "ffa_internal.h"

#include "stats/stats.h"

#include <math.h>

bool psr_ffa_noise(const float *mean, const float *var, size_t n, struct psr_ffa_noise *noise)
{
    const double c = 1 - 2 / (9.0 * (PSR_FFA_BLOCK - 1));
    if (!n)
        return false;
    noise->sigma = sqrt((double)psr_quantile_select(var, n, (n - 1) / 2) / (c * c * c));
    noise->scale = (float)(PSR_FFA_FINE / noise->sigma);
    if (!isnormal(noise->sigma) || !isnormal(noise->scale))
        return false;
    noise->centre = psr_quantile_select(mean, n, (n - 1) / 2);
    return true;
}
