/* Computes how the period of a pulsar changes, from its orbit and drift. */
#include "fakebin.h"

#include <math.h>
#include <psrkit/obs.h>

static const double degree = M_PI / 180;

void fakebin_set_orbit(struct psr_fake_signal *s, const struct fakebin_orbit *orbit)
{
    double period_s = orbit->period_h * 3600;
    s->binary = true;
    s->orbit = (struct psr_orbit){
        .period_s = period_s,
        .ecc = orbit->ecc,
        .asini_s = psr_orbit_asini_s(period_s, orbit->inc_deg * degree, orbit->pulsar_msun,
                                     orbit->companion_msun),
        .omega_rad = orbit->omega_deg * degree,
        .t0_s = orbit->phase * period_s,
    };
}

void fakebin_set_drift(struct psr_fake_signal *s, double pdot, double accn, double observed_s)
{
    s->period_s /= 1 + accn * observed_s / 2 / PSR_LIGHT_M_S;
    s->pdot = pdot + s->period_s * accn / PSR_LIGHT_M_S;
}
