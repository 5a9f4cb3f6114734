/* Reduces places above the threshold to peaks, and computes their significance. */
#include "peaks.h"

#include "base/tool.h"
#include <psrkit/signif.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MOST_RATIO = 16 };
static const double SAME = 1.5; /* bins */

/* Small ratios, besides n and 1 / n. */
static const struct {
    double num, den;
} ratios[] = {{3, 2}, {5, 2},  {2, 3},  {4, 3},  {5, 3},  {3, 4},  {5, 4}, {2, 5},
              {3, 5}, {4, 5},  {5, 6},  {2, 7},  {3, 7},  {4, 7},  {3, 8}, {5, 8},
              {2, 9}, {3, 10}, {2, 11}, {3, 11}, {2, 13}, {3, 13}, {2, 15}};
enum { NRATIO = sizeof ratios / sizeof *ratios };

/* --- sigma ------------------------------------------------------------------------------------ */

double psr_accel_sigma(const struct psr_accel_search *s, double power, int stage)
{
    struct psr_logp alone = psr_chi2_logp(2 * power, 2.0 * (1 << stage));
    return psr_gauss_sigma(psr_logp_trials(alone, fmax(1, s->trials[stage]), s->count));
}

double psr_accel_power(const struct psr_accel_search *s, double sigma, int stage)
{
    struct psr_logp all = psr_gauss_logp(sigma);
    struct psr_logp alone = psr_logp_trials(all, 1 / fmax(1, s->trials[stage]), s->count);
    return psr_chi2_threshold(alone, 2.0 * (1 << stage)) / 2;
}

/* --- neighbours ------------------------------------------------------------------------------- */

static int by_frequency(const void *pa, const void *pb)
{
    const struct psr_accel_peak *a = pa, *b = pb;
    if (a->r < b->r || a->r > b->r)
        return a->r < b->r ? -1 : 1;
    return (a->nharm > b->nharm) - (a->nharm < b->nharm);
}

int psr_accel_compare(const struct psr_accel_peak *a, const struct psr_accel_peak *b)
{
    if (a->sigma > b->sigma || a->sigma < b->sigma)
        return a->sigma > b->sigma ? -1 : 1;
    if (a->power > b->power || a->power < b->power)
        return a->power > b->power ? -1 : 1;
    return by_frequency(a, b);
}

static int best_first(const void *pa, const void *pb)
{
    return psr_accel_compare(pa, pb);
}

void psr_accel_sort_peaks(struct psr_accel_peaks *peaks)
{
    if (peaks->n)
        qsort(peaks->peak, peaks->n, sizeof *peaks->peak, best_first);
}

/* Marks peaks, by rising frequency, that have a better one less than PSR_ACCEL_CLOSEST below them; from the
 * other end, above. */
static void mark_beaten(const struct psr_accel_peak *p, size_t n, bool *beaten, size_t *queue,
                        bool downwards)
{
    size_t head = 0, tail = 0; /* candidates for being the best near: each better than the next */
    for (size_t i = 0; i < n; i++) {
        size_t k = downwards ? n - 1 - i : i;
        while (head < tail && fabs(p[queue[head]].r - p[k].r) >= PSR_ACCEL_CLOSEST)
            head++;
        if (head < tail && best_first(&p[queue[head]], &p[k]) < 0)
            beaten[k] = true;
        while (head < tail && best_first(&p[k], &p[queue[tail - 1]]) < 0)
            tail--;
        queue[tail++] = k;
    }
}

static psr_status drop_beaten(struct psr_accel_peaks *peaks, psr_err *err)
{
    if (peaks->n == 0)
        return PSR_OK;
    bool *beaten = calloc(peaks->n, sizeof *beaten);
    size_t *queue = malloc(peaks->n * sizeof *queue), n = 0;
    if (beaten && queue) {
        qsort(peaks->peak, peaks->n, sizeof *peaks->peak, by_frequency);
        mark_beaten(peaks->peak, peaks->n, beaten, queue, false);
        mark_beaten(peaks->peak, peaks->n, beaten, queue, true);
        for (size_t i = 0; i < peaks->n; i++)
            if (!beaten[i])
                peaks->peak[n++] = peaks->peak[i];
        peaks->n = n;
        psr_accel_sort_peaks(peaks);
    }
    bool done = beaten && queue;
    free(beaten);
    free(queue);
    return done ? PSR_OK : psr_fail_nomem(err, "peaks", 9.0 * (double)peaks->n);
}

struct psr_accel_peak psr_accel_peak_of(const struct psr_accel_search *s,
                                        const struct psr_accel_hit *h)
{
    const double nharm = 1 << h->stage;
    return (struct psr_accel_peak){
        .r = 0.5 * (double)h->i / nharm,
        .z = 2.0 * h->j / nharm,
        .w = 20.0 * h->l / nharm,
        .sigma = psr_accel_sigma(s, (double)h->power, h->stage),
        .power = (double)h->power,
        .nharm = 1 << h->stage,
    };
}

psr_status psr_accel_select(const struct psr_accel_search *s, const struct psr_accel_hits *hits,
                            struct psr_accel_peaks *peaks, psr_err *err)
{
    peaks->n = 0;
    for (size_t k = 0; k < hits->n; k++) {
        psr_status st =
            psr_grow(&peaks->peak, &peaks->room, peaks->n, sizeof *peaks->peak, "peaks", err);
        if (st)
            return st;
        peaks->peak[peaks->n++] = psr_accel_peak_of(s, &hits->hit[k]);
    }
    return drop_beaten(peaks, err);
}

/* --- harmonics -------------------------------------------------------------------------------- */

/* Ranks of peaks by frequency. */
struct place {
    double r;
    size_t rank;
};

static int by_place(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    if (a->r < b->r || a->r > b->r)
        return a->r < b->r ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Marks peaks worse than rank within SAME of r. */
static void mark_near(const struct place *place, size_t n, double r, size_t rank, bool *gone)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (place[mid].r <= r - 2 * SAME)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < n && place[lo].r < r + 2 * SAME; lo++)
        if (place[lo].rank > rank && fabs(r - place[lo].r) < SAME)
            gone[place[lo].rank] = true;
}

psr_status psr_accel_drop_harmonics(struct psr_accel_peaks *peaks, size_t *nremoved, psr_err *err)
{
    struct place *place = malloc((peaks->n + 1) * sizeof *place);
    bool *gone = calloc(peaks->n + 1, sizeof *gone), done = place && gone;
    size_t n = 0;
    for (size_t k = 0; k < peaks->n && done; k++)
        place[k] = (struct place){peaks->peak[k].r, k};
    if (done) {
        qsort(place, peaks->n, sizeof *place, by_place);
        for (size_t k = 0; k < peaks->n; k++) {
            if (gone[k])
                continue;
            const double r = peaks->peak[k].r;
            for (int m = 1; m <= MOST_RATIO; m++) {
                mark_near(place, peaks->n, r / m, k, gone);
                mark_near(place, peaks->n, r * m, k, gone);
            }
            for (int m = 0; m < NRATIO; m++)
                mark_near(place, peaks->n, r * ratios[m].num / ratios[m].den, k, gone);
            peaks->peak[n++] = peaks->peak[k];
        }
        *nremoved = peaks->n - n;
        peaks->n = n;
    }
    free(place);
    free(gone);
    return done ? PSR_OK : psr_fail_nomem(err, "peaks", 17.0 * (double)peaks->n);
}
