/* accel_truth.h: the plane of a matched search and its harmonic sums by their definitions, in double
 * precision. */
#ifndef PSR_ACCEL_TRUTH_H
#define PSR_ACCEL_TRUTH_H

#include "tap.h"

#include <complex.h>
#include <string.h>

/* K(q; z, w) by Gauss and Legendre's rule of five points on parts of half a turn. */
__attribute__((unused)) static double complex truth_response(double q, double z, double w)
{
    static const double point[5] = {-0.906179845938664, -0.538469310105683, 0, 0.538469310105683,
                                    0.906179845938664};
    static const double weight[5] = {0.236926885056189, 0.478628670499366, 0.568888888888889,
                                     0.478628670499366, 0.236926885056189};
    int n = 4 + (int)(2 * (fabs(q) + fabs(z) + fabs(w) / 6));
    double complex sum = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 5; k++) {
            double u = (i + 0.5 + 0.5 * point[k]) / n;
            double turns = -(q + z / 2 - w / 12) * u + (z - w / 2) * u * u / 2 + w * u * u * u / 6;
            double angle = 2 * M_PI * turns;
            sum += weight[k] / 2 * (cos(angle) + I * sin(angle));
        }
    return sum / n;
}

/* 1.1 times the largest deviation of the frequency from its mean, and 16. */
__attribute__((unused)) static int truth_halfwidth(double z, double w)
{
    double most = 0;
    for (int i = 0; i <= 100000; i++) {
        double u = i / 100000.0;
        most = fmax(most, fabs(-z / 2 + w / 12 + (z - w / 2) * u + w * u * u / 2));
    }
    return (int)(1.1 * most + 1e-9) + 16;
}

/* |A|^2 at half bin i of normalised bins x [nbin], of which those below 1 count as 0. */
struct truth_plane {
    int64_t nhalf; /* 2 nbin */
    int jmax, lmax, reach;
    double *power;  /* [2 lmax + 1][2 jmax + 1][nhalf] */
    double *energy; /* [nbin + 1] |x|^2 of the bins below */
};

static inline double truth_power(const struct truth_plane *p, int64_t i, int j, int l)
{
    int64_t row = (int64_t)(l + p->lmax) * (2 * p->jmax + 1) + (j + p->jmax);
    return i < p->nhalf ? p->power[row * p->nhalf + i] : 0;
}

__attribute__((unused)) static void truth_fill_row(struct truth_plane *p, const double complex *x,
                                                   int j, int l)
{
    const double z = 2.0 * j, w = 20.0 * l;
    const int half = truth_halfwidth(z, w);
    const int64_t nbin = p->nhalf / 2;
    double complex *k = tap_take(4 * (size_t)half, sizeof *k);
    p->reach = half > p->reach ? half : p->reach;
    double *row = p->power + ((l + p->lmax) * (2 * p->jmax + 1) + (j + p->jmax)) * p->nhalf;
    for (int n = 0; n < 4 * half; n++)
        k[n] = conj(truth_response(-half + n / 2.0, z, w));
    for (int64_t i = 0; i < p->nhalf; i++) {
        double re = 0, im = 0;
        for (int n = i & 1; n < 4 * half; n += 2) {
            int64_t bin = (i + n) / 2 - half; /* i + n is even */
            if (bin <= 0 || bin >= nbin)
                continue;
            re += creal(x[bin]) * creal(k[n]) - cimag(x[bin]) * cimag(k[n]);
            im += creal(x[bin]) * cimag(k[n]) + cimag(x[bin]) * creal(k[n]);
        }
        row[i] = re * re + im * im;
    }
    free(k);
}

__attribute__((unused)) static struct truth_plane truth_make(const double complex *x, size_t nbin,
                                                             int jmax, int lmax)
{
    struct truth_plane p = {.nhalf = 2 * (int64_t)nbin, .jmax = jmax, .lmax = lmax};
    p.power = tap_take((size_t)((2 * lmax + 1) * (2 * jmax + 1)) * 2 * nbin, sizeof *p.power);
    for (int l = -lmax; l <= lmax; l++)
        for (int j = -jmax; j <= jmax; j++)
            truth_fill_row(&p, x, j, l);
    p.energy = tap_take(nbin + 1, sizeof *p.energy);
    for (size_t k = 0; k < nbin; k++)
        p.energy[k + 1] = p.energy[k] + (k ? pow(cabs(x[k]), 2) : 0);
    return p;
}

/* |x|^2 of the bins that powers at half bin i are made of. */
static inline double truth_energy(const struct truth_plane *p, int64_t i)
{
    const int64_t nbin = p->nhalf / 2, lo = i / 2 - p->reach, hi = i / 2 + p->reach + 1;
    return p->energy[hi < nbin ? hi : nbin] - p->energy[lo < 0 ? 0 : lo < nbin ? lo : nbin];
}

/* round to the nearest, halves away from 0 */
__attribute__((unused)) static double truth_sum(const struct truth_plane *p, int64_t i, int j,
                                                int l, int nharm)
{
    double sum = 0;
    for (int h = 1; h <= nharm; h++)
        sum += truth_power(p, llround((double)i * h / nharm), (int)lround((double)j * h / nharm),
                           (int)lround((double)l * h / nharm));
    return sum;
}

/* How far that sum may be off where amplitudes are off by a share of the root of those bins' |x|^2:
 * the sum over harmonics of 2 |A| d + d^2 is at most this. */
__attribute__((unused)) static double truth_slack(const struct truth_plane *p, int64_t i, int nharm,
                                                  double share, double sum)
{
    double square = 0;
    for (int h = 1; h <= nharm; h++)
        square += share * share * truth_energy(p, llround((double)i * h / nharm));
    return 2 * sqrt(sum * square) + square;
}

#endif
