/* matched: responses to a drift, against their definition. */
#include <psrkit/experimental/accel.h>

#include "search/matched/response/accel_internal.h"
#include "tests/support/tap.h"

#include <complex.h>
#include <string.h>

/* K(q; z) by quadrature: Simpson's rule on enough points for its oscillations. */
static double complex template_at(double q, double z)
{
    int n = 2 * (int)(50 + 20 * (fabs(q) + fabs(z)));
    double complex sum = 0;
    for (int i = 0; i <= n; i++) {
        double u = (double)i / n, angle = 2 * M_PI * (-(q + z / 2) * u + z * u * u / 2);
        int weight = i == 0 || i == n ? 1 : i % 2 ? 4 : 2;
        sum += weight * (cos(angle) + I * sin(angle));
    }
    return sum / (3.0 * n);
}

static double power_at(const float *x, int64_t first, size_t n, double r, double z)
{
    double complex sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)x[2 * i] + I * (double)x[2 * i + 1]) *
               conj(template_at((double)(first + (int64_t)i) - r, z));
    return (creal(sum) * creal(sum) + cimag(sum) * cimag(sum)) / 2;
}

/* A signal of amplitude a, its phase at the start 0.7, in bins first .. first + n - 1. */
static void add_signal(float *x, int64_t first, size_t n, double r, double z, double a)
{
    for (size_t i = 0; i < n; i++) {
        double complex k = a * template_at((double)(first + (int64_t)i) - r, z) * cexp(0.7 * I);
        x[2 * i] += (float)creal(k);
        x[2 * i + 1] += (float)cimag(k);
    }
}

static void add_noise(float *x, size_t n, uint64_t *random)
{
    for (size_t i = 0; i < 2 * n; i++) {
        x[i] += (float)tap_normal(random);
    }
}

static void test_definition(uint64_t *random)
{
    double worst = 0;
    for (int trial = 0; trial < 60; trial++) {
        double z = 120 * (tap_uniform(random) - 0.5);
        size_t n = (size_t)(fabs(z) + 60) + (size_t)tap_between(random, 0, 50);
        int64_t first = tap_between(random, 0, 1000000000);
        double r = (double)first + (double)n / 2 + 6 * (tap_uniform(random) - 0.5);
        float *x = tap_take(2 * n, sizeof *x);
        psr_accel_template *m = NULL;
        struct psr_accel_template_peak peak;
        psr_err err;
        add_noise(x, n, random);
        add_signal(x, first, n, r, z, 10);
        double there = power_at(x, first, n, r, z), off = power_at(x, first, n, r + 0.3, z - 1);
        if (psr_accel_template_create(&m, x, first, n, &err) != PSR_OK)
            diag("%s", err.msg);
        psr_accel_template_respond(m, r, z, &peak);
        worst = fmax(worst, fabs(peak.power / there - 1));
        psr_accel_template_respond(m, r + 0.3, z - 1, &peak);
        worst = fmax(worst, fabs(peak.power - off) / there);
        psr_accel_template_destroy(m);
        free(x);
    }
    ok(worst < 0.01, "powers are those of the definition: off by %.2g", worst);
}

/* The series of bins x at u, and what a signal at (r, z, w) is there, conjugate. */
static double complex series_at(const float *x, size_t n, double u)
{
    double complex sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += ((double)x[2 * k] + I * (double)x[2 * k + 1]) * cexp(2 * M_PI * I * (double)k * u);
    return sum;
}

static double complex drift_at(double r, double z, double w, double u)
{
    const double turns = (r - z / 2 + w / 12) * u + (z - w / 2) * u * u / 2 + w * u * u * u / 6;
    return cexp(-2 * M_PI * I * turns);
}

/* The largest difference of a response from its sums over 4 or more samples a bin, each with a
 * phase of its own, relative to what noise may have. */
static double differs(const float *x, int64_t first, size_t n, const double place[3],
                      const struct psr_accel_template_peak *peak)
{
    size_t samples = 64;
    while (samples < 2 * n)
        samples *= 2;
    double complex a[3] = {0};
    for (size_t j = 0; j < samples; j++) {
        const double u = ((double)j + 0.5) / (double)samples;
        const double complex v = series_at(x, n, u) / (double)samples *
                                 drift_at(place[0] - (double)first, place[1], place[2], u);
        for (int m = 0; m < 3; m++)
            a[m] += v * pow(u - 0.5, m);
    }
    const double size = pow(cabs(a[0]), 2), mean = creal(a[1] * conj(a[0])) / size;
    const double spread = (creal(a[2] * conj(a[0])) - pow(cabs(a[1]), 2)) / size;
    const double turn = remainder(peak->phase_rad - carg(a[0]), 2 * M_PI);
    const double off[] = {(peak->power - size / 2) / 100, turn, peak->centroid - 0.5 - mean,
                          peak->purity * peak->purity - 12 * fabs(spread)};
    double most = 0;
    for (int k = 0; k < 4; k++)
        most = fmax(most, fabs(off[k]));
    return most;
}

/* Of a jerk, too; power alone has the same bits. */
static void test_sums(uint64_t *random)
{
    double worst = 0;
    int other = 0;
    for (int trial = 0; trial < 40; trial++) {
        const size_t n = (size_t)tap_between(random, 1, 150);
        const int64_t first = tap_between(random, 0, 1000000000);
        const double middle = (double)first + (double)n / 2 + 6 * (tap_uniform(random) - 0.5);
        const double place[3] = {middle, 60 * (tap_uniform(random) - 0.5),
                                 trial % 3 ? 200 * (tap_uniform(random) - 0.5) : 0};
        float *x = tap_take(2 * n, sizeof *x);
        psr_accel_template *m = NULL;
        struct psr_accel_template_peak peak;
        psr_err err;
        add_noise(x, n, random);
        add_signal(x, first, n, middle, place[1], 10);
        if (psr_accel_template_create(&m, x, first, n, &err) != PSR_OK)
            diag("%s", err.msg);
        psr_accel_template_respond_jerk(m, place[0], place[1], place[2], &peak);
        worst = fmax(worst, differs(x, first, n, place, &peak) * fmin(1, peak.power));
        other += memcmp(&peak.power,
                        &(double){psr_accel_template_power(m, place[0], place[1], place[2])},
                        sizeof peak.power) != 0;
        psr_accel_template_destroy(m);
        free(x);
    }
    /* Samples of the series are floats, up to 100 times the response. */
    ok(worst < 1e-4, "powers, phases and moments are their sums: off by %.2g", worst);
    ok(other == 0, "powers alone are the same");
}

static void test_signal(void)
{
    enum { N = 300 };
    static float x[2 * N];
    static const double cases[][2] = {{5150.25, 80}, {5150.5, -80.5}, {5149, 0}, {5152.125, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct psr_accel_template_peak peak;
        psr_accel_template *m = NULL;
        psr_err err;
        memset(x, 0, sizeof x);
        add_signal(x, 5000, N, cases[i][0], cases[i][1], 20);
        if (psr_accel_template_create(&m, x, 5000, N, &err) != PSR_OK)
            diag("%s", err.msg);
        psr_accel_template_respond(m, cases[i][0], cases[i][1], &peak);
        ok(fabs(peak.power - 200) < 2 && fabs(peak.phase_rad - 0.7) < 0.01 &&
               fabs(peak.centroid - 0.5) < 0.01 && fabs(peak.purity - 1) < 0.02,
           "a signal at r %g, z %g: power %.2f of 200, phase %.3f, centroid %.3f, purity %.3f",
           cases[i][0], cases[i][1], peak.power, peak.phase_rad, peak.centroid, peak.purity);
        size_t looked = psr_accel_template_search(m, 5100, 5200, -100, 100, 0.5, &peak);
        ok(looked == 201 * 401 && fabs(peak.r - cases[i][0]) <= 0.5 &&
               fabs(peak.z - cases[i][1]) <= 1,
           "is found at r %g, z %g", peak.r, peak.z);
        psr_accel_template_destroy(m);
    }
}

/* The mean power of noise is 1, and the best place of a search is what respond says of it. */
static void test_noise(uint64_t *random)
{
    enum { N = 200, TRIALS = 400 };
    double sum = 0, worst = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        float x[2 * N] = {0};
        struct psr_accel_template_peak peak, again;
        psr_accel_template *m = NULL;
        psr_err err;
        add_noise(x, N, random);
        if (psr_accel_template_create(&m, x, 70, N, &err) != PSR_OK)
            diag("%s", err.msg);
        psr_accel_template_respond(m, 170.3, 40, &peak);
        sum += peak.power / TRIALS;
        psr_accel_template_search(m, 150, 190, -40, 40, 20, &peak);
        psr_accel_template_respond(m, peak.r, peak.z, &again);
        worst = fmax(worst, fabs(again.power / peak.power - 1));
        psr_accel_template_destroy(m);
    }
    ok(fabs(sum - 1) < 5 / sqrt(TRIALS), "noise has a mean power of %.3f", sum);
    ok(worst < 1e-4, "what a search finds is there: %.2g", worst);
}

static void test_edges(void)
{
    const float x[2] = {3, 4};
    struct psr_accel_template_peak peak;
    psr_accel_template *m = NULL;
    psr_err err = {.msg = ""};
    ok(psr_accel_template_create(&m, x, 0, 0, &err) == PSR_EINVAL && !m, "%s", err.msg);
    ok(psr_accel_template_create(&m, x, 7, 1, &err) == PSR_OK, "one bin");
    psr_accel_template_respond(m, 7, 0, &peak);
    ok(fabs(peak.power - 12.5) < 1e-5, "is its own power: %g", peak.power);
    float row[6];
    psr_accel_template_row(m, 0, 6, 6, row);
    psr_accel_template_respond(m, 7.5, 0, &peak);
    ok(row[0] <= 0 && fabs((double)row[2] - 12.5) < 1e-5 &&
           fabs((double)row[3] - peak.power) < 1e-5,
       "a row of the plane around it");
    ok(psr_accel_template_search(m, 9, 8, 0, 0, 1, &peak) == 0 && peak.power == 0,
       "no places to look at");
    ok(psr_accel_template_search(m, -100, -50, 0, 0, 1, &peak) == 0, "places below the bins");
    psr_accel_template_destroy(m);
    psr_accel_template_destroy(NULL);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_definition(&random);
    test_sums(&random);
    test_signal();
    test_noise(&random);
    test_edges();
    return done_testing();
}
