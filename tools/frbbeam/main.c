/* frbbeam: forms beams from voltages of a grid of dishes and writes filterbanks. */
#include "options.h"
#include "report.h"

#include "tools/common/run.h"
#include <stdlib.h>

struct run {
    struct frbbeam_options opt;
    struct cli tool;
    struct run_progress progress;
    psr_err err;
};

static void start_progress(struct run *r, const psr_beamformer *p)
{
    struct psr_beamformer_report report;
    psr_beamformer_describe(p, &report);
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose), report.nsamp,
                       "MB", (double)report.sample_bytes / 1e6);
}

static psr_status process(struct run *r, psr_beamformer *p)
{
    if (r->opt.verbose)
        frbbeam_print_plan(&r->tool, p);
    start_progress(r, p);
    psr_status st = psr_beamformer_run(p, &r->err);
    run_progress_end(&r->progress);
    if (!st)
        st = psr_beamformer_finish(p, &r->err);
    if (!st && r->opt.verbose)
        frbbeam_print_account(&r->tool, p);
    return st;
}

static psr_status run(struct run *r)
{
    struct psr_beamformer_desc *d = &r->opt.run;
    psr_beamformer *p = NULL;
    if (!r->opt.quiet)
        d->notes = (struct psr_notes){cli_note, &r->tool};
    d->should_stop = run_should_stop;
    d->progress = run_show_progress;
    d->ctx = &r->progress;
    psr_status st = psr_beamformer_create(&p, d, &r->err);
    if (!st)
        st = process(r, p);
    psr_beamformer_destroy(p);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {0};
    size_t npath = (size_t)frbbeam_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.run.path = (const char *const *)(argv + 1);
    r.opt.run.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.run.nthread, r.opt.quiet ? NULL : r.tool.name);
    psr_status st = run(&r);
    return cli_end(&r.tool, st, &r.err, EXIT_SUCCESS);
}
