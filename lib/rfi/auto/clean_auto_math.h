/* clean_auto_math.h: the arithmetic of automatic cleaning that host and device share (private).
 *
 * Both give the same bits: the same operations in the same order, each rounded for itself.  What
 * includes this is compiled without fused multiply-adds. */
#ifndef PSR_RFI_AUTO_CLEAN_AUTO_MATH_H
#define PSR_RFI_AUTO_CLEAN_AUTO_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define AUTO_FN static __host__ __device__ inline
#else
#define AUTO_FN static inline
#endif

enum {
    PSR_AUTO_BLOCKS = 16, /* of a window; one more may be incomplete */
    PSR_AUTO_HISTORY = 16,
    PSR_AUTO_GROUPS = 16, /* sub-bands */
    PSR_AUTO_ZERO = 32,   /* what 0 sigma becomes */
    PSR_AUTO_SIGMA = 5,   /* levels of a sigma */
    PSR_AUTO_WIDTHS = 11, /* 1 to 1024 spectra */
    PSR_AUTO_TILES = 512, /* of a window that covariances are of */
    PSR_AUTO_FEWEST = 4,  /* tiles that a window needs for them */
    PSR_AUTO_AROUND = 4,  /* tiles on either side that a spark is above */
    PSR_AUTO_RARE = 7,    /* pulses are at most this part of a window */
    PSR_AUTO_DIPS = 2,    /* and dips at most this part of pulses */
};

#define PSR_AUTO_SCATTER      1.4826 /* standard deviation, in median absolute ones */
#define PSR_AUTO_MEDIAN_NOISE 1.2533 /* deviation of a median, in that of a mean */
#define PSR_AUTO_MEDIAN_POWER 1.5708 /* its square */
#define PSR_AUTO_CLIP         3.0    /* sigmas beyond which sub-bands hardly count */
#define PSR_AUTO_PULSE                                                                             \
    2.5 /* sigmas from which a tile is a pulse, and common noise is not measured there */
#define PSR_AUTO_BEYOND        1.5 /* times the power of a mode and noise: more may be a step's, */
#define PSR_AUTO_BEYOND_WHOLE  4.0 /* or of a narrow mode of the whole band; */
#define PSR_AUTO_RAMP          0.5 /* and, if it is so much more, is */
#define PSR_AUTO_QUARTILE      0.6745 /* of noise */
#define PSR_AUTO_QUARTER_NOISE 1.3626 /* deviation of a quartile, in that of a mean */
#define PSR_AUTO_FIXED_ONE     (1 << 20)

/* Sub-bands in tiles of one width: their medians and the sizes that clip them, in sigmas of noise. */
struct psr_auto_scale {
    double middle[PSR_AUTO_GROUPS], most[PSR_AUTO_GROUPS];
};

/* What to subtract: of running medians of the part of the sub-bands along v[k], of variance value[k] - 1. */
struct psr_auto_modes {
    size_t n;
    size_t width[PSR_AUTO_GROUPS],
        slowest[PSR_AUTO_GROUPS]; /* slowest: what is slower stays; 0: nothing */
    double v[PSR_AUTO_GROUPS][PSR_AUTO_GROUPS], value[PSR_AUTO_GROUPS];
    double beyond[PSR_AUTO_GROUPS]; /* times its power and noise's, from where on it is a step's */
    double centre[PSR_AUTO_GROUPS]; /* medians of single spectra */
    double middle[PSR_AUTO_GROUPS]; /* v times these */
};

/* A width: number k, 2^k spectra.  Weights of a tile of 2 w spectra are in steps of w / 4: a triangle, so that
 * what varies faster hardly counts.  Tiles of 1 and 2 w = 4 spectra have shorter ones. */
struct psr_auto_width {
    size_t step, length;       /* spectra of a step and of a tile */
    size_t nweight, weight[8]; /* of steps */
    double noise;              /* root of the sum of squared weights of spectra */
};

AUTO_FN struct psr_auto_width psr_auto_make_width(size_t k)
{
    struct psr_auto_width w;
    double squares = 0;
    w.step = k > 2 ? (size_t)1 << (k - 2) : 1;
    w.nweight = k == 0 ? 1 : k == 1 ? 4 : 8;
    for (size_t i = 0; i < w.nweight; i++) {
        w.weight[i] = 2 * i < w.nweight ? i + 1 : w.nweight - i;
        squares += (double)(w.weight[i] * w.weight[i]);
    }
    w.length = w.step * w.nweight;
    w.noise = sqrt(squares * (double)w.step);
    return w;
}

AUTO_FN double psr_auto_clip(double x, double most)
{
    return fmin(fmax(x, -most), most);
}

/* As psr_quantile_median, for a few floats. */
AUTO_FN double psr_auto_median_of_few(float *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        float now = x[i];
        size_t k = i;
        for (; k > 0 && x[k - 1] > now; k--)
            x[k] = x[k - 1];
        x[k] = now;
    }
    return n % 2 ? (double)x[n / 2] : ((double)x[n / 2 - 1] + (double)x[n / 2]) / 2;
}

/* A sum over count channels, in sigmas of the noise of that of one channel. */
AUTO_FN float psr_auto_sigmas(int64_t sum, size_t count, double noise)
{
    double n = sqrt((double)count) * noise;
    return count ? (float)((double)sum / (PSR_AUTO_SIGMA * n)) : 0;
}

/* What sub-bands have in common, in sigmas: M, of their median, and Q, of the quartile nearer to 0. */
struct psr_auto_spark {
    float half, most;
};

/* A sigma of a sum over count channels and so many spectra. */
AUTO_FN double psr_auto_spark_noise(size_t count, size_t good)
{
    return PSR_AUTO_SIGMA * sqrt((double)count * (double)good);
}

AUTO_FN float psr_auto_spark_sigmas(int64_t sum, size_t count, size_t good)
{
    return (float)((double)sum / psr_auto_spark_noise(count, good));
}

/* Of the sums of n sub-bands: their median, and numbers n / 4 from either end. */
AUTO_FN struct psr_auto_spark psr_auto_join_sigmas(double middle, double low, double high, size_t n)
{
    struct psr_auto_spark m;
    const double root = sqrt((double)n), most = low > 0    ? low + PSR_AUTO_QUARTILE
                                                : high < 0 ? high - PSR_AUTO_QUARTILE
                                                           : 0;
    m.half = (float)(middle * root / PSR_AUTO_MEDIAN_NOISE);
    m.most = (float)(most * root / PSR_AUTO_QUARTER_NOISE);
    return m;
}

/* Whether a tile stands out by sigma: what is not in three quarters of the sub-bands is the gain of a receiver, or that
 * beside a pulse. */
AUTO_FN bool psr_auto_stands_out(float flat, float most, double limit, double sigma)
{
    return fabs((double)flat) > limit && (double)copysignf(1, flat) * (double)most > sigma;
}

/* What M of tile j is above the median of those around it. */
AUTO_FN float psr_auto_flatten(const float *m, size_t n, size_t j)
{
    float near[2 * PSR_AUTO_AROUND + 1];
    const size_t from = j > PSR_AUTO_AROUND ? j - PSR_AUTO_AROUND : 0,
                 to = j + PSR_AUTO_AROUND < n ? j + PSR_AUTO_AROUND : n - 1;
    for (size_t i = from; i <= to; i++)
        near[i - from] = m[i];
    return (float)((double)m[j] - psr_auto_median_of_few(near, to - from + 1));
}

/* Least absolute deviations: the weighted median of r / v, weights |v|, which a pulse in fewer than half of
 * the sub-bands does not move far. */
AUTO_FN double psr_auto_fit_mode(const double *v, const double *r, size_t G)
{
    double x[PSR_AUTO_GROUPS], weight[PSR_AUTO_GROUPS], total = 0, below = 0;
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
AUTO_FN void psr_auto_fit_modes(const struct psr_auto_modes *m, size_t G, double *r, double *a)
{
    for (size_t k = 0; k < m->n; k++) {
        a[k] = psr_auto_fit_mode(m->v[k], r, G);
        for (size_t g = 0; g < G; g++)
            r[g] -= a[k] * m->v[k][g];
    }
    for (int step = 0; step < 2; step++) {
        double move[PSR_AUTO_GROUPS] = {0};
        for (size_t k = 0; k < m->n; k++)
            for (size_t g = 0; g < G; g++)
                move[k] += m->v[k][g] * psr_auto_clip(r[g], PSR_AUTO_CLIP);
        for (size_t k = 0; k < m->n; k++) {
            a[k] += move[k];
            for (size_t g = 0; g < G; g++)
                r[g] -= move[k] * m->v[k][g];
        }
    }
}

/* Parts of a spectrum along the modes.
 * Given:    sum     [ngroup] u; NULL: it does not count
 * Returned: part    [m->n], so far apart */
AUTO_FN void psr_auto_project(const struct psr_auto_modes *m, size_t ngroup, const int32_t *sum,
                              const size_t *count, float *part, size_t apart)
{
    double r[PSR_AUTO_GROUPS] = {0}, a[PSR_AUTO_GROUPS];
    for (size_t g = 0; g < ngroup && sum; g++)
        if (count[g])
            r[g] = (double)sum[g] / (PSR_AUTO_SIGMA * sqrt((double)count[g])) - m->centre[g];
    psr_auto_fit_modes(m, ngroup, r, a);
    for (size_t k = 0; k < m->n; k++)
        part[k * apart] = (float)(a[k] + m->middle[k]);
}

/* Variance of the median of w / 2 spectra to either side, times w: a mean's for w = 1, pi / 2 of it for wide ones. */
AUTO_FN double psr_auto_median_noise(size_t width)
{
    return (double)width * PSR_AUTO_MEDIAN_POWER /
           ((double)(width / 2 * 2) + PSR_AUTO_MEDIAN_POWER);
}

/* What of a running median a of a mode is not noise: the share of the mode's variance in all; and more of what is beyond
 * both, as a step of a receiver is, off the mode's level in the window.  Where all the band has the mode, that is a slow pulse or what
 * it stands on in red noise, and steps are found by their edges; or, if the mode is narrow, the crests of hum, which steps exceed.  By a
 * itself, a share would be larger at a pulse, and would take from a slow pulsar more than from the mode. */
AUTO_FN double psr_auto_shrink(const struct psr_auto_modes *m, size_t k, double a)
{
    const double noise = psr_auto_median_noise(m->width[k]), mode = m->value[k] - 1,
                 all = mode + noise, off = m->slowest[k] ? a : a - m->middle[k],
                 power = off * off * (double)m->width[k],
                 beyond = fmin((power / all - m->beyond[k]) / PSR_AUTO_RAMP, 1.0);
    return a * (mode / all) + (beyond > 0 ? off * beyond * (noise / all - noise / power) : 0);
}

/* Fixed point, so that sums do not depend on their order. */
AUTO_FN int64_t psr_auto_fixed(float x)
{
    return (int64_t)llrint((double)x * PSR_AUTO_FIXED_ONE);
}

/* A value less the mean of n, of which the sum is of fixed ones. */
AUTO_FN float psr_auto_less_mean(float x, int64_t sum, size_t n)
{
    return (float)((double)x - (double)sum / (PSR_AUTO_FIXED_ONE * (double)n));
}

/* Levels to subtract from the channels of a sub-band, of which count are not masked.
 * Given: median   [m->n] running medians of the parts, so far apart */
AUTO_FN float psr_auto_less(const struct psr_auto_modes *m, size_t g, size_t count,
                            const float *median, size_t apart)
{
    double d = 0;
    for (size_t k = 0; k < m->n; k++)
        d += m->v[k][g] * psr_auto_shrink(m, k, (double)median[k * apart]);
    return (float)(PSR_AUTO_SIGMA * d / sqrt((double)count));
}

#endif
