/* dsp.h: sums of packed spectra, red noise, levels, and series on another clock (private). */
#ifndef PSR_DSP_DSP_H
#define PSR_DSP_DSP_H

#include <psrkit/device.h>
#include <psrkit/obs.h>
#include <psrkit/series.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- sums over a block of packed spectra, by spectrum and by channel -------------------------- */

/* How samples lie in memory. */
struct psr_layout {
    size_t nchan;
    int nbit;
    enum psr_kind kind;
    size_t row_bytes;
};

/* Given:    in [n]   spectra
 *           row [nchan]   overwritten
 * Returned: z [n]   sums over channels, rounded once
 *           sum [nchan]   sums over spectra, exact for integers of up to 16 bits; NULL: not
 *                         computed */
void psr_block_sums(const struct psr_layout *layout, const void *in, size_t n, float *z,
                    double *sum, double *row);

/* Converts one spectrum to floats; 32-bit integers are rounded. */
void psr_spectrum_widen(const struct psr_layout *layout, const void *in, float *x);

/* --- red noise -------------------------------------------------------------------------------- */

/* Length of the block that begins at bin k; the first begins at 1, each of the others where the
 * previous one ends, below nbin. */
int64_t psr_redden_length(const struct psr_redden *how, int64_t k, int64_t nbin);

/* All blocks of a spectrum.
 * Returned: how many; block [that many], or NULL */
size_t psr_redden_blocks(const struct psr_redden *how, int64_t nbin, struct psr_span *block);

/* One step of Newton's from the well-known guess by a subtraction: 0.2 % off at most. */
static inline float psr_rough_inverse_root(float x)
{
    union {
        float x;
        int32_t bits;
    } guess = {.x = x};
    guess.bits = INT32_C(0x5f3759df) - (guess.bits >> 1);
    return guess.x * (1.5F - 0.5F * x * guess.x * guess.x);
}

/* --- sums of consecutive spectra -------------------------------------------------------------- */

struct psr_timesum;

struct psr_timesum_desc {
    size_t nchan;
    int nbit;           /* of the input: 1 2 4 8 16 */
    enum psr_kind kind; /* of the input: unsigned, or 8 bits signed, which are offset by 128 */
    size_t ratio;       /* spectra per sum, >= 1 */
    int sum_nbit;       /* of the output, unsigned: 8 or 16, wide enough */
    int nthread;
};

/* Bits for a sum of n samples, as above, or 0 if 16 are not enough or the input type is not
 * supported. */
int psr_timesum_nbit(int nbit, enum psr_kind kind, size_t n);

/* Status: PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_timesum_create(struct psr_timesum **out,
                                             const struct psr_timesum_desc *desc, psr_err *err);

/* Takes the next nsamp spectra, packed, each on a byte boundary, aligned for their samples.
 * Returned: number of complete sums, in out [][nchan], which needs room for nsamp / ratio + 1;
 *           incomplete sums are kept for the next call */
size_t psr_timesum_run(struct psr_timesum *ts, const void *in, size_t nsamp, void *out);

/* Frees the object; NULL is allowed. */
void psr_timesum_destroy(struct psr_timesum *ts);

/* --- values of mean 0 and standard deviation 1 ------------------------------------------------ */

/* Rows are divided into intervals.  Those of the first are scaled by what was measured on its first
 * rows, those of each later one by the statistics of the interval before: nothing depends on the
 * length of blocks.  Results have the same bits with any number of threads. */

typedef struct psr_rescale psr_rescale;

/* Given:  nvalue   values in a row
 *         interval   rows, 1 or more; 0: what is measured first scales all
 * Status: PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_rescale_create(psr_rescale **out, size_t nvalue, int64_t interval,
                                             int nthread, psr_err *err);

/* Measures the scale of the first interval.
 * Given: rows   [n][nvalue]
 *        good   [n]: others do not count */
void psr_rescale_measure(psr_rescale *r, const float *rows, const bool *good, size_t n);

/* Scales the next rows in place; those that are not good become 0.  Values that do not vary become
 * 0. */
void psr_rescale_apply(psr_rescale *r, float *rows, const bool *good, size_t n);

/* The scale that is applied now, (x - offset) gain: [nvalue] each. */
void psr_rescale_scale(const psr_rescale *r, const float **offset, const float **gain);

void psr_rescale_destroy(psr_rescale *r); /* NULL is allowed */

/* Levels floor(x gain + shift + 0.5), clipped to the range of nbit bits.
 * Given:    x      [n]
 *           nbit   1, 2, 4, 8 or 16
 * Returned: to   packed, the first in the low bits, from a byte on */
void psr_rescale_digitise(const float *x, size_t n, int nbit, float gain, float shift, uint8_t *to);

/* Packs bytes that hold nbit bits each, 1, 2 or 4, the first in the low bits, from a byte on. */
void psr_rescale_pack(const uint8_t *level, size_t n, int nbit, uint8_t *to);

/* --- series on another clock ------------------------------------------------------------------ */

/* When the accumulated gain of the other clock exceeds half a bin, a bin is added; when its
 * accumulated loss does, one is removed.  Every sample thus stays within half a bin of its time,
 * plus the error of the interpolation: as in PRESTO, the clocks are compared every 20 s, with
 * straight lines in between.
 *
 * A plan processes a stream of blocks of all series, of any length; the result has the same bits
 * for any block lengths and any number of threads.  Not thread-safe: use each plan from one thread. */

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
