/* Keeps series until they are complete, on the devices that computed them or wherever they come. */
#include "sinks.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "base/obs_internal.h"
#include "base/output/outfile_internal.h"
#include "formats/series/series_internal.h"
#include "stats/stats.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first stretch is short, in case the series are; each further one is twice as long. */
enum { FIRST_BYTES = 1 << 20, MOST_BYTES = 1 << 30 };

/* Consecutive samples of all series. */
struct stretch {
    float **d_x; /* [ndevice] each [nseries of the device][room] */
    size_t room, n;
};

/* A bin added before sample at of the series as they came, or sample at removed. */
struct bin {
    int64_t at;
    int step;
};

struct psr_resident_series {
    struct psr_resident_series_desc d;
    size_t first, nseries;            /* range of the line within all series */
    struct psr_device_series *device; /* [ndevice] as in the last block */
    size_t ndevice;
    struct stretch *stretch; /* [nstretch] all but the last are full */
    size_t nstretch, stretch_room, next_bytes;
    int64_t kept, came; /* samples of each series, on devices and in all */
    bool full;          /* of devices: from now on the store takes all samples */
    struct bin *bin;    /* [nbin] ascending */
    size_t nbin, bin_room;
    int64_t *length; /* [nseries] with bins */
    int64_t bytes;

    float *block; /* [nseries][block_room] a block on its way to the store, pinned */
    size_t block_room;

    pthread_mutex_t lock; /* of what follows */
    float **spare;        /* [nspare] rows of came samples for reading, pinned */
    size_t nspare, spare_room;
};

psr_status psr_resident_series_create(psr_resident_series **out,
                                      const struct psr_resident_series_desc *d, psr_err *err)
{
    psr_resident_series *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r)
        return psr_fail_nomem(err, "series on devices", sizeof *r);
    r->d = *d;
    r->first = d->stream->line[d->line].first;
    r->nseries = d->stream->line[d->line].nseries;
    r->next_bytes = FIRST_BYTES;
    pthread_mutex_init(&r->lock, NULL);
    r->length = calloc(r->nseries, sizeof *r->length);
    if (!r->length) {
        psr_resident_series_destroy(r);
        return psr_fail_nomem(err, "series on devices", (double)r->nseries * sizeof *r->length);
    }
    *out = r;
    return PSR_OK;
}

/* --- on devices ------------------------------------------------------------------------------- */

static void free_stretch(const psr_resident_series *r, struct stretch *s)
{
    for (size_t k = 0; s->d_x && k < r->ndevice; k++)
        psr_device_release(&r->device[k], s->d_x[k]);
    free(s->d_x);
}

/* Status: PSR_ENOMEM if a device has no room */
static psr_status take_stretch(psr_resident_series *r, struct stretch *s, psr_err *err)
{
    psr_status st = PSR_OK;
    s->d_x = calloc(r->ndevice, sizeof *s->d_x);
    if (!s->d_x)
        return psr_fail_nomem(err, "series on devices", (double)r->ndevice * sizeof *s->d_x);
    for (size_t k = 0; k < r->ndevice && !st; k++) {
        void *d_x;
        st = psr_device_take(&r->device[k], r->device[k].nseries * s->room * sizeof **s->d_x,
                             r->d.leave_bytes, &d_x, err);
        s->d_x[k] = d_x;
    }
    if (st)
        free_stretch(r, s);
    return st;
}

/* A new stretch with room for n samples at least. */
static psr_status add_stretch(psr_resident_series *r, size_t n, psr_err *err)
{
    const size_t each = r->nseries * sizeof(float);
    struct stretch s = {.room = r->next_bytes / each};
    s.room = s.room > n ? s.room : n;
    psr_status st = psr_grow(&r->stretch, &r->stretch_room, r->nstretch, sizeof *r->stretch,
                             "series on devices", err);
    if (!st)
        st = take_stretch(r, &s, err);
    if (st)
        return st;
    r->stretch[r->nstretch++] = s;
    r->bytes += (int64_t)(s.room * each);
    r->next_bytes = r->next_bytes < MOST_BYTES ? 2 * r->next_bytes : MOST_BYTES;
    return PSR_OK;
}

/* --- on the host ------------------------------------------------------------------------------ */

static psr_status reserve_block(psr_resident_series *r, size_t n, psr_err *err)
{
    void *block;
    if (n <= r->block_room)
        return PSR_OK;
    psr_device_unpin(r->block);
    r->block = NULL;
    r->block_room = 0;
    psr_status st = psr_device_pin(&block, r->nseries * n * sizeof *r->block, err);
    if (st)
        return st;
    r->block = block;
    r->block_room = n;
    return PSR_OK;
}

/* Passes samples from on of the block to the store. */
static psr_status store_block(psr_resident_series *r, size_t from, size_t n, psr_err *err)
{
    psr_status st = reserve_block(r, n, err);
    for (size_t k = 0; k < r->ndevice && !st; k++) {
        struct psr_device_series rest = r->device[k];
        rest.d_x += from;
        st = psr_device_series_fetch(&rest, 1, n, r->block, n, err);
    }
    const struct psr_block fetched = {.series = r->block, .stride = n, .n = n};
    return st ? st
              : psr_series_store_append_line(r->d.store, r->d.stream, r->d.line, &fetched, err);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static psr_status note_devices(psr_resident_series *r, const struct psr_block *b, psr_err *err)
{
    if (!r->device)
        r->device = calloc(b->ndevice_series, sizeof *r->device);
    if (!r->device)
        return psr_fail_nomem(err, "series on devices",
                              (double)b->ndevice_series * sizeof *r->device);
    r->ndevice = b->ndevice_series;
    memcpy(r->device, b->device_series, r->ndevice * sizeof *r->device);
    return PSR_OK;
}

static psr_status note_bins(psr_resident_series *r, const struct psr_block *b, psr_err *err)
{
    for (size_t k = 0; b->bin && k < b->nbin; k++) {
        psr_status st = psr_grow(&r->bin, &r->bin_room, r->nbin, sizeof *r->bin, "bins", err);
        if (st)
            return st;
        r->bin[r->nbin++] = (struct bin){r->came + (int64_t)b->bin[k].at, b->bin[k].step};
    }
    return PSR_OK;
}

psr_status psr_resident_series_append(psr_resident_series *r, const struct psr_block *b,
                                      psr_err *err)
{
    const size_t n = b->bin ? b->device_samples : b->n;
    size_t done = 0;
    psr_status st = note_devices(r, b, err);
    if (!st)
        st = note_bins(r, b, err);
    if (!st) {
        for (done = 0; done < n && !st && !r->full;) {
            const struct stretch *last = r->nstretch ? &r->stretch[r->nstretch - 1] : NULL;
            const size_t room = last ? last->room - last->n : 0;
            const size_t left = n - done, more = left < room ? left : room;
            psr_err why;
            if (more > 0) {
                /* Copies samples from "done" on to the last stretch, as many as it has room
                 * for. */
                struct stretch *s = &r->stretch[r->nstretch - 1];
                for (size_t k = 0; k < r->ndevice && !st; k++) {
                    struct psr_device_series rest = r->device[k];
                    rest.d_x += done;
                    st = psr_device_keep(&rest, more, s->d_x[k] + s->n, s->room, err);
                }
                s->n += more;
                r->kept += (int64_t)more;
                done += more;
                continue;
            }
            st = add_stretch(r, left, &why);
            r->full = st == PSR_ENOMEM;
            st = r->full ? PSR_OK : st ? psr_fail(err, st, "%s", why.msg) : PSR_OK;
        }
    }
    if (!st && done < n)
        st = store_block(r, done, n - done, err);
    r->came += (int64_t)n;
    for (size_t i = 0; i < r->nseries; i++)
        r->length[i] += (int64_t)(b->own ? b->own[i] : b->n);
    return st;
}

psr_status psr_resident_series_settle(psr_resident_series *r, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < r->ndevice && !st; k++)
        st = psr_device_settle(&r->device[k], err);
    psr_device_unpin(r->block);
    r->block = NULL;
    r->block_room = 0;
    return st;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The device that made series i. */
static const struct psr_device_series *resident_series_where(const psr_resident_series *r, size_t i)
{
    const struct psr_device_series *d = r->device;
    while (i - r->first >= d->first + d->nseries)
        d++;
    return d;
}

/* The first n samples of a series as they came. */
static psr_status fetch(const psr_resident_series *r, size_t i, float *x, int64_t n, psr_err *err)
{
    const size_t row = i - r->first, k = (size_t)(resident_series_where(r, i) - r->device);
    psr_status st = PSR_OK, end;
    for (const struct stretch *s = r->stretch; s < r->stretch + r->nstretch && n > 0 && !st; s++) {
        const size_t more = n < (int64_t)s->n ? (size_t)n : s->n;
        const float *d_x = s->d_x[k] + (row - r->device[k].first) * s->room;
        st = psr_device_fetch(&r->device[k], d_x, more, x, err);
        x += more;
        n -= (int64_t)more;
    }
    end = psr_device_fetched(&r->device[k], st ? NULL : err); /* x may be freed after a failure */
    st = st ? st : end;
    return st || n <= 0 ? st : psr_series_store_read(r->d.store, i, x, n, err);
}

static void give_spare(psr_resident_series *r, float *x)
{
    psr_err err;
    pthread_mutex_lock(&r->lock);
    if (psr_grow(&r->spare, &r->spare_room, r->nspare, sizeof *r->spare, "series", &err))
        psr_device_unpin(x);
    else
        r->spare[r->nspare++] = x;
    pthread_mutex_unlock(&r->lock);
}

int64_t psr_resident_series_length(const psr_resident_series *r, size_t i)
{
    return r->length[i - r->first];
}

psr_status psr_resident_series_read(psr_resident_series *r, size_t i, float *x, int64_t n,
                                    psr_err *err)
{
    const int64_t length = psr_resident_series_length(r, i), most = n < length ? n : length;
    float *came;
    if (most <= 0)
        return PSR_OK;
    if (!r->nbin)
        return fetch(r, i, x, most, err);
    void *room = NULL;
    pthread_mutex_lock(&r->lock);
    if (r->nspare)
        room = r->spare[--r->nspare];
    pthread_mutex_unlock(&r->lock);
    psr_status st = room ? PSR_OK : psr_device_pin(&room, (size_t)r->came * sizeof *came, err);
    came = room;
    if (st)
        return st;
    st = fetch(r, i, came, r->came, err);
    if (!st) {
        /* Adds and removes bins. */
        int64_t from = 0, to = 0;
        for (size_t k = 0; k <= r->nbin && to < most; k++) {
            const int64_t end = k < r->nbin ? r->bin[k].at : r->came;
            const int64_t more = end - from < most - to ? end - from : most - to;
            memcpy(x + to, came + from, (size_t)more * sizeof *x);
            to += more;
            from = end;
            if (k == r->nbin || to >= most)
                continue;
            if (r->bin[k].step < 0)
                from++;
            else
                x[to++] = ((end ? came[end - 1] : 0) + came[end]) / 2;
        }
    }
    give_spare(r, came);
    return st;
}

int64_t psr_resident_series_bytes(const psr_resident_series *r)
{
    return r->bytes;
}

void psr_resident_series_destroy(psr_resident_series *r)
{
    if (!r)
        return;
    for (size_t k = 0; k < r->nstretch; k++)
        free_stretch(r, &r->stretch[k]);
    for (size_t k = 0; k < r->nspare; k++)
        psr_device_unpin(r->spare[k]);
    psr_device_unpin(r->block);
    pthread_mutex_destroy(&r->lock);
    free(r->stretch);
    free(r->spare);
    free(r->device);
    free(r->bin);
    free(r->length);
    free(r);
}

/* --- keeps series until they are complete, wherever they come --------------------------------- */

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
    w->gaps = calloc(stream->nline, sizeof *w->gaps);
    if (!w->resident || !w->nread || !w->gaps)
        return psr_fail_nomem(err, "the lines of a plan", (double)stream->nline * 32);
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

static psr_status gap(void *state, size_t line, struct psr_span span, psr_err *err)
{
    struct psr_line_gaps *g = &((struct psr_whole_series *)state)->gaps[line];
    psr_status st = psr_grow(&g->span, &g->room, g->n, sizeof *g->span, "gaps", err);
    if (!st)
        g->span[g->n++] = span;
    return st;
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
    return w->resident[line] ? resident_series_where(w->resident[line], i) : NULL;
}

static int64_t whole_series_length(const struct psr_whole_series *w, size_t line, size_t i)
{
    const psr_resident_series *on_devices = w->resident[line];
    return on_devices ? psr_resident_series_length(on_devices, i)
                      : psr_series_store_length(w->store, i);
}

/* Where a segment begins, or with the next number the one before ends. */
static int64_t begin_of(const struct psr_whole_series *w, const struct psr_whole_series_read *r,
                        int number)
{
    const int64_t n = whole_series_length(w, r->line, r->i);
    return n / r->segment.of * (number - 1) + n % r->segment.of * (number - 1) / r->segment.of;
}

int64_t psr_whole_series_count(const struct psr_whole_series *w,
                               const struct psr_whole_series_read *r)
{
    return begin_of(w, r, r->segment.number + 1) - begin_of(w, r, r->segment.number);
}

/* Shorter ones leave data in every block by which searches measure noise. */
enum { LEAST_GAP = 1024 };

/* Keeps gaps of at least so many samples. */
static size_t keep_long(struct psr_span *gap, size_t n, int64_t least)
{
    size_t kept = 0;
    for (size_t k = 0; k < n; k++)
        if (gap[k].count >= least)
            gap[kept++] = gap[k];
    return kept;
}

PSR_COMPARE(longest_first, struct psr_span, PSR_THEN(PSR_FALLING(count), PSR_RISING(first)));

/* From the middle of the sweep to the sample it belongs to, in eighths of the shortest gap. */
static int64_t find_middle(const struct psr_span *gap, size_t n, int64_t half)
{
    int64_t shortest = INT64_MAX;
    for (size_t k = 0; k < n; k++)
        shortest = gap[k].count < shortest ? gap[k].count : shortest;
    const int64_t part = shortest / 8;
    return (half + part / 2) / part * part;
}

psr_status psr_whole_series_gaps(const struct psr_whole_series *w,
                                 const struct psr_whole_series_read *r, struct psr_span **gap,
                                 size_t *n, psr_err *err)
{
    enum { MOST = 200 };
    const struct psr_line_gaps *all = &w->gaps[r->line];
    const struct psr_sink_line *line = &w->stream->line[r->line];
    const int64_t half = line->shift ? (int64_t)line->shift[r->i - line->first] / 2 : 0;
    const int64_t begin = begin_of(w, r, r->segment.number);
    *n = 0;
    *gap = all->n ? malloc(all->n * sizeof **gap) : NULL;
    if (!*gap)
        return all->n ? psr_fail_nomem(err, "gaps", (double)all->n * sizeof **gap) : PSR_OK;
    memcpy(*gap, all->span, all->n * sizeof **gap);
    size_t left = keep_long(*gap, psr_spans_join(*gap, all->n), half);
    left = keep_long(*gap, left, LEAST_GAP);
    const int64_t middle = find_middle(*gap, left, half);
    for (size_t k = 0; k < left; k++)
        (*gap)[k].first += (line->late ? middle : -middle) - begin;
    left = keep_long(*gap, psr_spans_tidy(*gap, left, 0, psr_whole_series_count(w, r)), LEAST_GAP);
    qsort(*gap, left, sizeof **gap, longest_first);
    *n = psr_spans_tidy(*gap, left < MOST ? left : MOST, 0, INT64_MAX);
    return PSR_OK;
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
    for (size_t k = 0; w->gaps && k < w->stream->nline; k++)
        free(w->gaps[k].span);
    free(w->gaps);
    psr_series_store_destroy(w->store);
}

const struct psr_sink_ops psr_sink_whole_series = {
    .name = "whole series",
    .begin = begin,
    .push = push,
    .push_device = push_device,
    .gap = gap,
    .finish = finish,
    .abort = abort_sink,
    .masked = true,
};
