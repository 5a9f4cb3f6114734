/* ffa_truth.h: the fast folding search in double precision, row by row from its definition, without
 * recursion over sums. */
#ifndef PSR_TESTS_SUPPORT_FFA_TRUTH_H
#define PSR_TESTS_SUPPORT_FFA_TRUTH_H

#include "search/ffa/ffa_internal.h"

#include "tests/support/tap.h"

/* Adds to shift [m] the shifts of m rows whose sum has shift s, from the halves of each sum. */
__attribute__((unused)) static void truth_shifts(size_t m, size_t s, size_t *shift)
{
    if (m == 1)
        return;
    const size_t mh = m / 2, mt = m - mh;
    const size_t h = (size_t)floor((double)(mh - 1) * (double)s / (double)(m - 1) + 0.5);
    const size_t t = (size_t)floor((double)(mt - 1) * (double)s / (double)(m - 1) + 0.5);
    truth_shifts(mh, h, shift);
    truth_shifts(mt, t, shift + mh);
    for (size_t r = mh; r < m; r++)
        shift[r] += s - t;
}

/* The profile of nrow rows of y with shift s. */
__attribute__((unused)) static void truth_profile(const double *y, int nbin, size_t nrow, size_t s,
                                                  double *profile)
{
    size_t *shift = tap_take(nrow, sizeof *shift);
    truth_shifts(nrow, s, shift);
    for (int i = 0; i < nbin; i++) {
        profile[i] = 0;
        for (size_t r = 0; r < nrow; r++)
            profile[i] += y[r * (size_t)nbin + ((size_t)i + shift[r]) % (size_t)nbin];
    }
    free(shift);
}

/* The largest z over widths and phases, with noise the standard deviation of a bin of the profile. */
__attribute__((unused)) static double truth_snr(const double *x, int nbin,
                                                const struct psr_ffa_widths *widths, double noise)
{
    double best = -INFINITY, sum = 0;
    for (int i = 0; i < nbin; i++)
        sum += x[i];
    for (size_t k = 0; k < widths->n; k++) {
        const int w = widths->width[k];
        const double b = nbin, h = sqrt((b - w) / (b * w)), g = h * w / (b - w);
        for (int i = 0; i < nbin; i++) {
            double in = 0;
            for (int j = i; j < i + w; j++)
                in += x[j % nbin];
            best = fmax(best, (h * in - g * (sum - in)) / noise);
        }
    }
    return best;
}

static int truth_compare(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

__attribute__((unused)) static double truth_lower_median(const double *x, size_t n)
{
    double *sorted = tap_take(n, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = x[i];
    qsort(sorted, n, sizeof *sorted, truth_compare);
    const double m = sorted[(n - 1) / 2];
    free(sorted);
    return m;
}

/* Centre and noise of a sample of x [n]. */
__attribute__((unused)) static void truth_noise(const float *x, size_t n, double *centre,
                                                double *sigma)
{
    const size_t blocks = n / 1024;
    double *mean = tap_take(blocks, sizeof *mean), *var = tap_take(blocks, sizeof *var);
    for (size_t k = 0; k < blocks; k++) {
        for (size_t i = 0; i < 1024; i++)
            mean[k] += (double)x[1024 * k + i] / 1024;
        for (size_t i = 0; i < 1024; i++)
            var[k] += pow((double)x[1024 * k + i] - mean[k], 2) / 1023;
    }
    *centre = truth_lower_median(mean, blocks);
    *sigma = sqrt(truth_lower_median(var, blocks)) / pow(1 - 2 / (9.0 * 1023), 1.5);
    free(mean);
    free(var);
}

/* Samples of step k in units of the noise of one, less the running median; y [k->n]. */
__attribute__((unused)) static void truth_samples(const struct psr_ffa_step *k, const float *x,
                                                  size_t n, double *y)
{
    double centre, sigma, *mu = tap_take(k->nparts, sizeof *mu);
    truth_noise(x, n, &centre, &sigma);
    const double f = k->f / (double)k->granule;
    for (size_t j = 0; j < k->n; j++) {
        y[j] = 0;
        for (size_t i = (size_t)floor(f * (double)j + 0.5) * k->granule;
             i < (size_t)floor(f * (double)(j + 1) + 0.5) * k->granule; i++)
            y[j] += ((double)x[i] - centre) / (sigma * sqrt(k->f));
    }
    for (size_t r = 0; r < k->nparts; r++)
        for (size_t i = 0; i < k->part; i++)
            mu[r] += y[r * k->part + i] / (double)k->part;
    for (size_t j = 0; k->nparts && j < k->n; j++) {
        const double at = ((double)j - ((double)k->part - 1) / 2) / (double)k->part;
        double base[2], r0 = fmin(fmax(floor(at), 0), (double)k->nparts - 1);
        const double t = fmin(fmax(at - r0, 0), r0 + 1 < (double)k->nparts);
        for (int e = 0; e < 2; e++) {
            const size_t r = (size_t)fmin(r0 + e, (double)k->nparts - 1);
            const size_t lo = r > k->half ? r - k->half : 0;
            const size_t hi = r + k->half < k->nparts ? r + k->half + 1 : k->nparts;
            base[e] = truth_lower_median(mu + lo, hi - lo);
        }
        const double length = floor(f * (double)(j + 1) + 0.5) - floor(f * (double)j + 0.5);
        y[j] -= (base[0] + (base[1] - base[0]) * fmin(t, 1)) * length / f;
    }
    free(mu);
}

#endif
