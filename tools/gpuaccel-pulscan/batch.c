#include "gpuaccel-pulscan.h"

#include "tools/common/run.h"
#include <stdlib.h>
#include <string.h>

/* Adds the time since *since_s to a stage and moves *since_s to now. */
static void charge(double *stage_s, double *since_s)
{
    double now_s = run_seconds();
    *stage_s += now_s - *since_s;
    *since_s = now_s;
}

void accel_report(struct accel_job *j, const char *path, const psr_err *err)
{
    psr_err named = *err;
    if (path && !strstr(err->msg, path))
        psr_fail(&named, err->code, "%s: %s", path, err->msg);
    cli_report(&j->tool, &named);
    j->nfailed++;
}

psr_status accel_batch_create(struct accel_batch *b, size_t max, psr_err *err)
{
    b->file = calloc(max, sizeof *b->file);
    b->in = calloc(max, sizeof *b->in);
    b->result = calloc(max, sizeof *b->result);
    b->matched = calloc(max, sizeof *b->matched);
    if (!b->file || !b->in || !b->result || !b->matched)
        return psr_fail_nomem(err, "a batch", (double)max * sizeof *b->file);
    return PSR_OK;
}

/* Of files that were not written. */
static void abort_groups(struct accel_batch *b)
{
    for (size_t i = 0; i < b->nfile; i++)
        psr_output_group_abort(b->file[i].group);
    b->nfile = 0;
}

void accel_batch_release(struct accel_batch *b)
{
    abort_groups(b);
    free(b->file);
    free(b->in);
    free(b->result);
    free(b->matched);
}

/* Reads the batch's files into the plan's memory: from the page cache one thread reads slower than
 * a GPU searches. */
static void load_batch(const struct accel_job *j, struct accel_batch *b)
{
    const int64_t n = (int64_t)b->nfile;
    double since_s = run_seconds();
    float **x = calloc(b->nfile, sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = b->plan ? psr_pulscan_input(b->plan, (size_t)i) : b->room + 2 * i * j->shape.nbin;
#pragma omp parallel for schedule(dynamic) num_threads(j->nthread)
    for (int64_t i = 0; i < n; i++) {
        struct accel_file *file = &b->file[i];
        if (x && x[i])
            file->status = accel_load(j, file, x[i], &file->err);
        else
            file->status = psr_fail_nomem(&file->err, file->path, 8.0 * (double)j->shape.nbin);
        if (file->status == PSR_OK && !b->plan)
            file->status = accel_whiten(j, file, x[i], &file->err);
        b->in[i] = x ? x[i] : NULL;
    }
    free(x);
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

static psr_status finish_file(struct accel_job *j, struct accel_batch *b, size_t s)
{
    if (b->plan && b->result[s].bad >= 0)
        return psr_fail(&j->err, PSR_EFORMAT, "%s: %s %lld is no finite number", b->file[s].path,
                        j->shape.series ? "sample" : "bin", (long long)b->result[s].bad);
    return accel_write(j, b, s);
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
static void finish_batch(struct accel_job *j, struct accel_batch *b)
{
    double since_s = run_seconds();
    psr_status st = PSR_OK;
    drop_unread(j, b);
    if (b->plan && b->nfile > 0 && !run_stop_signal() && !j->no_device)
        st = psr_pulscan_execute(b->plan, b->nfile, b->in, b->result, &j->err);
    if (!b->plan && b->nfile > 0 && !run_stop_signal() && !j->no_device)
        st = accel_matched_search(j, b);
    charge(&j->search_s, &since_s);
    psr_err why = j->err;
    for (size_t s = 0; s < b->nfile && !run_stop_signal() && !j->no_device; s++) {
        psr_status mine = st == PSR_OK ? finish_file(j, b, s) : st;
        const psr_err *err = st == PSR_OK ? &j->err : &why;
        if (mine == PSR_OK)
            j->nsearched++;
        else if (mine == PSR_EDEVICE)
            report_loss(j, b->file[s].path, err);
        else
            accel_report(j, b->file[s].path, err);
    }
    j->ndone += (int64_t)b->nfile;
    run_progress_update(&j->progress, j->ndone);
    charge(&j->write_s, &since_s);
    abort_groups(b);
}

/* Loads the last batch that was gathered. */
static psr_status load_last(void *job, psr_err *err)
{
    struct accel_job *j = job;
    const size_t i = j->ngathered - 1;
    struct accel_batch *b = &j->batch[i % j->ring.nslot];
    (void)err; /* each file has its own status */
    load_batch(j, b);
    psr_read_ring_fill(&j->ring, i, b->nfile);
    return PSR_OK;
}

static void finish_next(struct accel_job *j)
{
    struct accel_batch *b = &j->batch[j->ring.next % j->ring.nslot];
    (void)psr_read_ring_next(&j->ring, NULL, NULL);
    finish_batch(j, b);
    psr_read_ring_free(&j->ring, j->ring.next);
}

struct accel_batch *accel_gathering(struct accel_job *j)
{
    return &j->batch[j->ngathered % j->ring.nslot];
}

void accel_flush(struct accel_job *j)
{
    if (accel_gathering(j)->nfile == 0 || run_stop_signal() || j->no_device)
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
    accel_flush(j);
    while (j->ring.next < j->ngathered && !run_stop_signal())
        finish_next(j);
    (void)!psr_async_task_wait(&j->loading, NULL);
}
