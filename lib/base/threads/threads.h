/* threads.h: monitors; OpenMP's thread counts, 1 and 0 in a build without OpenMP, and limits (private). */
#ifndef PSR_BASE_THREADS_THREADS_H
#define PSR_BASE_THREADS_THREADS_H

#include "base/tool.h"

#include <psrkit/device.h>

#ifdef _OPENMP
#include <omp.h>
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

#endif
