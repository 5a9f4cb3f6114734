/* mask.h: reads rfifind masks: the channels with interference in each time interval, and the values
 * that replace them.
 *
 * A mask consists of two files of PRESTO's rfifind: ROOT.mask lists channels and intervals,
 * ROOT.stats holds the mean of every channel in every interval.  Channels are numbered from the
 * lowest frequency, intervals from the start of the observation. */
#ifndef PSRKIT_MASK_H
#define PSRKIT_MASK_H

#include <psrkit/obs.h>

PSR_API_BEGIN

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

PSR_API_END
#endif
