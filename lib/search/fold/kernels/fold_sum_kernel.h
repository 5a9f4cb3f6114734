/* fold_sum_kernel.h: the inner loops of a fold's search, compiled for what the processor has
 * (private).  Rows are read from any place on, "padded" elements at once, a multiple of
 * FOLD_VECTOR. */
#ifndef PSR_SEARCH_FOLD_KERNELS_FOLD_SUM_KERNEL_H
#define PSR_SEARCH_FOLD_KERNELS_FOLD_SUM_KERNEL_H

#include "fold_sums.h"

struct psr_fold_loops {
    /* to[k] = left[k] + right[k] */
    void (*add)(float *to, const float *left, const float *right, size_t padded);

    /* to[k] = (left[k] + right[k]) scale, rounded; its magnitude is below 2^15. */
    void (*round)(int16_t *to, const float *left, const float *right, float scale, size_t padded);

    /* The first of the trials from .. n - 1 whose sum has a square norm of at least "least"; n: none.
     * Given: trial   [n][ngroup] places in table
     *        used   [FOLD_VECTOR] -1 for elements of the last vector that count, else 0 */
    size_t (*find)(const int16_t *table, const uint32_t *trial, size_t ngroup, size_t padded,
                   const int16_t *used, size_t from, size_t n, int32_t least);

    /* norm[i] = the square norm of trial i, i < n. */
    void (*measure)(const int16_t *table, const uint32_t *trial, size_t ngroup, size_t padded,
                    const int16_t *used, size_t n, int32_t *norm);
};

const struct psr_fold_loops *psr_fold_loops_choose(void);

#endif
