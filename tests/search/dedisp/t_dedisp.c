/* dedisp: every sum against one done the naive way, in integers, on random small shapes. */
#include "search/dedisp/dedisp_internal.h"
#include "tests/support/dedisp_shape.h"

static void test_random_shapes(uint64_t *seed)
{
    static struct shape s;
    int n, count = 250;
    for (n = 0; n < count; n++) {
        uint64_t now = *seed;
        choose(&s, false, seed);
        bool pass = check_shape(&s, seed);
        if (!end_shape(&s, pass, n, now))
            break;
    }
    ok(n == count, "%d random shapes: every sum is the naive one, whatever the blocks", count);
}

/* --- chosen shapes ---------------------------------------------------------------------------- */

static void check_chosen(struct shape *s, size_t nsamp, bool all_ones, size_t step, uint64_t *seed,
                         const char *what)
{
    psr_dedisp *p;
    psr_err err;
    fill(s, nsamp, seed, all_ones);
    if (!ok(!psr_dedisp_create(&p, &s->d, &err), "%s: a plan", what)) {
        diag("%s", err.msg);
        drop(s);
        return;
    }
    struct psr_dedisp_info info;
    psr_dedisp_describe(p, &info);
    ok(run(s, p, 0, seed) && matches(s, p, step), "%s: the naive sums", what);
    diag("%s: %.0f adds of %.0f, %.1f MB", what, info.adds_planned, info.adds_direct,
         (double)info.bytes * 1e-6);
    psr_dedisp_destroy(p);
    drop(s);
}

static void test_chosen_shapes(uint64_t *seed)
{
    static struct shape s;
    set_band(&s, 600, 40, 0.5);
    check_chosen(&s, 5000, true, 37, seed, "all samples 255, more channels than 16 bits hold");
    set_band(&s, 600, 300, 0.5);
    check_chosen(&s, 4000, false, 61, seed, "shared sums over many trials");
    set_band(&s, 512, 3, 0.5);
    s.d.nbit = 16;
    check_chosen(&s, 900, true, 7, seed, "16-bit sums above 2^24");
    set_band(&s, 128, 3, 0.5);
    s.d.nbit = 16;
    s.d.downsamp = 1024;
    check_chosen(&s, 6000, true, 1, seed, "16-bit sums above 2^32");
    set_band(&s, 3, 2, 0.5);
    s.d.nbit = 16;
    s.d.downsamp = 65536;
    check_chosen(&s, 140000, true, 1, seed, "the largest downsampling");
    set_band(&s, 64, 20, 900.0);
    check_chosen(&s, 40000, false, 1009, seed, "trials thousands of samples apart");
    set_band(&s, 64, 20, 900.0);
    s.d.late = true;
    check_chosen(&s, 40000, false, 1009, seed, "late trials thousands of samples apart");
    set_band(&s, 256, 100, 1.0);
    s.d.mem_bytes = 3000000;
    check_chosen(&s, 9000, false, 61, seed, "little memory");
    set_band(&s, 256, 100, 1.0); /* what is kept is moved to the start many times */
    s.d.downsamp = 3;
    s.d.mem_bytes = 3000000;
    check_chosen(&s, 60000, false, 61, seed, "little memory, three spectra a sample");
    set_band(&s, 256, 300, 0.3);
    s.d.mem_bytes = 1400000;
    check_chosen(&s, 5000, false, 61, seed, "memory for no program");
    set_band(&s, 64, 300, 3.2);
    s.d.nthread = 1;
    s.d.mem_bytes = 1980000;
    check_chosen(&s, 15000, false, 61, seed, "memory for two programs of five");
}

/* --- refusals --------------------------------------------------------------------------------- */

static bool refused(const struct shape *s, psr_status want, const char *field)
{
    psr_dedisp *p;
    psr_err err = {0};
    psr_status st = psr_dedisp_create(&p, &s->d, &err);
    psr_dedisp_destroy(p);
    if (st != want || strcmp(err.field, field))
        diag("status %d: %s", (int)st, err.msg);
    return st == want && !p && !strcmp(err.field, field);
}

#define REFUSE(status, field, ...)                                                                 \
    do {                                                                                           \
        set_band(&s, 16, 4, 1);                                                                    \
        __VA_ARGS__;                                                                               \
        ok(refused(&s, status, field), "refused: " field);                                         \
    } while (0)

static void test_refusals(void)
{
    static struct shape s;
    REFUSE(PSR_EINVAL, "nchan", s.d.nchan = 0);
    REFUSE(PSR_EINVAL, "nchan", s.d.nchan = (1 << 20) + 1);
    REFUSE(PSR_EINVAL, "nbit", s.d.nbit = 3);
    REFUSE(PSR_EINVAL, "nbit", s.d.nbit = 16; s.d.kind = PSR_FLOAT);
    REFUSE(PSR_EINVAL, "tsamp_s", s.d.tsamp_s = 0);
    REFUSE(PSR_EINVAL, "dmconst", s.d.dmconst = -1);
    REFUSE(PSR_EINVAL, "downsamp", s.d.downsamp = 0);
    REFUSE(PSR_EINVAL, "downsamp", s.d.downsamp = 65537);
    REFUSE(PSR_EINVAL, "freq_mhz", s.freq_mhz[3] = -1400);
    REFUSE(PSR_EINVAL, "ndm", s.d.ndm = 0);
    REFUSE(PSR_EINVAL, "dm", s.dm[2] = -0.5);
    REFUSE(PSR_EINVAL, "dm", s.dm[0] = -0.5);
    REFUSE(PSR_EINVAL, "dm", s.dm[s.d.ndm - 1] = NAN);
    REFUSE(PSR_EINVAL, "freq_mhz", s.freq_mhz[0] = 0);
    REFUSE(PSR_EINVAL, "freq_mhz", s.freq_mhz[15] = NAN);
    REFUSE(PSR_EINVAL, "tol", s.d.tol = 2);
    REFUSE(PSR_EINVAL, "tol", s.d.tol = -1);
    REFUSE(PSR_EINVAL, "ndm", s.d.ndm = (1 << 24) + 1);
    REFUSE(PSR_EINVAL, "nthread", s.d.nthread = -1);
    REFUSE(PSR_EINVAL, "nthread", s.d.nthread = 4097);
    REFUSE(PSR_EINVAL, "mem_bytes", s.d.mem_bytes = -1);
    REFUSE(PSR_EINVAL, "ndevice", s.d.ndevice = 1025);
    REFUSE(PSR_EINVAL, "algo", s.d.algo = (enum psr_dedisp_algo)7);
    REFUSE(PSR_EINVAL, "smear", s.d.algo = PSR_DEDISP_TREE; s.d.smear = 1);
    REFUSE(PSR_EINVAL, "smear", s.d.algo = PSR_DEDISP_TREE; s.d.smear = 101);
    REFUSE(PSR_ENOMEM, "mem_bytes", s.d.algo = PSR_DEDISP_TREE; s.d.mem_bytes = 200);
    REFUSE(PSR_EINVAL, "nsub", s.d.algo = PSR_DEDISP_SUBBAND; s.d.nsub = 5);
    REFUSE(PSR_EINVAL, "late", s.d.algo = PSR_DEDISP_SUBBAND; s.d.nsub = 4; s.d.late = true);
    REFUSE(PSR_EINVAL, "freq_mhz", s.d.algo = PSR_DEDISP_SUBBAND; s.d.nsub = 4;
           s.freq_mhz[7] = 1600);
    REFUSE(PSR_EINVAL, "keep", s.d.keep = s.keep);
    REFUSE(PSR_EINVAL, "dm", s.dm[1] = 1e12);
    REFUSE(PSR_ENOMEM, "mem_bytes", s.d.mem_bytes = 100000; s.dm[1] = 20000);
    REFUSE(PSR_EDEVICE, "backend", s.d.backend = "abacus");
    set_band(&s, 16, 4, 1);
    psr_dedisp *p;
    float out[16];
    size_t got;
    unsigned char in[16 * 200] = {0};
    if (ok(!psr_dedisp_create(&p, &s.d, NULL), "a plan, and no psr_err")) {
        ok(psr_dedisp_execute(p, in, 200, out, 1, &got, NULL) == PSR_EINVAL && got == 0,
           "refused: a stride too short");
        const struct psr_device_series *device_series;
        size_t ndevice_series, taken;
        psr_err err = {0};
        ok(psr_dedisp_execute_device(p, in, 200, &taken, &device_series, &ndevice_series, &got,
                                     &err) == PSR_EUNSUPPORTED &&
               !taken && !ndevice_series && !got,
           "refused: %s", err.msg);
        size_t block = psr_dedisp_block(p);
        ok(block > 0 && block <= 1 << 20, "a block of %zu spectra", block);
        psr_dedisp_destroy(p);
    }
    psr_dedisp_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_random_shapes(&seed);
    test_chosen_shapes(&seed);
    test_refusals();
    return done_testing();
}
