/* Runs the lines of a plan one after the other, as separate prepsubband runs would. */
#include "pipeline_state.h"

#include "base/path.h"
#include <string.h>
#include <sys/stat.h>

static psr_status check_again(const struct psr_pipeline_desc *d, psr_err *err)
{
    for (size_t k = 0; k < d->npath; k++) {
        struct stat st;
        bool piped = psr_path_is_stream(d->path[k]);
        if (piped || (stat(d->path[k], &st) == 0 && !S_ISREG(st.st_mode)))
            return psr_fail_field(
                err, PSR_EINVAL, "plan",
                "%s: -compat presto -plan reads its input once for each line, and this is no file",
                psr_path_called(d->path[k]));
    }
    return PSR_OK;
}

/* Of all lines, before the first is begun. */
static psr_status check_names(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    psr_status st = psr_sinks_create(&p->sinks, d, err);
    p->stream = (struct psr_sink_stream){.root = d->root,
                                         .dm = p->trials.dm,
                                         .ndm = p->trials.ndm,
                                         .dm_decimals = (int)d->dm_decimals};
    if (!st)
        st = psr_pipeline_check_names(p, err);
    psr_sinks_abort(p->sinks);
    p->sinks = NULL;
    return st;
}

psr_status psr_pipeline_prepare_by_lines(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    psr_status st = psr_pipeline_make_trials(p, err);
    if (!st)
        st = check_again(d, err);
    if (!st)
        st = check_names(p, err);
    return st ? st : psr_pipeline_claim_outputs(p, err);
}

psr_status psr_pipeline_run_by_lines(struct psr_pipeline *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; !st && k < p->trials.plan.nline; k++) {
        const struct psr_plan_line *line = &p->trials.plan.line[k];
        const struct psr_trial_list *t = &p->trials;
        struct psr_pipeline one = {
            .d = p->d,
            .group = p->group,
            .trials = {.plan_name = t->plan_name,
                       .plan = {.has_band = t->plan.has_band, .band = t->plan.band}},
        };
        one.d.plan = NULL;
        one.d.lodm = line->lodm;
        one.d.dmstep = line->dmstep;
        one.d.ndm = line->ndm;
        one.d.downsamp = line->downsamp;
        one.d.nsub = line->nsub;
        st = psr_pipeline_prepare(&one, err);
        if (!st)
            st = psr_pipeline_loop(&one, err);
        if (!st)
            st = psr_pipeline_complete(&one, err);
        p->nread += one.nread;
        psr_pipeline_release(&one);
    }
    return st;
}
