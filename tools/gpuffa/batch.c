/* Searches files in batches of one shape, and writes their lists. */
#include "gpuffa.h"

#include <psrkit/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds the time since *since_s to a stage and moves *since_s to now. */
static void charge(double *stage_s, double *since_s)
{
    const double now_s = run_seconds();
    *stage_s += now_s - *since_s;
    *since_s = now_s;
}

/* Reports an error of a file; the others are searched. */
static void gpuffa_report(struct gpuffa_job *j, const char *path, const psr_err *err)
{
    psr_err named = *err;
    if (err->code == PSR_ESTOPPED) /* the signal ends the tool */
        return;
    if (path && !strstr(err->msg, path))
        psr_fail(&named, err->code, "%s: %s", path, err->msg);
    j->code = cli_worse(j->code, cli_report(&j->tool, &named));
}

char *gpuffa_output_name(const struct gpuffa_job *j, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    char *name = NULL;
    const char *root = j->opt.root;
    const int stem = (int)(dot ? dot - base : (long)strlen(base));
    if (root && !strcmp(root, "-"))
        return strdup(root);
    const int failed =
        root ? asprintf(&name, "%s_ffa.csv", root) : asprintf(&name, "%.*s_ffa.csv", stem, base);
    return failed < 0 ? NULL : name;
}

/* --- writing ---------------------------------------------------------------------------------- */

static psr_status write_list(struct gpuffa_job *j, const char *path,
                             const struct psr_ffa_list *list)
{
    psr_outfile *f = NULL;
    char *name = gpuffa_output_name(j, path);
    if (!name)
        return psr_fail_nomem(&j->err, path, (double)strlen(path));
    psr_status st = psr_outfile_create(&f, name, &j->err);
    free(name);
    if (st)
        return st;
    st = psr_ffa_list_write(f, list, &j->err);
    if (!st)
        return psr_outfile_commit(f, &j->err);
    psr_outfile_abort(f);
    return st;
}

static psr_status finish_list(struct gpuffa_job *j, psr_ffasearch *search, const char *path)
{
    struct psr_ffa_list list;
    psr_status st = psr_ffasearch_merge(search, &list, &j->err);
    if (!st)
        st = write_list(j, path, &list);
    j->ncand += list.n;
    j->nharmonic += list.nharmonic;
    j->nzapped += list.nzapped;
    return st;
}

psr_status gpuffa_write_stack(struct gpuffa_job *j)
{
    if (run_stop_signal() || j->no_device || j->nsearched == 0)
        return PSR_OK;
    return finish_list(j, *j->search, j->opt.root);
}

static psr_status write_result(struct gpuffa_job *j, size_t i)
{
    const size_t k = devices_find(&j->devices, i, j->nfile),
                 own = i - devices_first(&j->devices, k, j->nfile);
    psr_status st = psr_ffasearch_take(j->search[k], own, &j->file[i].about.inf, &j->err);
    if (!st && !j->opt.stack)
        st = finish_list(j, j->search[k], j->file[i].path);
    j->nsearched += !st;
    return st;
}

/* --- a batch ---------------------------------------------------------------------------------- */

static psr_status load(const psr_ffasearch *search, struct gpuffa_file *file)
{
    const int64_t n = 2 * file->about.nbin;
    file->x = malloc((size_t)n * sizeof *file->x);
    if (!file->x)
        return psr_fail_nomem(&file->err, file->path, 4.0 * (double)n);
    psr_status st = psr_spectrum_read(&file->about, file->path, file->x, &file->err);
    if (st)
        return st;
    psr_spectrum_rescale(file->x, n, true);
    return psr_ffasearch_prepare(search, file->x, n, file->about.inf.tbin_s, &file->err);
}

/* Those that cannot be read are reported and leave the batch. */
static void load_batch(struct gpuffa_job *j)
{
    const int nthread = psr_count_threads((int)j->opt.ffa.search.nthread);
    size_t n = 0;
#pragma omp parallel for schedule(dynamic) num_threads(nthread)
    for (size_t i = 0; i < j->nfile; i++)
        j->file[i].status = load(j->search[0], &j->file[i]);
    for (size_t i = 0; i < j->nfile; i++) {
        if (j->file[i].status) {
            gpuffa_report(j, j->file[i].path, &j->file[i].err);
            free(j->file[i].x);
            continue;
        }
        j->file[n] = j->file[i];
        j->in[n] = (struct psr_ffasearch_input){j->file[n].path, j->file[n].x};
        n++;
    }
    j->nfile = n;
}

static void empty_batch(struct gpuffa_job *j)
{
    for (size_t i = 0; i < j->nfile; i++)
        free(j->file[i].x);
    j->nfile = 0;
}

static void search_share(void *job, size_t device)
{
    const struct gpuffa_job *j = job;
    const size_t first = devices_first(&j->devices, device, j->nfile),
                 end = devices_first(&j->devices, device + 1, j->nfile);
    psr_err err;
    psr_status st = PSR_OK;
    if (end > first)
        st = psr_ffasearch_execute(j->search[device], end - first, j->in + first, &err);
    for (size_t i = first; i < end; i++) {
        j->file[i].status = st;
        if (st)
            j->file[i].err = err;
    }
}

void gpuffa_flush(struct gpuffa_job *j)
{
    double since_s = run_seconds();
    if (j->nfile == 0 || run_stop_signal() || j->no_device)
        return;
    j->ndone += j->nfile;
    load_batch(j);
    charge(&j->read_s, &since_s);
    devices_run(&j->devices, &(struct devices_work){search_share, j});
    charge(&j->search_s, &since_s);
    for (size_t i = 0; i < j->nfile && !run_stop_signal(); i++) {
        const psr_status st = j->file[i].status;
        if (st || write_result(j, i))
            gpuffa_report(j, j->file[i].path, st ? &j->file[i].err : &j->err);
        j->no_device |= st == PSR_EDEVICE;
    }
    run_progress_update(&j->progress, RUN_PARTS * (int64_t)j->ndone);
    charge(&j->write_s, &since_s);
    empty_batch(j);
}

void gpuffa_release_batch(struct gpuffa_job *j)
{
    empty_batch(j);
    free(j->file);
    free(j->in);
    j->file = NULL;
    j->in = NULL;
}

/* --- files ------------------------------------------------------------------------------------ */

static psr_status plan(struct gpuffa_job *j, const struct gpuffa_file *file)
{
    const size_t n = j->devices.name.n, each = (j->inputs.n - j->ndone + n - 1) / n;
    struct psr_ffasearch_info info;
    psr_status st = PSR_OK;
    gpuffa_release_batch(j);
    j->max = SIZE_MAX / n;
    for (size_t k = 0; k < n && !st; k++) {
        st = psr_ffasearch_plan(j->search[k], &file->shape, each, &info, &j->err);
        j->max = !st && info.batch < j->max ? info.batch : j->max;
    }
    if (st)
        return st;
    const struct psr_notes notes = {j->opt.quiet ? NULL : cli_note, &j->tool};
    if (info.cut && !j->cut_told)
        psr_note(&notes, "%s: periods up to %g s are searched, a quarter of its length", file->path,
                 info.range[info.nrange - 1].pmax_s);
    j->cut_told |= info.cut;
    j->max *= n;
    j->file = calloc(j->max, sizeof *j->file);
    j->in = calloc(j->max, sizeof *j->in);
    return j->file && j->in ? PSR_OK : psr_fail_nomem(&j->err, "a batch", (double)j->max);
}

static psr_status describe(struct gpuffa_job *j, struct gpuffa_file *file)
{
    psr_status st = psr_spectrum_describe(&file->about, file->path, &j->err);
    if (!st && !file->about.series)
        st = psr_fail(&j->err, PSR_EINVAL, "%s: a spectrum, not a series: name the .dat or .tim",
                      file->path);
    if (!st)
        file->shape = psr_ffasearch_shape_of(&file->about.inf, 2 * file->about.nbin);
    return st;
}

void gpuffa_measure(struct gpuffa_job *j, const char *path)
{
    struct gpuffa_file file = {.path = path};
    if (!describe(j, &file) && (!j->shortest || file.shape.nsamp < j->shortest))
        j->shortest = file.shape.nsamp;
}

void gpuffa_add(struct gpuffa_job *j, const char *path)
{
    struct gpuffa_file file = {.path = path};
    psr_status st = describe(j, &file);
    if (j->shortest && file.shape.nsamp > j->shortest)
        file.shape.nsamp = j->shortest;
    if (!st && !psr_ffasearch_fits(*j->search, &file.shape)) {
        gpuffa_flush(j);
        st = plan(j, &file);
    }
    j->no_device |= st == PSR_EDEVICE;
    if (st) {
        j->ndone++;
        gpuffa_report(j, st == PSR_EDEVICE ? NULL : path, &j->err);
        return;
    }
    j->file[j->nfile++] = file;
    if (j->nfile == j->max)
        gpuffa_flush(j);
}

/* Searches an observation at many DMs, in the pass that dedisperses it. */

bool gpuffa_is_observation(const char *path)
{
    static const char *const series[] = {".dat", ".sdat", ".tim", ".fft"};
    for (size_t i = 0; i < sizeof series / sizeof *series; i++)
        if (psr_path_ends(path, series[i]))
            return false;
    return true;
}

/* The name of the input without folder and suffix. */
static char *make_root(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path,
               *dot = strrchr(base, '.');
    return dot && dot > base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

static void print_found(const struct gpuffa_job *j, const struct psr_ffa_series_found *found)
{
    fprintf(stderr,
            "%s: %zu series searched, %zu candidates; %zu harmonics and %zu of -zaplist left out; "
            "load %.3f s, search %.3f s\n",
            j->tool.name, found->nsearched, found->ncand, found->nharmonic, found->nzapped,
            found->load_s, found->search_s);
}

static psr_status run(struct gpuffa_job *j, const struct psr_pipeline_desc *d)
{
    struct psr_pipeline_report report;
    psr_pipeline *p = NULL;
    psr_status st = psr_pipeline_create(&p, d, &j->err);
    if (st)
        return st;
    psr_pipeline_describe(p, &report);
    run_progress_start(&j->progress, run_progress_mode(j->opt.quiet, j->opt.verbose),
                       report.obs ? report.obs->nsamp : -1, "MB", (double)report.row_bytes / 1e6);
    st = psr_pipeline_run(p, &j->err);
    if (!st)
        st = psr_pipeline_finish(p, &j->err);
    run_progress_end(&j->progress);
    if (!st && j->opt.verbose)
        print_found(j, psr_pipeline_result(p, "ffa"));
    psr_pipeline_destroy(p);
    return st;
}

psr_status gpuffa_search_observation(struct gpuffa_job *j)
{
    const struct gpuffa_options *o = &j->opt;
    const struct psr_ffasearch_desc *search = &o->ffa.search;
    const struct psr_sink_ffa_desc sink = {.size = sizeof sink,
                                           .search = search,
                                           .zaplist = o->ffa.zaplist,
                                           .mem_bytes = search->mem_bytes};
    struct psr_pipeline_desc d;
    char *root = o->root ? strdup(o->root) : make_root(j->inputs.name[0]);
    if (!root)
        return psr_fail_nomem(&j->err, j->inputs.name[0], (double)strlen(j->inputs.name[0]));
    psr_pipeline_defaults(&d);
    d.path = (const char *const *)j->inputs.name;
    d.npath = j->inputs.n;
    d.lodm = o->lodm;
    d.dmstep = o->dmstep;
    d.ndm = o->ndm;
    d.nobary = o->nobary;
    d.root = root;
    d.files = PSR_FILES_NONE;
    d.ffa = &sink;
    d.device = search->device ? search->device : d.device;
    d.nthread = search->nthread;
    d.mem_bytes = search->mem_bytes;
    d.program = "gpuffa";
    if (!o->quiet)
        d.notes = (struct psr_notes){cli_note, &j->tool};
    d.should_stop = run_should_stop;
    d.progress = run_show_progress;
    d.searched = run_show_searched;
    d.ctx = &j->progress;
    const psr_status st = run(j, &d);
    free(root);
    return st;
}
