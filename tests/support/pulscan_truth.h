/* pulscan_truth.h: random spectra, and the search's definition in double precision, for tests. */
#ifndef PSR_TESTS_PULSCAN_TRUTH_H
#define PSR_TESTS_PULSCAN_TRUTH_H

#include <psrkit/experimental/pulscan.h>

#include "tap.h"
#include <string.h>

/* --- random spectra --------------------------------------------------------------------------- */

/* Noise of uneven level, DC, and a few bright bins alone or side by side. */
__attribute__((unused)) static float *make_spectrum(size_t nbin, int nbright, uint64_t *seed)
{
    float *x = tap_take(2 * nbin, sizeof *x);
    for (size_t i = 0; i < nbin; i++) {
        double level = 1 + 3 * exp(-(double)i / (double)nbin * 5);
        x[2 * i] = (float)(level * tap_normal(seed) + 0.1);
        x[2 * i + 1] = (float)(2 * level * tap_normal(seed));
    }
    x[0] = 1e9f;
    for (int b = 0; b < nbright; b++) {
        int64_t first = tap_between(seed, 1, (int64_t)nbin - 1), n = tap_between(seed, 1, 30);
        for (int64_t i = first; i < first + n && i < (int64_t)nbin; i++)
            x[2 * i] += (float)(10 * tap_normal(seed));
    }
    return x;
}

/* --- the definition --------------------------------------------------------------------------- */

__attribute__((unused)) static double lower_median(double *x, size_t n)
{
    tap_sort_doubles(x, n);
    return x[(n - 1) / 2];
}

/* x [nbin][2], normalised in place; a short last stretch takes its medians from the last bins. */
__attribute__((unused)) static void normalise(double *x, size_t nbin, size_t n, bool compat)
{
    double *out = tap_take(2 * nbin, sizeof *out), *work = tap_take(nbin, sizeof *work);
    for (size_t begin = 0; begin < nbin; begin += n)
        for (size_t part = 0; part < 2; part++) {
            size_t end = begin + n < nbin ? begin + n : nbin;
            size_t first = compat ? begin : end - n, count = end - first;
            for (size_t i = 0; i < count; i++)
                work[i] = x[2 * (first + i) + part];
            double m = lower_median(work, count);
            for (size_t i = 0; i < count; i++)
                work[i] = fabs(x[2 * (first + i) + part] - m);
            double d = 1.4826 * lower_median(work, count);
            for (size_t i = begin; i < end; i++)
                out[2 * i + part] = d > 0    ? (x[2 * i + part] - m) / d
                                    : compat ? x[2 * i + part]
                                             : 0;
        }
    memcpy(x, out, 2 * nbin * sizeof *x);
    free(out);
    free(work);
}

struct truth {
    size_t nbin;
    double *x;   /* [nbin][2] normalised */
    double *p;   /* [nbin] */
    double *sum; /* of the present H, zero beyond its end for nbin more */
};

__attribute__((unused)) static struct truth
find_truth(const float *in, size_t nbin, size_t normblock, const struct psr_pulscan_desc *d)
{
    struct truth t = {nbin, tap_take(2 * nbin, 8), tap_take(nbin, 8), tap_take(2 * nbin, 8)};
    for (size_t i = 0; i < 2 * nbin; i++)
        t.x[i] = (double)in[i];
    normalise(t.x, nbin, normblock, d->compat);
    for (size_t i = 0; i < nbin; i++)
        t.p[i] = t.x[2 * i] * t.x[2 * i] + t.x[2 * i + 1] * t.x[2 * i + 1];
    t.p[0] = 0;
    for (size_t k = 0; k < d->nzap; k++)
        for (int64_t i = d->zap[k].first; i < d->zap[k].first + d->zap[k].count; i++)
            if (i > 0 && i < (int64_t)nbin)
                t.p[i] = 2;
    return t;
}

__attribute__((unused)) static void free_truth(struct truth *t)
{
    free(t->x);
    free(t->p);
    free(t->sum);
}

__attribute__((unused)) static void sum_harmonics(struct truth *t, int nharm)
{
    memset(t->sum, 0, 2 * t->nbin * sizeof *t->sum);
    for (size_t i = 0; i < t->nbin / (size_t)nharm; i++)
        for (size_t h = 1; h <= (size_t)nharm; h++)
            for (size_t j = 0; j < h; j++)
                t->sum[i] += t->p[h * i + j];
}

__attribute__((unused)) static double box_power(const struct truth *t, int64_t first, int z)
{
    double power = 0;
    for (int64_t i = first; i <= first + z; i++)
        power += t->sum[i];
    return power;
}

__attribute__((unused)) static bool allowed(const struct psr_pulscan_desc *d, int64_t first,
                                            int nharm, int z)
{
    int64_t n = (int64_t)d->nbin / nharm;
    if (d->compat)
        return first >= 1 && first < n;
    return first >= 1 && first >= d->rlo && first + z < n && (d->rhi == 0 || first + z <= d->rhi) &&
           first >= (int64_t)(nharm - 1) * (z + 1);
}

#endif
