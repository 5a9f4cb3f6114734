/* Reports the properties and progress of a pipeline. */
#include "pipeline_state.h"

#include "base/clock.h"
#include "base/copy_desc.h"
#include "rfi/rules/clean_internal.h"
#include <stdlib.h>

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
