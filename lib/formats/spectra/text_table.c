/* Reads text files of rows of words, with errors that name file, line and column. */
#include "base/output/outfile_internal.h"
#include "header_keys.h"

#include "base/tool.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

psr_status psr_text_fail_line(const char *path, long number, psr_err *err, const char *field,
                              const char *fmt, va_list ap)
{
    char text[400];
    vsnprintf(text, sizeof text, fmt, ap);
    return psr_fail_field(err, PSR_EFORMAT, field, "%s: line %ld: %s", path, number, text);
}

psr_status psr_text_row_fail(const struct psr_text_row *row, psr_err *err, const char *field,
                             const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    psr_status st = psr_text_fail_line(row->path, row->number, err, field, fmt, ap);
    va_end(ap);
    return st;
}

psr_status psr_text_row_int(const struct psr_text_row *row, int i, const char *what, int64_t min,
                            int64_t max, int64_t *value, psr_err *err)
{
    psr_err why;
    if (i >= row->n)
        return psr_text_row_fail(row, err, what, "%s is missing", what);
    if (psr_parse_int(what, row->word[i], min, max, value, &why))
        return psr_text_row_fail(row, err, what, "%s", why.msg);
    return PSR_OK;
}

psr_status psr_text_row_double(const struct psr_text_row *row, int i, const char *what, double min,
                               double max, double *value, psr_err *err)
{
    psr_err why;
    if (i >= row->n)
        return psr_text_row_fail(row, err, what, "%s is missing", what);
    if (psr_parse_double(what, row->word[i], min, max, value, &why))
        return psr_text_row_fail(row, err, what, "%s", why.msg);
    return PSR_OK;
}

psr_status psr_text_row_take(const struct psr_text_row *row, const struct psr_text_row_key *key,
                             size_t n, void *ctx, psr_err *err)
{
    char names[256];
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(row->word[0], key[i].name)) {
            if (row->n > key[i].most)
                return psr_text_row_fail(row, err, row->word[0], "'%s' is a word too many",
                                         row->word[key[i].most]);
            return key[i].take(ctx, row, err);
        }
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "",
                                   key[i].name);
        length = length < sizeof names ? length : sizeof names - 1;
    }
    return psr_text_row_fail(row, err, row->word[0], "'%s' is none of %s", row->word[0], names);
}

static psr_status split_line(struct psr_text_row *row, char *line, psr_err *err)
{
    char *rest = NULL;
    row->n = 0;
    line[strcspn(line, "#")] = '\0';
    for (char *w = strtok_r(line, " \t\r\n", &rest); w; w = strtok_r(NULL, " \t\r\n", &rest)) {
        if (row->n == PSR_ROW_WORDS)
            return psr_text_row_fail(row, err, "", "more than %d words", PSR_ROW_WORDS);
        row->word[row->n++] = w;
    }
    return PSR_OK;
}

psr_status psr_text_table_take(struct psr_text_lines *lines, psr_text_row_function *take, void *ctx,
                               psr_err *err)
{
    struct psr_text_row row = {.path = lines->name};
    char line[PSR_ROW_BYTES + 2];
    bool exists;
    psr_status st;
    while (!(st = psr_text_lines_next(lines, line, sizeof line, &exists, err)) && exists) {
        row.number = lines->number;
        st = split_line(&row, line, err);
        if (!st && row.n > 0)
            st = take(ctx, &row, err);
        if (st)
            break;
    }
    return st;
}

psr_status psr_text_table_read(const char *path, psr_text_row_function *take, void *ctx,
                               psr_err *err)
{
    struct psr_text_lines lines;
    psr_status st = psr_text_lines_open(&lines, path, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    st = psr_text_table_take(&lines, take, ctx, err);
    psr_text_lines_close(&lines);
    return st;
}

/* --- writing ---------------------------------------------------------------------------------- */

void psr_csv_put_text(psr_outfile *f, const char *text)
{
    const bool plain = !strpbrk(text, ",\"\r\n");
    psr_outfile_put(f, "%s", plain ? text : "\"");
    for (; *text && !plain; text++)
        psr_outfile_put(f, *text == '"' ? "\"\"" : "%c", *text);
    psr_outfile_put(f, "%s", plain ? "" : "\"");
}

void psr_json_put(void *ctx, const char *bytes, size_t n)
{
    (void)!psr_outfile_write(ctx, bytes, n, NULL);
}
