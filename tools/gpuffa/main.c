/* gpuffa: time series to slow pulsars, by the fast folding algorithm. */
#include "gpuffa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static psr_status gather_names(struct gpuffa_job *j, char **operand, size_t n)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++)
        st = psr_names_add(&j->inputs, operand[i], &j->err);
    return !st && j->opt.files ? psr_names_read(&j->inputs, j->opt.files, &j->err) : st;
}

static psr_status check_input(struct gpuffa_job *j, const char *path)
{
    char *inf = psr_path_beside(path, ".inf");
    psr_status st = inf ? psr_overwrite_check_input(&j->names, path, &j->err)
                        : psr_fail_nomem(&j->err, path, (double)strlen(path));
    if (!st && !psr_path_ends(path, ".tim"))
        st = psr_overwrite_check_input(&j->names, inf, &j->err);
    free(inf);
    return st;
}

static psr_status check_output(struct gpuffa_job *j, const char *path)
{
    char *name = gpuffa_output_name(j, path);
    psr_status st = name ? psr_overwrite_check_output(&j->names, name, path, &j->err)
                         : psr_fail_nomem(&j->err, path, (double)strlen(path));
    free(name);
    return st;
}

static psr_status check_names(struct gpuffa_job *j)
{
    psr_status st = psr_overwrite_check_input(&j->names, j->opt.ffa.zaplist, &j->err);
    if (!st)
        st = psr_overwrite_check_input(&j->names, j->opt.files, &j->err);
    for (size_t i = 0; i < j->inputs.n && !st; i++)
        st = check_input(j, j->inputs.name[i]);
    for (size_t i = 0; i < (j->opt.stack ? 1 : j->inputs.n) && !st; i++)
        st = check_output(j, j->inputs.name[i]);
    return st;
}

static psr_status create_searches(struct gpuffa_job *j)
{
    struct psr_ffasearch_desc d = j->opt.ffa.search;
    psr_status st = devices_list(&j->devices, d.device, &j->err);
    const size_t n = j->devices.name.n;
    if (!st && j->opt.stack && n > 1)
        st = psr_fail_field(&j->err, PSR_EINVAL, "device", "-stack takes one device, not %zu", n);
    if (!st && !(j->search = calloc(n, sizeof *j->search)))
        st = psr_fail_nomem(&j->err, "devices", (double)n * sizeof *j->search);
    if (!st)
        d.nthread = psr_share_threads((int)d.nthread, j->devices.name.n);
    for (size_t k = 0; k < n && !st; k++) {
        d.device = j->devices.name.name[k];
        st = psr_ffasearch_create(&j->search[k], &d, &j->err);
    }
    return st;
}

static psr_status prepare(struct gpuffa_job *j)
{
    struct psr_ffasearch_desc *d = &j->opt.ffa.search;
    d->should_stop = run_should_stop;
    d->stack = j->opt.stack;
    psr_status st = check_names(j);
    if (!st && j->opt.ffa.zaplist) {
        st = psr_zaplist_read(&j->zaplist, j->opt.ffa.zaplist, &j->err);
        d->zaplist = &j->zaplist;
    }
    return st ? st : create_searches(j);
}

static void print_account(const struct gpuffa_job *j)
{
    fprintf(stderr,
            "%s: %zu files searched, %zu candidates; %zu harmonics and %zu of -zaplist left out; "
            "read %.3f s, search %.3f s, sift and write %.3f s\n",
            j->tool.name, j->nsearched, j->ncand, j->nharmonic, j->nzapped, j->read_s, j->search_s,
            j->write_s);
}

static psr_status run(struct gpuffa_job *j, char **operand, size_t n)
{
    psr_status st = gather_names(j, operand, n);
    if (!st && n && gpuffa_is_observation(operand[0]))
        return gpuffa_search_observation(j);
    if (!st)
        st = prepare(j);
    if (st)
        return st;
    run_progress_start(&j->progress,
                       run_progress_mode(j->opt.quiet || !(j->inputs.n > 1), j->opt.verbose),
                       (int64_t)j->inputs.n, "files", 1);
    for (size_t i = 0; i < j->inputs.n && j->opt.stack; i++)
        gpuffa_measure(j, j->inputs.name[i]);
    for (size_t i = 0; i < j->inputs.n && !run_stop_signal() && !j->no_device; i++)
        gpuffa_add(j, j->inputs.name[i]);
    gpuffa_flush(j);
    run_progress_end(&j->progress);
    if (j->opt.stack)
        st = gpuffa_write_stack(j);
    if (j->opt.verbose)
        print_account(j);
    return st;
}

static void release(struct gpuffa_job *j)
{
    for (size_t k = 0; j->search && k < j->devices.name.n; k++)
        psr_ffasearch_destroy(j->search[k]);
    free(j->search);
    devices_release(&j->devices);
    psr_zaplist_clear(&j->zaplist);
    psr_names_clear(&j->inputs);
    psr_overwrite_check_clear(&j->names);
    gpuffa_release_batch(j);
}

int main(int argc, char **argv)
{
    struct gpuffa_job job = {.code = EXIT_SUCCESS};
    const size_t n = (size_t)gpuffa_options_parse(&job.opt, &job.tool, argc, argv);
    run_catch_signals();
    run_limit_threads(&job.opt.ffa.search.nthread, job.opt.quiet ? NULL : job.tool.name);
    psr_status st = run(&job, argv + 1, n);
    release(&job);
    return cli_end(&job.tool, st, &job.err, job.code);
}
