/* What gpufold says of folds beside their .pfd: the period that is told, and sigma after trials. */
#include "psrreport.h"

#include <math.h>
#include <string.h>

/* The fold that a line is of: of this name, and with its numbers, as it may have been made anew since. */
static struct report_fold *find_fold(struct report *r, const struct json_value *object)
{
    const char *name = json_text(object, "candidate");
    const double sigma = json_number(object, "sigma");
    for (size_t i = 0; i < r->nfold; i++) {
        const struct psr_bestprof *b = &r->fold[i].best;
        if (!strcmp(b->candidate, name) && fabs(b->sigma - sigma) <= 1e-3 * fmax(1, sigma))
            return &r->fold[i];
    }
    return NULL;
}

/* 1/3, 1/2, 1, 2 or 3, which have ten digits in the file; not a number for others. */
static double take_ratio(double told)
{
    const double whole = told >= 1 ? round(told) : round(1 / told),
                 is = told >= 1 ? told : 1 / told;
    if (!(whole >= 1 && whole <= 3) || fabs(is - whole) > 1e-6)
        return NAN;
    return told >= 1 ? whole : 1 / whole;
}

static void scale(struct psr_bestprof_value value[3], double ratio)
{
    for (int k = 0; k < 3; k++) {
        value[k].value *= ratio;
        value[k].error *= ratio;
    }
}

static psr_status take_line(void *ctx, char *text, struct json_value *object, bool *keep,
                            psr_err *err)
{
    struct report *r = ctx;
    struct report_fold *f = find_fold(r, object);
    const double told = json_number(object, "p_ratio"), ratio = take_ratio(isnan(told) ? 1 : told);
    (void)text, (void)keep;
    if (isnan(ratio))
        return psr_fail_field(err, PSR_EFORMAT, "p_ratio",
                              "%.100s: p_ratio = %g, must be 1/3, 1/2, 1, 2 or 3",
                              json_text(object, "candidate"), told);
    if (!f || f->told)
        return PSR_OK;
    f->told = true;
    scale(f->best.topo, ratio);
    scale(f->best.bary, ratio);
    if (!isnan(json_number(object, "sigma_trials")))
        f->best.sigma_trials = json_number(object, "sigma_trials");
    return PSR_OK;
}

psr_status report_read_fold_numbers(struct report *r, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++)
        if (psr_path_ends(r->files.name[i], ".fold.json"))
            st = report_read_json(r, r->files.name[i], take_line, r, err);
    return st;
}
