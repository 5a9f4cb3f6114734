/* The candidates of a sifted list, in any of accelsift's formats. */
#include "psrreport.h"

#include <math.h>
#include <psrkit/experimental/sift.h>
#include <psrkit/obs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- sifts the lists of searches of a folder that has no sifted list -------------------------- */

static void refuse(void *ctx, const char *path, const psr_err *why)
{
    (void)path;
    report_refuse(ctx, why);
}

static psr_status name_lists(const struct report *r, struct psr_names *lists, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++) {
        if (!report_is_search_list(r->files.name[i]))
            continue;
        char *path = report_path(r, r->files.name[i]);
        st = path ? psr_names_add(lists, path, err)
                  : psr_fail_nomem(err, r->files.name[i], (double)strlen(r->files.name[i]));
        free(path);
    }
    return st;
}

static psr_status take(struct report *r, const struct psr_sift_cand *from, psr_err *err)
{
    struct report_cand c = {
        .value = {[CAND_NUMBER] = (double)from->number,
                  [CAND_DM] = from->dm,
                  [CAND_SNR] = from->snr,
                  [CAND_SIGMA] = from->sigma,
                  [CAND_NUMHARM] = from->nharm,
                  [CAND_PERIOD_S] = from->period_s,
                  [CAND_FREQ_HZ] = from->freq_hz,
                  [CAND_R] = from->r,
                  [CAND_Z] = from->z,
                  [CAND_TOBS_S] = from->tobs_s,
                  [CAND_ACCEL_MS2] = from->z * PSR_LIGHT_M_S / (from->tobs_s * from->r),
                  [CAND_NUMHITS] = (double)from->nhit}};
    static const char *const searches[] = {"", "fourier", "ffa", "fourier+ffa"};
    psr_sift_name_marks(c.marks, from->marks);
    snprintf(c.found, sizeof c.found, "%s",
             searches[from->found & (PSR_SIFT_BY_FOURIER | PSR_SIFT_BY_FFA)]);
    return report_add_candidate(r, &c, from->file, "", err);
}

/* What the mask's tool has found; a list that is wrong is refused. */
static psr_status read_lines(struct report *r, struct psr_zaplist *lines, psr_err *err)
{
    psr_err why;
    for (size_t i = 0; i < r->files.n; i++) {
        if (!psr_path_ends(r->files.name[i], "_rfifind.zaplist"))
            continue;
        char *path = report_path(r, r->files.name[i]);
        if (!path)
            return psr_fail_nomem(err, r->files.name[i], (double)strlen(r->files.name[i]));
        if (psr_zaplist_read(lines, path, &why))
            report_refuse(r, &why);
        free(path);
        break;
    }
    return PSR_OK;
}

/* Sifts the folder's lists of searches, with accelsift's defaults, where no list of
 * accelsift is there.
 * Status: PSR_ENOMEM */
static psr_status report_sift(struct report *r, psr_err *err)
{
    struct psr_sift_desc desc;
    struct psr_names lists = {0};
    struct psr_zaplist lines = {0};
    struct psr_sift_result result;
    psr_sift *s = NULL;
    psr_sift_defaults(&desc);
    desc.refuse = refuse;
    desc.ctx = r;
    desc.lines = &lines;
    psr_status st = name_lists(r, &lists, err);
    if (!st)
        st = read_lines(r, &lines, err);
    if (!st)
        st = psr_sift_create(&s, &desc, err);
    if (!st)
        st = psr_sift_read(s, (const char *const *)lists.name, lists.n, err);
    if (!st)
        st = psr_sift_execute(s, &result, err);
    for (size_t i = 0; !st && i < result.ncand; i++)
        st = take(r, &result.cand[i], err);
    psr_sift_destroy(s);
    psr_names_clear(&lists);
    psr_zaplist_clear(&lines);
    return st;
}

/* accelsift's names, in -csv and -json. */
static const char *const names[CAND_NVALUE] = {
    [CAND_NUMBER] = "cand",
    [CAND_DM] = "dm",
    [CAND_SNR] = "snr",
    [CAND_SIGMA] = "sigma",
    [CAND_NUMHARM] = "numharm",
    [CAND_PERIOD_S] = "period_s",
    [CAND_FREQ_HZ] = "freq_hz",
    [CAND_R] = "r",
    [CAND_Z] = "z",
    [CAND_TOBS_S] = "tobs_s",
    [CAND_ACCEL_MS2] = "accel_ms2",
    [CAND_NUMHITS] = "numhits",
};

enum list_kind { LIST_NONE, LIST_JSON, LIST_CSV, LIST_TEXT };

struct list_reader {
    struct report *r;
    size_t column[CAND_NVALUE], file, note, marks, found, ncolumn; /* of comma-separated values */
};

/* --- text ------------------------------------------------------------------------------------- */

/* The list has the length of the series only as r P. */
static void complete_text(double *v)
{
    v[CAND_PERIOD_S] *= 1e-3;
    v[CAND_FREQ_HZ] = 1 / v[CAND_PERIOD_S];
    v[CAND_TOBS_S] = v[CAND_R] * v[CAND_PERIOD_S];
    v[CAND_ACCEL_MS2] = v[CAND_Z] * PSR_LIGHT_M_S / (v[CAND_TOBS_S] * v[CAND_R]);
}

static void set_marks(struct report_cand *c, const char *marks)
{
    snprintf(c->marks, sizeof c->marks, "%s", marks);
}

static void set_found(struct report_cand *c, const char *found)
{
    snprintf(c->found, sizeof c->found, "%s", found);
}

enum { NOTE_BYTES = 128 };

/* What follows the hits: "= NOTE", "by SEARCHES", "! MARKS". */
static void take_rest(struct report_cand *c, char note[NOTE_BYTES], const struct report_line *line,
                      size_t first)
{
    char of = '\0';
    note[0] = '\0';
    for (size_t k = first; k < line->n; k++) {
        const char *word = line->word[k];
        if (!strcmp(word, "=") || !strcmp(word, "by") || !strcmp(word, "!"))
            of = *word;
        else if (of == '=')
            snprintf(note + strlen(note), NOTE_BYTES - strlen(note), "%s%s", *note ? " " : "",
                     word);
        else if (of == 'b')
            set_found(c, word);
        else if (of == '!')
            set_marks(c, word);
    }
}

static psr_status take_text(void *ctx, struct report_line *line, psr_err *err)
{
    static const int order[] = {CAND_DM, CAND_SNR,      CAND_SIGMA, CAND_NUMHARM, -1,
                                -1,      CAND_PERIOD_S, CAND_R,     CAND_Z};
    enum { NORDER = sizeof order / sizeof *order, HITS = NORDER + 1 };
    const struct list_reader *l = ctx;
    struct report_cand c = {.list = NULL};
    char *colon = strrchr(line->word[0], ':');
    psr_status st = PSR_OK;
    if (*line->word[0] == '#' || line->indented)
        return PSR_OK;
    if (!colon)
        return psr_fail(err, PSR_EFORMAT, "%.300s: line %ld: '%.64s' is no file and number",
                        line->name, line->number, line->word[0]);
    for (int i = 0; i < NORDER && !st; i++)
        if (order[i] >= 0)
            st = report_number(line, (size_t)i + 1, names[order[i]], &c.value[order[i]], err);
    *colon = '\0';
    psr_sift_unescape(line->word[0]);
    c.value[CAND_NUMBER] = strtod(colon + 1, NULL);
    c.value[CAND_NUMHITS] = line->n > HITS ? strtod(line->word[HITS] + 1, NULL) : NAN;
    complete_text(c.value);
    char note[NOTE_BYTES];
    take_rest(&c, note, line, HITS + 1);
    return st ? st : report_add_candidate(l->r, &c, line->word[0], note, err);
}

/* --- comma-separated values ------------------------------------------------------------------- */

static size_t find_column(const struct report_line *line, const char *name)
{
    size_t i = 0;
    while (i < line->n && strcmp(line->word[i], name) != 0)
        i++;
    return i;
}

static psr_status take_csv(void *ctx, struct report_line *line, psr_err *err)
{
    struct list_reader *l = ctx;
    struct report_cand c = {.list = NULL};
    if (l->ncolumn == 0) {
        l->ncolumn = line->n;
        for (int k = 0; k < CAND_NVALUE; k++)
            l->column[k] = find_column(line, names[k]);
        l->file = find_column(line, "file");
        l->note = find_column(line, "note");
        l->marks = find_column(line, "marks");
        l->found = find_column(line, "found");
        return PSR_OK;
    }
    if (line->n != l->ncolumn)
        return psr_fail(err, PSR_EFORMAT, "%.300s: line %ld: %zu fields of %zu", line->name,
                        line->number, line->n, l->ncolumn);
    psr_status st = PSR_OK;
    for (int k = 0; k < CAND_NVALUE && !st; k++)
        st = report_number(line, l->column[k], names[k], &c.value[k], err);
    set_marks(&c, l->marks < line->n ? line->word[l->marks] : "");
    set_found(&c, l->found < line->n ? line->word[l->found] : "");
    return st ? st
              : report_add_candidate(l->r, &c, l->file < line->n ? line->word[l->file] : "",
                                     l->note < line->n ? line->word[l->note] : "", err);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static psr_status take_json(void *ctx, char *text, struct json_value *object, bool *keep,
                            psr_err *err)
{
    const struct list_reader *l = ctx;
    struct report_cand c = {.list = NULL};
    (void)text;
    (void)keep;
    for (int k = 0; k < CAND_NVALUE; k++)
        c.value[k] = json_number(object, names[k]);
    set_marks(&c, json_text(object, "marks"));
    set_found(&c, json_text(object, "found"));
    return report_add_candidate(l->r, &c, json_text(object, "file"), json_text(object, "note"),
                                err);
}

/* --- which -------------------------------------------------------------------------------------- */

/* By how a file begins. */
static enum list_kind recognise(const struct report *r, const char *name)
{
    char start[512] = "", *path = report_path(r, name);
    FILE *f = path ? fopen(path, "re") : NULL;
    if (f)
        start[fread(start, 1, sizeof start - 1, f)] = '\0';
    if (f)
        fclose(f);
    free(path);
    const char *line_end = strchr(start, '\n');
    if (!strncmp(start, "file,cand,dm,snr,sigma,", 23))
        return LIST_CSV;
    if (!strncmp(start, "{\"file\": ", 9) && strstr(start, "\"numhits\": "))
        return LIST_JSON;
    const char *title = strstr(start, "file:candnum");
    return *start == '#' && title && (!line_end || title < line_end) ? LIST_TEXT : LIST_NONE;
}

/* Names that a list may have; others are not opened, since there may be many. */
static bool may_be_list(const char *name)
{
    static const char *const suffixes[] = {".json", ".jsonl", ".csv",  ".txt",
                                           ".sift", ".cands", ".list", ".accelsift"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (psr_path_ends(name, suffixes[i]))
            return true;
    return false;
}

static enum list_kind choose_list(struct report *r)
{
    enum list_kind kind = LIST_NONE;
    for (size_t i = 0; i < r->files.n; i++) {
        const char *name = r->files.name[i];
        const enum list_kind is = may_be_list(name) ? recognise(r, name) : LIST_NONE;
        r->nlist += report_is_search_list(name);
        if (is != LIST_NONE && (kind == LIST_NONE || is < kind)) {
            kind = is;
            r->list = name;
        }
    }
    return kind;
}

psr_status report_read_candidates(struct report *r, psr_err *err)
{
    struct list_reader l = {.r = r};
    switch (choose_list(r)) {
    case LIST_JSON:
        return report_read_json(r, r->list, take_json, &l, err);
    case LIST_CSV:
        return report_read_lines(r, r->list, true, take_csv, &l, err);
    case LIST_TEXT:
        return report_read_lines(r, r->list, false, take_text, &l, err);
    case LIST_NONE:
        return r->nlist ? report_sift(r, err) : PSR_OK;
    }
    return PSR_OK;
}
