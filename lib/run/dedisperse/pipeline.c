/* Implements the public functions of a pipeline, which reads its input once, or once per line. */
#include "pipeline_by_lines.h"
#include "pipeline_check.h"
#include "pipeline_state.h"

#include "base/clock.h"
#include "base/copy_desc.h"

#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

void psr_pipeline_set_defaults(struct psr_pipeline_desc *desc, size_t size)
{
    const struct psr_pipeline_desc all = {
        .if_choice = -1,
        .clip_sigma = 6,
        .dmstep = 1,
        .ndm = 10,
        .downsamp = 1,
        .dmconst = PSR_DMCONST_PRESTO,
        .dm_decimals = 2,
        .device = "auto",
        .program = "psrkit",
    };
    psr_give_desc(desc, size, &all, sizeof all);
}

bool psr_pipeline_runs_by_lines(const struct psr_pipeline *p)
{
    return p->d.presto && p->d.plan;
}

psr_status psr_pipeline_create(psr_pipeline **out, const struct psr_pipeline_desc *desc,
                               psr_err *err)
{
    *out = NULL;
    psr_pipeline *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a pipeline", sizeof *p);
    psr_status st = psr_pipeline_take_desc(&p->d, &p->searches, desc, err);
    if (!st)
        st = psr_pipeline_runs_by_lines(p) ? psr_pipeline_prepare_by_lines(p, err)
                                           : psr_pipeline_prepare(p, err);
    if (st)
        psr_pipeline_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_pipeline_fail_run(const struct psr_pipeline *p, psr_status st, psr_err *err)
{
    if (st != PSR_EDEVICE || !p->nread || !err)
        return st;
    const psr_err lost = *err;
    bool piped = psr_pipeline_has_series(&p->d) && !strcmp(p->d.root, "-");
    return psr_fail(err, PSR_EDEVICE, "%.300s: after %lld spectra of %.100s; %s", lost.msg,
                    (long long)p->nread, p->input.name,
                    piped ? "what went to standard output is not whole" : "no file was written");
}

psr_status psr_pipeline_run(psr_pipeline *p, psr_err *err)
{
    if (psr_pipeline_runs_by_lines(p))
        return psr_pipeline_run_by_lines(p, err);
    return p->lines ? psr_pipeline_fail_run(p, psr_pipeline_loop(p, err), err) : PSR_OK;
}

psr_status psr_pipeline_execute(psr_pipeline *p, const void *spectra, size_t nsamp, psr_err *err)
{
    const char *from = spectra;
    psr_status st = PSR_OK;
    if (p->input.source || !p->lines)
        return psr_fail(err, PSR_EINVAL, "pipeline: its spectra come from files");
    while (nsamp && !st && !psr_lines_are_full(p->lines)) {
        size_t n = psr_read_ahead_gather(p->reader, from, nsamp);
        bool last;
        from += n * p->input.row_bytes;
        nsamp -= n;
        if (psr_read_ahead_is_full(p->reader))
            st = psr_pipeline_take_block(p, &last, err);
    }
    return psr_pipeline_fail_run(p, st, err);
}

/* Some of the caller's spectra may still be in an incomplete block. */
static psr_status complete(psr_pipeline *p, psr_err *err)
{
    psr_status st = PSR_OK;
    if (!p->lines)
        return PSR_OK;
    if (!p->input.source)
        st = psr_pipeline_loop(p, err);
    if (!st)
        st = psr_pipeline_complete(p, err);
    return psr_pipeline_fail_run(p, st, err);
}

psr_status psr_pipeline_finish(psr_pipeline *p, psr_err *err)
{
    psr_status st = psr_pipeline_runs_by_lines(p) ? PSR_OK : complete(p, err);
    psr_output_group *group = p->group;
    if (st || !group)
        return st;
    p->group = NULL;
    double since_s = psr_seconds();
    st = psr_output_group_commit(group, err);
    psr_charge(&p->commit_s, &since_s);
    return st;
}

void psr_pipeline_destroy(psr_pipeline *p)
{
    if (!p)
        return;
    psr_pipeline_release(p);
    psr_output_group_abort(p->group);
    free(p);
}
