/* Automatic cleaning: judges channels and cells by their means and deviations. */
#include "clean_auto_plan.h"

#include "stats/stats.h"
#include <math.h>
#include <string.h>

static const double limit = 5, near_limit = 2.5, scatter_share = 1.4826, median_noise = 1.2533,
                    jump_least = 0.2, jump_share = 0.8;
enum { BESIDE = 8, LEAST = 4, AROUND = 5 };

/* Median of those of n floats that are numbers; not a number if there are none.  Reorders x. */
static double median_of(float *x, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            x[k++] = x[i];
    return k ? psr_quantile_median(x, k) : (double)NAN;
}

/* --- levels ----------------------------------------------------------------------------------- */

static void measure_cells(psr_clean_auto *p, struct psr_auto_block *b)
{
    const double n = (double)b->n;
    for (size_t c = 0; c < p->d.nchan; c++) {
        double squares = b->s2[c] - b->s1[c] * b->s1[c] / n;
        b->valid[c] = isfinite(squares) ? 1 : 0;
        b->mean[c] = b->valid[c] ? (float)(b->s1[c] / n) : NAN;
        b->sd[c] = b->valid[c] ? (float)sqrt(fmax(squares, 0) / (n - 1)) : NAN;
    }
}

static void measure_window(psr_clean_auto *p)
{
#pragma omp parallel for num_threads(p->nthread)
    for (size_t c = 0; c < p->d.nchan; c++) {
        float mean[PSR_AUTO_BLOCKS], sd[PSR_AUTO_BLOCKS];
        for (size_t k = 0; k < p->win.nblock; k++) {
            mean[k] = p->win.block[k].mean[c];
            sd[k] = p->win.block[k].sd[c];
        }
        p->levels.level[c] = (float)median_of(mean, p->win.nblock);
        p->levels.sd[c] = (float)median_of(sd, p->win.nblock);
    }
}

/* Whether a channel's level in the window is none of its history, but for noise. */
static bool has_stepped(const psr_clean_auto *p, size_t c)
{
    const double n = (double)(p->win.nblock * p->win.size), l = (double)p->levels.level[c],
                 s = (double)p->levels.sd[c];
    return p->levels.s_prev[c] > 0 &&
           fabs(l - p->levels.l_prev[c]) > limit * median_noise * s / sqrt(n);
}

/* Median of what the history of a channel has of its last n windows. */
static double median_of_last(const psr_clean_auto *p, const float *history, size_t c, size_t n)
{
    float past[PSR_AUTO_HISTORY];
    for (size_t k = 0; k < n; k++) {
        size_t at = (p->levels.nwindow - 1 - k) % PSR_AUTO_HISTORY;
        past[k] = history[at * p->d.nchan + c];
    }
    return median_of(past, n);
}

/* Adds the window to the history, and takes L and S from that. */
static void update_levels(psr_clean_auto *p)
{
    const size_t nchan = p->d.nchan, at = p->levels.nwindow % PSR_AUTO_HISTORY * nchan;
    memcpy(p->levels.past_l + at, p->levels.level, nchan * sizeof *p->levels.level);
    memcpy(p->levels.past_s + at, p->levels.sd, nchan * sizeof *p->levels.sd);
    p->levels.nwindow++;
#pragma omp parallel for num_threads(p->nthread)
    for (size_t c = 0; c < nchan; c++) {
        size_t n = has_stepped(p, c) ? 0 : p->levels.npast[c];
        p->levels.npast[c] = (unsigned char)(n < PSR_AUTO_HISTORY ? n + 1 : n);
        p->levels.l_now[c] = median_of_last(p, p->levels.past_l, c, p->levels.npast[c]);
        p->levels.s_now[c] = median_of_last(p, p->levels.past_s, c, p->levels.npast[c]);
    }
}

/* --- steps of the band ------------------------------------------------------------------------- */

/* Median over channels of how far x is from the level before, in sigmas. */
static double band_level(psr_clean_auto *p, const float *x, const double *l, const double *s)
{
    for (size_t c = 0; c < p->d.nchan; c++)
        p->work[c] = p->keep[c] && s[c] > 0 ? (float)(((double)x[c] - l[c]) / s[c]) : NAN;
    return median_of(p->work, p->d.nchan);
}

/* Whether the level of the whole band changes within two blocks, or did so just before. */
static bool band_steps(psr_clean_auto *p)
{
    double z[PSR_AUTO_BLOCKS + 1];
    const double change = band_level(p, p->levels.level, p->levels.l_prev, p->levels.s_prev),
                 most = jump_share * fabs(change);
    if (!(fabs(change) > jump_least))
        return false;
    z[0] = p->levels.tail;
    for (size_t k = 0; k < p->win.nblock; k++)
        z[k + 1] = band_level(p, p->win.block[k].mean, p->levels.l_prev, p->levels.s_prev);
    bool steps = copysign(1, change) * z[0] > most;
    for (size_t k = 2; k <= p->win.nblock; k++)
        steps = steps || fabs(z[k] - z[k - 2]) > most;
    return steps;
}

/* --- what is bad ------------------------------------------------------------------------------ */

/* Channels that can be judged. */
static bool is_live(const psr_clean_auto *p, size_t c)
{
    return p->keep[c] && p->levels.s_now[c] > 0 && p->levels.sd[c] > 0;
}

static void subtract_median(const psr_clean_auto *p, float *z, float *work)
{
    const size_t nchan = p->d.nchan;
    memcpy(work, z, nchan * sizeof *z);
    double middle = median_of(work, nchan);
    for (size_t c = 0; c < nchan; c++)
        z[c] = (float)((double)z[c] - middle);
}

/* Medians of sub-bands that have one.  Returned: their number; of[g] counts those before sub-band g */
static size_t find_middles(const psr_clean_auto *p, const float *z, float *work, float *middle,
                           size_t *of)
{
    size_t n = 0;
    for (size_t g = 0; g < p->ngroup; g++) {
        const size_t first = psr_auto_first(p, g), size = psr_auto_first(p, g + 1) - first;
        memcpy(work, z + first, size * sizeof *z);
        const double now = median_of(work, size);
        of[g] = n;
        if (isfinite(now))
            middle[n++] = (float)now;
    }
    return n;
}

static double median_from(const float *middle, size_t n)
{
    float copy[AROUND];
    memcpy(copy, middle, n * sizeof *copy);
    return psr_quantile_median(copy, n);
}

/* Subtracts what channels have in common with those on one side of them, the nearer: receivers have gains of their own,
 * and beyond the edge of one there is another. */
static void subtract_common(const psr_clean_auto *p, float *z, float *work)
{
    float middle[PSR_AUTO_GROUPS];
    size_t of[PSR_AUTO_GROUPS];
    const size_t all = find_middles(p, z, work, middle, of), n = all < AROUND ? all : AROUND;
    for (size_t g = 0; g < p->ngroup && n; g++) {
        const size_t last = all - n, below = of[g] < n ? 0 : of[g] - (n - 1);
        const double low = median_from(middle + (below < last ? below : last), n),
                     high = median_from(middle + (of[g] < last ? of[g] : last), n);
        for (size_t c = psr_auto_first(p, g); c < psr_auto_first(p, g + 1); c++) {
            const double a = (double)z[c] - low, b = (double)z[c] - high;
            z[c] = (float)(fabs(a) <= fabs(b) ? a : b);
        }
    }
}

/* Divides ratings of one kind by their scatter over all cells, if that is above 1. */
static void scale_cells(psr_clean_auto *p, enum psr_auto_rating kind, float *work)
{
    const size_t nchan = p->d.nchan;
    size_t n = 0;
    for (size_t k = 0; k < p->win.nblock; k++)
        for (size_t c = 0; c < nchan; c++)
            work[n++] = fabsf(p->win.block[k].z[kind][c]);
    double scatter = scatter_share * median_of(work, n);
    for (size_t k = 0; k < p->win.nblock && scatter > 1; k++)
        for (size_t c = 0; c < nchan; c++)
            p->win.block[k].z[kind][c] = (float)((double)p->win.block[k].z[kind][c] / scatter);
}

/* Cells without statistics, and channels that cannot be judged, have no z. */
static void rate_block(const psr_clean_auto *p, struct psr_auto_block *b, float *work)
{
    const size_t nchan = p->d.nchan;
    const double root = sqrt((double)p->win.size), root2 = sqrt(2 * (double)p->win.size);
    float **z = b->z;
    for (size_t c = 0; c < nchan; c++) {
        bool rated = b->valid[c] && is_live(p, c);
        double l = (double)p->levels.level[c], s = (double)p->levels.sd[c];
        z[PSR_AUTO_MEAN][c] = rated ? (float)(((double)b->mean[c] - l) * root / s) : NAN;
        z[PSR_AUTO_SD][c] = rated ? (float)(((double)b->sd[c] / s - 1) * root2) : NAN;
    }
    memcpy(z[PSR_AUTO_NEAR_MEAN], z[PSR_AUTO_MEAN], nchan * sizeof **z);
    memcpy(z[PSR_AUTO_NEAR_SD], z[PSR_AUTO_SD], nchan * sizeof **z);
    subtract_median(p, z[PSR_AUTO_MEAN], work);
    subtract_median(p, z[PSR_AUTO_SD], work);
    subtract_common(p, z[PSR_AUTO_NEAR_MEAN], work);
    subtract_common(p, z[PSR_AUTO_NEAR_SD], work);
}

static void rate_cells(psr_clean_auto *p)
{
    const size_t nchan = p->d.nchan, ncell = p->win.nblock * nchan;
#pragma omp parallel for num_threads(p->nthread)
    for (size_t k = 0; k < p->win.nblock; k++)
        rate_block(p, &p->win.block[k], p->work + k * nchan);
#pragma omp parallel for num_threads(p->nthread)
    for (int kind = 0; kind < PSR_AUTO_RATINGS; kind++)
        scale_cells(p, (enum psr_auto_rating)kind, p->work + (size_t)kind * ncell);
}

static float larger_of(const float *mean, const float *sd, size_t c)
{
    bool rated = isfinite(mean[c]) && isfinite(sd[c]);
    return rated ? fmaxf(fabsf(mean[c]), fabsf(sd[c])) : 0;
}

/* Counts in times channels whose means wander more than those of others. */
static void count_wandering(psr_clean_auto *p, enum psr_auto_rating means, unsigned char *times)
{
    const size_t nchan = p->d.nchan;
    float *excess = p->work, *sorted = p->work + nchan;
    for (size_t c = 0; c < nchan; c++) {
        double squares = 0;
        for (size_t k = 0; k < p->win.nblock; k++) {
            const double z = (double)p->win.block[k].z[means][c];
            squares += isfinite(z) ? z * z : 0;
        }
        sorted[c] = excess[c] = squares > 0 ? (float)log(squares) : NAN;
    }
    double middle = median_of(sorted, nchan);
    for (size_t c = 0; c < nchan; c++)
        sorted[c] = (float)fabs((double)excess[c] - middle);
    double scatter = scatter_share * median_of(sorted, nchan);
    for (size_t c = 0; c < nchan; c++)
        if (scatter > 0 && isfinite(excess[c]) && (double)excess[c] - middle > limit * scatter)
            times[c]++;
}

/* A channel is bad if it differs from the whole band and from the channels beside it: of a receiver's gain all have the
 * same, and of a bright burst the band has. */
static void find_bad_channels(psr_clean_auto *p)
{
    const size_t quarter = (p->win.nblock + 3) / 4, most = quarter > 2 ? quarter : 2;
    memset(p->levels.bad, 0, p->d.nchan);
    count_wandering(p, PSR_AUTO_MEAN, p->levels.bad);
    count_wandering(p, PSR_AUTO_NEAR_MEAN, p->levels.bad);
    for (size_t c = 0; c < p->d.nchan; c++) {
        size_t n = 0;
        for (size_t k = 0; k < p->win.nblock; k++)
            n += (double)p->win.block[k].z[PSR_AUTO_SD][c] > limit &&
                 (double)p->win.block[k].z[PSR_AUTO_NEAR_SD][c] > limit;
        p->levels.bad[c] = !is_live(p, c) || n >= most || p->levels.bad[c] == 2;
    }
}

/* Whether a cell is up, or was or will be in the blocks beside it. */
static bool is_up(const psr_clean_auto *p, size_t k, size_t c)
{
    const size_t from = k ? k - 1 : 0, to = k + 1 < p->win.nblock ? k + 1 : k;
    for (size_t i = from; i <= to; i++)
        if ((double)p->win.block[i].z[PSR_AUTO_SD][c] > near_limit)
            return true;
    return false;
}

static bool stands_alone(const psr_clean_auto *p, size_t k, size_t c)
{
    const size_t nchan = p->d.nchan, from = c > BESIDE ? c - BESIDE : 0,
                 to = c + BESIDE < nchan ? c + BESIDE : nchan - 1;
    size_t n = 0, up = 0;
    for (size_t i = from; i <= to; i++) {
        if (i == c || p->levels.bad[i])
            continue;
        n++;
        up += is_up(p, k, i);
    }
    return 2 * up < n;
}

/* --- what becomes of it ----------------------------------------------------------------------- */

/* What is left after the blocks goes with the last. */
static void set_gain(psr_clean_auto *p, size_t k)
{
    struct psr_auto_block *b = &p->win.block[k];
    const size_t step = k < p->win.nblock || !p->win.nblock ? k + 1 : p->win.nblock;
    const double share = (double)step / PSR_AUTO_BLOCKS;
    for (size_t c = 0; c < p->d.nchan; c++) {
        double l = p->levels.l_now[c], s = p->levels.s_now[c];
        if (p->levels.s_prev[c] > 0 && !p->levels.was_bad[c] && p->levels.hold) {
            l = p->levels.l_prev[c];
            s = p->levels.s_prev[c];
        } else if (p->levels.s_prev[c] > 0 && !p->levels.was_bad[c] && !p->levels.held_before) {
            l = p->levels.l_prev[c] + (l - p->levels.l_prev[c]) * share;
            s = p->levels.s_prev[c] + (s - p->levels.s_prev[c]) * share;
        }
        double gain = PSR_AUTO_SIGMA / s;
        b->gain[c] = b->masked[c] ? 0 : (float)gain;
        b->offset[c] = b->masked[c] ? PSR_AUTO_ZERO : (float)(PSR_AUTO_ZERO - l * gain);
    }
}

static void count_channels(const psr_clean_auto *p, struct psr_auto_block *b)
{
    b->ncount = 0;
    for (size_t g = 0; g < p->ngroup; g++) {
        size_t first = psr_auto_first(p, g), end = psr_auto_first(p, g + 1), n = 0;
        for (size_t c = first; c < end; c++)
            n += !b->masked[c];
        b->count[g] = n && 4 * n >= end - first ? n : 0;
        b->ncount += b->count[g] > 0;
    }
    if (b->ncount < LEAST)
        b->ncount = 0;
}

void psr_auto_judge(psr_clean_auto *p)
{
    const size_t nchan = p->d.nchan;
    memcpy(p->levels.l_prev, p->levels.l_now, nchan * sizeof *p->levels.l_now);
    memcpy(p->levels.s_prev, p->levels.s_now, nchan * sizeof *p->levels.s_now);
    memcpy(p->levels.was_bad, p->levels.bad, nchan);
#pragma omp parallel for num_threads(p->nthread)
    for (size_t k = 0; k < p->win.nblock; k++)
        measure_cells(p, &p->win.block[k]);
    if (p->win.nblock) {
        measure_window(p);
        update_levels(p);
        p->levels.held_before = p->levels.hold;
        p->levels.hold = p->win.nblock && p->levels.nwindow > 1 && band_steps(p);
        p->levels.tail = p->win.nblock ? band_level(p, p->win.block[p->win.nblock - 1].mean,
                                                    p->levels.l_now, p->levels.s_now)
                                       : 0;
        rate_cells(p);
        /* Leaves in the ratings of deviations the larger of both, and 0 where there is none. */
        for (size_t k = 0; k < p->win.nblock; k++) {
            float **z = p->win.block[k].z;
            for (size_t c = 0; c < p->d.nchan; c++) {
                z[PSR_AUTO_SD][c] = larger_of(z[PSR_AUTO_MEAN], z[PSR_AUTO_SD], c);
                z[PSR_AUTO_NEAR_SD][c] = larger_of(z[PSR_AUTO_NEAR_MEAN], z[PSR_AUTO_NEAR_SD], c);
            }
        }
        find_bad_channels(p);
        for (size_t k = 0; k < p->win.nblock; k++) {
            struct psr_auto_block *b = &p->win.block[k];
            for (size_t c = 0; c < p->d.nchan; c++)
                b->masked[c] = p->levels.bad[c] || !b->valid[c] ||
                               ((double)b->z[PSR_AUTO_SD][c] > limit && stands_alone(p, k, c));
        }
    } else {
        for (size_t c = 0; c < nchan; c++)
            p->levels.level[c] = p->levels.sd[c] = NAN;
        p->levels.hold = false;
    }
    for (size_t k = p->win.nblock; k < p->win.nrange; k++)
        memcpy(p->win.block[k].masked, k ? p->win.block[k - 1].masked : p->levels.bad, nchan);
#pragma omp parallel for num_threads(p->nthread)
    for (size_t k = 0; k < p->win.nrange; k++) {
        set_gain(p, k);
        count_channels(p, &p->win.block[k]);
    }
}
