/* dedisp, tree algorithm, on a CUDA device: naive sums with the delays that the plan tells, on random
 * shapes. */
#include "dedisp_tree_cuda.h"

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

int main(void)
{
    psr_err err;
    uint64_t seed = tap_seed();
    if (!psr_device_count(&err)) {
        skip("tree dedispersion on a CUDA device", err.msg);
        return done_testing();
    }
    test_random_shapes(&seed);
    test_wide_shapes(&seed);
    return done_testing();
}
