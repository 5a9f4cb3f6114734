/* Automatic cleaning: finds noise that sub-bands have in common, and what to subtract of it. */
#include "clean_auto_plan.h"

#include "base/eigen.h"
#include "base/quantile.h"
#include <math.h>
#include <string.h>

static const double scatter_share = 1.4826, clip = 3, excess_limit = 0.4, first_limit = 0.8,
                    sudden_limit = 8, spread_least = 2,
                    median_noise = 1.5708; /* variance of a median, in that of a mean */
enum { TILES_LEAST = 12, TILES_FEWEST = 4, GROUPS = PSR_AUTO_GROUPS, FIXED_ONE = 1 << 20 };
enum { SUDDEN_SHARE = 32, SUDDEN_TIMES = 4, HISTORY_LEAST = 8 };

/* Sub-bands in tiles of one width: their medians and the sizes that clip them, in sigmas of noise. */
struct scale {
    double middle[GROUPS], most[GROUPS];
};

/* What to subtract: of running medians of the part of the sub-bands along v[k], of variance value[k] - 1. */
struct modes {
    struct scale one;                         /* of single spectra */
    size_t n, width[GROUPS], slowest[GROUPS]; /* slowest: what is slower stays; 0: nothing */
    double v[GROUPS][GROUPS], value[GROUPS], middle[GROUPS]; /* middle: v times one.middle */
};

/* --- covariances ------------------------------------------------------------------------------ */

/* Weights of a tile of 2 w spectra, in steps of w / 4: a triangle, so that what varies faster hardly counts.
 * Tiles of 1 and 2 w = 4 spectra have shorter ones. */
static const int triangle[3][8] = {{1}, {1, 2, 2, 1}, {1, 2, 3, 4, 4, 3, 2, 1}};
static const size_t nweight[3] = {1, 4, 8};

/* A width: number k, 2^k spectra. */
struct width {
    size_t step, length; /* spectra of a step and of a tile */
    size_t shape;        /* of triangle */
    double noise;        /* root of the sum of squared weights of spectra */
};

static struct width make_width(size_t k)
{
    struct width w = {.step = k > 2 ? (size_t)1 << (k - 2) : 1, .shape = k < 2 ? k : 2};
    double squares = 0;
    for (size_t i = 0; i < nweight[w.shape]; i++)
        squares += triangle[w.shape][i] * triangle[w.shape][i];
    w.length = w.step * nweight[w.shape];
    w.noise = sqrt(squares * (double)w.step);
    return w;
}

/* Sums over steps: those of the width before become those of twice the step. */
static void fold_steps(psr_clean_auto *p, size_t step)
{
    const size_t G = p->ngroup;
    if (step == 1)
        for (size_t i = 0; i < p->n * G; i++)
            p->fold[i] = p->sum[i];
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
                      const struct width *w, float *r)
{
    const int64_t *x = p->fold + (b->first + t / w->step) * p->ngroup;
    int64_t sum[GROUPS] = {0};
    for (size_t i = 0; i < nweight[w->shape]; i++)
        for (size_t g = 0; g < p->ngroup; g++)
            sum[g] += triangle[w->shape][i] * x[i * p->ngroup + g];
    for (size_t g = 0; g < p->ngroup; g++) {
        double n = sqrt((double)b->count[g]) * w->noise;
        r[g] = b->count[g] ? (float)((double)sum[g] / (PSR_AUTO_SIGMA * n)) : 0;
    }
}

/* At most PSR_AUTO_TILES of the tiles, evenly, of those without sparks.  Returned: their number, in
 * p->rate */
static size_t rate_tiles(psr_clean_auto *p, const struct width *w)
{
    const size_t all = count_tiles(p, w->length),
                 step = (all + PSR_AUTO_TILES - 1) / PSR_AUTO_TILES;
    size_t n = 0, j = 0;
    for (size_t k = 0; k < p->nrange; k++) {
        const struct psr_auto_block *b = &p->block[k];
        for (size_t t = 0; t + w->length <= b->n; t += w->length, j++)
            if (j % step == 0 && b->ncount && !memchr(p->spark + b->first + t, 1, w->length))
                rate_tile(p, b, t, w, p->rate + n++ * p->ngroup);
    }
    return n;
}

static double clip_to(double x, double most)
{
    return fmin(fmax(x, -most), most);
}

/* Subtracts medians, and clips, so that a pulse in a few tiles does not count. */
static void level_tiles(psr_clean_auto *p, size_t n, struct scale *s)
{
    const size_t G = p->ngroup;
    for (size_t g = 0; g < G; g++) {
        for (size_t j = 0; j < n; j++)
            p->work[j] = p->rate[j * G + g];
        s->middle[g] = psr_quantile_median(p->work, n);
        for (size_t j = 0; j < n; j++)
            p->work[j] = (float)fabs((double)p->rate[j * G + g] - s->middle[g]);
        s->most[g] = clip * fmax(1, scatter_share * psr_quantile_median(p->work, n));
        for (size_t j = 0; j < n; j++)
            p->rate[j * G + g] =
                (float)clip_to((double)p->rate[j * G + g] - s->middle[g], s->most[g]);
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

/* Returned: tiles that the covariance over the last windows is of */
static size_t average_products(const psr_clean_auto *p, const struct psr_auto_products *past,
                               double *covariance)
{
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
    return n;
}

/* --- modes ------------------------------------------------------------------------------------ */

/* What a mode adds to the variance of a sum over its sub-bands of one sign, in units of the noise's of the
 * band; 0 if the mode is of one sub-band. */
static double excess_of(const psr_clean_auto *p, const double *v, double value)
{
    const struct psr_auto_block *b = &p->block[0];
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

/* Takes a mode, of length 1, out of a covariance. */
static void deflate(double *covariance, size_t G, const double *v)
{
    double along[GROUPS] = {0}, both = 0;
    for (size_t g = 0; g < G; g++)
        for (size_t h = 0; h < G; h++)
            along[g] += covariance[g * G + h] * v[h];
    for (size_t g = 0; g < G; g++)
        both += v[g] * along[g];
    for (size_t g = 0; g < G; g++)
        for (size_t h = 0; h < G; h++)
            covariance[g * G + h] += both * v[g] * v[h] - along[g] * v[h] - v[g] * along[h];
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

static struct past past_along(const psr_clean_auto *p, size_t k, const double *v)
{
    const size_t at = p->report.nwindow % PSR_AUTO_HISTORY;
    float value[PSR_AUTO_HISTORY] = {0};
    size_t n = 0;
    for (size_t i = 0; i < PSR_AUTO_HISTORY; i++) {
        if (!p->past[k][i].n)
            continue;
        float now = (float)value_along(&p->past[k][i], p->ngroup, v);
        size_t j = n++;
        for (; j > 0 && value[j - 1] > now; j--)
            value[j] = value[j - 1];
        value[j] = now;
    }
    const float quarter = value[n / 4];
    const double median = n ? psr_quantile_median(value, n) : 0;
    return (struct past){.n = n,
                         .now = value_along(&p->past[k][at], p->ngroup, v),
                         .low = n < HISTORY_LEAST ? median : (double)quarter,
                         .median = median};
}

/* Variance along v at width number k, if there is a mode; otherwise 0.  A pulse is in few windows, a mode in most.
 * But where a receiver's level steps, this window stands out, and at narrow widths: a long pulse that does so is
 * very bright. */
static double mode_value(const psr_clean_auto *p, size_t k, const double *v, bool *steps)
{
    const struct past x = past_along(p, k, v);
    const double excess = excess_of(p, v, x.now), usual = excess_of(p, v, x.low);
    const bool narrow = (size_t)SUDDEN_SHARE << k <= p->size;
    *steps = narrow && excess > sudden_limit && excess > SUDDEN_TIMES * usual;
    const double least = x.n < HISTORY_LEAST ? first_limit : excess_limit;
    return *steps ? x.now : usual > least ? x.median : 0;
}

/* Adds those at width number k that noise and narrower ones do not explain. */
static void find_modes(const psr_clean_auto *p, size_t k, struct modes *m)
{
    const size_t G = p->ngroup;
    double covariance[GROUPS * GROUPS], value[GROUPS], vector[GROUPS * GROUPS];
    const size_t n = average_products(p, p->past[k], covariance);
    bool steps;
    if (n < TILES_LEAST)
        return;
    const double root = 1 + sqrt((double)G / (double)n), edge = root * root;
    for (size_t i = 0; i < m->n; i++)
        deflate(covariance, G, m->v[i]);
    psr_eigen_symmetric(covariance, G, value, vector);
    for (size_t i = 0; i < G && value[i] > edge && m->n < G; i++) {
        const double *v = vector + i * G, now = mode_value(p, k, v, &steps);
        if (now <= 0)
            continue;
        memcpy(m->v[m->n], v, G * sizeof *v);
        m->width[m->n] = (size_t)1 << k;
        m->value[m->n++] = now;
    }
}

/* Looks at width number k, after all narrower ones. */
static void look_at_width(psr_clean_auto *p, size_t k, const struct width *w, struct modes *m)
{
    struct psr_auto_products *now = &p->past[k][p->report.nwindow % PSR_AUTO_HISTORY];
    struct scale s;
    if (k == 0 || w->step > 1)
        fold_steps(p, w->step);
    size_t n = rate_tiles(p, w);
    now->n = 0;
    if (n < TILES_FEWEST)
        return;
    level_tiles(p, n, &s);
    enter_products(p, now, n);
    if (k == 0)
        m->one = s;
    find_modes(p, k, m);
}

/* What is slower than the widest tiles in which a mode is, stays: it may be a pulse.  Steps are taken whole. */
static void bound_modes(const psr_clean_auto *p, size_t nwidth, struct modes *m)
{
    for (size_t i = 0; i < m->n; i++) {
        bool steps = false;
        size_t widest = 0;
        for (size_t k = 0; k < nwidth && !steps; k++)
            if (mode_value(p, k, m->v[i], &steps) > 0)
                widest = k + 1;
        m->slowest[i] = !steps && widest + 1 < nwidth ? (size_t)4 << widest : 0;
    }
}

/* --- what to subtract ------------------------------------------------------------------------- */

/* Least absolute deviations: the weighted median of r / v, weights |v|, which a pulse in fewer than half of
 * the sub-bands does not move far. */
static double fit_mode(const double *v, const double *r, size_t G)
{
    double x[GROUPS], weight[GROUPS], total = 0, below = 0;
    size_t n = 0;
    for (size_t g = 0; g < G; g++) {
        if (fabs(v[g]) < 1e-6)
            continue;
        double now = r[g] / v[g];
        size_t k = n++;
        for (; k > 0 && x[k - 1] > now; k--) {
            x[k] = x[k - 1];
            weight[k] = weight[k - 1];
        }
        x[k] = now;
        weight[k] = fabs(v[g]);
        total += weight[k];
    }
    for (size_t k = 0; k < n; k++) {
        below += weight[k];
        if (2 * below >= total)
            return x[k];
    }
    return 0;
}

/* Fits all modes to r: from least absolute deviations, two steps towards least squares with residuals
 * clipped (Huber 1981). */
static void fit_modes(const struct modes *m, size_t G, double *r, double *a)
{
    for (size_t k = 0; k < m->n; k++) {
        a[k] = fit_mode(m->v[k], r, G);
        for (size_t g = 0; g < G; g++)
            r[g] -= a[k] * m->v[k][g];
    }
    for (int step = 0; step < 2; step++) {
        double move[GROUPS] = {0};
        for (size_t k = 0; k < m->n; k++)
            for (size_t g = 0; g < G; g++)
                move[k] += m->v[k][g] * clip_to(r[g], clip);
        for (size_t k = 0; k < m->n; k++) {
            a[k] += move[k];
            for (size_t g = 0; g < G; g++)
                r[g] -= move[k] * m->v[k][g];
        }
    }
}

/* Parts of spectrum t along the modes: p->mode [m->n][window]. */
static void project(psr_clean_auto *p, const struct psr_auto_block *b, const struct modes *m,
                    size_t t)
{
    double r[GROUPS] = {0}, a[GROUPS];
    for (size_t g = 0; g < p->ngroup; g++) {
        double n = (double)b->count[g], u = (double)p->sum[t * p->ngroup + g];
        if (b->ncount && b->count[g] && !p->spark[t])
            r[g] = u / (PSR_AUTO_SIGMA * sqrt(n)) - m->one.middle[g];
    }
    fit_modes(m, p->ngroup, r, a);
    for (size_t k = 0; k < m->n; k++)
        p->mode[k * p->window + t] = (float)(a[k] + m->middle[k]);
}

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

/* What of a running median a of a mode is not noise: the share of the mode's variance in all, or more where
 * a itself is beyond noise. */
static double shrink(const struct modes *m, size_t k, double a)
{
    double noise = median_noise, mode = m->value[k] - 1, power = a * a * (double)m->width[k];
    return a * fmax(mode / (mode + noise), 1 - noise / fmax(power, noise));
}

/* Fixed point, so that sums do not depend on their order. */
static int64_t fixed_of(float x)
{
    return llrint((double)x * FIXED_ONE);
}

/* Subtracts from n values their mean over most + 1 around each, of those that there are. */
static void take_slow(float *x, size_t n, size_t most, float *work)
{
    const size_t h = most / 2;
    int64_t sum = 0, have = 0;
    memcpy(work, x, n * sizeof *x);
    for (size_t t = 0; t < n + h; t++) {
        if (t < n) {
            sum += fixed_of(work[t]);
            have++;
        }
        if (t > 2 * h) {
            sum -= fixed_of(work[t - 2 * h - 1]);
            have--;
        }
        if (t >= h)
            x[t - h] = (float)((double)work[t - h] - (double)sum / (FIXED_ONE * (double)have));
    }
}

static void subtract_at(psr_clean_auto *p, const struct psr_auto_block *b, const struct modes *m,
                        size_t t)
{
    for (size_t g = 0; g < p->ngroup; g++) {
        double d = 0;
        for (size_t k = 0; k < m->n; k++)
            d += m->v[k][g] * shrink(m, k, (double)p->median[k * p->window + t]);
        bool counts = b->ncount && b->count[g];
        p->less[t * p->ngroup + g] =
            counts ? (float)(PSR_AUTO_SIGMA * d / sqrt((double)b->count[g])) : 0;
    }
}

static void make_less(psr_clean_auto *p, struct modes *m)
{
    for (size_t k = 0; k < m->n; k++)
        for (size_t g = 0; g < p->ngroup; g++)
            m->middle[k] += m->v[k][g] * m->one.middle[g];
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->nrange; k++)
        for (size_t i = 0; i < p->block[k].n; i++)
            project(p, &p->block[k], m, p->block[k].first + i);
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < m->n; k++) {
        float *a = p->mode + k * p->window, *out = p->median + k * p->window;
        run_median(a, p->n, m->width[k] / 2, out);
        if (m->slowest[k])
            take_slow(out, p->n, m->slowest[k], a);
    }
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->nrange; k++)
        for (size_t i = 0; i < p->block[k].n; i++)
            subtract_at(p, &p->block[k], m, p->block[k].first + i);
}

bool psr_auto_find_modes(psr_clean_auto *p)
{
    struct modes m = {.n = 0};
    struct width w;
    size_t n = 0;
    for (; n < PSR_AUTO_WIDTHS && (w = make_width(n)).length <= p->size; n++)
        look_at_width(p, n, &w, &m);
    bound_modes(p, n, &m);
    if (m.n)
        make_less(p, &m);
    return m.n > 0;
}
