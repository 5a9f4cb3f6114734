/* gpuffa: time series to slow pulsars, by the fast folding algorithm. */
#include "gpuffa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) CLI_AT(struct gpuffa_options, member)

static const struct cli_option options[] = {
    {"DMs of an observation", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"lodm", CLI_DOUBLE, AT(lodm), "DM", 0, 1e6, "First DM, pc cm^-3 (default 0)."},
    {"dmstep", CLI_DOUBLE, AT(dmstep), "DM", 0, 1e6, "Step between DMs, pc cm^-3 (default 1)."},
    {"numdms", CLI_INT, AT(ndm), "N", 1, PSR_PIPELINE_NDM, "Number of DMs (default 10)."},
    {"nobary, topo", CLI_FLAG, AT(nobary), NULL, 0, 0,
     "Do not barycentre: keep topocentric times."},
    {"Input and output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"files", CLI_TEXT, AT(files), "FILE", 0, 0,
     "Also search the files listed in FILE, one per line; - is standard input."},
    {"o", CLI_TEXT, AT(root), "ROOT", 0, 0,
     "Write files whose names begin with ROOT: ROOT_ffa.csv (default: the input's name without "
     "suffix, in the current folder); - is standard output."},
    {"stack", CLI_FLAG, AT(stack), NULL, 0, 0,
     "Inputs are epochs of one position at one DM: write one list of what they hold together, "
     "ROOT_ffa.csv of -o. S/N is that of one epoch that is as improbable; longer epochs are "
     "searched up to the length of the shortest."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"device", CLI_TEXT, AT(ffa.search.device), "NAME", 0, 0,
     "Devices that search: auto (a GPU if there is one, the default), cpu, cuda, or the "
     "numbers of GPUs that share the files or DMs: 0,1,2,3 or all."},
    {"batch", CLI_INT, AT(ffa.search.batch), "N", 1, 4096,
     "Most files searched at once (default: depends on memory)."},
};

static void check_combinations(const struct gpuffa_options *o, const struct cli *tool, int n,
                               char *const *operand)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(operand[i], "-"))
            cli_usage_error(tool,
                            "-: a series has an .inf beside it, and comes from a file (-files "
                            "- takes names of files from standard input)");
    if (n < 1 && !o->files)
        cli_usage_error(tool, "no input given: name .dat or .tim files, or an observation");
    const bool observation = n > 0 && gpuffa_is_observation(operand[0]);
    for (int i = 1; i < n; i++)
        if (gpuffa_is_observation(operand[i]) != observation)
            cli_usage_error(tool, "series and observations: search them one after the other");
    if (observation && o->files)
        cli_usage_error(tool, "-files takes names of series");
    if (!observation && (!isnan(o->lodm) || !isnan(o->dmstep) || o->ndm || o->nobary))
        cli_usage_error(
            tool, "-lodm, -dmstep, -numdms and -nobary are for observations: a series has its DM");
    if (o->stack && (observation || !o->root))
        cli_usage_error(tool, "-stack is for series, and needs -o");
    if (!observation && o->root && !o->stack && (n > 1 || o->files))
        cli_usage_error(tool, "-o names the output of one file");
}

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
static int gpuffa_options_parse(struct gpuffa_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct gpuffa_options){.lodm = NAN, .dmstep = NAN};
    ffa_options_init(&o->ffa);
    ffa_options_add(&table, &o->ffa);
    CLI_FILL(&table, options, o);
    cli_add_limits(&table, &o->ffa.search.nthread, &o->ffa.search.mem_bytes);
    cli_add_verbosity(&table, &o->quiet, &o->verbose);
    *tool = (struct cli){
        .name = "gpuffa",
        .operands = "[OPTION]... FILE...",
        .examples = "gpuffa obs_DM12.50.dat\n"
                    "gpuffa -lodm 0 -dmstep 0.5 -numdms 200 obs.fil\n"
                    "gpuffa -stack -o all epoch*_DM12.50.dat\n"
                    "gpuffa -pmin 0.5 -pmax 30 -zaplist lines.birds obs_DM*.dat\n",
        .summary =
            "Search time series (.dat, .tim), or an observation at many DMs, for slow pulsars with "
            "the fast folding algorithm: every period is folded, so that narrow pulses of long "
            "periods, whose power is in many harmonics, are found.",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(tool, argc, argv);
    ffa_options_complete(&o->ffa, tool);
    check_combinations(o, tool, n, argv + 1);
    o->lodm = isnan(o->lodm) ? 0 : o->lodm;
    o->dmstep = isnan(o->dmstep) ? 1 : o->dmstep;
    o->ndm = o->ndm ? o->ndm : 10;
    return n;
}

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

/* Files of the batch are counted already. */
static void show_share(void *ctx, int64_t done, int64_t total)
{
    struct gpuffa_job *j = ctx;
    const struct run_part part = {.before = (int64_t)(j->ndone - j->nfile),
                                  .n = (int64_t)j->nfile,
                                  .single = j->opt.stack,
                                  .together = 0.5};
    if (j->devices.name.n == 1)
        run_show_part(&j->progress, &part, done, total);
}

static psr_status prepare(struct gpuffa_job *j)
{
    struct psr_ffasearch_desc *d = &j->opt.ffa.search;
    d->should_stop = run_should_stop;
    d->ctx = j;
    d->progress = show_share;
    d->stack = j->opt.stack;
    psr_status st = psr_overwrite_check_input(&j->names, j->opt.ffa.zaplist, &j->err);
    if (!st)
        st = psr_overwrite_check_input(&j->names, j->opt.files, &j->err);
    for (size_t i = 0; i < j->inputs.n && !st; i++)
        st = check_input(j, j->inputs.name[i]);
    for (size_t i = 0; i < (j->opt.stack ? 1 : j->inputs.n) && !st; i++)
        st = check_output(j, j->inputs.name[i]);
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
    run_progress_start_parts(&j->progress, run_progress_mode(j->opt.quiet, j->opt.verbose),
                             j->inputs.n);
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
    cli_note_kept(&j->tool, j->opt.quiet || j->opt.stack, j->nsearched, j->inputs.n,
                  "files are searched, and their lists complete: name the others to go on");
    return st;
}

int main(int argc, char **argv)
{
    struct gpuffa_job job = {.code = EXIT_SUCCESS};
    const size_t n = (size_t)gpuffa_options_parse(&job.opt, &job.tool, argc, argv);
    run_catch_signals();
    run_limit_threads(&job.opt.ffa.search.nthread, job.opt.quiet ? NULL : job.tool.name);
    psr_status st = run(&job, argv + 1, n);
    for (size_t k = 0; job.search && k < job.devices.name.n; k++)
        psr_ffasearch_destroy(job.search[k]);
    free(job.search);
    devices_release(&job.devices);
    psr_zaplist_clear(&job.zaplist);
    psr_names_clear(&job.inputs);
    psr_overwrite_check_clear(&job.names);
    gpuffa_release_batch(&job);
    return cli_end(&job.tool, st, &job.err, job.code);
}
