/* Searches files in batches: one is loaded while the one before is searched. */
#include "gpuaccel-pulscan.h"

#include <stdlib.h>
#include <string.h>

/* Adds the time since *since_s to a stage and moves *since_s to now. */
static void charge(double *stage_s, double *since_s)
{
    double now_s = run_seconds();
    *stage_s += now_s - *since_s;
    *since_s = now_s;
}

/* Of files that were not written. */
static void abort_groups(struct accel_batch *b)
{
    for (size_t i = 0; i < b->nfile; i++) {
        psr_output_group_abort(b->file[i].group);
        psr_fourier_result_clear(&b->file[i].result);
    }
    b->nfile = 0;
}

void accel_release_batches(struct accel_job *j)
{
    for (struct accel_batch *b = j->batch; b < j->batch + PSR_FOURIER_SLOTS; b++) {
        abort_groups(b);
        free(b->file);
        free(b->in);
        *b = (struct accel_batch){.read_s = b->read_s};
    }
}

/* --- a batch ---------------------------------------------------------------------------------- */

/* Reads the batch's files into the plan's memory: from the page cache one thread reads slower than
 * a GPU searches. */
static void load_batch(const struct accel_job *j, size_t slot, struct accel_batch *b)
{
    const int64_t n = (int64_t)b->nfile;
    double since_s = run_seconds();
    for (int64_t i = 0; i < n; i++) {
        size_t own;
        const struct accel_device *d = accel_device_of(j, b->nfile, (size_t)i, &own);
        b->in[i] = (struct psr_fourier_input){.name = b->file[i].path,
                                              .shape = psr_fourier_shape_of(&b->file[i].about),
                                              .x = psr_fourier_room(d->search, slot, own)};
    }
#pragma omp parallel for schedule(dynamic) num_threads(j->nthread)
    for (int64_t i = 0; i < n; i++) {
        struct accel_file *file = &b->file[i];
        if (b->in[i].x)
            file->status = accel_load(j, file, &b->in[i], &file->err);
        else
            file->status = psr_fail_nomem(&file->err, file->path, 8.0 * (double)file->about.nbin);
    }
    charge(&b->read_s, &since_s);
}

/* Those that could not be read are reported and leave the batch. */
static void drop_unread(struct accel_job *j, struct accel_batch *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->nfile; i++) {
        if (b->file[i].status != PSR_OK) {
            psr_output_group_abort(b->file[i].group);
            accel_report(j, b->file[i].path, &b->file[i].err);
            continue;
        }
        b->file[n] = b->file[i];
        b->in[n++] = b->in[i];
    }
    b->nfile = n;
}

/* One line, whatever the number of files that are left. */
static void report_loss(struct accel_job *j, const char *path, const psr_err *lost)
{
    psr_err err;
    psr_fail(&err, lost->code,
             "%.300s: after %zu files; %.150s and those after it are not searched", lost->msg,
             j->nsearched, path);
    accel_report(j, NULL, &err);
    j->no_device = true;
}

/* Searches what was loaded, and writes what was found. */
static void finish_batch(struct accel_job *j, size_t slot)
{
    struct accel_batch *b = &j->batch[slot];
    drop_unread(j, b);
    if (!run_stop_signal() && !j->no_device)
        accel_search_batch(j, slot);
    double since_s = run_seconds();
    for (size_t i = 0; i < b->nfile && !run_stop_signal() && !j->no_device; i++) {
        const psr_status found = b->file[i].status, mine = found ? found : accel_write(j, slot, i);
        const psr_err *err = found ? &b->file[i].err : &j->err;
        if (!mine)
            j->nsearched++;
        else if (mine == PSR_EDEVICE)
            report_loss(j, b->file[i].path, err);
        else
            accel_report(j, b->file[i].path, err);
    }
    j->ndone += (int64_t)b->nfile;
    run_progress_update(&j->progress, j->ndone);
    charge(&j->write_s, &since_s);
    abort_groups(b);
}

/* --- the ring --------------------------------------------------------------------------------- */

/* Loads the last batch that was gathered. */
static psr_status load_last(void *job, psr_err *err)
{
    struct accel_job *j = job;
    const size_t i = j->ngathered - 1, slot = i % j->ring.nslot;
    struct accel_batch *b = &j->batch[slot];
    (void)err; /* each file has its own status */
    load_batch(j, slot, b);
    psr_read_ring_fill(&j->ring, i, b->nfile);
    return PSR_OK;
}

static void finish_next(struct accel_job *j)
{
    const size_t slot = j->ring.next % j->ring.nslot;
    (void)psr_read_ring_next(&j->ring, NULL, NULL);
    finish_batch(j, slot);
    psr_read_ring_free(&j->ring, j->ring.next);
}

static struct accel_batch *gathering(struct accel_job *j)
{
    return &j->batch[j->ngathered % j->ring.nslot];
}

/* Has the batch loaded, while the one before is searched if the ring has two slots. */
static void flush(struct accel_job *j)
{
    if (gathering(j)->nfile == 0 || run_stop_signal() || j->no_device)
        return;
    (void)!psr_async_task_wait(&j->loading, NULL);
    j->ngathered++;
    if (j->ring.nslot > 1)
        psr_async_task_start(&j->loading, load_last, j);
    else
        (void)!load_last(j, NULL);
    if (j->ngathered - j->ring.next == j->ring.nslot)
        finish_next(j);
}

void accel_drain(struct accel_job *j)
{
    flush(j);
    while (j->ring.next < j->ngathered && !run_stop_signal())
        finish_next(j);
    (void)!psr_async_task_wait(&j->loading, NULL);
}

/* --- files ------------------------------------------------------------------------------------ */

static psr_status create_batches(struct accel_job *j)
{
    for (size_t k = 0; k < j->nslot; k++) {
        struct accel_batch *b = &j->batch[k];
        b->file = calloc(j->max, sizeof *b->file);
        b->in = calloc(j->max, sizeof *b->in);
        if (!b->file || !b->in)
            return psr_fail_nomem(&j->err, "a batch", (double)j->max * sizeof *b->file);
    }
    return PSR_OK;
}

/* For files of a shape that no plan is for. */
static psr_status plan(struct accel_job *j, const struct psr_fourier_shape *shape)
{
    accel_release_batches(j);
    psr_status st = accel_plan_devices(j, shape);
    if (st == PSR_ENOMEM && strstr(j->err.msg, "the limit is")) {
        const psr_err why = j->err;
        psr_fail(&j->err, st, "%.400s (-mem)", why.msg);
    }
    psr_read_ring_init(&j->ring, &j->monitor, j->nslot);
    j->ngathered = 0;
    return st ? st : create_batches(j);
}

psr_status accel_add(struct accel_job *j, const struct accel_file *file)
{
    const struct psr_fourier_shape shape = psr_fourier_shape_of(&file->about);
    psr_status st = PSR_OK;
    if (!psr_fourier_fits(j->device->search, &shape)) {
        accel_drain(j);
        if (j->no_device)
            return PSR_OK;
        st = plan(j, &shape);
    } else
        st = accel_plan_devices(j, &shape); /* that of its transform */
    if (st)
        return st;
    struct accel_file mine = *file;
    st = accel_claim_files(j, &mine);
    if (st)
        return st;
    struct accel_batch *b = gathering(j);
    b->file[b->nfile++] = mine;
    return PSR_OK;
}

void accel_search_full(struct accel_job *j)
{
    if (gathering(j)->nfile == j->max)
        flush(j);
}
