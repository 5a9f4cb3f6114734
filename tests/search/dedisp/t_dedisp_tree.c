/* dedisp, tree algorithm: every sum against one done the naive way with the delays that the plan
 * tells, on random shapes; and these delays against exact ones. */
#include "search/dedisp/dedisp_internal.h"
#include "tests/support/dedisp_shape.h"

static bool within_limits(const struct shape *s, const psr_dedisp *p)
{
    struct psr_dedisp_info info;
    double worst = 0, dt = s->d.tsamp_s * (double)s->d.downsamp, top = extreme(s, 1);
    psr_dedisp_describe(p, &info);
    for (size_t i = 0; i < s->d.ndm; i++) {
        struct psr_dedisp_smearing got;
        double largest = 0, square = 0, nkept = 0;
        psr_dedisp_smearing(p, i, &got);
        for (size_t c = 0; c < s->d.nchan; c++) {
            if (s->d.keep && !s->keep[c])
                continue;
            double exact = (psr_delay_s(s->d.dmconst, s->dm[i], s->freq_mhz[c]) -
                            psr_delay_s(s->d.dmconst, s->dm[i], top)) /
                           dt;
            int64_t delay =
                psr_dedisp_delay(p, i, c) + (s->d.late ? (int64_t)psr_dedisp_shift(p, i) : 0);
            double difference = fabs((double)delay - exact);
            largest = fmax(largest, difference);
            square += difference * difference;
            nkept++;
        }
        worst = fmax(worst, got.limit);
        if (largest > got.limit * (1 + 1e-6) + 1e-6 || fabs(largest - got.largest) > 1e-6 ||
            fabs(sqrt(square / nkept) - got.rms) > 1e-6 || !(got.linear >= 0)) {
            diag("trial %zu: %g and %g samples, told %g and %g, limit %g", i, largest,
                 sqrt(square / nkept), got.largest, got.rms, got.limit);
            return false;
        }
    }
    return worst == info.difference;
}

/* As often as there are threads and limits of memory. */
static bool same_with_others(struct shape *s, uint64_t *seed)
{
    psr_dedisp *p, *q;
    psr_err err;
    struct psr_dedisp_desc other = s->d;
    other.nthread = s->d.nthread % 3 + 1;
    other.mem_bytes = INT64_C(1) << 28;
    if (psr_dedisp_create(&p, &s->d, &err))
        return false;
    if (psr_dedisp_create(&q, &other, &err)) {
        psr_dedisp_destroy(p);
        return false;
    }
    bool pass = within_limits(s, p) && run(s, p, 0, seed);
    size_t bytes = s->d.ndm * s->nout * sizeof *s->out;
    float *first = tap_take(bytes, 1);
    memcpy(first, s->out, bytes);
    pass = pass && run(s, q, 0, seed) && !memcmp(first, s->out, bytes);
    free(first);
    psr_dedisp_destroy(p);
    psr_dedisp_destroy(q);
    return pass;
}

static void test_random_shapes(uint64_t *seed)
{
    static struct shape s;
    int n, count = tap_cases(100, 400);
    for (n = 0; n < count; n++) {
        uint64_t now = *seed;
        choose(&s, true, seed);
        bool pass = check_shape(&s, seed) && same_with_others(&s, seed);
        if (!end_shape(&s, pass, n, now))
            break;
    }
    ok(n == count,
       "%d random shapes: every sum is the naive one with the delays told, which are within limits",
       count);
}

/* --- chosen shapes ---------------------------------------------------------------------------- */

static void check_chosen(struct shape *s, size_t nsamp, bool all_ones, size_t step, double saved,
                         uint64_t *seed, const char *what)
{
    psr_dedisp *p;
    psr_err err;
    s->d.algo = PSR_DEDISP_TREE;
    fill(s, nsamp, seed, all_ones);
    if (!ok(!psr_dedisp_create(&p, &s->d, &err), "%s: a plan", what)) {
        diag("%s", err.msg);
        drop(s);
        return;
    }
    struct psr_dedisp_info info;
    psr_dedisp_describe(p, &info);
    ok(within_limits(s, p), "%s: delays are within limits", what);
    ok(run(s, p, 0, seed) && s->nout && matches(s, p, step), "%s: the naive sums", what);
    ok(info.adds_direct >= saved * info.adds_planned, "%s: %.0f adds of %.0f, %.1f MB", what,
       info.adds_planned, info.adds_direct, (double)info.bytes * 1e-6);
    psr_dedisp_destroy(p);
    drop(s);
}

static void test_chosen_shapes(uint64_t *seed)
{
    static struct shape s;
    set_band(&s, 600, 300, 0.5);
    check_chosen(&s, 4000, true, 61, 8, seed, "all samples 255, more channels than 16 bits hold");
    set_band(&s, 600, 300, 0.5);
    check_chosen(&s, 4000, false, 61, 8, seed, "rows shared by many trials");
    set_band(&s, 600, 12, 60);
    check_chosen(&s, 9000, false, 61, 0.5, seed, "trials hundreds of samples apart");
    set_band(&s, 64, 20, 200);
    check_chosen(&s, 40000, false, 1009, 0.5, seed, "trials a thousand samples apart");
    set_band(&s, 512, 30, 0.5);
    s.d.nbit = 16;
    check_chosen(&s, 2000, true, 7, 2, seed, "16-bit sums above 2^24");
    set_band(&s, 128, 3, 0.5);
    s.d.nbit = 16;
    s.d.downsamp = 1024;
    check_chosen(&s, 6000, true, 1, 0.5, seed, "16-bit sums above 2^32");
    set_band(&s, 256, 300, 0.3);
    s.d.mem_bytes = 3000000;
    check_chosen(&s, 5000, false, 61, 1, seed, "little memory");
}

/* DM 0 is summed as it is, whatever the other trials. */
static void test_zero(uint64_t *seed)
{
    static struct shape s;
    psr_dedisp *p;
    psr_err err;
    set_band(&s, 200, 50, 0.1);
    s.d.algo = PSR_DEDISP_TREE;
    s.d.smear = 3;
    for (size_t i = 0; i < 50; i++)
        s.dm[i] = 0.1 * (double)i;
    fill(&s, 500, seed, false);
    if (ok(!psr_dedisp_create(&p, &s.d, &err), "a plan from DM 0")) {
        int64_t sum = 0;
        for (size_t c = 0; c < 200; c++)
            sum += psr_dedisp_delay(p, 0, c);
        ok(!sum && !psr_dedisp_shift(p, 0), "DM 0 delays no channel");
        psr_dedisp_destroy(p);
    }
    drop(&s);
}

/* A finer tolerance gives delays nearer to the exact ones, and eight channels are exact. */
static void test_tolerance(void)
{
    static struct shape s;
    const double smear[] = {1.01, 1.1, 2};
    double rms[3] = {0};
    psr_dedisp *p;
    psr_err err;
    struct psr_dedisp_smearing got;
    for (int n = 0; n < 3; n++) {
        set_band(&s, 512, 200, 0.5);
        s.d.algo = PSR_DEDISP_TREE;
        s.d.smear = smear[n];
        if (psr_dedisp_create(&p, &s.d, &err))
            continue;
        for (size_t i = 0; i < 200; i++) {
            psr_dedisp_smearing(p, i, &got);
            rms[n] += got.rms / 200;
        }
        psr_dedisp_destroy(p);
    }
    ok(rms[0] > 0.28 && rms[0] < rms[1] && rms[1] < rms[2] && rms[2] < 3,
       "tolerances 1.01, 1.1 and 2: %.3f, %.3f and %.3f samples rms", rms[0], rms[1], rms[2]);
    set_band(&s, 8, 200, 10);
    s.d.algo = PSR_DEDISP_TREE;
    double largest = 0;
    if (ok(!psr_dedisp_create(&p, &s.d, &err), "a plan of one leaf")) {
        for (size_t i = 0; i < 200; i++) {
            psr_dedisp_smearing(p, i, &got);
            largest = fmax(largest, got.largest);
        }
        psr_dedisp_destroy(p);
    }
    ok(largest > 0.4 && largest <= 0.5 + 1e-9, "its delays are the exact ones, rounded");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_random_shapes(&seed);
    test_chosen_shapes(&seed);
    test_zero(&seed);
    test_tolerance();
    return done_testing();
}
