/* Automatic cleaning: measures how sub-bands vary together, in tiles of each width. */
#include "clean_auto_plan.h"

#include "base/threads/clones.h"
#include "stats/quantile.h"
#include <string.h>

/* Spectra of a step from which it takes longer to start threads than to add. */
enum { ALONE = 8 };

void psr_auto_fold(psr_clean_auto *p, size_t step, const unsigned char *skip)
{
    const size_t G = p->ngroup;
#pragma omp parallel for num_threads(p->nthread) if (step < ALONE)
    for (size_t k = 0; k < p->nrange; k++) {
        const size_t first = p->block[k].first;
        int64_t *x = p->fold + first * G;
        for (size_t t = 0; t < p->block[k].n && step == 1; t++)
            for (size_t g = 0; g < G; g++)
                x[t * G + g] = skip[first + t] ? 0 : p->sum[(first + t) * G + g];
        for (size_t j = 0; j < p->block[k].n / step && step > 1; j++)
            for (size_t g = 0; g < G; g++)
                x[j * G + g] = x[2 * j * G + g] + x[(2 * j + 1) * G + g];
    }
}

static size_t count_tiles(const psr_clean_auto *p, size_t length)
{
    size_t n = 0;
    for (size_t k = 0; k < p->nrange; k++)
        n += p->block[k].n / length;
    return n;
}

/* Given: t   first spectrum of the tile in its block */
static void rate_tile(const psr_clean_auto *p, const struct psr_auto_block *b, size_t t,
                      const struct psr_auto_width *w, float *r)
{
    const int64_t *x = p->fold + (b->first + t / w->step) * p->ngroup;
    int64_t sum[PSR_AUTO_GROUPS] = {0};
    for (size_t i = 0; i < w->nweight; i++)
        for (size_t g = 0; g < p->ngroup; g++)
            sum[g] += (int64_t)w->weight[i] * x[i * p->ngroup + g];
    for (size_t g = 0; g < p->ngroup; g++)
        r[g] = psr_auto_sigmas(sum[g], b->count[g], w->noise);
}

/* Whether a tile has no spark, and at most half of it is pulses: these are in few tiles of their length, but in most of
 * those that are as long as their period. */
static bool is_usual(const psr_clean_auto *p, size_t first, size_t length)
{
    size_t n = 0;
    for (size_t t = first; t < first + length; t++)
        n += p->pulse[t];
    return 2 * n <= length && !memchr(p->spark + first, 1, length);
}

/* At most PSR_AUTO_TILES of the tiles, evenly, of those that are usual.  Returned: their number, in
 * rate */
static size_t rate_tiles(const psr_clean_auto *p, const struct psr_auto_width *w, float *rate)
{
    const size_t all = count_tiles(p, w->length),
                 step = (all + PSR_AUTO_TILES - 1) / PSR_AUTO_TILES;
    size_t n = 0, j = 0;
    for (size_t k = 0; k < p->nrange; k++) {
        const struct psr_auto_block *b = &p->block[k];
        for (size_t t = 0; t + w->length <= b->n; t += w->length, j++)
            if (j % step == 0 && b->ncount && is_usual(p, b->first + t, w->length))
                rate_tile(p, b, t, w, rate + n++ * p->ngroup);
    }
    return n;
}

/* Subtracts the mean of a sub-band in n tiles: that of coarse or skewed samples is not their median, and would be common
 * to all sub-bands. */
static void subtract_mean(float *rate, size_t G, size_t g, size_t n)
{
    int64_t sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += psr_auto_fixed(rate[j * G + g]);
    const double mean = (double)sum / (PSR_AUTO_FIXED_ONE * (double)n);
    for (size_t j = 0; j < n; j++)
        rate[j * G + g] = (float)((double)rate[j * G + g] - mean);
}

/* Subtracts medians, clips, so that a pulse in a few tiles hardly counts, and subtracts means. */
static void level_tiles(float *rate, size_t G, size_t n, struct psr_auto_scale *s)
{
    float work[PSR_AUTO_TILES];
    for (size_t g = 0; g < G; g++) {
        for (size_t j = 0; j < n; j++)
            work[j] = rate[j * G + g];
        s->middle[g] = psr_quantile_median(work, n);
        for (size_t j = 0; j < n; j++)
            work[j] = (float)fabs((double)rate[j * G + g] - s->middle[g]);
        s->most[g] = PSR_AUTO_CLIP * fmax(1, PSR_AUTO_SCATTER * psr_quantile_median(work, n));
        for (size_t j = 0; j < n; j++)
            rate[j * G + g] =
                (float)psr_auto_clip((double)rate[j * G + g] - s->middle[g], s->most[g]);
        subtract_mean(rate, G, g, n);
    }
}

/* Adds the products of the G values of each of n tiles, tile by tile. */
PSR_CLONES static void auto_add_products(const float *rate, size_t G, size_t n, double *sum)
{
    for (size_t j = 0; j < n; j++, rate += G)
        for (size_t g = 0; g < G; g++)
            for (size_t h = 0; h < G; h++)
                sum[g * G + h] += (double)rate[g] * (double)rate[h];
}

static void enter_products(const float *rate, size_t G, struct psr_auto_products *to)
{
    double sum[PSR_AUTO_GROUPS * PSR_AUTO_GROUPS] = {0};
    auto_add_products(rate, G, to->n, sum);
    for (size_t i = 0; i < G * G; i++)
        to->sum[i] = (float)sum[i];
}

void psr_auto_measure(psr_clean_auto *p, struct psr_auto_products *now, struct psr_auto_scale *one)
{
    const size_t G = p->ngroup, nwidth = psr_auto_count_widths(p);
    for (size_t k = 0; k < nwidth; k++) {
        const struct psr_auto_width w = psr_auto_make_width(k);
        if (k == 0 || w.step > 1)
            psr_auto_fold(p, w.step, p->pulse);
        now[k].n = rate_tiles(p, &w, p->rate + k * PSR_AUTO_TILES * G);
    }
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < nwidth; k++) {
        struct psr_auto_scale s;
        float *rate = p->rate + k * PSR_AUTO_TILES * G;
        if (now[k].n < PSR_AUTO_FEWEST) {
            now[k].n = 0;
            continue;
        }
        level_tiles(rate, G, now[k].n, k ? &s : one);
        enter_products(rate, G, now + k);
    }
}
