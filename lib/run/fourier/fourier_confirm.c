/* Keeps those candidates of a matched search that a box is around. */
#include "fourier_state.h"

#include <stdlib.h>

static const double NEAR = 15; /* bins, as candidates have their neighbours */

/* Bins of a box and around it. */
struct around {
    double lo, hi;
};

static int by_lo(const void *pa, const void *pb)
{
    const struct around *a = pa, *b = pb;
    return (a->lo > b->lo) - (a->lo < b->lo);
}

/* Joins those that overlap: then both ends ascend. */
static size_t join_overlaps(struct around *a, size_t n)
{
    size_t kept = 0;
    qsort(a, n, sizeof *a, by_lo);
    for (size_t i = 0; i < n; i++)
        if (kept > 0 && a[i].lo <= a[kept - 1].hi)
            a[kept - 1].hi = a[i].hi > a[kept - 1].hi ? a[i].hi : a[kept - 1].hi;
        else
            a[kept++] = a[i];
    return kept;
}

static bool holds(const struct around *a, size_t n, double r)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (a[mid].hi < r)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && a[lo].lo < r;
}

psr_status psr_fourier_confirm(const struct psr_pulscan_result *boxes, struct psr_accel_cand *cand,
                               size_t *n, psr_err *err)
{
    struct around *a = malloc((boxes->nhit + 1) * sizeof *a);
    if (!a)
        return psr_fail_nomem(err, "boxes", (double)boxes->nhit * sizeof *a);
    for (size_t i = 0; i < boxes->nhit; i++) {
        const struct psr_pulscan_hit *h = &boxes->hit[i];
        a[i] = (struct around){(double)h->first - NEAR, (double)(h->first + h->z) + NEAR};
    }
    size_t narea = join_overlaps(a, boxes->nhit), kept = 0;
    for (size_t k = 0; k < *n; k++)
        if (holds(a, narea, cand[k].r.value))
            cand[kept++] = cand[k];
    *n = kept;
    free(a);
    return PSR_OK;
}
