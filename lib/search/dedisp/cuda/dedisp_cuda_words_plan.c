/* Plans the tree algorithm in words of two outputs.  Nothing here needs a device. */
#include "dedisp_cuda.h"

#include "base/tool.h"
#include <stdlib.h>
#include <string.h>

enum { LATEST = 1 << 25 }; /* delay in a grid's tiles */

bool psr_words_fit(const struct psr_dedisp_layout *s)
{
    uint64_t most = psr_dedisp_layout_sample_max(s);
    return most && most <= UINT8_MAX && s->tree.nlevel > 2 && s->maxoff < LATEST;
}

/* --- rows between the stages ------------------------------------------------------------------ */

static int by_row_and_delay(const void *pa, const void *pb)
{
    const struct psr_words_row *a = pa, *b = pb;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

/* What the second stage copies is what the first makes, joined as long as there is no gap. */
static psr_status unite_rows(struct psr_words *w, size_t gap, psr_err *err)
{
    size_t bytes = w->ncopy * sizeof *w->made;
    w->made = malloc(bytes);
    if (!w->made)
        return psr_fail_nomem(err, "rows of a tree", (double)bytes);
    memcpy(w->made, w->want, bytes);
    qsort(w->made, w->ncopy, sizeof *w->made, by_row_and_delay);
    for (size_t k = 0; k < w->ncopy; k++) {
        const struct psr_words_row *one = w->made + k;
        struct psr_words_row *last = w->made + w->nmade - 1;
        if (w->nmade && last->row == one->row && one->lo - last->hi <= (int64_t)gap)
            last->hi = one->hi > last->hi ? one->hi : last->hi;
        else
            w->made[w->nmade++] = *one;
    }
    return PSR_OK;
}

static int64_t find_row(const struct psr_words *w, const struct psr_words_row *want)
{
    size_t lo = 0, hi = w->nmade;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (by_row_and_delay(w->made + mid, want) <= 0)
            lo = mid;
        else
            hi = mid;
    }
    return w->made[lo].at;
}

static size_t row_words(const struct words_k_group *g, size_t half)
{
    size_t ntile = ((size_t)(g->hi - g->v0) + half + WORDS_TILE - 1) / WORDS_TILE;
    return ntile * WORDS_TILE;
}

size_t psr_words_count(const struct psr_words *w, size_t half)
{
    size_t words = 8 * WORDS_ROW; /* read beyond the last row */
    for (const struct words_k_group *g = w->group; g < w->group + w->ngroup; g++)
        words += g->nupper * row_words(g, half);
    return words;
}

void psr_words_place(struct psr_words *w, size_t half, size_t pitch)
{
    int64_t next = 0;
    struct psr_words_row *made = w->made;
    for (const struct words_k_group *g = w->group; g < w->group + w->ngroup; g++)
        for (size_t k = 0; k < g->nupper; k++, made++) {
            made->at = w->row[g->row + g->nlower + k].at = next - g->v0;
            next += (int64_t)row_words(g, half);
        }
    for (size_t k = 0; k < w->ncopy; k++)
        w->copy[k].from = find_row(w, w->want + k) + w->want[k].lo;
    for (struct words_k_chan *c = w->chan; c < w->chan + w->nchan; c++)
        c->at = (c->at >> 32) * (int64_t)pitch + (int32_t)c->at;
}

/* --- the plan --------------------------------------------------------------------------------- */

psr_status psr_words_make(struct psr_words *w, const struct psr_dedisp_layout *s, size_t first,
                          size_t ndm, size_t gap, size_t shared, psr_err *err)
{
    struct psr_words_maker *m = calloc(1, sizeof *m);
    *w = (struct psr_words){.third = s->tree.nlevel > 3};
    if (!m)
        return psr_fail_nomem(err, "rows of a tree", sizeof *m);
    m->tree = &s->tree;
    m->words = w;
    m->first = first;
    m->shared = shared;
    m->low = w->third ? 2 : 1;
    size_t nnode = s->tree.level[m->low].nnode, bytes = nnode * WORDS_TRIALS * sizeof *m->part;
    w->nstep = w->third ? nnode : (nnode + WORDS_PARTS - 1) / WORDS_PARTS;
    m->part = malloc(bytes);
    psr_status bad = m->part ? PSR_OK : psr_fail_nomem(err, "rows of a tree", (double)bytes);
    if (!bad && !(bad = psr_words_plan_trials(m, ndm, err)) && !(bad = unite_rows(w, gap, err)))
        bad = psr_words_plan_rows(m, err);
    free(m->part);
    free(m);
    return bad;
}

void psr_words_free(struct psr_words *w)
{
    free(w->group);
    free(w->chan);
    free(w->row);
    free(w->made);
    free(w->load);
    free(w->step);
    free(w->copy);
    free(w->want);
    free(w->trial);
    *w = (struct psr_words){0};
}
