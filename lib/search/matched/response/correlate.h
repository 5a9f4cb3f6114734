/* correlate.h: correlates blocks of bins with responses by Fourier transforms (private).
 *
 * The transform of a block, times the transform of a response, transformed back, is the correlation
 * at whole bins; the response shifted by half a bin gives the half bins.  Output is interleaved in
 * eight phases: half bin i of a block is element i / 8 of phase i % 8. */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_CORRELATE_H
#define PSR_SEARCH_MATCHED_RESPONSE_CORRELATE_H

#include "correlate_kernel.h"

#include <psrkit/status.h>

#include <complex.h>
#include <fftw3.h>

enum { PSR_PHASES = 8 };

struct psr_correlator {
    const struct psr_correlate_loops *loops;
    size_t bins;                 /* in a block */
    size_t lead;                 /* bins of it before the first that a correlation is for */
    size_t good;                 /* bins that a correlation is for, a multiple of 64 */
    size_t points;               /* of a phase: a quarter of the bins */
    struct psr_split twiddle[3]; /* [points] factors of the transform's first step */
    fftwf_plan forward, back;
};

/* The fastest block length, in bins, to correlate "need" bins with responses that reach halfwidth to
 * both sides; need 0: very many bins. */
size_t psr_correlator_bins(int halfwidth, size_t need);

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_correlator_create(struct psr_correlator **out, int halfwidth,
                                                size_t bins, psr_err *err);

/* NULL is fine. */
void psr_correlator_destroy(struct psr_correlator *c);

/* Memory for n floats, aligned to a cache line; NULL if there is none.  The caller frees it. */
float *psr_line_alloc(size_t n);

/* Floats that hold a block's or half a template's transform, and what a thread works with. */
size_t psr_correlator_block(const struct psr_correlator *c);
size_t psr_correlator_work(const struct psr_correlator *c);

/* Where the parts of a transform of n numbers lie in such memory. */
struct psr_split psr_split_at(float *x, size_t n);

/* work   a block's bins at psr_split_at(work, c->bins); overwritten
 * out    its transform */
void psr_correlator_take_block(const struct psr_correlator *c, float *work, float *out);

/* k [2 halfwidth]   response at q = -halfwidth, -halfwidth + 1 .., or half a bin above
 * out               its transform, as correlations use it */
void psr_correlator_take_response(const struct psr_correlator *c, const float complex *k,
                                  int halfwidth, int odd, float *work, float *out);

/* Powers of one block and one response, even and odd.
 * Returned: power [8 / group][points], the most of each group phases that follow each other */
void psr_correlator_most(const struct psr_correlator *c, float *block, float *const response[2],
                         size_t group, float *work, float *power);

/* The same of half bins 2 from .. 2 (from + n) - 1 of the block, in order: row [2 n]. */
void psr_correlator_row(const struct psr_correlator *c, float *block, float *const response[2],
                        size_t from, size_t n, float *work, float *row);

#endif
