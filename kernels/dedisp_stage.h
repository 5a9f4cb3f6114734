/* dedisp_stage.h: what the tensor kernel is told about one group of channels at one block of trials
 * (private to the dedispersion kernels). */
#ifndef PSR_KERNELS_DEDISP_STAGE_H
#define PSR_KERNELS_DEDISP_STAGE_H

#include "dedisp.h"

enum {
    DEDISP_MROW = 16,   /* trials of one matrix product */
    DEDISP_MAXSHIFT = 8 /* relative delays of one: bits of a byte */
};

/* Row m of the block has trial m for m < half, and trial half + m - 16 for m >= 16; the others are
 * idle.  Of channel k0 + c the sample
 *   x[k0 + c][t + shift[m] + s + off[c]],  s = window[m / 16] + bit set in its byte of hot,
 * belongs to output t - late[m] of row m. */
struct dedisp_stage {
    int32_t nshift;    /* values that s takes in a window, 1..DEDISP_MAXSHIFT */
    int32_t spread;    /* largest shift */
    int32_t window[2]; /* the first is 0 */
    int32_t k0, n;     /* channels */
    int32_t need;      /* samples of a channel, counted from its off */
    int32_t bytes;     /* to copy of a channel, from an address that is a multiple of 16 on */
    int32_t off[DEDISP_CHANNELS]; /* may be below 0 */
    int16_t shift[DEDISP_TRIALS], late[DEDISP_TRIALS];
    uint4 hot[2][32]; /* of the rows of each half: a lane's registers of a fragment of the matrix,
                         four channels' bytes in each */
};

#endif
