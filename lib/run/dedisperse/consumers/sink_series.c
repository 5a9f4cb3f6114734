/* Sink that writes a file per series. */
#include "sinks.h"

#include "formats/series/series_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* What sinks that keep whole series have in common. */

int64_t psr_sink_series_length(const struct psr_sink_stream *stream, const struct psr_sink_end *end,
                               bool nopad)
{
    return stream->numout ? stream->numout : nopad ? -1 : psr_good_length(end->length);
}

struct series {
    struct psr_sink_series_desc d;
    struct psr_sink_stream stream;
    double *tsamp_s;   /* [ndm] */
    const char **note; /* [ndm] */
    psr_series *files; /* NULL once they are finished */
};

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

/* A sink: sub-bands as prepsubband -sub writes them, ROOT_DM12.00.sub0 and so on with 16 bits a sample,
 * and ROOT_DM12.00.sub.inf. */

enum { NAME_BYTES = 4096 };

struct subbands {
    struct psr_sink_stream stream;
    size_t nsub;
    char stem[PSR_TEXT_MAX];
    psr_outfile **file; /* [nsub + 1] the group's; the last is the .inf */
    int64_t saturated;  /* samples that 16 bits could not hold */
};

/* --- names ------------------------------------------------------------------------------------ */

/* The number of digits in PRESTO's names: one for 10 sub-bands. */
static unsigned char count_digits(size_t nsub)
{
    unsigned char n = 1;
    for (size_t most = 10; nsub > most && n < 8; most *= 10)
        n++;
    return n;
}

static void name_file(char name[NAME_BYTES], const struct psr_sink_stream *stream, size_t nsub,
                      size_t s)
{
    char stem[PSR_TEXT_MAX];
    psr_series_stem(stem, stream->root, stream->dm[0], stream->dm_decimals);
    if (s < nsub)
        snprintf(name, NAME_BYTES, "%s.sub%0*zu", stem, count_digits(nsub), s);
    else
        snprintf(name, NAME_BYTES, "%s.sub.inf", stem);
}

static psr_status subbands_names(const void *desc, const struct psr_sink_stream *stream,
                                 psr_status (*check)(void *ctx, const char *name, psr_err *err),
                                 void *ctx, psr_err *err)
{
    size_t nsub = stream->line->nseries;
    psr_status st = PSR_OK;
    (void)desc;
    for (size_t s = 0; s <= nsub && !st; s++) {
        char name[NAME_BYTES];
        name_file(name, stream, nsub, s);
        st = check(ctx, name, err);
    }
    return st;
}

/* --- the sink --------------------------------------------------------------------------------- */

static psr_status check_stem(struct subbands *b, psr_err *err)
{
    const struct psr_sink_stream *stream = &b->stream;
    char stem[PSR_TEXT_MAX + 1];
    struct psr_inf inf;
    snprintf(stem, sizeof stem, "%s_DM%.*f.sub", stream->root, stream->dm_decimals, stream->dm[0]);
    psr_status st = psr_inf_set_name(&inf, stem, err);
    if (!st)
        strcpy(b->stem, stem);
    return st;
}

/* Bytes of all files, as far as the input's length is known. */
static double expect_bytes(const struct subbands *b)
{
    const struct psr_sink_stream *stream = &b->stream;
    int64_t nsamp = stream->obs->nsamp, n = nsamp < 0 ? 0 : nsamp / stream->line->downsamp;
    if (stream->numout && (nsamp < 0 || stream->numout < n))
        n = stream->numout;
    return (double)b->nsub * (double)n * sizeof(int16_t);
}

static psr_status subbands_begin(void **state, const void *desc,
                                 const struct psr_sink_stream *stream, psr_err *err)
{
    struct subbands *b = calloc(1, sizeof *b);
    (void)desc;
    *state = b;
    if (!b)
        return psr_fail_nomem(err, "sub-bands", sizeof *b);
    b->stream = *stream;
    b->nsub = stream->line->nseries;
    b->file = calloc(b->nsub + 1, sizeof *b->file);
    if (!b->file)
        return psr_fail_nomem(err, "sub-bands", (double)b->nsub * sizeof *b->file);
    if (!psr_obs_band(stream->obs).even)
        psr_note(&stream->notes, "channels are not evenly spaced: the .inf of sub-bands cannot say "
                                 "so, and programs that read them take other delays");
    psr_status st = check_stem(b, err);
    if (!st)
        st = psr_output_group_check_room(stream->group, expect_bytes(b), err);
    for (size_t s = 0; s <= b->nsub && !st; s++) {
        char name[NAME_BYTES];
        name_file(name, stream, b->nsub, s);
        st = psr_output_group_add(stream->group, name, &b->file[s], err);
    }
    return st;
}

/* As PRESTO's cast makes it: what is too large wraps, and halves below 0 are cut off.  On the machines
 * PRESTO runs on, what 32 bits cannot hold becomes 0. */
static int16_t wrap(float x)
{
    double rounded = (double)x + 0.5;
    return fabs(rounded) < 0x1p31 ? (int16_t)(uint16_t)(int32_t)rounded : 0;
}

/* The nearest number that there is. */
static int16_t saturate(struct subbands *b, float x)
{
    double rounded = floor((double)x + 0.5);
    bool fits = rounded >= INT16_MIN && rounded <= INT16_MAX;
    b->saturated += !fits;
    return fits ? (int16_t)rounded : rounded > 0 ? INT16_MAX : rounded < 0 ? INT16_MIN : 0;
}

static psr_status subbands_push(void *state, size_t line, const struct psr_block *block,
                                psr_err *err)
{
    struct subbands *b = state;
    size_t n = block->n;
    int16_t *narrow = malloc(n ? n * sizeof *narrow : 1);
    psr_status st = PSR_OK;
    (void)line;
    if (!narrow)
        return psr_fail_nomem(err, "a sub-band", (double)n * sizeof *narrow);
    for (size_t s = 0; s < b->nsub && !st; s++) {
        const float *x = block->series + s * block->stride;
        for (size_t t = 0; t < n; t++)
            narrow[t] = b->stream.presto ? wrap(x[t]) : saturate(b, x[t]);
        st = psr_outfile_write(b->file[s], narrow, n * sizeof *narrow, err);
    }
    free(narrow);
    return st;
}

static psr_status subbands_finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct subbands *b = state;
    struct psr_inf inf;
    if (b->saturated)
        psr_note(&b->stream.notes,
                 "%lld samples of sub-bands lie beyond 16 bits and were cut to them; more "
                 "sub-bands (-nsub) have smaller sums",
                 (long long)b->saturated);
    const struct psr_sink_stream *stream = &b->stream;
    if (stream->inf)
        inf = *stream->inf;
    else
        psr_inf_from_obs(&inf, stream->obs, stream->file_nbit);
    inf.epoch = stream->obs->tstart;
    inf.nonoff = 0;
    inf.nbin = end->nout;
    inf.tbin_s = (double)stream->line->downsamp * stream->obs->tsamp_s;
    inf.dm = stream->dm[0];
    size_t n = strlen(inf.notes);
    if (stream->line->note)
        snprintf(inf.notes + n, sizeof inf.notes - n, "%s\n", stream->line->note);
    psr_status st = psr_inf_set_name(&inf, b->stem, err);
    return st ? st : psr_inf_write(b->file[b->nsub], &inf, err);
}

static void subbands_abort_sink(void *state)
{
    struct subbands *b = state;
    if (b)
        free(b->file);
    free(b);
}

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

static psr_status append_file(void *files, size_t i, const float *x, size_t n, psr_err *err)
{
    return psr_series_append(files, i, x, n, err);
}

static psr_status push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    const struct series *s = state;
    return psr_sink_append(&s->stream, line, b, append_file, s->files, err);
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

const struct psr_sink_ops psr_sink_subbands = {
    .name = "subbands",
    .names = subbands_names,
    .begin = subbands_begin,
    .push = subbands_push,
    .finish = subbands_finish,
    .abort = subbands_abort_sink,
};

/* Sink that computes the CRC-32 of each series. */

struct checksums {
    struct psr_sink_stream stream;
    unsigned long *crc; /* [n] */
    int64_t *count;     /* [n] */
    struct psr_checksums result;
};

static const void *result(const void *state)
{
    const struct checksums *s = state;
    return &s->result;
}

static psr_status checksums_begin(void **state, const void *desc,
                                  const struct psr_sink_stream *stream, psr_err *err)
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

static psr_status checksums_push(void *state, size_t line, const struct psr_block *b, psr_err *err)
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

static void checksums_abort_sink(void *state)
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
    .begin = checksums_begin,
    .push = checksums_push,
    .result = result,
    .abort = checksums_abort_sink,
};

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
