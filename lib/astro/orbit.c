/* Solves Kepler orbits. */
#include "orbit_internal.h"

#include <psrkit/fake.h>

#include <math.h>

static const double two_pi = 2 * M_PI;

psr_status psr_orbit_check(const struct psr_orbit *orbit, psr_err *err)
{
    if (!(orbit->period_s > 0 && orbit->period_s < 1e15))
        return psr_fail_field(err, PSR_EINVAL, "period_s", "orbit: period %g s, must be above 0",
                              orbit->period_s);
    if (!(orbit->ecc >= 0 && orbit->ecc < 1))
        return psr_fail_field(err, PSR_EINVAL, "ecc", "orbit: eccentricity %g, must be in [0, 1)",
                              orbit->ecc);
    /* The velocity at periastron; the delay could not be undone at that of light. */
    double speed =
        two_pi / orbit->period_s * fabs(orbit->asini_s) * sqrt((1 + orbit->ecc) / (1 - orbit->ecc));
    if (!(speed < 0.5))
        return psr_fail_field(err, PSR_EINVAL, "asini_s",
                              "orbit: %g times the speed of light at periastron, must be below 0.5",
                              speed);
    if (!isfinite(orbit->omega_rad) || !isfinite(orbit->t0_s))
        return psr_fail_field(err, PSR_EINVAL, "omega_rad", "orbit: periastron is not a number");
    return PSR_OK;
}

double psr_orbit_asini_s(double period_s, double inc_rad, double pulsar_msun, double companion_msun)
{
    double total = pulsar_msun + companion_msun, n = two_pi / period_s;
    double a_s = cbrt(PSR_TSUN_S * total / (n * n));
    return a_s * companion_msun / total * sin(inc_rad);
}

/* Bisection is the net under Newton's steps, which overshoot near e = 1; the bracket
 * M - e <= E <= M + e always holds. */
static double solve_kepler(double mean, double ecc)
{
    double low = mean - ecc, high = mean + ecc;
    double e = mean + ecc * sin(mean) / (1 - sin(mean + ecc) + sin(mean));
    for (int i = 0; i < 100; i++) {
        if (!(e >= low && e <= high))
            e = 0.5 * (low + high);
        double s = sin(e), f = e - ecc * s - mean;
        if (f > 0)
            high = e;
        else
            low = e;
        double slope = 1 - ecc * cos(e);
        double step = f / slope;
        step = f / (slope - 0.5 * step * ecc * s); /* Halley's third order */
        e -= step;
        if (fabs(step) <= 1e-15 * (1 + fabs(e)))
            break;
    }
    return e;
}

double psr_orbit_eccentric_anomaly(double mean_rad, double ecc)
{
    double turns = rint(mean_rad / two_pi);
    double mean = remainder(mean_rad, two_pi);
    if (ecc == 0)
        return mean_rad;
    double e = copysign(solve_kepler(fabs(mean), ecc), mean);
    return turns == 0 ? e : e + (mean_rad - mean);
}

struct psr_motion psr_orbit_delay(const struct psr_orbit *orbit, double t_s)
{
    double n = two_pi / orbit->period_s, e = orbit->ecc, a = orbit->asini_s;
    double big = psr_orbit_eccentric_anomaly(n * remainder(t_s - orbit->t0_s, orbit->period_s), e);
    double s = sin(big), c = cos(big), along = sin(orbit->omega_rad);
    double across = cos(orbit->omega_rad) * sqrt(1 - e * e);
    /* Derivatives of the delay by the eccentric anomaly, and of that by time. */
    double x1 = a * (across * c - along * s), x2 = -a * (along * c + across * s), x3 = -x1;
    double d = 1 / (1 - e * c);
    double e1 = n * d, e2 = -e1 * e1 * d * e * s;
    double e3 = e1 * e1 * e1 * d * e * (3 * e * s * s * d - c);
    return (struct psr_motion){
        .value = a * (along * (c - e) + across * s),
        .d1 = x1 * e1,
        .d2 = x2 * e1 * e1 + x1 * e2,
        .d3 = x3 * e1 * e1 * e1 + 3 * x2 * e1 * e2 + x1 * e3,
    };
}

double psr_orbit_emission_s(const struct psr_orbit *orbit, double t_s)
{
    double u = t_s - psr_orbit_delay(orbit, t_s).value;
    for (int i = 0; i < 100; i++) {
        struct psr_motion r = psr_orbit_delay(orbit, u);
        double step = (u + r.value - t_s) / (1 + r.d1);
        u -= step;
        if (fabs(step) <= 1e-13 + 1e-16 * fabs(t_s))
            break;
    }
    return u;
}
