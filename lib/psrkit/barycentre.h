/* barycentre.h: times at a telescope to times at the barycentre of the solar system.
 *
 * The barycentric time of a pulse of infinite frequency is
 *
 *   TDB = UTC + (TT - UTC) + Einstein + Roemer + Shapiro,
 *
 * Einstein being TDB - TT at the site (Fairhead and Bretagnon 1990), Roemer the light time along
 * the direction of the source, n.r/c, and Shapiro that of the Sun, 2 GM/c^3 ln(s + n.s) with s the
 * site against the Sun in au (an arbitrary constant is left out, as everywhere).  All come from
 * ERFA: the Earth is where eraEpv00 puts it (4.6 km rms and 13.4 km at worst from DE405), UT1 is
 * taken for UTC (at most 1.4 us) and polar motion for none.  No file of ephemerides is needed. */
#ifndef PSRKIT_BARYCENTRE_H
#define PSRKIT_BARYCENTRE_H

#include <psrkit/obs.h>

PSR_API_BEGIN

/* Where a telescope stands, in metres on the axes of the ITRS; 0, 0, 0 is the Earth's centre. */
struct psr_site {
    double xyz_m[3];
};

/* Returned: true and the site of a telescope by any name that PRESTO or a file has for it, whatever
 *           its case; false and the Earth's centre for names that are not known. */
bool psr_site_find(const char *telescope, struct psr_site *site);

/* The same by the names that PRESTO looks for.  It gives telescopes some names for which it then
 * does not look: KAT-7 and Ooty are at the Earth's centre to it. */
bool psr_site_find_as_presto(const char *telescope, struct psr_site *site);

/* Given:  text   "LON,LAT,H": degrees east, degrees north, metres above the WGS84 ellipsoid
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_site_parse(const char *text, struct psr_site *site, psr_err *err);

/* Given:    text   "RA,DEC", J2000: hh:mm:ss.s or degrees, dd:mm:ss.s or degrees
 * Returned: degrees
 * Status:   PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_position_parse(const char *text, double *ra_deg, double *dec_deg,
                                             psr_err *err);

/* A telescope that looks at a source; plain data, to be filled by psr_bary_init. */
struct psr_bary {
    bool geocentre;
    double east_rad, north_rad, height_m; /* geodetic, WGS84 */
    double axis_km, equator_km;           /* distance from the Earth's axis and equator */
    double source[3];                     /* unit vector to the source, ICRS */
};

void psr_bary_init(struct psr_bary *b, const struct psr_site *site, double ra_deg, double dec_deg);

/* Given:    utc   the date as files have it: seconds since midnight over 86400
 * Returned: *tdb  the barycentric date
 * Status:   PSR_EINVAL for dates before 1960, when UTC began */
PSR_MUST_CHECK psr_status psr_bary_time(const struct psr_bary *b, struct psr_mjd utc,
                                        struct psr_mjd *tdb, psr_err *err);

/* Returned: *voverc  how fast the site recedes from the source as a share of the speed of light,
 *           (frequency at the barycentre / frequency at the site) - 1
 * Status:   as psr_bary_time */
PSR_MUST_CHECK psr_status psr_bary_velocity(const struct psr_bary *b, struct psr_mjd utc,
                                            double *voverc, psr_err *err);

/* psr_bary_velocity averaged over an observation as PRESTO does: every 20 s of a stretch a tenth
 * longer than the length_s seconds from utc on. */
PSR_MUST_CHECK psr_status psr_bary_mean_velocity(const struct psr_bary *b, struct psr_mjd utc,
                                                 double length_s, double *voverc, psr_err *err);

/* An observation's own clock against the barycentre; plain data, to be filled by
 * psr_bary_clock_init. */
struct psr_bary_clock {
    struct psr_bary bary;
    double start;    /* UTC, MJD */
    double tt_utc_s; /* at the start: seconds go on being seconds whatever UTC does */
    double drift;    /* days from start to its barycentric date */
};

/* Status: as psr_bary_time */
PSR_MUST_CHECK psr_status psr_bary_clock_init(struct psr_bary_clock *clock,
                                              const struct psr_bary *b, struct psr_mjd utc,
                                              psr_err *err);

/* By how many seconds the barycentre's clock has gained after t_s seconds at the telescope; ctx is
 * a struct psr_bary_clock.  A psr_drift_s for resample.h.
 * Notes:  dates are rounded to doubles (0.6 us) where PRESTO's are, so that bins are added and
 *         removed at the samples where PRESTO adds and removes them. */
double psr_bary_drift_s(const void *ctx, double t_s);

PSR_API_END
#endif
