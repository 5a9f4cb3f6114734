/* Sifting against a naive search of all pairs, whatever the order of lists, and against a list from
 * which candidates are popped. */
#include "tests/support/sift_made.h"

#include "stats/stats.h"

#include <psrkit/signif.h>

#include <limits.h>

/* --- made lists ------------------------------------------------------------------------------- */

/* Families of harmonics, chance candidates and equals, over a few DMs and lengths. */
static size_t make_lists(uint64_t *random, struct made *m)
{
    const size_t n = (size_t)tap_between(random, 1, MOST_LISTS);
    const double f0 = 1 + 50 * tap_uniform(random);
    static const double ratio[] = {1,  2,  3,        0.5, 0.25,    1.5,     2.0 / 3, 0.8,
                                   16, 17, 1.0 / 16, 3.5, 8.0 / 3, 2.0 / 7, 4.5,     10.0 / 9};
    for (size_t i = 0; i < n; i++) {
        begin_list(&m[i], (double)tap_between(random, 0, 12) * 0.5,
                   (double)(100 << tap_between(random, 0, 3)) + (double)tap_between(random, 0, 2));
        const int64_t nrow = tap_between(random, 0, MOST_ROWS);
        for (int64_t k = 0; k < nrow; k++) {
            double power[MOST_HARM];
            const int nharm = 1 << tap_between(random, 0, 4);
            for (int h = 0; h < nharm; h++)
                power[h] = tap_uniform(random) < 0.3 ? 20 : 30 * tap_uniform(random);
            const int64_t q = tap_between(random, 0, 9);
            for (int h = 1; h <= nharm && q > 1 && q <= nharm; h++) /* lines of another */
                power[h - 1] = h % q ? 2.5 * tap_uniform(random) : 40 * tap_uniform(random);
            double r = f0 * ratio[tap_between(random, 0, 15)] * m[i].rows.tobs_s;
            if (tap_uniform(random) < 0.3)
                r = 1000 * tap_uniform(random) + 1;
            add_row(&m[i], fabs(r + 1.5 * tap_normal(random)) + 0.1, 200 * tap_uniform(random),
                    nharm, power);
        }
        if (i > 0 && tap_uniform(random) < 0.1) { /* the same candidates at another DM */
            const double dm = m[i].dm;
            m[i] = m[i - 1];
            m[i].rows.row = m[i].row;
            m[i].dm = dm + 1;
            snprintf(m[i].path, sizeof m[i].path, "nowhere/copy%zu_DM%.2f_ACCEL_0", i, m[i].dm);
            for (size_t k = 0; k < m[i].rows.n; k++)
                m[i].row[k].harm_power = m[i].power[k];
        }
    }
    return n;
}

/* --- the naive search ------------------------------------------------------------------------- */

static const double SURE = 7; /* sigma that noise does not have */

struct naive {
    const struct made *list;
    const struct psr_accel_row *row;
    double f, sigma;
    int nhit, ndm;
    double best_dm;                                    /* of the hit of highest sigma */
    bool taken, gone, out, at_dm0, dispersed, off_dm0; /* out: rejected */
    double dm[MOST_ALL], hit_sigma[MOST_ALL];          /* [nhit] */
};

static double sigma_of(const struct psr_accel_row *row)
{
    double sum = 0;
    for (int h = 0; h < row->nharm; h++)
        sum += row->harm_power[h];
    const double sigma = psr_gauss_sigma(psr_chi2_logp(2 * sum, 2 * row->nharm));
    return sigma > 0 ? sigma : 0;
}

static int by_rank(const void *pa, const void *pb)
{
    const struct naive *a = *(struct naive *const *)pa, *b = *(struct naive *const *)pb;
    if (a->sigma < b->sigma || a->sigma > b->sigma)
        return a->sigma > b->sigma ? -1 : 1;
    if (a->f < b->f || a->f > b->f)
        return a->f < b->f ? -1 : 1;
    if (a->list->dm < b->list->dm || a->list->dm > b->list->dm)
        return a->list->dm < b->list->dm ? -1 : 1;
    const int c = strcmp(a->list->path, b->list->path);
    return c ? c : (a->row->number > b->row->number) - (a->row->number < b->row->number);
}

static bool passes(const struct psr_sift_desc *d, const struct naive *c)
{
    const double *p = c->row->harm_power;
    const int n = c->row->nharm;
    int best = 0;
    for (int h = 1; h < n; h++)
        best = p[h] > p[best] ? h : best;
    bool weak = c->sigma < d->sigma_threshold;
    if (n == 1)
        weak = weak && c->row->coherent < d->c_pow_threshold;
    int above2 = 0, above3 = 0;
    double rest = 0;
    for (int h = 0; h < n; h++) {
        rest += h != best ? p[h] : 0;
        above2 += h != best && !(p[best] > 2 * p[h]);
        above3 += h != best && !(p[best] > 3 * p[h]);
    }
    const bool rogue = (n >= 8 && best >= 5 && !above2) || (n >= 4 && best >= 3 && !above3);
    const bool others =
        !d->presto && n > 1 && psr_gauss_sigma(psr_chi2_logp(2 * rest, 2 * (n - 1))) >= 5;
    return 1 / c->f <= d->long_period_s && 1 / c->f >= d->short_period_s && !weak &&
           (p[best] >= d->harm_pow_cutoff || (c->sigma >= SURE && !d->presto)) &&
           !(rogue && !others);
}

static double tolerance(const struct psr_sift_desc *d, const struct naive *a, const struct naive *b)
{
    const double ta = a->list->rows.tobs_s, tb = b->list->rows.tobs_s;
    return d->r_err / (ta < tb ? ta : tb);
}

/* Whether harmonics that are no multiples of n have what noise has not. */
static bool has_others(const struct naive *c, int n)
{
    double rest = 0;
    int count = 0;
    for (int h = 1; h <= c->row->nharm; h++) {
        rest += h % n ? c->row->harm_power[h - 1] : 0;
        count += h % n != 0;
    }
    return count && psr_gauss_sigma(psr_chi2_logp(2 * rest, 2 * count)) >= SURE;
}

/* most: of numerator and denominator together. */
static bool is_harmonic(const struct psr_sift_desc *d, const struct naive *a, const struct naive *b,
                        int most)
{
    static const int other[][2] = {{3, 2}, {5, 2}, {2, 3}, {4, 3}, {5, 3},
                                   {3, 4}, {5, 4}, {2, 5}, {3, 5}, {4, 5}};
    const double error = tolerance(d, a, b);
    for (double k = 1; k <= 16 && k + 1 <= most; k++)
        if ((fabs(a->f - b->f * k) < error && !has_others(b, (int)k)) ||
            fabs(k * a->f - b->f) < error)
            return true;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i][0] + other[i][1] <= most && !has_others(b, other[i][0]) &&
            fabs(other[i][1] * a->f - other[i][0] * b->f) < error)
            return true;
    return false;
}

static int divisor(int a, int b)
{
    return b ? divisor(b, a % b) : a;
}

/* Places p/q of denominators up to this, in each bin of the better candidate. */
static double places_of(const struct naive *a, int most)
{
    double places = 0;
    for (int q = 2; q <= most; q++)
        for (int p = 1; p < q; p++)
            places += divisor(p, q) == 1 ? 1.0 / q : 0;
    return places / (a->f * a->list->rows.tobs_s);
}

/* Noise of r, bins: 3 / (pi sqrt 6) over the root of power, of harmonics weighted by the square of their number. */
static double noise_of_r(const struct naive *c)
{
    double weighted = 0;
    for (int h = 1; h <= c->row->nharm; h++)
        weighted += c->row->harm_power[h - 1] > 1 ? h * h * (c->row->harm_power[h - 1] - 1) : 0;
    return 0.389848400616838 / sqrt(weighted > 1 ? weighted : 1);
}

/* Bins that lines p and q of two may be apart. */
static double apart(const struct psr_sift_desc *d, const struct naive *a, int p,
                    const struct naive *b, int q)
{
    const double pa = p * (double)(float)noise_of_r(a), qb = q * (double)(float)noise_of_r(b);
    return fmin(0.1 + 5 * sqrt(pa * pa + qb * qb), d->r_err);
}

static bool has_dm(const double *dm, int n, double value)
{
    for (int i = 0; i < n; i++)
        if (fabs(dm[i] - value) < 1e-9)
            return true;
    return false;
}

/* DMs of the lists, and the faintest sigma of all rows. */
struct searched {
    double lowest, highest, faintest;
    int ndm;
    double dm[MOST_LISTS]; /* [ndm] */
};

static struct searched look(const struct made *m, size_t nlist, const struct psr_sift_desc *d)
{
    struct searched s = {INFINITY, -INFINITY, INFINITY, 0, {0}};
    for (size_t i = 0; i < nlist; i++) {
        if (!has_dm(s.dm, s.ndm, m[i].dm))
            s.dm[s.ndm++] = m[i].dm;
        s.lowest = fmin(s.lowest, m[i].dm);
        s.highest = fmax(s.highest, m[i].dm);
        for (size_t k = 0; k < m[i].rows.n; k++)
            s.faintest = fmin(s.faintest, sigma_of(&m[i].row[k]));
    }
    s.faintest = s.faintest < INFINITY ? fmax(s.faintest, d->sigma_threshold) : d->sigma_threshold;
    return s;
}

/* Share of the DMs from the lowest hit of b to the highest, if that of a is among them. */
static double share_of_dms(const struct naive *a, const struct naive *b, const struct searched *s)
{
    double low = INFINITY, high = -INFINITY, n = 0;
    for (int i = 0; i < b->nhit; i++) {
        low = fmin(low, b->dm[i]);
        high = fmax(high, b->dm[i]);
    }
    for (int i = 0; i < s->ndm; i++)
        n += s->dm[i] > low - 1e-9 && s->dm[i] < high + 1e-9;
    return a->list->dm > low - 1e-9 && a->list->dm < high + 1e-9 ? n / s->ndm : 1;
}

/* Whether b consists of lines of a. */
static bool is_of_lines(const struct psr_sift_desc *d, const struct naive *a, const struct naive *b,
                        int most, const struct searched *s)
{
    const double shorter_s = fmin(a->list->rows.tobs_s, b->list->rows.tobs_s);
    for (int n = 1; n <= 64 && n < most; n++)
        if (2 * apart(d, a, n, b, 1) * share_of_dms(a, b, s) <=
                0.01 * a->f * a->list->rows.tobs_s &&
            fabs(n * a->f - b->f) < apart(d, a, n, b, 1) / shorter_s)
            return true;
    for (int q = 2; q <= 16 && q <= b->row->nharm; q++) {
        double rest = 0, sum = 0;
        int n = 0;
        for (int h = 1; h <= b->row->nharm; h++) {
            sum += b->row->harm_power[h - 1];
            rest += h % q ? b->row->harm_power[h - 1] : 0;
            n += h % q != 0;
        }
        const double sigma = psr_gauss_sigma(psr_chi2_logp(2 * rest, 2 * n));
        if (!(sigma < 2) && !(rest < 0.05 * sum) && !(sigma < 4 && rest < 0.25 * sum))
            continue;
        for (int p = 1; p < 16 * q; p++)
            if (p + q <= most && divisor(p, q) == 1 && 16 * p > q &&
                2 * apart(d, a, p, b, q) * places_of(a, q) <= 0.05 &&
                fabs(p * a->f - q * b->f) < apart(d, a, p, b, q) / shorter_s)
                return true;
    }
    return false;
}

/* No DM of a list lies between two hits' DMs. */
static bool has_gaps(const struct naive *c, const struct made *m, size_t nlist)
{
    for (int i = 0; i < c->nhit; i++)
        for (int k = 0; k < c->nhit; k++) {
            bool between = false;
            for (size_t l = 0; l < nlist; l++)
                between |= m[l].dm > c->dm[i] + 1e-9 && m[l].dm < c->dm[k] - 1e-9;
            if (c->dm[k] > c->dm[i] + 1e-9 && !between)
                return false;
        }
    return c->ndm > 1;
}

/* Power of the best hit at DMs from low to high, or of what is not found, in c's number of harmonics. */
static double best_power(const struct naive *c, double low, double high, double faintest,
                         bool *seen)
{
    double sigma = 0;
    *seen = false;
    for (int i = 0; i < c->nhit; i++)
        if (c->dm[i] > low - 1e-9 && c->dm[i] < high + 1e-9) {
            sigma = fmax(sigma, c->hit_sigma[i]);
            *seen = true;
        }
    if (!*seen || (sigma < faintest && low < high))
        sigma = faintest;
    return psr_chi2_threshold(psr_gauss_logp(sigma), 2.0 * c->row->nharm) / 2;
}

/* Whether DM 0 fits, and whether no other does.  The band of these lists is not known: there is no curve. */
static void judge_naively(struct naive *c, const struct psr_sift_desc *d, const struct searched *s)
{
    double sum = 0;
    bool seen;
    for (int h = 0; h < c->row->nharm; h++)
        sum += c->row->harm_power[h];
    const double limit = 16 + 0.04 * sum,
                 first = best_power(c, s->lowest, s->lowest, s->faintest, &seen),
                 low = best_power(c, -INFINITY, d->low_dm_cutoff, s->faintest, &seen),
                 high = best_power(c, d->low_dm_cutoff + 1e-6, INFINITY, s->faintest, &seen);
    const bool fits = 2 * (sum - fmin(first, sum)) <= limit,
               both = s->lowest <= d->low_dm_cutoff && s->highest > d->low_dm_cutoff;
    c->dispersed = 2 * (sum - fmin(first, sum)) > limit;
    c->off_dm0 = c->dispersed && sum - first >= 4 * sqrt(sum + fmin(first, sum));
    c->at_dm0 = fits && both && 2 * (low - high) > limit;
}

/* Power of a candidate, and what it has at a DM. */
static double own_power(const struct naive *c)
{
    double sum = 0;
    for (int h = 0; h < c->row->nharm; h++)
        sum += c->row->harm_power[h];
    return sum;
}

static double power_at(const struct naive *c, double dm, const struct searched *s, bool *seen)
{
    return dm == c->list->dm ? (*seen = true, own_power(c))
                             : best_power(c, dm - 1e-10, dm, s->faintest, seen);
}

/* The largest numerator and denominator together at which a explains b.  Where b is dispersed, is best where a is not seen,
 * or no stronger, and fits a's DM worse than its own, small ones, and none if DM 0 fits a. */
static int most_of_ratio(const struct naive *a, const struct naive *b, const struct searched *s)
{
    bool seen_a, seen_b;
    const double of_b = psr_chi2_threshold(psr_gauss_logp(b->sigma), 2.0 * a->row->nharm) / 2,
                 there = power_at(a, b->list->dm, s, &seen_a),
                 of_a = power_at(b, a->list->dm, s, &seen_b);
    if (!b->dispersed || (seen_a && there > of_b) ||
        2 * (own_power(a) - of_b) <= 16 + 0.04 * own_power(a) ||
        (seen_b && 2 * (own_power(b) - of_a) <= 16 + 0.04 * own_power(b)))
        return INT_MAX;
    return a->dispersed ? 7 : b->off_dm0 ? 0 : INT_MAX;
}

static bool is_multiple(const struct psr_sift_desc *d, const struct naive *a, const struct naive *b)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < a->nhit; i++) {
        low = fmin(low, a->dm[i]);
        high = fmax(high, a->dm[i]);
    }
    for (int n = 2; n <= 64; n++)
        if (a->sigma >= SURE && fabs(n * a->f - b->f) < tolerance(d, a, b) && has_others(a, n))
            return b->list->dm >= low && b->list->dm <= high;
    return false;
}

/* Puts fundamentals before their harmonics.  Returned: number of candidates left */
static size_t order_naively(struct naive **c, size_t n, const struct psr_sift_desc *d)
{
    static struct naive *ordered[MOST_ALL];
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        while (!c[i]->gone) {
            struct naive *first = c[i], *next = c[i];
            do {
                first = next;
                for (size_t k = 0; k < n; k++)
                    if (!c[k]->out && is_multiple(d, c[k], first) &&
                        (next == first || c[k]->f < next->f))
                        next = c[k];
            } while (next != first && !next->gone);
            first->gone = true;
            ordered[left++] = first;
        }
    memcpy(c, ordered, left * sizeof(struct naive *));
    return left;
}

/* Sigma without the multiples of n, if these have three quarters of the power. */
static double own_sigma(const struct naive *c, int n)
{
    double own = 0;
    for (int h = 1; h <= c->row->nharm; h++)
        own += h % n ? c->row->harm_power[h - 1] : 0;
    return own > 0.25 * own_power(c)
               ? c->sigma
               : psr_gauss_sigma(psr_chi2_logp(2 * own, 2 * (c->row->nharm - c->row->nharm / n)));
}

static bool is_among_hits(const struct naive *c, double dm)
{
    bool below = false, above = false;
    for (int i = 0; i < c->nhit; i++) {
        below |= c->dm[i] <= dm;
        above |= c->dm[i] >= dm;
    }
    return below && above;
}

/* Lets candidates go that are harmonics of others which have more of their own, without lines of yet others.
 * Given:  c [n] by falling sigma */
static void remove_naively(struct naive **c, size_t n, const struct psr_sift_desc *d,
                           const struct searched *s)
{
    static double own[MOST_ALL];
    static size_t order[MOST_ALL];
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        own[i] = c[i]->sigma;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n && !c[i]->gone; k++)
            for (int q = 2; q <= 16 && !c[k]->gone; q++)
                if (own[k] < own[i] && fabs(c[i]->f - q * c[k]->f) < tolerance(d, c[i], c[k]) &&
                    is_among_hits(c[k], c[i]->list->dm))
                    own[k] = fmin(own[k], own_sigma(c[k], q));
    for (size_t i = 0; i < n; i++) {
        size_t at = left;
        for (; at > 0 && own[order[at - 1]] < own[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        left++;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            const struct naive *a = c[order[i]];
            struct naive *b = c[order[k]];
            const int most = most_of_ratio(a, b, s);
            b->gone |= !a->gone && (is_harmonic(d, a, b, most) || is_of_lines(d, a, b, most, s));
        }
}

/* Returned: number of candidates left, in order */
static size_t sift_naively(struct naive **c, size_t n, const struct psr_sift_desc *d,
                           const struct made *m, size_t nlist)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n && !c[i]->taken; k++) {
            if (c[k]->taken || (k > i && !(fabs(c[i]->f - c[k]->f) < tolerance(d, c[i], c[k]))))
                continue;
            c[k]->taken = k > i;
            c[i]->ndm += !has_dm(c[i]->dm, c[i]->nhit, c[k]->list->dm);
            c[i]->hit_sigma[c[i]->nhit] = c[k]->sigma;
            c[i]->dm[c[i]->nhit++] = c[k]->list->dm;
        }
    const struct searched s = look(m, nlist, d);
    for (size_t i = 0; i < n; i++) {
        const int64_t expected =
            c[i]->sigma >= SURE && s.ndm < d->min_num_dms ? s.ndm : d->min_num_dms;
        judge_naively(c[i], d, &s);
        c[i]->gone = c[i]->taken || c[i]->ndm < expected ||
                     (c[i]->list->dm <= d->low_dm_cutoff && c[i]->at_dm0) ||
                     has_gaps(c[i], m, nlist);
    }
    remove_naively(c, n, d, &s);
    for (size_t i = 0; i < n; i++)
        c[i]->out = c[i]->gone;
    return order_naively(c, n, d);
}

static size_t list_naively(const struct made *m, size_t nlist, const struct psr_sift_desc *d,
                           struct naive *storage, struct naive **c)
{
    size_t n = 0;
    for (size_t i = 0; i < nlist; i++)
        for (size_t k = 0; k < m[i].rows.n; k++) {
            struct naive *to = &storage[n];
            const struct psr_accel_row *row = &m[i].row[k];
            *to = (struct naive){.list = &m[i], .row = row, .f = row->r / m[i].rows.tobs_s};
            to->sigma = sigma_of(row);
            if (passes(d, to))
                c[n++] = to;
        }
    qsort(c, n, sizeof *c, by_rank);
    return n;
}

static bool same_as_naive(const struct psr_sift_result *result, struct naive **c, size_t n)
{
    bool same = result->ncand == n;
    for (size_t i = 0; i < n && same; i++) {
        const struct psr_sift_cand *x = &result->cand[i];
        same = !strcmp(x->path, c[i]->list->path) && x->number == c[i]->row->number &&
               x->nhit == (size_t)c[i]->nhit && x->freq_hz == c[i]->f && x->sigma == c[i]->sigma;
        for (size_t k = 0; k < x->nhit && same; k++)
            same = has_dm(c[i]->dm, c[i]->nhit, x->hit[k].dm) &&
                   (k == 0 || x->hit[k].dm >= x->hit[k - 1].dm);
    }
    return same;
}

static void choose(uint64_t *random, struct psr_sift_desc *d)
{
    psr_sift_defaults(d);
    d->min_num_dms = tap_between(random, 0, 3);
    d->low_dm_cutoff = (double)tap_between(random, -1, 2);
    d->sigma_threshold = 1 + 6 * tap_uniform(random);
    d->harm_pow_cutoff = (double)tap_between(random, 0, 20);
    d->r_err = 0.1 + 3 * tap_uniform(random);
    d->long_period_s = tap_uniform(random) < 0.5 ? 15 : 1;
    d->keep_rejects = tap_uniform(random) < 0.5;
}

static size_t count_all(const struct psr_sift_result *result)
{
    size_t n = 0;
    for (size_t k = 0; k < PSR_SIFT_NREASON; k++)
        n += result->count[k];
    return n;
}

static void shuffle(uint64_t *random, size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i-- > 1;) {
        const size_t k = (size_t)tap_between(random, 0, (int64_t)i), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

static void test_naive(uint64_t *random)
{
    struct made *m = tap_take(MOST_LISTS, sizeof *m);
    struct naive *storage = tap_take(MOST_ALL, sizeof *storage);
    struct naive **c = tap_take(MOST_ALL, sizeof *c);
    bool same = true, counted = true, kept = true;
    size_t found = 0;
    const int ntrial = tap_cases(100, 400);
    for (int trial = 0; trial < ntrial && same; trial++) {
        struct psr_sift_desc d;
        struct psr_sift_result result;
        size_t order[MOST_LISTS];
        const size_t nlist = make_lists(random, m);
        choose(random, &d);
        size_t n = list_naively(m, nlist, &d, storage, c);
        n = sift_naively(c, n, &d, m, nlist);
        shuffle(random, order, nlist);
        psr_sift *s = sift(m, order, nlist, &d, &result);
        same = same_as_naive(&result, c, n);
        counted &= count_all(&result) == result.nread && result.count[PSR_SIFT_GOOD] == n;
        kept &= result.nreject == (d.keep_rejects ? result.nread - n : 0);
        found += n;
        if (!same)
            diag("trial %d: %zu candidates, %zu naively", trial, result.ncand, n);
        psr_sift_destroy(s);
    }
    ok(same, "%d sets in random order: the candidates and hits of a search of all pairs", ntrial);
    ok(found > (size_t)ntrial, "%zu candidates", found);
    ok(counted, "each candidate has one reason");
    ok(kept, "rejects are kept if they are wanted");
    free(m);
    free(storage);
    free(c);
}

/* --- lines of a better candidate -------------------------------------------------------------- */

/* A bright pulsar in bin r0, and candidates above it that have these powers in two harmonics.
 * Returned: how many of n are removed as p/2 of it, p above 5 */
static int count_lines(uint64_t *random, double r0, const double *power, int n)
{
    struct made *m = tap_take(MOST_LISTS, sizeof *m);
    const double bright[2] = {1000, 1000};
    int taken = 0;
    for (int done = 0; done < n; done += MOST_ROWS - 1) {
        struct psr_sift_desc d;
        struct psr_sift_result result;
        begin_list(m, 10, 100);
        add_row(m, r0, 1000, 2, bright);
        for (int k = 1; k < MOST_ROWS; k++)
            add_row(m, r0 * (5.6 + 10.3 * tap_uniform(random)), 0, 2, power);
        psr_sift_defaults(&d);
        d.min_num_dms = 1;
        d.keep_rejects = true;
        psr_sift *s = sift(m, NULL, 1, &d, &result);
        for (size_t i = 0; i < result.nreject; i++) {
            const struct psr_sift_cand *c = &result.reject[i];
            taken += c->reason == PSR_SIFT_HARMONIC && c->ratio[1] == 2 && c->ratio[0] > 5;
        }
        psr_sift_destroy(s);
    }
    free(m);
    return taken;
}

/* Share of what is removed: twice the tolerance of 2 r of every 2 r0, which grows with the multiple p of half the
 * pulsar's frequency, here of powers 1000 and 1000, 0.5 and 30. */
static double expect_lines(double r0)
{
    enum { STEPS = 1000 };
    double sum = 0;
    for (int i = 0; i < STEPS; i++) {
        const double x = 5.6 + 10.3 * (i + 0.5) / STEPS, p = 2 * floor(x) + 1;
        const double noise = hypot(p * 0.39 / sqrt(5 * 999), 2 * 0.39 / sqrt(4 * 29));
        sum += fmin(0.1 + 5 * noise, 1.1);
    }
    return sum / STEPS / r0;
}

static void test_lines(uint64_t *random)
{
    enum { N = 19 * 500 };
    const double second[2] = {0.5, 30}, both[2] = {10, 30};
    const int slow = count_lines(random, 8, second, N), fast = count_lines(random, 120, second, N);
    const double want = N * expect_lines(120);
    ok(slow == 0, "a slow pulsar takes no lines: their places are too dense");
    ok(fabs(fast - want) < 5 * sqrt(want),
       "%d of %d candidates with power in even harmonics only are taken by chance, %.0f expected",
       fast, N, want);
    ok(count_lines(random, 120, both, N) == 0, "and none that has power in its fundamental");
}

/* --- sifting.py ------------------------------------------------------------------------------- */

/* A list from which candidates are popped, as sifting.py does; hits in its order. */
struct popped {
    const struct made *list;
    const struct psr_accel_row *row;
    double f, sigma;
    size_t nhit;
    struct psr_sift_hit hit[MOST_ALL];
};

static void pop(struct popped **c, size_t *n, size_t at)
{
    memmove(c + at, c + at + 1, (--*n - at) * sizeof *c);
}

/* Stable, by rising r or falling sigma. */
static void sort_popped(struct popped **c, size_t n, bool by_r)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0; k--) {
            struct popped *a = c[k - 1], *b = c[k];
            if (by_r ? !(b->row->r < a->row->r) : !(b->sigma > a->sigma))
                break;
            c[k - 1] = b;
            c[k] = a;
        }
}

static void join_popped(struct popped **c, size_t *n, double r_err)
{
    sort_popped(c, *n, true);
    for (size_t i = 0; i < *n;) {
        size_t end = i + 1;
        while (end < *n && fabs(c[i]->row->r - c[end]->row->r) < r_err)
            end++;
        if (end == i + 1) {
            i++;
            continue;
        }
        struct popped *best = c[i];
        for (size_t k = i; k < end; k++)
            best = c[k]->sigma > best->sigma ? c[k] : best;
        for (size_t k = end; k-- > i;) {
            if (c[k] == best)
                continue;
            memcpy(best->hit + best->nhit, c[k]->hit, c[k]->nhit * sizeof *best->hit);
            best->nhit += c[k]->nhit;
            pop(c, n, k);
        }
    }
    sort_popped(c, *n, false);
}

/* Whether the hits of a candidate are too few, best at a low DM, or have gaps. */
static bool fails_dms(const struct popped *p, const struct psr_sift_desc *d, const struct made *m,
                      size_t nlist)
{
    const struct psr_sift_hit *best = p->hit;
    bool neighbours = false;
    for (size_t i = 0; i < p->nhit; i++) {
        best = p->hit[i].sigma > best->sigma ? &p->hit[i] : best;
        for (size_t k = 0; k < p->nhit; k++) {
            bool between = p->hit[k].dm < p->hit[i].dm || i == k;
            for (size_t l = 0; l < nlist; l++)
                between |= m[l].dm > p->hit[i].dm && m[l].dm < p->hit[k].dm;
            neighbours |= !between;
        }
    }
    return (int64_t)p->nhit < d->min_num_dms || best->dm <= d->low_dm_cutoff ||
           (p->nhit > 1 && !neighbours);
}

static bool is_popped_harmonic(double a, double b, double error)
{
    static const double other[] = {3 / 2., 5 / 2., 2 / 3., 4 / 3., 5 / 3.,
                                   3 / 4., 5 / 4., 2 / 5., 3 / 5., 4 / 5.};
    for (double k = 1; k <= 16; k++)
        if (fabs(a - b * k) < error * k || fabs(a - b / k) < error / k)
            return true;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (fabs(a - b * other[i]) < error * other[i])
            return true;
    return false;
}

static size_t sift_popping(struct popped **c, size_t n, const struct psr_sift_desc *d,
                           const struct made *m, size_t nlist)
{
    join_popped(c, &n, d->r_err);
    for (size_t i = n; i-- > 0;)
        if (fails_dms(c[i], d, m, nlist))
            pop(c, &n, i);
    for (size_t i = 0; i < n; i++)
        for (size_t k = n; k-- > i + 1;)
            if (is_popped_harmonic(c[i]->f, c[k]->f, d->r_err / c[0]->list->rows.tobs_s))
                pop(c, &n, k);
    return n;
}

static size_t list_popped(const struct made *m, const size_t *order, size_t nlist,
                          const struct psr_sift_desc *d, struct popped *storage, struct popped **c)
{
    size_t n = 0;
    for (size_t i = 0; i < nlist; i++)
        for (size_t k = 0; k < m[order[i]].rows.n; k++) {
            const struct made *list = &m[order[i]];
            const struct psr_accel_row *row = &list->row[k];
            struct popped *to = &storage[n];
            double sum = 0, snr = 0;
            for (int h = 0; h < row->nharm; h++) {
                sum += row->harm_power[h];
                snr += sqrt(fmax(0, row->harm_power[h] - 1));
            }
            const double sigma = psr_presto_sigma(sum, row->nharm, 1);
            const struct naive judged = {
                .list = list, .row = row, .f = row->r / list->rows.tobs_s, .sigma = sigma};
            to->list = list;
            to->row = row;
            to->f = judged.f;
            to->sigma = sigma;
            to->nhit = 1;
            to->hit[0] = (struct psr_sift_hit){list->dm, snr, sigma};
            if (passes(d, &judged))
                c[n++] = to;
        }
    return n;
}

static bool same_as_popped(const struct psr_sift_result *result, struct popped **c, size_t n)
{
    bool same = result->ncand == n;
    for (size_t i = 0; i < n && same; i++) {
        const struct psr_sift_cand *x = &result->cand[i];
        same = !strcmp(x->path, c[i]->list->path) && x->number == c[i]->row->number &&
               x->nhit == c[i]->nhit && x->sigma == c[i]->sigma;
        double difference = 0; /* of all hits, which are sorted by DM in the result */
        for (size_t k = 0; k < x->nhit && same; k++) {
            difference += x->hit[k].snr - c[i]->hit[k].snr + x->hit[k].dm - c[i]->hit[k].dm;
            same = k == 0 || x->hit[k].dm >= x->hit[k - 1].dm;
        }
        same = same && fabs(difference) < 1e-6;
    }
    return same;
}

static void test_presto(uint64_t *random)
{
    struct made *m = tap_take(MOST_LISTS, sizeof *m);
    struct popped *storage = tap_take(MOST_ALL, sizeof *storage);
    struct popped **c = tap_take(MOST_ALL, sizeof *c);
    bool same = true;
    size_t found = 0;
    for (int trial = 0; trial < 300 && same; trial++) {
        struct psr_sift_desc d;
        struct psr_sift_result result;
        size_t order[MOST_LISTS];
        const size_t nlist = make_lists(random, m);
        choose(random, &d);
        d.presto = true;
        shuffle(random, order, nlist);
        size_t n = list_popped(m, order, nlist, &d, storage, c);
        n = sift_popping(c, n, &d, m, nlist);
        psr_sift *s = sift(m, order, nlist, &d, &result);
        same = same_as_popped(&result, c, n);
        found += n;
        if (!same)
            diag("trial %d: %zu candidates, %zu by popping", trial, result.ncand, n);
        psr_sift_destroy(s);
    }
    ok(same, "presto: 300 sets: the list from which sifting.py pops candidates");
    ok(found > 300, "%zu candidates", found);
    free(m);
    free(storage);
    free(c);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_naive(&random);
    test_lines(&random);
    test_presto(&random);
    return done_testing();
}
