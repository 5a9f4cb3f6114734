/* pulscan on a CUDA device against the CPU: the same hits, but for boxes within 1e-5 of the
 * threshold or of each other. */
#include "../tap.h"
#include "search/pulscan/pulscan_cuda.h"

#include <psrkit/device.h>
#include <psrkit/pulscan.h>
#include <string.h>

enum { BATCH = 5, MOST_ZAP = 4 };
static const double tolerance = 1e-5;

/* --- spectra ---------------------------------------------------------------------------------- */

/* Bright bins, alone or side by side. */
static void add_lines(float *x, int64_t nbin, int64_t nline, uint64_t *seed)
{
    for (int64_t n = 0; n < nline; n++) {
        int64_t first = tap_between(seed, 0, nbin - 1), count = tap_between(seed, 1, 300);
        double size = exp(6 * tap_uniform(seed)) / sqrt((double)count);
        for (int64_t k = first; k < first + count && k < nbin; k++)
            x[2 * k] += (float)(size * tap_normal(seed));
    }
}

/* Noise of uneven level, and now and then: few values, no values, steep red noise. */
static float *make_spectrum(int64_t nbin, uint64_t *seed)
{
    int64_t style = tap_between(seed, 0, 7), empty = tap_between(seed, 0, nbin - 1);
    float *x = tap_take(2 * (size_t)nbin, sizeof *x);
    for (int64_t k = 0; k < nbin; k++) {
        double level = style == 1 ? 1e6 / (double)(k + 1) : 1 + 3 * exp(-(double)k / 1000);
        x[2 * k] = (float)(level * tap_normal(seed) + 0.1);
        x[2 * k + 1] = (float)(2 * level * tap_normal(seed));
        if (style == 2) {
            x[2 * k] = rintf(x[2 * k]);
            x[2 * k + 1] = rintf(x[2 * k + 1]);
        }
        if (style == 3 && k > empty)
            x[2 * k] = 0;
    }
    add_lines(x, nbin, tap_between(seed, 0, 6), seed);
    x[0] = 1e9f;
    return x;
}

/* --- searches --------------------------------------------------------------------------------- */

static const int sums[] = {1, 2, 3, 4, 8, 16};

static int64_t pick(uint64_t *seed, int64_t a, int64_t b)
{
    return tap_uniform(seed) < 0.5 ? a : tap_between(seed, a < b ? a : b, a < b ? b : a);
}

static struct psr_pulscan_desc random_desc(struct psr_span zap[MOST_ZAP], uint64_t *seed)
{
    struct psr_pulscan_desc d = {.batch = BATCH, .sigma = 2, .nharm = sums};
    d.nbin = (size_t)pick(seed, 20000, tap_uniform(seed) < 0.2 ? 16 : 60000);
    d.zmax = (int)pick(seed, 64, tap_uniform(seed) < 0.1 ? 1400 : 300);
    d.zmax = (size_t)d.zmax < d.nbin / 2 ? d.zmax : (int)d.nbin / 2 - 1;
    d.zstep = (int)pick(seed, 1, 5);
    d.logz = tap_uniform(seed) < 0.3;
    d.nnharm = (size_t)tap_between(seed, 1, 6);
    d.block = (size_t)pick(seed, 256, tap_uniform(seed) < 0.5 ? 4096 : 1);
    d.block = tap_uniform(seed) < 0.1 ? (size_t)tap_between(seed, 1, 8) : d.block;
    d.normblock = (size_t)pick(seed, 16, tap_uniform(seed) < 0.2 ? 60000 : 2000);
    d.normblock = tap_uniform(seed) < 0.3 ? 0 : d.normblock;
    if (tap_uniform(seed) < 0.2)
        d.sigma = -8 * tap_uniform(seed);
    d.compat = d.zmax && tap_uniform(seed) < 0.2;
    if (d.compat)
        return d;
    if (tap_uniform(seed) < 0.3) {
        d.rlo = tap_between(seed, 0, (int64_t)d.nbin - 1);
        d.rhi = tap_between(seed, d.rlo, (int64_t)d.nbin - 1);
    }
    d.zap = zap;
    d.nzap = (size_t)tap_between(seed, 0, MOST_ZAP);
    for (size_t n = 0; n < d.nzap; n++) {
        zap[n].first = tap_between(seed, 0, (int64_t)d.nbin - 1);
        zap[n].count = tap_between(seed, 1, 20);
    }
    return d;
}

/* --- tests of boxes, which are planned without a device --------------------------------------- */

/* Whether a test of step n stands for a width: it holds every box of that width that starts at its
 * place or less than 4^n bins behind, asks for no more than the width's floor, and names its group.
 */
static bool stands_for(const struct psr_boxes_plan *p, const struct pulscan_k_sum *sum, int n,
                       const struct pulscan_k_test *test, int z, float floor)
{
    int step = 1 << 2 * n;
    bool asks_less = test->floor == 0 || (double)test->floor <= (double)floor * (double)sum->scale;
    return (int)test->m * step >= z + step && asks_less &&
           test->groups >> (z >> p->group_shift) & 1;
}

static bool is_covered(const struct psr_boxes_plan *p, const struct pulscan_k_sum *sum, int z,
                       float floor)
{
    for (int n = 0; n < PULSCAN_STEPS; n++)
        for (uint32_t k = sum->test[n]; k < sum->test[n + 1]; k++)
            if (stands_for(p, sum, n, &p->test[k], z, floor))
                return true;
    return false;
}

/* No box of a test reaches 2^32, one bin that is cut passes every test, and no test is wider than
 * the plan says. */
static bool fits(const struct psr_boxes_plan *p, const struct pulscan_k_sum *sum)
{
    for (int n = 0; n < PULSCAN_STEPS; n++)
        for (uint32_t k = sum->test[n]; k < sum->test[n + 1]; k++) {
            double bins = p->test[k].m << 2 * n, most = ceil((double)sum->cut * (double)sum->scale);
            if (bins * most >= 0x1p32 || bins > p->halo || p->test[k].floor > most)
                return false;
        }
    return true;
}

static size_t count_uncovered(const struct psr_pulscan_search *s, const struct psr_boxes_plan *p)
{
    size_t n = 0;
    for (size_t h = 0; h < s->nharm; h++) {
        const struct pulscan_k_sum *sum = &p->sum[h];
        n += !fits(p, sum);
        for (size_t k = 0; k < s->nz; k++) {
            const struct psr_boxes *b = &s->boxes[h * s->nz + k];
            if (b->lo < b->hi && b->floor < 1e37f)
                n += !is_covered(p, sum, s->z[k], b->floor);
        }
    }
    return n;
}

static void test_plan(uint64_t seed)
{
    size_t wrong = 0, ntest = 0, nwidth = 0;
    for (int n = 0; n < 40; n++) {
        struct psr_span zap[MOST_ZAP];
        struct psr_pulscan_desc d = random_desc(zap, &seed);
        struct psr_pulscan_search s;
        struct psr_boxes_plan p = {0};
        struct psr_significance significance;
        psr_err err;
        if (psr_pulscan_resolve(&s, &significance, &d, &err) || psr_boxes_plan_make(&p, &s, &err)) {
            ok(false, "%s", err.msg);
            return;
        }
        wrong += count_uncovered(&s, &p);
        ntest += p.ntest;
        nwidth += s.nz * s.nharm;
        psr_boxes_plan_free(&p);
        psr_pulscan_forget(&s);
    }
    ok(wrong == 0, "%zu tests stand for %zu widths, %zu left out", ntest, nwidth, wrong);
}

/* --- agreement -------------------------------------------------------------------------------- */

/* What the plans compared have found. */
struct block_sums {
    size_t hits, same, bits, elsewhere, near_floor, wrong;
};

static int order(const struct psr_pulscan_desc *d, const struct psr_pulscan_hit *a,
                 const struct psr_pulscan_hit *b)
{
    int64_t blocka = (a->first - 1) / (int64_t)d->block,
            blockb = (b->first - 1) / (int64_t)d->block;
    if (a->nharm != b->nharm)
        return a->nharm < b->nharm ? -1 : 1;
    if (a->z != b->z)
        return a->z < b->z ? -1 : 1;
    return (blocka > blockb) - (blocka < blockb);
}

/* Power of a box by amplitudes of the plan, in double precision. */
static double box_power(psr_pulscan *p, size_t spec, const struct psr_pulscan_hit *h)
{
    double sum = 0;
    psr_err err;
    for (int n = 1; n <= h->nharm; n++) {
        size_t count = (size_t)n * ((size_t)h->z + 1);
        float *x = tap_take(2 * count, sizeof *x);
        if (psr_pulscan_amplitudes(p, spec, n * h->first, count, x, &err))
            return NAN;
        for (size_t i = 0; i < 2 * count; i++)
            sum += (double)x[i] * (double)x[i];
        free(x);
    }
    return sum;
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= tolerance * fabs(b);
}

static void compare_hit(psr_pulscan *p, size_t spec, const struct psr_pulscan_desc *d,
                        const struct psr_pulscan_hit *want, const struct psr_pulscan_hit *got,
                        struct block_sums *t)
{
    bool close = is_close((double)got->power, (double)want->power);
    t->bits += got->first == want->first && !memcmp(&got->power, &want->power, sizeof got->power);
    if (close && got->first == want->first)
        t->same++;
    else if (close && !d->compat && !d->nzap &&
             is_close(box_power(p, spec, got), (double)want->power))
        t->elsewhere++;
    else if (close && (d->compat || d->nzap)) /* amplitudes are not all there is */
        t->elsewhere++;
    else
        t->wrong++;
}

static void compare_alone(const psr_pulscan *p, const struct psr_pulscan_desc *d,
                          const struct psr_pulscan_hit *h, struct block_sums *t)
{
    double lower =
        psr_pulscan_sigma(p, (double)h->power * (1 - tolerance), h->nharm, h->z, h->first);
    *(lower <= d->sigma ? &t->near_floor : &t->wrong) += 1;
}

static void compare(psr_pulscan *p, size_t spec, const struct psr_pulscan_desc *d,
                    const struct psr_pulscan_result *want, const struct psr_pulscan_result *got,
                    struct block_sums *t)
{
    size_t i = 0, j = 0;
    t->hits += want->nhit;
    while (i < want->nhit || j < got->nhit) {
        int way = i == want->nhit ? 1 : j == got->nhit ? -1 : order(d, &want->hit[i], &got->hit[j]);
        if (way == 0)
            compare_hit(p, spec, d, &want->hit[i++], &got->hit[j++], t);
        else
            compare_alone(p, d, way < 0 ? &want->hit[i++] : &got->hit[j++], t);
    }
    t->wrong += want->bad != got->bad;
}

static void search(struct psr_pulscan_desc *d, const char *backend, size_t nspec, float **x,
                   bool in_place, psr_pulscan **plan, struct psr_pulscan_result *result)
{
    const float *in[BATCH];
    psr_err err;
    d->backend = backend;
    if (psr_pulscan_create(plan, d, &err)) {
        ok(false, "%s: %s", backend, err.msg);
        exit(done_testing());
    }
    for (size_t s = 0; s < nspec; s++) {
        float *own = in_place ? psr_pulscan_input(*plan, s) : NULL;
        if (own)
            memcpy(own, x[s], 2 * d->nbin * sizeof *own);
        in[s] = own ? own : x[s];
    }
    for (int n = 0; n < 2; n++) /* twice: nothing is left of the first */
        if (psr_pulscan_execute(*plan, nspec, in, result, &err)) {
            ok(false, "%s: %s", backend, err.msg);
            exit(done_testing());
        }
}

static void compare_random(const char *backend, uint64_t *seed, struct block_sums *t)
{
    struct psr_span zap[MOST_ZAP];
    struct psr_pulscan_desc d = random_desc(zap, seed);
    struct psr_pulscan_result want[BATCH], got[BATCH];
    struct psr_pulscan_info info;
    psr_pulscan *cpu, *gpu;
    float *x[BATCH];
    size_t nspec = (size_t)tap_between(seed, 1, BATCH), wrong = t->wrong;
    for (size_t s = 0; s < nspec; s++)
        x[s] = make_spectrum((int64_t)d.nbin, seed);
    if (tap_uniform(seed) < 0.2)
        x[0][tap_between(seed, 0, 2 * (int64_t)d.nbin - 1)] = NAN;
    search(&d, "cpu", nspec, x, false, &cpu, want);
    search(&d, backend, nspec, x, tap_uniform(seed) < 0.5, &gpu, got);
    for (size_t s = 0; s < nspec; s++)
        compare(gpu, s, &d, &want[s], &got[s], t);
    psr_pulscan_describe(gpu, &info);
    if (t->wrong > wrong)
        diag("%zu wrong: %zu bins, zmax %d step %d log %d, %zu sums, block %zu, normblock %zu, "
             "sigma %g, compat %d, r %lld %lld, %zu zapped",
             t->wrong - wrong, d.nbin, d.zmax, d.zstep, d.logz, d.nnharm, d.block, info.normblock,
             d.sigma, d.compat, (long long)d.rlo, (long long)d.rhi, d.nzap);
    psr_pulscan_destroy(cpu);
    psr_pulscan_destroy(gpu);
    for (size_t s = 0; s < nspec; s++)
        free(x[s]);
}

static void test_agreement(const char *backend, int times, uint64_t seed)
{
    struct block_sums t = {0};
    for (int n = 0; n < times; n++)
        compare_random(backend, &seed, &t);
    diag("%s: %zu hits, %zu the same (%zu to the bit), %zu of equal power elsewhere, %zu at the "
         "threshold",
         backend, t.hits, t.same, t.bits, t.elsewhere, t.near_floor);
    ok(t.hits > 0 && t.wrong == 0, "%s finds what the CPU finds: %zu wrong", backend, t.wrong);
    ok(t.elsewhere + t.near_floor <= t.hits / 100, "%s: ties are few", backend);
}

/* A spectrum that is not searched has no hits, even where boxes without power are hits. */
static void test_bad_spectrum(const char *backend, uint64_t seed)
{
    struct psr_pulscan_desc d = {.nbin = 5000,
                                 .batch = BATCH,
                                 .zmax = 20,
                                 .block = 300,
                                 .nharm = sums,
                                 .nnharm = 4,
                                 .sigma = -3,
                                 .compat = true};
    struct psr_pulscan_result got[BATCH];
    psr_pulscan *p;
    float *x[2] = {make_spectrum((int64_t)d.nbin, &seed), make_spectrum((int64_t)d.nbin, &seed)};
    x[0][77] = NAN;
    search(&d, backend, 2, x, false, &p, got);
    ok(got[0].bad == 38 && got[0].nhit == 0 && got[1].bad == -1 && got[1].nhit > 0,
       "%s: bin %lld is no number, %zu hits beside %zu", backend, (long long)got[0].bad,
       got[0].nhit, got[1].nhit);
    psr_pulscan_destroy(p);
    free(x[0]);
    free(x[1]);
}

/* --- series ----------------------------------------------------------------------------------- */

/* The transform by its definition. */
static void transform(const float *in, size_t nbin, float *out)
{
    const size_t n = 2 * nbin;
    double *c = tap_take(n, sizeof *c), *s = tap_take(n, sizeof *s);
    for (size_t t = 0; t < n; t++) {
        c[t] = cos(2 * M_PI * (double)t / (double)n);
        s[t] = -sin(2 * M_PI * (double)t / (double)n);
    }
    for (size_t k = 0; k <= nbin; k++) {
        double re = 0, im = 0;
        for (size_t t = 0; t < n; t++) {
            re += (double)in[t] * c[k * t % n];
            im += (double)in[t] * s[k * t % n];
        }
        if (k == nbin) {
            out[1] = (float)re;
            break;
        }
        out[2 * k] = (float)re;
        out[2 * k + 1] = (float)im;
    }
    free(c);
    free(s);
}

/* Noise with lines, some of it red. */
static float *make_series(size_t n, int which, uint64_t *seed)
{
    float *x = tap_take(n, sizeof *x);
    double drift = 0;
    for (size_t t = 0; t < n; t++) {
        drift = 0.99 * drift + 0.1 * which * tap_normal(seed);
        x[t] = (float)(tap_normal(seed) + drift + 0.2 * cos((double)t * (0.7 + which)));
    }
    return x;
}

static bool all_agree(const struct block_sums *t)
{
    return t->hits > 100 && t->wrong == 0 && t->elsewhere + t->near_floor < t->hits / 50;
}

/* A transform in single precision is good to some 1e-6 of the mean amplitude: enough for boxes of
 * much power, and others are no hits. */
static void test_transform(uint64_t seed)
{
    enum { NBIN = 3001 };
    struct psr_pulscan_desc d = {.nbin = NBIN,
                                 .batch = BATCH,
                                 .zmax = 20,
                                 .block = 128,
                                 .nharm = sums,
                                 .nnharm = 4,
                                 .sigma = -4};
    struct psr_pulscan_result want[BATCH], got[BATCH];
    psr_pulscan *spectra, *series;
    float *x[BATCH], *fx[BATCH];
    struct block_sums t = {0};
    for (int s = 0; s < BATCH; s++) {
        x[s] = make_series(2 * NBIN, 0, &seed);
        fx[s] = tap_take(2 * NBIN, sizeof **fx);
        transform(x[s], NBIN, fx[s]);
    }
    search(&d, "cuda", BATCH, fx, false, &spectra, want);
    d.series = true;
    search(&d, "cuda", BATCH, x, true, &series, got);
    for (size_t s = 0; s < BATCH; s++)
        compare(series, s, &d, &want[s], &got[s], &t);
    ok(all_agree(&t), "a series is transformed: %zu hits, %zu wrong", t.hits, t.wrong);
    psr_pulscan_destroy(series);
    x[1][77] = INFINITY;
    search(&d, "cuda", BATCH, x, false, &series, got);
    ok(got[1].bad == 77 && got[0].bad == -1 && got[1].nhit == 0 && got[2].nhit == want[2].nhit,
       "the sample that is no number is named, other series are searched");
    psr_pulscan_destroy(series);
    psr_pulscan_destroy(spectra);
    for (int s = 0; s < BATCH; s++) {
        free(x[s]);
        free(fx[s]);
    }
}

static void test_series(const char *backend, struct psr_pulscan_desc d, uint64_t seed)
{
    struct psr_pulscan_result want[BATCH], got[BATCH];
    psr_pulscan *cpu, *gpu;
    float *x[BATCH];
    struct block_sums t = {0};
    d.series = true;
    d.batch = BATCH;
    d.zmax = 30;
    d.block = 128;
    d.nharm = sums;
    d.nnharm = 4;
    d.sigma = -4;
    for (int s = 0; s < BATCH; s++)
        x[s] = make_series(2 * d.nbin, s, &seed);
    x[3][2 * d.nbin - 1] = NAN;
    search(&d, "cpu", BATCH, x, false, &cpu, want);
    search(&d, backend, BATCH, x, true, &gpu, got);
    for (size_t s = 0; s < BATCH; s++)
        compare(gpu, s, &d, &want[s], &got[s], &t);
    ok(all_agree(&t), "%s: series of 2 x %zu, de-reddened from %d to %d: %zu hits, %zu wrong",
       backend, d.nbin, d.redden.start, d.redden.end, t.hits, t.wrong);
    psr_pulscan_destroy(cpu);
    psr_pulscan_destroy(gpu);
    for (int s = 0; s < BATCH; s++)
        free(x[s]);
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_limits(void)
{
    struct psr_pulscan_desc d = {.nbin = 200000, .zmax = 60000, .nharm = sums, .nnharm = 1};
    psr_pulscan *p;
    psr_err err;
    d.backend = "cuda";
    ok(psr_pulscan_create(&p, &d, &err) == PSR_EUNSUPPORTED && strstr(err.msg, "zmax 60000"), "%s",
       err.msg);
    d.zmax = 200;
    d.mem_bytes = 1000;
    ok(psr_pulscan_create(&p, &d, &err) == PSR_ENOMEM && strstr(err.msg, "limit"), "%s", err.msg);
}

int main(int argc, char **argv)
{
    static const struct psr_pulscan_desc series[] = {
        {.nbin = 5003},
        {.nbin = 40000, .redden = {6, 100, 1500}},
        {.nbin = 40000, .redden = {6, 6000, 300}},
        {.nbin = 300, .redden = {1000, 1000, 0}},
        {.nbin = 9999, .redden = {50, 5000, 1e9}},
    };
    struct psr_device device;
    psr_err err;
    int times = argc > 1 ? atoi(argv[1]) : 100;
    uint64_t seed = tap_seed();
    test_plan(seed);
    if (psr_device_describe(0, &device, &err)) {
        skip("pulscan on CUDA", err.msg);
        return done_testing();
    }
    test_agreement("cuda", times, seed);
    test_agreement("hybrid", times / 4 + 1, seed + 1);
    test_bad_spectrum("cuda", seed);
    test_bad_spectrum("hybrid", seed);
    if (getenv("PSRKIT_TEST_SHORT"))
        return done_testing();
    test_transform(seed);
    for (size_t n = 0; n < sizeof series / sizeof *series; n++) {
        test_series("cuda", series[n], seed + n);
        test_series("hybrid", series[n], seed + n);
    }
    test_limits();
    return done_testing();
}
