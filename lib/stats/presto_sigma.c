/* accelsearch's significance of summed powers. */
#include "stats.h"

#include <psrkit/signif.h>

#include <math.h>

/* ln of the upper incomplete gamma function for large z (Abramowitz and Stegun 6.5.32), which ends
 * of itself where a is whole. */
static double ln_upper_gamma(double a, double z)
{
    double term = 1, sum = 1;
    for (int k = 1; fabs(term) > 1e-15; k++) {
        term *= (a - k) / z;
        sum += term;
    }
    return (a - 1) * log(z) - z + log(sum);
}

/* Abramowitz and Stegun 6.1.41 to four terms, for all a. */
static double ln_gamma(double a)
{
    double y = 1 / (a * a);
    double tail = ((-y / 1680 + 1.0 / 1260) * y - 1.0 / 360) * y + 1.0 / 12;
    return (a - 0.5) * log(a) - a + 0.5 * log(2 * M_PI) + tail / a;
}

/* Abramowitz and Stegun 26.2.23. */
static double far_sigma(double ln_p)
{
    double t = sqrt(-2 * ln_p);
    double above = 2.515517 + t * (0.802853 + t * 0.010328);
    return t - above / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

double psr_presto_sigma(double power, int nharm, double trials)
{
    const double chi2 = 2 * power, dof = 2.0 * nharm;
    if (power <= 0)
        return 0;
    double ln_p = chi2 > 1200 || (dof > 30 && chi2 > 100)
                      ? ln_upper_gamma(dof / 2, chi2 / 2) - ln_gamma(dof / 2)
                      : psr_chi2_logp(chi2, dof).ln_sf;
    ln_p += log(trials);
    double sigma = ln_p < -600 ? far_sigma(ln_p) : psr_gauss_sigma(psr_logp_from_sf(ln_p));
    return sigma < 0 ? 0 : sigma;
}
