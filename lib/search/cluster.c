/* Friends-of-friends grouping of events. */
#include <psrkit/singlepulse.h>

#include <stdlib.h>

/* What is near what. */
struct nearness {
    const size_t *scale; /* NULL: 1 */
    int64_t time_tol;
    size_t trial_tol;
};

/* Events of one trial that hang together in time, as one stretch [first, end) of the common clock.
 * A gap inside it is no longer than the tolerance, so whatever comes near the stretch comes near a
 * member. */
struct run {
    size_t trial, members;
    int64_t first, end;
    const struct psr_event *best;
    size_t parent;
};

static int64_t first_of(const struct psr_event *e)
{
    return e->sample - e->width / 2;
}

static int64_t end_of(const struct psr_event *e)
{
    return first_of(e) + e->width;
}

static int compare_places(const void *a, const void *b)
{
    const struct psr_event *p = *(const struct psr_event *const *)a;
    const struct psr_event *q = *(const struct psr_event *const *)b;
    if (p->trial != q->trial)
        return p->trial < q->trial ? -1 : 1;
    return (first_of(p) > first_of(q)) - (first_of(p) < first_of(q));
}

/* Best S/N first, then the lower trial, the earlier, the narrower. */
static int compare_merits(const struct psr_event *p, const struct psr_event *q)
{
    if (p->snr != q->snr)
        return p->snr > q->snr ? -1 : 1;
    if (p->trial != q->trial)
        return p->trial < q->trial ? -1 : 1;
    if (p->sample != q->sample)
        return p->sample < q->sample ? -1 : 1;
    return (p->width > q->width) - (p->width < q->width);
}

static int compare_clusters(const void *a, const void *b)
{
    const struct psr_cluster *p = a, *q = b;
    return compare_merits(&p->best, &q->best);
}

static int64_t scale_of(const struct nearness *near, size_t trial)
{
    return near->scale ? (int64_t)near->scale[trial] : 1;
}

/* Given:  sorted [n], by trial and then first sample.  Returned: runs in runs [n], how many */
static size_t join_in_time(struct run *runs, const struct psr_event *const *sorted, size_t n,
                           const struct nearness *near)
{
    size_t count = 0;
    for (size_t k = 0; k < n; k++) {
        const struct psr_event *e = sorted[k];
        struct run *r = count ? &runs[count - 1] : NULL;
        int64_t scale = scale_of(near, e->trial);
        int64_t first = first_of(e) * scale, end = end_of(e) * scale;
        if (!r || r->trial != e->trial || first - r->end > near->time_tol * scale) {
            runs[count] = (struct run){e->trial, 1, first, end, e, count};
            count++;
            continue;
        }
        r->members++;
        r->end = end > r->end ? end : r->end;
        r->best = compare_merits(e, r->best) < 0 ? e : r->best;
    }
    return count;
}

static size_t find_root(struct run *runs, size_t k)
{
    while (runs[k].parent != k) {
        runs[k].parent = runs[runs[k].parent].parent;
        k = runs[k].parent;
    }
    return k;
}

static void join_roots(struct run *runs, size_t a, size_t b)
{
    struct run *to = &runs[find_root(runs, a)], *from = &runs[find_root(runs, b)];
    if (to == from)
        return;
    if (to->members < from->members) {
        struct run *swap = to;
        to = from;
        from = swap;
    }
    from->parent = to->parent;
    to->members += from->members;
    to->best = compare_merits(from->best, to->best) < 0 ? from->best : to->best;
}

/* Runs [from, to): those of one trial. */
struct group {
    size_t from, to;
};

/* Joins what is near in time of two trials.  Runs of one trial come in order and lie apart. */
static void join_trials(struct run *runs, struct group a, struct group b, int64_t tol)
{
    for (; a.from < a.to; a.from++) {
        const struct run *p = &runs[a.from];
        while (b.from < b.to && p->first - runs[b.from].end > tol)
            b.from++;
        for (size_t k = b.from; k < b.to && runs[k].first - p->end <= tol; k++)
            join_roots(runs, a.from, k);
    }
}

static struct group find_group(const struct run *runs, size_t nrun, size_t from)
{
    size_t to = from;
    while (to < nrun && runs[to].trial == runs[from].trial)
        to++;
    return (struct group){from, to};
}

/* Given:  group [nrun], room for the trials' groups */
static void join_in_dm(struct run *runs, size_t nrun, struct group *group,
                       const struct nearness *near)
{
    size_t ngroup = 0, oldest = 0;
    for (size_t from = 0; from < nrun; from = group[ngroup++].to) {
        group[ngroup] = find_group(runs, nrun, from);
        size_t trial = runs[from].trial;
        int64_t own = scale_of(near, trial);
        while (trial - runs[group[oldest].from].trial > near->trial_tol)
            oldest++;
        for (size_t g = oldest; g < ngroup; g++) {
            int64_t other = scale_of(near, runs[group[g].from].trial);
            join_trials(runs, group[g], group[ngroup],
                        near->time_tol * (own > other ? own : other));
        }
    }
}

/* Makes clusters of the roots.  Returned: how many, in clusters [nrun] */
static size_t collect_clusters(struct psr_cluster *clusters, struct run *runs, size_t nrun,
                               size_t *index)
{
    size_t count = 0;
    for (size_t k = 0; k < nrun; k++)
        if (runs[k].parent == k) {
            clusters[count] =
                (struct psr_cluster){*runs[k].best, runs[k].members, INT64_MAX, INT64_MIN};
            index[k] = count++;
        }
    for (size_t k = 0; k < nrun; k++) {
        struct psr_cluster *c = &clusters[index[find_root(runs, k)]];
        c->first = runs[k].first < c->first ? runs[k].first : c->first;
        c->last = runs[k].end - 1 > c->last ? runs[k].end - 1 : c->last;
    }
    return count;
}

static bool is_sorted(const struct psr_event *const *sorted, size_t n)
{
    for (size_t k = 1; k < n; k++)
        if (compare_places(&sorted[k - 1], &sorted[k]) > 0)
            return false;
    return true;
}

/* Returned: *runs, malloc'd, and how many; 0 where memory ran out.  n > 0 */
static size_t make_runs(struct run **runs, const struct psr_event *events, size_t n,
                        const struct nearness *near)
{
    size_t count = 0;
    const struct psr_event **sorted = malloc(n * sizeof *sorted);
    *runs = malloc(n * sizeof **runs);
    if (sorted && *runs) {
        for (size_t k = 0; k < n; k++)
            sorted[k] = &events[k];
        if (!is_sorted(sorted, n))
            qsort(sorted, n, sizeof *sorted, compare_places);
        count = join_in_time(*runs, sorted, n, near);
    }
    free(sorted);
    return count;
}

psr_status psr_cluster_events(const struct psr_event *events, size_t n, const size_t *scale,
                              int64_t time_tol, size_t trial_tol, struct psr_cluster **clusters,
                              size_t *nclusters, psr_err *err)
{
    const struct nearness near = {scale, time_tol, trial_tol};
    *clusters = NULL;
    *nclusters = 0;
    if (time_tol < 0)
        return psr_fail(err, PSR_EINVAL, "clusters: tolerance of %lld samples is below 0",
                        (long long)time_tol);
    if (n == 0)
        return PSR_OK;
    struct group *group = NULL;
    size_t *index = NULL;
    struct run *runs;
    size_t nrun = make_runs(&runs, events, n, &near);
    psr_status st = psr_fail_nomem(err, "clusters", (double)n * sizeof *runs);
    if (nrun == 0)
        goto done;
    group = malloc(nrun * sizeof *group);
    index = malloc(nrun * sizeof *index);
    *clusters = malloc(nrun * sizeof **clusters);
    if (!group || !index || !*clusters)
        goto done;
    join_in_dm(runs, nrun, group, &near);
    *nclusters = collect_clusters(*clusters, runs, nrun, index);
    qsort(*clusters, *nclusters, sizeof **clusters, compare_clusters);
    st = PSR_OK;
done:
    if (st) {
        free(*clusters);
        *clusters = NULL;
    }
    free(group);
    free(index);
    free(runs);
    return st;
}
