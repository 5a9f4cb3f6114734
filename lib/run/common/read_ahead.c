/* Reads blocks of a source ahead of their processing. */
#include "read_ahead.h"

#include "base/device/device_internal.h"
#include "base/tool.h"
#include "formats/spectra/source_internal.h"
#include <stdlib.h>
#include <string.h>

/* One is processed, one waits, one is read. */
enum { AHEAD = 3 };

struct slot {
    void *data; /* [n][nchan] packed */
    size_t n;
    struct psr_span *gap; /* [ngap] of room for [room] */
    size_t ngap, room;
    psr_status status;
    psr_err err;
};

struct psr_read_ahead {
    struct psr_read_ahead_desc d;
    struct slot slot[AHEAD];
    size_t nslot;  /* 1: blocks are read when they are asked for */
    int64_t first; /* spectra handed out */
    int64_t nread; /* spectra read */
    bool given;    /* without a source: what was gathered has been taken */
    bool ended;    /* by the caller */
    bool ahead;    /* blocks are read by a thread */
    struct psr_monitor monitor;
    struct psr_read_ring ring;
    struct psr_async_task task;
};

/* Gaps as they are known once the block has been read. */
static psr_status copy_gaps(psr_read_ahead *r, struct slot *s)
{
    const struct psr_span *gap;
    size_t n = psr_source_gaps(r->d.source, &gap);
    if (n > s->room) {
        struct psr_span *more = realloc(s->gap, n * sizeof *more);
        if (!more)
            return psr_fail_nomem(&s->err, "the account of gaps", (double)n * sizeof *more);
        s->gap = more;
        s->room = n;
    }
    if (n)
        memcpy(s->gap, gap, n * sizeof *gap);
    s->ngap = n;
    return PSR_OK;
}

static void fill_slot(psr_read_ahead *r, struct slot *s)
{
    s->status = psr_source_read(r->d.source, r->d.nsamp, s->data, &s->n, &s->err);
    if (s->status == PSR_OK && r->d.gaps)
        psr_source_forget_gaps(r->d.source, r->nread - (int64_t)r->d.gaps);
    if (s->status == PSR_OK)
        s->status = copy_gaps(r, s);
    r->nread += (int64_t)s->n;
}

/* Reads until the input ends or the caller stops.  The status at the end is in the slot of the block that
 * would follow. */
static psr_status read_blocks(void *ctx, psr_err *err)
{
    psr_read_ahead *r = ctx;
    size_t i = 0;
    (void)err;
    while (psr_read_ring_await_room(&r->ring, i)) {
        struct slot *s = &r->slot[i % AHEAD];
        fill_slot(r, s);
        if (s->status != PSR_OK || s->n == 0)
            break;
        psr_read_ring_fill(&r->ring, i++, s->n);
    }
    psr_read_ring_end(&r->ring);
    return PSR_OK;
}

static psr_status start_reading(psr_read_ahead *r, psr_err *err)
{
    psr_status st = psr_monitor_init(&r->monitor, err);
    if (st)
        return st;
    r->ahead = true;
    psr_read_ring_init(&r->ring, &r->monitor, r->nslot);
    if (!psr_async_task_try(&r->task, read_blocks, r))
        st = psr_fail(err, PSR_ENOMEM, "no thread to read the input");
    return st;
}

static psr_status allocate_slot(psr_read_ahead *r, struct slot *s, psr_err *err)
{
    size_t bytes = r->d.nsamp * r->d.row_bytes;
    if (r->d.for_device)
        return psr_device_pin(&s->data, bytes, err);
    s->data = malloc(bytes);
    return s->data ? PSR_OK : psr_fail_nomem(err, "a block of data", (double)bytes);
}

psr_status psr_read_ahead_create(psr_read_ahead **out, const struct psr_read_ahead_desc *desc,
                                 psr_err *err)
{
    /* A pipe may be slow, or give nothing more. */
    bool ahead = desc->for_device && desc->source && psr_source_obs(desc->source)->nsamp >= 0;
    psr_status st = PSR_OK;
    *out = NULL;
    psr_read_ahead *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "blocks of data", sizeof *r);
    r->d = *desc;
    r->nslot = ahead ? AHEAD : 1;
    for (size_t k = 0; k < r->nslot && st == PSR_OK; k++)
        st = allocate_slot(r, &r->slot[k], err);
    if (st == PSR_OK && ahead)
        st = start_reading(r, err);
    if (st != PSR_OK)
        psr_read_ahead_destroy(r);
    else
        *out = r;
    return st;
}

size_t psr_read_ahead_gather(psr_read_ahead *r, const void *spectra, size_t nsamp)
{
    struct slot *s = r->slot;
    s->n = r->given ? 0 : s->n;
    r->given = false;
    size_t room = r->d.nsamp - s->n, n = nsamp < room ? nsamp : room;
    memcpy((char *)s->data + s->n * r->d.row_bytes, spectra, n * r->d.row_bytes);
    s->n += n;
    return n;
}

bool psr_read_ahead_is_full(const psr_read_ahead *r)
{
    return !r->given && r->slot->n == r->d.nsamp;
}

/* The spectra collected since the last block, possibly none. */
static void take_gathered(psr_read_ahead *r, struct slot *s)
{
    if (r->given)
        s->n = 0;
    r->given = true;
}

/* Releases the previous slot, and waits for the next. */
static struct slot *await_slot(psr_read_ahead *r)
{
    const size_t i = r->ring.next;
    psr_read_ring_free(&r->ring, i);
    (void)psr_read_ring_next(&r->ring, NULL, NULL);
    return &r->slot[i % AHEAD];
}

psr_status psr_read_ahead_next(psr_read_ahead *r, struct psr_block *block, psr_err *err)
{
    struct slot *s = r->slot;
    if (r->ahead)
        s = await_slot(r);
    else if (r->ended)
        s->n = 0;
    else if (r->d.source)
        fill_slot(r, s);
    else
        take_gathered(r, s);
    *block = (struct psr_block){
        .first = r->first, .n = s->n, .spectra = s->data, .gap = s->gap, .ngap = s->ngap};
    r->first += (int64_t)s->n;
    if (s->status != PSR_OK && err)
        *err = s->err;
    return s->status;
}

void psr_read_ahead_end(psr_read_ahead *r)
{
    r->ended = true;
}

void psr_read_ahead_destroy(psr_read_ahead *r)
{
    if (!r)
        return;
    if (r->ahead) {
        psr_read_ring_stop(&r->ring);
        psr_async_task_end(&r->task);
        psr_monitor_destroy(&r->monitor);
    }
    for (size_t k = 0; k < AHEAD; k++) {
        if (r->d.for_device)
            psr_device_unpin(r->slot[k].data);
        else
            free(r->slot[k].data);
        free(r->slot[k].gap);
    }
    free(r);
}
