/* Implements the public functions of a pipeline, which reads its input once, or once per line. */
#include "base/base.h"

#include "pipeline_state.h"
#include "rfi/rules/clean_internal.h"
#include "run/common/stage_clean.h"
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- runs the loop of a pipeline: blocks from the reader through all stages, and the end ------ */

static psr_status check_stop(const struct psr_pipeline *p, psr_err *err)
{
    if (!p->d.should_stop || p->d.live || !p->d.should_stop(p->d.ctx))
        return PSR_OK;
    return psr_fail(err, PSR_ESTOPPED, "%s: stopped after %lld spectra", p->input.name,
                    (long long)p->nread);
}

/* Announces gaps of the input to sinks, before the samples that depend on them. */
static psr_status announce_gaps(struct psr_pipeline *p, size_t line,
                                const struct psr_block *spectra, psr_err *err)
{
    int64_t maxshift = (int64_t)psr_lines_maxshift(p->lines, line);
    psr_status st = PSR_OK;
    struct psr_span gap;
    bool told;
    while (!st && psr_lines_next_gap(p->lines, line, spectra, &gap, &told)) {
        st = psr_stage_barycentre_span(p->barycentre, line, maxshift, &gap, err);
        if (!st)
            st = psr_sinks_gap(p->sinks, line, gap, told, err);
    }
    return st;
}

/* What devices do is only enqueued here, so the stages' times are those of the host. */
static psr_status run_line(struct psr_pipeline *p, size_t line, const struct psr_block *spectra,
                           psr_err *err)
{
    bool left = true;
    double since_s = psr_seconds();
    psr_status st = psr_sinks_take_gaps(p->sinks) ? announce_gaps(p, line, spectra, err) : PSR_OK;
    while (!st && left && !psr_lines_is_full(p->lines, line)) {
        struct psr_block series;
        st = psr_lines_run(p->lines, line, spectra, &series, &left, err);
        if (!st)
            st = psr_stage_barycentre_run(p->barycentre, line, &series, err);
        psr_charge(&p->dedisperse_s, &since_s);
        if (st)
            break;
        series.nread = spectra->nread;
        series.read_s = spectra->read_s;
        psr_lines_count(p->lines, line, &series);
        st = psr_sinks_push(p->sinks, line, &series, err);
        since_s = psr_seconds();
    }
    return st;
}

static psr_status run_lines(struct psr_pipeline *p, const struct psr_block *spectra, psr_err *err)
{
    double since_s = psr_seconds();
    psr_status st = psr_lines_push(p->lines, spectra, err);
    psr_charge(&p->dedisperse_s, &since_s);
    for (size_t k = 0; k < p->trials.nline && !st; k++)
        if (!psr_lines_is_full(p->lines, k) && !(st = check_stop(p, err)))
            st = run_line(p, k, spectra, err);
    return st;
}

/* Where the trials of a line will end, as if none had a sweep: where bins have been added or removed
 * they lie no more in line.  No sample that was given out lies beyond the first end.
 * Returned: *first, *last   the earliest and the latest */
static psr_status find_ends(struct psr_pipeline *p, size_t line, int64_t *first, int64_t *last,
                            psr_err *err)
{
    const struct psr_sink_line *l = &p->line[line];
    const size_t maxshift = psr_lines_maxshift(p->lines, line);
    const int64_t nout = psr_lines_nout(p->lines, line);
    const int64_t ended = psr_lines_length(p->lines, line, maxshift);
    *first = *last = psr_lines_length(p->lines, line, 0);
    if (!psr_stage_barycentre_moves(p->barycentre))
        return PSR_OK;
    for (size_t i = 0; i < l->nseries; i++) {
        size_t n = (size_t)(psr_lines_length(p->lines, line, l->shift[i]) - ended), more;
        psr_status st = psr_stage_barycentre_count_next(p->barycentre, line, n, &more, err);
        if (st)
            return st;
        const int64_t end = nout + (int64_t)(more + l->shift[i]);
        *first = i == 0 || end < *first ? end : *first;
        *last = i == 0 || end > *last ? end : *last;
    }
    if (*first < nout + (int64_t)maxshift)
        *first = nout + (int64_t)maxshift;
    return PSR_OK;
}

/* Announces to sinks where each trial ends: samples that depend on input beyond its end hold no data.
 * Of several ends the earliest counts. */
static psr_status announce_end(struct psr_pipeline *p, size_t line, psr_err *err)
{
    const int64_t maxshift = (int64_t)psr_lines_maxshift(p->lines, line);
    int64_t first, last;
    psr_status st = find_ends(p, line, &first, &last, err);
    if (st)
        return st;
    const struct psr_span beyond = {first, last - first + maxshift + maxshift / 50 + 4};
    return psr_sinks_gap(p->sinks, line, beyond, false, err);
}

/* An endless input ends when the caller says so. */
static bool ends_live(const struct psr_pipeline *p)
{
    return p->d.live && p->d.should_stop && p->d.should_stop(p->d.ctx);
}

/* Processes one block; an empty one is the last. */
static psr_status pipeline_take_block(struct psr_pipeline *p, bool *last, psr_err *err)
{
    struct psr_block block;
    double since_s = psr_seconds();
    psr_status st = psr_read_ahead_next(p->reader, &block, err);
    psr_charge(&p->read_s, &since_s);
    if (st && ends_live(p)) { /* a signal ends a read */
        st = PSR_OK;
        block.n = 0;
    }
    if (st)
        return st;
    *last = block.n == 0;
    p->nread += (int64_t)block.n;
    block.nread = p->nread;
    block.read_s = since_s;
    if (p->dump)
        psr_dump_push(p->dump, block.spectra, block.n);
    st = psr_stage_clean_run(p->clean, &block, err);
    psr_charge(&p->clean_s, &since_s);
    if (!st && block.n > 0)
        st = run_lines(p, &block, err);
    if (!st && *last) {
        /* Blank spectra complete the samples of trials with less than the longest sweep. */
        size_t left, most = psr_lines_block(p->lines);
        st = psr_lines_end(p->lines, &left, err);
        for (size_t k = 0; k < p->trials.nline && left && !st; k++)
            if (!psr_lines_is_full(p->lines, k))
                st = announce_end(p, k, err);
        while (left && !st) {
            size_t n = left < most ? left : most;
            psr_stage_clean_blank(p->clean, &block, n);
            st = run_lines(p, &block, err);
            left -= n;
        }
    }
    if (!st && p->d.progress)
        p->d.progress(p->d.ctx, p->nread);
    return st;
}

/* Processes a block, unless all are done.  Returned: *last, which is false before the first */
static psr_status pipeline_turn(struct psr_pipeline *p, bool *last, psr_err *err)
{
    psr_status st = check_stop(p, err);
    if (!st && !*last && !psr_lines_are_full(p->lines)) {
        if (ends_live(p))
            psr_read_ahead_end(p->reader);
        st = pipeline_take_block(p, last, err);
    } else {
        *last = true;
    }
    return st;
}

/* Processes blocks until the input ends, the series are full or the caller stops. */
static psr_status pipeline_loop(struct psr_pipeline *p, psr_err *err)
{
    bool last = false;
    psr_status st = PSR_OK;
    while (!st && !last)
        st = pipeline_turn(p, &last, err);
    return st ? st : check_stop(p, err);
}

/* Writes what was removed beside the series or events. */
static psr_status write_cleaning(const struct psr_pipeline *p, psr_err *err)
{
    const psr_clean_auto *clean = psr_stage_clean_auto(p->clean);
    if (!clean || !p->group || !strcmp(p->d.root, "-"))
        return PSR_OK;
    struct psr_clean_auto_report report;
    psr_clean_auto_describe(clean, &report);
    return psr_clean_files_write(p->group, p->d.root, p->input.name, p->input.obs, &report, err);
}

/* Completes the files of the group. */
static psr_status pipeline_complete(struct psr_pipeline *p, psr_err *err)
{
    size_t nline = p->trials.nline;
    psr_status st = check_stop(p, err);
    struct psr_sink_end *end = calloc(nline, sizeof *end);
    if (!st && !end)
        st = psr_fail_nomem(err, "the lines of a plan", (double)nline * sizeof *end);
    for (size_t k = 0; k < nline && !st; k++) {
        /* Bins that were added must not be what a good length cuts; PRESTO knows of none. */
        int64_t nout = psr_lines_nout(p->lines, k);
        int64_t length = p->nread / p->trials.line[k].downsamp;
        bool presto = p->d.presto;
        end[k] = (struct psr_sink_end){
            .nout = nout,
            .length = length > nout || presto ? length : nout,
            .has_padding = presto,
            .padding = (float)psr_stage_barycentre_mean(p->barycentre),
        };
        if (!p->d.live && !psr_lines_is_full(p->lines, k))
            st = psr_lines_check_length(p->lines, k, p->nread, err);
    }
    if (!st && p->provenance)
        psr_provenance_check(p->provenance, &p->trials);
    if (!st)
        st = write_cleaning(p, err);
    if (!st)
        st = psr_sinks_finish(p->sinks, end, err);
    if (!st && p->dump)
        psr_dump_finish(p->dump);
    free(end);
    return st;
}

/* --- the public functions --------------------------------------------------------------------- */

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
            st = pipeline_loop(&one, err);
        if (!st)
            st = pipeline_complete(&one, err);
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
    return p->lines ? fail_run(p, pipeline_loop(p, err), err) : PSR_OK;
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
            st = pipeline_take_block(p, &last, err);
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
        st = pipeline_loop(p, err);
    if (!st)
        st = pipeline_complete(p, err);
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

static psr_status share_plan(psr_pipeline *const *p, size_t n, psr_err *err)
{
    struct psr_dedispersion_desc *d = calloc(n + 1, sizeof *d);
    bool all = true;
    if (!d)
        return psr_fail_nomem(err, "beams", (double)n * sizeof *d);
    for (size_t k = 0; k < n && all; k++) {
        all = !runs_by_lines(p[k]) && p[k]->trials.ndm &&
              psr_pipeline_dedispersion(p[k]) == &psr_dedispersion_direct;
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
            st = fail_run(p[k], pipeline_turn(p[k], &done[k], err), err);
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
