/* Sink that searches series for single pulses and writes them. */
#include "pulse_parts.h"
#include "run/dedisperse/consumers/sinks.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "base/output/outfile_internal.h"
#include "formats/lists/lists_internal.h"
#include "formats/series/series_internal.h"
#include "search/singlepulse/singlepulse_internal.h"
#include "stats/stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many events are recorded at most: a storm of interference takes memory that a search may need. */
enum { NAME_BYTES = 4096, RECORDED_EVENTS = 1000000 };

struct pulses {
    struct psr_sink_pulses_desc d;
    struct psr_sink_stream stream;
    psr_singlepulse **search; /* [nline] */
    struct psr_event *event;
    struct psr_cluster *cluster;
    struct psr_pulse_clock clock;
    struct psr_span *gap; /* [ngap] of all lines, in samples of the input */
    size_t ngap, gap_room;
    double *device_s; /* [nline] */
    psr_pulse_spectra *spectra;
    bool recalled; /* events and gaps are those of an earlier run, and nothing is searched */
    uint64_t key;  /* of what they are recorded by */
    struct psr_pulses_found found;
};

static bool to_stdout(const struct psr_sink_stream *stream)
{
    return !strcmp(stream->root, "-");
}

/* --- names ------------------------------------------------------------------------------------ */

static void name_events(char name[NAME_BYTES], const struct psr_sink_stream *stream, double dm)
{
    char stem[PSR_TEXT_MAX];
    psr_series_stem(stem, stream->root, dm, stream->dm_decimals);
    snprintf(name, NAME_BYTES, "%s.singlepulse", stem);
}

static void name_part(char name[NAME_BYTES], const struct psr_sink_stream *stream,
                      const struct psr_sink_line *l)
{
    if (psr_pulse_line_is_fine(l)) {
        snprintf(name, NAME_BYTES, "%s_fine.singlepulse", stream->root);
        return;
    }
    snprintf(name, NAME_BYTES, "%s_%.3f-%.3fMHz.singlepulse", stream->root, l->low_mhz,
             l->high_mhz);
}

static void name_list(char name[NAME_BYTES], const struct psr_sink_stream *stream)
{
    snprintf(name, NAME_BYTES, to_stdout(stream) ? "%s" : "%s.cand", stream->root);
}

static const char views[] = ".bursts.jsonl", json[] = ".pulses.jsonl", csv[] = ".pulses.csv",
                  record[] = "_pulses";

static void name_with(char name[NAME_BYTES], const struct psr_sink_stream *stream,
                      const char *suffix)
{
    snprintf(name, NAME_BYTES, "%s%s", stream->root, suffix);
}

static bool is_first_of_part(const struct psr_sink_stream *stream, size_t line)
{
    const struct psr_sink_line *l = &stream->line[line];
    return l->part && l->part != l[-1].part;
}

void psr_sink_pulses_set_defaults(struct psr_sink_pulses_desc *desc, size_t size)
{
    const struct psr_sink_pulses_desc all = {.threshold = 6, .time_tol = 3, .trial_tol = 3};
    psr_give_desc(desc, size, &all, sizeof all);
}

static psr_status names(const void *desc, const struct psr_sink_stream *stream,
                        psr_status (*check)(void *ctx, const char *name, psr_err *err), void *ctx,
                        psr_err *err)
{
    char name[NAME_BYTES];
    psr_status st = PSR_OK;
    const struct psr_sink_pulses_desc *d = desc;
    if (to_stdout(stream))
        return PSR_OK;
    const char *const one[] = {d->nview > 0 ? views : NULL, d->json ? json : NULL,
                               d->csv ? csv : NULL};
    for (size_t i = 0; i < sizeof one / sizeof *one && !st; i++)
        if (one[i]) {
            name_with(name, stream, one[i]);
            st = check(ctx, name, err);
        }
    for (size_t i = 0; i < psr_pulse_parts_whole(stream) && !st; i++) {
        name_events(name, stream, stream->dm[i]);
        st = check(ctx, name, err);
    }
    for (size_t k = 0; k < stream->nline && !st; k++)
        if (is_first_of_part(stream, k)) {
            name_part(name, stream, &stream->line[k]);
            st = check(ctx, name, err);
        }
    name_list(name, stream);
    return st ? st : check(ctx, name, err);
}

/* --- the record of what was found ------------------------------------------------------------- */

/* Begins the record, in the machine's own bytes; events, gaps and places follow. */
struct recorded {
    uint64_t nevent, ngap, nplace;
    double end_s;
};

struct recorded_event {
    double snr;
    int64_t sample, width, trial;
};

struct recorded_place {
    int64_t line;
    struct psr_pulse_place place;
};

/* Of all that events depend on: how they become pulses is none of it. */
static uint64_t digest_search(const struct pulses *s)
{
    const struct psr_sink_stream *stream = &s->stream;
    const double number[] = {s->d.threshold, s->d.maxwidth_s, s->d.detrend};
    uint64_t key = psr_digest_text(PSR_DIGEST_START, "single pulses");
    key = psr_digest_bytes(key, number, sizeof number);
    key = psr_digest_bytes(key, stream->dm, stream->ndm * sizeof *stream->dm);
    for (const struct psr_sink_line *l = stream->line; l < stream->line + stream->nline; l++) {
        const double line[] = {(double)l->first, (double)l->nseries,     (double)l->downsamp,
                               (double)l->part,  (double)l->least_width, l->low_mhz,
                               l->high_mhz};
        key = psr_digest_text(psr_digest_bytes(key, line, sizeof line), l->note);
    }
    return key;
}

static psr_status save_events(const struct pulses *s, psr_outfile *f, psr_err *err)
{
    psr_status st = PSR_OK;
    for (const struct psr_event *e = s->event; e < s->event + s->found.nevent && !st; e++) {
        const struct recorded_event r = {e->snr, e->sample, e->width, (int64_t)e->trial};
        st = psr_outfile_write(f, &r, sizeof r, err);
    }
    return st;
}

static psr_status save(const struct pulses *s, psr_outfile *f, psr_err *err)
{
    struct recorded head = {s->found.nevent, s->ngap, 0, s->found.end_s};
    size_t n;
    for (size_t k = 0; k < s->stream.nline; k++) {
        (void)psr_pulse_spectra_places(s->spectra, k, &n);
        head.nplace += n;
    }
    psr_status st = psr_outfile_write(f, &head, sizeof head, err);
    if (!st)
        st = save_events(s, f, err);
    if (!st)
        st = psr_outfile_write(f, s->gap, s->ngap * sizeof *s->gap, err);
    for (size_t k = 0; k < s->stream.nline; k++) {
        const struct psr_pulse_place *place = psr_pulse_spectra_places(s->spectra, k, &n);
        for (size_t i = 0; i < n && !st; i++) {
            const struct recorded_place r = {(int64_t)k, place[i]};
            st = psr_outfile_write(f, &r, sizeof r, err);
        }
    }
    return st;
}

static psr_status keep(const struct pulses *s, psr_err *err)
{
    char name[NAME_BYTES];
    psr_outfile *f;
    if (s->found.nevent > RECORDED_EVENTS)
        return PSR_OK;
    name_with(name, &s->stream, record);
    psr_status st = psr_outfile_hold(&f, name, err);
    if (!st)
        st = save(s, f, err);
    if (!st)
        st = psr_output_group_record_file(s->stream.group, digest_search(s), f, err);
    psr_outfile_abort(f);
    return st;
}

static psr_status take_events(struct pulses *s, const struct recorded_event *r, size_t n,
                              psr_err *err)
{
    s->event = malloc((n + 1) * sizeof *s->event);
    if (!s->event)
        return psr_fail_nomem(err, "the events", (double)n * sizeof *s->event);
    for (size_t i = 0; i < n; i++)
        s->event[i] =
            (struct psr_event){r[i].snr, r[i].sample, (int)r[i].width, (size_t)r[i].trial};
    s->found.event = s->event;
    s->found.nevent = n;
    return PSR_OK;
}

/* Given: bytes [n]   that are those that save wrote, of the same series */
static psr_status restore(struct pulses *s, const void *bytes, size_t n, psr_err *err)
{
    const struct recorded *head = bytes;
    if (n < sizeof *head || head->nevent > n || head->ngap > n || head->nplace > n)
        return PSR_OK;
    const struct recorded_event *event = (const void *)(head + 1);
    const struct psr_span *gap = (const void *)(event + head->nevent);
    const struct recorded_place *place = (const void *)(gap + head->ngap);
    if ((const void *)(place + head->nplace) != (const char *)bytes + n)
        return PSR_OK;
    psr_status st = take_events(s, event, head->nevent, err);
    if (!st)
        st = psr_reserve(&s->gap, &s->gap_room, head->ngap + 1, sizeof *s->gap,
                         "the gaps of a search", err);
    for (size_t i = 0; i < head->ngap && !st; i++)
        s->gap[s->ngap++] = gap[i];
    for (const struct recorded_place *r = place; r < place + head->nplace && !st; r++)
        st = psr_pulse_spectra_place(s->spectra, (size_t)r->line, r->place, err);
    s->found.end_s = head->end_s;
    s->recalled = !st;
    return st;
}

static psr_status recall(struct pulses *s, psr_err *err)
{
    char name[NAME_BYTES];
    psr_outfile *f = NULL;
    size_t n;
    s->key = digest_search(s);
    name_with(name, &s->stream, record);
    psr_status st = psr_output_group_recall_file(s->stream.group, s->key, name, &f, err);
    if (!f)
        return st;
    const void *bytes = psr_outfile_held(f, &n);
    st = restore(s, bytes, n, err);
    psr_outfile_abort(f);
    return st;
}

bool psr_sink_pulses_are_recalled(const void *state)
{
    return ((const struct pulses *)state)->recalled;
}

/* --- the search ------------------------------------------------------------------------------- */

/* Names of the files of events, with or without series; they have no .inf. */
static psr_status check_names(const struct psr_sink_stream *stream, psr_err *err)
{
    if (to_stdout(stream))
        return PSR_OK;
    return psr_series_check(&(struct psr_series_desc){.size = sizeof(struct psr_series_desc),
                                                      .root = stream->root,
                                                      .format = PSR_SERIES_TIM,
                                                      .dm_decimals = stream->dm_decimals,
                                                      .ndm = psr_pulse_parts_whole(stream),
                                                      .dm = stream->dm,
                                                      .tsamp_s = stream->obs->tsamp_s},
                            err);
}

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
{
    psr_status st = PSR_OK;
    struct pulses *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "single pulses", sizeof *s);
    s->d = *(const struct psr_sink_pulses_desc *)desc;
    s->stream = *stream;
    s->search = calloc(stream->nline, sizeof *s->search);
    s->device_s = calloc(stream->nline, sizeof *s->device_s);
    if (!s->search || !s->device_s)
        return psr_fail_nomem(err, "single pulses", (double)stream->nline * 16);
    st = psr_pulse_search_check(&s->d, err);
    if (!st)
        st = psr_pulse_spectra_create(&s->spectra, &s->stream, err);
    if (!st)
        st = check_names(stream, err);
    if (!st)
        st = recall(s, err);
    for (size_t k = 0; k < stream->nline && !st && !s->recalled; k++)
        st = psr_pulse_search_create(&s->search[k], stream, k, &s->d, false, err);
    return st;
}

static psr_status push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    struct pulses *s = state;
    psr_status st = psr_pulse_spectra_note(s->spectra, line, b, err);
    if (st)
        return st;
    return psr_singlepulse_execute(s->search[line], b->equalised ? b->equalised : b->series,
                                   b->stride, b->n, err);
}

static psr_status push_device(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    struct pulses *s = state;
    const struct psr_device_series *series =
        b->device_equalised ? b->device_equalised : b->device_series;
    psr_status st = psr_pulse_spectra_note(s->spectra, line, b, err);
    if (st)
        return st;
    return psr_singlepulse_execute_device(s->search[line], series, b->ndevice_series,
                                          b->bin ? b->device_samples : b->n, b->bin, b->nbin, err);
}

static psr_status gap(void *state, size_t line, struct psr_span span, psr_err *err)
{
    struct pulses *s = state;
    const int64_t downsamp = s->stream.line[line].downsamp;
    psr_status st =
        psr_grow(&s->gap, &s->gap_room, s->ngap, sizeof *s->gap, "the gaps of a search", err);
    if (st)
        return st;
    s->gap[s->ngap++] = (struct psr_span){span.first * downsamp, span.count * downsamp};
    return psr_singlepulse_mask(s->search[line], span, err);
}

/* --- what was found --------------------------------------------------------------------------- */

/* They were counted in spectra so far. */
static void take_gaps(struct pulses *s)
{
    for (size_t k = 0; k < s->ngap; k++) {
        s->gap[k].first /= s->clock.tick;
        s->gap[k].count /= s->clock.tick;
    }
    s->ngap = psr_spans_join(s->gap, s->ngap);
}

static size_t count_events(const struct pulses *s)
{
    const struct psr_event *event;
    size_t n = 0;
    for (size_t k = 0; k < s->stream.nline; k++)
        for (size_t i = 0; i < s->stream.line[k].nseries; i++)
            n += psr_singlepulse_events(s->search[k], i, &event);
    return n;
}

static psr_status collect_events(struct pulses *s, psr_err *err)
{
    size_t total = count_events(s), n = 0;
    s->event = malloc((total ? total : 1) * sizeof *s->event);
    if (!s->event)
        return psr_fail_nomem(err, "the events", (double)total * sizeof *s->event);
    for (size_t k = 0; k < s->stream.nline; k++) {
        const struct psr_sink_line *l = &s->stream.line[k];
        for (size_t i = 0; i < l->nseries; i++) {
            const struct psr_event *event;
            size_t more = psr_singlepulse_events(s->search[k], i, &event);
            for (size_t e = 0; e < more; e++)
                if (event[e].width >= l->least_width) {
                    s->event[n] = event[e];
                    s->event[n++].trial = l->first + i;
                }
        }
    }
    s->found.event = s->event;
    s->found.nevent = n;
    return PSR_OK;
}

static psr_status group_events(struct pulses *s, psr_err *err)
{
    size_t n;
    const struct psr_pulse_parts_desc d = {.stream = &s->stream,
                                           .clock = &s->clock,
                                           .time_tol = s->d.time_tol,
                                           .trial_tol = (size_t)s->d.trial_tol,
                                           .threshold = s->d.threshold,
                                           .event = s->event,
                                           .nevent = s->found.nevent,
                                           .gap = s->gap,
                                           .ngap = s->ngap};
    psr_status st = psr_pulse_parts_group(&d, &s->cluster, &n, err);
    if (!st)
        psr_pulse_spectra_clips(s->spectra, s->cluster, n);
    if (!st)
        st = psr_pulse_spectra_mark(s->spectra, s->cluster, n, (size_t)s->d.nview, err);
    if (st)
        return st;
    s->found.cluster = s->cluster;
    s->found.ncluster = n;
    return PSR_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

/* The events of a trial, which begin with *next; those of the trial after it begin with *next then. */
static psr_status write_trial(const struct pulses *s, size_t line, size_t i, psr_outfile *f,
                              size_t *next, psr_err *err)
{
    const struct psr_sink_line *l = &s->stream.line[line];
    const size_t trial = l->first + i, first = *next;
    while (*next < s->found.nevent && s->event[*next].trial == trial)
        ++*next;
    return psr_singlepulse_write(f, s->stream.dm[trial], l->tsamp_s, s->event + first,
                                 *next - first, err);
}

static psr_status write_series(const struct pulses *s, size_t line, size_t i, size_t *next,
                               psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    psr_outfile *part;
    char name[NAME_BYTES];
    name_events(name, stream, stream->dm[stream->line[line].first + i]);
    psr_status st = psr_output_group_add_list(stream->group, name, &part, err);
    if (!st)
        st = write_trial(s, line, i, part, next, err);
    return st ? st : psr_outfile_park(part, err);
}

/* All events of a part of the band in one file, trial by trial. */
static psr_status write_part(const struct pulses *s, size_t line, size_t *next, psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    const size_t part = stream->line[line].part;
    psr_outfile *f;
    char name[NAME_BYTES];
    name_part(name, stream, &stream->line[line]);
    psr_status st = psr_output_group_add_list(stream->group, name, &f, err);
    for (; line < stream->nline && stream->line[line].part == part; line++)
        for (size_t i = 0; i < stream->line[line].nseries && !st; i++)
            st = write_trial(s, line, i, f, next, err);
    return st ? st : psr_outfile_park(f, err);
}

static psr_status write_events(const struct pulses *s, psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    psr_status st = PSR_OK;
    size_t next = 0;
    for (size_t k = 0; k < stream->nline && !st; k++) {
        if (is_first_of_part(stream, k))
            st = write_part(s, k, &next, err);
        for (size_t i = 0; !stream->line[k].part && i < stream->line[k].nseries && !st; i++)
            st = write_series(s, k, i, &next, err);
    }
    return st;
}

static psr_status write_list(struct pulses *s, psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    psr_outfile *part;
    char name[NAME_BYTES];
    name_list(name, stream);
    psr_status st = psr_output_group_add(stream->group, name, &part, err);
    return st ? st
              : psr_pulse_parts_write(part, stream, &s->clock, s->cluster, s->found.ncluster, err);
}

/* Complete before it joins the others. */
static psr_status write_picture_file(const struct pulses *s, const char *name, psr_err *err)
{
    psr_outfile *part;
    psr_status st = psr_outfile_create(&part, name, err);
    if (st)
        return st;
    st = psr_pulse_spectra_write_views(s->spectra, part, s->cluster, s->clock.scale,
                                       s->found.tsamp_s, err);
    if (!st)
        st = psr_outfile_park(part, err);
    if (!st)
        return psr_output_group_take(s->stream.group, part, err);
    psr_outfile_abort(part);
    return st;
}

/* Pictures that cannot be written end no search; those of an earlier one must not stay. */
static psr_status write_views(struct pulses *s, psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    psr_err why;
    char name[NAME_BYTES];
    if (!s->d.nview || to_stdout(stream))
        return PSR_OK;
    name_with(name, stream, views);
    if (!write_picture_file(s, name, &why))
        return PSR_OK;
    psr_note(&stream->notes, "no pictures of pulses: %s", why.msg);
    return psr_is_regular(name) ? psr_output_group_drop(stream->group, name, err) : PSR_OK;
}

static psr_status write_json(struct pulses *s, psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    psr_outfile *part;
    char name[NAME_BYTES], line[PSR_BURST_BYTES];
    if (!s->d.json || to_stdout(stream))
        return PSR_OK;
    name_with(name, stream, json);
    psr_status st = psr_output_group_add(stream->group, name, &part, err);
    for (size_t k = 0; k < s->found.ncluster && !st; k++) {
        const struct psr_burst b = psr_burst_describe(&s->clock, stream, &s->cluster[k]);
        st = psr_outfile_write(part, line, psr_burst_json(line, &b), err);
    }
    return st;
}

static psr_status write_csv(struct pulses *s, psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    psr_outfile *part;
    char name[NAME_BYTES];
    if (!s->d.csv || to_stdout(stream))
        return PSR_OK;
    name_with(name, stream, csv);
    psr_status st = psr_output_group_add(stream->group, name, &part, err);
    if (!st)
        st = psr_burst_write_csv_header(part, err);
    for (size_t k = 0; k < s->found.ncluster && !st; k++) {
        const struct psr_event *e = &s->cluster[k].best;
        const struct psr_burst b = psr_burst_describe(&s->clock, stream, &s->cluster[k]);
        const double tsamp_s = s->found.tsamp_s * (double)s->clock.scale[e->trial];
        st = psr_burst_write_csv(part, &b, (double)e->sample * tsamp_s, err);
    }
    return st;
}

static psr_status write_files(struct pulses *s, psr_err *err)
{
    psr_status st = to_stdout(&s->stream) ? PSR_OK : write_events(s, err);
    if (!st)
        st = write_views(s, err);
    if (!st)
        st = write_json(s, err);
    if (!st)
        st = write_csv(s, err);
    return st ? st : write_list(s, err);
}

static psr_status finish_search(struct pulses *s, const struct psr_sink_end *end, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < s->stream.nline && !st; k++) {
        st = psr_singlepulse_finish(s->search[k], err);
        s->device_s[k] = psr_singlepulse_device_seconds(s->search[k]);
        s->found.end_s = fmax(s->found.end_s, (double)end[k].nout * s->stream.line[k].tsamp_s);
    }
    take_gaps(s);
    if (!st)
        st = collect_events(s, err);
    return st ? st : keep(s, err);
}

/* The input may have changed since. */
static psr_status check_recalled(const struct pulses *s, psr_err *err)
{
    const struct psr_sink_stream *stream = &s->stream;
    if (digest_search(s) != s->key)
        return psr_fail(err, PSR_EIO, "%s: it has changed since it was searched for single pulses",
                        stream->input);
    psr_note(&stream->notes, "single pulses: %zu events of %zu series are taken from %s" PSR_RECORD,
             s->found.nevent, stream->ndm, stream->root);
    return PSR_OK;
}

static psr_status finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct pulses *s = state;
    psr_status st = psr_pulse_clock_make(&s->clock, &s->stream, err);
    s->found.scale = s->clock.scale;
    s->found.tsamp_s = s->clock.tick_s;
    s->found.device_s = s->device_s;
    if (!st)
        st = s->recalled ? check_recalled(s, err) : finish_search(s, end, err);
    return st ? st : group_events(s, err);
}

static void note_recorded(const struct pulses *s)
{
    char name[NAME_BYTES];
    name_with(name, &s->stream, PSR_RECORD);
    if (psr_is_regular(name))
        psr_note(
            &s->stream.notes,
            "single pulses: %zu events of %zu series are recorded in %s: the same command goes "
            "on from there",
            s->found.nevent, s->stream.ndm, name);
}

/* Series are searched while pulses get their marks. */
static psr_status end(void *state, psr_err *err)
{
    struct pulses *s = state;
    psr_status st = psr_pulse_spectra_await(s->spectra, err);
    if (!st)
        return write_files(s, err);
    if (st == PSR_ESTOPPED)
        note_recorded(s);
    return st;
}

static const void *result(const void *state)
{
    const struct pulses *s = state;
    return &s->found;
}

static void abort_sink(void *state)
{
    struct pulses *s = state;
    if (!s)
        return;
    for (size_t k = 0; s->search && k < s->stream.nline; k++)
        psr_singlepulse_destroy(s->search[k]);
    psr_pulse_spectra_destroy(s->spectra);
    free(s->search);
    free(s->device_s);
    free(s->event);
    free(s->cluster);
    psr_pulse_clock_clear(&s->clock);
    free(s->gap);
    free(s);
}

const struct psr_sink_ops psr_sink_pulses = {
    .name = "pulses",
    .names = names,
    .begin = begin,
    .push = push,
    .push_device = push_device,
    .gap = gap,
    .finish = finish,
    .end = end,
    .result = result,
    .abort = abort_sink,
};
