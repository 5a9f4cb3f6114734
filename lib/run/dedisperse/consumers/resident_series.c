/* Keeps series on the devices that computed them until they are complete. */
#include "sinks.h"

#include "base/device/device_internal.h"

#include "base/tool.h"
#include <pthread.h>
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

const struct psr_device_series *psr_resident_series_where(const psr_resident_series *r, size_t i)
{
    const struct psr_device_series *d = r->device;
    while (i - r->first >= d->first + d->nseries)
        d++;
    return d;
}

/* The first n samples of a series as they came. */
static psr_status fetch(const psr_resident_series *r, size_t i, float *x, int64_t n, psr_err *err)
{
    const size_t row = i - r->first, k = (size_t)(psr_resident_series_where(r, i) - r->device);
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
