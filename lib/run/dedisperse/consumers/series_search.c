/* Deals whole series to the devices that search them. */
#include "sinks.h"

#include "base/base.h"
#include "base/output/outfile_internal.h"
#include "formats/series/series_internal.h"
#include <stdlib.h>
#include <string.h>

/* Batches shrink to this towards the end: less would not fill a device. */
enum { LEAST_BATCH = 4 };

/* A device, and the thread that drives it. */
struct psr_search_lane {
    struct psr_series_search *of;
    const char *backend; /* as psr_device_choose has them */
    int device, nthread;
    void *search;
    bool planned;
    size_t batch, nslot;
    struct psr_searched **series[PSR_SERIES_SLOTS]; /* [n] of each slot, with room for batch */
    size_t n[PSR_SERIES_SLOTS];
    size_t slot; /* of the batch that is gathered, and then loaded */
    struct psr_async_task driver, loader;
    double load_s, search_s, write_s;
};

bool psr_series_search_is_stopped(void *ctx)
{
    struct psr_series_search *s = ctx;
    const struct psr_sink_stream *stream = s->d.stream;
    return atomic_load(&s->failed) || (stream->should_stop && stream->should_stop(stream->ctx));
}

/* --- dealing ---------------------------------------------------------------------------------- */

/* The queue that a lane takes from next; NULL: all series are begun. */
static struct psr_search_queue *choose_queue(const struct psr_search_lane *l)
{
    const struct psr_series_search *s = l->of;
    struct psr_search_queue *own = &s->queue[l - s->lane], *host = &s->queue[s->nlane], *most = own;
    if (own->next < own->n)
        return own;
    if (host->next < host->n)
        return host;
    for (struct psr_search_queue *q = s->queue; q < host; q++)
        if (q->n - q->next > most->n - most->next)
            most = q;
    return most->next < most->n ? most : NULL;
}

/* Takes the next series if the plan fits, or if any will do; NULL: there is none. */
static struct psr_searched *take_next(const struct psr_search_lane *l, bool any)
{
    struct psr_series_search *s = l->of;
    struct psr_search_queue *q = choose_queue(l);
    struct psr_searched *g = q ? &s->series[q->series[q->next]] : NULL;
    if (!g || !(any || s->d.method->fits(l->search, g)))
        return NULL;
    q->next++;
    s->left--;
    return g;
}

/* Series that a lane may have in its next batch: pairs, as devices search them. */
static size_t limit_batch(const struct psr_search_lane *l)
{
    const struct psr_series_search *s = l->of;
    const size_t share = s->left / (2 * s->nlane) / 2 * 2;
    if (s->nlane == 1 || share > l->batch)
        return l->batch;
    const size_t least = l->batch < LEAST_BATCH ? l->batch : LEAST_BATCH;
    return share > least ? share : least;
}

/* Marks a series as done: it was searched and what was found is kept, or it is refused.  Called once for each. */
static void complete(struct psr_series_search *s, struct psr_searched *g)
{
    g->done = true;
    s->found.nsearched += !g->status;
    s->found.nrefused += g->status != PSR_OK;
    if (s->d.stream->searched)
        s->d.stream->searched(s->d.stream->ctx, (int64_t)(s->found.nsearched + s->found.nrefused),
                              (int64_t)(s->d.stream->ndm * s->nsegment));
}

static void refuse(struct psr_series_search *s, struct psr_searched *g, const psr_err *why)
{
    if (why != &g->err)
        g->err = *why;
    g->status = PSR_EFORMAT;
    pthread_mutex_lock(&s->lock);
    complete(s, g);
    pthread_mutex_unlock(&s->lock);
}

/* --- a batch ---------------------------------------------------------------------------------- */

static psr_status load(const struct psr_search_lane *l, size_t slot, size_t k)
{
    const struct psr_series_method *m = l->of->d.method;
    struct psr_searched *g = l->series[slot][k];
    const int64_t length = 2 * g->about.nbin;
    g->x = m->room ? m->room(l->search, slot, k) : malloc((size_t)(length + 1) * sizeof *g->x);
    if (!g->x)
        return psr_fail_nomem(&g->err, g->stem, 4.0 * (double)length);
    g->read.length = length;
    psr_status st = psr_whole_series_read(l->of->d.series, &g->read, g->x, &g->err);
    psr_whole_series_drop(l->of->d.series, g->read.i);
    struct psr_spectrum_file about = g->about;
    if (l->of->d.keep_padding)
        about.inf.nonoff = 0;
    if (!st)
        st = psr_spectrum_level(&about, g->stem, g->x, &g->err);
    return st ? st : m->load(l->search, g, &g->err);
}

static void release(const struct psr_search_lane *l, struct psr_searched *g)
{
    if (!l->of->d.method->room)
        free(g->x);
    g->x = NULL;
}

static psr_status load_batch(void *lane, psr_err *err)
{
    struct psr_search_lane *l = lane;
    double since_s = psr_seconds();
    (void)err; /* each series has its own status */
#pragma omp parallel for schedule(dynamic) num_threads(l->nthread)
    for (size_t k = 0; k < l->n[l->slot]; k++)
        l->series[l->slot][k]->status = load(l, l->slot, k);
    psr_charge(&l->load_s, &since_s);
    return PSR_OK;
}

/* Takes series that cannot be searched out of a loaded batch. */
static psr_status drop_refused(struct psr_search_lane *l, psr_err *err)
{
    struct psr_searched **series = l->series[l->slot];
    size_t n = 0;
    for (size_t k = 0; k < l->n[l->slot]; k++) {
        struct psr_searched *g = series[k];
        if (g->status && g->status != PSR_EFORMAT)
            return psr_fail_field(err, g->status, g->err.field, "%s", g->err.msg);
        if (g->status) {
            release(l, g);
            refuse(l->of, g, &g->err);
        } else
            series[n++] = g;
    }
    l->n[l->slot] = n;
    return PSR_OK;
}

static psr_status keep(struct psr_search_lane *l, struct psr_searched *g, psr_err *err)
{
    struct psr_series_search *s = l->of;
    pthread_mutex_lock(&s->lock);
    psr_status st = s->d.method->keep(s->d.sink, l->search, g, err);
    if (!st)
        complete(s, g);
    pthread_mutex_unlock(&s->lock);
    return st;
}

static psr_status finish_series(struct psr_search_lane *l, size_t slot, size_t k, psr_err *err)
{
    struct psr_searched *g = l->series[slot][k];
    if (psr_series_search_is_stopped(l->of))
        return psr_fail(err, PSR_ESTOPPED, "stopped");
    psr_status st = l->of->d.method->list(l->search, slot, k, g, err);
    if (!st)
        return keep(l, g, err);
    if (st == PSR_EFORMAT)
        refuse(l->of, g, err);
    return st == PSR_EFORMAT ? PSR_OK : st;
}

static psr_status search_batch(struct psr_search_lane *l, size_t slot, psr_err *err)
{
    double since_s = psr_seconds();
    psr_status st = PSR_OK;
    if (l->n[slot])
        st = l->of->d.method->execute(l->search, slot, l->n[slot], l->series[slot], err);
    psr_charge(&l->search_s, &since_s);
    for (size_t k = 0; k < l->n[slot] && !st; k++)
        st = finish_series(l, slot, k, err);
    for (size_t k = 0; k < l->n[slot]; k++)
        release(l, l->series[slot][k]);
    psr_charge(&l->write_s, &since_s);
    l->n[slot] = 0;
    return st;
}

/* Loads the batch that was gathered, while the one before is searched if there are two slots. */
static psr_status flush(struct psr_search_lane *l, psr_err *err)
{
    const size_t before = l->nslot > 1 ? (l->slot + 1) % PSR_SERIES_SLOTS : l->slot;
    psr_status st = PSR_OK;
    if (before != l->slot) {
        psr_async_task_start(&l->loader, load_batch, l);
        st = search_batch(l, before, err);
        (void)!psr_async_task_wait(&l->loader, NULL);
    } else
        (void)!load_batch(l, NULL);
    if (!st)
        st = drop_refused(l, err);
    if (!st && before == l->slot)
        st = search_batch(l, l->slot, err);
    l->slot = before;
    return st;
}

/* First what is gathered is loaded, then what is loaded is searched. */
static psr_status drain(struct psr_search_lane *l, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; l->planned && k < l->nslot && !st; k++)
        st = flush(l, err);
    return st;
}

/* --- a device --------------------------------------------------------------------------------- */

static void free_batches(struct psr_search_lane *l)
{
    for (size_t k = 0; k < PSR_SERIES_SLOTS; k++) {
        for (size_t i = 0; i < l->n[k]; i++)
            release(l, l->series[k][i]);
        free(l->series[k]);
        l->series[k] = NULL;
        l->n[k] = 0;
    }
    l->slot = 0;
    l->planned = false;
}

/* Makes the plan for series of another shape, and room for its batches. */
static psr_status plan(struct psr_search_lane *l, const struct psr_searched *g, size_t ninput,
                       psr_err *err)
{
    const struct psr_series_search *s = l->of;
    psr_status st = drain(l, err);
    free_batches(l);
    if (!st)
        st = s->d.method->plan(l->search, g, (ninput + s->nlane - 1) / s->nlane, &l->batch,
                               &l->nslot, err);
    for (size_t k = 0; k < l->nslot && !st; k++)
        if (!(l->series[k] = calloc(l->batch, sizeof *l->series[k])))
            st = psr_fail_nomem(err, "a batch", (double)l->batch * sizeof *l->series[k]);
    l->planned = !st;
    return st;
}

/* A series that the plan does not fit begins a batch of its own shape. */
static psr_status begin_batch(struct psr_search_lane *l, struct psr_searched *g, size_t left,
                              psr_err *err)
{
    psr_status st = PSR_OK;
    if (!l->planned || !l->of->d.method->fits(l->search, g))
        st = plan(l, g, left, err);
    if (!st)
        l->series[l->slot][l->n[l->slot]++] = g;
    else if (st == PSR_EUNSUPPORTED || st == l->of->d.method->unfit) {
        refuse(l->of, g, err);
        st = PSR_OK;
    }
    return st;
}

/* Returned: *more, false if all series are begun */
static psr_status gather(struct psr_search_lane *l, bool *more, psr_err *err)
{
    struct psr_series_search *s = l->of;
    pthread_mutex_lock(&s->lock);
    size_t left = s->left;
    struct psr_searched *g = take_next(l, true);
    pthread_mutex_unlock(&s->lock);
    *more = g != NULL;
    psr_status st = g ? begin_batch(l, g, left, err) : PSR_OK;
    if (st || !l->planned)
        return st;
    pthread_mutex_lock(&s->lock);
    const size_t limit = limit_batch(l);
    while (l->n[l->slot] > 0 && l->n[l->slot] < limit && (g = take_next(l, false)))
        l->series[l->slot][l->n[l->slot]++] = g;
    pthread_mutex_unlock(&s->lock);
    return PSR_OK;
}

static psr_status drive(void *lane, psr_err *err)
{
    struct psr_search_lane *l = lane;
    psr_status st = PSR_OK;
    bool more = true;
    while (more && !st && !atomic_load(&l->of->failed)) {
        st = gather(l, &more, err);
        if (!st && more && l->n[l->slot])
            st = flush(l, err);
    }
    if (!st && !atomic_load(&l->of->failed))
        st = drain(l, err);
    if (st) {
        struct psr_series_search *s = l->of;
        pthread_mutex_lock(&s->lock);
        if (!s->status) {
            s->status = st;
            s->err = *err;
        }
        pthread_mutex_unlock(&s->lock);
        atomic_store(&s->failed, true);
    }
    return st;
}

/* --- all series ------------------------------------------------------------------------------- */

/* Series that should come, where that is known. */
static psr_status try_plan(struct psr_search_lane *l, int64_t nbin, psr_err *err)
{
    const struct psr_sink_stream *stream = l->of->d.stream;
    struct psr_searched g = {.about = {.series = true,
                                       .nbin = nbin,
                                       .tobs_s = 2 * (double)nbin * stream->line->tsamp_s}};
    psr_err why;
    g.about.inf.tbin_s = stream->line->tsamp_s;
    psr_status st = plan(l, &g, stream->ndm, &why);
    if (st == PSR_EUNSUPPORTED) /* the length of the input */
        return psr_fail_field(err, st, why.field, "%s: %s", stream->input, why.msg);
    if (st && err)
        *err = why;
    return st;
}

static psr_status create_lane(struct psr_search_lane *l, const char *device, psr_err *err)
{
    struct psr_series_search *s = l->of;
    const int64_t nbin = psr_whole_series_expect(s->d.stream, s->d.nopad) / 2;
    l->nthread = psr_share_threads(s->d.stream->nthread, s->nlane);
    psr_status st = psr_device_choose(device, &l->backend, &l->device, err);
    if (!st)
        st = s->d.method->create(s->d.sink, device, s->nlane > 1 ? l->nthread : 0, &l->search, err);
    return st || nbin < 1 ? st : try_plan(l, nbin, err);
}

psr_status psr_series_search_create(struct psr_series_search *s,
                                    const struct psr_series_search_desc *d, psr_err *err)
{
    s->d = *d;
    s->nsegment = d->segments ? PSR_SEGMENTS : 1;
    pthread_mutex_init(&s->lock, NULL);
    atomic_init(&s->failed, false);
    psr_status st = psr_device_words(&s->devices, d->device, err);
    if (st)
        return st;
    s->lane = calloc(s->devices.n, sizeof *s->lane);
    s->queue = calloc(s->devices.n + 1, sizeof *s->queue);
    if (!s->lane || !s->queue)
        return psr_fail_nomem(err, d->method->name, (double)s->devices.n * sizeof *s->lane);
    s->nlane = s->devices.n;
    for (size_t k = 0; k < s->nlane && !st; k++) {
        s->lane[k].of = s;
        st = create_lane(&s->lane[k], s->devices.name[k], err);
    }
    if (!st)
        psr_whole_series_leave(d->series, s->lane->planned);
    return st;
}

/* The queue of a series: that of the device which made it. */
static size_t choose_home(const struct psr_series_search *s, const struct psr_searched *g)
{
    const struct psr_device_series *where =
        psr_whole_series_where(s->d.series, g->read.line, g->read.i);
    size_t k = where ? 0 : s->nlane;
    while (k < s->nlane && (s->lane[k].device != where->device ||
                            (where->backend && strcmp(where->backend, s->lane[k].backend) != 0)))
        k++;
    return k;
}

static psr_status queue_series(struct psr_series_search *s, struct psr_searched *g, psr_err *err)
{
    struct psr_search_queue *q = &s->queue[choose_home(s, g)];
    const int64_t n = psr_whole_series_count(s->d.series, &g->read);
    if (n == 0 || g->about.nbin < 1) {
        psr_fail(&g->err, PSR_EFORMAT, "%lld samples, at least 2 are needed", (long long)n);
        refuse(s, g, &g->err);
        return PSR_OK;
    }
    if (!q->series)
        q->series = calloc(s->d.stream->ndm * s->nsegment, sizeof *q->series);
    if (!q->series)
        return psr_fail_nomem(err, "series", (double)s->d.stream->ndm * 56);
    q->series[q->n++] = (size_t)(g - s->series);
    s->left++;
    return PSR_OK;
}

static int64_t padded_length(const struct psr_series_search *s, const struct psr_sink_end *end,
                             struct psr_segment segment)
{
    if (segment.of == 1 || s->d.nopad)
        return psr_sink_series_length(s->d.stream, end, s->d.nopad);
    return psr_good_length(end->length / segment.of);
}

static psr_status list_line(struct psr_series_search *s, size_t line, struct psr_segment segment,
                            const struct psr_sink_end *end, psr_err *err)
{
    const struct psr_sink_line *l = &s->d.stream->line[line];
    const int64_t length = padded_length(s, end, segment);
    psr_status st = PSR_OK;
    for (size_t i = l->first; i < l->first + l->nseries && !st; i++) {
        struct psr_searched *g = &s->series[s->n++];
        struct psr_inf inf;
        g->read = (struct psr_whole_series_read){line, i, segment, length, end};
        st = psr_whole_series_describe(s->d.series, &g->read, !s->d.noinf || segment.of > 1,
                                       g->stem, &inf, err);
        if (st)
            break;
        psr_spectrum_of_series(&g->about, &inf);
        st = psr_whole_series_gaps(s->d.series, &g->read, &g->gap, &g->ngap, err);
        if (st)
            break;
        if (s->d.method->recall)
            st = s->d.method->recall(s->d.sink, g, &g->done, err);
        if (g->done)
            complete(s, g);
        else if (!st)
            st = queue_series(s, g, err);
    }
    return st;
}

static psr_status list_all(struct psr_series_search *s, const struct psr_sink_end *end,
                           psr_err *err)
{
    const struct psr_sink_stream *stream = s->d.stream;
    psr_status st = PSR_OK;
    const size_t n = stream->ndm * s->nsegment;
    s->series = calloc(n, sizeof *s->series);
    if (!s->series)
        return psr_fail_nomem(err, "series", (double)n * sizeof *s->series);
    for (size_t i = 0; i < s->nsegment; i++)
        for (size_t k = 0; k < stream->nline && !st; k++)
            st = list_line(s, k, psr_segment_of(i), &end[k], err);
    return st;
}

static void note_refused(const struct psr_series_search *s)
{
    for (const struct psr_searched *g = s->series; g < s->series + s->n; g++) {
        const char *name = strstr(g->err.msg, g->stem) ? "" : g->stem;
        if (g->done && g->status)
            psr_note(&s->d.stream->notes, "%s%s%s", name, *name ? ": " : "", g->err.msg);
    }
}

static void charge_most(double *to, double lane_s)
{
    *to = lane_s > *to ? lane_s : *to;
}

psr_status psr_series_search_run(struct psr_series_search *s, const struct psr_sink_end *end,
                                 psr_err *err)
{
    psr_status st = list_all(s, end, err);
    if (st)
        return st;
    for (size_t k = 1; k < s->nlane; k++)
        psr_async_task_start(&s->lane[k].driver, drive, &s->lane[k]);
    psr_err own;
    (void)!drive(s->lane, &own);
    for (size_t k = 0; k < s->nlane; k++) {
        const struct psr_search_lane *l = &s->lane[k];
        (void)!psr_async_task_wait(&s->lane[k].driver, NULL);
        charge_most(&s->found.load_s, l->load_s);
        charge_most(&s->found.search_s, l->search_s);
        charge_most(&s->found.write_s, l->write_s);
    }
    s->found.device_bytes = s->d.series->bytes.device;
    s->found.memory_bytes = s->d.series->bytes.memory;
    s->found.scratch_bytes = s->d.series->bytes.scratch;
    note_refused(s);
    return s->status ? psr_fail_field(err, s->status, s->err.field, "%s", s->err.msg) : PSR_OK;
}

void psr_series_search_note(const struct psr_series_search *s, psr_status st, size_t nrecalled,
                            const char *purpose)
{
    const struct psr_sink_stream *stream = s->d.stream;
    if (st == PSR_ESTOPPED && s->found.nsearched)
        psr_note(&stream->notes,
                 "%zu of %zu series are searched%s, and recorded in %s" PSR_RECORD
                 ": the same command goes on from there",
                 s->found.nsearched, s->n, purpose, stream->root);
    else if (!st && nrecalled)
        psr_note(&stream->notes, "%zu of %zu series were searched%s by an earlier run", nrecalled,
                 s->n, purpose);
}

psr_status psr_searched_digest(const struct psr_searched *g, const struct psr_zaplist *zaplist,
                               uint64_t *key, psr_err *err)
{
    psr_outfile *inf = NULL;
    size_t n = 0;
    psr_status st = psr_outfile_hold(&inf, g->stem, err);
    if (!st)
        st = psr_inf_write(inf, &g->about.inf, err);
    const void *text = st ? NULL : psr_outfile_held(inf, &n);
    *key = psr_digest_text(psr_digest_bytes(PSR_DIGEST_START, text, n), g->stem);
    *key = psr_digest_bytes(*key, &g->about.nbin, sizeof g->about.nbin);
    for (size_t i = 0; i < zaplist->n; i++) {
        const struct psr_bird *b = &zaplist->bird[i];
        const double bird[] = {b->freq_hz, b->width_hz, b->barycentric};
        *key = psr_digest_bytes(*key, bird, sizeof bird);
    }
    psr_outfile_abort(inf);
    return st;
}

void psr_series_search_destroy(struct psr_series_search *s)
{
    for (size_t k = 0; k < s->nlane; k++) {
        struct psr_search_lane *l = &s->lane[k];
        psr_async_task_end(&l->driver);
        psr_async_task_end(&l->loader);
        free_batches(l);
        if (l->search)
            s->d.method->destroy(l->search);
    }
    for (size_t k = 0; k <= s->nlane && s->queue; k++)
        free(s->queue[k].series);
    pthread_mutex_destroy(&s->lock);
    psr_names_clear(&s->devices);
    free(s->lane);
    free(s->queue);
    for (size_t i = 0; i < s->n; i++)
        free(s->series[i].gap);
    free(s->series);
}
