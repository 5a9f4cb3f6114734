/* series_internal.h: transforms, ends and lengths of series (private). */
#ifndef PSR_FORMATS_SERIES_SERIES_INTERNAL_H
#define PSR_FORMATS_SERIES_SERIES_INTERNAL_H

#include "formats/spectra/spectra_reader.h"
#include <psrkit/experimental/fourier.h>
#include <psrkit/obs.h>
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

/* The same without the mean, which is put into bin 0 alone: in sums of single precision a mean of a
 * hundred sigma rounds by more than 1e-3 of the noise in some bins. */
void psr_rfft_execute_centred(const psr_rfft *plan, const float *in, float *out);

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

/* --- table of the lines of an .inf file, for its reader and writer --- */

enum psr_inf_kind {
    PSR_INF_TEXT,   /* char [PSR_TEXT_MAX] */
    PSR_INF_RA,     /* double, degrees, as hh:mm:ss.ssss */
    PSR_INF_DEC,    /* double, degrees, as dd:mm:ss.ssss */
    PSR_INF_EPOCH,  /* struct psr_mjd */
    PSR_INF_FLAG,   /* bool */
    PSR_INF_BINS,   /* int64_t */
    PSR_INF_BREAKS, /* on/off pairs exist; their lines follow */
    PSR_INF_BAND,   /* char [PSR_INF_BAND_MAX]: a word of psr_inf_bands */
    PSR_INF_COUNT,  /* long */
    PSR_INF_REAL,   /* double with this many significant digits */
    PSR_INF_WHOLE,  /* double, rounded to a whole number */
    PSR_INF_FIXED,  /* double with this many decimals */
    PSR_INF_NOTES,  /* what follows the line */
};

struct psr_inf_field {
    const char *lead; /* the words that identify the line */
    const char *rest; /* of the label */
    enum psr_inf_kind kind;
    size_t offset;  /* in struct psr_inf */
    bool always;    /* also written for artificial data, which have no observation */
    int digits;     /* PSR_INF_REAL, PSR_INF_FIXED */
    unsigned bands; /* of enum psr_inf_light: files of other bands lack the line */
};

/* Groups of bands that have lines of their own. */
enum psr_inf_light {
    PSR_INF_RADIO_LINES = 1,
    PSR_INF_OPTICAL_LINES = 2,
    PSR_INF_ENERGY_LINES = 4,
    PSR_INF_ALL_LINES = 7,
};

/* The bands that files name, radio first. */
enum { PSR_INF_NBAND = 6 };
extern const struct psr_inf_band {
    const char *name;
    enum psr_inf_light lines;
} psr_inf_bands[PSR_INF_NBAND];

/* The band of that name, in any case; NULL: there is none. */
const struct psr_inf_band *psr_inf_find_band(const char *name, size_t n);

enum { PSR_INF_NFIELD = 27, PSR_INF_MAX_BYTES = 1 << 20 /* of a file */ };

/* In the order of the file. */
extern const struct psr_inf_field psr_inf_fields[PSR_INF_NFIELD];

#define PSR_INF_PAIR_LEAD "On/Off bin pair"
#define PSR_INF_INDENT    4 /* blanks before each line of the notes */

/* --- file names of series --- */

/* ROOT_DM12.50, without suffix; ROOT, without decimals. */
void psr_series_stem(char stem[PSR_TEXT_MAX], const char *root, double dm, int decimals);

/* The DM at text: digits, and after a point more digits.
 * Returned: number of decimals, *dm; -1 if text is no such number, or it is 1e6 or more */
int psr_series_read_dm(const char *text, double *dm);

/* The number after the last "DM" that has one in a path's last part; NULL if none has. */
const char *psr_series_dm_text(const char *path);

/* The DM in the name of a series, its list or its .inf.
 * Returned: as psr_series_read_dm(); -1 if the name has none */
int psr_series_find_dm(const char *path, double *dm);

/* What of a series is searched: the whole, or part number of this many equal ones. */
struct psr_segment {
    int number, of; /* 1, 1: the whole */
};

/* Whole, halves and quarters, in this order. */
enum { PSR_SEGMENTS = 7 };
struct psr_segment psr_segment_of(size_t k);

/* ROOT_DM12.50_seg1of2 from ROOT_DM12.50; the whole keeps its name. */
void psr_segment_name(char stem[PSR_TEXT_MAX], struct psr_segment segment);

/* The segment in the name of a list: "_segKofN" after its DM. */
struct psr_segment psr_segment_find(const char *path);

/* True if the root is "-", standard output. */
bool psr_series_to_stdout(const char *root);

/* Sampling time of trial i. */
double psr_series_tsamp_s(const struct psr_series_desc *desc, size_t i);

/* Reads sub-band files written by prepsubband -sub.
 *
 * ROOT.sub0, ROOT.sub1 and so on (all with the same number of digits) hold one sub-band each,
 * lowest first, as 16-bit integers; ROOT.sub.inf describes the channels that they were summed from.
 * Together they are one observation whose channels are the sub-bands, each at the frequency of its
 * highest channel. */

enum { PSR_SUBBANDS_BLOCK = 1024 }; /* samples per read of a file in PRESTO */

/* True if path is a sub-band file name: *.sub and digits. */
bool psr_subbands_named(const char *path);

/* The .sub.inf of a set: malloc'd; NULL if out of memory, or for any other name. */
char *psr_subbands_inf(const char *path);

/* Given:    path [npath]   all files of a set, in any order; a .sub.inf among them is ignored
 * Returned: inf of the set, owned by the caller
 * Notes:    with desc->runavg the mean of each sub-band over each block, counted from the first
 *           sample read, is subtracted, and samples are floats
 * Status:   PSR_EIO; PSR_EFORMAT naming the file for sets that are incomplete, mixed, of different
 *           lengths or inconsistent with their .inf; PSR_EUNSUPPORTED for desc->invert; PSR_ENOMEM
 */
PSR_MUST_CHECK psr_status psr_subbands_open(struct psr_reader **out, const char *const *path,
                                            size_t npath, struct psr_inf *inf,
                                            const struct psr_source_desc *desc, psr_err *err);

/* --- SIGPROC time series, as the .inf of a .dat describes them --- */

/* A .tim file; samples are floats, or whole numbers of 8 or 16 bits. */
struct psr_tim {
    struct psr_inf inf; /* nbin by the size of the file */
    int64_t data_at;    /* where its samples begin */
    int nbit;
    enum psr_kind kind;
};

/* Whether the name ends in .tim. */
bool psr_tim_is_name(const char *path);

/* Reads the header.
 * Status: PSR_EIO; those of psr_sigproc_parse; PSR_EUNSUPPORTED (several channels or IFs, or fewer bits) */
PSR_MUST_CHECK psr_status psr_tim_describe(struct psr_tim *tim, const char *path, psr_err *err);

/* Makes floats of samples in the same place.
 * Given: x [room], whose last bytes, as room samples would fill them, begin with n samples */
void psr_tim_widen(float *x, size_t room, size_t n, int nbit, enum psr_kind kind);

#endif
