/* Reads a list of candidates to fold: which format it has, and line by line; those of PRESTO's ACCEL_sift.py. */
#include "base/base.h"
#include "lists_internal.h"
#include <psrkit/experimental/sift.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CAND, DM, SNR, SIGMA, NHARM, IPOW, CPOW, PERIOD, R, Z, NWORD };

static const char *const names[NWORD] = {"file:candnum", "DM",   "SNR",   "sigma", "numharm",
                                         "ipow",         "cpow", "P(ms)", "r",     "z"};

static psr_status take_record(const struct psr_candlist_lines *l, const char *path, int64_t number,
                              struct psr_folder_candidate *c, psr_err *err)
{
    struct psr_candlist_accel a = {.path = NULL};
    psr_err why;
    psr_status st = psr_candlist_accel_open(&a, path, &why);
    if (!st)
        st = psr_candlist_accel_get(&a, number, c, &why);
    psr_candlist_accel_close(&a);
    return !st                ? PSR_OK
           : st == PSR_ENOMEM ? psr_fail_nomem(err, path, 64)
                              : psr_candlist_fail(l, err, names[CAND], "%.250s", why.msg);
}

/* The list has the length of the series only as r P. */
static psr_status take_digits(const struct psr_candlist_lines *l, char *const word[NWORD],
                              struct psr_folder_candidate *c, psr_err *err)
{
    double p, r = 0, z = 0;
    psr_status st = psr_candlist_number(l, names[PERIOD], word[PERIOD], 1e-3, 1e-9, 1e9, &p, err);
    if (!st)
        st = psr_candlist_number(l, names[R], word[R], 1, 1e-3, 1e15, &r, err);
    if (!st)
        st = psr_candlist_number(l, names[Z], word[Z], 1, -1e9, 1e9, &z, err);
    if (st)
        return st;
    return psr_candlist_set_bins(c, r, z, 0, r * p)
               ? PSR_OK
               : psr_candlist_fail(l, err, names[Z], "r = %g, z = %g: no frequency", r, z);
}

static psr_status take_row(struct psr_candlist_lines *l, char *const word[NWORD],
                           struct psr_folder_candidate *c, psr_err *err)
{
    int64_t number;
    psr_err why;
    char *colon = strrchr(word[CAND], ':');
    if (!colon || colon == word[CAND])
        return psr_candlist_fail(l, err, names[CAND], "%s: '%.64s' is no file and number",
                                 names[CAND], word[CAND]);
    if (psr_parse_int(names[CAND], colon + 1, 1, 1 << 24, &number, &why))
        return psr_candlist_fail(l, err, names[CAND], "%.250s", why.msg);
    psr_status st = psr_candlist_number(l, names[DM], word[DM], 1, 0, 1e6, &c->dm, err);
    if (st)
        return st;
    *colon = '\0';
    /* FILE.cand in the folder of the list; the caller frees it. */
    const char *slash = *word[CAND] == '/' ? NULL : strrchr(l->text.name, '/');
    const int folder = slash ? (int)(slash - l->text.name) + 1 : 0;
    const size_t room = (size_t)folder + strlen(word[CAND]) + sizeof ".cand";
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%.*s%s.cand", folder, l->text.name, word[CAND]);
    if (!path)
        return psr_fail_nomem(err, "names", 64);
    FILE *f = psr_open_file(path);
    const bool exists = f || errno != ENOENT;
    if (f)
        fclose(f);
    l->nwithout += !exists && !psr_ffa_is_list(word[CAND]);
    st = exists ? take_record(l, path, number, c, err) : take_digits(l, word, c, err);
    free(path);
    *colon = ':';
    return st;
}

/* Cuts the line after FILE:NUMBER, in which there may be blanks.
 * Returned: the rest; the line itself if there is no such word */
static char *cut_name(char *line)
{
    for (char *colon = line + strlen(line); colon > line; colon--) {
        const size_t n = *colon == ':' ? strspn(colon + 1, "0123456789") : 0;
        char *end = colon + 1 + n;
        if (!n || (*end != ' ' && *end != '\t'))
            continue;
        *end = '\0';
        return end + 1;
    }
    return line;
}

/* Adds the candidate of a row; line is changed. */
static psr_status take_sifted(struct psr_candlist_lines *l, char *line, psr_err *err)
{
    char *word[NWORD], *save = NULL, name[300];
    if (*line == ' ' || *line == '\t') /* at which DMs it was found */
        return PSR_OK;
    char *rest = cut_name(line);
    word[CAND] = line;
    for (int i = rest != line; i < NWORD; i++, rest = NULL)
        if (!(word[i] = strtok_r(rest, " \t", &save)))
            return psr_candlist_fail(l, err, names[i], "%s is missing", names[i]);
    struct psr_folder_candidate c = l->desc->common;
    psr_sift_unescape(word[CAND]);
    psr_status st = take_row(l, word, &c, err);
    if (st)
        return st;
    char *colon = strrchr(word[CAND], ':');
    const char *slash = strrchr(word[CAND], '/');
    *colon = '\0';
    snprintf(name, sizeof name, "%.200s_Cand_%.20s", slash ? slash + 1 : word[CAND], colon + 1);
    return psr_candlist_add(l->list, &c, name, false, err);
}

/* --- all formats ------------------------------------------------------------------------------ */

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
                             : take_sifted(l, line, err);
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
