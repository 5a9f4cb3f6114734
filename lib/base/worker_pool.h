/* worker_pool.h: work on many items, shared by whichever threads have time (private).
 *
 * Threads that do something else, such as reading ahead, look in between whether there is any to do:
 * with threads of its own beside them there would be more than cores, and they would wait for each
 * other.  Where nobody looks, a thread of the pool's own and its team do it. */
#ifndef PSR_BASE_WORKER_POOL_H
#define PSR_BASE_WORKER_POOL_H

#include "monitor.h"
#include <stddef.h>

/* What is to be done with each of n items, by any thread, in any order. */
struct psr_work {
    psr_status (*step)(void *ctx, size_t i, psr_err *err);
    void *ctx;
    size_t n;
};

struct psr_worker_pool {
    struct psr_monitor *monitor; /* borrowed; told when work begins, and when all is done */
    int nthread;                 /* of a team, which is no larger than there are items */
    struct psr_work work;
    size_t next, end, left; /* items that nobody has taken; how many are not done */
    psr_status status;      /* of a step that failed */
    psr_err err;
    struct psr_async_task team;
};

void psr_worker_pool_init(struct psr_worker_pool *w, struct psr_monitor *monitor, int nthread);

/* Threads that share n items: one that has nothing to do is still waited for, and cores are busy. */
int psr_worker_pool_threads(const struct psr_worker_pool *w, size_t n);

/* Starts on work; one at a time: wait for it first.
 * Given:  helped   whether other threads look for work, and need no team beside them; what they leave
 *                  is done by who waits */
void psr_worker_pool_start(struct psr_worker_pool *w, const struct psr_work *work, bool helped);

/* Does some of the work.  Returned: whether there was any to do */
bool psr_worker_pool_help(struct psr_worker_pool *w);

/* The same with the monitor held, and without doing any. */
static inline bool psr_worker_pool_has_work(const struct psr_worker_pool *w)
{
    return w->next < w->end;
}

/* Helps until all is done.  Returned: the status of a step that failed, and *err of it */
PSR_MUST_CHECK psr_status psr_worker_pool_wait(struct psr_worker_pool *w, psr_err *err);

/* Takes back what nobody has begun, waits for the rest, and ends the team. */
void psr_worker_pool_end(struct psr_worker_pool *w);

#endif
