/* Evaluates ephemerides of pulsars around a date. */
#include "orbit_internal.h"

#include <psrkit/ephemeris.h>

#include <math.h>

static const double day_s = 86400, year_s = 365.25 * 86400, two_pi = 2 * M_PI;

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
