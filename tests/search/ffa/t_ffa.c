/* ffa: sums and S/N against naive ones, the ladder, what results do not depend on, bad data, statuses. */
#include "search/ffa/cpu/ffa_cpu.h"

#include <string.h>

#include "tests/support/ffa_truth.h"

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

/* A plan that was made with a gap of its own, where there are gaps, and got those of d afterwards. */
static psr_ffa *make_for_others(const struct psr_ffa_desc *d)
{
    const struct psr_span one = {(int64_t)d->nsamp / 3, 500};
    struct psr_ffa_desc other = *d;
    psr_err err;
    bool done;
    other.gap = &one;
    other.ngap = d->ngap > 0;
    psr_ffa *plan = make_plan(&other);
    ok(psr_ffa_replace_gaps(plan, d->gap, d->ngap, &done, &err) == PSR_OK && done == (d->ngap > 0),
       "%zu gaps in place of %zu", d->ngap, other.ngap);
    return plan;
}

static bool run(psr_ffa *plan, size_t n, float *const *in, struct psr_ffa_result *r)
{
    psr_err err;
    psr_status st = psr_ffa_execute(plan, n, (const float *const *)in, r, &err);
    if (st)
        diag("%s", err.msg);
    return st == PSR_OK;
}

static size_t count_trials(const psr_ffa *plan)
{
    struct psr_ffa_info info;
    psr_ffa_describe(plan, &info);
    return info.ntrial;
}

/* Noise with a pulsar of period p samples, and a slope. */
static float *make_series(size_t n, double p, double duty, double height, double slope,
                          uint64_t *seed)
{
    float *x = tap_take(n, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        const double phase = fmod((double)i / p, 1);
        x[i] = (float)(100 + 3 * (tap_normal(seed) + slope * (double)i / (double)n +
                                  (phase < duty ? height : 0)));
    }
    return x;
}

static struct psr_ffa_desc random_desc(struct psr_ffa_range *range, uint64_t *seed)
{
    const int bmin = (int)tap_between(seed, 8, 40);
    range->bmin = bmin;
    range->bmax = bmin + (int)tap_between(seed, 0, 6);
    range->pmin_s = 1e-3 * bmin * (1 + 20 * tap_uniform(seed) * tap_uniform(seed));
    range->pmax_s = range->pmin_s * (1.1 + tap_uniform(seed));
    range->ducymax = 0.1 + 0.4 * tap_uniform(seed);
    return (struct psr_ffa_desc){
        .size = sizeof(struct psr_ffa_desc),
        .nsamp = (size_t)tap_between(seed, 6000, 20000),
        .tsamp_s = 1e-3,
        .range = range,
        .nrange = 1,
        .sigma = 5,
        .rmed_s = tap_between(seed, 0, 2)   ? 0
                  : tap_between(seed, 0, 1) ? -1
                                            : tap_uniform(seed),
        .nthread = 1,
        .backend = "cpu",
    };
}

/* --- sums ------------------------------------------------------------------------------------- */

struct worst {
    double ideal, rounded; /* largest differences of S/N, from doubles and from sums of q */
    size_t n, differ;      /* trials, those that are not the bits of sums of q */
};

/* S/N as the contract computes it of exact sums. */
static float exact_snr(const struct psr_ffa_search *s, const struct psr_ffa_fold *f,
                       const double *x)
{
    const struct psr_ffa_widths *widths = &s->widths[s->step[f->step].range];
    float gain[PSR_FFA_MAX_WIDTH], loss[PSR_FFA_MAX_WIDTH], best = -1e30f;
    psr_ffa_gains(&s->step[f->step], f, widths, gain, loss);
    double sum = 0;
    for (int i = 0; i < f->nbin; i++)
        sum += x[i];
    for (size_t k = 0; k < widths->n; k++) {
        double most = -INFINITY;
        for (int i = 0; i < f->nbin; i++) {
            double d = 0;
            for (int j = i; j < i + widths->width[k]; j++)
                d += x[j % f->nbin];
            most = fmax(most, d);
        }
        const volatile float high = gain[k] * (float)most, low = loss[k] * (float)sum;
        best = fmaxf(best, high - low);
    }
    return best;
}

/* Three trials of a fold against profiles summed row by row: of y, doubles, and of q, the library's. */
static void compare_fold(const struct psr_ffa_search *s, const struct psr_ffa_fold *f,
                         const double *y, const double *q, const float *snr, uint64_t *seed,
                         struct worst *worst)
{
    const struct psr_ffa_widths *widths = &s->widths[s->step[f->step].range];
    double *profile = tap_take((size_t)f->nbin, sizeof *profile);
    for (int n = 0; n < 3; n++) {
        const size_t i = (size_t)tap_between(seed, 0, (int64_t)(f->s_hi - f->s_lo) - 1);
        const float got = snr[f->trial0 + i];
        truth_profile(y, f->nbin, f->nrow, f->s_lo + i, profile);
        const double z = truth_snr(profile, f->nbin, widths, sqrt((double)f->nrow));
        worst->ideal = fmax(worst->ideal, fabs((double)got - z) / (1 + 1e-2 * fabs(z)));
        truth_profile(q, f->nbin, f->nrow, f->s_lo + i, profile);
        const float exact = exact_snr(s, f, profile);
        worst->rounded = fmax(worst->rounded, (double)fabsf(got - exact));
        worst->differ += got != exact;
        worst->n++;
    }
    free(profile);
}

/* Memory of one thread, large enough for any shape here. */
static void take_room(struct psr_ffa_room *room, struct psr_ffa_series *series, size_t n)
{
    room->part = tap_take(4 * n + PSR_FFA_PAD, sizeof *room->part);
    room->data.q = tap_take(n + PSR_FFA_PAD, sizeof(float));
    room->count.q = tap_take(n + PSR_FFA_PAD, sizeof(float));
    series->sums = tap_take(n + PSR_FFA_PAD, sizeof *series->sums);
    series->level = tap_take(n, sizeof *series->level);
}

static void free_room(struct psr_ffa_room *room, struct psr_ffa_series *series)
{
    free(room->part);
    free(room->data.q);
    free(room->count.q);
    free(series->sums);
    free(series->level);
}

static void compare_steps(psr_ffa *plan, const float *x, uint64_t *seed, struct worst *worst)
{
    const struct psr_ffa_search *s = psr_ffa_resolved(plan);
    const struct psr_ffa_loops *loops = psr_ffa_loops_choose(psr_isa_find());
    struct psr_ffa_room room;
    struct psr_ffa_series series;
    psr_err err;
    float *snr = tap_take(s->ntrial, sizeof *snr);
    double *y = tap_take(s->nsamp, sizeof *y), *q = tap_take(s->nsamp, sizeof *q);
    if (psr_ffa_periodogram(plan, 0, snr, NULL, &err))
        ok(false, "%s", err.msg);
    take_room(&room, &series, s->nsamp);
    psr_ffa_cpu_load(s, loops, x, &series);
    for (size_t i = 0; i < s->nstep; i++) {
        const struct psr_ffa_step *k = &s->step[i];
        truth_samples(k, x, s->nsamp, y);
        psr_ffa_cpu_sum(s, loops, x, &series, 1, k);
        psr_ffa_cpu_sample(s, k, loops, series.sums, &room);
        for (size_t j = 0; j < k->n; j++)
            q[j] = k->floats ? (double)((float *)(void *)room.data.q)[j]
                             : ((int16_t *)(void *)room.data.q)[j];
        const size_t f = k->fold0 + (size_t)tap_between(seed, 0, (int64_t)k->nfold - 1);
        compare_fold(s, &s->fold[f], y, q, snr, seed, worst);
    }
    free_room(&room, &series);
    free(snr);
    free(y);
    free(q);
}

static void test_sums(bool floats, uint64_t *seed)
{
    struct worst worst = {0};
    for (int round = 0; round < 12; round++) {
        struct psr_ffa_range range;
        struct psr_ffa_desc d = random_desc(&range, seed);
        d.floats = floats;
        float *x = make_series(d.nsamp, 1000 * range.pmin_s * 1.05, 0.1, 1, 3, seed);
        psr_ffa *plan = make_plan(&d);
        struct psr_ffa_result result;
        ok(run(plan, 1, &x, &result), "%zu samples, %d to %d bins, %.3f to %.3f s", d.nsamp,
           range.bmin, range.bmax, range.pmin_s, range.pmax_s);
        compare_steps(plan, x, seed, &worst);
        psr_ffa_destroy(plan);
        free(x);
    }
    diag("%zu trials: S/N within %.4f of that of doubles, within %.2g of that of the rounded "
         "samples",
         worst.n, worst.ideal, worst.rounded);
    if (floats)
        ok(worst.n > 30 && worst.rounded < 1e-4, "S/N of floats is that of naive sums");
    else
        ok(worst.n > 30 && worst.differ == 0, "S/N of integers is that of naive sums to the bit");
    /* Integers: 1 / sqrt(12) / 8 of rounding to units, 1 / sqrt(12) / 32 of that of samples. */
    ok(worst.ideal < 6 * (floats ? 0.009 : 0.037),
       "and that of doubles, to the rounding of samples");
}

/* --- gaps ------------------------------------------------------------------------------------- */

/* The largest z of profile x whose bins have c samples. */
static double counted_snr(const double *x, const double *c, int nbin,
                          const struct psr_ffa_widths *widths)
{
    double best = -INFINITY, all = 0, most = 0;
    for (int i = 0; i < nbin; i++) {
        all += x[i];
        most += c[i];
    }
    for (size_t k = 0; k < widths->n; k++)
        for (int i = 0; i < nbin; i++) {
            double d = 0, n = 0;
            for (int j = i; j < i + widths->width[k]; j++) {
                d += x[j % nbin];
                n += c[j % nbin];
            }
            const double out = most - n;
            if (n > 0 && out > 0)
                best = fmax(best, (d - n / out * (all - d)) / sqrt(n * most / out));
        }
    return best;
}

/* S/N of some trials of a step against naive sums of the library's samples. */
static double compare_counted(psr_ffa *plan, const float *x, const struct psr_ffa_step *k,
                              const float *snr, uint64_t *seed)
{
    const struct psr_ffa_search *s = psr_ffa_resolved(plan);
    const struct psr_ffa_loops *loops = psr_ffa_loops_choose(psr_isa_find());
    struct psr_ffa_room room;
    struct psr_ffa_series series;
    double *q = tap_take(k->n, sizeof *q), *c = tap_take(k->n, sizeof *c), worst = 0;
    take_room(&room, &series, s->nsamp);
    psr_ffa_cpu_load(s, loops, x, &series);
    psr_ffa_cpu_sum(s, loops, x, &series, 1, k);
    psr_ffa_cpu_sample(s, k, loops, series.sums, &room);
    for (size_t j = 0; j < k->n; j++) {
        q[j] = k->floats ? (double)((float *)room.data.q)[j] : ((int16_t *)room.data.q)[j];
        c[j] = k->floats ? (double)((float *)room.count.q)[j] : ((int16_t *)room.count.q)[j];
    }
    const struct psr_ffa_fold *f =
        &s->fold[k->fold0 + (size_t)tap_between(seed, 0, (int64_t)k->nfold - 1)];
    double *a = tap_take((size_t)f->nbin, sizeof *a), *b = tap_take((size_t)f->nbin, sizeof *b);
    for (int n = 0; n < 3; n++) {
        const size_t i = (size_t)tap_between(seed, 0, (int64_t)(f->s_hi - f->s_lo) - 1);
        truth_profile(q, f->nbin, f->nrow, f->s_lo + i, a);
        truth_profile(c, f->nbin, f->nrow, f->s_lo + i, b);
        const double z = counted_snr(a, b, f->nbin, &s->widths[k->range]) / k->units;
        worst = fmax(worst, fabs((double)snr[f->trial0 + i] - z) / (1 + fabs(z)));
    }
    free_room(&room, &series);
    free(q);
    free(c);
    free(a);
    free(b);
    return worst;
}

static void test_gaps(bool floats, uint64_t *seed)
{
    double worst = 0;
    size_t alarms = 0;
    for (int round = 0; round < 8; round++) {
        struct psr_ffa_range range;
        struct psr_ffa_desc d = random_desc(&range, seed);
        struct psr_span gap[20];
        d.floats = floats;
        d.gap = gap;
        d.ngap = (size_t)tap_between(seed, 1, 20);
        d.sigma = 6.5;
        d.rmed_s = 0;
        /* Noise above 0, so that zeros would be a signal, with gaps that repeat, of no numbers. */
        float *x = make_series(d.nsamp, 1000 * range.pmin_s, 0.1, 0, 3, seed);
        const double every = 1000 * range.pmin_s * (1 + (double)tap_between(seed, 0, 4));
        for (size_t g = 0; g < d.ngap; g++) {
            gap[g] = (struct psr_span){2000 + (int64_t)(every * (double)g), (int64_t)(every * 0.4)};
            for (int64_t i = 0; i < gap[g].count; i++)
                if (gap[g].first + i < (int64_t)d.nsamp)
                    x[gap[g].first + i] = tap_between(seed, 0, 1) ? NAN : 0;
        }
        psr_ffa *plan = round % 2 ? make_for_others(&d) : make_plan(&d);
        const struct psr_ffa_search *s = psr_ffa_resolved(plan);
        struct psr_ffa_result result;
        psr_err err;
        float *snr = tap_take(s->ntrial, sizeof *snr);
        ok(run(plan, 1, &x, &result) && result.bad == -1 && result.rms > 0 &&
               psr_ffa_periodogram(plan, 0, snr, NULL, &err) == PSR_OK,
           "%zu gaps of %.0f samples in %zu", d.ngap, every * 0.4, d.nsamp);
        alarms += result.npeak;
        for (size_t i = 0; i < s->nstep; i++)
            worst = fmax(worst, compare_counted(plan, x, &s->step[i], snr, seed));
        psr_ffa_destroy(plan);
        free(x);
        free(snr);
    }
    ok(worst < 1e-4, "S/N with gaps is that of naive sums and counts, within %.1g", worst);
    ok(alarms == 0, "gaps that repeat are no signal");
}

/* Peaks hold every trial above the threshold, whatever share of bins gaps leave. */
static void test_bounds_of_gaps(uint64_t *seed)
{
    for (int round = 0; round < 6; round++) {
        struct psr_ffa_range range = {.pmin_s = 0.3, .pmax_s = 0.6, .bmin = 130, .bmax = 140};
        struct psr_span gap[3];
        struct psr_ffa_desc d = {.size = sizeof d,
                                 .nsamp = 40000,
                                 .tsamp_s = 1e-3,
                                 .range = &range,
                                 .nrange = 1,
                                 .gap = gap,
                                 .ngap = 3,
                                 .sigma = 4 + tap_uniform(seed),
                                 .nthread = 1,
                                 .backend = "cpu"};
        range.ducymax = 0.1 + 0.4 * tap_uniform(seed);
        for (int g = 0; g < 3; g++)
            gap[g] = (struct psr_span){tap_between(seed, 0, 39000), tap_between(seed, 100, 12000)};
        float *x = make_series(d.nsamp, 470, 0.05, round % 2 ? 0.4 : 0, 3, seed);
        psr_ffa *plan = make_plan(&d);
        const size_t n = count_trials(plan);
        float *snr = tap_take(n, sizeof *snr), most = 0;
        struct psr_ffa_result result;
        psr_err err;
        size_t above = 0, found = 0;
        bool good = run(plan, 1, &x, &result) && !psr_ffa_periodogram(plan, 0, snr, NULL, &err);
        for (size_t i = 0; i < n; i++) {
            above += (double)snr[i] > d.sigma;
            most = fmaxf(most, snr[i]);
        }
        for (size_t i = 0; good && i < result.npeak; i++) {
            found += result.peak[i].ntrial;
            good = result.peak[i].snr == (double)snr[result.peak[i].trial];
        }
        ok(good && found == above && (!above || result.peak[0].snr == (double)most),
           "%zu of %zu trials above S/N %.2f with gaps, %zu found", above, n, d.sigma, found);
        psr_ffa_destroy(plan);
        free(x);
        free(snr);
    }
}

/* --- red noise -------------------------------------------------------------------------------- */

/* The variance of sums of "times" samples, over "times". */
static double find_slowness(const float *x, size_t n, size_t times)
{
    double mean = 0, all = 0;
    for (size_t i = 0; i < n; i++)
        mean += (double)x[i] / (double)n;
    for (size_t i = 0; i + times <= n; i += times) {
        double sum = 0;
        for (size_t k = 0; k < times; k++)
            sum += (double)x[i + k] - mean;
        all += sum * sum / (double)times;
    }
    return all / (double)(n / times);
}

static void test_red_noise(uint64_t *seed)
{
    enum { N = 100000, SLOW = 3000 };
    struct psr_ffasearch_desc d;
    psr_ffasearch *f = NULL, *asked = NULL;
    psr_err err;
    psr_ffasearch_defaults(&d);
    float *x = tap_take(N, sizeof *x), *y = tap_take(N, sizeof *y);
    bool good = !psr_ffasearch_create(&f, &d, &err);
    d.rmed_s = 5;
    good = good && !psr_ffasearch_create(&asked, &d, &err);
    double change = 0, level = 0, before = 0;
    for (int round = 0; round < 20; round++) {
        double walk = 0, rest = 0;
        for (size_t i = 0; i < N; i++)
            x[i] = y[i] = (float)(100 + 3 * tap_normal(seed));
        good = good && !psr_ffasearch_prepare(f, x, N, 1e-3, &err);
        for (size_t i = 0; i < N; i++)
            rest += pow((double)(x[i] - y[i]) / 3, 2) / N;
        change = fmax(change, rest);
        for (size_t i = 0; i < N; i++)
            x[i] += (float)(walk += 0.1 * tap_normal(seed));
        before += find_slowness(x, N, SLOW) / 9 / 20;
        good = good && !psr_ffasearch_prepare(f, x, N, 1e-3, &err);
        level += find_slowness(x, N, SLOW) / 9 / 20;
    }
    ok(good && change < 0.01, "white noise stays: %.2g of its power changes at most", change);
    ok(before > 1000 && level < 5,
       "red noise of 3 s becomes white: %.0f times as strong, then %.2f", before, level);
    memcpy(y, x, N * sizeof *y);
    good = !psr_ffasearch_prepare(asked, x, N, 1e-3, &err) &&
           !psr_ffasearch_prepare(f, x, 800, 1e-3, &err);
    ok(good && !memcmp(x, y, N * sizeof *y),
       "a window that is given, and a short series, change nothing");
    for (size_t i = 0; i < N; i++)
        x[i] = y[i] = i == 5000 ? NAN : (float)i;
    good = !psr_ffasearch_prepare(f, x, N, 1e-3, &err);
    ok(good && !memcmp(x, y, N * sizeof *y), "a sample that is no number is left to the search");
    for (size_t i = 0; i < N; i++)
        x[i] = y[i] = 7;
    good = !psr_ffasearch_prepare(f, x, N, 1e-3, &err);
    ok(good && !memcmp(x, y, N * sizeof *y), "a constant stays");
    psr_ffasearch_destroy(f);
    psr_ffasearch_destroy(asked);
    free(x);
    free(y);
}

/* --- the ladder ------------------------------------------------------------------------------- */

static void test_ladder(uint64_t *seed)
{
    bool rising = true, inside = true, dense = true, same = true;
    size_t common = 0;
    for (int round = 0; round < 12; round++) {
        struct psr_ffa_range range, narrow;
        struct psr_ffa_desc d = random_desc(&range, seed);
        range.bmax += 2;
        float *x = make_series(d.nsamp, 1000 * range.pmin_s * 1.05, 0.1, 1, 3, seed);
        psr_ffa *plan = make_plan(&d);
        narrow = range;
        narrow.pmin_s += 0.3 * tap_uniform(seed) * (range.pmax_s - range.pmin_s);
        narrow.pmax_s -= 0.3 * tap_uniform(seed) * (range.pmax_s - range.pmin_s);
        d.range = &narrow;
        psr_ffa *part = make_plan(&d);
        const size_t n = count_trials(plan), m = count_trials(part);
        double *p = tap_take(n, sizeof *p), *q = tap_take(m, sizeof *q);
        float *snr = tap_take(n, sizeof *snr), *other = tap_take(m, sizeof *other);
        struct psr_ffa_result result;
        psr_err err;
        psr_ffa_trials(plan, p);
        psr_ffa_trials(part, q);
        if (!run(plan, 1, &x, &result) || psr_ffa_periodogram(plan, 0, snr, NULL, &err) ||
            !run(part, 1, &x, &result) || psr_ffa_periodogram(part, 0, other, NULL, &err))
            ok(false, "a search of random ranges");
        const double turn = 1e-3 * (double)d.nsamp;
        for (size_t i = 0; i < n; i++) {
            inside = inside && p[i] >= range.pmin_s && p[i] < range.pmax_s;
            rising = rising && (i == 0 || p[i] > p[i - 1]);
            dense = dense && (i == 0 || (1 / p[i - 1] - 1 / p[i]) * turn < 1.1);
        }
        for (size_t i = 0, j = 0; i < n; i++)
            if (p[i] >= narrow.pmin_s && p[i] < narrow.pmax_s) {
                same = same && j < m && q[j] == p[i] && other[j] == snr[i];
                common++;
                j++;
            }
        psr_ffa_destroy(plan);
        psr_ffa_destroy(part);
        free(x);
        free(p);
        free(q);
        free(snr);
        free(other);
    }
    ok(inside, "trials lie within pmin and pmax");
    ok(rising, "periods rise");
    ok(dense, "trials are no further apart than a turn over the series");
    ok(same && common > 100,
       "S/N of a trial is the same to the bit for every pmin and pmax that hold it");
}

/* --- what does not matter --------------------------------------------------------------------- */

static bool same_peaks(const struct psr_ffa_result *a, const struct psr_ffa_result *b)
{
    bool same = a->npeak == b->npeak && a->rms == b->rms && a->bad == b->bad;
    for (size_t i = 0; same && i < a->npeak; i++)
        same = a->peak[i].trial == b->peak[i].trial && a->peak[i].snr == b->peak[i].snr &&
               a->peak[i].width_s == b->peak[i].width_s && a->peak[i].ntrial == b->peak[i].ntrial;
    return same;
}

static void test_threads_and_batches(uint64_t *seed)
{
    struct psr_ffa_range range = {0.3, 1.5, 30, 34, 0};
    struct psr_ffa_desc d = {.size = sizeof d,
                             .nsamp = 30000,
                             .tsamp_s = 1e-3,
                             .range = &range,
                             .nrange = 1,
                             .sigma = 4,
                             .nthread = 1,
                             .batch = 5};
    float *in[5];
    for (int i = 0; i < 5; i++)
        in[i] = make_series(d.nsamp, 300 + 130.7 * i, 0.05, 1, 0, seed);
    struct psr_ffa_result all[5], many[5], one;
    psr_ffa *batch = make_plan(&d);
    d.nthread = 3;
    psr_ffa *threads = make_plan(&d);
    d.batch = 0;
    psr_ffa *single = make_plan(&d);
    bool same = run(batch, 5, in, all) && run(threads, 5, in, many);
    for (int i = 0; i < 5; i++) {
        same = same && all[i].npeak > 0 && same_peaks(&all[i], &many[i]) &&
               run(single, 1, in + i, &one) && same_peaks(&all[i], &one);
        const double p = 1e-3 * (300 + 130.7 * i);
        ok(same && fabs(all[i].peak[0].period_s / p - 1) < 2e-3 && all[i].peak[0].snr > 15,
           "a pulsar of %.4f s is found first, at %.4f s with S/N %.1f", p, all[i].peak[0].period_s,
           all[i].peak[0].snr);
    }
    ok(same, "three threads and single series give the bits of one thread and a batch");
    psr_ffa_destroy(batch);
    psr_ffa_destroy(threads);
    psr_ffa_destroy(single);
    for (int i = 0; i < 5; i++)
        free(in[i]);
}

/* --- bad data --------------------------------------------------------------------------------- */

static void test_bad_data(uint64_t *seed)
{
    struct psr_ffa_range range = {0.3, 1.5, 30, 34, 0};
    struct psr_ffa_desc d = {
        .size = sizeof d, .nsamp = 9000, .tsamp_s = 1e-3, .range = &range, .nrange = 1, .batch = 3};
    psr_ffa *plan = make_plan(&d);
    struct psr_ffa_result r[3];
    float *in[3], *snr = tap_take(count_trials(plan), sizeof *snr);
    psr_err err;
    for (int i = 0; i < 3; i++)
        in[i] = make_series(d.nsamp, 400, 0.05, 2, 0, seed);
    in[0][8999] = NAN;
    in[0][17] = -INFINITY;
    in[2][8999] = INFINITY;
    bool done = run(plan, 3, in, r);
    ok(done && r[0].bad == 17 && !r[0].npeak && r[2].bad == 8999,
       "samples that are no numbers are named");
    ok(done && r[1].bad == -1 && r[1].npeak > 0, "and the series between them is searched");
    ok(psr_ffa_periodogram(plan, 0, snr, NULL, &err) == PSR_OK && snr[0] == 0,
       "the periodogram of a bad series is 0");
    ok(psr_ffa_periodogram(plan, 3, snr, NULL, &err) == PSR_EINVAL && !strcmp(err.field, "s"),
       "a series that was not searched has none");
    for (size_t i = 0; i < d.nsamp; i++) {
        in[0][i] = -7;
        in[1][i] = i % 2 ? 3e38f : -3e38f;
        in[2][i] = i == 4000 ? 3e38f : in[2][i];
    }
    in[2][8999] = 1;
    done = run(plan, 3, in, r);
    ok(done && r[0].bad == -1 && r[0].rms == 0 && !r[0].npeak,
       "a constant has no noise and no peaks");
    bool finite = done;
    for (int i = 1; i < 3; i++)
        for (size_t k = 0; k < r[i].npeak; k++)
            finite = finite && isfinite(r[i].peak[k].snr);
    ok(finite, "the largest of floats have a finite S/N");
    psr_ffa_destroy(plan);
    for (int i = 0; i < 3; i++)
        free(in[i]);
    free(snr);
}

/* --- statuses --------------------------------------------------------------------------------- */

static void refuses(const struct psr_ffa_desc *d, const char *field)
{
    psr_ffa *plan = NULL;
    psr_err err = {0};
    const psr_status st = psr_ffa_create(&plan, d, &err);
    ok(st && !plan && !strcmp(err.field, field), "%s: %s", field, err.msg);
    psr_ffa_destroy(plan);
}

#define REFUSES(name, change)                                                                      \
    do {                                                                                           \
        struct psr_ffa_range range = {0.3, 1.5, 30, 34, 0.2};                                      \
        struct psr_ffa_desc d = good;                                                              \
        d.range = &range;                                                                          \
        change;                                                                                    \
        refuses(&d, name);                                                                         \
    } while (0)

static bool stop_at_once(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_statuses(uint64_t *seed)
{
    const struct psr_span backwards = {5, -1};
    const struct psr_ffa_desc good = {
        .size = sizeof good, .nsamp = 9000, .tsamp_s = 1e-3, .nrange = 1, .backend = "cpu"};
    REFUSES("nsamp", d.nsamp = 4095);
    REFUSES("tsamp_s", d.tsamp_s = 0);
    REFUSES("batch", d.batch = 65537);
    REFUSES("rmed_s", d.rmed_s = NAN);
    REFUSES("sigma", d.sigma = -1);
    REFUSES("nthread", d.nthread = -1);
    REFUSES("mem_bytes", d.mem_bytes = 1000);
    REFUSES("backend", d.backend = "abacus");
    REFUSES("nrange", d.nrange = 17);
    REFUSES("bmin", range.bmin = 7);
    REFUSES("bmin", range.bmax = 29);
    REFUSES("pmin_s", range.pmin_s = 0.029);
    REFUSES("pmax_s", range.pmax_s = 0.3);
    REFUSES("pmax_s", range.pmax_s = 1e6);
    REFUSES("ducymax", range.ducymax = 0.6);
    REFUSES("range", range.pmin_s = 4; range.pmax_s = 5);
    REFUSES("gap", d.ngap = 1; d.gap = &backwards);
    struct psr_ffa_range range[2] = {{0.3, 1, 30, 34, 0}, {0.9, 1.5, 30, 34, 0}};
    struct psr_ffa_desc d = good;
    d.range = range;
    d.nrange = 2;
    refuses(&d, "pmin_s");
    range[1].pmin_s = 1;
    d.should_stop = stop_at_once;
    psr_ffa *plan = make_plan(&d);
    float *x = make_series(d.nsamp, 400, 0.05, 2, 0, seed);
    struct psr_ffa_result result;
    psr_err err;
    ok(psr_ffa_execute(plan, 1, (const float *const *)&x, &result, &err) == PSR_ESTOPPED,
       "a search stops when asked");
    ok(psr_ffa_execute(plan, 2, (const float *const *)&x, &result, &err) == PSR_EINVAL &&
           !strcmp(err.field, "nseries"),
       "more series than the batch are refused");
    psr_ffa_destroy(plan);
    free(x);
}

static void test_default_ranges(void)
{
    struct psr_ffa_range range[PSR_FFA_MAX_RANGE];
    ok(psr_ffa_default_ranges(8437500, 64e-6, range) == 3 && range[2].pmax_s == 120,
       "an observation of 540 s has three ranges");
    ok(psr_ffa_default_ranges(200000, 64e-6, range) == 3 && range[2].pmax_s < 4.3,
       "a short one has fewer periods");
    ok(psr_ffa_default_ranges(200000, 1e-6, range) == 0, "a very short one has none");
}

/* Padding is cut, as a gap at the end would cost as much as one in the middle. */
static void test_shapes(void)
{
    struct psr_inf inf = {.tbin_s = 1e-3, .nonoff = 2, .onoff = {{0, 146483}, {153599, 153599}}};
    struct psr_ffasearch_shape s = psr_ffasearch_shape_of(&inf, 153600);
    ok(!s.ngap && s.nsamp >= 146484 && s.nsamp < 146484 + 153600 / 64,
       "padding is cut: %lld samples", (long long)s.nsamp);
    inf.onoff[0][1] = 146400;
    ok(psr_ffasearch_shape_of(&inf, 153600).nsamp == s.nsamp,
       "nearly as long series have one shape");
    inf.onoff[0][1] = 99999;
    inf.onoff[1][0] = 100100;
    s = psr_ffasearch_shape_of(&inf, 153600);
    ok(s.ngap == 1 && s.gap[0].first == 100000 && s.gap[0].count == 100 && s.nsamp == 153600,
       "a gap is one");
    inf.nonoff = 0;
    s = psr_ffasearch_shape_of(&inf, 153600);
    ok(!s.ngap && s.nsamp == 153600, "no gaps without a list");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_sums(false, &seed);
    test_sums(true, &seed);
    test_gaps(false, &seed);
    test_gaps(true, &seed);
    test_bounds_of_gaps(&seed);
    test_red_noise(&seed);
    test_ladder(&seed);
    test_threads_and_batches(&seed);
    test_bad_data(&seed);
    test_statuses(&seed);
    test_default_ranges();
    test_shapes();
    return done_testing();
}
