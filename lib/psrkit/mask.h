/* mask.h: rfifind's masks: which channels of which intervals hold interference, and what to put in
 * their place.
 *
 * A mask is two files of PRESTO's rfifind: ROOT.mask names channels and intervals, ROOT.stats holds
 * the mean of every channel in every interval.  Channels are numbered from the lowest frequency,
 * intervals from the start of the observation. */
#ifndef PSRKIT_MASK_H
#define PSRKIT_MASK_H

#include <psrkit/obs.h>

PSR_API_BEGIN

struct psr_mask {
    double timesigma, freqsigma; /* thresholds rfifind ran with */
    double mjd;                  /* of the first sample */
    double dtint_s;              /* length of an interval */
    double lofreq_mhz, dfreq_mhz;
    size_t nchan, nint;
    int64_t ptsperint;       /* samples of an interval */
    unsigned char *zap_chan; /* [nchan] 1: masked throughout; owned, as all below */
    unsigned char *zap_int;  /* [nint] 1: all channels are masked */
    unsigned char *all_chan; /* [nint] 1: every channel is listed */
    size_t *first;           /* [nint + 1] where an interval's channels begin in chan */
    int32_t *chan;           /* [first[nint]] channels masked in one interval */
    float *padding;          /* [nchan] what masked samples become; NULL before the statistics */
};

/* Reads path and the .stats file beside it.  The caller clears *mask, also after an error.
 * Given:  mem_bytes   that this may take; 0: a quarter of the machine's
 * Status: PSR_EIO; PSR_EFORMAT naming file, field, value and limit, also for what is no regular file
 *         and for one that is longer than its header allows; PSR_ENOMEM, beyond mem_bytes too. */
PSR_MUST_CHECK psr_status psr_mask_read(struct psr_mask *mask, const char *path, int64_t mem_bytes,
                                        psr_err *err);

/* The .mask file alone, from n bytes; name is for messages.  Status: PSR_EFORMAT, PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_mask_parse(struct psr_mask *mask, const void *bytes, size_t n,
                                         const char *name, psr_err *err);

/* The .stats file of a mask already there: padding[c] is the mean of the middle 80 % of the
 * intervals' means of channel c.
 * Status: PSR_EFORMAT, also where they are not of this mask; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_mask_parse_stats(struct psr_mask *mask, const void *bytes, size_t n,
                                               const char *name, psr_err *err);

/* Whether the mask was made of this observation: as many channels, and a start within 1e-9 days of
 * its own, which is obs->began where samples were skipped.
 * Given:  name   of the mask, for the message
 * Status: PSR_EINVAL naming mask, field, value and what the observation has. */
PSR_MUST_CHECK psr_status psr_mask_check(const struct psr_mask *mask, const struct psr_obs *obs,
                                         const char *name, psr_err *err);

/* What PRESTO does not ask: whether the mask is of these frequencies, to half a channel, and
 * reaches the end of the observation, where that is known, but for an interval.  Of a filterbank
 * whose band goes up rfifind writes a lowest frequency that is too low; that one is taken too.
 * Status: PSR_EINVAL, likewise. */
PSR_MUST_CHECK psr_status psr_mask_check_extent(const struct psr_mask *mask,
                                                const struct psr_obs *obs, const char *name,
                                                psr_err *err);

/* Which channels of a stretch of samples are masked. */
enum psr_mask_rule {
    PSR_MASK_TOUCHED, /* those of the mask as a whole, and those of the interval where the stretch
                         begins and of the one where it ends */
    PSR_MASK_PRESTO,  /* the same but for what PRESTO forgets: without channels masked throughout,
                         those of the first of two intervals; and where one of two lists it merges
                         is empty, channel 0 of the other (on 64-bit machines with glibc) */
};

/* Given:    start_s, duration_s   from the start of the observation
 * Returned: masked [nchan], 1 or 0; whether one of the two intervals is masked as a whole, and then
 *           all of masked is 1
 * Notes:    a stretch that ends where an interval begins touches it, and one beyond the last
 *           interval counts as in it, as in PRESTO. */
bool psr_mask_span(const struct psr_mask *mask, double start_s, double duration_s,
                   enum psr_mask_rule rule, unsigned char *masked);

/* Frees what the mask owns; safe to call again. */
void psr_mask_clear(struct psr_mask *mask);

PSR_API_END
#endif
