/* Keeps the list of candidates as accelsearch does: neighbours and order. */
#include "presto_internal.h"

#include "base/tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first candidate but the last whose r is not below, or the last. */
static size_t find_next(const struct psr_presto_list *list, double r)
{
    size_t lo = 0, hi = list->n - 1;
    if (list->inversions > 0) {
        while (lo < hi && list->cand[lo].r < r)
            lo++;
        return lo;
    }
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (list->cand[mid].r < r)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static size_t falls_around(const struct psr_presto_list *list, size_t at)
{
    size_t n = 0;
    if (at > 0 && at < list->n)
        n += list->cand[at - 1].r > list->cand[at].r;
    if (at + 1 < list->n)
        n += list->cand[at].r > list->cand[at + 1].r;
    return n;
}

static void replace(struct psr_presto_list *list, size_t at, const struct psr_presto_cand *cand)
{
    list->inversions -= falls_around(list, at);
    list->cand[at] = *cand;
    list->inversions += falls_around(list, at);
}

static void count_falls(struct psr_presto_list *list)
{
    list->inversions = 0;
    for (size_t k = 1; k < list->n; k++)
        list->inversions += list->cand[k - 1].r > list->cand[k].r;
}

static psr_status put_in(struct psr_presto_list *list, size_t at,
                         const struct psr_presto_cand *cand, psr_err *err)
{
    psr_status st =
        psr_grow(&list->cand, &list->room, list->n, sizeof *list->cand, "candidates", err);
    if (st)
        return st;
    memmove(list->cand + at + 1, list->cand + at, (list->n - at) * sizeof *list->cand);
    list->cand[at] = *cand;
    list->n++;
    if (list->inversions > 0 || falls_around(list, at) > 0)
        count_falls(list);
    return PSR_OK;
}

psr_status psr_presto_list_add(struct psr_presto_list *list, const struct psr_presto_cand *cand,
                               bool *added, psr_err *err)
{
    bool ignored;
    added = added ? added : &ignored;
    *added = true;
    if (list->n == 0)
        return put_in(list, 0, cand, err);
    size_t next = find_next(list, cand->r);
    bool prev_near = next > 0 && fabs(cand->r - list->cand[next - 1].r) < PSR_ACCEL_CLOSEST;
    bool next_near = fabs(cand->r - list->cand[next].r) < PSR_ACCEL_CLOSEST;
    if (prev_near || next_near) {
        /* Replaces near candidates of lower sigma. */
        bool prev_beaten = prev_near && list->cand[next - 1].sigma < cand->sigma;
        bool next_beaten = next_near && list->cand[next].sigma < cand->sigma;
        if (prev_beaten)
            replace(list, next - 1, cand);
        if (prev_beaten && next_beaten) {
            list->n--;
            memmove(list->cand + next, list->cand + next + 1,
                    (list->n - next) * sizeof *list->cand);
            count_falls(list);
        } else if (next_beaten)
            replace(list, next, cand);
        *added = prev_beaten || next_beaten;
        return PSR_OK;
    }
    bool behind = next == list->n - 1 && list->cand[next].r < cand->r - PSR_ACCEL_CLOSEST;
    return put_in(list, next + behind, cand, err);
}

/* --- in order --------------------------------------------------------------------------------- */

struct ranked {
    const struct psr_presto_cand *cand;
    size_t rank;
};

static int by_sigma(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->cand->sigma > b->cand->sigma || a->cand->sigma < b->cand->sigma)
        return a->cand->sigma > b->cand->sigma ? -1 : 1;
    if (a->cand->power > b->cand->power || a->cand->power < b->cand->power)
        return a->cand->power > b->cand->power ? -1 : 1;
    return a->rank < b->rank ? -1 : 1;
}

psr_status psr_presto_list_sort(const struct psr_presto_list *list, struct psr_accel_peaks *peaks,
                                psr_err *err)
{
    struct ranked *order = malloc((list->n + 1) * sizeof *order);
    psr_status st = order ? PSR_OK : psr_fail_nomem(err, "candidates", 16.0 * (double)list->n);
    peaks->n = 0;
    for (size_t k = 0; k < list->n && !st; k++)
        order[k] = (struct ranked){&list->cand[k], k};
    if (!st)
        qsort(order, list->n, sizeof *order, by_sigma);
    for (size_t k = 0; k < list->n && !st; k++) {
        const struct psr_presto_cand *c = order[k].cand;
        st = psr_grow(&peaks->peak, &peaks->room, peaks->n, sizeof *peaks->peak, "candidates", err);
        if (!st)
            peaks->peak[peaks->n++] = (struct psr_accel_peak){
                .r = c->r,
                .z = c->z,
                .w = c->w,
                .sigma = (double)c->sigma,
                .power = (double)c->power,
                .nharm = c->nharm,
            };
    }
    free(order);
    return st;
}
