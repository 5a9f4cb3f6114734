/* Makes the trials of a run: from a plan, a list of DMs, or a grid. */
#include "lines.h"

#include "base/base.h"
#include "formats/spectra/header_keys.h"
#include "plan/ddplan_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

PSR_COMPARE(by_lodm, struct psr_plan_line, PSR_RISING(lodm));

static psr_status check_line(const struct psr_trial_list *t, const struct psr_plan_line *from,
                             const struct psr_line_limits *limits, psr_err *err)
{
    const struct {
        const char *name;
        int64_t value, max;
    } field[] = {{"ndms", from->ndm, limits->ndm},
                 {"downsamp", from->downsamp, limits->downsamp},
                 {"nsub", from->nsub, limits->nsub}};
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (field[k].value > field[k].max)
            return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                  "%s: line from DM %.10g: %s %lld is above %s%lld", t->plan_name,
                                  from->lodm, field[k].name, (long long)field[k].value,
                                  limits->whose, (long long)field[k].max);
    return PSR_OK;
}

static psr_status add_line(struct psr_trial_list *t, const struct psr_plan_line *from, psr_err *err)
{
    double *grid = NULL;
    size_t ndm = (size_t)from->ndm;
    psr_status st = psr_dms_grid(from->lodm, from->dmstep, ndm, &grid, err);
    if (st)
        return st;
    st = psr_resize(&t->dm, t->ndm + ndm, sizeof *t->dm, "trials", err);
    if (!st)
        memcpy(t->dm + t->ndm, grid, ndm * sizeof *grid);
    free(grid);
    if (st)
        return st;
    t->line[t->nline++] = (struct psr_line){
        .first = t->ndm, .ndm = ndm, .downsamp = from->downsamp, .nsub = from->nsub, .most = -1};
    t->ndm += ndm;
    return PSR_OK;
}

psr_status psr_trials_read_plan(struct psr_trial_list *t, const char *path,
                                const struct psr_line_limits *limits, psr_err *err)
{
    struct psr_planfile *plan = &t->plan;
    t->plan_name = psr_path_called(path);
    psr_status st = psr_planfile_read(plan, path, err);
    if (st)
        return st;
    /* Neighbours in DM are to be neighbours among the trials. */
    qsort(plan->line, plan->nline, sizeof *plan->line, by_lodm);
    t->line = calloc(plan->nline, sizeof *t->line);
    if (!t->line)
        return psr_fail_nomem(err, "a plan", (double)plan->nline * sizeof *t->line);
    for (size_t k = 0; k < plan->nline && !st; k++) {
        st = check_line(t, &plan->line[k], limits, err);
        if (!st)
            st = add_line(t, &plan->line[k], err);
    }
    return st;
}

static psr_status make_line(struct psr_trial_list *t, struct psr_line line, psr_err *err)
{
    t->line = malloc(sizeof *t->line);
    if (!t->line)
        return psr_fail_nomem(err, "a plan", sizeof *t->line);
    *t->line = line;
    t->line->first = 0;
    t->line->ndm = t->ndm;
    t->line->most = -1;
    t->nline = 1;
    return PSR_OK;
}

psr_status psr_trials_read_dms(struct psr_trial_list *t, const char *path, struct psr_line line,
                               psr_err *err)
{
    psr_status st = psr_dms_read(path, &t->dm, &t->ndm, err);
    return st ? st : make_line(t, line, err);
}

psr_status psr_trials_make(struct psr_trial_list *t, struct psr_line line, const double *dm,
                           double lodm, double dmstep, psr_err *err)
{
    t->ndm = line.ndm;
    psr_status st = psr_dms_grid(lodm, dmstep, t->ndm, &t->dm, err);
    if (!st && dm)
        memcpy(t->dm, dm, t->ndm * sizeof *dm);
    return st ? st : make_line(t, line, err);
}

/* Copies the DMs of trials that sum n samples.  Returned: how many */
static size_t gather(const struct psr_trial_list *t, const int64_t *factor, int64_t n, double *to)
{
    size_t count = 0;
    for (size_t i = 0; i < t->ndm; i++)
        if (factor[i] == n)
            to[count++] = t->dm[i];
    return count;
}

psr_status psr_trials_scrunch(struct psr_trial_list *t, double smear, double ratio, int64_t most,
                              psr_err *err)
{
    const struct psr_line whole = *t->line;
    int64_t *factor = malloc(t->ndm * sizeof *factor), limit = most / whole.downsamp;
    double *dm = malloc(t->ndm * sizeof *dm);
    struct psr_line *line = malloc(63 * sizeof *line); /* one for each power of two */
    if (!factor || !dm || !line) {
        free(factor);
        free(dm);
        free(line);
        return psr_fail_nomem(err, "trials", 16 * (double)t->ndm);
    }
    for (size_t i = 0; i < t->ndm; i++)
        factor[i] = psr_scrunch(t->dm[i] * smear / (double)whole.downsamp, ratio, limit);
    size_t first = 0;
    t->nline = 0;
    for (int64_t n = 1; first < t->ndm; n *= 2) {
        size_t count = gather(t, factor, n, dm + first);
        if (!count)
            continue;
        line[t->nline] = whole;
        line[t->nline].first = first;
        line[t->nline].ndm = count;
        line[t->nline++].downsamp *= n;
        first += count;
    }
    free(factor);
    free(t->dm);
    free(t->line);
    t->dm = dm;
    t->line = line;
    return PSR_OK;
}

size_t psr_line_count_subbands(const struct psr_line *l, const struct psr_obs *obs,
                               bool from_subbands)
{
    if (from_subbands)
        return obs->nchan;
    return l->nsub ? (size_t)l->nsub : PSR_NSUB_DEFAULT;
}

bool psr_trials_have_nsub(const struct psr_trial_list *t)
{
    bool any = false;
    for (size_t k = 0; k < t->nline; k++)
        any |= t->line[k].nsub > 0;
    return any;
}

/* Plans are made with rounded numbers and either edge or centre of the outermost channels: what is
 * off by less is the same band. */
psr_status psr_trials_check_band(const struct psr_trial_list *t, const struct psr_obs *obs,
                                 const char *input, psr_err *err)
{
    const struct psr_planfile *plan = &t->plan;
    if (!plan->has_band)
        return PSR_OK;
    const struct psr_obs_band band = psr_obs_band(obs);
    const double low = band.lowest_mhz, high = band.highest_mhz, width = band.spacing_mhz;
    const struct {
        const char *name, *unit;
        double planned, have, tolerance;
    } field[] = {
        {"tsamp_s", " s", plan->band.tsamp_s, obs->tsamp_s, 1e-3 * obs->tsamp_s},
        {"nchan", "", (double)plan->band.nchan, (double)obs->nchan, 0},
        {"fctr_mhz", " MHz", plan->band.fctr_mhz, (low + high) / 2, width},
        {"bw_mhz", " MHz", plan->band.bw_mhz, high - low + width, 2 * width},
    };
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (!(fabs(field[k].planned - field[k].have) <= field[k].tolerance))
            return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                  "%s: made for %s %.10g%s, and %s has %.10g%s", t->plan_name,
                                  field[k].name, field[k].planned, field[k].unit, input,
                                  field[k].have, field[k].unit);
    return PSR_OK;
}

void psr_trials_drop(struct psr_trial_list *t, const bool *drop)
{
    size_t ndm = 0, nline = 0;
    for (size_t k = 0; k < t->nline; k++) {
        struct psr_line line = t->line[k];
        size_t first = ndm;
        for (size_t i = line.first; i < line.first + line.ndm; i++)
            if (!drop[i])
                t->dm[ndm++] = t->dm[i];
        line.first = first;
        line.ndm = ndm - first;
        if (line.ndm)
            t->line[nline++] = line;
    }
    t->ndm = ndm;
    t->nline = nline;
}

void psr_trials_clear(struct psr_trial_list *t)
{
    psr_planfile_clear(&t->plan);
    free(t->dm);
    free(t->line);
    for (size_t k = 0; k < t->npart; k++)
        free(t->part[k].keep);
    free(t->part);
    *t = (struct psr_trial_list){0};
}
