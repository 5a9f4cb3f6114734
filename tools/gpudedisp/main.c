/* gpudedisp: dedisperses telescope data into series and searches for single pulses. */
#include "gpudedisp.h"

#include "tools/common/run.h"
#include <psrkit/ddplan.h>
#include <stdlib.h>

struct run {
    struct gpudedisp_options opt;
    struct cli tool;
    struct run_progress progress;
    struct plotfile plot;
    struct line_output live;
    int code; /* of a plot that was left out */
    psr_err err;
};

/* The ways of working that have an account of their own. */
static bool has_account(const struct run *r)
{
    return !r->opt.run.presto && !r->opt.sub;
}

static void start_progress(struct run *r, psr_pipeline *p)
{
    struct psr_pipeline_report report;
    psr_pipeline_describe(p, &report);
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose),
                       report.obs ? report.obs->nsamp : -1, has_account(r) ? "MB" : "spectra",
                       has_account(r) ? (double)report.row_bytes / 1e6 : 1);
}

/* Trials that are left once those have been dropped that are there already. */
static bool has_work(psr_pipeline *p)
{
    struct psr_pipeline_report report;
    psr_pipeline_describe(p, &report);
    return report.ndm > 0;
}

/* Early, as a search may take hours.  A plot that cannot be made is reported and left out. */
static void open_plot(struct run *r)
{
    psr_err why;
    if (r->opt.plot && plotfile_open(&r->plot, r->opt.plot, &why))
        r->code = cli_report(&r->tool, &why);
}

static void draw_plot(struct run *r, psr_pipeline *p)
{
    psr_err why;
    if (r->plot.out && gpudedisp_draw(p, &r->plot, &why) && !run_stop_signal())
        r->code = cli_report(&r->tool, &why);
}

static psr_status process(struct run *r, psr_pipeline *p)
{
    const struct gpudedisp_options *o = &r->opt;
    psr_status st;
    bool tells = o->verbose && has_account(r) && has_work(p);
    open_plot(r);
    if (tells)
        gpudedisp_print_plan(&r->tool, p);
    start_progress(r, p);
    st = psr_pipeline_run(p, &r->err);
    if (!st)
        st = psr_pipeline_finish(p, &r->err);
    run_progress_end(&r->progress);
    if (!st)
        draw_plot(r, p);
    if (!st && !o->quiet)
        gpudedisp_note_left_out(&r->tool, p);
    if (!st && o->prepdata)
        gpudedisp_print_velocity(p);
    if (!st && tells)
        gpudedisp_print_account(&r->tool, p, (int)o->run.dm_decimals);
    return st;
}

/* What pulses are told to; messages of the search come before. */
/* Before it is opened: the file of pulses is no link. */
static psr_status check_events(struct run *r)
{
    struct psr_overwrite_check c = {0};
    psr_status st = psr_overwrite_check_output(&c, r->opt.events, NULL, &r->err);
    psr_overwrite_check_clear(&c);
    return st;
}

static psr_status open_live(struct run *r)
{
    if (!r->opt.live)
        return PSR_OK;
    psr_status st = line_output_is_socket(r->opt.events) ? PSR_OK : check_events(r);
    if (st)
        return st;
    run_catch_hangup();
    r->opt.live_search.burst = gpudedisp_live_burst;
    r->opt.live_search.ctx = &r->live;
    return line_output_open(&r->live, r->opt.events, &r->err);
}

static psr_status close_live(struct run *r, psr_pipeline *p, psr_status st)
{
    psr_err ignored;
    if (!r->opt.live)
        return st;
    if (!st && !r->opt.quiet)
        gpudedisp_live_report(&r->tool, &r->live, p);
    if (!st)
        run_forget_signal(); /* it ended the input */
    psr_status closed = line_output_close(&r->live, st ? &ignored : &r->err);
    return st ? st : closed;
}

static psr_status run_beams(struct run *r)
{
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose), -1,
                       "spectra of the first beam", 1);
    psr_status st = gpudedisp_run_beams(&r->opt, &r->tool, &r->err);
    run_progress_end(&r->progress);
    return st;
}

static psr_status run(struct run *r)
{
    struct gpudedisp_options *o = &r->opt;
    psr_pipeline *p = NULL;
    if (!o->quiet && (o->wapp || o->window || o->numwapps != 1))
        cli_note(&r->tool, "-wapp, -window and -numwapps say nothing of this input: ignored");
    if (!o->quiet)
        o->run.notes = (struct psr_notes){cli_note, &r->tool};
    o->run.should_stop = run_should_stop;
    o->run.progress = run_show_progress;
    o->run.searched = run_show_searched;
    o->run.ctx = &r->progress;
    psr_status st = psr_parse_dmconst(o->dmconst, &o->run.dmconst, &r->err);
    if (o->beams)
        return st ? st : run_beams(r);
    if (!st)
        st = open_live(r);
    if (!st)
        st = psr_pipeline_create(&p, &o->run, &r->err);
    if (!st)
        st = process(r, p);
    st = close_live(r, p, st);
    psr_pipeline_destroy(p);
    plotfile_abort(&r->plot);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {0};
    gpudedisp_live_wait_asleep(argc, argv);
    size_t npath = (size_t)gpudedisp_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.run.path = (const char *const *)(argv + 1);
    r.opt.run.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.run.nthread, r.opt.quiet ? NULL : r.tool.name);
    psr_status st = run(&r);
    fourier_options_clear(&r.opt.fourier);
    ffa_options_clear(&r.opt.ffa);
    return cli_end(&r.tool, st, &r.err, r.code);
}
