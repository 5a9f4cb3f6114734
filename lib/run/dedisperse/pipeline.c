/* Implements the public functions of a pipeline, which reads its input once, or once per line. */
#include "base/base.h"
#include "pipeline_state.h"
#include "rfi/rules/clean_internal.h"

#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Runs the lines of a plan one after the other, as separate prepsubband runs would. */

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

/* Reads the plan and checks the properties common to all lines; the input is read again for each
 * line. */
static psr_status pipeline_prepare_by_lines(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    psr_status st = psr_pipeline_make_trials(p, err);
    if (!st)
        st = check_again(d, err);
    if (!st)
        st = check_names(p, err);
    return st ? st : psr_pipeline_claim_outputs(p, err);
}

/* Creates a pipeline for each line; their files join the group. */
static psr_status pipeline_run_by_lines(struct psr_pipeline *p, psr_err *err)
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

/* prepsubband is run once for each line of a plan. */
static bool runs_by_lines(const struct psr_pipeline *p)
{
    return p->d.presto && p->d.plan;
}

void psr_pipeline_destroy(psr_pipeline *p)
{
    if (!p)
        return;
    psr_pipeline_release(p);
    psr_output_group_abort(p->group);
    free(p);
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
        st = runs_by_lines(p) ? pipeline_prepare_by_lines(p, err) : psr_pipeline_prepare(p, err);
    if (st)
        psr_pipeline_destroy(p);
    else
        *out = p;
    return st;
}

/* Returned: st, of a run; *err says what became of the outputs if a device was lost */
static psr_status fail_run(const struct psr_pipeline *p, psr_status st, psr_err *err)
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
    if (runs_by_lines(p))
        return pipeline_run_by_lines(p, err);
    return p->lines ? fail_run(p, psr_pipeline_loop(p, err), err) : PSR_OK;
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
    return fail_run(p, st, err);
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
    return fail_run(p, st, err);
}

psr_status psr_pipeline_finish(psr_pipeline *p, psr_err *err)
{
    psr_status st = runs_by_lines(p) ? PSR_OK : complete(p, err);
    psr_output_group *group = p->group;
    if (st || !group)
        return st;
    p->group = NULL;
    double since_s = psr_seconds();
    st = psr_output_group_commit(group, err);
    psr_charge(&p->commit_s, &since_s);
    return st;
}

/* --- creates and runs the pipelines of many beams, which share a plan where they can ---------- */

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
        st = runs_by_lines(p) ? pipeline_prepare_by_lines(p, err)
                              : psr_pipeline_prepare_input(p, err);
    return st;
}

static bool takes_plan(const psr_pipeline *p)
{
    return !runs_by_lines(p) && p->trials.ndm &&
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
        if (!runs_by_lines(out[k]))
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
        if (runs_by_lines(p[k]) || !p[k]->lines) {
            st = psr_pipeline_run(p[k], err);
            done[k] = true;
            ndone++;
        }
    while (ndone < n && !st)
        for (size_t k = 0; k < n && !st; k++) {
            if (done[k])
                continue;
            st = fail_run(p[k], psr_pipeline_turn(p[k], &done[k], err), err);
            ndone += done[k];
        }
    free(done);
    return st;
}

/* --- reports the properties and progress of a pipeline ---------------------------------------- */

static void describe_line(const struct psr_pipeline *p, size_t line, struct psr_reported_line *to)
{
    struct psr_pipeline_line *out = &to->line;
    const struct psr_line *l = &p->trials.line[line];
    *out = (struct psr_pipeline_line){.first = l->first, .ndm = l->ndm, .downsamp = l->downsamp};
    if (!p->lines)
        return;
    const psr_dedisp *plan = psr_lines_plan(p->lines, line);
    if (plan) {
        psr_lines_describe(p->lines, line, &to->plan);
        to->plan.size = sizeof to->plan;
        out->plan = &to->plan;
    }
    out->maxshift = psr_lines_maxshift(p->lines, line);
    out->resident = psr_lines_is_resident(p->lines, line);
    out->nout = psr_lines_nout(p->lines, line);
    out->nleast = psr_lines_nleast(p->lines, line);
    out->moved = psr_stage_barycentre_moves(p->barycentre);
    psr_stage_barycentre_count(p->barycentre, line, &out->added, &out->removed);
}

/* Describes the lines.  Returned: their number, 0 for lack of memory */
static size_t describe_lines(struct psr_pipeline *p, size_t nline)
{
    free(p->reported);
    free(p->report_line);
    p->reported = calloc(nline + 1, sizeof *p->reported);
    p->report_line = calloc(nline + 1, sizeof *p->report_line);
    if (!p->reported || !p->report_line)
        return 0;
    for (size_t k = 0; k < nline; k++) {
        describe_line(p, k, &p->reported[k]);
        p->report_line[k] = &p->reported[k].line;
    }
    return nline;
}

/* Parts of the band that are not all of it, for longer boxcars: those come last. */
static void count_parts(const struct psr_trial_list *t, struct psr_pipeline_report *r)
{
    for (const struct psr_line *l = t->line; l < t->line + t->nline; l++)
        if (l->part && !l->least_width) {
            r->npart = l->part;
            r->npart_series += l->ndm;
        }
}

void psr_pipeline_describe_sized(psr_pipeline *p, struct psr_pipeline_report *report, size_t size)
{
    const psr_clean *clean = p->clean ? psr_stage_clean_plan(p->clean) : NULL;
    const psr_clean_auto *automatic = p->clean ? psr_stage_clean_auto(p->clean) : NULL;
    struct psr_clean_auto_report auto_report = {0};
    if (automatic)
        psr_clean_auto_describe(automatic, &auto_report);
    size_t nline = psr_trials_whole_lines(&p->trials), ndm = psr_trials_whole_ndm(&p->trials);
    struct psr_pipeline_report r = {
        .input = p->input.name,
        .obs = p->input.obs,
        .ndm = ndm,
        .dm = p->trials.dm,
        .nline = describe_lines(p, nline),
        .nthread = p->nthread,
        .nread = p->nread,
        .row_bytes = p->input.row_bytes,
        .cleaned = clean != NULL || automatic != NULL,
        .clipped = clean       ? psr_clean_clipped(clean)
                   : automatic ? auto_report.nspark
                               : 0,
        .setup_s = p->ready_s - p->start_s,
        .run_s = psr_seconds() - p->ready_s,
        .read_s = p->read_s,
        .clean_s = p->clean_s,
        .dedisperse_s = p->dedisperse_s,
        .write_s = p->commit_s + (p->sinks ? psr_sinks_write_s(p->sinks) : 0),
        .voverc = p->barycentre ? psr_stage_barycentre_voverc(p->barycentre) : 0,
        .search_s = p->sinks ? psr_sinks_search_s(p->sinks) : 0,
    };
    r.line = p->report_line;
    count_parts(&p->trials, &r);
    if (p->shared) {
        r.nsharing = psr_shared_beams_count(p->shared);
        r.shared_bytes = psr_shared_beams_bytes(p->shared);
    }
    if (p->dump) {
        p->dumps = psr_dump_count(p->dump);
        r.dumps = &p->dumps;
    }
    psr_give_desc(report, size, &r, sizeof r);
}

const void *psr_pipeline_result(const psr_pipeline *p, const char *sink)
{
    return p->sinks ? psr_sinks_result(p->sinks, sink) : NULL;
}
