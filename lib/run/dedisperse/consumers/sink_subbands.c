/* A sink: sub-bands as prepsubband -sub writes them, ROOT_DM12.00.sub0 and so on with 16 bits a sample,
 * and ROOT_DM12.00.sub.inf. */
#include "sink_rows.h"

#include "formats/series/series_internal.h"
#include "formats/series/series_name.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static int count_digits(size_t nsub)
{
    int n = 1;
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

static psr_status names(const void *desc, const struct psr_sink_stream *stream,
                        psr_status (*check)(void *ctx, const char *name, psr_err *err), void *ctx,
                        psr_err *err)
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

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
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

static psr_status push(void *state, size_t line, const struct psr_block *block, psr_err *err)
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

static psr_status finish(void *state, const struct psr_sink_end *end, psr_err *err)
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

static void abort_sink(void *state)
{
    struct subbands *b = state;
    if (b)
        free(b->file);
    free(b);
}

const struct psr_sink_ops psr_sink_subbands = {
    .name = "subbands",
    .names = names,
    .begin = begin,
    .push = push,
    .finish = finish,
    .abort = abort_sink,
};
