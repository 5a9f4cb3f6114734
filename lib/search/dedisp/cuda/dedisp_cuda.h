/* dedisp_cuda.h: dedispersion on a CUDA device (private).
 *
 * The planner (dedisp_cuda_plan.c) assigns trials and channels to kernels.  The state
 * (dedisp_cuda_state.c) holds the data on the device.  The stream (dedisp_cuda.c) processes pieces
 * of spectra. */
#ifndef PSR_SEARCH_DEDISP_CUDA_DEDISP_CUDA_H
#define PSR_SEARCH_DEDISP_CUDA_DEDISP_CUDA_H

#include "base/device/cuda_call.h"
#include "search/dedisp/dedisp_internal.h"
#include <dedisp/dedisp_kernels.h>
#include <dsp/dsp_kernels.h>
#include <tree/dedisp_tree_kernels.h>

/* Stages of the tree algorithm on a CUDA device.
 *
 * A stage makes the rows of one or two levels (dedisp_tree_kernels.h); the lowest stage reads
 * channels, the last makes trials.  Stages are planned from the trials down, as each wants rows of
 * the one below over certain delays. */

/* A row of a level: added up with its channels delayed by lo and more, for outputs that use it at
 * delays up to hi; the last stage's output is a trial, at delay lo alone. */
struct psr_tree_output {
    int32_t row, lo, hi;
    int64_t at; /* last stage: row of the output; else the element of v = 0, once placed */
};

/* A source that is part of the stage's input: a row of the level below or a channel, delayed. */
struct psr_tree_input {
    size_t source, pair; /* which */
    int32_t row;         /* or kept channel */
    int32_t delay;       /* at v = 0 */
    int32_t lo;          /* the least delay at which the stage uses it, v0 included */
    int32_t hi;          /* the largest, as struct tree_k_group has it */
};

struct psr_tree_stage {
    int top; /* level of its output */
    bool two;
    enum tree_k_kind in, lower, upper;
    struct psr_tree_output *output; /* sorted by row and delay, or by DM */
    struct tree_k_group *group;
    struct tree_k_pair *pair;
    struct tree_k_row *row;
    int32_t *source;
    struct psr_tree_input *input;
    size_t noutput, ngroup, npair, nrow, nsource, ninput;
    size_t room[6]; /* of these arrays */
    size_t shared;  /* bytes */
    size_t span;    /* of any group's tiles beside n, maximum */
};

struct psr_tree_stages {
    int nstage;
    struct psr_tree_stage stage[PSR_MERGE_MAXLEVEL];
    double adds; /* per output sample, for all trials */
};

static inline size_t psr_tree_lane_bytes(enum tree_k_kind kind)
{
    return kind == TREE_BYTES ? 1 : kind == TREE_16 ? 2 : 4;
}

/* Whether lanes of 32 bits hold all sums of integer samples. */
bool psr_tree_fits_device(uint64_t sample_max, size_t nkept);

/* The tree algorithm on a CUDA device in words of two outputs.
 *
 * For samples of up to 8 bits and at least three levels (dedisp_tree_kernels.h).  Planned from
 * the trials down: groups of trials want rows of the second level over certain delays, which the first
 * stage makes. */

/* A row of the second level, wanted by outputs at delays lo to hi; lo is a multiple of 4. */
struct psr_words_row {
    size_t node; /* sub-band */
    int32_t row, lo, hi;
    int64_t at; /* word of v = 0, once placed */
};

struct psr_words {
    struct words_k_group *group;
    struct words_k_chan *chan;
    struct words_k_row *row;
    struct psr_words_row *made; /* by the first stage: sorted by row and delay */
    size_t ngroup, nchan, nrow, nmade;
    size_t last, shared; /* as of struct words_k_rows */

    struct words_k_load *load;
    struct words_k_step *step;
    struct words_k_copy *copy;
    struct psr_words_row *want; /* [ncopy] what each copy has */
    int64_t *trial;
    size_t ntrial_group, nstep, ncopy;
    bool third;
    size_t room, nthird; /* bytes of a step and its copies, rows of the third level; maxima */
    size_t ring;         /* bytes for steps */

    size_t capacity[8]; /* of these arrays */
    double adds;        /* per output sample, for all trials */
};

/* Bytes of shared memory for rows of the third level, of two steps. */
static inline size_t psr_words_third_bytes(const struct psr_words *w)
{
    return 2 * 4 * WORDS_ROW * w->nthird;
}

/* Whether this can be used. */
bool psr_words_fit(const struct psr_dedisp_layout *s);

/* Trials by rising DM, in blocks; each block with its groups of channels.  Adjacent blocks with the
 * same grouping share the entries of the groups.  Stages are computed for a batch of blocks at a
 * time. */
struct psr_cuda_plan {
    double *dm;                   /* [ndm] rising */
    uint32_t *row;                /* [ndm] place in the sweep */
    struct dedisp_k_block *block; /* [nblock] */
    struct dedisp_k_group *group; /* [ngroup] */
    size_t *batch;                /* [nbatch + 1] first block of each */
    size_t nblock, ngroup, nbatch;
    size_t nwide;             /* blocks of the first kind: the first ones */
    size_t nstage;            /* of the largest batch */
    int nplane;               /* of bytes, to hold a sample; 0: floats */
    int spread[DEDISP_KINDS]; /* of any block */
    size_t late;              /* of any block */
    double coeff_mid;         /* of the middle of the delays of kept channels */
    bool multiply; /* by matrix products; else sample by sample, and there are no blocks */
};

/* Given:    max_spread  of dedisp_k_max_spread
 *           max_stages  of a batch
 * Status:   PSR_ENOMEM.  plan is to be freed after a failure too. */
PSR_MUST_CHECK psr_status psr_cuda_plan_make(struct psr_cuda_plan *plan,
                                             const struct psr_dedisp_layout *s,
                                             const int max_spread[DEDISP_KINDS], size_t max_stages,
                                             psr_err *err);

/* Blocks of each kind in a batch. */
void psr_cuda_plan_batch(const struct psr_cuda_plan *plan, size_t batch,
                         size_t nblock[DEDISP_KINDS]);
void psr_cuda_plan_free(struct psr_cuda_plan *plan);

/* One of two: a piece's spectra and its output. */
struct psr_cuda_buffer {
    void *d_raw;
    float *d_out, *h_out;           /* h_out: NULL until output goes to the host */
    cudaStream_t sum;               /* of what makes its output */
    cudaEvent_t began, copied;      /* spectra come; they have come */
    cudaEvent_t transposed, summed; /* they lie in runs; output is made */
    cudaEvent_t earlier, spare; /* the other buffer's "summed" of the piece before; the next one */
    cudaEvent_t given;          /* whoever wants the output has it */
    cudaEvent_t leaving, drained; /* output goes to the host; it has gone */
    bool busy, giving;            /* events were recorded; the last two as well */
    uint64_t raw_first;           /* spectrum at the start of d_raw */
    size_t nout, pitch;           /* output on its way to the caller, 0: none */
    size_t at;                    /* its place in the caller's */
};

/* What a device has of a stage of the tree algorithm. */
struct psr_cuda_tree_stage {
    struct tree_k_group *d_group;
    struct tree_k_pair *d_pair;
    struct tree_k_row *d_row;
    int32_t *d_source;
    void *d_rows; /* its output; NULL for the last stage */
};

/* What a device has of the tree algorithm in words of two outputs. */
struct psr_cuda_words {
    struct words_k_group *d_group;
    struct words_k_chan *d_chan;
    struct words_k_row *d_row;
    struct words_k_load *d_load;
    struct words_k_step *d_step;
    struct words_k_copy *d_copy;
    int64_t *d_trial;
    uint32_t *d_made[2]; /* rows between the stages, for sums of either buffer */
};

/* One device and its trials. */
struct psr_cuda {
    const struct psr_dedisp_layout *s;
    int device;
    struct psr_cuda_plan plan;
    size_t row_bytes, sample_bytes; /* of a spectrum; of a sample in a run */

    double *d_dm, *d_coeff;
    uint32_t *d_row, *d_chan;
    int32_t *d_pre, *d_place;
    struct dedisp_k_block *d_block;
    struct dedisp_k_group *d_group;
    void *d_stage, *d_sum; /* d_sum: as of cornerturn.h */
    int *d_fault;

    size_t first_trial;          /* of the plan's */
    struct psr_tree_stages tree; /* of the tree algorithm, unless it uses words */
    struct psr_cuda_tree_stage tree_stage[PSR_MERGE_MAXLEVEL];
    struct psr_words words; /* has no groups unless it does */
    struct psr_cuda_words d_words;
    size_t tree_chunk; /* outputs at once */

    unsigned char *d_run;   /* [nplane][nkept][pitch] */
    size_t pitch, plane;    /* bytes */
    size_t room;            /* samples of a run */
    size_t piece, nout_max; /* spectra and output samples at once */
    size_t host_piece;      /* spectra at once where output goes to the host */
    struct psr_cuda_buffer buffer[2];
    cudaStream_t in, work,
        out; /* spectra come and are transposed; for the output's readers; copies */

    int current; /* the buffer that the next piece uses */
    uint64_t nraw, ntransposed,
        ndone;      /* spectra taken, samples in the runs so far, samples given */
    uint64_t first; /* sample at the start of the runs */
    int64_t bytes;
    bool started; /* the device was there */
    double copy_in_ms, cornerturn_ms, sum_ms, copy_out_ms;
};

/* Where spectra come from. */
struct psr_cuda_source {
    const void *at;      /* pinned memory, or the device's own */
    cudaEvent_t ready;   /* they are there; NULL: they are */
    cudaStream_t behind; /* what overwrites them; NULL: the caller does */
};

/* Spectra on the devices of several plans. */
struct psr_cuda_block;

/* The devices of a plan, in step. */
struct psr_cuda_set {
    const struct psr_dedisp_layout *s;
    struct psr_dedisp_layout *part;          /* [n] of the sweep: its trials only */
    struct psr_cuda *device;                 /* [n] */
    struct psr_device_series *device_series; /* [n] */
    size_t n;
    size_t at;      /* device that is worked on, or was last */
    void *h_raw[2]; /* for spectra in memory that is not pinned; NULL until there are such */
    struct psr_cuda_block *block; /* spectra may come from there; NULL: all come from the host */
};

/* Takes the device and all memory.  c is to be freed after a failure too. */
PSR_MUST_CHECK psr_status psr_cuda_start(struct psr_cuda *c, psr_err *err);
void psr_cuda_free(struct psr_cuda *c);

/* Takes memory for output on its way to the host. */
cudaError_t psr_cuda_pin_output(struct psr_cuda *c);

/* Plans the tree algorithm and takes memory for it, once runs have theirs. */
PSR_MUST_CHECK psr_status psr_cuda_tree_start(struct psr_cuda *c, int64_t mem_free, psr_err *err);
cudaError_t psr_cuda_tree_sums(const struct psr_cuda *c, const struct dedisp_k_io *io,
                               cudaStream_t stream);
void psr_cuda_tree_free(struct psr_cuda *c);

/* The same in words of two outputs.
 * Given: most, gap   bytes of rows between the stages; as of psr_words_make, outputs
 *        shared      of words_k_shared */
PSR_MUST_CHECK psr_status psr_cuda_words_start(struct psr_cuda *c, int64_t most, size_t gap,
                                               size_t shared, psr_err *err);
cudaError_t psr_cuda_words_sums(const struct psr_cuda *c, const struct dedisp_k_io *io,
                                cudaStream_t stream);
void psr_cuda_words_free(struct psr_cuda *c);

/* Fails for too little memory for rows of a tree. */
PSR_MUST_CHECK psr_status psr_cuda_tree_fail(const struct psr_cuda *c, int64_t most, double need,
                                             psr_err *err);

/* Takes the next n spectra, n <= c->piece, and enqueues the sums that they complete: *nout samples
 * in the buffer c->current. */
cudaError_t psr_cuda_push(struct psr_cuda *c, const struct psr_cuda_source *from, size_t n,
                          size_t *nout);

/* Moves on to the other buffer. */
void psr_cuda_next(struct psr_cuda *c);

/* Enqueues the way of that buffer's output to the host, for the caller's place "at". */
cudaError_t psr_cuda_drain(struct psr_cuda *c, size_t at);

/* Waits until a buffer is done with and takes account of its times. */
cudaError_t psr_cuda_account(struct psr_cuda *c, struct psr_cuda_buffer *h);

/* Adds the time from one event to a later one, for which it waits. */
cudaError_t psr_cuda_add_time(double *to_ms, cudaEvent_t from, cudaEvent_t until);

/* Copies memory, and rows of it, with nthread threads: the caller's is not pinned, and a single
 * thread is slower than the bus. */
void psr_cuda_copy_rows(int nthread, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t bytes, size_t nrow);
void psr_cuda_copy(int nthread, void *to, const void *from, size_t bytes);

/* Whether devices can read the caller's memory at full speed. */
bool psr_cuda_is_pinned(const void *p);

/* --- plans the stages of words --- */

/* A row wanted at delays lo to hi, and who wants to know where it is. */
struct psr_words_need {
    size_t node;
    int32_t row, lo, hi;
    uint32_t *source;
};

struct psr_words_part {
    int32_t row, delay;
};

enum { PSR_WORDS_UPPER = 64 }; /* rows of a group of the first stage, maximum */

struct psr_words_maker {
    const struct psr_merge_tree *tree;
    struct psr_words *words;
    size_t first;  /* trial of the device */
    size_t shared; /* bytes of a thread block */

    int low;                     /* level that trials add up */
    struct psr_words_part *part; /* [nnode of that level][WORDS_TRIALS] */
    size_t at;                   /* step */

    struct psr_words_need need[PSR_WORDS_UPPER * WORDS_LEAF];
    size_t nneed;
};

static inline size_t psr_words_round(size_t n)
{
    return (n + WORDS_ROUND - 1) / WORDS_ROUND * WORDS_ROUND;
}

/* Plans the second stage: what it copies is in words->want.  Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_words_plan_trials(struct psr_words_maker *m, size_t ndm,
                                                psr_err *err);

/* Plans the first stage, which makes words->made.  Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_words_plan_rows(struct psr_words_maker *m, psr_err *err);

#endif
