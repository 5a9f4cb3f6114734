/* Groups events of endless series into pulses: events that follow each other in time, once no more can come. */
#include <psrkit/singlepulse.h>

#include "base/copy_desc.h"
#include <psrkit/tool.h>
#include <stdlib.h>
#include <string.h>

struct psr_cluster_stream {
    struct psr_cluster_desc d;
    size_t *scale, *sweep;   /* [ntrial] */
    int64_t tol, longest;    /* samples of the clock; tol: of friends at most */
    struct psr_event *event; /* [n] by first sample, the first "done" of which were given out */
    size_t n, room, done;
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

static psr_status copy_trials(psr_cluster_stream *s, size_t ntrial, psr_err *err)
{
    const struct psr_cluster_desc *d = &s->d;
    size_t most = 1;
    s->scale = malloc((ntrial + 1) * sizeof *s->scale);
    s->sweep = d->sweep ? malloc((ntrial + 1) * sizeof *s->sweep) : NULL;
    if (!s->scale || (d->sweep && !s->sweep))
        return psr_fail_nomem(err, "a stream of events", (double)ntrial * 2 * sizeof *s->scale);
    for (size_t i = 0; i < ntrial; i++) {
        s->scale[i] = d->scale ? d->scale[i] : 1;
        most = s->scale[i] > most ? s->scale[i] : most;
        if (s->sweep)
            s->sweep[i] = d->sweep[i];
    }
    s->tol = s->d.time_tol * (int64_t)most;
    s->d.scale = s->scale;
    s->d.sweep = s->sweep;
    return PSR_OK;
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
    st = copy_trials(s, ntrial, err);
    if (st)
        psr_cluster_stream_destroy(s);
    else
        *out = s;
    return st;
}

/* Forgets the events that were given out. */
static void drop_done(psr_cluster_stream *s)
{
    s->n -= s->done;
    if (s->done && s->n)
        memmove(s->event, s->event + s->done, s->n * sizeof *s->event);
    s->done = 0;
}

psr_status psr_cluster_stream_push(psr_cluster_stream *s, const struct psr_event *events, size_t n,
                                   psr_err *err)
{
    psr_status st = PSR_OK;
    drop_done(s);
    for (size_t k = 0; k < n && !st; k++) {
        st = psr_grow(&s->event, &s->room, s->n, sizeof *s->event, "events", err);
        if (!st)
            s->event[s->n++] = events[k];
    }
    s->sorted = s->sorted && !n;
    return st;
}

/* An event with its place, to be sorted without knowing the stream. */
struct placed {
    int64_t first;
    struct psr_event event;
};

static int compare_places(const void *a, const void *b)
{
    const struct placed *p = a, *q = b;
    if (p->first != q->first)
        return p->first < q->first ? -1 : 1;
    return (p->event.trial > q->event.trial) - (p->event.trial < q->event.trial);
}

static psr_status sort_events(psr_cluster_stream *s, psr_err *err)
{
    if (s->sorted || !s->n)
        return PSR_OK;
    struct placed *p = malloc(s->n * sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "events", (double)s->n * sizeof *p);
    for (size_t k = 0; k < s->n; k++)
        p[k] = (struct placed){first_of(s, &s->event[k]), s->event[k]};
    qsort(p, s->n, sizeof *p, compare_places);
    for (size_t k = 0; k < s->n; k++)
        s->event[k] = p[k].event;
    free(p);
    s->sorted = true;
    return PSR_OK;
}

/* Events of the group at the front.  Returned: their number; 0: more may come */
static size_t find_group(psr_cluster_stream *s, int64_t settled)
{
    size_t k = 0, there = 0;
    int64_t reach = INT64_MIN;
    for (; k < s->n && (!k || first_of(s, &s->event[k]) <= reach); k++) {
        const int64_t end = end_of(s, &s->event[k]) + s->tol;
        reach = end > reach ? end : reach;
        there += end < settled;
    }
    if (k && reach < settled)
        return k;
    if (!k || !s->longest || settled - first_of(s, s->event) <= s->longest || !there)
        return 0;
    s->cut++;
    for (k = 0; k < s->n && first_of(s, &s->event[k]) < settled; k++)
        ;
    return k;
}

psr_status psr_cluster_stream_next(psr_cluster_stream *s, int64_t settled,
                                   struct psr_cluster **clusters, size_t *n,
                                   const struct psr_event **events, size_t *nevent, psr_err *err)
{
    *clusters = NULL;
    *n = 0;
    drop_done(s);
    psr_status st = sort_events(s, err);
    if (st)
        return st;
    *events = s->event;
    *nevent = s->done = find_group(s, settled);
    return psr_cluster_events(&s->d, s->event, *nevent, clusters, n, err);
}

int64_t psr_cluster_stream_cut(const psr_cluster_stream *s)
{
    return s->cut;
}

void psr_cluster_stream_destroy(psr_cluster_stream *s)
{
    if (!s)
        return;
    free(s->scale);
    free(s->sweep);
    free(s->event);
    free(s);
}
