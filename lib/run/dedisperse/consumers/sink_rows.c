/* What sinks that keep whole series have in common. */
#include "sink_rows.h"

int64_t psr_sink_series_length(const struct psr_sink_stream *stream, const struct psr_sink_end *end,
                               bool nopad)
{
    return stream->numout ? stream->numout : nopad ? -1 : psr_good_length(end->length);
}

psr_status psr_sink_append(const struct psr_sink_stream *stream, size_t line,
                           const struct psr_block *b, psr_sink_append_one *append, void *ctx,
                           psr_err *err)
{
    const struct psr_sink_line *l = &stream->line[line];
    psr_status st = PSR_OK;
#pragma omp parallel for schedule(dynamic) num_threads(stream->nthread)
    for (size_t i = 0; i < l->nseries; i++) {
        psr_err why;
        psr_status mine =
            append(ctx, l->first + i, b->series + i * b->stride, b->own ? b->own[i] : b->n, &why);
        if (mine) {
#pragma omp critical(psr_sink_append)
            st = psr_fail_field(err, mine, why.field, "%s", why.msg);
        }
    }
    return st;
}
