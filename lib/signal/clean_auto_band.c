/* Automatic cleaning: finds sparks and pulses in sums over sub-bands, and the mean of the band. */
#include "clean_auto_plan.h"

#include "base/quantile.h"
#include <math.h>
#include <string.h>

/* Of a sum of w spectra, of those that are no sparks. */
static struct psr_auto_spark rate_tile(const psr_clean_auto *p, const struct psr_auto_block *b,
                                       size_t first, size_t w)
{
    float u[PSR_AUTO_GROUPS];
    int64_t sum[PSR_AUTO_GROUPS] = {0};
    size_t good = 0, n = 0;
    for (size_t t = first; t < first + w; t++) {
        for (size_t g = 0; g < p->ngroup && !p->spark[t]; g++)
            sum[g] += p->sum[t * p->ngroup + g];
        good += !p->spark[t];
    }
    if (!b->ncount || 2 * good < w)
        return (struct psr_auto_spark){0, 0};
    for (size_t g = 0; g < p->ngroup; g++)
        if (b->count[g])
            u[n++] = psr_auto_spark_sigmas(sum[g], b->count[g], good);
    const double middle = psr_auto_median_of_few(u, n);
    return psr_auto_join_sigmas(middle, (double)u[n / 4], (double)u[n - 1 - n / 4], n);
}

/* M and Q of the tiles of a width: tiles of block k are after those of the blocks before.  By one thread: this is
 * less work than it takes threads to meet where other programs run too. */
static void rate_width(const psr_clean_auto *p, size_t w, float *most)
{
    for (size_t k = 0; k < p->nrange; k++) {
        const struct psr_auto_block *b = &p->block[k];
        const size_t before = k * (p->size / w);
        for (size_t t = 0; t + w <= b->n; t += w) {
            const struct psr_auto_spark now = rate_tile(p, b, b->first + t, w);
            p->tile[before + t / w] = now.half;
            most[before + t / w] = now.most;
        }
    }
}

static double scatter_about(const float *m, size_t n, double middle, float *work)
{
    for (size_t j = 0; j < n; j++)
        work[j] = (float)fabs((double)m[j] - middle);
    return PSR_AUTO_SCATTER * psr_quantile_median(work, n);
}

/* Masks spectra first .. first + w - 1, and half as many on either side: what begins or ends there is
 * not seen in tiles that it fills in part. */
static void mask_tile(psr_clean_auto *p, size_t first, size_t w)
{
    const size_t from = first > w / 2 ? first - w / 2 : 0, to = first + w + w / 2;
    memset(p->spark + from, 1, (to < p->n ? to : p->n) - from);
}

/* Marks tiles in which the band is more than so many scatters from those around, and three quarters of the sub-bands. */
static void mark_tiles(psr_clean_auto *p, size_t w, const float *flat, const float *most, size_t n,
                       double scatter)
{
    const double clip = p->d.clip_sigma;
    size_t j = 0;
    for (size_t k = 0; k < p->nrange; k++) {
        const struct psr_auto_block *b = &p->block[k];
        for (size_t t = 0; t + w <= b->n && j < n; t += w, j++) {
            if (psr_auto_stands_out(flat[j], most[j], PSR_AUTO_PULSE * scatter, PSR_AUTO_PULSE))
                memset(p->pulse + b->first + t, 1, w);
            if (clip > 0 && psr_auto_stands_out(flat[j], most[j], clip * scatter, clip))
                mask_tile(p, b->first + t, w);
        }
    }
}

/* Looks for sparks and pulses of one width. */
static void look_at_width(psr_clean_auto *p, size_t w)
{
    float *flat = p->work, *work = flat + p->window, *most = work + p->window;
    const size_t last = p->nrange - 1, n = last * (p->size / w) + p->block[last].n / w;
    if (!n)
        return;
    rate_width(p, w, most);
    for (size_t j = 0; j < n; j++)
        flat[j] = psr_auto_flatten(p->tile, n, j);
    mark_tiles(p, w, flat, most, n, fmax(1, scatter_about(flat, n, 0, work)));
}

void psr_auto_find_sparks(psr_clean_auto *p)
{
    memset(p->spark, 0, p->window);
    memset(p->pulse, 0, p->window);
    for (size_t w = 1; !p->d.zerodm && 4 * w <= p->size; w *= 2)
        look_at_width(p, w);
}

/* --- zero-DM ---------------------------------------------------------------------------------- */

static size_t count_kept(const psr_clean_auto *p, const struct psr_auto_block *b)
{
    size_t n = 0;
    for (size_t c = 0; c < p->d.nchan; c++)
        n += !b->masked[c];
    return n;
}

/* Of n channels. */
static double mean_of_all(const psr_clean_auto *p, size_t n, size_t t)
{
    int64_t sum = 0;
    for (size_t g = 0; g < p->ngroup; g++)
        sum += p->sum[t * p->ngroup + g];
    return n ? (double)sum / (double)n : 0;
}

void psr_auto_find_mean(psr_clean_auto *p)
{
    double sum = 0;
    for (size_t k = 0; k < p->nrange; k++) {
        const struct psr_auto_block *b = &p->block[k];
        const size_t n = count_kept(p, b);
        for (size_t t = b->first; t < b->first + b->n; t++) {
            p->mode[t] = (float)mean_of_all(p, n, t);
            sum += (double)p->mode[t];
        }
    }
    for (size_t t = 0; t < p->n; t++)
        for (size_t g = 0; g < p->ngroup; g++)
            p->less[t * p->ngroup + g] = (float)((double)p->mode[t] - sum / (double)p->n);
}
