/* Sink that searches complete series for periodic signals, and writes the lists. */
#include "sinks.h"

#include "base/base.h"
#include "base/output/outfile_internal.h"
#include "formats/series/series_internal.h"
#include <inttypes.h>
#include <psrkit/experimental/fourier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fourier {
    struct psr_sink_fourier_desc d;
    const struct psr_sink_stream *stream;
    struct psr_fourier_desc what;
    struct psr_zaplist zaplist;
    struct psr_series_search search;
    size_t nrecalled;                  /* series that an earlier run has searched */
    const struct psr_searched *red;    /* the first in the order of trials with red noise, */
    struct psr_fourier_result how_red; /* and what is said of it */
};

/* On a device. */
struct plan {
    psr_fourier *fourier;
    struct psr_fourier_input *in[PSR_FOURIER_SLOTS]; /* [batch] each */
    struct psr_fourier_result result;                /* of the last series that was listed */
};

/* --- plans ------------------------------------------------------------------------------------ */

static psr_status create(void *sink, const char *device, int nthread, void **search, psr_err *err)
{
    const struct fourier *s = sink;
    struct psr_fourier_desc d = s->what;
    struct plan *p = *search = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a Fourier search", sizeof *p);
    d.device = device;
    d.nthread = nthread ? nthread : d.nthread;
    return psr_fourier_create(&p->fourier, &d, err);
}

static void destroy(void *search)
{
    struct plan *p = search;
    psr_fourier_result_clear(&p->result);
    psr_fourier_destroy(p->fourier);
    for (size_t k = 0; k < PSR_FOURIER_SLOTS; k++)
        free(p->in[k]);
    free(p);
}

static bool fits(const void *search, const struct psr_searched *g)
{
    const struct psr_fourier_shape shape = psr_fourier_shape_of(&g->about);
    return psr_fourier_fits(((const struct plan *)search)->fourier, &shape);
}

static psr_status make_plan(void *search, const struct psr_searched *g, size_t ninput,
                            size_t *batch, size_t *nslot, psr_err *err)
{
    struct plan *p = search;
    const struct psr_fourier_shape shape = psr_fourier_shape_of(&g->about);
    psr_status st = psr_fourier_plan(p->fourier, &shape, ninput, err);
    *batch = st ? 0 : psr_fourier_batch(p->fourier);
    *nslot = st ? 0 : psr_fourier_nslot(p->fourier);
    for (size_t k = 0; k < *nslot && !st; k++) {
        free(p->in[k]);
        p->in[k] = calloc(*batch, sizeof *p->in[k]);
        st = p->in[k] ? PSR_OK : psr_fail_nomem(err, "a batch", (double)*batch * sizeof *p->in[k]);
    }
    return st;
}

/* --- a batch ---------------------------------------------------------------------------------- */

static float *room(void *search, size_t slot, size_t k)
{
    return psr_fourier_room(((struct plan *)search)->fourier, slot, k);
}

static struct psr_fourier_input input_of(const struct psr_searched *g)
{
    return (struct psr_fourier_input){.name = g->stem,
                                      .shape = psr_fourier_shape_of(&g->about),
                                      .x = g->x,
                                      .photons = g->photons};
}

static psr_status load(void *search, struct psr_searched *g, psr_err *err)
{
    const struct plan *p = search;
    struct psr_fourier_input in = input_of(g);
    psr_status st = psr_fourier_prepare(p->fourier, &in, NULL, err);
    if (!st)
        st = psr_fourier_whiten(p->fourier, &in, err);
    g->photons = in.photons;
    return st;
}

static psr_status execute(void *search, size_t slot, size_t n, struct psr_searched *const *g,
                          psr_err *err)
{
    struct plan *p = search;
    for (size_t k = 0; k < n; k++)
        p->in[slot][k] = input_of(g[k]);
    return psr_fourier_execute(p->fourier, slot, n, p->in[slot], err);
}

static psr_status list(void *search, size_t slot, size_t k, const struct psr_searched *g,
                       psr_err *err)
{
    struct plan *p = search;
    (void)g;
    psr_fourier_result_clear(&p->result);
    return psr_fourier_list(p->fourier, slot, k, &p->result, err);
}

/* Of the first such series: thousands would say the same. */
static void keep_red_noise(struct fourier *s, const struct psr_searched *g,
                           const struct psr_fourier_result *r)
{
    if (!(r->red_hz > 0) || g->read.segment.of > 1 || (s->red && s->red->read.i < g->read.i))
        return;
    s->red = g;
    s->how_red = (struct psr_fourier_result){
        .red_hz = r->red_hz, .red_level = r->red_level, .red_from_hz = r->red_from_hz};
}

static psr_status digest_series(const struct fourier *s, const struct psr_searched *g,
                                uint64_t *key, psr_err *err)
{
    const struct psr_fourier_desc *d = &s->what;
    const double number[] = {d->boxes,
                             d->matched,
                             d->confirm,
                             d->presto,
                             d->pulscan,
                             (double)d->zmax,
                             (double)d->wmax,
                             (double)d->numharm,
                             d->sigma,
                             d->flo_hz,
                             d->fhi_hz,
                             d->rlo,
                             d->rhi,
                             d->lobin,
                             (double)d->zstep,
                             (double)d->chunkwidth,
                             (double)d->normalizechunkwidth,
                             d->logz,
                             d->rblock,
                             (double)d->turbo,
                             (double)d->significance,
                             d->noharmremove,
                             d->noharmpolish,
                             d->inmem,
                             d->photon,
                             d->locpow,
                             d->baryv,
                             (double)d->maxcands,
                             d->rednoise,
                             (double)d->startwidth,
                             (double)d->endwidth,
                             d->endfreq_hz};
    psr_status st = psr_searched_digest(g, &s->zaplist, key, err);
    *key = psr_digest_bytes(*key, number, sizeof number);
    *key = psr_digest_text(*key, d->device);
    return st;
}

static void count(struct fourier *s, const struct psr_searched *g,
                  const struct psr_fourier_result *result)
{
    s->search.found.ncand += result->ncand;
    s->search.found.nleft_out += result->left_out;
    keep_red_noise(s, g, result);
}

static psr_status keep(void *sink, void *search, const struct psr_searched *g, psr_err *err)
{
    struct fourier *s = sink;
    const struct psr_fourier_result *r = &((struct plan *)search)->result;
    const struct psr_fourier_origin origin = {&g->about.inf, NULL};
    char text[PSR_RECORD_TEXT];
    uint64_t key, red[3];
    count(s, g, r);
    psr_output_group_begin_part(s->stream->group);
    psr_status st = psr_fourier_write(&s->what, s->stream->group, g->stem, &origin, r, err);
    if (!st)
        st = digest_series(s, g, &key, err);
    memcpy(red, (const double[]){r->red_hz, r->red_level, r->red_from_hz}, sizeof red);
    snprintf(text, sizeof text, "%zu %zu %" PRIx64 " %" PRIx64 " %" PRIx64, r->ncand, r->left_out,
             red[0], red[1], red[2]);
    return st ? st : psr_output_group_end_part(s->stream->group, key, g->stem, text, err);
}

/* What recall_list needs. */
struct recalling {
    psr_output_group *group;
    uint64_t key;
};

static psr_status recall_list(void *ctx, const char *name, psr_err *err)
{
    const struct recalling *r = ctx;
    return psr_output_group_recall_list(r->group, r->key, name, err);
}

static psr_status recall(void *sink, const struct psr_searched *g, bool *found, psr_err *err)
{
    struct fourier *s = sink;
    struct psr_fourier_result r = {.ncand = 0};
    struct recalling of = {.group = s->stream->group};
    uint64_t red[3];
    double value[3];
    *found = false;
    psr_status st = digest_series(s, g, &of.key, err);
    const char *text = st ? NULL : psr_output_group_recall(of.group, of.key);
    if (!text || sscanf(text, "%zu %zu %" SCNx64 " %" SCNx64 " %" SCNx64, &r.ncand, &r.left_out,
                        &red[0], &red[1], &red[2]) != 5)
        return st;
    memcpy(value, red, sizeof value);
    r.red_hz = value[0], r.red_level = value[1], r.red_from_hz = value[2];
    st = psr_fourier_names(&s->what, g->stem, recall_list, &of, err);
    *found = !st;
    s->nrecalled += *found;
    if (*found)
        count(s, g, &r);
    return st;
}

static const struct psr_series_method method = {
    .name = "a Fourier search",
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
    const struct psr_sink_fourier_desc *d = ((const struct psr_whole_series_use *)desc)->desc;
    psr_status st = PSR_OK;
    for (size_t k = 0; k < stream->ndm * (d->segments ? PSR_SEGMENTS : 1) && !st; k++) {
        const size_t segment = k / stream->ndm, i = k % stream->ndm;
        char stem[PSR_TEXT_MAX];
        psr_series_stem(stem, stream->root, stream->dm[i], stream->dm_decimals);
        psr_segment_name(stem, psr_segment_of(segment));
        st = psr_fourier_names(d->search, stem, check, ctx, err);
        strncat(stem, ".inf", sizeof stem - strlen(stem) - 1);
        if (!st && (!d->noinf || segment > 0))
            st = check(ctx, stem, err);
    }
    return st;
}

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
{
    const struct psr_whole_series_use *use = desc;
    struct fourier *s = *state = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, method.name, sizeof *s);
    s->d = *(const struct psr_sink_fourier_desc *)use->desc;
    s->stream = stream;
    psr_status st = psr_copy_desc(&s->what, sizeof s->what, s->d.search, "Fourier search", err);
    s->what.zaplist = &s->zaplist;
    s->what.should_stop = psr_series_search_is_stopped;
    s->what.ctx = &s->search;
    if (s->what.baryv == 0)
        s->what.baryv = stream->voverc;
    if (!st && s->d.zaplist)
        st = psr_zaplist_read(&s->zaplist, s->d.zaplist, err);
    if (st)
        return st;
    return psr_series_search_create(
        &s->search,
        &(struct psr_series_search_desc){&method, s, stream, use->series, s->what.device,
                                         s->d.nopad, s->d.noinf, s->d.segments, s->what.presto},
        err);
}

static psr_status finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct fourier *s = state;
    psr_status st = psr_series_search_run(&s->search, end, err);
    psr_series_search_note(&s->search, st, s->nrecalled, "");
    if (s->red)
        psr_fourier_note_red_noise(&s->how_red, s->red->stem, &s->stream->notes);
    return st;
}

static const void *result(const void *state)
{
    const struct fourier *s = state;
    return &s->search.found;
}

static void abort_sink(void *state)
{
    struct fourier *s = state;
    if (!s)
        return;
    psr_series_search_destroy(&s->search);
    psr_zaplist_clear(&s->zaplist);
    free(s);
}

const struct psr_sink_ops psr_sink_fourier = {
    .name = "fourier",
    .names = names,
    .begin = begin,
    .finish = finish,
    .result = result,
    .abort = abort_sink,
};
