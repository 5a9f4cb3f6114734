/* Distributes work items over threads. */
#include "worker_pool.h"

enum { ITEMS_AT_ONCE = 32 };

void psr_worker_pool_init(struct psr_worker_pool *w, struct psr_monitor *monitor, int nthread)
{
    *w = (struct psr_worker_pool){.monitor = monitor, .nthread = nthread};
}

int psr_worker_pool_threads(const struct psr_worker_pool *w, size_t n)
{
    return (size_t)w->nthread < n ? w->nthread : (int)n;
}

bool psr_worker_pool_help(struct psr_worker_pool *w)
{
    psr_status st = PSR_OK;
    psr_err err;
    psr_monitor_enter(w->monitor);
    const size_t from = w->next;
    const size_t to = w->end - from < ITEMS_AT_ONCE ? w->end : from + ITEMS_AT_ONCE;
    w->next = to;
    psr_monitor_leave(w->monitor);
    if (from == to)
        return false;
    for (size_t i = from; i < to && !st; i++)
        st = w->work.step(w->work.ctx, i, &err);
    psr_monitor_enter(w->monitor);
    if (st) {
        w->status = st;
        w->err = err;
    }
    w->left -= to - from;
    if (w->left == 0)
        pthread_cond_broadcast(&w->monitor->changed);
    psr_monitor_leave(w->monitor);
    return true;
}

static psr_status work_as_team(void *ctx, psr_err *err)
{
    struct psr_worker_pool *w = ctx;
    (void)err;
#pragma omp parallel num_threads(psr_worker_pool_threads(w, w->work.n))
    while (psr_worker_pool_help(w))
        ;
    return PSR_OK;
}

void psr_worker_pool_start(struct psr_worker_pool *w, const struct psr_work *work)
{
    psr_monitor_enter(w->monitor);
    w->work = *work;
    w->next = 0;
    w->end = w->left = work->n;
    psr_monitor_leave_changed(w->monitor);
    psr_async_task_start(&w->team, work_as_team, w);
}

psr_status psr_worker_pool_wait(struct psr_worker_pool *w, psr_err *err)
{
    psr_status st = psr_async_task_wait(&w->team, err);
    while (psr_worker_pool_help(w))
        ;
    psr_monitor_enter(w->monitor);
    while (w->left > 0)
        psr_monitor_wait(w->monitor);
    if (!st && w->status) {
        st = w->status;
        *err = w->err;
    }
    psr_monitor_leave(w->monitor);
    return st;
}

void psr_worker_pool_end(struct psr_worker_pool *w)
{
    psr_err ignored;
    if (!w->monitor)
        return;
    psr_monitor_enter(w->monitor);
    w->left -= w->end - w->next;
    w->next = w->end;
    psr_monitor_leave(w->monitor);
    (void)!psr_worker_pool_wait(w, &ignored);
    psr_async_task_end(&w->team);
}
