/* Makes candidates of one frequency hits of the best one. */
#include "sift_near.h"

#include <math.h>
#include <stdlib.h>

/* Takes entry e out of the order, as a hit or a harmonic of the best. */
static void take_hits(struct psr_sift *s, size_t best, size_t e)
{
    struct psr_sift_entry *to = &s->all.entry[best], *from = &s->all.entry[e];
    s->all.entry[to->last].next = e;
    to->last = from->last;
    to->nhit += from->nhit;
    from->reason = PSR_SIFT_DUPLICATE;
    from->of = best;
}

/* --- from the best down ----------------------------------------------------------------------- */

struct taking {
    struct psr_sift *s;
    size_t *rank; /* [all] in s->order */
    size_t best;
};

static bool take(void *ctx, size_t id)
{
    struct taking *t = ctx;
    struct psr_sift *s = t->s;
    const struct psr_sift_entry *a = &s->all.entry[t->best], *b = &s->all.entry[id];
    const double ta = psr_sift_tobs(s, a), tb = psr_sift_tobs(s, b);
    const double bins = a->folded || b->folded ? psr_sift_fold_error(s, a, 1, b, 1) : s->d.r_err;
    if (t->rank[id] < t->rank[t->best] || !psr_sift_same_segment(s, a, b) ||
        !(fabs(a->f - b->f) < bins / (ta < tb ? ta : tb)))
        return false;
    take_hits(s, t->best, id);
    return true;
}

psr_status psr_sift_duplicates(struct psr_sift *s, psr_err *err)
{
    struct psr_sift_near *near;
    struct taking t = {s, malloc((s->all.n + 1) * sizeof *t.rank), 0};
    if (!t.rank)
        return psr_fail_nomem(err, "candidates", 8.0 * (double)s->all.n);
    psr_status st = psr_sift_near_create(&near, s, err);
    for (size_t k = 0; k < s->norder; k++)
        t.rank[s->order[k]] = k;
    for (size_t k = 0; k < s->norder && !st; k++) {
        t.best = s->order[k];
        if (s->all.entry[t.best].reason == PSR_SIFT_GOOD)
            psr_sift_near_find(near, s, t.best, s->all.entry[t.best].f, 0, take, &t);
    }
    if (!st) {
        psr_sift_drop(s);
        psr_sift_near_destroy(near);
    }
    free(t.rank);
    return st;
}

/* --- from the lowest r up --------------------------------------------------------------------- */

struct by_r {
    double r;
    size_t at, id;
};

static int compare_r(const void *pa, const void *pb)
{
    const struct by_r *a = pa, *b = pb;
    if (a->r < b->r || a->r > b->r)
        return a->r < b->r ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

psr_status psr_sift_duplicates_presto(struct psr_sift *s, psr_err *err)
{
    const size_t n = s->norder;
    struct by_r *item = malloc((n + 1) * sizeof *item);
    if (!item)
        return psr_fail_nomem(err, "candidates", (double)n * sizeof *item);
    for (size_t k = 0; k < n; k++)
        item[k] = (struct by_r){s->all.entry[s->order[k]].r, k, s->order[k]};
    qsort(item, n, sizeof *item, compare_r);
    size_t current = 0, first = 1;
    while (first <= n && n > 0) {
        size_t end = first;
        while (end < n && fabs(item[current].r - item[end].r) < s->d.r_err)
            end++;
        if (end > first) {
            /* Items first, and after to end - 1, are one candidate: the first of the best takes
             * the others, from the last on. */
            size_t best = current;
            for (size_t k = first; k < end; k++)
                if (s->all.entry[item[k].id].sigma > s->all.entry[item[best].id].sigma)
                    best = k;
            for (size_t k = end; k-- > first;)
                if (k != best)
                    take_hits(s, item[best].id, item[k].id);
            if (current != best)
                take_hits(s, item[best].id, item[current].id);
            current = best;
            first = end;
        } else {
            current = first++;
        }
    }
    for (size_t k = 0; k < n; k++)
        s->order[k] = item[k].id;
    free(item);
    psr_sift_drop(s);
    return psr_sift_sort(s, err);
}
