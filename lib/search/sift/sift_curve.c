/* Power against DM: the curve of a dispersed pulse, and its scatter. */
#include "sift_curve.h"

#include <complex.h>
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/signif.h>

/* Points of the band for each turn of the sweep; beyond MOST_TURNS what is left is a part in 400. */
enum { FEWEST_POINTS = 16, POINTS_PER_TURN = 8, MOST_TURNS = 20 };

static double sweep_of(const struct psr_sift_band *b)
{
    return b->low_mhz > 0 && b->high_mhz > b->low_mhz
               ? 1 / (b->low_mhz * b->low_mhz) - 1 / (b->high_mhz * b->high_mhz)
               : 0;
}

/* Turns by which 1 pc cm^-3 sweeps frequency f_hz over the band; 0 if the band is not known. */
static double count_turns(const struct psr_sift_band *band, double f_hz)
{
    return f_hz * PSR_DMCONST_PRESTO * sweep_of(band);
}

/* Share of its power that a harmonic keeps when the band sweeps it over x turns; 1 if the band is not known. */
static double share_of_band(const struct psr_sift_band *band, double x)
{
    const double sweep = sweep_of(band), step = band->high_mhz - band->low_mhz;
    x = fabs(x);
    if (!(sweep > 0) || x <= 0)
        return 1;
    if (x > MOST_TURNS)
        return 0;
    const int n = FEWEST_POINTS + (int)(POINTS_PER_TURN * x);
    double complex sum = 0;
    for (int k = 0; k < n; k++) {
        const double mhz = band->low_mhz + step * (k + 0.5) / n;
        const double late = (1 / (mhz * mhz) - 1 / (band->high_mhz * band->high_mhz)) / sweep;
        sum += cexp(2 * M_PI * I * x * late);
    }
    const double mean = cabs(sum) / n;
    return mean * mean;
}

struct psr_sift_power psr_sift_curve_expect(const struct psr_sift_band *band, double f_hz,
                                            const float *power, int nharm, double dm, double part)
{
    const double x = count_turns(band, f_hz) * dm * part;
    struct psr_sift_power expected = {0, 0};
    for (int h = 1; h <= nharm; h++) {
        const double share = share_of_band(band, h * x), p = (double)power[h - 1];
        expected.sum += share * p + 1 - share;
        expected.var += 2 * share * (1 - share) * p + (1 - share) * (1 - share);
    }
    return expected;
}

double psr_sift_power_of(double sigma, int nharm)
{
    return psr_chi2_threshold(psr_gauss_logp(sigma), 2.0 * nharm) / 2;
}

double psr_sift_power_as(const struct psr_sift_entry *e, int nharm)
{
    return e->nharm == nharm ? e->power : psr_sift_power_of(e->sigma, nharm);
}
