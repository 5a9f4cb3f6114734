#include <psrkit/pulscan.h>
#include <psrkit/signif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Candidates by where they are: cell k lists those whose r is in [k, k + 1) cell widths. */
struct grid {
    double width;
    size_t ncell;
    int64_t *head; /* [ncell] the last candidate put in; -1: none */
    int64_t *next; /* [ncand] the one put in before it */
};

static psr_status make_grid(struct grid *g, double width, double reach, size_t n, psr_err *err)
{
    /* No more cells than twice the candidates, however long the spectrum. */
    g->width = fmax(width, reach / (2.0 * (double)n));
    g->ncell = (size_t)(reach / g->width) + 1;
    g->head = malloc(g->ncell * sizeof *g->head);
    g->next = malloc(n * sizeof *g->next);
    if (!g->head || !g->next)
        return psr_fail_nomem(err, "candidates", 8.0 * (double)(g->ncell + n));
    for (size_t k = 0; k < g->ncell; k++)
        g->head[k] = -1;
    return PSR_OK;
}

static void free_grid(struct grid *g)
{
    free(g->head);
    free(g->next);
}

static size_t cell_of(const struct grid *g, double r)
{
    double k = r / g->width;
    return k <= 0 ? 0 : k >= (double)g->ncell ? g->ncell - 1 : (size_t)k;
}

static void put(struct grid *g, int64_t c, double r)
{
    size_t k = cell_of(g, r);
    g->next[c] = g->head[k];
    g->head[k] = c;
}

/* --- one frequency ---------------------------------------------------------------------------- */

enum { NEAR = 15 }; /* bins between boxes that one signal's side lobes bridge, as accelsearch's */

static bool touch(const struct psr_pulscan_hit *a, const struct psr_pulscan_hit *b)
{
    return a->first <= b->first + b->z + NEAR && b->first <= a->first + a->z + NEAR;
}

static double excess(const struct psr_pulscan_hit *h)
{
    return (double)h->power - psr_pulscan_dof(h->nharm, h->z);
}

/* Whether a narrow box has more of a wide one's power than a drift leaves there: where a frequency
 * turns the share of power is the root of that of bins.  The wide box then holds lines side by
 * side, as the harmonics of a bright slow pulsar, which are signals and not it.  At lower
 * frequencies the wide one is as much narrower; at higher ones it need not be wider. */
static bool stands_out(const struct psr_pulscan_hit *h, const struct psr_pulscan_hit *wide,
                       double ratio)
{
    double part = (h->z + 1) / (fmin(1, ratio) * (wide->z + 1));
    return part < 0.25 && excess(wide) > 0 && excess(h) > 1.5 * sqrt(part) * excess(wide);
}

static double centre(const struct psr_pulscan_hit *h)
{
    return (double)h->first + h->z / 2.0;
}

static int best_first(const void *pa, const void *pb)
{
    const struct psr_pulscan_hit *a = pa, *b = pb;
    if (a->sigma != b->sigma)
        return a->sigma < b->sigma ? 1 : -1;
    if (a->power != b->power)
        return a->power < b->power ? 1 : -1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->z != b->z)
        return a->z < b->z ? -1 : 1;
    return (a->nharm > b->nharm) - (a->nharm < b->nharm);
}

/* Of candidate c, which a hit touches or is related to, and the best found before. */
static int64_t choose(struct psr_pulscan_cand *cand, int64_t c, int64_t found,
                      const struct psr_pulscan_hit *h, double ratio)
{
    if (stands_out(h, &cand[c].best, ratio)) {
        cand[c].lines = true;
        return found;
    }
    return found < 0 || c < found ? c : found;
}

/* The best candidate whose box a hit touches, and is part of; -1 where there is none.  reach: how
 * far apart the middles of touching boxes can be. */
static int64_t find_touched(const struct grid *g, struct psr_pulscan_cand *cand,
                            const struct psr_pulscan_hit *h, double reach)
{
    int64_t found = -1;
    size_t last = cell_of(g, centre(h) + reach);
    for (size_t k = cell_of(g, centre(h) - reach); k <= last; k++)
        for (int64_t c = g->head[k]; c >= 0; c = g->next[c])
            if (touch(&cand[c].best, h))
                found = choose(cand, c, found, h, 1);
    return found;
}

static void take_in(struct psr_pulscan_cand *c, const struct psr_pulscan_hit *h)
{
    c->members++;
    c->first = h->first < c->first ? h->first : c->first;
    c->last = h->first + h->z > c->last ? h->first + h->z : c->last;
}

static size_t join_touching(struct grid *g, const struct psr_pulscan_hit *hit, size_t n,
                            double reach, struct psr_pulscan_cand *cand)
{
    size_t ncand = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t c = find_touched(g, cand, &hit[i], reach);
        if (c >= 0) {
            take_in(&cand[c], &hit[i]);
            continue;
        }
        cand[ncand] = (struct psr_pulscan_cand){
            .best = hit[i], .members = 1, .first = hit[i].first, .last = hit[i].first + hit[i].z};
        put(g, (int64_t)ncand++, centre(&hit[i]));
    }
    return ncand;
}

/* --- harmonics -------------------------------------------------------------------------------- */

/* Ratios of frequencies that accelsearch takes for harmonics; n and 1/n, n <= 16, come first. */
enum { NWHOLE = 16 };
static const struct ratio {
    int num, den;
} ratios[] = {
    {3, 2}, {5, 2},  {2, 3},  {4, 3},  {5, 3},  {3, 4},  {5, 4},  {2, 5},
    {3, 5}, {4, 5},  {5, 6},  {2, 7},  {3, 7},  {4, 7},  {3, 8},  {5, 8},
    {2, 9}, {3, 10}, {2, 11}, {3, 11}, {2, 13}, {3, 13}, {2, 15},
};
enum { NFRACTION = sizeof ratios / sizeof *ratios, NRATIO = 2 * NWHOLE + NFRACTION };

static double ratio_at(size_t k)
{
    if (k < NWHOLE)
        return (double)(k + 1);
    if (k < 2 * NWHOLE)
        return 1.0 / (double)(k - NWHOLE + 1);
    return (double)ratios[k - 2 * NWHOLE].num / ratios[k - 2 * NWHOLE].den;
}

/* Whether the middle of one box lies in the other, one of them brought to the other's frequency, to
 * accelsearch's 1.5 bins.  A box of z + 1 bins says no more of a frequency than that it is in one
 * of them, and at seven times the frequency that is seven times as much. */
static bool related(const struct psr_pulscan_hit *better, const struct psr_pulscan_hit *h,
                    double ratio)
{
    double wide = fmax(ratio * (better->z + 1), h->z + 1) / 2 + 1.5;
    return fabs(ratio * better->r - h->r) <= wide;
}

static int64_t find_better(const struct grid *g, struct psr_pulscan_cand *cand,
                           const struct psr_pulscan_hit *h, double widest)
{
    int64_t found = -1;
    for (size_t k = 0; k < NRATIO; k++) {
        double ratio = ratio_at(k);
        double at = h->r / ratio, away = fmax(widest + 1, (h->z + 1) / ratio) / 2 + 1.5 / ratio;
        size_t last = cell_of(g, at + away);
        for (size_t cell = cell_of(g, at - away); cell <= last; cell++)
            for (int64_t c = g->head[cell]; c >= 0; c = g->next[c])
                if (related(&cand[c].best, h, ratio))
                    found = choose(cand, c, found, h, ratio);
    }
    return found;
}

static size_t join_harmonics(struct grid *g, struct psr_pulscan_cand *cand, size_t n, double widest)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t c = find_better(g, cand, &cand[i].best, widest);
        if (c >= 0) {
            cand[c].members += cand[i].members;
            continue;
        }
        cand[kept] = cand[i];
        put(g, (int64_t)kept, cand[i].best.r);
        kept++;
    }
    return kept;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct extent {
    double reach, widest; /* the highest bin any box has; the largest z */
};

static struct extent measure(const struct psr_pulscan_hit *hit, size_t n)
{
    struct extent e = {1, 0};
    for (size_t i = 0; i < n; i++) {
        e.reach = fmax(e.reach, fmax(hit[i].r, (double)(hit[i].first + hit[i].z)));
        e.widest = fmax(e.widest, hit[i].z);
    }
    return e;
}

static psr_status join_all(const struct psr_pulscan_hit *hit, size_t n, bool keep_harmonics,
                           struct psr_pulscan_cand *cand, size_t *ncand, psr_err *err)
{
    struct extent e = measure(hit, n);
    struct grid near = {0}, harmonic = {0};
    psr_status st = make_grid(&near, e.widest + NEAR + 1, e.reach, n, err);
    if (!st) {
        *ncand = join_touching(&near, hit, n, e.widest + NEAR + 1, cand);
        st = make_grid(&harmonic, e.widest + 4, e.reach, n, err);
    }
    if (!st && !keep_harmonics)
        *ncand = join_harmonics(&harmonic, cand, *ncand, e.widest);
    free_grid(&near);
    free_grid(&harmonic);
    return st;
}

psr_status psr_pulscan_merge(const struct psr_pulscan_hit *hit, size_t nhit,
                             const struct psr_pulscan_merge_desc *desc,
                             struct psr_pulscan_cand **cand, size_t *ncand, size_t *left_out,
                             psr_err *err)
{
    *cand = NULL;
    *ncand = 0;
    if (left_out)
        *left_out = 0;
    if (nhit == 0)
        return PSR_OK;
    struct psr_pulscan_hit *sorted = malloc(nhit * sizeof *sorted);
    struct psr_pulscan_cand *made = malloc(nhit * sizeof *made);
    psr_status st = PSR_OK;
    size_t n = 0;
    if (!sorted || !made) {
        st = psr_fail_nomem(err, "candidates", (double)nhit * (sizeof *sorted + sizeof *made));
        goto done;
    }
    memcpy(sorted, hit, nhit * sizeof *sorted);
    qsort(sorted, nhit, sizeof *sorted, best_first);
    if ((st = join_all(sorted, nhit, desc->keep_harmonics, made, &n, err)))
        goto done;
    *ncand = desc->max && n > desc->max ? desc->max : n;
    if (left_out)
        *left_out = n - *ncand;
    *cand = made;
    made = NULL;
done:
    free(made);
    free(sorted);
    return st;
}
