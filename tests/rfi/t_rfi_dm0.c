/* rfi_dm0: bursts in the sums of all channels, counted exactly, and lines that bursts do not hide. */
#include "rfi/detectors/rfi_detectors.h"

#include "rfi/rules/clean_internal.h"
#include "tests/support/tap.h"
#include <string.h>

enum { N = 8192, TIMES = 8 };
static const double tsamp_s = 1e-3;

static psr_err err;

/* Noise of deviation 3 with a line of 100 Hz from interval k on. */
static void make_sums(float *sum, int k, uint64_t *seed)
{
    for (int t = 0; t < N; t++)
        sum[t] = (float)(1000 + 3 * tap_normal(seed) +
                         2 * cos(2 * M_PI * 100 * tsamp_s * (double)(k * N + t)));
}

/* Bursts of 50 sigma and values that are no numbers, also at the very start and after a burst.
 * Returned: how many */
static int spoil(float *sum, uint64_t *seed)
{
    const int count = (int)tap_between(seed, 1, 40);
    for (int i = 0; i < count; i++) {
        int64_t t = 200 * i + tap_between(seed, 0, i % 5 ? 40 : 0);
        sum[t] = i % 3 ? 1150 : i % 2 ? NAN : -INFINITY;
    }
    sum[8001] = 1150;
    sum[8002] = NAN;
    return count + 2;
}

/* The share in bursts, in each interval what was put there, or but those that are no numbers with a
 * threshold of 0; an interval without data has none. */
static void test_bursts(double sigma, uint64_t *seed)
{
    psr_rfi_dm0 *p;
    float *sum = tap_take(N, sizeof *sum), share = 7;
    int wrong = 0;
    psr_status st = psr_rfi_dm0_create(&p, N, tsamp_s, sigma, 0, &err);
    for (int k = 0; k < TIMES && !st; k++) {
        make_sums(sum, k, seed);
        const int count = spoil(sum, seed), odd = count / 3 + 1;
        st = psr_rfi_dm0_push(p, k % 4 == 2 ? NULL : sum, &share, &err);
        const float want = (float)(k % 4 == 2 ? 0 : sigma > 0 ? count : odd) / N;
        wrong += share != want;
    }
    struct psr_rfi_lines lines;
    ok(!st && wrong == 0, "shares in bursts above %g sigma (%d are wrong)", sigma, wrong);
    ok(!psr_rfi_dm0_finish(p, &lines, &err) && lines.n == 0, "no lines, as none were asked for");
    psr_rfi_dm0_destroy(p);
    free(sum);
}

/* Bursts on every hundredth sample, 500 times the line, and an interval without data.  That one of
 * eight is missing leaves of the line's power, A^2 N / 4 = 7300 times the noise's, a share of at most
 * 1 / (pi k)^2 k bins beside it: an amplitude of 1.1 at k = 24, to which the noise there would have to
 * add 3.9, one in 4 million, to reach the limit of lines, 5. */
static void test_lines(uint64_t *seed)
{
    psr_rfi_dm0 *p;
    float *sum = tap_take(N, sizeof *sum), share;
    struct psr_rfi_lines lines;
    psr_status st = psr_rfi_dm0_create(&p, N, tsamp_s, 8, 5, &err);
    for (int k = 0; k < TIMES && !st; k++) {
        make_sums(sum, k, seed);
        for (int t = 50; t < N; t += 100)
            sum[t] += 1000;
        st = psr_rfi_dm0_push(p, k == 3 ? NULL : sum, &share, &err);
    }
    if (!st)
        st = psr_rfi_dm0_finish(p, &lines, &err);
    const double bin_hz = 1 / (tsamp_s * N * TIMES);
    size_t near = 0;
    for (size_t k = 0; k < lines.n; k++)
        near += fabs(lines.line[k].freq_hz - 100) < 24 * bin_hz + lines.line[k].width_hz / 2;
    ok(!st && near > 0 && near == lines.n, "a line among bursts, and none elsewhere (%zu, %zu)",
       near, lines.n);
    psr_rfi_lines_clear(&lines);
    psr_rfi_dm0_destroy(p);
    psr_rfi_dm0_destroy(NULL);
    free(sum);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_bursts(8, &seed);
    test_bursts(0, &seed);
    test_lines(&seed);
    return done_testing();
}
