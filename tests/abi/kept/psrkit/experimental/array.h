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

/* What the conversion to grid coordinates depends on. */
struct psr_pointing_frame {
    const struct psr_array *array;
    size_t nfreq;
    const double *freq_mhz; /* [nfreq] */
    int phase_sign;         /* of the voltages, as in dada.h: 1 mirrors the coordinates */
};

PSR_API_END
#endif
