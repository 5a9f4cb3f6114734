/* How far the delays of each channel reach over the trials of a tree. */
#include "dedisp_internal.h"

#include <stdlib.h>

/* A row is used at delays least to most. */
struct reach {
    int32_t least, most;
    int32_t node;
};

static void widen(struct reach *r, int32_t least, int32_t most)
{
    r->least = least < r->least ? least : r->least;
    r->most = most > r->most ? most : r->most;
}

static struct reach *take_reach(size_t n, psr_err *err)
{
    struct reach *r = malloc((n ? n : 1) * sizeof *r);
    for (size_t k = 0; r && k < n; k++)
        r[k] = (struct reach){INT32_MAX, INT32_MIN, 0};
    if (!r)
        (void)psr_fail_nomem(err, "the rows of a tree", (double)n * sizeof *r);
    return r;
}

psr_status psr_merge_reach(const struct psr_merge_tree *tree, const int32_t *align, int32_t *least,
                           int32_t *most, psr_err *err)
{
    struct reach *row = take_reach(tree->level[tree->nlevel - 1].nrow, err);
    for (size_t i = 0; row && i < tree->ndm; i++) {
        int32_t at = tree->offset[i] + align[i];
        widen(row + tree->row[i], at, at);
    }
    for (int l = tree->nlevel - 1; row && l >= 0; l--) {
        struct reach *below = take_reach(l ? tree->level[l - 1].nrow : tree->nchan, err);
        if (below) {
            /* What the rows of level l, or of the leaves, make of their parts. */
            const struct psr_merge_level *at = &tree->level[l];
            for (size_t r = 0; r < at->nrow; r++) {
                size_t node = (size_t)row[r].node;
                for (size_t j = 0; j < psr_merge_parts_of(tree, l, node); j++) {
                    size_t n = r * at->radix + j, part = node * at->radix + j;
                    struct reach *to = below + (l ? (size_t)at->part[n] : part);
                    to->node = (int32_t)part;
                    widen(to, row[r].least + at->offset[n], row[r].most + at->offset[n]);
                }
            }
        }
        free(row);
        row = below;
    }
    for (size_t k = 0; row && k < tree->nchan; k++) {
        least[k] = row[k].least;
        most[k] = row[k].most;
    }
    psr_status st = row ? PSR_OK : PSR_ENOMEM;
    free(row);
    return st;
}
