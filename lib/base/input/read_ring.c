/* Manages the slots of a ring buffer of blocks. */
#include "base/tool.h"

#include "base/threads/threads.h"

void psr_read_ring_init(struct psr_read_ring *r, struct psr_monitor *monitor, size_t nslot)
{
    *r = (struct psr_read_ring){.monitor = monitor, .nslot = nslot};
}

bool psr_read_ring_has_room(const struct psr_read_ring *r, size_t i)
{
    return i < r->freed + r->nslot;
}

bool psr_read_ring_await_room(struct psr_read_ring *r, size_t i)
{
    psr_monitor_enter(r->monitor);
    while (!r->stopped && !psr_read_ring_has_room(r, i))
        psr_monitor_wait(r->monitor);
    const bool on = !r->stopped;
    psr_monitor_leave(r->monitor);
    return on;
}

void psr_read_ring_fill(struct psr_read_ring *r, size_t i, size_t n)
{
    psr_monitor_enter(r->monitor);
    r->n[i % r->nslot] = n;
    psr_monitor_leave_changed(r->monitor);
}

void psr_read_ring_end(struct psr_read_ring *r)
{
    psr_monitor_enter(r->monitor);
    r->ended = true;
    psr_monitor_leave_changed(r->monitor);
}

void psr_read_ring_begin(struct psr_read_ring *r)
{
    psr_monitor_enter(r->monitor);
    r->ended = false;
    psr_monitor_leave(r->monitor);
}

size_t psr_read_ring_next(struct psr_read_ring *r, bool (*should_stop)(void *ctx), void *ctx)
{
    size_t *slot = &r->n[r->next % r->nslot];
    psr_monitor_enter(r->monitor);
    while (*slot == 0 && !r->ended && !(should_stop && should_stop(ctx)))
        if (should_stop)
            psr_monitor_wait_briefly(r->monitor);
        else
            psr_monitor_wait(r->monitor);
    const size_t n = *slot;
    *slot = 0;
    r->next += n > 0;
    psr_monitor_leave(r->monitor);
    return n;
}

void psr_read_ring_free(struct psr_read_ring *r, size_t i)
{
    psr_monitor_enter(r->monitor);
    r->freed = i;
    psr_monitor_leave_changed(r->monitor);
}

void psr_read_ring_stop(struct psr_read_ring *r)
{
    psr_monitor_enter(r->monitor);
    r->stopped = true;
    psr_monitor_leave_changed(r->monitor);
}
