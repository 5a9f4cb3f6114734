/* Clusters of endless series: those of all events at once, each as soon as it is complete. */
#include <psrkit/experimental/singlepulse.h>

#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/tap.h"

#include <string.h>

enum { NTRIAL = 40 };

/* Pulses over several trials, and noise.  Returned: how many, in e [room] */
static size_t make_events(uint64_t *seed, struct psr_event *e, size_t room, const size_t *scale,
                          int64_t length)
{
    size_t n = 0;
    for (int pulse = 0; pulse < 30; pulse++) {
        int64_t at = tap_between(seed, 0, length), trial = tap_between(seed, 0, NTRIAL - 1);
        int64_t reach = tap_between(seed, 0, 8);
        double snr = 8 + 20 * tap_uniform(seed);
        for (int64_t i = trial - reach; i <= trial + reach && n < room; i++) {
            if (i < 0 || i >= NTRIAL)
                continue;
            int64_t off = tap_between(seed, -3, 3) * (i > trial ? i - trial : trial - i);
            e[n++] = (struct psr_event){
                snr / (1 + 0.1 * fabs((double)(i - trial))) + 0.01 * tap_uniform(seed),
                (at + off) / (int64_t)scale[i], (int)tap_between(seed, 1, 20), (size_t)i};
        }
    }
    for (int k = 0; k < 60 && n < room; k++) {
        size_t i = (size_t)tap_between(seed, 0, NTRIAL - 1);
        e[n++] = (struct psr_event){6 + tap_uniform(seed),
                                    tap_between(seed, 0, length) / (int64_t)scale[i],
                                    (int)tap_between(seed, 1, 6), i};
    }
    return n;
}

static int64_t first_of(const struct psr_event *e, const size_t *scale)
{
    return (e->sample - e->width / 2) * (int64_t)scale[e->trial];
}

static int compare_clusters(const void *a, const void *b)
{
    const struct psr_cluster *p = a, *q = b;
    if (p->best.snr != q->best.snr)
        return p->best.snr > q->best.snr ? -1 : 1;
    return (p->first > q->first) - (p->first < q->first);
}

static bool same_clusters(struct psr_cluster *a, struct psr_cluster *b, size_t n)
{
    bool same = true;
    qsort(a, n, sizeof *a, compare_clusters);
    qsort(b, n, sizeof *b, compare_clusters);
    for (size_t k = 0; k < n; k++)
        same = same && a[k].members == b[k].members && a[k].first == b[k].first &&
               a[k].last == b[k].last && a[k].best.sample == b[k].best.sample &&
               a[k].best.trial == b[k].best.trial;
    return same;
}

/* What came. */
struct taken {
    struct psr_cluster *cluster; /* [n] */
    size_t n, members;
};

/* settled [NTRIAL] */
static bool take_all(struct taken *t, psr_cluster_stream *s, const int64_t *settled)
{
    psr_err err;
    size_t n, nevent;
    struct psr_cluster *c;
    const struct psr_event *event;
    if (psr_cluster_stream_next(s, settled, &c, &n, &event, &nevent, &err))
        return false;
    for (size_t k = 0; k < n; k++) {
        t->members += c[k].members;
        t->cluster[t->n++] = c[k];
    }
    free(c);
    return true;
}

/* All trials alike. */
static bool take_until(struct taken *t, psr_cluster_stream *s, int64_t settled)
{
    int64_t each[NTRIAL];
    for (size_t i = 0; i < NTRIAL; i++)
        each[i] = settled;
    return take_all(t, s, each);
}

static bool was_told(const struct taken *t, const struct psr_cluster *c)
{
    for (size_t j = 0; j < t->n; j++)
        if (t->cluster[j].first == c->first && t->cluster[j].last == c->last &&
            t->cluster[j].best.trial == c->best.trial)
            return true;
    return false;
}

/* All events that hang together with the best one of a cluster, in time and over trials, have been there for the
 * tolerance, and none can be added: found by spreading from event to event. */
static bool is_past(const struct psr_cluster *c, const struct psr_event *e, size_t n,
                    const size_t *scale, const int64_t *settled, const struct psr_cluster_desc *d)
{
    enum { ROOM = 1000 };
    size_t todo[ROOM], ntodo = 0;
    bool seen[ROOM] = {false};
    const int64_t tol = d->time_tol * 4, near = (int64_t)d->trial_tol;
    for (size_t k = 0; k < n; k++)
        if (e[k].trial == c->best.trial && e[k].sample == c->best.sample && e[k].snr == c->best.snr)
            seen[todo[ntodo++] = k] = true;
    while (ntodo) {
        const struct psr_event *a = &e[todo[--ntodo]];
        const int64_t first = first_of(a, scale), i = (int64_t)a->trial;
        const int64_t end = first + a->width * (int64_t)scale[i];
        for (int64_t j = i - near; j <= i + near; j++)
            if (j >= 0 && j < NTRIAL && settled[j] <= end + tol)
                return false;
        for (size_t k = 0; k < n; k++) {
            const int64_t from = first_of(&e[k], scale);
            const int64_t to = from + e[k].width * (int64_t)scale[e[k].trial];
            const bool touches = from <= end + tol && first <= to + tol;
            if (!seen[k] && touches && llabs((int64_t)e[k].trial - i) <= near)
                seen[todo[ntodo++] = k] = true;
        }
    }
    return true;
}

static void test_against_whole(uint64_t *seed)
{
    enum { ROOM = 1000, LENGTH = 20000, STEP = 137 };
    int wrong = 0, late = 0;
    size_t total = 0;
    for (int trial = 0; trial < 40; trial++) {
        struct psr_event e[ROOM];
        size_t scale[NTRIAL], sweep[NTRIAL];
        for (size_t i = 0; i < NTRIAL; i++)
            scale[i] = i < NTRIAL / 2 || trial % 2 ? 1 : 4, sweep[i] = 3 * i;
        size_t n = make_events(seed, e, ROOM, scale, LENGTH);
        const struct psr_cluster_desc d = {.size = sizeof d,
                                           .scale = scale,
                                           .sweep = trial % 3 ? sweep : NULL,
                                           .time_tol = tap_between(seed, 0, 5),
                                           .trial_tol = (size_t)tap_between(seed, 0, 4)};
        struct psr_cluster *want;
        psr_cluster_stream *s;
        psr_err err;
        size_t nwant;
        struct taken t = {.cluster = tap_take(ROOM, sizeof *t.cluster)};
        if (psr_cluster_events(&d, e, n, &want, &nwant, &err) ||
            psr_cluster_stream_create(&s, &d, NTRIAL, 0, &err)) {
            ok(false, "%s", err.msg);
            return;
        }
        const int64_t behind = trial % 4 ? tap_between(seed, 0, 100) : 0; /* a trial the next */
        for (int64_t now = -100; now < LENGTH + 200 + NTRIAL * behind; now += STEP) {
            int64_t settled[NTRIAL];
            for (size_t i = 0; i < NTRIAL; i++)
                settled[i] = now - (int64_t)i * behind;
            for (size_t k = 0; k < n; k++) {
                const int64_t first = first_of(&e[k], scale), until = settled[e[k].trial];
                if (first >= until - STEP && first < until)
                    wrong += psr_cluster_stream_push(s, &e[k], 1, &err) != PSR_OK;
            }
            wrong += !take_all(&t, s, settled);
            /* What no event to come can touch has been told, whatever trials far from it wait for. */
            for (size_t k = 0; k < nwant; k++)
                late += !was_told(&t, &want[k]) && is_past(&want[k], e, n, scale, settled, &d);
        }
        wrong += !take_until(&t, s, INT64_MAX);
        wrong += t.n != nwant || t.members != n || !same_clusters(t.cluster, want, nwant);
        total += nwant;
        psr_cluster_stream_destroy(s);
        free(t.cluster);
        free(want);
    }
    ok(!wrong && !late && total > 1000, "clusters of all events, as they come (%zu, %d wrong)",
       total, wrong);
}

/* A single pulse is told when an event that begins later than its tolerance is ruled out, and not before. */
static void test_when_complete(void)
{
    const struct psr_cluster_desc d = {.size = sizeof d, .time_tol = 3, .trial_tol = 1};
    const struct psr_event e = {10, 100, 20, 0}; /* samples 90 to 109 */
    psr_cluster_stream *s;
    psr_err err;
    struct psr_cluster c[4];
    struct taken t = {.cluster = c};
    if (psr_cluster_stream_create(&s, &d, NTRIAL, 0, &err) ||
        psr_cluster_stream_push(s, &e, 1, &err)) {
        ok(false, "%s", err.msg);
        return;
    }
    ok(take_until(&t, s, 113) && t.n == 0, "with 113 settled one may come that begins there");
    ok(take_until(&t, s, 114) && t.n == 1, "with 114 settled the pulse is complete");
    ok(take_until(&t, s, INT64_MAX) && t.n == 1, "and told once");
    psr_cluster_stream_destroy(s);
}

/* Events that never leave a gap are told in parts, and memory does not grow. */
static void test_storm(void)
{
    const struct psr_cluster_desc d = {.size = sizeof d, .time_tol = 3, .trial_tol = 1};
    psr_cluster_stream *s;
    psr_err err;
    struct psr_cluster c[2000];
    struct taken t = {.cluster = c};
    bool fine = !psr_cluster_stream_create(&s, &d, NTRIAL, 1000, &err);
    size_t held = 0;
    for (int64_t k = 0; k < 10000 && fine; k++) {
        const struct psr_event e = {8 + (double)(k % 7), 10 * k + 5, 10, 0};
        fine = !psr_cluster_stream_push(s, &e, 1, &err) && take_until(&t, s, 10 * k + 10) &&
               t.n < 1900;
        held = (size_t)k + 1 - t.members > held ? (size_t)k + 1 - t.members : held;
    }
    ok(fine && held < 120 && psr_cluster_stream_cut(s) > 50,
       "a storm is cut (%lld times), %zu events held",
       fine ? (long long)psr_cluster_stream_cut(s) : 0LL, held);
    psr_cluster_stream_destroy(s);
}

static void test_refusals(void)
{
    struct psr_cluster_desc d = {.size = sizeof d, .time_tol = -1};
    psr_cluster_stream *s;
    psr_err err;
    ok(psr_cluster_stream_create(&s, &d, 1, 0, &err) == PSR_EINVAL && !s &&
           !strcmp(err.field, "time_tol"),
       "%s", err.msg);
    psr_cluster_stream_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_against_whole(&seed);
    test_when_complete();
    test_storm();
    test_refusals();
    return done_testing();
}
