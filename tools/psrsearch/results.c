/* Reads what a search has found: the sifted list, the bursts, the folds. */
#include "psrsearch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static psr_status read_file(struct psrsearch_results *found, const struct psrsearch_plan *p,
                            const char *suffix, psrsearch_take_line *take, psr_err *err)
{
    bool exists; /* or the step was not wanted */
    char *path = psrsearch_join(p->base, suffix, NULL);
    psr_status st = path ? psrsearch_read_lines(path, &exists, take, found, err)
                         : psr_fail_nomem(err, p->base, 64);
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
static bool take_candidate(void *ctx, const char *line)
{
    struct psrsearch_results *found = ctx;
    const char *path_end = strstr(line, "\", \"cand\": ");
    if (!path_end)
        return true;
    const char *note = strstr(path_end, "\"note\": \"");
    found->nknown += note && note[strlen("\"note\": \"")] != '"';
    if (found->ncand++)
        return true;
    set_name(found, line, path_end);
    found->best.dm = number_of(path_end, "\"dm\": ");
    found->best.snr = number_of(path_end, "\"snr\": ");
    found->best.sigma = number_of(path_end, "\"sigma\": ");
    found->best.period_s = number_of(path_end, "\"period_s\": ");
    return true;
}

static bool take_burst(void *ctx, const char *line)
{
    struct psrsearch_results *found = ctx;
    double snr, time_s, dm;
    if (line[0] == '#' || sscanf(line, "%lf %*s %lf %*s %*s %lf", &snr, &time_s, &dm) != 3)
        return true;
    if (!found->nburst++ || snr > found->burst.snr) {
        found->burst.snr = snr;
        found->burst.time_s = time_s;
        found->burst.dm = dm;
    }
    return true;
}

static bool take_fold(void *ctx, const char *line)
{
    struct psrsearch_results *found = ctx;
    found->nfold += line[0] == '{';
    return true;
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
