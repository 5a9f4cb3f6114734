/* edit_cutout.h: makes the two pictures of a burst that classifiers read (private).
 *
 * Spectra come once, in order, and are not kept.  A bin of time is "step" samples, half the width of the burst; the one in
 * the middle begins at the burst, at the highest frequency.  Each channel is summed within bins that are shifted by its delay:
 * for 256 DMs from 0 to twice that of the burst, and at the DM itself. */
#ifndef PSR_RUN_EDIT_EDIT_CUTOUT_H
#define PSR_RUN_EDIT_EDIT_CUTOUT_H

#include <psrkit/experimental/filterbank.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/obs.h>

typedef struct psr_edit_cutout psr_edit_cutout;

struct psr_edit_cutout_desc {
    const struct psr_edit_burst *burst;
    const struct psr_source_desc *source;
    const struct psr_obs *input,
        *obs; /* the whole input, and the spectra that come: floats; borrowed */
    int64_t tsum, fsum;
    int64_t first; /* spectrum of obs that comes first, from the start of the input */
    int nthread;
};

/* Finds the spectra of the input that are needed, as far as it has them.
 * Given:    obs   the input
 * Returned: *start, *count; multiples of tsum
 * Status:   PSR_EINVAL for a burst outside of it, PSR_EUNSUPPORTED for an input of unknown length */
PSR_MUST_CHECK psr_status psr_edit_cutout_range(const struct psr_edit_burst *b,
                                                const struct psr_obs *obs, int64_t tsum,
                                                int64_t *start, int64_t *count, psr_err *err);

PSR_MUST_CHECK psr_status psr_edit_cutout_create(psr_edit_cutout **out,
                                                 const struct psr_edit_cutout_desc *desc,
                                                 psr_err *err);

/* Adds spectra.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_edit_cutout_add(psr_edit_cutout *c, const float *row, size_t nrow,
                                              psr_err *err);

/* Writes the file; samples beyond the ends of the input count as the mean of their channel.
 * Status: those of psr_cutout_write, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_edit_cutout_write(psr_edit_cutout *c, psr_outfile *f, psr_err *err);

void psr_edit_cutout_destroy(psr_edit_cutout *c); /* NULL is allowed */

#endif
