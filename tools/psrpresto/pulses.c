/* single_pulse_search.py: searches series for single pulses, and plots what was found. */
#include "psrpresto.h"

#include "base/tool.h"
#include "tools/common/plot/pulseplot.h"
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <psrkit/experimental/singlepulse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The widest boxcar where -m is not given, in samples; -d counts so many. */
enum { WIDTH = 30, CHUNK = 1000, LINE_MAX_BYTES = 256 };

struct pulses {
    struct cli tool;
    bool noplot, ignored;
    double maxwidth_s, threshold, start_s, end_s;
    int64_t detrend;
    const char *pattern;
    char *plot_name; /* of the first input */
    struct psr_event *event;
    double *dm, *tsamp_s; /* [nfile] */
    size_t nevent, event_room, nfile, dm_room, tsamp_room;
};

static psr_status keep_file(struct pulses *p, const struct psr_inf *inf, psr_err *err)
{
    psr_status st = psr_grow(&p->dm, &p->dm_room, p->nfile, sizeof *p->dm, "DMs", err);
    if (st == PSR_OK)
        st = psr_grow(&p->tsamp_s, &p->tsamp_room, p->nfile, sizeof *p->tsamp_s, "DMs", err);
    if (st != PSR_OK)
        return st;
    p->dm[p->nfile] = inf->dm;
    p->tsamp_s[p->nfile++] = inf->tbin_s;
    return PSR_OK;
}

static psr_status keep_event(struct pulses *p, struct psr_event e, psr_err *err)
{
    psr_status st = psr_grow(&p->event, &p->event_room, p->nevent, sizeof *p->event, "pulses", err);
    e.trial = p->nfile - 1;
    if (st == PSR_OK)
        p->event[p->nevent++] = e;
    return st;
}

static psr_status write_events(const char *name, const struct psr_inf *inf,
                               const struct psr_event *event, size_t n, psr_err *err)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, name, err);
    if (st != PSR_OK)
        return st;
    st = psr_singlepulse_write(f, inf->dm, inf->tbin_s, event, n, err);
    if (st == PSR_OK)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

/* What comes after the last range of two bins and more is padding. */
static int64_t count_samples(const struct psr_inf *inf, int64_t n)
{
    for (int i = inf->nonoff - 1; i >= 0; i--)
        if (inf->onoff[i][1] > inf->onoff[i][0])
            return inf->onoff[i][1] + 1 < n ? inf->onoff[i][1] + 1 : n;
    return n;
}

static psr_status search_series(struct pulses *p, const char *root, const struct psr_inf *inf,
                                const float *x, size_t n, psr_err *err)
{
    const struct psr_singlepulse_desc desc = {
        .size = sizeof desc,
        .nseries = 1,
        .dm = &inf->dm,
        .tsamp_s = inf->tbin_s,
        .threshold = p->threshold,
        .maxwidth_s = p->maxwidth_s > 0 ? p->maxwidth_s : WIDTH * inf->tbin_s,
        .detrend = p->detrend > 1 ? (double)(p->detrend * CHUNK) : 0};
    const struct psr_event *event;
    psr_singlepulse *plan;
    psr_status st = psr_singlepulse_create(&plan, &desc, err);
    if (st == PSR_OK)
        st = psr_singlepulse_execute(plan, x, n, n, err);
    if (st == PSR_OK)
        st = psr_singlepulse_finish(plan, err);
    const size_t nevent = st ? 0 : psr_singlepulse_events(plan, 0, &event);
    char *name = presto_join(&p->tool, root, ".singlepulse");
    if (st == PSR_OK)
        st = write_events(name, inf, event, nevent, err);
    for (size_t i = 0; i < nevent && !st; i++)
        st = keep_event(p, event[i], err);
    psr_singlepulse_destroy(plan);
    free(name);
    return st;
}

/* A list of an earlier run. */
static psr_status read_events(struct pulses *p, const char *path, const char *inf_name,
                              psr_err *err)
{
    struct psr_text_lines l;
    struct psr_inf inf;
    char text[LINE_MAX_BYTES];
    bool exists = true;
    psr_status st = psr_inf_read(&inf, inf_name, err);
    if (st == PSR_OK)
        st = keep_file(p, &inf, err);
    if (st == PSR_OK)
        st = psr_text_lines_open(&l, path, PSR_TABLE_MAX_BYTES, err);
    if (st != PSR_OK)
        return st;
    while (st == PSR_OK && exists) {
        struct psr_event e = {.snr = 0};
        st = psr_text_lines_next(&l, text, sizeof text, &exists, err);
        if (st || !exists || strchr("#", text[strspn(text, " \t\n")]))
            continue;
        if (sscanf(text, "%*f %lf %*f %" SCNd64 " %d", &e.snr, &e.sample, &e.width) != 3)
            st = psr_fail(err, PSR_EFORMAT, "%s: line %ld: no single pulse", path, l.number);
        if (st == PSR_OK)
            st = keep_event(p, e, err);
    }
    psr_text_lines_close(&l);
    return st;
}

static psr_status pulses_files(void *ctx, const char *path, struct psr_overwrite_check *files,
                               psr_err *err)
{
    const struct pulses *p = ctx;
    char *root = presto_root(&p->tool, path, NULL);
    psr_status st = psr_overwrite_check_input(files, path, err);
    if (st == PSR_OK && !strcmp(path + strlen(root), ".dat"))
        st = presto_add_output(files, path, root, ".singlepulse", err);
    free(root);
    return st;
}

static psr_status pulses_part(void *ctx, const char *path, psr_err *err)
{
    struct pulses *p = ctx;
    char *root = presto_root(&p->tool, path, NULL), *name = presto_join(&p->tool, root, ".inf");
    const char *suffix = path + strlen(root), *dm = strstr(root, "_DM");
    psr_status st = PSR_OK;
    if (!p->plot_name) {
        p->plot_name = presto_join(&p->tool, root, "");
        p->plot_name[dm ? (size_t)(dm - root) : strlen(root)] = '\0';
    }
    if (!strcmp(suffix, ".singlepulse"))
        st = read_events(p, path, name, err);
    else if (!strcmp(suffix, ".dat")) {
        struct psr_inf inf;
        float *x;
        int64_t n;
        st = psr_dat_read(path, &x, &n, &inf, err);
        if (st == PSR_OK)
            st = keep_file(p, &inf, err);
        if (st == PSR_OK)
            st = search_series(p, root, &inf, x, (size_t)count_samples(&inf, n), err);
        free(x);
    } else
        cli_usage_error(&p->tool, "%s: neither .dat nor .singlepulse", path);
    free(root);
    free(name);
    return st;
}

/* In samples of the finest series. */
static psr_status draw_events(const struct pulses *p, struct plotfile *f, psr_err *err)
{
    double tsamp_s = p->tsamp_s[0];
    size_t *scale = calloc(p->nfile, sizeof *scale);
    if (!scale)
        return psr_fail_nomem(err, "a plot", (double)p->nfile * sizeof *scale);
    for (size_t i = 0; i < p->nfile; i++)
        tsamp_s = fmin(tsamp_s, p->tsamp_s[i]);
    for (size_t i = 0; i < p->nfile; i++)
        scale[i] = (size_t)llround(p->tsamp_s[i] / tsamp_s);
    psr_status st = pulseplot_draw(f,
                                   &(struct pulseplot){.title = p->plot_name,
                                                       .events = p->event,
                                                       .nevents = p->nevent,
                                                       .dm = p->dm,
                                                       .ndm = p->nfile,
                                                       .scale = scale,
                                                       .tsamp_s = tsamp_s,
                                                       .start_s = p->start_s,
                                                       .end_s = p->end_s},
                                   err);
    free(scale);
    return st;
}

/* The lists are complete without it. */
static void plot_events(const struct pulses *p)
{
    struct psr_overwrite_check files = {0};
    struct plotfile f = {0};
    psr_err why;
    char *name = presto_join(&p->tool, p->plot_name, "_singlepulse.ps");
    psr_status st = psr_overwrite_check_optional(&files, name, &why);
    if (st == PSR_OK)
        st = plotfile_open(&f, name, &why);
    if (st == PSR_OK)
        st = draw_events(p, &f, &why);
    if (st != PSR_OK)
        cli_note_left_out(&p->tool, &why);
    plotfile_abort(&f);
    psr_overwrite_check_clear(&files);
    free(name);
}

static void add_options(struct cli_table *table, struct pulses *p)
{
    const struct cli_option options[] = {
        {"Search", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"m, maxwidth", CLI_DOUBLE, &p->maxwidth_s, "SEC", 0, 1e6,
         "Longest boxcar (default: 30 samples; 300 at most)."},
        {"t, threshold", CLI_DOUBLE, &p->threshold, "S/N", 1, 1e6, "Least S/N (default 5)."},
        {"d, detrendlen", CLI_INT, &p->detrend, "N", 1, 1000,
         "Length of baselines in 1000 samples (default 1: chosen by the noise)."},
        {"g, glob", CLI_TEXT, &p->pattern, "PATTERN", 0, 0, "Files whose names match, too."},
        {"f, fast", CLI_FLAG, &p->ignored, NULL, 0, 0, "Ignored."},
        {"b, nobadblocks", CLI_FLAG, &p->ignored, NULL, 0, 0, "Ignored: no block is left out."},
        {"Plot", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"p, noplot", CLI_FLAG, &p->noplot, NULL, 0, 0, "Make no ROOT_singlepulse.ps."},
        {"x, xwin", CLI_FLAG, &p->noplot, NULL, 0, 0, "Likewise: there are no windows."},
        {"s, start", CLI_DOUBLE, &p->start_s, "SEC", 0, 1e9, "From this time (default 0)."},
        {"e, end", CLI_DOUBLE, &p->end_s, "SEC", 0, 1e9, "To this time."},
    };
    CLI_ADD(table, options);
}

int presto_singlepulse(int argc, char **argv)
{
    static const struct cli_elsewhere elsewhere[] = {{"z, gzip", "gzip compresses the lists"},
                                                     {NULL, NULL}};
    struct pulses p = {.threshold = 5, .detrend = 1};
    struct cli_table table = {.n = 0};
    glob_t found = {.gl_pathc = 0};
    add_options(&table, &p);
    p.tool = (struct cli){
        .name = "single_pulse_search.py",
        .operands = "[OPTION]... FILE.dat...|FILE.singlepulse...",
        .summary = "Search series for single pulses with boxcars: FILE.singlepulse. Plot them, or "
                   "those of lists.",
        .examples = "single_pulse_search.py obs_DM*.dat\n"
                    "single_pulse_search.py -p -m 0.01 -t 6 obs_DM12.00.dat\n"
                    "single_pulse_search.py -s 10 -e 20 obs_DM*.singlepulse\n",
        .elsewhere = elsewhere,
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(&p.tool, argc, argv);
    char **operand = argv + 1;
    if (p.pattern && n == 0 && glob(p.pattern, 0, NULL, &found) == 0) {
        n = (int)found.gl_pathc;
        operand = found.gl_pathv;
    }
    const int code =
        presto_run(&(struct presto_job){&p.tool, pulses_part, &p, pulses_files}, n, operand);
    if (code == EXIT_SUCCESS && !p.noplot && p.nfile)
        plot_events(&p);
    globfree(&found);
    free(p.plot_name);
    free(p.event);
    free(p.dm);
    free(p.tsamp_s);
    return code;
}
