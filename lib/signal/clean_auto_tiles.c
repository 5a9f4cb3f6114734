/* Automatic cleaning: measures how sub-bands vary together, in tiles of each width. */
#include "clean_auto_plan.h"

#include "base/quantile.h"
#include <string.h>

/* Sums over steps, without pulses: those of the width before become those of twice the step. */
static void fold_steps(psr_clean_auto *p, size_t step)
{
    const size_t G = p->ngroup;
    if (step == 1)
        for (size_t i = 0; i < p->n * G; i++)
            p->fold[i] = p->pulse[i / G] ? 0 : p->sum[i];
    for (size_t k = 0; k < p->nrange && step > 1; k++) {
        int64_t *x = p->fold + p->block[k].first * G;
        for (size_t j = 0; j < p->block[k].n / step; j++)
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
 * p->rate */
static size_t rate_tiles(psr_clean_auto *p, const struct psr_auto_width *w)
{
    const size_t all = count_tiles(p, w->length),
                 step = (all + PSR_AUTO_TILES - 1) / PSR_AUTO_TILES;
    size_t n = 0, j = 0;
    for (size_t k = 0; k < p->nrange; k++) {
        const struct psr_auto_block *b = &p->block[k];
        for (size_t t = 0; t + w->length <= b->n; t += w->length, j++)
            if (j % step == 0 && b->ncount && is_usual(p, b->first + t, w->length))
                rate_tile(p, b, t, w, p->rate + n++ * p->ngroup);
    }
    return n;
}

/* Subtracts the mean of a sub-band in n tiles: that of coarse or skewed samples is not their median, and would be common
 * to all sub-bands. */
static void subtract_mean(psr_clean_auto *p, size_t g, size_t n)
{
    const size_t G = p->ngroup;
    int64_t sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += psr_auto_fixed(p->rate[j * G + g]);
    const double mean = (double)sum / (PSR_AUTO_FIXED_ONE * (double)n);
    for (size_t j = 0; j < n; j++)
        p->rate[j * G + g] = (float)((double)p->rate[j * G + g] - mean);
}

/* Subtracts medians, clips, so that a pulse in a few tiles hardly counts, and subtracts means. */
static void level_tiles(psr_clean_auto *p, size_t n, struct psr_auto_scale *s)
{
    const size_t G = p->ngroup;
    for (size_t g = 0; g < G; g++) {
        for (size_t j = 0; j < n; j++)
            p->work[j] = p->rate[j * G + g];
        s->middle[g] = psr_quantile_median(p->work, n);
        for (size_t j = 0; j < n; j++)
            p->work[j] = (float)fabs((double)p->rate[j * G + g] - s->middle[g]);
        s->most[g] = PSR_AUTO_CLIP * fmax(1, PSR_AUTO_SCATTER * psr_quantile_median(p->work, n));
        for (size_t j = 0; j < n; j++)
            p->rate[j * G + g] =
                (float)psr_auto_clip((double)p->rate[j * G + g] - s->middle[g], s->most[g]);
        subtract_mean(p, g, n);
    }
}

static void enter_products(psr_clean_auto *p, struct psr_auto_products *to, size_t n)
{
    const size_t G = p->ngroup;
    to->n = n;
    for (size_t g = 0; g < G; g++)
        for (size_t h = g; h < G; h++) {
            double sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += (double)p->rate[j * G + g] * (double)p->rate[j * G + h];
            to->sum[g * G + h] = to->sum[h * G + g] = (float)sum;
        }
}

/* The tiles of a width, and what clips them. */
static void measure_width(psr_clean_auto *p, const struct psr_auto_width *w,
                          struct psr_auto_products *now, struct psr_auto_scale *s)
{
    const size_t n = rate_tiles(p, w);
    now->n = 0;
    if (n < PSR_AUTO_FEWEST)
        return;
    level_tiles(p, n, s);
    enter_products(p, now, n);
}

void psr_auto_measure(psr_clean_auto *p, struct psr_auto_products *now, struct psr_auto_scale *one)
{
    struct psr_auto_scale s;
    for (size_t k = 0; k < psr_auto_count_widths(p); k++) {
        const struct psr_auto_width w = psr_auto_make_width(k);
        if (k == 0 || w.step > 1)
            fold_steps(p, w.step);
        measure_width(p, &w, now + k, k ? &s : one);
    }
}
