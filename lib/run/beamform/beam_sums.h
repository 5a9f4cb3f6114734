/* beam_sums.h: number of samples summed in each channel (private). */
#ifndef PSR_RUN_BEAMFORM_BEAM_SUMS_H
#define PSR_RUN_BEAMFORM_BEAM_SUMS_H

#include "beam_input.h"

struct psr_beam_sums {
    size_t nfreq;
    size_t *length; /* [nfreq] samples in a sum of each channel */
    size_t tds;     /* the shortest of them: samples in a row of output */
    size_t longest;
    size_t unit; /* samples in which all channels' sums end together */
};

/* Sets the lengths from a number (0: about 1 ms), or from a file of rows "MHZ SAMPLES", which may
 * be NULL.  They can be cleared whatever the status.
 * Status: those of psr_text_table_read; PSR_EFORMAT naming file, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_beam_sums_read(struct psr_beam_sums *s,
                                             const struct psr_beam_input *in, int64_t tds,
                                             const char *file, psr_err *err);
void psr_beam_sums_clear(struct psr_beam_sums *s);

/* Rows that n more samples complete in all channels, after the first t0. */
size_t psr_beam_sums_rows(const struct psr_beam_sums *s, int64_t t0, size_t n);

/* Repeats the sums of channels with longer sums over nrow rows of a beam, each of row_bytes, so
 * that each appears in all rows of its time; as means over them, for floats, if requested. */
void psr_beam_sums_spread(const struct psr_beam_sums *s, void *rows, size_t nrow, size_t row_bytes,
                          bool means);

#endif
