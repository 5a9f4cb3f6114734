/* Checks and claims the output files of a pipeline, and describes the run to sinks. */
#include "pipeline_state.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "base/input/tar_read.h"
#include "base/output/outfile_internal.h"
#include "formats/series/series_internal.h"
#include "run/common/stage_clean.h"
#include <psrkit/experimental/outfile.h>
#include <psrkit/series.h>
#include <stdlib.h>
#include <string.h>

static bool has_files(const struct psr_pipeline *p)
{
    return p->d.files || p->d.pulses || p->d.fourier || p->d.ffa;
}

static bool packs(const struct psr_pipeline *p)
{
    return p->d.pack && has_files(p) && strcmp(p->d.root, "-") != 0;
}

static psr_status check_name(void *ctx, const char *name, psr_err *err)
{
    return psr_overwrite_check_output(ctx, name, NULL, err);
}

/* Whether complete series are recorded: their input must be files, of which it is known that they are the same. */
static bool records(const struct psr_pipeline *p)
{
    bool files =
        (p->d.fourier || p->d.ffa) && p->d.npath && !p->d.presto && strcmp(p->d.root, "-") != 0;
    for (size_t k = 0; k < p->d.npath && files; k++)
        files = psr_is_regular(p->d.path[k]);
    return files;
}

/* ROOT.lists or another; NULL for lack of memory. */
static char *name_with(const struct psr_pipeline *p, const char *suffix)
{
    char *name = malloc(strlen(p->d.root) + strlen(suffix) + 1);
    return name ? strcat(strcpy(name, p->d.root), suffix) : NULL;
}

static psr_status check_with(const struct psr_pipeline *p, const char *suffix,
                             struct psr_overwrite_check *c, psr_err *err)
{
    char *name = name_with(p, suffix);
    psr_status st = name ? psr_overwrite_check_output(c, name, NULL, err)
                         : psr_fail_nomem(err, p->d.root, (double)strlen(p->d.root));
    free(name);
    return st;
}

/* Checked first, as the message says more than that a name is taken. */
static psr_status check_trials(const struct psr_pipeline *p, psr_err *err)
{
    const bool has_inf = p->d.files == PSR_FILES_DAT;
    return psr_series_check(
        &(struct psr_series_desc){.size = sizeof(struct psr_series_desc),
                                  .root = p->d.root,
                                  .format = has_inf ? PSR_SERIES_DAT : PSR_SERIES_TIM,
                                  .dm_decimals = (int)p->d.dm_decimals,
                                  .ndm = psr_trials_whole_ndm(&p->trials),
                                  .dm = p->trials.dm,
                                  .tsamp_s = 1},
        err);
}

psr_status psr_pipeline_check_names(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    const bool files = has_files(p), piped = files && !strcmp(d->root, "-");
    struct psr_overwrite_check c = {0};
    char *stats = d->mask ? psr_path_beside(d->mask, ".stats") : NULL;
    char *inf = d->npath ? psr_subbands_inf(d->path[0]) : NULL;
    const char *const beside[] = {d->mask,
                                  stats,
                                  d->dms,
                                  d->plan,
                                  d->ignorechan,
                                  d->fourier ? d->fourier->zaplist : NULL,
                                  d->ffa ? d->ffa->zaplist : NULL,
                                  inf};
    psr_status st = PSR_OK;
    for (size_t k = 0; k < d->npath && !st; k++)
        st = psr_overwrite_check_input(&c, d->path[k], err);
    for (size_t k = 0; k < sizeof beside / sizeof *beside && !st; k++)
        st = psr_overwrite_check_input(&c, beside[k], err);
    for (size_t k = 0; k < d->nbeside && !st; k++)
        st = psr_overwrite_check_input(&c, d->beside[k], err);
    free(stats);
    free(inf);
    if (!st && files && !piped)
        st = check_trials(p, err);
    if (!st && files && !piped)
        st = psr_sinks_names(p->sinks, &p->stream, check_name, &c, err);
    if (!st && files && !piped && d->clean_auto)
        st = psr_clean_files_names(d->root, check_name, &c, err);
    if (!st && packs(p))
        st = check_with(p, PSR_LISTS, &c, err);
    if (!st && records(p))
        st = check_with(p, PSR_RECORD, &c, err);
    if (!st && piped)
        st = psr_overwrite_check_output(&c, d->root, NULL, err);
    if (!st)
        st = psr_overwrite_check_optional(&c, d->also, err);
    psr_overwrite_check_clear(&c);
    return st;
}

/* Prevents other runs from writing the same files. */
psr_status psr_pipeline_claim_outputs(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    struct psr_output_group_desc claim =
        psr_series_claim(&(struct psr_series_desc){.size = sizeof(struct psr_series_desc),
                                                   .root = d->root,
                                                   .dm_decimals = (int)d->dm_decimals,
                                                   .ndm = p->trials.ndm,
                                                   .dm = p->trials.dm});
    claim.common = d->pulses || d->clean_auto || d->pack;
    claim.notes = d->notes;
    if (d->files == PSR_FILES_SUBBANDS)
        claim.kind = "sub";
    if (p->group || !has_files(p))
        return PSR_OK;
    psr_status st = psr_output_group_create(&p->group, &claim, err);
    char *name = !st && packs(p) ? name_with(p, PSR_LISTS) : NULL;
    if (!st && packs(p))
        st = name ? psr_output_group_pack(p->group, name, err)
                  : psr_fail_nomem(err, d->root, (double)strlen(d->root));
    free(name);
    return st;
}

psr_status psr_pipeline_open_record(struct psr_pipeline *p, psr_err *err)
{
    if (!p->group || !p->provenance || !records(p))
        return PSR_OK;
    const struct timespec changed = psr_provenance_changed(p->provenance);
    const int64_t when[] = {(int64_t)changed.tv_sec, (int64_t)changed.tv_nsec};
    char *name = name_with(p, PSR_RECORD);
    psr_status st =
        name ? psr_output_group_record(p->group, name,
                                       psr_digest_bytes(PSR_DIGEST_START, when, sizeof when), err)
             : psr_fail_nomem(err, p->d.root, (double)strlen(p->d.root));
    free(name);
    return st;
}

/* --- description of the run for sinks --------------------------------------------------------- */

/* Edges of the band, or of the part of it that a line is of. */
static void describe_band(const struct psr_pipeline *p, const struct psr_line *l,
                          struct psr_sink_line *out)
{
    const struct psr_obs *obs = p->input.obs;
    const struct psr_band_part *part = l->part ? &p->trials.part[l->part - 1] : NULL;
    const struct psr_obs_band band = psr_obs_band(obs);
    const double half_mhz = band.chan_mhz / 2;
    out->part = l->part;
    out->least_width = l->least_width;
    out->low_mhz = (part ? part->low_mhz : band.lowest_mhz) - half_mhz;
    out->high_mhz = (part ? part->high_mhz : band.highest_mhz) + half_mhz;
}

/* Properties known from trials and input; updated when trials have been dropped. */
psr_status psr_pipeline_describe_stream(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    const struct psr_trial_list *t = &p->trials;
    const struct psr_input_file *in = &p->input;
    struct psr_sink_line *line = calloc(t->nline, sizeof *line);
    if (!line)
        return psr_fail_nomem(err, "the lines of a plan", (double)t->nline * sizeof *line);
    for (size_t k = 0; k < t->nline; k++) {
        const struct psr_line *l = &t->line[k];
        line[k] = (struct psr_sink_line){
            .first = l->first,
            .nseries = d->files == PSR_FILES_SUBBANDS
                           ? psr_line_count_subbands(l, in->obs, in->inf != NULL)
                           : l->ndm,
            .downsamp = l->downsamp,
            .tsamp_s = in->obs->tsamp_s * (double)l->downsamp,
            .note = *l->note ? l->note : NULL,
        };
        describe_band(p, l, &line[k]);
    }
    free(p->line);
    p->line = line;
    p->stream = (struct psr_sink_stream){
        .input = in->name,
        .obs = p->barycentre ? psr_stage_barycentre_obs(p->barycentre) : in->obs,
        .inf = in->inf,
        .file_nbit = in->file_nbit,
        .dm = t->dm,
        .ndm = t->ndm,
        .line = line,
        .nline = t->nline,
        .presto = d->presto,
        .numout = d->numout,
        .root = d->root,
        .dm_decimals = (int)d->dm_decimals,
        .group = p->group,
        .nthread = p->nthread,
        .notes = d->notes,
        .should_stop = d->should_stop,
        .ctx = d->ctx,
        .searched = d->searched,
    };
    return PSR_OK;
}

psr_status psr_pipeline_list_epochs(struct psr_pipeline *p, psr_err *err)
{
    size_t ndm = p->trials.ndm;
    free(p->epoch);
    p->epoch = calloc(ndm, sizeof *p->epoch);
    if (!p->epoch)
        return psr_fail_nomem(err, "epochs", (double)ndm * sizeof *p->epoch);
    for (size_t i = 0; i < ndm; i++)
        p->epoch[i] = psr_stage_barycentre_epoch(p->barycentre, p->trials.dm[i]);
    p->stream.epoch = p->epoch;
    return PSR_OK;
}

psr_status psr_pipeline_list_shifts(struct psr_pipeline *p, psr_err *err)
{
    p->shift = calloc(p->trials.ndm, sizeof *p->shift);
    if (!p->shift)
        return psr_fail_nomem(err, "the sweep of each trial", (double)p->trials.ndm * 8);
    for (size_t k = 0; k < p->trials.nline; k++) {
        const psr_dedisp *plan = psr_lines_plan(p->lines, k);
        struct psr_sink_line *l = &p->line[k];
        for (size_t i = 0; plan && i < l->nseries; i++)
            p->shift[l->first + i] = psr_dedisp_shift(plan, i);
        l->shift = plan ? p->shift + l->first : NULL;
        l->late = psr_pipeline_is_late(p);
    }
    return PSR_OK;
}
