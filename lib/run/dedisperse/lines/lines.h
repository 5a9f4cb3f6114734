/* lines.h: dedisperses spectra into the series of all lines of a plan, block by block (private). */
#ifndef PSR_RUN_DEDISPERSE_LINES_LINES_H
#define PSR_RUN_DEDISPERSE_LINES_LINES_H

#include "dedispersion.h"

typedef struct psr_lines psr_lines;

struct psr_lines_desc {
    const struct psr_dedispersion_ops *ops;
    struct psr_dedispersion_desc dedispersion;
    int64_t numout; /* requested samples of every series; 0: all */
    bool same_end;  /* all series of a line end where that of the highest DM ends */
};

/* Status: those of psr_dedisp_multi_create, psr_subband_create or psr_compat_create, and of
 *         psr_mask_correction_create.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_lines_create(psr_lines **out, const struct psr_lines_desc *desc,
                                           psr_err *err);

/* --- before the first block ------------------------------------------------------------------- */

/* Spectra per block; and whether blocks are copied to devices. */
size_t psr_lines_block(const psr_lines *l);
bool psr_lines_on_devices(const psr_lines *l);

/* Properties of a line: number of series, largest number of samples of each in a block of nsamp
 * spectra, presto_block of resample.h, its plan (NULL: none), and the number of samples that its
 * largest delay needs. */
size_t psr_lines_nseries(const psr_lines *l, size_t line);
size_t psr_lines_most(const psr_lines *l, size_t line, size_t nsamp);
size_t psr_lines_presto_block(const psr_lines *l, size_t line);
const psr_dedisp *psr_lines_plan(const psr_lines *l, size_t line);
bool psr_lines_equalise(const psr_lines *l, size_t line); /* blocks have equalised series */
size_t psr_lines_maxshift(const psr_lines *l, size_t line);

/* What psr_dedisp_describe would say of a line that has a plan. */
void psr_lines_describe(const psr_lines *l, size_t line, struct psr_dedisp_info *info);

/* Status: PSR_EINVAL if nsamp spectra complete no sample of the line */
PSR_MUST_CHECK psr_status psr_lines_check_length(const psr_lines *l, size_t line, int64_t nsamp,
                                                 psr_err *err);

/* Allocates memory for the series of one line at a time, and lets series of resident lines stay on
 * their devices.
 * Given:  stride [nline]   samples
 *         resident [nline]
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_lines_reserve(psr_lines *l, const size_t *stride,
                                            const bool *resident, psr_err *err);

/* --- for every block -------------------------------------------------------------------------- */

/* Takes spectra, which must stay unchanged until every line that is not full has been run.
 * Status: those of psr_dedisp_multi_push; PSR_EUNSUPPORTED for gaps, if the method does not support
 *         them */
PSR_MUST_CHECK psr_status psr_lines_push(psr_lines *l, const struct psr_block *spectra,
                                         psr_err *err);

/* Returns the next range of the input without data that the line has not seen, in samples of the
 * line before barycentring; masked ranges too, unless equalised series tell of them.  If a known range has grown, its new part is returned.
 * Returned: false if there is none */
bool psr_lines_next_gap(psr_lines *l, size_t line, const struct psr_block *spectra,
                        struct psr_span *gap);

/* Returns the samples of a line that the last push completed, with the contribution of masked
 * samples restored.
 * Returned: *series; if *left is not 0, call again for the rest
 * Status:   those of psr_dedisp_multi_execute, psr_dedisp_multi_execute_device and
 *           psr_mask_correction_execute */
PSR_MUST_CHECK psr_status psr_lines_run(psr_lines *l, size_t line, const struct psr_block *spectra,
                                        struct psr_block *series, bool *left, psr_err *err);

/* Limits barycentred samples to the requested number, and numbers and counts them. */
void psr_lines_count(psr_lines *l, size_t line, struct psr_block *series);

/* Ends the input.  From now on push blank spectra, which complete the remaining samples of trials
 * with less than the largest delay; series then mark which samples are valid.
 * Returned: *nblank, number of blank spectra to push; 0: none
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_lines_end(psr_lines *l, size_t *nblank, psr_err *err);

/* Length of the series of a line before barycentring, for the trial with the given shift.  Call it
 * after psr_lines_end. */
int64_t psr_lines_length(const psr_lines *l, size_t line, size_t shift);

bool psr_lines_is_resident(const psr_lines *l, size_t line);

/* Samples so far of the longest and of the shortest series; and whether one line, or every line,
 * has all requested samples. */
int64_t psr_lines_nout(const psr_lines *l, size_t line);
int64_t psr_lines_nleast(const psr_lines *l, size_t line);
bool psr_lines_is_full(const psr_lines *l, size_t line);
bool psr_lines_are_full(const psr_lines *l);

/* Frees the object; NULL is allowed. */
void psr_lines_destroy(psr_lines *l);

#endif
