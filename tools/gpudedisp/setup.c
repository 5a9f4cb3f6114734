/* From the command line to plans, buffers and files: everything that can be refused is refused
 * here. */
#include "gpudedisp.h"

#include "base/threads.h"
#include <stdlib.h>
#include <string.h>

psr_status gpudedisp_prepare_bary(struct gpudedisp_job *j)
{
    return gpudedisp_bary_prepare(j, psr_source_obs(j->source), 0);
}

/* What all lines have in common, but for the frequencies. */
static psr_status describe_stream(struct gpudedisp_job *j, struct psr_dedisp_desc *d)
{
    const struct gpudedisp_options *o = &j->opt;
    const struct psr_obs *obs = psr_source_obs(j->source);
    int64_t mem_bytes;
    psr_status st = gpudedisp_share_memory(j, &mem_bytes);
    if (st != PSR_OK)
        return st;
    *d = (struct psr_dedisp_desc){
        .nchan = obs->nchan,
        .tsamp_s = obs->tsamp_s,
        .nbit = j->clean ? psr_clean_nbit(j->clean) : obs->nbit,
        .kind = j->clean ? psr_clean_kind(j->clean) : obs->kind,
        .dmconst = j->dmconst,
        .keep = j->keep,
        .tol = (int)o->tol,
        .nthread = (int)o->ncpus,
        .mem_bytes = mem_bytes,
    };
    return gpudedisp_choose_devices(j, d);
}

static void describe_line(const struct gpudedisp_job *j, const struct gpudedisp_line *l,
                          struct psr_fanout_line *d)
{
    bool subband = !strcmp(j->opt.algo, "subband") && l->nsub > 0;
    *d = (struct psr_fanout_line){
        .downsamp = (size_t)l->downsamp,
        .ndm = l->ndm,
        .dm = j->dm + l->first,
        .algo = subband ? PSR_DEDISP_SUBBAND : PSR_DEDISP_DIRECT,
        .nsub = (size_t)l->nsub,
    };
}

psr_status gpudedisp_create_plans(struct gpudedisp_job *j)
{
    const struct psr_obs *obs = psr_source_obs(j->source);
    struct psr_fanout_desc d = {.nline = j->nline};
    psr_status st = describe_stream(j, &d.stream);
    double *freq_mhz = malloc(obs->nchan * sizeof *freq_mhz);
    struct psr_fanout_line *line = calloc(j->nline, sizeof *line);
    if (st == PSR_OK && (!freq_mhz || !line))
        st = psr_fail_nomem(&j->err, "channel frequencies", (double)obs->nchan * 8);
    if (st != PSR_OK)
        goto done;
    for (size_t c = 0; c < obs->nchan; c++)
        freq_mhz[c] = psr_obs_freq_mhz(obs, c) * (1 + j->bary.voverc);
    for (size_t k = 0; k < j->nline; k++)
        describe_line(j, &j->line[k], &line[k]);
    d.stream.freq_mhz = freq_mhz;
    d.line = line;
    st = psr_fanout_create(&j->fan, &d, &j->err);
    if (st == PSR_ENOMEM)
        st = gpudedisp_fail_memory(j);
    for (size_t k = 0; st == PSR_OK && k < j->nline; k++)
        j->line[k].plan = psr_fanout_plan(j->fan, k);
done:
    free(freq_mhz);
    free(line);
    return st;
}

psr_status gpudedisp_check_sweep(struct gpudedisp_job *j, const struct gpudedisp_line *l,
                                 int64_t nsamp)
{
    int64_t have = nsamp / l->downsamp, sweep = (int64_t)psr_dedisp_maxshift(l->plan);
    if (have > sweep)
        return PSR_OK;
    const double *dm = j->dm + l->first;
    double highest = 0;
    for (size_t i = 0; i < l->ndm; i++)
        highest = dm[i] > highest ? dm[i] : highest;
    return psr_fail(&j->err, PSR_EINVAL,
                    "%s: DM %g sweeps over %lld samples, the input holds %lld: no sample is "
                    "complete",
                    gpudedisp_input_name(j), highest, (long long)sweep, (long long)have);
}

static psr_status create_buffers(struct gpudedisp_job *j)
{
    const struct psr_obs *obs = psr_source_obs(j->source);
    j->block = gpudedisp_choose_block(j);
    size_t room = 0;
    for (struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++) {
        l->stride = gpudedisp_bary_room(l, j->block / (size_t)l->downsamp + 1);
        room = l->ndm * l->stride > room ? l->ndm * l->stride : room;
    }
    size_t cleaned_bytes = 0;
    if (j->opt.zerodm)
        cleaned_bytes = j->block * obs->nchan * sizeof(float);
    j->cleaned = cleaned_bytes ? malloc(cleaned_bytes) : NULL;
    j->out = malloc(room * sizeof *j->out);
    j->crc = calloc(j->ndm, sizeof *j->crc);
    if ((cleaned_bytes && !j->cleaned) || !j->out || !j->crc)
        return psr_fail_nomem(&j->err, "a block of data", (double)cleaned_bytes + (double)room * 4);
    return gpudedisp_reader_start(j, gpudedisp_is_on_device(j->line));
}

/* The events of a run without series have names too, unless all go to standard output. */
static psr_status create_series(struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    struct psr_series_desc desc;
    psr_status st = o->plot ? gnuplot_open(&j->plot, o->plot, &j->err) : PSR_OK;
    if (st == PSR_OK)
        st = gpudedisp_describe_series(j, &desc);
    if (st == PSR_OK && !o->nowrite)
        return psr_series_create(&j->series, &desc, &j->err);
    if (st != PSR_OK || !o->singlepulse || !strcmp(o->root, "-"))
        return st;
    return psr_series_check(&desc, &j->err);
}

static psr_status check_length(struct gpudedisp_job *j, struct gpudedisp_line *l)
{
    int64_t nsamp = psr_source_obs(j->source)->nsamp;
    return nsamp >= 0 ? gpudedisp_check_sweep(j, l, nsamp) : PSR_OK;
}

psr_status gpudedisp_prepare(struct gpudedisp_job *j)
{
    /* Some steps are for the run, some for each line. */
    static const struct step {
        psr_status (*run)(struct gpudedisp_job *);
        psr_status (*line)(struct gpudedisp_job *, struct gpudedisp_line *);
    } step[] = {
        {.run = gpudedisp_make_trials},
        {.run = gpudedisp_open_source},
        {.run = gpudedisp_check_names},
        {.run = gpudedisp_claim_outputs},
        {.run = gpudedisp_check_band},
        {.run = gpudedisp_choose_channels},
        {.run = gpudedisp_create_clean},
        {.run = gpudedisp_prepare_bary},
        {.run = gpudedisp_create_plans},
        {.line = check_length},
        {.run = gpudedisp_take_notes},
        {.run = gpudedisp_resume},
        {.run = gpudedisp_check_room},
        {.line = gpudedisp_create_patch},
        {.run = create_buffers},
        {.run = create_series},
        {.line = gpudedisp_create_search},
        {.line = gpudedisp_choose_place},
    };
    psr_status st = PSR_OK;
    j->nthread = psr_count_threads((int)j->opt.ncpus);
    for (const struct step *s = step; s < step + sizeof step / sizeof *step && !st; s++) {
        st = s->run ? s->run(j) : PSR_OK;
        for (size_t k = 0; s->line && k < j->nline && !st; k++)
            st = s->line(j, &j->line[k]);
        if (j->ndm == 0)
            break;
    }
    gpudedisp_remark_flags(j);
    return st;
}

void gpudedisp_release(struct gpudedisp_job *j)
{
    if (j->reader)
        j->in = NULL;
    gpudedisp_reader_stop(j);
    for (struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++) {
        psr_singlepulse_destroy(l->pulses);
        psr_resample_destroy(l->resample);
        psr_patch_destroy(l->patch);
    }
    psr_series_abort(j->series);
    psr_output_group_abort(j->group);
    gnuplot_abort(&j->plot);
    psr_fanout_destroy(j->fan);
    psr_source_close(j->source);
    psr_clean_destroy(j->clean);
    psr_mask_clear(&j->mask);
    free(j->bary.epoch);
    free(j->tsamp_s);
    free(j->note);
    free(j->line);
    psr_planfile_clear(&j->planfile);
    free(j->keep);
    free(j->dm);
    free(j->in);
    free(j->cleaned);
    free(j->out);
    free(j->crc);
}
