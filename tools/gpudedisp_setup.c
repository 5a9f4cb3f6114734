/* From the command line to plans, buffers and files: everything that can be refused is refused
 * here. */
#include "gpudedisp.h"

#include "base/threads.h"
#include <ctype.h>
#include <psrkit/number.h>
#include <stdlib.h>
#include <string.h>

static psr_status prepare_bary(struct gpudedisp_job *j)
{
    return gpudedisp_bary_prepare(j, psr_source_obs(j->source), 0);
}

/* A number is that GPU; other words are the names of backends. */
static psr_status choose_device(struct gpudedisp_job *j, const char **backend, int *device)
{
    const char *name = j->opt.device;
    int64_t number = 0;
    *backend = name;
    *device = 0;
    if (!isdigit((unsigned char)name[0]))
        return PSR_OK;
    psr_status st = psr_parse_int("-device", name, 0, 1023, &number, &j->err);
    *backend = "cuda";
    *device = (int)number;
    return st;
}

static psr_status create_plan(struct gpudedisp_job *j)
{
    const char *backend;
    int device;
    psr_status st = choose_device(j, &backend, &device);
    if (st != PSR_OK)
        return st;
    const struct gpudedisp_options *o = &j->opt;
    const struct psr_obs *obs = psr_source_obs(j->source);
    double *freq_mhz = malloc(obs->nchan * sizeof *freq_mhz);
    if (!freq_mhz)
        return psr_fail_nomem(&j->err, "channel frequencies", (double)obs->nchan * 8);
    for (size_t c = 0; c < obs->nchan; c++)
        freq_mhz[c] = psr_obs_freq_mhz(obs, c) * (1 + j->bary.voverc);
    bool subband = !strcmp(o->algo, "subband");
    if (o->nsub && !subband && !o->quiet)
        cli_note(&j->tool, "-nsub is not needed: direct is exact (-algo subband honours it)");
    st = psr_dedisp_create(&j->plan,
                           &(struct psr_dedisp_desc){
                               .nchan = obs->nchan,
                               .freq_mhz = freq_mhz,
                               .tsamp_s = obs->tsamp_s,
                               .nbit = j->clean ? psr_clean_nbit(j->clean) : obs->nbit,
                               .kind = j->clean ? psr_clean_kind(j->clean) : obs->kind,
                               .downsamp = (size_t)o->downsamp,
                               .dmconst = j->dmconst,
                               .ndm = j->ndm,
                               .dm = j->dm,
                               .keep = j->keep,
                               .algo = subband ? PSR_DEDISP_SUBBAND : PSR_DEDISP_DIRECT,
                               .tol = (int)o->tol,
                               .nsub = (size_t)o->nsub,
                               .nthread = (int)o->ncpus,
                               .mem_bytes = o->mem_bytes,
                               .backend = backend,
                               .device = device,
                           },
                           &j->err);
    free(freq_mhz);
    return st;
}

psr_status gpudedisp_check_sweep(struct gpudedisp_job *j, int64_t nsamp)
{
    int64_t have = nsamp / j->opt.downsamp, sweep = (int64_t)psr_dedisp_maxshift(j->plan);
    if (have > sweep)
        return PSR_OK;
    double highest = 0;
    for (size_t i = 0; i < j->ndm; i++)
        highest = j->dm[i] > highest ? j->dm[i] : highest;
    return psr_fail(&j->err, PSR_EINVAL,
                    "%s: DM %g sweeps over %lld samples, the input holds %lld: no sample is "
                    "complete",
                    j->path[0], highest, (long long)sweep, (long long)have);
}

/* Spectra per block: whole blocks of cleaning, which is done in place but for what becomes floats.
 */
static void choose_block(struct gpudedisp_job *j)
{
    const size_t most_bytes = 64 << 20; /* larger ones are slower to go over again */
    const struct psr_obs *obs = psr_source_obs(j->source);
    size_t most = most_bytes / psr_source_block_bytes(j->source, 1);
    j->block = psr_dedisp_block(j->plan);
    if (j->opt.zerodm)
        j->block -= j->block / 4;
    if (j->clean && j->block > most)
        j->block = most;
    if (j->clean)
        j->block -= j->block % PSR_CLEAN_BLOCK;
    if (j->clean && j->block == 0)
        j->block = PSR_CLEAN_BLOCK;
    if (obs->nsamp >= 0 && (size_t)obs->nsamp < j->block)
        j->block = (size_t)obs->nsamp;
}

static psr_status create_buffers(struct gpudedisp_job *j)
{
    const struct psr_obs *obs = psr_source_obs(j->source);
    choose_block(j);
    j->stride = gpudedisp_bary_room(j, j->block / (size_t)j->opt.downsamp + 1);
    size_t in_bytes = psr_source_block_bytes(j->source, j->block), cleaned_bytes = 0;
    if (j->opt.zerodm)
        cleaned_bytes = j->block * obs->nchan * sizeof(float);
    j->in = malloc(in_bytes);
    j->cleaned = cleaned_bytes ? malloc(cleaned_bytes) : NULL;
    j->out = malloc(j->ndm * j->stride * sizeof *j->out);
    j->crc = calloc(j->ndm, sizeof *j->crc);
    if (!j->in || (cleaned_bytes && !j->cleaned) || !j->out || !j->crc)
        return psr_fail_nomem(&j->err, "a block of data",
                              (double)in_bytes + (double)cleaned_bytes +
                                  (double)j->ndm * (double)j->stride * 4);
    return PSR_OK;
}

static psr_status create_series(struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    const struct psr_obs *obs = psr_source_obs(j->source);
    if (o->nowrite)
        return PSR_OK;
    return psr_series_create(&j->series,
                             &(struct psr_series_desc){
                                 .root = o->root,
                                 .format = !strcmp(o->format, "tim") || !strcmp(o->root, "-")
                                               ? PSR_SERIES_TIM
                                               : PSR_SERIES_DAT,
                                 .dm_decimals = (int)o->dmprec,
                                 .ndm = j->ndm,
                                 .dm = j->dm,
                                 .obs = &j->bary.obs,
                                 .epoch = j->bary.epoch,
                                 .file_nbit = psr_source_file_nbit(j->source),
                                 .inf = psr_source_inf(j->source),
                                 .tsamp_s = obs->tsamp_s * (double)o->downsamp,
                             },
                             &j->err);
}

static psr_status create_search(struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    if (!o->singlepulse)
        return PSR_OK;
    size_t *sweep = malloc(j->ndm * sizeof *sweep);
    if (!sweep)
        return psr_fail_nomem(&j->err, "the sweep of each trial", (double)j->ndm * 8);
    for (size_t i = 0; i < j->ndm; i++)
        sweep[i] = psr_dedisp_shift(j->plan, i);
    psr_status st = psr_singlepulse_create(
        &j->pulses,
        &(struct psr_singlepulse_desc){
            .nseries = j->ndm,
            .dm = j->dm,
            .sweep = sweep,
            .tsamp_s = psr_source_obs(j->source)->tsamp_s * (double)o->downsamp,
            .threshold = o->threshold,
            .maxwidth_s = o->maxwidth_s,
            .nthread = (int)o->ncpus,
        },
        &j->err);
    free(sweep);
    return st;
}

psr_status gpudedisp_prepare(struct gpudedisp_job *j)
{
    j->nthread = psr_count_threads((int)j->opt.ncpus);
    psr_status (*const step[])(struct gpudedisp_job *) = {
        gpudedisp_make_trials,  gpudedisp_open_source, gpudedisp_choose_channels,
        gpudedisp_create_clean, prepare_bary,          create_plan,
        gpudedisp_create_patch, create_buffers,        create_series,
        create_search};
    psr_status st = PSR_OK;
    for (size_t i = 0; st == PSR_OK && i < sizeof step / sizeof *step; i++)
        st = step[i](j);
    int64_t nsamp = j->source ? psr_source_obs(j->source)->nsamp : -1;
    if (st == PSR_OK && nsamp >= 0)
        st = gpudedisp_check_sweep(j, nsamp);
    gpudedisp_remark_flags(j);
    return st;
}

void gpudedisp_release(struct gpudedisp_job *j)
{
    psr_singlepulse_destroy(j->pulses);
    psr_series_abort(j->series);
    gpudedisp_bary_release(j);
    psr_dedisp_destroy(j->plan);
    psr_source_close(j->source);
    psr_patch_destroy(j->patch);
    psr_clean_destroy(j->clean);
    psr_mask_clear(&j->mask);
    free(j->keep);
    free(j->dm);
    free(j->in);
    free(j->cleaned);
    free(j->out);
    free(j->crc);
}
