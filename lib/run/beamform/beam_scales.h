/* beam_scales.h: measures or reads the scales that quantise intensities (private). */
#ifndef PSR_RUN_BEAMFORM_BEAM_SCALES_H
#define PSR_RUN_BEAMFORM_BEAM_SCALES_H

#include "beam_input.h"
#include <psrkit/experimental/beam.h>
#include <psrkit/experimental/outfile.h>

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

struct psr_beam_scales_desc {
    const struct psr_beam_input *in;  /* borrowed */
    const struct psr_beam_sums *sums; /* borrowed */
    size_t nbeam;
    int nbit;
    const char *file; /* of an earlier run; NULL: measure */
    int64_t mem_bytes;
};

struct psr_beam_scales {
    struct psr_beam_scales_desc d;
    float *offset, *gain; /* [nfreq] */

    /* While they are measured: rows of floats, [nbeam][kept_most]. */
    bool measures;
    float *kept;
    size_t kept_most, kept_n;
};

/* Reads the file, or prepares to measure, or does nothing for floats.  It can be released whatever
 * the status.
 * Status: those of psr_text_table_read; PSR_EFORMAT; PSR_EINVAL; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_beam_scales_begin(struct psr_beam_scales *s,
                                                const struct psr_beam_scales_desc *desc,
                                                psr_err *err);
void psr_beam_scales_release(struct psr_beam_scales *s);

/* Sets the scales in the plan. */
PSR_MUST_CHECK psr_status psr_beam_scales_apply(const struct psr_beam_scales *s, psr_beam *plan,
                                                psr_err *err);

/* Copies n rows of floats of beam b to the kept rows from "first" on. */
void psr_beam_scales_keep(struct psr_beam_scales *s, size_t b, size_t first, const void *rows,
                          size_t n);

/* Measures on the kept rows, with this number of threads. */
PSR_MUST_CHECK psr_status psr_beam_scales_measure(struct psr_beam_scales *s, int nthread,
                                                  psr_err *err);

/* Quantises the kept rows of a beam in place.
 * Returned: kept_n rows */
const void *psr_beam_scales_quantise(const struct psr_beam_scales *s, size_t b);

/* Writes the file. */
PSR_MUST_CHECK psr_status psr_beam_scales_write(const struct psr_beam_scales *s, psr_outfile *f,
                                                psr_err *err);

#endif
