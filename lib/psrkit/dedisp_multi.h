/* dedisp_multi.h: a whole dedispersion plan from one stream of spectra.
 *
 * A plan has lines: runs of trials, each with its own downsampling.  A fan-out holds a psr_dedisp
 * for each, and gives each what it would be given alone: the same bits.  What lines have in common
 * is done once: spectra are summed to a line's downsampling from the sums of the line whose
 * downsampling is the largest that divides it, where those are integers that 16 bits hold and the
 * sums are less to take in than the spectra; devices sum for themselves, and the spectra come to
 * them once for all lines.
 *
 * A fan-out is a stream as psr_dedisp is.  One fan-out, one caller's thread. */
#ifndef PSRKIT_DEDISP_MULTI_H
#define PSRKIT_DEDISP_MULTI_H

#include <psrkit/dedisp.h>

PSR_API_BEGIN

typedef struct psr_dedisp_multi psr_dedisp_multi;

/* As the fields of struct psr_dedisp_desc. */
struct psr_dedisp_multi_line {
    size_t downsamp;
    size_t ndm;
    const double *dm; /* [ndm] copied */
    enum psr_dedisp_algo algo;
    size_t nsub;
};

struct psr_dedisp_multi_desc {
    struct psr_dedisp_desc stream; /* its downsamp, ndm, dm, algo and nsub say nothing */
    size_t nline;
    const struct psr_dedisp_multi_line *line; /* [nline] */
};

/* Notes:  stream.mem_bytes bounds all lines together.
 * Status: those of psr_dedisp_create. */
PSR_MUST_CHECK psr_status psr_dedisp_multi_create(psr_dedisp_multi **out,
                                                  const struct psr_dedisp_multi_desc *desc,
                                                  psr_err *err);

/* What psr_dedisp_maxshift would say of a line's plan, without making it.
 * Status: as psr_dedisp_multi_create, of which it looks at the line only. */
PSR_MUST_CHECK psr_status psr_dedisp_multi_measure(const struct psr_dedisp_multi_desc *desc,
                                                   size_t line, size_t *maxshift, psr_err *err);

/* The plan of a line, for what psr_dedisp tells of shifts and delays, psr_dedisp_describe, and
 * psr_mask_correction_create; its spectra are not always the stream's, so nothing else is to be asked of it.
 */
const psr_dedisp *psr_dedisp_multi_plan(const psr_dedisp_multi *f, size_t line);

/* How many spectra are summed into one before the plan of a line sees them: 1 where it sees the
 * stream's. */
size_t psr_dedisp_multi_summed(const psr_dedisp_multi *f, size_t line);

/* A number of spectra per push for which they, their sums and the output [ndm][ready] of one line
 * at a time fit into mem_bytes beside the plans; any other works too, and gives the same bits. */
size_t psr_dedisp_multi_block(const psr_dedisp_multi *f);

/* Samples per trial of a line that nsamp more spectra would give. */
size_t psr_dedisp_multi_ready(const psr_dedisp_multi *f, size_t line, size_t nsamp);

/* Takes the next spectra for all lines.
 * Given:  in [nsamp][nchan] as in psr_dedisp_execute; to stay as it is until the lines have been
 *         executed
 * Status: PSR_ENOMEM.  After an error the fan-out can only be destroyed. */
PSR_MUST_CHECK psr_status psr_dedisp_multi_push(psr_dedisp_multi *f, const void *in, size_t nsamp,
                                                psr_err *err);

/* Gives the samples of a line that the last push completed; to be called once for every line and
 * push, and then out, stride and *nout are as in psr_dedisp_execute.  A line left out once must be
 * left out from then on.
 * Status: those of psr_dedisp_execute.  After an error the fan-out can only be destroyed. */
PSR_MUST_CHECK psr_status psr_dedisp_multi_execute(psr_dedisp_multi *f, size_t line, float *out,
                                                   size_t stride, size_t *nout, psr_err *err);

/* As psr_dedisp_multi_execute, but the series stay on devices: as psr_dedisp_execute_device, for the
 * spectra of the last push, and with its statuses.
 * Returned: *left spectra of the line that there was no room for: to be called again until that is
 *           0 */
PSR_MUST_CHECK psr_status psr_dedisp_multi_execute_device(
    psr_dedisp_multi *f, size_t line, const struct psr_device_series **device_series,
    size_t *ndevice_series, size_t *nout, size_t *left, psr_err *err);

/* NULL is fine. */
void psr_dedisp_multi_destroy(psr_dedisp_multi *f);

PSR_API_END
#endif
