/* band_spread.h: over how much of the delay over a band a pulse seems to be spread. */
#ifndef PSR_TESTS_BAND_SPREAD_H
#define PSR_TESTS_BAND_SPREAD_H

#include <math.h>

/* By the S/N that is left of a pulse for a delay of 1, in the best boxcar as long as that of the highest channels, of 64ths of them. */
static double spread_of(double ratio)
{
    double most = 1;
    for (double n = 1; n <= 64 && ratio > 1; n++) {
        const double filled = n / 64, inverse = 1 / (ratio - filled * (ratio - 1));
        const double delay = (inverse * inverse * ratio * ratio - 1) / (ratio * ratio - 1);
        most = fmax(most, filled / sqrt(delay));
    }
    return 1 / (most * most);
}

#endif
