/* Creates and runs the pipelines of many beams, which share a plan where they can. */
#include "pipeline_by_lines.h"
#include "pipeline_check.h"
#include "pipeline_state.h"

#include <stdlib.h>

/* --- creation --------------------------------------------------------------------------------- */

/* All that comes before the plans. */
static psr_status open_beam(psr_pipeline **out, const struct psr_pipeline_desc *desc, psr_err *err)
{
    psr_pipeline *p = calloc(1, sizeof *p);
    *out = p;
    if (!p)
        return psr_fail_nomem(err, "a pipeline", sizeof *p);
    psr_status st = psr_pipeline_take_desc(&p->d, &p->searches, desc, err);
    if (!st)
        st = psr_pipeline_runs_by_lines(p) ? psr_pipeline_prepare_by_lines(p, err)
                                           : psr_pipeline_prepare_input(p, err);
    return st;
}

static bool takes_plan(const psr_pipeline *p)
{
    return !psr_pipeline_runs_by_lines(p) && p->trials.ndm &&
           psr_pipeline_dedispersion(p) == &psr_dedispersion_direct;
}

static psr_status share_plan(psr_pipeline *const *p, size_t n, psr_err *err)
{
    struct psr_dedispersion_desc *d = calloc(n + 1, sizeof *d);
    bool all = true;
    if (!d)
        return psr_fail_nomem(err, "beams", (double)n * sizeof *d);
    for (size_t k = 0; k < n && all; k++) {
        all = takes_plan(p[k]);
        if (all)
            d[k] = psr_pipeline_describe_dedispersion(p[k]);
    }
    psr_shared_beams *shared = all ? psr_shared_beams_create(d, n) : NULL;
    for (size_t k = 0; k < n; k++) {
        p[k]->shared = psr_shared_beams_join(shared);
        p[k]->beam = k;
    }
    psr_shared_beams_leave(shared);
    free(d);
    return PSR_OK;
}

psr_status psr_pipeline_create_beams(psr_pipeline **out,
                                     const struct psr_pipeline_desc *const *desc, size_t n,
                                     psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < n; k++)
        out[k] = NULL;
    for (size_t k = 0; k < n && !st; k++)
        st = open_beam(&out[k], desc[k], err);
    if (!st)
        st = share_plan(out, n, err);
    for (size_t k = 0; k < n && !st; k++)
        if (!psr_pipeline_runs_by_lines(out[k]))
            st = psr_pipeline_prepare_run(out[k], err);
    for (size_t k = 0; k < n && st; k++) {
        psr_pipeline_destroy(out[k]);
        out[k] = NULL;
    }
    return st;
}

/* --- the run ---------------------------------------------------------------------------------- */

psr_status psr_pipeline_run_beams(psr_pipeline *const *p, size_t n, psr_err *err)
{
    psr_status st = PSR_OK;
    size_t ndone = 0;
    bool *done = calloc(n + 1, sizeof *done);
    if (!done)
        return psr_fail_nomem(err, "beams", (double)n);
    for (size_t k = 0; k < n && !st; k++)
        if (psr_pipeline_runs_by_lines(p[k]) || !p[k]->lines) {
            st = psr_pipeline_run(p[k], err);
            done[k] = true;
            ndone++;
        }
    while (ndone < n && !st)
        for (size_t k = 0; k < n && !st; k++) {
            if (done[k])
                continue;
            st = psr_pipeline_fail_run(p[k], psr_pipeline_turn(p[k], &done[k], err), err);
            ndone += done[k];
        }
    free(done);
    return st;
}
