/* Automatic cleaning: decides which noise sub-bands have in common. */
#include "clean_auto_plan.h"

#include "stats/stats.h"
#include <math.h>
#include <string.h>

static const double excess_limit = 0.4, first_limit = 0.8, sudden_limit = 8, spread_least = 2,
                    whole_share = 0.7;
enum { TILES_LEAST = 12, GROUPS = PSR_AUTO_GROUPS };
enum { NARROW_SHARE = 32, SUDDEN_TIMES = 4, HISTORY_LEAST = 8 };

/* --- covariances ------------------------------------------------------------------------------ */

size_t psr_auto_count_widths(const psr_clean_auto *p)
{
    size_t n = 0;
    while (n < PSR_AUTO_WIDTHS && psr_auto_make_width(n).length <= p->win.size)
        n++;
    return n;
}

/* --- modes ------------------------------------------------------------------------------------ */

/* What a mode adds to the variance of a sum over its sub-bands of one sign, in units of the noise's of the
 * band; 0 if the mode is of one sub-band. */
static double excess_of(const psr_clean_auto *p, const double *v, double value)
{
    const struct psr_auto_block *b = &p->win.block[0];
    double up = 0, down = 0, channels = 0, fourth = 0;
    for (size_t g = 0; g < p->ngroup; g++) {
        double n = (double)b->count[g];
        up += fmax(v[g], 0) * sqrt(n);
        down += fmax(-v[g], 0) * sqrt(n);
        channels += n;
        fourth += v[g] * v[g] * v[g] * v[g];
    }
    double sum = fmax(up, down);
    return channels > 0 && fourth * spread_least < 1 ? (value - 1) * sum * sum / channels : 0;
}

/* Variance of a window along v. */
static double value_along(const struct psr_auto_products *past, size_t G, const double *v)
{
    double sum = 0;
    for (size_t g = 0; g < G; g++)
        for (size_t h = 0; h < G; h++)
            sum += v[g] * v[h] * (double)past->sum[g * G + h];
    return past->n ? sum / (double)past->n : 0;
}

/* Variances along v in the last windows, and some of their quantiles. */
struct past {
    size_t n;
    double now, low, median;
};

/* Whether width number k is short of any slow pulse's. */
static bool is_narrow(const psr_clean_auto *p, size_t k)
{
    return (size_t)NARROW_SHARE << k <= p->win.size;
}

/* Variance along v at width number k, if there is a mode; otherwise 0.  A pulse is in few windows, a mode in most.
 * But where a receiver's level steps, this window stands out, and at narrow widths: a long pulse that does so is
 * very bright. */
static double mode_value(const psr_clean_auto *p, size_t k, const double *v, bool *steps)
{
    const size_t at = p->account.report.nwindow % PSR_AUTO_HISTORY;
    float value[PSR_AUTO_HISTORY] = {0};
    size_t n = 0;
    for (size_t i = 0; i < PSR_AUTO_HISTORY; i++) {
        if (!p->modes.past[k][i].n)
            continue;
        float now = (float)value_along(&p->modes.past[k][i], p->ngroup, v);
        size_t j = n++;
        for (; j > 0 && value[j - 1] > now; j--)
            value[j] = value[j - 1];
        value[j] = now;
    }
    const float quarter = value[n / 4];
    const double median = n ? psr_quantile_median(value, n) : 0;
    const struct past x = {.n = n,
                           .now = value_along(&p->modes.past[k][at], p->ngroup, v),
                           .low = n < HISTORY_LEAST ? median : (double)quarter,
                           .median = median};
    const double excess = excess_of(p, v, x.now), usual = excess_of(p, v, x.low);
    *steps = is_narrow(p, k) && excess > sudden_limit && excess > SUDDEN_TIMES * usual;
    const double least = x.n < HISTORY_LEAST ? first_limit : excess_limit;
    return *steps ? x.now : usual > least ? x.median : 0;
}

/* Whether all eigenvalues of a [G][G] are below edge: edge I - a has a Cholesky decomposition then, a tenth of the work
 * that they are, which most windows are spared. */
static bool is_noise(const double *a, size_t G, double edge)
{
    double low[GROUPS * GROUPS];
    for (size_t i = 0; i < G; i++)
        for (size_t j = 0; j <= i; j++) {
            double left = (i == j ? edge : 0) - a[i * G + j];
            for (size_t k = 0; k < j; k++)
                left -= low[i * G + k] * low[j * G + k];
            if (i == j && !(left > 0))
                return false;
            low[i * G + j] = i == j ? sqrt(left) : left / low[j * G + j];
        }
    return true;
}

/* Adds those at width number k that noise and narrower ones do not explain. */
static void find_modes(const psr_clean_auto *p, size_t k, struct psr_auto_modes *m)
{
    const size_t G = p->ngroup;
    double covariance[GROUPS * GROUPS], value[GROUPS], vector[GROUPS * GROUPS];
    const struct psr_auto_products *past = p->modes.past[k];
    const size_t cells = p->ngroup * p->ngroup;
    size_t n = 0;
    memset(covariance, 0, cells * sizeof *covariance);
    for (size_t i = 0; i < PSR_AUTO_HISTORY; i++) {
        n += past[i].n;
        for (size_t c = 0; c < cells && past[i].n; c++)
            covariance[c] += (double)past[i].sum[c];
    }
    for (size_t c = 0; c < cells && n; c++)
        covariance[c] /= (double)n;
    bool steps;
    if (n < TILES_LEAST)
        return;
    const double root = 1 + sqrt((double)G / (double)n), edge = root * root;
    for (size_t i = 0; i < m->n; i++) {
        /* Takes a mode, of length 1, out of a covariance. */
        double along[GROUPS] = {0}, both = 0;
        for (size_t g = 0; g < G; g++)
            for (size_t h = 0; h < G; h++)
                along[g] += covariance[g * G + h] * m->v[i][h];
        for (size_t g = 0; g < G; g++)
            both += m->v[i][g] * along[g];
        for (size_t g = 0; g < G; g++)
            for (size_t h = 0; h < G; h++)
                covariance[g * G + h] +=
                    both * m->v[i][g] * m->v[i][h] - along[g] * m->v[i][h] - m->v[i][g] * along[h];
    }
    if (is_noise(covariance, G, edge))
        return;
    psr_eigen_symmetric(covariance, G, value, vector);
    for (size_t i = 0; i < G && value[i] > edge && m->n < G; i++) {
        const double *v = vector + i * G, now = mode_value(p, k, v, &steps);
        if (now <= 0)
            continue;
        memcpy(m->v[m->n], v, G * sizeof *v);
        double sum = 0;
        for (size_t g = 0; g < G; g++)
            sum += v[g];
        const bool whole = sum * sum > whole_share * (double)G;
        m->beyond[m->n] = !whole            ? PSR_AUTO_BEYOND
                          : is_narrow(p, k) ? PSR_AUTO_BEYOND_WHOLE
                                            : INFINITY;
        m->width[m->n] = (size_t)1 << k;
        m->value[m->n++] = now;
    }
}

void psr_auto_choose_modes(psr_clean_auto *p, const struct psr_auto_products *now,
                           const struct psr_auto_scale *one, struct psr_auto_modes *m)
{
    const size_t nwidth = psr_auto_count_widths(p);
    m->n = 0;
    for (size_t k = 0; k < nwidth; k++) {
        p->modes.past[k][p->account.report.nwindow % PSR_AUTO_HISTORY] = now[k];
        if (now[k].n >= PSR_AUTO_FEWEST)
            find_modes(p, k, m);
    }
    /* What is slower than the widest tiles in which a mode is, stays: it may be a pulse.  Steps
     * are taken whole. */
    for (size_t i = 0; i < m->n; i++) {
        bool steps = false;
        size_t widest = 0;
        for (size_t k = 0; k < nwidth && !steps; k++)
            if (mode_value(p, k, m->v[i], &steps) > 0)
                widest = k + 1;
        m->slowest[i] = !steps && widest + 1 < nwidth ? (size_t)4 << widest : 0;
    }
    memcpy(m->centre, one->middle, sizeof m->centre);
    for (size_t k = 0; k < m->n; k++) {
        m->middle[k] = 0;
        for (size_t g = 0; g < p->ngroup; g++)
            m->middle[k] += m->v[k][g] * m->centre[g];
    }
}

/* --- what to subtract of the noise that sub-bands have in common ------------------------------ */

/* Where x belongs in n sorted floats. */
static size_t place_of(const float *sorted, size_t n, float x)
{
    size_t low = 0;
    while (n) {
        size_t half = n / 2;
        if (sorted[low + half] < x) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* Medians of the 2 h + 1 values around each of n, of those that there are. */
static void run_median(const float *x, size_t n, size_t h, float *out)
{
    float sorted[1 << PSR_AUTO_WIDTHS];
    size_t have = 0;
    for (size_t t = 0; t < n + h; t++) {
        if (t > 2 * h) {
            size_t at = place_of(sorted, have--, x[t - 2 * h - 1]);
            memmove(sorted + at, sorted + at + 1, (have - at) * sizeof *sorted);
        }
        if (t < n) {
            size_t at = place_of(sorted, have, x[t]);
            memmove(sorted + at + 1, sorted + at, (have++ - at) * sizeof *sorted);
            sorted[at] = x[t];
        }
        if (t >= h)
            out[t - h] = (float)(((double)sorted[(have - 1) / 2] + (double)sorted[have / 2]) / 2);
    }
}

/* Subtracts from n values their mean over most + 1 around each, of those that there are. */
static void take_slow(float *x, size_t n, size_t most, float *work)
{
    const size_t h = most / 2;
    int64_t sum = 0, have = 0;
    memcpy(work, x, n * sizeof *x);
    for (size_t t = 0; t < n + h; t++) {
        if (t < n) {
            sum += psr_auto_fixed(work[t]);
            have++;
        }
        if (t > 2 * h) {
            sum -= psr_auto_fixed(work[t - 2 * h - 1]);
            have--;
        }
        if (t >= h)
            x[t - h] = psr_auto_less_mean(work[t - h], sum, (size_t)have);
    }
}

static void project_block(psr_clean_auto *p, const struct psr_auto_block *b,
                          const struct psr_auto_modes *m)
{
    for (size_t t = b->first; t < b->first + b->n; t++)
        psr_auto_project(m, p->ngroup,
                         b->ncount && !p->band.spark[t] && !p->band.burst[t]
                             ? p->band.sum + t * p->ngroup
                             : NULL,
                         b->count, p->modes.mode + t, p->window);
}

static void subtract_in_block(psr_clean_auto *p, const struct psr_auto_block *b,
                              const struct psr_auto_modes *m)
{
    for (size_t t = b->first; t < b->first + b->n; t++)
        for (size_t g = 0; g < p->ngroup; g++) {
            bool counts = b->ncount && b->count[g];
            p->modes.less[t * p->ngroup + g] =
                counts ? psr_auto_less(m, g, b->count[g], p->modes.median + t, p->window) : 0;
        }
}

void psr_auto_subtract(psr_clean_auto *p, const struct psr_auto_modes *m)
{
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->win.nrange; k++)
        project_block(p, &p->win.block[k], m);
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < m->n; k++) {
        float *a = p->modes.mode + k * p->window, *out = p->modes.median + k * p->window;
        run_median(a, p->win.n, m->width[k] / 2, out);
        if (m->slowest[k])
            take_slow(out, p->win.n, m->slowest[k], a);
    }
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->win.nrange; k++)
        subtract_in_block(p, &p->win.block[k], m);
}
