/* The files of a folder, and what all parts need: names, problems, memory. */
#include "psrreport.h"

#include "tools/common/plot/plotfile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- reads tables of text and lines of JSON of the folder ------------------------------------- */

enum { LINE_MAX_BYTES = 1 << 16, JSON_LINE_BYTES = 1 << 24 };

static const int64_t most_bytes = INT64_C(1) << 30;

/* Splits one field of comma-separated values off, in place.
 * Returned: what follows; NULL: nothing */
static char *split_field(char *at, char **word)
{
    char *to = at;
    bool quoted = *at == '"';
    *word = to;
    at += quoted;
    while (*at && (quoted || *at != ',')) {
        if (quoted && *at == '"') {
            quoted = at[1] == '"'; /* doubled: one; else the end */
            if (!quoted) {
                at++;
                continue;
            }
            at++;
        }
        *to++ = *at++;
    }
    char *rest = *at ? at + 1 : NULL;
    *to = '\0';
    return rest;
}

static void split_line(struct report_line *line, char *text, bool commas)
{
    char *save = NULL, *next = text;
    text[strcspn(text, "\r\n")] = '\0';
    line->indented = *text == ' ' || *text == '\t';
    line->n = 0;
    if (*text == '#')
        line->word[line->n++] = text;
    if (*text == '#' || *text == '\0')
        return;
    while (next && line->n < REPORT_WORDS) {
        if (commas) {
            next = split_field(next, &line->word[line->n++]);
        } else {
            next = strtok_r(save ? NULL : text, " \t", &save);
            if (next)
                line->word[line->n++] = next;
        }
    }
}

/* Opens NAME, and refuses it where it cannot be; *opened tells. */
static psr_status open_lines(struct report *r, struct psr_text_lines *l, const char *name,
                             char **path, bool *opened, psr_err *err)
{
    psr_err why;
    *opened = false;
    *path = report_path(r, name);
    if (!*path)
        return psr_fail_nomem(err, name, (double)strlen(name));
    *opened = psr_text_lines_open(l, *path, most_bytes, &why) == PSR_OK;
    if (!*opened) {
        report_refuse(r, &why);
        free(*path);
    }
    return PSR_OK;
}

psr_status report_read_lines(struct report *r, const char *name, bool commas,
                             psr_status (*take)(void *ctx, struct report_line *line, psr_err *err),
                             void *ctx, psr_err *err)
{
    struct psr_text_lines l;
    char *path, text[LINE_MAX_BYTES];
    bool exists, opened;
    psr_err why;
    psr_status st = open_lines(r, &l, name, &path, &opened, err);
    if (st || !opened)
        return st;
    struct report_line line = {.name = l.name};
    while (!(st = psr_text_lines_next(&l, text, sizeof text, &exists, &why)) && exists) {
        split_line(&line, text, commas);
        line.number = l.number;
        if (line.n && (st = take(ctx, &line, &why)))
            break;
    }
    psr_text_lines_close(&l);
    free(path);
    if (st && st != PSR_ENOMEM)
        report_refuse(r, &why);
    return st == PSR_ENOMEM ? psr_fail_nomem(err, "a report", LINE_MAX_BYTES) : PSR_OK;
}

psr_status report_number(const struct report_line *line, size_t word, const char *what,
                         double *value, psr_err *err)
{
    psr_err why;
    if (word >= line->n)
        return psr_fail(err, PSR_EFORMAT, "%.300s: line %ld: no %s", line->name, line->number,
                        what);
    *value = NAN;
    if (!strcasecmp(line->word[word], "nan") ||
        !psr_parse_double(what, line->word[word], -1e300, 1e300, value, &why))
        return PSR_OK;
    return psr_fail(err, PSR_EFORMAT, "%.300s: line %ld: %.150s", line->name, line->number,
                    why.msg);
}

/* --- JSON ------------------------------------------------------------------------------------- */

struct json_lines {
    psr_status (*take)(void *ctx, char *text, struct json_value *object, bool *keep, psr_err *err);
    void *ctx;
};

static psr_status take_json(const struct json_lines *j, const char *name, long number,
                            const char *line, psr_err *err)
{
    char what[400];
    struct json_value *object = NULL;
    bool keep = false;
    char *text = strdup(line);
    if (!text)
        return psr_fail_nomem(err, name, (double)strlen(line));
    snprintf(what, sizeof what, "%.300s: line %ld", name, number);
    psr_status st = json_parse(&object, text, what, err);
    if (!st && object->type != JSON_OBJECT)
        st = psr_fail(err, PSR_EFORMAT, "%s: no object", what);
    if (!st)
        st = j->take(j->ctx, text, object, &keep, err);
    if (!keep) {
        json_clear(object);
        free(text);
    }
    return st;
}

psr_status report_read_json(struct report *r, const char *name,
                            psr_status (*take)(void *ctx, char *text, struct json_value *object,
                                               bool *keep, psr_err *err),
                            void *ctx, psr_err *err)
{
    const struct json_lines j = {take, ctx};
    struct psr_text_lines l;
    char *path, *line = malloc(JSON_LINE_BYTES);
    bool exists, opened = false;
    psr_err why;
    psr_status st = line ? open_lines(r, &l, name, &path, &opened, err)
                         : psr_fail_nomem(err, name, JSON_LINE_BYTES);
    if (opened) {
        while (!(st = psr_text_lines_next(&l, line, JSON_LINE_BYTES, &exists, &why)) && exists) {
            if (line[strspn(line, " \t\r\n")] == '\0')
                continue;
            st = take_json(&j, l.name, l.number, line, &why);
            if (st == PSR_ENOMEM)
                break;
            if (st)
                report_refuse(r, &why);
        }
        psr_text_lines_close(&l);
        free(path);
        if (st && st != PSR_ENOMEM)
            report_refuse(r, &why);
        st = st == PSR_ENOMEM ? psr_fail_nomem(err, "a report", JSON_LINE_BYTES) : PSR_OK;
    }
    free(line);
    return st;
}

char *report_path(const struct report *r, const char *name)
{
    if (name == r->opt->verdicts)
        return strdup(name);
    const size_t room = strlen(r->folder) + strlen(name) + 2;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s/%s", r->folder, name);
    return path;
}

/* Names in messages are those of files, which may contain line ends. */
int report_problem(struct report *r, const psr_err *why)
{
    psr_err line = *why;
    psr_make_printable(line.msg);
    const int code = r->silent ? EXIT_SUCCESS : cli_report(r->tool, &line);
    if (psr_names_add(&r->problems, line.msg, &line))
        cli_report(r->tool, &line);
    return code;
}

void report_refuse(struct report *r, const psr_err *why)
{
    r->code = cli_worse(r->code, report_problem(r, why));
}

/* A pipe would be waited for. */
static bool is_regular(const struct report *r, const char *name)
{
    struct stat is;
    char *path = report_path(r, name);
    const bool regular = path && stat(path, &is) == 0 && S_ISREG(is.st_mode);
    free(path);
    return regular;
}

/* Adds the members of ROOT.lists like files of the folder; a wrong one is refused. */
static psr_status list_members(struct report *r, const char *name, psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_err why;
    char *path = report_path(r, name);
    psr_status st = path ? PSR_OK : psr_fail_nomem(err, name, (double)strlen(name));
    if (path && psr_lists_names(&all, path, &why))
        report_refuse(r, &why);
    for (size_t i = 0; i < all.n && !st; i++)
        st = psr_names_add(&r->files, strrchr(all.name[i], '/') + 1, err);
    psr_names_clear(&all);
    free(path);
    return st;
}

/* The first .inf, unless there is that of a mask, which has the whole observation. */
static const char *choose_inf(const struct report *r)
{
    const char *first = NULL;
    for (size_t i = 0; i < r->files.n; i++) {
        const char *name = r->files.name[i];
        if (psr_path_ends(name, "_rfifind.inf"))
            return name;
        if (!first && psr_path_ends(name, ".inf"))
            first = name;
    }
    return first;
}

static psr_status read_inf(struct report *r, psr_err *err)
{
    const char *name = choose_inf(r);
    psr_err why;
    if (!name)
        return PSR_OK;
    char *path = report_path(r, name);
    if (!path)
        return psr_fail_nomem(err, name, (double)strlen(name));
    psr_status st = psr_inf_read(&r->inf, path, &why);
    free(path);
    r->has_inf = st == PSR_OK;
    if (st)
        report_refuse(r, &why);
    else
        r->length_s = (double)r->inf.nbin * r->inf.tbin_s;
    return PSR_OK;
}

psr_status report_read_folder(struct report *r, psr_err *err)
{
    /* All files but hidden ones. */
    struct psr_names all = {.n = 0};
    psr_status st = folder_list_search(&all, r->folder, err);
    for (size_t i = 0; i < all.n && !st; i++)
        if (*folder_basename(all.name[i]) != '.' && is_regular(r, all.name[i]))
            st = psr_names_add(&r->files, all.name[i], err);
    for (size_t i = r->files.n; i-- > 0 && !st;)
        if (psr_is_lists(r->files.name[i]))
            st = list_members(r, r->files.name[i], err);
    psr_names_sort(&r->files);
    psr_names_clear(&all);
    return st ? st : read_inf(r, err);
}

bool report_is_search_list(const char *name)
{
    const char *accel = strstr(name, "_ACCEL_");
    return psr_path_ends(name, "_ffa.csv") || (accel && accel[strcspn(accel, ".")] == '\0');
}

psr_status report_add_candidate(struct report *r, const struct report_cand *from, const char *list,
                                const char *note, psr_err *err)
{
    const char *slash = strrchr(list, '/');
    psr_status st = psr_grow(&r->cand, &r->cand_room, r->ncand, sizeof *r->cand, "a report", err);
    if (st)
        return st;
    struct report_cand *c = &r->cand[r->ncand];
    *c = *from;
    c->list = strdup(slash ? slash + 1 : list);
    c->note = strdup(note);
    c->rank = from->rank ? from->rank : r->ncand + 1;
    r->ncand++;
    return c->list && c->note ? PSR_OK : psr_fail_nomem(err, list, (double)strlen(list));
}

void report_clear(struct report *r)
{
    for (size_t i = 0; i < r->nstep; i++) {
        json_clear(r->step[i].json);
        free(r->step[i].line);
    }
    for (size_t i = 0; i < r->ncand; i++) {
        free(r->cand[i].list);
        free(r->cand[i].note);
    }
    for (size_t i = 0; i < r->nview; i++) {
        json_clear(r->view[i].json);
        free(r->view[i].text);
    }
    free(r->view);
    free(r->step);
    free(r->cand);
    free(r->fold);
    free(r->event);
    free(r->burst);
    psr_names_clear(&r->files);
    psr_names_clear(&r->problems);
}
