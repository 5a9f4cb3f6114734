/* fold_dat PERIOD FILE.dat...: folds each series at a period and prints the one whose profile
 * stands out most, as "DM time S/N": the time of the first pulse's middle, and the best boxcar over
 * the profile. */
#include <psrkit/series.h>

#include "tap.h"
#include <string.h>

enum { NBIN = 64 };

struct found {
    double dm, time_s, snr;
};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *x, int n)
{
    double sorted[NBIN];
    memcpy(sorted, x, (size_t)n * sizeof *x);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
    return sorted[n / 2];
}

/* The profile in units of its own noise, from a median of 0. */
static void fold(const float *x, int64_t n, double tsamp_s, double period_s, double *profile)
{
    double mean = 0, square = 0;
    double sum[NBIN] = {0}, hits[NBIN] = {0};
    for (int64_t t = 0; t < n; t++) {
        mean += x[t] / (double)n;
        square += (double)x[t] * x[t] / (double)n;
        double phase = ((double)t + 0.5) * tsamp_s / period_s;
        int b = (int)((phase - floor(phase)) * NBIN) % NBIN;
        sum[b] += x[t];
        hits[b]++;
    }
    double sigma = sqrt(square - mean * mean);
    for (int b = 0; b < NBIN; b++)
        profile[b] = (sum[b] - hits[b] * mean) / (sigma * sqrt(hits[b]));
    double base = median(profile, NBIN);
    for (int b = 0; b < NBIN; b++)
        profile[b] -= base;
}

/* The boxcar of at most a quarter turn that stands out most. */
static struct found search_profile(const double *profile, double period_s)
{
    struct found best = {0, 0, -1};
    for (int first = 0; first < NBIN; first++) {
        double sum = 0;
        for (int w = 1; w <= NBIN / 4; w++) {
            sum += profile[(first + w - 1) % NBIN];
            double snr = sum / sqrt(w), middle = first + w / 2.0;
            if (snr > best.snr)
                best = (struct found){0, fmod(middle, NBIN) / NBIN * period_s, snr};
        }
    }
    return best;
}

int main(int argc, char **argv)
{
    struct found best = {0, 0, -1};
    double period_s = argc > 2 ? strtod(argv[1], NULL) : 0;
    if (period_s <= 0) {
        fprintf(stderr, "usage: fold_dat PERIOD FILE.dat...\n");
        return EXIT_FAILURE;
    }
    for (int i = 2; i < argc; i++) {
        float *x;
        int64_t n;
        struct psr_inf inf;
        psr_err err;
        double profile[NBIN];
        if (psr_dat_read(argv[i], &x, &n, &inf, &err) != PSR_OK) {
            fprintf(stderr, "fold_dat: %s\n", err.msg);
            return EXIT_FAILURE;
        }
        if (inf.nonoff)
            n = inf.onoff[0][1] + 1; /* what follows is padding */
        fold(x, n, inf.tbin_s, period_s, profile);
        struct found here = search_profile(profile, period_s);
        here.dm = inf.dm;
        best = here.snr > best.snr ? here : best;
        free(x);
    }
    printf("%g %.4f %.1f\n", best.dm, best.time_s, best.snr);
    return EXIT_SUCCESS;
}
