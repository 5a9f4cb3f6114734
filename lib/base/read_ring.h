/* read_ring.h: blocks that are filled ahead of whoever uses them, in memory used in turn (private).
 *
 * Blocks are numbered from 0; block i lies in slot i % nslot.  Whoever fills waits for room, and may
 * fill several at a time; whoever uses takes them in their order, and says which it is done with. */
#ifndef PSR_BASE_READ_RING_H
#define PSR_BASE_READ_RING_H

#include "monitor.h"
#include <stddef.h>

enum { PSR_RING_SLOTS = 4 }; /* at most */

struct psr_read_ring {
    struct psr_monitor *monitor; /* borrowed; told of every change */
    size_t nslot;
    size_t n[PSR_RING_SLOTS]; /* what a block that is full holds; 0: it is not full yet */
    size_t next, freed;       /* block to be used next; those before this one are done with */
    bool stopped, ended;      /* fill no more; nothing is filled any more */
};

void psr_read_ring_init(struct psr_read_ring *r, struct psr_monitor *monitor, size_t nslot);

/* Whether block i has a slot to be filled in, with the monitor held. */
static inline bool psr_read_ring_has_room(const struct psr_read_ring *r, size_t i)
{
    return i < r->freed + r->nslot;
}

/* Waits for that.  Returned: false where the ring has been stopped */
bool psr_read_ring_await_room(struct psr_read_ring *r, size_t i);

/* Block i is full, and holds n, 1 or more. */
void psr_read_ring_fill(struct psr_read_ring *r, size_t i, size_t n);

/* Nothing more is filled, until begin says that filling goes on. */
void psr_read_ring_end(struct psr_read_ring *r);
void psr_read_ring_begin(struct psr_read_ring *r);
bool psr_read_ring_has_ended(struct psr_read_ring *r);

/* Waits for block next, which then is the one after it.
 * Given:    should_stop   asked from time to time; NULL: never
 * Returned: what it holds; 0 where filling has ended before it, or should_stop said so */
size_t psr_read_ring_next(struct psr_read_ring *r, bool (*should_stop)(void *ctx), void *ctx);

/* Blocks before i are done with. */
void psr_read_ring_free(struct psr_read_ring *r, size_t i);

/* Whoever fills is to stop. */
void psr_read_ring_stop(struct psr_read_ring *r);

#endif
