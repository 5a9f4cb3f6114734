/* lines.h: spectra to the series of a plan's lines, block by block (private). */
#ifndef PSR_PIPELINE_LINES_H
#define PSR_PIPELINE_LINES_H

#include "dedispersion.h"

typedef struct psr_lines psr_lines;

struct psr_lines_desc {
    const struct psr_dedispersion_ops *ops;
    struct psr_dedispersion_desc dedispersion;
    int64_t numout; /* samples wanted of every series; 0: all there are */
    bool same_end;  /* all series of a line end where that of the longest sweep does */
};

/* Status: those of psr_dedisp_multi_create, psr_subband_create or psr_compat_create, and of
 *         psr_mask_correction_create.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_lines_create(psr_lines **out, const struct psr_lines_desc *desc,
                                           psr_err *err);

/* --- before the first block ------------------------------------------------------------------- */

/* Spectra of a block; and whether blocks are copied to devices. */
size_t psr_lines_block(const psr_lines *l);
bool psr_lines_on_devices(const psr_lines *l);

/* Of a line: its series, the most samples of each in a block of nsamp spectra, presto_block of
 * resample.h, its plan (NULL: it has none), and the samples that its longest sweep draws on. */
size_t psr_lines_nseries(const psr_lines *l, size_t line);
size_t psr_lines_most(const psr_lines *l, size_t line, size_t nsamp);
size_t psr_lines_presto_block(const psr_lines *l, size_t line);
const psr_dedisp *psr_lines_plan(const psr_lines *l, size_t line);
size_t psr_lines_maxshift(const psr_lines *l, size_t line);

/* Status: PSR_EINVAL where nsamp spectra complete no sample of the line. */
PSR_MUST_CHECK psr_status psr_lines_check_length(const psr_lines *l, size_t line, int64_t nsamp,
                                                 psr_err *err);

/* Makes room for the series of one line at a time, and leaves those of a line on devices where they
 * are made.
 * Given:  stride [nline]   samples
 *         resident [nline]
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_lines_reserve(psr_lines *l, const size_t *stride,
                                            const bool *resident, psr_err *err);

/* --- for every block -------------------------------------------------------------------------- */

/* Takes spectra, which stay as they are until each line that is not full has been run.
 * Status: those of psr_dedisp_multi_push; PSR_EUNSUPPORTED for gaps where they are not dealt with. */
PSR_MUST_CHECK psr_status psr_lines_push(psr_lines *l, const struct psr_block *spectra,
                                         psr_err *err);

/* The next stretch of the input without data that the line has not been told of, in samples of the
 * line before they are barycentred.  Stretches may have grown since: what lies beyond is news.
 * Returned: false where there is none */
bool psr_lines_next_gap(psr_lines *l, size_t line, const struct psr_block *spectra,
                        struct psr_span *gap);

/* The samples of a line that the last push has completed, replaced ones restored.
 * Returned: *series; *left, and then it is to be called again for the rest
 * Status:   those of psr_dedisp_multi_execute, psr_dedisp_multi_execute_device and psr_mask_correction_execute */
PSR_MUST_CHECK psr_status psr_lines_run(psr_lines *l, size_t line, const struct psr_block *spectra,
                                        struct psr_block *series, bool *left, psr_err *err);

/* Leaves of samples, as they are barycentred, those that were asked for, numbers and counts them. */
void psr_lines_count(psr_lines *l, size_t line, struct psr_block *series);

/* The input has ended: from now on spectra are blank ones, which complete what trials with less than
 * the longest sweep have to come, and series say which samples are their own.
 * Returned: *nblank, how many are to be pushed; 0: none
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_lines_end(psr_lines *l, size_t *nblank, psr_err *err);

/* Samples that the series of a line had when the input ended, before they are barycentred, for the
 * trial whose sweep is shift.  To be called after psr_lines_end. */
int64_t psr_lines_length(const psr_lines *l, size_t line, size_t shift);

bool psr_lines_is_resident(const psr_lines *l, size_t line);

/* Samples so far of the longest and of the shortest series; and whether a line, or each, has all that
 * were asked for. */
int64_t psr_lines_nout(const psr_lines *l, size_t line);
int64_t psr_lines_nleast(const psr_lines *l, size_t line);
bool psr_lines_is_full(const psr_lines *l, size_t line);
bool psr_lines_are_full(const psr_lines *l);

/* NULL is fine. */
void psr_lines_destroy(psr_lines *l);

#endif
