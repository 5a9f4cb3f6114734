/* gpudedisp: dedisperses telescope data into series and searches for single pulses. */
#include "gpudedisp.h"

#include "tools/common/cli.h"

#include <limits.h>
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- runs many beams of a pointing side by side ----------------------------------------------- */

struct beam {
    const char *path;
    char *root;
    struct psr_pipeline_desc run;
};

struct beams {
    const struct gpudedisp_options *o;
    struct beam *beam;       /* [n] */
    psr_pipeline **pipeline; /* [n] */
    size_t n;
};

static psr_status name_beams(struct beams *b, psr_err *err)
{
    const struct psr_pipeline_desc *d = &b->o->run;
    for (size_t k = 0; k < b->n; k++) {
        b->beam[k].path = d->path[k];
        /* ROOT_NAME of FOLDER/NAME.SUFFIX; malloc'd, or NULL */
        const char *path = d->path[k];
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        const char *dot = strrchr(name, '.');
        const size_t n = dot && dot > name ? (size_t)(dot - name) : strlen(name);
        const size_t size = strlen(d->root) + n + 2;
        char *text = malloc(size);
        if (text)
            snprintf(text, size, "%s_%.*s", d->root, (int)n, name);
        b->beam[k].root = text;
        if (!b->beam[k].root)
            return psr_fail(err, PSR_ENOMEM, "%s: no memory for its name", d->path[k]);
        for (size_t j = 0; j < k; j++)
            if (!strcmp(b->beam[j].root, b->beam[k].root))
                return psr_fail(err, PSR_EINVAL, "%s and %s: both beams would be %s",
                                b->beam[j].path, b->beam[k].path, b->beam[k].root);
    }
    return PSR_OK;
}

/* --- what they have in common ----------------------------------------------------------------- */

static psr_status check_alike(const struct beams *beams, size_t n, psr_err *err)
{
    const struct beam *first = beams->beam, *beam = first + n;
    struct psr_pipeline_report a, b;
    psr_pipeline_describe(beams->pipeline[0], &a);
    psr_pipeline_describe(beams->pipeline[n], &b);
    const struct {
        const char *name;
        double first, own;
        const char *unit;
    } field[] = {
        {"nchans", (double)a.obs->nchan, (double)b.obs->nchan, ""},
        {"nbits", a.obs->nbit, b.obs->nbit, ""},
        {"tsamp", a.obs->tsamp_s, b.obs->tsamp_s, " s"},
        {"highest MHz", psr_obs_highest_mhz(a.obs), psr_obs_highest_mhz(b.obs), ""},
        {"lowest MHz", psr_obs_lowest_mhz(a.obs), psr_obs_lowest_mhz(b.obs), ""},
    };
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (fabs(field[k].own - field[k].first) > 1e-9 * fabs(field[k].first))
            return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                  "%s: %s %.10g%s, and the first beam, %s, has %.10g%s", beam->path,
                                  field[k].name, field[k].own, field[k].unit, first->path,
                                  field[k].first, field[k].unit);
    return PSR_OK;
}

/* Beams share memory; no beam's output may be an input of another. */
static void describe_beam(const struct beams *b, size_t k)
{
    struct psr_pipeline_desc *d = &b->beam[k].run;
    *d = b->o->run;
    d->path = &b->beam[k].path;
    d->npath = 1;
    d->root = b->beam[k].root;
    d->beside = b->o->run.path;
    d->nbeside = b->n;
    d->nshare = b->n;
    d->progress = k ? NULL : d->progress;
}

static psr_status create_beams(struct beams *b, psr_err *err)
{
    const struct psr_pipeline_desc **d = calloc(b->n, sizeof *d);
    if (!d)
        return psr_fail(err, PSR_ENOMEM, "no memory for %zu beams", b->n);
    for (size_t k = 0; k < b->n; k++) {
        describe_beam(b, k);
        d[k] = &b->beam[k].run;
    }
    psr_status st = psr_pipeline_create_beams(b->pipeline, d, b->n, err);
    for (size_t k = 1; k < b->n && !st; k++)
        st = check_alike(b, k, err);
    free(d);
    return st;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void print_state(const struct beams *b, const struct cli *tool)
{
    struct psr_pipeline_report r;
    char name[512];
    for (size_t k = 0; k < b->n; k++) {
        double bytes = 0;
        psr_pipeline_describe(b->pipeline[k], &r);
        for (size_t n = 0; n < r.nline; n++)
            bytes += (double)r.line[n]->plan->bytes;
        fprintf(stderr, "%s: beam %s: dedispersion holds %.3g MB\n", tool->name,
                cli_printable(name, sizeof name, b->beam[k].root), bytes / 1e6);
    }
    psr_pipeline_describe(b->pipeline[0], &r);
    if (r.nsharing)
        fprintf(stderr, "%s: %zu beams share a plan, which holds %.3g MB more for all\n",
                tool->name, r.nsharing, r.shared_bytes / 1e6);
}

static void print_found(const struct beams *b, const struct cli *tool)
{
    for (size_t k = 0; k < b->n; k++) {
        const struct psr_pulses_found *found = psr_pipeline_result(b->pipeline[k], "pulses");
        struct psr_pipeline_report r;
        char name[512];
        psr_pipeline_describe(b->pipeline[k], &r);
        fprintf(stderr, "%s: beam %s: %lld spectra in", tool->name,
                cli_printable(name, sizeof name, b->beam[k].root), (long long)r.nread);
        if (found)
            fprintf(stderr, ", %zu events, %zu pulses", found->nevent, found->ncluster);
        fprintf(stderr, "; clean %.3f s, dedisperse %.3f s, search %.3f s\n", r.clean_s,
                r.dedisperse_s, r.search_s);
    }
}

/* --- tells of pulses as they are found: a line of JSON each ----------------------------------- */

/* For psr_sink_live_desc, with a struct line_output: writes a line, and opens the output anew after SIGHUP. */
static psr_status gpudedisp_live_burst(void *ctx, const struct psr_burst *burst, psr_err *err)
{
    struct line_output *o = ctx;
    char line[PSR_BURST_BYTES];
    const size_t n = psr_burst_json(line, burst);
    psr_status st = run_take_hangup() ? line_output_reopen(o, err) : PSR_OK;
    return st ? st : line_output_write(o, line, n, err);
}

/* On standard error: what was found, how fast it was told, and, with dumps, what became of the spectra around it. */
static void gpudedisp_live_report(const struct cli *tool, const struct line_output *output,
                                  psr_pipeline *p)
{
    const struct psr_live_found *found = psr_pipeline_result(p, "live");
    struct psr_pipeline_report r;
    struct rusage used;
    if (!found)
        return;
    psr_pipeline_describe(p, &r);
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr,
            "%s: %lld spectra, %.1f s: %lld pulses, %lld of them marked; latency %.3f s, %.3f s at "
            "most (bound: %.3f s and what the machine takes); peak %ld MB\n",
            tool->name, (long long)r.nread, (double)r.nread * r.obs->tsamp_s,
            (long long)found->nburst, (long long)found->nmarked, found->mean_s, found->worst_s,
            found->bound_s, used.ru_maxrss / 1000);
    if (found->ncut)
        fprintf(stderr,
                "%s: %lld times events followed each other for so long that they were told in "
                "parts\n",
                tool->name, (long long)found->ncut);
    if (r.dumps) {
        fprintf(stderr, "%s: spectra around %lld pulses kept in %lld files", tool->name,
                (long long)(r.dumps->npulse), (long long)r.dumps->nfile);
        const struct {
            int64_t n;
            const char *why;
        } lost[] = {{r.dumps->nlate, "pulses began before what the ring held"},
                    {r.dumps->nbusy, "pulses came while too many files were being written"},
                    {r.dumps->nslow, "files were given up: the disk was too slow"},
                    {r.dumps->nfailed, "files could not be written"}};
        for (size_t k = 0; k < sizeof lost / sizeof *lost; k++)
            if (lost[k].n)
                fprintf(stderr, "; %lld %s", (long long)lost[k].n, lost[k].why);
        fprintf(stderr, "\n");
    }
    char name[512];
    if (output->nlost)
        fprintf(stderr, "%s: %s: %lld pulses were told to nobody\n", tool->name,
                cli_printable(name, sizeof name, output->name), (long long)output->nlost);
}

/* --- gpudedisp: dedisperses telescope data into series and searches for single pulses --------- */

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

/* Trials that are left once those have been dropped that are there already. */
static bool has_work(psr_pipeline *p)
{
    struct psr_pipeline_report report;
    psr_pipeline_describe(p, &report);
    return report.ndm > 0;
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
    /* Early, as a search may take hours.  A plot that cannot be made is reported and left out. */
    psr_err why;
    if (r->opt.plot && plotfile_open(&r->plot, r->opt.plot, &why))
        r->code = cli_report(&r->tool, &why);
    if (tells)
        gpudedisp_print_plan(&r->tool, p);
    struct psr_pipeline_report report;
    psr_pipeline_describe(p, &report);
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose),
                       report.obs ? report.obs->nsamp : -1, has_account(r) ? "MB" : "spectra",
                       has_account(r) ? (double)report.row_bytes / 1e6 : 1);
    st = psr_pipeline_run(p, &r->err);
    if (!st)
        st = psr_pipeline_finish(p, &r->err);
    if (!st)
        draw_plot(r, p);
    run_progress_end(&r->progress);
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
    /* Runs a pipeline for each input, in turn block by block: the output of FOLDER/NAME.fil is ROOT_NAME. */
    const struct gpudedisp_options *o = &r->opt;
    struct beams b = {.o = o, .n = o->run.npath};
    b.beam = calloc(b.n, sizeof *b.beam);
    b.pipeline = calloc(b.n, sizeof *b.pipeline);
    psr_status st = b.beam && b.pipeline
                        ? name_beams(&b, &r->err)
                        : psr_fail(&r->err, PSR_ENOMEM, "no memory for %zu beams", b.n);
    if (!st)
        st = create_beams(&b, &r->err);
    if (!st) {
        psr_pipeline *const *p = b.pipeline;
        if (b.o->verbose) {
            gpudedisp_print_plan(&r->tool, p[0]);
            print_state(&b, &r->tool);
        }
        st = psr_pipeline_run_beams(p, b.n, &r->err);
        for (size_t k = 0; k < b.n && !st; k++)
            st = psr_pipeline_finish(p[k], &r->err);
        if (!st && b.o->verbose)
            print_found(&b, &r->tool);
    }
    for (size_t k = 0; b.beam && b.pipeline && k < b.n; k++) {
        psr_pipeline_destroy(b.pipeline[k]);
        free(b.beam[k].root);
    }
    free(b.beam);
    free(b.pipeline);
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
    o->run.marked = run_show_pulses;
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

/* The library says what is recorded, of which there is a file then. */
static void note_nothing_kept(const struct run *r, psr_status st)
{
    char record[PATH_MAX];
    snprintf(record, sizeof record, "%s.searched", r->opt.run.root);
    if (st && !r->opt.live && access(record, F_OK))
        cli_note_kept(&r->tool, r->opt.quiet, 0, 1, NULL);
}

int main(int argc, char **argv)
{
    struct run r = {0};
    /* With -live among the words, begins the program anew with threads that sleep while they wait: between its short blocks
     * they would take more processor time than the search.  What the user has set in the environment stays. */
    char program[PATH_MAX]; /* the link itself would name the process "exe" */
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    bool live = false;
    for (int i = 1; i < argc; i++)
        live = live || !strcmp(argv[i], "-live") || !strcmp(argv[i], "--live");
    if (live && n >= 0 && !getenv("GOMP_SPINCOUNT") && !getenv("OMP_WAIT_POLICY")) {
        program[n] = '\0';
        /* OpenMP reads its environment before main. */
        if (setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
            execv(program, argv);
    }
    size_t npath = (size_t)gpudedisp_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.run.path = (const char *const *)(argv + 1);
    r.opt.run.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.run.nthread, r.opt.quiet ? NULL : r.tool.name);
    psr_status st = run(&r);
    note_nothing_kept(&r, st);
    fourier_options_clear(&r.opt.fourier);
    ffa_options_clear(&r.opt.ffa);
    return cli_end(&r.tool, st, &r.err, r.code);
}
