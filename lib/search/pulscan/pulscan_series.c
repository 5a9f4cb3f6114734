/* Transforms a batch of series to spectra on the CPU. */
#include "pulscan_internal.h"

#include "base/threads/isa.h"
#include "base/threads/threads.h"
#include "formats/series/series_internal.h"
#include "stats/stats.h"

#include <math.h>
#include <psrkit/series.h>
#include <stdlib.h>
#include <string.h>

struct psr_pulscan_series {
    const struct psr_pulscan_search *s;
    psr_rfft *rfft;
    size_t stride;
    float *spectrum; /* [batch][stride] rooms */
    float **at;      /* [batch] the rooms of the last transform's spectra */
    bool *taken;     /* [batch] rooms */
};

/* The transform writes two floats more than it keeps; spectra begin where malloc would put them. */
static size_t stride_of(const struct psr_pulscan_search *s)
{
    return (2 * s->nbin + 2 + 15) / 16 * 16;
}

double psr_pulscan_series_bytes(const struct psr_pulscan_search *s)
{
    return (double)s->batch * (double)stride_of(s) * sizeof(float);
}

void psr_pulscan_series_destroy(struct psr_pulscan_series *x)
{
    if (!x)
        return;
    psr_rfft_destroy(x->rfft);
    free(x->spectrum);
    free(x->at);
    free(x->taken);
    free(x);
}

psr_status psr_pulscan_series_create(struct psr_pulscan_series **out,
                                     const struct psr_pulscan_search *s, psr_err *err)
{
    struct psr_pulscan_series *x = calloc(1, sizeof *x);
    *out = NULL;
    if (!x)
        return psr_fail_nomem(err, "transforms", sizeof *x);
    x->s = s;
    x->stride = stride_of(s);
    x->spectrum = calloc(s->batch * x->stride, sizeof *x->spectrum);
    x->at = calloc(s->batch, sizeof *x->at);
    x->taken = calloc(s->batch, sizeof *x->taken);
    bool complete = x->spectrum && x->at && x->taken;
    psr_status st = complete ? psr_rfft_create(&x->rfft, 2 * (int64_t)s->nbin, err)
                             : psr_fail_nomem(err, "transforms", psr_pulscan_series_bytes(s));
    if (st)
        psr_pulscan_series_destroy(x);
    else
        *out = x;
    return st;
}

/* The room that in is, or batch. */
static size_t room_of(const struct psr_pulscan_series *x, const float *in)
{
    for (size_t k = 0; k < x->s->batch; k++)
        if (in == x->spectrum + k * x->stride)
            return k;
    return x->s->batch;
}

static psr_status transform_one(struct psr_pulscan_series *x, const float *in, float *out,
                                int64_t *bad, psr_err *err)
{
    const struct psr_pulscan_search *s = x->s;
    *bad = psr_spectrum_bad(in, 2 * (int64_t)s->nbin);
    if (*bad >= 0)
        return PSR_OK;
    psr_rfft_execute(x->rfft, in, out);
    return s->redden.start ? psr_spectrum_deredden(out, (int64_t)s->nbin, &s->redden, err) : PSR_OK;
}

psr_status psr_pulscan_series_transform(struct psr_pulscan_series *x, size_t nspec,
                                        const float *const *in, int64_t *bad, psr_err *err)
{
    psr_status st = PSR_OK;
    /* Series that are in a room stay there, whichever it is; the others get one that is free. */
    memset(x->taken, 0, x->s->batch * sizeof *x->taken);
    for (size_t slot = 0; slot < nspec; slot++) {
        size_t k = room_of(x, in[slot]);
        x->at[slot] = k < x->s->batch ? x->spectrum + k * x->stride : NULL;
        if (k < x->s->batch)
            x->taken[k] = true;
    }
    for (size_t slot = 0, k = 0; slot < nspec; slot++) {
        if (x->at[slot])
            continue;
        while (x->taken[k])
            k++;
        x->at[slot] = x->spectrum + k++ * x->stride;
    }
#pragma omp parallel for schedule(dynamic) num_threads(x->s->nthread)
    for (size_t slot = 0; slot < nspec; slot++) {
        psr_err why;
        psr_status mine = transform_one(x, in[slot], x->at[slot], &bad[slot], &why);
        if (mine) {
#pragma omp critical(psr_pulscan_transform)
            {
                st = mine;
                if (err)
                    *err = why;
            }
        }
    }
    return st;
}

float *psr_pulscan_series_room(struct psr_pulscan_series *x, size_t slot)
{
    return x->spectrum + slot * x->stride;
}

const float *psr_pulscan_series_spectrum(const struct psr_pulscan_series *x, size_t slot)
{
    return x->at[slot];
}

/* Computes normalised powers of a spectrum on the CPU. */

#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Median absolute deviation of a Gaussian of unit variance, as Pulscan and many others have it. */
static const double sigma_per_mad = 1.4826;

PSR_CLONES
static void separate(const float *in, size_t n, float *restrict re, float *restrict im)
{
    for (size_t i = 0; i < n; i++) {
        re[i] = in[2 * i];
        im[i] = in[2 * i + 1];
    }
}

/* Whether any of n floats is infinite or NaN. */
PSR_CLONES
static bool any_bad(const float *x, size_t n)
{
    int32_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= !(fabsf(x[i]) <= 3.402823466e38f);
    return any;
}

PSR_CLONES
static void deviate(float *x, size_t n, float median)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fabsf(x[i] - median);
}

PSR_CLONES
static void square(const float *in, size_t n, const struct psr_norm_level *level,
                   float *restrict power)
{
    const float mr = level->median[0], sr = level->scale[0];
    const float mi = level->median[1], si = level->scale[1];
    for (size_t i = 0; i < n; i++) {
        float re = (in[2 * i] - mr) * sr, im = (in[2 * i + 1] - mi) * si;
        float p = re * re + im * im;
        power[i] = p < PSR_PULSCAN_MOST ? p : PSR_PULSCAN_MOST;
    }
}

/* x is overwritten. */
static void find_level(float *x, size_t n, bool compat, float *median, float *scale)
{
    float m = psr_quantile_select(x, n, (n - 1) / 2);
    deviate(x, n, m);
    double d = sigma_per_mad * (double)psr_quantile_select(x, n, (n - 1) / 2);
    bool known = d > 1e-37 && d < INFINITY;
    *median = known ? m : 0;
    *scale = known ? (float)(1 / d) : compat ? 1 : 0;
}

/* The lowest bin of a stretch of which some value is not finite, or before if that is not -1. */
static int64_t lower_bad(const float *in, const struct psr_norm_block *t, int64_t before)
{
    for (int64_t i = t->begin; i < t->end; i++)
        if (!isfinite(in[2 * i]) || !isfinite(in[2 * i + 1]))
            return before >= 0 && before < i ? before : i;
    return before;
}

psr_status psr_pulscan_powers(const struct psr_pulscan_search *s, const float *in,
                              struct psr_norm_level *level, float *power, int64_t *bad,
                              psr_err *err)
{
    size_t room = 2 * s->normblock;
    float *work = malloc((size_t)s->nthread * room * sizeof *work);
    if (!work)
        return psr_fail_nomem(err, "normalisation", (double)s->nthread * (double)room * 4);
    int64_t lowest = -1;
#pragma omp parallel for schedule(dynamic) num_threads(s->nthread)
    for (size_t k = 0; k < s->nnorm_block; k++) {
        const struct psr_norm_block *t = &s->norm_block[k];
        float *re = work + (size_t)psr_thread_number() * room, *im = re + s->normblock;
        size_t n = (size_t)t->count;
        if (any_bad(in + 2 * t->begin, 2 * (size_t)(t->end - t->begin))) {
#pragma omp critical(psr_pulscan_bad)
            lowest = lower_bad(in, t, lowest);
            continue;
        }
        separate(in + 2 * t->first, n, re, im);
        find_level(re, n, s->compat, &level[k].median[0], &level[k].scale[0]);
        find_level(im, n, s->compat, &level[k].median[1], &level[k].scale[1]);
        square(in + 2 * t->begin, (size_t)(t->end - t->begin), &level[k], power + t->begin);
    }
    free(work);
    power[0] = 0;
    for (size_t k = 0; k < s->nzap; k++)
        for (int64_t i = 0; i < s->zap[k].count; i++)
            power[s->zap[k].first + i] = 2;
    *bad = lowest;
    return PSR_OK;
}
