/* Lists the blocks of a candidate for a device: their runs, and the values of replaced samples. */
#include "fold/fold_kernels.h"
#include "fold_plan.h"

#include <stdlib.h>
#include <string.h>

size_t psr_fold_list_size(enum psr_fold_list_kind kind)
{
    static const size_t size[PSR_FOLD_NLIST] = {
        [PSR_FOLD_BLOCKS] = sizeof(struct fold_k_block),
        [PSR_FOLD_RUNS] = sizeof(struct fold_k_run),
        [PSR_FOLD_OFFSETS] = sizeof(double),
        [PSR_FOLD_VALUES] = sizeof(float),
        [PSR_FOLD_PARTS] = sizeof(size_t),
    };
    return size[kind];
}

/* Room for n items more. */
static void *add(struct psr_fold_lists *l, enum psr_fold_list_kind kind, size_t n, psr_err *err)
{
    struct psr_fold_list *list = &l->list[kind];
    const size_t size = psr_fold_list_size(kind), need = list->n + n;
    if (need > list->room || !list->item) {
        const size_t room = need + need / 2 + 16;
        void *grown = room < SIZE_MAX / size ? realloc(list->item, room * size) : NULL;
        if (!grown) {
            (void)psr_fail_nomem(err, "the lists of a fold", (double)room * (double)size);
            return NULL;
        }
        list->item = grown;
        list->room = room;
    }
    list->n = need;
    return (char *)list->item + (need - n) * size;
}

static psr_status list_runs(struct psr_fold_lists *l, const struct psr_fold_cube *cube,
                            psr_err *err)
{
    struct fold_k_run *run = add(l, PSR_FOLD_RUNS, cube->runs.n, err);
    if (!run)
        return PSR_ENOMEM;
    for (size_t i = 0; i < cube->runs.n; i++) {
        const struct psr_fold_run *from = &cube->runs.run[i];
        run[i] = (struct fold_k_run){from->begin, from->end, from->bin, from->completes_turn,
                                     from->fraction};
    }
    return PSR_OK;
}

static psr_status list_block(struct psr_fold_lists *l, const struct psr_fold *f,
                             struct psr_fold_cube *cube, psr_err *err)
{
    const size_t n = f->d.block, per_part = f->d.part_blocks;
    const bool ends = (cube->next + 1) % per_part == 0;
    psr_status st = psr_fold_plan_block(f, cube, err);
    if (st)
        return st;
    const bool floats = !f->most || cube->has_steps;
    const struct fold_k_block new = {.run = l->list[PSR_FOLD_RUNS].n,
                                     .nrun = cube->runs.n,
                                     .at = (cube->next - f->begun) * n,
                                     .offset = l->list[PSR_FOLD_OFFSETS].n,
                                     .value = l->list[PSR_FOLD_VALUES].n,
                                     .t = (int64_t)(cube->next * n),
                                     .n = (uint32_t)n,
                                     .floats = floats,
                                     .values = cube->has_values,
                                     .ends = ends,
                                     .out = l->list[PSR_FOLD_PARTS].n};
    struct fold_k_block *block = add(l, PSR_FOLD_BLOCKS, 1, err);
    size_t *part = block && ends ? add(l, PSR_FOLD_PARTS, 1, err) : NULL;
    if (!block || (ends && !part))
        return PSR_ENOMEM;
    *block = new;
    if (ends)
        *part = cube->next / per_part;
    l->floats |= floats;
    cube->next++;
    st = list_runs(l, cube, err);
    if (st)
        return st;
    /* The values that hold throughout a block, or at its begin. */
    double *offset = add(l, PSR_FOLD_OFFSETS, f->d.nsub, err);
    if (!offset)
        return PSR_ENOMEM;
    memcpy(offset, cube->offset, f->d.nsub * sizeof *offset);
    if (!floats || !cube->has_values || !f->nkept)
        return PSR_OK;
    float *value = add(l, PSR_FOLD_VALUES, f->nkept, err);
    if (!value)
        return PSR_ENOMEM;
    memcpy(value, cube->value, f->nkept * sizeof *value);
    return PSR_OK;
}

psr_status psr_fold_lists_fill(struct psr_fold_lists *lists, const struct psr_fold *f,
                               struct psr_fold_cube *cube, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int k = 0; k < PSR_FOLD_NLIST; k++)
        lists->list[k].n = 0;
    lists->floats = false;
    while (!st && psr_fold_is_ready(f, cube))
        st = list_block(lists, f, cube, err);
    return st;
}

void psr_fold_lists_free(struct psr_fold_lists *lists)
{
    for (int k = 0; k < PSR_FOLD_NLIST; k++)
        free(lists->list[k].item);
}
