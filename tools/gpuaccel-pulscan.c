/* gpuaccel-pulscan: Fourier spectra to accelerated pulsars. */
#include "gpuaccel-pulscan.h"

#include "run.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MOST = 64 };

/* One bad file is no reason to leave the others. */
static void report(struct accel_job *j)
{
    cli_report(&j->tool, &j->err);
    j->nfailed++;
}

/* Adds the time since *since_s to a stage and moves *since_s to now. */
static void charge(double *stage_s, double *since_s)
{
    double now_s = run_seconds();
    *stage_s += now_s - *since_s;
    *since_s = now_s;
}

/* Reads the batch's files into the plan; those that cannot be read leave the batch. */
static void load_batch(struct accel_job *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->nfile && !run_stop_signal(); i++) {
        float *x = psr_pulscan_input(j->plan, n);
        psr_status st = x ? accel_load(j, &j->file[i], x)
                          : psr_fail_nomem(&j->err, "a spectrum", 8.0 * (double)j->shape.nbin);
        if (st == PSR_OK) {
            j->file[n] = j->file[i];
            j->in[n++] = x;
        } else {
            report(j);
        }
    }
    j->nfile = n;
}

static psr_status finish_file(struct accel_job *j, size_t s)
{
    const struct accel_file *file = &j->file[s];
    bool series = j->shape.series;
    if (j->result[s].bad >= 0)
        return psr_fail(&j->err, PSR_EFORMAT, "%s: %s %lld is no finite number", file->path,
                        series ? "sample" : "bin", (long long)j->result[s].bad);
    return accel_write(j, s);
}

static void search_batch(struct accel_job *j)
{
    double since_s = run_seconds();
    if (j->nfile == 0)
        return;
    load_batch(j);
    charge(&j->read_s, &since_s);
    psr_status st = PSR_OK;
    if (j->nfile > 0 && !run_stop_signal())
        st = psr_pulscan_execute(j->plan, j->nfile, j->in, j->result, &j->err);
    charge(&j->search_s, &since_s);
    for (size_t s = 0; s < j->nfile && !run_stop_signal(); s++) {
        if (st != PSR_OK || finish_file(j, s) != PSR_OK)
            report(j);
        else
            j->nsearched++;
    }
    charge(&j->write_s, &since_s);
    j->nfile = 0;
}

/* A file of another shape, or one too many, has what came before searched first. */
static void take_file(struct accel_job *j, const char *path)
{
    struct accel_file file = {.path = path};
    if (psr_spectrum_describe(&file.about, path, &j->err) != PSR_OK) {
        report(j);
        return;
    }
    struct accel_shape shape = {.nbin = file.about.nbin,
                                .tobs_s = file.about.tobs_s,
                                .series = file.about.series && !accel_transforms(j)};
    if (j->nfile > 0 && (!accel_same_shape(&shape, &j->shape) || j->nfile == j->batch_max))
        search_batch(j);
    if (accel_plan(j, shape) != PSR_OK) {
        psr_err why = j->err;
        psr_fail(&j->err, why.code, "%.200s: %.300s", path, why.msg);
        report(j);
        return;
    }
    j->file[j->nfile++] = file;
}

static psr_status keep_name(struct accel_job *j, const char *line)
{
    char **grown = realloc(j->name, (j->nname + 1) * sizeof *grown);
    if (grown)
        j->name = grown;
    if (!grown || !(grown[j->nname] = strdup(line)))
        return psr_fail_nomem(&j->err, "a list of files", (double)strlen(line));
    j->nname++;
    return PSR_OK;
}

/* The files named in that of -files. */
static psr_status take_list(struct accel_job *j)
{
    const char *path = j->opt.files;
    bool standard = !strcmp(path, "-");
    FILE *f = standard ? stdin : fopen(path, "re");
    if (!f)
        return psr_fail_errno(&j->err, "%s", path);
    char *line = NULL;
    size_t room = 0;
    psr_status st = PSR_OK;
    while (st == PSR_OK && !run_stop_signal() && getline(&line, &room, f) >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!*line)
            continue;
        st = keep_name(j, line);
        if (st == PSR_OK)
            take_file(j, j->name[j->nname - 1]);
    }
    if (st == PSR_OK && ferror(f))
        st = psr_fail_errno(&j->err, "%s", standard ? "standard input" : path);
    free(line);
    if (!standard)
        fclose(f);
    return st;
}

static psr_status prepare(struct accel_job *j)
{
    static const int sums[] = {1, 2, 3, 4, 8, 16, 32};
    const struct accel_options *o = &j->opt;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (sums[i] <= o->numharm)
            j->nharm[j->nnharm++] = sums[i];
    bool cpu = !strcmp(o->device, "cpu");
    j->batch_max = o->batch ? (size_t)o->batch : cpu ? 1 : BATCH_MOST;
    j->file = calloc(j->batch_max, sizeof *j->file);
    j->in = calloc(j->batch_max, sizeof *j->in);
    j->result = calloc(j->batch_max, sizeof *j->result);
    if (!j->file || !j->in || !j->result)
        return psr_fail_nomem(&j->err, "a batch", (double)j->batch_max * sizeof *j->file);
    if (o->wmax > 0 && !o->quiet)
        cli_note(&j->tool, "-wmax is not used: boxes see drifts that drift themselves");
    psr_status st = PSR_OK;
    if (o->zaplist)
        st = psr_zaplist_read(&j->zaplist, o->zaplist, &j->err);
    if (st == PSR_OK && (o->csv || o->json))
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
            j->tool.name, j->nsearched, j->ncand, j->read_s, j->search_s, j->write_s);
}

static psr_status run(struct accel_job *j, char **path, size_t npath)
{
    psr_status st = prepare(j);
    for (size_t i = 0; i < npath && st == PSR_OK && !run_stop_signal(); i++)
        take_file(j, path[i]);
    if (st == PSR_OK && j->opt.files && !run_stop_signal())
        st = take_list(j);
    if (st == PSR_OK && !run_stop_signal())
        search_batch(j);
    if (st == PSR_OK && j->table && !run_stop_signal()) {
        st = psr_outfile_commit(j->table, &j->err);
        j->table = NULL;
    }
    if (st == PSR_OK && j->opt.verbose)
        print_account(j);
    return st;
}

static void release(struct accel_job *j)
{
    accel_plan_release(j);
    psr_outfile_abort(j->table);
    psr_zaplist_clear(&j->zaplist);
    for (size_t i = 0; i < j->nname; i++)
        free(j->name[i]);
    free(j->name);
    free(j->file);
    free(j->in);
    free(j->result);
}

int main(int argc, char **argv)
{
    struct accel_job job = {0};
    size_t npath = (size_t)accel_options_parse(&job.opt, &job.tool, argc, argv);
    run_catch_signals();
    int code = EXIT_SUCCESS;
    if (run(&job, argv + 1, npath) != PSR_OK)
        code = cli_report(&job.tool, &job.err);
    else if (job.nfailed > 0)
        code = CLI_EXIT_FAILURE;
    release(&job);
    if (run_stop_signal())
        run_die_by_signal(run_stop_signal());
    return cli_close_stdout(&job.tool, code);
}
