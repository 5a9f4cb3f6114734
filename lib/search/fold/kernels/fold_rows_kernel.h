/* fold_rows_kernel.h: the inner loops of a fold, compiled for what the processor has (private).
 *
 * A group of sub-bands is folded together: a row holds their values at one time.  Sums of bytes
 * are made in tiles of one sub-band after the other, and then turned into rows. */
#ifndef PSR_SEARCH_FOLD_KERNELS_FOLD_ROWS_KERNEL_H
#define PSR_SEARCH_FOLD_KERNELS_FOLD_ROWS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PSR_FOLD_GROUP = 32,            /* sub-bands of a row */
    PSR_FOLD_TILE = 512,            /* samples */
    PSR_FOLD_SLACK = PSR_FOLD_TILE, /* bytes that may be read after the last sample */
    PSR_FOLD_RUN_MAX = 1 << 16,     /* samples */
};

/* Whole samples in one bin, and what of the next one is in it. */
struct psr_fold_run {
    uint32_t begin, end; /* samples of the block, [begin, end) */
    uint32_t bin;
    bool completes_turn; /* afterwards the profile of the turn is added to that of the part */
    double fraction;     /* of sample "end", from its begin to the end of the bin or the turn; 0:
                            none */
};

/* Where the sub-bands of a group are folded into. */
struct psr_fold_bins {
    size_t nbin;
    double *turn, *sum; /* [nbin][GROUP] since the last complete turn; of complete turns */
    double *carry;      /* [GROUP] what of the sample at hand has been added already */
};

struct psr_fold_rows_loops {
    /* even[i], odd[i] = sums over nx channels of samples 2i, 2i + 1 of n, below 2^16.  TILE / 2
     * elements are written, up to TILE samples are read. */
    void (*sum_bytes)(uint16_t *even, uint16_t *odd, const unsigned char *const *x, size_t nx,
                      size_t n);

    /* Sum of x[i] and of its squares, below 2^31. */
    void (*moments)(const int16_t *x, size_t n, int32_t *sum, int32_t *square);

    /* Rows of a tile: row[2 i step] from piece [TILE / 16][8][GROUP / 8][8]: of each 8 samples, 8
     * times every eighth sub-band. */
    void (*turn)(uint16_t *row, const uint16_t *piece);

    /* Folds runs of row [.][GROUP], also that after the last run; offset [GROUP] is added to every
     * sample.  Values of words are at most "most". */
    void (*fold_words)(const struct psr_fold_bins *bins, const struct psr_fold_run *run,
                       size_t nrun, const uint16_t *row, uint16_t most, const double *offset);
    void (*fold_floats)(const struct psr_fold_bins *bins, const struct psr_fold_run *run,
                        size_t nrun, const float *row);
};

#endif
