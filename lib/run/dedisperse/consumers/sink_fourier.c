/* Sink that searches complete series for periodic signals, and writes the lists. */
#include "sink_rows.h"

#include "base/clock.h"
#include "base/copy_desc.h"
#include "base/tool.h"
#include "formats/series/series_inf.h"
#include "formats/series/series_name.h"
#include "whole_series.h"
#include <psrkit/experimental/fourier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A series of a batch. */
struct gathered {
    size_t i, line;
    struct psr_spectrum_file about;
    char stem[PSR_TEXT_MAX];
    const struct psr_sink_end *end; /* of its line */
    psr_status status;              /* of reading it */
    psr_err err;
};

/* Series of one shape, up to the batch of the plan. */
struct batch {
    struct gathered *gathered; /* [n] */
    struct psr_fourier_input *in;
    size_t n;
};

struct fourier {
    struct psr_sink_fourier_desc d;
    struct psr_sink_stream stream;
    struct psr_whole_series series;
    struct psr_fourier_desc what;
    struct psr_zaplist zaplist;
    psr_fourier *search;
    struct batch batch[PSR_FOURIER_SLOTS];
    size_t slot; /* of the batch that is gathered, and then loaded */
    struct psr_async_task loader;
    struct psr_fourier_found found;
    bool said_red;
};

/* --- the beginning ---------------------------------------------------------------------------- */

static psr_status names(const void *desc, const struct psr_sink_stream *stream,
                        psr_status (*check)(void *ctx, const char *name, psr_err *err), void *ctx,
                        psr_err *err)
{
    const struct psr_sink_fourier_desc *d = desc;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < stream->ndm && !st; i++) {
        char stem[PSR_TEXT_MAX];
        psr_series_stem(stem, stream->root, stream->dm[i], stream->dm_decimals);
        st = psr_fourier_names(d->search, stem, check, ctx, err);
        strncat(stem, ".inf", sizeof stem - strlen(stem) - 1);
        if (!st && !d->noinf)
            st = check(ctx, stem, err);
    }
    return st;
}

/* A plan that cannot be made is an error now, not when hours of input have been read.  With it made,
 * devices have left what series may fill, but for what searches of single pulses take as they go. */
static psr_status try_plan(struct fourier *s, psr_err *err)
{
    const int64_t nbin = psr_whole_series_expect(&s->stream, s->d.nopad) / 2;
    const struct psr_fourier_shape shape = {nbin, 2 * (double)nbin * s->stream.line->tsamp_s, true,
                                            false};
    psr_status st = PSR_OK;
    if (nbin > 0)
        st = psr_fourier_plan(s->search, &shape, s->stream.ndm, err);
    if (!st)
        psr_whole_series_leave(&s->series, nbin > 0);
    return st;
}

static psr_status create_search(struct fourier *s, psr_err *err)
{
    psr_status st = psr_copy_desc(&s->what, sizeof s->what, s->d.search, "Fourier search", err);
    s->what.zaplist = &s->zaplist;
    s->what.should_stop = s->stream.should_stop;
    s->what.ctx = s->stream.ctx;
    if (s->what.baryv == 0)
        s->what.baryv = s->stream.voverc;
    if (!st && s->d.zaplist)
        st = psr_zaplist_read(&s->zaplist, s->d.zaplist, err);
    if (!st)
        st = psr_fourier_create(&s->search, &s->what, err);
    return st ? st : try_plan(s, err);
}

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
{
    struct fourier *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "a Fourier search", sizeof *s);
    s->d = *(const struct psr_sink_fourier_desc *)desc;
    s->stream = *stream;
    psr_status st =
        psr_whole_series_create(&s->series, &s->stream, s->d.mem_bytes, s->d.nopad, err);
    return st ? st : create_search(s, err);
}

/* --- series ----------------------------------------------------------------------------------- */

static psr_status push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    const struct fourier *s = state;
    return psr_whole_series_push(&s->series, line, b, err);
}

static psr_status push_device(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    struct fourier *s = state;
    return psr_whole_series_push_device(&s->series, line, b, err);
}

/* Waits for the series on devices, and counts the bytes of all. */
static psr_status settle(struct fourier *s, psr_err *err)
{
    struct psr_whole_series_bytes bytes;
    psr_status st = psr_whole_series_settle(&s->series, &bytes, err);
    s->found.device_bytes = bytes.device;
    s->found.memory_bytes = bytes.memory;
    s->found.scratch_bytes = bytes.scratch;
    return st;
}

/* --- a batch ---------------------------------------------------------------------------------- */

/* Of a series that cannot be searched, as one without data: the others can. */
static void refuse(struct fourier *s, const struct gathered *g, const psr_err *why)
{
    const char *name = strstr(why->msg, g->stem) ? "" : g->stem;
    psr_note(&s->stream.notes, "%s%s%s", name, *name ? ": " : "", why->msg);
    s->found.nrefused++;
}

/* The samples of a series as its .dat file would have them, in the plan's form. */
static psr_status load(const struct fourier *s, struct gathered *g, struct psr_fourier_input *in)
{
    const int64_t length = 2 * g->about.nbin;
    psr_err *err = &g->err;
    if (!in->x)
        return psr_fail_nomem(err, in->name, 4.0 * (double)length);
    const struct psr_whole_series_read r = {
        .line = g->line, .i = g->i, .length = length, .end = g->end};
    psr_status st = psr_whole_series_read(&s->series, &r, in->x, err);
    if (!st)
        st = psr_spectrum_level(&g->about, in->name, in->x, err);
    if (!st)
        st = psr_fourier_prepare(s->search, in, NULL, err);
    return st ? st : psr_fourier_whiten(s->search, in, err);
}

static struct psr_fourier_input input_of(const struct gathered *g, float *x)
{
    return (struct psr_fourier_input){
        .name = g->stem, .shape = psr_fourier_shape_of(&g->about), .x = x};
}

/* Loads the batch that was gathered. */
static psr_status load_batch(void *state, psr_err *err)
{
    struct fourier *s = state;
    struct batch *b = &s->batch[s->slot];
    double since_s = psr_seconds();
    (void)err; /* each series has its own status */
    for (size_t k = 0; k < b->n; k++)
        b->in[k] = input_of(&b->gathered[k], psr_fourier_room(s->search, s->slot, k));
#pragma omp parallel for schedule(dynamic) num_threads(s->stream.nthread)
    for (size_t k = 0; k < b->n; k++) {
        b->gathered[k].status = load(s, &b->gathered[k], &b->in[k]);
        psr_whole_series_drop(&s->series, b->gathered[k].i);
    }
    psr_charge(&s->found.load_s, &since_s);
    return PSR_OK;
}

/* Takes series that cannot be searched out of a loaded batch. */
static psr_status drop_refused(struct fourier *s, struct batch *b, psr_err *err)
{
    size_t n = 0;
    for (size_t k = 0; k < b->n; k++) {
        const struct gathered *g = &b->gathered[k];
        if (g->status && g->status != PSR_EFORMAT)
            return psr_fail_field(err, g->status, g->err.field, "%s", g->err.msg);
        if (g->status) {
            refuse(s, g, &g->err);
            continue;
        }
        b->gathered[n] = *g;
        b->in[n] = b->in[k];
        b->in[n].name = b->gathered[n].stem;
        n++;
    }
    b->n = n;
    return PSR_OK;
}

static psr_status write_lists(struct fourier *s, size_t slot, size_t k, psr_err *err)
{
    const struct gathered *g = &s->batch[slot].gathered[k];
    const struct psr_fourier_origin origin = {&g->about.inf, NULL};
    struct psr_fourier_result result;
    psr_status st = psr_fourier_list(s->search, slot, k, &result, err);
    if (st == PSR_EFORMAT) {
        refuse(s, g, err);
        return PSR_OK;
    }
    if (st)
        return st;
    st = psr_fourier_write(&s->what, s->stream.group, g->stem, &origin, &result, err);
    s->found.nsearched++;
    s->found.ncand += result.ncand;
    s->found.nleft_out += result.left_out;
    /* Of the first such series: thousands would say the same. */
    s->said_red = s->said_red || psr_fourier_note_red_noise(&result, g->stem, &s->stream.notes);
    psr_fourier_result_clear(&result);
    return st;
}

static psr_status search_batch(struct fourier *s, size_t slot, psr_err *err)
{
    struct batch *b = &s->batch[slot];
    double since_s = psr_seconds();
    psr_status st = psr_fourier_execute(s->search, slot, b->n, b->in, err);
    psr_charge(&s->found.search_s, &since_s);
    for (size_t k = 0; k < b->n && !st; k++) {
        if (s->stream.should_stop && s->stream.should_stop(s->stream.ctx))
            st = psr_fail(err, PSR_ESTOPPED, "stopped");
        else
            st = write_lists(s, slot, k, err);
    }
    psr_charge(&s->found.write_s, &since_s);
    b->n = 0;
    return st;
}

/* Has the batch that was gathered loaded, while the one before is searched. */
static psr_status overlap(struct fourier *s, psr_err *err)
{
    const size_t before = (s->slot + 1) % PSR_FOURIER_SLOTS;
    psr_async_task_start(&s->loader, load_batch, s);
    psr_status st = search_batch(s, before, err);
    (void)!psr_async_task_wait(&s->loader, NULL);
    if (!st)
        st = drop_refused(s, &s->batch[s->slot], err);
    s->slot = before;
    return st;
}

/* Where there is one slot, loads and searches. */
static psr_status flush(struct fourier *s, psr_err *err)
{
    if (psr_fourier_nslot(s->search) > 1)
        return overlap(s, err);
    psr_status st = load_batch(s, err);
    if (!st)
        st = drop_refused(s, &s->batch[s->slot], err);
    return st ? st : search_batch(s, s->slot, err);
}

/* Searches all that was gathered: first what is gathered is loaded, then what is loaded is searched. */
static psr_status drain(struct fourier *s, psr_err *err)
{
    psr_status st = flush(s, err);
    return st ? st : flush(s, err);
}

/* --- all series ------------------------------------------------------------------------------- */

static void free_batches(struct fourier *s)
{
    for (struct batch *b = s->batch; b < s->batch + PSR_FOURIER_SLOTS; b++) {
        free(b->gathered);
        free(b->in);
        *b = (struct batch){.n = 0};
    }
}

static psr_status create_batches(struct fourier *s, psr_err *err)
{
    const size_t most = psr_fourier_batch(s->search);
    for (size_t k = 0; k < psr_fourier_nslot(s->search); k++) {
        struct batch *b = &s->batch[k];
        b->gathered = calloc(most, sizeof *b->gathered);
        b->in = calloc(most, sizeof *b->in);
        if (!b->gathered || !b->in)
            return psr_fail_nomem(err, "a batch", (double)most * sizeof *b->gathered);
    }
    return PSR_OK;
}

/* Makes the plan for series of another length, and room for its batches. */
static psr_status plan(struct fourier *s, const struct psr_fourier_shape *shape, psr_err *err)
{
    psr_status st = s->batch->gathered ? drain(s, err) : PSR_OK;
    const size_t left = s->stream.ndm - s->found.nsearched - s->found.nrefused;
    free_batches(s);
    s->slot = 0;
    if (!st)
        st = psr_fourier_plan(s->search, shape, left, err);
    return st ? st : create_batches(s, err);
}

static psr_status add_series(struct fourier *s, size_t line, size_t i,
                             const struct psr_sink_end *end, psr_err *err)
{
    struct gathered g = {.i = i, .line = line, .end = end};
    const int64_t length = psr_sink_series_length(&s->stream, end, s->d.nopad);
    struct psr_inf inf;
    psr_status st =
        psr_whole_series_describe(&s->series, line, i, length, !s->d.noinf, g.stem, &inf, err);
    psr_spectrum_of_series(&g.about, &inf);
    if (st)
        return st;
    const int64_t n = psr_whole_series_length(&s->series, line, i);
    if (n == 0 || g.about.nbin < 1) {
        psr_fail(&g.err, PSR_EFORMAT, "%lld samples, at least 2 are needed", (long long)n);
        refuse(s, &g, &g.err);
        return PSR_OK;
    }
    const struct psr_fourier_shape shape = psr_fourier_shape_of(&g.about);
    if (!s->batch->gathered || !psr_fourier_fits(s->search, &shape))
        st = plan(s, &shape, err);
    if (st)
        return st;
    struct batch *b = &s->batch[s->slot];
    b->gathered[b->n++] = g;
    return b->n == psr_fourier_batch(s->search) ? flush(s, err) : PSR_OK;
}

static psr_status finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct fourier *s = state;
    const struct psr_sink_stream *stream = &s->stream;
    psr_status st = settle(s, err);
    for (size_t k = 0; k < stream->nline && !st; k++) {
        const struct psr_sink_line *l = &stream->line[k];
        for (size_t i = l->first; i < l->first + l->nseries && !st; i++)
            st = add_series(s, k, i, &end[k], err);
    }
    return st || !s->batch->gathered ? st : drain(s, err);
}

static const void *result(const void *state)
{
    const struct fourier *s = state;
    return &s->found;
}

static void abort_sink(void *state)
{
    struct fourier *s = state;
    if (!s)
        return;
    psr_async_task_end(&s->loader);
    psr_fourier_destroy(s->search);
    psr_zaplist_clear(&s->zaplist);
    psr_whole_series_destroy(&s->series);
    free_batches(s);
    free(s);
}

const struct psr_sink_ops psr_sink_fourier = {
    .name = "fourier",
    .names = names,
    .begin = begin,
    .push = push,
    .push_device = push_device,
    .finish = finish,
    .result = result,
    .abort = abort_sink,
};
