/* ffa_kernels.h: the fast folding search on the device, with the integers and floats of
 * lib/search/ffa/ffa_internal.h.
 *
 * Series become integers and their prefix sums, these the samples of each step of the ladder
 * (ffa_samples.cu).  Two series are folded at once, the same bin of both in a word of two 16-bit integers.  Folds are
 * transformed in sweeps over their recursion (ffa_merge.cu): a thread block merges several levels of it in shared
 * memory, for some successive rows, its tile, and the last sweep rates the rows where they are.  Which rows are
 * merged is the same for every series, and found once (ffa_tile.cu). */
#ifndef PSR_KERNELS_FFA_KERNELS_H
#define PSR_KERNELS_FFA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FFA_PAIR = 2, /* series */
    FFA_MAX_SWEEPS = 16,
    FFA_MAX_LEVELS = 7,                    /* that a sweep merges */
    FFA_LANES = 32,                        /* rows begin at multiples of so many bins */
    FFA_MAX_WORDS = 11,                    /* of a piece of a row, in a lane */
    FFA_SLACK = FFA_LANES * FFA_MAX_WORDS, /* bins that may be read beyond the samples */
    FFA_NONE = 0xffff,
    FFA_MAX_WIDTHS = 20,
    FFA_MAX_ROWS = 46340,
};

/* --- samples ---------------------------------------------------------------------------------- */

/* One step of the ladder. */
struct ffa_k_step {
    uint64_t advance, granule;
    uint64_t n, q0; /* samples; its first one in d_q, a multiple of 8 */
    uint64_t part0; /* its first part in d_mean and d_median */
    uint32_t part, nparts, half;
    float w, v, scale; /* v: 1 / f */
};

/* Samples without data. */
struct ffa_k_gap {
    uint64_t first, count;
    uint64_t before; /* samples of the gaps before it */
};

/* One series.  Device arrays. */
struct ffa_k_series {
    float *d_x; /* [nsamp]; ffa_k_sample changes what is in gaps */
    size_t nsamp;
    const struct ffa_k_gap *d_gap; /* [ngap] ascending, apart, within the series */
    size_t ngap;
    float *d_level;   /* [2][nsamp / block] means and variances of blocks */
    long long *d_bad; /* lowest sample outside gaps that is not finite; the largest number before */
    float centre, scale;
    uint32_t *d_prefix; /* [nsamp + 1] */
    void *d_scan;       /* room for ffa_k_scan_bytes */
    size_t scan_bytes;
    const struct ffa_k_step *d_step; /* [nstep] */
    size_t nstep, nq, npart;         /* samples with their padding, and parts, of all steps */
    float *d_mean, *d_median;        /* [npart] */
    int16_t *d_q;                    /* [nq + FFA_SLACK][FFA_PAIR], this one's */
};

/* Makes d_level, also of blocks that touch gaps, and d_bad. */
cudaError_t ffa_k_measure(const struct ffa_k_series *s, cudaStream_t stream);

cudaError_t ffa_k_scan_bytes(size_t nsamp, size_t *bytes);

/* Makes d_prefix, with centre and scale, and d_q. */
cudaError_t ffa_k_sample(const struct ffa_k_series *s, cudaStream_t stream);

/* Makes d_count [nq], 1 for samples of steps that gaps leave, else 0: those of the first of two series.  Of s only gaps and steps are
 * read. */
cudaError_t ffa_k_count(const struct ffa_k_series *s, uint32_t *d_count, cudaStream_t stream);

/* --- folds ------------------------------------------------------------------------------------ */

struct ffa_k_fold {
    uint32_t nbin;
    uint32_t
        words; /* bins of a row that a lane takes at once, FFA_LANES apart: 8, 9, FFA_MAX_WORDS or 1 */
    uint32_t pitch; /* bins from row to row of sums, a multiple of FFA_LANES words */
    uint32_t nrow, s_lo, s_hi;
    uint32_t number;    /* of the fold */
    uint64_t q0, sums0; /* its first sample, and bin of sums in scratch memory */
    uint64_t trial0;
};

/* One sweep: rows of the nodes at one depth of the recursion from rows of those "levels" below. */
struct ffa_k_sweep {
    uint32_t depth, levels, tile; /* tile: rows of a thread block */
    uint32_t even, odd;           /* rows that even and odd levels above the result hold at most */
    uint32_t rows;                /* of all levels */
    uint32_t threads;
    size_t shared; /* bytes of a thread block */
};

/* How a row is made: of which rows of the level below it, or of the node. */
struct ffa_k_recipe {
    uint16_t head, tail; /* their places, in pairs of bins; FFA_NONE: tail alone */
    uint32_t shift;
};

/* A tile's recipes, which its thread blocks share for all nodes of one size; sweep.rows of them follow it. */
struct ffa_k_tile {
    /* First recipes of levels, from the result on, and the end; even in number, for the recipes to be aligned. */
    uint32_t first[FFA_MAX_LEVELS + 3];
};

/* Recipes of the tiles of folds that are transformed together.  Device arrays. */
struct ffa_k_tiles {
    struct ffa_k_sweep sweep;
    bool rate;
    const struct ffa_k_fold *d_fold; /* [nfold] */
    const uint32_t *d_first;         /* [nfold + 1] first tile of each fold */
    uint32_t nfold, ntile;
    void *d_tile; /* [ntile] of ffa_k_tile_bytes each */
};

size_t ffa_k_tile_bytes(const struct ffa_k_sweep *sweep);

cudaError_t ffa_k_make_tiles(const struct ffa_k_tiles *t, cudaStream_t stream);

/* A trial above the threshold; width is an index. */
struct ffa_k_hit {
    uint64_t trial;
    uint32_t fold, width;
    float snr;
    uint32_t series; /* of the pair */
};

/* Folds that are transformed together, all in the same sweeps.  Device arrays. */
struct ffa_k_merge {
    struct ffa_k_sweep sweep;
    bool samples, rate; /* from d_q, not from d_from; to S/N, not to d_to */
    bool keep; /* with rate: rows s_lo .. s_hi - 1 of the sum to d_to, for ffa_k_rate_counted */
    const struct ffa_k_fold *d_fold; /* [nfold] */
    const uint32_t *d_block;         /* [nfold + 1] first thread block of each fold */
    const uint32_t *d_first;         /* likewise, tile in d_tile */
    const void *d_tile;              /* as ffa_k_make_tiles made them */
    uint32_t nfold, nblock;
    uint32_t rated; /* bit k: series k of the pair; one of them without d_hit */
    const uint32_t *d_q, *d_from;
    uint32_t *d_to;
    const float *d_gain; /* [folds of the search][2][FFA_MAX_WIDTHS] gains, losses */
    uint32_t nwidth;
    float sigma;
    struct ffa_k_hit *d_hit; /* room for cap; NULL: every trial goes to d_snr, d_width */
    unsigned *d_nhit;        /* counts further ones, too */
    uint32_t cap;
    float *d_snr; /* [trials of the search] */
    int *d_width; /* likewise, indices */
};

/* Limits of thread blocks of the current device. */
cudaError_t ffa_k_limits(size_t *shared, size_t *shared_of_two);

/* Bytes that a thread block needs for all but rows, of which there are so many recipes. */
size_t ffa_k_merge_bytes(uint32_t rows);

/* The k-th width of boxcars, which is built in. */
int ffa_k_width(int k);

/* Threads of a warp need this many bytes to rate a profile of nbin bins. */
size_t ffa_k_rate_bytes(uint32_t nbin);

cudaError_t ffa_k_merge_rows(const struct ffa_k_merge *m, cudaStream_t stream);

/* Rates the profiles that the last sweep kept, whose bins have different numbers of samples.
 * Given: d_count   the sums of these numbers, placed as the profiles in m->d_to
 *        unit      of S/N, 1 / units
 *        nbin      most bins of the folds */
cudaError_t ffa_k_rate_counted(const struct ffa_k_merge *m, const uint32_t *d_count, float unit,
                               uint32_t nbin, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
