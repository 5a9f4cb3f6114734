/* Verdicts that a page has saved as comma-separated values, for the page that is made now. */
#include "psrreport.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct verdicts {
    struct report *r;
    size_t nlost;
    bool headed;
};

/* The name, DM and period of a row of the page; a list that was made anew may have another candidate of that name. */
static bool is_candidate(const struct report_cand *c, const char *name, double period_s, double dm)
{
    char own[PSR_TEXT_MAX];
    const double own_s = c->fold ? report_fold_period(c->fold, NULL) : c->value[CAND_PERIOD_S];
    const double own_dm =
        c->fold && isfinite(c->fold->best.dm) ? c->fold->best.dm : c->value[CAND_DM];
    snprintf(own, sizeof own, isfinite(c->value[CAND_NUMBER]) ? "%s:%.0f" : "%s", c->list,
             c->value[CAND_NUMBER]);
    return !strcmp(name, own) && fabs(period_s - own_s) <= 1e-3 * own_s &&
           !(fabs(dm - own_dm) > 1 + 1e-2 * own_dm);
}

/* Its script writes ' before what a spreadsheet would take for a formula. */
static const char *unquote(const char *name)
{
    return *name == '\'' && name[1] && strchr("-=+@", name[1]) ? name + 1 : name;
}

static psr_status take(void *ctx, struct report_line *line, psr_err *err)
{
    static const char *const words[] = {"accepted", "rejected"};
    struct verdicts *v = ctx;
    double period_s, dm;
    const char *word = line->n == 4 ? line->word[3] : "";
    if (!v->headed && !strcmp(word, "verdict")) {
        v->headed = true;
        return PSR_OK;
    }
    const char *verdict = !strcmp(word, words[0])   ? words[0]
                          : !strcmp(word, words[1]) ? words[1]
                                                    : NULL;
    if (!v->headed || !verdict)
        return psr_fail(err, PSR_EFORMAT,
                        "%.300s: line %ld: is none of candidate, period_s, dm, verdict (accepted "
                        "or rejected), under a line of these names",
                        line->name, line->number);
    psr_status st = report_number(line, 1, "period_s", &period_s, err);
    if (!st)
        st = report_number(line, 2, "dm", &dm, err);
    size_t i = 0;
    while (!st && i < v->r->ncand &&
           !is_candidate(&v->r->cand[i], unquote(line->word[0]), period_s, dm))
        i++;
    if (!st && i < v->r->ncand)
        v->r->cand[i].verdict = verdict;
    v->nlost += !st && i == v->r->ncand;
    return st;
}

psr_status report_read_verdicts(struct report *r, psr_err *err)
{
    struct verdicts v = {.r = r};
    psr_status st =
        r->opt->verdicts ? report_read_lines(r, r->opt->verdicts, true, take, &v, err) : PSR_OK;
    if (!st && v.nlost && !r->opt->quiet)
        psr_note(&(struct psr_notes){cli_note, (void *)(uintptr_t)r->tool},
                 "%s: %zu verdicts are of candidates that are not in %s", r->opt->verdicts, v.nlost,
                 r->folder);
    return st;
}
