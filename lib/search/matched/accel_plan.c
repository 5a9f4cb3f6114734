/* Derives ranges, trials and thresholds of a search from its description. */
#include "accel_plan.h"
#include "peaks.h"
#include "search/matched/response/template_bank.h"
#include "search/matched/response/template_plans.h"

#include "base/memory.h"
#include "base/threads/threads.h"
#include "stats/spans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* accelsearch's number of independent places for one harmonic, including some just beyond zmax and
 * wmax. */
static double count_places(const struct psr_accel_search *s)
{
    double bins = s->rhi - s->rlo, nz = 2.0 * s->jmax + 1, nw = 2.0 * s->lmax + 1;
    if (s->jmax > 0 || s->lmax > 0)
        bins *= (nz + 1) * (PSR_STEP_Z / 6.95);
    if (s->lmax > 0)
        bins *= (nw + 1) * (PSR_STEP_W / 44.2);
    return bins;
}

/* Effective number of independent places per place of accelsearch: the best of half bins and steps of
 * 2 in z is more than one independent value per place; sums of more harmonics have as many places and
 * are no less independent.  Measured in noise (tests/science/accel_noise.txt). */
static double places_of_noise(const struct psr_accel_search *s, int stage)
{
    bool drift = s->jmax > 0 || s->lmax > 0;
    return stage == 0 ? (drift ? 5 : 2) : (drift ? 4 : 1.5);
}

static psr_status take_zaps(struct psr_accel_search *s, const struct psr_accelsearch_desc *d,
                            psr_err *err)
{
    if (d->nzap == 0)
        return PSR_OK;
    s->zap = malloc(d->nzap * sizeof *s->zap);
    if (!s->zap)
        return psr_fail_nomem(err, "bins to zap", (double)d->nzap * sizeof *s->zap);
    memcpy(s->zap, d->zap, d->nzap * sizeof *s->zap);
    s->nzap = psr_spans_tidy(s->zap, d->nzap, 1, (int64_t)d->nbin);
    return PSR_OK;
}

/* Largest float that is not above power. */
static float round_down(double power)
{
    float f = (float)fmin(power, 3e38);
    return (double)f > power ? nextafterf(f, -INFINITY) : f;
}

static void set_bins(struct psr_accel_search *s, const struct psr_accelsearch_desc *d)
{
    const double last = (double)d->nbin - 1;
    s->rlo = d->compat ? floor(d->rlo) : d->rlo;
    s->rhi = d->compat ? ceil(d->rhi) : d->rhi;
    if (!(s->rhi > 0 && s->rhi < last))
        s->rhi = last;
    s->ilo = (int64_t)ceil(2 * s->rlo);
    s->ihi = (int64_t)floor(2 * s->rhi);
}

/* accelsearch divides the number of places by that of harmonics, rounds it down, and has the power in
 * single precision.  Otherwise each of the sums searched has an equal share of the false alarms. */
static void set_cuts(struct psr_accel_search *s, const struct psr_accelsearch_desc *d)
{
    const double places = count_places(s);
    for (int h = 1; h <= d->numharm; h *= 2)
        s->nstage++;
    for (int stage = 0; stage < s->nstage; stage++) {
        s->trials[stage] = d->compat ? floor(places / (1 << stage))
                                     : places * places_of_noise(s, stage) * s->nstage;
        double sigma = d->compat ? (double)(float)d->sigma : d->sigma;
        double power = psr_accel_power(s, sigma, stage);
        s->cut[stage] = d->compat ? (float)power : round_down(power);
    }
}

psr_status psr_accel_search_resolve(struct psr_accel_search *s,
                                    const struct psr_accelsearch_desc *d, psr_err *err)
{
    *s = (struct psr_accel_search){
        .nbin = d->nbin,
        .jmax = (d->zmax + PSR_STEP_Z - 1) / PSR_STEP_Z,
        .lmax = (d->wmax + PSR_STEP_W - 1) / PSR_STEP_W,
        .numharm = d->numharm,
        .norm = d->norm,
        .series = d->series,
        .redden = d->redden,
        .keep_harmonics = d->keep_harmonics,
        .free_harmonics = d->free_harmonics,
        .max = d->max,
        .count = d->compat ? PSR_TRIALS_BONFERRONI : PSR_TRIALS_SIDAK,
        .nthread = psr_count_threads(d->nthread),
        .mem_bytes = psr_count_memory(d->mem_bytes),
        .device = d->device,
        .stop = {d->should_stop, d->ctx},
    };
    set_bins(s, d);
    set_cuts(s, d);
    psr_status st = take_zaps(s, d, err);
    return st ? st : psr_template_plans_create(&s->plans, err);
}

void psr_accel_search_forget(struct psr_accel_search *s)
{
    free(s->zap);
    psr_template_plans_destroy(s->plans);
    *s = (struct psr_accel_search){0};
}
