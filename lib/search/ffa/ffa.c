/* Plans of the fast folding search: drives a backend and groups what it finds. */
#include "base/copy_desc.h"
#include "base/device/backend_choice.h"
#include "ffa_peaks.h"

#include <config.h>
#include <stdlib.h>
#include <string.h>

/* In order of preference for "auto". */
static const struct psr_ffa_ops *const backends[] = {
#ifdef HAVE_CUDA
    &psr_ffa_cuda,
#endif
    &psr_ffa_cpu,
};
enum { NBACKEND = sizeof backends / sizeof *backends };

struct psr_ffa {
    struct psr_ffa_search search;
    const struct psr_ffa_ops *ops;
    void *state;
    struct psr_ffa_found found;
    struct psr_ffa_peak *peak;
    size_t room;         /* peaks */
    size_t *npeak;       /* [batch] */
    const float **input; /* [batch] of the last execute */
    size_t nseries;
};

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status start_backend(psr_ffa *p, const char *name, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int b = 0; b < NBACKEND; b++) {
        if (!psr_backend_is_asked(name, backends[b]->name))
            continue;
        p->ops = backends[b];
        st = p->ops->create(&p->state, &p->search, err);
        if (!psr_backend_is_passed(name, st))
            return st;
    }
    return psr_backend_none(st, name, "search", err);
}

static psr_status allocate(psr_ffa *p, psr_err *err)
{
    const size_t batch = p->search.batch;
    p->found.bad = calloc(batch, sizeof *p->found.bad);
    p->found.rms = calloc(batch, sizeof *p->found.rms);
    p->npeak = calloc(batch, sizeof *p->npeak);
    p->input = calloc(batch, sizeof *p->input);
    if (!p->found.bad || !p->found.rms || !p->npeak || !p->input)
        return psr_fail_nomem(err, "a search", 32.0 * (double)batch);
    return PSR_OK;
}

psr_status psr_ffa_create(psr_ffa **out, const struct psr_ffa_desc *desc, psr_err *err)
{
    struct psr_ffa_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "search", err);
    if (st)
        return st;
    psr_ffa *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a search", sizeof *p);
    if ((st = psr_ffa_resolve(&p->search, &d, err)) || (st = allocate(p, err)) ||
        (st = start_backend(p, d.backend, err)))
        psr_ffa_destroy(p);
    else
        *out = p;
    return st;
}

void psr_ffa_destroy(psr_ffa *p)
{
    if (!p)
        return;
    if (p->state)
        p->ops->destroy(p->state);
    free(p->found.hit);
    free(p->found.bad);
    free(p->found.rms);
    free(p->peak);
    free(p->npeak);
    free(p->input);
    psr_ffa_forget(&p->search);
    free(p);
}

/* --- execute ---------------------------------------------------------------------------------- */

psr_status psr_ffa_execute(psr_ffa *p, size_t nseries, const float *const *in,
                           struct psr_ffa_result *result, psr_err *err)
{
    if (nseries > p->search.batch)
        return psr_fail_field(err, PSR_EINVAL, "nseries",
                              "search: %zu series are above the batch of %zu", nseries,
                              p->search.batch);
    p->nseries = 0;
    p->found.n = 0;
    for (size_t s = 0; s < nseries; s++) {
        p->found.bad[s] = -1;
        p->found.rms[s] = 0;
        p->input[s] = in[s];
    }
    psr_status st = p->ops->execute(p->state, nseries, in, &p->found, err);
    if (st ||
        (st = psr_ffa_group(&p->search, &p->found, nseries, &p->peak, &p->room, p->npeak, err)))
        return st;
    p->nseries = nseries;
    size_t first = 0;
    for (size_t s = 0; s < nseries; s++) {
        result[s] = (struct psr_ffa_result){
            .peak = p->npeak[s] ? p->peak + first : NULL,
            .npeak = p->npeak[s],
            .bad = p->found.bad[s],
            .rms = p->found.rms[s],
        };
        first += p->npeak[s];
    }
    return PSR_OK;
}

/* --- trials ----------------------------------------------------------------------------------- */

void psr_ffa_trials(const psr_ffa *p, double *period_s)
{
    for (size_t i = 0; i < p->search.nfold; i++) {
        const struct psr_ffa_fold *f = &p->search.fold[i];
        for (size_t s = f->s_lo; s < f->s_hi; s++)
            period_s[f->trial0 + s - f->s_lo] =
                psr_ffa_period(&p->search.step[f->step], f->nbin, f->nrow, s);
    }
}

/* Replaces indices of widths by widths. */
static void name_widths(const struct psr_ffa_search *s, int *width)
{
    for (size_t i = 0; i < s->nfold; i++) {
        const struct psr_ffa_fold *f = &s->fold[i];
        const struct psr_ffa_widths *w = &s->widths[s->step[f->step].range];
        for (size_t t = f->trial0; t < f->trial0 + f->s_hi - f->s_lo; t++)
            width[t] = w->width[width[t]];
    }
}

psr_status psr_ffa_periodogram(psr_ffa *p, size_t s, float *snr, int *width, psr_err *err)
{
    const size_t n = p->search.ntrial;
    if (s >= p->nseries)
        return psr_fail_field(err, PSR_EINVAL, "s",
                              "search: no series %zu among the %zu of the last", s, p->nseries);
    memset(snr, 0, n * sizeof *snr);
    if (width)
        memset(width, 0, n * sizeof *width);
    if (p->found.bad[s] >= 0 || !(p->found.rms[s] > 0))
        return PSR_OK;
    psr_status st = p->ops->periodogram(p->state, p->input[s], snr, width, err);
    if (!st && width)
        name_widths(&p->search, width);
    return st;
}

const struct psr_ffa_search *psr_ffa_resolved(const psr_ffa *p)
{
    return &p->search;
}

void psr_ffa_describe_sized(const psr_ffa *p, struct psr_ffa_info *info, size_t size)
{
    size_t widths = 0;
    for (size_t r = 0; r < p->search.nrange; r++)
        widths = p->search.widths[r].n > widths ? p->search.widths[r].n : widths;
    const struct psr_ffa_info all = {
        .backend = p->ops->name,
        .ntrial = p->search.ntrial,
        .nstep = p->search.nstep,
        .nwidth_max = widths,
        .sigma = p->search.sigma,
        .ntrial_eff = p->search.ntrial_eff,
        .bytes = p->ops->bytes(p->state),
    };
    psr_give_desc(info, size, &all, sizeof all);
}
