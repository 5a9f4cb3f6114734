/* rfi_lines: lines in the spectrum of a series: false ones in white and red noise, real ones and
 * their harmonics, long series in parts. */
#include "rfi/detectors/rfi_detectors.h"

#include "rfi/rules/clean_internal.h"
#include "tests/support/tap.h"
#include <psrkit/signif.h>
#include <string.h>

static psr_err err;

/* White noise of deviation 1, and red noise. */
static void add_noise(float *x, size_t n, double red, uint64_t *seed)
{
    double walk = 0;
    for (size_t t = 0; t < n; t++) {
        walk = 0.9995 * walk + red * tap_normal(seed);
        x[t] = (float)(1000 + walk + tap_normal(seed));
    }
}

static void add_line(float *x, size_t n, double tsamp_s, double freq_hz, double amplitude)
{
    for (size_t t = 0; t < n; t++)
        x[t] += (float)(amplitude * cos(2 * M_PI * freq_hz * (double)t * tsamp_s + 1));
}

static psr_status search(const float *x, size_t n, double tsamp_s, size_t most, double sigma,
                         size_t step, struct psr_rfi_lines *lines)
{
    psr_rfi_line_search *p;
    *lines = (struct psr_rfi_lines){0};
    psr_status st = psr_rfi_line_search_create(&p, tsamp_s, most, sigma, &err);
    for (size_t t = 0; t < n && !st; t += step)
        st = psr_rfi_line_search_push(p, x + t, n - t < step ? n - t : step, &err);
    if (!st)
        st = psr_rfi_line_search_finish(p, lines, &err);
    psr_rfi_line_search_destroy(p);
    return st;
}

/* Of noise, one in 6 series has a line above 1 sigma; red noise and parts change little. */
static void test_noise(uint64_t *seed)
{
    enum { TIMES = 300, N = 16000 };
    static const char *const what[] = {"white noise", "red noise", "four parts of white noise"};
    const double want = TIMES * exp(psr_gauss_logp(1).ln_sf); /* 48 */
    float *x = tap_take(N, sizeof *x);
    for (int kind = 0; kind < 3; kind++) {
        int with = 0, bad = 0;
        for (int k = 0; k < TIMES; k++) {
            const size_t n = (size_t)tap_between(seed, N / 2, N), most = kind == 2 ? n / 8 * 2 : N;
            struct psr_rfi_lines lines;
            add_noise(x, n, kind == 1 ? 0.03 : 0, seed);
            bad += search(x, n, 1e-3, most, 1, 1 + (size_t)tap_between(seed, 0, N), &lines) != 0;
            with += lines.n > 0;
            psr_rfi_lines_clear(&lines);
        }
        ok(bad == 0 && with <= want + 5 * sqrt(want),
           "%s has lines in %d of %d series, %.0f expected", what[kind], with, TIMES, want);
        ok(with >= want / 2 - 5 * sqrt(want / 2), "and not in too few");
    }
    free(x);
}

static bool has(const struct psr_rfi_lines *l, double freq_hz, int nharm)
{
    for (size_t k = 0; k < l->n; k++)
        if (fabs(l->line[k].freq_hz - freq_hz) <= l->line[k].width_hz / 2 &&
            l->line[k].nharm == nharm)
            return true;
    return false;
}

static void test_found(uint64_t *seed)
{
    enum { N = 200001 };
    const double tsamp_s = 2e-4;
    float *x = tap_take(N, sizeof *x);
    struct psr_rfi_lines lines;
    for (int parts = 0; parts < 2; parts++) {
        add_noise(x, N, 0.03, seed);
        for (int h = 1; h <= 4; h++)
            add_line(x, N, tsamp_s, 50.013 * h, 0.1);
        add_line(x, N, tsamp_s, 333.3, 0.1);
        psr_status st = search(x, N, tsamp_s, parts ? 65536 : 1 << 24, 4, 5000, &lines);
        ok(st == PSR_OK && lines.n == 5, "five lines are found (%zu)", lines.n);
        ok(has(&lines, 50.013, 4) && has(&lines, 100.026, 0) && has(&lines, 200.052, 0),
           "four of them are harmonics");
        ok(has(&lines, 333.3, 1), "and one is alone");
        ok(lines.n && lines.line[0].width_hz < 20 / (tsamp_s * (parts ? 65536 : N)),
           "they are narrow");
        psr_rfi_lines_clear(&lines);
    }
    /* One that wanders over some bins is one line. */
    add_noise(x, N, 0, seed);
    for (size_t t = 0; t < N; t++)
        x[t] += (float)(0.5 * cos(2 * M_PI * 28.76 * (double)t * tsamp_s +
                                  30 * sin(2 * M_PI * (double)t / N)));
    psr_status st = search(x, N, tsamp_s, 1 << 24, 4, N, &lines);
    ok(st == PSR_OK && lines.n <= 2 && has(&lines, 28.76, 1), "a line that wanders is one (%zu)",
       lines.n);
    psr_rfi_lines_clear(&lines);
    free(x);
}

static void test_little(void)
{
    float x[1000] = {0};
    struct psr_rfi_lines lines;
    int bad = 0;
    for (size_t n = 0; n <= 1000; n += 25) {
        bad += search(x, n, 1e-3, 1 << 24, 4, 100, &lines) != PSR_OK || lines.n > 0;
        psr_rfi_lines_clear(&lines);
    }
    ok(bad == 0, "short and constant series have none");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_noise(&seed);
    test_found(&seed);
    test_little();
    return done_testing();
}
