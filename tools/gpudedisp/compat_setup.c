/* -compat presto: what PRESTO makes of header and options, and the plans and files for it. */
#include "base/units.h"
#include "compat.h"

#include <math.h>
#include <psrkit/delays.h>
#include <stdlib.h>
#include <string.h>

static bool is_rising(const struct psr_obs *obs)
{
    return psr_obs_freq_mhz(obs, 0) < psr_obs_freq_mhz(obs, obs->nchan - 1);
}

/* Of a filterbank PRESTO takes fch1 for the highest channel, wherever the band goes from there, and
 * turns a band that goes up whether it is told to or not.  Of PSRFITS with the highest channel first
 * it keeps the lowest frequency in single precision, and counts the others from there. */
static double top_of_band_mhz(const struct psr_obs *obs, bool filterbank)
{
    size_t last = obs->nchan - 1;
    if (filterbank)
        return obs->fch1_mhz;
    if (is_rising(obs))
        return psr_obs_highest_mhz(obs);
    return (double)(float)psr_obs_freq_mhz(obs, last) + (double)last * fabs(obs->foff_mhz);
}

static void take_header(struct gpudedisp_compat *k)
{
    const struct gpudedisp_options *o = &k->job->opt;
    const struct psr_obs *obs = psr_source_obs(k->job->source);
    bool rising = is_rising(obs);
    bool filterbank = obs->block_nsamp == 0;
    k->obs = *obs;
    k->obs.foff_mhz = -fabs(obs->foff_mhz);
    k->obs.fch1_mhz = top_of_band_mhz(obs, filterbank);
    k->obs.freq_mhz = NULL;
    /* PRESTO has names for machines, and forgets those it knows. */
    if (filterbank && strcmp(psr_machine_name(obs->machine_id), "Unknown") != 0)
        strcpy(k->obs.instrument, "unset");
    /* The source has inverted already.  Of PSRFITS PRESTO turns a band that goes down once, whether
     * it is told to or not. */
    k->reverse = filterbank ? !rising || o->invert : !rising && !o->invert;
}

/* Of sub-bands the .inf file tells of the channels they were summed from, and there are as many as
 * files, whatever -nsub says. */
static void describe_subbands(struct gpudedisp_compat *k, const struct psr_inf *inf)
{
    k->desc.summed = true;
    k->desc.nsub = k->obs.nchan;
    k->desc.nchan = (size_t)inf->nchan;
    k->desc.lofreq_mhz = inf->lowest_mhz;
    k->desc.width_mhz = inf->chan_width_mhz;
    k->desc.reverse = false;
    k->desc.keep = NULL;
}

/* All that decides delays and lengths. */
static void describe(struct gpudedisp_compat *k)
{
    struct gpudedisp_job *j = k->job;
    const struct gpudedisp_options *o = &j->opt;
    double width_mhz = fabs(k->obs.foff_mhz);
    k->desc = (struct psr_compat_desc){
        .nchan = k->obs.nchan,
        .nbit = k->obs.nbit,
        .kind = k->obs.kind,
        .reverse = k->reverse,
        .lofreq_mhz = k->obs.fch1_mhz - (double)(k->obs.nchan - 1) * width_mhz,
        .width_mhz = width_mhz,
        .tsamp_s = k->obs.tsamp_s,
        .block = k->obs.block_nsamp ? (size_t)k->obs.block_nsamp : PSR_COMPAT_BLOCK,
        .nsub = j->line->nsub ? (size_t)j->line->nsub : GPUDEDISP_NSUB,
        .downsamp = (size_t)j->line->downsamp,
        .ndm = j->ndm,
        .dm = j->dm,
        .subbands = o->sub,
        .clip_sigma = o->noclip || o->zerodm ? 0 : o->clip_sigma,
        .zerodm = o->zerodm,
        .mask = o->mask ? &j->mask : NULL,
        .keep = k->keep,
    };
    if (psr_source_inf(j->source))
        describe_subbands(k, psr_source_inf(j->source));
}

psr_status gpudedisp_compat_skip(struct gpudedisp_job *j, int64_t nsamp, int64_t *skip)
{
    struct gpudedisp_compat k = {.job = j};
    size_t worklen;
    take_header(&k);
    describe(&k);
    psr_status st = psr_compat_worklen(&k.desc, &worklen, &j->err);
    if (!st)
        *skip = (int64_t)(j->opt.start * (double)nsamp / (double)worklen) * (int64_t)worklen;
    return st;
}

/* PRESTO's epochs are those of doubles, which have steps of half a microsecond. */
static void round_epochs(struct gpudedisp_compat *k)
{
    struct gpudedisp_job *j = k->job;
    const struct psr_bary_clock *clock = &j->bary.clock;
    double highest_mhz = psr_obs_highest_mhz(&k->obs) * (1 + j->bary.voverc);
    for (size_t i = 0; j->bary.epoch && i < j->ndm; i++) {
        double delay_s = psr_delay_s(PSR_DMCONST_PRESTO, j->dm[i], highest_mhz);
        double epoch = clock->start + clock->drift - delay_s / PSR_DAY_S;
        j->bary.epoch[i] = (struct psr_mjd){(long)floor(epoch), epoch - floor(epoch)};
    }
}

/* Delays are those of the barycentre, lengths are not.  Sub-bands are never barycentred. */
static psr_status prepare_bary(struct gpudedisp_compat *k)
{
    struct gpudedisp_job *j = k->job;
    size_t worklen;
    psr_status st = psr_compat_worklen(&k->desc, &worklen, &j->err);
    if (!st)
        st = gpudedisp_bary_prepare(j, &k->obs, worklen / k->desc.downsamp);
    if (!st)
        round_epochs(k);
    return st;
}

static psr_status create_plan(struct gpudedisp_compat *k)
{
    struct gpudedisp_job *j = k->job;
    const struct psr_obs *obs = psr_source_obs(j->source);
    size_t nchan = obs->nchan;
    take_header(k);
    k->keep = malloc(nchan);
    if (!k->keep)
        return psr_fail_nomem(&j->err, "the channel mask", (double)nchan);
    /* PRESTO counts ignored channels once it has turned the band, whether it was to or not. */
    for (size_t c = 0; c < nchan; c++)
        k->keep[c] = j->keep[is_rising(obs) ? c : nchan - 1 - c];
    describe(k);
    psr_status st = prepare_bary(k);
    if (st)
        return st;
    k->desc.voverc = j->bary.voverc;
    if (obs->began.day)
        k->desc.first = llround(psr_mjd_diff_s(obs->began, obs->tstart) / obs->tsamp_s);
    st = psr_compat_create(&k->plan, &k->desc, &j->err);
    if (st)
        return st;
    size_t block = k->desc.block, piece = psr_compat_piece(k->plan);
    size_t stride = gpudedisp_bary_room(j->line, piece);
    k->nseries = k->desc.subbands ? k->desc.nsub : j->ndm;
    j->line->stride = stride;
    j->in = malloc(psr_source_block_bytes(j->source, block));
    j->out = malloc(k->nseries * stride * sizeof *j->out);
    if (!j->in || !j->out)
        return psr_fail_nomem(&j->err, "blocks of data", (double)(k->nseries * stride) * 4);
    return PSR_OK;
}

static psr_status create_series(struct gpudedisp_compat *k)
{
    struct gpudedisp_job *j = k->job;
    struct psr_series_desc desc = gpudedisp_common_series(j, PSR_SERIES_DAT);
    desc.tsamp_s = (double)j->line->downsamp * k->obs.tsamp_s;
    return psr_series_create(&j->series, &desc, &j->err);
}

psr_status gpudedisp_compat_prepare(struct gpudedisp_compat *k)
{
    struct gpudedisp_job *j = k->job;
    psr_status st = gpudedisp_make_trials(j);
    if (!st)
        st = gpudedisp_open_source(j);
    gpudedisp_remark_flags(j);
    if (!st)
        st = gpudedisp_check_names(j);
    if (!st && k->alone && !j->opt.sub)
        st = gpudedisp_claim_outputs(j);
    if (!st)
        st = gpudedisp_check_band(j);
    if (!st)
        st = gpudedisp_choose_channels(j);
    if (!st)
        st = gpudedisp_read_mask(j);
    if (!st)
        st = create_plan(k);
    if (!st && !j->opt.sub)
        st = gpudedisp_check_room(j);
    if (!st)
        st = j->opt.sub ? gpudedisp_create_subbands(j, k->desc.nsub, SUBBANDS_WRAP, &k->bands)
                        : create_series(k);
    return st;
}
