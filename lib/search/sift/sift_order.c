/* Orders: the candidates that are left, and the results. */
#include "sift_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- keeps the candidates that are left in order ---------------------------------------------- */

struct ranked {
    const struct psr_sift_entry *entry;
    const struct psr_sift_list *list;
    size_t at, id;
    bool presto;
};

static int compare_names(const char *a, const char *b)
{
    const int c = strcmp(a, b);
    return (c > 0) - (c < 0);
}

/* A total order that the order of lists has no part in. */
static int compare_equals(const struct ranked *a, const struct ranked *b)
{
    const struct psr_sift_entry *x = a->entry, *y = b->entry;
    if (x->f < y->f || x->f > y->f)
        return x->f < y->f ? -1 : 1;
    if (a->list->dm < b->list->dm || a->list->dm > b->list->dm)
        return a->list->dm < b->list->dm ? -1 : 1;
    int c = compare_names(a->list->file, b->list->file);
    if (c == 0)
        c = (x->number > y->number) - (x->number < y->number);
    return c ? c : compare_names(a->list->path, b->list->path);
}

static int by_sigma(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->entry->sigma < b->entry->sigma || a->entry->sigma > b->entry->sigma)
        return a->entry->sigma > b->entry->sigma ? -1 : 1;
    const int c = a->presto ? 0 : compare_equals(a, b);
    return c ? c : (a->at > b->at) - (a->at < b->at);
}

psr_status psr_sift_sort(struct psr_sift *s, psr_err *err)
{
    struct ranked *ranked = malloc((s->norder + 1) * sizeof *ranked);
    if (!ranked)
        return psr_fail_nomem(err, "candidates", (double)s->norder * sizeof *ranked);
    for (size_t k = 0; k < s->norder; k++) {
        const struct psr_sift_entry *e = &s->all.entry[s->order[k]];
        ranked[k] = (struct ranked){e, &s->list[e->list], k, s->order[k], s->d.presto};
    }
    qsort(ranked, s->norder, sizeof *ranked, by_sigma);
    for (size_t k = 0; k < s->norder; k++)
        s->order[k] = ranked[k].id;
    free(ranked);
    return PSR_OK;
}

void psr_sift_drop(struct psr_sift *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->norder; k++)
        if (s->all.entry[s->order[k]].reason == PSR_SIFT_GOOD)
            s->order[n++] = s->order[k];
    s->norder = n;
}

/* --- orders results: marked ones last, fundamentals before their harmonics -------------------- */

enum { MOST_MULTIPLE = 64 };

/* Share of frequencies at the harmonics of a fundamental, above which they share no marks by chance. */
static const double CHANCE = 0.05;

bool psr_sift_comes_later(const struct psr_sift_cand *c)
{
    return (c->marks & PSR_SIFT_AGAINST) && !(c->known && c->known_chance <= PSR_SIFT_MOST_CHANCE);
}

/* A result and its frequency. */
struct place {
    double f;
    size_t at;
};

PSR_COMPARE(by_frequency, struct place, PSR_THEN(PSR_RISING(f), PSR_RISING(at)));

struct ranking {
    struct psr_sift *s;
    struct place *place; /* [n] by frequency */
    size_t n;
    double shortest_s; /* of the results' series */
};

static const struct psr_sift_entry *entry_of(const struct ranking *r, size_t at)
{
    return &r->s->all.entry[r->s->order[at]];
}

static bool share_dms(const struct psr_sift_cand *a, const struct psr_sift_cand *b)
{
    return b->dm >= a->hit[0].dm && b->dm <= a->hit[a->nhit - 1].dm;
}

/* Gives harmonic n of a fundamental its fundamental, the lowest of several, and its marks.  A fold has all of a
 * signal's harmonics: what is brighter is none of them. */
static void join(struct ranking *r, size_t fund, size_t at, int n)
{
    const struct psr_sift_entry *a = entry_of(r, fund), *b = entry_of(r, at);
    const struct psr_sift_cand *from = &r->s->cand[fund];
    struct psr_sift_cand *to = &r->s->cand[at];
    const double ta = from->tobs_s, tb = to->tobs_s, error = r->s->d.r_err / (ta < tb ? ta : tb);
    if (at == fund || !(fabs(n * a->f - b->f) < error) || !share_dms(from, to) ||
        !psr_sift_has_others(r->s, a, n) || (a->folded && a->sigma < b->sigma))
        return;
    if (!to->fundamental)
        to->fundamental = fund + 1;
    if ((from->marks & PSR_SIFT_AGAINST) && !psr_sift_is_off_dm0(b) &&
        2 * r->s->d.r_err <= CHANCE * a->f * ta)
        to->marks = (to->marks | (from->marks & PSR_SIFT_AGAINST)) & ~(unsigned)PSR_SIFT_DM_UNKNOWN;
}

static void join_harmonics(struct ranking *r, size_t fund)
{
    const struct psr_sift_entry *a = entry_of(r, fund);
    const double far_hz = 1.001 * r->s->d.r_err / r->shortest_s;
    if (a->sigma < psr_sift_sure_sigma)
        return;
    for (int n = 2; n <= MOST_MULTIPLE; n++) {
        size_t low = 0, high = r->n;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (r->place[middle].f < n * a->f - far_hz)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < r->n && r->place[low].f <= n * a->f + far_hz; low++)
            join(r, fund, r->place[low].at, n);
    }
}

/* Fundamentals are lower in frequency, so that a chain of them ends. */
static size_t append(const struct psr_sift_cand *cand, size_t at, size_t *rank,
                     struct psr_sift_cand *to, size_t n)
{
    const bool later = psr_sift_comes_later(&cand[at]);
    while (!rank[at]) {
        size_t first = at;
        for (size_t of; (of = cand[first].fundamental) && !rank[of - 1] &&
                        psr_sift_comes_later(&cand[of - 1]) == later;)
            first = of - 1;
        to[n++] = cand[first];
        rank[first] = n;
    }
    return n;
}

psr_status psr_sift_arrange(struct psr_sift_cand *cand, size_t n, const size_t *order, psr_err *err)
{
    struct psr_sift_cand *to = malloc((n + 1) * sizeof *to);
    size_t *rank = calloc(n + 1, sizeof *rank), m = 0; /* from 1 */
    const bool made = to && rank;
    for (size_t i = 0; i < n && made; i++)
        m = append(cand, order[i], rank, to, m);
    for (size_t i = 0; i < m; i++)
        if (to[i].fundamental)
            to[i].fundamental = rank[to[i].fundamental - 1];
    if (made)
        memcpy(cand, to, n * sizeof *to);
    free(to);
    free(rank);
    return made ? PSR_OK : psr_fail_nomem(err, "results", (double)n * sizeof *to);
}

/* Returned: order [n], those that come later last */
static void rank_all(struct ranking *r, size_t *order)
{
    size_t m = 0;
    for (size_t i = 0; i < r->n; i++) {
        r->place[i] = (struct place){entry_of(r, i)->f, i};
        r->shortest_s = fmin(r->shortest_s, r->s->cand[i].tobs_s);
    }
    qsort(r->place, r->n, sizeof *r->place, by_frequency);
    for (size_t i = 0; i < r->n; i++)
        join_harmonics(r, r->place[i].at);
    for (int later = 0; later < 2; later++)
        for (size_t i = 0; i < r->n; i++)
            if (psr_sift_comes_later(&r->s->cand[i]) == (later == 1))
                order[m++] = i;
}

psr_status psr_sift_rank(struct psr_sift *s, psr_err *err)
{
    struct ranking r = {.s = s, .n = s->norder, .shortest_s = INFINITY};
    if (s->d.presto || !s->norder)
        return PSR_OK;
    r.place = malloc(r.n * sizeof *r.place);
    size_t *order = malloc(r.n * sizeof *order);
    psr_status st = r.place && order
                        ? PSR_OK
                        : psr_fail_nomem(err, "results", (double)r.n * (double)sizeof *r.place);
    if (!st)
        rank_all(&r, order);
    if (!st)
        st = psr_sift_arrange(s->cand, r.n, order, err);
    free(r.place);
    free(order);
    return st;
}
