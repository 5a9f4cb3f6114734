/* rfi_fft: transforms of any length against the plain sum. */
#include "rfi/statistics/rfi_statistics.h"

#include "tests/support/tap.h"
#include <fftw3.h>

static psr_err err;

/* The largest error of a few bins, over the root mean square of all. */
static double worst_error(size_t n, uint64_t *seed)
{
    double *re = tap_take(n, sizeof *re), *im = tap_take(n, sizeof *im), worst = 0;
    float *x = fftwf_malloc(2 * n * sizeof *x), *work = fftwf_malloc(2 * n * sizeof *work);
    psr_rfi_fft *p;
    if (!x || !work || psr_rfi_fft_create(&p, n, &err) != PSR_OK)
        return INFINITY;
    for (size_t t = 0; t < n; t++) {
        re[t] = (double)(x[t] = (float)tap_normal(seed));
        im[t] = (double)(x[n + t] = (float)tap_normal(seed));
    }
    const float *got = psr_rfi_fft_execute(p, x, work);
    for (int times = 0; times < 40; times++) {
        const size_t k = (size_t)tap_between(seed, 0, (int64_t)n - 1);
        double a = 0, b = 0;
        for (size_t t = 0; t < n; t++) {
            const double turn = 2 * M_PI * (double)(k * t % n) / (double)n;
            a += re[t] * cos(turn) + im[t] * sin(turn);
            b += im[t] * cos(turn) - re[t] * sin(turn);
        }
        worst = fmax(worst, fmax(fabs((double)got[k] - a), fabs((double)got[n + k] - b)));
    }
    psr_rfi_fft_destroy(p);
    fftwf_free(x);
    fftwf_free(work);
    free(re);
    free(im);
    return worst / sqrt(2 * (double)n);
}

static void test_lengths(uint64_t *seed)
{
    static const size_t length[] = {
        8,     16,    24,  32,  40,  48,   120,   128,   200, 2400, 4800, 7200, 4096, 9600, 12000,
        32768, 19440, 136, 144, 168, 4032, 16800, 31360, 1,   2,    7,    56,   100,  2401, 40000};
    double worst = 0;
    for (size_t k = 0; k < sizeof length / sizeof *length; k++)
        worst = fmax(worst, worst_error(length[k], seed));
    for (int k = 0; k < 60; k++) {
        const size_t n = (size_t)tap_between(seed, 1, 3000);
        worst = fmax(worst, worst_error(k % 2 ? n : n / 8 * 8 + 8, seed));
    }
    ok(worst < 2e-6, "transforms are those of plain sums (%.1e off)", worst);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_lengths(&seed);
    psr_rfi_fft_destroy(NULL);
    return done_testing();
}
