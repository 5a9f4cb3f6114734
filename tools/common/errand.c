#include "errand.h"

#include "run.h"

static void *run_errands(void *arg)
{
    struct errand *e = arg;
    pthread_mutex_lock(&e->lock);
    while (!e->ending) {
        if (e->busy) {
            pthread_mutex_unlock(&e->lock);
            e->status = e->work(e->ctx, &e->err);
            pthread_mutex_lock(&e->lock);
            e->busy = false;
            pthread_cond_broadcast(&e->changed);
        } else {
            pthread_cond_wait(&e->changed, &e->lock);
        }
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

static bool start_thread(struct errand *e)
{
    if (pthread_mutex_init(&e->lock, NULL))
        return false;
    if (!pthread_cond_init(&e->changed, NULL)) {
        if (!pthread_create(&e->thread, NULL, run_errands, e))
            return true;
        pthread_cond_destroy(&e->changed);
    }
    pthread_mutex_destroy(&e->lock);
    return false;
}

void errand_start(struct errand *e, psr_status (*work)(void *ctx, psr_err *err), void *ctx)
{
    e->work = work;
    e->ctx = ctx;
    if (!e->threaded)
        e->threaded = start_thread(e);
    if (!e->threaded) {
        e->status = work(ctx, &e->err);
        return;
    }
    pthread_mutex_lock(&e->lock);
    e->busy = true;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static void wait_until_idle(struct errand *e)
{
    if (!e->threaded)
        return;
    pthread_mutex_lock(&e->lock);
    while (e->busy)
        pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
}

psr_status errand_wait(struct errand *e, psr_err *err)
{
    wait_until_idle(e);
    psr_status st = e->status;
    if (st)
        *err = e->err;
    e->status = PSR_OK;
    return st;
}

bool errand_busy(struct errand *e, double wait_s)
{
    if (!e->threaded)
        return false;
    const struct timespec until = run_deadline(wait_s);
    pthread_mutex_lock(&e->lock);
    while (e->busy && !pthread_cond_timedwait(&e->changed, &e->lock, &until))
        ;
    bool busy = e->busy;
    pthread_mutex_unlock(&e->lock);
    return busy;
}

void errand_end(struct errand *e)
{
    wait_until_idle(e);
    e->status = PSR_OK;
    if (!e->threaded)
        return;
    pthread_mutex_lock(&e->lock);
    e->ending = true;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    e->threaded = e->ending = false;
}
