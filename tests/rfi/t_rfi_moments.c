/* rfi_moments, rfi_kurtosis, rfi_outliers: against plain sums, the estimator's definition, and in
 * noise. */
#include "rfi/detectors/rfi_detectors.h"
#include "rfi/statistics/rfi_statistics.h"

#include "formats/spectra/unpack.h"
#include "tests/support/rfi_block_moments.h"
#include "tests/support/tap.h"
#include <psrkit/signif.h>
#include <string.h>

enum { CHANS = 150, SPECTRA = 3000 };

static psr_err err;

/* --- moments ---------------------------------------------------------------------------------- */

struct scene {
    struct psr_layout layout;
    size_t n;
    unsigned char *in, *skip;
    bool skips;
};

static void draw(struct scene *s, uint64_t *seed)
{
    static const struct {
        int nbit;
        enum psr_kind kind;
    } type[] = {{1, PSR_UINT}, {2, PSR_UINT},  {4, PSR_UINT}, {8, PSR_UINT},
                {8, PSR_INT},  {16, PSR_UINT}, {16, PSR_INT}, {32, PSR_FLOAT}};
    const int k = (int)tap_between(seed, 0, 7);
    const size_t nchan = (size_t)tap_between(seed, 1, CHANS);
    s->layout =
        (struct psr_layout){nchan, type[k].nbit, type[k].kind, psr_row_bytes(nchan, type[k].nbit)};
    s->n = (size_t)tap_between(seed, 1, SPECTRA);
    s->in = tap_take(s->n, s->layout.row_bytes);
    s->skip = tap_take(s->n, 1);
    s->skips = tap_between(seed, 0, 1);
    for (size_t b = 0; b < s->n * s->layout.row_bytes && type[k].nbit < 32; b++)
        s->in[b] = (unsigned char)tap_random(seed);
    for (size_t t = 0; t < s->n && type[k].nbit == 32; t++)
        for (size_t c = 0; c < nchan; c++) {
            const float x = (float)(1000 + tap_normal(seed));
            memcpy(s->in + t * s->layout.row_bytes + 4 * c, &x, sizeof x);
        }
    for (size_t t = 0; t < s->n; t++)
        s->skip[t] = tap_between(seed, 0, 9) == 0;
}

static void plain(const struct scene *s, size_t c, struct psr_rfi_moments *m)
{
    double row[CHANS];
    long double sum[5] = {0};
    for (int pass = 0; pass < 2; pass++) {
        const long double mean = pass && sum[0] > 0 ? sum[1] / sum[0] : 0;
        long double total[5] = {0};
        for (size_t t = 0; t < s->n; t++) {
            if (s->skips && s->skip[t])
                continue;
            psr_row_unpack(row, s->in + t * s->layout.row_bytes, s->layout.nchan, s->layout.nbit,
                           s->layout.kind);
            long double power = 1;
            for (int k = 0; k < 5; k++, power *= (long double)row[c] - mean)
                total[k] += power;
        }
        memcpy(sum, total, sizeof sum);
        if (!pass)
            m->mean = sum[0] > 0 ? (double)(sum[1] / sum[0]) : 0;
    }
    m->n = (double)sum[0];
    const double n = sum[0] > 0 ? m->n : 1;
    m->m2 = (double)sum[2] / n;
    m->m3 = (double)sum[3] / n;
    m->m4 = (double)sum[4] / n;
}

static bool close_to(double a, double b, double scale)
{
    return fabs(a - b) <= 1e-10 * scale;
}

static void test_moments(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 60; k++) {
        struct scene s;
        struct psr_rfi_moments got[CHANS], want;
        draw(&s, seed);
        bad +=
            find_block_moments(&s.layout, s.in, s.n, s.skips ? s.skip : NULL, got, &err) != PSR_OK;
        for (size_t c = 0; c < s.layout.nchan; c += 1 + s.layout.nchan / 7) {
            plain(&s, c, &want);
            const double sd = sqrt(want.m2) + 1e-300;
            bad += got[c].n != want.n || !close_to(got[c].mean, want.mean, fabs(want.mean) + sd) ||
                   !close_to(got[c].m2, want.m2, sd * sd) ||
                   !close_to(got[c].m3, want.m3, sd * want.m2 + want.m4 / sd) ||
                   !close_to(got[c].m4, want.m4, want.m4 + sd * sd * want.m2);
        }
        free(s.in);
        free(s.skip);
    }
    ok(bad == 0, "moments of all types are those of plain sums (%d are not)", bad);
}

/* Of a row of values, in any number, also more than are added in 64 bits. */
static void test_rows(uint64_t *seed)
{
    static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 4095, 4096, 4097, 8191, 8192, 8193, 20000};
    int bad = 0;
    for (size_t k = 0; k < 2 * sizeof lengths / sizeof *lengths; k++) {
        const size_t n = lengths[k / 2];
        const bool whole = k % 2;
        float *x = tap_take(n, sizeof *x);
        long double sum = 0, p2 = 0, p3 = 0, p4 = 0;
        for (size_t t = 0; t < n; t++) {
            x[t] =
                (float)(whole ? (double)tap_between(seed, 0, 65535) : 1e5 + 3 * tap_normal(seed));
            sum += (long double)x[t];
        }
        const long double count = n ? (long double)n : 1, mean = sum / count;
        for (size_t t = 0; t < n; t++) {
            const long double d = (long double)x[t] - mean;
            p2 += d * d, p3 += d * d * d, p4 += d * d * d * d;
        }
        struct psr_rfi_moments got =
            whole ? psr_rfi_moments_of_integers(x, n) : psr_rfi_moments_of_floats(x, n);
        const double sd = sqrt((double)(p2 / count)) + 1e-3, m4 = (double)(p4 / count) + pow(sd, 4);
        bad += got.n != (double)n || fabs(got.mean - (double)mean) > 1e-12 * (fabs((double)mean)) ||
               fabs(got.m2 - (double)(p2 / count)) > 1e-9 * sd * sd ||
               fabs(got.m3 - (double)(p3 / count)) > 1e-9 * m4 / sd ||
               fabs(got.m4 - (double)(p4 / count)) > 1e-9 * m4;
        free(x);
    }
    ok(bad == 0, "moments of rows, whole numbers or not (%d are not)", bad);
}

/* The largest values of 8 bits, so many that 32-bit lanes would overflow. */
static void test_overflow(void)
{
    enum { N = 300000 };
    const struct psr_layout l = {2, 8, PSR_UINT, 2};
    unsigned char *in = tap_take(N, 2);
    struct psr_rfi_moments m[2];
    for (size_t t = 0; t < N; t++) {
        in[2 * t] = t % 2 ? 255 : 0;
        in[2 * t + 1] = t % 4 ? 255 : 0;
    }
    psr_status st = find_block_moments(&l, in, N, NULL, m, &err);
    ok(st == PSR_OK && m[0].mean == 127.5 && m[0].m2 == 127.5 * 127.5 && m[0].m3 == 0 &&
           m[0].m4 == pow(127.5, 4),
       "no sum overflows");
    ok(m[1].mean == 191.25 && close_to(psr_rfi_skewness(&m[1]), -2 / sqrt(3), 1) &&
           close_to(psr_rfi_kurtosis(&m[1]), 7.0 / 3 - 3, 1),
       "nor of the other channel");
    free(in);
}

/* A narrow distribution far from zero, where sums of powers cancel. */
static void test_cancellation(uint64_t *seed)
{
    enum { N = 4000 };
    const struct psr_layout l = {1, 16, PSR_UINT, 2};
    struct scene s = {.layout = l, .n = N, .in = tap_take(N, 2), .skip = tap_take(N, 1)};
    struct psr_rfi_moments got, want;
    for (size_t t = 0; t < N; t++) {
        const uint16_t x = (uint16_t)(65000 + 2 * tap_normal(seed));
        memcpy(s.in + 2 * t, &x, 2);
    }
    psr_status st = find_block_moments(&l, s.in, N, NULL, &got, &err);
    plain(&s, 0, &want);
    ok(st == PSR_OK && close_to(got.m2, want.m2, want.m2) && close_to(got.m4, want.m4, want.m4) &&
           close_to(got.m3, want.m3, want.m4),
       "nothing cancels where the mean is far above the scatter");
    free(s.in);
    free(s.skip);
}

/* --- spectral kurtosis ------------------------------------------------------------------------ */

/* Moments of n S2 / S1^2 from those of the sums: S1 and the ratio are independent. */
static void plain_sk(double n, double d, long double mean[5])
{
    long double y[5] = {1}, cumulant[5] = {0}, s2[5] = {1}, ratio[5] = {1}, rising = 1, total = 1;
    static const int choose[5][5] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}, {1, 4, 6, 4, 1}};
    for (int k = 1; k < 5; k++) {
        rising *= ((long double)d + 2 * k - 2) * ((long double)d + 2 * k - 1);
        y[k] = rising;
    }
    for (int k = 1; k < 5; k++) {
        cumulant[k] = y[k];
        for (int i = 1; i < k; i++)
            cumulant[k] -= choose[k - 1][i - 1] * cumulant[i] * y[k - i];
    }
    for (int k = 1; k < 5; k++) {
        s2[k] = 0;
        for (int i = 1; i <= k; i++)
            s2[k] += choose[k - 1][i - 1] * (long double)n * cumulant[i] * s2[k - i];
        total *= ((long double)(n * d) + 2 * k - 2) * ((long double)(n * d) + 2 * k - 1);
        ratio[k] = powl(n, k) * s2[k] / total;
    }
    const long double scale = ((long double)(n * d) + 1) / (n - 1);
    for (int k = 0; k < 5; k++) {
        mean[k] = 0; /* of (scale (ratio - 1) - 1)^k */
        for (int i = 0; i <= k; i++)
            mean[k] += choose[k][i] * powl(scale, i) * ratio[i] * powl(-scale - 1, k - i);
    }
}

static void test_sk_moments(uint64_t *seed)
{
    double worst = 0;
    for (int k = 0; k < 100; k++) {
        const double n = (double)tap_between(seed, 3, 60), d = 0.3 + 8 * tap_uniform(seed);
        double v, g, b;
        long double m[5];
        plain_sk(n, d, m);
        psr_rfi_sk_moments(n, d, &v, &g, &b);
        worst = fmax(worst, fabs(v / (double)m[2] - 1));
        worst = fmax(worst, fabs(g - (double)(m[3] / powl(m[2], 1.5L))));
        worst = fmax(worst, fabs(b - (double)(m[4] / (m[2] * m[2]) - 3)));
    }
    ok(worst < 1e-7, "moments of spectral kurtosis are those of its definition (%.1e off)", worst);
}

/* Where the tail of a Gaussian is wanted of a Gaussian. */
static void test_sk_limits_far(void)
{
    const struct psr_rfi_limits l = psr_rfi_sk_limits(1e9, 1e3, 5);
    near(l.low, -5, 0.01, "of many samples the lower limit is a Gaussian's");
    near(l.high, 5, 0.01, "and the upper one");
}

/* Of exponential powers, and sums of four of them. */
static void test_sk_limits(uint64_t *seed)
{
    enum { N = 200, TIMES = 20000 };
    for (int d = 1; d <= 4; d += 3) {
        const double sigma = 3, want = TIMES * exp(psr_gauss_logp(sigma).ln_sf);
        const struct psr_rfi_limits l = psr_rfi_sk_limits(N, d, sigma);
        const struct psr_rfi_noise noise = {d, 0, 2 / sqrt(d), 6.0 / d};
        int below = 0, above = 0;
        for (int k = 0; k < TIMES; k++) {
            float x[N];
            for (int t = 0; t < N; t++) {
                double product = 1;
                for (int i = 0; i < d; i++)
                    product *= 1 - tap_uniform(seed);
                x[t] = (float)-log(product);
            }
            const struct psr_rfi_moments m = psr_rfi_moments_of_floats(x, N);
            const double deviation = psr_rfi_sk_deviation(&m, &noise);
            below += deviation < l.low;
            above += deviation > l.high;
        }
        ok(below <= want + 5 * sqrt(want) && below >= want - 5 * sqrt(want),
           "shape %d: below the lower limit are %d, expected %.0f", d, below, want);
        ok(above <= want + 5 * sqrt(want) && above >= want - 5 * sqrt(want),
           "and %d above the upper one", above);
    }
}

/* Of Gaussian samples, at 3 sigma; of the kurtosis fewer below. */
static void test_gaussian_limits(uint64_t *seed)
{
    enum { N = 500, TIMES = 20000 };
    const double want = TIMES * exp(psr_gauss_logp(3).ln_sf), margin = 5 * sqrt(want);
    const struct psr_rfi_limits s = psr_rfi_skewness_limits(N, 3),
                                k = psr_rfi_kurtosis_limits(N, 3);
    int count[4] = {0};
    for (int i = 0; i < TIMES; i++) {
        float x[N];
        for (int t = 0; t < N; t++)
            x[t] = (float)tap_normal(seed);
        const struct psr_rfi_moments m = psr_rfi_moments_of_floats(x, N);
        const double skewness = psr_rfi_skewness(&m) / sqrt(6.0 * (N - 2) / ((N + 1.0) * (N + 3)));
        const double variance =
            24.0 * N * (N - 2) * (N - 3) / ((N + 1.0) * (N + 1.0) * (N + 3.0) * (N + 5.0));
        const double kurtosis = (psr_rfi_kurtosis(&m) + 6 / (N + 1.0)) / sqrt(variance);
        count[0] += skewness < s.low;
        count[1] += skewness > s.high;
        count[2] += kurtosis < k.low;
        count[3] += kurtosis > k.high;
    }
    for (int i = 0; i < 4; i++)
        ok(count[i] <= want + margin && (i == 2 || count[i] >= want - margin),
           "%s %s the limit: %d, expected %.0f", i < 2 ? "skewness" : "kurtosis",
           i % 2 ? "above" : "below", count[i], want);
}

/* --- outliers --------------------------------------------------------------------------------- */

static void plain_outliers(const float *x, size_t n, size_t window, double sigma,
                           unsigned char *bad)
{
    static float sorted[20000], median[100], range[100];
    size_t count = (n + window / 2) / window;
    count = count ? count : 1;
    for (size_t k = 0; k < count; k++) {
        size_t first = k * window, end = k + 1 == count ? n : first + window, m = end - first;
        memcpy(sorted, x + first, m * sizeof *x);
        tap_sort_floats(sorted, m);
        median[k] = sorted[m / 2];
        range[k] = sorted[3 * m / 4] - sorted[m / 4];
    }
    memcpy(sorted, range, count * sizeof *range);
    tap_sort_floats(sorted, count);
    const double limit = sigma * (double)sorted[count / 2] / 1.3489795;
    for (size_t t = 0; t < n; t++) {
        double level = (double)median[0];
        for (size_t k = 0; k + 1 < count; k++) {
            double a = (double)(k * window) + (double)(window - 1) / 2;
            size_t end = k + 2 == count ? n : (k + 2) * window;
            double b = ((double)((k + 1) * window) + (double)end - 1) / 2;
            if ((double)t > a)
                level = (double)median[k] + fmin(((double)t - a) / (b - a), 1) *
                                                ((double)median[k + 1] - (double)median[k]);
        }
        bad[t] = limit > 0 && fabs((double)x[t] - (double)(float)level) > limit;
    }
}

static void test_outliers(uint64_t *seed)
{
    static float x[20000];
    static unsigned char want[20000], got[20000];
    int wrong = 0;
    size_t found = 0;
    for (int k = 0; k < 50; k++) {
        const size_t n = (size_t)tap_between(seed, 1, 20000);
        const size_t window = (size_t)tap_between(seed, 200, 5000);
        for (size_t t = 0; t < n; t++)
            x[t] = (float)(100 + 0.001 * (double)t + tap_normal(seed) +
                           (tap_between(seed, 0, 99) ? 0 : 9));
        size_t nbad, count = 0;
        plain_outliers(x, n, window, 5, want);
        wrong += psr_rfi_outliers(x, n, window, 5, NULL, got, &nbad, &err) != PSR_OK;
        for (size_t t = 0; t < n; t++) {
            wrong += got[t] != want[t];
            count += got[t];
        }
        wrong += count != nbad;
        found += nbad;
    }
    ok(wrong == 0, "outliers are those of the plain statement (%d are not)", wrong);
    ok(found > 0, "and there are some (%zu)", found);
}

/* Median 0.5 and an inter-quartile range of 1, at four times which a sample is not marked yet. */
static void test_limit(float *x, unsigned char *bad)
{
    size_t n = 0;
    for (size_t t = 0; t < 1000; t++)
        x[t] = t % 2 ? 0.5F : -0.5F;
    x[10] = 4.5F;
    x[20] = -3.5F;
    x[30] = nextafterf(4.5F, 5);
    psr_status st = psr_rfi_outliers(x, 1000, 1000, 4 * 1.3489795, NULL, bad, &n, &err);
    ok(st == PSR_OK && n == 1 && bad[30], "marked is what lies beyond the limit, not on it");
}

static void test_outliers_noise(uint64_t *seed)
{
    enum { N = 1 << 20 };
    float *x = tap_take(N, sizeof *x), *level = tap_take(N, sizeof *level);
    unsigned char *bad = tap_take(N, 1);
    size_t n4 = 0, n6 = 0;
    for (size_t t = 0; t < N; t++)
        x[t] = (float)(5000 + 30 * tap_normal(seed));
    psr_status st = psr_rfi_outliers(x, N, PSR_RFI_WINDOW, 4, level, bad, &n4, &err);
    if (!st)
        st = psr_rfi_outliers(x, N, PSR_RFI_WINDOW, 6, NULL, bad, &n6, &err);
    const double want = N * 2 * exp(psr_gauss_logp(4).ln_sf); /* 66 */
    ok(st == PSR_OK && (double)n4 < want * 1.2 + 5 * sqrt(want) &&
           (double)n4 > want - 5 * sqrt(want),
       "noise is beyond 4 sigma as often as a Gaussian (%zu, expected %.0f)", n4, want);
    ok(st == PSR_OK && n6 <= 1, "and hardly beyond 6 (%zu)", n6);
    ok(fabsf(level[N / 2] - 5000) < 5, "the level is the running median");
    for (size_t t = 0; t < N; t++)
        x[t] = 1;
    x[5] = 9;
    st = psr_rfi_outliers(x, N, PSR_RFI_WINDOW, 4, NULL, bad, &n4, &err);
    ok(st == PSR_OK && n4 == 0, "without scatter nothing is marked");
    test_limit(x, bad);
    free(x);
    free(level);
    free(bad);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_moments(&seed);
    test_rows(&seed);
    test_overflow();
    test_cancellation(&seed);
    test_sk_moments(&seed);
    test_sk_limits_far();
    test_sk_limits(&seed);
    test_gaussian_limits(&seed);
    test_outliers(&seed);
    test_outliers_noise(&seed);
    return done_testing();
}
