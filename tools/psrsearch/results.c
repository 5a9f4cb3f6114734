/* Reads what a search has found: the sifted list, the bursts, the folds. */
#include "psrsearch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Takes a line of a file. */
typedef void (*line_fn)(struct psrsearch_results *found, const char *line);

static psr_status read_file(struct psrsearch_results *found, const struct psrsearch_plan *p,
                            const char *suffix, line_fn take, psr_err *err)
{
    struct psr_text_lines in;
    struct stat is;
    bool exists = true;
    char *path = psrsearch_join(p->base, suffix, NULL);
    if (path && stat(path, &is) != 0) {
        free(path);
        return PSR_OK; /* the step was not wanted */
    }
    char *line = path ? malloc((size_t)is.st_size + 2) : NULL;
    psr_status st = line ? psr_text_lines_open(&in, path, PSR_TABLE_MAX_BYTES, err)
                         : psr_fail_nomem(err, p->base, 64);
    if (!st) {
        while (!st && exists) {
            st = psr_text_lines_next(&in, line, (size_t)is.st_size + 2, &exists, err);
            if (!st && exists)
                take(found, line);
        }
        psr_text_lines_close(&in);
    }
    free(line);
    free(path);
    return st;
}

/* Returned: the number that follows, NAN if there is none */
static double number_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at ? strtod(at + strlen(key), NULL) : NAN;
}

/* The list's name without its folder, as it is escaped, and the candidate's number.
 * Given:  end   of the list's path */
static void set_name(struct psrsearch_results *found, const char *line, const char *end)
{
    const char *from = end;
    while (from > line && from[-1] != '/' && from[-1] != '"')
        from--;
    snprintf(found->best.name, sizeof found->best.name, "%.*s:%.0f", (int)(end - from), from,
             number_of(end, "\", \"cand\": "));
}

/* A line of ROOT.sift.json; only after the path there are no quotes but those of JSON. */
static void take_candidate(struct psrsearch_results *found, const char *line)
{
    const char *path_end = strstr(line, "\", \"cand\": ");
    if (!path_end)
        return;
    const char *note = strstr(path_end, "\"note\": \"");
    found->nknown += note && note[strlen("\"note\": \"")] != '"';
    if (found->ncand++)
        return;
    set_name(found, line, path_end);
    found->best.dm = number_of(path_end, "\"dm\": ");
    found->best.snr = number_of(path_end, "\"snr\": ");
    found->best.sigma = number_of(path_end, "\"sigma\": ");
    found->best.period_s = number_of(path_end, "\"period_s\": ");
}

static void take_burst(struct psrsearch_results *found, const char *line)
{
    double snr, time_s, dm;
    if (line[0] == '#' || sscanf(line, "%lf %*s %lf %*s %*s %lf", &snr, &time_s, &dm) != 3)
        return;
    if (!found->nburst++ || snr > found->burst.snr) {
        found->burst.snr = snr;
        found->burst.time_s = time_s;
        found->burst.dm = dm;
    }
}

static void take_fold(struct psrsearch_results *found, const char *line)
{
    found->nfold += line[0] == '{';
}

psr_status psrsearch_results_read(struct psrsearch_results *found, const struct psrsearch_plan *p,
                                  psr_err *err)
{
    *found = (struct psrsearch_results){.ncand = 0};
    psr_status st = read_file(found, p, ".sift.json", take_candidate, err);
    if (!st)
        st = read_file(found, p, ".cand", take_burst, err);
    if (!st)
        st = read_file(found, p, ".fold.json", take_fold, err);
    return st ? st : read_file(found, p, ".par.json", take_fold, err);
}
