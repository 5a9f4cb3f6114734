/* array.h: arrays of dishes, the directions of their beams, and gains. */
#ifndef PSRKIT_ARRAY_H
#define PSRKIT_ARRAY_H

#include <psrkit/obs.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* --- dishes ----------------------------------------------------------------------------------- */

/* Positions of the dishes of an array on a regular grid.
 *
 * Grid position (m, n) of an M x N grid is m steps along the north-south axis and n steps along the
 * east-west axis from position (0, 0).  Spacings are signed: with positive spacings, north and east
 * increase with m and n.  A grid position may be empty, and a correlator input need not be a dish
 * on the grid.
 *
 * A direction is given in grid coordinates (Smith 2022 eq. 1),
 *   theta = M (u . step_ns) / lambda,   theta' = N (u . step_ew) / lambda,
 * where u is the unit vector towards the source in local north, east, up.  With positive spacings
 * +theta is north and +theta' is east of the zenith. */

enum {
    PSR_ARRAY_GRID_MAX = 512, /* grid positions along one axis */
    PSR_ARRAY_NAME_MAX = 64,
};

struct psr_array {
    size_t m, n;       /* grid size M (north-south) and N (east-west) */
    double ns_m, ew_m; /* grid spacing in metres, signed, not 0 */
    size_t ndish;      /* number of inputs, on the grid or not */
    int32_t *cell;     /* [ndish] index m N + n of each input, -1 if off the grid; owned */
    bool has_site;     /* the next three fields are known */
    double lon_deg, lat_deg, height_m;  /* geodetic (WGS84), east and north positive */
    char telescope[PSR_ARRAY_NAME_MAX]; /* "Unknown" if the file does not name one */
    char standin[PSR_ARRAY_NAME_MAX];   /* which of site, spacing, positions and inputs the file
                                           marks as not the telescope's own; "" for none */
};

/* Reads an array file; its grammar is in psrkit-formats(5).
 * Given:    path   the file; "-" is standard input
 * Returned: *a, initialised here; the caller clears it; cleared on error
 * Status:   PSR_EIO; PSR_EFORMAT naming file, line and value: a dish listed twice or not at all, a
 *           position used twice or outside the grid, a missing grid or spacing; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_array_read(struct psr_array *a, const char *path, psr_err *err);

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

/* Frees the memory owned by a. */
void psr_array_clear(struct psr_array *a);

/* --- directions and gains --------------------------------------------------------------------- */

/* Directions in files, on the sky and in grid coordinates (Smith 2022 eq. 1). */

enum psr_pointing_kind {
    PSR_POINTING_THETA, /* x, y: theta, theta' at at_mhz, or the same at all frequencies if
                           at_mhz is 0 */
    PSR_POINTING_AZEL,  /* x, y: azimuth (north through east) and elevation, degrees */
    PSR_POINTING_RADEC, /* x, y: right ascension and declination (J2000), degrees */
};

struct psr_pointing {
    enum psr_pointing_kind kind;
    bool track; /* RADEC: tracks the sky; otherwise stays at its position at the start */
    double x, y, at_mhz;
};

struct psr_pointings {
    struct psr_pointing *pointing; /* [n] one per beam; owned */
    size_t n;
    bool tracks; /* any beam tracks the sky */
};

/* Reads a list of beams; its grammar is in psrkit-formats(5).
 * Returned: *a, initialised here; the caller clears it; cleared on error
 * Status:   PSR_EIO; PSR_EFORMAT naming file, line and value, also for no beams or more than 2^20;
 *           PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pointings_read(struct psr_pointings *a, const char *path,
                                             psr_err *err);
void psr_pointings_clear(struct psr_pointings *a);

/* What the conversion to grid coordinates depends on. */
struct psr_pointing_frame {
    const struct psr_array *array;
    size_t nfreq;
    const double *freq_mhz; /* [nfreq] */
    int phase_sign;         /* of the voltages, as in dada.h: 1 mirrors the coordinates */
};

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

PSR_API_END
#endif
