/* The single-pulse plan: against the plain search, cut in every way, masked, at its ends, and with
 * pulses of known strength. */
#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/pulse_reference.h"
#include "tests/support/pulse_search.h"

/* Which of the plain search's lengths comes closest to what was asked for, and the plan says so. */
static int find_fixed(const struct setup *s, const psr_singlepulse *p)
{
    static const double parts[] = {72, 8.0 / 3, 64.0 / 11, 512.0 / 43, 4096.0 / 171};
    double piece = fmax(512, 64 * ceil(4 * (double)psr_singlepulse_maxwidth(p) / 64)),
           least = INFINITY;
    int best = -1;
    for (int n = 0; n < 5 && s->detrend > 0; n++) {
        double off = fabs(log(s->detrend / (parts[n] * piece / 8)));
        best = off < least ? n : best;
        least = fmin(off, least);
    }
    double told = psr_singlepulse_detrend(p), want = best < 0 ? 0 : parts[best] * piece / 8;
    if (!(fabs(told - want) < 1e-6 * (1 + want)))
        ok(false, "a baseline of %g samples is one of %g, not %g", s->detrend, want, told);
    return best;
}

/* Whether the plain search finds the same in a series that differs by a hundred thousandth of its
 * scatter: which of two boxcars is better can be a matter of rounding. */
static bool is_rounding(const struct setup *s, const psr_singlepulse *p)
{
    const struct psr_event *got;
    const size_t n = psr_singlepulse_events(p, 0, &got);
    float *x = tap_take(s->n, sizeof *x);
    uint64_t seed = 1;
    bool same = false;
    for (int k = 0; k < 40 && !same; k++) {
        struct psr_event *want;
        for (size_t t = 0; t < s->n; t++)
            x[t] = s->x[t] + (float)(3e-5 * tap_normal(&seed));
        size_t nwant = search_plainly(x, s->n, psr_singlepulse_maxwidth(p), find_fixed(s, p),
                                      s->threshold, &want);
        same = n == nwant && same_events(got, want, n);
        free(want);
    }
    free(x);
    return same;
}

static void test_against_plain_search(uint64_t *seed)
{
    static const size_t lengths[] = {1,   15,   16,   40,   299,  300,  301,  511,  512,
                                     513, 1217, 1824, 3000, 4864, 6100, 9001, 20000};
    int wrong = 0, total = 0;
    double worst = 0;
    static const double spans[] = {0, 0, 300, 1000, 1e5}; /* of baselines; longest first after 0 */
    for (size_t k = 0; k < 6 * sizeof lengths / sizeof *lengths; k++) {
        size_t n = lengths[k / 6];
        double maxwidth_s = (double[]){0.0301, 0, 1e-5, 0, 0.1001, 0}[k % 6];
        float *x = make_series(seed, 1, n);
        struct setup s = {.x = x,
                          .nseries = 1,
                          .n = n,
                          .maxwidth_s = maxwidth_s,
                          .threshold = 4,
                          .detrend = spans[k % 5]};
        psr_singlepulse *p = search(&s);
        struct psr_event *want;
        const struct psr_event *got;
        size_t nwant = search_plainly(x, n, psr_singlepulse_maxwidth(p), find_fixed(&s, p),
                                      s.threshold, &want);
        size_t ngot = psr_singlepulse_events(p, 0, &got);
        bool same = ngot == nwant && same_events(got, want, ngot);
        wrong += !same && !is_rounding(&s, p);
        for (size_t e = 0; e < ngot && same; e++)
            worst = fmax(worst, fabs(got[e].snr / want[e].snr - 1));
        total += (int)nwant;
        free(want);
        free(x);
        psr_singlepulse_destroy(p);
    }
    ok(wrong == 0 && total > 300, "events of the plain search (%d of them, %d series wrong)", total,
       wrong);
    ok(worst < 1e-5, "S/N of the plain search, relative %.1e", worst);
}

static void test_cuts_and_threads(uint64_t *seed)
{
    int wrong = 0, runs = 0;
    for (int trial = 0; trial < 8; trial++) {
        size_t nseries = (size_t)tap_between(seed, 1, 5), n = (size_t)tap_between(seed, 0, 15000);
        size_t sweep[5];
        for (size_t i = 0; i < 5; i++)
            sweep[i] = (size_t)tap_between(seed, 0, 300);
        struct psr_span mask[] = {{1000, 200}, {700, 50}, {(int64_t)n - 400, 1000}};
        float *x = make_series(seed, nseries, n);
        struct setup s = {.x = x,
                          .nseries = nseries,
                          .n = n,
                          .threshold = 4,
                          .sweep = sweep,
                          .maxwidth_s = trial % 2 ? 0 : 0.0701,
                          .nthread = 1};
        s.mask = mask, s.nmask = trial % 3 ? 3 : 0;
        psr_singlepulse *whole = search(&s);
        s.cut = seed;
        for (s.nthread = 1; s.nthread <= 4; s.nthread++, runs++) {
            psr_singlepulse *cut = search(&s);
            wrong += count_differences(whole, cut, nseries);
            psr_singlepulse_destroy(cut);
        }
        psr_singlepulse_destroy(whole);
        free(x);
    }
    ok(wrong == 0, "the same bits however cut and for 1 to 4 threads (%d runs)", runs);
}

/* A huge plateau is masked, in a series with sweep and in one without: no event draws on it. */
static void test_masks(uint64_t *seed)
{
    enum { N = 12000, FROM = 5000, COUNT = 900, SWEEP = 150 };
    float *x = make_noise(seed, 2 * N, 10, 1);
    const size_t sweep[] = {0, SWEEP};
    for (size_t i = 0; i < 2; i++)
        for (size_t t = FROM - sweep[i]; t < FROM + COUNT; t++)
            x[i * N + t] += 30;
    struct psr_span mask[] = {{FROM, 500}, {FROM + 400, COUNT - 400}, {-10, 5}, {3, 0}};
    /* In noise an event in 1e5 runs: 24000 samples, 15 widths, one-sided 4e-11. */
    struct setup s = {.x = x, .nseries = 2, .n = N, .threshold = 6.5, .sweep = sweep};
    s.mask = mask;
    const struct psr_event *e;
    psr_singlepulse *p = search(&s);
    ok(psr_singlepulse_events(p, 0, &e) > 0 && psr_singlepulse_events(p, 1, &e) > 0,
       "a plateau gives events");
    psr_singlepulse_destroy(p);
    s.nmask = 4;
    p = search(&s);
    ok(psr_singlepulse_events(p, 0, &e) == 0 && psr_singlepulse_events(p, 1, &e) == 0,
       "a masked plateau gives none, nor do its edges");
    psr_singlepulse_destroy(p);
    x[FROM - 1] += 20, x[FROM + COUNT] += 20;
    p = search(&s);
    ok(psr_singlepulse_events(p, 0, &e) == 2 && e[0].sample == FROM - 1 && e[0].width == 1 &&
           e[1].sample == FROM + COUNT,
       "pulses right at the edges of a mask are found");
    psr_singlepulse_destroy(p);
    free(x);
}

static void test_dull_series(void)
{
    enum { N = 9000 };
    float *x = calloc(N, sizeof *x);
    struct setup s = {.x = x, .nseries = 1, .n = N, .threshold = 3};
    const struct psr_event *e;
    for (int k = 0; k < 4; k++) {
        for (size_t t = 0; t < N; t++)
            x[t] = (float[]){0, 123.25f, NAN, 3e38f}[k];
        psr_singlepulse *p = search(&s);
        ok(psr_singlepulse_events(p, 0, &e) == 0, "no events in a series of nothing but %g",
           (double)x[0]);
        psr_singlepulse_destroy(p);
    }
    s.n = 0;
    psr_singlepulse *p = search(&s);
    ok(psr_singlepulse_events(p, 0, &e) == 0, "no events in a series of no samples");
    psr_singlepulse_destroy(p);
    free(x);
}

/* Zeros after the data, as in a padded file, and stretches of zeros inside. */
static void test_dead_stretches(uint64_t *seed)
{
    enum { N = 30000 };
    float *x = make_noise(seed, N, 40, 2);
    for (size_t t = 12000; t < 20000; t++)
        x[t] = 0;
    for (size_t t = 26000; t < N; t++)
        x[t] = 0;
    struct setup s = {.x = x, .nseries = 1, .n = N, .threshold = 6, .maxwidth_s = 0.0301};
    const struct psr_event *e;
    psr_singlepulse *p = search(&s);
    ok(psr_singlepulse_events(p, 0, &e) == 0, "stretches of zeros give no events");
    psr_singlepulse_destroy(p);
    free(x);
}

/* One-bit noise: thresholds keep their meaning, and a pulse is found. */
static void test_one_bit(uint64_t *seed)
{
    enum { N = 200000 };
    float *x = malloc(N * sizeof *x);
    for (size_t t = 0; t < N; t++)
        x[t] = tap_uniform(seed) < 0.5;
    for (size_t t = 100000; t < 100100; t++)
        x[t] = 1;
    struct setup s = {.x = x, .nseries = 1, .n = N, .threshold = 6};
    const struct psr_event *e;
    psr_singlepulse *p = search(&s);
    size_t n = psr_singlepulse_events(p, 0, &e);
    ok(n == 1 && llabs(e->sample - 100050) < 10 && fabs(e->snr - 10) < 0.6,
       "the pulse of a one-bit series, and nothing else (%zu, S/N %.2f)", n, n ? e->snr : 0.0);
    psr_singlepulse_destroy(p);
    free(x);
}

/* With one width events are samples above threshold, and those are Poisson. */
static void test_false_alarms(uint64_t *seed)
{
    enum { NSERIES = 8, N = 1 << 18 };
    float *x = make_noise(seed, (size_t)NSERIES * N, -3, 0.01);
    struct setup s = {.x = x, .nseries = NSERIES, .n = N, .maxwidth_s = 1e-3};
    for (int k = 0; k < 4; k++) {
        s.threshold = 3 + 0.5 * k;
        psr_singlepulse *p = search(&s);
        double got = 0, want = (double)NSERIES * N * 0.5 * erfc(s.threshold / sqrt(2.0));
        for (size_t i = 0; i < NSERIES; i++) {
            const struct psr_event *e;
            got += (double)psr_singlepulse_events(p, i, &e);
        }
        ok(fabs(sqrt(got) - sqrt(want)) < 4.5 / 2, /* scatter 1/2 */
           "%.0f events above %.1f, %.1f expected", got, s.threshold, want);
        psr_singlepulse_destroy(p);
    }
    free(x);
}

/* Pulses of S/N 50, one to a series, come back with what the definition says and a scatter of 1.  Wide
 * ones are measured against less than white noise has, as the baseline takes of that too; where it is
 * short, by chance, of the noise it takes more.  Bounds are 5 standard errors of 400 series or more,
 * about the values of 1200 others (4000 of width 300): of the median 1.25 scatter / sqrt(400) / 50, of
 * the scatter from the quartiles 1.17 scatter / sqrt(400), and a ninth more where some baselines are
 * short. */
static void test_pulses(uint64_t *seed)
{
    enum { NSERIES = 400, N = 30000, AT = 14567 };
    static const struct {
        int width;
        double middle, scatter; /* of measured over expected; of measured */
    } cases[] = {{1, 1.000, 1.03},   {2, 1.001, 1.09},  {5, 1.006, 0.99},  {12, 1.009, 1.04},
                 {25, 1.013, 1.06},  {45, 1.008, 1.14}, {80, 1.019, 1.13}, {120, 1.020, 1.29},
                 {200, 1.015, 1.25}, {300, 1.014, 1.41}};
    float *noise = make_noise(seed, (size_t)NSERIES * N, 7, 2);
    float *x = tap_take((size_t)NSERIES * N, sizeof *x);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int w = cases[c].width, found = 0;
        memcpy(x, noise, (size_t)NSERIES * N * sizeof *x);
        for (size_t i = 0; i < NSERIES; i++)
            for (int j = 0; j < w; j++)
                x[i * N + AT + (size_t)j] += (float)(2 * 50 / sqrt((double)w));
        struct setup s = {.x = x, .nseries = NSERIES, .n = N, .threshold = 15};
        psr_singlepulse *p = search(&s);
        double snr[NSERIES] = {0}, want = 50 * match(w);
        for (size_t i = 0; i < NSERIES; i++) {
            const struct psr_event *e;
            size_t n = psr_singlepulse_events(p, i, &e);
            if (n == 1) {
                found += llabs(e->sample - (AT + w / 2)) <= 2 + w / 4;
                snr[i] = e->snr;
            }
        }
        tap_sort_doubles(snr, NSERIES);
        double middle = snr[NSERIES / 2];
        double scatter = (snr[3 * NSERIES / 4] - snr[NSERIES / 4]) / 1.349;
        ok(found == NSERIES && fabs(middle / want - cases[c].middle) < 0.01 &&
               fabs(scatter / cases[c].scatter - 1) < 0.33,
           "width %d: %d alone, S/N %.4f of %.2f expected, scatter %.2f", w, found, middle / want,
           want, scatter);
        psr_singlepulse_destroy(p);
    }
    free(x);
    free(noise);
}

/* Two pulses of one series, so far apart: both are events, and nothing else is. */
static void test_close_pulses(uint64_t *seed)
{
    enum { NSERIES = 200, N = 8000, AT = 4321 };
    static const struct {
        int width, apart;
        double first, second;
    } cases[] = {{10, 100, 50, 9}, {10, 140, 50, 9},   {40, 140, 50, 50}, {10, 20, 50, 50},
                 {3, 6, 20, 20},   {100, 200, 40, 40}, {20, 350, 12, 30}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int w = cases[c].width, found = 0, more = 0;
        float *x = make_noise(seed, (size_t)NSERIES * N, 7, 2);
        for (size_t i = 0; i < NSERIES; i++)
            for (int j = 0; j < w; j++) {
                float *at = x + i * N + AT + j;
                at[0] += (float)(2 * cases[c].first / sqrt((double)w));
                at[cases[c].apart] += (float)(2 * cases[c].second / sqrt((double)w));
            }
        struct setup s = {.x = x, .nseries = NSERIES, .n = N, .threshold = 6};
        psr_singlepulse *p = search(&s);
        for (size_t i = 0; i < NSERIES; i++) {
            const struct psr_event *e;
            size_t n = psr_singlepulse_events(p, i, &e), first = 0, second = 0;
            for (size_t k = 0; k < n; k++) {
                int64_t off = e[k].sample - (AT + w / 2);
                first += llabs(off) <= 2 + w / 4;
                second += llabs(off - cases[c].apart) <= 2 + w / 4;
            }
            more += n > 2;
            found += first && second;
        }
        ok(found >= NSERIES - (cases[c].second < 10 ? 8 : 0) && more <= 3,
           "width %d, S/N %g and %g, %d samples apart: %d of %d times both, %d times more", w,
           cases[c].first, cases[c].second, cases[c].apart, found, NSERIES, more);
        psr_singlepulse_destroy(p);
        free(x);
    }
}

/* Slow variations are no pulses: where single samples have scatter 1, a sine of 1 that takes 5000
 * samples, and noise that wanders by as much in 500. */
static void test_slow_variations(uint64_t *seed)
{
    enum { NSERIES = 200, N = 60000 };
    for (int kind = 0; kind < 2; kind++) {
        float *x = make_noise(seed, (size_t)NSERIES * N, 0, 1);
        for (size_t i = 0; i < NSERIES; i++) {
            double walk = 0, phase = 2 * M_PI * tap_uniform(seed);
            for (size_t t = 0; t < N; t++) {
                walk += 2 * M_PI / 500 * tap_normal(seed);
                x[i * N + t] += (float)(kind ? walk : sin(phase + 2 * M_PI * (double)t / 5000));
            }
        }
        struct setup s = {.x = x, .nseries = NSERIES, .n = N, .threshold = 6};
        psr_singlepulse *p = search(&s);
        size_t n = 0;
        const struct psr_event *e;
        for (size_t i = 0; i < NSERIES; i++)
            n += psr_singlepulse_events(p, i, &e);
        ok(n <= 20, "%s: %zu events in %d series", kind ? "red noise" : "a sine", n, NSERIES);
        psr_singlepulse_destroy(p);
        free(x);
    }
}

static void test_both_ends(uint64_t *seed)
{
    enum { N = 5000 };
    static const int widths[] = {1, 2, 9, 30, 100};
    int found = 0;
    double least = 1e9;
    for (int k = 0; k < 10; k++) {
        int w = widths[k / 2];
        int64_t first = k % 2 ? N - w : 0;
        float *x = make_noise(seed, N, 100, 1);
        for (int64_t t = first; t < first + w; t++)
            x[t] += (float)(25 / sqrt((double)w));
        struct setup s = {.x = x, .nseries = 1, .n = N, .threshold = 10};
        psr_singlepulse *p = search(&s);
        const struct psr_event *e;
        size_t n = psr_singlepulse_events(p, 0, &e);
        found += n == 1 && llabs(e->sample - (first + w / 2)) <= 1 + w / 10;
        least = n ? fmin(least, e->snr) : 0;
        psr_singlepulse_destroy(p);
        free(x);
    }
    ok(found == 10 && least > 20, "pulses at the first and the last samples (S/N of 25: %.1f)",
       least);
}

static void test_limit(uint64_t *seed)
{
    enum { N = 100000, SHARE = 50 };
    float *x = make_noise(seed, 2 * N, 0, 1);
    const double dm[] = {1, 2};
    psr_err err;
    psr_singlepulse *p, *all;
    struct psr_singlepulse_desc desc = {.size = sizeof desc,
                                        .nseries = 2,
                                        .dm = dm,
                                        .tsamp_s = 1,
                                        .threshold = 2.5,
                                        .maxwidth_s = 1};
    bool fine = !psr_singlepulse_create(&all, &desc, &err);
    desc.max_events = 2 * SHARE;
    fine = fine && !psr_singlepulse_create(&p, &desc, &err) &&
           !psr_singlepulse_execute(all, x, N, N, &err) &&
           !psr_singlepulse_execute(p, x, N, N, &err) && !psr_singlepulse_finish(all, &err) &&
           !psr_singlepulse_finish(p, &err);
    const struct psr_event *e, *every;
    size_t n = psr_singlepulse_events(p, 1, &e), m = psr_singlepulse_events(all, 1, &every);
    double least = INFINITY;
    int better = 0;
    for (size_t k = 0; k < n; k++)
        least = fmin(least, e[k].snr);
    for (size_t k = 0; k < m; k++)
        better += every[k].snr >= least;
    ok(fine && n == SHARE && better == SHARE, "a series keeps the best of its share of events");
    const struct psr_event *other;
    size_t m0 = psr_singlepulse_events(all, 0, &other);
    ok(psr_singlepulse_dropped(p) == (int64_t)(m + m0 - 2 * SHARE) &&
           psr_singlepulse_dropped(all) == 0,
       "and the others are counted");
    psr_singlepulse_destroy(p);
    psr_singlepulse_destroy(all);
    free(x);
}

/* Events that single_pulse_search.py finds in its own series are found, and as strong. */
static void test_presto(void)
{
    enum { N = 30240 };
    static float x[N];
    char path[1000], line[200];
    snprintf(path, sizeof path, "%s/tests/golden/noclip.dat", getenv("srcdir"));
    FILE *f = fopen(path, "rb");
    bool fine = f && fread(x, sizeof *x, N, f) == N;
    if (f)
        fclose(f);
    struct setup s = {.x = x, .nseries = 1, .n = N, .threshold = 5, .maxwidth_s = 0.03};
    psr_singlepulse *p = search(&s);
    const struct psr_event *e;
    size_t n = psr_singlepulse_events(p, 0, &e);
    int theirs = 0, found = 0;
    double ratio = 0;
    snprintf(path, sizeof path, "%s/tests/golden/noclip.singlepulse", getenv("srcdir"));
    f = fopen(path, "r");
    while (fine && f && fgets(line, sizeof line, f)) {
        double snr;
        long long sample;
        if (sscanf(line, "%*f %lf %*f %lld", &snr, &sample) != 2)
            continue;
        theirs++;
        for (size_t k = 0; k < n; k++)
            if (llabs(e[k].sample - sample) <= 6) {
                found++;
                ratio += e[k].snr / snr;
                break;
            }
    }
    if (f)
        fclose(f);
    ok(theirs == 51 && found >= 49, "%d of PRESTO's %d events, %zu in all", found, theirs, n);
    near(ratio / found, 1, 0.03, "S/N against PRESTO's");
    psr_singlepulse_destroy(p);
}

static void test_refusals(void)
{
    const double dm[] = {0};
    const struct psr_singlepulse_desc fair = {
        .size = sizeof fair, .nseries = 1, .dm = dm, .tsamp_s = 1e-3, .threshold = 5};
    struct psr_singlepulse_desc bad[] = {fair, fair, fair, fair, fair, fair, fair};
    bad[0].nseries = 0;
    bad[1].tsamp_s = 0;
    bad[2].threshold = -1;
    bad[3].threshold = NAN;
    bad[4].maxwidth_s = -1;
    bad[5].nthread = -1;
    bad[6].detrend = -1;
    static const char *const field[] = {"nseries",    "tsamp_s", "threshold", "threshold",
                                        "maxwidth_s", "nthread", "detrend"};
    psr_singlepulse *p;
    psr_err err;
    for (int k = 0; k < 7; k++)
        ok(psr_singlepulse_create(&p, &bad[k], &err) == PSR_EINVAL && !p &&
               !strcmp(err.field, field[k]),
           "%s", err.msg);
    float x[1000] = {0};
    struct psr_singlepulse_desc whole = fair;
    whole.tsamp_s = 0.1;
    whole.maxwidth_s = 0.3; /* three samples, though 0.3 / 0.1 is less */
    if (psr_singlepulse_create(&p, &whole, &err))
        exit(EXIT_FAILURE);
    ok(psr_singlepulse_maxwidth(p) == 3, "widths in seconds are whole samples");
    psr_singlepulse_destroy(p);
    if (psr_singlepulse_create(&p, &fair, &err))
        exit(EXIT_FAILURE);
    ok(psr_singlepulse_execute(p, x, 10, 11, &err) == PSR_EINVAL, "%s", err.msg);
    ok(!psr_singlepulse_execute(p, x, 1000, 1000, &err), "samples are taken");
    const struct psr_device_series device_series = {.nseries = 1, .stride = 10};
    psr_status st = psr_singlepulse_execute_device(p, &device_series, 1, 10, NULL, 0, &err);
    ok(st == PSR_EINVAL || st == PSR_EDEVICE, "series that have moved to a device: %s", err.msg);
    ok(psr_singlepulse_device_seconds(p) == 0, "no device has been at work");
    ok(psr_singlepulse_mask(p, (struct psr_span){999, 5}, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_singlepulse_mask(p, (struct psr_span){1000, -5}, &err) == PSR_EINVAL, "%s", err.msg);
    ok(!psr_singlepulse_mask(p, (struct psr_span){1000, 5}, &err), "a mask to come is fine");
    ok(!psr_singlepulse_finish(p, &err), "the end");
    ok(psr_singlepulse_finish(p, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_singlepulse_execute(p, x, 10, 10, &err) == PSR_EINVAL, "%s", err.msg);
    psr_singlepulse_destroy(p);
    psr_singlepulse_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_against_plain_search(&seed);
    test_cuts_and_threads(&seed);
    test_masks(&seed);
    test_dull_series();
    test_dead_stretches(&seed);
    test_one_bit(&seed);
    test_false_alarms(&seed);
    test_pulses(&seed);
    test_close_pulses(&seed);
    test_slow_variations(&seed);
    test_both_ends(&seed);
    test_limit(&seed);
    test_presto();
    test_refusals();
    return done_testing();
}
