/* Finds the candidates near a frequency: sorted arrays from which candidates are struck. */
#include "sift_near.h"

#include <math.h>
#include <stdlib.h>

struct item {
    int octave;
    double f, tobs_s;
    size_t id;
};

/* Items first .. last - 1 have one octave. */
struct octave {
    size_t first, last;
    double shortest_s;
};

struct psr_sift_near {
    struct item *item; /* [n] by octave and frequency */
    size_t n;
    size_t *left; /* [n + 1] an item at or before the next one that is left; itself if it is */
    struct octave *octave;
    size_t noctave;
};

static int by_place(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;
    if (a->octave != b->octave)
        return a->octave < b->octave ? -1 : 1;
    if (a->f < b->f || a->f > b->f)
        return a->f < b->f ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static void divide_octaves(struct psr_sift_near *near)
{
    for (size_t k = 0; k < near->n; k++) {
        const struct item *item = &near->item[k];
        if (k == 0 || item->octave != item[-1].octave)
            near->octave[near->noctave++] = (struct octave){k, k, item->tobs_s};
        struct octave *o = &near->octave[near->noctave - 1];
        o->last = k + 1;
        o->shortest_s = item->tobs_s < o->shortest_s ? item->tobs_s : o->shortest_s;
    }
}

psr_status psr_sift_near_create(struct psr_sift_near **out, const struct psr_sift *s, psr_err *err)
{
    const size_t n = s->norder;
    struct psr_sift_near *near = calloc(1, sizeof *near);
    *out = near;
    if (near) {
        near->item = malloc((n + 1) * sizeof *near->item);
        near->left = malloc((n + 1) * sizeof *near->left);
        near->octave = malloc((n + 1) * sizeof *near->octave);
    }
    if (!near || !near->item || !near->left || !near->octave) {
        psr_sift_near_destroy(near);
        *out = NULL;
        return psr_fail_nomem(err, "candidates", 64.0 * (double)n);
    }
    near->n = n;
    for (size_t k = 0; k < n; k++) {
        const struct psr_sift_entry *e = &s->all.entry[s->order[k]];
        const double tobs_s = psr_sift_tobs(s, e);
        near->item[k] = (struct item){ilogb(tobs_s), e->f, tobs_s, s->order[k]};
    }
    qsort(near->item, n, sizeof *near->item, by_place);
    for (size_t k = 0; k <= n; k++)
        near->left[k] = k;
    divide_octaves(near);
    return PSR_OK;
}

/* The first item from k on that is left, or n. */
static size_t find_left(struct psr_sift_near *near, size_t k)
{
    size_t end = k;
    while (near->left[end] != end)
        end = near->left[end];
    while (near->left[k] != end) {
        const size_t next = near->left[k];
        near->left[k] = end;
        k = next;
    }
    return end;
}

static size_t find_from(const struct psr_sift_near *near, const struct octave *o, double f_hz)
{
    size_t lo = o->first, hi = o->last;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (near->item[mid].f < f_hz)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void psr_sift_near_find(struct psr_sift_near *near, const struct psr_sift *s, size_t e, double f_hz,
                        double fixed_hz, bool (*take)(void *ctx, size_t id), void *ctx)
{
    const double tobs_s = psr_sift_tobs(s, &s->all.entry[e]);
    for (size_t i = 0; i < near->noctave; i++) {
        const struct octave *o = &near->octave[i];
        const double shorter_s = tobs_s < o->shortest_s ? tobs_s : o->shortest_s;
        /* A little wider than exact: the caller compares in its own arithmetic. */
        const double far =
            (fixed_hz > 0 ? fixed_hz : s->d.r_err / shorter_s) * (1 + 1e-9) + f_hz * 1e-14;
        size_t k = find_left(near, find_from(near, o, f_hz - far));
        while (k < o->last && near->item[k].f <= f_hz + far) {
            if (near->item[k].id != e && take(ctx, near->item[k].id))
                near->left[k] = k + 1;
            k = find_left(near, k + 1);
        }
    }
}

void psr_sift_near_destroy(struct psr_sift_near *near)
{
    if (near) {
        free(near->item);
        free(near->left);
        free(near->octave);
    }
    free(near);
}
