/* dedisp on a CUDA device against the CPU: the same bits for integers, whatever the blocks pushed.
 */
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <psrkit/experimental/dedisp.h>

#include "base/device/device_internal.h"
#include "search/dedisp/cuda/dedisp_cuda.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/support/tap.h"
#include <cuda_runtime_api.h>
#include <string.h>

struct shape {
    struct psr_dedisp_desc d;
    double *freq_mhz, *dm;
    unsigned char *keep, *data;
    size_t nsamp, row_bytes;
};

static void drop(struct shape *s)
{
    free(s->freq_mhz);
    free(s->dm);
    free(s->keep);
    free(s->data);
}

/* --- making shapes ---------------------------------------------------------------------------- */

static void fill(struct shape *s, size_t nsamp, uint64_t *seed)
{
    s->nsamp = nsamp;
    s->row_bytes = (s->d.nchan * (size_t)s->d.nbit + 7) / 8;
    size_t bytes = nsamp * s->row_bytes;
    s->data = tap_take(bytes + 8, 1);
    if (s->d.kind == PSR_FLOAT)
        for (size_t n = 0; n < bytes; n += 4) {
            float x = (float)(tap_uniform(seed) - 0.3);
            memcpy(s->data + n, &x, 4);
        }
    else
        for (size_t n = 0; n < bytes; n += 8) {
            uint64_t x = tap_random(seed);
            memcpy(s->data + n, &x, 8);
        }
}

/* Channels over a band from low_mhz, up or down; trials up to a delay of "shift" samples. */
static void lay_out(struct shape *s, double low_mhz, double width_mhz, bool rising, double from,
                    double shift)
{
    s->freq_mhz = tap_take(s->d.nchan, sizeof *s->freq_mhz);
    s->dm = tap_take(s->d.ndm, sizeof *s->dm);
    double step = width_mhz / (double)s->d.nchan, top = low_mhz + width_mhz - step;
    for (size_t c = 0; c < s->d.nchan; c++)
        s->freq_mhz[c] = rising ? low_mhz + (double)c * step : top - (double)c * step;
    double per_dm = psr_delay_s(s->d.dmconst, 1, low_mhz) - psr_delay_s(s->d.dmconst, 1, top);
    double most = per_dm > 1e-12 ? shift * s->d.tsamp_s * (double)s->d.downsamp / per_dm : 100;
    for (size_t i = 0; i < s->d.ndm; i++)
        s->dm[i] = most * (from + (1 - from) * (double)i / (double)s->d.ndm);
    s->d.freq_mhz = s->freq_mhz;
    s->d.dm = s->dm;
}

static void disturb_trials(struct shape *s, uint64_t *seed)
{
    int style = (int)tap_between(seed, 0, 4);
    for (size_t i = 0; i < s->d.ndm; i++) {
        size_t j = (size_t)tap_between(seed, 0, (int64_t)i);
        double dm = s->dm[i];
        if (style == 0) { /* shuffled */
            s->dm[i] = s->dm[j];
            s->dm[j] = dm;
        } else if (style == 1) { /* repeated */
            s->dm[i] = s->dm[j];
        }
    }
}

static void disturb_channels(struct shape *s, uint64_t *seed)
{
    double hit = tap_uniform(seed) * 0.4;
    s->keep = tap_take(s->d.nchan, 1);
    for (size_t c = 0; c < s->d.nchan; c++)
        s->keep[c] = tap_uniform(seed) >= hit;
    s->keep[tap_between(seed, 0, (int64_t)s->d.nchan - 1)] = 1;
    s->d.keep = tap_between(seed, 0, 1) ? s->keep : NULL;
}

static void choose(struct shape *s, uint64_t *seed)
{
    static const struct {
        int nbit;
        enum psr_kind kind;
    } kinds[] = {{8, PSR_UINT},  {8, PSR_UINT}, {1, PSR_UINT}, {2, PSR_UINT},   {4, PSR_UINT},
                 {16, PSR_UINT}, {8, PSR_INT},  {16, PSR_INT}, {32, PSR_FLOAT}, {32, PSR_UINT}};
    static const size_t factors[] = {1, 1, 1, 1, 2, 3, 5, 16, 300};
    size_t kind = (size_t)tap_between(seed, 0, 9);
    bool large = tap_uniform(seed) < 0.5;
    memset(s, 0, sizeof *s);
    s->d = (struct psr_dedisp_desc){
        .size = sizeof(struct psr_dedisp_desc),
        .nchan = (size_t)tap_between(seed, 1, large ? 200 : 40),
        .tsamp_s = 64e-6,
        .nbit = kinds[kind].nbit,
        .kind = kinds[kind].kind,
        .downsamp = factors[tap_between(seed, 0, 8)],
        .dmconst = PSR_DMCONST_PRESTO,
        .ndm = (size_t)tap_between(seed, 1, large ? 150 : 12),
        .mem_bytes = 256 << 20,
    };
    int algo = (int)tap_between(seed, 0, 5);
    s->d.tol = algo == 4;
    if (algo == 5) {
        s->d.algo = PSR_DEDISP_SUBBAND;
        s->d.nsub = (size_t)tap_between(seed, 1, 16);
        s->d.nchan = (s->d.nchan + s->d.nsub - 1) / s->d.nsub * s->d.nsub;
    }
    if (!tap_between(seed, 0, 2) && !s->d.nsub) /* whole words of every number of bits */
        s->d.nchan = (s->d.nchan + 127) / 128 * 128;
    double shift = tap_uniform(seed) * (tap_between(seed, 0, 3) ? 300 : 3000);
    lay_out(s, 300 + tap_uniform(seed) * 1200, 0.2 + tap_uniform(seed) * 500,
            tap_between(seed, 0, 1), tap_between(seed, 0, 1) ? 0 : tap_uniform(seed), shift);
    disturb_trials(s, seed);
    disturb_channels(s, seed);
    size_t most = s->d.downsamp > 16 ? 20000 : (size_t)(shift + 2000) * s->d.downsamp;
    fill(s, (size_t)tap_between(seed, 1, (int64_t)most), seed);
}

/* --- running ---------------------------------------------------------------------------------- */

/* Ways through the library. */
enum way {
    ON_CPU,
    ON_DEVICE, /* and back */
    RESIDENT,  /* fetched from the devices afterwards */
};

/* The next spectra; on error the message is told. */
static bool push(psr_dedisp *p, enum way way, const void *in, size_t n, float *out, size_t stride,
                 size_t *got)
{
    psr_err err = {0};
    psr_status st = PSR_OK;
    *got = 0;
    if (way != RESIDENT) {
        st = psr_dedisp_execute(p, in, n, out, stride, got, &err);
        if (st)
            diag("execute: %s", err.msg);
        return !st;
    }
    const struct psr_device_series *device_series;
    size_t ndevice_series, taken;
    st = psr_dedisp_execute_device(p, in, n, &taken, &device_series, &ndevice_series, got, &err);
    if (!st && *got)
        st = psr_device_series_fetch(device_series, ndevice_series, *got, out, stride, &err);
    if (st || taken != n)
        diag("execute: %zu of %zu: %s", taken, n, err.msg);
    return !st && taken == n;
}

/* Pushes all spectra in blocks of "piece", or of odd sizes where it is 0.
 * Returned: [ndm][*nout], NULL after a failure */
static float *run(struct shape *s, enum way way, size_t piece, size_t *nout, uint64_t *seed)
{
    static const size_t odd[] = {0, 1, 2, 31, 64, 513};
    psr_dedisp *p;
    psr_err err = {0};
    s->d.backend = way == ON_CPU ? "cpu" : "cuda";
    if (psr_dedisp_create(&p, &s->d, &err)) {
        diag("create: %s", err.msg);
        return NULL;
    }
    size_t whole = s->nsamp / s->d.downsamp, shift = psr_dedisp_maxshift(p), done = 0;
    *nout = whole > shift ? whole - shift : 0;
    float *out = tap_take(s->d.ndm * *nout, sizeof *out);
    memset(out, 0xff, s->d.ndm * *nout * sizeof *out);
    for (size_t t = 0, n, got; t < s->nsamp; t += n, done += got) {
        int kind = (int)tap_between(seed, 0, 7);
        n = piece ? piece : kind < 6 ? odd[kind] : kind == 6 ? shift + 1 : s->nsamp / 3 + 1;
        n = n < s->nsamp - t ? n : s->nsamp - t;
        /* What there is room for at once; here, little. */
        n = way == RESIDENT && n > 1000 ? 1000 : n;
        if (!push(p, way, s->data + t * s->row_bytes, n, out + done, *nout, &got)) {
            free(out);
            psr_dedisp_destroy(p);
            return NULL;
        }
    }
    psr_dedisp_destroy(p);
    return out;
}

static size_t compare_bits(const struct shape *s, const float *got, const float *want, size_t nout)
{
    size_t bad = 0;
    for (size_t n = 0; n < s->d.ndm * nout; n++)
        if (memcmp(got + n, want + n, sizeof *got) && !bad++)
            diag("trial %zu sample %zu: got %.9g, want %.9g", n / nout, n % nout, got[n], want[n]);
    return bad;
}

static size_t compare_floats(struct shape *s, const float *got, const float *want, size_t nout,
                             uint64_t *seed)
{
    size_t bad = 0;
    if (s->d.kind == PSR_FLOAT)
        for (size_t n = 3; n < s->nsamp * s->row_bytes; n += 4)
            s->data[n] &= 0x7f;
    float *weight = run(s, ON_CPU, s->nsamp, &nout, seed);
    for (size_t n = 0; weight && n < s->d.ndm * nout; n++)
        if (!(fabsf(got[n] - want[n]) <= 2e-6f * weight[n]) && !bad++)
            diag("trial %zu sample %zu: got %.9g, want %.9g", n / nout, n % nout, got[n], want[n]);
    bad += !weight;
    free(weight);
    return bad;
}

static bool check_shape(struct shape *s, enum way way, size_t piece, uint64_t *seed)
{
    size_t nout, nout_cpu;
    float *want = run(s, ON_CPU, s->nsamp, &nout_cpu, seed);
    float *got = run(s, way, piece, &nout, seed);
    bool pass = got && want && nout == nout_cpu &&
                !(s->d.nbit == 32 ? compare_floats(s, got, want, nout, seed)
                                  : compare_bits(s, got, want, nout));
    if (!pass)
        diag("way %d, %zu devices: nchan %zu nbit %d kind %d ds %zu ndm %zu algo %d tol %d nsub "
             "%zu nsamp %zu keep %d",
             (int)way, s->d.ndevice, s->d.nchan, s->d.nbit, (int)s->d.kind, s->d.downsamp, s->d.ndm,
             (int)s->d.algo, s->d.tol, s->d.nsub, s->nsamp, s->d.keep != NULL);
    free(got);
    free(want);
    return pass;
}

/* --- tests ------------------------------------------------------------------------------------ */

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

static void test_random_shapes(uint64_t *seed)
{
    const char *text = getenv("PSRKIT_TEST_COUNT");
    int n, count = text ? atoi(text) : 300;
    for (n = 0; n < count; n++) {
        struct shape s;
        uint64_t now = *seed;
        choose(&s, seed);
        deal_out(&s, seed);
        enum way way = tap_between(seed, 0, 3) ? ON_DEVICE : RESIDENT;
        bool pass = check_shape(&s, way, tap_between(seed, 0, 2) ? s.nsamp : 0, seed);
        drop(&s);
        if (!pass) {
            diag("shape %d, state %llu", n, (unsigned long long)now);
            break;
        }
    }
    ok(n == count, "%d random shapes: the same sums as on the CPU", count);
}

struct extreme {
    const char *what;
    size_t nchan, ndm, nsamp, downsamp;
    double low_mhz, width_mhz, shift;
    int nbit;
    size_t piece;
    int64_t mem_bytes; /* 0: plenty */
};

static void test_extremes(uint64_t *seed)
{
    static const struct extreme extremes[] = {
        {"4096 channels", 4096, 400, 9000, 1, 1250, 300, 1500, 8, 0, 0},
        {"1000 channels of 16 bits", 1000, 300, 9000, 1, 1250, 300, 1500, 16, 4000, 0},
        {"65536 channels", 65536, 40, 1500, 1, 1250, 300, 700, 8, 0, 0},
        {"65536 channels of 16 bits", 65536, 33, 700, 1, 1250, 300, 100, 16, 0, 0},
        {"one channel", 1, 300, 100000, 1, 1250, 300, 0, 8, 30000, 0},
        {"one trial", 4096, 1, 9000, 1, 1250, 300, 700, 8, 0, 0},
        {"100000 trials", 16, 100000, 900, 1, 1250, 300, 300, 8, 0, 0},
        {"delays of 3 million samples", 8, 40, 3100000, 1, 100, 50, 3000000, 8, 1000000, 0},
        {"fine trials, delays of 300000 samples", 64, 40, 350000, 1, 100, 0.5, 300000, 2, 0, 0},
        {"a long stream", 128, 100, 700000, 1, 1250, 300, 2000, 8, 19650, 64 << 20},
        {"a long stream of 4 bits", 512, 64, 300000, 1, 1250, 300, 5000, 4, 19999, 64 << 20},
        {"3050 trials", 512, 3050, 70000, 1, 1250, 300, 7235, 4, 19654, 0},
        {"sums of 65536 samples", 40, 40, 65536 * 9, 65536, 1250, 300, 3, 4, 100001, 0},
        {"sums beyond 32 bits", 600, 40, 65536 * 4, 65536, 1250, 300, 2, 16, 0, 0},
    };
    for (size_t n = 0; n < sizeof extremes / sizeof *extremes; n++) {
        const struct extreme *e = extremes + n;
        struct shape s = {.d = {.size = sizeof(struct psr_dedisp_desc),
                                .nchan = e->nchan,
                                .ndm = e->ndm,
                                .nbit = e->nbit,
                                .kind = PSR_UINT,
                                .tsamp_s = 64e-6,
                                .downsamp = e->downsamp,
                                .mem_bytes = e->mem_bytes ? e->mem_bytes : INT64_C(16) << 30,
                                .dmconst = PSR_DMCONST_SIGPROC}};
        lay_out(&s, e->low_mhz, e->width_mhz, false, 0, e->shift);
        fill(&s, e->nsamp, seed);
        ok(check_shape(&s, ON_DEVICE, e->piece ? e->piece : s.nsamp, seed), "%s", e->what);
        drop(&s);
    }
}

/* What the planner makes of a shape, all of whose channels are kept; to be freed. */
static bool make_plan(const struct shape *s, struct psr_cuda_plan *plan)
{
    psr_err err;
    int max_spread[DEDISP_KINDS];
    struct psr_dedisp_layout w = {.nkept = s->d.nchan,
                                  .ndm = s->d.ndm,
                                  .dm = s->dm,
                                  .tol = s->d.tol,
                                  .downsamp = 1,
                                  .sample_max = 255,
                                  .dt_s = s->d.tsamp_s};
    w.coeff = tap_take(w.nkept, sizeof *w.coeff);
    for (size_t c = 0; c < w.nkept; c++)
        w.coeff[c] = 1 / psr_delay_s(s->d.dmconst, 1, s->freq_mhz[c]);
    w.coeff_top = w.coeff[0];
    w.coeff_low = w.coeff[w.nkept - 1];
    bool made = !dedisp_k_max_spread(max_spread) &&
                !psr_cuda_plan_make(plan, &w, max_spread, 1 << 20, &err);
    free(w.coeff);
    return made;
}

struct steps {
    const char *what;
    size_t nchan, ndm;
    double low_mhz, width_mhz, shift;
    int nbit, tol;
    bool grow;         /* steps in DM grow from 0 on */
    bool wide, narrow; /* blocks that there are to be */
};

/* The kind of blocks follows from the steps in DM. */
static void test_kinds(uint64_t *seed)
{
    static const struct steps steps[] = {
        {"small steps: wide blocks", 300, 96, 1250, 300, 120, 8, 0, false, true, false},
        {"large steps: narrow blocks", 1024, 150, 1182, 400, 2550, 8, 0, false, false, true},
        {"steps that grow: both", 1000, 300, 1182, 400, 3000, 8, 0, true, true, true},
        {"16 bits", 333, 300, 1182, 400, 3000, 16, 0, true, true, true},
        {"a steep band", 200, 300, 300, 400, 3000, 8, 0, true, true, true},
        {"wide channels", 200, 200, 1182, 400, 3500, 8, 0, false, false, true},
        {"rounded once a group", 512, 300, 1182, 400, 3000, 8, 1, true, true, true},
        {"few trials: one narrow block", 512, 13, 1250, 300, 100, 8, 0, false, false, true},
        {"a trial more than 20 wide blocks", 512, 641, 1250, 300, 641, 8, 0, false, true, false},
    };
    for (size_t n = 0; n < sizeof steps / sizeof *steps; n++) {
        const struct steps *e = steps + n;
        struct psr_cuda_plan plan = {0};
        struct shape s = {.d = {.size = sizeof(struct psr_dedisp_desc),
                                .nchan = e->nchan,
                                .ndm = e->ndm,
                                .nbit = e->nbit,
                                .kind = PSR_UINT,
                                .tsamp_s = 64e-6,
                                .downsamp = 1,
                                .tol = e->tol,
                                .mem_bytes = INT64_C(1) << 30,
                                .dmconst = PSR_DMCONST_SIGPROC}};
        lay_out(&s, e->low_mhz, e->width_mhz, false, 0, e->shift);
        for (size_t i = 0; e->grow && i < e->ndm; i++)
            s.dm[i] *= (double)i / (double)e->ndm;
        fill(&s, (size_t)e->shift + 3001, seed);
        bool pass = make_plan(&s, &plan) && plan.multiply && (plan.nwide > 0) == e->wide &&
                    (plan.nblock > plan.nwide) == e->narrow;
        ok(pass && check_shape(&s, ON_DEVICE, s.nsamp, seed), "%s: %zu blocks, %zu of them wide",
           e->what, plan.nblock, plan.nwide);
        psr_cuda_plan_free(&plan);
        drop(&s);
    }
}

/* More blocks than a launch takes. */
static void test_batches(void)
{
    struct psr_cuda_plan plan = {0};
    struct shape s = {.d = {.size = sizeof(struct psr_dedisp_desc),
                            .nchan = 8,
                            .ndm = 65536 * DEDISP_TRIALS + 1,
                            .tsamp_s = 64e-6,
                            .downsamp = 1,
                            .dmconst = PSR_DMCONST_SIGPROC}};
    lay_out(&s, 1250, 300, false, 0, 1000);
    ok(make_plan(&s, &plan) && plan.multiply && plan.nblock == 65537 && plan.nbatch == 2 &&
           plan.batch[1] == DEDISP_LAUNCH && plan.batch[2] == plan.nblock,
       "%zu blocks in %zu batches", plan.nblock, plan.nbatch);
    psr_cuda_plan_free(&plan);
    drop(&s);
}

/* All but 200 MB of the device is taken: pieces shrink; then all: the device is no good. */
static void test_little_memory(uint64_t *seed)
{
    size_t left, all;
    void *block = NULL;
    struct shape s = {.d = {.size = sizeof(struct psr_dedisp_desc),
                            .nchan = 256,
                            .ndm = 2000,
                            .nbit = 8,
                            .kind = PSR_UINT,
                            .tsamp_s = 64e-6,
                            .downsamp = 1,
                            .mem_bytes = INT64_C(8) << 30,
                            .dmconst = PSR_DMCONST_PRESTO}};
    lay_out(&s, 1250, 300, false, 0, 2000);
    fill(&s, 30000, seed);
    if (cudaMemGetInfo(&left, &all) || cudaMalloc(&block, left - (200u << 20))) {
        skip("little memory", "the device's memory cannot be taken");
        drop(&s);
        return;
    }
    ok(check_shape(&s, ON_DEVICE, s.nsamp, seed), "pieces shrink to the memory there is");
    drop(&s);
    s = (struct shape){.d = s.d};
    s.d.nchan = 4096;
    lay_out(&s, 1250, 300, false, 0, 500000);
    s.d.backend = "cuda";
    psr_dedisp *p;
    psr_err err;
    ok(psr_dedisp_create(&p, &s.d, &err) == PSR_EDEVICE && strstr(err.msg, "memory"),
       "too little memory: %s", err.msg);
    cudaFree(block);
    drop(&s);
}

static void test_choice(uint64_t *seed)
{
    struct shape s;
    psr_dedisp *p;
    psr_err err;
    struct psr_dedisp_info info;
    choose(&s, seed);
    s.d.backend = "auto";
    if (ok(!psr_dedisp_create(&p, &s.d, &err), "auto makes a plan")) {
        psr_dedisp_describe(p, &info);
        ok(!strcmp(info.backend, "cuda"), "on the device");
        psr_dedisp_destroy(p);
    }
    s.d.ndevice = 0;
    s.d.device = 4711;
    ok(psr_dedisp_create(&p, &s.d, &err) == PSR_OK, "auto without that device makes one");
    psr_dedisp_describe(p, &info);
    ok(!strcmp(info.backend, "cpu"), "on the CPU");
    psr_dedisp_destroy(p);
    s.d.backend = "cuda";
    ok(psr_dedisp_create(&p, &s.d, &err) == PSR_EDEVICE, "cuda without that device: %s", err.msg);
    drop(&s);
}

int main(void)
{
    psr_err err;
    uint64_t seed = tap_seed();
    if (!psr_device_count(&err)) {
        skip("dedispersion on a CUDA device", err.msg);
        return done_testing();
    }
    test_choice(&seed);
    test_kinds(&seed);
    test_batches();
    test_random_shapes(&seed);
    if (!getenv("PSRKIT_TEST_SHORT")) {
        test_extremes(&seed);
        test_little_memory(&seed);
    }
    return done_testing();
}
