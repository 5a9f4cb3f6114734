/* clean_auto_ref.h: automatic cleaning as psrkit/experimental/clean_auto.h defines it, by plain loops over the whole
 * stream. */
#ifndef PSR_TESTS_CLEAN_AUTO_REF_H
#define PSR_TESTS_CLEAN_AUTO_REF_H

#include <psrkit/experimental/clean_auto.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of products of sub-bands over n tiles. */
struct ref_products {
    size_t n;
    float sum[16][16];
};

/* The delay of one end of the band to the other, and its noise; 0: it has none. */
struct ref_delay {
    double size, noise;
    bool of_receivers; /* two levels fit better than a delay */
};

struct ref {
    size_t nchan, nsamp, block, window;
    const float *x; /* [nsamp][nchan] */
    const unsigned char *keep;
    double clip_sigma;
    bool zerodm, weights;
    unsigned char *q;          /* [nsamp][nchan] levels of a sigma */
    unsigned char *out, *cell; /* [nsamp][nchan]; cell: 1 where masked, without sparks */
    unsigned char *gone;       /* [nsamp][nchan] 1 where masked, with sparks */
    size_t nspark, nfiltered, nwindow, nseen; /* windows with statistics, and all */
    struct ref_products *past[11];            /* [256] by width and window */
    /* per channel: l and s of all windows, and L and S of the last */
    float *l, *s;
    double *L, *S;
    size_t *since; /* the first window of the history of a channel */
    unsigned char *bad, *was_bad;
    bool hold, held_prev, open; /* levels stay; the last window ended in a jump of the band */
    bool burst_open;            /* .. in a burst */
    double tail, last_sum;
    struct ref_delay past_delay[64]; /* of the last runs */
    size_t ndelay;
};

static int ref_compare(const void *a, const void *b)
{
    float p = *(const float *)a, q = *(const float *)b;
    return (p > q) - (p < q);
}

/* Of those that are numbers; changes x. */
static double ref_median(float *x, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            x[k++] = x[i];
    if (!k)
        return (double)NAN;
    qsort(x, k, sizeof *x, ref_compare);
    return k % 2 ? (double)x[k / 2] : ((double)x[k / 2 - 1] + (double)x[k / 2]) / 2;
}

static double ref_scatter(const float *x, size_t n, double middle)
{
    float *y = malloc(n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)fabs((double)x[i] - middle);
    double scatter = 1.4826 * ref_median(y, n);
    free(y);
    return scatter;
}

static double ref_median_copy(const float *x, size_t n)
{
    float *y = malloc(n * sizeof *y);
    memcpy(y, x, n * sizeof *y);
    double middle = ref_median(y, n);
    free(y);
    return middle;
}

/* Over their scatter, if that is above 1. */
static void ref_scale(float *z, size_t n)
{
    double scatter = ref_scatter(z, n, 0);
    for (size_t i = 0; i < n && scatter > 1; i++)
        z[i] = (float)((double)z[i] / scatter);
}

/* z of one kind minus medians of blocks. */
static void ref_level_out(float *z, size_t nblock, size_t nchan)
{
    for (size_t k = 0; k < nblock; k++) {
        double middle = ref_median_copy(z + k * nchan, nchan);
        for (size_t c = 0; c < nchan; c++)
            z[k * nchan + c] = (float)((double)z[k * nchan + c] - middle);
    }
    ref_scale(z, nblock * nchan);
}

/* The same minus the nearer of two medians of the medians of five sub-bands, those from or to its own. */
static void ref_level_beside(float *z, size_t nblock, size_t nchan)
{
    const size_t G = nchan < 16 ? nchan : 16;
    for (size_t k = 0; k < nblock; k++) {
        float *row = z + k * nchan, middle[16];
        size_t g = 0, n = 0, of[16];
        for (size_t i = 0; i < G; i++) {
            size_t first = i * nchan / G, end = (i + 1) * nchan / G;
            double now = ref_median_copy(row + first, end - first);
            of[i] = n;
            if (isfinite(now))
                middle[n++] = (float)now;
        }
        for (size_t c = 0; c < nchan && n; c++) {
            while ((g + 1) * nchan / G <= c)
                g++;
            size_t some = n < 5 ? n : 5, low = of[g] > some - 1 ? of[g] - (some - 1) : 0,
                   high = of[g];
            low = low + some > n ? n - some : low;
            high = high + some > n ? n - some : high;
            double below = (double)row[c] - ref_median_copy(middle + low, some),
                   above = (double)row[c] - ref_median_copy(middle + high, some);
            row[c] = (float)(fabs(above) < fabs(below) ? above : below);
        }
    }
    ref_scale(z, nblock * nchan);
}

/* Counts channels whose means wander. */
static void ref_wander(const float *zm, size_t nblock, size_t n, unsigned char *times)
{
    float *wander = calloc(n, sizeof *wander);
    for (size_t c = 0; c < n; c++) {
        double squares = 0;
        for (size_t k = 0; k < nblock; k++)
            squares += isnan(zm[k * n + c]) ? 0 : (double)zm[k * n + c] * (double)zm[k * n + c];
        wander[c] = squares > 0 ? (float)log(squares) : NAN;
    }
    double middle = ref_median_copy(wander, n), scatter = ref_scatter(wander, n, middle);
    for (size_t c = 0; c < n; c++)
        if (scatter > 0 && (double)wander[c] - middle > 5 * scatter)
            times[c]++;
    free(wander);
}

static float *ref_copy(const float *x, size_t n)
{
    float *y = malloc(n * sizeof *y);
    memcpy(y, x, n * sizeof *y);
    return y;
}

/* Leaves in zd the larger of both. */
static void ref_join(const float *zm, float *zd, size_t n)
{
    for (size_t i = 0; i < n; i++)
        zd[i] = isnan(zm[i]) ? 0 : fmaxf(fabsf(zm[i]), fabsf(zd[i]));
}

/* Leaves in zm and zd of nblock blocks of B spectra those of means and deviations. */
static void ref_rate(const struct ref *r, size_t nblock, size_t B, const float *m, const float *d,
                     float *zm, float *zd)
{
    const size_t n = r->nchan;
    const float *l = r->l + r->nwindow * n, *s = r->s + r->nwindow * n;
    for (size_t k = 0; k < nblock; k++)
        for (size_t c = 0; c < n; c++) {
            bool live = r->keep[c] && r->S[c] > 0 && s[c] > 0 && isfinite(m[k * n + c]);
            double lc = (double)l[c], sc = (double)s[c];
            zm[k * n + c] =
                live ? (float)(((double)m[k * n + c] - lc) * sqrt((double)B) / sc) : NAN;
            zd[k * n + c] =
                live ? (float)(((double)d[k * n + c] / sc - 1) * sqrt(2 * (double)B)) : NAN;
        }
}

/* Whether a cell's z stands out of those of channels beside it. */
static bool ref_alone(const struct ref *r, const float *z, size_t nblock, size_t k, size_t c)
{
    const size_t n = r->nchan;
    size_t beside = 0, up = 0;
    for (size_t i = 0; i < n; i++) {
        bool near = i != c && (i > c ? i - c : c - i) <= 8 && !r->bad[i], above = false;
        for (size_t j = 0; j < nblock; j++)
            above |= (j > k ? j - k : k - j) <= 1 && z[j * n + i] > 2.5F;
        beside += near;
        up += near && above;
    }
    return z[k * n + c] > 5 && 2 * up < beside;
}

/* Masks of nblock blocks of B spectra; l, s, L and S are those of this window. */
static void ref_mask(struct ref *r, size_t nblock, size_t B, const float *m, const float *d,
                     unsigned char *masked)
{
    const size_t n = r->nchan, cells = nblock * n;
    const float *s = r->s + r->nwindow * n;
    float *zm = malloc(cells * sizeof *zm), *zd = malloc(cells * sizeof *zd);
    unsigned char *times = calloc(n, 1);
    ref_rate(r, nblock, B, m, d, zm, zd);
    float *near_zm = ref_copy(zm, cells), *near_zd = ref_copy(zd, cells);
    ref_level_out(zm, nblock, n);
    ref_level_out(zd, nblock, n);
    ref_level_beside(near_zm, nblock, n);
    ref_level_beside(near_zd, nblock, n);
    ref_wander(zm, nblock, n, times);
    ref_wander(near_zm, nblock, n, times);
    ref_join(zm, zd, cells);
    ref_join(near_zm, near_zd, cells);
    size_t least = (nblock + 3) / 4 > 2 ? (nblock + 3) / 4 : 2;
    for (size_t c = 0; c < n; c++) {
        size_t nbad = 0;
        for (size_t k = 0; k < nblock; k++)
            nbad += zd[k * n + c] > 5 && near_zd[k * n + c] > 5;
        r->bad[c] = !(r->keep[c] && r->S[c] > 0 && s[c] > 0) || nbad >= least || times[c] == 2;
    }
    for (size_t k = 0; k < nblock; k++)
        for (size_t c = 0; c < n; c++)
            masked[k * n + c] = r->bad[c] || isnan(m[k * n + c]) || ref_alone(r, zd, nblock, k, c);
    void *const own[] = {zm, zd, near_zm, near_zd, times};
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        free(own[k]);
}

static unsigned char ref_level(float y)
{
    return (unsigned char)fmin(fmax(rint((double)y), 0), 255);
}

#include "clean_sparks_ref.h"

#include "clean_delays_ref.h"

#include "clean_jumps_ref.h"
#include "clean_modes_ref.h"

/* The mean of all channels, as less. */
static void ref_zerodm(const struct ref_band *b, float *less)
{
    double *a = malloc(b->n * sizeof *a), mean = 0;
    for (size_t t = 0; t < b->n; t++) {
        double sum = 0, all = 0;
        for (size_t g = 0; g < b->ngroup; g++)
            sum += b->u[t * b->ngroup + g];
        for (size_t c = 0; c < b->r->nchan; c++)
            all += !b->r->cell[(b->t0 + t) * b->r->nchan + c];
        a[t] = (double)(float)(all > 0 ? sum / all : 0);
        mean += a[t];
    }
    for (size_t t = 0; t < b->n; t++)
        for (size_t g = 0; g < b->ngroup; g++)
            less[t * b->ngroup + g] = (float)(a[t] - mean / (double)b->n);
    free(a);
}

/* Given:    first   the window is the first and shorter than four blocks
 * Returned: whether there is something to subtract */
static bool ref_filter(struct ref_band *b, bool first, float *less)
{
    struct ref_modes m = {.n = 0};
    if (b->r->zerodm) {
        ref_lost(b);
        ref_zerodm(b, less);
        return true;
    }
    for (size_t w = 1; w <= b->B / 4; w *= 2)
        ref_sparks(b, w);
    size_t n = 0;
    ref_bursts(b);
    ref_lost(b);
    float *jumps = calloc(b->n * b->ngroup, sizeof *jumps);
    const bool some = ref_take_jumps(b, first, jumps);
    for (size_t w = 1; ref_length(w) <= b->B; w *= 2, n++)
        ref_look(b, w, &m);
    ref_bound(b, n, &m);
    if (m.n)
        ref_common(b, &m, less);
    for (size_t i = 0; i < b->n * b->ngroup; i++)
        less[i] += jumps[i];
    free(jumps);
    return m.n > 0 || some;
}

/* One window: rows t0 .. t0 + n - 1. */
static double ref_level_around(const struct ref *r, size_t c)
{
    float level[17];
    for (size_t k = 0; k < 17; k++) {
        const bool known =
            c + k >= 8 && c + k - 8 < r->nchan && r->keep[c + k - 8] && r->S[c + k - 8] > 0;
        level[k] = known ? (float)r->L[c + k - 8] : NAN;
    }
    return ref_median(level, 17);
}

/* Levels of a sigma in each channel. */
static void ref_weigh(const struct ref *r, unsigned char *q)
{
    float *ratio = malloc(r->nchan * sizeof *ratio);
    for (size_t c = 0; c < r->nchan; c++)
        ratio[c] = r->keep[c] && r->S[c] > 0 ? (float)(ref_level_around(r, c) / r->S[c]) : NAN;
    const double middle = ref_median_copy(ratio, r->nchan);
    for (size_t c = 0; c < r->nchan; c++)
        q[c] = r->weights && middle > 0
                   ? (unsigned char)fmin(fmax(rint(5 * (double)ratio[c] / middle), 0), 10)
                   : 5;
    free(ratio);
}

static void ref_window(struct ref *r, size_t t0, size_t n)
{
    const size_t nchan = r->nchan, G = nchan < 16 ? nchan : 16;
    size_t B = r->block, nblock;
    if (r->nwindow == 0 && n < 4 * B && n >= 32)
        B = n / 4;
    nblock = n / B >= 4 ? n / B : 0;
    float *m = malloc((nblock + 1) * nchan * sizeof *m),
          *d = malloc((nblock + 1) * nchan * sizeof *d);
    unsigned char *masked = malloc((nblock + 1) * nchan);
    double *L0 = malloc(nchan * sizeof *L0), *S0 = malloc(nchan * sizeof *S0);
    memcpy(L0, r->L, nchan * sizeof *L0);
    memcpy(S0, r->S, nchan * sizeof *S0);
    memcpy(r->was_bad, r->bad, nchan);
    for (size_t c = 0; c < nchan; c++) {
        float *l = r->l + r->nwindow * nchan, *s = r->s + r->nwindow * nchan;
        float column[16];
        for (size_t k = 0; k < nblock; k++) {
            double s1 = 0, s2 = 0;
            for (size_t t = t0 + k * B; t < t0 + (k + 1) * B; t++) {
                s1 += (double)r->x[t * nchan + c];
                s2 += (double)r->x[t * nchan + c] * (double)r->x[t * nchan + c];
            }
            double squares = s2 - s1 * s1 / (double)B;
            m[k * nchan + c] = isfinite(squares) ? (float)(s1 / (double)B) : NAN;
            d[k * nchan + c] =
                isfinite(squares) ? (float)sqrt(fmax(squares, 0) / ((double)B - 1)) : NAN;
        }
        if (!nblock)
            continue;
        for (size_t k = 0; k < nblock; k++)
            column[k] = m[k * nchan + c];
        l[c] = (float)ref_median(column, nblock);
        for (size_t k = 0; k < nblock; k++)
            column[k] = d[k * nchan + c];
        s[c] = (float)ref_median(column, nblock);
        /* A level that is none of the history but for noise begins a new one. */
        double noise = 1.2533 * (double)s[c] / sqrt((double)(nblock * B));
        if (S0[c] > 0 && fabs((double)l[c] - L0[c]) > 5 * noise)
            r->since[c] = r->nwindow;
        size_t past = r->nwindow + 1 - r->since[c];
        past = past < 16 ? past : 16;
        for (size_t k = 0; k < past; k++)
            column[k] = r->l[(r->nwindow - k) * nchan + c];
        r->L[c] = ref_median(column, past);
        for (size_t k = 0; k < past; k++)
            column[k] = r->s[(r->nwindow - k) * nchan + c];
        r->S[c] = ref_median(column, past);
    }
    if (nblock) {
        ref_hold(r, nblock, m, L0, S0);
        ref_mask(r, nblock, B, m, d, masked);
    } else {
        r->hold = false;
        memcpy(masked, r->bad, nchan);
    }

    size_t *base = malloc(n * sizeof *base), *end = malloc(n * sizeof *end);
    float *less = calloc(n * G, sizeof *less), *gain = malloc(n * nchan * sizeof *gain),
          *offset = malloc(n * nchan * sizeof *offset);
    struct ref_band b = {r,
                         t0,
                         n,
                         B,
                         G,
                         malloc(n * G * sizeof *b.u),
                         base,
                         end,
                         calloc(n * G, sizeof *b.count),
                         calloc(n, sizeof *b.enough),
                         calloc(n, 1),
                         calloc(n, 1),
                         calloc(n, 1)};
    for (size_t t = 0; t < n; t++) {
        size_t k = t / B < nblock ? t / B : nblock ? nblock - 1 : 0, counted = 0;
        bool after = t / B >= nblock;
        base[t] = after ? nblock * B : k * B;
        end[t] = after ? n : (k + 1) * B;
        for (size_t c = 0; c < nchan; c++) {
            size_t i = t * nchan + c;
            double share = (double)(k + 1) / 16, l = r->L[c], s = r->S[c];
            if (S0[c] > 0 && !r->was_bad[c] && r->hold) {
                l = L0[c];
                s = S0[c];
            } else if (S0[c] > 0 && !r->was_bad[c] && !r->held_prev) {
                l = L0[c] + (l - L0[c]) * share;
                s = S0[c] + (s - S0[c]) * share;
            }
            bool out = masked[k * nchan + c];
            r->cell[t0 * nchan + i] = out;
            gain[i] = out ? 0 : (float)(5 / s);
            offset[i] = out ? 32 : (float)(32 - l * (5 / s));
            float x = r->x[t0 * nchan + i], y = (isfinite(x) ? x : (float)r->L[c]) * gain[i];
            y = y + offset[i];
            r->out[t0 * nchan + i] = out ? 32 : ref_level(y);
        }
        for (size_t g = 0; g < G; g++) {
            size_t first = g * nchan / G, last = (g + 1) * nchan / G, count = 0;
            b.u[t * G + g] = 0;
            for (size_t c = first; c < last; c++) {
                count += !r->cell[(t0 + t) * nchan + c];
                b.u[t * G + g] += r->out[(t0 + t) * nchan + c] - 32;
            }
            b.count[t * G + g] = 4 * count >= last - first ? (double)count : 0;
            counted += b.count[t * G + g] > 0;
        }
        b.enough[t] = counted >= 4;
    }
    bool common = ref_filter(&b, B != r->block, less);
    unsigned char *q = malloc(nchan);
    ref_weigh(r, q);
    for (size_t t = 0; t < n; t++)
        for (size_t c = 0; c < nchan; c++) {
            size_t i = t * nchan + c, g = 0;
            while ((g + 1) * nchan / G <= c)
                g++;
            float x = r->x[t0 * nchan + i], y = (isfinite(x) ? x : (float)r->L[c]) * gain[i];
            y = y + offset[i];
            if ((common || r->weights) && !r->cell[t0 * nchan + i]) {
                y = common ? y - less[t * G + g] : y;
                r->out[t0 * nchan + i] = ref_level(r->weights ? (y - 32) * (q[c] / 5.0F) + 32 : y);
            }
            r->q[t0 * nchan + i] = q[c];
            if (b.spark[t])
                r->out[t0 * nchan + i] = 32;
            r->gone[t0 * nchan + i] = b.spark[t] || r->cell[t0 * nchan + i];
        }
    for (size_t t = 0; t < n; t++)
        r->nspark += b.spark[t];
    r->nfiltered += common;
    r->nwindow += nblock > 0;
    r->nseen++;
    void *const own[] = {q,    m,      d,   masked,  L0,       S0,      base,    end,    less,
                         gain, offset, b.u, b.count, b.enough, b.spark, b.pulse, b.burst};
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        free(own[k]);
}

/* r has nchan, nsamp, x, keep, clip_sigma and zerodm; the rest is made here, and freed by ref_clear. */
__attribute__((unused)) static void ref_clean(struct ref *r, double tsamp_s)
{
    const size_t n = r->nchan;
    size_t most = r->nsamp / 1024 + 2;
    for (r->block = 64; r->block < 2048 && (double)r->block * sqrt(2) * tsamp_s < 0.125;)
        r->block *= 2;
    r->window = 16 * r->block;
    r->out = malloc(r->nsamp * n);
    r->cell = malloc(r->nsamp * n);
    r->gone = malloc(r->nsamp * n);
    r->q = malloc(r->nsamp * n);
    r->l = calloc(most * n, sizeof *r->l);
    r->s = calloc(most * n, sizeof *r->s);
    r->L = calloc(n, sizeof *r->L);
    r->S = calloc(n, sizeof *r->S);
    r->bad = malloc(n);
    r->was_bad = malloc(n);
    r->since = calloc(n, sizeof *r->since);
    for (size_t k = 0; k < 11; k++)
        r->past[k] = calloc(256, sizeof **r->past);
    memset(r->bad, 1, n);
    for (size_t t = 0; t < r->nsamp; t += r->window)
        ref_window(r, t, r->nsamp - t < r->window ? r->nsamp - t : r->window);
}

__attribute__((unused)) static void ref_clear(struct ref *r)
{
    void *const own[] = {r->q, r->out, r->cell, r->gone,    r->l,    r->s,
                         r->L, r->S,   r->bad,  r->was_bad, r->since};
    for (size_t k = 0; k < 11; k++)
        free(r->past[k]);
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        free(own[k]);
}

#endif
