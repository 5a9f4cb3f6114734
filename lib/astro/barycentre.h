/* barycentre.h: converts times at a telescope to times at the solar-system barycentre (private).
 *
 * The barycentric arrival time of a pulse at infinite frequency is
 *
 *   TDB = UTC + (TT - UTC) + Einstein + Roemer + Shapiro.
 *
 * Einstein is TDB - TT at the site (Fairhead and Bretagnon 1990).  Roemer is the light travel time
 * along the direction of the source, n.r/c.  Shapiro is the delay in the Sun's field, 2 GM/c^3 ln(s
 * + n.s), where s is the vector from the Sun to the site in au; a constant is omitted, as is usual.
 * ERFA computes all terms: the Earth's position is eraEpv00's (within 4.6 km rms and 13.4 km at
 * worst of DE405), UT1 is approximated by UTC (error at most 1.4 us) and polar motion is neglected.
 * No ephemeris file is needed. */
#ifndef PSR_ASTRO_BARYCENTRE_H
#define PSR_ASTRO_BARYCENTRE_H

#include "base/obs_internal.h"
#include <psrkit/fake.h>
#include <psrkit/obs.h>

/* Given:  text   "LON,LAT,H": degrees east, degrees north, metres above the WGS84 ellipsoid
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_site_parse(const char *text, struct psr_site *site, psr_err *err);

/* Given:    text   "RA,DEC", J2000: hh:mm:ss.s or degrees, dd:mm:ss.s or degrees
 * Returned: degrees
 * Status:   PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_position_parse(const char *text, double *ra_deg, double *dec_deg,
                                             psr_err *err);

/* A telescope and the source it observes; plain data, filled by psr_bary_init. */
struct psr_bary {
    bool geocentre;
    double east_rad, north_rad, height_m; /* geodetic, WGS84 */
    double axis_km, equator_km;           /* distance from the Earth's axis and equator */
    double source[3];                     /* unit vector to the source, ICRS */
};

void psr_bary_init(struct psr_bary *b, const struct psr_site *site, double ra_deg, double dec_deg);

/* Given:    utc   the date as files store it: seconds since midnight divided by 86400
 * Returned: *tdb   the barycentric date
 * Status:   PSR_EINVAL for dates before 1960, when UTC began */
PSR_MUST_CHECK psr_status psr_bary_time(const struct psr_bary *b, struct psr_mjd utc,
                                        struct psr_mjd *tdb, psr_err *err);

/* Returned: *voverc   velocity of the site away from the source over the speed of light, (frequency
 *                     at the barycentre / frequency at the site) - 1
 * Status:   as psr_bary_time */
PSR_MUST_CHECK psr_status psr_bary_velocity(const struct psr_bary *b, struct psr_mjd utc,
                                            double *voverc, psr_err *err);

/* psr_bary_velocity averaged over an observation as PRESTO does: sampled every 20 s over 1.1
 * length_s seconds from utc. */
PSR_MUST_CHECK psr_status psr_bary_mean_velocity(const struct psr_bary *b, struct psr_mjd utc,
                                                 double length_s, double *voverc, psr_err *err);

/* The clock of an observation relative to the barycentre; plain data, filled by
 * psr_bary_clock_init. */
struct psr_bary_clock {
    struct psr_bary bary;
    double start;    /* UTC, MJD */
    double tt_utc_s; /* TT - UTC at the start; leap seconds during the observation are ignored */
    double drift;    /* days from start to its barycentric date */
};

/* Status: as psr_bary_time */
PSR_MUST_CHECK psr_status psr_bary_clock_init(struct psr_bary_clock *clock,
                                              const struct psr_bary *b, struct psr_mjd utc,
                                              psr_err *err);

/* Seconds that the barycentric clock has gained after t_s seconds at the telescope; ctx is a struct
 * psr_bary_clock.  A psr_drift_s for dsp.h.
 * Notes: dates are rounded to doubles (0.6 us) where PRESTO rounds them, so that bins are added and
 *        removed at the same samples as in PRESTO */
double psr_bary_drift_s(const void *ctx, double t_s);

/* --- orbits ----------------------------------------------------------------------------------- */

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
