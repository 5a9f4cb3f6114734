/* array.h: dishes on a regular grid.
 *
 * Place (m, n) of an M x N grid lies m steps along the north-south axis and n steps along the
 * east-west axis from place (0, 0).  A step is signed: positive spacings go north and east as m and
 * n grow.  Not every place has a dish, and not every input of the correlator is a dish on the grid.
 *
 * A direction is given by its coordinates on that grid (Smith 2022 eq. 1),
 *   theta = M (u . step_ns) / lambda,   theta' = N (u . step_ew) / lambda,
 * u being the unit vector towards the source in local north, east, up; so with positive spacings
 * +theta is north and +theta' is east of the zenith. */
#ifndef PSRKIT_ARRAY_H
#define PSRKIT_ARRAY_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

enum {
    PSR_ARRAY_GRID_MAX = 512, /* places along one axis */
    PSR_ARRAY_NAME_MAX = 64,
};

struct psr_array {
    size_t m, n;       /* the grid's M (north-south) and N (east-west) */
    double ns_m, ew_m; /* metres from one place to the next, signed, not 0 */
    size_t ndish;      /* inputs, on the grid or not */
    int32_t *cell;     /* [ndish] m N + n of each input, -1 for one off the grid; owned */
    bool has_site;     /* whether the next three are known */
    double lon_deg, lat_deg, height_m;  /* geodetic (WGS84), east and north positive */
    char telescope[PSR_ARRAY_NAME_MAX]; /* "Unknown" where the file names none */
    char standin[PSR_ARRAY_NAME_MAX];   /* what the file says is not the telescope's own: some of
                                           site, spacing, places, inputs; "" for nothing */
};

/* Reads an array file; psrkit-formats(5) has the grammar.
 * Given:    path  the file; "-" is standard input
 * Returned: *a, initialised here; the caller clears it; cleared on error
 * Status:   PSR_EIO; PSR_EFORMAT naming file, line and value: a dish listed twice or not at all, a
 *           place taken twice or outside the grid, no grid or no spacing; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_array_read(struct psr_array *a, const char *path, psr_err *err);

/* Says where an array stands: "LON,LAT,H" as psr_site_parse takes it.  Status: PSR_EINVAL. */
PSR_MUST_CHECK psr_status psr_array_set_site(struct psr_array *a, const char *text, psr_err *err);

/* Checks what every user of an array relies on: sizes in their ranges, spacings finite and not 0,
 * at least one dish on the grid and no two at one place.  Given: name, for the message.
 * Status: PSR_EFORMAT, PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_array_check(const struct psr_array *a, const char *name,
                                          psr_err *err);

/* Direction to grid coordinates at one frequency and back.
 * Given:    north, east  direction cosines
 * Notes:    linear in frequency: a place in the sky moves through the grid as freq_mhz does. */
void psr_array_theta(const struct psr_array *a, double freq_mhz, double north, double east,
                     double *theta_ns, double *theta_ew);
void psr_array_cosines(const struct psr_array *a, double freq_mhz, double theta_ns, double theta_ew,
                       double *north, double *east);

/* Frees what a owns. */
void psr_array_clear(struct psr_array *a);

PSR_API_END
#endif
