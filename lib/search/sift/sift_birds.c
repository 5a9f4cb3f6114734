/* Looks frequencies up in lists of birdies: by widths, and by the nearest bin. */
#include "sift_birds.h"

#include <math.h>
#include <stdlib.h>

/* Birds of one frame, by lower edges and by middles. */
struct frame {
    double *low;    /* [n] ascending */
    double *high;   /* [n] the highest upper edge of those up to here */
    double *middle; /* [n] ascending */
    size_t n;
};

struct psr_sift_birds {
    struct frame topo, bary;
    double scale; /* frequency at the barycentre over that at the telescope */
};

struct edges {
    double low, high;
};

static int by_low(const void *pa, const void *pb)
{
    const struct edges *a = pa, *b = pb;
    return (a->low > b->low) - (a->low < b->low);
}

static int by_value(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static bool fill_frame(struct frame *frame, const struct psr_zaplist *list, bool barycentric)
{
    const size_t room = list->n ? list->n : 1;
    struct edges *edges = malloc(room * sizeof *edges);
    frame->low = malloc(room * sizeof *frame->low);
    frame->high = malloc(room * sizeof *frame->high);
    frame->middle = malloc(room * sizeof *frame->middle);
    const bool made = edges && frame->low && frame->high && frame->middle;
    for (size_t i = 0; i < list->n && made; i++) {
        const struct psr_bird *b = &list->bird[i];
        if (b->barycentric != barycentric)
            continue;
        edges[frame->n] =
            (struct edges){b->freq_hz - b->width_hz / 2, b->freq_hz + b->width_hz / 2};
        frame->middle[frame->n++] = b->freq_hz;
    }
    if (made) {
        qsort(edges, frame->n, sizeof *edges, by_low);
        qsort(frame->middle, frame->n, sizeof *frame->middle, by_value);
    }
    for (size_t i = 0; i < frame->n; i++) {
        frame->low[i] = edges[i].low;
        frame->high[i] =
            i && frame->high[i - 1] > edges[i].high ? frame->high[i - 1] : edges[i].high;
    }
    free(edges);
    return made;
}

/* The first of x [n] above value. */
static size_t find_above(const double *x, size_t n, double value)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (x[mid] > value)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static bool hits_frame(const struct frame *frame, double f_hz, double half_bin_hz)
{
    const size_t wide = find_above(frame->low, frame->n, f_hz);
    if (wide > 0 && f_hz <= frame->high[wide - 1])
        return true;
    const size_t next = find_above(frame->middle, frame->n, f_hz);
    return (next < frame->n && frame->middle[next] - f_hz <= half_bin_hz) ||
           (next > 0 && f_hz - frame->middle[next - 1] <= half_bin_hz);
}

bool psr_sift_birds_hit(const struct psr_sift_birds *birds, double f_hz, double tobs_s,
                        bool barycentric)
{
    const double topo = barycentric ? f_hz / birds->scale : f_hz;
    const double bary = barycentric ? f_hz : f_hz * birds->scale;
    return hits_frame(&birds->topo, topo, 0.5 / tobs_s) ||
           hits_frame(&birds->bary, bary, 0.5 / tobs_s);
}

psr_status psr_sift_birds_create(struct psr_sift_birds **out, const struct psr_zaplist *list,
                                 double baryv, psr_err *err)
{
    struct psr_sift_birds *birds = calloc(1, sizeof *birds);
    *out = birds;
    if (birds && fill_frame(&birds->topo, list, false) && fill_frame(&birds->bary, list, true)) {
        birds->scale = 1 + baryv;
        return PSR_OK;
    }
    psr_sift_birds_destroy(birds);
    *out = NULL;
    return psr_fail_nomem(err, "birdies", 48.0 * (double)list->n);
}

static void clear_frame(struct frame *frame)
{
    free(frame->low);
    free(frame->high);
    free(frame->middle);
}

void psr_sift_birds_destroy(struct psr_sift_birds *birds)
{
    if (birds) {
        clear_frame(&birds->topo);
        clear_frame(&birds->bary);
    }
    free(birds);
}
