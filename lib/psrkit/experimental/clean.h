/* clean.h: finds interference in spectra, and removes it: PRESTO's masks, clipping and zero-DM. */
#ifndef PSRKIT_CLEAN_H
#define PSRKIT_CLEAN_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/source.h>
#include <psrkit/obs.h>

PSR_API_BEGIN

/* --- masks ------------------------------------------------------------------------------------ */

/* Reads and writes rfifind masks: the channels with interference in each time interval, and the values
 * that replace them.
 *
 * A mask consists of two files of PRESTO's rfifind: ROOT.mask lists channels and intervals,
 * ROOT.stats holds the mean of every channel in every interval.  Channels are numbered from the
 * lowest frequency, intervals from the start of the observation. */

struct psr_mask {
    double timesigma, freqsigma; /* thresholds of the rfifind run */
    double mjd;                  /* of the first sample */
    double dtint_s;              /* length of an interval */
    double lofreq_mhz, dfreq_mhz;
    size_t nchan, nint;
    int64_t ptsperint;             /* samples per interval */
    unsigned char *zap_chan;       /* [nchan] 1: masked in all intervals; owned, as are all arrays
                                below */
    unsigned char *zap_int;        /* [nint] 1: all channels are masked */
    int32_t *zap_chans, *zap_ints; /* [nzap_chan] and [nzap_int] the same as lists, in the order of
                                      the file, which may name a channel twice */
    size_t nzap_chan, nzap_int;
    unsigned char *all_chan; /* [nint] 1: every channel is listed */
    size_t *first;           /* [nint + 1] index in chan of the first channel of each interval */
    int32_t *chan;           /* [first[nint]] channels masked in one interval */
    float *padding;          /* [nchan] values that replace masked samples; NULL before the
                                statistics are read */
};

/* Reads path and the .stats file beside it.  The caller clears *mask, also after an error.
 * Given:  mem_bytes   memory limit; 0: a quarter of the machine's
 * Status: PSR_EIO; PSR_EFORMAT naming file, field, value and limit, also if the path is not a
 *         regular file or the file is longer than its header allows; PSR_ENOMEM, also beyond
 *         mem_bytes */
PSR_MUST_CHECK psr_status psr_mask_read(struct psr_mask *mask, const char *path, int64_t mem_bytes,
                                        psr_err *err);

/* Writes a mask as rfifind does: zap_chans, zap_ints and, of intervals in which some but not all
 * channels are masked, the channels.
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_mask_write(psr_outfile *f, const struct psr_mask *mask, psr_err *err);

/* Which channels are masked in a time range. */
enum psr_mask_rule {
    PSR_MASK_TOUCHED, /* those masked in all intervals, and those of the intervals in which the
                         range begins and ends */
    PSR_MASK_PRESTO,  /* the same with PRESTO's omissions: if no channel is masked in all
                         intervals, the channels of the first of two intervals are omitted; if
                         one of two merged lists is empty, channel 0 of the other is (on 64-bit
                         machines with glibc) */
};

/* Frees the memory owned by the mask; may be called again. */
void psr_mask_clear(struct psr_mask *mask);

/* --- cleaning --------------------------------------------------------------------------------- */

/* Removes interference from a stream of spectra before dedispersion.
 *
 * Steps, in this order: zero-DM, clipping, mask.  Clipping works on blocks of 2400 spectra counted
 * from the start of the stream, as prepsubband does.  It sums each spectrum over all channels and
 * keeps a running mean and scatter of these sums; a spectrum whose sum deviates too far is replaced
 * by the running mean of each channel.  The mask replaces samples by its padding values; in a block
 * that touches two intervals it masks the channels of both.  Zero-DM subtracts from every channel
 * its share of the spectrum's sum, in proportion to the bandpass, and adds the bandpass back; the
 * bandpass is the mask's padding, or the mean of the first block (Eatough, Keane and Lyne 2009,
 * with weights).
 *
 * In floating-point data, a spectrum with a sample that is not a number is clipped; zero-DM
 * replaces it by the bandpass.
 *
 * A plan processes a stream: it holds spectra back until their block is complete.  The output does
 * not depend on block lengths or threads.
 *
 * Replacement values are not integers.  To keep integer spectra integer, replaced samples are
 * output as 0 together with a list of steps that hold their values; psr_mask_correction adds these
 * to the dedispersed series.  Float spectra, and all output after zero-DM or if floats are
 * requested, contain the values themselves. */

typedef struct psr_clean psr_clean;

enum { PSR_CLEAN_BLOCK = 2400 }; /* spectra */

struct psr_clean_desc {
    size_t size; /* sizeof the struct */
    size_t nchan;
    int nbit; /* of the input, like kind */
    enum psr_kind kind;
    bool ascending;              /* the first channel is the lowest in frequency */
    double tsamp_s;              /* of the input */
    int64_t first;               /* spectra of the observation that precede the stream, for the
                                    mask */
    double clip_sigma;           /* 0: no clipping */
    bool zerodm;                 /* disables clipping */
    bool floats;                 /* output floats that contain the values of replaced samples */
    const struct psr_mask *mask; /* with padding; NULL: none; must outlive the plan */
    const unsigned char *keep;   /* [nchan] 0: channel is not used later; NULL keeps all; copied */
    int nthread;                 /* 0: all cores */
    bool clips;                  /* keep an account of clipped spectra, which grows */
};

/* From spectrum t on, samples of channel c that are output as 0 stand for value; value 0 ends this.
 */
struct psr_step {
    int64_t t;
    size_t c;
    float value;
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_clean_create(psr_clean **out, const struct psr_clean_desc *desc,
                                           psr_err *err);

/* Takes the next spectra and returns those that are complete.
 * Given:    in    [nsamp][nchan] packed, each spectrum starting on a byte boundary
 *           out   room for nsamp + PSR_CLEAN_BLOCK - 1 spectra, packed as kind and nbit say; may
 *                 equal in if the sample type does not change and every call so far passed whole
 *                 blocks
 * Returned: out   [*nout][nchan]
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_clean_execute(psr_clean *p, const void *in, size_t nsamp, void *out,
                                            size_t *nout, psr_err *err);

/* Ends the stream and returns the spectra held back, fewer than a block.  They are clipped with the
 * running values of the preceding blocks.
 * Given:  out   room for PSR_CLEAN_BLOCK - 1 spectra
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_clean_finish(psr_clean *p, void *out, size_t *nout, psr_err *err);

/* Frees the plan; NULL is allowed. */
void psr_clean_destroy(psr_clean *p);

/* --- finding interference --------------------------------------------------------------------- */

/* Finds interference in spectra and makes the mask of it, as PRESTO's rfifind does.
 *
 * The observation is cut into intervals of equal length.  A cell is one channel in one interval; its
 * statistics are its mean, its standard deviation, and the largest power of its Fourier transform
 * from bin 5 on, in units of the mean power of white noise.  Channels are numbered from the lowest
 * frequency, whatever the order in the data; intervals from the start.
 *
 * Order of operations in an interval: zero-DM, clipping, statistics, search for periodic
 * interference.  Clipping is that of clip.h with the interval as its block: spectra whose sum over
 * channels deviates too far from its running mean are replaced by the running mean of every channel.
 * Zero-DM subtracts from each channel its share of the sum, by the bandpass of the first block, and
 * adds the bandpass.
 *
 * Periodic interference is searched in the powers of whole and half bins (interbinning; Ransom,
 * Eikenberry and Middleditch 2002) and in sums of 1 to 4 harmonics.  Detections within 0.2 % of the
 * mean frequency of a birdie belong to that birdie, the first of them in the order of finding.
 *
 * A cell is bad
 *  - if its largest power has a chance below the Gaussian tail of freq_sigma to occur in noise,
 *  - or if its mean is further than time_sigma S from the median of its interval or of its channel;
 *    S is the standard deviation of the middle 80 % of the means of all cells, and a median that is
 *    itself further than that from the median of all is replaced by that one,
 *  - or if the same holds for its standard deviation.
 * With iqrm_sigma, a cell is also bad if its standard deviation (of 1-bit data its mean) is above
 * those of channels beside it: inter-quartile range mitigation (Morello, Rajwade and Stappers 2021,
 * arXiv 2108.12434), with lags up to a tenth of the channels that have data.  At threshold 5 this
 * flags fewer than 1e-5 of the cells of noise of 1024 channels, and fewer than 1e-3 of those of 64.
 * With fewer than 10 channels it does nothing.
 *
 * With sk_sigma, skewness_sigma and kurtosis_sigma, a cell is also bad if one of these is unlike
 * those of its channel in other intervals.  Generalised spectral kurtosis (Nita and Gary 2010) is
 * 1 for the shape that is the channel's median mean^2 / variance; limits are those of Pearson
 * curves, wider where the samples' skewness and kurtosis or the scatter of all cells say so; a
 * channel needs 4 intervals.  Skewness and kurtosis are compared with the channel's median, in units
 * of the scatter of all cells or, if larger, of the channel's.  Each marks at most as many cells of
 * noise as a Gaussian has deviations of that many sigma.  Clipped spectra do not count.
 *
 * An interval with more than chan_frac of its channels bad is masked whole, and so is a channel with
 * more than int_frac of its intervals bad.  These are the rules of rfifind 6.0, and results agree
 * with its to float rounding: a mask differs only where a statistic is within that of a limit. */

/* --- results ---------------------------------------------------------------------------------- */

/* Distribution of the samples of a cell that are not clipped: their number, mean and variance
 * (divided by n); m3 / m2^(3/2) and m4 / m2^2 - 3, with means m3, m4 of powers of x - mean. */
struct psr_rfi_cell {
    float n, mean, m2, skewness, kurtosis;
};

/* Statistics of all cells; the .stats file, and cell and burst the .moments file. */
struct psr_rfi_stats {
    size_t nchan, nint;
    int64_t ptsperint;         /* spectra per interval */
    int32_t lobin, numbetween; /* lowest Fourier bin searched; points per bin: 5 and 2 */
    float *power, *mean, *sd;  /* [nint][nchan] each; of a padded interval 1, 0, 0; owned */
    struct psr_rfi_cell *cell; /* [nint][nchan], of a padded interval zeros; or NULL; owned */
    float *burst;              /* [nint] share of the spectra that are in bursts; or NULL; owned */
};

/* One periodic signal; all its detections together. */
struct psr_rfi_birdie {
    float freq_hz, freq_var, sigma; /* means over detections, and the variance of freq_hz */
    int32_t nobs;                   /* detections */
};

/* All periodic signals; the .rfi file. */
struct psr_rfi_list {
    size_t nchan, nint;
    int64_t ptsperint;
    int32_t lobin, numbetween, numharm;
    float fract_error, freq_sigma; /* relative width of a birdie; threshold of the search */
    struct psr_rfi_birdie *birdie; /* [n], in the order in which they were first seen; owned */
    unsigned char *times, *chans; /* [n][(nint + 7) / 8] and [n][(nchan + 7) / 8] bits, set where it
                                      was seen; the first is the highest of the first byte; owned */
    size_t n, room;
};

/* A line in the power spectrum of the sums of all channels. */
struct psr_rfi_line {
    double freq_hz, width_hz; /* its middle; full width */
    double power;             /* the largest, in units of the local mean */
    int nharm; /* lines at 1 .. nharm times the frequency, this one included; 0: it is one of those
                  of another */
};

struct psr_rfi_lines {
    struct psr_rfi_line *line; /* [n], ascending; owned */
    size_t n, room;
};

/* What makes a cell bad; the bits of the .bytemask file, [nint][nchan]. */
enum psr_rfi_flag {
    PSR_RFI_PADDING = 0x01,   /* data are missing */
    PSR_RFI_OLDMASK = 0x02,   /* in the mask that was given */
    PSR_RFI_USERCHAN = 0x04,  /* the channel is masked throughout */
    PSR_RFI_USERINTS = 0x08,  /* the interval is masked whole */
    PSR_RFI_BAD_POWER = 0x10, /* periodic */
    PSR_RFI_BAD_SD = 0x20,
    PSR_RFI_BAD_MEAN = 0x40,
    PSR_RFI_BAD_FOUND = 0x80, /* by what rfifind does not have: see enum psr_rfi_found */
    PSR_RFI_BAD = PSR_RFI_BAD_POWER | PSR_RFI_BAD_SD | PSR_RFI_BAD_MEAN | PSR_RFI_BAD_FOUND,
};

/* Tests that rfifind does not have. */
enum psr_rfi_found {
    PSR_RFI_FOUND_LEVEL = 0x01,    /* out of line with the channels beside it */
    PSR_RFI_FOUND_SK = 0x02,       /* generalised spectral kurtosis */
    PSR_RFI_FOUND_SKEWNESS = 0x04, /* unlike the channel's in other intervals, as the next */
    PSR_RFI_FOUND_KURTOSIS = 0x08,
    PSR_RFI_FOUND_BURSTS = 0x10, /* of all channels: the interval is masked whole */
};

/* --- statistics ------------------------------------------------------------------------------- */

typedef struct psr_rfifind psr_rfifind;

struct psr_rfifind_desc {
    size_t size; /* sizeof the struct */
    size_t nchan;
    int nbit;
    enum psr_kind kind;
    bool reverse; /* the first channel of a spectrum is the highest in frequency */
    double tsamp_s;
    size_t block;      /* spectra that are read together; an incomplete block at the end is padding,
                          as is the interval it is in */
    int64_t ptsperint; /* spectra per interval, a multiple of block */
    double clip_sigma; /* 0: no clipping */
    bool zerodm;       /* disables clipping */
    const float
        *padding; /* [nchan] bandpass for zero-DM, from the lowest channel; copied; NULL: the
                             means of the first block */
    const unsigned char *keep; /* [nchan] 0: channel is ignored, its samples are 0; in the order of
                                  the data; copied; NULL keeps all */
    double freq_sigma;         /* threshold of the search for periodic signals */
    bool presto; /* search for periodic signals as PRESTO does: also at the Nyquist frequency, where
                    powers of noise have a longer tail; and of cells with ten or more detections some
                    harmonics are added twice */
    int nthread; /* 0: all cores */
    bool cells;  /* compute stats.cell */
    double burst_sigma; /* compute stats.burst: a spectrum is in a burst if the sum of its channels,
                           as they are in the data, is so far from its running median (that of 4096
                           spectra), in units of its scatter; 0: not computed */
    double line_sigma;  /* find lines of the power spectrum of these sums, which noise has with the
                           probability of a Gaussian above this; needs burst_sigma; 0: do not */
    void (*meanwhile)(void *ctx); /* called at most once while an interval is measured, by one of
                                     several threads, such as to read the next one; gap is no longer
                                     used then; NULL: nothing */
    void *ctx;
};

enum { PSR_RFI_LOBIN = 5, PSR_RFI_NUMBETWEEN = 2, PSR_RFI_NUMHARM = 4 };
#define PSR_RFI_FRACT_ERROR 0.002

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_rfifind_create(psr_rfifind **out, const struct psr_rfifind_desc *desc,
                                             psr_err *err);

/* Takes the next spectra.
 * Given:  in   [nsamp][nchan] packed, each spectrum from a byte boundary
 *         gap   all ranges of the spectra so far that are padding, ascending; [ngap]
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfifind_execute(psr_rfifind *p, const void *in, size_t nsamp,
                                              const struct psr_span *gap, size_t ngap,
                                              psr_err *err);

/* Ends the stream.
 * Returned: *stats, *list; the caller clears both.  The results are the same for any lengths of
 *           blocks pushed and any number of threads.
 * Status:   PSR_EINVAL if there is no complete block; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfifind_finish(psr_rfifind *p, struct psr_rfi_stats *stats,
                                             struct psr_rfi_list *list, psr_err *err);

/* Frees the plan; NULL is allowed. */
void psr_rfifind_destroy(psr_rfifind *p);

/* --- the mask --------------------------------------------------------------------------------- */

struct psr_rfi_rules {
    size_t size;                   /* sizeof the struct */
    double time_sigma, freq_sigma; /* thresholds */
    double chan_frac;              /* fraction of bad channels that masks an interval */
    double int_frac;               /* fraction of bad intervals that masks a channel */
    double iqrm_sigma;             /* threshold of the comparison with neighbouring channels; 0:
                                      none, as rfifind; likewise the next ones, which need stats.cell */
    double sk_sigma, skewness_sigma, kurtosis_sigma;
    double
        burst_share; /* an interval with a larger share of its spectra in bursts is masked; 0: none;
                           needs stats.burst */
    const char *zap_chan, *zap_int; /* to be masked whole, as "3,5:9,20:30:5"; NULL: none */
    const struct psr_mask *old;     /* sets PSR_RFI_OLDMASK in flags; NULL: none */
    bool
        sd_of_bits; /* test the standard deviation of 1-bit data, as rfifind does: where as many bits
                        are set as not, it is a parabola of the mean, which noise often leaves */
};

/* --- from files to files ---------------------------------------------------------------------- */

struct psr_rfi_run_desc {
    size_t size; /* sizeof the struct; psr_rfi_run_defaults sets it */
    const struct psr_source_desc *source;
    const struct psr_rfi_rules *rules; /* old is ignored; NULL: psr_rfi_rules_defaults */
    const char *root;  /* outputs are ROOT_rfifind.mask, .stats, .rfi, .inf, .bytemask, and with
                          moments .moments, with line_sigma .zaplist and .birds */
    double interval_s; /* length of an interval, rounded to whole blocks */
    int64_t nblock;    /* blocks in an interval; 0: interval_s counts */
    double clip_sigma; /* as in psr_rfifind_desc, with nthread */
    bool zerodm;
    const char *ignorechan; /* as for psr_ignore_channels, or NULL */
    const char *also;       /* another output of the program, which can do without it: it must
                               be no other file of the run; NULL: none */
    const char *old_mask;   /* name of a mask, or NULL */
    bool nocompute; /* take .stats, .rfi, .inf, .bytemask and, with moments and if there is one,
                       .moments of an earlier run, and make its mask anew */
    bool presto;    /* with PRESTO's interpretation of headers; no gaps */
    int64_t mem_bytes;
    int nthread;
    bool (*should_stop)(void *ctx);                            /* NULL: never */
    void (*progress)(void *ctx, int64_t nread, int64_t total); /* spectra; NULL: not wanted */
    void *ctx;
    bool moments;                   /* compute what the rules need that rfifind does not have */
    double burst_sigma, line_sigma; /* as in psr_rfifind_desc; burst_sigma above 0 with moments */
};

struct psr_rfi_run_report {
    size_t size;        /* sizeof the struct */
    struct psr_obs obs; /* of the input; with nocompute, of the .inf file */
    struct psr_rfi_stats stats;
    struct psr_rfi_list list;
    unsigned char *flags, *found; /* [nint][nchan], as of psr_rfi_mask */
    struct psr_rfi_lines lines;   /* with line_sigma */
    struct psr_mask mask;
    int64_t nread, nclipped;
    double read_s, compute_s; /* wall times */
};

/* Set size and all fields to the defaults of rfifind, those that a description of "size" bytes has. */
void psr_rfi_rules_set_defaults(struct psr_rfi_rules *rules, size_t size);
#define psr_rfi_rules_defaults(rules) psr_rfi_rules_set_defaults((rules), sizeof *(rules))
void psr_rfi_run_set_defaults(struct psr_rfi_run_desc *desc, size_t size);
#define psr_rfi_run_defaults(desc) psr_rfi_run_set_defaults((desc), sizeof *(desc))

/* Reads the input, finds interference and writes the files, all or none.  Inputs and outputs are
 * checked before anything is written: no output may be an input.
 * Returned: *report; the caller clears it, also after an error
 * Status:   those of psr_source_open and psr_source_read, psr_mask_read, psr_rfifind_create,
 *           psr_rfi_mask and psr_output_group_commit; PSR_EUNSUPPORTED for gaps with presto;
 *           PSR_ESTOPPED */
PSR_MUST_CHECK psr_status psr_rfi_run_sized(struct psr_rfi_run_report *report, size_t size,
                                            const struct psr_rfi_run_desc *desc, psr_err *err);
#define psr_rfi_run(report, desc, err) psr_rfi_run_sized((report), sizeof *(report), (desc), (err))

/* Frees what a report owns; may be called again. */
void psr_rfi_run_clear(struct psr_rfi_run_report *report);

PSR_API_END
#endif
