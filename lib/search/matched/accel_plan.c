/* Derives ranges, trials and thresholds of a search from its description. */
#include "accel_plan.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "formats/series/series_internal.h"
#include "peaks.h"
#include "search/matched/response/accel_internal.h"
#include "search/matched/response/response.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        .stop = {d->should_stop, d->ctx, d->progress},
    };
    const double last = (double)d->nbin - 1;
    s->rlo = d->compat ? floor(d->rlo) : d->rlo;
    s->rhi = d->compat ? ceil(d->rhi) : d->rhi;
    if (!(s->rhi > 0 && s->rhi < last))
        s->rhi = last;
    s->ilo = (int64_t)ceil(2 * s->rlo);
    s->ihi = (int64_t)floor(2 * s->rhi);
    /* accelsearch divides the number of places by that of harmonics, rounds it down, and has the power in
     * single precision.  Otherwise each of the sums searched has an equal share of the false alarms.  The
     * number for one harmonic includes some just beyond zmax and wmax. */
    double places = s->rhi - s->rlo, nz = 2.0 * s->jmax + 1, nw = 2.0 * s->lmax + 1;
    if (s->jmax > 0 || s->lmax > 0)
        places *= (nz + 1) * (PSR_STEP_Z / 6.95);
    if (s->lmax > 0)
        places *= (nw + 1) * (PSR_STEP_W / 44.2);
    for (int h = 1; h <= d->numharm; h *= 2)
        s->nstage++;
    for (int stage = 0; stage < s->nstage; stage++) {
        s->trials[stage] = d->compat ? floor(places / (1 << stage))
                                     : places * places_of_noise(s, stage) * s->nstage;
        double sigma = d->compat ? (double)(float)d->sigma : d->sigma;
        double power = psr_accel_power(s, sigma, stage);
        s->cut[stage] = d->compat ? (float)power : round_down(power);
    }
    psr_status st = take_zaps(s, d, err);
    return st ? st : psr_template_plans_create(&s->plans, err);
}

void psr_accel_search_forget(struct psr_accel_search *s)
{
    free(s->zap);
    psr_template_plans_destroy(s->plans);
    *s = (struct psr_accel_search){0};
}

/* Checks the description of a matched search. */

static psr_status check_drifts(const struct psr_accelsearch_desc *d, psr_err *err)
{
    if (d->zmax < 0 || d->zmax > PSR_ACCELSEARCH_MAX_Z)
        return psr_fail_field(err, PSR_EINVAL, "zmax", "search: zmax of %d is outside 0 to %d",
                              d->zmax, PSR_ACCELSEARCH_MAX_Z);
    if (d->wmax < 0 || d->wmax > PSR_ACCELSEARCH_MAX_W)
        return psr_fail_field(err, PSR_EINVAL, "wmax", "search: wmax of %d is outside 0 to %d",
                              d->wmax, PSR_ACCELSEARCH_MAX_W);
    if (d->numharm < 1 || d->numharm > PSR_ACCELSEARCH_MAX_HARM ||
        (d->numharm & (d->numharm - 1)) != 0)
        return psr_fail_field(err, PSR_EINVAL, "numharm",
                              "search: %d harmonics are none of 1, 2, 4, 8, 16 and 32", d->numharm);
    return PSR_OK;
}

static psr_status check_bins(const struct psr_accelsearch_desc *d, psr_err *err)
{
    if (d->nbin < 16 || d->nbin > (size_t)1 << 40)
        return psr_fail_field(err, PSR_EINVAL, "nbin", "search: %zu bins is outside 16 to 2^40",
                              d->nbin);
    const double last = (double)d->nbin - 1;
    if (!(d->rlo >= 0 && d->rlo <= last))
        return psr_fail_field(err, PSR_EINVAL, "rlo", "search: rlo %g is outside 0 to %.0f", d->rlo,
                              last);
    if (!(d->rhi >= 0) || (d->rhi > 0 && d->rhi < d->rlo))
        return psr_fail_field(err, PSR_EINVAL, "rhi", "search: rhi %g is below rlo %g", d->rhi,
                              d->rlo);
    for (size_t i = 0; i < d->nzap; i++)
        if (d->zap[i].count < 0)
            return psr_fail_field(err, PSR_EINVAL, "zap", "search: %lld bins to zap from bin %lld",
                                  (long long)d->zap[i].count, (long long)d->zap[i].first);
    if (d->compat && d->nzap)
        return psr_fail_field(err, PSR_EINVAL, "compat",
                              "search: accelsearch's list is one of nothing zapped");
    return PSR_OK;
}

static psr_status check_series(const struct psr_accelsearch_desc *d, psr_err *err)
{
    const struct psr_redden *how = &d->redden;
    if (d->series && d->compat)
        return psr_fail_field(err, PSR_EINVAL, "series",
                              "search: accelsearch's list is one of spectra");
    if (d->series && d->nbin > (size_t)1 << 31)
        return psr_fail_field(err, PSR_EINVAL, "nbin",
                              "search: %zu bins of series are more than 2^31", d->nbin);
    if (how->start < 0 || (how->start > 0 && (how->start < 2 || how->end < how->start)))
        return psr_fail_field(err, PSR_EINVAL, "redden",
                              "search: no de-reddening by blocks of %d to %d bins", how->start,
                              how->end);
    return PSR_OK;
}

psr_status psr_accelsearch_check(const struct psr_accelsearch_desc *d, psr_err *err)
{
    psr_status st;
    if ((st = check_drifts(d, err)) || (st = check_bins(d, err)) || (st = check_series(d, err)))
        return st;
    if (!(d->sigma >= 0 && d->sigma <= 1e4))
        return psr_fail_field(err, PSR_EINVAL, "sigma", "search: sigma of %g is outside 0 to 10000",
                              d->sigma);
    if (d->norm != PSR_ACCELSEARCH_MEDIAN && d->norm != PSR_ACCELSEARCH_LOCAL &&
        d->norm != PSR_ACCELSEARCH_PHOTON)
        return psr_fail_field(err, PSR_EINVAL, "norm", "search: no normalisation %d", (int)d->norm);
    return psr_check_resources("search", d->nthread, d->mem_bytes, err);
}

/* Transforms the series of a batch on the host. */

static psr_status transform_one(const struct psr_accel_search *s, const psr_rfft *rfft,
                                struct psr_accelsearch_input *in, psr_err *err)
{
    const size_t bytes = 2 * s->nbin * sizeof(float);
    float *room = malloc(bytes + 2 * sizeof *room);
    if (!room)
        return psr_fail_nomem(err, "a transform", (double)bytes);
    psr_rfft_execute(rfft, in->x, room);
    memcpy(in->spectrum, room, bytes);
    free(room);
    in->x = in->spectrum;
    in->photons = (double)in->x[0];
    return s->redden.start ? psr_spectrum_deredden(in->spectrum, (int64_t)s->nbin, &s->redden, err)
                           : PSR_OK;
}

psr_status psr_accel_series_transform(const struct psr_accel_search *s, const psr_rfft *rfft,
                                      size_t n, struct psr_accelsearch_input *in, psr_err *err)
{
    psr_status all = PSR_OK;
#pragma omp parallel for schedule(dynamic) num_threads(s->nthread)
    for (size_t k = 0; k < n; k++) {
        psr_err why;
        psr_status st = transform_one(s, rfft, &in[k], &why);
#pragma omp critical(psr_accel_series)
        if (st && !all) {
            all = st;
            if (err)
                *err = why;
        }
    }
    return all;
}
