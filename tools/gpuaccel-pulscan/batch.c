/* Searches files in batches: one is loaded while the one before is searched. */
#include "gpuaccel-pulscan.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- searches the files of a batch on all devices, each its share ----------------------------- */

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

/* Makes plans for files of a shape, unless they are there; on error j->err tells.  Returned: j->nslot, j->max */
static psr_status accel_plan_devices(struct accel_job *j, const struct psr_fourier_shape *shape)
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

/* The device that has file i of a batch of n, where it is file *own. */
static const struct accel_device *accel_device_of(const struct accel_job *j, size_t n, size_t i,
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

void accel_release_devices(struct accel_job *j)
{
    for (size_t k = 0; j->device && k < j->devices.name.n; k++)
        psr_fourier_destroy(j->device[k].search);
    free(j->device);
    devices_release(&j->devices);
}

/* --- searches files in batches: one is loaded while the one before is searched ---------------- */

/* Writes the results of a search: lists, and tables. */

static psr_status write_output(struct accel_job *j, struct accel_file *file,
                               const struct psr_fourier_result *result)
{
    psr_output_group *group = file->group;
    file->group = NULL;
    if (!j->table) {
        /* The group is gone, whatever the status. */
        char *root = accel_output_root(j, file->path), *inf = psr_path_beside(file->path, ".inf");
        /* That of an odd length counts one sample more. */
        const bool own = !file->about.odd && accel_has_inf(file->path);
        const struct psr_fourier_origin origin = {&file->about.inf, own ? inf : NULL};
        psr_status st = root && inf ? PSR_OK : psr_fail_nomem(&j->err, file->path, 0);
        if (!st)
            st = psr_fourier_write(&j->opt.fourier.search, group, root, &origin, result, &j->err);
        if (!st)
            st = psr_output_group_commit(group, &j->err);
        else
            psr_output_group_abort(group);
        free(root);
        free(inf);
        return st;
    }
    psr_output_group_abort(group);
    if (j->opt.json)
        return psr_accel_write_json(j->table, &result->list, file->path, &j->err);
    return psr_accel_write_csv(j->table, &result->list, file->path, &j->err);
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

/* Of the best candidate; the spectrum of a matched search is whitened in place. */
static void keep_plane(struct accel_job *j, size_t slot, size_t i,
                       const struct psr_fourier_result *result)
{
    const struct accel_batch *b = &j->batch[slot];
    const struct accel_file *file = &b->file[i];
    size_t own;
    const struct accel_device *d = accel_device_of(j, b->nfile, i, &own);
    const struct planeplot_bins bins = {
        .plan = j->opt.fourier.search.matched ? NULL : psr_fourier_boxes(d->search, slot),
        .s = own,
        .x = b->in[i].x,
        .nbin = file->about.nbin};
    psr_err why;
    if (!j->plot.out || result->list.ncand == 0)
        return;
    if (planeplot_keep(&j->plane, &bins, result->list.cand, file->about.tobs_s, file->path, &why)) {
        accel_report(j, j->opt.plot, &why);
        plotfile_abort(&j->plot);
    }
}

/* Writes what was found in input i of a slot; on error j->err tells. */
static psr_status accel_write(struct accel_job *j, size_t slot, size_t i)
{
    struct accel_file *file = &j->batch[slot].file[i];
    struct psr_fourier_result *result = &file->result;
    j->ncand += result->ncand;
    accel_note_red_noise(j, file->path, result);
    keep_plane(j, slot, i, result);
    psr_status st = write_output(j, file, result);
    if (!st)
        accel_note_left_out(j, file->path, result->left_out);
    psr_fourier_result_clear(result);
    return st;
}

/* Reads files into the input of a search, and writes files of spectra. */

/* x was divided by 2^exponent. */
static psr_status scale_back(const struct accel_file *file, float *x, int exponent, psr_err *err)
{
    const int64_t n = 2 * file->about.nbin;
    double peak = 0;
    for (int64_t i = 0; i < n; i++)
        peak = fmax(peak, fabs((double)x[i]));
    peak = ldexp(peak, exponent);
    if (peak > (double)FLT_MAX)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: its spectrum reaches %.3g, and a .fft file holds at most %.3g",
                        file->path, peak, (double)FLT_MAX);
    for (int64_t i = 0; i < n; i++)
        x[i] = ldexpf(x[i], exponent);
    return PSR_OK;
}

/* Reads a file into in->x as the plan wants it, and writes its spectrum where that is asked for.
 * Different files may be loaded by different threads. */
static psr_status accel_load(const struct accel_job *j, const struct accel_file *file,
                             struct psr_fourier_input *in, psr_err *err)
{
    int exponent = 0;
    struct psr_spectrum_file about = file->about;
    if (j->opt.fourier.search.presto) /* accelsearch searches padding as it is */
        about.inf.nonoff = 0;
    psr_status st = psr_spectrum_read(&about, file->path, in->x, err);
    if (!st)
        st = psr_fourier_prepare(j->device->search, in, &exponent, err);
    if (!st && j->opt.fourier.search.keep_spectra && file->about.series) {
        float *x = in->x;
        const bool red = j->opt.fourier.search.rednoise;
        char *root = accel_output_root(j, file->path), *name = NULL;
        if (!root || asprintf(&name, "%s%s", root, red ? "_red" : "") < 0)
            st = psr_fail_nomem(err, file->path, (double)strlen(file->path));
        if (st == PSR_OK && exponent && !red)
            st = scale_back(file, x, exponent, err);
        if (st == PSR_OK) {
            /* Where ROOT.inf is the input's own, that describes the spectrum too, and stays as it is. */
            char *inf = NULL, *own = psr_path_beside(file->path, ".inf");
            if (asprintf(&inf, "%s.inf", name) < 0)
                inf = NULL;
            st = inf && own ? PSR_OK : psr_fail_nomem(err, file->path, 0);
            const bool same = st == PSR_OK && accel_has_inf(file->path) && psr_same_file(inf, own);
            free(inf);
            free(own);
            if (st == PSR_OK && same && file->about.odd)
                st = psr_fail(
                    err, PSR_EINVAL,
                    "%s: its spectrum is of one sample less and needs an .inf of its own: -outdir "
                    "or -o",
                    file->path);
            st = st == PSR_OK ? psr_spectrum_write(name, x, file->about.nbin,
                                                   same ? NULL : &file->about.inf, err)
                              : st;
        }
        if (exponent && !red)
            psr_spectrum_rescale(x, 2 * file->about.nbin, false);
        free(root);
        free(name);
    }
    return st ? st : psr_fourier_whiten(j->device->search, in, err);
}

/* Adds the time since *since_s to a stage and moves *since_s to now. */
static void charge(double *stage_s, double *since_s)
{
    double now_s = run_seconds();
    *stage_s += now_s - *since_s;
    *since_s = now_s;
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
    /* Those that could not be read are reported and leave the batch. */
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
    if (!run_stop_signal() && !j->no_device) {
        /* Searches the files of a slot on all devices: status and result of each file are set. */
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
    run_progress_update(&j->progress, RUN_PARTS * j->ndone);
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
