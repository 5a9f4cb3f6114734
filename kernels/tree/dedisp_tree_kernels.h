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

/* --- two stages, for samples of up to 8 bits ----------------------------------------------------- */

/* A word holds two sums of 16 bits: word p of a row those for outputs p and p + half, where half is
 * half of the outputs made at once.  So any delay is a whole number of words.  The first stage makes
 * rows of the second level (64 channels) from channels; the second makes trials from these, by way of
 * rows of the third level where there are more than three.  Levels above the third are not made: trials
 * add up all rows of the third.  Time v counts words from output 0 at delay 0. */

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WORDS_TILE = 224, /* words of a row or trial that a thread block makes */
    WORDS_ROW = 256,  /* of a row in shared memory: a tile, and what later ones shift by */
    WORDS_HALO = WORDS_ROW - WORDS_TILE,
    WORDS_CHAN = WORDS_ROW / 2, /* words of four samples that make such a row */
    WORDS_ROUND = 4,            /* words of an aligned piece of 16 bytes; samples of a word */
    WORDS_LINE = 32,            /* words of a line of device memory */
    WORDS_TRIALS = 32,          /* of a group, maximum */
    WORDS_PARTS = 4,            /* rows of the second level in one of the third */
    WORDS_LEAF = 8,             /* sources of a row of the first stage */
    WORDS_SLOTS = 4,            /* steps in shared memory at once, maximum */
    WORDS_FIRST = 64,           /* bytes of shared memory before the steps: two barriers each */
    WORDS_SHARED = 113 << 10    /* bytes of shared memory of a thread block, so that two fit */
};

/* --- first stage ------------------------------------------------------------------------------ */

/* A window of a channel in shared memory: word j holds samples j, j + WORDS_CHAN and those half
 * further on. */
struct words_k_chan {
    int64_t at;         /* byte for v = 0 of all runs, a multiple of 4 */
    uint32_t to, words; /* place in shared memory; multiples of 4; no words: not wanted */
};

/* A row of either level.  It is made in tiles with v < hi + half and v + WORDS_TILE > lo. */
struct words_k_row {
    uint32_t source[WORDS_LEAF]; /* bytes of shared memory */
    int64_t at; /* upper level: word of the output of v = 0; lower level: byte of shared memory */
    int32_t lo, hi;
};

/* Rows of a sub-band of the second level, which are at most some delays apart.  Lower rows come first
 * in the table. */
struct words_k_group {
    uint32_t row, nlower, nupper; /* the tables of rows and windows come first in shared memory */
    uint32_t chan, nchan;         /* a window for each channel, and perhaps one of zeros */
    int32_t v0,
        hi; /* tiles begin at v0 + k WORDS_TILE < hi + half; v0 is a multiple of WORDS_LINE */
};

struct words_k_rows {
    const struct words_k_group *d_group;
    size_t ngroup;
    const struct words_k_chan *d_chan;
    const struct words_k_row *d_row;
    size_t last;         /* hi of any group, maximum */
    size_t shared;       /* bytes of any group */
    const uint8_t *d_in; /* 16-byte aligned */
    size_t at;           /* byte of v = 0 */
    uint32_t *d_out;
    size_t half; /* a multiple of 4 */
};

/* --- second stage ----------------------------------------------------------------------------- */

/* Part of a row of the first stage that is copied to shared memory. */
struct words_k_copy {
    int64_t from;       /* word of d_in for v = 0, a multiple of 4 */
    uint32_t to, words; /* multiples of 4, after the step itself */
};

/* What one sub-band of the third level, or up to WORDS_PARTS of the second, adds to a group of
 * trials.  Sources are bytes after the step in shared memory. */
struct words_k_step {
    uint32_t nrow, nparts; /* of the third level */
    uint32_t pad[2];
    uint32_t trial[WORDS_TRIALS];               /* byte of the third level's rows */
    uint32_t source[WORDS_TRIALS][WORDS_PARTS]; /* of a row of the third level, or of a trial */
};

/* Copies copy .. copy + n - 1, of so many bytes with the step, to byte "at" of shared memory, where
 * the first "after" steps of the group have been read. */
struct words_k_load {
    uint32_t copy, n, bytes, at, after;
};

struct words_k_trials {
    const struct words_k_load *d_load; /* [ngroup][nstep] */
    const struct words_k_step *d_step; /* likewise */
    const struct words_k_copy *d_copy;
    const int64_t *d_trial; /* [ngroup][WORDS_TRIALS] row of the output; -1: none */
    size_t ngroup, nstep;
    int third;     /* there are rows of the third level */
    size_t rows;   /* byte of shared memory of the third level's rows, twice */
    size_t nrow;   /* of the third level in any step, maximum */
    size_t shared; /* bytes of any group */
    const uint32_t *d_in;
    float *d_out;              /* [trial][out_pitch] */
    size_t out_pitch, n, half; /* outputs of each trial */
    double bias, downsamp;     /* out = (sum - bias) / downsamp */
};

/* Bytes of shared memory that a thread block may take on the current device; 0 if it cannot run these
 * kernels. */
cudaError_t words_k_shared(size_t *bytes);

cudaError_t words_k_make_rows(const struct words_k_rows *s, cudaStream_t stream);
cudaError_t words_k_make_trials(const struct words_k_trials *s, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
