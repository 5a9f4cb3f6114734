/* Runs the loop of a pipeline: blocks from the reader through all stages, and the end. */
#include "pipeline_state.h"

#include "base/base.h"
#include "run/common/stage_clean.h"
#include <stdlib.h>
#include <string.h>

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
    while (!st && psr_lines_next_gap(p->lines, line, spectra, &gap)) {
        st = psr_stage_barycentre_span(p->barycentre, line, maxshift, &gap, err);
        if (!st)
            st = psr_sinks_gap(p->sinks, line, gap, err);
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
    return psr_sinks_gap(p->sinks, line, beyond, err);
}

/* An endless input ends when the caller says so. */
static bool ends_live(const struct psr_pipeline *p)
{
    return p->d.live && p->d.should_stop && p->d.should_stop(p->d.ctx);
}

psr_status psr_pipeline_take_block(struct psr_pipeline *p, bool *last, psr_err *err)
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

psr_status psr_pipeline_turn(struct psr_pipeline *p, bool *last, psr_err *err)
{
    psr_status st = check_stop(p, err);
    if (!st && !*last && !psr_lines_are_full(p->lines)) {
        if (ends_live(p))
            psr_read_ahead_end(p->reader);
        st = psr_pipeline_take_block(p, last, err);
    } else {
        *last = true;
    }
    return st;
}

psr_status psr_pipeline_loop(struct psr_pipeline *p, psr_err *err)
{
    bool last = false;
    psr_status st = PSR_OK;
    while (!st && !last)
        st = psr_pipeline_turn(p, &last, err);
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

psr_status psr_pipeline_complete(struct psr_pipeline *p, psr_err *err)
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
        st = p->d.live ? PSR_OK : psr_lines_check_length(p->lines, k, p->nread, err);
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
