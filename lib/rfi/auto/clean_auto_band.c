/* Automatic cleaning: finds sparks and pulses in sums over sub-bands, and the mean of the band. */
#include "clean_auto_plan.h"

#include "base/threads/isa.h"
#include "stats/stats.h"
#include <math.h>
#include <string.h>

/* Tiles at a time: compilers make vectors of a loop over so many, and unroll one over fewer. */
enum { LANES = 64 };

/* --- order statistics of many tiles ------------------------------------------------------------- */

/* One comparison in a loop: of more, compilers make jumps, and no vectors. */
static inline void exchange(float *restrict a, float *restrict b)
{
    float low[LANES], high[LANES];
    for (size_t i = 0; i < LANES; i++)
        low[i] = a[i] < b[i] ? a[i] : b[i];
    for (size_t i = 0; i < LANES; i++)
        high[i] = a[i] < b[i] ? b[i] : a[i];
    memcpy(a, low, sizeof low);
    memcpy(b, high, sizeof high);
}

/* Sorts the n values of each lane by Batcher's odd-even merges (Knuth 1998, vol. 3, 5.3.4). */
PSR_CLONES static void auto_sort_lanes(float (*x)[LANES], size_t n)
{
    for (size_t p = 1; p < n; p *= 2)
        for (size_t k = p; k > 0; k /= 2)
            for (size_t j = k % p; j + k < n; j += 2 * k)
                for (size_t i = j; i < j + k && i + k < n; i++)
                    if ((i ^ (i + k)) < 2 * p) /* in the same part of 2 p */
                        exchange(x[i], x[i + k]);
}

/* Of n sorted values of lane i. */
static double middle_of(float (*x)[LANES], size_t n, size_t i)
{
    return n % 2 ? (double)x[n / 2][i] : ((double)x[n / 2 - 1][i] + (double)x[n / 2][i]) / 2;
}

/* --- tiles -------------------------------------------------------------------------------------- */

/* M and Q of the tiles of a width: tiles of block k are after those of the blocks before.  By one thread: this is
 * less work than it takes threads to meet where other programs run too. */
static void rate_width(const psr_clean_auto *p, size_t w, float *most)
{
    for (size_t k = 0; k < p->win.nrange; k++) {
        const struct psr_auto_block *b = &p->win.block[k];
        const size_t before = k * (p->win.size / w), all = b->n / w;
        double noise[PSR_AUTO_GROUPS];
        for (size_t g = 0; g < p->ngroup; g++)
            noise[g] = psr_auto_spark_noise(b->count[g], w);
        for (size_t j = 0; j < all; j += LANES) {
            const size_t n = all - j < LANES ? all - j : LANES;
            struct psr_auto_spark now[LANES] = {{0}};
            if (b->ncount) {
                float u[PSR_AUTO_GROUPS][LANES] = {{0}};
                size_t good[LANES];
                for (size_t i = 0; i < n; i++) {
                    const int64_t *sum = p->band.fold + (b->first + j + i) * p->ngroup;
                    size_t m = 0;
                    /* Spectra of a tile that are no sparks. */
                    const size_t first = b->first + (j + i) * w;
                    size_t q = w;
                    for (size_t t = first; t < first + w; t++)
                        q -= p->band.spark[t];
                    good[i] = q;
                    for (size_t g = 0; g < p->ngroup && 2 * good[i] >= w; g++)
                        if (b->count[g])
                            u[m++][i] = good[i] == w
                                            ? (float)((double)sum[g] / noise[g])
                                            : psr_auto_spark_sigmas(sum[g], b->count[g], good[i]);
                }
                const size_t m = b->ncount;
                auto_sort_lanes(u, m);
                for (size_t i = 0; i < n; i++)
                    now[i] = 2 * good[i] < w
                                 ? (struct psr_auto_spark){0, 0}
                                 : psr_auto_join_sigmas(middle_of(u, m, i), (double)u[m / 4][i],
                                                        (double)u[m - 1 - m / 4][i], m);
            }
            for (size_t i = 0; i < n; i++) {
                p->band.tile[before + j + i] = now[i].half;
                most[before + j + i] = now[i].most;
            }
        }
    }
}

/* As psr_auto_flatten for each tile. */
static void flatten_tiles(const float *m, size_t n, float *flat)
{
    enum { NEAR = 2 * PSR_AUTO_AROUND + 1 };
    float near[NEAR][LANES];
    for (size_t j = 0; j < n;) {
        if (j < PSR_AUTO_AROUND || j + LANES + PSR_AUTO_AROUND > n) {
            flat[j] = psr_auto_flatten(m, n, j);
            j++;
            continue;
        }
        for (size_t i = 0; i < NEAR; i++)
            memcpy(near[i], m + j - PSR_AUTO_AROUND + i, sizeof near[i]);
        auto_sort_lanes(near, NEAR);
        for (size_t i = 0; i < LANES; i++, j++)
            flat[j] = (float)((double)m[j] - middle_of(near, NEAR, i));
    }
}

static double scatter_about(const float *m, size_t n, double middle, float *work)
{
    for (size_t j = 0; j < n; j++)
        work[j] = (float)fabs((double)m[j] - middle);
    return PSR_AUTO_SCATTER * psr_quantile_median(work, n);
}

/* Looks for sparks and pulses of one width.
 * Given: again   sums over tiles of half the width are not there, or of spectra that are sparks */
static bool look_at_width(psr_clean_auto *p, size_t w, bool again)
{
    float *flat = p->work, *work = flat + p->window, *most = work + p->window;
    const size_t last = p->win.nrange - 1, n = last * (p->win.size / w) + p->win.block[last].n / w;
    if (!n)
        return true;
    for (size_t step = again ? 1 : w; step <= w; step *= 2)
        psr_auto_fold(p, step, p->band.spark);
    rate_width(p, w, most);
    flatten_tiles(p->band.tile, n, flat);
    const double scatter = fmax(1, scatter_about(flat, n, 0, work));
    const double clip = p->d.clip_sigma;
    bool some = false;
    size_t j = 0;
    for (size_t k = 0; k < p->win.nrange; k++) {
        const struct psr_auto_block *b = &p->win.block[k];
        for (size_t t = 0; t + w <= b->n && j < n; t += w, j++) {
            if (psr_auto_stands_out(flat[j], most[j], PSR_AUTO_PULSE * scatter, PSR_AUTO_PULSE))
                memset(p->band.pulse + b->first + t, 1, w);
            if (clip > 0 && psr_auto_stands_out(flat[j], most[j], clip * scatter, clip)) {
                /* Masks spectra first .. first + w - 1, and half as many on either side: what begins or ends there is
                 * not seen in tiles that it fills in part. */
                const size_t first = b->first + t;
                const size_t from = first > w / 2 ? first - w / 2 : 0, to = first + w + w / 2;
                memset(p->band.spark + from, 1, (to < p->win.n ? to : p->win.n) - from);
                some = true;
            }
        }
    }
    return some;
}

void psr_auto_find_sparks(psr_clean_auto *p)
{
    memset(p->band.spark, 0, p->window);
    memset(p->band.pulse, 0, p->window);
    bool again = true;
    for (size_t w = 1; !p->d.zerodm && 4 * w <= p->win.size; w *= 2)
        again = look_at_width(p, w, again);
}

/* --- zero-DM ---------------------------------------------------------------------------------- */

/* Of n channels. */
static double mean_of_all(const psr_clean_auto *p, size_t n, size_t t)
{
    int64_t sum = 0;
    for (size_t g = 0; g < p->ngroup; g++)
        sum += p->band.sum[t * p->ngroup + g];
    return n ? (double)sum / (double)n : 0;
}

void psr_auto_find_mean(psr_clean_auto *p)
{
    double sum = 0;
    for (size_t k = 0; k < p->win.nrange; k++) {
        const struct psr_auto_block *b = &p->win.block[k];
        size_t n = 0;
        for (size_t c = 0; c < p->d.nchan; c++)
            n += !b->masked[c];
        for (size_t t = b->first; t < b->first + b->n; t++) {
            p->modes.mode[t] = (float)mean_of_all(p, n, t);
            sum += (double)p->modes.mode[t];
        }
    }
    for (size_t t = 0; t < p->win.n; t++)
        for (size_t g = 0; g < p->ngroup; g++)
            p->modes.less[t * p->ngroup + g] =
                (float)((double)p->modes.mode[t] - sum / (double)p->win.n);
}
