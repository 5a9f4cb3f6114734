/* dedisp_multi.h: runs all lines of a dedispersion plan on one stream of spectra (private).
 *
 * A line is a run of trials with its own downsampling.  A psr_dedisp_multi holds one psr_dedisp per
 * line; each returns the same bits as if it ran alone.  Common work is done once: on the CPU,
 * spectra are downsampled for a line from the sums of the line with the largest downsampling that
 * divides its own, if these sums are integers that fit into 16 bits and are smaller to read than
 * the spectra.  Devices downsample themselves and receive the spectra once for all lines.
 *
 * It processes a stream as psr_dedisp does.  Not thread-safe: use each object from one thread. */
#ifndef PSR_SEARCH_DEDISP_DEDISP_MULTI_H
#define PSR_SEARCH_DEDISP_DEDISP_MULTI_H

#include <psrkit/experimental/dedisp.h>

typedef struct psr_dedisp_multi psr_dedisp_multi;

/* The fields of struct psr_dedisp_desc that differ between lines. */
struct psr_dedisp_multi_line {
    size_t downsamp;
    size_t ndm;
    const double *dm; /* [ndm] copied */
    enum psr_dedisp_algo algo;
    size_t nsub;
    const unsigned char *keep; /* [nchan] its channels; copied; NULL: those of the stream */
};

struct psr_dedisp_multi_desc {
    struct psr_dedisp_desc stream; /* its downsamp, ndm, dm, algo and nsub are ignored */
    size_t nline;
    const struct psr_dedisp_multi_line *line; /* [nline] */
};

/* Notes:  stream.mem_bytes limits all lines together
 * Status: those of psr_dedisp_create */
PSR_MUST_CHECK psr_status psr_dedisp_multi_create(psr_dedisp_multi **out,
                                                  const struct psr_dedisp_multi_desc *desc,
                                                  psr_err *err);

/* Computes psr_dedisp_maxshift of one line without creating plans.
 * Status: as psr_dedisp_multi_create; only this line is checked */
PSR_MUST_CHECK psr_status psr_dedisp_multi_measure(const struct psr_dedisp_multi_desc *desc,
                                                   size_t line, size_t *maxshift, psr_err *err);

/* The plan of a line, for psr_dedisp functions that return shifts and delays, psr_dedisp_describe,
 * and psr_mask_correction_create.  Do not use it for anything else: its spectra are not always
 * those of the stream. */
const psr_dedisp *psr_dedisp_multi_plan(const psr_dedisp_multi *f, size_t line);

/* Number of spectra summed before they reach the plan of a line; 1 if the plan takes the stream's
 * own spectra. */
size_t psr_dedisp_multi_summed(const psr_dedisp_multi *f, size_t line);

/* Suggested spectra per push, for which they, their sums and the output [ndm][ready] of one line at
 * a time fit into mem_bytes beside the plans.  Any other number gives the same bits. */
size_t psr_dedisp_multi_block(const psr_dedisp_multi *f);

/* Samples per trial of a line that nsamp more spectra complete. */
size_t psr_dedisp_multi_ready(const psr_dedisp_multi *f, size_t line, size_t nsamp);

/* Takes the next spectra for all lines.
 * Given:  in   [nsamp][nchan] as in psr_dedisp_execute; must stay unchanged until all lines have
 *              been executed
 * Status: PSR_ENOMEM.  After an error the object can only be destroyed. */
PSR_MUST_CHECK psr_status psr_dedisp_multi_push(psr_dedisp_multi *f, const void *in, size_t nsamp,
                                                psr_err *err);

/* Returns the samples of a line that the last push completed.  Call it once per line and push; out,
 * stride and *nout are as in psr_dedisp_execute.  A line that was skipped once must be skipped from
 * then on.
 * Status: those of psr_dedisp_execute.  After an error the object can only be destroyed. */
PSR_MUST_CHECK psr_status psr_dedisp_multi_execute(psr_dedisp_multi *f, size_t line, float *out,
                                                   size_t stride, size_t *nout, psr_err *err);

/* As psr_dedisp_multi_execute, but the series stay on devices, as with psr_dedisp_execute_device.
 * Returned: *left, spectra of the last push that did not fit: call again until it is 0
 * Status:   those of psr_dedisp_execute_device */
PSR_MUST_CHECK psr_status psr_dedisp_multi_execute_device(
    psr_dedisp_multi *f, size_t line, const struct psr_device_series **device_series,
    size_t *ndevice_series, size_t *nout, size_t *left, psr_err *err);

/* Frees the object; NULL is allowed. */
void psr_dedisp_multi_destroy(psr_dedisp_multi *f);

#endif
