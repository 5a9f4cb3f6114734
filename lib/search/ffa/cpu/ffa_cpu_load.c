/* Measures the noise of a series and makes integers of it. */
#include "ffa_cpu.h"

#include "base/threads/isa.h"
#include "stats/quantile.h"

#include <math.h>

enum { LANES = 16 };

struct moments {
    float mean, var;
};

static double add_lanes(double *lane)
{
    for (int width = LANES / 2; width; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0];
}

static struct moments measure_block(const float *x)
{
    double sum[LANES] = {0}, square[LANES] = {0};
    const double first = (double)x[0];
    for (size_t i = 0; i < PSR_FFA_BLOCK; i += LANES)
        for (size_t l = 0; l < LANES; l++) {
            const double y = (double)x[i + l] - first;
            sum[l] += y;
            square[l] += y * y;
        }
    const double a = add_lanes(sum), q = add_lanes(square);
    return (struct moments){(float)(first + a / PSR_FFA_BLOCK),
                            (float)((q - a * a / PSR_FFA_BLOCK) / (PSR_FFA_BLOCK - 1))};
}

static int64_t find_bad(const float *x, int64_t from, int64_t end)
{
    for (int64_t i = from; i < end; i++)
        if (!isfinite(x[i]))
            return i;
    return -1;
}

/* The lowest sample outside gaps that is not finite; -1. */
static int64_t find_bad_outside(const struct psr_ffa_search *s, const float *x)
{
    int64_t from = 0, bad = -1;
    for (size_t g = 0; g < s->ngap && bad < 0; g++) {
        bad = find_bad(x, from, s->gap[g].first);
        from = s->gap[g].first + s->gap[g].count;
    }
    return bad >= 0 ? bad : find_bad(x, from, (int64_t)s->nsamp);
}

/* Returned: number of blocks without gaps; mean, var of each */
static size_t measure_blocks(const struct psr_ffa_search *s, const float *x, float *mean,
                             float *var)
{
    size_t n = 0, g = 0;
    for (size_t i = 0; i + PSR_FFA_BLOCK <= s->nsamp; i += PSR_FFA_BLOCK) {
        while (g < s->ngap && s->gap[g].first + s->gap[g].count <= (int64_t)i)
            g++;
        if (g < s->ngap && s->gap[g].first < (int64_t)(i + PSR_FFA_BLOCK))
            continue;
        const struct moments m = measure_block(x + i);
        mean[n] = m.mean;
        var[n++] = m.var;
    }
    return n;
}

static void sum_samples(const struct psr_ffa_search *s, const float *x, float centre, float scale,
                        uint32_t *prefix)
{
    const float magic = 12582912; /* 1.5 2^23: adding it rounds to integers */
    uint32_t total = 0;
    size_t i = 0;
    prefix[0] = 0;
    for (size_t g = 0; g <= s->ngap; g++) {
        const size_t end = g < s->ngap ? (size_t)s->gap[g].first : s->nsamp;
        for (; i < end; i++) {
            float y = (x[i] - centre) * scale;
            y = y > -32767 ? y : -32767;
            y = y < 32767 ? y : 32767;
            total += (uint32_t)(int32_t)((y + magic) - magic);
            prefix[i + 1] = total;
        }
        const size_t after = g < s->ngap ? end + (size_t)s->gap[g].count : end;
        for (; i < after; i++)
            prefix[i + 1] = total;
    }
}

void psr_ffa_cpu_load(const struct psr_ffa_search *s, const float *x, struct psr_ffa_series *series)
{
    float *mean = series->level, *var = mean + s->nsamp / PSR_FFA_BLOCK;
    series->rms = 0;
    series->bad = find_bad_outside(s, x);
    if (series->bad >= 0)
        return;
    const size_t n = measure_blocks(s, x, mean, var);
    if (!n)
        return;
    const double c = 1 - 2 / (9.0 * (PSR_FFA_BLOCK - 1));
    const double sigma = sqrt((double)psr_quantile_select(var, n, (n - 1) / 2) / (c * c * c));
    const float scale = (float)(PSR_FFA_FINE / sigma);
    if (!isnormal(sigma) || !isnormal(scale))
        return;
    series->rms = sigma;
    sum_samples(s, x, psr_quantile_select(mean, n, (n - 1) / 2), scale, series->prefix);
}
