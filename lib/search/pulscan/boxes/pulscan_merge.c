/* Merges hits into candidates. */
#include "base/base.h"
#include "pulscan_boxes.h"
#include "search/pulscan/pulscan_internal.h"

#include <math.h>
#include <psrkit/signif.h>
#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Cell k lists the candidates whose r is in [k, k + 1) cell widths. */
struct psr_grid {
    double width;
    size_t ncell;
    int64_t *head; /* [ncell] the last candidate inserted; -1: none */
    int64_t *next; /* [ncand] the one inserted before it */
};

/* Indexes candidates by frequency. */

/* Given: width   minimum width of a cell
 *        reach   the highest r
 *        n   maximum number of candidates */
static psr_status grid_create(struct psr_grid *g, double width, double reach, size_t n,
                              psr_err *err)
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

static void grid_free(struct psr_grid *g)
{
    free(g->head);
    free(g->next);
}

static size_t grid_cell(const struct psr_grid *g, double r)
{
    double k = r / g->width;
    return k <= 0 ? 0 : k >= (double)g->ncell ? g->ncell - 1 : (size_t)k;
}

static void grid_put(struct psr_grid *g, int64_t c, double r)
{
    size_t k = grid_cell(g, r);
    g->next[c] = g->head[k];
    g->head[k] = c;
}

/* --- one frequency ---------------------------------------------------------------------------- */

static double excess(const struct psr_pulscan_hit *h)
{
    return (double)h->power - psr_pulscan_dof(h->nharm, h->z);
}

static const struct ratio {
    int num, den;
} ratios[] = {
    {3, 2}, {5, 2},  {2, 3},  {4, 3},  {5, 3},  {3, 4},  {5, 4},  {2, 5},
    {3, 5}, {4, 5},  {5, 6},  {2, 7},  {3, 7},  {4, 7},  {3, 8},  {5, 8},
    {2, 9}, {3, 10}, {2, 11}, {3, 11}, {2, 13}, {3, 13}, {2, 15},
};

/* Whether a narrow box has a larger share of a wide box's power than a drifting signal could have
 * there: at most, where the drift changes sign, the square root of its share of bins.  The wide box
 * then contains several narrow signals, such as the harmonics of a bright slow pulsar, and is none
 * itself.  At lower frequencies the wide box is narrower in proportion; at higher ones it need not
 * be wider. */
static bool is_narrow_signal(const struct psr_pulscan_hit *h, const struct psr_pulscan_hit *wide,
                             double ratio)
{
    double part = (h->z + 1) / (fmin(1, ratio) * (wide->z + 1));
    return part < 0.25 && excess(wide) > 0 && excess(h) > 1.5 * sqrt(part) * excess(wide);
}

static double centre(const struct psr_pulscan_hit *h)
{
    return (double)h->first + h->z / 2.0;
}

PSR_COMPARE(best_first, struct psr_pulscan_hit,
            PSR_THEN(PSR_FALLING(sigma),
                     PSR_THEN(PSR_FALLING(power),
                              PSR_THEN(PSR_RISING(first),
                                       PSR_THEN(PSR_RISING(z), PSR_RISING(nharm))))));

/* Of candidate c, which a hit touches or is related to, and the best found before. */
static int64_t choose(struct psr_pulscan_cand *cand, int64_t c, int64_t found,
                      const struct psr_pulscan_hit *h, double ratio)
{
    if (is_narrow_signal(h, &cand[c].best, ratio)) {
        cand[c].lines = true;
        return found;
    }
    return found < 0 || c < found ? c : found;
}

/* The best candidate that a hit is part of: its box is adjacent or, if there is a spectrum, connected by
 * power; -1: none.  reach: how far apart the middles of such boxes can be. */
static int64_t find_touched(const struct psr_grid *g, struct psr_pulscan_cand *cand,
                            const struct psr_pulscan_hit *h, double reach,
                            const struct psr_pulscan_place *p)
{
    int64_t found = -1;
    size_t last = grid_cell(g, centre(h) + reach);
    for (size_t k = grid_cell(g, centre(h) - reach); k <= last; k++)
        for (int64_t c = g->head[k]; c >= 0; c = g->next[c])
            if (psr_pulscan_touches(&cand[c].best, c, h, p))
                found = choose(cand, c, found, h, 1);
    return found;
}

static void take_in(struct psr_pulscan_cand *c, const struct psr_pulscan_hit *h)
{
    c->members++;
    c->first = h->first < c->first ? h->first : c->first;
    c->last = h->first + h->z > c->last ? h->first + h->z : c->last;
}

static size_t join_touching(struct psr_grid *g, const struct psr_pulscan_hit *hit, size_t n,
                            double reach, struct psr_pulscan_cand *cand)
{
    size_t ncand = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t c = find_touched(g, cand, &hit[i], reach, NULL);
        if (c >= 0) {
            take_in(&cand[c], &hit[i]);
            continue;
        }
        cand[ncand] = (struct psr_pulscan_cand){
            .best = hit[i], .members = 1, .first = hit[i].first, .last = hit[i].first + hit[i].z};
        grid_put(g, (int64_t)ncand++, centre(&hit[i]));
    }
    return ncand;
}

/* --- harmonics -------------------------------------------------------------------------------- */

/* Ratios of frequencies that accelsearch regards as harmonic; n and 1/n, n <= 16, come first. */
enum { NWHOLE = 16 };
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
 * accelsearch's 1.5 bins.  A box of z + 1 bins determines a frequency to its width, and at seven
 * times the frequency to seven times its width. */
static bool related(const struct psr_pulscan_hit *better, const struct psr_pulscan_hit *h,
                    double ratio)
{
    double wide = fmax(ratio * (better->z + 1), h->z + 1) / 2 + 1.5;
    return fabs(ratio * better->r - h->r) <= wide;
}

static int64_t find_better(const struct psr_grid *g, struct psr_pulscan_cand *cand,
                           const struct psr_pulscan_hit *h, double widest)
{
    int64_t found = -1;
    for (size_t k = 0; k < NRATIO; k++) {
        double ratio = ratio_at(k);
        double at = h->r / ratio, away = fmax(widest + 1, (h->z + 1) / ratio) / 2 + 1.5 / ratio;
        size_t last = grid_cell(g, at + away);
        for (size_t cell = grid_cell(g, at - away); cell <= last; cell++)
            for (int64_t c = g->head[cell]; c >= 0; c = g->next[c])
                if (related(&cand[c].best, h, ratio))
                    found = choose(cand, c, found, h, ratio);
    }
    return found;
}

static size_t join_harmonics(struct psr_grid *g, struct psr_pulscan_cand *cand, size_t n,
                             double widest)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t c = find_better(g, cand, &cand[i].best, widest);
        if (c >= 0) {
            cand[c].members += cand[i].members;
            continue;
        }
        cand[kept] = cand[i];
        grid_put(g, (int64_t)kept, cand[i].best.r);
        kept++;
    }
    return kept;
}

/* --- harmonics, by what holds power ----------------------------------------------------------- */

enum { MOST_HARMONIC = 512, ALWAYS = 4, WIDE = 4 };

static const double LEAST_EVIDENCE = 3, MOSTLY = 0.75;

/* A hit in the queue, less the power that candidates have claimed. */
struct pending {
    struct psr_pulscan_hit hit;
    float whole; /* its power before */
    bool lines;  /* its narrow signals are not counted as its power */
};

struct joining {
    psr_pulscan *plan;
    size_t spec;
    struct psr_residual *residual;
    struct psr_grid near, harmonic;
    double reach, widest;
    struct pending *heap; /* [nheap] the best first */
    size_t nheap;
    struct psr_pulscan_cand *cand;
    size_t ncand;
};

static void sift_down(struct pending *heap, size_t n, size_t k)
{
    for (size_t child; (child = 2 * k + 1) < n; k = child) {
        if (child + 1 < n && best_first(&heap[child + 1].hit, &heap[child].hit) < 0)
            child++;
        if (best_first(&heap[k].hit, &heap[child].hit) <= 0)
            return;
        struct pending t = heap[k];
        heap[k] = heap[child];
        heap[child] = t;
    }
}

/* What others have claimed of harmonic h of a box. */
static struct psr_residual_held held_of(const struct joining *j, const struct psr_pulscan_hit *hit,
                                        int h)
{
    struct psr_residual_held held = {.owner = -1};
    psr_residual_add_held(j->residual, h * hit->first, (int64_t)h * (hit->z + 1), &held);
    return held;
}

/* The most that a drifting signal can have in one of n bins; the rest belongs to a narrow signal. */
static float most_of_drift(struct joining *j, int64_t first, int64_t n)
{
    double over = psr_residual_power(j->residual, first, n, HUGE_VALF) - 2 * (double)n;
    return n < WIDE ? HUGE_VALF : (float)(20 + 1.5 * fmax(over, 0) / sqrt((double)n));
}

/* The chi^2 of harmonic h of a wide box that no drifting signal has: that of lines, and of all but the
 * brightest of several signals. */
static double power_of_others(struct joining *j, const struct psr_pulscan_hit *hit, int h)
{
    int64_t first = h * hit->first, n = (int64_t)h * (hit->z + 1);
    float most = most_of_drift(j, first, n);
    return psr_residual_power(j->residual, first, n, HUGE_VALF) -
           psr_residual_power(j->residual, first, n, most) +
           psr_blend_power(j->residual, first, n, most);
}

/* Subtracts the power that candidates have claimed from the first hit.
 * Returned: whether the hit is as good as before; *owner, the candidate that claimed most, if any */
static bool keeps_power(struct joining *j, int64_t *owner)
{
    struct pending *p = &j->heap[0];
    double gone = 0, most = 0;
    for (int h = 1; h <= p->hit.nharm; h++) {
        struct psr_residual_held held = held_of(j, &p->hit, h);
        gone += held.excess + (p->lines ? power_of_others(j, &p->hit, h) : 0);
        if (held.owner >= 0 && (double)held.most > most) {
            most = (double)held.most;
            *owner = held.owner;
        }
    }
    const float left = (float)((double)p->whole - gone);
    const bool good = left >= p->hit.power; /* above it if others hold less than noise's mean */
    psr_pulscan_weigh_hit(j->plan, &p->hit, left);
    return good;
}

/* Whether the first hit has less power without the narrow signals in it; if so it is weighed anew. */
static bool has_narrow_signals(struct joining *j)
{
    struct pending *p = &j->heap[0];
    double lines = 0;
    for (int h = 1; h <= p->hit.nharm && p->hit.z >= WIDE && !p->lines; h++)
        lines += power_of_others(j, &p->hit, h);
    if (lines <= 0.01 * (double)p->hit.power)
        return false;
    p->lines = true;
    psr_pulscan_weigh_hit(j->plan, &p->hit, (float)((double)p->hit.power - lines));
    return true;
}

static void claim_harmonic(struct joining *j, const struct psr_harmonics *lines, int h,
                           int64_t owner)
{
    struct psr_span bins = psr_harmonics_bins(lines, h);
    float most = lines->width < WIDE ? HUGE_VALF : most_of_drift(j, bins.first, bins.count);
    const struct psr_residual_source source = psr_harmonics_source(j->residual, lines, h);
    psr_residual_hold(j->residual, bins.first, bins.count, most, owner);
    psr_residual_add_lobes(j->residual, &source, owner);
}

/* Whether a hit lies at a higher harmonic of a candidate than the ratios have. */
static bool is_high_harmonic(const struct psr_pulscan_cand *c, const struct psr_pulscan_hit *h)
{
    const double ratio = round(h->r / c->best.r);
    return ratio > NWHOLE && ratio <= MOST_HARMONIC && related(&c->best, h, ratio);
}

/* The candidate whose side lobes a hit is: nearly all of its power is claimed, most by the owner, and
 * it lies at a harmonic of one of them.  Returned: -1: none */
static int64_t find_owner_of_lobes(const struct joining *j, int64_t owner)
{
    const struct pending *p = &j->heap[0];
    double whole = (double)p->whole, over = whole - psr_pulscan_dof(p->hit.nharm, p->hit.z);
    if (whole - (double)p->hit.power <= MOSTLY * over)
        return -1;
    if (owner >= 0 && is_high_harmonic(&j->cand[owner], &p->hit))
        return owner;
    return find_better(&j->harmonic, j->cand, &p->hit, j->widest);
}

static int64_t find_near(struct joining *j, const struct psr_pulscan_hit *h, float whole)
{
    const struct psr_pulscan_place place = {j->residual, j->plan, j->spec, whole};
    return find_touched(&j->near, j->cand, h, j->reach, &place);
}

/* Makes a candidate of the first hit, unless there is one at its fundamental. */
static void accept(struct joining *j)
{
    const struct pending *p = &j->heap[0];
    struct psr_harmonics lines;
    struct psr_pulscan_hit hit = psr_pulscan_fundamental(j->residual, j->plan, &p->hit, &lines);
    int64_t c = find_near(j, &hit, hit.power);
    if (c >= 0)
        take_in(&j->cand[c], &hit);
    else {
        bool same = hit.first == p->hit.first && hit.nharm == p->hit.nharm && hit.z == p->hit.z;
        c = (int64_t)j->ncand++;
        j->cand[c] = (struct psr_pulscan_cand){.best = hit,
                                               .members = 1,
                                               .first = hit.first,
                                               .last = hit.first + hit.z,
                                               .lines = p->lines};
        for (int h = 1; h <= hit.nharm; h++) {
            double other = same && p->lines ? power_of_others(j, &hit, h) : 0;
            j->cand[c].taken[h - 1] = (float)(held_of(j, &hit, h).excess + other);
        }
        grid_put(&j->near, c, centre(&hit));
        grid_put(&j->harmonic, c, hit.r);
    }
    /* Claims the candidate's harmonics, and those above, an octave at a time, as long as they have power. */
    for (int h = 1; h <= lines.nharm; h++)
        claim_harmonic(j, &lines, h, c);
    for (int top = lines.nharm; top < MOST_HARMONIC; top *= 2) {
        double e[MOST_HARMONIC];
        if (!psr_harmonics_above(j->residual, &lines, top, e) && top >= ALWAYS)
            return;
        for (int h = top + 1; h <= 2 * top; h++)
            if (e[h - top - 1] > LEAST_EVIDENCE)
                claim_harmonic(j, &lines, h, c);
    }
}

/* Processes the first hit.
 * Returned: whether it is finished; if not, it has less power and remains in the queue */
static bool place_first(struct joining *j)
{
    const double least = psr_pulscan_least_sigma(j->plan);
    struct pending *p = &j->heap[0];
    int64_t owner = find_near(j, &p->hit, p->whole);
    if (owner >= 0) {
        take_in(&j->cand[owner], &p->hit);
        return true;
    }
    bool done = keeps_power(j, &owner) && !has_narrow_signals(j);
    if (p->hit.sigma > least && !done)
        return false;
    if (!(p->hit.sigma > least) && owner < 0) { /* only lines, of no candidate */
        p->lines = false;
        psr_pulscan_weigh_hit(j->plan, &p->hit, p->whole);
    } else if (p->hit.sigma > least)
        owner = find_owner_of_lobes(j, owner);
    if (owner >= 0)
        j->cand[owner].members++;
    else
        accept(j);
    return true;
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

PSR_COMPARE(best_candidate_first, struct psr_pulscan_cand, best_first(&a->best, &b->best));

static psr_status join_with_spectrum(const struct psr_pulscan_hit *hit, size_t n,
                                     const struct psr_pulscan_merge_desc *desc,
                                     struct psr_pulscan_cand *cand, size_t *ncand, psr_err *err)
{
    const struct extent e = measure(hit, n);
    struct joining j = {
        .plan = desc->plan, .spec = desc->spec, .widest = e.widest, .cand = cand, .nheap = n};
    j.reach = 2 * e.widest + PSR_PULSCAN_NEAR + 1;
    j.heap = malloc(n * sizeof *j.heap);
    psr_status st = grid_create(&j.near, j.reach, e.reach, n, err);
    if (!st)
        st = grid_create(&j.harmonic, e.widest + 4, e.reach, n, err);
    if (!st && !j.heap)
        st = psr_fail_nomem(err, "candidates", (double)n * sizeof *j.heap);
    if (!st)
        st = psr_residual_create(&j.residual, desc->plan, desc->spec, err);
    if (!st) {
        for (size_t i = 0; i < n; i++)
            j.heap[i] = (struct pending){hit[i], hit[i].power, false};
        for (size_t k = j.nheap / 2; k-- > 0;)
            sift_down(j.heap, j.nheap, k);
        while (j.nheap > 0 && !psr_residual_status(j.residual, NULL)) {
            if (place_first(&j))
                j.heap[0] = j.heap[--j.nheap];
            sift_down(j.heap, j.nheap, 0);
        }
        st = psr_residual_status(j.residual, err);
        qsort(cand, j.ncand, sizeof *cand, best_candidate_first);
        *ncand = j.ncand;
    }
    psr_residual_destroy(j.residual);
    free(j.heap);
    grid_free(&j.near);
    grid_free(&j.harmonic);
    return st;
}

psr_status psr_pulscan_merge(const struct psr_pulscan_hit *hit, size_t nhit,
                             const struct psr_pulscan_merge_desc *desc,
                             struct psr_pulscan_cand **cand, size_t *ncand, size_t *left_out,
                             psr_err *err)
{
    struct psr_pulscan_merge_desc d;
    *cand = NULL;
    *ncand = 0;
    if (left_out)
        *left_out = 0;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "merging", err);
    if (st || nhit == 0)
        return st;
    struct psr_pulscan_hit *sorted = malloc(nhit * sizeof *sorted);
    struct psr_pulscan_cand *made = malloc(nhit * sizeof *made);
    size_t n = 0;
    if (!sorted || !made) {
        st = psr_fail_nomem(err, "candidates", (double)nhit * (sizeof *sorted + sizeof *made));
        goto done;
    }
    memcpy(sorted, hit, nhit * sizeof *sorted);
    qsort(sorted, nhit, sizeof *sorted, best_first);
    if (d.plan && !d.keep_harmonics)
        st = join_with_spectrum(sorted, nhit, &d, made, &n, err);
    else {
        const bool keep_harmonics = d.keep_harmonics;
        struct extent e = measure(sorted, nhit);
        struct psr_grid near = {0}, harmonic = {0};
        st = grid_create(&near, e.widest + PSR_PULSCAN_NEAR + 1, e.reach, nhit, err);
        if (!st) {
            n = join_touching(&near, sorted, nhit, e.widest + PSR_PULSCAN_NEAR + 1, made);
            st = grid_create(&harmonic, e.widest + 4, e.reach, nhit, err);
        }
        if (!st && !keep_harmonics)
            n = join_harmonics(&harmonic, made, n, e.widest);
        grid_free(&near);
        grid_free(&harmonic);
    }
    if (st)
        goto done;
    *ncand = d.max && n > d.max ? d.max : n;
    if (left_out)
        *left_out = n - *ncand;
    *cand = made;
    made = NULL;
done:
    free(made);
    free(sorted);
    return st;
}
