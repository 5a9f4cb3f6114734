/* Searches an observation at many DMs, in the pass that dedisperses it. */
#include "gpuffa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    run_progress_end(&j->progress);
    if (!st)
        st = psr_pipeline_finish(p, &j->err);
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
    d.ctx = &j->progress;
    const psr_status st = run(j, &d);
    free(root);
    return st;
}
