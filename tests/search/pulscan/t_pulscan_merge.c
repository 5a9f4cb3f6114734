/* pulscan: candidates from hits. */
#include <psrkit/experimental/pulscan.h>
#include <psrkit/signif.h>

#include "search/pulscan/pulscan_internal.h"
#include "tests/support/tap.h"
#include <string.h>

static struct psr_pulscan_hit make_hit(double sigma, int64_t first, int z, int nharm)
{
    return (struct psr_pulscan_hit){.sigma = sigma,
                                    .r = (double)first + z / 2.0,
                                    .power = (float)sigma,
                                    .nharm = nharm,
                                    .z = z,
                                    .first = first};
}

struct merged {
    struct psr_pulscan_cand *cand;
    size_t n, left_out;
};

static struct merged merge(const struct psr_pulscan_hit *hit, size_t n, bool keep, size_t max)
{
    struct merged m = {0};
    psr_err err;
    const struct psr_pulscan_merge_desc how = {
        .size = sizeof how, .keep_harmonics = keep, .max = max};
    if (psr_pulscan_merge(hit, n, &how, &m.cand, &m.n, &m.left_out, &err))
        diag("%s", err.msg);
    return m;
}

static void test_touching(void)
{
    const struct psr_pulscan_hit hit[] = {
        make_hit(5, 1000, 20, 1), make_hit(9, 1010, 4, 1),  make_hit(4, 1029, 0, 2),
        make_hit(3, 1030, 0, 1),  make_hit(6, 995, 0, 1),   make_hit(2, 800, 194, 1),
        make_hit(8, 5017, 3, 1),  make_hit(7, 4900, 60, 1),
    };
    struct merged m = merge(hit, sizeof hit / sizeof *hit, true, 0);
    ok(m.n == 5, "%zu candidates of 5", m.n);
    ok(m.n > 0 && m.cand[0].best.sigma == 9 && m.cand[0].members == 4 && m.cand[0].first == 995 &&
           m.cand[0].last == 1029,
       "what touches the best box, or is 15 bins away, is its own");
    ok(m.n == 5 && m.cand[1].best.sigma == 8 && m.cand[2].best.sigma == 7 &&
           m.cand[3].best.sigma == 3 && m.cand[4].best.sigma == 2,
       "what touches but a lesser member, or is 16 bins away, is not: by falling sigma");
    free(m.cand);
}

/* Another, weaker, at each ratio to one at 6000: all are one, and those off it by more than the
 * tolerance are not. */
static void test_ratios(void)
{
    static const double ratio[] = {2,       3,       16,      1 / 2.0, 1 / 15.0, 3 / 2.0, 5 / 2.0,
                                   2 / 3.0, 4 / 3.0, 5 / 6.0, 2 / 7.0, 5 / 8.0,  3 / 13.0};
    enum { N = sizeof ratio / sizeof *ratio };
    struct psr_pulscan_hit hit[N + 1] = {make_hit(50, 59998, 4, 1)};
    for (int k = 0; k < N; k++) {
        int z = (int)(4 * ratio[k]);
        hit[k + 1] = make_hit(20 - k, (int64_t)floor(60000 * ratio[k] - z / 2.0), z, 1);
    }
    struct merged m = merge(hit, N + 1, false, 0);
    ok(m.n == 1 && m.cand[0].members == N + 1, "harmonics in small ratios are one: %zu left", m.n);
    free(m.cand);
    m = merge(hit, N + 1, true, 0);
    ok(m.n == N + 1, "unless they are to be kept: %zu", m.n);
    free(m.cand);
    for (int k = 0; k < N; k++) {
        double off = 3 + 2.5 * fmax(1, ratio[k]);
        hit[k + 1].first += (int64_t)off;
        hit[k + 1].r += off;
    }
    m = merge(hit, N + 1, false, 0);
    ok(m.n > 1 && m.cand[0].members == 1, "off by a few bins they are not");
    free(m.cand);
}

static void test_wide_harmonics(void)
{
    const struct psr_pulscan_hit hit[] = {
        make_hit(30, 9950, 100, 1), make_hit(10, 19930, 180, 1), make_hit(8, 20130, 0, 1),
        make_hit(6, 4990, 30, 4),   make_hit(5, 29800, 200, 1),
    };
    struct merged m = merge(hit, sizeof hit / sizeof *hit, false, 0);
    ok(m.n == 2 && m.cand[0].members == 4 && m.cand[1].best.sigma == 8,
       "a drifting signal's harmonic is anywhere in its box: %zu", m.n);
    free(m.cand);
}

/* A frequency of 1000.45 bins is in bin 1000; its harmonics are as far from 1000 h as 0.45 h. */
static void test_narrow_harmonics(void)
{
    struct psr_pulscan_hit hit[17] = {make_hit(50, 1000, 0, 1)};
    for (int h = 2; h <= 16; h++)
        hit[h - 1] = make_hit(40 - h, (int64_t)lround(1000.45 * h), 0, 1);
    hit[16] = make_hit(3, 16000 - 11, 0, 1);
    struct merged m = merge(hit, 16, false, 0);
    ok(m.n == 1 && m.cand[0].members == 16, "harmonics of a narrow box are one: %zu left", m.n);
    free(m.cand);
    m = merge(hit, 17, false, 0);
    ok(m.n == 2, "what is off by more than the box is wide is not: %zu", m.n);
    free(m.cand);
}

/* Power that a drift or an orbit spreads is in its box; narrow lines in a wide box are not. */
static void test_lines(void)
{
    struct psr_pulscan_hit hit[] = {make_hit(90, 1000, 99, 1), make_hit(80, 1020, 0, 1),
                                    make_hit(70, 1060, 1, 1), make_hit(40, 1010, 24, 1),
                                    make_hit(6, 1030, 0, 1)};
    hit[0].power = 200 + 5000;
    hit[1].power = 2 + 1900; /* 0.38: more than 1.5 times the root of 1/100 */
    hit[2].power = 4 + 1000; /* 0.2: no more than 1.5 times that of 2/100 */
    hit[3].power = 50 + 3000;
    hit[4].power = 30;
    struct merged m = merge(hit, 5, false, 0);
    ok(m.n == 2 && m.cand[0].lines && m.cand[0].members == 4 && !m.cand[1].lines &&
           m.cand[1].best.sigma == 80,
       "a line stands out of a wide box: %zu candidates of %zu and %zu", m.n,
       m.n > 0 ? m.cand[0].members : 0, m.n > 1 ? m.cand[1].members : 0);
    free(m.cand);
    hit[1].power = 2 + 700;
    m = merge(hit, 5, false, 0);
    ok(m.n == 1 && !m.cand[0].lines, "where a frequency turns it does not: %zu", m.n);
    free(m.cand);
    struct psr_pulscan_hit low[] = {make_hit(22, 30988, 24, 1), make_hit(20, 7748, 4, 4)};
    low[0].power = 738;
    low[1].power = 740;
    m = merge(low, 2, false, 0);
    ok(m.n == 1 && !m.cand[0].lines, "nor at a quarter of the frequency: %zu", m.n);
    free(m.cand);
}

/* --- random hits, against the rules without cells ---------------------------------------------- */

static double excess(const struct psr_pulscan_hit *h)
{
    return (double)h->power - psr_pulscan_dof(h->nharm, h->z);
}

static bool stands_out(const struct psr_pulscan_hit *h, const struct psr_pulscan_hit *wide,
                       double ratio)
{
    double part = (h->z + 1) / (fmin(1, ratio) * (wide->z + 1));
    return part < 0.25 && excess(wide) > 0 && excess(h) > 1.5 * sqrt(part) * excess(wide);
}

static bool touches(const struct psr_pulscan_hit *a, const struct psr_pulscan_hit *b)
{
    int64_t gap = a->first < b->first ? b->first - a->first - a->z : a->first - b->first - b->z;
    return gap <= 15;
}

/* The candidate, of n, that a hit belongs to by a ratio of 0, which is to touch, or another; or -1. */
static int64_t find_owner(struct psr_pulscan_cand *cand, size_t n, const struct psr_pulscan_hit *h,
                          double ratio)
{
    int64_t found = -1;
    for (size_t c = 0; c < n; c++) {
        const struct psr_pulscan_hit *best = &cand[c].best;
        double wide = fmax(ratio * (best->z + 1), h->z + 1) / 2 + 1.5;
        if (ratio > 0 ? fabs(ratio * best->r - h->r) > wide : !touches(best, h))
            continue;
        if (stands_out(h, best, ratio > 0 ? ratio : 1))
            cand[c].lines = true;
        else if (found < 0)
            found = (int64_t)c;
    }
    return found;
}

static int64_t find_harmonic(struct psr_pulscan_cand *cand, size_t n,
                             const struct psr_pulscan_hit *h)
{
    static const int fraction[][2] = {{3, 2},  {5, 2},  {2, 3},  {4, 3},  {5, 3}, {3, 4},
                                      {5, 4},  {2, 5},  {3, 5},  {4, 5},  {5, 6}, {2, 7},
                                      {3, 7},  {4, 7},  {3, 8},  {5, 8},  {2, 9}, {3, 10},
                                      {2, 11}, {3, 11}, {2, 13}, {3, 13}, {2, 15}};
    int64_t found = -1;
    for (int k = 0; k < 32 + (int)(sizeof fraction / sizeof *fraction); k++) {
        double ratio = k < 16   ? k + 1
                       : k < 32 ? 1.0 / (k - 15)
                                : (double)fraction[k - 32][0] / fraction[k - 32][1];
        int64_t c = find_owner(cand, n, h, ratio);
        found = c >= 0 && (found < 0 || c < found) ? c : found;
    }
    return found;
}

/* hit: by falling sigma.  Returned: how many are left in cand */
static size_t merge_plainly(const struct psr_pulscan_hit *hit, size_t nhit, bool keep,
                            struct psr_pulscan_cand *cand)
{
    size_t n = 0, left = 0;
    for (size_t i = 0; i < nhit; i++) {
        int64_t c = find_owner(cand, n, &hit[i], 0), last = hit[i].first + hit[i].z;
        if (c < 0) {
            cand[n++] = (struct psr_pulscan_cand){
                .best = hit[i], .members = 1, .first = hit[i].first, .last = last};
            continue;
        }
        cand[c].members++;
        cand[c].first = hit[i].first < cand[c].first ? hit[i].first : cand[c].first;
        cand[c].last = last > cand[c].last ? last : cand[c].last;
    }
    for (size_t i = 0; i < n && !keep; i++) {
        int64_t c = find_harmonic(cand, left, &cand[i].best);
        if (c < 0)
            cand[left++] = cand[i];
        else
            cand[c].members += cand[i].members;
    }
    return keep ? n : left;
}

/* Crowded or not; every fourth one at a harmonic of an earlier one, or near it. */
static void draw_hits(struct psr_pulscan_hit *hit, int n, uint64_t *seed)
{
    const int64_t range = tap_between(seed, 500, 60000);
    for (int k = 0; k < n; k++) {
        int z = (int)(tap_random(seed) % 3 ? tap_between(seed, 0, 6) : tap_between(seed, 0, 120));
        int64_t first = tap_between(seed, 1, range);
        if (k % 4 == 3)
            first = (int64_t)(hit[tap_between(seed, 0, k - 1)].r *
                              (double)tap_between(seed, 1, 16) / (double)tap_between(seed, 1, 16)) +
                    tap_between(seed, -4, 4) - z / 2;
        hit[k] = make_hit(1000 - k, first > 0 ? first : 1, z, (int)tap_between(seed, 1, 4));
        hit[k].power = (float)(psr_pulscan_dof(hit[k].nharm, z) + exp(10 * tap_uniform(seed)));
    }
}

static void test_random(uint64_t *seed)
{
    enum { LISTS = 200, HITS = 120 };
    struct psr_pulscan_hit hit[HITS];
    struct psr_pulscan_cand want[HITS];
    int same = 0;
    size_t left = 0;
    for (int i = 0; i < LISTS; i++) {
        const bool keep = i % 2;
        draw_hits(hit, HITS, seed);
        size_t n = merge_plainly(hit, HITS, keep, want);
        struct merged m = merge(hit, HITS, keep, 0);
        bool agree = m.n == n;
        for (size_t k = 0; agree && k < n; k++)
            agree = m.cand[k].best.sigma == want[k].best.sigma &&
                    m.cand[k].members == want[k].members && m.cand[k].first == want[k].first &&
                    m.cand[k].last == want[k].last && m.cand[k].lines == want[k].lines;
        same += agree;
        left += n;
        free(m.cand);
    }
    ok(same == LISTS && left > LISTS, "%d of %d random lists are merged as the rules say, to %zu",
       same, LISTS, left);
}

static void test_bounds(void)
{
    enum { N = 5000 };
    struct psr_pulscan_hit *hit = tap_take(N, sizeof *hit);
    for (int k = 0; k < N; k++)
        hit[k] = make_hit(1 + k % 1000, 1000000 + 400 * (int64_t)k, 3, 1);
    struct merged m = merge(hit, N, true, 100);
    bool falling = m.n == 100;
    for (size_t k = 1; falling && k < m.n; k++)
        falling = m.cand[k].best.sigma < m.cand[k - 1].best.sigma ||
                  (m.cand[k].best.sigma == m.cand[k - 1].best.sigma &&
                   m.cand[k].best.r > m.cand[k - 1].best.r);
    ok(m.n == 100 && m.left_out == N - 100, "no more than asked for: %zu, %zu left out", m.n,
       m.left_out);
    ok(falling, "by falling sigma, then rising r");
    free(m.cand);
    m = merge(hit, 0, false, 0);
    ok(m.n == 0 && m.cand == NULL, "nothing from nothing");
    free(hit);
}

/* Any order of the hits gives the same candidates. */
static void test_order(uint64_t *seed)
{
    enum { N = 400 };
    struct psr_pulscan_hit hit[N];
    for (int k = 0; k < N; k++)
        hit[k] = make_hit((double)tap_between(seed, 1, 20), tap_between(seed, 1, 20000),
                          (int)tap_between(seed, 0, 60), (int)tap_between(seed, 1, 4));
    struct merged a = merge(hit, N, false, 0);
    for (int k = N - 1; k > 0; k--) {
        int j = (int)tap_between(seed, 0, k);
        struct psr_pulscan_hit t = hit[j];
        hit[j] = hit[k];
        hit[k] = t;
    }
    struct merged b = merge(hit, N, false, 0);
    bool same = a.n == b.n;
    size_t members = 0;
    for (size_t k = 0; same && k < a.n; k++) {
        same = a.cand[k].best.first == b.cand[k].best.first &&
               a.cand[k].best.z == b.cand[k].best.z && a.cand[k].members == b.cand[k].members;
        members += a.cand[k].members;
    }
    ok(same && a.n > 1 && a.n < N, "whatever the order of the hits: %zu candidates", a.n);
    ok(members == N, "every hit is a member of one");
    free(a.cand);
    free(b.cand);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_touching();
    test_ratios();
    test_wide_harmonics();
    test_narrow_harmonics();
    test_lines();
    test_random(&seed);
    test_bounds();
    test_order(&seed);
    return done_testing();
}
