/* beam_input.h: opens the voltages and reads their array (private). */
#ifndef PSR_RUN_BEAMFORM_BEAM_INPUT_H
#define PSR_RUN_BEAMFORM_BEAM_INPUT_H

#include <psrkit/experimental/array.h>
#include <psrkit/experimental/dada.h>

struct psr_beam_input {
    const char *name; /* of the first file */
    psr_voltages *voltages;
    const struct psr_dada *header;
    int64_t nsamp; /* -1 if unknown until the end */
    double tsamp_s;
    size_t sample_bytes;
    size_t nfreq;
    double *freq_mhz; /* [nfreq] */
    struct psr_array array;
    struct psr_pointing_frame frame;
};

/* Open the files, and read the array.  Everything can be closed whatever the status.
 * Status: those of psr_voltages_open, PSR_ENOMEM; those of psr_array_read and psr_array_set_site,
 *         PSR_EFORMAT if the numbers of dishes and inputs differ */
PSR_MUST_CHECK psr_status psr_beam_input_open(struct psr_beam_input *in,
                                              const struct psr_voltages_desc *desc, psr_err *err);
PSR_MUST_CHECK psr_status psr_beam_input_read_array(struct psr_beam_input *in, const char *path,
                                                    const char *site, const struct psr_notes *notes,
                                                    psr_err *err);
void psr_beam_input_close(struct psr_beam_input *in);

/* Date of sample t. */
struct psr_mjd psr_beam_input_date(const struct psr_beam_input *in, int64_t t);

#endif
