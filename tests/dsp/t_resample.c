/* resample: bins added and removed as a naive walk along the drift says, however the stream is
 * cut. */
#include <psrkit/ddplan.h>

#include "dsp/dsp.h"
#include "plan/ddplan_internal.h"
#include "tests/support/tap.h"

#include <string.h>

enum { MAX_BINS = 4096 };

/* A wave and a slope, so that the drift turns back now and then. */
struct wave {
    double slope, amplitude_s, period_s;
};

static double wave_drift(const void *ctx, double t_s)
{
    const struct wave *w = ctx;
    return w->slope * t_s + w->amplitude_s * (1 - cos(2 * M_PI * t_s / w->period_s));
}

static double bad_drift(const void *ctx, double t_s)
{
    return *(const double *)ctx * t_s;
}

struct bins {
    int n;
    int64_t at[MAX_BINS];
    int step[MAX_BINS];
};

/* Where the straight lines between comparisons cross the halves: solved one crossing at a time. */
static void find_bins(struct bins *b, const struct wave *w, double tsamp_s, int64_t nsamp,
                      bool presto)
{
    double node_s = 20 * ceil(tsamp_s / 20), was = 0;
    int64_t whole = 0;
    b->n = 0;
    for (int k = 1; (double)(k - 1) * node_s / tsamp_s < (double)nsamp + 1; k++) {
        double is = wave_drift(w, k * node_s) / tsamp_s;
        for (; psr_round(is) != whole;) {
            int step = psr_round(is) > whole ? 1 : -1;
            double share = ((double)whole + step / 2.0 - was) / (is - was);
            if (!(presto && (step > 0 ? whole < 0 : whole > 0)) && b->n < MAX_BINS) {
                int64_t at = psr_round((k - 1 + share) * node_s / tsamp_s);
                if (b->n && at <= b->at[b->n - 1])
                    at = b->at[b->n - 1] + 1;
                b->at[b->n] = at;
                b->step[b->n++] = step;
            }
            whole += step;
        }
        was = is;
    }
}

/* Returned: the length of out, what series i [n] of all x [nseries][n] becomes */
static size_t resample_naively(const struct bins *b, const float *all, size_t i, size_t n,
                               size_t block, float *out)
{
    const float *x = all + i * n;
    size_t m = 0, k = 0;
    for (size_t t = 0; t < n; t++) {
        bool dropped = false;
        for (; (int)k < b->n && b->at[k] == (int64_t)t; k++) {
            dropped = b->step[k] < 0;
            if (dropped)
                continue;
            double mean = 0;
            for (size_t s = 0; s < block; s++)
                mean += ((double)all[t / block * block + s] - mean) / (double)(s + 1);
            out[m++] = block ? (float)mean : (x[t - 1] + x[t]) / 2;
        }
        if (!dropped)
            out[m++] = x[t];
    }
    return m;
}

struct trial {
    struct wave wave;
    struct psr_resample_desc desc;
    size_t n; /* samples of each series, whole blocks */
    float *x; /* [nseries][n] */
};

static void make_trial(struct trial *c, uint64_t *random)
{
    memset(c, 0, sizeof *c);
    c->desc.tsamp_s = pow(10, tap_uniform(random) * 3 - 2); /* 10 ms to 10 s */
    c->desc.nseries = (size_t)tap_between(random, 1, 5);
    c->desc.nthread = (int)tap_between(random, 1, 3);
    c->desc.presto_block = tap_random(random) % 2 ? (size_t)tap_between(random, 1, 700) : 0;
    c->n = (size_t)tap_between(random, 1, 20000);
    size_t block = c->desc.presto_block;
    if (block)
        c->n = (c->n + block - 1) / block * block;
    double length_s = (double)c->n * c->desc.tsamp_s;
    c->wave.period_s = length_s * (0.3 + tap_uniform(random)) + 400;
    c->wave.slope = (tap_uniform(random) - 0.5) * 6e-3;
    c->wave.amplitude_s = (tap_uniform(random) - 0.5) * 1e-3 * c->wave.period_s;
    c->desc.drift = wave_drift;
    c->desc.ctx = &c->wave;
    c->x = malloc(c->desc.nseries * c->n * sizeof *c->x);
    for (size_t k = 0; c->x && k < c->desc.nseries * c->n; k++)
        c->x[k] = (float)tap_between(random, -1000, 1000);
}

/* The next piece to push: of any length, of few samples, or up to where the next bin is added or
 * removed. */
static size_t choose_piece(const struct trial *c, const struct bins *b, uint64_t *random,
                           size_t done)
{
    size_t unit = c->desc.presto_block ? c->desc.presto_block : 1, left = (c->n - done) / unit;
    size_t most = tap_random(random) % 3 ? left : left < 9 ? left : 9;
    int k = 0;
    while (k < b->n && b->at[k] <= (int64_t)done)
        k++;
    if (unit == 1 && k < b->n && b->at[k] <= (int64_t)c->n && tap_random(random) % 2)
        return (size_t)b->at[k] - done;
    return unit * (size_t)tap_between(random, 0, (int64_t)most);
}

/* Pushes the series in random pieces and gathers what comes, out [nseries][room]. */
static bool run_trial(const struct trial *c, const struct bins *b, uint64_t *random, float *out,
                      size_t room, size_t *n, int64_t *net)
{
    psr_resample *p;
    psr_err err;
    size_t done = 0;
    int64_t added, removed;
    *n = 0;
    if (psr_resample_create(&p, &c->desc, &err))
        return false;
    bool good = true;
    while (good && done < c->n) {
        size_t piece = choose_piece(c, b, random, done), got = 0;
        size_t stride = psr_resample_room(p, piece);
        float *x = malloc(c->desc.nseries * stride * sizeof *x);
        for (size_t i = 0; x && i < c->desc.nseries; i++)
            memcpy(x + i * stride, c->x + i * c->n + done, piece * sizeof *x);
        good = x && !psr_resample_execute(p, x, stride, piece, &got, &err) && *n + got <= room;
        for (size_t i = 0; good && i < c->desc.nseries; i++)
            memcpy(out + i * room + *n, x + i * stride, got * sizeof *x);
        *n += got;
        done += piece;
        free(x);
    }
    psr_resample_count(p, &added, &removed);
    *net = added - removed;
    psr_resample_destroy(p);
    return good;
}

static void test_random(uint64_t *random)
{
    static struct bins bins;
    bool same = true, counted = true;
    int64_t nadded = 0, nremoved = 0, nback = 0;
    for (int k = 0; k < 200; k++) {
        struct trial c;
        make_trial(&c, random);
        find_bins(&bins, &c.wave, c.desc.tsamp_s, (int64_t)c.n, c.desc.presto_block > 0);
        size_t room = c.n + c.n / 50 + 10, n = 0;
        int64_t net = 0;
        float *got = malloc(c.desc.nseries * room * sizeof *got);
        float *want = malloc(room * sizeof *want);
        same &= c.x && got && want && run_trial(&c, &bins, random, got, room, &n, &net);
        for (size_t i = 0; same && i < c.desc.nseries; i++) {
            size_t m = resample_naively(&bins, c.x, i, c.n, c.desc.presto_block, want);
            same &= m == n && !memcmp(want, got + i * room, n * sizeof *want);
        }
        if (!same) {
            diag("trial %d: %zu samples of %g s, block %zu", k, c.n, c.desc.tsamp_s,
                 c.desc.presto_block);
            k = 1000;
        }
        counted &= (int64_t)n == (int64_t)c.n + net;
        for (int b = 0; b < bins.n && bins.at[b] < (int64_t)c.n; b++) {
            nadded += bins.step[b] > 0;
            nremoved += bins.step[b] < 0;
            nback += b && bins.step[b] != bins.step[b - 1];
        }
        free(c.x);
        free(got);
        free(want);
    }
    ok(same, "200 series are those of the naive walk, however cut");
    ok(counted, "lengths are what the counts of bins say");
    ok(nadded > 500 && nremoved > 500 && nback > 20,
       "bins were added (%lld), removed (%lld), and drifts turned back (%lld)", (long long)nadded,
       (long long)nremoved, (long long)nback);
}

/* What was pushed changes nothing for what comes. */
static void test_map_midway(uint64_t *random)
{
    bool same = true;
    for (int k = 0; k < 20; k++) {
        struct trial c;
        make_trial(&c, random);
        c.desc.presto_block = 0;
        psr_resample *fresh = NULL, *used = NULL;
        psr_err err;
        size_t half = c.n / 2, room, got = 0;
        same &= !psr_resample_create(&fresh, &c.desc, &err) &&
                !psr_resample_create(&used, &c.desc, &err);
        room = same ? psr_resample_room(used, half) : 0;
        float *x = calloc(c.desc.nseries * room + 1, sizeof *x);
        same = same && x && !psr_resample_execute(used, x, room, half, &got, &err);
        for (int64_t t = (int64_t)half; same && t < (int64_t)c.n; t += 7) {
            int64_t a = 0, b = 1;
            same &= !psr_resample_map(fresh, t, &a, &err) && !psr_resample_map(used, t, &b, &err);
            same &= a == b;
        }
        psr_resample_destroy(fresh);
        psr_resample_destroy(used);
        free(x);
        free(c.x);
    }
    ok(same, "samples yet to come go to the same places however many went before");
}

/* Each sample is within half a bin of its time on the other clock, but for what a straight line
 * over 20 s leaves out of a wave. */
static void test_map(uint64_t *random)
{
    bool near_by = true, ascending = true;
    for (int k = 0; k < 50; k++) {
        struct trial c;
        make_trial(&c, random);
        c.desc.presto_block = 0;
        psr_resample *p;
        psr_err err;
        if (psr_resample_create(&p, &c.desc, &err)) {
            ok(false, "%s", err.msg);
            return;
        }
        int64_t last = -1;
        double bend = fabs(c.wave.amplitude_s) * pow(2 * M_PI * 20 / c.wave.period_s, 2) / 8;
        double limit = 0.51 + bend / c.desc.tsamp_s;
        for (int64_t t = 0; t < (int64_t)c.n; t += 1 + (int64_t)c.n / 300) {
            int64_t to = 0;
            near_by &= !psr_resample_map(p, t, &to, &err);
            double t_s = (double)t * c.desc.tsamp_s;
            double gain = wave_drift(&c.wave, t_s) / c.desc.tsamp_s;
            near_by &= fabs((double)(to - t) - gain) < limit;
            ascending &= to > last - (c.n < 300) || t == 0; /* a bin removed between two */
            last = to;
        }
        psr_resample_destroy(p);
        free(c.x);
    }
    ok(near_by, "samples move by what the clocks differ, within half a bin");
    ok(ascending, "and in order");
}

/* What is told, done to samples elsewhere, is what execute does. */
static void test_told(void)
{
    static const struct wave wave = {.amplitude_s = 0.05, .period_s = 90};
    enum { N = 50000 };
    struct psr_resample_desc desc = {
        .nseries = 1, .tsamp_s = 1e-3, .drift = wave_drift, .ctx = &wave};
    psr_resample *p, *q;
    psr_err err;
    size_t want, got = 0, total = 0, nbin, nout;
    const struct psr_resample_bin *bin;
    if (psr_resample_create(&p, &desc, &err) || psr_resample_create(&q, &desc, &err))
        exit(EXIT_FAILURE);
    size_t room = psr_resample_room(p, N);
    float *x = tap_take(room, sizeof *x), *y = tap_take(room, sizeof *y);
    for (size_t t = 0; t < N; t++)
        x[t] = (float)(t * t % 1009);
    bool fine = true, same = true;
    for (size_t t = 0; t < N; t += 7001) {
        size_t n = N - t < 7001 ? N - t : 7001, from = t;
        fine &= !psr_resample_report(q, n, &bin, &nbin, &nout, &err) && bin;
        for (size_t k = 0; k < nbin; from = t + bin[k].at + (bin[k].step < 0), k++) {
            for (; from < t + bin[k].at; from++)
                y[got++] = x[from];
            if (bin[k].step > 0)
                y[got++] = ((from ? x[from - 1] : 0) + x[from]) / 2;
        }
        for (; from < t + n; from++)
            y[got++] = x[from];
        total += nout;
    }
    fine &= !psr_resample_execute(p, x, room, N, &want, &err);
    for (size_t t = 0; t < want && got == want; t++)
        same &= x[t] == y[t];
    ok(fine && same && got == want && total == want, "bins that are told: %zu samples", got);
    ok(got != N, "there are such");
    psr_resample_destroy(p);
    psr_resample_destroy(q);
    free(x);
    free(y);
}

static void test_refusals(void)
{
    double rate = 0.02, nan = NAN;
    struct psr_resample_desc desc = {.nseries = 1, .tsamp_s = 1, .drift = bad_drift, .ctx = &rate};
    psr_resample *p;
    psr_err err;
    float x[128] = {0};
    size_t n;
    int64_t to;
    ok(!psr_resample_create(&p, &desc, &err), "a plan is made");
    ok(psr_resample_execute(p, x, 5, 5, &n, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_resample_execute(p, x, 128, 0, &n, &err) == PSR_OK && n == 0, "nothing gives nothing");
    ok(psr_resample_execute(p, x, 128, 50, &n, &err) == PSR_EUNSUPPORTED, "%s", err.msg);
    psr_resample_destroy(p);
    desc.ctx = &nan;
    ok(!psr_resample_create(&p, &desc, &err), "a plan is made");
    ok(psr_resample_map(p, 50, &to, &err) == PSR_EUNSUPPORTED, "%s", err.msg);
    psr_resample_destroy(p);
    rate = 0;
    desc.ctx = &rate;
    desc.presto_block = 7;
    ok(!psr_resample_create(&p, &desc, &err), "a plan is made");
    const struct psr_resample_bin *bin;
    size_t nbin;
    ok(psr_resample_report(p, 7, &bin, &nbin, &n, &err) == PSR_EUNSUPPORTED, "%s", err.msg);
    ok(psr_resample_execute(p, x, 128, 8, &n, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_resample_execute(p, x, 128, 14, &n, &err) == PSR_OK && n == 14, "no drift, no change");
    psr_resample_destroy(p);
    desc.tsamp_s = 0;
    ok(psr_resample_create(&p, &desc, &err) == PSR_EINVAL && !p, "%s", err.msg);
    desc.tsamp_s = 1;
    desc.nseries = 0;
    ok(psr_resample_create(&p, &desc, &err) == PSR_EINVAL && !p, "%s", err.msg);
    psr_resample_destroy(NULL);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_random(&random);
    test_map(&random);
    test_map_midway(&random);
    test_told();
    test_refusals();
    return done_testing();
}
