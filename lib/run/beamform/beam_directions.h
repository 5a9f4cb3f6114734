/* beam_directions.h: selects the beams and computes their directions (private). */
#ifndef PSR_RUN_BEAMFORM_BEAM_DIRECTIONS_H
#define PSR_RUN_BEAMFORM_BEAM_DIRECTIONS_H

#include "beam_input.h"

struct psr_beam_directions {
    bool grid;                      /* beams of the half-integer grid */
    struct psr_pointings pointings; /* selected beams; none if all of the grid are */
    size_t nbeam;                   /* wanted */
    size_t first, nbeam_all; /* number of the first one wanted, and of how many there are in all */
    size_t n_ew;             /* beams of a row where they are a product; 0 where they are none */
    double *theta_ns, *theta_ew; /* [nfreq][nbeam] as last pointed; of a product its lists */
};

/* Reads or makes the list, selects the requested beams, and points them for the start.  It can be
 * cleared whatever the status.
 * Given:  file   for psr_pointings_read; NULL: the grid
 *         beam   form only this one; -1: all
 * Status: those of psr_pointings_read and psr_pointings_theta; PSR_EINVAL if there is no such beam;
 *         PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_beam_directions_choose(struct psr_beam_directions *d,
                                                     const struct psr_beam_input *in,
                                                     const char *file, int64_t beam, psr_err *err);
void psr_beam_directions_clear(struct psr_beam_directions *d);

/* Updates theta_ns and theta_ew of tracking beams to a date. */
PSR_MUST_CHECK psr_status psr_beam_directions_point(struct psr_beam_directions *d,
                                                    const struct psr_beam_input *in,
                                                    struct psr_mjd now, psr_err *err);

/* Direction of beam b at the start and mid-band, its number, and the number of beams. */
void psr_beam_directions_describe(const struct psr_beam_directions *d,
                                  const struct psr_beam_input *in, size_t b, struct psr_obs *obs);

#endif
