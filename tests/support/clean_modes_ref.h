/* clean_modes_ref.h: noise that sub-bands have in common, as psrkit/experimental/clean_auto.h defines it, by plain loops;
 * a part of clean_auto_ref.h. */
#ifndef PSR_TESTS_CLEAN_MODES_REF_H
#define PSR_TESTS_CLEAN_MODES_REF_H

#include "stats/stats.h"

struct ref_modes {
    size_t n, w[16], slowest[16];
    double middle[16], v[16][16], value[16];
    double beyond[16];
};

static size_t ref_length(size_t w)
{
    return w == 1 ? 1 : 2 * w;
}

static double ref_weight(size_t i, size_t w)
{
    size_t from_end = i < w ? i : 2 * w - 1 - i;
    return w == 1 ? 1 : floor((double)from_end / (w > 4 ? (double)w / 4 : 1)) + 1;
}

/* Sub-band g in up to 512 tiles of width w without sparks, at most half of them pulses, which are 0, in sigmas: rate [g][tile].  Returned: number of
 * tiles */
static size_t ref_rates(const struct ref_band *b, size_t w, float (*rate)[512])
{
    const size_t length = ref_length(w);
    size_t *at = malloc(b->n * sizeof *at), n = ref_tiles(b, length, at), k = 0;
    double squares = 0;
    for (size_t i = 0; i < length; i++)
        squares += ref_weight(i, w) * ref_weight(i, w);
    for (size_t j = 0; j < n; j += (n + 511) / 512) {
        bool sparks = false;
        size_t pulses = 0;
        for (size_t i = 0; i < length; i++) {
            sparks |= b->spark[at[j] + i];
            pulses += b->pulse[at[j] + i];
        }
        if (!b->enough[at[j]] || sparks || 2 * pulses > length)
            continue;
        for (size_t g = 0; g < b->ngroup; g++) {
            double sum = 0, count = b->count[at[j] * b->ngroup + g];
            for (size_t i = 0; i < length; i++)
                sum +=
                    b->pulse[at[j] + i] ? 0 : ref_weight(i, w) * b->u[(at[j] + i) * b->ngroup + g];
            rate[g][k] = count > 0 ? (float)(sum / (5 * (sqrt(count) * sqrt(squares)))) : 0;
        }
        k++;
    }
    free(at);
    return k;
}

static double ref_clip(double x, double most)
{
    return x > most ? most : x < -most ? -most : x;
}

/* What a mode of several sub-bands adds to the variance of the sum of those of one sign. */
static double ref_excess(const struct ref_band *b, const double *v, double value)
{
    double up = 0, down = 0, channels = 0, fourth = 0;
    for (size_t g = 0; g < b->ngroup; g++) {
        up += v[g] > 0 ? v[g] * sqrt(b->count[g]) : 0;
        down += v[g] < 0 ? -v[g] * sqrt(b->count[g]) : 0;
        channels += b->count[g];
        fourth += v[g] * v[g] * v[g] * v[g];
    }
    double sum = up > down ? up : down;
    return channels > 0 && fourth * 2 < 1 ? (value - 1) * sum * sum / channels : 0;
}

/* Covariance without what is along v: (1 - v v) C (1 - v v). */
static void ref_deflate(double *cov, size_t G, const double *v)
{
    double along[16] = {0}, both = 0;
    for (size_t g = 0; g < G; g++)
        for (size_t h = 0; h < G; h++)
            along[g] += cov[g * G + h] * v[h];
    for (size_t g = 0; g < G; g++)
        both += v[g] * along[g];
    for (size_t g = 0; g < G; g++)
        for (size_t h = 0; h < G; h++)
            cov[g * G + h] += both * v[g] * v[h] - along[g] * v[h] - v[g] * along[h];
}

static double ref_along(const struct ref_products *p, size_t G, const double *v)
{
    double sum = 0;
    for (size_t g = 0; g < G; g++)
        for (size_t h = 0; h < G; h++)
            sum += v[g] * v[h] * (double)p->sum[g][h];
    return p->n ? sum / (double)p->n : 0;
}

/* Variance along v at width number k: its median over the last windows if that, or their lower quartile, is a mode's;
 * that of this window if it stands out; otherwise 0. */
static double ref_value(const struct ref_band *b, size_t k, const double *v, bool *steps)
{
    const size_t at = b->r->nseen;
    float value[16];
    double now = ref_along(&b->r->past[k][at], b->ngroup, v), more = ref_excess(b, v, now);
    size_t n = 0;
    for (size_t i = at < 15 ? 0 : at - 15; i <= at; i++)
        if (b->r->past[k][i].n)
            value[n++] = (float)ref_along(&b->r->past[k][i], b->ngroup, v);
    qsort(value, n, sizeof *value, ref_compare);
    double usual =
        ref_excess(b, v, n < 8 ? (n ? ref_median_copy(value, n) : 0) : (double)value[n / 4]);
    *steps = 32 * pow(2, (double)k) <= (double)b->B && more > 8 && more > 4 * usual;
    return *steps ? now : usual > (n < 8 ? 0.8 : 0.4) ? ref_median(value, n) : 0;
}

/* Mean of the values, rounded to 2^-20, up to h before and after t. */
static double ref_mean(const float *x, size_t n, size_t t, size_t h)
{
    double sum = 0, have = 0;
    for (size_t i = t > h ? t - h : 0; i < n && i <= t + h; i++) {
        sum += rint((double)x[i] * 1048576);
        have++;
    }
    return sum / (1048576 * have);
}

/* Looks at one width; enters its covariance into the history. */
static void ref_look(struct ref_band *b, size_t w, struct ref_modes *m)
{
    const size_t G = b->ngroup, at = b->r->nseen;
    float(*rate)[512] = calloc(16, sizeof *rate);
    struct ref_products *past = b->r->past[(int)(log2((double)w) + 0.5)];
    double cov[256] = {0}, value[16], v[256], tiles = 0;
    size_t n = ref_rates(b, w, rate);
    past[at].n = n >= 4 ? n : 0;
    for (size_t g = 0; g < G && n >= 4; g++) {
        double middle = ref_median_copy(rate[g], n);
        double most = 3 * fmax(1, ref_scatter(rate[g], n, middle));
        for (size_t j = 0; j < n; j++)
            rate[g][j] = (float)ref_clip((double)rate[g][j] - middle, most);
        const double mean = ref_mean(rate[g], n, 0, n);
        for (size_t j = 0; j < n; j++)
            rate[g][j] = (float)((double)rate[g][j] - mean);
        m->middle[g] = w == 1 ? middle : m->middle[g];
    }
    for (size_t g = 0; g < G && n >= 4; g++)
        for (size_t h = 0; h < G; h++) {
            double sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += (double)rate[g][j] * (double)rate[h][j];
            past[at].sum[g][h] = (float)sum;
        }
    free(rate);
    if (n < 4)
        return;
    /* In the order of the ring, so that sums of doubles round alike. */
    for (size_t i = 0; i < 16; i++)
        for (size_t k = at < 15 ? 0 : at - 15; k <= at; k++) {
            if (k % 16 != i || !past[k].n)
                continue;
            tiles += (double)past[k].n;
            for (size_t c = 0; c < G * G; c++)
                cov[c] += (double)past[k].sum[c / G][c % G];
        }
    if (tiles < 12)
        return;
    for (size_t c = 0; c < G * G; c++)
        cov[c] /= tiles;
    for (size_t k = 0; k < m->n; k++)
        ref_deflate(cov, G, m->v[k]);
    psr_eigen_symmetric(cov, G, value, v);
    double edge = (1 + sqrt((double)G / tiles)) * (1 + sqrt((double)G / tiles));
    for (size_t k = 0; k < G && m->n < G; k++) {
        bool steps;
        double now = ref_value(b, (size_t)(log2((double)w) + 0.5), v + k * G, &steps);
        if (value[k] > edge && now > 0) {
            double all = 0;
            for (size_t g = 0; g < G; g++)
                all += v[k * G + g];
            memcpy(m->v[m->n], v + k * G, G * sizeof *v);
            const bool whole = all * all > 0.7 * (double)G;
            m->beyond[m->n] = !whole ? 1.5 : 32 * w > b->B ? INFINITY : 4;
            m->w[m->n] = w;
            m->value[m->n++] = now;
        }
    }
}

/* Finds for each of n widths, the last ones of which may be without it, how slow a mode is. */
static void ref_bound(const struct ref_band *b, size_t nwidth, struct ref_modes *m)
{
    for (size_t i = 0; i < m->n; i++) {
        size_t n = 0;
        bool step = false, now;
        for (size_t k = 0; k < nwidth; k++) {
            n = ref_value(b, k, m->v[i], &now) > 0 ? k + 1 : n;
            step |= now;
        }
        m->slowest[i] = n + 1 < nwidth && !step ? (size_t)4 << n : 0;
    }
}

/* The x at which weights of those up to it reach half. */
static double ref_weighted_median(const double *x, const double *weight, size_t n)
{
    double total = 0;
    for (size_t k = 0; k < n; k++)
        total += weight[k];
    for (size_t k = 0; k < n; k++) {
        double below = 0;
        for (size_t j = 0; j < n; j++)
            below += x[j] <= x[k] ? weight[j] : 0;
        bool least = 2 * below >= total;
        for (size_t j = 0; j < n && least; j++) {
            double before = 0;
            for (size_t i = 0; i < n; i++)
                before += x[i] <= x[j] ? weight[i] : 0;
            least = x[j] >= x[k] || 2 * before < total;
        }
        if (least)
            return x[k];
    }
    return 0;
}

/* Fits the modes to r, which becomes what is left. */
static void ref_fit(const struct ref_modes *m, size_t G, double *r, double *a)
{
    for (size_t k = 0; k < m->n; k++) {
        double x[16], weight[16];
        size_t n = 0;
        for (size_t g = 0; g < G; g++)
            if (fabs(m->v[k][g]) >= 1e-6) {
                x[n] = r[g] / m->v[k][g];
                weight[n++] = fabs(m->v[k][g]);
            }
        a[k] = ref_weighted_median(x, weight, n);
        for (size_t g = 0; g < G; g++)
            r[g] -= a[k] * m->v[k][g];
    }
    for (int step = 0; step < 2; step++) {
        double move[16] = {0};
        for (size_t k = 0; k < m->n; k++)
            for (size_t g = 0; g < G; g++)
                move[k] += m->v[k][g] * ref_clip(r[g], 3);
        for (size_t k = 0; k < m->n; k++) {
            a[k] += move[k];
            for (size_t g = 0; g < G; g++)
                r[g] -= move[k] * m->v[k][g];
        }
    }
}

/* What to subtract from sub-band g of row t: less [n][ngroup]. */
static void ref_common(const struct ref_band *b, const struct ref_modes *m, float *less)
{
    const size_t G = b->ngroup;
    float *a = calloc(m->n * b->n, sizeof *a);
    double base[16] = {0};
    for (size_t k = 0; k < m->n; k++)
        for (size_t g = 0; g < G; g++)
            base[k] += m->v[k][g] * m->middle[g];
    for (size_t t = 0; t < b->n; t++) {
        double r[16] = {0}, now[16];
        for (size_t g = 0; g < G; g++)
            if (b->enough[t] && b->count[t * G + g] > 0 && !b->spark[t] && !b->burst[t])
                r[g] = b->u[t * G + g] / (5 * sqrt(b->count[t * G + g])) - m->middle[g];
        ref_fit(m, G, r, now);
        for (size_t k = 0; k < m->n; k++)
            a[k * b->n + t] = (float)(now[k] + base[k]);
    }
    float *middle = calloc(m->n * b->n, sizeof *middle);
    for (size_t k = 0; k < m->n; k++)
        for (size_t t = 0; t < b->n; t++) {
            size_t h = m->w[k] / 2, from = t > h ? t - h : 0, to = t + h < b->n ? t + h : b->n - 1;
            middle[k * b->n + t] = (float)ref_median_copy(a + k * b->n + from, to - from + 1);
        }
    for (size_t t = 0; t < b->n; t++) {
        double d[16] = {0};
        for (size_t k = 0; k < m->n; k++) {
            float value = middle[k * b->n + t];
            if (m->slowest[k])
                value = (float)((double)value -
                                ref_mean(middle + k * b->n, b->n, t, m->slowest[k] / 2));
            const double w = (double)m->w[k], noise = w * 1.5708 / (2 * floor(w / 2) + 1.5708);
            double all = m->value[k] - 1 + noise,
                   off = (double)value - (m->slowest[k] ? 0 : base[k]);
            double power = off * off * w;
            double part = (double)value * ((m->value[k] - 1) / all);
            if (power > m->beyond[k] * all)
                part += off * fmin((power / all - m->beyond[k]) / 0.5, 1) *
                        (noise / all - noise / power);
            for (size_t g = 0; g < G; g++)
                d[g] += m->v[k][g] * part;
        }
        for (size_t g = 0; g < G; g++) {
            double n = b->enough[t] ? b->count[t * G + g] : 0;
            less[t * G + g] = n > 0 ? (float)(5 * d[g] / sqrt(n)) : 0;
        }
    }
    free(middle);
    free(a);
}

#endif
