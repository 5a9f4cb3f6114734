/* dedisp_stage.h: input of the tensor kernel for one group of channels in one block of trials
 * (private to the dedispersion kernels). */
#ifndef PSR_KERNELS_DEDISP_STAGE_H
#define PSR_KERNELS_DEDISP_STAGE_H

#include "dedisp/dedisp_kernels.h"

enum {
    DEDISP_MROW = 16,    /* trials of one matrix product */
    DEDISP_PLANE = 16,   /* channels of one operand of a product, of two */
    DEDISP_MAXSHIFT = 8, /* relative delays of one: bits of a byte */
    DEDISP_MAXWIDE = 6   /* ...in wide blocks, where registers run out first */
};

/* Row m of a wide block has trial m for m < half, and trial half + m - 16 for m >= 16; the others
 * are idle.  A narrow block has trials in the first 16 rows only.  The group's first n / 2 channels
 * are places 0.. of plane 0, the others of plane 1.  Of the channel at place c of plane p the
 * sample x[k[p] + c][t + shift[m] + s + off[16 p + c]], s = window[m / 16][p] + bit set in its byte
 * of hot, belongs to output t - late[m] of row m.  shift is of the first channel of plane 1, so
 * that s takes few values. */
struct dedisp_stage {
    int32_t nshift;       /* values that s takes in a window, from 1 on */
    int32_t ntile;        /* of sums, see dedisp_k_tiles */
    int32_t window[2][2]; /* of the trials' half and the channels' plane, below nshift; if any is
                             not 0, [0][0] or [1][1] are not */
    int32_t k[2], n[2];   /* channels of the planes: the first, their number */
    int32_t need;         /* samples of a channel, counted from its off */
    int32_t bytes;        /* to copy of a channel, from an address that is a multiple of 16 on */
    int32_t off[DEDISP_CHANNELS]; /* may be below 0 */
    int16_t shift[DEDISP_TRIALS], late[DEDISP_TRIALS];
    uint4 hot[2][32]; /* of the rows of each half: a lane's registers of a fragment of the matrix,
                         four channels' bytes in each */
};

/* Bytes to copy for n samples that begin anywhere within 16 bytes and are read by words, and a word
 * more. */
static inline __host__ __device__ int dedisp_k_row_bytes(int n)
{
    return (n + 15 + 4 + 3 + 15) / 16 * 16;
}

/* The first trial of a block of n that is in row 16. */
static inline __host__ __device__ int dedisp_k_late_trial(int kind, int n)
{
    return kind == DEDISP_WIDE ? (n + 1) / 2 : n;
}

/* Half a stretch and the spread, in tiles of eight sums.  The sums of a tile are that many samples
 * apart, so that a tile moved by a sample is the next; odd, so that they lie in different banks. */
static inline __host__ __device__ int dedisp_k_tiles(int kind, int spread)
{
    return (DEDISP_SAMPLES_OF(kind) / 2 + spread + 7) / 8 | 1;
}

#endif
