/* clean.h: removes interference from spectra: PRESTO's masks, clipping and zero-DM. */
#ifndef PSRKIT_CLEAN_H
#define PSRKIT_CLEAN_H

#include <psrkit/obs.h>

PSR_API_BEGIN

/* --- masks ------------------------------------------------------------------------------------ */

/* Reads rfifind masks: the channels with interference in each time interval, and the values
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
    int64_t ptsperint;       /* samples per interval */
    unsigned char *zap_chan; /* [nchan] 1: masked in all intervals; owned, as are all arrays
                                below */
    unsigned char *zap_int;  /* [nint] 1: all channels are masked */
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

/* Parses a .mask file of n bytes; name is for messages.
 * Status: PSR_EFORMAT, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_mask_parse(struct psr_mask *mask, const void *bytes, size_t n,
                                         const char *name, psr_err *err);

/* Parses the .stats file of a mask already parsed: padding[c] becomes the mean of the middle 80 %
 * of the interval means of channel c.
 * Status: PSR_EFORMAT, also if the statistics belong to another mask; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_mask_parse_stats(struct psr_mask *mask, const void *bytes, size_t n,
                                               const char *name, psr_err *err);

/* Checks that the mask was made from this observation: the same number of channels, and the same
 * start within 1e-9 days (obs->began if samples were skipped).
 * Given:  name   of the mask, for the message
 * Status: PSR_EINVAL naming mask, field, value and the value of the observation */
PSR_MUST_CHECK psr_status psr_mask_check(const struct psr_mask *mask, const struct psr_obs *obs,
                                         const char *name, psr_err *err);

/* Checks what PRESTO does not: that the frequencies agree within half a channel, and that the mask
 * reaches the end of the observation, if known, to within one interval.  For filterbank files with
 * ascending frequencies, rfifind writes a lowest frequency that is too low; that value is accepted
 * too.
 * Status: as psr_mask_check */
PSR_MUST_CHECK psr_status psr_mask_check_extent(const struct psr_mask *mask,
                                                const struct psr_obs *obs, const char *name,
                                                psr_err *err);

/* Which channels are masked in a time range. */
enum psr_mask_rule {
    PSR_MASK_TOUCHED, /* those masked in all intervals, and those of the intervals in which the
                         range begins and ends */
    PSR_MASK_PRESTO,  /* the same with PRESTO's omissions: if no channel is masked in all
                         intervals, the channels of the first of two intervals are omitted; if
                         one of two merged lists is empty, channel 0 of the other is (on 64-bit
                         machines with glibc) */
};

/* Given:    start_s, duration_s   range, from the start of the observation
 * Returned: masked [nchan], 1 or 0; true if one of the two intervals is masked entirely, in which
 *           case masked is 1 throughout
 * Notes:    as in PRESTO, a range that ends where an interval begins includes that interval, and a
 *           range beyond the last interval uses the last */
bool psr_mask_span(const struct psr_mask *mask, double start_s, double duration_s,
                   enum psr_mask_rule rule, unsigned char *masked);

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

/* Output sample type: that of the input, or 32-bit PSR_FLOAT after zero-DM or if floats are
 * requested. */
enum psr_kind psr_clean_kind(const psr_clean *p);
int psr_clean_nbit(const psr_clean *p);

/* Memory of the plan in bytes; exceeded only if there are very many steps. */
int64_t psr_clean_bytes(const psr_clean *p);

/* Upper limit of the absolute value of a step. */
double psr_clean_largest(const psr_clean *p);

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

/* Steps of the spectra that the last execute or finish returned, in time order within a channel.
 * Returned: their number; *step belongs to the plan and is valid until the next call */
size_t psr_clean_steps(const psr_clean *p, const struct psr_step **step);

/* Ranges of the spectra returned so far in which every kept channel is masked, ascending.
 * Returned: their number; *span as for psr_clean_steps */
size_t psr_clean_lost(const psr_clean *p, const struct psr_span **span);

/* Number of spectra clipped so far. */
int64_t psr_clean_clipped(const psr_clean *p);

/* Frees the plan; NULL is allowed. */
void psr_clean_destroy(psr_clean *p);

PSR_API_END
#endif
