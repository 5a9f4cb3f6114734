/* Sink that searches endless series for single pulses and tells of each as soon as it is complete. */
#include "pulse_parts.h"
#include "run/dedisperse/consumers/sinks.h"

#include "base/base.h"
#include "search/singlepulse/singlepulse_internal.h"
#include "stats/stats.h"
#include <math.h>
#include <stdlib.h>

enum {
    ARRIVALS = 4096
}; /* blocks whose arrival is remembered: longer than any sweep of blocks of sense */

/* What is kept before and after a pulse, beside twice its width. */
static const double margin_s = 0.5;

/* Spectra of the input up to "nread" had been read at that time. */
struct arrival {
    int64_t nread;
    double read_s;
};

struct live {
    struct psr_sink_live_desc d;
    struct psr_sink_stream stream;
    psr_singlepulse **search; /* [nline] */
    struct psr_pulse_clock clock;
    psr_cluster_stream *events;
    int64_t *settled;     /* [ndm] in ticks */
    struct psr_span *gap; /* [ngap] in ticks */
    size_t ngap, gap_room;
    struct arrival arrival[ARRIVALS]; /* i % ARRIVALS, of narrival so far */
    size_t narrival;
    double latency_s; /* sum */
    struct psr_live_found found;
};

/* Of a trial, in samples of the clock. */
static int64_t own_sweep(const struct live *s, size_t trial)
{
    return (int64_t)(s->clock.sweep[trial] * s->clock.scale[trial]);
}

static int64_t longest_sweep(const struct live *s)
{
    int64_t most = 0;
    for (size_t i = 0; i < s->stream.ndm; i++)
        most = own_sweep(s, i) > most ? own_sweep(s, i) : most;
    return most;
}

static int64_t shortest_sweep(const struct live *s)
{
    int64_t least = own_sweep(s, 0);
    for (size_t i = 1; i < s->stream.ndm; i++)
        least = own_sweep(s, i) < least ? own_sweep(s, i) : least;
    return least;
}

/* Samples of the clock that the longest boxcar has. */
static int64_t longest_boxcar(const struct live *s)
{
    int64_t most = 0;
    for (size_t k = 0; k < s->stream.nline; k++) {
        int64_t scale = (int64_t)s->clock.scale[s->stream.line[k].first];
        int64_t width = (int64_t)psr_singlepulse_maxwidth(s->search[k]) * scale;
        most = width > most ? width : most;
    }
    return most;
}

static bool is_late(const struct live *s)
{
    return s->stream.line->late;
}

/* Of sweeps: late series wait only for those that may hold a friend of an event, others for all. */
static int64_t widest_difference(const struct live *s)
{
    const size_t ndm = s->stream.ndm, tol = is_late(s) ? (size_t)s->d.search->trial_tol : 0;
    int64_t widest = is_late(s) ? 0 : longest_sweep(s) - shortest_sweep(s);
    for (size_t i = 0; i < ndm; i++)
        for (size_t j = i + 1; j < ndm && j - i <= tol; j++) {
            const int64_t apart = llabs(own_sweep(s, j) - own_sweep(s, i));
            widest = apart > widest ? apart : widest;
        }
    return widest;
}

static double find_bound(const struct live *s)
{
    double most_s = 0;
    for (const struct psr_sink_line *l = s->stream.line; l < s->stream.line + s->stream.nline; l++)
        most_s =
            fmax(most_s, (double)l->block * l->tsamp_s + psr_pulse_wait_s(s->d.search, l->tsamp_s));
    return most_s + (double)widest_difference(s) * s->clock.tick_s;
}

/* The ring must hold what is before a pulse until it is told, those with the longest sweep last; series that are not
 * late tell of all as long after their first sample. */
static void note_ring(const struct live *s)
{
    const struct psr_sink_stream *stream = &s->stream;
    const int64_t longest = longest_sweep(s), own = is_late(s) ? longest : shortest_sweep(s);
    const double sweep_s = (double)longest * s->clock.tick_s;
    double dm = 0;
    for (size_t i = 0; i < stream->ndm; i++)
        dm = own_sweep(s, i) == longest ? stream->dm[i] : dm;
    const double latest_s = s->found.bound_s + (double)(own + longest_boxcar(s)) * s->clock.tick_s;
    const double need_s = margin_s + 2 * (double)longest_boxcar(s) * s->clock.tick_s + latest_s;
    if (stream->keep && need_s > stream->ring_s)
        psr_note(
            &stream->notes,
            "-ring %g: sweep of DM %g is %.3g s, and pulses are told up to %.3g s after their "
            "first sample: those that have left the ring then are not kept; -ring %g keeps all",
            stream->ring_s, dm, sweep_s, latest_s, ceil(need_s * 10) / 10);
}

static psr_status create_events(struct live *s, psr_err *err)
{
    const struct psr_sink_line *l = s->stream.line;
    const struct psr_cluster_desc d = {.size = sizeof d,
                                       .scale = s->clock.scale,
                                       .sweep = s->clock.sweep,
                                       .time_tol = s->d.search->time_tol,
                                       .trial_tol = (size_t)s->d.search->trial_tol,
                                       .band_ratio = l->high_mhz / l->low_mhz};
    /* A pulse is seen over a sweep's difference at most; beyond, events follow each other by chance. */
    const int64_t longest = 2 * longest_sweep(s) + 16 * longest_boxcar(s);
    return psr_cluster_stream_create(&s->events, &d, s->stream.ndm, longest, err);
}

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
{
    struct live *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "single pulses", sizeof *s);
    s->d = *(const struct psr_sink_live_desc *)desc;
    s->stream = *stream;
    s->search = calloc(stream->nline, sizeof *s->search);
    s->settled = calloc(stream->ndm, sizeof *s->settled);
    if (!s->search || !s->settled)
        return psr_fail_nomem(err, "single pulses", (double)(stream->nline + stream->ndm) * 8);
    psr_status st = psr_pulse_search_check(s->d.search, err);
    if (!st)
        st = psr_pulse_clock_make(&s->clock, stream, err);
    for (size_t k = 0; k < stream->nline && !st; k++)
        st = psr_pulse_search_create(&s->search[k], stream, k, s->d.search, true, err);
    if (!st)
        s->found.bound_s = find_bound(s);
    if (!st)
        note_ring(s);
    return st ? st : create_events(s, err);
}

/* --- time ------------------------------------------------------------------------------------- */

static void note_arrival(struct live *s, const struct psr_block *b)
{
    const struct arrival *last = &s->arrival[(s->narrival + ARRIVALS - 1) % ARRIVALS];
    if (b->nread > 0 && (!s->narrival || b->nread > last->nread))
        s->arrival[s->narrival++ % ARRIVALS] = (struct arrival){b->nread, b->read_s};
}

/* When a spectrum came: as long before the last of its block as it was sampled, but not before the block
 * before. */
static double arrival_of(const struct live *s, int64_t spectrum)
{
    size_t k = s->narrival, first = k > ARRIVALS ? k - ARRIVALS : 0;
    while (k > first + 1 && s->arrival[(k - 2) % ARRIVALS].nread > spectrum)
        k--;
    if (!k)
        return psr_seconds();
    const struct arrival *a = &s->arrival[(k - 1) % ARRIVALS];
    double since_s = (double)(a->nread - 1 - spectrum) * s->stream.obs->tsamp_s;
    double at_s = a->read_s - fmax(since_s, 0);
    return k > first + 1 ? fmax(at_s, s->arrival[(k - 2) % ARRIVALS].read_s) : at_s;
}

/* The last spectrum that a pulse reaches, at the lowest frequency. */
static int64_t last_spectrum(const struct live *s, const struct psr_event *e)
{
    int64_t end = e->sample - e->width / 2 + e->width + (int64_t)s->clock.sweep[e->trial];
    return end * (int64_t)s->clock.scale[e->trial] * s->clock.tick - 1;
}

/* From before it at the highest frequency until after it at the lowest. */
static struct psr_span find_surroundings(const struct live *s, const struct psr_event *e)
{
    const int64_t scale = (int64_t)s->clock.scale[e->trial] * s->clock.tick,
                  margin = (int64_t)ceil(margin_s / s->stream.obs->tsamp_s) + 2 * e->width * scale,
                  first = (e->sample - e->width / 2) * scale - margin;
    return (struct psr_span){first, last_spectrum(s, e) + 1 + margin - first};
}

/* --- pulses ----------------------------------------------------------------------------------- */

static psr_status tell(struct live *s, const struct psr_cluster *c, psr_err *err)
{
    struct psr_burst b = psr_burst_describe(&s->clock, &s->stream, c);
    char dump[PSR_DUMP_NAME];
    b.latency_s = fmax(psr_seconds() - arrival_of(s, last_spectrum(s, &c->best)), 0);
    if (s->stream.keep) {
        s->stream.keep(s->stream.keep_ctx, find_surroundings(s, &c->best), b.mjd_top, b.dm, dump);
        b.dump = dump;
    }
    s->found.nburst++;
    s->found.nmarked += (c->marks & PSR_PULSE_SUSPECT) != 0;
    s->found.worst_s = fmax(s->found.worst_s, b.latency_s);
    s->latency_s += b.latency_s;
    s->found.mean_s = s->latency_s / (double)s->found.nburst;
    return s->d.burst(s->d.ctx, &b, err);
}

/* In order of time. */
PSR_COMPARE(compare_times, struct psr_cluster, PSR_RISING(first));

static psr_status tell_complete(struct live *s, psr_err *err)
{
    struct psr_cluster *cluster;
    const struct psr_event *event;
    size_t n, nevent;
    psr_status st =
        psr_cluster_stream_next(s->events, s->settled, &cluster, &n, &event, &nevent, err);
    if (!st && n)
        st = psr_pulse_clock_mark(&s->clock, &s->stream, s->d.search->threshold, event, nevent,
                                  s->gap, s->ngap, cluster, n, err);
    if (!st && n)
        qsort(cluster, n, sizeof *cluster, compare_times);
    for (size_t k = 0; k < n && !st; k++)
        st = tell(s, &cluster[k], err);
    free(cluster);
    return st;
}

/* Samples of a series before the input. */
static int64_t lateness(const struct psr_sink_line *l, size_t i)
{
    return l->late ? (int64_t)l->shift[i] : 0;
}

/* Moves the events of a line to the stream. */
static psr_status take_events(struct live *s, size_t line, psr_err *err)
{
    const struct psr_sink_line *l = &s->stream.line[line];
    psr_status st = PSR_OK;
    for (size_t i = 0; i < l->nseries && !st; i++) {
        const struct psr_event *event;
        size_t n = psr_singlepulse_events(s->search[line], i, &event);
        for (size_t k = 0; k < n && !st; k++) {
            struct psr_event e = event[k];
            e.trial = l->first + i;
            e.sample -= lateness(l, i);
            st = psr_cluster_stream_push(s->events, &e, 1, err);
        }
    }
    psr_singlepulse_forget(s->search[line]);
    return st;
}

/* No event to come of a trial begins before its sample of the clock.  Returned: the least */
static int64_t find_settled(struct live *s)
{
    int64_t least = INT64_MAX;
    for (size_t k = 0; k < s->stream.nline; k++) {
        const struct psr_sink_line *l = &s->stream.line[k];
        for (size_t i = 0; i < l->nseries; i++) {
            int64_t at = psr_singlepulse_settled(s->search[k], i);
            if (at < INT64_MAX)
                at = (at - lateness(l, i)) * (int64_t)s->clock.scale[l->first];
            s->settled[l->first + i] = at;
            least = at < least ? at : least;
        }
    }
    return least;
}

/* Gaps so far back that no pulse to come is near them. */
static void forget_gaps(struct live *s, int64_t settled)
{
    const int64_t before = settled - 2 * longest_boxcar(s);
    size_t n = 0;
    s->ngap = psr_spans_join(s->gap, s->ngap);
    for (size_t k = 0; k < s->ngap; k++)
        if (s->gap[k].first + s->gap[k].count >= before)
            s->gap[n++] = s->gap[k];
    s->ngap = n;
}

static psr_status push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    struct live *s = state;
    note_arrival(s, b);
    psr_status st = psr_singlepulse_execute(
        s->search[line], b->equalised ? b->equalised : b->series, b->stride, b->n, err);
    if (!st)
        st = take_events(s, line, err);
    if (st || line + 1 < s->stream.nline)
        return st;
    forget_gaps(s, find_settled(s));
    return tell_complete(s, err);
}

static psr_status gap(void *state, size_t line, struct psr_span span, psr_err *err)
{
    struct live *s = state;
    const int64_t scale = s->stream.line[line].downsamp / s->clock.tick;
    psr_status st =
        psr_grow(&s->gap, &s->gap_room, s->ngap, sizeof *s->gap, "the gaps of a search", err);
    if (st)
        return st;
    s->gap[s->ngap++] = (struct psr_span){span.first * scale, span.count * scale};
    return psr_singlepulse_mask(s->search[line], span, err);
}

static psr_status finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct live *s = state;
    psr_status st = PSR_OK;
    (void)end;
    for (size_t k = 0; k < s->stream.nline && !st; k++) {
        st = psr_singlepulse_finish(s->search[k], err);
        if (!st)
            st = take_events(s, k, err);
    }
    s->ngap = psr_spans_join(s->gap, s->ngap);
    (void)find_settled(s);
    if (!st)
        st = tell_complete(s, err);
    s->found.ncut = psr_cluster_stream_cut(s->events);
    return st;
}

static const void *result(const void *state)
{
    const struct live *s = state;
    return &s->found;
}

static void abort_sink(void *state)
{
    struct live *s = state;
    if (!s)
        return;
    for (size_t k = 0; s->search && k < s->stream.nline; k++)
        psr_singlepulse_destroy(s->search[k]);
    psr_cluster_stream_destroy(s->events);
    psr_pulse_clock_clear(&s->clock);
    free(s->search);
    free(s->settled);
    free(s->gap);
    free(s);
}

/* On the host: devices search series only as a whole. */
const struct psr_sink_ops psr_sink_live = {
    .name = "live",
    .begin = begin,
    .push = push,
    .gap = gap,
    .finish = finish,
    .result = result,
    .abort = abort_sink,
};
