/* The steps that were run, of ROOT.steps.jsonl. */
#include "psrreport.h"

static psr_status take_step(void *ctx, char *text, struct json_value *object, bool *keep,
                            psr_err *err)
{
    struct report *r = ctx;
    if (!json_member(object, "step"))
        return PSR_OK; /* a step that has begun, or the summary */
    psr_status st = psr_grow(&r->step, &r->step_room, r->nstep, sizeof *r->step, "a report", err);
    if (st)
        return st;
    r->step[r->nstep++] = (struct report_step){.json = object, .line = text};
    *keep = true;
    return PSR_OK;
}

psr_status report_read_steps(struct report *r, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++)
        if (psr_path_ends(r->files.name[i], ".steps.jsonl") ||
            psr_path_ends(r->files.name[i], ".steps.json")) /* as it was called before */
            st = report_read_json(r, r->files.name[i], take_step, r, err);
    return st;
}
