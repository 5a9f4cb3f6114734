/* delays: the dispersion law, its constants and its rounding. */
#include <psrkit/ddplan.h>

#include "plan/ddplan_internal.h"
#include "tests/support/tap.h"
#include <math.h>

/* S/N of a Gaussian of standard deviation 1, spread evenly over a delay, with the best Gaussian filter, from sums. */
static double spread_snr(double delay)
{
    enum { N = 4000 };
    const double step = (20 + delay) / N;
    double best = 0;
    for (double filter = 0.8; filter < 4 + delay; filter *= 1.02) {
        double sum = 0, norm = 0;
        for (int n = 0; n < N; n++) {
            const double t = (n - N / 2) * step, g = exp(-t * t / (2 * filter * filter));
            const double from = (t - delay / 2) / sqrt(2), to = (t + delay / 2) / sqrt(2);
            sum += g * (delay > 0 ? (erf(to) - erf(from)) / (2 * delay)
                                  : exp(-t * t / 2) / sqrt(2 * 3.14159265358979));
            norm += g * g;
        }
        best = fmax(best, sum * sqrt(step / norm));
    }
    return best;
}

static void test_share(void)
{
    const double fwhm = 2 * sqrt(2 * log(2)), own = spread_snr(0);
    ok(psr_dispersed_share(0, 3) == 1, "at its own DM a pulse has all of its S/N");
    for (double x = 0.25; x <= 8; x *= 2)
        near(spread_snr(x * fwhm) / own, psr_dispersed_share(x, 1), 0.03,
             "what is left of a pulse that dispersion spreads");
    near(1 - pow(psr_dispersed_share(6.4, 3.2), 2), 0.40744, 1e-5, "evidence of twice the width");
}

/* S/N of the best boxcar of what dispersion leaves of a pulse of no width in a band of that ratio, over that of one over the whole delay. */
static double best_spread_snr(double ratio)
{
    enum { CHANNELS = 4000 };
    double best = 0;
    for (int c = 1; c <= CHANNELS; c++) {
        const double f = ratio - (ratio - 1) * c / CHANNELS;
        best = fmax(best, (double)c / CHANNELS /
                              sqrt((pow(f, -2) - pow(ratio, -2)) / (1 - pow(ratio, -2))));
    }
    return best;
}

static void test_wide_bands(void)
{
    ok(psr_band_spread(0) == 1 && psr_band_spread(1) == 1, "delays of a narrow band are even");
    for (double ratio = 1.05; ratio < 20; ratio *= 1.7)
        near(1 / sqrt(psr_band_spread(ratio)), best_spread_snr(ratio),
             0.002 * best_spread_snr(ratio), "in a wide one most channels have little delay");
    ok(psr_band_spread(5.74) < 0.25, "from 702 to 4030 MHz: %.3f", psr_band_spread(5.74));
}

int main(void)
{
    test_share();
    test_wide_bands();
    psr_err err;
    double k = 0;
    ok(!psr_parse_dmconst("presto", &k, &err) && k == 1 / 0.000241, "presto's constant");
    ok(!psr_parse_dmconst("sigproc", &k, &err) && k == 4148.741601, "sigproc's constant");
    ok(!psr_parse_dmconst("4148.808", &k, &err) && k == 4148.808, "a number");
    ok(psr_parse_dmconst("newton", &k, &err) == PSR_EINVAL && k == 4148.808, "another word");
    ok(psr_parse_dmconst("-1", &k, &err) == PSR_EINVAL, "a negative number");

    uint64_t seed = tap_seed();
    bool same = true;
    for (int n = 0; n < 10000; n++) {
        double dm = tap_uniform(&seed) * 1000, f = 100 + tap_uniform(&seed) * 3000;
        same &= psr_delay_s(PSR_DMCONST_PRESTO, dm, f) == dm / (0.000241 * f * f);
    }
    ok(same, "delays have the bits of PRESTO's formula");
    near(psr_delay_s(PSR_DMCONST_SIGPROC, 100, 1000), 0.4148741601, 1e-15, "0.41 s at 1 GHz");

    static const double half[][2] = {{0.5, 1},   {-0.5, -1}, {1.5, 2},   {2.5, 3},
                                     {-2.5, -3}, {0.49, 0},  {-0.49, 0}, {1e12 + 0.5, 1e12 + 1}};
    bool round = true;
    for (size_t n = 0; n < sizeof half / sizeof *half; n++)
        round &= psr_round(half[n][0]) == (int64_t)half[n][1];
    ok(round, "halves are rounded away from zero");

    /* 300 pc cm^-3 between 1200 and 1500 MHz: 4149.37759 300 (1/1200^2 - 1/1500^2) s = 0.311203 s.
     */
    ok(psr_delay_samples(PSR_DMCONST_PRESTO, 300, 1200, 1500, 64e-6) == 4863, "a delay in samples");
    ok(psr_delay_samples(PSR_DMCONST_PRESTO, 300, 1500, 1200, 64e-6) == -4863, "and the other way");
    ok(psr_delay_samples(PSR_DMCONST_PRESTO, 300, 1500, 1500, 64e-6) == 0, "none against itself");
    bool scrunch = true;
    for (int n = 0; n < 10000; n++) {
        double smear = exp(12 * tap_uniform(&seed) - 3), ratio = exp(4 * tap_uniform(&seed) - 2);
        int64_t most = 1 + (int64_t)(tap_uniform(&seed) * 2000), want = 1;
        for (int64_t m = 2; m <= most; m *= 2)
            want = (double)m * ratio <= smear ? m : want;
        scrunch &= psr_scrunch(smear, ratio, most) == want;
    }
    ok(scrunch, "samples are summed by the largest power of two that smearing allows");
    ok(psr_scrunch(0, 1, 64) == 1 && psr_scrunch(1.99, 1, 64) == 1 && psr_scrunch(2, 1, 64) == 2 &&
           psr_scrunch(1, 0.5, 64) == 2 && psr_scrunch(1e300, 1, 64) == 64 &&
           psr_scrunch(1e300, 1, INT64_MAX) > 0,
       "from the diagonal on, and no further than the limit");
    return done_testing();
}
