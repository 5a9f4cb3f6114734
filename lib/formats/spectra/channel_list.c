/* Parses lists of channels and of trial DMs. */
#include "header_keys.h"

#include "base/tool.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096, LIST_MAX_BYTES = 1 << 24 };
static const double DM_MAX = 1e6; /* pc cm^-3; nothing in the sky comes near */

static const char separators[] = ", \t\r\n";

struct channel_range {
    long first, last, step;
};

/* One number of a range; what is left out leaves *value as it is. */
static bool parse_field(const char *text, size_t length, long *value)
{
    char *end;
    if (!length)
        return true;
    if (*text < '0' || *text > '9')
        return false;
    *value = strtol(text, &end, 10);
    return end == text + length;
}

/* "a", "a:b" or "a:b:s", of which a, b and s may be left out where colons tell that they are: the
 * first channel, the last one, 1. */
static bool parse_range(const char *piece, size_t nchan, struct channel_range *r)
{
    long *const field[3] = {&r->first, &r->last, &r->step};
    *r = (struct channel_range){0, (long)nchan - 1, 1};
    for (int n = 0; n < 3; n++) {
        size_t length = strcspn(piece, ":");
        if (!parse_field(piece, length, field[n]))
            return false;
        if (!piece[length]) {
            r->last = n ? r->last : r->first;
            return r->step > 0;
        }
        piece += length + 1;
    }
    return false;
}

/* Takes a range within 0 .. n - 1. */
static psr_status check_range(const char *piece, const char *what, size_t n,
                              struct channel_range *r, psr_err *err)
{
    if (parse_range(piece, n, r) && r->first >= 0 && r->last >= r->first && r->last < (long)n)
        return PSR_OK;
    return psr_fail(err, PSR_EINVAL, "%s: '%s' is no range within 0 to %zu (a, a:b or a:b:step)",
                    what, piece, n - 1);
}

/* Takes a list separated by commas and blanks; list is written to. */
static psr_status ignore_list(char *list, size_t nchan, int ascending, unsigned char *keep,
                              psr_err *err)
{
    char *save;
    for (char *piece = strtok_r(list, separators, &save); piece;
         piece = strtok_r(NULL, separators, &save)) {
        struct channel_range r;
        psr_status st = check_range(piece, "ignored channels", nchan, &r, err);
        if (st)
            return st;
        for (size_t c = (size_t)r.first; c <= (size_t)r.last; c += (size_t)r.step)
            keep[ascending ? c : nchan - 1 - c] = 0;
    }
    return PSR_OK;
}

/* Takes a line without its comment.
 * Returned: false at the end of the file, and after an error, which is in *st */
static bool next_line(struct psr_text_lines *in, char line[LINE_MAX_BYTES], psr_status *st,
                      psr_err *err)
{
    bool exists;
    *st = psr_text_lines_next(in, line, LINE_MAX_BYTES, &exists, err);
    line[strcspn(line, "#")] = '\0';
    return *st == PSR_OK && exists;
}

psr_status psr_ignore_channels(const char *text, size_t nchan, int ascending, unsigned char *keep,
                               psr_err *err)
{
    if (strspn(text, "0123456789:, ") != strlen(text)) {
        struct psr_text_lines in;
        if (psr_text_lines_open(&in, text, LIST_MAX_BYTES, NULL))
            return psr_fail_errno(err, "%s (neither a list of channels nor a file of them)", text);
        char line[LINE_MAX_BYTES];
        psr_err why;
        psr_status st = PSR_OK;
        while (st == PSR_OK && next_line(&in, line, &st, err)) {
            st = ignore_list(line, nchan, ascending, keep, &why);
            if (st)
                st = psr_fail(err, PSR_EFORMAT, "%.200s: line %ld: %.250s", in.name, in.number,
                              why.msg);
        }
        psr_text_lines_close(&in);
        return st;
    }
    char *list = strdup(text);
    if (!list)
        return psr_fail_nomem(err, "a list of channels", (double)strlen(text));
    psr_status st = ignore_list(list, nchan, ascending, keep, err);
    free(list);
    return st;
}

psr_status psr_ranges_parse(const char *text, const char *what, size_t n, int32_t **list,
                            size_t *nlist, psr_err *err)
{
    char *copy = strdup(text), *save;
    size_t room = 0;
    psr_status st = copy ? PSR_OK : psr_fail_nomem(err, what, (double)strlen(text));
    *list = NULL;
    *nlist = 0;
    for (char *piece = st ? NULL : strtok_r(copy, separators, &save); piece && !st;
         piece = strtok_r(NULL, separators, &save)) {
        struct channel_range r;
        st = check_range(piece, what, n, &r, err);
        for (long k = r.first; !st && k <= r.last; k += r.step) {
            st = psr_grow(list, &room, *nlist, sizeof **list, "a list of ranges", err);
            if (!st)
                (*list)[(*nlist)++] = (int32_t)k;
        }
    }
    free(copy);
    if (st) {
        free(*list);
        *list = NULL;
    }
    return st;
}

/* Takes the first word of a line as a DM; empty lines are no DM.  A word may follow, but no number:
 * in a row of DMs all but one would be lost. */
static psr_status take_dm_line(char *line, const char *what, double **dm, size_t *ndm, size_t *room,
                               psr_err *err)
{
    static const char blanks[] = ", \t\r\n";
    char *save, *word = strtok_r(line, blanks, &save);
    if (!word)
        return PSR_OK;
    double value, second;
    if (psr_parse_double(what, word, 0, DM_MAX, &value, err) != PSR_OK)
        return err ? err->code = PSR_EFORMAT : PSR_EFORMAT;
    const char *next = strtok_r(NULL, blanks, &save);
    if (next && psr_parse_double(what, next, -HUGE_VAL, HUGE_VAL, &second, NULL) == PSR_OK)
        return psr_fail(err, PSR_EFORMAT, "%s: %s follows %s, must be one DM a line", what, next,
                        word);
    psr_status st = psr_grow(dm, room, *ndm, sizeof **dm, "the list of DMs", err);
    if (!st)
        (*dm)[(*ndm)++] = value;
    return st;
}

psr_status psr_dms_read(const char *path, double **dm, size_t *ndm, psr_err *err)
{
    char line[LINE_MAX_BYTES];
    size_t room = 0;
    struct psr_text_lines in;
    *dm = NULL;
    *ndm = 0;
    psr_status st = psr_text_lines_open(&in, path, LIST_MAX_BYTES, err);
    if (st)
        return st;
    while (st == PSR_OK && next_line(&in, line, &st, err)) {
        char what[256];
        snprintf(what, sizeof what, "%.200s: line %ld: DM", in.name, in.number);
        st = take_dm_line(line, what, dm, ndm, &room, err);
    }
    if (st == PSR_OK && *ndm == 0)
        st = psr_fail(err, PSR_EFORMAT, "%s: no DMs in it", in.name);
    psr_text_lines_close(&in);
    if (st != PSR_OK) {
        free(*dm);
        *dm = NULL;
        *ndm = 0;
    }
    return st;
}

psr_status psr_dms_grid(double lodm, double dmstep, size_t ndm, double **dm, psr_err *err)
{
    *dm = calloc(ndm ? ndm : 1, sizeof **dm);
    if (!*dm)
        return psr_fail_nomem(err, "the list of DMs", (double)ndm * sizeof **dm);
    for (size_t i = 0; i < ndm; i++)
        (*dm)[i] = lodm + (double)i * dmstep;
    return PSR_OK;
}
