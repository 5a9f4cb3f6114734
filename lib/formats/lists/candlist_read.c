/* Reads a list of candidates to fold: which format it has, and line by line. */
#include "base/copy_desc.h"
#include "candlist_lines.h"

#include <string.h>

enum { LINE_BYTES = 4096 };

enum format { NONE, TABLE, SIFTED };

/* Returned: *is_row if the line is one itself */
static psr_status read_header(struct psr_candlist_lines *l, struct psr_candlist_table *table,
                              char *line, enum format *format, bool *is_row, psr_err *err)
{
    *is_row = false;
    if (*line == '#' && strstr(line, "file:candnum")) {
        *format = SIFTED;
        return PSR_OK;
    }
    if (*line != '#' && !strchr(line, ',')) {
        psr_status st = psr_candlist_table_by_position(table, l, line, err);
        if (st || table->ncolumn) {
            *format = TABLE;
            *is_row = true;
            return st;
        }
        return psr_candlist_fail(l, err, "header",
                                 "no line before it that begins with # and names the columns, nor "
                                 "comma-separated names");
    }
    table->is_csv = *line != '#';
    psr_status st = psr_candlist_table_header(table, l, line, err);
    if (!st && table->ncolumn)
        *format = TABLE;
    return st;
}

/* A wrong row is reported if desc says to whom, and the others are read. */
static psr_status read_lines(struct psr_candlist_lines *l, psr_err *err)
{
    char line[LINE_BYTES];
    struct psr_candlist_table table = {.ncolumn = 0};
    enum format format = NONE;
    psr_status st = PSR_OK;
    for (bool exists = true; !st;) {
        st = psr_text_lines_next(&l->text, line, sizeof line, &exists, err);
        if (st || !exists)
            break;
        line[strcspn(line, "\r\n")] = '\0';
        if (line[strspn(line, " \t")] == '\0' || (format != NONE && *line == '#'))
            continue;
        if (format == NONE) {
            bool is_row;
            st = read_header(l, &table, line, &format, &is_row, err);
            if (st || !is_row)
                continue;
        }
        st = format == TABLE ? psr_candlist_table_row(&table, l, line, err)
                             : psr_candlist_sift_row(l, line, err);
        if (st == PSR_EFORMAT && l->desc->refuse) {
            l->desc->refuse(l->desc->ctx, err);
            st = PSR_OK;
        }
    }
    if (!st && l->nwithout)
        psr_note(&l->desc->notes,
                 "%s: %zu candidates without their .cand beside it: folded with the "
                 "digits of the list",
                 l->text.name, l->nwithout);
    return st;
}

static bool is_accel(const char *path)
{
    const size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".cand") && strstr(path, "_ACCEL_");
}

/* All records of a file of lists, in its order. */
static psr_status read_members(struct psr_candlist *list, const char *path,
                               const struct psr_candlist_desc *d, psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_status st = psr_lists_names(&all, path, err);
    for (size_t i = 0; i < all.n && !st; i++)
        if (is_accel(all.name[i]))
            st = psr_candlist_accel_all(list, all.name[i], d, err);
    psr_names_clear(&all);
    return st || list->n ? st : psr_fail(err, PSR_EFORMAT, "%s: no candidate", path);
}

psr_status psr_candlist_read(struct psr_candlist *list, const char *path,
                             const struct psr_candlist_desc *desc, psr_err *err)
{
    struct psr_candlist_desc d;
    const size_t before = list->n;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "candlist", err);
    if (st)
        return st;
    struct psr_candlist_lines l = {.list = list, .desc = &d};
    if (psr_is_lists(path))
        return read_members(list, path, &d, err);
    if (is_accel(path))
        return psr_candlist_accel_all(list, path, &d, err);
    st = psr_text_lines_open(&l.text, path, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    st = read_lines(&l, err);
    psr_text_lines_close(&l.text);
    if (!st && list->n == before)
        st = psr_fail(err, PSR_EFORMAT, "%s: no candidate", l.text.name);
    return st;
}
