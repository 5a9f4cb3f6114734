/* Reads what a search has found: the sifted list, the bursts, the folds. */
#include "psrsearch.h"

#include "tools/common/json_read.h"

#include <psrkit/sift.h>

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

/* The list's name without its folder, and the candidate's number. */
static void set_name(struct psrsearch_results *found, const struct json_value *candidate)
{
    const char *path = json_text(candidate, "file"), *slash = strrchr(path, '/');
    snprintf(found->best.name, sizeof found->best.name, "%.*s:%.0f", PSR_TEXT_MAX - 32,
             slash ? slash + 1 : path, json_number(candidate, "cand"));
}

/* Whether the candidate's fold is narrow: its name is LIST_Cand_NUMBER. */
static bool is_narrow(const struct psrsearch_results *found, const struct json_value *candidate)
{
    char name[PSR_TEXT_MAX + 32];
    const char *path = json_text(candidate, "file"), *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%.250s_Cand_%.0f", slash ? slash + 1 : path,
             json_number(candidate, "cand"));
    for (size_t i = 0; i < found->narrow.n; i++)
        if (!strcmp(found->narrow.name[i], name))
            return true;
    return false;
}

static void take_object(struct psrsearch_results *found, const struct json_value *candidate)
{
    const char *of_list = json_text(candidate, "marks");
    const bool narrow = is_narrow(found, candidate), listed = psr_sift_marks_count(of_list);
    const bool marked = narrow || listed;
    found->nknown += *json_text(candidate, "note") != '\0';
    found->nmarked += marked;
    if (found->ncand++ && (marked || !psr_sift_marks_count(found->best.marks)))
        return;
    set_name(found, candidate);
    const bool any = *of_list && strcmp(of_list, "-") != 0;
    snprintf(found->best.marks, sizeof found->best.marks, "%s%s%s",
             any      ? of_list
             : narrow ? ""
                      : "-",
             any && narrow ? "," : "", narrow ? "narrow" : "");
    found->best.dm = json_number(candidate, "dm");
    found->best.snr = json_number(candidate, "snr");
    found->best.sigma = json_number(candidate, "sigma");
    found->best.period_s = json_number(candidate, "period_s");
}

/* A line of ROOT.sift.json; one that is none is left out. */
static bool take_candidate(void *ctx, const char *line)
{
    struct json_value *value = NULL;
    char *text = strdup(line);
    const psr_status st = text ? json_parse(&value, text, "", NULL) : PSR_ENOMEM;
    if (!st)
        take_object(ctx, value);
    json_clear(value);
    free(text);
    return st != PSR_ENOMEM;
}

/* Bursts come best first. */
static bool take_burst(void *ctx, const char *line)
{
    struct psrsearch_results *found = ctx;
    double snr, time_s, dm;
    char marks[32] = "-";
    if (line[0] == '#' ||
        sscanf(line, "%lf %*s %lf %*s %*s %lf %*s %*s %*s %31s", &snr, &time_s, &dm, marks) < 3)
        return true;
    found->nburst_marked += psr_sift_marks_count(marks);
    if (!found->nburst++ || snr > found->burst.snr) {
        found->burst.snr = snr;
        found->burst.time_s = time_s;
        found->burst.dm = dm;
        memcpy(found->burst.marks, marks, sizeof marks);
    }
    return true;
}

static psr_status take_fold_object(struct psrsearch_results *found, const struct json_value *fold)
{
    found->nfold++;
    if (strcmp(json_text(fold, "marks"), "narrow") != 0)
        return PSR_OK;
    return psr_names_add(&found->narrow, json_text(fold, "candidate"), NULL);
}

static bool take_fold(void *ctx, const char *line)
{
    struct json_value *value = NULL;
    char *text = strdup(line);
    psr_status st = text ? json_parse(&value, text, "", NULL) : PSR_ENOMEM;
    if (!st)
        st = take_fold_object(ctx, value);
    json_clear(value);
    free(text);
    return st != PSR_ENOMEM;
}

psr_status psrsearch_results_read_sifted(struct psrsearch_results *found,
                                         const struct psrsearch_plan *p, psr_err *err)
{
    psr_status st = PSR_OK;
    if (!found->sifted)
        st = read_file(found, p, ".sift.json", take_candidate, err);
    found->sifted = !st;
    return st;
}

psr_status psrsearch_results_read(struct psrsearch_results *found, const struct psrsearch_plan *p,
                                  psr_err *err)
{
    psr_status st = read_file(found, p, ".fold.json", take_fold, err);
    if (found->narrow.n) {
        found->sifted = false;
        found->ncand = found->nknown = found->nmarked = 0;
    }
    if (!st)
        st = psrsearch_results_read_sifted(found, p, err);
    if (!st)
        st = read_file(found, p, ".cand", take_burst, err);
    return st ? st : read_file(found, p, ".par.json", take_fold, err);
}

void psrsearch_results_clear(struct psrsearch_results *found)
{
    psr_names_clear(&found->narrow);
}
