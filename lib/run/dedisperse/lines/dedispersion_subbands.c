/* Makes sub-bands at one DM with psr_subband, as the series of a single line. */
#include "lines.h"
#include "search/dedisp/dedisp_internal.h"

#include "base/tool.h"
#include "rfi/rules/clean_internal.h"
#include <stdlib.h>

enum { BLOCK = 4 * PSR_CLEAN_BLOCK, LEAST_BLOCK = 64 }; /* spectra */

struct subbands {
    struct psr_dedispersion_desc d;
    size_t nsub, downsamp;
    psr_subband *plan;
    const struct psr_block *block;
};

/* Spectra that a block of nsamp may be once it is clean. */
static size_t most_spectra(const struct subbands *s, size_t nsamp)
{
    return nsamp + (s->d.clean ? PSR_CLEAN_BLOCK : 0);
}

/* Of buffers for blocks of n spectra; cleaning makes floats. */
static double buffer_bytes(const struct subbands *s, size_t n)
{
    const struct psr_dedispersion_desc *d = &s->d;
    double floats = (double)s->nsub / (double)s->downsamp;
    double bytes = (double)n * (double)d->read_bytes;
    if (d->clean) {
        floats += (double)d->obs->nchan;
        bytes += (double)psr_clean_bytes(d->clean);
    }
    return bytes + (double)most_spectra(s, n) * floats * sizeof(float);
}

/* What -mem leaves to the plan; 0: no bound. */
static psr_status share_memory(const struct subbands *s, int64_t *plan_bytes, psr_err *err)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    int64_t least = (int64_t)buffer_bytes(s, LEAST_BLOCK), all = s->d.mem_bytes;
    *plan_bytes = all ? all - least : 0;
    if (*plan_bytes > 0 || !all)
        return PSR_OK;
    return psr_fail(err, PSR_ENOMEM, "-mem: %s, must be above the %s of buffers for %d spectra",
                    psr_size_text(have, (double)all), psr_size_text(need, (double)least),
                    LEAST_BLOCK);
}

static psr_status create_plan(struct subbands *s, int64_t plan_bytes, psr_err *err)
{
    const struct psr_dedispersion_desc *d = &s->d;
    const struct psr_obs *obs = d->obs;
    double *freq_mhz = malloc(obs->nchan * sizeof *freq_mhz);
    if (!freq_mhz)
        return psr_fail_nomem(err, "channel frequencies", (double)obs->nchan * 8);
    for (size_t c = 0; c < obs->nchan; c++)
        freq_mhz[c] = psr_obs_freq_mhz(obs, c);
    psr_status st = psr_subband_create(&s->plan,
                                       &(struct psr_subband_desc){
                                           .nchan = obs->nchan,
                                           .freq_mhz = freq_mhz,
                                           .tsamp_s = obs->tsamp_s,
                                           .nbit = d->nbit,
                                           .kind = d->kind,
                                           .downsamp = s->downsamp,
                                           .nsub = s->nsub,
                                           .dmconst = d->dmconst,
                                           .dm = d->trials->dm[0],
                                           .keep = d->keep,
                                           .nthread = (int)d->nthread,
                                           .mem_bytes = plan_bytes,
                                       },
                                       err);
    free(freq_mhz);
    return st;
}

static psr_status create(void **state, const struct psr_dedispersion_desc *d, psr_err *err)
{
    const struct psr_line *l = d->trials->line;
    int64_t plan_bytes;
    struct subbands *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "sub-bands", sizeof *s);
    s->d = *d;
    s->nsub = psr_line_count_subbands(l, d->obs, d->inf != NULL);
    s->downsamp = (size_t)l->downsamp;
    psr_status st = share_memory(s, &plan_bytes, err);
    return st ? st : create_plan(s, plan_bytes, err);
}

static size_t choose_block(const void *state)
{
    const struct subbands *s = state;
    size_t n = BLOCK;
    double room = (double)s->d.mem_bytes - (double)psr_subband_bytes(s->plan);
    while (s->d.mem_bytes && n > LEAST_BLOCK && buffer_bytes(s, n) > room)
        n /= 2;
    return n > LEAST_BLOCK ? n : LEAST_BLOCK;
}

static size_t nseries(const void *state, size_t line)
{
    const struct subbands *s = state;
    (void)line;
    return s->nsub;
}

static size_t most(const void *state, size_t line, size_t nsamp)
{
    const struct subbands *s = state;
    (void)line;
    return (most_spectra(s, nsamp) + s->downsamp) / s->downsamp + 1;
}

static psr_status check_length(const void *state, size_t line, int64_t nsamp, psr_err *err)
{
    const struct subbands *s = state;
    size_t sweep = psr_subband_maxshift(s->plan);
    (void)line;
    if (nsamp >= (int64_t)(sweep + s->downsamp))
        return PSR_OK;
    return psr_fail(err, PSR_EUNSUPPORTED,
                    "%s: DM %g sweeps over %zu spectra inside a sub-band, the input holds %lld: no "
                    "sample is complete",
                    s->d.input, s->d.trials->dm[0], sweep, (long long)nsamp);
}

static psr_status push(void *state, const struct psr_block *block, psr_err *err)
{
    struct subbands *s = state;
    (void)err;
    s->block = block;
    return PSR_OK;
}

static psr_status run(void *state, size_t line, float *x, size_t stride, size_t *n, psr_err *err)
{
    struct subbands *s = state;
    (void)line;
    return psr_subband_execute(s->plan, s->block->spectra, s->block->n, x, stride, n, err);
}

static void destroy(void *state)
{
    struct subbands *s = state;
    if (s)
        psr_subband_destroy(s->plan);
    free(s);
}

const struct psr_dedispersion_ops psr_dedispersion_subbands = {
    .create = create,
    .block = choose_block,
    .nseries = nseries,
    .most = most,
    .check_length = check_length,
    .push = push,
    .run = run,
    .destroy = destroy,
};
