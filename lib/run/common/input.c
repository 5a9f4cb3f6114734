/* Opens the input at its start position. */
#include "input.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "base/input/readfd.h"
#include "base/obs_internal.h"
#include "compat/presto/dedisp_presto.h"
#include "formats/spectra/spectra_reader.h"
#include "formats/spectra/unpack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fraction is known in spectra only once the input has been opened. */
static psr_status open_at_fraction(struct psr_input_file *in, const struct psr_input_desc *desc,
                                   psr_err *err)
{
    struct psr_source_desc again = desc->source;
    int64_t nsamp = psr_source_obs(in->source)->nsamp;
    psr_status st = PSR_OK;
    if (nsamp < 0)
        return psr_fail_field(err, PSR_EINVAL, "start", "%s: -start needs an input of known length",
                              in->name);
    nsamp += again.skip;
    again.skip = (int64_t)(desc->start * (double)nsamp);
    if (desc->presto) {
        const struct psr_trial_list *t = desc->trials;
        const struct psr_obs *obs = psr_source_obs(in->source);
        const struct psr_inf *inf = psr_source_inf(in->source);
        struct psr_presto_view view;
        psr_presto_view_make(&view, obs, desc->source.invert);
        struct psr_compat_desc d = psr_presto_describe(
            &view, inf, psr_line_count_subbands(t->line, obs, inf != NULL), t->dm, t->ndm);
        st = psr_presto_skip(&d, desc->start, nsamp, &again.skip, err);
    }
    if (st)
        return st;
    again.notes.note = NULL;
    in->skip = again.skip;
    psr_source_close(in->source);
    in->source = NULL;
    return psr_source_open(&in->source, &again, err);
}

psr_status psr_input_open(struct psr_input_file *in, const struct psr_input_desc *desc,
                          psr_err *err)
{
    if (!desc->source.npath) {
        const struct psr_obs *obs = desc->obs;
        *in = (struct psr_input_file){.name = "the caller's spectra",
                                      .obs = obs,
                                      .file_nbit = obs->nbit,
                                      .row_bytes = psr_row_bytes(obs->nchan, obs->nbit)};
        return psr_obs_check(obs, in->name, err);
    }
    in->name = psr_path_called(desc->source.path[0]);
    in->skip = desc->source.skip;
    psr_status st = psr_source_open(&in->source, &desc->source, err);
    if (!st && desc->start > 0)
        st = open_at_fraction(in, desc, err);
    if (st)
        return st;
    in->obs = psr_source_obs(in->source);
    in->inf = psr_source_inf(in->source);
    in->file_nbit = psr_source_file_nbit(in->source);
    in->row_bytes = psr_source_block_bytes(in->source, 1);
    return PSR_OK;
}

void psr_input_close(struct psr_input_file *in)
{
    psr_source_close(in->source);
    *in = (struct psr_input_file){0};
}

/* Reads spectra of a pipeline's input a second time. */

enum {
    AHEAD = 4096, /* spectra that are read over, rather than that the input is opened anew */
    ROWS = 64     /* spectra read at a time */
};

struct psr_reread {
    struct psr_reread_desc d;
    psr_source *source;
    int64_t pos;   /* the spectrum that it reads next */
    int64_t end;   /* where the input ends; -1: not known */
    void *row;     /* [ROWS] spectra */
    double *value; /* [nchan] */
};

psr_status psr_reread_create(psr_reread **out, const struct psr_reread_desc *desc, psr_err *err)
{
    bool regular = desc->source.npath > 0;
    *out = NULL;
    for (size_t k = 0; k < desc->source.npath; k++)
        regular &= psr_is_regular(desc->source.path[k]);
    if (!regular)
        return PSR_OK;
    psr_reread *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "reading the input again", sizeof *r);
    r->d = *desc;
    r->d.source.notes.note = NULL;
    r->end = -1;
    *out = r;
    return PSR_OK;
}

static psr_status open_at(psr_reread *r, int64_t first, psr_err *err)
{
    psr_source_close(r->source);
    r->source = NULL;
    r->d.source.skip = r->d.skip + first;
    psr_status st = psr_source_open(&r->source, &r->d.source, err);
    if (st)
        return st;
    r->pos = first;
    if (r->end < 0 && psr_source_obs(r->source)->nsamp >= 0)
        r->end = first + psr_source_obs(r->source)->nsamp;
    if (!r->row)
        r->row = malloc(psr_source_block_bytes(r->source, ROWS));
    if (!r->value)
        r->value = malloc(psr_source_obs(r->source)->nchan * sizeof *r->value);
    if (!r->row || !r->value)
        return psr_fail_nomem(err, "spectra", (double)psr_source_block_bytes(r->source, ROWS));
    return PSR_OK;
}

/* Returned: *got, fewer than n at the end of the input */
static psr_status read_rows(psr_reread *r, size_t n, size_t *got, psr_err *err)
{
    *got = 0;
    psr_status st = psr_source_read(r->source, n, r->row, got, err);
    r->pos += st ? 0 : (int64_t)*got;
    if (!st && *got < n)
        r->end = r->pos;
    return st;
}

/* Opened at its beginning first, which tells where it ends: beyond, there is nothing to seek. */
static psr_status seek(psr_reread *r, int64_t first, psr_err *err)
{
    psr_status st = r->source ? PSR_OK : open_at(r, 0, err);
    if (st || (r->end >= 0 && first >= r->end))
        return st;
    if (first < r->pos || (r->end >= 0 && first > r->pos + AHEAD))
        st = open_at(r, r->end < 0 ? 0 : first, err);
    while (!st && r->pos < first && (r->end < 0 || r->pos < r->end)) {
        const int64_t over = first - r->pos;
        size_t got;
        st = read_rows(r, over < ROWS ? (size_t)over : ROWS, &got, err);
    }
    return st;
}

/* Rows that were read, as floats. */
static void unpack_rows(psr_reread *r, size_t n, float *x)
{
    const struct psr_obs *obs = psr_source_obs(r->source);
    const size_t nchan = obs->nchan, bytes = psr_source_block_bytes(r->source, 1);
    for (size_t k = 0; k < n; k++) {
        psr_row_unpack(r->value, (const char *)r->row + k * bytes, nchan, obs->nbit, obs->kind);
        for (size_t c = 0; c < nchan; c++)
            x[k * nchan + c] = (float)r->value[c];
    }
}

psr_status psr_reread_read(psr_reread *r, int64_t first, size_t n, float *x, psr_err *err)
{
    psr_status st = seek(r, first > 0 ? first : 0, err);
    if (st)
        return st;
    const size_t nchan = psr_source_obs(r->source)->nchan;
    size_t done = first < 0 ? (size_t)-first : 0;
    for (size_t c = 0; c < n * nchan; c++)
        x[c] = NAN;
    while (!st && done < n && r->pos == first + (int64_t)done && (r->end < 0 || r->pos < r->end)) {
        size_t got;
        st = read_rows(r, n - done < ROWS ? n - done : ROWS, &got, err);
        if (!st)
            unpack_rows(r, got, x + done * nchan);
        done += got;
    }
    if (!st)
        psr_stage_clean_mark(r->d.clean, first, n, x);
    return st;
}

void psr_reread_destroy(psr_reread *r)
{
    if (!r)
        return;
    psr_source_close(r->source);
    free(r->row);
    free(r->value);
    free(r);
}

/* Reads blocks of a source ahead of their processing. */

/* One is processed, one waits, one is read. */
enum { READ_AHEAD = 3 };

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
    struct slot slot[READ_AHEAD];
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
        struct slot *s = &r->slot[i % READ_AHEAD];
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

void psr_read_ahead_destroy(psr_read_ahead *r)
{
    if (!r)
        return;
    if (r->ahead) {
        psr_read_ring_stop(&r->ring);
        psr_async_task_end(&r->task);
        psr_monitor_destroy(&r->monitor);
    }
    for (size_t k = 0; k < READ_AHEAD; k++) {
        if (r->d.for_device)
            psr_device_unpin(r->slot[k].data);
        else
            free(r->slot[k].data);
        free(r->slot[k].gap);
    }
    free(r);
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
    r->nslot = ahead ? READ_AHEAD : 1;
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

psr_status psr_read_ahead_next(psr_read_ahead *r, struct psr_block *block, psr_err *err)
{
    struct slot *s = r->slot;
    if (r->ahead) {
        /* Releases the previous slot, and waits for the next. */
        const size_t i = r->ring.next;
        psr_read_ring_free(&r->ring, i);
        (void)psr_read_ring_next(&r->ring, NULL, NULL);
        s = &r->slot[i % READ_AHEAD];
    } else if (r->ended)
        s->n = 0;
    else if (r->d.source)
        fill_slot(r, s);
    else {
        /* The spectra collected since the last block, possibly none. */
        if (r->given)
            s->n = 0;
        r->given = true;
    }
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
