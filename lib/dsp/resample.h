/* resample.h: converts series from one clock to another by adding and removing single
 * bins (private).
 *
 * When the accumulated gain of the other clock exceeds half a bin, a bin is added; when its
 * accumulated loss does, one is removed.  Every sample thus stays within half a bin of its time,
 * plus the error of the interpolation: as in PRESTO, the clocks are compared every 20 s, with
 * straight lines in between.
 *
 * A plan processes a stream of blocks of all series, of any length; the result has the same bits
 * for any block lengths and any number of threads.  Not thread-safe: use each plan from one thread.
 */
#ifndef PSR_DSP_RESAMPLE_H
#define PSR_DSP_RESAMPLE_H

#include <psrkit/device.h>
#include <stddef.h>
#include <stdint.h>

typedef struct psr_resample psr_resample;

/* Seconds that the other clock has gained when ours shows t_s >= 0; 0 at 0.  The gain over any
 * interval must be below 1 % of it. */
typedef double psr_drift_s(const void *ctx, double t_s);

struct psr_resample_desc {
    size_t nseries;
    double tsamp_s; /* of the series */
    psr_drift_s *drift;
    const void *ctx; /* passed to drift; must outlive the plan */
    /* 0: an added bin is the mean of its two neighbours in its own series.  n > 0: as in PRESTO,
     * which works in blocks of n samples: for all series, an added bin is the mean of the block of
     * series 0 in which it is added; and where the drift reverses, added bins are kept and removed
     * bins are not restored. */
    size_t presto_block;
    int nthread; /* 0: all cores */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_resample_create(psr_resample **out,
                                              const struct psr_resample_desc *desc, psr_err *err);

/* Upper limit of the samples per series that the next execute of up to n samples returns. */
size_t psr_resample_room(const psr_resample *p, size_t n);

/* Given:    x   [nseries][stride], the next n samples of every series; stride >= psr_resample_room;
 *               n a multiple of presto_block if that is set
 * Returned: x[i][0 .. *nout - 1], the next *nout samples on the other clock, in place
 * Status:   PSR_EINVAL (stride, n), PSR_EUNSUPPORTED (a drift that is not a number or too fast),
 *           PSR_ENOMEM.  After an error the plan can only be destroyed. */
PSR_MUST_CHECK psr_status psr_resample_execute(psr_resample *p, float *x, size_t stride, size_t n,
                                               size_t *nout, psr_err *err);

/* As psr_resample_execute, for series stored elsewhere: returns which bins to add to and remove
 * from their next n samples.  All calls of a stream must be of the same kind.
 * Returned: *bin [*nbin] ascending, never NULL, valid until the next call; *nout, the number of
 *           samples that the n become
 * Status:   PSR_EUNSUPPORTED (a drift as above, presto_block), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_resample_report(psr_resample *p, size_t n,
                                              const struct psr_resample_bin **bin, size_t *nbin,
                                              size_t *nout, psr_err *err);

/* Returned: *bin [*nbin] what the last psr_resample_execute or psr_resample_report added and removed, ascending;
 *           valid until the next call */
void psr_resample_last(const psr_resample *p, const struct psr_resample_bin **bin, size_t *nbin);

/* Returned: *nout, the number of samples that the next n become, whatever follows them
 * Status:   PSR_EUNSUPPORTED (a drift as above), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_resample_count_next(psr_resample *p, size_t n, size_t *nout,
                                                  psr_err *err);

/* Output index of input sample t: *to = t + bins added - bins removed before it.
 * Given:  t   not yet pushed; bins of pushed samples are no longer known individually and count as
 *             if they were before t
 * Status: PSR_EUNSUPPORTED (a drift as above), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_resample_map(psr_resample *p, int64_t t, int64_t *to, psr_err *err);

/* Bins added to and removed from each series so far. */
void psr_resample_count(const psr_resample *p, int64_t *added, int64_t *removed);

/* Frees the plan; NULL is allowed. */
void psr_resample_destroy(psr_resample *p);

#endif
