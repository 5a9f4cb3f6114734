/* Orders results: marked ones last, fundamentals before their harmonics. */
#include "sift_curve.h"

#include <math.h>
#include <psrkit/signif.h>
#include <stdlib.h>
#include <string.h>

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

static int by_frequency(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    if (a->f < b->f || a->f > b->f)
        return a->f < b->f ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

struct ranking {
    struct psr_sift *s;
    struct place *place; /* [n] by frequency */
    size_t n;
    double shortest_s; /* of the results' series */
    size_t *fund;      /* [n] the fundamental of each result; PSR_SIFT_NONE: none */
};

static const struct psr_sift_entry *entry_of(const struct ranking *r, size_t at)
{
    return &r->s->all.entry[r->s->order[at]];
}

/* Whether what a candidate has in harmonics that are no multiples of n is not noise. */
static bool is_fundamental(const struct psr_sift *s, const struct psr_sift_entry *e, int n)
{
    const int m = e->nharm - e->nharm / n;
    double rest = 0;
    for (int h = 1; h <= e->nharm; h++)
        rest += h % n ? (double)s->all.power[e->harm + (size_t)h - 1] : 0;
    return m > 0 && psr_gauss_sigma(psr_chi2_logp(2 * rest, 2.0 * m)) >= psr_sift_sure_sigma;
}

static bool share_dms(const struct psr_sift_cand *a, const struct psr_sift_cand *b)
{
    return b->dm >= a->hit[0].dm && b->dm <= a->hit[a->nhit - 1].dm;
}

/* Gives harmonic n of a fundamental its fundamental, the lowest of several, and its marks. */
static void join(struct ranking *r, size_t fund, size_t at, int n)
{
    const struct psr_sift_entry *a = entry_of(r, fund), *b = entry_of(r, at);
    const struct psr_sift_cand *from = &r->s->cand[fund];
    struct psr_sift_cand *to = &r->s->cand[at];
    const double ta = from->tobs_s, tb = to->tobs_s, error = r->s->d.r_err / (ta < tb ? ta : tb);
    if (at == fund || !(fabs(n * a->f - b->f) < error) || !share_dms(from, to) ||
        !is_fundamental(r->s, a, n))
        return;
    if (r->fund[at] == PSR_SIFT_NONE)
        r->fund[at] = fund;
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
static size_t append(const struct ranking *r, size_t at, bool later, size_t *rank,
                     struct psr_sift_cand *to, size_t n)
{
    const struct psr_sift_cand *cand = r->s->cand;
    while (!rank[at]) {
        size_t first = at;
        while (r->fund[first] != PSR_SIFT_NONE && !rank[r->fund[first]] &&
               psr_sift_comes_later(&cand[r->fund[first]]) == later)
            first = r->fund[first];
        to[n++] = cand[first];
        rank[first] = n;
    }
    return n;
}

static void order(struct ranking *r, struct psr_sift_cand *to, size_t *rank)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        r->place[i] = (struct place){entry_of(r, i)->f, i};
        r->shortest_s = fmin(r->shortest_s, r->s->cand[i].tobs_s);
        r->fund[i] = PSR_SIFT_NONE;
    }
    qsort(r->place, r->n, sizeof *r->place, by_frequency);
    for (size_t i = 0; i < r->n; i++)
        join_harmonics(r, r->place[i].at);
    for (int later = 0; later < 2; later++)
        for (size_t i = 0; i < r->n; i++)
            if (psr_sift_comes_later(&r->s->cand[i]) == (later == 1))
                n = append(r, i, later == 1, rank, to, n);
    for (size_t i = 0; i < r->n; i++)
        if (r->fund[i] != PSR_SIFT_NONE)
            to[rank[i] - 1].fundamental = rank[r->fund[i]];
    memcpy(r->s->cand, to, r->n * sizeof *to);
}

psr_status psr_sift_rank(struct psr_sift *s, psr_err *err)
{
    struct ranking r = {.s = s, .n = s->norder, .shortest_s = INFINITY};
    if (s->d.presto || !s->norder)
        return PSR_OK;
    r.place = malloc(r.n * sizeof *r.place);
    r.fund = malloc(r.n * sizeof *r.fund);
    struct psr_sift_cand *to = malloc(r.n * sizeof *to);
    size_t *rank = calloc(r.n, sizeof *rank); /* from 1 */
    const bool made = r.place && r.fund && to && rank;
    if (made)
        order(&r, to, rank);
    free(r.place);
    free(r.fund);
    free(to);
    free(rank);
    return made ? PSR_OK : psr_fail_nomem(err, "results", (double)s->norder * sizeof *to);
}
