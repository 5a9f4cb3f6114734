/* worker_pool.h: distributes work on many items over a team of threads and those that wait (private). */
#ifndef PSR_BASE_THREADS_WORKER_POOL_H
#define PSR_BASE_THREADS_WORKER_POOL_H

#include "threads.h"
#include <stddef.h>

/* Processes one of n items; called by any thread, in any order. */
struct psr_work {
    psr_status (*step)(void *ctx, size_t i, psr_err *err);
    void *ctx;
    size_t n;
};

struct psr_worker_pool {
    struct psr_monitor *monitor; /* borrowed; notified when work begins and when all is done */
    int nthread;                 /* size of a team, limited to the number of items */
    struct psr_work work;
    size_t next, end, left; /* range of items not yet taken; number of items not yet done */
    psr_status status;      /* of a step that failed */
    psr_err err;
    struct psr_async_task team;
};

void psr_worker_pool_init(struct psr_worker_pool *w, struct psr_monitor *monitor, int nthread);

/* Number of threads that share n items: idle threads would still be waited for, and cores are busy.
 */
int psr_worker_pool_threads(const struct psr_worker_pool *w, size_t n);

/* Starts work; only one at a time: wait for it first. */
void psr_worker_pool_start(struct psr_worker_pool *w, const struct psr_work *work);

/* Does part of the work, in any thread.
 * Returned: true if there was any */
bool psr_worker_pool_help(struct psr_worker_pool *w);

/* Helps until all is done.
 * Returned: the status of a failed step, with its *err */
PSR_MUST_CHECK psr_status psr_worker_pool_wait(struct psr_worker_pool *w, psr_err *err);

/* Cancels items not yet begun, waits for the others, and ends the team. */
void psr_worker_pool_end(struct psr_worker_pool *w);

#endif
