/* edit_output.h: writes spectra in any format (private). */
#ifndef PSR_RUN_EDIT_EDIT_OUTPUT_H
#define PSR_RUN_EDIT_EDIT_OUTPUT_H

#include "edit_cutout.h"
#include "formats/hdf5/fbh5.h"

#include <psrkit/experimental/filterbank.h>
#include <psrkit/experimental/outfile.h>

/* Initialise with zeros. */
struct psr_edit_output {
    enum psr_edit_format format; /* not PSR_EDIT_BY_NAME */
    psr_outfile *file;
    bool grouped; /* then the file is the group's */
    psr_psrfits *fits;
    psr_fbh5 *hdf5;
    psr_edit_cutout *cutout; /* of PSR_EDIT_YOUR, made by the caller */
    size_t row_bytes;
};

/* Creates the file and writes the header.
 * Given:  group   that it belongs to, or NULL
 *         obs   nsamp -1: unknown, which PSRFITS cannot be
 * Status: PSR_EUNSUPPORTED, and those of psr_outfile_create and the formats; ends with abort, whatever it is */
PSR_MUST_CHECK psr_status psr_edit_output_create(struct psr_edit_output *o, const char *path,
                                                 psr_output_group *group,
                                                 enum psr_edit_format format,
                                                 const struct psr_obs *obs, psr_err *err);

/* What samples stand for, sample scale + offset: [nchan] each; before the first spectrum.  Only PSRFITS says it. */
void psr_edit_output_scale(struct psr_edit_output *o, const float *scale, const float *offset);

PSR_MUST_CHECK psr_status psr_edit_output_write(struct psr_edit_output *o, const uint8_t *rows,
                                                size_t nrow, psr_err *err);

/* Gives the file its name. */
PSR_MUST_CHECK psr_status psr_edit_output_finish(struct psr_edit_output *o, psr_err *err);

/* Removes what is not finished. */
void psr_edit_output_abort(struct psr_edit_output *o);

#endif
