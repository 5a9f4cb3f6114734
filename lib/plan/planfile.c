/* Reads and writes dedispersion plans as text, and files of numbers. */
#include "base/base.h"

#include "base/input/readfd.h"
#include "base/output/outfile_internal.h"
#include "ddplan_internal.h"
#include <psrkit/ddplan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- files of numbers ------------------------------------------------------------------------- */

enum { WORD_BYTES = 63, FILE_BYTES = 1 << 24 };

psr_status psr_numbers_read(const char *path, double **x, size_t *n, psr_err *err)
{
    static const char blanks[] = " \t\r\n";
    char *text, *rest;
    size_t bytes, room = 0;
    *x = NULL;
    *n = 0;
    psr_status st = psr_read_file(path, FILE_BYTES, &text, &bytes, err);
    if (!st && memchr(text, 0, bytes))
        st = psr_fail(err, PSR_EFORMAT, "%s: a byte 0: this is no text", path);
    for (char *word = st ? NULL : strtok_r(text, blanks, &rest); word && !st;
         word = strtok_r(NULL, blanks, &rest)) {
        st = psr_grow(x, &room, *n, sizeof **x, "numbers", err);
        if (!st && strlen(word) >= WORD_BYTES)
            st =
                psr_fail(err, PSR_EFORMAT, "%s: '%.63s...' is longer than numbers are", path, word);
        if (!st)
            st = psr_parse_double(path, word, -1e30, 1e30, *x + *n, err);
        *n += !st;
    }
    if (!st && *n == 0)
        st = psr_fail(err, PSR_EFORMAT, "%s: no numbers in it", path);
    free(text);
    if (st) {
        free(*x);
        *x = NULL;
    }
    return st;
}

/* One column of a row of trials. */
struct column {
    const char *name;
    double min, max, absent; /* absent: what a missing column means; below min: it must be there */
    bool whole;
};

static const struct column columns[] = {
    {"lodm", 0, 1e6, -1, false},   {"dmstep", 1e-9, 1e6, 0, false},
    {"ndms", 1, 1 << 24, 0, true}, {"downsamp", 1, 1 << 20, 1, true},
    {"nsub", 0, 1 << 20, 0, true},
};

/* The columns of the table that DDplan.py prints, without and with sub-bands: where each of ours
 * is, or -1. */
enum { NCOLUMN = sizeof columns / sizeof *columns, MAX_WORDS = 16 };
static const int own_order[NCOLUMN] = {0, 1, 2, 3, 4};
static const int ddplan_order[NCOLUMN] = {0, 2, 4, 3, -1};
static const int ddplan_sub_order[NCOLUMN] = {0, 2, 5, 3, -1};

struct parser {
    const char *name;
    int number;         /* of the line */
    const int *order;   /* one of the above; NULL between the tables of a DDplan.py text */
    bool ddplan_output; /* DDplan.py's text */
};

static psr_status parse_column(const struct parser *p, const struct column *c, const char *word,
                               double *value, psr_err *err)
{
    char what[64];
    int64_t whole = 0;
    psr_err why;
    psr_status st;
    snprintf(what, sizeof what, "%s", c->name);
    if (c->whole) {
        st = psr_parse_int(what, word, (int64_t)c->min, (int64_t)c->max, &whole, &why);
        *value = (double)whole;
    } else {
        st = psr_parse_double(what, word, c->min, c->max, value, &why);
    }
    if (st != PSR_OK)
        return psr_fail_field(err, PSR_EFORMAT, why.field, "%s: line %d: %s", p->name, p->number,
                              why.msg);
    return PSR_OK;
}

static int split_words(char *text, char *word[MAX_WORDS])
{
    int n = 0;
    char *rest = NULL;
    for (char *w = strtok_r(text, " \t\r", &rest); w; w = strtok_r(NULL, " \t\r", &rest)) {
        if (n < MAX_WORDS)
            word[n] = w;
        n++;
    }
    return n;
}

static psr_status parse_row(struct psr_planfile *plan, const struct parser *p, char *text,
                            psr_err *err)
{
    char *word[MAX_WORDS];
    double value[NCOLUMN];
    int nword = split_words(text, word);
    if (nword == 0)
        return PSR_OK;
    if (nword > (p->ddplan_output ? MAX_WORDS : NCOLUMN))
        return psr_fail(err, PSR_EFORMAT, "%s: line %d: %d columns; at most %d are known", p->name,
                        p->number, nword, NCOLUMN);
    for (int i = 0; i < NCOLUMN; i++) {
        const struct column *c = &columns[i];
        value[i] = c->absent;
        if (p->order[i] >= 0 && p->order[i] < nword) {
            psr_status st = parse_column(p, c, word[p->order[i]], &value[i], err);
            if (st != PSR_OK)
                return st;
        } else if (c->absent < c->min) {
            return psr_fail_field(err, PSR_EFORMAT, c->name, "%s: line %d: %s is missing", p->name,
                                  p->number, c->name);
        }
    }
    if (plan->nline == PSR_PLANFILE_MAX_LINES)
        return psr_fail(err, PSR_EFORMAT, "%s: line %d: more than %d lines of trials", p->name,
                        p->number, PSR_PLANFILE_MAX_LINES);
    psr_status st = psr_resize(&plan->line, plan->nline + 1, sizeof *plan->line, "a plan", err);
    if (st)
        return st;
    plan->line[plan->nline++] = (struct psr_plan_line){.lodm = value[0],
                                                       .dmstep = value[1],
                                                       .ndm = (int64_t)value[2],
                                                       .downsamp = (int64_t)value[3],
                                                       .nsub = (int64_t)value[4]};
    return PSR_OK;
}

/* "# band KEY=VALUE ..." */
static psr_status parse_band(struct psr_planfile *plan, const struct parser *p, char *text,
                             psr_err *err)
{
    double nchan = 0;
    struct psr_band *b = &plan->band;
    const struct {
        struct column column;
        double *value;
    } fields[] = {
        {{"tsamp_s", 0, 1e6, 0, false}, &b->tsamp_s},
        {{"nchan", 1, 1 << 20, 0, true}, &nchan},
        {{"fctr_mhz", 0, 1e7, 0, false}, &b->fctr_mhz},
        {{"bw_mhz", 0, 1e7, 0, false}, &b->bw_mhz},
    };
    char *word[MAX_WORDS];
    int nword = split_words(text, word);
    memset(b, 0, sizeof *b);
    for (int w = 1; w < nword && w < MAX_WORDS; w++) {
        size_t n = strcspn(word[w], "=");
        for (size_t i = 0; word[w][n] && i < sizeof fields / sizeof *fields; i++) {
            const struct column *c = &fields[i].column;
            if (strlen(c->name) != n || strncmp(c->name, word[w], n))
                continue;
            psr_status st = parse_column(p, c, word[w] + n + 1, fields[i].value, err);
            if (st != PSR_OK)
                return st;
        }
    }
    b->nchan = (int64_t)nchan;
    psr_err why;
    if (psr_band_check(b, &why) != PSR_OK)
        return psr_fail_field(err, PSR_EFORMAT, why.field, "%s: line %d: band: %s", p->name,
                              p->number, why.msg);
    plan->has_band = true;
    return PSR_OK;
}

/* Finds where DDplan.py's table begins and ends; the text around it is ignored. */
static bool follow_ddplan_table(struct parser *p, const char *text)
{
    text += strspn(text, " \t\r");
    if (!strncmp(text, "Low DM", 6)) {
        p->order = strstr(text, "dsubDM") ? ddplan_sub_order : ddplan_order;
        return false;
    }
    if (!*text)
        p->order = NULL;
    return p->order != NULL;
}

static psr_status parse_line(struct psr_planfile *plan, struct parser *p, char *text, psr_err *err)
{
    if (p->ddplan_output)
        return follow_ddplan_table(p, text) ? parse_row(plan, p, text, err) : PSR_OK;
    char *comment = strchr(text, '#');
    if (comment) {
        *comment++ = 0;
        comment += strspn(comment, " \t");
        if (!strncmp(comment, "band ", 5)) {
            psr_status st = parse_band(plan, p, comment, err);
            if (st != PSR_OK)
                return st;
        }
    }
    return parse_row(plan, p, text, err);
}

static bool is_ddplan_output(const char *text)
{
    const char *head = strstr(text, "  Low DM    High DM ");
    return head && (head == text || head[-1] == '\n');
}

psr_status psr_planfile_parse(struct psr_planfile *plan, const char *text, const char *name,
                              psr_err *err)
{
    struct parser p = {.name = name, .order = own_order, .ddplan_output = is_ddplan_output(text)};
    psr_status st = PSR_OK;
    memset(plan, 0, sizeof *plan);
    if (p.ddplan_output)
        p.order = NULL;
    char *copy = strdup(text);
    if (!copy)
        return psr_fail_nomem(err, "a plan", (double)strlen(text));
    for (char *line = copy, *next; line && st == PSR_OK; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        p.number++;
        st = parse_line(plan, &p, line, err);
    }
    free(copy);
    if (st == PSR_OK && plan->nline == 0)
        st = psr_fail(err, PSR_EFORMAT, "%s: no line of trials in it", name);
    if (st != PSR_OK)
        psr_planfile_clear(plan);
    return st;
}

psr_status psr_planfile_read(struct psr_planfile *plan, const char *path, psr_err *err)
{
    char *text;
    size_t n;
    const char *name = psr_path_called(path);
    memset(plan, 0, sizeof *plan);
    psr_status st = psr_read_file(path, PSR_PLANFILE_MAX_BYTES, &text, &n, err);
    if (!st && memchr(text, 0, n))
        st = psr_fail(err, PSR_EFORMAT, "%s: not a plan: it is binary", name);
    if (!st)
        st = psr_planfile_parse(plan, text, name, err);
    free(text);
    return st;
}

psr_status psr_planfile_write(psr_outfile *f, const struct psr_planfile *plan, const char *remark,
                              psr_err *err)
{
    const struct psr_band *b = &plan->band;
    while (remark && *remark) {
        const int n = (int)strcspn(remark, "\n");
        psr_outfile_put(f, "# %.*s\n", n, remark);
        remark += n + (remark[n] == '\n');
    }
    if (plan->has_band)
        psr_outfile_put(f, "# band tsamp_s=%.10g nchan=%lld fctr_mhz=%.10g bw_mhz=%.10g\n",
                        b->tsamp_s, (long long)b->nchan, b->fctr_mhz, b->bw_mhz);
    psr_outfile_put(f, "# lodm dmstep ndms downsamp nsub\n");
    for (size_t i = 0; i < plan->nline; i++) {
        const struct psr_plan_line *l = &plan->line[i];
        psr_outfile_put(f, "%-9.10g %-6.10g %6lld %4lld %5lld\n", l->lodm, l->dmstep,
                        (long long)l->ndm, (long long)l->downsamp, (long long)l->nsub);
    }
    return psr_outfile_status(f, err);
}

psr_status psr_planfile_from_ddplan(struct psr_planfile *to, const struct psr_ddplan *from,
                                    psr_err *err)
{
    memset(to, 0, sizeof *to);
    to->line = calloc((size_t)from->nline, sizeof *to->line);
    if (!to->line)
        return psr_fail_nomem(err, "a plan", (double)from->nline);
    to->has_band = true;
    to->band = from->desc->band;
    to->nline = (size_t)from->nline;
    for (int i = 0; i < from->nline; i++) {
        const struct psr_ddplan_line *l = &from->line[i];
        to->line[i] = (struct psr_plan_line){.lodm = l->lodm,
                                             .dmstep = l->dmstep,
                                             .ndm = l->ndm,
                                             .downsamp = l->downsamp,
                                             .nsub = from->desc->nsub};
    }
    return PSR_OK;
}

void psr_planfile_clear(struct psr_planfile *plan)
{
    free(plan->line);
    memset(plan, 0, sizeof *plan);
}
