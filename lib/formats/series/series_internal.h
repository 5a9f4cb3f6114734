/* series_internal.h: transforms, ends and lengths of series (private). */
#ifndef PSR_FORMATS_SERIES_SERIES_INTERNAL_H
#define PSR_FORMATS_SERIES_SERIES_INTERNAL_H

#include <psrkit/experimental/fourier.h>
#include <psrkit/series.h>

#include <stddef.h>
#include <stdint.h>

/* Sets the name of the data file, without its folder if PRESTO could not read so long a line.
 * Given:  stem   the name as given, without suffix
 * Status: PSR_EINVAL for a path of more than 255 bytes, or a name of more than the 199 bytes that
 *         PRESTO reads */
PSR_MUST_CHECK psr_status psr_inf_set_name(struct psr_inf *inf, const char *stem, psr_err *err);

/* As psr_inf_read, from text of n bytes, not necessarily terminated; name is for messages. */
PSR_MUST_CHECK psr_status psr_inf_parse(struct psr_inf *inf, const char *text, size_t n,
                                        const char *name, psr_err *err);

/* Makes the checks of psr_series_create that depend on desc only; creates nothing.
 * Status: PSR_EINVAL, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_series_check(const struct psr_series_desc *desc, psr_err *err);

/* Pads series with value from now on, even those without samples, instead of with their own means.
 */
void psr_series_pad_with(psr_series *s, float value);

/* Sets the length of series i to nout, which overrides the argument of psr_series_finish and has
 * the same meaning. */
void psr_series_set_length(psr_series *s, size_t i, int64_t nout);

/* Returned: number of trials with samples that are not finite so far; *first, the first of them if
 *           any */
size_t psr_series_not_finite(const psr_series *s, size_t *first);

/* True if trial i of desc exists already as PSR_SERIES_DAT: DM, sampling time, epoch and note of
 * its .inf equal those of desc, and its .dat has the number of samples that the .inf states.
 * Returned: *made, if it exists: the older of the two modification times */
bool psr_series_exists(const struct psr_series_desc *desc, size_t i, struct timespec *made);

/* The lowest i < n for which x[i] is infinite or not a number; -1: none. */
int64_t psr_spectrum_bad(const float *x, int64_t n);

/* Creates a plan for series of n samples.
 * Status: PSR_EINVAL (n odd, below 2 or above 2^32), PSR_ENOMEM
 * Notes:  FFTW makes one plan at a time: threads other than OpenMP's must not create or destroy
 *         plans at the same time */
PSR_MUST_CHECK psr_status psr_rfft_create(psr_rfft **out, int64_t n, psr_err *err);

/* Transforms on the calling thread.  Thread-safe: several threads may execute one plan.
 * Given:    in    [n]
 *           out   room for n + 2 floats, aligned as by malloc; may equal in
 * Returned: out   [n], the spectrum as above; two more floats are overwritten */
void psr_rfft_execute(const psr_rfft *plan, const float *in, float *out);

/* Frees the plan; NULL is allowed. */
void psr_rfft_destroy(psr_rfft *plan);

/* Subtracts a line from a series of n samples so that its ends, the means of the first and of the
 * last n / 1024 samples, become equal; the mean is kept.  The transform treats a series as
 * periodic, and a step between its ends leaks into every bin as 1 / k with a common phase, which
 * biases median powers.
 * Notes: does nothing if an end is not finite */
void psr_series_detrend_ends(float *x, int64_t n);

/* The same for the spectrum X [nbin][2] of such a series; bin 0 is ignored. */
void psr_spectrum_detrend_ends(float *x, int64_t nbin);

/* As psr_zaplist_read, from text of n bytes; name is for messages. */
PSR_MUST_CHECK psr_status psr_zaplist_parse(struct psr_zaplist *list, const char *text, size_t n,
                                            const char *name, psr_err *err);

/* Bins of a spectrum that birds cover, each at least one bin wide, from floor to ceiling.
 * Given:    baryv   mean velocity of the telescope towards the source over c, which shifts
 *                   topocentric frequencies in a barycentred spectrum
 * Returned: *span [*n] within 1 .. nbin - 1, in the order of the list; malloc'd, caller frees
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_zaplist_bins(const struct psr_zaplist *list, double tobs_s,
                                           double baryv, int64_t nbin, struct psr_span **span,
                                           size_t *n, psr_err *err);

/* --- the .inf description of a series, and a series as a search reads it --- */

enum { PSR_SERIES_LANES = 8 }; /* partial sums, so that the compiler may add eight at once */

/* Sample t is added to sum t mod PSR_SERIES_LANES.  Initialise with zeros. */
struct psr_series_mean {
    int64_t n;
    double sum[PSR_SERIES_LANES];
};

void psr_series_mean_add(struct psr_series_mean *m, const float *x, size_t n);

double psr_series_mean_sum(const struct psr_series_mean *m);

/* The mean of at least one sample. */
double psr_series_mean_value(const struct psr_series_mean *m);

/* Fills inf with what all series of desc have in common. */
void psr_series_common_inf(struct psr_inf *inf, const struct psr_series_desc *desc);

/* One series. */
struct psr_series_trial {
    const char *stem; /* its name without suffix */
    double dm, tsamp_s;
    struct psr_mjd epoch;
    const char *note;  /* last line of the notes; NULL: none */
    int64_t n, length; /* samples, and those of the file with its padding */
};

/* Fills inf, a copy of the common one, with the fields of a trial.
 * Status: those of psr_inf_set_name */
PSR_MUST_CHECK psr_status psr_series_fill_inf(struct psr_inf *inf, const struct psr_series_trial *t,
                                              psr_err *err);

/* As psr_spectrum_describe, of a series in memory that inf describes: what the files would give. */
void psr_spectrum_of_series(struct psr_spectrum_file *file, const struct psr_inf *inf);

/* As psr_spectrum_read, of samples in memory.
 * Given:    name   for messages
 *           x      [2 nbin]; changed
 * Status:   PSR_EFORMAT if all values are equal */
PSR_MUST_CHECK psr_status psr_spectrum_level(const struct psr_spectrum_file *file, const char *name,
                                             float *x, psr_err *err);

#endif
