/* -sub: sub-bands at one DM and no series: no sample is lost to look-ahead, and none wraps. */
#include "gpudedisp.h"

#include "base/threads.h"
#include "tools/common/run.h"
#include <psrkit/number.h>
#include <psrkit/subband.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sub_run {
    struct gpudedisp_job *job;
    size_t nsub;
    psr_subband *plan;
    struct subbands *bands;
    size_t stride;
    int64_t nout;
};

size_t gpudedisp_count_subbands(const struct gpudedisp_job *j)
{
    if (psr_source_inf(j->source))
        return psr_source_obs(j->source)->nchan;
    return j->line->nsub ? (size_t)j->line->nsub : GPUDEDISP_NSUB;
}

psr_status gpudedisp_finish_subbands(struct gpudedisp_job *j, struct subbands *bands,
                                     const struct psr_obs *obs)
{
    struct psr_inf inf;
    int64_t saturated = subbands_saturated(bands);
    if (saturated && !j->opt.quiet)
        psr_note(&(struct psr_notes){cli_note, &j->tool},
                 "%lld samples of sub-bands lie beyond 16 bits and were cut to them; more "
                 "sub-bands (-nsub) have smaller sums",
                 (long long)saturated);
    if (psr_source_inf(j->source))
        inf = *psr_source_inf(j->source);
    else
        psr_inf_from_obs(&inf, obs, psr_source_file_nbit(j->source));
    inf.epoch = obs->tstart;
    inf.nonoff = 0;
    inf.nbin = j->line->nout;
    inf.tbin_s = (double)j->line->downsamp * obs->tsamp_s;
    inf.dm = j->dm[0];
    if (!j->opt.compat) {
        gpudedisp_check_notes(j);
        size_t n = strlen(inf.notes);
        snprintf(inf.notes + n, sizeof inf.notes - n, "%s\n", j->line->note);
    }
    return subbands_finish(bands, &inf, &j->err);
}

/* --- setup ------------------------------------------------------------------------------------ */

enum { BLOCK = 4 * PSR_CLEAN_BLOCK, LEAST_BLOCK = 64 }; /* spectra */

/* Of buffers for blocks of n spectra; cleaning makes floats, and may give a block of its own more.
 */
static double buffer_bytes(const struct sub_run *s, size_t n)
{
    const struct gpudedisp_job *j = s->job;
    double most = (double)n + (j->clean ? PSR_CLEAN_BLOCK : 0);
    double floats = (double)s->nsub / (double)j->line->downsamp;
    double bytes = (double)psr_source_block_bytes(j->source, n);
    if (j->clean) {
        floats += (double)psr_source_obs(j->source)->nchan;
        bytes += (double)psr_clean_bytes(j->clean);
    }
    return bytes + most * floats * sizeof(float);
}

/* What -mem leaves to the plan; 0: no bound. */
static psr_status share_memory(const struct sub_run *s, int64_t *plan_bytes)
{
    struct gpudedisp_job *j = s->job;
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    int64_t least = (int64_t)buffer_bytes(s, LEAST_BLOCK);
    *plan_bytes = j->opt.mem_bytes ? j->opt.mem_bytes - least : 0;
    if (*plan_bytes > 0 || !j->opt.mem_bytes)
        return PSR_OK;
    return psr_fail(&j->err, PSR_ENOMEM, "-mem: %s, must be above the %s of buffers for %d spectra",
                    psr_size_text(have, (double)j->opt.mem_bytes),
                    psr_size_text(need, (double)least), LEAST_BLOCK);
}

static psr_status create_plan(struct sub_run *s)
{
    struct gpudedisp_job *j = s->job;
    const struct psr_obs *obs = psr_source_obs(j->source);
    double *freq_mhz = malloc(obs->nchan * sizeof *freq_mhz);
    int64_t plan_bytes;
    if (!freq_mhz)
        return psr_fail_nomem(&j->err, "channel frequencies", (double)obs->nchan * 8);
    for (size_t c = 0; c < obs->nchan; c++)
        freq_mhz[c] = psr_obs_freq_mhz(obs, c);
    s->nsub = gpudedisp_count_subbands(j);
    psr_status st = share_memory(s, &plan_bytes);
    if (!st)
        st = psr_subband_create(&s->plan,
                                &(struct psr_subband_desc){
                                    .nchan = obs->nchan,
                                    .freq_mhz = freq_mhz,
                                    .tsamp_s = obs->tsamp_s,
                                    .nbit = j->clean ? psr_clean_nbit(j->clean) : obs->nbit,
                                    .kind = j->clean ? psr_clean_kind(j->clean) : obs->kind,
                                    .downsamp = (size_t)j->line->downsamp,
                                    .nsub = s->nsub,
                                    .dmconst = j->dmconst,
                                    .dm = j->dm[0],
                                    .keep = j->keep,
                                    .nthread = (int)j->opt.ncpus,
                                    .mem_bytes = plan_bytes,
                                },
                                &j->err);
    free(freq_mhz);
    return st;
}

static psr_status check_length(const struct sub_run *s, int64_t nsamp)
{
    struct gpudedisp_job *j = s->job;
    size_t sweep = psr_subband_maxshift(s->plan);
    if (nsamp < 0 || nsamp >= (int64_t)sweep + j->line->downsamp)
        return PSR_OK;
    return psr_fail(&j->err, PSR_EINVAL,
                    "%s: DM %g sweeps over %zu spectra inside a sub-band, the input holds %lld: no "
                    "sample is complete",
                    gpudedisp_input_name(j), j->dm[0], sweep, (long long)nsamp);
}

static size_t choose_block(const struct sub_run *s)
{
    size_t n = BLOCK;
    double room = (double)s->job->opt.mem_bytes - (double)psr_subband_bytes(s->plan);
    while (s->job->opt.mem_bytes && n > LEAST_BLOCK && buffer_bytes(s, n) > room)
        n /= 2;
    return n > LEAST_BLOCK ? n : LEAST_BLOCK;
}

static psr_status create_buffers(struct sub_run *s)
{
    struct gpudedisp_job *j = s->job;
    size_t nchan = psr_source_obs(j->source)->nchan, most;
    j->block = choose_block(s);
    most = j->block + (j->clean ? PSR_CLEAN_BLOCK : 0);
    s->stride = (most + (size_t)j->line->downsamp) / (size_t)j->line->downsamp + 1;
    j->in = malloc(psr_source_block_bytes(j->source, j->block));
    j->cleaned = j->clean ? malloc(most * nchan * sizeof(float)) : NULL;
    j->out = malloc(s->nsub * s->stride * sizeof *j->out);
    if (!j->in || (j->clean && !j->cleaned) || !j->out)
        return psr_fail_nomem(&j->err, "a block of data", buffer_bytes(s, j->block));
    return PSR_OK;
}

static psr_status prepare(struct sub_run *s)
{
    struct gpudedisp_job *j = s->job;
    static psr_status (*const step[])(struct gpudedisp_job *) = {
        gpudedisp_make_trials, gpudedisp_open_source, gpudedisp_check_names,
        gpudedisp_choose_channels, gpudedisp_create_clean};
    psr_status st = PSR_OK;
    for (size_t k = 0; k < sizeof step / sizeof *step && !st; k++)
        st = step[k](j);
    gpudedisp_remark_flags(j);
    if (!st)
        st = create_plan(s);
    if (!st)
        st = gpudedisp_take_notes(j);
    if (!st)
        st = check_length(s, psr_source_obs(j->source)->nsamp);
    if (!st)
        st = create_buffers(s);
    if (!st)
        st = gpudedisp_create_subbands(j, s->nsub, SUBBANDS_SATURATE, &s->bands);
    return st;
}

/* --- the run ---------------------------------------------------------------------------------- */

static psr_status take_spectra(struct sub_run *s, const void *spectra, size_t nsamp)
{
    struct gpudedisp_job *j = s->job;
    size_t n;
    psr_status st = psr_subband_execute(s->plan, spectra, nsamp, j->out, s->stride, &n, &j->err);
    if (j->opt.numout && (int64_t)n > j->opt.numout - j->line->nout)
        n = (size_t)(j->opt.numout - j->line->nout);
    for (size_t b = 0; b < s->nsub && !st; b++)
        st = subbands_write(s->bands, b, j->out + b * s->stride, n, &j->err);
    j->line->nout += (int64_t)n;
    return st;
}

static psr_status process_input(struct sub_run *s)
{
    struct gpudedisp_job *j = s->job;
    psr_status st = PSR_OK;
    size_t nread = 1, n;
    const void *spectra;
    struct run_progress progress;
    run_progress_start(&progress, !j->opt.quiet, psr_source_obs(j->source)->nsamp, "spectra", 1);
    while (!st && nread > 0 && !run_stop_signal() && !gpudedisp_line_is_full(j, j->line)) {
        st = psr_source_read(j->source, j->block, j->in, &nread, &j->err);
        if (!st)
            st = gpudedisp_clean_block(j, nread, &spectra, &n);
        if (!st)
            st = take_spectra(s, spectra, n);
        j->nread += (int64_t)nread;
        run_progress_update(&progress, j->nread);
    }
    run_progress_end(&progress);
    return st;
}

static psr_status finish(struct sub_run *s)
{
    struct gpudedisp_job *j = s->job;
    psr_status st = j->line->nout ? PSR_OK : check_length(s, j->nread);
    if (st)
        return st;
    struct subbands *bands = s->bands;
    s->bands = NULL;
    return gpudedisp_finish_subbands(j, bands, psr_source_obs(j->source));
}

psr_status gpudedisp_sub(struct gpudedisp_job *j)
{
    struct sub_run s = {.job = j};
    j->nthread = psr_count_threads((int)j->opt.ncpus);
    psr_status st = prepare(&s);
    if (!st)
        st = process_input(&s);
    if (!st && !run_stop_signal())
        st = finish(&s);
    subbands_abort(s.bands);
    psr_subband_destroy(s.plan);
    return st;
}
