/* fold_plan.h: state of a fold: the window of channels, and the slices that candidates are folded in
 * (private). */
#ifndef PSR_SEARCH_FOLD_PLAN_H
#define PSR_SEARCH_FOLD_PLAN_H

#include "dsp/channels/cornerturn.h"
#include "fold_runs.h"
#include "search/fold/kernels/fold_rows_kernel.h"

/* A candidate's results and delays, and how its next block is folded. */
struct psr_fold_cube {
    struct psr_fold_candidate cand;
    int32_t *delay;               /* [nchan] samples, lowest channel first */
    size_t ahead;                 /* blocks that must follow a block */
    double *profile;              /* [npart][nsub][nbin] within profiles */
    struct psr_fold_stats *stats; /* [npart][nsub] */
    size_t next;                  /* the next block */
    bool is_ready;                /* it can be folded, and these are set */
    struct psr_fold_runs runs;
    float *value;    /* [nkept] what replaced samples of the block stand for, at its begin */
    double *offset;  /* [nsub] of all samples: bias and values */
    bool has_values; /* one of value, or of later ones, may not be 0 */
    bool has_steps;  /* a value changes within the block; offset does not hold it */
};

/* A group of sub-bands of one candidate, [first, first + n); slices are independent. */
struct psr_fold_slice {
    struct psr_fold_cube *cube;
    size_t first, n;
    struct psr_fold_bins bins;
    double *mean, *square; /* [n] of the samples of the current part: their mean, and the sum
                                   of squared differences from it */
    int64_t count;         /* samples of the current part */
};

/* What a thread needs for one slice at a time. */
struct psr_fold_scratch {
    uint16_t *piece;            /* [2][TILE / 2][GROUP] even samples, then odd ones */
    int16_t *line;              /* [2][TILE / 2] of one sub-band */
    uint16_t *word;             /* [block, and a tile][GROUP] rows */
    double *offset;             /* [GROUP] */
    const unsigned char **lane; /* [nchan] */
    /* Of samples that are no words: */
    float *band;                       /* [GROUP][block] */
    float *row;                        /* [block + 1][GROUP] */
    uint16_t *sum;                     /* [block] zeros */
    double *run, *square, *shift;      /* [GROUP] */
    struct psr_cornerturn *cornerturn; /* of band to row */
};

/* From spectrum t on, zeros of kept channel k stand for value. */
struct psr_fold_step {
    int64_t t;
    size_t k;
    size_t later; /* the channel's next one, or SIZE_MAX */
    float value;
};

/* How samples lie in the window. */
enum psr_fold_store { PSR_FOLD_U8 = 1, PSR_FOLD_U16 = 2, PSR_FOLD_F32 = 4 };

struct psr_fold {
    struct psr_fold_desc d; /* nthread, pointers into cubes */
    const struct psr_fold_rows_loops *loops;
    enum psr_fold_store store;
    float bias;         /* added to stored samples of signed data */
    size_t most;        /* of a sub-band's sum of bytes; 0: sums are floats */
    size_t ahead;       /* the most of all candidates */
    size_t *chan;       /* [nkept] kept channels, lowest first, as the spectra number them */
    size_t *place;      /* [nchan] of a channel in chan; SIZE_MAX: none */
    size_t *band;       /* [nkept] sub-band of a kept channel */
    size_t *band_first; /* [nsub + 1] the first of each sub-band in chan */
    int32_t *zeros;     /* [max(nchan, block)] */
    size_t *sample;     /* [block] 0, 1, 2 ... */
    size_t nkept;
    struct psr_cornerturn *cornerturn;
    unsigned char *window;      /* [nkept][room] and slack */
    bool is_pinned;             /* it is that of psr_device_pin */
    size_t room;                /* spectra; more than ahead + 1 blocks, so that it moves seldom */
    size_t filled;              /* spectra in it */
    size_t begun;               /* blocks that it has left behind */
    float *level;               /* [nchan] values of replaced samples where the window begins */
    size_t nlevel;              /* how many are not 0 */
    size_t *first_step;         /* [nkept] place in step; SIZE_MAX: none */
    struct psr_fold_step *step; /* [nstep] later ones */
    size_t nstep, step_room;
    struct psr_fold_cube *cube;
    double *profiles; /* of all cubes: a mapping */
    size_t profile_bytes;
    struct psr_fold_slice *slice; /* [nslice / ncand][ncand] */
    size_t nslice;
    struct psr_fold_scratch *scratch; /* [nthread] */
    void *device;                     /* state of psr_fold_device_ops; NULL: the CPU folds */
};

/* Blocks of an observation, and those that have arrived. */
static inline size_t psr_fold_blocks(const struct psr_fold *f)
{
    return f->d.nblock;
}
static inline size_t psr_fold_arrived(const struct psr_fold *f)
{
    return f->begun + f->filled / f->d.block;
}

/* Whether the candidate's next block has arrived; and its runs and values. */
bool psr_fold_is_ready(const struct psr_fold *f, const struct psr_fold_cube *cube);
PSR_MUST_CHECK psr_status psr_fold_plan_block(const struct psr_fold *f, struct psr_fold_cube *cube,
                                              psr_err *err);

/* Statistics of a complete part, of the given number, whose profiles are there.
 * Given: mean, square   [nsub] as in slices */
void psr_fold_set_stats(const struct psr_fold *f, struct psr_fold_cube *cube, size_t part,
                        const double *mean, const double *square);

/* Those of a profile of n bins.
 * Given: count, mean, square   samples, their mean, and the sum of squared differences from it */
struct psr_fold_stats psr_fold_make_stats(size_t n, double count, double mean, double square,
                                          const double *profile);

/* Makes cubes, slices, scratch and window of f->d. */
PSR_MUST_CHECK psr_status psr_fold_make(struct psr_fold *f, psr_err *err);

/* Folds the next block of the slice's candidate. */
void psr_fold_block(const struct psr_fold *f, struct psr_fold_slice *s,
                    struct psr_fold_scratch *scratch);

/* Completes the current part, of the given number. */
void psr_fold_end_part(const struct psr_fold *f, struct psr_fold_slice *s, size_t part);

#endif
