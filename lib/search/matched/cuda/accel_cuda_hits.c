/* Verifies the places that the device reports, with the arithmetic of the CPU. */
#include "accel_cuda.h"

#include "base/tool.h"
#include <stdlib.h>

/* By spectrum, cell and stage, the most promising first. */
static int by_cell(const void *pa, const void *pb)
{
    const struct psr_accel_place *a = pa, *b = pb;
    if (a->spec != b->spec)
        return a->spec < b->spec ? -1 : 1;
    if (a->i != b->i)
        return a->i < b->i ? -1 : 1;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    return (a->low < b->low) - (a->low > b->low);
}

static bool is_same_cell(const struct psr_accel_place *a, const struct psr_accel_place *b)
{
    return a->i == b->i && a->stage == b->stage && a->spec == b->spec;
}

/* The best of places [n] of one cell and stage: none of which another's least is more than the most
 * is it. */
static struct psr_accel_hit look_closely(struct psr_cell_sums *c,
                                         const struct psr_accel_normalise *norm,
                                         const struct psr_accel_place *place, size_t n)
{
    struct psr_accel_hit best = {0};
    psr_cell_sums_move(c, norm, place->i);
    for (size_t k = 0; k < n; k++) {
        const struct psr_accel_place *e = &place[k];
        float sum[PSR_MOST_CELL] = {0};
        if (e->high < place->low)
            continue;
        for (int stage = 0; stage <= e->stage; stage++)
            for (int h = 1; h < 1 << stage || h == 1; h += 2)
                psr_cell_sums_add(c, sum, e->j, e->l, h, stage);
        psr_cell_sums_keep(c, sum, e->j, e->l, e->stage, &best);
    }
    return best;
}

static psr_status look_at_all(const struct psr_accel_search *s,
                              const struct psr_template_bank *bank,
                              const struct psr_accel_normalise *norm,
                              const struct psr_accel_place *place, const size_t *start,
                              size_t ncell, struct psr_accel_hit *best, psr_err *err)
{
    psr_status all = PSR_OK;
#pragma omp parallel num_threads(s->nthread) if (ncell > 1)
    {
        struct psr_cell_sums sums;
        psr_err why;
        psr_status st = psr_cell_sums_create(&sums, s, bank, &why);
#pragma omp for schedule(dynamic)
        for (size_t k = 0; k < ncell; k++)
            if (!st)
                best[k] = look_closely(&sums, norm, place + start[k], start[k + 1] - start[k]);
#pragma omp critical(psr_accel_cuda)
        if (st && !all) {
            all = st;
            if (err)
                *err = why;
        }
        psr_cell_sums_clear(&sums);
    }
    return all;
}

static psr_status keep_hits(const struct psr_accel_search *s, const struct psr_accel_hit *best,
                            size_t n, struct psr_accel_hits *hits, psr_err *err)
{
    for (size_t k = 0; k < n; k++) {
        if (!(best[k].power > s->cut[best[k].stage]))
            continue;
        psr_status st = psr_grow(&hits->hit, &hits->room, hits->n, sizeof *hits->hit, "hits", err);
        if (st)
            return st;
        hits->hit[hits->n++] = best[k];
    }
    return PSR_OK;
}

psr_status psr_accel_cuda_settle(const struct psr_accel_search *s,
                                 const struct psr_template_bank *bank,
                                 const struct psr_accel_normalise *norm,
                                 struct psr_accel_place *place, size_t n, int spec,
                                 struct psr_accel_hits *hits, psr_err *err)
{
    qsort(place, n, sizeof *place, by_cell);
    while (n > 0 && place[n - 1].spec > spec)
        n--;
    while (n > 0 && place->spec < spec) {
        place++;
        n--;
    }
    if (n == 0)
        return PSR_OK;
    size_t *start = malloc((n + 1) * sizeof *start);
    struct psr_accel_hit *best = calloc(n, sizeof *best);
    psr_status st = start && best ? PSR_OK : psr_fail_nomem(err, "hits", 48.0 * (double)n);
    if (!st) {
        size_t ncell = 0;
        for (size_t k = 0; k < n; k++)
            if (k == 0 || !is_same_cell(&place[k - 1], &place[k]))
                start[ncell++] = k;
        start[ncell] = n;
        st = look_at_all(s, bank, norm, place, start, ncell, best, err);
        if (!st)
            st = keep_hits(s, best, ncell, hits, err);
    }
    free(start);
    free(best);
    return st;
}
