/* pulscan of spectra on a CUDA device against the CPU: the same hits to the bit. */
#include "pulscan_run.h"
#include "search/pulscan/cuda/pulscan_cuda.h"

#include <psrkit/device.h>

enum { MOST_ZAP = 4 };

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
    struct psr_pulscan_desc d = {.size = sizeof d, .batch = BATCH, .sigma = 2, .nharm = sums};
    d.nbin = (size_t)pick(seed, 20000, tap_uniform(seed) < 0.2 ? 16 : 60000);
    d.zmax = (int)pick(seed, 64, tap_uniform(seed) < 0.1 ? 1400 : 300);
    d.zmax = (size_t)d.zmax < d.nbin / 2 ? d.zmax : (int)d.nbin / 2 - 1;
    d.zstep = (int)pick(seed, 1, 5);
    d.logz = tap_uniform(seed) < 0.3;
    d.nnharm = (size_t)tap_between(seed, 1, 6);
    d.rblock = tap_uniform(seed) < 0.2;
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

static int order(const struct psr_pulscan_hit *a, const struct psr_pulscan_hit *b)
{
    if (a->nharm != b->nharm)
        return a->nharm < b->nharm ? -1 : 1;
    if (a->z != b->z)
        return a->z < b->z ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static bool same_bits(const struct psr_pulscan_hit *a, const struct psr_pulscan_hit *b)
{
    return order(a, b) == 0 && !memcmp(&a->power, &b->power, sizeof a->power) &&
           a->sigma == b->sigma && a->ln_p == b->ln_p && a->r == b->r;
}

/* Hits that are not the same to the bit. */
static size_t count_wrong(const struct psr_pulscan_result *want,
                          const struct psr_pulscan_result *got)
{
    size_t i = 0, j = 0, wrong = want->bad != got->bad;
    while (i < want->nhit && j < got->nhit) {
        int way = order(&want->hit[i], &got->hit[j]);
        wrong += way != 0 || !same_bits(&want->hit[i], &got->hit[j]);
        i += way <= 0;
        j += way >= 0;
    }
    return wrong + want->nhit - i + got->nhit - j;
}

struct block_sums {
    size_t hits, wrong;
};

static void compare_random(const char *backend, uint64_t *seed, struct block_sums *t)
{
    struct psr_span zap[MOST_ZAP];
    struct psr_pulscan_desc d = random_desc(zap, seed);
    struct psr_pulscan_result want[BATCH], got[BATCH];
    struct psr_pulscan_info info;
    psr_pulscan *cpu, *gpu;
    float *x[BATCH];
    size_t nspec = (size_t)tap_between(seed, 1, BATCH), wrong = 0;
    for (size_t s = 0; s < nspec; s++)
        x[s] = make_spectrum((int64_t)d.nbin, seed);
    if (tap_uniform(seed) < 0.2)
        x[0][tap_between(seed, 0, 2 * (int64_t)d.nbin - 1)] = NAN;
    search(&d, "cpu", nspec, x, false, &cpu, want);
    search(&d, backend, nspec, x, tap_uniform(seed) < 0.5, &gpu, got);
    for (size_t s = 0; s < nspec; s++) {
        t->hits += want[s].nhit;
        wrong += count_wrong(&want[s], &got[s]);
    }
    psr_pulscan_describe(gpu, &info);
    if (wrong)
        diag("%zu wrong: %zu bins, zmax %d step %d log %d, %zu sums, block %zu, normblock %zu, "
             "sigma %g, compat %d, r-block %d, r %lld %lld, %zu zapped",
             wrong, d.nbin, d.zmax, d.zstep, d.logz, d.nnharm, d.block, info.normblock, d.sigma,
             d.compat, d.rblock, (long long)d.rlo, (long long)d.rhi, d.nzap);
    t->wrong += wrong;
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
    ok(t.hits > 0 && t.wrong == 0, "%s finds what the CPU finds, to the bit: %zu hits, %zu wrong",
       backend, t.hits, t.wrong);
}

/* A spectrum that is not searched has no hits, even where boxes without power are hits. */
static void test_bad_spectrum(const char *backend, uint64_t seed)
{
    struct psr_pulscan_desc d = {.size = sizeof d,
                                 .nbin = 5000,
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

/* More peaks than there is room for at first. */
static void test_many_peaks(const char *backend, uint64_t seed)
{
    struct psr_pulscan_desc d = {.size = sizeof d,
                                 .nbin = 600000,
                                 .zmax = 64,
                                 .nharm = sums,
                                 .nnharm = 4,
                                 .sigma = -8,
                                 .ntrials = 1};
    struct psr_pulscan_result want, got;
    psr_pulscan *cpu, *gpu;
    float *x = tap_take(2 * d.nbin, sizeof *x);
    for (size_t i = 0; i < 2 * d.nbin; i++)
        x[i] = (float)tap_normal(&seed);
    search(&d, "cpu", 1, &x, false, &cpu, &want);
    search(&d, backend, 1, &x, false, &gpu, &got);
    size_t wrong = count_wrong(&want, &got);
    ok(want.nhit > 1 << 20 && wrong == 0, "%s: all of %zu peaks, %zu wrong", backend, want.nhit,
       wrong);
    psr_pulscan_destroy(cpu);
    psr_pulscan_destroy(gpu);
    free(x);
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_limits(void)
{
    struct psr_pulscan_desc d = {
        .size = sizeof d, .nbin = 200000, .zmax = 60000, .nharm = sums, .nnharm = 1};
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
    test_many_peaks("cuda", seed);
    test_limits();
    return done_testing();
}
