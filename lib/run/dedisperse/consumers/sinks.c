/* Passes series to all sinks of a run; contains the table of built-in sinks. */
#include "sinks.h"

#include "base/clock.h"
#include "sink_series.h"
#include "whole_series.h"

#include <stdlib.h>
#include <string.h>

/* Built-in ones. */
enum { NROW = 8 };

struct sink {
    const struct psr_sink_ops *ops;
    const void *desc;
    void *state;
    bool begun, finished, parts;
    double *charged_s; /* what its time counts as */
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

static bool takes_line(const psr_sinks *s, const struct sink *k, size_t line)
{
    return k->parts || line < s->whole.nline;
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
        bool parts; /* takes lines of parts of the band */
    } rows[NROW] = {
        {&psr_sink_pulses, d->pulses, d->pulses, true, true},
        {&psr_sink_live, d->live, d->live, true, false},
        {&psr_sink_whole_series, d->fourier || d->ffa, &s->keep, true, false},
        {&psr_sink_fourier, d->fourier, &s->fourier, true, false},
        {&psr_sink_ffa, d->ffa, &s->ffa, true, false},
        {&psr_sink_checksums, d->checksums, NULL, false, false},
        {&psr_sink_subbands, d->files == PSR_FILES_SUBBANDS, NULL, false, false},
        {&psr_sink_series, psr_pipeline_has_series(d), &s->series, false, false},
    };
    s->series = (struct psr_sink_series_desc){.tim = d->files == PSR_FILES_TIM, .nopad = d->nopad};
    describe_kept(s, d);
    for (const struct row *row = rows; row < rows + NROW; row++)
        if (row->on)
            s->sink[s->n++] =
                (struct sink){.ops = row->ops,
                              .desc = row->desc,
                              .parts = row->parts,
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
        s->sink[s->n++] = (struct sink){
            .ops = desc->sink[k].ops, .desc = desc->sink[k].desc, .charged_s = &s->search_s};
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

psr_status psr_sinks_gap(psr_sinks *s, size_t line, struct psr_span span, psr_err *err)
{
    psr_status st = PSR_OK;
    for (struct sink *k = s->sink; k < s->sink + s->n && !st; k++)
        if (k->ops->gap && takes_line(s, k, line))
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
