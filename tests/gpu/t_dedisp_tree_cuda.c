/* dedisp, tree algorithm, on a CUDA device: naive sums with the delays that the plan tells, on random
 * shapes; and the CPU's bits on large ones. */
#include "../dedisp_shape.h"

#include <psrkit/device.h>

/* To one device, or to several, some of which are perhaps the same. */
static void deal_out(struct shape *s, uint64_t *seed)
{
    static int device[3];
    int n = psr_device_count(NULL);
    s->d.devices = device;
    s->d.ndevice = tap_between(seed, 0, 2) ? 0 : (size_t)tap_between(seed, 1, 3);
    for (size_t k = 0; k < s->d.ndevice; k++)
        device[k] = (int)tap_between(seed, 0, n - 1);
}

static bool is_refused(const struct shape *s)
{
    psr_dedisp *p;
    psr_err err;
    psr_status st = psr_dedisp_create(&p, &s->d, &err);
    psr_dedisp_destroy(p);
    return st == PSR_EUNSUPPORTED && strstr(err.msg, "tree");
}

static int count_shapes(void)
{
    const char *text = getenv("PSRKIT_TEST_COUNT");
    return text ? atoi(text) : 400;
}

static void test_random_shapes(uint64_t *seed)
{
    static struct shape s;
    int n, nrefused = 0, count = count_shapes();
    for (n = 0; n < count; n++) {
        uint64_t now = *seed;
        choose(&s, true, seed);
        s.d.late = false; /* on the CPU only */
        deal_out(&s, seed);
        s.d.backend = "cuda";
        s.d.mem_bytes = tap_between(seed, 0, 3) ? 0 : INT64_C(1) << tap_between(seed, 24, 30);
        bool floats = s.d.nbit == 32;
        bool pass = floats ? is_refused(&s) : check_shape(&s, seed);
        nrefused += floats;
        if (!end_shape(&s, pass, n, now))
            break;
    }
    ok(n == count, "%d random shapes: naive sums; %d of 32-bit samples are refused", count,
       nrefused);
}

/* At least three levels, of samples of up to 8 bits. */
static void choose_wide(struct shape *s, uint64_t *seed)
{
    static const double step[] = {0.01, 0.1, 0.5, 3, 40};
    static const int nbit[] = {1, 2, 4, 8, 8};
    size_t nchan = (size_t)tap_between(seed, 129, tap_between(seed, 0, 3) ? 400 : 1500);
    set_band(s, nchan, (size_t)tap_between(seed, 1, 60), step[tap_between(seed, 0, 4)]);
    s->d.algo = PSR_DEDISP_TREE;
    s->d.nbit = nbit[tap_between(seed, 0, 4)];
    s->d.kind = s->d.nbit == 8 && tap_between(seed, 0, 2) == 0 ? PSR_INT : PSR_UINT;
    s->d.downsamp = s->d.nbit < 8 ? (size_t)tap_between(seed, 1, 3) : 1;
    choose_keep(s, seed);
    s->d.mem_bytes = tap_between(seed, 0, 3) ? 0 : INT64_C(1) << tap_between(seed, 27, 30);
    fill(s, (size_t)tap_between(seed, 100, 4000), seed, tap_uniform(seed) < 0.1);
    deal_out(s, seed);
}

static void test_wide_shapes(uint64_t *seed)
{
    static struct shape s;
    int n, count = count_shapes() / 10;
    for (n = 0; n < count; n++) {
        uint64_t now = *seed;
        choose_wide(&s, seed);
        s.d.backend = "cuda";
        bool pass = check_shape(&s, seed);
        if (!end_shape(&s, pass, n, now))
            break;
    }
    ok(n == count, "%d random shapes of many channels: naive sums", count);
}

/* --- chosen shapes ---------------------------------------------------------------------------- */

struct chosen {
    const char *what;
    size_t nchan, ndm, nsamp, downsamp;
    double dm_step;
    int nbit;
    bool all_ones;
    int64_t mem_bytes; /* 0: plenty */
};

static bool run_on(struct shape *s, const char *backend, size_t piece, uint64_t *seed)
{
    psr_dedisp *p;
    psr_err err;
    s->d.backend = backend;
    if (psr_dedisp_create(&p, &s->d, &err)) {
        diag("create: %s", err.msg);
        return false;
    }
    bool pass = run(s, p, piece, seed) && matches(s, p, 1009);
    psr_dedisp_destroy(p);
    return pass;
}

/* In whole, and in pieces of odd sizes. */
static void check_chosen(const struct chosen *e, uint64_t *seed)
{
    static struct shape s;
    set_band(&s, e->nchan, e->ndm, e->dm_step);
    s.d.algo = PSR_DEDISP_TREE;
    s.d.nbit = e->nbit;
    s.d.downsamp = e->downsamp;
    s.d.mem_bytes = e->mem_bytes;
    fill(&s, e->nsamp, seed, e->all_ones);
    bool pass = run_on(&s, "cpu", s.nsamp, seed) && s.nout;
    size_t bytes = s.d.ndm * s.nout * sizeof *s.out;
    float *want = s.out;
    s.out = NULL;
    for (int pieces = 0; pieces < 2; pieces++)
        ok(run_on(&s, "cuda", pieces ? 0 : s.nsamp, seed) && pass && !memcmp(s.out, want, bytes),
           "%s%s: %zu samples of every trial", e->what, pieces ? ", in pieces" : "", s.nout);
    free(want);
    drop(&s);
}

static void test_chosen_shapes(uint64_t *seed)
{
    static const struct chosen all[] = {
        {"8 channels", 8, 100, 20000, 1, 3, 8, false, 0},
        {"64 channels", 64, 100, 20000, 1, 3, 8, false, 0},
        {"three levels", 600, 300, 9000, 1, 0.5, 8, false, 0},
        {"four levels, all samples 255", 1100, 300, 4000, 1, 0.5, 8, true, 0},
        {"four levels, 4096 channels", 4096, 300, 2000, 1, 0.3, 8, false, 0},
        {"five levels", 4200, 100, 1500, 1, 0.3, 4, false, 0},
        {"four levels, 16 bits, all ones", 1100, 100, 3000, 1, 0.5, 16, true, 0},
        {"sums of 3 spectra", 1100, 100, 9000, 3, 0.5, 8, true, 0},
        {"sums of 1024 of 16 bits", 30, 3, 40000, 1024, 0.5, 16, true, 0},
        {"trials a thousand samples apart", 64, 20, 40000, 1, 200, 8, false, 0},
        {"trials hundreds of samples apart", 600, 12, 9000, 1, 60, 8, false, 0},
        {"little memory", 600, 300, 30000, 1, 0.3, 8, false, 48 << 20},
    };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        check_chosen(&all[n], seed);
}

static void test_failures(void)
{
    static struct shape s;
    psr_dedisp *p;
    psr_err err;
    struct psr_dedisp_info info;
    set_band(&s, 600, 300, 0.5);
    s.d.algo = PSR_DEDISP_TREE;
    s.d.backend = "auto";
    if (ok(!psr_dedisp_create(&p, &s.d, &err), "auto makes a plan")) {
        psr_dedisp_describe(p, &info);
        ok(!strcmp(info.backend, "cuda") && info.adds_planned > 0 &&
               info.adds_planned < 0.2 * info.adds_direct,
           "on the device, with %.0f adds of %.0f", info.adds_planned, info.adds_direct);
        psr_dedisp_destroy(p);
    }
    s.d.nbit = 32;
    s.d.kind = PSR_FLOAT;
    if (ok(!psr_dedisp_create(&p, &s.d, &err), "floats: auto makes a plan")) {
        psr_dedisp_describe(p, &info);
        ok(!strcmp(info.backend, "cpu"), "on the CPU");
        psr_dedisp_destroy(p);
    }
    s.d.backend = "cuda";
    ok(is_refused(&s), "not on the device");
    s.d.nbit = 16;
    s.d.kind = PSR_UINT;
    s.d.downsamp = 65536;
    ok(is_refused(&s), "nor sums beyond 32 bits");
    s.d.downsamp = 1;
    s.d.mem_bytes = 1 << 20;
    psr_status st = psr_dedisp_create(&p, &s.d, &err);
    ok(st == PSR_ENOMEM && strstr(err.msg, "rows of a tree"), "too little memory: %s", err.msg);
    psr_dedisp_destroy(st ? NULL : p);
    drop(&s);
}

int main(void)
{
    psr_err err;
    uint64_t seed = tap_seed();
    if (!psr_device_count(&err)) {
        skip("tree dedispersion on a CUDA device", err.msg);
        return done_testing();
    }
    test_failures();
    test_random_shapes(&seed);
    test_wide_shapes(&seed);
    if (!getenv("PSRKIT_TEST_SHORT"))
        test_chosen_shapes(&seed);
    return done_testing();
}
