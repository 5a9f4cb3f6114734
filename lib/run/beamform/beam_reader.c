/* Reads blocks of voltages ahead, through psr_voltages_pump, into a ring buffer. */
#include "beam_reader.h"
#include "formats/dada/dada_internal.h"

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
