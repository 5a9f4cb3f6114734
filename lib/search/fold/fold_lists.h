/* fold_lists.h: lists what a device is to fold of a candidate (private). */
#ifndef PSR_SEARCH_FOLD_LISTS_H
#define PSR_SEARCH_FOLD_LISTS_H

#include "fold_kernels.h"
#include "fold_plan.h"

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

/* Bytes of an item. */
size_t psr_fold_list_size(enum psr_fold_list_kind kind);

/* Lists all blocks that are complete, in place of what was listed, and moves cube->next behind them.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_lists_fill(struct psr_fold_lists *lists,
                                              const struct psr_fold *f, struct psr_fold_cube *cube,
                                              psr_err *err);
void psr_fold_lists_free(struct psr_fold_lists *lists);

#endif
