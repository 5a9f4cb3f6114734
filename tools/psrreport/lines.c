/* Reads tables of text and lines of JSON of the folder. */
#include "psrreport.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
