/* The causal single-pulse search: against the plain one, cut in every way, and what it promises: when events
 * come, their strength, and how noise, steps and holes are taken. */
#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/pulse_causal.h"
#include "tests/support/pulse_search.h"

/* Parts, and the worst number of samples from the end of a pulse to its event. */
static size_t part_of(const psr_singlepulse *p)
{
    return psr_pulse_piece_length(psr_singlepulse_maxwidth(p)) / PULSE_PARTS;
}

/* Which of the lengths comes closest to what was asked for, and the plan says so. */
static int find_fixed(const struct setup *s, const psr_singlepulse *p)
{
    double least = INFINITY, told = psr_singlepulse_detrend(p), want = 0;
    int best = -1;
    for (int n = 0; n < PLAIN_LENGTHS && s->detrend > 0; n++) {
        double samples = causal_back[n] * (double)part_of(p), off = fabs(log(s->detrend / samples));
        best = off < least ? n : best;
        want = off < least ? samples : want;
        least = fmin(off, least);
    }
    if (!(fabs(told - want) < 1e-6 * (1 + want)))
        ok(false, "a baseline of %g samples is one of %g, not %g", s->detrend, want, told);
    return best;
}

/* Whether the plain search finds the same in a series that differs by a hundred thousandth of its scatter. */
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
        size_t nwant = search_causally(x, s->n, psr_singlepulse_maxwidth(p), find_fixed(s, p),
                                       s->threshold, &want);
        same = n == nwant && same_events(got, want, n);
        free(want);
    }
    free(x);
    return same;
}

/* With a step up and down, a louder stretch and a stretch without data. */
static float *make_eventful(uint64_t *seed, size_t n)
{
    float *x = make_series(seed, 1, n);
    for (size_t t = 0; t < n; t++) {
        x[t] += t > n / 3 && t < n / 2 ? 20 : 0;
        if (t > 5 * n / 8 && t < 6 * n / 8)
            x[t] = (x[t] - 50) * 3;
        if (t > 7 * n / 8 && t < 7 * n / 8 + 900)
            x[t] = 42;
    }
    return x;
}

static void test_against_plain_search(uint64_t *seed)
{
    static const size_t lengths[] = {1,   15,  63,   64,   65,   299,  511,
                                     512, 513, 1217, 3000, 6100, 9001, 30000};
    int wrong = 0, total = 0;
    double worst = 0;
    static const double spans[] = {0, 0, 300, 1000, 1e5}; /* of baselines */
    for (size_t k = 0; k < 6 * sizeof lengths / sizeof *lengths; k++) {
        size_t n = lengths[k / 6];
        double maxwidth_s = (double[]){0.0301, 0, 1e-5, 0, 0.1001, 0.0301}[k % 6];
        float *x = k % 2 ? make_eventful(seed, n) : make_series(seed, 1, n);
        struct setup s = {.x = x,
                          .nseries = 1,
                          .n = n,
                          .maxwidth_s = maxwidth_s,
                          .threshold = 5,
                          .causal = true,
                          .detrend = spans[k % 5]};
        psr_singlepulse *p = search(&s);
        struct psr_event *want;
        const struct psr_event *got;
        size_t nwant = search_causally(x, n, psr_singlepulse_maxwidth(p), find_fixed(&s, p),
                                       s.threshold, &want);
        size_t ngot = psr_singlepulse_events(p, 0, &got);
        bool same = ngot == nwant && same_events(got, want, ngot);
        if (!same && !is_rounding(&s, p)) {
            wrong++;
            diag("%zu samples, case %zu: %zu events, %zu expected", n, k, ngot, nwant);
        }
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
    for (int trial = 0; trial < 6; trial++) {
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
                          .causal = true,
                          .maxwidth_s = trial % 2 ? 0 : 0.0701,
                          .nthread = 1};
        s.mask = mask, s.nmask = trial % 3 ? 3 : 0;
        psr_singlepulse *whole = search(&s);
        s.cut = seed;
        for (s.nthread = 1; s.nthread <= 3; s.nthread++, runs++) {
            psr_singlepulse *cut = search(&s);
            wrong += count_differences(whole, cut, nseries);
            psr_singlepulse_destroy(cut);
        }
        psr_singlepulse_destroy(whole);
        free(x);
    }
    ok(wrong == 0, "the same bits however cut and for 1 to 3 threads (%d runs)", runs);
}

/* Of a late series, what was before the input has no data, and what is masked comes later: the same as masks of the
 * series say. */
static void test_late(uint64_t *seed)
{
    int wrong = 0, total = 0;
    for (int trial = 0; trial < 20; trial++) {
        const size_t n = (size_t)tap_between(seed, 3000, 20000);
        const size_t sweep = (size_t)tap_between(seed, 0, 2500), none = 0;
        const int64_t at = tap_between(seed, 0, (int64_t)n), count = tap_between(seed, 0, 700);
        const struct psr_span gap = {at, count};
        const struct psr_span gone[] = {{0, (int64_t)sweep},
                                        {at, count + (count ? (int64_t)sweep : 0)}};
        float *x = make_series(seed, 1, n);
        struct setup s = {.x = x,
                          .nseries = 1,
                          .n = n,
                          .threshold = 4,
                          .sweep = &sweep,
                          .mask = &gap,
                          .nmask = 1,
                          .causal = trial % 4 != 0,
                          .late = true,
                          .nthread = 1,
                          .cut = seed};
        const struct setup t = {.x = x,
                                .nseries = 1,
                                .n = n,
                                .threshold = 4,
                                .sweep = &none,
                                .mask = gone,
                                .nmask = 2,
                                .causal = s.causal,
                                .nthread = 1};
        psr_singlepulse *late = search(&s), *plain = search(&t);
        const struct psr_event *events;
        total += (int)psr_singlepulse_events(plain, 0, &events);
        wrong += count_differences(plain, late, 1);
        psr_singlepulse_destroy(late);
        psr_singlepulse_destroy(plain);
        free(x);
    }
    ok(wrong == 0 && total > 20, "late series: masked as they lie (%d events, %d wrong)", total,
       wrong);
}

static psr_singlepulse *plan(double maxwidth_s, size_t nseries)
{
    return plan_search((struct psr_singlepulse_desc){.size = sizeof(struct psr_singlepulse_desc),
                                                     .nseries = nseries,
                                                     .threshold = 5,
                                                     .causal = true,
                                                     .nthread = 1,
                                                     .maxwidth_s = maxwidth_s});
}

/* Events as they come, forgotten at once: the same, and none begins before what was said to be settled. */
static void test_as_they_come(uint64_t *seed)
{
    enum { N = 40000 };
    float *x = make_series(seed, 1, N);
    for (size_t t = 0; t < N; t++)
        x[t] -= (float)t * 0.01f; /* a slope is a step in every piece */
    struct setup s = {.x = x, .nseries = 1, .n = N, .threshold = 5, .causal = true};
    psr_err err = {0};
    psr_singlepulse *whole = search(&s), *p = plan(0, 1);
    const struct psr_event *want, *got;
    size_t nwant = psr_singlepulse_events(whole, 0, &want), n = 0;
    int early = 0, other = 0, late = 0;
    int64_t settled = INT64_MIN, slowest = 0;
    for (size_t t = 0; t < N; t += 50) {
        if (psr_singlepulse_execute(p, x + t, N, 50, &err))
            break;
        size_t more = psr_singlepulse_events(p, 0, &got);
        for (size_t e = 0; e < more; e++, n++) {
            int64_t first = got[e].sample - got[e].width / 2, end = first + got[e].width;
            early += first < settled;
            other += n >= nwant || got[e].sample != want[n].sample || got[e].snr != want[n].snr;
            slowest = (int64_t)t + 50 - end > slowest ? (int64_t)t + 50 - end : slowest;
        }
        psr_singlepulse_forget(p);
        int64_t now = psr_singlepulse_settled(p, 0);
        late += now < settled;
        settled = now;
    }
    ok(!psr_singlepulse_finish(p, &err) && psr_singlepulse_settled(p, 0) == INT64_MAX,
       "at the end all is settled");
    n += psr_singlepulse_events(p, 0, &got);
    ok(n == nwant && !other && n > 20, "events as they come are those of the whole (%zu)", n);
    ok(!early && !late, "none begins before what was settled (%d; %d steps back)", early, late);
    ok(slowest <= PULSE_PARTS * (int64_t)part_of(p) + 2 * (int64_t)psr_singlepulse_maxwidth(p),
       "they come at most %lld samples after their end", (long long)slowest);
    psr_singlepulse_destroy(p);
    psr_singlepulse_destroy(whole);
    free(x);
}

/* A pulse alone is known, and settled, two longest boxcars and three eighths of a piece after its end. */
static void test_latency(uint64_t *seed)
{
    enum { N = 12000 };
    static const int widths[] = {1, 3, 20, 100, 300};
    int late = 0, found = 0;
    for (size_t c = 0; c < 5; c++)
        for (int wide = 0; wide < 2; wide++) {
            const int w = wide ? widths[c] : widths[c] < 20 ? widths[c] : 20;
            const int64_t at = tap_between(seed, 6000, 8000);
            float *x = make_noise(seed, N, 20, 2);
            psr_singlepulse *p = plan(wide ? 0 : 0.0201, 1);
            const int64_t part = (int64_t)part_of(p);
            const int64_t bound = at + w + (int64_t)psr_singlepulse_maxwidth(p) + 2 * part;
            psr_err err;
            const struct psr_event *e;
            for (int64_t t = at; t < at + w; t++)
                x[t] += (float)(2 * 20 / sqrt(w));
            if (psr_singlepulse_execute(p, x, N, (size_t)bound, &err))
                break;
            size_t n = psr_singlepulse_events(p, 0, &e);
            bool there = false;
            for (size_t k = 0; k < n; k++)
                there |= llabs(e[k].sample - at - w / 2) <= w / 3 + 2;
            found += there;
            late +=
                psr_singlepulse_settled(p, 0) < bound - (int64_t)psr_singlepulse_maxwidth(p) - part;
            psr_singlepulse_destroy(p);
            free(x);
        }
    ok(found == 10 && !late,
       "events come a longest boxcar and two eighths after the pulse (%d of 10, %d late)", found,
       late);
}

/* With one width events are samples above threshold, and those are Poisson. */
static void test_false_alarms(uint64_t *seed)
{
    enum { NSERIES = 8, N = 1 << 18 };
    float *x = make_noise(seed, (size_t)NSERIES * N, -3, 0.01);
    struct setup s = {.x = x, .nseries = NSERIES, .n = N, .maxwidth_s = 1e-3, .causal = true};
    for (int k = 0; k < 3; k++) {
        s.threshold = 3.5 + 0.5 * k;
        psr_singlepulse *p = search(&s);
        double got = 0, want = (double)NSERIES * N * 0.5 * erfc(s.threshold / sqrt(2.0));
        for (size_t i = 0; i < NSERIES; i++) {
            const struct psr_event *e;
            got += (double)psr_singlepulse_events(p, i, &e);
        }
        /* Scatter 1/2.  The scatter of nine pieces of 512 samples is known to 1 %: 2 % more events at 4. */
        ok(sqrt(got) - sqrt(1.02 * want) < 4.5 / 2 && sqrt(got) - sqrt(want) > -4.5 / 2,
           "%.0f events above %.1f, %.1f expected", got, s.threshold, want);
        psr_singlepulse_destroy(p);
    }
    free(x);
}

/* Pulses of S/N 50, one to a series, as t_singlepulse has them for the search that looks ahead. */
static void test_pulses(uint64_t *seed)
{
    enum { NSERIES = 200, N = 30000, AT = 24567 };
    static const int widths[] = {1, 5, 25, 45, 120, 300};
    float *noise = make_noise(seed, (size_t)NSERIES * N, 7, 2);
    float *x = tap_take((size_t)NSERIES * N, sizeof *x);
    for (size_t c = 0; c < sizeof widths / sizeof *widths; c++) {
        int w = widths[c], found = 0;
        memcpy(x, noise, (size_t)NSERIES * N * sizeof *x);
        for (size_t i = 0; i < NSERIES; i++)
            for (int j = 0; j < w; j++)
                x[i * N + AT + (size_t)j] += (float)(2 * 50 / sqrt((double)w));
        struct setup s = {.x = x, .nseries = NSERIES, .n = N, .threshold = 15, .causal = true};
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
        ok(found == NSERIES && fabs(middle / want - 1) < 0.02 && scatter > 0.7 && scatter < 2,
           "width %d: %d alone, S/N %.4f of %.2f expected, scatter %.2f", w, found, middle / want,
           want, scatter);
        psr_singlepulse_destroy(p);
    }
    free(x);
    free(noise);
}

/* Steps of level and of scatter, in noise: events only in the piece that has the step, and the next. */
static void test_steps(uint64_t *seed)
{
    enum { N = 60000, AT = 30000 };
    for (int kind = 0; kind < 4; kind++) {
        float *x = make_noise(seed, N, 20, 2);
        struct setup s = {.x = x, .nseries = 1, .n = N, .threshold = 6.5, .causal = true};
        for (size_t t = AT; t < N; t++)
            x[t] = kind == 0   ? x[t] + 40
                   : kind == 1 ? x[t] - 40
                   : kind == 2 ? 20 + 3 * (x[t] - 20)
                               : 20 + (x[t] - 20) / 10;
        psr_singlepulse *p = search(&s);
        const struct psr_event *e;
        size_t n = psr_singlepulse_events(p, 0, &e), outside = 0;
        const int64_t piece = 8 * (int64_t)part_of(p);
        for (size_t k = 0; k < n; k++)
            outside += e[k].sample + e[k].width < AT ||
                       (e[k].sample - e[k].width / 2) / piece > AT / piece + 1;
        ok(outside == 0, "a step of kind %d: %zu events, %zu elsewhere", kind, n, outside);
        psr_singlepulse_destroy(p);
        free(x);
    }
}

/* Holes: masked plateaus, zeros, garbage, and long ones after which the search warms up again. */
static void test_holes(uint64_t *seed)
{
    enum { N = 60000 };
    float *x = make_noise(seed, N, 20, 2);
    struct setup s = {.x = x, .nseries = 1, .n = N, .threshold = 6.5, .causal = true};
    const struct psr_span mask = {6000, 900};
    s.mask = &mask, s.nmask = 1;
    for (size_t t = 0; t < N; t++)
        x[t] = t >= 6000 && t < 6900     ? 500
               : t >= 12000 && t < 13000 ? 0
               : t >= 20000 && t < 40000 ? NAN
               : t >= 50000 && t < 50020 ? x[t] + 12
                                         : x[t];
    psr_singlepulse *p = search(&s);
    const struct psr_event *e;
    size_t n = psr_singlepulse_events(p, 0, &e);
    ok(n == 1 && llabs(e->sample - 50010) < 8,
       "holes give no events, and a pulse after them is found (%zu)", n);
    psr_singlepulse_destroy(p);
    for (size_t t = 0; t < N; t++)
        x[t] = 3;
    p = search(&s);
    ok(psr_singlepulse_events(p, 0, &e) == 0, "nor does a series without scatter");
    psr_singlepulse_destroy(p);
    free(x);
}

static void test_devices(void)
{
    psr_singlepulse *p = plan(0, 1);
    psr_err err;
    const struct psr_device_series s = {.nseries = 1, .stride = 100};
    ok(psr_singlepulse_execute_device(p, &s, 1, 10, NULL, 0, &err) != PSR_OK,
       "series on devices are refused: %s", err.msg);
    psr_singlepulse_destroy(p);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_against_plain_search(&seed);
    test_cuts_and_threads(&seed);
    test_late(&seed);
    test_as_they_come(&seed);
    test_latency(&seed);
    test_false_alarms(&seed);
    test_pulses(&seed);
    test_steps(&seed);
    test_holes(&seed);
    test_devices();
    return done_testing();
}
