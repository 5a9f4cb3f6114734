/* A thread that waits for work, does it, and waits for more. */
#include "base/tool.h"

#include "threads.h"

static void *run_tasks(void *arg)
{
    struct psr_async_task *a = arg;
    psr_monitor_enter(&a->monitor);
    while (!a->ending) {
        if (!a->busy) {
            psr_monitor_wait(&a->monitor);
            continue;
        }
        psr_monitor_leave(&a->monitor);
        a->status = a->work(a->ctx, &a->err);
        psr_monitor_enter(&a->monitor);
        a->busy = false;
        pthread_cond_broadcast(&a->monitor.changed);
    }
    psr_monitor_leave(&a->monitor);
    return NULL;
}

static bool start_thread(struct psr_async_task *a)
{
    if (psr_monitor_init(&a->monitor, NULL))
        return false;
    if (!pthread_create(&a->thread, NULL, run_tasks, a))
        return true;
    psr_monitor_destroy(&a->monitor);
    return false;
}

bool psr_async_task_try(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                        void *ctx)
{
    if (!a->threaded)
        a->threaded = start_thread(a);
    if (!a->threaded)
        return false;
    psr_monitor_enter(&a->monitor);
    a->work = work;
    a->ctx = ctx;
    a->busy = true;
    psr_monitor_leave_changed(&a->monitor);
    return true;
}

void psr_async_task_start(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                          void *ctx)
{
    if (!psr_async_task_try(a, work, ctx))
        a->status = work(ctx, &a->err);
}

static void wait_until_idle(struct psr_async_task *a)
{
    if (!a->threaded)
        return;
    psr_monitor_enter(&a->monitor);
    while (a->busy)
        psr_monitor_wait(&a->monitor);
    psr_monitor_leave(&a->monitor);
}

psr_status psr_async_task_wait(struct psr_async_task *a, psr_err *err)
{
    wait_until_idle(a);
    const psr_status st = a->status;
    if (st && err)
        *err = a->err;
    a->status = PSR_OK;
    return st;
}

void psr_async_task_end(struct psr_async_task *a)
{
    wait_until_idle(a);
    a->status = PSR_OK;
    if (!a->threaded)
        return;
    psr_monitor_enter(&a->monitor);
    a->ending = true;
    psr_monitor_leave_changed(&a->monitor);
    pthread_join(a->thread, NULL);
    psr_monitor_destroy(&a->monitor);
    a->threaded = a->ending = false;
}
