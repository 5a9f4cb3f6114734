/* -plan: the lines of a dedispersion plan out of its file, whether it is for this input, and how
 * -compat presto goes through them. */
#include "base/path.h"
#include "gpudedisp.h"

#include "tools/common/run.h"
#include <math.h>
#include <psrkit/lists.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_lodm(const void *a, const void *b)
{
    const struct psr_plan_line *p = a, *q = b;
    return (p->lodm > q->lodm) - (p->lodm < q->lodm);
}

/* As what the options allow. */
static psr_status check_line(struct gpudedisp_job *j, const struct psr_plan_line *from)
{
    const bool presto = j->opt.compat;
    const struct {
        const char *name;
        int64_t value, max;
    } limit[] = {
        {"ndms", from->ndm, presto ? GPUDEDISP_PRESTO_NUMDMS : GPUDEDISP_NUMDMS},
        {"downsamp", from->downsamp, presto ? GPUDEDISP_PRESTO_DOWNSAMP : GPUDEDISP_DOWNSAMP},
        {"nsub", from->nsub, presto ? GPUDEDISP_PRESTO_NSUB : INT64_MAX}};
    for (size_t k = 0; k < sizeof limit / sizeof *limit; k++)
        if (limit[k].value > limit[k].max)
            return psr_fail(&j->err, PSR_EINVAL, "%s: line from DM %.10g: %s %lld is above %s%lld",
                            j->plan_name, from->lodm, limit[k].name, (long long)limit[k].value,
                            presto ? "prepsubband's " : "", (long long)limit[k].max);
    return PSR_OK;
}

static psr_status add_line(struct gpudedisp_job *j, const struct psr_plan_line *from)
{
    struct gpudedisp_line *l = &j->line[j->nline];
    psr_status st = check_line(j, from);
    if (st != PSR_OK)
        return st;
    double *grid = NULL;
    size_t ndm = (size_t)from->ndm;
    st = psr_dms_grid(from->lodm, from->dmstep, ndm, &grid, &j->err);
    if (st != PSR_OK)
        return st;
    double *dm = realloc(j->dm, (j->ndm + ndm) * sizeof *dm);
    if (!dm) {
        free(grid);
        return psr_fail_nomem(&j->err, "trials", (double)(j->ndm + ndm) * sizeof *dm);
    }
    memcpy(dm + j->ndm, grid, ndm * sizeof *dm);
    free(grid);
    *l = (struct gpudedisp_line){
        .first = j->ndm, .ndm = ndm, .downsamp = from->downsamp, .nsub = from->nsub};
    j->dm = dm;
    j->ndm += ndm;
    j->nline++;
    return PSR_OK;
}

psr_status gpudedisp_read_plan(struct gpudedisp_job *j)
{
    struct psr_planfile *plan = &j->planfile;
    j->plan_name = psr_path_called(j->opt.plan);
    psr_status st = psr_planfile_read(plan, j->opt.plan, &j->err);
    if (st != PSR_OK)
        return st;
    /* Neighbours in DM are to be neighbours among the trials. */
    qsort(plan->line, plan->nline, sizeof *plan->line, by_lodm);
    j->line = calloc(plan->nline, sizeof *j->line);
    if (!j->line)
        return psr_fail_nomem(&j->err, "a plan", (double)plan->nline * sizeof *j->line);
    bool any_nsub = false;
    for (size_t k = 0; k < plan->nline && st == PSR_OK; k++) {
        any_nsub |= plan->line[k].nsub > 0;
        st = add_line(j, &plan->line[k]);
    }
    if (st == PSR_OK && !strcmp(j->opt.algo, "subband") && !any_nsub)
        st = psr_fail(&j->err, PSR_EINVAL, "%s: -algo subband, and no line has sub-bands (nsub 0)",
                      j->plan_name);
    return st;
}

/* Plans are made with rounded numbers and either edge or centre of the outermost channels: what is
 * off by less is the same band. */
psr_status gpudedisp_check_band(struct gpudedisp_job *j)
{
    const struct psr_planfile *plan = &j->planfile;
    const struct psr_obs *obs = psr_source_obs(j->source);
    if (!plan->has_band)
        return PSR_OK;
    double low = psr_obs_lowest_mhz(obs), high = psr_obs_highest_mhz(obs);
    double width =
        obs->freq_mhz ? (high - low) / fmax(1, (double)obs->nchan - 1) : fabs(obs->foff_mhz);
    const struct {
        const char *name;
        double planned, have, tolerance;
    } field[] = {
        {"tsamp_s", plan->band.tsamp_s, obs->tsamp_s, 1e-3 * obs->tsamp_s},
        {"nchan", (double)plan->band.nchan, (double)obs->nchan, 0},
        {"fctr_mhz", plan->band.fctr_mhz, (low + high) / 2, width},
        {"bw_mhz", plan->band.bw_mhz, high - low + width, 2 * width},
    };
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (!(fabs(field[k].planned - field[k].have) <= field[k].tolerance))
            return psr_fail(&j->err, PSR_EINVAL, "%s: made for %s %.10g, and %s has %.10g",
                            j->plan_name, field[k].name, field[k].planned, gpudedisp_input_name(j),
                            field[k].have);
    return PSR_OK;
}

/* --- as PRESTO -------------------------------------------------------------------------------- */

/* Every line opens the input anew. */
static psr_status check_again(struct gpudedisp_job *j)
{
    for (size_t k = 0; k < j->npath; k++) {
        struct stat st;
        bool piped = !strcmp(j->path[k], "-");
        if (piped || (stat(j->path[k], &st) == 0 && !S_ISREG(st.st_mode)))
            return psr_fail(&j->err, PSR_EINVAL,
                            "%s: -compat presto -plan reads its input once for each line, and this "
                            "is no file",
                            psr_path_called(j->path[k]));
    }
    return PSR_OK;
}

static psr_status run_presto_line(struct gpudedisp_job *j, const struct psr_plan_line *line)
{
    struct gpudedisp_job one = {
        .opt = j->opt,
        .tool = j->tool,
        .path = j->path,
        .npath = j->npath,
        .plan_name = j->plan_name,
        .planfile = {.has_band = j->planfile.has_band, .band = j->planfile.band},
        .group = j->group,
    };
    one.opt.plan = NULL;
    one.opt.lodm = line->lodm;
    one.opt.dmstep = line->dmstep;
    one.opt.numdms = line->ndm;
    one.opt.downsamp = line->downsamp;
    one.opt.nsub = line->nsub;
    psr_status st = gpudedisp_compat(&one);
    one.group = NULL;
    gpudedisp_release(&one);
    j->err = one.err;
    return st;
}

psr_status gpudedisp_compat_plan(struct gpudedisp_job *j)
{
    psr_status st = gpudedisp_make_trials(j);
    if (st == PSR_OK)
        st = check_again(j);
    if (st == PSR_OK)
        st = psr_series_check(&(struct psr_series_desc){.root = j->opt.root,
                                                        .format = PSR_SERIES_DAT,
                                                        .dm_decimals = (int)j->opt.dmprec,
                                                        .ndm = j->ndm,
                                                        .dm = j->dm,
                                                        .tsamp_s = 1},
                              &j->err);
    if (st == PSR_OK)
        st = gpudedisp_claim_outputs(j);
    for (size_t k = 0; st == PSR_OK && k < j->planfile.nline && !run_stop_signal(); k++)
        st = run_presto_line(j, &j->planfile.line[k]);
    return run_stop_signal() ? st : gpudedisp_name_events(j, st);
}
