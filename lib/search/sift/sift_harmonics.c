/* Candidates of one frequency, and those at ratios of it: joins the former, and removes harmonics of better ones. */
#include "search/sift/sift_state.h"

#include "base/tool.h"
#include "stats/stats.h"

#include <limits.h>
#include <math.h>
#include <psrkit/signif.h>
#include <stdlib.h>

/* --- finds the candidates near a frequency: sorted arrays from which candidates are struck ---- */

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

/* The candidates of s->order by length of their series, in octaves, and by frequency: within an
 * octave tolerances differ by 2 at most, so that few are looked at that are not near. */
struct psr_sift_near {
    struct item *item; /* [n] by octave and frequency */
    size_t n;
    size_t *left; /* [n + 1] an item at or before the next one that is left; itself if it is */
    struct octave *octave;
    size_t noctave;
};

PSR_COMPARE(by_place, struct item,
            PSR_THEN(PSR_RISING(octave), PSR_THEN(PSR_RISING(f), PSR_RISING(id))));

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

static void sift_near_destroy(struct psr_sift_near *near)
{
    if (near) {
        free(near->item);
        free(near->left);
        free(near->octave);
    }
    free(near);
}

/* Status: PSR_ENOMEM */
static psr_status sift_near_create(struct psr_sift_near **out, const struct psr_sift *s,
                                   psr_err *err)
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
        sift_near_destroy(near);
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

/* Calls take for candidates, not e itself, within tolerance of f_hz, and some beyond; those for
 * which it returns true are never found again.
 * Given:  tolerance   r_err over the shorter length, or if fixed_hz is above 0 that */
static void sift_near_find(struct psr_sift_near *near, const struct psr_sift *s, size_t e,
                           double f_hz, double fixed_hz, bool (*take)(void *ctx, size_t id),
                           void *ctx)
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

/* --- makes candidates of one frequency hits of the best one ----------------------------------- */

/* Takes entry e out of the order, as a hit or a harmonic of the best. */
static void take_hits(struct psr_sift *s, size_t best, size_t e)
{
    struct psr_sift_entry *to = &s->all.entry[best], *from = &s->all.entry[e];
    s->all.entry[to->last].next = e;
    to->last = from->last;
    to->nhit += from->nhit;
    from->reason = PSR_SIFT_DUPLICATE;
    from->of = best;
}

/* --- from the best down ----------------------------------------------------------------------- */

struct taking {
    struct psr_sift *s;
    size_t *rank; /* [all] in s->order */
    size_t best;
};

static bool take_duplicate(void *ctx, size_t id)
{
    struct taking *t = ctx;
    struct psr_sift *s = t->s;
    const struct psr_sift_entry *a = &s->all.entry[t->best], *b = &s->all.entry[id];
    const double ta = psr_sift_tobs(s, a), tb = psr_sift_tobs(s, b);
    const double bins = a->folded || b->folded ? psr_sift_fold_error(s, a, 1, b, 1) : s->d.r_err;
    if (t->rank[id] < t->rank[t->best] || !psr_sift_same_segment(s, a, b) ||
        !(fabs(a->f - b->f) < bins / (ta < tb ? ta : tb)) ||
        (a->lines == PSR_SIFT_OF_LINES && b->lines != PSR_SIFT_OF_LINES))
        return false;
    take_hits(s, t->best, id);
    return true;
}

psr_status psr_sift_duplicates(struct psr_sift *s, psr_err *err)
{
    struct psr_sift_near *near;
    struct taking t = {s, malloc((s->all.n + 1) * sizeof *t.rank), 0};
    if (!t.rank)
        return psr_fail_nomem(err, "candidates", 8.0 * (double)s->all.n);
    psr_status st = sift_near_create(&near, s, err);
    for (size_t k = 0; k < s->norder; k++)
        t.rank[s->order[k]] = k;
    for (size_t k = 0; k < s->norder && !st; k++) {
        t.best = s->order[k];
        if (s->all.entry[t.best].reason == PSR_SIFT_GOOD)
            sift_near_find(near, s, t.best, s->all.entry[t.best].f, 0, take_duplicate, &t);
    }
    if (!st) {
        psr_sift_drop(s);
        sift_near_destroy(near);
    }
    free(t.rank);
    return st;
}

/* --- from the lowest r up --------------------------------------------------------------------- */

struct by_r {
    double r;
    size_t at, id;
};

PSR_COMPARE(compare_r, struct by_r, PSR_THEN(PSR_RISING(r), PSR_RISING(at)));

psr_status psr_sift_duplicates_presto(struct psr_sift *s, psr_err *err)
{
    const size_t n = s->norder;
    struct by_r *item = malloc((n + 1) * sizeof *item);
    if (!item)
        return psr_fail_nomem(err, "candidates", (double)n * sizeof *item);
    for (size_t k = 0; k < n; k++)
        item[k] = (struct by_r){s->all.entry[s->order[k]].r, k, s->order[k]};
    qsort(item, n, sizeof *item, compare_r);
    size_t current = 0, first = 1;
    while (first <= n && n > 0) {
        size_t end = first;
        while (end < n && fabs(item[current].r - item[end].r) < s->d.r_err)
            end++;
        if (end > first) {
            /* Items first, and after to end - 1, are one candidate: the first of the best takes
             * the others, from the last on. */
            size_t best = current;
            for (size_t k = first; k < end; k++)
                if (s->all.entry[item[k].id].sigma > s->all.entry[item[best].id].sigma)
                    best = k;
            for (size_t k = end; k-- > first;)
                if (k != best)
                    take_hits(s, item[best].id, item[k].id);
            if (current != best)
                take_hits(s, item[best].id, item[current].id);
            current = best;
            first = end;
        } else {
            current = first++;
        }
    }
    for (size_t k = 0; k < n; k++)
        s->order[k] = item[k].id;
    free(item);
    psr_sift_drop(s);
    return psr_sift_sort(s, err);
}

/* --- removes harmonics of better candidates --------------------------------------------------- */

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
    int numer, denom;  /* of lines */
    double places;     /* p/q for each bin of a better candidate's r, of denominators up to this */
    struct owned *own; /* [all] */
};

/* The sigma of a candidate without what are lines of a better one. */
struct owned {
    double sigma;
    size_t rank, id;
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

/* --- lines of a better candidate -------------------------------------------------------------- */

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
        places += psr_common_divisor(p, q) == 1;
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
            if (MOST_HARMONIC * p <= q || psr_common_divisor(p, q) != 1)
                continue;
            m->numer = p;
            m->denom = q;
            sift_near_find(near, m->s, m->fund, a->f * p / q, 0, take_lines, m);
        }
    }
}

/* --- folds of several turns ------------------------------------------------------------------- */

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
    if (!(q > p && q < INT_MAX) || psr_common_divisor((int64_t)q, p) != 1 ||
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

/* --- sums of two signals ------------------------------------------------------------------------ */

/* Share of its power from which on a candidate is the sum of a better one's lines and something else. */
static const double SUM_SHARE = 0.75;

PSR_COMPARE(by_own, struct owned, PSR_THEN(PSR_FALLING(sigma), PSR_RISING(rank)));

/* Of an entry without the multiples of n, if these are most of it. */
static double find_own_sigma(const struct psr_sift *s, const struct psr_sift_entry *e, int n)
{
    double own = 0, all = 0;
    for (int h = 1; h <= e->nharm; h++) {
        const double power = (double)s->all.power[e->harm + (size_t)h - 1];
        all += power;
        own += h % n ? power : 0;
    }
    return own > (1 - SUM_SHARE) * all
               ? e->sigma
               : psr_gauss_sigma(psr_chi2_logp(2 * own, 2.0 * (e->nharm - e->nharm / n)));
}

static bool note_sum(void *ctx, size_t id)
{
    const struct removing *m = ctx;
    const struct psr_sift_entry *a = &m->s->all.entry[m->fund], *b = &m->s->all.entry[id];
    if (m->own[id].sigma < m->own[m->fund].sigma && !b->folded && is_near(m, a, b) &&
        find_share_of_dms(m->s, a, b) > 0)
        m->own[id].sigma = fmin(m->own[id].sigma, find_own_sigma(m->s, b, m->ratio->denom));
    return false;
}

/* Orders candidates by what they have of their own: beside a bright pulsar, a sum of its lines and some of a fainter one is brighter
 * than the latter, and near to twice its frequency or half of it. */
static void order_by_own(struct removing *m, struct psr_sift_near *near)
{
    struct psr_sift *s = m->s;
    struct owned *sorted = m->own + s->all.n;
    for (size_t k = 0; k < s->norder; k++) {
        const size_t id = s->order[k];
        m->own[id] = (struct owned){s->all.entry[id].sigma, k, id};
    }
    for (size_t k = 0; k < s->norder; k++)
        for (int n = 2; n <= MOST_HARMONIC; n++) {
            const struct ratio ratio = {1, n, false, n};
            m->fund = s->order[k];
            m->ratio = &ratio;
            sift_near_find(near, s, m->fund, s->all.entry[m->fund].f / n, 0, note_sum, m);
        }
    for (size_t k = 0; k < s->norder; k++)
        sorted[k] = m->own[s->order[k]];
    if (s->norder)
        qsort(sorted, s->norder, sizeof *sorted, by_own);
    for (size_t k = 0; k < s->norder; k++) {
        s->order[k] = sorted[k].id;
        m->rank[sorted[k].id] = k;
    }
}

/* --- all -------------------------------------------------------------------------------------- */

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
            sift_near_find(near, s, m->fund, f * ratio[q].numer / ratio[q].denom, m->fixed_hz, take,
                           m);
        }
        if (!s->d.presto)
            remove_lines(m, near);
    }
}

psr_status psr_sift_harmonics(struct psr_sift *s, psr_err *err)
{
    struct psr_sift_near *near;
    struct removing m = {.s = s,
                         .rank = malloc((s->all.n + 1) * sizeof *m.rank),
                         .own = malloc((2 * s->all.n + 1) * sizeof *m.own)};
    psr_status st = m.rank && m.own ? sift_near_create(&near, s, err)
                                    : psr_fail_nomem(err, "candidates", 56.0 * (double)s->all.n);
    for (size_t k = 0; k < s->norder && !st; k++)
        m.rank[s->order[k]] = k;
    if (s->d.presto && s->norder)
        m.fixed_hz = s->d.r_err / psr_sift_tobs(s, &s->all.entry[s->order[0]]);
    if (!st) {
        if (!s->d.presto)
            order_by_own(&m, near);
        remove_all(&m, near);
        psr_sift_drop(s);
        sift_near_destroy(near);
    }
    free(m.rank);
    free(m.own);
    return st || s->d.presto ? st : psr_sift_sort(s, err);
}
