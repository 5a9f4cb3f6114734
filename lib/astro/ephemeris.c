/* Evaluates ephemerides of pulsars around a date. */
#include "astro/barycentre.h"

#include <math.h>
#include <psrkit/ephemeris.h>
#include <psrkit/fake.h>

/* --- orbits -------------------------------------------------------------------------------------- */

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

static const double day_s = 86400, year_s = 365.25 * 86400;

void psr_ephemeris_position(const struct psr_ephemeris *e, double mjd, double *ra_deg,
                            double *dec_deg)
{
    const double years = (mjd - e->posepoch_mjd) * day_s / year_s, mas_deg = 1 / 3.6e6;
    *dec_deg = e->dec_deg + e->pm_dec_mas * mas_deg * years;
    *ra_deg = e->ra_deg + e->pm_ra_mas * mas_deg * years / cos(e->dec_deg * (M_PI / 180));
    *ra_deg -= 360 * floor(*ra_deg / 360);
}

double psr_ephemeris_dm(const struct psr_ephemeris *e, double mjd)
{
    const double years = (mjd - e->dmepoch_mjd) * day_s / year_s;
    double sum = 0;
    for (int k = PSR_EPHEMERIS_NDM; k-- > 0;)
        sum = e->dm[k] + (k + 1 < PSR_EPHEMERIS_NDM ? sum * years / (k + 1) : 0);
    return sum;
}

/* The Taylor series around another date. */
static void move_spin(double to[PSR_EPHEMERIS_NF], const double from[PSR_EPHEMERIS_NF],
                      long double dt)
{
    for (int k = 0; k < PSR_EPHEMERIS_NF; k++) {
        long double sum = 0;
        for (int j = PSR_EPHEMERIS_NF; j-- > k;)
            sum = from[j] + sum * dt / (j - k + 1);
        to[k] = (double)sum;
    }
}

/* What glitches before the date have added to the series around it; a decay by its first derivatives. */
static void add_glitches(double f[PSR_EPHEMERIS_NF], const struct psr_ephemeris *e, double mjd)
{
    for (size_t i = 0; i < e->nglitch; i++) {
        const struct psr_glitch *g = &e->glitch[i];
        const double dt = (mjd - g->epoch_mjd) * day_s;
        if (dt < 0)
            continue;
        f[0] += g->f0 + dt * (g->f1 + dt / 2 * g->f2);
        f[1] += g->f1 + dt * g->f2;
        f[2] += g->f2;
        double decay = g->decay_s > 0 ? g->f0d * exp(-dt / g->decay_s) : 0;
        for (int k = 0; k < PSR_EPHEMERIS_NF; k++, decay /= -g->decay_s)
            f[k] += g->decay_s > 0 ? decay : 0;
    }
}

/* The Einstein delay goes with the sine of the eccentric anomaly, as a part of the orbit does; the sum
 * does not turn as the orbit does. */
static void add_einstein(struct psr_orbit *o, double gamma_s)
{
    if (gamma_s == 0)
        return;
    const double across = sqrt(1 - o->ecc * o->ecc);
    const double x = o->asini_s * sin(o->omega_rad),
                 y = o->asini_s * cos(o->omega_rad) + gamma_s / across;
    o->asini_s = hypot(x, y);
    o->omega_rad = atan2(x, y);
}

/* The true anomaly, with the orbits since the last periastron before the date. */
static double true_anomaly(const struct psr_orbit *o, double t_s)
{
    const double mean = two_pi * (t_s - o->t0_s) / o->period_s, whole = floor(mean / two_pi);
    const double half = psr_orbit_eccentric_anomaly(mean - two_pi * whole, o->ecc) / 2;
    return two_pi * whole + 2 * atan2(sqrt(1 + o->ecc) * sin(half), sqrt(1 - o->ecc) * cos(half));
}

/* By how much periastron has turned at a time since the date. */
static double advance_rad(const struct psr_ephemeris_local *l, double t_s)
{
    const struct psr_orbit *o = &l->orbit;
    if (!l->by_anomaly || l->omega_rate == 0)
        return l->omega_rate * t_s;
    return l->omega_rate * o->period_s / two_pi * (true_anomaly(o, t_s) - true_anomaly(o, 0));
}

psr_status psr_ephemeris_at(struct psr_ephemeris_local *l, const struct psr_ephemeris *e,
                            double mjd, psr_err *err)
{
    *l = (struct psr_ephemeris_local){.binary = e->pb_s > 0};
    move_spin(l->f, e->f, (long double)(mjd - e->pepoch_mjd) * (long double)day_s);
    add_glitches(l->f, e, mjd);
    if (!(l->f[0] > 0 && l->f[0] < 1e9))
        return psr_fail_field(err, PSR_EINVAL, "F0", "F0 = %g Hz at MJD %.6f: must be above 0",
                              l->f[0], mjd);
    if (!l->binary)
        return PSR_OK;
    const double dt = (mjd - e->t0_mjd) * day_s;
    const double turns = dt / e->pb_s, pb = e->pb_s + e->pbdot * dt;
    const double orbits = turns - 0.5 * e->pbdot * turns * turns;
    struct psr_orbit *o = &l->orbit;
    o->period_s = pb;
    o->asini_s = e->asini_s + e->xdot * dt;
    o->ecc = e->ecc + e->edot * dt;
    o->t0_s = -(orbits - floor(orbits)) * pb;
    l->omega_rate = e->omdot_rads;
    l->by_anomaly = e->by_anomaly;
    /* Since the first periastron, as many orbits before the last. */
    const double turned = e->by_anomaly ? pb * (floor(orbits) + true_anomaly(o, 0) / two_pi) : dt;
    o->omega_rad = e->omega_deg * (M_PI / 180) + e->omdot_rads * turned;
    l->x_rate = e->xdot;
    l->gamma_s = e->laplace ? 0 : e->gamma_s;
    if (e->laplace) {
        const double eps1 = e->eps1 + e->eps1dot * dt, eps2 = e->eps2 + e->eps2dot * dt;
        o->ecc = hypot(eps1, eps2);
        o->omega_rad = o->ecc > 0 ? atan2(eps1, eps2) : 0;
        o->t0_s += pb * o->omega_rad / two_pi;
        o->t0_s -= pb * ceil(o->t0_s / pb);
    }
    psr_status st = psr_orbit_check(&l->orbit, err);
    struct psr_orbit sum = l->orbit;
    if (st)
        return st;
    add_einstein(&sum, l->gamma_s);
    return psr_orbit_check(&sum, err);
}

double psr_ephemeris_emission_s(const struct psr_ephemeris_local *l, double t_s)
{
    double u_s = t_s;
    for (int i = 0; i < 2 && l->binary;
         i++) { /* the elements at pulsar time, which they move little */
        struct psr_orbit o = l->orbit;
        o.omega_rad += advance_rad(l, u_s);
        o.asini_s += l->x_rate * u_s;
        add_einstein(&o, l->gamma_s);
        u_s = psr_orbit_emission_s(&o, t_s);
    }
    return u_s;
}

long double psr_ephemeris_turns(const struct psr_ephemeris_local *l, long double u_s)
{
    long double sum = 0;
    for (int k = PSR_EPHEMERIS_NF; k-- > 0;)
        sum = (l->f[k] + sum) * u_s / (k + 1);
    return sum;
}
