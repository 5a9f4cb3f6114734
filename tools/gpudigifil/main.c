/* gpudigifil: turns voltages of one telescope into a filterbank. */
#include "options.h"
#include "report.h"

#include "tools/common/run.h"
#include <stdlib.h>

struct run {
    struct digifil_options opt;
    struct cli tool;
    struct run_progress progress;
    psr_err err;
};

static psr_status process(struct run *r, psr_filterbank *p)
{
    struct psr_filterbank_report report;
    psr_filterbank_describe(p, &report);
    if (r->opt.verbose)
        digifil_print_plan(&r->tool, p);
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose), report.nsamp,
                       "MB", report.sample_bytes / 1e6);
    psr_status st = psr_filterbank_run(p, &r->err);
    run_progress_end(&r->progress);
    if (!st)
        st = psr_filterbank_finish(p, &r->err);
    if (!st && (r->opt.verbose || !r->opt.quiet))
        digifil_print_latency(&r->tool, p);
    if (!st && r->opt.verbose)
        digifil_print_account(&r->tool, p);
    return st;
}

static psr_status run(struct run *r)
{
    struct psr_filterbank_desc *d = &r->opt.run;
    psr_filterbank *p = NULL;
    if (!r->opt.quiet)
        d->notes = (struct psr_notes){cli_note, &r->tool};
    d->should_stop = run_should_stop;
    d->progress = run_show_progress;
    d->ctx = &r->progress;
    psr_status st = psr_filterbank_create(&p, d, &r->err);
    if (!st)
        st = process(r, p);
    psr_filterbank_destroy(p);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {0};
    size_t npath = (size_t)digifil_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.run.path = (const char *const *)(argv + 1);
    r.opt.run.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.run.nthread, r.opt.quiet ? NULL : r.tool.name);
    psr_status st = run(&r);
    return cli_end(&r.tool, st, &r.err, EXIT_SUCCESS);
}
