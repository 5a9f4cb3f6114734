/* pointing.h: where beams look: lists of directions from files, brought to the grid coordinates of
 * an array (Smith 2022 eq. 1), and gains of its inputs. */
#ifndef PSRKIT_POINTING_H
#define PSRKIT_POINTING_H

#include <psrkit/array.h>
#include <psrkit/beam.h>
#include <psrkit/obs.h>

PSR_API_BEGIN

enum psr_pointing_kind {
    PSR_POINTING_THETA, /* x, y: theta, theta'; at at_mhz, or the same at all frequencies where that is 0
                    */
    PSR_POINTING_AZEL,  /* x, y: azimuth from north through east, elevation; degrees */
    PSR_POINTING_RADEC, /* x, y: right ascension, declination (J2000); degrees */
};

struct psr_pointing {
    enum psr_pointing_kind kind;
    bool track; /* RADEC: follows the sky; otherwise it stays where it was at the start */
    double x, y, at_mhz;
};

struct psr_pointings {
    struct psr_pointing *pointing; /* [n] one a beam; owned */
    size_t n;
    bool tracks; /* whether any does */
};

/* Reads a list of beams; psrkit-formats(5) has the grammar.
 * Returned: *a, initialised here; the caller clears it; cleared on error
 * Status:   PSR_EIO; PSR_EFORMAT naming file, line and value, also for no beam at all or more than
 *           2^20; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_pointings_read(struct psr_pointings *a, const char *path,
                                             psr_err *err);
void psr_pointings_clear(struct psr_pointings *a);

/* From what directions become grid coordinates. */
struct psr_pointing_frame {
    const struct psr_array *array;
    size_t nfreq;
    const double *freq_mhz; /* [nfreq] */
    int phase_sign;         /* of the voltages, as in dada.h: 1 mirrors the coordinates */
};

/* Brings beams to grid coordinates at a time.
 * Given:    now, start   UTC; start is when those that do not track were where they are; only
 *                        looked at for RADEC
 * Returned: theta_ns, theta_ew [nfreq][n], as psr_beam_desc wants them
 * Status:   PSR_EINVAL naming beam, field, value and limit: below the horizon, beyond the sky
 *           (theta's direction cosines above 1), RADEC without a site or a date. */
PSR_MUST_CHECK psr_status psr_pointings_theta(const struct psr_pointings *a,
                                              const struct psr_pointing_frame *f,
                                              struct psr_mjd start, struct psr_mjd now,
                                              double *theta_ns, double *theta_ew, psr_err *err);

/* Grid coordinates of a source to its direction at one frequency, and to the sky.
 * Returned: azimuth and elevation in degrees, false where the coordinates lie beyond the sky. */
bool psr_pointing_azel(const struct psr_pointing_frame *f, double freq_mhz, double theta_ns,
                       double theta_ew, double *az_deg, double *el_deg);

/* Azimuth and elevation to J2000 at a time and back, without refraction, UT1 taken for UTC (which
 * moves a source by 15" at most).
 * Status: PSR_EINVAL without a site, or for a date that is none of UTC. */
PSR_MUST_CHECK psr_status psr_pointing_to_sky(const struct psr_array *array, struct psr_mjd utc,
                                              double az_deg, double el_deg, double *ra_deg,
                                              double *dec_deg, psr_err *err);
PSR_MUST_CHECK psr_status psr_pointing_from_sky(const struct psr_array *array, struct psr_mjd utc,
                                                double ra_deg, double dec_deg, double *az_deg,
                                                double *el_deg, psr_err *err);

/* Whether n beams [nfreq][n] are an outer product in the order of PSR_BEAM_PRODUCT.
 * Returned: its lists' lengths, n_ns n_ew = n; 0 and 0 where they are none
 * Notes:    the lists' elements are those of beams i n_ew and j. */
void psr_pointings_factor(const double *theta_ns, const double *theta_ew, size_t nfreq, size_t n,
                          size_t *n_ns, size_t *n_ew);

/* Reads gains: a text file of rows "CHANNEL POL DISH RE IM", where * is every one and what no row
 * names is 1; or a NumPy file (.npy) of complex numbers [nfreq][2][ndish].
 * Returned: *weight [nfreq][2][ndish][2], malloc'd, caller frees
 * Status:   PSR_EIO; PSR_EFORMAT naming file, field, value and limit (another shape, an index
 *           beyond it, no finite number); PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_gains_read(const char *path, size_t nfreq, size_t ndish,
                                         float **weight, psr_err *err);

PSR_API_END
#endif
