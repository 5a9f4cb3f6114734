/* A lock and a condition that are made, and unmade, together. */
#include "monitor.h"

#include <time.h>

psr_status psr_monitor_init(struct psr_monitor *m, psr_err *err)
{
    if (!pthread_mutex_init(&m->lock, NULL)) {
        if (!pthread_cond_init(&m->changed, NULL))
            return PSR_OK;
        pthread_mutex_destroy(&m->lock);
    }
    return psr_fail_nomem(err, "a lock", sizeof *m);
}

void psr_monitor_destroy(struct psr_monitor *m)
{
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
}

void psr_monitor_wait_briefly(struct psr_monitor *m)
{
    const long second_ns = 1000000000, brief_ns = second_ns / 10;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += brief_ns;
    if (until.tv_nsec >= second_ns) {
        until.tv_sec++;
        until.tv_nsec -= second_ns;
    }
    pthread_cond_timedwait(&m->changed, &m->lock, &until);
}
