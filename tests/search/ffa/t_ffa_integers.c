/* ffa: what saturating 16-bit sums lose, beside floats, of signals from S/N 5 to 10^4; and that trials
 * left out by bounds are below the threshold. */
#include "search/ffa/ffa_internal.h"

#include "fake/fake_internal.h"
#include "tests/support/tap.h"

static psr_ffa *make_plan(const struct psr_ffa_desc *d)
{
    psr_ffa *plan = NULL;
    psr_err err;
    if (psr_ffa_create(&plan, d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    return plan;
}

/* S/N of all trials. */
static float *rate(psr_ffa *plan, const float *x, size_t *n)
{
    struct psr_ffa_result result;
    struct psr_ffa_info info;
    psr_err err;
    psr_ffa_describe(plan, &info);
    float *snr = tap_take(info.ntrial, sizeof *snr);
    if (psr_ffa_execute(plan, 1, &x, &result, &err) ||
        psr_ffa_periodogram(plan, 0, snr, NULL, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    *n = info.ntrial;
    return snr;
}

/* --- loss ------------------------------------------------------------------------------------- */

enum { NBIN = 240 };

/* A length of series: rows of 0.2 s with 240 bins, as in 64 us, but of samples of one bin. */
struct length {
    const char *name;
    size_t nrow;
    const double *snr, *duty;
    size_t nsnr, nduty;
};

struct loss {
    double got, want, square; /* sums of S/N below 50, and of squares of differences */
    size_t n;
    bool above; /* brighter ones stay above 50 */
};

/* The best S/N of floats, and that of integers in the same trial, for noise with a pulsar and a slope. */
static void compare(psr_ffa *words, psr_ffa *floats, const float *noise, size_t n, double snr,
                    double duty, double slope, struct loss *loss)
{
    float *x = tap_take(n, sizeof *x);
    const double width = fmax(1, duty * NBIN);
    const double height = snr / sqrt(width * (double)n / NBIN * (1 - width / NBIN));
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((double)noise[i] + slope * (double)i / (double)n +
                       ((double)(i % NBIN) < width ? height : 0));
    size_t ntrial, best = 0;
    float *w = rate(words, x, &ntrial), *f = rate(floats, x, &ntrial);
    for (size_t i = 1; i < ntrial; i++)
        best = f[i] > f[best] ? i : best;
    const double got = (double)w[best], want = (double)f[best];
    if (want < 50) {
        loss->got += got;
        loss->want += want;
        loss->square += (got - want) * (got - want);
        loss->n++;
    } else if (got < 0.998 * 50) {
        loss->above = false;
        diag("S/N %.1f of floats, %.1f of integers (asked %g, duty cycle %g)", want, got, snr,
             duty);
    }
    free(x);
    free(w);
    free(f);
}

static void test_loss(const struct length *length, uint64_t *seed)
{
    const size_t n = length->nrow * NBIN;
    const double p = 0.2;
    struct psr_ffa_range range = {p, p * (1 + 3.0 / (double)n), NBIN, 260, 0.5};
    struct psr_ffa_desc d = {.size = sizeof d,
                             .nsamp = n + 2 * NBIN,
                             .tsamp_s = p / NBIN * (1 - 1e-12),
                             .range = &range,
                             .nrange = 1,
                             .nthread = 1};
    float *noise = tap_take(d.nsamp, sizeof *noise);
    psr_rng_normal(tap_random(seed), 1, 0, d.nsamp, noise);
    psr_ffa *words = make_plan(&d);
    d.floats = true;
    psr_ffa *floats = make_plan(&d);
    struct loss loss = {.above = true};
    const double units = psr_ffa_resolved(words)->step[0].units;
    ok(!psr_ffa_resolved(words)->step[0].floats, "%s: %.2f units per sigma", length->name, units);
    for (size_t i = 0; i < length->nsnr; i++)
        for (size_t k = 0; k < length->nduty; k++)
            compare(words, floats, noise, d.nsamp, length->snr[i], length->duty[k],
                    (i + k) % 3 == 1 ? 40 : 0, &loss);
    const double scatter = sqrt(loss.square / (double)loss.n), ratio = loss.got / loss.want;
    diag("S/N below 50: ratio %.5f of %zu, scatter %.4f", ratio, loss.n, scatter);
    /* Rounding is noise of 0.29 / units in S/N, whose mean is 0. */
    ok(loss.n > 4 && ratio > 0.998 - 0.6 / units * sqrt((double)loss.n) / loss.want,
       "%s: S/N below 50 loses less than 0.2 %%", length->name);
    ok(scatter < 3 * 0.29 / units, "%s: and scatters as rounding does", length->name);
    ok(loss.above, "%s: brighter signals stay above 50", length->name);
    psr_ffa_destroy(words);
    psr_ffa_destroy(floats);
    free(noise);
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* The trials of peaks are those whose S/N is above the threshold. */
static void test_bounds(int bmin, double ducymax, size_t nsamp, double most, uint64_t *seed)
{
    struct psr_ffa_range range = {0.3, 1.5, bmin, bmin + bmin / 12, ducymax};
    struct psr_ffa_desc d = {.size = sizeof d,
                             .nsamp = nsamp,
                             .tsamp_s = 0.3 / bmin / (1 + tap_uniform(seed)),
                             .range = &range,
                             .nrange = 1,
                             .sigma = 4 + tap_uniform(seed),
                             .nthread = 1};
    float *x = tap_take(d.nsamp, sizeof *x);
    psr_rng_normal(tap_random(seed), 1, 0, d.nsamp, x);
    const double height = most * tap_uniform(seed), duty = 0.4 * tap_uniform(seed);
    for (size_t i = 0; i < d.nsamp; i++)
        x[i] += fmod((double)i * d.tsamp_s / 0.7, 1) < duty ? (float)height : 0;
    psr_ffa *plan = make_plan(&d);
    struct psr_ffa_result result;
    psr_err err;
    size_t ntrial, above = 0, found = 0;
    float *snr = rate(plan, x, &ntrial);
    bool same = psr_ffa_execute(plan, 1, (const float *const *)&x, &result, &err) == PSR_OK;
    for (size_t i = 0; i < ntrial; i++)
        above += (double)snr[i] > d.sigma;
    for (size_t i = 0; same && i < result.npeak; i++) {
        found += result.peak[i].ntrial;
        same = result.peak[i].snr == (double)snr[result.peak[i].trial];
    }
    ok(same && found == above && above > 0,
       "%d bins, to %g: %zu of %zu trials above %.2f, %zu found", bmin, ducymax, above, ntrial,
       d.sigma, found);
    psr_ffa_destroy(plan);
    free(x);
    free(snr);
}

int main(void)
{
    static const double snr[] = {5, 8, 12, 20, 30, 40, 45, 60, 100, 1e3, 1e4};
    static const double duty[] = {0.005, 0.01, 0.03, 0.1, 0.3, 0.5};
    static const double few_snr[] = {10, 30, 44, 80, 1e4}, few_duty[] = {0.005, 0.1, 0.5};
    uint64_t seed = tap_seed();
    test_loss(&(struct length){"9 minutes", 2700, snr, duty, 11, 6}, &seed);
    test_loss(&(struct length){"an hour", 18000, few_snr, few_duty, 5, 3}, &seed);
    test_bounds(8, 0.5, 40000, 1, &seed);
    test_bounds(31, 0.3, 40000, 1, &seed);
    test_bounds(240, 0.3, 40000, 1, &seed);
    test_bounds(250, 0.05, 40000, 1, &seed);
    test_bounds(960, 0.5, 40000, 1, &seed);
    for (int k = 0; k < 8; k++) /* sums saturate */
        test_bounds(20 << k % 5, 0.5, 100000, 3000, &seed);
    return done_testing();
}
