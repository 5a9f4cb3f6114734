/* series.h: writes dedispersed time series to files, and reads them.
 *
 * The writer makes one file per DM trial: ROOT_DM12.50.dat with its .inf (PRESTO), or
 * ROOT_DM12.50.tim (SIGPROC).  Files get their final names when psr_series_finish succeeds. */
#ifndef PSRKIT_SERIES_H
#define PSRKIT_SERIES_H

#include <psrkit/inf.h>
#include <psrkit/obs.h>
#include <psrkit/output_group.h>
#include <time.h>

PSR_API_BEGIN

enum psr_series_format { PSR_SERIES_DAT, PSR_SERIES_TIM };

typedef struct psr_series psr_series;

struct psr_series_desc {
    const char *root; /* may contain a path; "-" with one trial and PSR_SERIES_TIM is standard
                         output */
    enum psr_series_format format;
    int dm_decimals; /* in the file name, 2 to 4 */
    size_t ndm;
    const double *dm;             /* [ndm] pc cm^-3; copied */
    const struct psr_obs *obs;    /* of the input; copied */
    int file_nbit;                /* as psr_source_file_nbit */
    const struct psr_inf *inf;    /* fields to copy from the .inf of the input, as
                                     psr_source_inf; NULL: from obs; copied */
    double tsamp_s;               /* of the series */
    const double *each_tsamp_s;   /* [ndm] of each series, if they differ; copied; NULL: tsamp_s */
    const char *const *each_note; /* [ndm] last line of the notes of each .inf; borrowed with its
                                     texts; NULL: none */
    const struct psr_mjd *epoch;  /* [ndm] of the first sample; copied; NULL: from obs */
    psr_output_group *group;      /* group that the files belong to, which the caller commits
                                     after psr_series_finish has succeeded; borrowed; NULL: a
                                     group of their own, which psr_series_finish commits */
    bool (*stopped)(void *ctx);   /* polled while psr_series_finish writes; NULL: never */
    void *ctx;                    /* passed to stopped */
};

/* Checks that no two trials share a file name before anything is created, then creates the
 * temporary files.  There may be more trials than file descriptors.  At most 64 MiB of samples are
 * buffered for all trials; appending 16384 or more at a time avoids the copy.
 * Status: PSR_EINVAL (names clash, a DM outside 0..1e6, as psr_inf_set_name), PSR_EIO, also if
 *         another run is writing the same files; PSR_ENOMEM, and for .tim those of
 *         psr_sigproc_write.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_series_create(psr_series **out, const struct psr_series_desc *desc,
                                            psr_err *err);

/* Makes the checks of psr_series_create that depend on desc only; creates nothing.
 * Status: PSR_EINVAL, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_series_check(const struct psr_series_desc *desc, psr_err *err);

/* Calls check for the name of every file of desc, except standard output, until one call fails.
 * Status: that of the failed call */
PSR_MUST_CHECK psr_status psr_series_names(const struct psr_series_desc *desc,
                                           psr_status (*check)(void *ctx, const char *name,
                                                               psr_err *err),
                                           void *ctx, psr_err *err);

/* The claim of desc's files on an output group: its trials, by DM.  desc->root is borrowed. */
struct psr_output_group_desc psr_series_claim(const struct psr_series_desc *desc);

/* Appends n samples to trial i.  Threads may append to different trials at the same time.  After an
 * error the writer can only be aborted; finishing it fails too.
 * Status: PSR_EINVAL (no trial i), and those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_series_append(psr_series *s, size_t i, const float *x, size_t n,
                                            psr_err *err);

/* Pads series with value from now on, even those without samples, instead of with their own means.
 */
void psr_series_pad_with(psr_series *s, float value);

/* Sets the length of series i to nout, which overrides the argument of psr_series_finish and has
 * the same meaning. */
void psr_series_set_length(psr_series *s, size_t i, int64_t nout);

/* Returned: number of trials with samples that are not finite so far; *first, the first of them if
 *           any */
size_t psr_series_not_finite(const psr_series *s, size_t *first);

/* Completes and renames all files.
 * Given:  nout   final length; if longer than what was appended, series are padded with their own
 *                mean or the value of psr_series_pad_with; if shorter, cut; -1 keeps what was
 *                appended
 * Notes:  the On/Off pairs of .inf files separate real samples from padding as in PRESTO.  The
 *         writer is freed on success and on error.  The .inf files are renamed last: they vouch for
 *         the .dat files.
 * Status: PSR_EINVAL (nout below -1 or above 2^53, no value to pad with), PSR_EUNSUPPORTED
 *         (standard output cannot be cut), PSR_EIO, also if desc.stopped returns true before the
 *         first file is renamed; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_series_finish(psr_series *s, int64_t nout, psr_err *err);

/* True if trial i of desc exists already as PSR_SERIES_DAT: DM, sampling time, epoch and note of
 * its .inf equal those of desc, and its .dat has the number of samples that the .inf states.
 * Returned: *made, if it exists: the older of the two modification times */
bool psr_series_exists(const struct psr_series_desc *desc, size_t i, struct timespec *made);

/* Removes the temporary files; NULL is allowed.  Not for signal handlers: set a flag there and
 * abort when the loop sees it. */
void psr_series_abort(psr_series *s);

/* PRESTO's "good" transform length: the smallest of its 114 round numbers times a power of ten, or
 * power of two, that is at least n.  n <= 0 returns 0, n above 2^59 returns n. */
int64_t psr_good_length(int64_t n);

/* Reads a whole .dat file and the .inf beside it.
 * Returned: *x [*n], malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO, PSR_EFORMAT (size not a multiple of 4, .inf missing or inconsistent),
 *           PSR_EUNSUPPORTED (as psr_inf_read), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dat_read(const char *path, float **x, int64_t *n, struct psr_inf *inf,
                                       psr_err *err);

PSR_API_END
#endif
