/* The page of a folder, and the list for CandyJar beside it: both or neither. */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
