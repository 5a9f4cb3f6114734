/* One page over folders: a row each, with what it found and what went wrong. */
#include "page.h"

#include "base/portable.h"
#include "tools/common/cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct page_column columns[] = {
    {"Best fold", PAGE_TEXT},  {"Folder", PAGE_TEXT},     {"Source", PAGE_TEXT},
    {"Start (MJD)", PAGE_UP},  {"Length (s)", PAGE_UP},   {"Time (s)", PAGE_DOWN},
    {"Candidates", PAGE_DOWN}, {"Best sigma", PAGE_DOWN}, {"Fold sigma", PAGE_DOWN},
    {"Period (s)", PAGE_UP},   {PAGE_DM, PAGE_UP},        {"Beams", PAGE_UP},
    {"Known", PAGE_TEXT},      {"Bursts", PAGE_DOWN},     {"Best burst S/N", PAGE_DOWN},
    {"State", PAGE_TEXT},
};
enum { NCOLUMN = sizeof columns / sizeof *columns, LOG_BYTES = 4096 };

struct overview {
    struct page page; /* of the folder at hand */
    const struct cli *tool;
    const struct psrreport_options *opt;
    psr_outfile *csv; /* of all candidates that were folded; NULL: not asked for */
    const struct report_beams *beams;
    size_t ngood, nbad, marked[2];
    int code;
};

/* The .log that was written last, of equals the last by name; NULL: none. */
static const char *find_log(const struct report *r)
{
    const char *found = NULL;
    struct timespec last = {0};
    for (size_t i = 0; i < r->files.n; i++) {
        struct stat is;
        char *path =
            psr_path_ends(r->files.name[i], ".log") ? report_path(r, r->files.name[i]) : NULL;
        const bool exists = path && stat(path, &is) == 0;
        free(path);
        if (!exists || is.st_mtim.tv_sec < last.tv_sec ||
            (is.st_mtim.tv_sec == last.tv_sec && is.st_mtim.tv_nsec < last.tv_nsec))
            continue;
        last = is.st_mtim;
        found = r->files.name[i];
    }
    return found;
}

/* Its last line, which says why a search ended. */
static void read_reason(const struct report *r, char reason[LOG_BYTES])
{
    const char *name = find_log(r);
    reason[0] = '\0';
    char *path = name ? report_path(r, name) : NULL;
    FILE *f = path ? fopen(path, "re") : NULL;
    if (f) {
        if (fseek(f, 1 - LOG_BYTES, SEEK_END) != 0)
            rewind(f);
        size_t n = fread(reason, 1, LOG_BYTES - 1, f);
        while (n && (reason[n - 1] == '\n' || reason[n - 1] == '\r'))
            n--;
        reason[n] = '\0';
        const char *line = strrchr(reason, '\n');
        if (line)
            memmove(reason, line + 1, strlen(line));
        fclose(f);
    }
    free(path);
}

static void put_state(struct overview *o, const struct report *r, const psr_err *failure)
{
    struct html *h = &o->page.html;
    char reason[LOG_BYTES];
    const bool good = !failure && psr_names_find(&r->files, "report.html") && !r->problems.n;
    o->ngood += good;
    o->nbad += !good;
    html_raw(h, good ? "<td>" : "<td class=\"bad\">");
    if (good) {
        html_raw(h, "complete");
    } else if (failure) {
        html_text(h, failure->msg);
    } else if (r->problems.n) {
        html_text(h, r->problems.name[0]);
    } else {
        read_reason(r, reason);
        html_raw(h, "no report");
        html_raw(h, *reason ? ": " : "");
        html_text(h, reason);
    }
    html_raw(h, "</td></tr>\n");
}

/* The picture of the best candidate that has one: small, until it is clicked. */
static psr_status put_picture(struct overview *o, struct report *r, psr_err *err)
{
    const struct report_fold *fold = NULL;
    char *base = NULL;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->ncand && !fold; i++)
        fold = r->cand[i].fold && r->cand[i].fold->picture ? r->cand[i].fold : NULL;
    if (fold && asprintf(&base, "%s%s/", *r->folder == '/' ? "" : "./", r->folder) < 0)
        return psr_fail_nomem(err, r->folder, (double)strlen(r->folder));
    html_raw(&o->page.html, "<td>");
    o->page.r = r;
    o->page.base = base;
    if (fold)
        st = page_file_picture(&o->page, fold->picture, fold->best.candidate, err);
    html_raw(&o->page.html, "</td>");
    free(base);
    return st;
}

static void put_folder(struct html *h, const struct report *r)
{
    html_raw(h, "<td>");
    if (psr_names_find(&r->files, "report.html")) {
        char *real = *r->folder == '/' ? strdup("") : strdup("./");
        html_raw(h, "<a href=\"");
        html_href(h, real ? real : "", r->folder);
        html_raw(h, "/report.html\">");
        html_text(h, r->folder);
        html_raw(h, "</a>");
        free(real);
    } else {
        html_text(h, r->folder);
    }
    html_raw(h, "</td><td>");
    html_text(h, r->has_inf ? r->inf.object : "");
    html_raw(h, "</td>");
}

/* Outputs that were named are none of the files that it is made from. */
static psr_status check_output(const struct report *r, psr_err *err)
{
    psr_status st = PSR_OK;
    const char *const output[] = {r->opt->output, r->opt->csv};
    for (size_t i = 0; i < 2 * r->files.n && !st; i++) {
        const char *to = output[i % 2];
        char *path = to ? report_path(r, r->files.name[i / 2]) : NULL;
        if (path && psr_same_file(path, to))
            st = psr_fail(err, PSR_EIO, "%s would be written over %s, which is read", to, path);
        free(path);
    }
    return st;
}

/* "3 of 13"; nothing where there are no other beams. */
static void put_beams(struct html *h, const struct report_cand *best)
{
    const bool known = best && best->nbeam > 1;
    html_raw(h, "<td class=\"n\"");
    if (known) {
        html_raw(h, " data-v=\"");
        html_number(h, "%.6g", (double)best->nseen / (double)best->nbeam);
        html_raw(h, "\"");
    }
    html_raw(h, ">");
    if (known) {
        html_count(h, best->nseen);
        html_raw(h, " of ");
        html_count(h, best->nbeam);
    }
    html_raw(h, "</td>");
}

/* The brightest one without marks, if there is one. */
static double best_burst_snr(const struct report *r)
{
    size_t i = 0;
    while (i < r->nburst && psr_sift_marks_count(r->burst[i].marks))
        i++;
    return r->nburst ? r->burst[i < r->nburst ? i : 0].snr : NAN;
}

/* Given: failure   NULL: the folder was read */
static psr_status put_row(struct overview *o, struct report *r, const psr_err *failure,
                          psr_err *err)
{
    struct html *h = &o->page.html;
    const struct report_cand *best = r->ncand ? &r->cand[0] : NULL;
    double seconds = 0;
    for (size_t i = 0; i < r->nstep; i++) {
        const double s = json_number(r->step[i].json, "seconds");
        seconds += isfinite(s) ? s : 0;
    }
    html_raw(h, "<tr data-c=\"");
    html_text(h, r->folder);
    html_raw(h, "\">");
    const psr_status st = put_picture(o, r, err);
    put_folder(h, r);
    html_cell(h, "%.5f", r->has_inf ? (double)r->inf.epoch.day + r->inf.epoch.frac : NAN);
    html_cell(h, "%.6g", r->has_inf ? r->length_s : NAN);
    html_cell(h, "%.1f", r->nstep ? seconds : NAN);
    html_cell(h, "%.0f", r->list || r->nlist ? (double)r->ncand : NAN);
    html_cell(h, "%.1f", best ? best->value[CAND_SIGMA] : NAN);
    html_cell(h, "%.1f", best && best->fold ? best->fold->best.sigma : NAN);
    html_cell(h, "%.8g", best ? best->value[CAND_PERIOD_S] : NAN);
    html_cell(h, "%.2f", best ? best->value[CAND_DM] : NAN);
    put_beams(h, best);
    html_raw(h, "<td>");
    html_text(h, best ? best->note : "");
    html_raw(h, "</td>");
    html_cell(h, "%.0f", r->burst_file ? (double)r->nburst : NAN);
    html_cell(h, "%.2f", best_burst_snr(r));
    put_state(o, r, failure);
    return st;
}

/* A folder that cannot be read is a row too. */
static psr_status put_one(struct overview *o, const char *folder, size_t number, psr_err *err)
{
    static psr_status (*const parts[])(struct report *, psr_err *) = {
        report_read_folder, report_read_steps,  report_read_candidates,
        report_read_folds,  report_read_bursts,
    };
    struct report *r = calloc(1, sizeof *r);
    psr_err why;
    psr_status st = PSR_OK;
    if (!r)
        return psr_fail_nomem(err, folder, sizeof *r);
    r->tool = o->tool;
    r->opt = o->opt;
    r->folder = folder;
    r->is_row = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !st; i++)
        st = parts[i](r, &why);
    if (!st) {
        report_beams_mark(o->beams, number, r, o->marked);
        st = report_join_folds(r, &why);
    }
    if (st && st != PSR_ENOMEM)
        report_refuse(r, &why);
    psr_status over = check_output(r, err);
    if (!over && !st && o->csv)
        over = report_write_candyjar(o->csv, r, err);
    if (st == PSR_ENOMEM)
        *err = why;
    else if (!over)
        over = put_row(o, r, st ? &why : NULL, err);
    o->code = cli_worse(o->code, r->code);
    report_clear(r);
    free(r);
    if (over)
        return over;
    return st == PSR_ENOMEM ? st : o->page.html.status;
}

static psr_status put_rows(struct overview *o, char *const *folder, size_t n, psr_err *err)
{
    struct report_beams *beams;
    struct run_progress bar;
    const struct report like = {.tool = o->tool, .opt = o->opt};
    run_progress_start(&bar, run_progress_mode(o->opt->quiet, false), (int64_t)n, "folders", 1);
    psr_status st = report_beams_read(&beams, &like, folder, n, err);
    o->beams = beams;
    for (size_t i = 0; i < n && !st && !run_stop_signal(); i++) {
        st = put_one(o, folder[i], i, err);
        run_progress_update(&bar, (int64_t)i + 1);
    }
    run_progress_end(&bar);
    report_beams_destroy(beams);
    return st;
}

static void put_totals(struct overview *o)
{
    struct html *h = &o->page.html;
    html_raw(h, "<p>");
    html_count(h, o->ngood);
    html_raw(h, " folders are complete, ");
    html_count(h, o->nbad);
    html_raw(h, " are not.</p>\n");
    if (!o->marked[0] && !o->marked[1])
        return;
    html_raw(h, "<p>");
    html_count(h, o->marked[0]);
    html_raw(h, " candidates and ");
    html_count(h, o->marked[1]);
    html_raw(h, " bursts are seen in more than half of the beams of a pointing at the same "
                "frequency or time; they have the "
                "mark beams, and come after the others.</p>\n");
}

psr_status report_overview(const struct cli *tool, const struct psrreport_options *opt,
                           char *const *folder, size_t n, int *code, psr_err *err)
{
    struct overview o = {
        .page = {.html = {.err = err}, .left_bytes = opt->max_bytes}, .tool = tool, .opt = opt};
    const char *page = opt->output ? opt->output : "report.html";
    if (opt->csv && !strcmp(page, opt->csv))
        return psr_fail(err, PSR_EIO, "%s would be the page and the list of candidates", page);
    psr_status st = psr_outfile_create(&o.page.html.f, page, err);
    if (!st && opt->csv)
        st = psr_outfile_create(&o.csv, opt->csv, err);
    if (!st && o.csv)
        st = report_begin_candyjar(o.csv, err);
    if (!st) {
        /* Those of -list follow the others. */
        struct html *h = &o.page.html;
        struct psr_names all = {0};
        for (size_t i = 0; i < n && !st; i++)
            st = psr_names_add(&all, folder[i], err);
        if (!st && o.opt->list)
            st = psr_names_read(&all, o.opt->list, err);
        page_begin(h, o.opt->title ? o.opt->title : "Searches");
        page_filter_folders(h);
        page_table(h, "folders", columns, NCOLUMN);
        if (!st)
            st = put_rows(&o, all.name, all.n, err);
        psr_names_clear(&all);
        page_table_end(h);
        put_totals(&o);
        if (o.page.left_out && !opt->quiet)
            fprintf(stderr, "%s: %zu pictures are linked, not embedded (-maxsize)\n", tool->name,
                    o.page.left_out);
        page_end(h);
        st = st ? st : h->status;
    }
    *code = o.code;
    if (!st && !run_stop_signal() && o.csv) {
        st = psr_outfile_commit(o.csv, err);
        o.csv = NULL;
    }
    if (!st && !run_stop_signal())
        return psr_outfile_commit(o.page.html.f, err);
    psr_outfile_abort(o.csv);
    psr_outfile_abort(o.page.html.f);
    return st;
}
