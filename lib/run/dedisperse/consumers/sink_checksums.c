/* Sink that computes the CRC-32 of each series. */
#include "sink_rows.h"

#include <stdlib.h>
#include <zlib.h>

struct checksums {
    struct psr_sink_stream stream;
    unsigned long *crc; /* [n] */
    int64_t *count;     /* [n] */
    struct psr_checksums result;
};

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
{
    struct checksums *s = calloc(1, sizeof *s);
    (void)desc;
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "checksums", sizeof *s);
    s->stream = *stream;
    for (size_t k = 0; k < stream->nline; k++)
        s->result.n += stream->line[k].nseries;
    s->result.crc = s->crc = calloc(s->result.n, sizeof *s->crc);
    s->result.count = s->count = calloc(s->result.n, sizeof *s->count);
    return s->crc && s->count
               ? PSR_OK
               : psr_fail_nomem(err, "checksums", (double)s->result.n * sizeof *s->crc);
}

static psr_status push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    struct checksums *s = state;
    const struct psr_sink_line *l = &s->stream.line[line];
    (void)err;
#pragma omp parallel for schedule(dynamic) num_threads(s->stream.nthread)
    for (size_t i = 0; i < l->nseries; i++) {
        unsigned long *crc = &s->crc[l->first + i];
        size_t n = b->own ? b->own[i] : b->n;
        s->count[l->first + i] += (int64_t)n;
        *crc = crc32_z(*crc, (const Bytef *)(b->series + i * b->stride), n * sizeof *b->series);
    }
    return PSR_OK;
}

static const void *result(const void *state)
{
    const struct checksums *s = state;
    return &s->result;
}

static void abort_sink(void *state)
{
    struct checksums *s = state;
    if (s) {
        free(s->crc);
        free(s->count);
    }
    free(s);
}

const struct psr_sink_ops psr_sink_checksums = {
    .name = "checksums",
    .begin = begin,
    .push = push,
    .result = result,
    .abort = abort_sink,
};
