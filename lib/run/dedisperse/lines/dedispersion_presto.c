/* Dedisperses as prepsubband does, with psr_compat, including its losses at the end. */
#include "base/obs_internal.h"
#include "compat/presto/dedisp_presto.h"
#include "lines.h"

#include <math.h>
#include <stdlib.h>

struct presto {
    struct psr_dedispersion_desc d;
    struct psr_compat_desc desc;
    size_t worklen;
    unsigned char *keep; /* [nchan] from the lowest frequency */
    psr_compat *plan;
    const struct psr_block *block;
};

/* PRESTO counts ignored channels after it has reversed the band, even where it should not. */
static psr_status invert_keep(struct presto *s, psr_err *err)
{
    const struct psr_obs *obs = s->d.obs;
    size_t nchan = obs->nchan;
    bool rising = psr_obs_freq_mhz(obs, 0) < psr_obs_freq_mhz(obs, nchan - 1);
    s->keep = malloc(nchan);
    if (!s->keep)
        return psr_fail_nomem(err, "the channel mask", (double)nchan);
    for (size_t c = 0; c < nchan; c++)
        s->keep[c] = s->d.keep[rising ? c : nchan - 1 - c];
    return PSR_OK;
}

static void describe(struct presto *s)
{
    const struct psr_dedispersion_desc *d = &s->d;
    const struct psr_trial_list *t = d->trials;
    struct psr_presto_view view;
    psr_presto_view_make(&view, d->obs, d->invert);
    s->desc = psr_presto_describe(
        &view, d->inf, psr_line_count_subbands(t->line, d->obs, d->inf != NULL), t->dm, t->ndm);
    s->desc.voverc = d->voverc;
    s->desc.downsamp = (size_t)t->line->downsamp;
    s->desc.subbands = d->subbands;
    s->desc.clip_sigma = d->zerodm ? 0 : d->clip_sigma;
    s->desc.zerodm = d->zerodm;
    s->desc.mask = d->mask;
    s->desc.keep = d->inf ? NULL : s->keep;
    if (d->obs->began.day)
        s->desc.first = llround(psr_mjd_diff_s(d->obs->began, d->obs->tstart) / d->obs->tsamp_s);
}

static psr_status create(void **state, const struct psr_dedispersion_desc *d, psr_err *err)
{
    struct presto *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "dedispersion", sizeof *s);
    s->d = *d;
    psr_status st = invert_keep(s, err);
    if (st)
        return st;
    describe(s);
    st = psr_compat_worklen(&s->desc, &s->worklen, err);
    return st ? st : psr_compat_create(&s->plan, &s->desc, err);
}

static size_t choose_block(const void *state)
{
    const struct presto *s = state;
    return s->desc.block;
}

static size_t nseries(const void *state, size_t line)
{
    const struct presto *s = state;
    (void)line;
    return s->desc.subbands ? s->desc.nsub : s->desc.ndm;
}

static size_t most(const void *state, size_t line, size_t nsamp)
{
    const struct presto *s = state;
    (void)line;
    (void)nsamp;
    return psr_compat_piece(s->plan);
}

static size_t presto_block(const void *state, size_t line)
{
    const struct presto *s = state;
    (void)line;
    return s->worklen / s->desc.downsamp;
}

static psr_status push(void *state, const struct psr_block *block, psr_err *err)
{
    struct presto *s = state;
    s->block = block;
    if (!block->ngap)
        return PSR_OK;
    return psr_fail(err, PSR_EUNSUPPORTED,
                    "%s: %lld spectra are missing from spectrum %lld on, and -compat presto does "
                    "not do what PRESTO does there",
                    s->d.input, (long long)block->gap->count, (long long)block->gap->first);
}

/* A block that is not whole is the end of the input, and lost. */
static psr_status run(void *state, size_t line, float *x, size_t stride, size_t *n, psr_err *err)
{
    struct presto *s = state;
    (void)line;
    (void)err;
    *n = 0;
    if (s->block->n == s->desc.block)
        psr_compat_execute(s->plan, s->block->spectra, x, stride, n);
    return PSR_OK;
}

static void destroy(void *state)
{
    struct presto *s = state;
    if (s) {
        psr_compat_destroy(s->plan);
        free(s->keep);
    }
    free(s);
}

const struct psr_dedispersion_ops psr_dedispersion_presto = {
    .create = create,
    .block = choose_block,
    .nseries = nseries,
    .most = most,
    .presto_block = presto_block,
    .push = push,
    .run = run,
    .destroy = destroy,
};
