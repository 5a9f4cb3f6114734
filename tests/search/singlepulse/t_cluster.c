/* Clusters of single pulses: against every pair compared, in storms, as text, and a real burst. */
#include "tests/support/band_spread.h"
#include "tests/support/pulse_tests.h"
#include "tests/support/scratch.h"

#include <psrkit/ddplan.h>
#include <time.h>

static const size_t NONE = 1000;

static int64_t first_sample(const struct psr_event *e)
{
    return e->sample - e->width / 2;
}

/* What psr_cluster_events is told: samples of the clock in a sample of each trial, tolerances. */
struct rules {
    size_t scale[13], sweep[13];
    bool has_sweep;
    int64_t time_tol;
    size_t trial_tol;
    double band_ratio;
};

/* On the common clock. */
static int64_t first_tick(const struct rules *r, const struct psr_event *e)
{
    return first_sample(e) * (int64_t)r->scale[e->trial];
}

static int64_t end_tick(const struct rules *r, const struct psr_event *e)
{
    return (first_sample(e) + e->width) * (int64_t)r->scale[e->trial];
}

static bool are_friends(const struct psr_event *a, const struct psr_event *b, const struct rules *r)
{
    size_t one = r->scale[a->trial], other = r->scale[b->trial];
    int64_t tol = r->time_tol * (int64_t)(one > other ? one : other);
    int64_t gap_ab = first_tick(r, b) - end_tick(r, a), gap_ba = first_tick(r, a) - end_tick(r, b);
    size_t apart = a->trial > b->trial ? a->trial - b->trial : b->trial - a->trial;
    return gap_ab <= tol && gap_ba <= tol && apart <= r->trial_tol;
}

/* Whether an event can be part of the cluster of a root: in time, and by its S/N. */
static bool can_join(const struct psr_event *root, const struct psr_event *e, const struct rules *r)
{
    double a = (double)(end_tick(r, root) - first_tick(r, root));
    double b = (double)(end_tick(r, e) - first_tick(r, e)), longer = fmax(a, b);
    int64_t before = first_tick(r, e) - end_tick(r, root);
    int64_t after = first_tick(r, root) - end_tick(r, e), gap = before > after ? before : after;
    int64_t swept = (int64_t)(r->sweep[e->trial] * r->scale[e->trial]) -
                    (int64_t)(r->sweep[root->trial] * r->scale[root->trial]);
    size_t coarser =
        r->scale[e->trial] > r->scale[root->trial] ? r->scale[e->trial] : r->scale[root->trial];
    gap -= r->time_tol * (int64_t)coarser;
    bool in_time = !r->has_sweep || (double)(gap - llabs((long long)swept)) <= longer;
    return in_time && e->snr <= 2 * sqrt(fmin(a, b) / longer) * root->snr + 3;
}

static bool is_better(const struct psr_event *a, const struct psr_event *b)
{
    if (a->snr != b->snr)
        return a->snr > b->snr;
    if (a->trial != b->trial)
        return a->trial < b->trial;
    if (a->sample != b->sample)
        return a->sample < b->sample;
    return a->width < b->width;
}

static bool is_placed_before(const struct psr_event *a, const struct psr_event *b)
{
    if (a->trial != b->trial)
        return a->trial < b->trial;
    if (first_sample(a) != first_sample(b))
        return first_sample(a) < first_sample(b);
    return is_better(a, b);
}

/* Sorts indices by one of the orders above. */
static void sort_plainly(size_t *index, const struct psr_event *e, size_t n,
                         bool (*is_before)(const struct psr_event *, const struct psr_event *))
{
    for (size_t k = 0; k < n; k++)
        index[k] = k;
    for (size_t k = 1; k < n; k++)
        for (size_t j = k; j > 0 && is_before(&e[index[j]], &e[index[j - 1]]); j--) {
            size_t swap = index[j];
            index[j] = index[j - 1];
            index[j - 1] = swap;
        }
}

/* Group a becomes group b, or b becomes a: the index of a group is that of its best event. */
static void merge_plainly(const struct psr_event *e, size_t n, size_t *group, size_t a, size_t b)
{
    size_t to = is_better(&e[a], &e[b]) ? a : b, from = to == a ? b : a;
    for (size_t k = 0; k < n; k++)
        group[k] = group[k] == from ? to : group[k];
}

/* Samples of the clock by which the sweep of one event's trial is longer than that of another's. */
static double sweep_apart(const struct psr_event *a, const struct psr_event *b,
                          const struct rules *r)
{
    return (double)(r->sweep[a->trial] * r->scale[a->trial]) -
           (double)(r->sweep[b->trial] * r->scale[b->trial]);
}

static double length_of(const struct psr_event *e, const struct rules *r)
{
    return (double)(end_tick(r, e) - first_tick(r, e));
}

/* Whether a low peak is what is left of the high one at another DM, if that fills such a part of the band. */
static bool is_left_of(const struct psr_event *high, const struct psr_event *low,
                       const struct rules *r, double part)
{
    const double w = length_of(high, r), v = length_of(low, r);
    const double spread = part * spread_of(r->band_ratio) * fabs(sweep_apart(high, low, r)),
                 share = pow(1 + 0.462 * spread * spread / (w * w), -0.25);
    return low->snr <= share * high->snr * fmin(1, sqrt(v / spread)) + 3;
}

static bool may_be_left_of(const struct psr_event *high, const struct psr_event *low,
                           const struct rules *r)
{
    return !r->has_sweep || is_left_of(high, low, r, 1.0 / 3);
}

/* Whether e may come to the group of "root" by its friend q. */
static bool can_climb(const struct psr_event *root, const struct psr_event *q,
                      const struct psr_event *e, const struct rules *r)
{
    const double a = length_of(q, r), b = length_of(e, r);
    return can_join(root, e, r) &&
           (e->snr <= 2 * sqrt(fmin(a, b) / fmax(a, b)) * q->snr + 3 || may_be_left_of(root, e, r));
}

/* What an event at most has in a boxcar as long as a peak's. */
static double seen_in(const struct psr_event *peak, const struct psr_event *e,
                      const struct rules *r)
{
    return e->snr * fmin(1, 1.2 * sqrt(length_of(peak, r) / length_of(e, r)));
}

/* Of an S/N without what others have in it. */
static bool is_flank_of(const struct psr_event *high, struct psr_event low, const struct rules *r,
                        double others)
{
    const double apart = sweep_apart(high, &low, r), v = length_of(&low, r);
    const int64_t middle = first_tick(r, &low) + (end_tick(r, &low) - first_tick(r, &low)) / 2;
    const bool part = can_join(high, &low, r);
    low.snr -= others;
    return r->has_sweep && v >= 2 * length_of(high, r) && part &&
           (double)middle >= (double)first_tick(r, high) + fmin(apart, 0) &&
           (double)middle <= (double)end_tick(r, high) + fmax(apart, 0) &&
           is_left_of(high, &low, r, 1);
}

/* Group a met group b: the better of the two is noted at the other, if it is the best so far. */
static void meet_plainly(const struct psr_event *e, size_t *met, size_t a, size_t b)
{
    const size_t high = is_better(&e[a], &e[b]) ? a : b, low = high == a ? b : a;
    if (high != low && (met[low] == NONE || is_better(&e[high], &e[met[low]])))
        met[low] = high;
}

/* Joins event k to groups, over the groups of its friends.  Returned: its group */
static size_t climb_plainly(const struct psr_event *e, size_t n, const struct rules *r,
                            size_t *group, size_t *met, const size_t *place, size_t k, size_t best)
{
    for (size_t q = 0; q < n; q++) {
        size_t other = place[q];
        if (group[other] == NONE || group[other] == group[best] ||
            !are_friends(&e[k], &e[other], r) || !can_join(&e[group[other]], &e[k], r) ||
            !can_join(&e[group[best]], &e[k], r))
            continue;
        bool other_low = is_better(&e[group[best]], &e[group[other]]);
        const size_t low = group[other_low ? other : best], high = group[other_low ? best : other];
        const double seen = fmin(seen_in(&e[low], &e[k], r), seen_in(&e[low], &e[other], r));
        const bool crosses = seen < e[low].snr - 2 && !may_be_left_of(&e[high], &e[low], r);
        if (e[k].snr < 0.9 * e[low].snr - 3 || crosses || !can_join(&e[high], &e[low], r))
            continue;
        merge_plainly(e, n, group, low, high);
        if (met[low] != NONE)
            meet_plainly(e, met, high, group[met[low]]);
    }
    return group[best];
}

/* Flanks that other pulses part from theirs. */
static void join_flanks_plainly(const struct psr_event *e, size_t n, const struct rules *r,
                                size_t *group, const size_t *met, const size_t *rank)
{
    for (size_t j = 0; j < n; j++) {
        const size_t k = rank[j];
        size_t at = group[k] == k && met[k] != NONE ? group[met[k]] : k;
        double others = 0;
        while (is_better(&e[at], &e[k]) && !is_flank_of(&e[at], e[k], r, others)) {
            others += e[at].snr * sqrt(length_of(&e[at], r) / length_of(&e[k], r));
            at = met[at] == NONE ? k : group[met[at]];
        }
        if (is_better(&e[at], &e[k]))
            merge_plainly(e, n, group, k, at);
    }
}

/* group[k] = index of the best event of the group of event k, every pair being compared. */
static void group_plainly(const struct psr_event *e, size_t n, const struct rules *r, size_t *group)
{
    size_t rank[120], place[120], met[120];
    sort_plainly(rank, e, n, is_better);
    sort_plainly(place, e, n, is_placed_before);
    for (size_t k = 0; k < n; k++)
        group[k] = met[k] = NONE;
    for (size_t j = 0; j < n; j++) {
        size_t k = rank[j], best = NONE;
        for (size_t q = 0; q < j && best == NONE; q++)
            best = are_friends(&e[k], &e[rank[q]], r) &&
                           can_climb(&e[group[rank[q]]], &e[rank[q]], &e[k], r)
                       ? rank[q]
                       : NONE;
        const size_t own = best == NONE ? k : climb_plainly(e, n, r, group, met, place, k, best);
        for (size_t q = 0; q < n; q++)
            if (group[place[q]] != NONE && are_friends(&e[k], &e[place[q]], r))
                meet_plainly(e, met, own, group[place[q]]);
        group[k] = own;
    }
    join_flanks_plainly(e, n, r, group, met, rank);
}

static bool same_event(const struct psr_event *a, const struct psr_event *b)
{
    return a->snr == b->snr && a->sample == b->sample && a->width == b->width &&
           a->trial == b->trial;
}

/* What group g should have become, looked for in clusters. */
static bool has_group(const struct psr_cluster *clusters, size_t ncluster,
                      const struct psr_event *e, const size_t *group, size_t n, size_t g,
                      const struct rules *r)
{
    struct psr_cluster want = {e[g], 0, INT64_MAX, INT64_MIN, 0};
    for (size_t k = 0; k < n; k++) {
        if (group[k] != g)
            continue;
        want.members++;
        want.best = is_better(&e[k], &want.best) ? e[k] : want.best;
        int64_t first = first_tick(r, &e[k]), last = end_tick(r, &e[k]) - 1;
        want.first = first < want.first ? first : want.first;
        want.last = last > want.last ? last : want.last;
    }
    for (size_t c = 0; c < ncluster; c++)
        if (same_event(&clusters[c].best, &want.best) && clusters[c].members == want.members &&
            clusters[c].first == want.first && clusters[c].last == want.last)
            return true;
    return false;
}

static void test_against_pairs(uint64_t *seed)
{
    static const size_t scales[] = {1, 2, 3, 4, 8};
    int wrong = 0, many = 0;
    for (int trial = 0; trial < 150; trial++) {
        struct psr_event e[120];
        size_t group[120], n = (size_t)tap_between(seed, 1, 120), ngroup = 0, ncluster;
        struct rules r = {.time_tol = tap_between(seed, 0, 6),
                          .trial_tol = (size_t)tap_between(seed, 0, 4)};
        bool alike = trial % 2;
        r.has_sweep = tap_between(seed, 0, 1);
        r.band_ratio = tap_between(seed, 0, 1) ? 1 + 5 * tap_uniform(seed) : 0;
        for (size_t i = 0; i < 13; i++) {
            r.scale[i] = alike ? 1 : scales[tap_between(seed, 0, 4)];
            r.sweep[i] = 40 * i / r.scale[i];
        }
        for (size_t k = 0; k < n; k++) {
            size_t i = (size_t)tap_between(seed, 0, 12);
            e[k] = (struct psr_event){(double)tap_between(seed, 6, trial % 3 ? 25 : 12),
                                      tap_between(seed, 0, 2400 / (int64_t)(r.scale[i] + 2)),
                                      list_of_widths[tap_between(seed, 0, 7)], i};
        }
        struct psr_cluster *clusters;
        psr_err err;
        const struct psr_cluster_desc d = {.size = sizeof d,
                                           .scale = alike ? NULL : r.scale,
                                           .sweep = r.has_sweep ? r.sweep : NULL,
                                           .time_tol = r.time_tol,
                                           .trial_tol = r.trial_tol,
                                           .band_ratio = r.band_ratio};
        if (psr_cluster_events(&d, e, n, &clusters, &ncluster, &err))
            exit(EXIT_FAILURE);
        group_plainly(e, n, &r, group);
        for (size_t g = 0; g < n; g++)
            if (group[g] == g) {
                ngroup++;
                wrong += !has_group(clusters, ncluster, e, group, n, g, &r);
            }
        wrong += ngroup != ncluster;
        many += ncluster > 5 && ncluster < n;
        for (size_t c = 1; c < ncluster; c++)
            wrong += is_better(&clusters[c].best, &clusters[c - 1].best);
        free(clusters);
    }
    ok(wrong == 0 && many > 50, "groups as by comparing every pair (%d of 150 mixed)", many);
}

static const struct psr_cluster_desc usual = {
    .size = sizeof(struct psr_cluster_desc), .time_tol = 3, .trial_tol = 3};

/* Events of a pulse of width 20 at its DM, trial 100 of 200, and away from it, where it is longer:
 * up to "most" samples.  The noise of S/N is 1, and neighbours have four fifths of it in common. */
static size_t smear_pulse(struct psr_event *e, uint64_t *seed, double snr, int64_t sample, int most)
{
    size_t n = 0;
    double noise = tap_normal(seed);
    for (size_t i = 0; i < 200; i++) {
        int width = 20 + 2 * abs((int)i - 100);
        double seen = snr * sqrt(20.0 / width) + noise;
        noise = 0.8 * noise + 0.6 * tap_normal(seed);
        if (seen >= 6)
            e[n++] = (struct psr_event){seen, sample, width < most ? width : most, i};
    }
    return n;
}

static struct psr_cluster *cluster_all(const struct psr_event *e, size_t n, size_t *ncluster)
{
    psr_err err;
    struct psr_cluster *c;
    if (psr_cluster_events(&usual, e, n, &c, ncluster, &err))
        exit(EXIT_FAILURE);
    return c;
}

/* Bursts that touch each other where they are smeared are still as many rows.  Noise parts a burst where
 * it falls by 3 and a tenth of the S/N and rises again: one of some 45000 (measured), so that more than
 * 2 of the 1200 are never parted by chance. */
static void test_close_pulses(uint64_t *seed)
{
    enum { RUNS = 40, BURSTS = 30, EACH = 200 };
    struct psr_event *e = malloc(BURSTS * EACH * sizeof *e);
    size_t rows = 0, wrong = 0;
    bool fewer = false;
    for (int run = 0; run < RUNS; run++) {
        size_t n = 0, ncluster;
        for (int b = 0; b < BURSTS; b++)
            n += smear_pulse(e + n, seed, 50, 1000 + 200 * b, 198);
        struct psr_cluster *c = cluster_all(e, n, &ncluster);
        for (size_t k = 0; k < ncluster; k++)
            wrong += (c[k].best.sample - 1000) % 200 != 0 || c[k].members < 100 ||
                     llabs((long long)c[k].best.trial - 100) > 10;
        rows += ncluster;
        fewer = fewer || ncluster < BURSTS;
        free(c);
    }
    ok(!fewer && rows <= RUNS * BURSTS + 2 && wrong <= rows - RUNS * BURSTS,
       "%d times %d bursts that touch are %zu rows (%zu wrong)", RUNS, BURSTS, rows, wrong);
    free(e);
}

/* Noise on the flank of a pulse makes no row of its own. */
static void test_flanks(uint64_t *seed)
{
    size_t rows = 0, ncluster;
    for (int run = 0; run < 200; run++) {
        struct psr_event e[200];
        size_t n = smear_pulse(e, seed, exp(4 + 2 * tap_uniform(seed)), 1000, 300);
        free(cluster_all(e, n, &ncluster));
        rows += ncluster;
    }
    ok(rows >= 200 && rows <= 201, "200 pulses alone are %zu rows", rows);
}

/* Two peaks and what lies between them, at one time: one pulse or two. */
static void test_saddle(void)
{
    static const struct {
        double peak, saddle;
        size_t rows;
    } cases[] = {{30, 23.9, 2}, {30, 24.1, 1}, {10, 5.9, 2}, {10, 6.1, 1}};
    for (size_t k = 0; k < 4; k++) {
        size_t ncluster;
        const struct psr_event e[] = {
            {100, 500, 10, 10}, {cases[k].saddle, 500, 10, 13}, {cases[k].peak, 500, 10, 16}};
        struct psr_cluster *c = cluster_all(e, 3, &ncluster);
        ok(ncluster == cases[k].rows, "S/N 100, %g, %g: %zu rows", cases[k].saddle, cases[k].peak,
           ncluster);
        free(c);
    }
}

/* Two pulses of different DM that cross, and a bump in the flank of one. */
static void test_crossing(void)
{
    static const struct {
        const char *what;
        size_t step; /* samples of sweep from trial to trial */
        struct psr_event high, saddle, low;
        size_t rows;
    } cases[] = {
        {"two that cross", 4, {16, 1000, 9, 10}, {11, 970, 70, 40}, {15, 940, 9, 70}, 2},
        {"of one DM, by its delay", 0, {16, 1000, 9, 10}, {11, 990, 45, 40}, {15, 985, 9, 70}, 1},
        {"a bump in a flank", 4, {60, 1000, 9, 10}, {20, 970, 70, 40}, {22.5, 940, 70, 70}, 1},
        {"noise in it", 4, {16, 1000, 9, 10}, {7, 970, 70, 40}, {6.2, 940, 20, 70}, 1},
        {"a weak one in it", 4, {16, 1000, 9, 10}, {7, 970, 70, 40}, {8.5, 940, 20, 70}, 2},
        {"a saddle that is noise", 4, {16, 1000, 9, 10}, {13.5, 990, 9, 40}, {15, 980, 9, 70}, 1},
        {"of sums of both", 4, {16, 1000, 9, 10}, {13.5, 970, 70, 40}, {15, 940, 9, 70}, 2},
        {"a short one within a flank",
         4,
         {60, 1000, 9, 10},
         {21, 970, 70, 40},
         {20, 940, 9, 70},
         2},
        {"noise within a flank", 4, {60, 1000, 9, 10}, {21, 970, 70, 40}, {9, 940, 9, 70}, 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t sweep[80], n;
        psr_err err;
        struct psr_cluster *c;
        for (size_t i = 0; i < 80; i++)
            sweep[i] = cases[k].step * i;
        const struct psr_event e[] = {cases[k].high, cases[k].saddle, cases[k].low};
        const struct psr_cluster_desc d = {
            .size = sizeof d, .sweep = sweep, .time_tol = 3, .trial_tol = 30};
        if (psr_cluster_events(&d, e, 3, &c, &n, &err))
            exit(EXIT_FAILURE);
        ok(n == cases[k].rows, "%s: %zu rows", cases[k].what, n);
        free(c);
    }
}

/* A flank that a second pulse parts from the first is no third one. */
static void test_parted_flank(void)
{
    size_t sweep[140], n, short_rows = 0;
    struct psr_event e[140];
    psr_err err;
    struct psr_cluster *c;
    for (size_t i = 0; i < 140; i++) {
        const int apart = abs((int)i - 10) * 4, width = apart > 9 ? apart : 9;
        const bool second = i > 65 && i < 75;
        sweep[i] = 4 * i;
        e[i] = second ? (struct psr_event){22 - abs((int)i - 70), 1000 - 4 * (int64_t)i + 40, 9, i}
                      : (struct psr_event){60 * sqrt(9.0 / width), 1000 - 2 * (int64_t)i, width, i};
    }
    const struct psr_cluster_desc d = {
        .size = sizeof d, .sweep = sweep, .time_tol = 3, .trial_tol = 3};
    if (psr_cluster_events(&d, e, 140, &c, &n, &err))
        exit(EXIT_FAILURE);
    for (size_t k = 0; k < n; k++)
        short_rows += c[k].best.width == 9;
    ok(n == 2 && short_rows == 2, "a flank on both sides of a second pulse: %zu rows", n);
    free(c);
}

/* A wide event over two narrow pulses is a row beside theirs, not one with them; and what hangs together
 * from event to event goes no further than a boxcar and the sweep. */
static void test_reach(void)
{
    size_t n, sweep[64] = {0};
    const struct psr_event wide[] = {
        {12, 1000, 300, 5}, {10, 940, 4, 6}, {9, 1060, 4, 4}, {8.5, 1060, 5, 3}};
    struct psr_cluster *c = cluster_all(wide, 4, &n);
    ok(n == 3 && c[0].members == 1 && c[1].best.sample == 940 && c[2].members == 2,
       "a wide event and two pulses in it: %zu rows", n);
    free(c);
    struct psr_event chain[60];
    struct psr_cluster_desc d = usual;
    psr_err err;
    for (size_t k = 0; k < 60; k++)
        chain[k] = (struct psr_event){8 - 0.001 * (double)k, 9000 - 100 * (int64_t)k, 100, k};
    d.sweep = sweep;
    for (int swept = 0; swept < 2; swept++) {
        for (size_t k = 0; k < 64; k++)
            sweep[k] = swept ? 100 * k : 0;
        if (psr_cluster_events(&d, chain, 60, &c, &n, &err))
            exit(EXIT_FAILURE);
        int64_t longest = 0;
        for (size_t k = 0; k < n; k++)
            longest = c[k].last - c[k].first > longest ? c[k].last - c[k].first : longest;
        ok(swept ? n == 1 : n >= 12 && longest < 500,
           "60 events in a row, %s: %zu rows, the longest of %lld samples",
           swept ? "swept" : "not swept", n, (long long)longest);
        free(c);
    }
}

/* CPU seconds for n events over 1000 trials, in a storm of 50 a sample, or each far from all others. */
static double time_events(uint64_t *seed, size_t n, bool apart, size_t *ncluster)
{
    struct psr_event *e = tap_take(n, sizeof *e);
    psr_err err;
    struct psr_cluster *clusters;
    for (size_t k = 0; k < n; k++)
        e[k] =
            apart ? (struct psr_event){6, (int64_t)(100 * k), 30, k % 1000}
                  : (struct psr_event){6 + tap_uniform(seed), tap_between(seed, 0, (int64_t)n / 50),
                                       30, (size_t)tap_between(seed, 0, 999)};
    struct psr_cluster_desc d = usual;
    d.trial_tol = 5;
    clock_t start = clock();
    if (psr_cluster_events(&d, e, n, &clusters, ncluster, &err))
        exit(EXIT_FAILURE);
    double took = (double)(clock() - start) / CLOCKS_PER_SEC;
    free(clusters);
    free(e);
    return took;
}

/* Events that all hang together, and as many in as many places. */
static void test_storm(uint64_t *seed)
{
    enum { N = 400000 };
    size_t storm, apart, few;
    double quarter = time_events(seed, N / 4, false, &few),
           took = time_events(seed, N, false, &storm);
    double took_apart = time_events(seed, N, true, &apart);
    ok(few == 1 && storm == 1, "a storm of no peaks is one cluster");
    ok(apart == N, "events apart stay apart");
    diag("%d events: %.2f s in a storm, %.2f s apart", N, took, took_apart);
    ok(took < 16 * quarter && took_apart < took,
       "four times the events take %.1f times as long, not 16", took / quarter);
}

static void test_edges(void)
{
    psr_err err;
    struct psr_cluster *clusters;
    size_t n = 7;
    struct psr_cluster_desc d = usual;
    ok(!psr_cluster_events(&d, NULL, 0, &clusters, &n, &err) && n == 0 && !clusters,
       "no events, no clusters");
    d.time_tol = -1;
    ok(psr_cluster_events(&d, NULL, 0, &clusters, &n, &err) == PSR_EINVAL &&
           !strcmp(err.field, "time_tol"),
       "%s", err.msg);
    d.size = 0;
    ok(psr_cluster_events(&d, NULL, 0, &clusters, &n, &err) == PSR_EINVAL &&
           !strcmp(err.field, "size"),
       "%s", err.msg);
}

static psr_outfile *open_text(void)
{
    psr_outfile *f;
    if (psr_outfile_create(&f, scratch("x"), NULL))
        exit(EXIT_FAILURE);
    return f;
}

/* What was written, malloc'd, if the writing went well. */
static char *close_text(psr_outfile *f, psr_status st, size_t *n)
{
    if (!st)
        return psr_outfile_commit(f, NULL) ? NULL : scratch_read(scratch("x"), n);
    psr_outfile_abort(f);
    return NULL;
}

/* Events read from PRESTO's own file are written to the same bytes. */
static void test_presto_text(void)
{
    char path[1000];
    size_t n = 0, size = 0, wrote = 0;
    snprintf(path, sizeof path, "%s/tests/golden/noclip.singlepulse", getenv("srcdir"));
    char *want = scratch_read(path, &size);
    struct psr_event e[100];
    double dm = 0;
    for (const char *line = want ? strchr(want, '\n') : NULL; line && n < 100;
         line = strchr(line + 1, '\n')) {
        double time_s;
        long long sample;
        if (sscanf(line, "%lf %lf %lf %lld %d", &dm, &e[n].snr, &time_s, &sample, &e[n].width) == 5)
            e[n++].sample = sample;
    }
    psr_outfile *f = open_text();
    char *got = close_text(f, psr_singlepulse_write(f, dm, 256e-6, e, n, NULL), &wrote);
    ok(got && n == 51 && wrote == size && memcmp(got, want, size) == 0,
       ".singlepulse is PRESTO's to the byte (%zu events)", n);
    free(got);
    free(want);
    f = open_text();
    got = close_text(f, psr_singlepulse_write(f, dm, 256e-6, e, 0, NULL), &wrote);
    ok(got && wrote == 0, "without events it is empty");
    free(got);
}

static void test_cluster_text(void)
{
    const double dm[] = {300, 475.5, 0.1 * 3};
    const struct psr_cluster c[] = {{{16.416, 1601, 2, 1}, 41, 1580, 1630, 0},
                                    {{7, 90000000000, 300, 2}, 1, 5, 6, 3}};
    size_t n;
    psr_outfile *f = open_text();
    char *got = close_text(f, psr_cluster_write(f, dm, NULL, 1.266469e-3, c, 2, NULL), &n);
    ok(got &&
           !strcmp(got, "# S/N\tsample\ttime_s\tfilter\tDM_trial\tDM\tmembers\tfirst\tlast\tmarks\n"
                        "16.42\t1601\t2.027617\t1\t1\t475.5\t41\t1580\t1630\t-\n"
                        "7.00\t90000000000\t113982210.000000\t8.229\t2\t0.3\t1\t5\t6\tdm0+edge\n"),
       "clusters in Heimdall's columns");
    const size_t scale[] = {1, 4, 1};
    free(got);
    f = open_text();
    got = close_text(f, psr_cluster_write(f, dm, scale, 1.266469e-3, c, 1, NULL), &n);
    ok(got && strstr(got, "\n16.42\t6404\t8.110467\t3\t1\t475.5\t41\t1580\t1630\t-\n"),
       "samples and widths on the common clock");
    free(got);
    if (access("/dev/full", W_OK) == 0 && !psr_outfile_create(&f, "/dev/full", NULL)) {
        psr_err err;
        psr_status st = PSR_OK;
        for (int k = 0; !st && k < 10000; k++)
            st = psr_cluster_write(f, dm, NULL, 1, c, 2, &err);
        if (st)
            psr_outfile_abort(f);
        else
            st = psr_outfile_commit(f, &err);
        ok(st == PSR_EIO, "a full disk is told: %s", err.msg);
    } else
        skip("a full disk is told", "no /dev/full");
}

/* ASKAP's FRB 180417: 336 channels of 1 MHz down from 1465 MHz, 1.266469 ms, 8 bits. */
enum { FRB_CHANNELS = 336, FRB_SAMPLES = 5120, FRB_TRIALS = 400 };

static float *dedisperse_burst(const unsigned char *in, size_t *nout)
{
    double band = 1 / (1130.0 * 1130.0) - 1 / (1465.0 * 1465.0), tsamp_s = 1.266469e-3;
    size_t n = FRB_SAMPLES - (size_t)(PSR_DMCONST_PRESTO * 699 * band / tsamp_s + 1);
    float *x = calloc(FRB_TRIALS * n, sizeof *x);
    for (size_t i = 0; i < FRB_TRIALS; i++)
        for (size_t c = 0; c < FRB_CHANNELS; c++) {
            double f = 1465.0 - (double)c;
            double delay_s =
                PSR_DMCONST_PRESTO * (300.0 + (double)i) * (1 / (f * f) - 1 / (1465.0 * 1465.0));
            size_t d = (size_t)(delay_s / tsamp_s + 0.5);
            for (size_t t = 0; t < n; t++)
                x[i * n + t] += (float)in[(t + d) * FRB_CHANNELS + c];
        }
    *nout = n;
    return x;
}

static void search_burst(const float *x, size_t n)
{
    double dm[FRB_TRIALS];
    for (int i = 0; i < FRB_TRIALS; i++)
        dm[i] = 300 + i;
    struct psr_singlepulse_desc desc = {.size = sizeof desc,
                                        .nseries = FRB_TRIALS,
                                        .dm = dm,
                                        .tsamp_s = 1.266469e-3,
                                        .threshold = 6};
    psr_singlepulse *p = NULL;
    struct psr_event *all = malloc(FRB_TRIALS * n * sizeof *all);
    size_t nall = 0, ncluster;
    psr_err err;
    if (psr_singlepulse_create(&p, &desc, &err) || psr_singlepulse_execute(p, x, n, n, &err) ||
        psr_singlepulse_finish(p, &err))
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < FRB_TRIALS; i++) {
        const struct psr_event *e;
        size_t m = psr_singlepulse_events(p, i, &e);
        if (m > 0)
            memcpy(all + nall, e, m * sizeof *e);
        nall += m;
    }
    struct psr_cluster *c;
    if (psr_cluster_events(&usual, all, nall, &c, &ncluster, &err))
        exit(EXIT_FAILURE);
    for (size_t k = 0; k < ncluster && k < 5; k++)
        diag("S/N %.2f at %.4f s, width %d, DM %g, %zu members", c[k].best.snr,
             (double)c[k].best.sample * desc.tsamp_s, c[k].best.width, dm[c[k].best.trial],
             c[k].members);
    const struct psr_event *best = ncluster ? &c[0].best : NULL;
    ok(best && fabs(dm[best->trial] - 475.5) <= 2 &&
           fabs((double)best->sample * desc.tsamp_s - 2.028) <= 0.005 && best->snr >= 15,
       "the burst of FRB 180417 is on top");
    ok(ncluster == 1, "and alone (%zu events, %zu clusters)", nall, ncluster);
    free(c);
    free(all);
    psr_singlepulse_destroy(p);
}

static void test_burst(void)
{
    const char *dir = getenv("PSRKIT_TEST_DATA");
    char path[1000];
    snprintf(path, sizeof path, "%s/28.fil", dir ? dir : ".");
    FILE *in = dir ? fopen(path, "rb") : NULL;
    if (!in) {
        skip("the burst of FRB 180417", "PSRKIT_TEST_DATA/28.fil is not there");
        return;
    }
    size_t size = (size_t)FRB_CHANNELS * FRB_SAMPLES, n = 0;
    unsigned char *samples = malloc(size);
    bool fine = fseek(in, -(long)size, SEEK_END) == 0 && fread(samples, 1, size, in) == size;
    fclose(in);
    ok(fine, "28.fil is read");
    float *x = dedisperse_burst(samples, &n);
    search_burst(x, n);
    free(x);
    free(samples);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_against_pairs(&seed);
    test_close_pulses(&seed);
    test_flanks(&seed);
    test_saddle();
    test_crossing();
    test_parted_flank();
    test_reach();
    test_storm(&seed);
    test_edges();
    test_presto_text();
    test_cluster_text();
    test_burst();
    return done_testing();
}
