/* gpurfifind: finds interference in telescope data and makes a mask of it. */
#include "tools/common/cli.h"
#include "tools/common/plot/canvas.h"
#include "tools/gpurfifind/report.h"

#include <psrkit/experimental/clean.h>
#include <stdlib.h>
#include <string.h>

struct gpurfifind_options {
    struct psr_rfi_run_desc run; /* most options are its fields */

    struct psr_source_desc source;
    struct psr_rfi_rules rules;

    /* Options that are converted to its fields. */
    bool filterbank, psrfits, noclip;
    const char *state, *compat;
    int64_t if_choice, ncpus, mem_bytes;

    /* Options that are not part of it. */
    bool wapp, window, xwin, rfixwin, rfips; /* with numwapps: without effect here */
    int64_t numwapps;
    const char *plot;
    double iqrm, sk, skewness, kurtosis, bursts, burst_share, lines; /* below 0: not given */
    bool quiet, verbose;
};

/* The options of gpurfifind, in the order of --help, and the run that they describe. */

/* Tests that rfifind does not have, and their defaults. */
struct test {
    const char *option;
    double *given, *field, value; /* given below 0: it was not */
};

enum { NTEST = 7 };

struct run {
    struct gpurfifind_options opt;
    struct cli tool;
    struct run_progress progress;
    psr_outfile *plot;
    int code; /* of a picture that was left out */
    psr_err err;
};

static psr_status run(struct run *r);

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

static bool is_stopped(void *ctx)
{
    (void)ctx;
    return run_stop_signal() != 0;
}

static void show_progress(void *ctx, int64_t nread, int64_t total)
{
    struct run *r = ctx;
    run_show(&r->progress, "spectra", nread, total);
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
    /* Before anything is read.  A picture that cannot be written is reported and left out. */
    psr_err why;
    if (begin_plot(r, &why))
        r->code = cli_report(&r->tool, &why);
    run_progress_start(&r->progress, run_progress_mode(o->quiet, o->verbose), -1, "spectra", 1);
    psr_status st = psr_rfi_run(&report, &o->run, &r->err);
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

static void list_tests(struct gpurfifind_options *o, struct test test[NTEST])
{
    struct psr_rfi_rules *r = &o->rules;
    const struct test all[NTEST] = {
        {"iqrm", &o->iqrm, &r->iqrm_sigma, 5},
        {"sk", &o->sk, &r->sk_sigma, 5},
        {"skew", &o->skewness, &r->skewness_sigma, 5},
        {"kurt", &o->kurtosis, &r->kurtosis_sigma, 5},
        {"bursts", &o->bursts, &o->run.burst_sigma, 6},
        {"burstfrac", &o->burst_share, &r->burst_share, 0.1},
        {"lines", &o->lines, &o->run.line_sigma, 4},
    };
    memcpy(test, all, sizeof all);
}

#define AT(member) CLI_AT(struct gpurfifind_options, member)

static const struct cli_option options[] = {
    {"ignorechan", CLI_TEXT, AT(run.ignorechan), "LIST", 0, 0,
     "Treat channels as zeros: 3,5:9,20:30:5 (channel 0 is the lowest in frequency), or a file "
     "of such text."},
    {"Statistics", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"time", CLI_DOUBLE, AT(run.interval_s), "SEC", 0, 1e9,
     "Length of an interval (default 30), rounded to whole blocks: rows of PSRFITS, 2400 "
     "spectra otherwise."},
    {"blocks", CLI_INT, AT(run.nblock), "N", 1, 1e9, "Length of an interval in blocks."},
    {"nocompute", CLI_FLAG, AT(run.nocompute), NULL, 0, 0,
     "Make a new mask from the statistics of an earlier run with the same -o; the input is not "
     "read."},
    {"Mask", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"timesig", CLI_DOUBLE, AT(rules.time_sigma), "S", 0, 1e6,
     "Mask cells whose mean or standard deviation deviates by S sigma (default 10)."},
    {"freqsig", CLI_DOUBLE, AT(rules.freq_sigma), "S", 0, 1e6,
     "Mask cells with a periodic signal of S sigma (default 4)."},
    {"chanfrac", CLI_DOUBLE, AT(rules.chan_frac), "F", 0, 1,
     "Mask intervals with more than this fraction of bad channels (default 0.7)."},
    {"intfrac", CLI_DOUBLE, AT(rules.int_frac), "F", 0, 1,
     "Mask channels with more than this fraction of bad intervals (default 0.3)."},
    {"iqrm", CLI_DOUBLE, AT(iqrm), "S", 0, 1e6,
     "Mask cells whose standard deviation is S sigma above those of neighbouring channels "
     "(default 5; 0: off; not with -compat presto)."},
    {"sk", CLI_DOUBLE, AT(sk), "S", 0, 30,
     "Mask cells whose generalised spectral kurtosis deviates from that of noise by S sigma "
     "(default 5; 0: off; not with -compat presto)."},
    {"skew", CLI_DOUBLE, AT(skewness), "S", 0, 30,
     "Mask cells whose skewness deviates from the channel's median by S sigma (default 5; as "
     "-sk)."},
    {"kurt", CLI_DOUBLE, AT(kurtosis), "S", 0, 30,
     "Mask cells whose kurtosis deviates from the channel's median by S sigma (default 5; as "
     "-sk)."},
    {"bursts", CLI_DOUBLE, AT(bursts), "S", 1, 1000,
     "Spectra whose sum over channels deviates from the running median by S sigma are in a "
     "burst (default 6; not with -compat presto)."},
    {"burstfrac", CLI_DOUBLE, AT(burst_share), "F", 0, 1,
     "Mask intervals with more than this fraction of spectra in bursts (default 0.1; 0: "
     "off; not with -compat presto)."},
    {"lines", CLI_DOUBLE, AT(lines), "S", 0, 30,
     "List lines above S sigma in the power spectrum of the series at DM 0 in "
     "ROOT_rfifind.zaplist and .birds (default 4; 0: off; not with -compat presto)."},
    {"zapchan", CLI_TEXT, AT(rules.zap_chan), "LIST", 0, 0,
     "Mask these channels: 3,5:9,20:30:5; channel 0 is the lowest in frequency."},
    {"zapints", CLI_TEXT, AT(rules.zap_int), "LIST", 0, 0, "Mask these intervals, counted from 0."},
    {"mask", CLI_TEXT, AT(run.old_mask), "FILE", 0, 0,
     "Mark the cells of this mask in the .bytemask, and take the bandpass for -zerodm from "
     "its .stats."},
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(run.root), "ROOT", 0, 0,
     "Write files whose names begin with ROOT: ROOT_rfifind.mask, .stats, .moments, .rfi, "
     ".bytemask, .zaplist, .birds and .inf."},
    {"compat", CLI_TEXT, AT(compat), "NAME", 0, 0,
     "presto: make rfifind's mask, and read headers as it does."},
    {"plot", CLI_TEXT, AT(plot), "FILE", 0, 0,
     "Draw means, standard deviations, powers, the mask and the bandpass as PNG."},
    {"xwin", CLI_FLAG, AT(xwin), NULL, 0, 0, "Ignored with a note."},
    {"rfixwin", CLI_FLAG, AT(rfixwin), NULL, 0, 0, "Ignored with a note."},
    {"rfips", CLI_FLAG, AT(rfips), NULL, 0, 0, "Ignored with a note."},
};

/* Sets the tests, in compatibility mode to none. */
static void fill_tests(struct gpurfifind_options *o, const struct cli *tool)
{
    struct test test[NTEST];
    list_tests(o, test);
    for (size_t k = 0; k < NTEST; k++) {
        if (o->compat && *test[k].given > 0)
            cli_usage_error(tool, "-compat presto: rfifind has no -%s", test[k].option);
        *test[k].field = *test[k].given >= 0 ? *test[k].given : o->compat ? 0 : test[k].value;
    }
    o->run.moments = !o->compat;
}

static void fill_description(struct gpurfifind_options *o)
{
    struct psr_rfi_run_desc *d = &o->run;
    o->source.input = o->filterbank ? PSR_INPUT_SIGPROC
                      : o->psrfits  ? PSR_INPUT_PSRFITS
                                    : PSR_INPUT_AUTO;
    o->source.if_choice = (int)o->if_choice;
    d->clip_sigma = o->noclip ? 0 : d->clip_sigma;
    d->also = o->plot;
    d->presto = o->rules.sd_of_bits = o->compat != NULL;
    d->mem_bytes = o->mem_bytes;
}

/* Reads the command line into o, whose run lacks its callbacks; mistakes end the program with exit
 * code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
static int gpurfifind_options_parse(struct gpurfifind_options *o, struct cli *tool, int argc,
                                    char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct gpurfifind_options){.numwapps = 1, .if_choice = -1};
    struct test test[NTEST];
    psr_rfi_run_defaults(&o->run);
    psr_rfi_rules_defaults(&o->rules);
    o->source.size = sizeof o->source;
    o->run.source = &o->source;
    o->run.rules = &o->rules;
    list_tests(o, test);
    for (size_t k = 0; k < NTEST; k++)
        *test[k].given = -1;
    cli_add_heading(&table, "Input");
    cli_add_observation(&table, (struct cli_observation){.filterbank = &o->filterbank,
                                                         .psrfits = &o->psrfits,
                                                         .if_choice = &o->if_choice,
                                                         .state = &o->state,
                                                         .no_weights = &o->source.no_weights,
                                                         .no_scales = &o->source.no_scales,
                                                         .no_offsets = &o->source.no_offsets,
                                                         .invert = &o->source.invert});
    cli_add_ignored(&table, &o->wapp, &o->window, &o->numwapps);
    cli_add_heading(&table, "Cleaning");
    cli_add_clipping(&table, &o->run.clip_sigma, &o->noclip, &o->run.zerodm);
    CLI_FILL(&table, options, o);
    cli_add_limits(&table, &o->ncpus, &o->mem_bytes);
    cli_add_verbosity(&table, &o->quiet, &o->verbose);
    *tool = (struct cli){
        .name = "gpurfifind",
        .operands = "[OPTION]... -o ROOT FILE... | -",
        .examples = "gpurfifind -time 1 -o obs obs.fil\n"
                    "gpurfifind -nocompute -freqsig 6 -o obs\n"
                    "gpurfifind -time 1 -zapchan 0:15 -plot obs.png -o obs obs.fil\n",
        .summary = "Find interference in telescope data (SIGPROC filterbank, PSRFITS) and make a "
                   "mask of it, as PRESTO's rfifind does.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    if (n < 1 && !o->run.nocompute)
        cli_usage_error(tool, "no input given: name files, or - for standard input");
    if (!o->run.root)
        cli_usage_error(tool, "-o ROOT is missing: the start of every output name");
    if (!strcmp(o->run.root, "-"))
        cli_usage_error(tool, "-o -: there are several files");
    if (o->filterbank && o->psrfits)
        cli_usage_error(tool, "-filterbank and -psrfits exclude each other");
    if (o->compat && strcmp(o->compat, "presto") != 0)
        cli_usage_error(tool, "-compat: '%s' is not presto", o->compat);
    fill_tests(o, tool);
    o->source.pols = cli_parse_state(tool, o->state);
    fill_description(o);
    return n;
}

int main(int argc, char **argv)
{
    struct run r = {.code = EXIT_SUCCESS};
    size_t npath = (size_t)gpurfifind_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.source.path = (const char *const *)(argv + 1);
    r.opt.source.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.ncpus, r.opt.quiet ? NULL : r.tool.name);
    r.opt.run.nthread = r.opt.source.nthread = (int)r.opt.ncpus;
    psr_status st = run(&r);
    cli_note_kept(&r.tool, r.opt.quiet || !st, 0, 1, NULL);
    return cli_end(&r.tool, st, &r.err, r.code);
}
