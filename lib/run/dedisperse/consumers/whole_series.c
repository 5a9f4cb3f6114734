/* Keeps series until they are complete, wherever they come. */
#include "sinks.h"

#include "base/base.h"
#include "base/obs_internal.h"
#include "base/output/outfile_internal.h"
#include "formats/series/series_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t psr_whole_series_expect(const struct psr_sink_stream *stream, bool nopad)
{
    const int64_t nsamp = stream->obs->nsamp / stream->line->downsamp;
    const struct psr_sink_end end = {.nout = nsamp, .length = nsamp};
    const int64_t padded = psr_sink_series_length(stream, &end, nopad);
    return padded < 0 ? nsamp : padded;
}

static psr_status begin(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err)
{
    const struct psr_whole_series_use *use = desc;
    struct psr_whole_series *w = *state = use->series;
    const struct psr_series_store_desc store = {.nseries = stream->ndm,
                                                .mem_bytes = psr_count_memory(w->mem_bytes),
                                                .prefix = stream->root,
                                                .samples =
                                                    psr_whole_series_expect(stream, w->nopad)};
    const struct psr_series_desc series = {
        .obs = stream->obs, .inf = stream->inf, .file_nbit = stream->file_nbit};
    w->stream = stream;
    psr_series_common_inf(&w->common, &series);
    w->resident = calloc(stream->nline, sizeof *w->resident);
    w->nread = calloc(stream->ndm, 1);
    if (!w->resident || !w->nread)
        return psr_fail_nomem(err, "the lines of a plan", (double)stream->nline * 8);
    return psr_series_store_create(&w->store, &store, err);
}

/* Searches of single pulses take as they go. */
void psr_whole_series_leave(struct psr_whole_series *w, bool planned)
{
    enum { OTHERS_SHARE = 16 };
    struct psr_device device;
    if (psr_device_count(NULL) == 0 || psr_device_describe(0, &device, NULL) != PSR_OK)
        return;
    const int64_t leave = planned ? device.mem_total / OTHERS_SHARE : device.mem_total / 2;
    w->leave_bytes = leave > w->leave_bytes ? leave : w->leave_bytes;
}

static psr_status push(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    const struct psr_whole_series *w = state;
    return psr_series_store_append_line(w->store, w->stream, line, b, err);
}

static psr_status push_device(void *state, size_t line, const struct psr_block *b, psr_err *err)
{
    struct psr_whole_series *w = state;
    const struct psr_resident_series_desc d = {
        .stream = w->stream, .line = line, .leave_bytes = w->leave_bytes, .store = w->store};
    psr_status st = PSR_OK;
    if (!w->resident[line])
        st = psr_resident_series_create(&w->resident[line], &d, err);
    return st ? st : psr_resident_series_append(w->resident[line], b, err);
}

/* Waits for series on devices, and counts the bytes of all. */
static psr_status finish(void *state, const struct psr_sink_end *end, psr_err *err)
{
    struct psr_whole_series *w = state;
    psr_status st = PSR_OK;
    (void)end;
    psr_series_store_bytes(w->store, &w->bytes.memory, &w->bytes.scratch);
    for (size_t k = 0; k < w->stream->nline && !st; k++)
        if (w->resident[k]) {
            st = psr_resident_series_settle(w->resident[k], err);
            w->bytes.device += psr_resident_series_bytes(w->resident[k]);
        }
    return st;
}

static psr_status write_inf(const struct psr_whole_series *w, const char *stem,
                            const struct psr_inf *inf, psr_err *err)
{
    psr_outfile *f = NULL;
    char name[PSR_TEXT_MAX + 8];
    snprintf(name, sizeof name, "%s.inf", stem);
    psr_status st = psr_output_group_add_list(w->stream->group, name, &f, err);
    if (!st)
        st = psr_inf_write(f, inf, err);
    return st ? st : psr_outfile_park(f, err);
}

const struct psr_device_series *psr_whole_series_where(const struct psr_whole_series *w,
                                                       size_t line, size_t i)
{
    return w->resident[line] ? psr_resident_series_where(w->resident[line], i) : NULL;
}

int64_t psr_whole_series_length(const struct psr_whole_series *w, size_t line, size_t i)
{
    const psr_resident_series *on_devices = w->resident[line];
    return on_devices ? psr_resident_series_length(on_devices, i)
                      : psr_series_store_length(w->store, i);
}

/* Where a segment begins, or with the next number the one before ends. */
static int64_t begin_of(const struct psr_whole_series *w, const struct psr_whole_series_read *r,
                        int number)
{
    const int64_t n = psr_whole_series_length(w, r->line, r->i);
    return n / r->segment.of * (number - 1) + n % r->segment.of * (number - 1) / r->segment.of;
}

int64_t psr_whole_series_count(const struct psr_whole_series *w,
                               const struct psr_whole_series_read *r)
{
    return begin_of(w, r, r->segment.number + 1) - begin_of(w, r, r->segment.number);
}

psr_status psr_whole_series_describe(const struct psr_whole_series *w,
                                     const struct psr_whole_series_read *r, bool write,
                                     char stem[PSR_TEXT_MAX], struct psr_inf *inf, psr_err *err)
{
    const struct psr_sink_stream *stream = w->stream;
    const struct psr_sink_line *line = &stream->line[r->line];
    const int64_t n = psr_whole_series_count(w, r), begin = begin_of(w, r, r->segment.number);
    *inf = w->common;
    psr_series_stem(stem, stream->root, stream->dm[r->i], stream->dm_decimals);
    psr_segment_name(stem, r->segment);
    const struct psr_mjd epoch = stream->epoch ? stream->epoch[r->i] : stream->obs->tstart;
    const struct psr_series_trial trial = {
        .stem = stem,
        .dm = stream->dm[r->i],
        .tsamp_s = line->tsamp_s,
        .epoch = begin ? psr_mjd_add(epoch, (double)begin * line->tsamp_s) : epoch,
        .note = line->note,
        .n = n,
        .length = r->length < 0 ? n : r->length};
    psr_status st = psr_series_fill_inf(inf, &trial, err);
    return st || !write ? st : write_inf(w, stem, inf, err);
}

static void pad(const struct psr_whole_series_read *r, float *x, int64_t n)
{
    struct psr_series_mean mean = {.n = 0};
    if (n >= r->length)
        return;
    psr_series_mean_add(&mean, x, (size_t)n);
    const float value = r->end->has_padding ? r->end->padding : (float)psr_series_mean_value(&mean);
    for (int64_t t = n; t < r->length; t++)
        x[t] = value;
}

static psr_status read_first(const struct psr_whole_series *w,
                             const struct psr_whole_series_read *r, float *x, int64_t n,
                             psr_err *err)
{
    psr_resident_series *on_devices = w->resident[r->line];
    return on_devices ? psr_resident_series_read(on_devices, r->i, x, n, err)
                      : psr_series_store_read(w->store, r->i, x, n, err);
}

/* Series are read from their beginning on: what is before a segment is dropped. */
psr_status psr_whole_series_read(const struct psr_whole_series *w,
                                 const struct psr_whole_series_read *r, float *x, psr_err *err)
{
    const int64_t begin = begin_of(w, r, r->segment.number), count = psr_whole_series_count(w, r);
    const int64_t n = count < r->length ? count : r->length;
    float *all = begin ? malloc((size_t)(begin + n) * sizeof *all) : x;
    if (!all)
        return psr_fail_nomem(err, "a segment", 4.0 * (double)(begin + n));
    psr_status st = read_first(w, r, all, begin + n, err);
    if (begin) {
        memcpy(x, all + begin, (size_t)n * sizeof *x);
        free(all);
    }
    if (!st)
        pad(r, x, n);
    return st;
}

void psr_whole_series_drop(const struct psr_whole_series *w, size_t i)
{
    if (++w->nread[i] == w->nreader)
        psr_series_store_drop(w->store, i);
}

static void abort_sink(void *state)
{
    struct psr_whole_series *w = state;
    for (size_t k = 0; w->resident && k < w->stream->nline; k++)
        psr_resident_series_destroy(w->resident[k]);
    free(w->resident);
    free(w->nread);
    psr_series_store_destroy(w->store);
}

const struct psr_sink_ops psr_sink_whole_series = {
    .name = "whole series",
    .begin = begin,
    .push = push,
    .push_device = push_device,
    .finish = finish,
    .abort = abort_sink,
};
