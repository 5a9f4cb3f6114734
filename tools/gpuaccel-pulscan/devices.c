/* Searches the files of a batch on all devices, each its share. */
#include "gpuaccel-pulscan.h"

#include <stdlib.h>

psr_status accel_create_devices(struct accel_job *j)
{
    struct psr_fourier_desc d = j->opt.fourier.search;
    psr_status st = devices_list(&j->devices, d.device, &j->err);
    const size_t n = j->devices.name.n;
    if (!st && !(j->device = calloc(n, sizeof *j->device)))
        st = psr_fail_nomem(&j->err, "devices", (double)n * sizeof *j->device);
    if (st)
        return st;
    d.nthread = psr_share_threads((int)d.nthread, j->devices.name.n);
    if (d.max_batch)
        d.max_batch = d.max_batch > (int64_t)n ? d.max_batch / (int64_t)n : 1;
    for (size_t k = 0; k < n && !st; k++) {
        d.device = j->devices.name.name[k];
        st = psr_fourier_create(&j->device[k].search, &d, &j->err);
    }
    return st;
}

psr_status accel_plan_devices(struct accel_job *j, const struct psr_fourier_shape *shape)
{
    const size_t n = j->devices.name.n, each = (j->npath + n - 1) / n;
    psr_status st = PSR_OK;
    j->nslot = PSR_FOURIER_SLOTS;
    j->max = SIZE_MAX / n;
    for (size_t k = 0; k < n && !st; k++) {
        psr_fourier *search = j->device[k].search;
        st = psr_fourier_plan(search, shape, each, &j->err);
        if (st)
            continue;
        const size_t nslot = psr_fourier_nslot(search), max = psr_fourier_batch(search);
        j->nslot = nslot < j->nslot ? nslot : j->nslot;
        j->max = max < j->max ? max : j->max;
    }
    j->max *= n;
    return st;
}

const struct accel_device *accel_device_of(const struct accel_job *j, size_t n, size_t i,
                                           size_t *own)
{
    const size_t k = devices_find(&j->devices, i, n);
    *own = i - devices_first(&j->devices, k, n);
    return &j->device[k];
}

/* --- a batch ---------------------------------------------------------------------------------- */

static void search_share(void *job, size_t device)
{
    struct accel_job *j = job;
    struct accel_device *d = &j->device[device];
    const size_t slot = j->slot;
    const struct accel_batch *b = &j->batch[slot];
    const size_t first = devices_first(&j->devices, device, b->nfile),
                 n = devices_first(&j->devices, device + 1, b->nfile) - first;
    const double began_s = run_seconds();
    psr_err err;
    const psr_status st = psr_fourier_execute(d->search, slot, n, b->in + first, &err);
    d->search_s = run_seconds() - began_s;
    d->measure_s = -d->search_s;
    for (size_t i = 0; i < n; i++) {
        struct accel_file *file = &b->file[first + i];
        file->status = st;
        if (st)
            file->err = err;
        else if (!run_stop_signal())
            file->status = psr_fourier_list(d->search, slot, i, &file->result, &file->err);
        d->search_s += file->result.search_s;
        d->measure_s -= file->result.search_s;
    }
    d->measure_s += run_seconds() - began_s;
}

void accel_search_batch(struct accel_job *j, size_t slot)
{
    double search_s = 0, measure_s = 0;
    j->slot = slot;
    devices_run(&j->devices, &(struct devices_work){search_share, j});
    for (size_t k = 0; k < j->devices.name.n; k++) {
        const struct accel_device *d = &j->device[k];
        search_s = d->search_s > search_s ? d->search_s : search_s;
        measure_s = d->measure_s > measure_s ? d->measure_s : measure_s;
    }
    j->search_s += search_s;
    j->write_s += measure_s;
}

void accel_release_devices(struct accel_job *j)
{
    for (size_t k = 0; j->device && k < j->devices.name.n; k++)
        psr_fourier_destroy(j->device[k].search);
    free(j->device);
    devices_release(&j->devices);
}
