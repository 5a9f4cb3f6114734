/* fold_plan.h: state of a fold: the window of channels, the slices that candidates are folded in, and devices (private). */
#ifndef PSR_FOLD_FOLD_PLAN_H
#define PSR_FOLD_FOLD_PLAN_H

#include "base/base.h"
#include "dsp/channels/cornerturn.h"
#include "fold_internal.h"
#include "formats/spectra/unpack.h"
#include "search/fold/kernels/fold_rows_kernel.h"
#include <math.h>
#include <psrkit/experimental/fold.h>
#include <stdint.h>

/* --- checks a description of a fold --- */

/* Status: PSR_EINVAL, PSR_EUNSUPPORTED */
PSR_MUST_CHECK psr_status psr_fold_check(const struct psr_fold_desc *desc, psr_err *err);

/* The highest centre of a channel in a sub-band, the one that was asked for last; zeros: none was. */
struct psr_fold_top {
    size_t end; /* 1 + its number */
    double mhz;
};

/* --- which samples of a block lie in which bin --- */

/* The clock of a candidate: gives the phase at ascending times. */
struct psr_fold_clock {
    const struct psr_fold_candidate *cand;
    size_t node; /* of the table of delays: the last interval used */
};

/* Phase in turns, not reduced, at time_s after the first sample. */
long double psr_fold_phase(struct psr_fold_clock *clock, double time_s);

/* Part of a sample: the fraction of its value that a bin receives. */
struct psr_fold_weight {
    size_t bin;
    double value;
    bool completes_rotation; /* afterwards the turn is complete */
};

/* A sample on its way over the bins.  filled is how much of the current turn is filled, from 0 to
 * 1, which lasts from sample to sample. */
struct psr_fold_spread {
    size_t nbin;
    double place, left, width; /* in bins; in turns */
    double over;               /* of the turn after the one that was completed, still to be added */
    double filled;
};

/* Phases closer than this count as equal. */
static const double psr_fold_tiny = 1e-12;

/* fmin and floor are calls, which take as long as all the rest; there are no NaNs here. */
static inline double psr_fold_least(double a, double b)
{
    return a < b ? a : b;
}

/* Of x from 0 to 2^62. */
static inline double psr_fold_whole(double x)
{
    return (double)(int64_t)x;
}

/* Begins a sample of width turns (none if not above 0) that starts at phase, 0 to 1. */
static inline void psr_fold_spread_begin(struct psr_fold_spread *s, double phase, double width)
{
    s->place = phase * (double)s->nbin;
    s->left = s->width = width;
    s->over = 0;
}

/* The bin that the sample has reached receives what of the sample lies in it, as in prepfold; where that
 * completes the turn, what exceeds it follows as a weight of its own.
 * Returned: false if nothing is left of the sample */
static inline bool psr_fold_spread_next(struct psr_fold_spread *s, struct psr_fold_weight *weight)
{
    const double nbin = (double)s->nbin;
    if (!(s->left > psr_fold_tiny))
        return false;
    const double bin = psr_fold_whole(s->place + psr_fold_tiny),
                 to_edge = (bin + 1 - s->place) / nbin;
    const double here = psr_fold_least(to_edge, s->left);
    weight->bin = (size_t)bin;
    if (weight->bin >= s->nbin) /* a division takes longer than the rest */
        weight->bin %= s->nbin;
    weight->completes_rotation = false;
    if (s->over != 0) {
        weight->value = s->over / s->width;
        s->filled = s->over;
        s->over = 0;
    } else {
        const double room = 1 - s->filled, now = psr_fold_least(room, here);
        weight->value = now / s->width;
        s->filled += now;
        weight->completes_rotation = fabs(s->filled - 1) < psr_fold_tiny;
        if (weight->completes_rotation) {
            s->filled = 0;
            s->over = here - room;
            if (s->over != 0)
                return true;
        }
    }
    s->left -= here;
    s->place += here * nbin;
    return true;
}

/* Of one candidate; the clock and the spread last from block to block. */
struct psr_fold_runs {
    struct psr_fold_clock clock;
    struct psr_fold_spread spread;
    bool steady; /* the phase ascends throughout: samples between two in the same bin are in it */
    struct psr_fold_run *run; /* [n] of the current block; owned */
    size_t n, room;
};

/* Samples of a block. */
struct psr_fold_samples {
    double begin_s, tsamp_s; /* of the first one */
    size_t n;
};

/* Begins with the first block; cand is borrowed, length_s is what is folded in all. */
void psr_fold_runs_begin(struct psr_fold_runs *r, const struct psr_fold_candidate *cand,
                         double length_s);

/* Finds the runs of the next block.  Only the last turn that the block completes is marked: no part
 * ends before it.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_runs_find(struct psr_fold_runs *r,
                                             const struct psr_fold_samples *block, psr_err *err);

/* State of a fold: the window of channels, and the slices that candidates are folded in. */

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
    struct psr_own own;     /* all but what says so */
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

/* --- what folds blocks in place of the CPU --- */

/* Candidates that a device folds at once, and bytes of the window that it is given. */
enum { PSR_FOLD_DEVICE_CHUNK = 128, PSR_FOLD_DEVICE_WINDOW = 64 << 20 };

struct psr_fold_device_ops {
    const char *name;

    /* Status: PSR_EDEVICE, PSR_EUNSUPPORTED, PSR_ENOMEM */
    psr_status (*create)(void **state, const struct psr_fold *f, int device, psr_err *err);

    /* Folds every block of the window that is complete; the window may change at once.
     * Status: PSR_EDEVICE, PSR_ENOMEM */
    psr_status (*run)(void *state, struct psr_fold *f, psr_err *err);

    /* Waits, and brings the profiles and statistics of the parts that ended, and the sums of those at hand
     * to the slices.  Status: as of run */
    psr_status (*finish)(void *state, struct psr_fold *f, psr_err *err);
    void (*destroy)(void *state);
};

extern const struct psr_fold_device_ops psr_fold_cuda;

/* Opens what f->d.backend names; f->device stays NULL for the CPU.
 * Status: as psr_fold_create */
PSR_MUST_CHECK psr_status psr_fold_device_open(struct psr_fold *f, psr_err *err);
PSR_MUST_CHECK psr_status psr_fold_device_run(struct psr_fold *f, psr_err *err);
PSR_MUST_CHECK psr_status psr_fold_device_finish(struct psr_fold *f, psr_err *err);
void psr_fold_device_close(struct psr_fold *f);

/* --- lists what a device is to fold of a candidate --- */

enum psr_fold_list_kind {
    PSR_FOLD_BLOCKS,  /* struct fold_k_block: places count from those of the candidate */
    PSR_FOLD_RUNS,    /* struct fold_k_run */
    PSR_FOLD_OFFSETS, /* double */
    PSR_FOLD_VALUES,  /* float */
    PSR_FOLD_PARTS,   /* size_t: numbers of those that end */
    PSR_FOLD_NLIST
};

struct psr_fold_list {
    void *item;
    size_t n, room;
};

struct psr_fold_lists {
    struct psr_fold_list list[PSR_FOLD_NLIST];
    bool floats; /* any block's sums are floats */
};

/* --- values that zeros in the window of a fold stand for --- */

/* Takes the steps of the next spectra.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_replaced_take(struct psr_fold *f, const struct psr_step *step,
                                                 size_t nstep, psr_err *err);

/* Forgets steps before the window, which has moved. */
void psr_fold_replaced_forget(struct psr_fold *f);

/* For the next block of a candidate: its value, offset and has_steps. */
void psr_fold_replaced_find(const struct psr_fold *f, struct psr_fold_cube *cube);

/* Adds the values to band, sub-bands [first, first + n) of that block. */
void psr_fold_replaced_add(const struct psr_fold *f, const struct psr_fold_cube *cube, size_t first,
                           size_t n, float *band);

#endif
