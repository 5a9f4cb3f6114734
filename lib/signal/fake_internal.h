/* fake_internal.h: random numbers, orbits and phases (private). */
#ifndef PSR_SIGNAL_FAKE_INTERNAL_H
#define PSR_SIGNAL_FAKE_INTERNAL_H

#include <psrkit/fake.h>

/* Generates words first .. first + n - 1 of a stream. */
void psr_rng_words(uint64_t seed, uint32_t stream, uint64_t first, size_t n, uint32_t *word);

/* Generates the same range of the stream's Gaussian deviates, mean 0 and variance 1 (Box and
 * Muller).
 * Notes: two outputs of a block make two deviates.  Radii take 2^31 values, so no value exceeds
 *        6.66; values are accurate to 1e-6 (1 + 0.1 / r), where r^2 is the sum of the squares of a
 *        pair. */
void psr_rng_normal(uint64_t seed, uint32_t stream, uint64_t first, size_t n, float *x);

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

/* Rotational phase of pulsar i at time t_s at the highest channel: whole turns, and the fraction in
 * [0, 1), accurate to 1e-16 t_s / period. */
void psr_fake_phase(const psr_fake *p, size_t i, double t_s, int64_t *turns, double *fraction);

/* Given:    first, nsamp   from 0 on; earlier pulses are forgotten, so that ascending ranges are
 *                          fastest
 * Returned: x   [nsamp][nchan] real values, or pairs, of one polarisation, before they are coded
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fakeband_values(psr_fakeband *p, size_t pol, int64_t first,
                                              size_t nsamp, float *x, psr_err *err);

#endif
