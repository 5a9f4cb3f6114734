/* dedisp_cuda_words.h: the tree algorithm on a CUDA device in words of two outputs (private).
 *
 * For samples of up to 8 bits and at least three levels (dedisp_tree_words_kernels.h).  Planned from
 * the trials down: groups of trials want rows of the second level over certain delays, which the first
 * stage makes. */
#ifndef PSR_SEARCH_DEDISP_CUDA_DEDISP_CUDA_WORDS_H
#define PSR_SEARCH_DEDISP_CUDA_DEDISP_CUDA_WORDS_H

#include "search/dedisp/dedisp_backend.h"

#include <dedisp_tree_words_kernels.h>

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

/* Plans both stages.
 * Given:    first, ndm   trials of this device
 *           gap   delays further apart than this are made as separate rows
 *           shared   bytes of shared memory of a thread block
 * Status:   PSR_ENOMEM.  To be freed after a failure too. */
PSR_MUST_CHECK psr_status psr_words_make(struct psr_words *w, const struct psr_dedisp_layout *s,
                                         size_t first, size_t ndm, size_t gap, size_t shared,
                                         psr_err *err);
void psr_words_free(struct psr_words *w);

/* Words of all rows between the stages for 2 half outputs at once. */
size_t psr_words_count(const struct psr_words *w, size_t half);

/* Gives rows between the stages their places, for up to 2 half outputs at once, and every source its
 * position: of channels with runs of pitch bytes. */
void psr_words_place(struct psr_words *w, size_t half, size_t pitch);

#endif
