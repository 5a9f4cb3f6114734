/* Candidates to fold from a list of PRESTO's ACCEL_sift.py. */
#include "candlist_lines.h"
#include "lists_internal.h"

#include <psrkit/experimental/sift.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CAND, DM, SNR, SIGMA, NHARM, IPOW, CPOW, PERIOD, R, Z, NWORD };

static const char *const names[NWORD] = {"file:candnum", "DM",   "SNR",   "sigma", "numharm",
                                         "ipow",         "cpow", "P(ms)", "r",     "z"};

/* FILE.cand in the folder of the list; the caller frees it. */
static char *find_file(const struct psr_candlist_lines *l, const char *name)
{
    const char *slash = *name == '/' ? NULL : strrchr(l->text.name, '/');
    const int folder = slash ? (int)(slash - l->text.name) + 1 : 0;
    const size_t room = (size_t)folder + strlen(name) + sizeof ".cand";
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%.*s%s.cand", folder, l->text.name, name);
    return path;
}

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
    char *path = find_file(l, word[CAND]);
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

psr_status psr_candlist_sift_row(struct psr_candlist_lines *l, char *line, psr_err *err)
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
