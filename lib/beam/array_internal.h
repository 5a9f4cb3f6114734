/* array_internal.h: checks of arrays, pointings and gains (private). */
#ifndef PSR_BEAM_ARRAY_INTERNAL_H
#define PSR_BEAM_ARRAY_INTERNAL_H

#include <psrkit/experimental/array.h>

/* Sets the site of an array from "LON,LAT,H", the format of psr_site_parse.
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_array_set_site(struct psr_array *a, const char *text, psr_err *err);

/* Checks that sizes are in range, spacings are finite and not 0, at least one dish is on the grid,
 * and no two share a position.
 * Given:  name   for the message
 * Status: PSR_EFORMAT, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_array_check(const struct psr_array *a, const char *name,
                                          psr_err *err);

/* Convert a direction to grid coordinates at one frequency, and back.
 * Given: north, east   direction cosines
 * Notes: grid coordinates of a fixed direction are proportional to freq_mhz */
void psr_array_theta(const struct psr_array *a, double freq_mhz, double north, double east,
                     double *theta_ns, double *theta_ew);
void psr_array_cosines(const struct psr_array *a, double freq_mhz, double theta_ns, double theta_ew,
                       double *north, double *east);

/* Reads a list of beams; its grammar is in psrkit-formats(5).
 * Returned: *a, initialised here; the caller clears it; cleared on error
 * Status:   PSR_EIO; PSR_EFORMAT naming file, line and value, also for no beams or more than 2^20;
 *           PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pointings_read(struct psr_pointings *a, const char *path,
                                             psr_err *err);
void psr_pointings_clear(struct psr_pointings *a);

/* Converts beams to grid coordinates at a given time.
 * Given:    now, start   UTC; start is the time at which beams that do not track are placed; both
 *                        are used only for RADEC
 * Returned: theta_ns, theta_ew   [nfreq][n], as in psr_beam_desc
 * Status:   PSR_EINVAL naming beam, field, value and limit: below the horizon, not on the sky
 *           (theta with direction cosines above 1), RADEC without a site or a date */
PSR_MUST_CHECK psr_status psr_pointings_theta(const struct psr_pointings *a,
                                              const struct psr_pointing_frame *f,
                                              struct psr_mjd start, struct psr_mjd now,
                                              double *theta_ns, double *theta_ew, psr_err *err);

/* Converts grid coordinates at one frequency to azimuth and elevation.
 * Returned: azimuth and elevation in degrees; false if the coordinates are not on the sky */
bool psr_pointing_azel(const struct psr_pointing_frame *f, double freq_mhz, double theta_ns,
                       double theta_ew, double *az_deg, double *el_deg);

/* Convert azimuth and elevation to J2000 at a given time, and back.  Refraction is ignored and UT1
 * approximated by UTC (error at most 15").
 * Status: PSR_EINVAL without a site, or for a date outside UTC */
PSR_MUST_CHECK psr_status psr_pointing_to_sky(const struct psr_array *array, struct psr_mjd utc,
                                              double az_deg, double el_deg, double *ra_deg,
                                              double *dec_deg, psr_err *err);
PSR_MUST_CHECK psr_status psr_pointing_from_sky(const struct psr_array *array, struct psr_mjd utc,
                                                double ra_deg, double dec_deg, double *az_deg,
                                                double *el_deg, psr_err *err);

/* Tests whether n beams [nfreq][n] are an outer product in the order of PSR_BEAM_PRODUCT.
 * Returned: lengths of the two lists, n_ns n_ew = n; 0 and 0 if they are not
 * Notes:    the elements of the lists are those of beams i n_ew and j */
void psr_pointings_factor(const double *theta_ns, const double *theta_ew, size_t nfreq, size_t n,
                          size_t *n_ns, size_t *n_ew);

/* Reads gains: a text file of rows "CHANNEL POL DISH RE IM", where * means all and unlisted gains
 * are 1; or a NumPy file (.npy) of complex numbers [nfreq][2][ndish].
 * Returned: *weight [nfreq][2][ndish][2], malloc'd, caller frees
 * Status:   PSR_EIO; PSR_EFORMAT naming file, field, value and limit (wrong shape, an index out of
 *           range, a number that is not finite); PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_gains_read(const char *path, size_t nfreq, size_t ndish,
                                         float **weight, psr_err *err);

#endif
