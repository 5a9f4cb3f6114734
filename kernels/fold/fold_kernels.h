/* fold_kernels.h: searches around folds on the device. */
#ifndef PSR_KERNELS_FOLD_KERNELS_H
#define PSR_KERNELS_FOLD_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- folding ---------------------------------------------------------------------------------- */

enum {
    FOLD_K_GROUP = 32,   /* sub-bands of a group, as on the host */
    FOLD_K_TILE = 512,   /* samples whose statistics are merged at once, likewise */
    FOLD_K_ROWS = 64,    /* of floats, likewise */
    FOLD_K_SLACK = 1024, /* bytes after the window that may be read */
};

/* As struct psr_fold_run. */
struct fold_k_run {
    uint32_t begin, end, bin, completes_turn;
    double fraction;
};

/* A block of a candidate. */
struct fold_k_block {
    size_t run, nrun; /* place in d_run */
    size_t at;        /* its first sample in the window */
    size_t offset;    /* place in d_offset of its [nsub] */
    size_t value;     /* place in d_value of its [nkept]; used for floats only */
    int64_t t;        /* number of its first sample, as of steps */
    uint32_t n;       /* samples; 0: it only ends a part */
    uint32_t floats;  /* sums are floats */
    uint32_t values;  /* zeros may stand for values: of floats only */
    uint32_t ends;    /* the part ends afterwards, and goes to slot out */
    size_t out;       /* number of the slot */
};

/* What a group of sub-bands of a candidate keeps between launches; count [0] is that of all, others of thread blocks
 * that have a part of the group each. */
struct fold_k_moments {
    double carry[FOLD_K_GROUP], mean[FOLD_K_GROUP], square[FOLD_K_GROUP];
    int64_t count[FOLD_K_GROUP];
};

struct fold_k_candidate {
    uint32_t nblock, nbin;
    size_t block;                     /* place in d_block */
    const int32_t *d_delay;           /* [nkept] */
    double *d_turn, *d_sum;           /* [ngroup][nbin][GROUP] */
    struct fold_k_moments *d_moments; /* [ngroup] */
    size_t slot, profile;             /* its first slot, and the place of that in d_profile */
};

/* Zeros of a channel stand for value from sample t on. */
struct fold_k_step {
    int64_t t;
    float value;
};

struct fold_k_fold {
    const void *d_window; /* [nkept][room] and slack */
    size_t room;
    int store; /* bytes of a sample: 1, 2, 4 (floats) */
    float bias;
    size_t nsub, ncand, block_max;         /* block_max: samples of the longest block */
    uint32_t span;                         /* sub-bands of a thread block, as fold_k_choose_span */
    const uint32_t *d_band_first;          /* [nsub + 1] */
    const struct fold_k_candidate *d_cand; /* [ncand] */
    const struct fold_k_block *d_block;
    const struct fold_k_run *d_run;
    const double *d_offset;
    const float *d_value;
    const uint32_t *d_first_step; /* [nkept + 1] places in d_step; in order of time */
    const struct fold_k_step *d_step;
    float *d_row; /* [ncand][ngroup GROUP / span][block_max + 1][GROUP] if any block is of floats */
    double *d_profile;         /* of the slots: [nsub][nbin] each */
    double *d_mean, *d_square; /* [slot][nsub] of the slots */
    size_t turn_bins;          /* the most bins of a candidate */
};

/* Sub-bands of a thread block, a part of GROUP: fewer where there are too few candidates for the device at hand. */
uint32_t fold_k_choose_span(size_t ngroup, size_t ncand);

/* Folds all blocks of all candidates.  Integers give the host's bits, and so do floats: the order of
 * all operations is the host's. */
cudaError_t fold_k_run_blocks(const struct fold_k_fold *fold, cudaStream_t stream);

/* --- searching -------------------------------------------------------------------------------- */

enum {
    FOLD_K_PARTS = 64,   /* the most of a fold that is searched */
    FOLD_K_BINS = 128,   /* likewise */
    FOLD_K_DMS = 32,     /* DMs of a thread block */
    FOLD_K_TRIALS = 384, /* trials of p-dot and period of a thread block */
};

/* Of a DM: chi^2 = (sqrt(power) unit + error)^2 + common at most, less the error at least; of the
 * power of a trial, in units of the variance of a bin. */
struct fold_k_dm {
    float unit, error, common;
    uint32_t flat; /* all trials are equal */
};

/* A trial that may be the best. */
struct fold_k_hit {
    uint32_t dm, trial;
    float most; /* that chi^2 may be */
};

struct fold_k_best {
    uint32_t dm, trial;
    double redchi;
};

struct fold_k_counts {
    uint32_t nhit, nbest;
    int least; /* bits of a float: what chi^2 of the best trial is at least */
};

struct fold_k_search {
    size_t npart, nsub, nbin, ndm, nperiod;
    size_t first_period, nperiods, npdots; /* trials: npdots rows of nperiods */
    int pstep;
    double prof_avg, prof_var;
    const double *d_profile;     /* [npart][nsub][nbin] */
    const uint32_t *d_dm_offset; /* [ndm][nsub] bins by which sub-bands are advanced */
    const double *d_delay;       /* [npdots][npart] of parts */
    double *d_part;              /* [ndm][npart][nbin] */
    void *d_factor;              /* [fold_k_factor_bytes] */
    struct fold_k_dm *d_dm;      /* [ndm, up to whole FOLD_K_DMS] */
    uint8_t *d_trial;            /* [npdots nperiods, up to whole FOLD_K_TRIALS][FOLD_K_PARTS] */
    struct fold_k_hit *d_hit;    /* [nhit] room; more are counted, not kept */
    struct fold_k_best *d_best;  /* [nhit] likewise */
    size_t nhit;
    struct fold_k_counts *d_counts;
};

size_t fold_k_factor_bytes(const struct fold_k_search *search);

/* Lists by how many bins every trial advances the parts: once for all folds of a shape. */
cudaError_t fold_k_list(const struct fold_k_search *search, cudaStream_t stream);

/* Sums the sub-bands of all DMs: once for a fold. */
cudaError_t fold_k_sum_bands(const struct fold_k_search *search, cudaStream_t stream);

/* Returned: d_counts, and of the trials that no bound excludes, among them the best, chi^2 / (nbin - 1)
 *           with the host's bits in d_best, in any order */
cudaError_t fold_k_find(const struct fold_k_search *search, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
