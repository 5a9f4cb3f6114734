/* dedisp_cuda_words_plan.h: what plans the stages of dedisp_cuda_words.h (private). */
#ifndef PSR_SEARCH_DEDISP_CUDA_DEDISP_CUDA_WORDS_PLAN_H
#define PSR_SEARCH_DEDISP_CUDA_DEDISP_CUDA_WORDS_PLAN_H

#include "dedisp_cuda_words.h"

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

/* Sorts by row and delay. */
void psr_words_sort(struct psr_words_need *need, size_t n);

/* Plans the second stage: what it copies is in words->want.  Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_words_plan_trials(struct psr_words_maker *m, size_t ndm,
                                                psr_err *err);

/* Plans the first stage, which makes words->made.  Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_words_plan_rows(struct psr_words_maker *m, psr_err *err);

#endif
