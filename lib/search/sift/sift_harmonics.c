/* Removes harmonics of better candidates. */
#include "sift_near.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_HARMONIC = PSR_SIFT_MOST_HARMONIC };

/* Share of frequencies that lines may take up: of candidates without power between the lines, and of
 * all. */
static const double CHANCE = 0.05, CHANCE_OF_ALL = 0.01;

/* Lines are where they should be to this, in bins and in standard deviations of both. */
static const double LINE_ERROR = 0.1, LINE_SIGMAS = 5;
enum { MOST_LINE = 64 };

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
    int numer, denom; /* of lines */
    double places;    /* p/q for each bin of a better candidate's r, of denominators up to this */
};

static double find_error(const struct removing *m, const struct psr_sift_entry *a,
                         const struct psr_sift_entry *b)
{
    const double ta = psr_sift_tobs(m->s, a), tb = psr_sift_tobs(m->s, b);
    return m->fixed_hz > 0 ? m->fixed_hz : m->s->d.r_err / (ta < tb ? ta : tb);
}

/* sifting.py allows an error of harmonic q of the candidate that grows with q: many slow pulsars are
 * near to fractions of others then. */
static bool is_near(const struct removing *m, const struct psr_sift_entry *a,
                    const struct psr_sift_entry *b)
{
    const struct ratio *q = m->ratio;
    const double error = find_error(m, a, b);
    const double h = q->over ? b->f / q->factor : b->f * q->factor;
    if (!m->s->d.presto)
        return fabs(q->numer * a->f - q->denom * b->f) < error;
    return fabs(a->f - h) < (q->over ? error / q->factor : error * q->factor);
}

/* A line of another has power in multiples of denom alone.  The harmonics of a fold are made. */
static bool take(void *ctx, size_t id)
{
    const struct removing *m = ctx;
    const int denom = m->ratio->denom;
    struct psr_sift_entry *b = &m->s->all.entry[id];
    if (!m->s->d.presto && denom > 1 && !b->folded && psr_sift_has_others(m->s, b, denom))
        return false;
    if (m->rank[id] < m->rank[m->fund] || !is_near(m, &m->s->all.entry[m->fund], b) ||
        !psr_sift_may_explain(m->s, &m->s->all.entry[m->fund], b, m->ratio->numer, m->ratio->denom))
        return false;
    psr_sift_reject_harmonic(b, m->fund, m->ratio->numer, m->ratio->denom);
    return true;
}

/* --- lines of a better candidate --------------------------------------------------------------- */

static int find_divisor(int a, int b)
{
    while (b) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A fold at p/q of a pulsar's frequency has 1 / sqrt(p q) of its S/N, and by chance not much more. */
static const double FOLD_SHARE = 1.5;

/* What a fold at a wrong period leaves of a fold: where it is, and no stronger. */
static bool is_wrong_fold(const struct removing *m, const struct psr_sift_entry *a,
                          const struct psr_sift_entry *b)
{
    const double ta = psr_sift_tobs(m->s, a), tb = psr_sift_tobs(m->s, b);
    const double bins = psr_sift_fold_error(m->s, a, m->numer, b, m->denom);
    return fabs(m->numer * a->f - m->denom * b->f) < bins / fmin(ta, tb) &&
           b->sigma < FOLD_SHARE * a->sigma / sqrt((double)m->numer * m->denom);
}

/* By how many bins p f_a and q f_b may differ. */
static double find_line_error(const struct removing *m, const struct psr_sift_entry *a,
                              const struct psr_sift_entry *b)
{
    const double noise = hypot(m->numer * (double)a->r_error, m->denom * (double)b->r_error);
    return fmin(LINE_ERROR + LINE_SIGMAS * noise, m->s->d.r_err);
}

/* Share of the DMs between the hits of b: by chance, the DM of a is one of them so often.  0 if it is not. */
static double find_share_of_dms(const struct psr_sift *s, const struct psr_sift_entry *a,
                                const struct psr_sift_entry *b)
{
    const int64_t at = s->list[a->list].dm_key;
    int64_t low = s->list[b->list].dm_key, high = low;
    size_t n = 0;
    for (const struct psr_sift_entry *h = b; h->next != PSR_SIFT_NONE;) {
        h = &s->all.entry[h->next];
        const int64_t key = s->list[h->list].dm_key;
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    for (size_t i = 0; i < s->ndm; i++)
        n += s->dm_key[i] >= low && s->dm_key[i] <= high;
    return at >= low && at <= high ? (double)n / (double)s->ndm : 0;
}

/* Whether b has no power between lines of a, and these take up a small share of all frequencies and DMs. */
static bool is_on_lines(const struct removing *m, const struct psr_sift_entry *a,
                        const struct psr_sift_entry *b)
{
    const double ta = psr_sift_tobs(m->s, a), tb = psr_sift_tobs(m->s, b),
                 bins = find_line_error(m, a, b), r = a->f * ta;
    if (!(fabs(m->numer * a->f - m->denom * b->f) < bins / fmin(ta, tb)))
        return false;
    const double share = find_share_of_dms(m->s, a, b);
    return m->denom == 1 ? 2 * bins * (share > 0 ? share : 1) <= CHANCE_OF_ALL * r
                         : (b->on_lines >> m->denom & 1) && 2 * bins * m->places <= CHANCE * r;
}

/* Harmonic q of the candidate is harmonic p of the better one, and so on; no other has power. */
static bool take_lines(void *ctx, size_t id)
{
    const struct removing *m = ctx;
    const struct psr_sift_entry *a = &m->s->all.entry[m->fund];
    struct psr_sift_entry *b = &m->s->all.entry[id];
    if (m->rank[id] < m->rank[m->fund] || !psr_sift_may_explain(m->s, a, b, m->numer, m->denom))
        return false;
    if (a->folded && b->folded ? !is_wrong_fold(m, a, b) : !is_on_lines(m, a, b))
        return false;
    psr_sift_reject_harmonic(b, m->fund, m->numer, m->denom);
    return true;
}

/* Places p/q between whole numbers. */
static int count_places(int q)
{
    int places = 0;
    for (int p = 1; p < q; p++)
        places += find_divisor(p, q) == 1;
    return places;
}

/* Of lines p/q; those of sifting.py are gone already. */
static void remove_lines(struct removing *m, struct psr_sift_near *near)
{
    const struct psr_sift_entry *a = &m->s->all.entry[m->fund];
    m->places = 0;
    for (int q = 1; q <= MOST_HARMONIC; q++) {
        const int end = q > 1 ? MOST_HARMONIC * q : MOST_LINE + 1;
        m->places += (double)count_places(q) / q;
        for (int p = 1; p < end; p++) {
            if (MOST_HARMONIC * p <= q || find_divisor(p, q) != 1)
                continue;
            m->numer = p;
            m->denom = q;
            psr_sift_near_find(near, m->s, m->fund, a->f * p / q, 0, take_lines, m);
        }
    }
}

/* --- folds of several turns -------------------------------------------------------------------- */

/* Noise adds so much to what is left of a signal in a fold, for the best of many folds.  The S/N of a signal that
 * was not folded is at most FOLD_SHARE times the sigma of its harmonics. */
static const double FOLD_NOISE = 3;

/* Whether a Fourier search found b, too, by harmonics that are no multiples of q. */
static bool is_found_by_others(const struct psr_sift *s, const struct psr_sift_entry *b, int q)
{
    while (b->folded || !psr_sift_has_others(s, b, q)) {
        if (b->next == PSR_SIFT_NONE)
            return false;
        b = &s->all.entry[b->next];
    }
    return true;
}

/* Whether a fold of q / p turns of a signal, also of one that is rejected for its DM, is candidate b, which is seen around
 * that DM: a turn of it has 1 / sqrt(p q) of the S/N.
 * Returned: q, 0 if not */
static int find_turns(const struct removing *m, const struct psr_sift_entry *a,
                      const struct psr_sift_entry *b, int p)
{
    const double tobs_s = fmin(psr_sift_tobs(m->s, a), psr_sift_tobs(m->s, b));
    const double q = rint(p * a->f / b->f);
    const double bins = psr_sift_fold_error(m->s, a, p, b, q);
    const double snr = a->folded ? a->sigma : FOLD_SHARE * a->sigma;
    if (!(q > p && q < INT_MAX) || find_divisor((int)q, p) != 1 ||
        !(fabs(p * a->f - q * b->f) * tobs_s < bins) ||
        !(b->sigma < snr / sqrt(p * q) + FOLD_NOISE) || !psr_sift_may_explain(m->s, a, b, 1, 1))
        return 0;
    const double share = find_share_of_dms(m->s, a, b);
    return share > 0 && 2 * bins * p * share < CHANCE * b->f * tobs_s &&
                   !is_found_by_others(m->s, b, (int)q)
               ? (int)q
               : 0;
}

static bool is_periodic(const struct psr_sift_entry *e)
{
    return e->sigma >= psr_sift_sure_sigma &&
           (e->reason == PSR_SIFT_GOOD || e->reason == PSR_SIFT_LOW_DM);
}

/* A fast folding search finds hum, and pulsars faster than its shortest period, at multiples of their periods.
 * Returned: whether b is rejected as such */
static bool remove_fold(const struct removing *m, struct psr_sift_entry *b)
{
    const struct psr_sift_entry *all = m->s->all.entry;
    for (size_t i = 0; i < m->s->all.n && b->folded; i++)
        for (int p = 1; p <= MOST_HARMONIC && is_periodic(&all[i]) && all[i].sigma > b->sigma;
             p++) {
            const int q = find_turns(m, &all[i], b, p);
            if (q) {
                psr_sift_reject_harmonic(b, i, p, q);
                return true;
            }
        }
    return false;
}

/* --- all --------------------------------------------------------------------------------------- */

static void remove_all(struct removing *m, struct psr_sift_near *near)
{
    struct psr_sift *s = m->s;
    struct ratio ratio[NRATIO];
    list_ratios(ratio);
    for (size_t k = 0; k < s->norder; k++) {
        m->fund = s->order[k];
        if (s->all.entry[m->fund].reason != PSR_SIFT_GOOD ||
            (!s->d.presto && remove_fold(m, &s->all.entry[m->fund])))
            continue;
        const double f = s->all.entry[m->fund].f;
        for (size_t q = 0; q < NRATIO; q++) {
            m->ratio = &ratio[q];
            psr_sift_near_find(near, s, m->fund, f * ratio[q].numer / ratio[q].denom, m->fixed_hz,
                               take, m);
        }
        if (!s->d.presto)
            remove_lines(m, near);
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
