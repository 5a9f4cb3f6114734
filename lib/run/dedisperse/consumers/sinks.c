/* Passes series to all sinks of a run; contains the table of built-in sinks. */
#include "sinks.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "formats/series/series_internal.h"
#include "run/ffa/ffasearch_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sink that searches complete series for slow pulsars, and writes one list for all DMs. */

/* What was found in a series: by which search, and which of what it has kept. */
struct place {
    psr_ffasearch *search;
    size_t k;
};

struct ffa {
    struct psr_sink_ffa_desc d;
    const struct psr_sink_stream *stream;
    struct psr_ffasearch_desc what;
    struct psr_zaplist zaplist;
    struct psr_series_search search;
    struct place *place;           /* [ndm]; without a search: nothing */
    psr_ffasearch *recalled, *all; /* has what an earlier run has found; gets what all have */
    size_t nrecalled;
    struct psr_ffa_series_found found;
};

/* On a device. */
struct plan {
    psr_ffasearch *ffa;
    bool on_gpu;
    struct psr_ffasearch_input *in; /* [batch] */
    float *room;                    /* [nslot][batch][stride] of series */
    size_t batch, stride, room_n;   /* room_n: floats that room has */
    size_t ntaken;
};

static const char ffa_name[] = "an FFA search";

static void name_list(char name[PSR_TEXT_MAX], const char *root)
{
    snprintf(name, PSR_TEXT_MAX, "%.*s_ffa.csv", PSR_TEXT_MAX - 16, root);
}

/* --- plans ------------------------------------------------------------------------------------ */

static psr_status create(void *sink, const char *device, int nthread, void **search, psr_err *err)
{
    const struct ffa *s = sink;
    struct psr_ffasearch_desc d = s->what;
    struct plan *p = *search = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "an FFA search", sizeof *p);
    d.device = device;
    d.nthread = nthread ? nthread : d.nthread;
    const char *backend;
    int number;
    psr_status st = psr_device_choose(device, &backend, &number, err);
    p->on_gpu = !st && psr_device_count(NULL) > 0 && (!backend || strcmp(backend, "cpu") != 0);
    return st ? st : psr_ffasearch_create(&p->ffa, &d, err);
}

static void destroy(void *search)
{
    struct plan *p = search;
    psr_ffasearch_destroy(p->ffa); /* waits for what it copies from room */
    psr_device_unpin(p->room);
    free(p->in);
    free(p);
}

static struct psr_ffasearch_shape shape_of(const struct psr_searched *g)
{
    struct psr_ffasearch_shape s = psr_ffasearch_shape_of(&g->about.inf, 2 * g->about.nbin);
    for (size_t k = 0; k < g->ngap && s.ngap < PSR_FFASEARCH_GAPS; k++)
        s.gap[s.ngap++] = g->gap[k];
    return s;
}

static bool fits(const void *search, const struct psr_searched *g)
{
    const struct plan *p = search;
    const struct psr_ffasearch_shape shape = shape_of(g);
    return psr_ffasearch_fits(p->ffa, &shape);
}

/* Takes room for the series of batches, of at most so many: a GPU searches one while the next is loaded. */
static psr_status take_room(struct plan *p, int64_t nsamp, size_t batch, psr_err *err)
{
    enum { ALIGN = 64 };
    const size_t nslot = p->on_gpu ? PSR_SERIES_SLOTS : 1;
    p->stride = ((size_t)nsamp + ALIGN) / ALIGN * ALIGN;
    const size_t most = ((size_t)1 << 31) / (nslot * p->stride * sizeof *p->room);
    p->batch = !p->on_gpu || batch <= most ? batch : most > 1 ? most : 1;
    const size_t n = nslot * p->batch * p->stride;
    if (n <= p->room_n)
        return PSR_OK;
    void *room = NULL;
    psr_device_unpin(p->room);
    psr_status st = psr_device_pin(&room, n * sizeof *p->room, err);
    p->room = room;
    p->room_n = st ? 0 : n;
    return st;
}

static float *room(void *search, size_t slot, size_t k)
{
    const struct plan *p = search;
    return p->room + (slot * p->batch + k) * p->stride;
}

static psr_status make_plan(void *search, const struct psr_searched *g, size_t ninput,
                            size_t *batch, size_t *nslot, psr_err *err)
{
    struct plan *p = search;
    struct psr_ffasearch_info info;
    const struct psr_ffasearch_shape shape = shape_of(g);
    psr_status st = psr_ffasearch_plan(p->ffa, &shape, ninput, &info, err);
    if (!st)
        st = take_room(p, 2 * g->about.nbin, info.batch, err);
    *batch = st ? 0 : p->batch;
    *nslot = p->on_gpu ? PSR_SERIES_SLOTS : 1;
    if (st)
        return st;
    free(p->in);
    p->in = calloc(p->batch, sizeof *p->in);
    return p->in ? PSR_OK : psr_fail_nomem(err, "a batch", (double)p->batch * sizeof *p->in);
}

/* --- a batch ---------------------------------------------------------------------------------- */

static psr_status load(void *search, struct psr_searched *g, psr_err *err)
{
    const struct plan *p = search;
    psr_spectrum_rescale(g->x, 2 * g->about.nbin, true);
    return psr_ffasearch_prepare(p->ffa, g->x, 2 * g->about.nbin, g->about.inf.tbin_s, err);
}

static psr_status execute(void *search, size_t slot, size_t n, struct psr_searched *const *g,
                          psr_err *err)
{
    struct plan *p = search;
    (void)slot;
    for (size_t k = 0; k < n; k++)
        p->in[k] = (struct psr_ffasearch_input){g[k]->stem, g[k]->x};
    return psr_ffasearch_execute(p->ffa, n, p->in, err);
}

static psr_status list(void *search, size_t slot, size_t k, const struct psr_searched *g,
                       psr_err *err)
{
    struct plan *p = search;
    (void)slot;
    psr_status st = psr_ffasearch_take(p->ffa, k, &g->about.inf, err);
    p->ntaken += !st;
    return st;
}

static void name_record(char name[PSR_TEXT_MAX], const struct psr_searched *g)
{
    snprintf(name, PSR_TEXT_MAX, "%.*s_ffa", PSR_TEXT_MAX - 16, g->stem);
}

static psr_status digest_series(const struct ffa *s, const struct psr_searched *g, uint64_t *key,
                                psr_err *err)
{
    psr_status st = psr_searched_digest(g, &s->zaplist, key, err);
    *key = psr_ffasearch_digest(psr_digest_text(*key, ffa_name), &s->what);
    *key = psr_digest_bytes(*key, g->gap, g->ngap * sizeof *g->gap);
    return st;
}

static psr_status keep(void *sink, void *search, const struct psr_searched *g, psr_err *err)
{
    struct ffa *s = sink;
    const struct plan *p = search;
    char name[PSR_TEXT_MAX];
    psr_outfile *record;
    uint64_t key;
    const struct place found = s->place[g->read.i] = (struct place){p->ffa, p->ntaken - 1};
    name_record(name, g);
    psr_status st = psr_outfile_hold(&record, name, err);
    if (st)
        return st;
    st = psr_ffasearch_save(found.search, found.k, record, err);
    if (!st)
        st = digest_series(s, g, &key, err);
    if (!st)
        st = psr_output_group_record_file(s->stream->group, key, record, err);
    psr_outfile_abort(record);
    return st;
}

static psr_status recall(void *sink, const struct psr_searched *g, bool *found, psr_err *err)
{
    struct ffa *s = sink;
    char name[PSR_TEXT_MAX];
    psr_outfile *record = NULL;
    uint64_t key;
    *found = false;
    name_record(name, g);
    psr_status st = digest_series(s, g, &key, err);
    if (!st)
        st = psr_output_group_recall_file(s->stream->group, key, name, &record, err);
    if (!record)
        return st;
    st = psr_outfile_write(record, "", 1, err); /* the end of a text */
    if (!st)
        st = psr_ffasearch_restore(s->recalled, &g->about.inf,
                                   psr_outfile_held(record, &(size_t){0}), found, err);
    if (!st && *found)
        s->place[g->read.i] = (struct place){s->recalled, s->nrecalled++};
    psr_outfile_abort(record);
    return st;
}

static const struct psr_series_method method = {
    .name = ffa_name,
    .unfit = PSR_EINVAL, /* too short */
    .create = create,
    .destroy = destroy,
    .fits = fits,
    .plan = make_plan,
    .room = room,
    .load = load,
    .execute = execute,
    .list = list,
    .recall = recall,
    .keep = keep,
};

/* --- the sink --------------------------------------------------------------------------------- */

static psr_status names(const void *desc, const struct psr_sink_stream *stream,
                        psr_status (*check)(void *ctx, const char *name, psr_err *err), void *ctx,
                        psr_err *err)
{
    const struct psr_sink_ffa_desc *d = ((const struct psr_whole_series_use *)desc)->desc;
    char name[PSR_TEXT_MAX];
    name_list(name, stream->root);
    psr_status st = check(ctx, name, err);
    for (size_t i = 0; i < stream->ndm && !st && !d->noinf; i++) {
        psr_series_stem(name, stream->root, stream->dm[i], stream->dm_decimals);
        strncat(name, ".inf", sizeof name - strlen(name) - 1);
        st = check(ctx, name, err);
    }
    return st;
}

static psr_status describe(struct ffa *s, psr_err *err)
{
    psr_status st = psr_copy_desc(&s->what, sizeof s->what, s->d.search, "FFA search", err);
    s->what.should_stop = psr_series_search_is_stopped;
    s->what.ctx = &s->search;
    if (s->what.baryv == 0)
        s->what.baryv = s->stream->voverc;
    if (!st && s->d.zaplist) {
        st = psr_zaplist_read(&s->zaplist, s->d.zaplist, err);
        s->what.zaplist = &s->zaplist;
    }
    if (!st)
        st = psr_ffasearch_create(&s->recalled, &s->what, err);
    return st ? st : psr_ffasearch_create(&s->all, &s->what, err);
}

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
{
    const struct psr_whole_series_use *use = desc;
    struct ffa *s = *state = calloc(1, sizeof *s);
    if (s)
        s->place = calloc(stream->ndm, sizeof *s->place);
    if (!s || !s->place)
        return psr_fail_nomem(err, ffa_name, (double)stream->ndm * sizeof *s->place);
    s->d = *(const struct psr_sink_ffa_desc *)use->desc;
    s->stream = stream;
    psr_status st = describe(s, err);
    if (st)
        return st;
    return psr_series_search_create(&s->search,
                                    &(struct psr_series_search_desc){.method = &method,
                                                                     .sink = s,
                                                                     .stream = stream,
                                                                     .series = use->series,
                                                                     .device = s->what.device,
                                                                     .nopad = s->d.nopad,
                                                                     .noinf = s->d.noinf},
                                    err);
}

static psr_status write_list(struct ffa *s, psr_err *err)
{
    struct psr_ffa_list all;
    psr_outfile *f = NULL;
    char name[PSR_TEXT_MAX];
    name_list(name, s->stream->root);
    psr_status st = psr_ffasearch_merge(s->all, &all, err);
    if (!st)
        st = psr_output_group_add(s->stream->group, name, &f, err);
    if (!st)
        st = psr_ffa_list_write(f, &all, err);
    if (!st)
        st = psr_outfile_park(f, err);
    s->found.ncand = all.n;
    s->found.nharmonic = all.nharmonic;
    s->found.nzapped = all.nzapped;
    return st;
}

static psr_status finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct ffa *s = state;
    const struct psr_fourier_found *f = &s->search.found;
    psr_status st = psr_series_search_run(&s->search, end, err);
    psr_series_search_note(&s->search, st, s->nrecalled, " for slow pulsars");
    s->found = (struct psr_ffa_series_found){.nsearched = f->nsearched,
                                             .nrefused = f->nrefused,
                                             .device_bytes = f->device_bytes,
                                             .memory_bytes = f->memory_bytes,
                                             .scratch_bytes = f->scratch_bytes,
                                             .load_s = f->load_s,
                                             .search_s = f->search_s};
    for (size_t i = 0; i < s->stream->ndm && !st; i++)
        if (s->place[i].search)
            st = psr_ffasearch_move(s->all, s->place[i].search, s->place[i].k, err);
    return st ? st : write_list(s, err);
}

static const void *result(const void *state)
{
    const struct ffa *s = state;
    return &s->found;
}

static void abort_sink(void *state)
{
    struct ffa *s = state;
    if (!s)
        return;
    psr_series_search_destroy(&s->search);
    psr_ffasearch_destroy(s->recalled);
    psr_ffasearch_destroy(s->all);
    psr_zaplist_clear(&s->zaplist);
    free(s->place);
    free(s);
}

const struct psr_sink_ops psr_sink_ffa = {
    .name = "ffa",
    .names = names,
    .begin = begin,
    .finish = finish,
    .result = result,
    .abort = abort_sink,
};

/* Built-in ones. */
enum { NROW = 8 };

struct sink {
    const struct psr_sink_ops *ops;
    const void *desc;
    void *state;
    bool begun, finished, parts, equalised;
    bool (*recalled)(const void *state); /* once begun; NULL: never */
    double *charged_s;                   /* what its time counts as */
};

struct psr_sinks {
    struct sink *sink; /* [n] */
    size_t n;
    struct psr_sink_series_desc series;
    struct psr_whole_series kept;
    struct psr_whole_series_use keep, fourier, ffa;
    struct psr_sink_stream whole; /* as most sinks see it: without lines of parts of the band */
    double write_s, search_s;
};

static bool is_recalled(const struct sink *k)
{
    return k->recalled && k->recalled(k->state);
}

static bool takes_line(const psr_sinks *s, const struct sink *k, size_t line)
{
    return !is_recalled(k) && (k->parts || line < s->whole.nline);
}

static size_t count_whole(const struct psr_sink_stream *stream)
{
    size_t n = 0;
    while (n < stream->nline && !stream->line[n].part)
        n++;
    return n;
}

static struct psr_sink_stream without_parts(const struct psr_sink_stream *stream)
{
    struct psr_sink_stream whole = *stream;
    whole.nline = count_whole(stream);
    if (whole.nline < stream->nline)
        whole.ndm = stream->line[whole.nline].first;
    return whole;
}

/* What searches of whole series read is kept once for all of them. */
static void describe_kept(psr_sinks *s, const struct psr_pipeline_desc *d)
{
    const bool segments = d->fourier && d->fourier->segments;
    s->kept.nreader = (d->fourier ? segments ? PSR_SEGMENTS : 1 : 0) + (size_t) !!d->ffa;
    s->kept.mem_bytes = d->fourier ? d->fourier->mem_bytes : d->ffa ? d->ffa->mem_bytes : 0;
    s->kept.nopad = d->fourier ? d->fourier->nopad : d->ffa && d->ffa->nopad;
    s->keep.series = s->fourier.series = s->ffa.series = &s->kept;
    s->fourier.desc = d->fourier;
    s->ffa.desc = d->ffa;
}

/* Adds the built-in sinks.  They finish in this order: the files of series come last, as they mark a run as
 * complete. */
static void add_rows(psr_sinks *s, const struct psr_pipeline_desc *d)
{
    const struct row {
        const struct psr_sink_ops *ops;
        bool on;
        const void *desc;
        bool searches;
        bool parts;     /* takes lines of parts of the band */
        bool equalised; /* takes equalised series */
        bool (*recalled)(const void *state);
    } rows[NROW] = {
        {&psr_sink_pulses, d->pulses, d->pulses, true, true, true, psr_sink_pulses_are_recalled},
        {&psr_sink_live, d->live, d->live, true, false, true, NULL},
        {&psr_sink_whole_series, d->fourier || d->ffa, &s->keep, true, false, false, NULL},
        {&psr_sink_fourier, d->fourier, &s->fourier, true, false, false, NULL},
        {&psr_sink_ffa, d->ffa, &s->ffa, true, false, false, NULL},
        {&psr_sink_checksums, d->checksums, NULL, false, false, false, NULL},
        {&psr_sink_subbands, d->files == PSR_FILES_SUBBANDS, NULL, false, false, false, NULL},
        {&psr_sink_series, psr_pipeline_has_series(d), &s->series, false, false, false, NULL},
    };
    s->series = (struct psr_sink_series_desc){.tim = d->files == PSR_FILES_TIM, .nopad = d->nopad};
    describe_kept(s, d);
    for (const struct row *row = rows; row < rows + NROW; row++)
        if (row->on)
            s->sink[s->n++] =
                (struct sink){.ops = row->ops,
                              .desc = row->desc,
                              .parts = row->parts,
                              .equalised = row->equalised,
                              .recalled = row->recalled,
                              .charged_s = row->searches ? &s->search_s : &s->write_s};
}

psr_status psr_sinks_create(psr_sinks **out, const struct psr_pipeline_desc *desc, psr_err *err)
{
    *out = NULL;
    psr_sinks *s = calloc(1, sizeof *s);
    if (s)
        s->sink = calloc(NROW + desc->nsink, sizeof *s->sink);
    if (!s || !s->sink) {
        free(s);
        return psr_fail_nomem(err, "sinks", (double)(NROW + desc->nsink) * sizeof *s->sink);
    }
    add_rows(s, desc);
    for (size_t k = 0; k < desc->nsink; k++)
        s->sink[s->n++] = (struct sink){.ops = desc->sink[k].ops,
                                        .desc = desc->sink[k].desc,
                                        .equalised = true,
                                        .charged_s = &s->search_s};
    *out = s;
    return PSR_OK;
}

psr_status psr_sinks_names(const psr_sinks *s, const struct psr_sink_stream *stream,
                           psr_status (*check)(void *ctx, const char *name, psr_err *err),
                           void *ctx, psr_err *err)
{
    const struct psr_sink_stream whole = without_parts(stream);
    psr_status st = PSR_OK;
    for (const struct sink *k = s->sink; k < s->sink + s->n && !st; k++)
        if (k->ops->names)
            st = k->ops->names(k->desc, k->parts ? stream : &whole, check, ctx, err);
    return st;
}

psr_status psr_sinks_begin(psr_sinks *s, const struct psr_sink_stream *stream, psr_err *err)
{
    psr_status st = PSR_OK;
    s->whole = without_parts(stream);
    for (struct sink *k = s->sink; k < s->sink + s->n && !st; k++) {
        k->begun = true;
        st = k->ops->begin(&k->state, k->desc, k->parts ? stream : &s->whole, err);
    }
    return st;
}

psr_status psr_sinks_push(psr_sinks *s, size_t line, const struct psr_block *series, psr_err *err)
{
    double since_s = psr_seconds();
    psr_status st = PSR_OK;
    for (struct sink *k = s->sink; k < s->sink + s->n && !st; k++) {
        if (!k->ops->push || !takes_line(s, k, line))
            continue;
        st = series->series ? k->ops->push(k->state, line, series, err)
                            : k->ops->push_device(k->state, line, series, err);
        psr_charge(k->charged_s, &since_s);
    }
    return st;
}

psr_status psr_sinks_gap(psr_sinks *s, size_t line, struct psr_span span, bool told, psr_err *err)
{
    psr_status st = PSR_OK;
    for (struct sink *k = s->sink; k < s->sink + s->n && !st; k++)
        if (k->ops->gap && (k->ops->masked || !told) && takes_line(s, k, line))
            st = k->ops->gap(k->state, line, span, err);
    return st;
}

psr_status psr_sinks_finish(psr_sinks *s, const struct psr_sink_end *end, psr_err *err)
{
    double since_s = psr_seconds();
    psr_status st = PSR_OK;
    for (struct sink *k = s->sink; k < s->sink + s->n && !st; k++) {
        st = k->ops->finish ? k->ops->finish(k->state, end, err) : PSR_OK;
        psr_charge(k->charged_s, &since_s);
    }
    for (struct sink *k = s->sink; k < s->sink + s->n && !st; k++) {
        st = k->ops->end ? k->ops->end(k->state, err) : PSR_OK;
        k->finished = st == PSR_OK;
        psr_charge(k->charged_s, &since_s);
    }
    return st;
}

const void *psr_sinks_result(const psr_sinks *s, const char *name)
{
    for (const struct sink *k = s->sink; k < s->sink + s->n; k++)
        if (k->finished && k->ops->result && !strcmp(k->ops->name, name))
            return k->ops->result(k->state);
    return NULL;
}

bool psr_sinks_take_devices(const psr_sinks *s)
{
    bool all = s->n > 0;
    for (size_t k = 0; k < s->n; k++)
        all &= s->sink[k].ops->push_device || !s->sink[k].ops->push;
    return all;
}

bool psr_sinks_take_gaps(const psr_sinks *s)
{
    bool any = false;
    for (size_t k = 0; k < s->n; k++)
        any |= s->sink[k].ops->gap != NULL;
    return any;
}

bool psr_sinks_take_line(const psr_sinks *s, size_t line)
{
    bool any = false;
    for (const struct sink *k = s->sink; k < s->sink + s->n; k++)
        any |= k->ops->push && takes_line(s, k, line);
    return any;
}

bool psr_sinks_take_equalised(const psr_sinks *s)
{
    bool any = false;
    for (const struct sink *k = s->sink; k < s->sink + s->n; k++)
        any |= k->equalised && !is_recalled(k);
    return any;
}

double psr_sinks_write_s(const psr_sinks *s)
{
    return s->write_s;
}

double psr_sinks_search_s(const psr_sinks *s)
{
    return s->search_s;
}

void psr_sinks_abort(psr_sinks *s)
{
    if (!s)
        return;
    for (struct sink *k = s->sink + s->n; k-- > s->sink;)
        if (k->begun)
            k->ops->abort(k->state);
    free(s->sink);
    free(s);
}
