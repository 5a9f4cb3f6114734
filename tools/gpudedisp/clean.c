/* Interference out of the spectra on their way to dedispersion, and what that means for series and
 * search. */
#include "gpudedisp.h"

#include <stdlib.h>
#include <string.h>

void gpudedisp_remark_flags(struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    if (o->quiet)
        return;
    bool any_nsub = false;
    for (size_t k = 0; k < j->nline; k++)
        any_nsub |= j->line[k].nsub > 0;
    if (any_nsub && strcmp(o->algo, "subband") != 0 && !o->compat && !o->sub)
        cli_note(&j->tool, "-nsub is not needed: direct is exact (-algo subband honours it)");
    if (o->wapp || o->window || o->numwapps != 1)
        cli_note(&j->tool, "-wapp, -window and -numwapps say nothing of this input: ignored");
    bool from_subbands = j->source && psr_source_inf(j->source);
    if (o->runavg && j->source && !from_subbands)
        cli_note(&j->tool, "-runavg is for files of sub-bands only: ignored");
    if (o->ignorechan && o->compat && from_subbands)
        cli_note(&j->tool, "-ignorechan is not for files of sub-bands, says prepsubband: ignored");
    if (o->sub && !o->nobary)
        cli_note(&j->tool, "sub-bands are not barycentred: their times stay topocentric");
}

psr_status gpudedisp_read_mask(struct gpudedisp_job *j)
{
    if (!j->opt.mask)
        return PSR_OK;
    if (psr_source_inf(j->source))
        return psr_fail(&j->err, PSR_EINVAL,
                        "%s: a mask is of channels, and %s holds sub-bands of them", j->opt.mask,
                        gpudedisp_input_name(j));
    psr_status st = psr_mask_read(&j->mask, j->opt.mask, &j->err);
    if (!st)
        st = psr_mask_check(&j->mask, psr_source_obs(j->source), j->opt.mask, &j->err);
    if (!st && !j->opt.compat)
        st = psr_mask_check_extent(&j->mask, psr_source_obs(j->source), j->opt.mask, &j->err);
    return st;
}

psr_status gpudedisp_create_clean(struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    const struct psr_obs *obs = psr_source_obs(j->source);
    bool clip = !o->noclip && !o->zerodm && o->clip_sigma > 0;
    psr_status st = gpudedisp_read_mask(j);
    if (st != PSR_OK || (!clip && !o->zerodm && !o->mask))
        return st;
    int64_t first = 0;
    if (obs->began.day)
        first = (int64_t)(psr_mjd_diff_s(obs->began, obs->tstart) / obs->tsamp_s + 0.5);
    return psr_clean_create(
        &j->clean,
        &(struct psr_clean_desc){
            .nchan = obs->nchan,
            .nbit = obs->nbit,
            .kind = obs->kind,
            .ascending = psr_obs_freq_mhz(obs, 0) < psr_obs_freq_mhz(obs, obs->nchan - 1),
            .tsamp_s = obs->tsamp_s,
            .first = first,
            .clip_sigma = clip ? o->clip_sigma : 0,
            .zerodm = o->zerodm,
            .floats = o->sub,
            .mask = o->mask ? &j->mask : NULL,
            .keep = j->keep,
            .nthread = (int)o->ncpus,
        },
        &j->err);
}

psr_status gpudedisp_create_patch(struct gpudedisp_job *j, struct gpudedisp_line *l)
{
    if (!j->clean || psr_clean_kind(j->clean) == PSR_FLOAT)
        return PSR_OK;
    return psr_patch_create(&l->patch,
                            &(struct psr_patch_desc){
                                .plan = l->plan,
                                .nchan = psr_source_obs(j->source)->nchan,
                                .ndm = l->ndm,
                                .downsamp = (size_t)l->downsamp,
                                .largest = psr_clean_largest(j->clean),
                                .nthread = (int)j->opt.ncpus,
                            },
                            &j->err);
}

psr_status gpudedisp_clean_block(struct gpudedisp_job *j, size_t nread, const void **block,
                                 size_t *n)
{
    void *to = j->cleaned ? j->cleaned : j->in;
    *block = to;
    *n = nread;
    if (!j->clean)
        return PSR_OK;
    if (nread == 0)
        return psr_clean_finish(j->clean, to, n, &j->err);
    return psr_clean_execute(j->clean, j->in, nread, to, n, &j->err);
}

psr_status gpudedisp_patch_series(struct gpudedisp_job *j, struct gpudedisp_line *l, size_t n)
{
    const struct psr_step *step;
    if (!l->patch)
        return PSR_OK;
    size_t nstep = psr_clean_steps(j->clean, &step);
    return psr_patch_execute(l->patch, step, nstep, j->out, l->stride, n, &j->err);
}

psr_status gpudedisp_patch_slabs(struct gpudedisp_job *j, struct gpudedisp_line *l,
                                 const struct psr_slab *slab, size_t nslab, size_t n, bool again)
{
    const struct psr_step *step = NULL;
    if (!l->patch)
        return PSR_OK;
    size_t nstep = again ? 0 : psr_clean_steps(j->clean, &step);
    if (!psr_patch_touches(l->patch, nstep))
        return psr_patch_execute(l->patch, NULL, 0, NULL, 0, n, &j->err);
    psr_status st = psr_slab_fetch(slab, nslab, n, j->out, l->stride, &j->err);
    if (st == PSR_OK)
        st = psr_patch_execute(l->patch, step, nstep, j->out, l->stride, n, &j->err);
    if (st == PSR_OK)
        st = psr_slab_store(slab, nslab, n, j->out, l->stride, &j->err);
    return st;
}

/* Stretches may have grown since they were told of: all that lies beyond *told is news. */
static psr_status tell(struct gpudedisp_job *j, struct gpudedisp_line *l,
                       const struct psr_span *span, size_t n, int64_t *told)
{
    int64_t ds = l->downsamp;
    psr_status st = PSR_OK;
    for (size_t k = 0; k < n && st == PSR_OK; k++) {
        int64_t first = span[k].first, end = first + span[k].count;
        if (end <= *told)
            continue;
        first = first > *told ? first : *told;
        struct psr_span news = {first / ds, (end + ds - 1) / ds - first / ds};
        st = gpudedisp_bary_span(j, l, &news);
        if (st == PSR_OK)
            st = psr_singlepulse_mask(l->pulses, news, &j->err);
        *told = end;
    }
    return st;
}

psr_status gpudedisp_tell_search(struct gpudedisp_job *j, struct gpudedisp_line *l)
{
    const struct psr_span *span;
    if (!l->pulses)
        return PSR_OK;
    psr_status st = tell(j, l, j->now->gap, j->now->ngap, &l->gaps_told);
    if (st != PSR_OK || !j->clean)
        return st;
    size_t n = psr_clean_lost(j->clean, &span);
    return tell(j, l, span, n, &l->lost_told);
}
