/* Records how series were made, and finds those that an earlier run completed. */
#include "pipeline_state.h"

#include "formats/series/series_internal.h"
#include "run/dedisperse/pulses/pulse_parts.h"
#include <math.h>
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

bool psr_pipeline_is_late(const struct psr_pipeline *p)
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
        .late = psr_pipeline_is_late(p),
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
