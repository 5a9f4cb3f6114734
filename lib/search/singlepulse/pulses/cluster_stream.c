/* Groups events of endless series into pulses: events that may be friends, once no more can come. */
#include <psrkit/experimental/singlepulse.h>

#include "base/base.h"
#include "search/singlepulse/singlepulse_internal.h"
#include <stdlib.h>
#include <string.h>

static const size_t NONE = SIZE_MAX;

/* An event, and of its group what its root knows. */
struct held {
    struct psr_event event;
    int64_t first, reach; /* samples of the clock; reach: a friend begins there or before */
    size_t up;            /* another event of the group; the root's own number */
    bool given;           /* its group was complete */
    bool there;           /* none that begins before it can still come to its group */
    bool open, cut;       /* of the root: more may come; it has been long enough */
};

struct psr_cluster_stream {
    struct psr_own own;
    struct psr_cluster_desc d;
    size_t ntrial, *scale, *sweep; /* [ntrial] */
    int64_t tol, longest;          /* samples of the clock; tol: of friends at most */
    struct held *held;             /* [n] by first sample */
    struct psr_event *event;       /* [n] room to list them */
    size_t n, room, event_room;
    size_t *latest; /* [ntrial] the event that reaches furthest so far */
    bool sorted;
    int64_t cut;
};

static int64_t scale_of(const psr_cluster_stream *s, const struct psr_event *e)
{
    return (int64_t)s->scale[e->trial];
}

static int64_t first_of(const psr_cluster_stream *s, const struct psr_event *e)
{
    return (e->sample - e->width / 2) * scale_of(s, e);
}

static int64_t end_of(const psr_cluster_stream *s, const struct psr_event *e)
{
    return first_of(s, e) + e->width * scale_of(s, e);
}

psr_status psr_cluster_stream_create(psr_cluster_stream **out, const struct psr_cluster_desc *desc,
                                     size_t ntrial, int64_t longest, psr_err *err)
{
    struct psr_cluster_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "clusters", err);
    if (st)
        return st;
    if (d.time_tol < 0)
        return psr_fail_field(err, PSR_EINVAL, "time_tol",
                              "clusters: tolerance of %lld samples is below 0",
                              (long long)d.time_tol);
    psr_cluster_stream *s = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "a stream of events", sizeof *s);
    s->d = d;
    s->longest = longest;
    s->ntrial = ntrial;
    s->latest = psr_own(&s->own, ntrial + 1, sizeof *s->latest);
    s->scale = psr_own(&s->own, ntrial + 1, sizeof *s->scale);
    s->sweep = d.sweep ? psr_own(&s->own, ntrial + 1, sizeof *s->sweep) : NULL;
    st = psr_own_check(&s->own, "a stream of events", err);
    size_t most = 1;
    for (size_t i = 0; i < ntrial && !st; i++) {
        s->scale[i] = d.scale ? d.scale[i] : 1;
        most = s->scale[i] > most ? s->scale[i] : most;
        if (s->sweep)
            s->sweep[i] = d.sweep[i];
    }
    s->tol = d.time_tol * (int64_t)most;
    s->d.scale = s->scale;
    s->d.sweep = s->sweep;
    if (st)
        psr_cluster_stream_destroy(s);
    else
        *out = s;
    return st;
}

psr_status psr_cluster_stream_push(psr_cluster_stream *s, const struct psr_event *events, size_t n,
                                   psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < n && !st; k++) {
        const struct psr_event *e = &events[k];
        st = psr_grow(&s->held, &s->room, s->n, sizeof *s->held, "events", err);
        if (!st)
            st = psr_grow(&s->event, &s->event_room, s->n, sizeof *s->event, "events", err);
        if (!st)
            s->held[s->n++] =
                (struct held){.event = *e, .first = first_of(s, e), .reach = end_of(s, e) + s->tol};
    }
    s->sorted = s->sorted && !n;
    return st;
}

PSR_COMPARE(compare_places, struct held, PSR_THEN(PSR_RISING(first), PSR_RISING(event.trial)));

/* --- groups ----------------------------------------------------------------------------------- */

/* The trials with which an event of trial i may have friends: [*from, *to). */
static void find_near(const psr_cluster_stream *s, size_t i, size_t *from, size_t *to)
{
    const size_t tol = s->d.trial_tol;
    *from = i > tol ? i - tol : 0;
    *to = tol < s->ntrial - i ? i + tol + 1 : s->ntrial;
}

/* The event that stands for the group of event k. */
static size_t find_root(psr_cluster_stream *s, size_t k)
{
    while (s->held[k].up != k)
        k = s->held[k].up = s->held[s->held[k].up].up;
    return k;
}

/* Joins events that may be friends.  Of each trial the one that reaches furthest stands for those before it: all that
 * an event meets have met it. */
static void find_groups(psr_cluster_stream *s)
{
    for (size_t i = 0; i < s->ntrial; i++)
        s->latest[i] = NONE;
    for (size_t k = 0; k < s->n; k++) {
        struct held *h = &s->held[k];
        size_t from, to;
        h->up = k;
        if (h->given)
            continue;
        find_near(s, h->event.trial, &from, &to);
        for (size_t i = from; i < to; i++)
            if (s->latest[i] != NONE && s->held[s->latest[i]].reach >= h->first) {
                size_t b = s->latest[i];
                const size_t p = find_root(s, k), q = find_root(s, b);
                s->held[p > q ? p : q].up = p > q ? q : p;
            }
        size_t *latest = &s->latest[h->event.trial];
        if (*latest == NONE || s->held[*latest].reach < h->reach)
            *latest = k;
    }
}

/* --- what is complete ------------------------------------------------------------------------- */

/* Dispersed by no more than its width, which psr_cluster_mark compares later pulses with. */
static bool is_flat(const psr_cluster_stream *s, const struct psr_event *e)
{
    return s->sweep && s->sweep[e->trial] <= (size_t)e->width;
}

/* Lists the events of complete groups, and of those that are cut what is there, and then others that are flat.
 * Returned: the number of the former; *nevent of all */
static size_t list_complete(psr_cluster_stream *s, size_t *nevent)
{
    size_t n = 0, m = s->n;
    for (size_t k = 0; k < s->n; k++) {
        struct held *h = &s->held[k];
        const struct held *root = &s->held[find_root(s, k)];
        const bool complete = !h->given && (!root->open || (root->cut && h->there));
        s->cut += complete && root->open && h == root;
        if (complete)
            s->event[n++] = h->event;
        else if (is_flat(s, &h->event))
            s->event[--m] = h->event;
        h->given |= complete;
    }
    if (m < s->n)
        memmove(s->event + n, s->event + m, (s->n - m) * sizeof *s->event);
    *nevent = n + s->n - m;
    return n;
}

/* Drops those that were given, once no later pulse is compared with them. */
static void drop_given(psr_cluster_stream *s, int64_t settled)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->n; k++) {
        const struct held *h = &s->held[k];
        if (!h->given || (is_flat(s, &h->event) && h->reach >= settled - s->longest))
            s->held[kept++] = *h;
    }
    s->n = kept;
}

static int64_t settled_all(const psr_cluster_stream *s, const int64_t *settled)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < s->ntrial; i++)
        least = settled[i] < least ? settled[i] : least;
    return least;
}

psr_status psr_cluster_stream_next(psr_cluster_stream *s, const int64_t *settled,
                                   struct psr_cluster **clusters, size_t *n,
                                   const struct psr_event **events, size_t *nevent, psr_err *err)
{
    *clusters = NULL;
    *n = *nevent = 0;
    if (!s->sorted && s->n)
        qsort(s->held, s->n, sizeof *s->held, compare_places);
    s->sorted = true;
    find_groups(s);
    /* Whether more may come to a group, and whether to wait for it. */
    for (size_t k = 0; k < s->n; k++)
        s->held[k].open = s->held[k].cut = false;
    for (size_t k = 0; k < s->n; k++) {
        struct held *h = &s->held[k], *root = &s->held[find_root(s, k)];
        if (h->given)
            continue;
        /* Sample before which none of the events to come begins that may be friends of one of
         * this trial. */
        size_t trial = h->event.trial;
        size_t from, to;
        int64_t near = INT64_MAX;
        find_near(s, trial, &from, &to);
        for (size_t i = from; i < to; i++)
            near = settled[i] < near ? settled[i] : near;
        h->there = h->first < near;
        root->open |= h->reach >= near;
        root->cut |= s->longest && h->there && root->first < near - s->longest;
    }
    const size_t complete = list_complete(s, nevent);
    drop_given(s, settled_all(s, settled));
    *events = s->event;
    return psr_cluster_events(&s->d, s->event, complete, clusters, n, err);
}

int64_t psr_cluster_stream_cut(const psr_cluster_stream *s)
{
    return s->cut;
}

void psr_cluster_stream_destroy(psr_cluster_stream *s)
{
    if (!s)
        return;
    psr_own_free(&s->own);
    free(s->held);
    free(s->event);
    free(s);
}
