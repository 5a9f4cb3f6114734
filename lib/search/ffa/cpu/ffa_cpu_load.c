/* Measures the noise of a series. */
#include "ffa_cpu.h"

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

static struct moments measure_block(const struct psr_ffa_loops *loops, const float *x)
{
    double sum[LANES], square[LANES];
    loops->sum_block(x, sum, square);
    const double a = add_lanes(sum), q = add_lanes(square);
    return (struct moments){(float)((double)x[0] + a / PSR_FFA_BLOCK),
                            (float)((q - a * a / PSR_FFA_BLOCK) / (PSR_FFA_BLOCK - 1))};
}

static int64_t find_bad(const struct psr_ffa_loops *loops, const float *x, int64_t from,
                        int64_t end)
{
    if (from >= end || loops->all_finite(x + from, (size_t)(end - from)))
        return -1;
    while (isfinite(x[from]))
        from++;
    return from;
}

/* The lowest sample outside gaps that is not finite; -1. */
static int64_t find_bad_outside(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                                const float *x)
{
    int64_t from = 0, bad = -1;
    for (size_t g = 0; g < s->ngap && bad < 0; g++) {
        bad = find_bad(loops, x, from, s->gap[g].first);
        from = s->gap[g].first + s->gap[g].count;
    }
    return bad >= 0 ? bad : find_bad(loops, x, from, (int64_t)s->nsamp);
}

/* Returned: number of blocks without gaps; mean, var of each */
static size_t measure_blocks(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                             const float *x, float *mean, float *var)
{
    size_t n = 0, g = 0;
    for (size_t i = 0; i + PSR_FFA_BLOCK <= s->nsamp; i += PSR_FFA_BLOCK) {
        while (g < s->ngap && s->gap[g].first + s->gap[g].count <= (int64_t)i)
            g++;
        if (g < s->ngap && s->gap[g].first < (int64_t)(i + PSR_FFA_BLOCK))
            continue;
        const struct moments m = measure_block(loops, x + i);
        mean[n] = m.mean;
        var[n++] = m.var;
    }
    return n;
}

void psr_ffa_cpu_load(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                      const float *x, struct psr_ffa_series *series)
{
    float *mean = series->level, *var = mean + s->nsamp / PSR_FFA_BLOCK;
    series->rms = 0;
    series->bad = find_bad_outside(s, loops, x);
    if (series->bad >= 0)
        return;
    const size_t n = measure_blocks(s, loops, x, mean, var);
    struct psr_ffa_noise noise;
    if (!psr_ffa_noise(mean, var, n, &noise))
        return;
    series->rms = noise.sigma;
    series->centre = noise.centre;
    series->scale = noise.scale;
}
