/* orbit_internal.h: orbits, and signals that pulsars on them emit (private). */
#ifndef PSR_ASTRO_ORBIT_INTERNAL_H
#define PSR_ASTRO_ORBIT_INTERNAL_H

#include <psrkit/fake.h>

/* Status: PSR_EINVAL naming field, value and limit. */
PSR_MUST_CHECK psr_status psr_orbit_check(const struct psr_orbit *orbit, psr_err *err);

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

#endif
