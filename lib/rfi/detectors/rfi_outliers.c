/* Finds outliers of a series from its running median. */
#include "rfi_outliers.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>

static const double PER_SIGMA = 1.3489795; /* inter-quartile range of a Gaussian */

struct windows {
    size_t n, length, count; /* samples; of each window but the last; windows */
    float *median, *range;   /* [count] */
};

static size_t start_of(const struct windows *w, size_t k)
{
    return k == w->count ? w->n : k * w->length;
}

static double middle_of(const struct windows *w, size_t k)
{
    return ((double)start_of(w, k) + (double)start_of(w, k + 1) - 1) / 2;
}

static void measure_windows(struct windows *w, const float *x)
{
    for (size_t k = 0; k < w->count; k++) {
        const float *from = x + start_of(w, k);
        const size_t n = start_of(w, k + 1) - start_of(w, k);
        w->median[k] = psr_quantile_select(from, n, n / 2);
        w->range[k] = psr_quantile_select(from, n, 3 * n / 4) - psr_quantile_select(from, n, n / 4);
    }
}

/* The running median at t, in windows k and k + 1; of the outer halves at the ends it is flat. */
static float level_at(const struct windows *w, size_t k, size_t t)
{
    if (w->count == 1)
        return w->median[0];
    const double a = middle_of(w, k), b = middle_of(w, k + 1);
    const double share = fmin(fmax(((double)t - a) / (b - a), 0), 1);
    return (float)((double)w->median[k] +
                   share * ((double)w->median[k + 1] - (double)w->median[k]));
}

static size_t mark(const struct windows *w, const float *x, double limit, float *level,
                   unsigned char *bad)
{
    size_t nbad = 0;
    for (size_t t = 0, k = 0; t < w->n; t++) {
        while (k + 2 < w->count && (double)t > middle_of(w, k + 1))
            k++;
        const float at = level_at(w, k, t);
        bad[t] = limit > 0 && fabs((double)x[t] - (double)at) > limit;
        nbad += bad[t];
        if (level)
            level[t] = at;
    }
    return nbad;
}

psr_status psr_rfi_outliers(const float *x, size_t n, size_t window, double sigma, float *level,
                            unsigned char *bad, size_t *nbad, psr_err *err)
{
    const size_t count = (n + window / 2) / window;
    struct windows w = {.n = n, .length = window, .count = count ? count : 1};
    *nbad = 0;
    if (!n)
        return PSR_OK;
    w.median = malloc(w.count * sizeof *w.median);
    w.range = malloc(w.count * sizeof *w.range);
    psr_status st = PSR_OK;
    if (!w.median || !w.range) {
        st = psr_fail_nomem(err, "running medians", 8 * (double)w.count);
    } else {
        measure_windows(&w, x);
        const double range = (double)psr_quantile_select(w.range, w.count, w.count / 2);
        *nbad = mark(&w, x, sigma * range / PER_SIGMA, level, bad);
    }
    free(w.median);
    free(w.range);
    return st;
}
