/* fbedit: makes an observation from observations: cuts and converts them. */
#include "fbedit.h"

#include "tools/common/quote.h"
#include "tools/common/run.h"
#include <stdlib.h>

struct run {
    struct fbedit_options opt;
    struct cli tool;
    struct run_progress progress;
    struct fbedit_add add;
    psr_err err;
};

static psr_status process(struct run *r, psr_edit *p)
{
    struct psr_edit_report report;
    psr_edit_describe(p, &report);
    if (r->opt.verbose)
        fbedit_print_plan(&r->tool, &r->opt.run, p);
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose), report.count,
                       "spectra", 1);
    psr_status st = psr_edit_run(p, &r->err);
    run_progress_end(&r->progress);
    if (!st)
        st = fbedit_add_write(&r->add, p, &r->err);
    if (!st)
        st = psr_edit_finish(p, &r->err);
    if (!st)
        st = fbedit_add_finish(&r->add, &r->err);
    if (!st && !r->opt.quiet)
        fbedit_note_dropped(&r->tool, p);
    if (!st && r->opt.verbose)
        fbedit_print_account(&r->tool, p);
    return st;
}

static psr_status edit(struct run *r)
{
    psr_edit *p = NULL;
    psr_status st = psr_edit_create(&p, &r->opt.run, &r->err);
    if (!st)
        st = process(r, p);
    psr_edit_destroy(p);
    return st;
}

/* One edit for each event. */
static psr_status edit_events(struct run *r)
{
    const char *output = r->opt.run.output;
    struct fbedit_around around = {.n = 0};
    psr_status st = fbedit_around_begin(&around, &r->opt, &r->err);
    for (size_t i = 0; i < around.n && !st; i++) {
        st = fbedit_around_take(&around, &r->opt, output, i, &r->err);
        if (!st)
            st = edit(r);
    }
    fbedit_around_end(&around);
    return st;
}

static psr_status run(struct run *r)
{
    struct psr_edit_desc *d = &r->opt.run;
    if (!r->opt.quiet)
        r->opt.source.notes = (struct psr_notes){cli_note, &r->tool};
    r->opt.source.should_stop = run_should_stop;
    r->opt.source.stop_ctx = &r->progress;
    d->source = &r->opt.source;
    d->should_stop = run_should_stop;
    d->progress = run_show_progress;
    d->ctx = &r->progress;
    psr_status st = fbedit_add_begin(&r->add, &r->opt, r->opt.source.notes, &r->err);
    if (!st)
        st = r->opt.around ? edit_events(r) : edit(r);
    fbedit_add_end(&r->add);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {.add = {.command = quote_command("fbedit", argc, argv)}};
    size_t npath = (size_t)fbedit_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.source.path = (const char *const *)(argv + 1);
    r.opt.source.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.run.nthread, r.opt.quiet ? NULL : r.tool.name);
    psr_status st = run(&r);
    free((void *)r.opt.run.set);
    free((void *)r.opt.add.text);
    free((void *)r.opt.addfile.text);
    return cli_end(&r.tool, st, &r.err, EXIT_SUCCESS);
}
