/* gpuaccel-pulscan: Fourier spectra to accelerated pulsars. */
#include "gpuaccel-pulscan.h"

#include <psrkit/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void take_file(struct accel_job *j, const char *path)
{
    struct accel_file file = {.path = path};
    psr_status st = psr_spectrum_describe(&file.about, path, &j->err);
    if (!st)
        st = accel_add(j, &file);
    if (st)
        accel_report(j, st == PSR_EDEVICE ? NULL : path, &j->err);
    else if (!j->no_device) {
        accel_note_inf(j, &file);
        accel_search_full(j);
    }
    j->no_device |= st == PSR_EDEVICE;
}

/* Hundreds of files would each say the same. */
static psr_status check_outdir(struct accel_job *j)
{
    const char *dir = j->opt.outdir;
    struct stat about;
    if (!dir)
        return PSR_OK;
    if (stat(dir, &about) || access(dir, W_OK))
        return psr_fail_errno(&j->err, "-outdir %s", dir);
    if (!S_ISDIR(about.st_mode))
        return psr_fail(&j->err, PSR_EINVAL, "-outdir %s: not a directory", dir);
    return PSR_OK;
}

/* Every file under way holds a lock, and two batches may be.
 * Returned: the largest batch; 0: any */
static int64_t limit_batch(void)
{
    const rlim_t others = 64;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    rlim_t most = limit.rlim_cur > 2 * others ? (limit.rlim_cur - others) / 2 : limit.rlim_cur / 4;
    return most > 1 ? (int64_t)(most < INT32_MAX ? most : INT32_MAX) : 1;
}

static psr_status open_table(struct accel_job *j)
{
    const struct accel_options *o = &j->opt;
    psr_status st = psr_outfile_create(&j->table, o->root ? o->root : "-", &j->err);
    return !st && o->csv ? psr_accel_write_csv_header(j->table, &j->err) : st;
}

static void show_share(void *ctx, int64_t done, int64_t total)
{
    struct accel_job *j = ctx;
    const struct psr_fourier_desc *d = &j->opt.fourier.search;
    const struct run_part part = {.before = j->ndone,
                                  .n = (int64_t)j->batch[j->slot].nfile,
                                  .single = d->boxes && d->matched,
                                  .together = 0.1};
    if (j->devices.name.n == 1)
        run_show_part(&j->progress, &part, done, total);
}

static psr_status prepare(struct accel_job *j)
{
    struct accel_options *o = &j->opt;
    j->nthread = psr_count_threads((int)o->fourier.search.nthread);
    o->fourier.search.zaplist = &j->zaplist;
    o->fourier.search.max_batch = limit_batch();
    o->fourier.search.should_stop = run_should_stop;
    o->fourier.search.ctx = j;
    o->fourier.search.progress = show_share;
    if (psr_monitor_init(&j->monitor, &j->err) != PSR_OK)
        return j->err.code;
    psr_read_ring_init(&j->ring, &j->monitor, 1);
    accel_note_ignored(j);
    psr_status st = check_outdir(j);
    if (!st)
        st = accel_check_names(j);
    if (!st) {
        /* Early, as a search may take hours.  A plot that cannot be made is reported and left out. */
        psr_err why;
        if (j->opt.plot && plotfile_open(&j->plot, j->opt.plot, &why))
            accel_report(j, NULL, &why);
    }
    if (!st && o->fourier.zaplist)
        st = psr_zaplist_read(&j->zaplist, o->fourier.zaplist, &j->err);
    if (!st && accel_has_table(o))
        st = open_table(j);
    return st ? st : accel_create_devices(j);
}

static void print_account(const struct accel_job *j)
{
    fprintf(stderr,
            "%s: %zu files searched, %zu candidates; read %.3f s, search %.3f s, measure and write "
            "%.3f s\n",
            j->tool.name, j->nsearched, j->ncand, j->batch[0].read_s + j->batch[1].read_s,
            j->search_s, j->write_s);
}

int main(int argc, char **argv)
{
    struct accel_job job = {0};
    size_t n = (size_t)accel_options_parse(&job.opt, &job.tool, argc, argv);
    run_catch_signals();
    run_limit_threads(&job.opt.fourier.search.nthread, job.opt.quiet ? NULL : job.tool.name);
    char **operand = argv + 1;
    psr_status st = accel_gather_names(&job, operand, n);
    if (st == PSR_OK)
        st = prepare(&job);
    run_progress_start_parts(&job.progress, run_progress_mode(job.opt.quiet, job.opt.verbose),
                             job.npath);
    for (size_t i = 0; i < job.npath && st == PSR_OK && !run_stop_signal() && !job.no_device; i++)
        take_file(&job, job.path[i]);
    if (st == PSR_OK && !run_stop_signal())
        accel_drain(&job);
    run_progress_end(&job.progress);
    if (st == PSR_OK && job.table && !run_stop_signal()) {
        st = psr_outfile_commit(job.table, &job.err);
        job.table = NULL;
    }
    if (st == PSR_OK && !run_stop_signal()) {
        /* After the results, which a plot that fails leaves as they are. */
        psr_err why;
        if (job.plot.out && planeplot_draw(&job.plane, &job.plot, &why) && !run_stop_signal())
            accel_report(&job, NULL, &why);
    }
    if (st == PSR_OK && job.opt.verbose)
        print_account(&job);
    cli_note_kept(&job.tool, job.opt.quiet || accel_has_table(&job.opt), job.nsearched, job.npath,
                  "files are searched, and their lists complete: name the others to go on");
    psr_async_task_end(&job.loading);
    if (job.ring.monitor)
        psr_monitor_destroy(&job.monitor);
    accel_release_devices(&job);
    psr_outfile_abort(job.table);
    plotfile_abort(&job.plot);
    psr_zaplist_clear(&job.zaplist);
    planeplot_release(&job.plane);
    accel_release_names(&job);
    accel_release_batches(&job);
    return cli_end(&job.tool, st, &job.err, job.code);
}
