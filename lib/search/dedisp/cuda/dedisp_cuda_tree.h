/* dedisp_cuda_tree.h: stages of the tree algorithm on a CUDA device (private).
 *
 * A stage makes the rows of one or two levels (dedisp_tree_kernels.h); the lowest stage reads
 * channels, the last makes trials.  Stages are planned from the trials down, as each wants rows of
 * the one below over certain delays. */
#ifndef PSR_SEARCH_DEDISP_CUDA_DEDISP_CUDA_TREE_H
#define PSR_SEARCH_DEDISP_CUDA_DEDISP_CUDA_TREE_H

#include "search/dedisp/dedisp_backend.h"

#include <dedisp_tree_kernels.h>

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

/* Plans the stages.
 * Given:    first, ndm   trials of this device
 *           gap   delays further apart than this are made as separate rows
 *           shared   bytes of shared memory that a group may take, at least 40 KB
 * Status:   PSR_ENOMEM.  To be freed after a failure too. */
PSR_MUST_CHECK psr_status psr_tree_stages_make(struct psr_tree_stages *t,
                                               const struct psr_dedisp_layout *s, size_t first,
                                               size_t ndm, size_t gap, size_t shared, psr_err *err);
void psr_tree_stages_free(struct psr_tree_stages *t);

/* Bytes of the rows between stages for n outputs at once. */
double psr_tree_stages_bytes(const struct psr_tree_stages *t, size_t n);

/* Gives every row between stages its place for up to n outputs at once, and every source its
 * position: of channels with runs of pitch bytes.
 * Returned: elements [nstage]   of the rows that each stage but the last makes */
void psr_tree_stages_place(struct psr_tree_stages *t, size_t n, size_t pitch, size_t *elements);

#endif
