/* Reads what a search has found: the sifted list, the bursts, the folds. */
#include "psrsearch.h"

#include "tools/common/json_read.h"

#include <psrkit/experimental/sift.h>

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

/* The list is in order of rank: the first is the best. */
static void take_object(struct psrsearch_results *found, const struct json_value *candidate)
{
    const char *marks = json_text(candidate, "marks");
    found->nknown += *json_text(candidate, "note") != '\0';
    found->nmarked += psr_sift_marks_count(marks);
    found->nlikely +=
        !psr_sift_marks_count(marks) && json_number(candidate, "probability") > PSR_CAND_LINE;
    if (found->ncand++)
        return;
    set_name(found, candidate);
    snprintf(found->best.marks, sizeof found->best.marks, "%s", *marks ? marks : "-");
    found->best.dm = json_number(candidate, "dm");
    found->best.snr = json_number(candidate, "snr");
    found->best.sigma = json_number(candidate, "sigma");
    found->best.period_s = json_number(candidate, "period_s");
    found->best.probability = json_number(candidate, "probability");
}

/* A line of ROOT.sift.jsonl; one that is none is left out. */
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

static bool take_fold(void *ctx, const char *line)
{
    struct psrsearch_results *found = ctx;
    (void)line;
    found->nfold++;
    return true;
}

/* A row of ROOT.sift; those of hits begin with blanks. */
static bool count_row(void *ctx, const char *line)
{
    struct psrsearch_results *found = ctx;
    found->nsifted += *line && *line != '#' && *line != ' ';
    return true;
}

psr_status psrsearch_results_count_sifted(struct psrsearch_results *found,
                                          const struct psrsearch_plan *p, psr_err *err)
{
    found->nsifted = 0;
    return read_file(found, p, ".sift", count_row, err);
}

psr_status psrsearch_results_read(struct psrsearch_results *found, const struct psrsearch_plan *p,
                                  psr_err *err)
{
    psr_status st = read_file(found, p, ".fold.json", take_fold, err);
    if (!st)
        st = read_file(found, p, ".sift.jsonl", take_candidate, err);
    if (!st)
        st = read_file(found, p, ".cand", take_burst, err);
    return st ? st : read_file(found, p, ".par.jsonl", take_fold, err);
}
