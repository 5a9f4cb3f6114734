/* monitor.h: operations on a lock and its condition (private). */
#ifndef PSR_BASE_THREADS_MONITOR_H
#define PSR_BASE_THREADS_MONITOR_H

#include "base/tool.h"

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

#endif
