#include "errand.h"

static void *run_errand(void *arg)
{
    struct errand *e = arg;
    e->status = e->work(e->ctx, &e->err);
    return NULL;
}

void errand_start(struct errand *e, psr_status (*work)(void *ctx, psr_err *err), void *ctx)
{
    e->work = work;
    e->ctx = ctx;
    e->running = pthread_create(&e->thread, NULL, run_errand, e) == 0;
    if (!e->running)
        run_errand(e);
}

psr_status errand_wait(struct errand *e, psr_err *err)
{
    if (e->running)
        pthread_join(e->thread, NULL);
    e->running = false;
    psr_status st = e->status;
    if (st)
        *err = e->err;
    e->status = PSR_OK;
    return st;
}
