/* threads.h: monitors; OpenMP's thread counts, 1 and 0 in a build without OpenMP, and limits (private). */
#ifndef PSR_BASE_THREADS_THREADS_H
#define PSR_BASE_THREADS_THREADS_H

#include "base/tool.h"

#include <psrkit/device.h>

#ifdef _OPENMP
#include <omp.h>
#include <stddef.h>
#endif

/* Waits for a change with the lock held, for at most 0.1 s, so that the caller can check whether to
 * stop. */
void psr_monitor_wait_briefly(struct psr_monitor *m);

static inline void psr_monitor_enter(struct psr_monitor *m)
{
    pthread_mutex_lock(&m->lock);
}

static inline void psr_monitor_leave(struct psr_monitor *m)
{
    pthread_mutex_unlock(&m->lock);
}

static inline void psr_monitor_leave_changed(struct psr_monitor *m)
{
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

static inline void psr_monitor_wait(struct psr_monitor *m)
{
    pthread_cond_wait(&m->changed, &m->lock);
}

/* The calling thread's number in its parallel region. */
static inline int psr_thread_number(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* Checks the limits that a plan is given: threads, 0 for all, and bytes of memory, 0 for a default.
 * Given:  what   the plan, for the message
 * Status: PSR_EINVAL for field nthread or mem_bytes */
PSR_MUST_CHECK psr_status psr_check_resources(const char *what, int nthread, int64_t mem_bytes,
                                              psr_err *err);

/* --- distributes work on many items over a team of threads and those that wait ---------------- */

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
