/* Divides a batch among devices, each with a thread. */
#include "devices.h"

#include <psrkit/device.h>
#include <stdlib.h>

psr_status devices_list(struct devices *d, const char *text, psr_err *err)
{
    psr_status st = psr_device_words(&d->name, text, err);
    if (st)
        return st;
    d->share = calloc(d->name.n, sizeof *d->share);
    for (size_t k = 0; d->share && k < d->name.n; k++)
        d->share[k].device = k;
    return d->share ? PSR_OK : psr_fail_nomem(err, "devices", (double)d->name.n);
}

size_t devices_first(const struct devices *d, size_t device, size_t n)
{
    return device * n / d->name.n;
}

size_t devices_find(const struct devices *d, size_t i, size_t n)
{
    size_t k = d->name.n - 1;
    while (i < devices_first(d, k, n))
        k--;
    return k;
}

static psr_status run_share(void *share, psr_err *err)
{
    const struct devices_share *s = share;
    (void)err; /* each item has its own status */
    s->work->run(s->work->ctx, s->device);
    return PSR_OK;
}

void devices_run(struct devices *d, const struct devices_work *work)
{
    for (size_t k = 0; k < d->name.n; k++)
        d->share[k].work = work;
    for (size_t k = 1; k < d->name.n; k++)
        psr_async_task_start(&d->share[k].task, run_share, &d->share[k]);
    (void)!run_share(d->share, NULL);
    for (size_t k = 1; k < d->name.n; k++)
        (void)!psr_async_task_wait(&d->share[k].task, NULL);
}

void devices_release(struct devices *d)
{
    for (size_t k = 0; d->share && k < d->name.n; k++)
        psr_async_task_end(&d->share[k].task);
    free(d->share);
    psr_names_clear(&d->name);
}
