/* series.h: time series and Fourier spectra in PRESTO's files, with lists of known interference. */
#ifndef PSRKIT_SERIES_H
#define PSRKIT_SERIES_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/obs.h>
#include <time.h>

PSR_API_BEGIN

/* --- .inf files ------------------------------------------------------------------------------- */

enum { PSR_INF_MAX_ONOFF = 40 };

struct psr_inf {
    char name[PSR_TEXT_MAX]; /* data file with its path as given, without suffix */
    char telescope[PSR_TEXT_MAX];
    char instrument[PSR_TEXT_MAX];
    char object[PSR_TEXT_MAX];
    double ra_deg, dec_deg; /* J2000 */
    char observer[PSR_TEXT_MAX];
    struct psr_mjd epoch;
    bool has_epoch; /* the file that was read has an epoch line */
    bool barycentric;
    int64_t nbin;
    double tbin_s;
    int nonoff;                          /* number of pairs below; 0 without breaks */
    int64_t onoff[PSR_INF_MAX_ONOFF][2]; /* first and last bin of each range of real data */
    double beam_arcsec;
    double dm;         /* pc cm^-3 */
    double lowest_mhz; /* centre of the lowest channel */
    double bandwidth_mhz;
    long nchan;
    double chan_width_mhz;
    char analyst[PSR_TEXT_MAX];
    char notes[4 * PSR_TEXT_MAX]; /* lines separated by \n, without their indent of four blanks */
    char band[16]; /* "IR", "Optical", "UV", "X-ray", "Gamma": DM and channels above are none, and
                      those below are; "Radio" or empty */
    char filter[PSR_TEXT_MAX]; /* IR, optical, UV */
    double fov_arcsec;
    double energy_kev, energy_band_kev;       /* X-rays, gamma rays */
    double wavelength_nm, wavelength_band_nm; /* IR, optical, UV */
};

/* Writes inf in PRESTO's exact layout; empty texts become "Unknown", control characters '?'.
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_inf_write(psr_outfile *f, const struct psr_inf *inf, psr_err *err);

/* Reads path.
 * Notes:  lines are identified by their leading words, in any order, case and spacing; unknown
 *         lines are skipped.  Only the number of bins and their width are required; missing texts
 *         are "Unknown", missing numbers 0.  Texts too long for their fields are cut.  Malformed
 *         numbers and repeated fields are errors.
 * Status: PSR_EIO; PSR_EFORMAT naming file, line, field and value; PSR_EUNSUPPORTED (of an unknown
 *         band); PSR_ENOMEM.  On error *inf is unspecified. */
PSR_MUST_CHECK psr_status psr_inf_read(struct psr_inf *inf, const char *path, psr_err *err);

/* Fills inf as prepsubband does for a series made from obs, except for name, nbin, tbin_s, onoff
 * and dm, which the caller sets.  file_nbit is the sample size of the raw file; the notes record it
 * with the date of obs->began, or of obs->tstart.  The analyst is the login name, else $USER, else
 * "unknown". */
void psr_inf_from_obs(struct psr_inf *inf, const struct psr_obs *obs, int file_nbit);

/* Fills obs with the observation that a series was made from, with the band as if its channels
 * still existed: nsamp and tsamp_s are those of the series, refdm its DM.  A position of 0, 0 is
 * treated as unknown, since PRESTO writes that for unknown positions. */
void psr_inf_to_obs(const struct psr_inf *inf, struct psr_obs *obs);

/* --- time series ------------------------------------------------------------------------------ */

/* Writes dedispersed time series to files, and reads them.
 *
 * The writer makes one file per DM trial: ROOT_DM12.50.dat with its .inf (PRESTO), or
 * ROOT_DM12.50.tim (SIGPROC).  Files get their final names when psr_series_finish succeeds. */

enum psr_series_format { PSR_SERIES_DAT, PSR_SERIES_TIM };

typedef struct psr_series psr_series;

struct psr_series_desc {
    size_t size;      /* sizeof the struct */
    const char *root; /* may contain a path; "-" with one trial and PSR_SERIES_TIM is standard
                         output */
    enum psr_series_format format;
    int dm_decimals; /* in the file name, 2 to 4; 0: of one trial, named ROOT alone */
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

/* --- spectra ---------------------------------------------------------------------------------- */

/* A spectrum of n samples x_t, n even, is n/2 complex bins
 *
 *   X_k = sum_t x_t exp(-2 pi i k t / n),  k = 0 .. n/2 - 1,
 *
 * stored as pairs of floats, re and im.  Bin 0 holds two real numbers: X_0, the sum, as re and the
 * Nyquist X_(n/2) as im. */

/* --- spectrum files --------------------------------------------------------------------------- */

/* A .fft, .dat or .sdat file, identified by its suffix, and the .inf beside it; or a .tim of SIGPROC, whose header says
 * the same. */
struct psr_spectrum_file {
    bool series;   /* .dat, .sdat and .tim: 2 nbin samples; .fft: nbin bins */
    bool shorts;   /* .sdat: samples are 16-bit integers */
    bool reddened; /* a .fft file with bin 0 equal to 1: the spectrum was de-reddened */
    bool odd;      /* the series has one more sample, which is dropped, also from inf */
    int64_t nbin;  /* at least 1 */
    double tobs_s; /* of 2 nbin samples */
    struct psr_inf inf;
    int64_t data_at;    /* where samples or bins begin in the file */
    int64_t file_bytes; /* its size */
    int sample_nbit;    /* of samples in the file, and their kind */
    enum psr_kind sample_kind;
};

/* Describes a file; reads no data except bin 0.
 * Status: PSR_EINVAL (another suffix); PSR_EIO; PSR_EFORMAT naming file, field, value and limit (no
 *         .inf beside it, a file size that does not match it, fewer than two samples, a sampling
 *         time of 0); PSR_EUNSUPPORTED; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_spectrum_describe(struct psr_spectrum_file *file, const char *path,
                                                psr_err *err);

/* Reads the data of a file described before.
 * Returned: x   [2 nbin], the samples or bins
 * Notes:    samples outside the On/Off pairs of the .inf are padding; they are replaced by the mean
 *           of the others, so that they contribute only to bin 0
 * Status:   PSR_EIO, also if the file size has changed; PSR_EFORMAT if all values are equal, i.e.
 *           there are no data */
PSR_MUST_CHECK psr_status psr_spectrum_read(const struct psr_spectrum_file *file, const char *path,
                                            float *x, psr_err *err);

/* Divides x [n] by a power of two if its values are so large or so small that sums or powers of
 * them would exceed the range of floats.
 * Given:    sums   x is a series, of which spectra are sums
 * Returned: the exponent; 0 if nothing was done */
int psr_spectrum_rescale(float *x, int64_t n, bool sums);

/* Writes X [nbin][2] as ROOT.fft, and inf, with its name set to ROOT, as ROOT.inf: both or neither.
 * Given:  inf   NULL: keep the existing ROOT.inf, which also describes the spectrum
 * Status: PSR_EINVAL (as psr_inf_set_name), PSR_EFORMAT (a bin that is not finite), and those of
 *         psr_outfile_create and psr_outfile_write */
PSR_MUST_CHECK psr_status psr_spectrum_write(const char *root, const float *x, int64_t nbin,
                                             const struct psr_inf *inf, psr_err *err);

/* --- transform -------------------------------------------------------------------------------- */

typedef struct psr_rfft psr_rfft;

/* --- red noise -------------------------------------------------------------------------------- */

/* How `realfft -rednoise` measures it: blocks of start bins at first, of (int)(start ln k) from bin
 * k on, but end at most, and end from stop_bin on; where end is above PRESTO's 500, not of end at
 * once, but of k / 8 (100 at least) until that is end. */
struct psr_redden {
    int start, end;  /* start 2 or more, end at least start */
    double stop_bin; /* a frequency times the length of the observation */
    bool presto;     /* with PRESTO's inverse square root, which is up to 0.2 % off */
    bool join_rest;  /* a rest of less than half a block at the end joins the block before it: the
                      * median of some few bins is no level */
};

/* --- known interference ----------------------------------------------------------------------- */

/* Reads frequencies of known interference from PRESTO's .zaplist and .birds files.
 *
 * A line is "FREQ WIDTH", or "FREQ WIDTH NHARM [GROW [BARY]]" for harmonics 1 .. NHARM, each as
 * wide as the first or, if GROW is not 0, the harmonic number times as wide.  Frequencies and full
 * widths are in Hz.  A line that begins with B, or with a non-zero BARY, is barycentric, others are
 * topocentric.  '#' begins a comment; "# power P", as gpurfifind ends its lines, is the power. */

struct psr_bird {
    double freq_hz, width_hz;
    bool barycentric;
    double power; /* at DM 0, in units of the local mean; 0: not known */
};

struct psr_zaplist {
    struct psr_bird *bird; /* [n], in the order of the file; owned */
    size_t n;
};

enum { PSR_ZAPLIST_MAX_BYTES = 1 << 24, PSR_ZAPLIST_MAX_BIRDS = 1 << 20 };

/* Reads path.  The caller clears *list, also after an error.
 * Status: PSR_EIO; PSR_EFORMAT naming file, line and value; PSR_EUNSUPPORTED for a line with a
 *         pulsar name, which needs a catalogue; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_zaplist_read(struct psr_zaplist *list, const char *path,
                                           psr_err *err);

/* Frees the list; may be called again. */
void psr_zaplist_clear(struct psr_zaplist *list);

PSR_API_END
#endif
