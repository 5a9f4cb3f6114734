/* Buffers rows of beams until they are kept for scales or written. */
#include "beamformer_state.h"

#include "formats/dada/dada_internal.h"

/* --- what is done to the rows of a beam ------------------------------------------------------- */

static void *rows_of_beam(const struct psr_beam_rows *r, size_t b)
{
    return (char *)r->task.rows + b * r->task.stride * psr_beam_row_bytes(r->d.plan);
}

static void spread(const struct psr_beam_rows *r, void *rows)
{
    psr_beam_sums_spread(r->d.sums, rows, r->task.n, psr_beam_row_bytes(r->d.plan),
                         r->d.scales->d.nbit == 32);
}

static psr_status write_beam(void *ctx, size_t b, psr_err *err)
{
    struct psr_beam_rows *r = ctx;
    void *rows = rows_of_beam(r, b);
    spread(r, rows);
    return psr_beam_outputs_write(r->d.outputs, b, rows, r->task.n * psr_beam_row_bytes(r->d.plan),
                                  err);
}

static psr_status keep_beam(void *ctx, size_t b, psr_err *err)
{
    struct psr_beam_rows *r = ctx;
    void *rows = rows_of_beam(r, b);
    (void)err;
    spread(r, rows);
    psr_beam_scales_keep(r->d.scales, b, r->task.first, rows, r->task.n);
    return PSR_OK;
}

static psr_status write_kept_beam(void *ctx, size_t b, psr_err *err)
{
    struct psr_beam_rows *r = ctx;
    const struct psr_beam_scales *s = r->d.scales;
    return psr_beam_outputs_write(r->d.outputs, b, psr_beam_scales_quantise(s, b),
                                  s->kept_n * psr_beam_row_bytes(r->d.plan), err);
}

static void start(struct psr_beam_rows *r, psr_status (*step)(void *ctx, size_t b, psr_err *err))
{
    const struct psr_work work = {.step = step, .ctx = r, .n = r->d.nbeam};
    psr_worker_pool_start(r->d.pool, &work);
}

psr_status psr_beam_rows_wait(struct psr_beam_rows *r, psr_err *err)
{
    psr_status st = psr_beam_outputs_wait(r->d.outputs, err);
    return st ? st : psr_worker_pool_wait(r->d.pool, err);
}

/* --- where rows go ---------------------------------------------------------------------------- */

size_t psr_beam_rows_stride(const struct psr_beam_rows *r)
{
    return r->d.scales->measures ? r->d.stride_floats : r->d.stride;
}

size_t psr_beam_rows_to_keep(const struct psr_beam_rows *r)
{
    const struct psr_beam_scales *s = r->d.scales;
    return s->measures ? s->kept_most - r->kept_begun : SIZE_MAX;
}

/* On in the buffer, or into the next one. */
void *psr_beam_rows_place(struct psr_beam_rows *r, size_t nrow)
{
    if (!r->d.gathers || r->d.scales->measures || r->begun + nrow > r->d.stride) {
        r->buffer_now++;
        r->begun = 0;
    }
    r->begun += nrow;
    return (char *)r->d.buffer[r->buffer_now % PSR_BEAM_ROWS_BUFFERS] +
           (r->begun - nrow) * psr_beam_row_bytes(r->d.plan);
}

void psr_beam_rows_begin(struct psr_beam_rows *r, size_t nrow)
{
    r->coming = nrow;
    r->buffer_coming = r->buffer_now;
    r->kept_begun += r->d.scales->measures ? nrow : 0;
}

/* --- handing over ----------------------------------------------------------------------------- */

/* Scales are known from here on, and what was kept is written. */
static psr_status end_measuring(struct psr_beam_rows *r, psr_err *err)
{
    struct psr_beam_scales *s = r->d.scales;
    psr_status st = psr_beam_rows_wait(r, err);
    s->measures = false;
    if (!st && s->kept_n > 0)
        st = psr_beam_scales_measure(s, psr_worker_pool_threads(r->d.pool, r->d.nbeam), err);
    if (!st)
        st = psr_beam_scales_apply(s, r->d.plan, err);
    if (!st)
        start(r, write_kept_beam);
    return st;
}

static psr_status keep(struct psr_beam_rows *r, psr_err *err)
{
    struct psr_beam_scales *s = r->d.scales;
    s->kept_n += r->task.n;
    start(r, keep_beam);
    return s->kept_n == s->kept_most ? end_measuring(r, err) : PSR_OK;
}

enum { NO_ROOM = 1 << 30 }; /* more rows than a buffer has */

/* Passes complete rows on to be kept or written; no others are begun meanwhile. */
static psr_status submit_rows(struct psr_beam_rows *r, psr_err *err)
{
    psr_status st = psr_beam_rows_wait(r, err);
    if (st || r->came == 0)
        return st;
    r->task = (struct psr_beam_rows_task){
        .rows = r->d.buffer[r->buffer_coming % PSR_BEAM_ROWS_BUFFERS],
        .stride = psr_beam_rows_stride(r),
        .n = r->came,
        .first = r->d.scales->kept_n,
    };
    r->came = 0;
    if (r->buffer_coming == r->buffer_now)
        r->begun = NO_ROOM;
    if (r->d.scales->measures)
        return keep(r, err);
    start(r, write_beam);
    return PSR_OK;
}

psr_status psr_beam_rows_came(struct psr_beam_rows *r, bool all, psr_err *err)
{
    r->came += r->coming;
    r->nrow += (int64_t)r->coming;
    r->coming = 0;
    const bool complete = r->d.scales->measures || all || r->buffer_coming != r->buffer_now;
    return complete ? submit_rows(r, err) : PSR_OK;
}

psr_status psr_beam_rows_end(struct psr_beam_rows *r, psr_err *err)
{
    psr_status st = r->d.scales->measures ? end_measuring(r, err) : PSR_OK;
    return st ? st : psr_beam_rows_wait(r, err);
}

/* Reads blocks of voltages ahead, through psr_voltages_pump, into a ring buffer. */

static void *find_room(void *ctx, size_t i)
{
    struct psr_beam_reader *r = ctx;
    psr_monitor_enter(r->d.monitor);
    const bool room = psr_read_ring_has_room(&r->ring, r->first + i);
    psr_monitor_leave(r->d.monitor);
    return room ? r->slot[(r->first + i) % PSR_BEAM_READER_SLOTS] : NULL;
}

static void take_block(void *ctx, size_t i, size_t nt)
{
    struct psr_beam_reader *r = ctx;
    if (nt == 0)
        psr_read_ring_stop(&r->ring);
    else
        psr_read_ring_fill(&r->ring, r->first + i, nt);
}

static bool wait_for_room(void *ctx, bool idle, size_t i)
{
    struct psr_beam_reader *r = ctx;
    psr_monitor_enter(r->d.monitor);
    while (idle && r->task.threaded && !r->ring.stopped &&
           !psr_read_ring_has_room(&r->ring, r->first + i))
        psr_monitor_wait(r->d.monitor);
    const bool room = psr_read_ring_has_room(&r->ring, r->first + i);
    const bool on = !r->ring.stopped && (r->task.threaded || room);
    psr_monitor_leave(r->d.monitor);
    return on && !r->d.should_stop(r->d.ctx);
}

static psr_status read_blocks(void *ctx, psr_err *err)
{
    struct psr_beam_reader *r = ctx;
    const struct psr_voltages_sink sink = {r, find_room, take_block, wait_for_room};
    psr_status st = psr_voltages_pump(r->d.in->voltages, r->d.block, &sink, err);
    psr_read_ring_end(&r->ring);
    return st;
}

static void resume_reading(struct psr_beam_reader *r)
{
    r->first = r->ring.next;
    psr_read_ring_begin(&r->ring);
    psr_async_task_start(&r->task, read_blocks, r);
}

void psr_beam_reader_start(struct psr_beam_reader *r, const struct psr_beam_reader_desc *desc,
                           void *const slot[PSR_BEAM_READER_SLOTS])
{
    r->d = *desc;
    for (size_t i = 0; i < PSR_BEAM_READER_SLOTS; i++)
        r->slot[i] = slot[i];
    psr_read_ring_init(&r->ring, desc->monitor, PSR_BEAM_READER_SLOTS);
    resume_reading(r);
}

static size_t next_block(struct psr_beam_reader *r)
{
    return psr_read_ring_next(&r->ring, r->d.should_stop, r->d.ctx);
}

psr_status psr_beam_reader_next(struct psr_beam_reader *r, const uint8_t **in, size_t *n,
                                psr_err *err)
{
    const size_t slot = r->ring.next % PSR_BEAM_READER_SLOTS;
    psr_status st = PSR_OK;
    *in = r->slot[slot];
    *n = next_block(r);
    if (*n > 0 || r->d.should_stop(r->d.ctx))
        return PSR_OK;
    st = psr_async_task_wait(&r->task, err);
    if (st || r->task.threaded)
        return st;
    resume_reading(r); /* without a thread it returns when there is no room */
    *n = next_block(r);
    return psr_async_task_wait(&r->task, err);
}

/* Voltages of the last block may still be needed. */
void psr_beam_reader_release(struct psr_beam_reader *r)
{
    psr_read_ring_free(&r->ring, r->ring.next - 1);
}

void psr_beam_reader_stop(struct psr_beam_reader *r)
{
    if (r->d.monitor)
        psr_read_ring_stop(&r->ring);
}

void psr_beam_reader_end(struct psr_beam_reader *r)
{
    psr_beam_reader_stop(r);
    psr_async_task_end(&r->task);
}
