/* rescale.h: brings values to mean 0 and standard deviation 1, and to levels (private).
 *
 * Rows are divided into intervals.  Those of the first are scaled by what was measured on its first
 * rows, those of each later one by the statistics of the interval before: nothing depends on the
 * length of blocks.  Results have the same bits with any number of threads. */
#ifndef PSR_DSP_RESCALE_H
#define PSR_DSP_RESCALE_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
