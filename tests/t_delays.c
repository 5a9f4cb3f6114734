/* delays: the dispersion law, its constants and its rounding. */
#include <psrkit/ddplan.h>

#include "tap.h"
#include <math.h>

int main(void)
{
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
