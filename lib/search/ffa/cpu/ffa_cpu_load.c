/* Measures the noise of a series. */
#include "ffa_cpu.h"

#include <math.h>
#include <string.h>

/* --- Sums of a series between the boundaries of several steps, tile by tile, so that samples are read from memory once. */

enum { TILE = 4 * PSR_FFA_BLOCK };

/* Where a step stands. */
struct progress {
    uint64_t at;     /* the next boundary, as in psr_ffa_boundary, before it is shifted */
    uint32_t before; /* prefix sum at the last one */
    size_t done;     /* samples */
};

/* Integers of n samples from x on; n is at most TILE. */
static void round_tile(const struct psr_ffa_loops *loops, const struct psr_ffa_series *series,
                       const float *x, size_t n, int32_t *value)
{
    float some[TILE];
    if (n < TILE) {
        memset(some, 0, sizeof some);
        x = memcpy(some, x, n * sizeof *some);
    }
    loops->round_samples(x, TILE, series->centre, series->scale, value);
}

/* Sets samples in gaps to 0. */
static void clear_gaps(const struct psr_ffa_search *s, size_t first, size_t n, size_t *gap,
                       int32_t *value)
{
    const int64_t begin = (int64_t)first, end = begin + (int64_t)n;
    while (*gap < s->ngap && s->gap[*gap].first + s->gap[*gap].count <= begin)
        ++*gap;
    for (size_t g = *gap; g < s->ngap && s->gap[g].first < end; g++) {
        const int64_t last = s->gap[g].first + s->gap[g].count;
        const int64_t lo = s->gap[g].first > begin ? s->gap[g].first : begin;
        const int64_t hi = last < end ? last : end;
        memset(value + (lo - begin), 0, (size_t)(hi - lo) * sizeof *value);
    }
}

/* Samples of a step that end within the tile: total [n + 1] are prefix sums of samples first .. */
static void sum_tile(const struct psr_ffa_step *k, struct progress *p, const uint32_t *total,
                     size_t first, size_t n, int32_t *sums)
{
    const uint64_t last = (uint64_t)((first + n) / k->granule + 1) << 32;
    uint64_t at = p->at;
    uint32_t before = p->before;
    if (at >= last)
        return;
    size_t end = p->done + (size_t)((last - at + k->advance - 1) / k->advance);
    end = end < k->n ? end : k->n;
    for (size_t j = p->done; j < end; j++, at += k->advance) {
        const uint32_t after = total[(size_t)(at >> 32) * k->granule - first];
        sums[j] = (int32_t)(after - before);
        before = after;
    }
    *p = (struct progress){at, before, end};
}

void psr_ffa_cpu_sum(const struct psr_ffa_search *s, const struct psr_ffa_loops *loops,
                     const float *x, struct psr_ffa_series *series, size_t nstep,
                     const struct psr_ffa_step *step)
{
    struct progress p[PSR_FFA_GROUP];
    int32_t value[TILE];
    uint32_t total[TILE + 1] = {0};
    size_t gap = 0;
    for (size_t i = 0; i < nstep; i++)
        p[i] = (struct progress){step[i].advance + (UINT64_C(1) << 31), 0, 0};
    for (size_t first = 0; first < s->nsamp; first += TILE) {
        const size_t n = s->nsamp - first < TILE ? s->nsamp - first : TILE;
        round_tile(loops, series, x + first, n, value);
        clear_gaps(s, first, n, &gap, value);
        for (size_t i = 0; i < n; i++)
            total[i + 1] = total[i] + (uint32_t)value[i];
        for (size_t i = 0; i < nstep; i++)
            sum_tile(&step[i], &p[i], total, first, n, series->sums + step[i].sums0);
        total[0] = total[n];
    }
}

/* --- measures the noise of a series ----------------------------------------------------------- */

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
