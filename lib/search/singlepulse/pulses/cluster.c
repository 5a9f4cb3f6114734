/* Groups events into pulses: a watershed over time and trials.
 *
 * Best first, each event joins the cluster of its best friend, so a cluster is what leads uphill to
 * one peak.  Peaks of noise on the flank of a pulse are told from pulses by the saddle: the best
 * event over which two clusters meet. */
#include "base/base.h"
#include "cluster_parts.h"
#include "search/singlepulse/singlepulse_internal.h"
#include <math.h>
#include <psrkit/experimental/singlepulse.h>
#include <stdlib.h>
#include <string.h>

/* How far S/N falls between two pulses: a saddle below so much of the lower peak, less so much, parts
 * them.  The first is what boxcars of the list lose between widths, the second the noise of two S/N. */
static const double SADDLE_SHARE = 0.9, SADDLE_NOISE = 3;

/* The same where the lower peak is not what dispersion leaves of the higher one. */
static const double CROSSING_NOISE = 2;

/* How much more of a longer boxcar's S/N a shorter one may have than if it were even. */
static const double UNEVEN = 1.2;

/* An event, on the common clock. */
struct node {
    const struct psr_event *event;
    int64_t first, end; /* samples covered: [first, end) */
    int64_t reach;      /* greatest end of this and the nodes before it in its trial */
    size_t group;
    size_t parent; /* towards the best node of its cluster; NONE: not in a cluster yet */
    size_t met;    /* of a root: one in the best other cluster that it met; NONE */
};

static const size_t NONE = SIZE_MAX;

/* Nodes [from, to): those of one trial, by first sample. */
struct group {
    size_t trial, from, to;
};

struct field {
    struct node *node;
    size_t n, ngroup;
    struct group *group;
    const struct psr_cluster_desc *d;
    double spread; /* psr_band_spread */
};

/* Nodes of one group that may be friends of a node. */
struct reach {
    size_t from, to;
    int64_t tol;
};

static int64_t scale_of(const struct psr_cluster_desc *d, size_t trial)
{
    return d->scale ? (int64_t)d->scale[trial] : 1;
}

static int64_t sweep_of(const struct psr_cluster_desc *d, size_t trial)
{
    return (int64_t)d->sweep[trial] * scale_of(d, trial);
}

static int64_t first_of(const struct psr_event *e)
{
    return e->sample - e->width / 2;
}

/* Best S/N first, then the lower trial, the earlier, the narrower. */
PSR_COMPARE(compare_merits, struct psr_event,
            PSR_THEN(PSR_FALLING(snr),
                     PSR_THEN(PSR_RISING(trial), PSR_THEN(PSR_RISING(sample), PSR_RISING(width)))));

PSR_COMPARE(compare_places, struct node,
            PSR_THEN(PSR_RISING(event->trial),
                     PSR_THEN(PSR_RISING(first), compare_merits(a->event, b->event))));

PSR_COMPARE_POINTERS(compare_ranks, struct node,
                     PSR_THEN(compare_merits(a->event, b->event), (a > b) - (a < b)));

PSR_COMPARE(compare_clusters, struct psr_cluster, compare_merits(&a->best, &b->best));

/* --- the field -------------------------------------------------------------------------------- */

static void place_nodes(struct field *f, const struct psr_event *events)
{
    bool sorted = true;
    for (size_t k = 0; k < f->n; k++) {
        const struct psr_event *e = &events[k];
        int64_t scale = scale_of(f->d, e->trial), first = first_of(e) * scale;
        f->node[k] = (struct node){.event = e,
                                   .first = first,
                                   .end = first + e->width * scale,
                                   .parent = NONE,
                                   .met = NONE};
        sorted = sorted && (!k || compare_places(&f->node[k - 1], &f->node[k]) <= 0);
    }
    if (!sorted)
        qsort(f->node, f->n, sizeof *f->node, compare_places);
}

/* --- friends ---------------------------------------------------------------------------------- */

static bool is_near(const struct field *f, size_t g, size_t trial)
{
    size_t other = f->group[g].trial;
    return (other > trial ? other - trial : trial - other) <= f->d->trial_tol;
}

/* Ticks that friends in two trials may be apart. */
static int64_t tolerance_of(const struct field *f, size_t trial, size_t other_trial)
{
    int64_t one = scale_of(f->d, trial), other = scale_of(f->d, other_trial);
    return f->d->time_tol * (one > other ? one : other);
}

/* The range of a group in which friends of a node may lie. */
static struct reach find_reach(const struct field *f, const struct node *p, size_t g)
{
    const struct group *group = &f->group[g];
    struct reach r = {group->from, group->to, tolerance_of(f, p->event->trial, group->trial)};
    for (size_t end = group->to; r.from < end;) {
        size_t middle = r.from + (end - r.from) / 2;
        if (f->node[middle].reach < p->first - r.tol)
            r.from = middle + 1;
        else
            end = middle;
    }
    return r;
}

/* The next friend of p that is in a cluster, from r->from on.  Returned: NULL where there is none */
static struct node *next_friend(const struct field *f, const struct node *p, struct reach *r)
{
    while (r->from < r->to && f->node[r->from].first - p->end <= r->tol) {
        struct node *q = &f->node[r->from++];
        if (q->end >= p->first - r->tol && q->parent != NONE)
            return q;
    }
    return NULL;
}

/* --- clusters --------------------------------------------------------------------------------- */

static size_t find_root(struct node *node, size_t k)
{
    while (node[k].parent != k) {
        node[k].parent = node[node[k].parent].parent;
        k = node[k].parent;
    }
    return k;
}

/* Whether a pulse at its best event would be seen at another one's time: at another DM it is earlier or
 * later by the difference of the sweeps at most, or by a boxcar and what friends may be apart. */
static bool is_in_time(const struct field *f, const struct node *root, const struct node *p)
{
    int64_t gap = p->first > root->first ? p->first - root->end : root->first - p->end;
    int64_t one = p->end - p->first, other = root->end - root->first;
    if (!f->d->sweep)
        return true;
    int64_t apart = sweep_of(f->d, p->event->trial) - sweep_of(f->d, root->event->trial);
    int64_t reach = (apart < 0 ? -apart : apart) + (one > other ? one : other);
    return gap - reach <= tolerance_of(f, p->event->trial, root->event->trial);
}

static bool is_explained(const struct node *root, const struct node *p)
{
    return psr_pulse_explains(root->event->snr, (double)(root->end - root->first), p->event->snr,
                              (double)(p->end - p->first));
}

static bool is_part(const struct field *f, size_t root, const struct node *p)
{
    return is_in_time(f, &f->node[root], p) && is_explained(&f->node[root], p);
}

static bool is_in_bow_tie(const struct field *f, const struct node *high, const struct node *low)
{
    const struct psr_event *p = high->event, *q = low->event;
    if (!f->d->sweep)
        return true;
    return psr_pulse_leaves(p->snr, (double)(high->end - high->first), q->snr,
                            (double)(low->end - low->first),
                            (double)(sweep_of(f->d, q->trial) - sweep_of(f->d, p->trial)),
                            PSR_PULSE_LEAST_PART * f->spread);
}

/* Whether p may come to the cluster of its friend q: a shorter boxcar within a longer one leads to its peak only if
 * dispersion leaves so much of that. */
static bool is_uphill(const struct field *f, const struct node *q, const struct node *p)
{
    const size_t root = find_root(f->node, (size_t)(q - f->node));
    return is_part(f, root, p) && (is_explained(q, p) || is_in_bow_tie(f, &f->node[root], p));
}

/* The best friend of p in a cluster that may take p. */
static const struct node *find_best_friend(const struct field *f, const struct node *p, size_t from,
                                           size_t to)
{
    const struct node *best = NULL, *q;
    for (size_t g = from; g < to; g++)
        for (struct reach r = find_reach(f, p, g); (q = next_friend(f, p, &r));)
            if ((!best || compare_merits(q->event, best->event) < 0) && is_uphill(f, q, p))
                best = q;
    return best;
}

/* S/N of an event in the boxcar of a peak, at most. */
static double snr_in(const struct node *peak, const struct node *p)
{
    const double w = (double)(peak->end - peak->first), v = (double)(p->end - p->first);
    return p->event->snr * fmin(1, UNEVEN * sqrt(w / v));
}

/* Whether two peaks that meet at an event and its friend are two pulses. */
static bool is_saddle(const struct field *f, const struct node *high, const struct node *low,
                      const struct node *p, const struct node *q)
{
    const double least = low->event->snr;
    return p->event->snr < SADDLE_SHARE * least - SADDLE_NOISE ||
           (fmin(snr_in(low, p), snr_in(low, q)) < least - CROSSING_NOISE &&
            !is_in_bow_tie(f, high, low));
}

/* Notes at the worse of two roots that it met the better one. */
static void note_meeting(struct field *f, size_t a, size_t b)
{
    const bool ordered = compare_merits(f->node[a].event, f->node[b].event) < 0;
    const size_t high = ordered ? a : b, low = ordered ? b : a;
    size_t *met = &f->node[low].met;
    if (high != low &&
        (*met == NONE || compare_merits(f->node[high].event, f->node[*met].event) < 0))
        *met = high;
}

/* Joins two clusters that meet at an event, which a is of, and its friend b, unless they are two pulses. */
static void join_over(struct field *f, size_t a, size_t b, const struct node *p)
{
    const struct node *friend = &f->node[b];
    size_t high = find_root(f->node, a), low = find_root(f->node, b);
    if (high == low || !is_part(f, low, p) || !is_part(f, high, p))
        return;
    if (compare_merits(f->node[low].event, f->node[high].event) < 0) {
        size_t swap = high;
        high = low;
        low = swap;
    }
    if (!is_saddle(f, &f->node[high], &f->node[low], p, friend) &&
        is_part(f, high, &f->node[low])) {
        f->node[low].parent = high;
        if (f->node[low].met != NONE)
            note_meeting(f, high, find_root(f->node, f->node[low].met));
    }
}

/* Adds the next best event to a cluster. */
static void take_node(struct field *f, struct node *p)
{
    const struct node *q;
    size_t from, to, own = (size_t)(p - f->node);
    /* The groups whose trials are near that of a node: [*from, *to). */
    size_t trial = p->event->trial;
    for (from = p->group; from > 0 && is_near(f, from - 1, trial); --from)
        ;
    for (to = p->group + 1; to < f->ngroup && is_near(f, to, trial); ++to)
        ;
    const struct node *best = find_best_friend(f, p, from, to);
    for (size_t g = from; best && g < to; g++)
        for (struct reach r = find_reach(f, p, g); (q = next_friend(f, p, &r));)
            join_over(f, (size_t)(best - f->node), (size_t)(q - f->node), p);
    const size_t root = best ? find_root(f->node, (size_t)(best - f->node)) : own;
    for (size_t g = from; g < to; g++)
        for (struct reach r = find_reach(f, p, g); (q = next_friend(f, p, &r));)
            note_meeting(f, root, find_root(f->node, (size_t)(q - f->node)));
    p->parent = root;
}

/* --- flanks ----------------------------------------------------------------------------------- */

/* Whether a long peak, without what S/N others have in it, is no more than what dispersion leaves of a pulse that fills
 * the band, and lies where that is. */
static bool is_flank(const struct field *f, const struct node *high, const struct node *low,
                     double others)
{
    const double w = (double)(high->end - high->first), v = (double)(low->end - low->first);
    if (!f->d->sweep || v < 2 * w || !is_part(f, (size_t)(high - f->node), low))
        return false;
    const int64_t later = sweep_of(f->d, high->event->trial) - sweep_of(f->d, low->event->trial);
    const int64_t middle = low->first + (low->end - low->first) / 2;
    return middle >= high->first + (later < 0 ? later : 0) &&
           middle <= high->end + (later > 0 ? later : 0) &&
           psr_pulse_leaves(high->event->snr, w, low->event->snr - others, v, (double)later,
                            f->spread);
}

/* The pulse whose flank a root is, of those that it met and that these met, best last; NONE. */
static size_t find_flanked(struct field *f, const struct node *p)
{
    double others = 0;
    for (size_t met = p->met; met != NONE; met = f->node[met].met) {
        met = find_root(f->node, met);
        const struct node *q = &f->node[met];
        if (compare_merits(q->event, p->event) >= 0)
            break;
        if (is_flank(f, q, p, others))
            return met;
        others += q->event->snr * sqrt((double)(q->end - q->first) / (double)(p->end - p->first));
    }
    return NONE;
}

/* Given:  rank [n], room */
static void take_nodes(struct field *f, struct node **rank)
{
    for (size_t k = 0; k < f->n; k++)
        rank[k] = &f->node[k];
    qsort(rank, f->n, sizeof *rank, compare_ranks);
    for (size_t k = 0; k < f->n; k++)
        take_node(f, rank[k]);
    for (size_t k = 0; k < f->n; k++) {
        struct node *p = rank[k];
        const bool root = p->parent == (size_t)(p - f->node);
        const size_t flanked = root ? find_flanked(f, p) : NONE;
        if (flanked != NONE)
            p->parent = flanked;
    }
}

/* Makes clusters of the roots.  Given:  index [n], room.  Returned: how many, in clusters [n] */
static size_t collect_clusters(struct psr_cluster *clusters, const struct field *f, size_t *index)
{
    size_t count = 0;
    for (size_t k = 0; k < f->n; k++)
        if (f->node[k].parent == k) {
            clusters[count] = (struct psr_cluster){
                .best = *f->node[k].event, .first = INT64_MAX, .last = INT64_MIN};
            index[k] = count++;
        }
    for (size_t k = 0; k < f->n; k++) {
        const struct node *p = &f->node[k];
        struct psr_cluster *c = &clusters[index[find_root(f->node, k)]];
        c->members++;
        c->first = p->first < c->first ? p->first : c->first;
        c->last = p->end - 1 > c->last ? p->end - 1 : c->last;
    }
    return count;
}

static psr_status cluster_events(const struct psr_cluster_desc *d, const struct psr_event *events,
                                 size_t n, struct psr_cluster **clusters, size_t *nclusters,
                                 psr_err *err)
{
    struct field f = {.n = n, .d = d, .spread = psr_band_spread(d->band_ratio)};
    psr_status st = PSR_OK;
    f.node = malloc(n * sizeof *f.node);
    f.group = malloc(n * sizeof *f.group);
    void *room = malloc(
        n * (sizeof(struct node *) > sizeof(size_t) ? sizeof(struct node *) : sizeof(size_t)));
    *clusters = malloc(n * sizeof **clusters);
    if (f.node && f.group && room && *clusters) {
        place_nodes(&f, events);
        for (size_t k = 0; k < f.n; k++) {
            struct node *p = &f.node[k];
            size_t trial = p->event->trial;
            bool more = f.ngroup && f.group[f.ngroup - 1].trial == trial;
            if (!more)
                f.group[f.ngroup++] = (struct group){trial, k, k};
            p->group = f.ngroup - 1;
            p->reach = more && p[-1].reach > p->end ? p[-1].reach : p->end;
            f.group[p->group].to = k + 1;
        }
        take_nodes(&f, room);
        size_t count = collect_clusters(*clusters, &f, room);
        qsort(*clusters, count, sizeof **clusters, compare_clusters);
        *nclusters = count;
    } else {
        st = psr_fail_nomem(err, "clusters", (double)n * sizeof *f.node);
        free(*clusters);
        *clusters = NULL;
    }
    free(room);
    free(f.group);
    free(f.node);
    return st;
}

static psr_status read_desc(struct psr_cluster_desc *d, const struct psr_cluster_desc *desc,
                            psr_err *err)
{
    psr_status st = psr_copy_desc(d, sizeof *d, desc, "clusters", err);
    if (!st && d->time_tol < 0)
        st = psr_fail_field(err, PSR_EINVAL, "time_tol",
                            "clusters: tolerance of %lld samples is below 0",
                            (long long)d->time_tol);
    return st;
}

psr_status psr_cluster_events(const struct psr_cluster_desc *desc, const struct psr_event *events,
                              size_t n, struct psr_cluster **clusters, size_t *nclusters,
                              psr_err *err)
{
    struct psr_cluster_desc d;
    *clusters = NULL;
    *nclusters = 0;
    psr_status st = read_desc(&d, desc, err);
    return st || n == 0 ? st : cluster_events(&d, events, n, clusters, nclusters, err);
}

/* --- endless series: events that may be friends, once no more can come ------------------------ */

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

static int64_t begin_of(const psr_cluster_stream *s, const struct psr_event *e)
{
    return first_of(e) * scale_of(&s->d, e->trial);
}

static int64_t end_of(const psr_cluster_stream *s, const struct psr_event *e)
{
    return begin_of(s, e) + e->width * scale_of(&s->d, e->trial);
}

psr_status psr_cluster_stream_create(psr_cluster_stream **out, const struct psr_cluster_desc *desc,
                                     size_t ntrial, int64_t longest, psr_err *err)
{
    struct psr_cluster_desc d;
    *out = NULL;
    psr_status st = read_desc(&d, desc, err);
    if (st)
        return st;
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
                (struct held){.event = *e, .first = begin_of(s, e), .reach = end_of(s, e) + s->tol};
    }
    s->sorted = s->sorted && !n;
    return st;
}

PSR_COMPARE(by_first, struct held, PSR_THEN(PSR_RISING(first), PSR_RISING(event.trial)));

/* --- groups ----------------------------------------------------------------------------------- */

/* The trials with which an event of trial i may have friends: [*from, *to). */
static void find_near(const psr_cluster_stream *s, size_t i, size_t *from, size_t *to)
{
    const size_t tol = s->d.trial_tol;
    *from = i > tol ? i - tol : 0;
    *to = tol < s->ntrial - i ? i + tol + 1 : s->ntrial;
}

/* The event that stands for the group of event k. */
static size_t root_of(psr_cluster_stream *s, size_t k)
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
                const size_t p = root_of(s, k), q = root_of(s, b);
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
        const struct held *root = &s->held[root_of(s, k)];
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
        qsort(s->held, s->n, sizeof *s->held, by_first);
    s->sorted = true;
    find_groups(s);
    /* Whether more may come to a group, and whether to wait for it. */
    for (size_t k = 0; k < s->n; k++)
        s->held[k].open = s->held[k].cut = false;
    for (size_t k = 0; k < s->n; k++) {
        struct held *h = &s->held[k], *root = &s->held[root_of(s, k)];
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
