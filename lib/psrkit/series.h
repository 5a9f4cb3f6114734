/* series.h: dedispersed time series to and from files.
 *
 * A sink writes one file per DM trial: ROOT_DM12.50.dat with its .inf (PRESTO), or
 * ROOT_DM12.50.tim (SIGPROC).  Files appear under their names when psr_series_finish succeeds. */
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
    const char *root; /* may contain a path; "-" with one trial and PSR_SERIES_TIM is
                         standard output */
    enum psr_series_format format;
    int dm_decimals; /* in the file name, 2 to 4 */
    size_t ndm;
    const double *dm;           /* [ndm] pc cm^-3; copied */
    const struct psr_obs *obs;  /* of the input; copied */
    int file_nbit;              /* as psr_source_file_nbit */
    const struct psr_inf *inf;  /* what series take from the .inf of their input, as
                                   psr_source_inf; NULL: made of obs; copied */
    double tsamp_s;             /* of the series */
    const double *each_tsamp_s; /* [ndm] of each series, where they differ; copied; NULL: tsamp_s */
    const char *const *each_note; /* [ndm] a last line for the notes of each .inf; borrowed, as are
                                     the texts; NULL: none */
    const struct psr_mjd *epoch;  /* [ndm] of the first sample; copied; NULL: that of obs */
    psr_output_group *group;      /* the set that the files belong to, which the caller commits once
                                     psr_series_finish has succeeded; borrowed; NULL: a set of their
                                     own, which psr_series_finish commits */
    bool (*stopped)(void *ctx);   /* asked while psr_series_finish writes; NULL: go on */
    void *ctx;                    /* the caller's */
};

/* Checks that no two trials would share a file name before anything is made, then creates the
 * temporary files.  More trials than descriptors are fine.  Samples are gathered in at most 64 MiB
 * for all trials; appending 16384 and more at a time avoids the copy.
 * Status: PSR_EINVAL (names clash, a DM outside 0..1e6, as psr_inf_set_name), PSR_EIO, also where another
 *         run is writing the same files; PSR_ENOMEM, and for .tim those of psr_sigproc_write.  *out is
 *         NULL on error. */
PSR_MUST_CHECK psr_status psr_series_create(psr_series **out, const struct psr_series_desc *desc,
                                            psr_err *err);

/* What psr_series_create would refuse by desc alone; makes nothing.
 * Status: PSR_EINVAL, PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_series_check(const struct psr_series_desc *desc, psr_err *err);

/* Calls check for the name of every file of desc, and ends with the status of one that fails; of
 * standard output there is none. */
PSR_MUST_CHECK psr_status psr_series_names(const struct psr_series_desc *desc,
                                           psr_status (*check)(void *ctx, const char *name,
                                                               psr_err *err),
                                           void *ctx, psr_err *err);

/* What the group of desc's files claims: its trials, by DM.  desc->root is borrowed. */
struct psr_output_group_desc psr_series_claim(const struct psr_series_desc *desc);

/* Appends n samples to trial i.  Different trials may be appended to from different threads.  After
 * an error the sink can only be aborted; finishing it fails too.
 * Status: PSR_EINVAL (no trial i), and those of psr_outfile_write. */
PSR_MUST_CHECK psr_status psr_series_append(psr_series *s, size_t i, const float *x, size_t n,
                                            psr_err *err);

/* From now on series are padded with value, even where they hold no sample, and not with their own
 * means. */
void psr_series_pad_with(psr_series *s, float value);

/* Series i is to have nout samples, whatever psr_series_finish says; nout as there. */
void psr_series_set_length(psr_series *s, size_t i, int64_t nout);

/* Returned: trials with samples so far that are no finite numbers; *first, where there are, the first
 *           of them */
size_t psr_series_not_finite(const psr_series *s, size_t *first);

/* Completes and renames all files.
 * Given:  nout   final length; longer than what was appended: padded with each trial's own mean
 *                or what psr_series_pad_with said; shorter: cut; -1 keeps what was appended
 * Notes:  .inf On/Off pairs tell real samples from padding as PRESTO's do.  The sink is gone
 *         whatever the status.  The .inf files come last: they vouch for the .dat files.
 * Status: PSR_EINVAL (nout below -1 or above 2^53, nothing to pad with), PSR_EUNSUPPORTED (standard output cannot
 *         be cut), PSR_EIO, also where desc.stopped says so before the first file is renamed;
 *         PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_series_finish(psr_series *s, int64_t nout, psr_err *err);

/* Whether trial i of desc is there already, as PSR_SERIES_DAT: the DM, sampling time, epoch and
 * note of its .inf are those of desc, and its .dat holds as many samples as the .inf says.
 * Returned: *made, where it is there: when the older of the two was last written */
bool psr_series_exists(const struct psr_series_desc *desc, size_t i, struct timespec *made);

/* Removes what was written under temporary names; NULL is fine.  Not for signal handlers: let one
 * set a flag, and abort when the loop sees it. */
void psr_series_abort(psr_series *s);

/* PRESTO's "good" transform length: the least of its 114 round numbers times a power of ten, or
 * power of two, that is at least n.  n <= 0 gives 0, and above 2^59 n is given itself. */
int64_t psr_good_length(int64_t n);

/* Reads a whole .dat file and the .inf beside it.
 * Returned: *x [*n], malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO, PSR_EFORMAT (size no multiple of 4, .inf missing or at odds),
 *           PSR_EUNSUPPORTED (as psr_inf_read), PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_dat_read(const char *path, float **x, int64_t *n, struct psr_inf *inf,
                                       psr_err *err);

PSR_API_END
#endif
