/* Creates the parts of a pipeline from its description, and makes all checks. */
#include "pipeline_state.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "base/threads/threads.h"
#include "compat/presto/dedisp_presto.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/series.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Threads that copy a file from the page cache as fast as memory goes; windows of cleaning after which gaps have been told. */
enum { READERS = 8, LIVE_GAPS = 8 };

psr_status psr_pipeline_make_trials(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    const struct psr_line_limits own = {"", PSR_PIPELINE_NDM, PSR_PIPELINE_DOWNSAMP, INT64_MAX},
                                 presto = {"prepsubband's ", PSR_PRESTO_NDM, PSR_PRESTO_DOWNSAMP,
                                           PSR_PRESTO_NSUB};
    const struct psr_line line = {.ndm = (size_t)d->ndm, .downsamp = d->downsamp, .nsub = d->nsub};
    struct psr_trial_list *t = &p->trials;
    if (!d->plan)
        return d->dms ? psr_trials_read_dms(t, d->dms, line, err)
                      : psr_trials_make(t, line, d->dm, d->lodm, d->dmstep, err);
    psr_status st = psr_trials_read_plan(t, d->plan, d->presto ? &presto : &own, err);
    if (!st && d->algo == PSR_DEDISP_SUBBAND && !psr_trials_have_nsub(t))
        st = psr_fail_field(err, PSR_EINVAL, "algo",
                            "%s: -algo subband, and no line has sub-bands (nsub 0)", t->plan_name);
    return st;
}

static struct psr_source_desc describe_source(const struct psr_pipeline *p)
{
    const struct psr_pipeline_desc *d = &p->d;
    return (struct psr_source_desc){
        .size = sizeof(struct psr_source_desc),
        .path = d->path,
        .npath = d->npath,
        .input = d->input,
        .if_choice = (int)d->if_choice,
        .invert = d->invert,
        .no_weights = d->no_weights,
        .no_scales = d->no_scales,
        .no_offsets = d->no_offsets,
        .as_presto = d->presto,
        .runavg = d->runavg,
        .skip = d->offset,
        .nthread = p->nthread < READERS ? p->nthread : READERS,
        .notes = d->notes,
        .should_stop = d->live ? d->should_stop : NULL,
        .stop_ctx = d->ctx,
        .drop_s = d->drop_s,
        .pols = d->pols,
    };
}

static psr_status open_input(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    return psr_input_open(&p->input,
                          &(struct psr_input_desc){
                              .source = describe_source(p),
                              .obs = d->obs,
                              .start = d->start,
                              .presto = d->presto,
                              .trials = &p->trials,
                          },
                          err);
}

/* The mean over channels: that over the band by their number. */
static psr_status scrunch_trials(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    const struct psr_obs *obs = p->input.obs;
    if (!(d->scrunch > 0) || obs->nchan < 2)
        return PSR_OK;
    double sweep_s = psr_delay_s(d->dmconst, 1, psr_obs_lowest_mhz(obs)) -
                     psr_delay_s(d->dmconst, 1, psr_obs_highest_mhz(obs));
    return psr_trials_scrunch(&p->trials, sweep_s / obs->tsamp_s / (double)(obs->nchan - 1),
                              d->scrunch, PSR_PIPELINE_DOWNSAMP, err);
}

/* Notes which fields have no effect. */
static void note_ignored_options(const struct psr_pipeline *p)
{
    const struct psr_pipeline_desc *d = &p->d;
    bool opened = p->input.obs, from_subbands = p->input.inf;
    if (psr_trials_have_nsub(&p->trials) && d->algo != PSR_DEDISP_SUBBAND && !d->presto &&
        d->files != PSR_FILES_SUBBANDS)
        psr_note(&d->notes, "-nsub is not needed: direct is exact (-algo subband honours it)");
    if (d->runavg && opened && !from_subbands)
        psr_note(&d->notes, "-runavg is for files of sub-bands only: ignored");
    if (d->ignorechan && d->presto && from_subbands)
        psr_note(&d->notes, "-ignorechan is not for files of sub-bands, says prepsubband: ignored");
    if (d->files == PSR_FILES_SUBBANDS && !d->nobary)
        psr_note(&d->notes, "sub-bands are not barycentred: their times stay topocentric");
}

/* --- the rooms -------------------------------------------------------------------------------- */

/* The first of the devices that dedisperse.  What is wrong with them dedispersion tells. */
static const char *choose_cleaner(const struct psr_pipeline *p, int *device)
{
    const struct psr_pipeline_desc *d = &p->d;
    const struct psr_dedispersion_ops *ops = psr_pipeline_dedispersion(p);
    struct psr_device_choice choice;
    *device = 0;
    if (!d->clean_auto || !ops->backend || psr_devices_choose(&choice, d->device, NULL))
        return NULL;
    *device = choice.ndevice ? choice.devices[0] : choice.device;
    return ops->backend(d->device);
}

static psr_status create_clean(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    int device;
    const char *backend = choose_cleaner(p, &device);
    return psr_stage_clean_create(&p->clean,
                                  &(struct psr_stage_clean_desc){
                                      .input = p->input.name,
                                      .obs = p->input.obs,
                                      .from_subbands = p->input.inf != NULL,
                                      .ignorechan = d->ignorechan,
                                      .mask = d->mask,
                                      .clip_sigma = d->noclip ? 0 : d->clip_sigma,
                                      .zerodm = d->zerodm,
                                      .floats = d->files == PSR_FILES_SUBBANDS,
                                      .automatic = d->clean_auto,
                                      .weights = d->clean_weights,
                                      .endless = d->live != NULL,
                                      .backend = backend,
                                      .device = device,
                                      .presto = d->presto,
                                      .nthread = (int)d->nthread,
                                      .mem_bytes = d->mem_bytes,
                                  },
                                  err);
}

/* What was given of the position is for series, of which there are none beside sub-bands. */
static psr_status create_barycentre(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    struct psr_presto_view view;
    if (d->presto)
        psr_presto_view_make(&view, p->input.obs, d->invert);
    return psr_stage_barycentre_create(
        &p->barycentre,
        &(struct psr_stage_barycentre_desc){
            .input = p->input.name,
            .obs = d->presto ? &view.obs : p->input.obs,
            .off = d->nobary || d->files == PSR_FILES_SUBBANDS,
            .position = d->files == PSR_FILES_SUBBANDS ? NULL : d->position,
            .site = d->site,
            .ephem = d->ephem,
            .dmconst = d->dmconst,
            .presto = d->presto,
            .notes = d->notes,
        },
        err);
}

static psr_status create_lines(struct psr_pipeline *p, psr_err *err)
{
    psr_status st = psr_lines_create(
        &p->lines,
        &(struct psr_lines_desc){.ops = psr_pipeline_dedispersion(p),
                                 .dedispersion = psr_pipeline_describe_dedispersion(p),
                                 .numout = p->d.numout,
                                 .same_end = p->d.sametail},
        err);
    int64_t nsamp = p->input.obs->nsamp;
    for (size_t k = 0; k < p->trials.nline && nsamp >= 0 && !st; k++)
        st = psr_lines_check_length(p->lines, k, nsamp, err);
    return st;
}

/* Blocks, and series as they are dedispersed and barycentred: how long, and where they lie. */
static psr_status reserve(struct psr_pipeline *p, size_t nsamp, psr_err *err)
{
    size_t nline = p->trials.nline;
    struct psr_stage_barycentre_line *moved = calloc(nline, sizeof *moved);
    size_t *stride = calloc(nline, sizeof *stride);
    bool *resident = calloc(nline, sizeof *resident);
    psr_status st = PSR_OK;
    if (!moved || !stride || !resident)
        st = psr_fail_nomem(err, "the lines of a plan", (double)nline * sizeof *moved);
    for (size_t k = 0; k < nline && !st; k++)
        moved[k] = (struct psr_stage_barycentre_line){
            .nseries = psr_lines_nseries(p->lines, k),
            .tsamp_s = p->line[k].tsamp_s,
            .presto_block = psr_lines_presto_block(p->lines, k),
            .equalised = psr_lines_equalise(p->lines, k),
        };
    if (!st)
        st = psr_stage_barycentre_begin(p->barycentre, moved, nline, p->nthread, err);
    /* -numout counts samples after barycentring, which sinks do themselves on devices. */
    bool counted = psr_stage_barycentre_moves(p->barycentre) && p->d.numout;
    for (size_t k = 0; k < nline && !st; k++) {
        stride[k] = psr_stage_barycentre_room(p->barycentre, k, psr_lines_most(p->lines, k, nsamp));
        resident[k] =
            psr_lines_on_devices(p->lines) && psr_sinks_take_devices(p->sinks) && !counted;
        p->line[k].block = stride[k];
    }
    if (!st)
        st = psr_lines_reserve(p->lines, stride, resident, err);
    free(moved);
    free(stride);
    free(resident);
    return st;
}

/* Cleaning may take longer blocks than were asked for. */
static psr_status check_wait(const struct psr_pipeline *p, psr_err *err)
{
    const double wait_s = psr_pipeline_wait_s(p);
    double block_s = 0;
    for (size_t k = 0; k < p->trials.nline; k++)
        block_s = fmax(block_s, (double)p->line[k].block * p->line[k].tsamp_s);
    if (!p->d.live || !(p->d.block_s > 0) || block_s + wait_s <= p->d.block_s)
        return PSR_OK;
    return psr_fail_field(
        err, PSR_EINVAL, "block_s",
        "-block %g s: pulses are told after blocks of %.3g s and %.3g s that boxcars "
        "wait: must be at least %.3g s",
        p->d.block_s, block_s, wait_s, block_s + wait_s);
}

static psr_status create_buffers(struct psr_pipeline *p, psr_err *err)
{
    size_t nsamp = psr_lines_block(p->lines);
    psr_status st = reserve(p, nsamp, err);
    if (!st)
        st = check_wait(p, err);
    if (!st)
        st = psr_stage_clean_reserve(p->clean, nsamp, err);
    if (!st)
        st = psr_read_ahead_create(
            &p->reader,
            &(struct psr_read_ahead_desc){
                .source = p->input.source,
                .row_bytes = p->input.row_bytes,
                .nsamp = nsamp,
                .for_device = psr_lines_on_devices(p->lines),
                .gaps = p->d.live ? LIVE_GAPS * psr_stage_clean_block(p->clean) + nsamp : 0,
            },
            err);
    return st;
}

static psr_status reread(void *ctx, int64_t first, size_t n, float *x, psr_err *err)
{
    return psr_reread_read(ctx, first, n, x, err);
}

static size_t clips(void *ctx, const struct psr_span **span)
{
    return psr_stage_clean_clips(ctx, span);
}

/* So that the spectra of pulses can be looked at. */
static psr_status create_reread(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_reread_desc d = {
        .source = describe_source(p), .skip = p->input.skip, .clean = p->clean};
    psr_status st = p->d.pulses ? psr_reread_create(&p->reread, &d, err) : PSR_OK;
    p->stream.reread = p->reread ? reread : NULL;
    p->stream.reread_ctx = p->reread;
    p->stream.clips = clips;
    p->stream.clips_ctx = p->clean;
    p->stream.dmconst = p->d.dmconst;
    p->stream.voverc = psr_stage_barycentre_voverc(p->barycentre);
    return st;
}

static void keep_spectra(void *ctx, struct psr_span spectra, struct psr_mjd at, double dm,
                         char name[PSR_DUMP_NAME])
{
    psr_dump_keep(ctx, spectra, at, dm, name);
}

/* A file waits for the disk, as nobody waits for it. */
static psr_status create_dump(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    const double block_s = (double)psr_lines_block(p->lines) * p->input.obs->tsamp_s;
    if (!d->dump)
        return PSR_OK;
    if (d->ring_s < 2 * block_s)
        return psr_fail_field(err, PSR_EINVAL, "ring_s",
                              "-ring %g s: must be two blocks of %.3g s or more", d->ring_s,
                              block_s);
    p->stream.keep = keep_spectra;
    p->stream.ring_s = d->ring_s;
    psr_status st = psr_dump_create(&p->dump,
                                    &(struct psr_dump_desc){.obs = p->input.obs,
                                                            .row_bytes = p->input.row_bytes,
                                                            .ring_s = d->ring_s,
                                                            .folder = d->dump,
                                                            .mem_bytes = d->mem_bytes,
                                                            .waits = p->input.obs->nsamp >= 0,
                                                            .notes = d->notes},
                                    err);
    p->stream.keep_ctx = p->dump;
    return st;
}

static psr_status begin_sinks(struct psr_pipeline *p, psr_err *err)
{
    psr_status st = psr_pipeline_list_shifts(p, err);
    if (!st)
        st = create_reread(p, err);
    if (!st)
        st = create_dump(p, err);
    return st ? st : psr_sinks_begin(p->sinks, &p->stream, err);
}

/* Where an earlier run has recorded the pulses, nobody takes the series of parts of the band, and of whole bands only who
 * searches them otherwise or writes them.  Where none is taken nothing is read, but for what cleaning reports. */
static psr_status leave_out_lines(struct psr_pipeline *p, psr_err *err)
{
    (void)err;
    const bool plain = !psr_sinks_take_equalised(p->sinks);
    const bool whole = p->d.pulses && plain && !p->d.clean_auto && !p->dump;
    for (size_t k = 0; k < p->trials.nline; k++) {
        if ((p->trials.line[k].part || whole) && !psr_sinks_take_line(p->sinks, k) && !p->shared)
            psr_lines_leave_out(p->lines, k);
        if (plain)
            psr_lines_leave_plain(p->lines, k);
    }
    return PSR_OK;
}

/* Trials that an earlier run completed are left out before plans are made. */
static psr_status skip_completed(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_pipeline_desc *d = &p->d;
    psr_status st = PSR_OK;
    if (!d->presto && (d->files || d->fourier || d->ffa || d->pulses))
        st = psr_pipeline_mark_series(p, err);
    if (!st)
        st = psr_pipeline_list_epochs(p, err);
    if (!st && d->resume)
        st = psr_pipeline_resume(p, err);
    if (!st && p->trials.ndm)
        st = psr_pipeline_describe_stream(p, err);
    return st || !p->trials.ndm ? st : psr_pipeline_list_epochs(p, err);
}

static psr_status add_parts(struct psr_pipeline *p, psr_err *err)
{
    const struct psr_obs *obs = p->input.obs;
    const unsigned char *keep = psr_stage_clean_keep(p->clean);
    psr_status st = PSR_OK;
    if (p->d.nhalve)
        st = psr_trials_add_parts(&p->trials, obs, keep, p->d.dmconst, (size_t)p->d.nhalve, err);
    if (!st && p->d.pulses && !p->d.presto)
        st = psr_trials_add_wide(&p->trials, obs, keep, p->d.dmconst, p->d.pulses->maxwidth_s,
                                 PSR_PIPELINE_DOWNSAMP, err);
    if (!st && p->d.nfine > 1)
        st = psr_trials_add_fine(&p->trials, obs, keep, p->d.nfine, err);
    if (!st && !p->trials.npart)
        return PSR_OK;
    if (!st)
        st = psr_pipeline_describe_stream(p, err);
    return st ? st : psr_pipeline_list_epochs(p, err);
}

static psr_status check_band(struct psr_pipeline *p, psr_err *err)
{
    return psr_trials_check_band(&p->trials, p->input.obs, p->input.name, err);
}

static psr_status create_sinks(struct psr_pipeline *p, psr_err *err)
{
    p->nthread = psr_count_threads((int)p->d.nthread);
    return psr_sinks_create(&p->sinks, &p->d, err);
}

typedef psr_status prepare_step(struct psr_pipeline *p, psr_err *err);

/* Until no trial is left. */
static psr_status take_steps(struct psr_pipeline *p, prepare_step *const *step, size_t n,
                             psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < n && !st; k++) {
        st = step[k](p, err);
        if (!st && !p->trials.ndm && p->input.obs)
            break;
    }
    return st;
}

psr_status psr_pipeline_prepare_input(struct psr_pipeline *p, psr_err *err)
{
    static prepare_step *const step[] = {
        create_sinks,
        psr_pipeline_make_trials,
        open_input,
        scrunch_trials,
        psr_pipeline_describe_stream,
        psr_pipeline_claim_outputs,
        check_band,
        create_clean,
        create_barycentre,
        skip_completed,
        add_parts,
        psr_pipeline_check_names,
        psr_pipeline_open_record,
    };
    p->start_s = psr_seconds();
    psr_status st = take_steps(p, step, sizeof step / sizeof *step, err);
    note_ignored_options(p);
    return st;
}

psr_status psr_pipeline_prepare_run(struct psr_pipeline *p, psr_err *err)
{
    static prepare_step *const step[] = {create_lines, create_buffers, begin_sinks,
                                         leave_out_lines};
    psr_status st = p->trials.ndm ? take_steps(p, step, sizeof step / sizeof *step, err) : PSR_OK;
    p->ready_s = psr_seconds();
    return st;
}

psr_status psr_pipeline_prepare(struct psr_pipeline *p, psr_err *err)
{
    psr_status st = psr_pipeline_prepare_input(p, err);
    return st ? st : psr_pipeline_prepare_run(p, err);
}

/* The group is whose it was. */
void psr_pipeline_release(struct psr_pipeline *p)
{
    psr_read_ahead_destroy(p->reader);
    psr_sinks_abort(p->sinks); /* of which a thread may be reading again */
    psr_reread_destroy(p->reread);
    psr_dump_destroy(p->dump);
    psr_lines_destroy(p->lines);
    psr_shared_beams_leave(p->shared);
    psr_provenance_destroy(p->provenance);
    psr_stage_barycentre_destroy(p->barycentre);
    psr_input_close(&p->input);
    psr_stage_clean_destroy(p->clean);
    psr_trials_clear(&p->trials);
    free(p->line);
    free(p->epoch);
    free(p->shift);
    free(p->reported);
    free(p->report_line);
}
