/* gpurfifind: finds interference in telescope data and makes a mask of it. */
#include "options.h"
#include "picture.h"
#include "report.h"

#include "tools/common/canvas.h"
#include "tools/common/run.h"
#include <stdlib.h>

struct run {
    struct gpurfifind_options opt;
    struct cli tool;
    struct run_progress progress;
    psr_outfile *plot;
    bool started;
    int code; /* of a picture that was left out */
    psr_err err;
};

static bool is_stopped(void *ctx)
{
    (void)ctx;
    return run_stop_signal() != 0;
}

static void show_progress(void *ctx, int64_t nread, int64_t total)
{
    struct run *r = ctx;
    if (!r->started)
        run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose), total,
                           "spectra", 1);
    r->started = true;
    run_progress_update(&r->progress, nread);
}

static void note_ignored(const struct run *r)
{
    const struct gpurfifind_options *o = &r->opt;
    struct cli tool = r->tool;
    if (o->quiet)
        return;
    if (o->wapp || o->window || o->numwapps != 1)
        cli_note(&tool, "-wapp, -window and -numwapps say nothing of this input: ignored");
    if (o->xwin || o->rfixwin || o->rfips)
        cli_note(&tool, "-xwin, -rfixwin and -rfips draw nothing here: ignored");
}

static psr_status begin_plot(struct run *r, psr_err *why)
{
    const char *path = r->opt.plot;
    if (!path)
        return PSR_OK;
    if (!canvas_can_draw())
        return psr_fail(why, PSR_EINVAL, "%s: no picture: built without cairo", path);
    return psr_outfile_create(&r->plot, path, why);
}

/* Before anything is read.  A picture that cannot be written is reported and left out. */
static void open_plot(struct run *r)
{
    psr_err why;
    if (begin_plot(r, &why))
        r->code = cli_report(&r->tool, &why);
}

static void draw_plot(struct run *r, const struct psr_rfi_run_report *report)
{
    psr_err why;
    if (!r->plot)
        return;
    psr_status st = gpurfifind_draw(r->plot, report, r->opt.run.root, &why);
    if (!st) {
        st = psr_outfile_commit(r->plot, &why);
        r->plot = NULL;
    }
    if (st && !run_stop_signal())
        r->code = cli_report(&r->tool, &why);
}

static psr_status run(struct run *r)
{
    struct gpurfifind_options *o = &r->opt;
    struct psr_rfi_run_report report;
    note_ignored(r);
    if (!o->quiet)
        o->source.notes = (struct psr_notes){cli_note, &r->tool};
    o->run.should_stop = is_stopped;
    o->run.progress = show_progress;
    o->run.ctx = r;
    open_plot(r);
    psr_status st = psr_rfi_run(&report, &o->run, &r->err);
    if (r->started)
        run_progress_end(&r->progress);
    if (!st && !o->quiet) {
        if (o->run.nocompute && o->run.moments && !report.stats.cell)
            cli_note(&r->tool, "the earlier run left no .moments: -sk, -skew, -kurt and -burstfrac "
                               "do nothing");
        gpurfifind_print_cells(&r->tool, &report);
        st = gpurfifind_print_sums(&r->tool, &report, &r->err);
    }
    if (!st && !o->quiet) {
        st = gpurfifind_print_birdies(&r->tool, &report.list, &r->err);
    }
    if (!st && o->verbose)
        gpurfifind_print_times(&r->tool, &report);
    if (!st)
        draw_plot(r, &report);
    psr_outfile_abort(r->plot);
    psr_rfi_run_clear(&report);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {.started = false};
    size_t npath = (size_t)gpurfifind_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.source.path = (const char *const *)(argv + 1);
    r.opt.source.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.ncpus, r.opt.quiet ? NULL : r.tool.name);
    r.opt.run.nthread = r.opt.source.nthread = (int)r.opt.ncpus;
    psr_status st = run(&r);
    return cli_end(&r.tool, st, &r.err, r.code);
}
