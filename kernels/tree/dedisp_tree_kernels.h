/* dedisp_tree_kernels.h: one or two levels of the tree algorithm for many tiles of time.
 *
 * A stage makes rows of its upper level, or trials, from rows of its lower level, which are sums of
 * the stage's input: channels in planes of bytes as in dedisp_kernels.h, or the rows of the stage
 * before.  A thread block makes the rows of one group for a tile of TREE_TILE samples; those of the
 * lower level stay in shared memory, and adjacent trials share them.  Time v counts samples from
 * output 0 at delay 0.  Rows are added up in pairs of adjacent ones, which have many sources in
 * common. */
#ifndef PSR_KERNELS_DEDISP_TREE_KERNELS_H
#define PSR_KERNELS_DEDISP_TREE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TREE_TILE = 496,         /* samples: with the samples that shifts add seldom above 512 */
    TREE_SHARED = 108 << 10, /* bytes of rows of a group, so that two thread blocks fit */
    TREE_ROUND = 8,          /* lanes of a row of the lower level come in multiples of this */
    TREE_UPPER = 64,         /* rows of a group's upper level, maximum */
    TREE_LAUNCH = 65535,     /* groups of a launch, maximum */
};

/* What a lane of a row holds, and what the input of a stage consists of. */
enum tree_k_kind { TREE_BYTES, TREE_16, TREE_32 };

/* A row of a group. */
struct tree_k_row {
    int64_t at;    /* lower level: its first element in shared memory; upper level: that of v = 0 in
                       the output; of the last stage: the trial's row */
    int32_t extra; /* lower level: lanes beside a tile's */
    int32_t lo, hi; /* upper level: made for lo <= v < hi + n; of the last stage 0 */
};

/* Rows "row" and row + 1 and what they add up: first sources of both, then those of the one, then
 * of the other, and among each of these sources at even elements before those at odd ones.  A source
 * is element base + source[] of the input, or source[] of shared memory, for v = 0 or for sample 0
 * of the tile.  Channels are in bytes of the first plane, and all count as even. */
struct tree_k_pair {
    int64_t base;
    uint32_t row, src;
    uint32_t lanes; /* lower level: of the longer row */
    uint8_t nrow;   /* 1 or 2 */
    uint8_t neven[3], nodd[3];
};

/* Pairs lower .. lower + nlower - 1, none in a stage of one level, and upper .. upper + nupper - 1,
 * in tiles that begin at v0 + k TREE_TILE < hi + n. */
struct tree_k_group {
    uint32_t lower, nlower, upper, nupper;
    uint32_t nrow; /* of the upper level */
    int32_t v0, hi;
};

struct tree_k_stage {
    enum tree_k_kind in, lower, upper; /* upper: of rows; lower: TREE_16 or TREE_32 */
    int last;                          /* its upper level are trials */
    const struct tree_k_group *d_group;
    size_t ngroup;
    size_t ntile; /* of any group, maximum, for the number of samples below */
    const struct tree_k_pair *d_pair;
    const struct tree_k_row *d_row;
    const int32_t *d_source;
    size_t shared; /* bytes of any group's lower level, maximum */

    const void *d_in; /* channel 0, or the rows of the stage before; 16-byte aligned */
    size_t at;        /* element of v = 0 */
    size_t plane;     /* bytes from plane to plane, for channels */
    int nplane;
    void *d_rows;          /* output but for the last stage */
    float *d_out;          /* [trial][out_pitch] */
    size_t out_pitch;      /* even */
    size_t n;              /* outputs of each trial */
    double bias, downsamp; /* out = (sum - bias) / downsamp */
};

/* Bytes of shared memory that a group may take on the current device: up to TREE_SHARED. */
cudaError_t tree_k_shared(size_t *bytes);

cudaError_t tree_k_run(const struct tree_k_stage *stage, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
