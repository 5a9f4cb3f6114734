/* Computes normalised powers of a spectrum on the CPU. */
#include "pulscan_backend.h"

#include "base/threads/clones.h"
#include "base/threads/threads.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void set_known(const struct psr_pulscan_search *s, float *power)
{
    power[0] = 0;
    for (size_t k = 0; k < s->nzap; k++)
        for (int64_t i = 0; i < s->zap[k].count; i++)
            power[s->zap[k].first + i] = 2;
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
    set_known(s, power);
    *bad = lowest;
    return PSR_OK;
}
