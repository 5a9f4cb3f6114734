/* Computes cold-plasma delays. */
#include "base/tool.h"
#include "plan/ddplan_internal.h"
#include <psrkit/ddplan.h>

#include <math.h>
#include <string.h>

psr_status psr_parse_dmconst(const char *text, double *dmconst, psr_err *err)
{
    static const struct {
        const char *name;
        double value;
    } known[] = {{"presto", PSR_DMCONST_PRESTO}, {"sigproc", PSR_DMCONST_SIGPROC}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (!strcmp(text, known[k].name)) {
            *dmconst = known[k].value;
            return PSR_OK;
        }
    return psr_parse_double("dispersion constant (presto, sigproc or MHz^2 s)", text, 1.0, 1e6,
                            dmconst, err);
}

/* Divides by the reciprocal of the constant, in PRESTO's order: with its constant the reciprocal is
 * exactly its 0.000241, and every delay has PRESTO's bits. */
double psr_delay_s(double dmconst, double dm, double freq_mhz)
{
    return dm / (1.0 / dmconst * freq_mhz * freq_mhz);
}

int64_t psr_round(double x)
{
    return x < 0 ? -(int64_t)(0.5 - x) : (int64_t)(x + 0.5);
}

int64_t psr_delay_samples(double dmconst, double dm, double freq_mhz, double ref_mhz,
                          double tsamp_s)
{
    double delay_s = psr_delay_s(dmconst, dm, freq_mhz) - psr_delay_s(dmconst, dm, ref_mhz);
    return psr_round(delay_s / tsamp_s);
}

double psr_dispersed_share(double delay, double width)
{
    const double x = delay / width;
    return 1 / sqrt(sqrt(1 + 0.462 * x * x));
}

double psr_band_spread(double ratio)
{
    enum { STEPS = 64 };
    double least = 1;
    for (int k = 1; k <= STEPS && ratio > 1; k++) {
        const double x = (double)k / STEPS, freq = ratio - x * (ratio - 1),
                     delay = (1 / (freq * freq) - 1 / (ratio * ratio)) / (1 - 1 / (ratio * ratio));
        least = fmin(least, delay / (x * x));
    }
    return least;
}

int64_t psr_scrunch(double smear, double ratio, int64_t most)
{
    int64_t n = 1;
    while (n <= most / 2 && 2 * (double)n * ratio <= smear)
        n *= 2;
    return n;
}
