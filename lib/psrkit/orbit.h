/* orbit.h: Kepler orbits and the light-travel delay (Roemer delay) of a pulsar's signal. */
#ifndef PSRKIT_ORBIT_H
#define PSRKIT_ORBIT_H

#include <psrkit/status.h>

PSR_API_BEGIN

/* G M_sun / c^3, seconds. */
#define PSR_TSUN_S 4.925490947e-6

struct psr_orbit {
    double period_s;
    double ecc;       /* in [0, 1) */
    double asini_s;   /* projected semi-major axis of the pulsar, light-seconds */
    double omega_rad; /* longitude of periastron */
    double t0_s;      /* time of a periastron passage */
};

/* A quantity and its first three time derivatives. */
struct psr_motion {
    double value, d1, d2, d3;
};

/* Status: PSR_EINVAL naming field, value and limit. */
PSR_MUST_CHECK psr_status psr_orbit_check(const struct psr_orbit *orbit, psr_err *err);

/* Projected semi-major axis of a pulsar, in light-seconds, from Kepler's third law.
 * Given: inc_rad   inclination; 90 degrees is edge-on
 *        pulsar_msun, companion_msun   masses in solar masses */
double psr_orbit_asini_s(double period_s, double inc_rad, double pulsar_msun,
                         double companion_msun);

/* Solves E - ecc sin E = mean_rad for the eccentric anomaly E, to 1e-13 or the precision of
 * mean_rad.  E lies in the same turn as mean_rad.
 * Given: mean_rad   any value
 *        ecc   in [0, 1) */
double psr_orbit_eccentric_anomaly(double mean_rad, double ecc);

/* Delay, in seconds, of a signal emitted at pulsar time t_s: its distance behind the centre of mass
 * over c.  The first derivative is the line-of-sight velocity over c, positive when receding
 * (Blandford and Teukolsky 1976, eq. 2.8, without relativistic terms). */
struct psr_motion psr_orbit_delay(const struct psr_orbit *orbit, double t_s);

/* Pulsar time u of a signal received at t_s: solves u + delay(u) = t to 1e-12 s or the precision of
 * t_s. */
double psr_orbit_emission_s(const struct psr_orbit *orbit, double t_s);

PSR_API_END
#endif
