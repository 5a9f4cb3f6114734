/* fold_plan.h: state of a fold: the window of channels, and the slices that candidates are folded in
 * (private). */
#ifndef PSR_SEARCH_FOLD_PLAN_H
#define PSR_SEARCH_FOLD_PLAN_H

#include "fold_phase.h"
#include "signal/cornerturn.h"

/* A candidate's results and delays. */
struct psr_fold_cube {
    struct psr_fold_candidate cand;
    int32_t *delay;               /* [nchan] samples, lowest channel first */
    size_t ahead;                 /* blocks that must follow a block */
    double *profile;              /* [npart][nsub][nbin] */
    struct psr_fold_stats *stats; /* [npart][nsub] */
};

/* Some sub-bands of one candidate, [first, first + n); slices are independent. */
struct psr_fold_slice {
    struct psr_fold_cube *cube;
    size_t first, n;
    size_t next; /* the next block */
    struct psr_fold_clock clock;
    struct psr_fold_spread spread;
    double *rotation;      /* [nbin][n] of the current turn */
    double *sum;           /* [nbin][n] of the turns of the current part */
    double *mean, *square; /* [n] of the samples of the current part: their mean, and the sum
                                   of squared differences from it */
    int64_t count;         /* samples of the current part */
};

/* What a thread needs for one slice at a time. */
struct psr_fold_scratch {
    float *band;                       /* [nsub][block] */
    float *row;                        /* [block][nsub] */
    uint16_t *sum;                     /* [block] zeros */
    float *run, *square, *shift;       /* [nsub] */
    struct psr_cornerturn *cornerturn; /* of band to row */
};

/* How samples lie in the window. */
enum psr_fold_store { PSR_FOLD_U8 = 1, PSR_FOLD_U16 = 2, PSR_FOLD_F32 = 4 };

struct psr_fold {
    struct psr_fold_desc d; /* nthread, pointers into cubes */
    enum psr_fold_store store;
    float bias;         /* added to stored samples of signed data */
    size_t ahead;       /* the most of all candidates */
    size_t *chan;       /* [nkept] kept channels, lowest first, as the spectra number them */
    size_t *band_first; /* [nsub + 1] the first of each sub-band in chan */
    int32_t *zeros;     /* [max(nchan, block)] */
    size_t *sample;     /* [block] 0, 1, 2 ... */
    size_t nkept;
    struct psr_cornerturn *cornerturn;
    unsigned char *window; /* [nkept][(ahead + 1) block] */
    size_t filled;         /* spectra in it */
    size_t begun;          /* blocks that it has left behind */
    struct psr_fold_cube *cube;
    struct psr_fold_slice *slice;
    size_t nslice;
    struct psr_fold_scratch *scratch; /* [nthread] */
};

/* Folds the slice's next block, which begins at "block" in the window. */
void psr_fold_block(const struct psr_fold *f, struct psr_fold_slice *s,
                    struct psr_fold_scratch *scratch, size_t block);

/* Completes the current part, of the given number. */
void psr_fold_end_part(const struct psr_fold *f, struct psr_fold_slice *s, size_t part);

#endif
