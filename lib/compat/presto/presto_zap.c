/* Replaces known interference in a spectrum by noise, as PRESTO's zapbirds does. */
#include "base/tool.h"
#include "stats/stats.h"

#include <psrkit/experimental/fourier.h>

#include <math.h>
#include <stdlib.h>

enum { LEVEL_BINS = 200, GUARD_BINS = 100 };

/* --- random numbers: the Mersenne Twister (Matsumoto and Nishimura 1998), seeded with 1 ----------- */

enum { MT_N = 624, MT_M = 397 };

struct twister {
    uint32_t word[MT_N];
    int next;
};

static double draw_uniform(struct twister *t)
{
    if (t->next == MT_N) {
        for (int i = 0; i < MT_N; i++) {
            const uint32_t y = (t->word[i] & 0x80000000U) | (t->word[(i + 1) % MT_N] & 0x7fffffffU);
            t->word[i] = t->word[(i + MT_M) % MT_N] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfU : 0);
        }
        t->next = 0;
    }
    uint32_t y = t->word[t->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    y ^= y >> 18;
    return y / 4294967296.0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Edges of a line in bins. */
struct edges {
    double lo, hi;
    size_t i;
};

PSR_COMPARE(compare_edges, struct edges, PSR_THEN(PSR_RISING(lo), PSR_RISING(i)));

/* Rounds as PRESTO does, so that a line has the same bins. */
static struct edges edges_of(const struct psr_bird *b, const struct psr_zap *how, size_t i)
{
    const double shift = b->barycentric ? 1 : 1 + how->baryv;
    struct edges e = {(b->freq_hz - 0.5 * b->width_hz) * how->tobs_s * shift,
                      (b->freq_hz + 0.5 * b->width_hz) * how->tobs_s * shift, i};
    const double middle = 0.5 * (e.hi + e.lo);
    if (e.hi - e.lo < 1)
        e = (struct edges){middle - 0.5, middle + 0.5, i};
    return e;
}

/* --- bins ------------------------------------------------------------------------------------- */

static float median_power(const float *x, int64_t first)
{
    float power[LEVEL_BINS];
    for (int64_t k = 0; k < LEVEL_BINS; k++) {
        const float *bin = x + 2 * (first + k);
        power[k] = bin[0] * bin[0] + bin[1] * bin[1];
    }
    return (float)psr_quantile_median(power, LEVEL_BINS);
}

static void fill_bins(float *x, int64_t lo, int64_t hi, float level, struct twister *noise)
{
    for (int64_t k = lo; k < hi; k++) {
        double amplitude = sqrtf(level), phase = 0;
        if (noise) {
            amplitude = sqrt(-(double)level * log1p(-draw_uniform(noise)));
            phase = 2 * M_PI * draw_uniform(noise);
        }
        x[2 * k] = (float)(amplitude * cos(phase));
        x[2 * k + 1] = (float)(amplitude * sin(phase));
    }
}

psr_status psr_spectrum_zap(float *x, int64_t nbin, const struct psr_zap *how, size_t *nleft,
                            psr_err *err)
{
    const size_t n = how->list->n;
    struct twister noise;
    struct edges *line = calloc(n + 1, sizeof *line);
    *nleft = 0;
    if (!line)
        return psr_fail_nomem(err, "zapped bins", (double)n * sizeof *line);
    for (size_t i = 0; i < n; i++)
        line[i] = edges_of(&how->list->bird[i], how, i);
    qsort(line, n, sizeof *line, compare_edges);
    noise.word[0] = 1;
    for (uint32_t i = 1; i < MT_N; i++)
        noise.word[i] = 1812433253U * (noise.word[i - 1] ^ (noise.word[i - 1] >> 30)) + i;
    noise.next = MT_N;
    for (size_t i = 0; i < n && line[i].lo < (double)(nbin - 1); i++) {
        const double top = line[i].hi < (double)nbin ? line[i].hi : (double)(nbin - 1);
        const int64_t first = (int64_t)floor(line[i].lo), hi = (int64_t)ceil(top);
        const int64_t lo = first < 1 ? 1 : first;
        if (hi <= lo)
            continue;
        /* The mean power beside bins [lo, hi), below 0 where there is no room to measure it. */
        const int64_t below = lo - GUARD_BINS - LEVEL_BINS, above = hi + GUARD_BINS;
        float sum = 0;
        int j = 0;
        if (below >= 1)
            sum += median_power(x, below), j++;
        if (above + LEVEL_BINS <= nbin)
            sum += median_power(x, above), j++;
        const float level = j ? (float)((double)(sum / (float)j) / M_LN2) : -1;
        *nleft += level < 0;
        if (level >= 0)
            fill_bins(x, lo, hi, level, how->constant ? NULL : &noise);
    }
    free(line);
    return PSR_OK;
}
