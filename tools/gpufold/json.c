/* A fold's numbers as a line of JSON. */
#include "gpufold.h"

#include "base/tool.h"
#include <psrkit/experimental/sift.h>

#include <math.h>
#include <stdio.h>

/* With more digits than others have: periods are known to that many. */
static void print_precisely(struct psr_json *j, const char *name, double value)
{
    char digits[32];
    const int n = snprintf(digits, sizeof digits, isfinite(value) ? "%.15g" : "null", value);
    psr_json_digits(j, name, digits, (size_t)n);
}

/* Of the period that is told. */
static void print_spin(struct psr_json *j, const char *clock,
                       const struct psr_bestprof_value value[3], double ratio)
{
    static const char *const name[3] = {"p_s", "pd", "pdd"};
    char key[32];
    for (int k = 0; k < 3; k++) {
        const double unit = (k ? 1 : 1e-3) * ratio;
        snprintf(key, sizeof key, "%s_%s", name[k], clock);
        print_precisely(j, key, value[k].value * unit);
        snprintf(key, sizeof key, "%s_%s_error", name[k], clock);
        psr_json_double(j, key, isnan(value[k].value) ? NAN : value[k].error * unit);
    }
}

static void print_score(struct psr_json *j, const struct psr_cand_score *score)
{
    for (int k = 0; k < PSR_CAND_NNUMBER; k++)
        psr_json_double(j, psr_cand_number_name((enum psr_cand_number)k), score->number[k]);
    psr_json_double(j, "probability", score->probability);
    psr_json_string(j, "reasons", score->reasons);
}

static void print_json(FILE *to, const struct gpufold_numbers *n)
{
    const struct psr_bestprof *best = &n->best;
    const double ratio = (double)n->ratio.over / n->ratio.under;
    struct psr_json j = {.put = cli_put_json, .ctx = to};
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_string(&j, "candidate", best->candidate);
    psr_json_string(&j, "input", best->input);
    psr_json_int(&j, "nbin", (int64_t)best->nbin);
    psr_json_double(&j, "redchi", best->redchi);
    psr_json_double(&j, "sigma", best->sigma);
    psr_json_double(&j, "sigma_trials", best->sigma_trials);
    psr_json_double(&j, "dm", best->dm);
    print_spin(&j, "topo", best->topo, ratio);
    print_spin(&j, "bary", best->bary, ratio);
    psr_json_double(&j, "p_ratio", ratio);
    print_precisely(&j, "epoch_topo_mjd", best->tepoch_mjd);
    print_precisely(&j, "epoch_bary_mjd", best->bepoch_mjd);
    psr_json_int(&j, "trials", n->ntrial);
    psr_json_double(&j, "independent_trials", round(best->ntrial));
    psr_json_int(&j, "samples", n->nsamp);
    psr_json_int(&j, "samples_folded", (int64_t)best->ndata);
    psr_json_string(&j, "marks", n->narrow ? "narrow" : "-");
    print_score(&j, &n->score);
    psr_json_end(&j, PSR_JSON_OBJECT);
    fputc('\n', to);
}

psr_status gpufold_numbers_take(struct gpufold_numbers *n, const struct psr_folder_fold *fold,
                                psr_err *err)
{
    *n = (struct gpufold_numbers){.is_folded = true,
                                  .best = *fold->best,
                                  .ntrial = fold->found->ntrial,
                                  .nsamp = fold->nsamp,
                                  .ratio = {1, 1}};
    n->best.profile = NULL;
    psr_status st = psr_fold_is_narrow(&n->narrow, fold->pfd, err);
    return st ? st : psr_cand_measure(&n->score, fold->pfd, err);
}

psr_status gpufold_make_json(char **line, const struct gpufold_numbers *numbers, psr_err *err)
{
    size_t n = 0;
    *line = NULL;
    FILE *to = open_memstream(line, &n);
    if (to) {
        print_json(to, numbers);
        if (fclose(to) == 0 && *line)
            return PSR_OK;
    }
    return psr_fail_nomem(err, "a line of JSON", 4096);
}
