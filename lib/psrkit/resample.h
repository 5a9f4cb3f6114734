/* resample.h: series from one clock to another by adding and removing whole bins.
 *
 * Where the other clock has gained half a bin more, a bin is added, and where it has lost half a
 * bin more, one is removed: each sample stays within half a bin (and what the straight lines below
 * leave out) of its time.  The clocks are compared every 20 s, with straight lines between, as
 * PRESTO does.
 *
 * A plan is a stream: blocks of all series are pushed as they come, of any length, and the result
 * has the same bits however the stream was cut and for any number of threads.  One plan, one
 * caller's thread. */
#ifndef PSRKIT_RESAMPLE_H
#define PSRKIT_RESAMPLE_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

typedef struct psr_resample psr_resample;

/* By how many seconds the other clock has gained when ours shows t_s >= 0; 0 at 0.  The gain in any
 * time must stay below a hundredth of it. */
typedef double psr_drift_s(const void *ctx, double t_s);

struct psr_resample_desc {
    size_t nseries;
    double tsamp_s; /* of the series */
    psr_drift_s *drift;
    const void *ctx; /* of drift; must outlive the plan */
    /* 0: a bin that is added is the mean of its two neighbours in its own series.  n > 0: PRESTO's
     * way, which works in blocks of n samples: the mean of the block of series 0 that the bin is
     * added to, for all series; and where the drift turns back, bins that were added stay, and
     * those removed stay away. */
    size_t presto_block;
    int nthread; /* 0: all cores */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_resample_create(psr_resample **out,
                                              const struct psr_resample_desc *desc, psr_err *err);

/* The most samples per series that the next execute of n or fewer samples can give. */
size_t psr_resample_room(const psr_resample *p, size_t n);

/* Given:    x [nseries][stride], the next n samples of every series; stride >= room; n a multiple
 *           of presto_block where there is one
 * Returned: x[i][0 .. *nout - 1], the next *nout samples on the other clock, in place
 * Status:   PSR_EINVAL (stride, n), PSR_EUNSUPPORTED (a drift that is no number or too fast),
 *           PSR_ENOMEM.  After an error the plan can only be destroyed. */
PSR_MUST_CHECK psr_status psr_resample_execute(psr_resample *p, float *x, size_t stride, size_t n,
                                               size_t *nout, psr_err *err);

/* A bin added before sample at, as the mean of that sample and the one before it; or sample at
 * removed. */
struct psr_resample_bin {
    size_t at;
    int step; /* 1, -1 */
};

/* As psr_resample_execute, for series that lie elsewhere: says what is to be done to their next n
 * samples.  All calls of a stream are of the same kind.
 * Returned: *bin [*nbin] ascending, never NULL, valid until the next call; *nout samples are
 *           what becomes of the n
 * Status:   PSR_EUNSUPPORTED (a drift as above, presto_block), PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_resample_report(psr_resample *p, size_t n,
                                              const struct psr_resample_bin **bin, size_t *nbin,
                                              size_t *nout, psr_err *err);

/* Returned: *nout, what becomes of the first n of the samples to come, whatever follows them
 * Status:   PSR_EUNSUPPORTED (a drift as above), PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_resample_count_next(psr_resample *p, size_t n, size_t *nout,
                                                  psr_err *err);

/* Where input sample t ends up: *to = t + bins added - bins removed up to there.
 * Given:  t   not yet pushed; of those pushed the bins are forgotten, and they count as if they lay
 *             before t
 * Status: PSR_EUNSUPPORTED (a drift as above), PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_resample_map(psr_resample *p, int64_t t, int64_t *to, psr_err *err);

/* Bins added to and removed from each series so far. */
void psr_resample_count(const psr_resample *p, int64_t *added, int64_t *removed);

/* NULL is fine. */
void psr_resample_destroy(psr_resample *p);

PSR_API_END
#endif
