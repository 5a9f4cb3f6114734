/* dedisp, tree algorithm, on a CUDA device: the CPU's bits on large shapes, and what is refused. */
#include "dedisp_tree_cuda.h"

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
    if (!getenv("PSRKIT_TEST_SHORT"))
        test_chosen_shapes(&seed);
    return done_testing();
}
