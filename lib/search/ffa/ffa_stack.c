/* Stacks epochs: how improbable the S/N of a trial are in several series together. */
#include "ffa_backend.h"

#include "base/tool.h"
#include "stats/stats.h"

#include <math.h>
#include <psrkit/signif.h>
#include <stdlib.h>

static psr_status begin(struct psr_ffa_stack *k, const struct psr_ffa_search *s, psr_err *err)
{
    k->ntrial = s->ntrial;
    k->nsamp = s->nsamp;
    k->tsamp_s = s->tsamp_s;
    k->sum = calloc(s->ntrial, sizeof *k->sum);
    k->best = calloc(s->ntrial, sizeof *k->best);
    k->snr = calloc(s->ntrial, sizeof *k->snr);
    k->width = calloc(s->ntrial, sizeof *k->width);
    k->best_width = calloc(s->ntrial, sizeof *k->best_width);
    k->nphase = calloc(s->nstep, sizeof *k->nphase);
    return k->sum && k->best && k->snr && k->width && k->best_width && k->nphase
               ? PSR_OK
               : psr_fail_nomem(err, "a stack", 20.0 * (double)s->ntrial);
}

void psr_ffa_stack_clear(struct psr_ffa_stack *k)
{
    free(k->sum);
    free(k->best);
    free(k->snr);
    free(k->width);
    free(k->best_width);
    free(k->nphase);
    *k = (struct psr_ffa_stack){.n = 0};
}

/* Number of trials of a step, which are those from *first on. */
static size_t trials_of(const struct psr_ffa_search *s, size_t step, size_t *first)
{
    const struct psr_ffa_fold *a = &s->fold[s->step[step].fold0], *b = a + s->step[step].nfold - 1;
    *first = a->trial0;
    return b->trial0 + b->s_hi - b->s_lo - a->trial0;
}

/* Number of independent boxcars of a trial, by the S/N that a SHARE of all exceed: higher ones look like more, and a
 * pulsar is in fewer trials of a step. */
#define SHARE 0.02
static double count_phases(const float *snr, size_t n)
{
    const double high =
        (double)psr_quantile_select(snr, n, (size_t)((1 - SHARE) * (double)(n - 1)));
    return fmax(1, log1p(-SHARE) / psr_gauss_logp(high).ln_cdf);
}

psr_status psr_ffa_stack_add(struct psr_ffa_stack *k, psr_ffa *p, size_t series, psr_err *err)
{
    const struct psr_ffa_search *s = psr_ffa_resolved(p);
    psr_status st = k->ntrial ? PSR_OK : begin(k, s, err);
    if (!st && (k->ntrial != s->ntrial || k->nsamp != s->nsamp || k->tsamp_s != s->tsamp_s))
        st = psr_fail_field(err, PSR_EINVAL, "nsamp",
                            "%zu samples of %g s, those of the stack are %zu of %g s", s->nsamp,
                            s->tsamp_s, k->nsamp, k->tsamp_s);
    if (st || (st = psr_ffa_periodogram(p, series, k->snr, k->width, err)))
        return st;
    for (size_t i = 0, first; i < s->nstep; i++) {
        const size_t n = trials_of(s, i, &first);
        const double phases = count_phases(k->snr + first, n);
        k->nphase[i] += phases;
        for (size_t t = first; t < first + n; t++) {
            const struct psr_logp one = psr_gauss_logp((double)k->snr[t]);
            k->sum[t] -= (float)psr_logp_trials(one, phases, PSR_TRIALS_SIDAK).ln_sf;
            if (k->snr[t] > k->best[t]) {
                k->best[t] = k->snr[t];
                k->best_width[t] = k->width[t];
            }
        }
    }
    k->n++;
    return PSR_OK;
}

static int find_width(const struct psr_ffa_widths *w, int width)
{
    int i = 0;
    while (i + 1 < (int)w->n && w->width[i] < width)
        i++;
    return i;
}

/* Trials of a fold with a sum above least. */
static psr_status collect(const struct psr_ffa_stack *k, const struct psr_ffa_search *s,
                          size_t fold, double phases, double least, struct psr_ffa_found *found,
                          psr_err *err)
{
    const struct psr_ffa_fold *f = &s->fold[fold];
    const struct psr_ffa_widths *w = &s->widths[s->step[f->step].range];
    for (size_t t = f->trial0; t < f->trial0 + f->s_hi - f->s_lo; t++) {
        if (!((double)k->sum[t] > least))
            continue;
        psr_status st =
            psr_grow(&found->hit, &found->cap, found->n, sizeof *found->hit, "trials", err);
        if (st)
            return st;
        const struct psr_logp all = psr_chi2_logp(2 * (double)k->sum[t], 2 * (double)k->n);
        const double z = psr_gauss_sigma(psr_logp_trials(all, 1 / phases, PSR_TRIALS_SIDAK));
        found->hit[found->n++] =
            (struct psr_ffa_hit){0, (uint32_t)fold, t, (float)z, find_width(w, k->best_width[t])};
    }
    return PSR_OK;
}

psr_status psr_ffa_stack_peaks(const struct psr_ffa_stack *k, psr_ffa *p,
                               struct psr_ffa_result *result, psr_err *err)
{
    const struct psr_ffa_search *s = psr_ffa_resolved(p);
    struct psr_ffa_found *found = psr_ffa_hits(p);
    psr_status st = PSR_OK;
    found->n = 0;
    for (size_t i = 0; i < s->nfold && !st; i++) {
        const double phases = k->nphase[s->fold[i].step] / (double)k->n;
        const struct psr_logp one =
            psr_logp_trials(psr_gauss_logp(s->sigma), phases, PSR_TRIALS_SIDAK);
        st = collect(k, s, i, phases, psr_chi2_threshold(one, 2 * (double)k->n) / 2, found, err);
    }
    return st ? st : psr_ffa_make_peaks(p, 1, result, err);
}
