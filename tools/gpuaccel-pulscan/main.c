/* gpuaccel-pulscan: Fourier spectra to accelerated pulsars. */
#include "gpuaccel-pulscan.h"

#include <psrkit/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH_MOST = 64 };

/* Thousands of files would each say the same. */
static void note_inf(struct accel_job *j, const struct accel_file *file)
{
    const struct psr_inf *inf = &file->about.inf;
    const struct psr_notes notes = {j->opt.quiet ? NULL : cli_note, &j->tool};
    const bool artificial = !strcmp(inf->telescope, "None (Artificial Data Set)");
    if (file->about.odd && !j->odd_told)
        psr_note(&notes,
                 "%s: %lld samples, an odd number: the last one is left out, here and in other "
                 "files",
                 file->path, (long long)(2 * file->about.nbin + 1));
    if (!inf->has_epoch && !artificial && !j->epoch_told)
        psr_note(&notes, "%s: its .inf has no epoch of observation, which counts as MJD 0",
                 file->path);
    j->odd_told |= file->about.odd;
    j->epoch_told |= !inf->has_epoch && !artificial;
}

/* A file of another shape, or one too many, has what came before searched first. */
static void take_file(struct accel_job *j, const char *path)
{
    struct accel_file file = {.path = path};
    if (psr_spectrum_describe(&file.about, path, &j->err) != PSR_OK) {
        accel_report(j, path, &j->err);
        return;
    }
    struct accel_shape shape = {.nbin = file.about.nbin,
                                .tobs_s = file.about.tobs_s,
                                .series = file.about.series && !accel_transforms(j),
                                .reddened = file.about.reddened};
    if (!accel_same_shape(&shape, &j->shape))
        accel_drain(j);
    if (j->no_device)
        return;
    psr_status st = accel_plan(j, shape);
    if (st == PSR_OK && file.about.series && accel_transforms(j))
        st = accel_plan_transform(j);
    if (st != PSR_OK) {
        accel_report(j, st == PSR_EDEVICE ? NULL : path, &j->err);
        j->no_device = st == PSR_EDEVICE;
        return;
    }
    if (accel_claim_files(j, &file) != PSR_OK) {
        accel_report(j, path, &j->err);
        return;
    }
    note_inf(j, &file);
    struct accel_batch *b = accel_gathering(j);
    b->file[b->nfile++] = file;
    if (b->nfile == j->batch_now)
        accel_flush(j);
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

/* Every file under way holds a lock, and two batches may be. */
static size_t limit_batch(size_t wanted)
{
    const rlim_t others = 64;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return wanted;
    rlim_t most = limit.rlim_cur > 2 * others ? (limit.rlim_cur - others) / 2 : limit.rlim_cur / 4;
    most = most > 0 ? most : 1;
    return wanted < most ? wanted : (size_t)most;
}

static psr_status prepare(struct accel_job *j)
{
    static const int sums[] = {1, 2, 3, 4, 8, 16, 32};
    const struct accel_options *o = &j->opt;
    j->nthread = psr_count_threads((int)o->ncpus);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (sums[i] <= o->numharm)
            j->nharm[j->nnharm++] = sums[i];
    bool cpu =
        !strcmp(o->device, "cpu") || (!strcmp(o->device, "auto") && psr_device_count(NULL) == 0);
    cpu = cpu || o->presto;
    j->batch_max = o->presto ? 1 : o->batch ? (size_t)o->batch : cpu ? 1 : BATCH_MOST;
    j->batch_max = limit_batch(j->batch_max);
    if (psr_monitor_init(&j->monitor, &j->err) != PSR_OK)
        return j->err.code;
    psr_read_ring_init(&j->ring, &j->monitor, 1);
    for (int k = 0; k < ACCEL_MAX_BATCHES; k++)
        if (accel_batch_create(&j->batch[k], j->batch_max, &j->err) != PSR_OK)
            return j->err.code;
    if (o->wmax > 0 && !o->matched && !o->quiet)
        cli_note(&j->tool, "-wmax is ignored: boxcars tolerate jerk");
    if (o->presto && (o->rlo >= 0 || o->rhi >= 0) && !o->quiet)
        cli_note(&j->tool,
                 "-compat presto: -rlo and -rhi are not used, as accelsearch ignores them");
    psr_status st = check_outdir(j);
    if (st == PSR_OK)
        st = accel_check_names(j);
    if (st == PSR_OK && o->plot)
        st = gnuplot_open(&j->plot, o->plot, &j->err);
    if (st == PSR_OK && o->zaplist)
        st = psr_zaplist_read(&j->zaplist, o->zaplist, &j->err);
    if (st == PSR_OK && accel_has_table(o))
        st = psr_outfile_create(&j->table, o->root ? o->root : "-", &j->err);
    if (st == PSR_OK && o->csv)
        st = psr_accel_write_csv_header(j->table, &j->err);
    return st;
}

static void print_account(const struct accel_job *j)
{
    fprintf(stderr,
            "%s: %zu files searched, %zu candidates; read %.3f s, search %.3f s, measure and write "
            "%.3f s\n",
            j->tool.name, j->nsearched, j->ncand, j->batch[0].read_s + j->batch[1].read_s,
            j->search_s, j->write_s);
}

static psr_status run(struct accel_job *j, char **operand, size_t n)
{
    psr_status st = accel_gather_names(j, operand, n);
    j->many = j->inputs.n > 1;
    if (st == PSR_OK)
        st = prepare(j);
    run_progress_start(&j->progress, !j->opt.quiet && j->many, (int64_t)j->npath, "files", 1);
    for (size_t i = 0; i < j->npath && st == PSR_OK && !run_stop_signal() && !j->no_device; i++)
        take_file(j, j->path[i]);
    if (st == PSR_OK && !run_stop_signal())
        accel_drain(j);
    run_progress_end(&j->progress);
    if (st == PSR_OK && j->table && !run_stop_signal()) {
        st = psr_outfile_commit(j->table, &j->err);
        j->table = NULL;
    }
    /* After the results, which a plot that fails leaves as they are. */
    if (st == PSR_OK && j->opt.plot && !run_stop_signal())
        st = planeplot_draw(&j->plane, &j->plot, &j->err);
    if (st == PSR_OK && j->opt.verbose)
        print_account(j);
    return st;
}

static void release(struct accel_job *j)
{
    psr_async_task_end(&j->loading);
    if (j->ring.monitor)
        psr_monitor_destroy(&j->monitor);
    accel_plan_release(j);
    psr_outfile_abort(j->table);
    gnuplot_abort(&j->plot);
    psr_zaplist_clear(&j->zaplist);
    planeplot_release(&j->plane);
    accel_release_names(j);
    for (int k = 0; k < ACCEL_MAX_BATCHES; k++)
        accel_batch_release(&j->batch[k]);
}

int main(int argc, char **argv)
{
    struct accel_job job = {0};
    size_t n = (size_t)accel_options_parse(&job.opt, &job.tool, argc, argv);
    run_catch_signals();
    run_limit_threads(&job.opt.ncpus, job.opt.quiet ? NULL : job.tool.name);
    int code = EXIT_SUCCESS;
    if (run(&job, argv + 1, n) != PSR_OK)
        code = cli_report(&job.tool, &job.err);
    else if (job.nfailed > 0)
        code = CLI_EXIT_FAILURE;
    release(&job);
    if (run_stop_signal())
        run_die_by_signal(run_stop_signal());
    return cli_close_stdout(&job.tool, code);
}
