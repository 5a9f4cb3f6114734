/* The outputs of a pipeline: checks and claims them, records how series were made, finds those that an earlier run completed. */
#include "pipeline_state.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "base/input/tar_read.h"
#include "base/output/outfile_internal.h"
#include "formats/series/series_internal.h"
#include "run/common/stage_clean.h"
#include "run/dedisperse/pulses/pulse_parts.h"
#include <math.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/series.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct psr_dedispersion_ops *psr_pipeline_dedispersion(const struct psr_pipeline *p)
{
    return p->d.presto                        ? &psr_dedispersion_presto
           : p->d.files == PSR_FILES_SUBBANDS ? &psr_dedispersion_subbands
           : p->shared                        ? &psr_dedispersion_beams
                                              : &psr_dedispersion_direct;
}

/* Whether a live search has series that end with the latest sample at each DM; devices have none. */
static bool pipeline_is_late(const struct psr_pipeline *p)
{
    const struct psr_pipeline_desc *d = &p->d;
    const struct psr_dedispersion_ops *ops = psr_pipeline_dedispersion(p);
    return d->live && d->algo != PSR_DEDISP_SUBBAND && ops->backend &&
           !strcmp(ops->backend(d->device), "cpu");
}

double psr_pipeline_wait_s(const struct psr_pipeline *p)
{
    double most_s = 0;
    for (size_t k = 0; p->d.live && k < p->trials.nline; k++)
        most_s = fmax(most_s, psr_pulse_wait_s(p->d.live->search, p->line[k].tsamp_s));
    return most_s;
}

/* Spectra; 0: as many as are fast.  Blocks end within sums, and a sample of each line is not complete then. */
static size_t choose_block(const struct psr_pipeline *p)
{
    const double tsamp_s = p->input.obs->tsamp_s, wait_s = psr_pipeline_wait_s(p);
    double block_s = p->d.block_s;
    if (!p->d.live)
        return (size_t)(block_s / tsamp_s);
    double sum_s = 0;
    for (size_t k = 0; k < p->trials.nline; k++)
        sum_s = fmax(sum_s, p->line[k].tsamp_s);
    block_s = block_s > 0 ? block_s - wait_s - 2 * sum_s : 0.1;
    return block_s > tsamp_s ? (size_t)(block_s / tsamp_s) : 1;
}

struct psr_dedispersion_desc psr_pipeline_describe_dedispersion(const struct psr_pipeline *p)
{
    const struct psr_pipeline_desc *d = &p->d;
    return (struct psr_dedispersion_desc){
        .input = p->input.name,
        .trials = &p->trials,
        .obs = p->input.obs,
        .inf = p->input.inf,
        .keep = psr_stage_clean_keep(p->clean),
        .voverc = psr_stage_barycentre_voverc(p->barycentre),
        .dmconst = d->dmconst,
        .two_steps = d->algo == PSR_DEDISP_SUBBAND,
        .tree = d->algo == PSR_DEDISP_TREE,
        .smear = d->smear,
        .tol = (int)d->tol,
        .late = pipeline_is_late(p),
        .any_length = !psr_pipeline_has_series(d) && !d->fourier && !d->ffa && !d->sametail,
        .device = d->device,
        .nthread = d->nthread,
        .mem_bytes = d->mem_bytes,
        .shared = p->shared,
        .beam = p->beam,
        .most_block = choose_block(p),
        .nbit = psr_stage_clean_nbit(p->clean),
        .kind = psr_stage_clean_kind(p->clean),
        .read_bytes = p->input.row_bytes,
        .cleaned_bytes = psr_stage_clean_row_bytes(p->clean),
        .clean = psr_stage_clean_plan(p->clean),
        .clean_block = psr_stage_clean_block(p->clean),
        .clean_bytes = psr_stage_clean_bytes(p->clean),
        .equalise = d->clean_auto && (d->pulses || d->live),
        .mask = psr_stage_clean_mask(p->clean),
        .clip_sigma = d->noclip ? 0 : d->clip_sigma,
        .zerodm = d->zerodm,
        .invert = d->invert,
        .subbands = d->files == PSR_FILES_SUBBANDS,
    };
}

static bool is_two_steps(const struct psr_pipeline *p, const struct psr_line *l)
{
    return p->d.algo == PSR_DEDISP_SUBBAND && l->nsub > 0;
}

/* Sums of floats may depend on which trials share them; those of integers are exact. */
static bool has_floats(const struct psr_pipeline *p)
{
    return psr_stage_clean_nbit(p->clean) == 32;
}

static bool is_independent(const struct psr_pipeline *p, const struct psr_line *l)
{
    return !is_two_steps(p, l) && p->d.algo != PSR_DEDISP_TREE && !p->d.tol && !has_floats(p);
}

/* With -sametail the longest sweep decides on the length of all series of a line. */
static psr_status describe_making(const struct psr_pipeline *p, size_t line,
                                  struct psr_provenance_line *how, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    const struct psr_line *l = &p->trials.line[line];
    const struct psr_dedispersion_ops *ops = psr_pipeline_dedispersion(p);
    const struct psr_dedispersion_desc desc = psr_pipeline_describe_dedispersion(p);
    bool two_steps = is_two_steps(p, l);
    size_t maxshift = 0;
    psr_status st =
        ops->maxshift && d->sametail ? ops->maxshift(&desc, line, &maxshift, err) : PSR_OK;
    *how = (struct psr_provenance_line){
        .algo = "direct",
        .kind = two_steps                        ? "subband"
                : d->algo == PSR_DEDISP_TREE     ? "tree"
                : d->files == PSR_FILES_SUBBANDS ? "sub"
                                                 : "direct",
        .by_nsub = two_steps || d->files == PSR_FILES_SUBBANDS,
        .independent = is_independent(p, l),
        .maxshift = maxshift,
    };
    if (d->files == PSR_FILES_SUBBANDS)
        strcpy(how->algo, "sub-bands");
    else if (two_steps)
        snprintf(how->algo, sizeof how->algo, "subband %lld", (long long)l->nsub);
    else if (d->algo == PSR_DEDISP_TREE)
        snprintf(how->algo, sizeof how->algo, "tree %.6g",
                 d->smear > 0 ? d->smear : PSR_DEDISP_SMEAR);
    else if (d->tol)
        snprintf(how->algo, sizeof how->algo, "direct tol %lld", (long long)d->tol);
    return st;
}

static const char *name_backend(const struct psr_pipeline *p)
{
    const struct psr_dedispersion_ops *ops = psr_pipeline_dedispersion(p);
    if (p->d.algo == PSR_DEDISP_TREE)
        return NULL;
    return !has_floats(p) ? NULL : ops->backend ? ops->backend(p->d.device) : "cpu";
}

psr_status psr_pipeline_mark_series(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    const struct psr_provenance_part part[] = {
        {&d->input, sizeof d->input},
        {&d->no_weights, sizeof d->no_weights},
        {&d->no_scales, sizeof d->no_scales},
        {&d->no_offsets, sizeof d->no_offsets},
        {&d->invert, sizeof d->invert},
        {&d->if_choice, sizeof d->if_choice},
        {&d->pols, sizeof d->pols},
        {&d->offset, sizeof d->offset},
        {&d->start, sizeof d->start},
        {&d->clip_sigma, sizeof d->clip_sigma},
        {&d->noclip, sizeof d->noclip},
        {&d->zerodm, sizeof d->zerodm},
        {&d->clean_auto, sizeof d->clean_auto},
        {&d->clean_weights, sizeof d->clean_weights},
        {&d->runavg, sizeof d->runavg},
        {&d->tol, sizeof d->tol},
        {&d->smear, sizeof d->smear},
        {&d->nobary, sizeof d->nobary},
        {&d->numout, sizeof d->numout},
        {&d->nopad, sizeof d->nopad},
        {&d->sametail, sizeof d->sametail},
        {&d->dmconst, sizeof d->dmconst},
        {psr_stage_clean_keep(p->clean), p->input.obs->nchan},
    };
    const char *const text[] = {d->site, d->position};
    size_t nline = p->trials.nline;
    struct psr_provenance_line *how = calloc(nline, sizeof *how);
    psr_status st = how ? PSR_OK : psr_fail_nomem(err, "provenance", (double)nline * sizeof *how);
    for (size_t k = 0; k < nline && !st; k++)
        st = describe_making(p, k, &how[k], err);
    if (!st)
        st = psr_provenance_create(&p->provenance,
                                   &(struct psr_provenance_desc){
                                       .program = d->program,
                                       .path = d->path,
                                       .npath = d->npath,
                                       .nsamp = p->input.obs->nsamp,
                                       .part = part,
                                       .npart = sizeof part / sizeof *part,
                                       .text = text,
                                       .ntext = sizeof text / sizeof *text,
                                       .mask = psr_stage_clean_mask(p->clean),
                                       .backend = name_backend(p),
                                   },
                                   err);
    if (!st)
        psr_provenance_mark(p->provenance, &p->trials, how);
    free(how);
    return st;
}

/* --- what is there ---------------------------------------------------------------------------- */

/* Where the trial of the longest sweep is left out, the others could have more samples than they had
 * with it. */
static psr_status bound_lengths(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_dedispersion_ops *ops = psr_pipeline_dedispersion(p);
    const struct psr_dedispersion_desc desc = psr_pipeline_describe_dedispersion(p);
    psr_status st = PSR_OK;
    for (size_t k = 0; k < p->trials.nline && !st; k++) {
        struct psr_line *l = &p->trials.line[k];
        size_t maxshift = 0;
        st = ops->maxshift(&desc, k, &maxshift, err);
        l->most = p->input.obs->nsamp / l->downsamp - (int64_t)maxshift;
    }
    return st;
}

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Marks trials that exist already. */
static psr_status find_done(const struct psr_pipeline *p, bool *done, size_t *ndone, psr_err *err)
{
    const struct psr_trial_list *t = &p->trials;
    double *tsamp_s = calloc(t->ndm, sizeof *tsamp_s);
    const char **note = calloc(t->ndm, sizeof *note);
    bool *independent = calloc(t->nline, sizeof *independent);
    psr_status st = PSR_OK;
    if (!tsamp_s || !note || !independent) {
        st = psr_fail_nomem(err, "the list of series", (double)t->ndm * 16);
        goto done;
    }
    for (size_t k = 0; k < t->nline; k++) {
        const struct psr_line *l = &t->line[k];
        independent[k] = is_independent(p, l);
        for (size_t i = l->first; i < l->first + l->ndm; i++) {
            tsamp_s[i] = p->line[k].tsamp_s;
            note[i] = l->note;
        }
    }
    const struct psr_series_desc *series =
        &(struct psr_series_desc){.size = sizeof(struct psr_series_desc),
                                  .root = p->d.root,
                                  .format = PSR_SERIES_DAT,
                                  .dm_decimals = (int)p->d.dm_decimals,
                                  .ndm = t->ndm,
                                  .dm = t->dm,
                                  .obs = p->stream.obs,
                                  .epoch = p->epoch,
                                  .each_tsamp_s = tsamp_s,
                                  .each_note = note};
    struct timespec changed = psr_provenance_changed(p->provenance);
    *ndone = 0;
    for (size_t k = 0; k < t->nline; k++) {
        const struct psr_line *l = &t->line[k];
        bool *of = done + l->first;
        for (size_t i = 0; i < l->ndm; i++) {
            struct timespec made;
            of[i] = psr_series_exists(series, l->first + i, &made) && is_later(made, changed);
        }
        if (!independent[k] && memchr(of, false, l->ndm))
            memset(of, false, l->ndm);
        for (size_t i = 0; i < l->ndm; i++)
            *ndone += of[i];
    }
done:
    free(tsamp_s);
    free(note);
    free(independent);
    return st;
}

psr_status psr_pipeline_resume(struct psr_pipeline *p, psr_err *err)
{
    size_t all = p->trials.ndm, n = 0;
    if (p->input.obs->nsamp < 0)
        return psr_fail_field(err, PSR_EINVAL, "resume",
                              "%s: -resume needs files, which can be told again", p->input.name);
    bool *done = calloc(all, sizeof *done);
    psr_status st = done ? PSR_OK : psr_fail_nomem(err, "the list of trials", (double)all);
    if (!st)
        st = find_done(p, done, &n, err);
    if (!st)
        psr_note(&p->d.notes, "%zu of %zu trials are there already and stay as they are", n, all);
    if (!st && n > 0 && p->d.sametail)
        st = bound_lengths(p, err);
    if (!st && n > 0)
        psr_trials_drop(&p->trials, done);
    free(done);
    return st;
}

/* --- checks and claims the output files of a pipeline, and describes the run to sinks --------- */

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

/* Whether complete series are recorded, or single pulses where none are written: their input must be files, of which it is
 * known that they are the same. */
static bool records(const struct psr_pipeline *p)
{
    const struct psr_pipeline_desc *d = &p->d;
    const bool searches = d->fourier || d->ffa || (d->pulses && !d->files);
    bool files = searches && d->npath && !d->presto && strcmp(d->root, "-") != 0;
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
        .marked = d->marked,
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
        l->late = pipeline_is_late(p);
    }
    return PSR_OK;
}
