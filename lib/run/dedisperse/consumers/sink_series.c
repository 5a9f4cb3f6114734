/* Sink that writes a file per series. */
#include "sink_rows.h"

#include "formats/series/series_internal.h"
#include "formats/series/series_name.h"
#include <stdio.h>
#include <stdlib.h>

struct series {
    struct psr_sink_series_desc d;
    struct psr_sink_stream stream;
    double *tsamp_s;   /* [ndm] */
    const char **note; /* [ndm] */
    psr_series *files; /* NULL once they are finished */
};

static psr_status names(const void *desc, const struct psr_sink_stream *stream,
                        psr_status (*check)(void *ctx, const char *name, psr_err *err), void *ctx,
                        psr_err *err)
{
    const struct psr_sink_series_desc *d = desc;
    return psr_series_names(
        &(struct psr_series_desc){.size = sizeof(struct psr_series_desc),
                                  .root = stream->root,
                                  .format = d->tim ? PSR_SERIES_TIM : PSR_SERIES_DAT,
                                  .dm_decimals = stream->dm_decimals,
                                  .ndm = stream->ndm,
                                  .dm = stream->dm},
        check, ctx, err);
}

static psr_status list_series(struct series *s, psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    s->tsamp_s = malloc(stream->ndm * sizeof *s->tsamp_s);
    s->note = malloc(stream->ndm * sizeof *s->note);
    if (!s->tsamp_s || !s->note)
        return psr_fail_nomem(err, "the list of series", (double)stream->ndm * 16);
    for (const struct psr_sink_line *l = stream->line; l < stream->line + stream->nline; l++)
        for (size_t i = l->first; i < l->first + l->nseries; i++) {
            s->tsamp_s[i] = l->tsamp_s;
            s->note[i] = l->note;
        }
    return PSR_OK;
}

/* Samples of a series of a line; of a pipe, those that were asked for. */
static double expect_length(const struct series *s, const struct psr_sink_line *l)
{
    int64_t nsamp = s->stream.obs->nsamp, n = nsamp / l->downsamp;
    if (s->stream.numout)
        return (double)s->stream.numout;
    return nsamp < 0 ? 0 : (double)(s->d.nopad ? n : psr_good_length(n));
}

static psr_status check_room(const struct series *s, psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    double samples = 0;
    for (const struct psr_sink_line *l = stream->line; l < stream->line + stream->nline; l++)
        samples += (double)l->nseries * expect_length(s, l);
    return psr_output_group_check_room(stream->group, samples * sizeof(float), err);
}

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
{
    struct series *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "series", sizeof *s);
    s->d = *(const struct psr_sink_series_desc *)desc;
    s->stream = *stream;
    psr_status st = list_series(s, err);
    if (!st)
        st = check_room(s, err);
    if (st)
        return st;
    return psr_series_create(&s->files,
                             &(struct psr_series_desc){
                                 .size = sizeof(struct psr_series_desc),
                                 .root = stream->root,
                                 .format = s->d.tim ? PSR_SERIES_TIM : PSR_SERIES_DAT,
                                 .dm_decimals = stream->dm_decimals,
                                 .ndm = stream->ndm,
                                 .dm = stream->dm,
                                 .obs = stream->obs,
                                 .epoch = stream->epoch,
                                 .file_nbit = stream->file_nbit,
                                 .inf = stream->inf,
                                 .each_tsamp_s = s->tsamp_s,
                                 .each_note = s->note,
                                 .group = stream->group,
                                 .stopped = stream->should_stop,
                                 .ctx = stream->ctx,
                             },
                             err);
}

static psr_status append(void *files, size_t i, const float *x, size_t n, psr_err *err)
{
    return psr_series_append(files, i, x, n, err);
}

static psr_status push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    const struct series *s = state;
    return psr_sink_append(&s->stream, line, b, append, s->files, err);
}

/* Sums of floats near 3e38 leave their range; what is no number in the input, and not clipped, stays. */
static void note_not_finite(const struct series *s)
{
    const struct psr_sink_stream *stream = &s->stream;
    size_t first, n = psr_series_not_finite(s->files, &first);
    if (n > 0)
        psr_note(
            &stream->notes,
            "%zu of %zu series hold samples that are no finite numbers, from DM %.*f on: is the "
            "input near 3.4e38, where floats end?",
            n, stream->ndm, stream->dm_decimals, stream->dm[first]);
}

static psr_status finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct series *s = state;
    const struct psr_sink_stream *stream = &s->stream;
    psr_series *files = s->files;
    for (size_t k = 0; k < stream->nline; k++) {
        const struct psr_sink_line *l = &stream->line[k];
        const int64_t length = psr_sink_series_length(stream, &end[k], s->d.nopad);
        if (end[k].has_padding)
            psr_series_pad_with(files, end[k].padding);
        for (size_t i = l->first; i < l->first + l->nseries; i++)
            psr_series_set_length(files, i, length);
    }
    note_not_finite(s);
    s->files = NULL;
    return psr_series_finish(files, -1, err);
}

static void abort_sink(void *state)
{
    struct series *s = state;
    if (!s)
        return;
    psr_series_abort(s->files);
    free(s->tsamp_s);
    free(s->note);
    free(s);
}

const struct psr_sink_ops psr_sink_series = {
    .name = "series",
    .names = names,
    .begin = begin,
    .push = push,
    .finish = finish,
    .abort = abort_sink,
};
