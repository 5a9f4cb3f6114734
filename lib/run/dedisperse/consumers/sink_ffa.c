/* Sink that searches complete series for slow pulsars, and writes one list for all DMs. */
#include "sink_rows.h"

#include "base/clock.h"
#include "base/copy_desc.h"
#include "base/tool.h"
#include "formats/series/series_inf.h"
#include "formats/series/series_internal.h"
#include "formats/series/series_name.h"
#include "whole_series.h"
#include <psrkit/experimental/ffa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A series of a batch. */
struct gathered {
    struct psr_whole_series_read read;
    struct psr_spectrum_file about;
    char stem[PSR_TEXT_MAX];
    float *x;
    psr_status status; /* of reading it */
    psr_err err;
};

struct ffa {
    struct psr_sink_ffa_desc d;
    struct psr_sink_stream stream;
    struct psr_whole_series series;
    struct psr_ffasearch_desc what;
    struct psr_zaplist zaplist;
    psr_ffasearch *search;
    struct gathered *gathered; /* [n], with room for max: series of one shape */
    struct psr_ffasearch_input *in;
    size_t n, max;
    struct psr_ffa_series_found found;
};

static void name_list(char name[PSR_TEXT_MAX], const char *root)
{
    snprintf(name, PSR_TEXT_MAX, "%.*s_ffa.csv", PSR_TEXT_MAX - 16, root);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static psr_status names(const void *desc, const struct psr_sink_stream *stream,
                        psr_status (*check)(void *ctx, const char *name, psr_err *err), void *ctx,
                        psr_err *err)
{
    const struct psr_sink_ffa_desc *d = desc;
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

/* A plan that cannot be made is an error now, not when hours of input have been read. */
static psr_status try_plan(struct ffa *s, psr_err *err)
{
    const struct psr_ffasearch_shape shape = {
        .nsamp = psr_whole_series_expect(&s->stream, s->d.nopad) / 2 * 2,
        .tsamp_s = s->stream.line->tsamp_s};
    psr_status st = PSR_OK;
    if (shape.nsamp > 0)
        st = psr_ffasearch_plan(s->search, &shape, s->stream.ndm, NULL, err);
    if (!st)
        psr_whole_series_leave(&s->series, shape.nsamp > 0);
    return st;
}

static psr_status create_search(struct ffa *s, psr_err *err)
{
    psr_status st = psr_copy_desc(&s->what, sizeof s->what, s->d.search, "FFA search", err);
    s->what.should_stop = s->stream.should_stop;
    s->what.ctx = s->stream.ctx;
    if (s->what.baryv == 0)
        s->what.baryv = s->stream.voverc;
    if (!st && s->d.zaplist) {
        st = psr_zaplist_read(&s->zaplist, s->d.zaplist, err);
        s->what.zaplist = &s->zaplist;
    }
    if (!st)
        st = psr_ffasearch_create(&s->search, &s->what, err);
    return st ? st : try_plan(s, err);
}

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
{
    struct ffa *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "an FFA search", sizeof *s);
    s->d = *(const struct psr_sink_ffa_desc *)desc;
    s->stream = *stream;
    psr_status st =
        psr_whole_series_create(&s->series, &s->stream, s->d.mem_bytes, s->d.nopad, err);
    return st ? st : create_search(s, err);
}

static psr_status push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    const struct ffa *s = state;
    return psr_whole_series_push(&s->series, line, b, err);
}

static psr_status push_device(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    struct ffa *s = state;
    return psr_whole_series_push_device(&s->series, line, b, err);
}

/* --- a batch ---------------------------------------------------------------------------------- */

/* Of a series that cannot be searched, as one without data: the others can. */
static void refuse(struct ffa *s, const char *stem, const psr_err *why)
{
    const char *name = strstr(why->msg, stem) ? "" : stem;
    psr_note(&s->stream.notes, "%s%s%s", name, *name ? ": " : "", why->msg);
    s->found.nrefused++;
}

/* The samples of a series as its .dat file would have them. */
static psr_status load(const struct ffa *s, struct gathered *g)
{
    const int64_t n = 2 * g->about.nbin;
    g->x = malloc((size_t)(n + 1) * sizeof *g->x);
    if (!g->x)
        return psr_fail_nomem(&g->err, g->stem, 4.0 * (double)n);
    g->read.length = n;
    psr_status st = psr_whole_series_read(&s->series, &g->read, g->x, &g->err);
    if (!st)
        st = psr_spectrum_level(&g->about, g->stem, g->x, &g->err);
    if (!st)
        psr_spectrum_rescale(g->x, n, true);
    psr_whole_series_drop(&s->series, g->read.i);
    return st;
}

static void empty_batch(struct ffa *s)
{
    for (size_t k = 0; k < s->n; k++)
        free(s->gathered[k].x);
    s->n = 0;
}

static psr_status load_batch(struct ffa *s, psr_err *err)
{
    size_t n = 0;
    psr_status st = PSR_OK;
#pragma omp parallel for schedule(dynamic) num_threads(s->stream.nthread)
    for (size_t k = 0; k < s->n; k++)
        s->gathered[k].status = load(s, &s->gathered[k]);
    for (size_t k = 0; k < s->n; k++) {
        const struct gathered *g = &s->gathered[k];
        if (g->status == PSR_EFORMAT)
            refuse(s, g->stem, &g->err);
        else if (g->status)
            st = psr_fail_field(err, g->status, g->err.field, "%s", g->err.msg);
        if (g->status) {
            free(g->x);
            continue;
        }
        s->gathered[n] = *g;
        s->in[n] = (struct psr_ffasearch_input){s->gathered[n].stem, s->gathered[n].x};
        n++;
    }
    s->n = n;
    return st;
}

static psr_status take_found(struct ffa *s, size_t k, psr_err *err)
{
    psr_status st = psr_ffasearch_take(s->search, k, &s->gathered[k].about.inf, err);
    s->found.nsearched += !st;
    if (st != PSR_EFORMAT)
        return st;
    refuse(s, s->gathered[k].stem, err);
    return PSR_OK;
}

/* Searches what was gathered. */
static psr_status flush(struct ffa *s, psr_err *err)
{
    double since_s = psr_seconds();
    psr_status st = s->n ? load_batch(s, err) : PSR_OK;
    psr_charge(&s->found.load_s, &since_s);
    if (!st && s->n)
        st = psr_ffasearch_execute(s->search, s->n, s->in, err);
    for (size_t k = 0; k < s->n && !st; k++)
        st = take_found(s, k, err);
    psr_charge(&s->found.search_s, &since_s);
    empty_batch(s);
    return st;
}

/* --- all series ------------------------------------------------------------------------------- */

/* Makes the plan for series of another length, and room for its batches. */
static psr_status plan(struct ffa *s, const struct psr_ffasearch_shape *shape, psr_err *err)
{
    struct psr_ffasearch_info info;
    psr_status st = flush(s, err);
    if (!st)
        st = psr_ffasearch_plan(s->search, shape,
                                s->stream.ndm - s->found.nsearched - s->found.nrefused, &info, err);
    if (st)
        return st;
    free(s->gathered);
    free(s->in);
    s->max = info.batch;
    s->gathered = calloc(s->max, sizeof *s->gathered);
    s->in = calloc(s->max, sizeof *s->in);
    return s->gathered && s->in ? PSR_OK : psr_fail_nomem(err, "a batch", (double)s->max);
}

static psr_status add_series(struct ffa *s, size_t line, size_t i, const struct psr_sink_end *end,
                             psr_err *err)
{
    struct gathered g = {.read = {.line = line, .i = i, .end = end}};
    struct psr_inf inf;
    psr_status st = psr_whole_series_describe(&s->series, line, i,
                                              psr_sink_series_length(&s->stream, end, s->d.nopad),
                                              !s->d.noinf, g.stem, &inf, err);
    psr_spectrum_of_series(&g.about, &inf);
    if (st)
        return st;
    if (psr_whole_series_length(&s->series, line, i) == 0 || g.about.nbin < 1) {
        psr_fail(&g.err, PSR_EFORMAT, "no samples");
        refuse(s, g.stem, &g.err);
        return PSR_OK;
    }
    const struct psr_ffasearch_shape shape = psr_ffasearch_shape_of(&g.about.inf, 2 * g.about.nbin);
    if (!s->gathered || !psr_ffasearch_fits(s->search, &shape))
        st = plan(s, &shape, err);
    if (st == PSR_EINVAL) { /* too short */
        refuse(s, g.stem, err);
        return PSR_OK;
    }
    if (st)
        return st;
    s->gathered[s->n++] = g;
    return s->n == s->max ? flush(s, err) : PSR_OK;
}

static psr_status write_list(struct ffa *s, psr_err *err)
{
    struct psr_ffa_list list;
    psr_outfile *f = NULL;
    char name[PSR_TEXT_MAX];
    name_list(name, s->stream.root);
    psr_status st = psr_ffasearch_merge(s->search, &list, err);
    if (!st)
        st = psr_output_group_add(s->stream.group, name, &f, err);
    if (!st)
        st = psr_ffa_list_write(f, &list, err);
    if (!st)
        st = psr_outfile_park(f, err);
    s->found.ncand = list.n;
    s->found.nharmonic = list.nharmonic;
    s->found.nzapped = list.nzapped;
    return st;
}

static psr_status finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct ffa *s = state;
    struct psr_whole_series_bytes bytes;
    psr_status st = psr_whole_series_settle(&s->series, &bytes, err);
    s->found.device_bytes = bytes.device;
    s->found.memory_bytes = bytes.memory;
    s->found.scratch_bytes = bytes.scratch;
    for (size_t k = 0; k < s->stream.nline && !st; k++) {
        const struct psr_sink_line *l = &s->stream.line[k];
        for (size_t i = l->first; i < l->first + l->nseries && !st; i++)
            st = add_series(s, k, i, &end[k], err);
    }
    if (!st)
        st = flush(s, err);
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
    empty_batch(s);
    free(s->gathered);
    free(s->in);
    psr_ffasearch_destroy(s->search);
    psr_zaplist_clear(&s->zaplist);
    psr_whole_series_destroy(&s->series);
    free(s);
}

const struct psr_sink_ops psr_sink_ffa = {
    .name = "ffa",
    .names = names,
    .begin = begin,
    .push = push,
    .push_device = push_device,
    .finish = finish,
    .result = result,
    .abort = abort_sink,
};
