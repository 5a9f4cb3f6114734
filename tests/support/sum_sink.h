/* sum_sink.h: a sink of a few lines: the running sum of each series, on the host and on devices. */
#ifndef PSR_SUM_SINK_H
#define PSR_SUM_SINK_H

#include "base/device/device_internal.h"

#include <psrkit/experimental/sink.h>
#include <stdlib.h>

struct sum_sink {
    struct psr_sink_stream stream;
    size_t n;
    double *sum; /* [n] */
    int64_t *count;
    float *fetched;
    int64_t ngap, on_devices; /* spans told of; pushes of series that lay on devices */
    bool finished;
};

static void sum_sink_add(struct sum_sink *s, size_t line, const struct psr_block *b, const float *x,
                         size_t stride)
{
    const struct psr_sink_line *l = &s->stream.line[line];
    for (size_t i = 0; i < l->nseries; i++) {
        size_t n = b->own ? b->own[i] : b->n;
        for (size_t t = 0; t < n; t++)
            s->sum[l->first + i] += (double)x[i * stride + t];
        s->count[l->first + i] += (int64_t)n;
    }
}

static psr_status sum_sink_begin(void **state, const void *desc,
                                 const struct psr_sink_stream *stream, psr_err *err)
{
    struct sum_sink *s = calloc(1, sizeof *s);
    size_t room = 1;
    (void)desc;
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "sums", sizeof *s);
    s->stream = *stream;
    for (size_t k = 0; k < stream->nline; k++) {
        const struct psr_sink_line *l = &stream->line[k];
        s->n += l->nseries;
        room = l->nseries * l->block > room ? l->nseries * l->block : room;
    }
    s->sum = calloc(s->n, sizeof *s->sum);
    s->count = calloc(s->n, sizeof *s->count);
    s->fetched = malloc(room * sizeof *s->fetched);
    return s->sum && s->count && s->fetched ? PSR_OK : psr_fail_nomem(err, "sums", (double)room);
}

static psr_status sum_sink_push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    (void)err;
    sum_sink_add(state, line, b, b->series, b->stride);
    return PSR_OK;
}

/* Without barycentring there are no bins. */
static psr_status sum_sink_push_device(void *state, size_t line, const struct psr_block *b,
                                       psr_err *err)
{
    struct sum_sink *s = state;
    size_t stride = s->stream.line[line].block;
    psr_status st = psr_device_series_fetch(b->device_series, b->ndevice_series, b->device_samples,
                                            s->fetched, stride, err);
    if (!st)
        sum_sink_add(s, line, b, s->fetched, stride);
    s->on_devices++;
    return st;
}

static psr_status sum_sink_gap(void *state, size_t line, struct psr_span span, psr_err *err)
{
    struct sum_sink *s = state;
    (void)line;
    (void)span;
    (void)err;
    s->ngap++;
    return PSR_OK;
}

static psr_status sum_sink_finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct sum_sink *s = state;
    (void)end;
    (void)err;
    s->finished = true;
    return PSR_OK;
}

static const void *sum_sink_result(const void *state)
{
    return state;
}

static void sum_sink_abort(void *state)
{
    struct sum_sink *s = state;
    if (s) {
        free(s->sum);
        free(s->count);
        free(s->fetched);
    }
    free(s);
}

static const struct psr_sink_ops sum_sink = {
    .name = "sums",
    .begin = sum_sink_begin,
    .push = sum_sink_push,
    .push_device = sum_sink_push_device,
    .gap = sum_sink_gap,
    .finish = sum_sink_finish,
    .result = sum_sink_result,
    .abort = sum_sink_abort,
};

#endif
