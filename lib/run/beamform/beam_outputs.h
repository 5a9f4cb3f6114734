/* beam_outputs.h: a filterbank of each beam, and the scales, which get their final names together
 * (private). */
#ifndef PSR_RUN_BEAMFORM_BEAM_OUTPUTS_H
#define PSR_RUN_BEAMFORM_BEAM_OUTPUTS_H

#include "base/tool.h"
#include "beam_input.h"
#include "beam_scales.h"
#include <psrkit/experimental/beam.h>
#include <psrkit/experimental/outfile.h>

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

/* All is borrowed. */
struct psr_beam_outputs_desc {
    const struct psr_beamformer_desc *run; /* names of files, bits, notes, should_stop */
    const struct psr_beam_input *in;
    const struct psr_beam_sums *sums;
    const struct psr_beam_directions *directions; /* which stay as they are until wait returns */
    bool gathered; /* what is written comes in pieces that need not be buffered */
    int nthread;
    int64_t mem_bytes;
};

struct psr_beam_outputs {
    struct psr_beam_outputs_desc d;
    size_t nbeam;
    psr_outfile **file; /* [nbeam]; NULL once they are the group's */
    psr_output_group *group;
    struct psr_async_task opening;
};

/* Checks names and makes the files meanwhile: thousands take as long as a plan on a GPU does. */
void psr_beam_outputs_start(struct psr_beam_outputs *o, const struct psr_beam_outputs_desc *desc);

/* Waits until they are there.
 * Status: those of psr_overwrite_check_output, psr_output_group_create, psr_outfile_create */
PSR_MUST_CHECK psr_status psr_beam_outputs_wait(struct psr_beam_outputs *o, psr_err *err);

/* Writes bytes of beam b; different beams may be written by different threads. */
PSR_MUST_CHECK psr_status psr_beam_outputs_write(struct psr_beam_outputs *o, size_t b,
                                                 const void *bytes, size_t n, psr_err *err);

/* Completes the files, which get their final names. */
PSR_MUST_CHECK psr_status psr_beam_outputs_finish(struct psr_beam_outputs *o,
                                                  const struct psr_beam_scales *scales,
                                                  psr_err *err);

/* Removes the files without final names. */
void psr_beam_outputs_abort(struct psr_beam_outputs *o);

#endif
