/* read_ring.h: ring buffer of blocks that are read ahead (private).
 *
 * Blocks are numbered from 0; block i is in slot i % nslot.  The producer waits for free slots and
 * may fill several at a time; the consumer takes blocks in order and releases them. */
#ifndef PSR_BASE_READ_RING_H
#define PSR_BASE_READ_RING_H

#include "monitor.h"
#include <stddef.h>

enum { PSR_RING_SLOTS = 4 }; /* maximum */

struct psr_read_ring {
    struct psr_monitor *monitor; /* borrowed; notified of every change */
    size_t nslot;
    size_t n[PSR_RING_SLOTS]; /* contents of a full block; 0: not full yet */
    size_t next, freed;       /* next block to consume; blocks below freed are released */
    bool stopped, ended;      /* producer must stop; producer has ended */
};

void psr_read_ring_init(struct psr_read_ring *r, struct psr_monitor *monitor, size_t nslot);

/* True if block i has a free slot; call with the monitor held. */
static inline bool psr_read_ring_has_room(const struct psr_read_ring *r, size_t i)
{
    return i < r->freed + r->nslot;
}

/* Waits for that.
 * Returned: false if the ring has been stopped */
bool psr_read_ring_await_room(struct psr_read_ring *r, size_t i);

/* Marks block i full with contents n, 1 or more. */
void psr_read_ring_fill(struct psr_read_ring *r, size_t i, size_t n);

/* Ends the input; begin restarts it. */
void psr_read_ring_end(struct psr_read_ring *r);
void psr_read_ring_begin(struct psr_read_ring *r);
bool psr_read_ring_has_ended(struct psr_read_ring *r);

/* Waits for block next and advances next.
 * Given:    should_stop   polled while waiting; NULL: never
 * Returned: contents of the block; 0 if the input ended before it, or should_stop returned true */
size_t psr_read_ring_next(struct psr_read_ring *r, bool (*should_stop)(void *ctx), void *ctx);

/* Releases the blocks before i. */
void psr_read_ring_free(struct psr_read_ring *r, size_t i);

/* Stops the producer. */
void psr_read_ring_stop(struct psr_read_ring *r);

#endif
