/* Removes harmonics of better candidates. */
#include "sift_near.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_HARMONIC = 16 };

/* Harmonic over fundamental, and how sifting.py compares: f with h times or over a factor. */
struct ratio {
    int numer, denom;
    bool over;
    double factor;
};

enum { NOTHER = 10, NRATIO = 2 * MOST_HARMONIC - 1 + NOTHER };

static void list_ratios(struct ratio ratio[NRATIO])
{
    static const int other[NOTHER][2] = {{3, 2}, {5, 2}, {2, 3}, {4, 3}, {5, 3},
                                         {3, 4}, {5, 4}, {2, 5}, {3, 5}, {4, 5}};
    size_t n = 0;
    for (int k = 1; k <= MOST_HARMONIC; k++) {
        ratio[n++] = (struct ratio){1, k, false, k};
        if (k > 1)
            ratio[n++] = (struct ratio){k, 1, true, k};
    }
    for (int k = 0; k < NOTHER; k++)
        ratio[n++] =
            (struct ratio){other[k][1], other[k][0], false, (double)other[k][0] / other[k][1]};
}

struct removing {
    struct psr_sift *s;
    size_t *rank; /* [all] in s->order */
    size_t fund;
    double fixed_hz; /* tolerance of all, above 0 */
    const struct ratio *ratio;
};

static bool take(void *ctx, size_t id)
{
    const struct removing *m = ctx;
    const struct psr_sift *s = m->s;
    const struct ratio *q = m->ratio;
    const struct psr_sift_entry *a = &s->all.entry[m->fund];
    struct psr_sift_entry *b = &s->all.entry[id];
    const double ta = psr_sift_tobs(s, a), tb = psr_sift_tobs(s, b);
    const double error = m->fixed_hz > 0 ? m->fixed_hz : s->d.r_err / (ta < tb ? ta : tb);
    const double h = q->over ? b->f / q->factor : b->f * q->factor;
    if (m->rank[id] < m->rank[m->fund] ||
        !(fabs(a->f - h) < (q->over ? error / q->factor : error * q->factor)))
        return false;
    b->reason = PSR_SIFT_HARMONIC;
    b->of = m->fund;
    b->ratio[0] = q->numer;
    b->ratio[1] = q->denom;
    return true;
}

static void remove_all(struct removing *m, struct psr_sift_near *near)
{
    struct psr_sift *s = m->s;
    struct ratio ratio[NRATIO];
    list_ratios(ratio);
    for (size_t k = 0; k < s->norder; k++) {
        m->fund = s->order[k];
        if (s->all.entry[m->fund].reason != PSR_SIFT_GOOD)
            continue;
        const double f = s->all.entry[m->fund].f;
        for (size_t q = 0; q < NRATIO; q++) {
            m->ratio = &ratio[q];
            psr_sift_near_find(near, s, m->fund, f * ratio[q].numer / ratio[q].denom, m->fixed_hz,
                               take, m);
        }
    }
}

psr_status psr_sift_harmonics(struct psr_sift *s, psr_err *err)
{
    struct psr_sift_near *near;
    struct removing m = {.s = s, .rank = malloc((s->all.n + 1) * sizeof *m.rank)};
    if (!m.rank)
        return psr_fail_nomem(err, "candidates", 8.0 * (double)s->all.n);
    psr_status st = psr_sift_near_create(&near, s, err);
    for (size_t k = 0; k < s->norder; k++)
        m.rank[s->order[k]] = k;
    if (s->d.presto && s->norder)
        m.fixed_hz = s->d.r_err / psr_sift_tobs(s, &s->all.entry[s->order[0]]);
    if (!st) {
        remove_all(&m, near);
        psr_sift_drop(s);
        psr_sift_near_destroy(near);
    }
    free(m.rank);
    return st;
}
