/* The page of a folder, and the list for CandyJar beside it: both or neither. */
#include "page.h"

#include "tools/common/quote.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- steps --------------------------------------------------------------------------------------- */

static void put_text(struct html *h, const char *name, const char *text)
{
    html_raw(h, "<tr><td>");
    html_text(h, name);
    html_raw(h, "</td><td>");
    html_text(h, text);
    html_raw(h, "</td></tr>\n");
}

static void put_number(struct html *h, const char *name, const char *format, double value)
{
    html_raw(h, "<tr><td>");
    html_text(h, name);
    html_raw(h, "</td><td>");
    html_number(h, format, value);
    html_raw(h, "</td></tr>\n");
}

/* value: hours or degrees, as 12:34:56.789; NAN: not known */
static void put_angle(struct html *h, const char *name, const char *sign, double value, int digits)
{
    const double per_second = pow(10, digits);
    if (isnan(value)) {
        put_number(h, name, "%g", NAN);
        return;
    }
    const long long units = llround(fabs(value) * 3600 * per_second);
    const long long minutes = units / llround(60 * per_second);
    char text[64];
    snprintf(text, sizeof text, "%s%02lld:%02lld:%0*.*f", sign, minutes / 60, minutes % 60,
             digits + 3, digits, (double)(units % llround(60 * per_second)) / per_second);
    put_text(h, name, text);
}

static void page_observation(struct page *p)
{
    const struct psr_inf *i = &p->r->inf;
    struct html *h = &p->html;
    html_raw(h, "<h2>Observation</h2>\n");
    if (!p->r->has_inf) {
        html_raw(h, "<p>No .inf file says what was observed.</p>\n");
        return;
    }
    html_raw(h, "<table id=\"observation\">\n<tbody>\n");
    put_text(h, "Source", i->object);
    put_text(h, "Telescope", i->telescope);
    const bool known = i->ra_deg != 0 || i->dec_deg != 0; /* PRESTO's 0, 0 is none */
    put_angle(h, "RA, J2000", "", known ? i->ra_deg / 15 : NAN, 3);
    put_angle(h, "Dec, J2000", i->dec_deg < 0 ? "-" : "+", known ? i->dec_deg : NAN, 2);
    put_number(h, "Start (MJD)", "%.10f", (double)i->epoch.day + i->epoch.frac);
    put_number(h, "Length (s)", "%.6g", p->r->length_s);
    put_number(h, "Lowest channel (MHz)", "%.8g", i->lowest_mhz);
    put_number(h, "Bandwidth (MHz)", "%.8g", i->bandwidth_mhz);
    put_number(h, "Channels", "%.0f", (double)i->nchan);
    html_raw(h, "</tbody>\n</table>\n");
}

/* --- steps ------------------------------------------------------------------------------------ */

static void put_outputs(struct html *h, const struct json_value *outputs)
{
    double bytes = 0;
    size_t n = 0;
    const bool list = outputs && outputs->type == JSON_ARRAY;
    for (const struct json_value *v = list ? outputs->first : NULL; v; v = v->next, n++)
        bytes += isnan(json_number(v, "bytes")) ? 0 : json_number(v, "bytes");
    html_raw(h, "<td class=\"n\">");
    html_count(h, n);
    html_raw(h, ", ");
    html_size(h, bytes);
    html_raw(h, "</td>");
}

static psr_status page_steps(struct page *p, psr_err *err)
{
    const struct report *r = p->r;
    struct html *h = &p->html;
    double total_s = 0;
    psr_status st = PSR_OK;
    html_raw(h, "<h2>What was run</h2>\n");
    if (!r->nstep) {
        html_raw(h, "<p>Not known: there is no list of steps (ROOT.steps.jsonl).</p>\n");
        return PSR_OK;
    }
    for (size_t i = 0; i < r->nstep; i++) {
        const double seconds = json_number(r->step[i].json, "seconds");
        total_s += isfinite(seconds) ? seconds : 0;
    }
    html_raw(h, "<p>");
    html_number(h, "%.2f", total_s);
    html_raw(h, " s in all.</p>\n<table id=\"steps\">\n<thead><tr><th>Step</th><th>Begun (UTC)</th>"
                "<th class=\"n\">Time (s)</th><th class=\"n\">Share (%)</th><th>Command</th>"
                "<th class=\"n\">Files</th><th>Version</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < r->nstep && !st; i++) {
        const struct json_value *step = r->step[i].json;
        const double seconds = json_number(step, "seconds");
        html_raw(h, "<tr><td>");
        html_text(h, json_text(step, "step"));
        html_raw(h, "</td><td>");
        html_text(h, json_text(step, "start_utc"));
        html_raw(h, "</td>");
        html_cell(h, "%.2f", seconds);
        html_cell(h, "%.1f", total_s > 0 ? 100 * seconds / total_s : NAN);
        /* The command as a shell takes it. */
        const struct json_value *command = json_member(step, "command");
        size_t n = 0;
        const struct json_value *first =
            command && command->type == JSON_ARRAY ? command->first : NULL;
        for (const struct json_value *v = first; v; v = v->next)
            n++;
        char **word = calloc(n + 1, sizeof *word);
        size_t k = 0;
        for (const struct json_value *v = first; v && word; v = v->next)
            word[k++] =
                v->type == JSON_STRING ? (char *)(uintptr_t)v->text : (char *)(uintptr_t) "";
        char *text = word && n ? quote_command(word[0], (int)n, word) : NULL;
        st = text || !n ? PSR_OK : psr_fail_nomem(err, "a command", (double)n);
        html_raw(h, "<td><code>");
        html_text(h, text ? text : "");
        html_raw(h, "</code></td>");
        free(text);
        free((void *)word);
        put_outputs(h, json_member(step, "outputs"));
        html_raw(h, "<td>");
        html_text(h, json_text(step, "version"));
        html_raw(h, "</td></tr>\n");
    }
    page_table_end(h);
    return st;
}

static void page_problems(struct page *p)
{
    struct html *h = &p->html;
    if (p->left_out) {
        html_raw(h, "<p>");
        html_count(h, p->left_out);
        html_raw(h, " pictures are linked, not embedded: with them the page would exceed ");
        html_size(h, (double)p->r->opt->max_bytes);
        html_raw(h, " of pictures (-maxsize).</p>\n");
    }
    if (!p->r->problems.n)
        return;
    html_raw(h, "<h2>Problems</h2>\n<ul id=\"problems\" class=\"bad\">\n");
    for (size_t i = 0; i < p->r->problems.n; i++) {
        html_raw(h, "<li>");
        html_text(h, p->r->problems.name[i]);
        html_raw(h, "</li>\n");
    }
    html_raw(h, "</ul>\n");
}

/* --- the steps that were run, of ROOT.steps.jsonl ------------------------------------------ */

static psr_status take_step(void *ctx, char *text, struct json_value *object, bool *keep,
                            psr_err *err)
{
    struct report *r = ctx;
    if (!json_member(object, "step"))
        return PSR_OK; /* a step that has begun, or the summary */
    psr_status st = psr_grow(&r->step, &r->step_room, r->nstep, sizeof *r->step, "a report", err);
    if (st)
        return st;
    r->step[r->nstep++] = (struct report_step){.json = object, .line = text};
    *keep = true;
    return PSR_OK;
}

psr_status report_read_steps(struct report *r, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++)
        if (psr_path_ends(r->files.name[i], ".steps.jsonl") ||
            psr_path_ends(r->files.name[i], ".steps.json")) /* as it was called before */
            st = report_read_json(r, r->files.name[i], take_step, r, err);
    return st;
}

/* --- the first lines of a page ---------------------------------------------------------------- */

/* what was found, and which pulsars are known. */

/* What was found, in a sentence. */
static void page_summary(struct page *p)
{
    struct html *h = &p->html;
    size_t count[REPORT_NCLASS] = {0}, likely = 0;
    for (size_t i = 0; i < p->r->ncand; i++) {
        const struct report_cand *c = &p->r->cand[i];
        const enum report_class class = report_classify(c);
        count[class]++;
        likely += class == REPORT_GOOD && c->fold && c->fold->score.probability > PSR_CAND_LINE;
    }
    html_raw(h, "<p id=\"summary\">");
    html_count(h, count[REPORT_GOOD]);
    html_raw(h, " candidates without marks, ");
    html_count(h, likely);
    html_raw(h, " of them likely; ");
    html_count(h, count[REPORT_MARKED]);
    html_raw(h, " of likely interference; ");
    html_count(h, p->r->nburst);
    html_raw(h, " bursts; ");
    html_count(h, count[REPORT_KNOWN]);
    html_raw(h, " of known pulsars");
    /* Names of pulsars with the ratio of the frequency, each once. */
    const struct report *r = p->r;
    for (size_t i = 0, n = 0; i < r->ncand; i++) {
        bool told = report_classify(&r->cand[i]) != REPORT_KNOWN;
        for (size_t k = 0; k < i && !told; k++)
            told = !strcmp(r->cand[i].note, r->cand[k].note);
        if (told)
            continue;
        html_raw(&p->html, n++ ? ", " : ": ");
        html_text(&p->html, r->cand[i].note);
    }
    html_raw(h, ".</p>\n");
}

/* Of the room for pictures, the part that folds leave to others. */
enum { OTHERS = 8 };

static psr_status put_sections(struct page *p, psr_err *err)
{
    const int64_t kept = p->left_bytes / OTHERS;
    page_observation(p);
    page_summary(p);
    p->left_bytes -= kept;
    psr_status st = page_candidates(p, err);
    p->left_bytes += kept;
    if (!st)
        st = page_pulses(p, err);
    if (!st)
        st = page_interference(p, err);
    if (!st)
        st = page_pictures(p, err);
    if (!st)
        st = page_steps(p, err);
    page_problems(p);
    return st;
}

/* Addresses of the folder's files: relative if the page is in it, so that both may move. */
static char *find_base(const struct report *r, const char *output)
{
    const char *slash = strrchr(output, '/');
    char *own = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup("./");
    const bool inside = own && psr_same_file(own, r->folder);
    free(own);
    if (inside)
        return strdup("./");
    char *real = realpath(r->folder, NULL), *base = NULL;
    if (real && asprintf(&base, "%s/", real) < 0)
        base = NULL;
    free(real);
    return base;
}

/* What an earlier run has written, and no report reads. */
static bool is_written_again(const char *path, const char *const *output)
{
    const char *suffix = strrchr(path, '.');
    return (psr_same_file(path, output[0]) && suffix && !strcmp(suffix, ".html")) ||
           (psr_same_file(path, output[1]) && report_is_candyjar(path));
}

static psr_status check_names(const struct report *r, const char *const *output, psr_err *err)
{
    struct psr_overwrite_check check = {0};
    psr_status st = psr_overwrite_check_input(&check, r->opt->verdicts, err);
    for (size_t i = 0; i < r->files.n && !st; i++) {
        char *path = report_path(r, r->files.name[i]);
        const bool own =
            path && ((!r->opt->output && !strcmp(path, output[0])) ||
                     (!r->opt->csv && !strcmp(path, output[1])) || is_written_again(path, output));
        st = !path ? psr_fail_nomem(err, "names", 64)
             : own ? PSR_OK
                   : psr_overwrite_check_input(&check, path, err);
        free(path);
    }
    for (int k = 0; k < 2 && !st; k++)
        st = psr_overwrite_check_output(&check, output[k], NULL, err);
    psr_overwrite_check_clear(&check);
    return st;
}

static psr_status write_both(struct report *r, const char *const *output, psr_err *err)
{
    psr_outfile *page = NULL, *csv = NULL;
    char *base = find_base(r, output[0]);
    psr_status st = base ? psr_outfile_create(&page, output[0], err)
                         : psr_fail_nomem(err, r->folder, (double)strlen(r->folder));
    if (!st)
        st = psr_outfile_create(&csv, output[1], err);
    if (!st) {
        struct page p = {
            .html = {.f = page, .err = err}, .r = r, .base = base, .left_bytes = r->opt->max_bytes};
        char title[2 * PSR_TEXT_MAX + 256];
        /* The last part of the folder's path, whatever it is given as. */
        const size_t room = sizeof title;
        char *path = realpath(r->folder, NULL);
        const char *slash = path ? strrchr(path, '/') : NULL;
        const char *name = slash && slash[1] ? slash + 1 : r->folder;
        if (r->opt->title)
            snprintf(title, room, "%s", r->opt->title);
        else if (r->has_inf)
            snprintf(title, room, "%s: %s", r->inf.object, name);
        else
            snprintf(title, room, "%s", name);
        free(path);
        page_begin(&p.html, title);
        st = put_sections(&p, err);
        page_end(&p.html);
        if (!st && p.left_out && !r->opt->quiet)
            fprintf(stderr, "%s: %zu pictures are linked, not embedded (-maxsize)\n", r->tool->name,
                    p.left_out);
        st = st ? st : p.html.status;
    }
    if (!st)
        st = report_begin_candyjar(csv, err);
    if (!st)
        st = report_write_candyjar(csv, r, err);
    if (st) {
        psr_outfile_abort(page);
        psr_outfile_abort(csv);
    } else {
        st = psr_outfile_commit(csv, err);
        if (st)
            psr_outfile_abort(page);
        else
            st = psr_outfile_commit(page, err);
    }
    free(base);
    return st;
}

psr_status report_write(struct report *r, psr_err *err)
{
    char *page = report_path(r, "report.html"), *csv = report_path(r, "candidates.csv");
    const char *const output[2] = {r->opt->output ? r->opt->output : page,
                                   r->opt->csv ? r->opt->csv : csv};
    psr_status st = page && csv ? check_names(r, output, err)
                                : psr_fail_nomem(err, r->folder, (double)strlen(r->folder));
    if (!st)
        st = write_both(r, output, err);
    free(page);
    free(csv);
    return st;
}
