/* Gives rows between stages of the tree algorithm their places on a device, and sources their
 * positions.  Nothing here needs a device. */
#include "dedisp_cuda.h"

static size_t row_elements(const struct tree_k_group *g, size_t n)
{
    size_t ntile = ((size_t)(g->hi - g->v0) + n + TREE_TILE - 1) / TREE_TILE;
    return (ntile * TREE_TILE + 31) / 32 * 32;
}

static size_t stage_elements(const struct psr_tree_stage *st, size_t n)
{
    size_t elements = 4 * TREE_TILE; /* read beyond the last row */
    for (size_t k = 0; k < st->ngroup; k++)
        elements += st->group[k].nrow * row_elements(st->group + k, n);
    return elements;
}

double psr_tree_stages_bytes(const struct psr_tree_stages *t, size_t n)
{
    double bytes = 0;
    for (int k = 0; k + 1 < t->nstage; k++)
        bytes += (double)stage_elements(&t->stage[k], n) *
                 (double)psr_tree_lane_bytes(t->stage[k].upper);
    return bytes;
}

/* Rows of the upper level follow each other in a group, and groups in the output. */
static void place_rows(struct psr_tree_stage *st, size_t n)
{
    int64_t next = 0;
    struct psr_tree_output *o = st->output;
    for (const struct tree_k_group *g = st->group; g < st->group + st->ngroup; g++) {
        struct tree_k_row *row = st->row + st->pair[g->upper].row;
        for (size_t u = 0; u < g->nrow; u++, o++, row++) {
            o->at = row->at = next - g->v0;
            next += (int64_t)row_elements(g, n);
        }
    }
}

static int64_t find_output(const struct psr_tree_stage *st, int32_t row, int32_t delay)
{
    size_t lo = 0, hi = st->noutput;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        const struct psr_tree_output *o = st->output + mid;
        if (o->row < row || (o->row == row && o->lo <= delay))
            lo = mid;
        else
            hi = mid;
    }
    return st->output[lo].at;
}

void psr_tree_stages_place(struct psr_tree_stages *t, size_t n, size_t pitch, size_t *elements)
{
    for (int k = 0; k < t->nstage; k++) {
        struct psr_tree_stage *st = &t->stage[k];
        const struct psr_tree_input *in = st->input, *end = in + st->ninput;
        for (size_t pair = SIZE_MAX; in < end; pair = in->pair, in++) {
            int64_t at = in->delay + (k ? find_output(&t->stage[k - 1], in->row, in->lo)
                                        : (int64_t)in->row * (int64_t)pitch);
            if (in->pair != pair)
                st->pair[in->pair].base = at / 2 * 2;
            st->source[in->source] = (int32_t)(at - st->pair[in->pair].base);
        }
        elements[k] = 0;
        if (k + 1 == t->nstage)
            continue;
        place_rows(&t->stage[k], n);
        elements[k] = stage_elements(&t->stage[k], n);
    }
}
