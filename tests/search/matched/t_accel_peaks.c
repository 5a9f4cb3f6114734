/* accelsearch: peaks among places, and harmonics among peaks, against all pairs. */
#include "search/matched/peaks.h"

#include "tests/support/tap.h"

#include <psrkit/signif.h>

static const struct psr_accel_search search = {
    .nbin = 1 << 20, .nstage = 4, .numharm = 8, .trials = {4e6, 2e6, 1e6, 5e5}};

static struct psr_accel_hits make_hits(uint64_t *random)
{
    struct psr_accel_hits hits = {.n = (size_t)tap_between(random, 0, 400)};
    hits.hit = tap_take(hits.n + 1, sizeof *hits.hit);
    int64_t span = tap_between(random, 1, 20000);
    for (size_t k = 0; k < hits.n; k++)
        hits.hit[k] = (struct psr_accel_hit){
            .i = 1000 + tap_between(random, 0, span),
            .j = (int)tap_between(random, -100, 100),
            .l = (int)tap_between(random, -5, 5),
            .stage = (int)tap_between(random, 0, 3),
            .power = (float)tap_between(random, 30, 60),
        };
    return hits;
}

static struct psr_accel_peak peak_of(const struct psr_accel_hit *h)
{
    double nharm = 1 << h->stage;
    struct psr_logp p = psr_chi2_logp(2 * (double)h->power, 2 * nharm);
    return (struct psr_accel_peak){
        .r = 0.5 * (double)h->i / nharm,
        .z = 2 * h->j / nharm,
        .w = 20 * h->l / nharm,
        .sigma =
            psr_gauss_sigma(psr_logp_trials(p, search.trials[h->stage], PSR_TRIALS_BONFERRONI)),
        .power = (double)h->power,
        .nharm = 1 << h->stage,
    };
}

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

static bool is_better(const struct psr_accel_peak *a, const struct psr_accel_peak *b)
{
    int by = order(a->sigma, b->sigma);
    by = by ? by : order(a->power, b->power);
    by = by ? by : order(b->r, a->r);
    return (by ? by : b->nharm - a->nharm) > 0;
}

static bool has(const struct psr_accel_peaks *p, const struct psr_accel_peak *x)
{
    for (size_t k = 0; k < p->n; k++)
        if (!is_better(&p->peak[k], x) && !is_better(x, &p->peak[k]))
            return true;
    return false;
}

static void test_select(uint64_t *random)
{
    size_t wrong = 0, kept = 0, unordered = 0;
    for (int trial = 0; trial < 200; trial++) {
        struct psr_accel_hits hits = make_hits(random);
        struct psr_accel_peaks peaks = {0};
        psr_err err;
        if (psr_accel_select(&search, &hits, &peaks, &err))
            diag("%s", err.msg);
        for (size_t k = 0; k < hits.n; k++) {
            struct psr_accel_peak here = peak_of(&hits.hit[k]);
            bool beaten = false;
            for (size_t m = 0; m < hits.n; m++) {
                struct psr_accel_peak other = peak_of(&hits.hit[m]);
                beaten = beaten || (fabs(other.r - here.r) < 15 && is_better(&other, &here));
            }
            wrong += has(&peaks, &here) == beaten;
        }
        for (size_t k = 1; k < peaks.n; k++)
            unordered += is_better(&peaks.peak[k], &peaks.peak[k - 1]);
        kept += peaks.n;
        free(hits.hit);
        free(peaks.peak);
    }
    ok(wrong == 0 && unordered == 0, "%zu peaks have no better one within 15 bins", kept);
}

static bool is_harmonic(double better, double r)
{
    static const double ratio[][2] = {{3, 2},  {5, 2},  {2, 3},  {4, 3},  {5, 3}, {3, 4},
                                      {5, 4},  {2, 5},  {3, 5},  {4, 5},  {5, 6}, {2, 7},
                                      {3, 7},  {4, 7},  {3, 8},  {5, 8},  {2, 9}, {3, 10},
                                      {2, 11}, {3, 11}, {2, 13}, {3, 13}, {2, 15}};
    bool is = false;
    for (int n = 1; n <= 16; n++)
        is = is || fabs(better / n - r) < 1.5 || fabs(better * n - r) < 1.5;
    for (size_t k = 0; k < sizeof ratio / sizeof *ratio; k++)
        is = is || fabs(better * ratio[k][0] / ratio[k][1] - r) < 1.5;
    return is;
}

static void test_harmonics(uint64_t *random)
{
    size_t wrong = 0, gone = 0;
    for (int trial = 0; trial < 100; trial++) {
        enum { N = 60 };
        struct psr_accel_peak all[N];
        bool dropped[N] = {false};
        struct psr_accel_peaks peaks = {.n = (size_t)tap_between(random, 0, N)};
        peaks.peak = tap_take(N, sizeof *peaks.peak);
        for (size_t k = 0; k < peaks.n; k++) {
            double r = tap_between(random, 0, 1) ? 40 + 400 * tap_uniform(random)
                                                 : 40 * (double)tap_between(random, 1, 60);
            all[k] = (struct psr_accel_peak){.r = r, .sigma = 100 - (double)k, .nharm = 1};
            peaks.peak[k] = all[k];
        }
        size_t n = peaks.n, left = 0, nremoved = 0;
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n && !dropped[a]; b++)
                dropped[b] = dropped[b] || is_harmonic(all[a].r, all[b].r);
        psr_err err;
        if (psr_accel_drop_harmonics(&peaks, &nremoved, &err))
            diag("%s", err.msg);
        for (size_t k = 0; k < n; k++)
            if (!dropped[k])
                wrong += left >= peaks.n || peaks.peak[left++].sigma < all[k].sigma;
        wrong += left != peaks.n || nremoved != n - left;
        gone += nremoved;
        free(peaks.peak);
    }
    ok(wrong == 0, "%zu harmonics are dropped, and none else", gone);
}

static void test_sigma(void)
{
    double worst = 0;
    for (int stage = 0; stage < 4; stage++)
        for (double sigma = -1; sigma < 40; sigma += 0.7)
            worst =
                fmax(worst,
                     fabs(psr_accel_sigma(&search, psr_accel_power(&search, sigma, stage), stage) -
                          sigma));
    ok(worst < 1e-8, "the power of a sigma has that sigma, to %.1g", worst);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_select(&random);
    test_harmonics(&random);
    test_sigma();
    return done_testing();
}
