/* The fast folding search on a CUDA device against the CPU: the same S/N of every trial, and the same peaks, to the
 * bit. */
#include "tests/support/tap.h"

#include "search/ffa/ffa_internal.h"
#include <psrkit/device.h>
#include <psrkit/experimental/ffa.h>

#include <string.h>

enum { BATCH = 5 };

static psr_err err;

/* Noise with a pulsar and a slope; some are constant, hold what is no number, or are so strong that sums saturate. */
static float *make_series(size_t n, double p, uint64_t *seed)
{
    const int64_t style = tap_between(seed, 0, 9);
    const double duty = 0.005 + 0.4 * tap_uniform(seed),
                 height = style == 1 ? 3000 : 2 * tap_uniform(seed), slope = 5 * tap_uniform(seed);
    float *x = tap_take(n, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        const double pulse = fmod((double)i / p, 1) < duty ? height : 0;
        x[i] = (float)(100 + 3 * (tap_normal(seed) + slope * (double)i / (double)n + pulse));
        if (style == 2)
            x[i] = 7;
        if (style == 3)
            x[i] = rintf(x[i]);
    }
    if (style == 4)
        x[tap_between(seed, 0, (int64_t)n - 1)] = NAN;
    return x;
}

static size_t draw_ranges(struct psr_ffa_range *range, size_t nsamp, uint64_t *seed)
{
    const bool large = tap_uniform(seed) < 0.3;
    const int most = tap_uniform(seed) < 0.15 ? 2000 : large ? 300 : 60;
    const size_t n = (size_t)tap_between(seed, 1, 2);
    double from = 0;
    for (size_t r = 0; r < n; r++) {
        const int bmin = (int)tap_between(seed, 8, most);
        const double least =
            fmax(from, 1e-3 * bmin * (1 + 10 * tap_uniform(seed) * tap_uniform(seed)));
        range[r] = (struct psr_ffa_range){
            .pmin_s = least,
            .pmax_s = least * (1.05 + 0.5 * tap_uniform(seed)),
            .bmin = bmin,
            .bmax = bmin + (int)tap_between(seed, 0, 6),
            .ducymax = 0.05 + 0.45 * tap_uniform(seed),
        };
        from = range[r].pmax_s;
        if (range[r].pmin_s * 4 > 1e-3 * (double)nsamp)
            return 0;
    }
    return n;
}

enum { MOST_GAPS = 160 };

/* What is in a gap is no sample: no number, or one that would be a signal. */
static void empty_gap(float *x, size_t nsamp, struct psr_span gap, uint64_t *seed)
{
    for (int64_t i = gap.first < 0 ? 0 : gap.first; i < gap.first + gap.count && i < (int64_t)nsamp;
         i++)
        x[i] = tap_between(seed, 0, 1) ? NAN : 1e30f;
}

/* Gaps that are short, that repeat with a period in samples, of which three leave little, or that are so dense that no part
 * of a window of medians has half of its samples; some lie over each other or reach out of the series. */
static size_t draw_gaps(struct psr_span *gap, size_t nsamp, double period, uint64_t *seed)
{
    enum { NONE, SHORT, PERIODIC, LONG, DENSE };
    const int64_t style = tap_between(seed, NONE, DENSE), n = (int64_t)nsamp,
                  apart = tap_between(seed, 8, 40), begin = tap_between(seed, 0, n / 2);
    const size_t ngap = style == LONG    ? 3
                        : style == DENSE ? MOST_GAPS
                                         : (size_t)tap_between(seed, 1, 40);
    const double every = period * (1 + (double)tap_between(seed, 0, 4));
    for (size_t g = 0; g < ngap && style; g++) {
        const int64_t k = (int64_t)g;
        gap[g] =
            style == SHORT
                ? (struct psr_span){tap_between(seed, -20, n - 1), tap_between(seed, 0, 40)}
            : style == PERIODIC
                ? (struct psr_span){2000 + (int64_t)(every * (double)g), (int64_t)(every * 0.4)}
            : style == LONG
                ? (struct psr_span){tap_between(seed, 0, n - 1), tap_between(seed, n / 40, n / 3)}
                : (struct psr_span){begin + apart * k, apart * 7 / 10};
    }
    return style ? ngap : 0;
}

static psr_ffa *make_plan(const struct psr_ffa_desc *d, const char *backend)
{
    struct psr_ffa_desc with = *d;
    psr_ffa *plan = NULL;
    with.backend = backend;
    if (psr_ffa_create(&plan, &with, &err))
        diag("%s: %s", backend, err.msg);
    return plan;
}

/* Returned: whether a plan got the gaps of d in place of one of its own */
static bool replace_gaps(psr_ffa **plan, const struct psr_ffa_desc *d)
{
    const struct psr_span one = {(int64_t)d->nsamp / 3, 500};
    struct psr_ffa_desc other = *d;
    bool done = false;
    other.gap = &one;
    other.ngap = 1;
    *plan = make_plan(&other, "cuda");
    return *plan && !psr_ffa_replace_gaps(*plan, d->gap, d->ngap, &done, &err) && done;
}

static bool same_peaks(const struct psr_ffa_result *a, const struct psr_ffa_result *b)
{
    bool same = a->npeak == b->npeak && a->bad == b->bad && a->rms == b->rms;
    for (size_t i = 0; i < a->npeak && same; i++) {
        const struct psr_ffa_peak *p = &a->peak[i], *q = &b->peak[i];
        same = p->trial == q->trial && p->snr == q->snr && p->width_s == q->width_s &&
               p->ntrial == q->ntrial;
        if (!same)
            diag("peak %zu: trial %zu, S/N %.9g, %zu trials; trial %zu, S/N %.9g, %zu trials", i,
                 p->trial, p->snr, p->ntrial, q->trial, q->snr, q->ntrial);
    }
    return same;
}

static bool same_trials(psr_ffa *const plan[2], size_t series, size_t ntrial)
{
    float *snr[2];
    int *width[2];
    bool same = true;
    for (int b = 0; b < 2; b++) {
        snr[b] = tap_take(ntrial, sizeof *snr[b]);
        width[b] = tap_take(ntrial, sizeof *width[b]);
        if (psr_ffa_periodogram(plan[b], series, snr[b], width[b], &err)) {
            diag("%s", err.msg);
            same = false;
        }
    }
    for (size_t i = 0; i < ntrial && same; i++)
        if (snr[0][i] != snr[1][i] || width[0][i] != width[1][i]) {
            diag("trial %zu of %zu: %g, width %d; %g, width %d", i, ntrial, (double)snr[0][i],
                 width[0][i], (double)snr[1][i], width[1][i]);
            same = false;
        }
    for (int b = 0; b < 2; b++) {
        free(snr[b]);
        free(width[b]);
    }
    return same;
}

/* Returned: whether both backends agree; *peaks is increased by their number */
static bool compare(const struct psr_ffa_desc *d, float *const *x, size_t *peaks)
{
    psr_ffa *plan[2] = {NULL, make_plan(d, "cpu")};
    struct psr_ffa_result result[2][BATCH];
    struct psr_ffa_info info;
    bool same = d->ngap > 1 ? replace_gaps(&plan[0], d) : (plan[0] = make_plan(d, "cuda")) != NULL;
    same &= plan[1] != NULL;
    for (int b = 0; b < 2 && same; b++)
        same = !psr_ffa_execute(plan[b], d->batch, (const float *const *)x, result[b], &err);
    if (same)
        psr_ffa_describe(plan[0], &info);
    for (size_t s = 0; s < d->batch && same; s++) {
        *peaks += result[1][s].npeak;
        same = same_peaks(&result[0][s], &result[1][s]);
        if (!same)
            diag("series %zu: %zu and %zu peaks, bad %lld and %lld, rms %g and %g", s,
                 result[0][s].npeak, result[1][s].npeak, (long long)result[0][s].bad,
                 (long long)result[1][s].bad, result[0][s].rms, result[1][s].rms);
        same = same_trials(plan, s, info.ntrial) && same;
    }
    psr_ffa_destroy(plan[0]);
    psr_ffa_destroy(plan[1]);
    return same;
}

static void test_random(uint64_t *seed)
{
    bool same = true;
    size_t peaks = 0;
    int n = 0, with_gaps = 0;
    for (int k = 0; k < 120 && same; k++) {
        struct psr_ffa_range range[2];
        struct psr_span gap[MOST_GAPS];
        float *x[BATCH] = {NULL};
        struct psr_ffa_desc d = {.size = sizeof d, .tsamp_s = 1e-3, .range = range, .sigma = 4};
        d.nsamp = (size_t)tap_between(seed, 6000, tap_uniform(seed) < 0.2 ? 400000 : 60000);
        d.nrange = draw_ranges(range, d.nsamp, seed);
        d.batch = (size_t)tap_between(seed, 1, BATCH);
        d.rmed_s = tap_uniform(seed) < 0.3   ? -1
                   : tap_uniform(seed) < 0.5 ? 0
                                             : 20 * tap_uniform(seed);
        if (!d.nrange || d.nsamp / (size_t)range[0].bmin > 18000)
            continue; /* floats are not the device's */
        d.gap = gap;
        d.ngap = draw_gaps(gap, d.nsamp, 1e3 * range[0].pmin_s, seed);
        for (size_t i = 0; i < d.batch; i++) {
            x[i] = make_series(d.nsamp, 1e3 * range[0].pmin_s * 1.02, seed);
            for (size_t g = 0; g < d.ngap; g++)
                empty_gap(x[i], d.nsamp, gap[g], seed);
        }
        same = compare(&d, x, &peaks);
        if (!same)
            diag("search %d: %zu samples, %zu ranges, %d to %d bins, %g to %g s, %zu gaps", k,
                 d.nsamp, d.nrange, range[0].bmin, range[0].bmax, range[0].pmin_s, range[0].pmax_s,
                 d.ngap);
        n++;
        with_gaps += d.ngap > 0;
        for (size_t i = 0; i < BATCH; i++)
            free(x[i]);
    }
    ok(same && peaks > 100 && with_gaps > 20,
       "%d searches, %d with gaps, %zu peaks: every trial to the bit", n, with_gaps, peaks);
}

/* What a survey runs: three ranges, up to a million trials; and more trials above the threshold than fit. */
static void test_survey(uint64_t *seed)
{
    struct psr_ffa_range range[PSR_FFA_MAX_RANGE];
    struct psr_ffa_desc d = {.size = sizeof d,
                             .nsamp = 1000000,
                             .tsamp_s = 256e-6,
                             .range = range,
                             .sigma = 6,
                             .batch = 2};
    float *x[2] = {make_series(d.nsamp, 1400, seed), make_series(d.nsamp, 5000, seed)};
    size_t peaks = 0;
    d.nrange = psr_ffa_default_ranges(d.nsamp, d.tsamp_s, range);
    ok(compare(&d, x, &peaks), "the default ranges: every trial to the bit");
    /* As a mask of the first and of some further intervals leaves them. */
    struct psr_span gap[12];
    d.gap = gap;
    d.ngap = sizeof gap / sizeof *gap;
    for (size_t g = 0; g < d.ngap; g++) {
        gap[g] = (struct psr_span){(int64_t)(g * g) * 7919, 1024 + 1531 * (int64_t)g};
        empty_gap(x[0], d.nsamp, gap[g], seed);
        empty_gap(x[1], d.nsamp, gap[g], seed);
    }
    ok(compare(&d, x, &peaks), "with gaps: every trial to the bit");
    free(x[0]);
    free(x[1]);
}

/* Nothing of a series is left, or less than a block by which noise is measured: it is not searched. */
static void test_all_gap(uint64_t *seed)
{
    const struct psr_ffa_range range = {0.1, 0.2, 16, 20, 0.3};
    struct psr_span gap = {0, 20000};
    struct psr_ffa_desc d = {.size = sizeof d,
                             .nsamp = 20000,
                             .tsamp_s = 1e-3,
                             .range = &range,
                             .nrange = 1,
                             .gap = &gap,
                             .ngap = 1,
                             .batch = 1};
    float *x = make_series(d.nsamp, 150, seed);
    size_t peaks = 0;
    empty_gap(x, d.nsamp, gap, seed);
    ok(compare(&d, &x, &peaks) && !peaks, "a series of gaps is not searched");
    free(x);
}

static void test_unsupported(void)
{
    const struct psr_ffa_range range = {0.1, 0.2, 16, 20, 0.3};
    struct psr_ffa_desc d = {
        .size = sizeof d, .nsamp = 20000, .tsamp_s = 1e-3, .range = &range, .nrange = 1};
    psr_ffa *plan = NULL;
    d.floats = true;
    d.backend = "cuda";
    ok(psr_ffa_create(&plan, &d, &err) == PSR_EUNSUPPORTED && !plan, "floats by name: %s", err.msg);
    d.backend = NULL;
    struct psr_ffa_info info = {.backend = ""};
    const bool made = !psr_ffa_create(&plan, &d, &err);
    if (made)
        psr_ffa_describe(plan, &info);
    ok(made && !strcmp(info.backend, "cpu"), "floats on the CPU otherwise");
    psr_ffa_destroy(plan);
}

int main(void)
{
    struct psr_device device;
    if (psr_device_describe(0, &device, &err)) {
        skip("the fast folding search on CUDA", err.msg);
        return done_testing();
    }
    uint64_t seed = tap_seed();
    test_random(&seed);
    test_survey(&seed);
    test_all_gap(&seed);
    test_unsupported();
    return done_testing();
}
