/* Beams on a CUDA device against the CPU and direct sums, for the grids of the tensor kernels and
 * for others: arrays in any order, weights, nibbles, patterns, sums of any lengths, any blocks. */
#include "beam/beam_internal.h"
#include "beam_shape.h"
#include <psrkit/device.h>

#include <cuda_runtime_api.h>

enum { NTENSOR = 5, NGRID = 8 };
static const size_t grid[NGRID][3] = {{8, 8, 64},    {8, 12, 64}, {16, 16, 256}, {16, 20, 256},
                                      {24, 24, 512}, {5, 7, 31},  {12, 10, 77},  {32, 6, 150}};

/* --- runs ------------------------------------------------------------------------------------- */

static psr_beam *make_plan(struct shape *s, const char *backend)
{
    psr_beam *p;
    psr_err err;
    s->d.backend = backend;
    if (psr_beam_create(&p, &s->d, &err)) {
        diag("%s", err.msg);
        return NULL;
    }
    return p;
}

/* All rows in blocks of random lengths, which are waited for or not, or in one. */
static char *run(psr_beam *p, const struct shape *s, size_t *nrow, uint64_t *seed)
{
    psr_err err;
    size_t stride = psr_beam_rows(p, s->nt), row = psr_beam_row_bytes(p), done = 0;
    char *out = tap_take(psr_beam_count(p) * (stride + 1), row);
    memset(out, 0xff, psr_beam_count(p) * (stride + 1) * row);
    for (size_t t = 0, n, got; t < s->nt; t += n, done += got) {
        n = s->nt - t;
        if (seed && tap_between(seed, 0, 2))
            n = (size_t)tap_between(seed, 0, (int64_t)n);
        const bool waits = !seed || tap_between(seed, 0, 1);
        if ((waits ? psr_beam_execute : psr_beam_start)(p, s->in + t * s->d.nfreq * 2 * s->a.ndish,
                                                        n, out + done * row, stride, &got, &err)) {
            diag("%s", err.msg);
            free(out);
            return NULL;
        }
    }
    if (psr_beam_wait(p, 0, &err))
        diag("%s", err.msg);
    *nrow = done;
    return out;
}

/* [nrow][nfreq] the brightest half-integer direction, by the CPU. */
static double *find_brightest(const struct shape *s)
{
    struct shape grid_of = *s;
    grid_of.d.pattern = PSR_BEAM_GRID;
    psr_beam *p = make_plan(&grid_of, "cpu");
    size_t nrow = 0, nf = s->d.nfreq;
    char *out = p ? run(p, s, &nrow, NULL) : NULL;
    double *most = tap_take(nrow * nf, sizeof *most);
    for (size_t b = 0; out && b < psr_beam_count(p); b++)
        for (size_t i = 0; i < nrow * nf; i++)
            most[i] = fmax(most[i], (double)((float *)(void *)out)[b * nrow * nf + i]);
    free(out);
    psr_beam_destroy(p);
    return most;
}

/* Largest difference, of the brightest direction of its channel and row. */
static double compare(const struct shape *s, size_t nbeam, size_t nrow, const float *got,
                      const float *want)
{
    double worst = 0, *most = find_brightest(s);
    for (size_t i = 0; i < nbeam * nrow * s->d.nfreq; i++) {
        double off = fabs((double)got[i] - (double)want[i]);
        if (!(off <= worst * most[i % (nrow * s->d.nfreq)]))
            worst = off < HUGE_VAL ? off / most[i % (nrow * s->d.nfreq)] : HUGE_VAL;
    }
    free(most);
    return worst;
}

/* Sums of equal length come in the same rows whatever the blocks; uneven ones need one block. */
static bool same_rows(const struct shape *s)
{
    for (size_t f = 1; f < s->d.nfreq; f++)
        if (s->tds[f] != s->tds[0])
            return false;
    return true;
}

static double against_cpu(struct shape *s, uint64_t *seed)
{
    psr_beam *cuda = make_plan(s, "cuda"), *cpu = make_plan(s, "cpu");
    size_t ngot = 0, nwant = 0;
    double worst = HUGE_VAL;
    if (cuda && cpu) {
        char *got = run(cuda, s, &ngot, same_rows(s) ? seed : NULL);
        char *want = run(cpu, s, &nwant, NULL);
        if (got && want && ngot == nwant)
            worst =
                compare(s, psr_beam_count(cuda), ngot, (float *)(void *)got, (float *)(void *)want);
        free(got);
        free(want);
    }
    psr_beam_destroy(cuda);
    psr_beam_destroy(cpu);
    return worst;
}

static void test_agreement(uint64_t *seed)
{
    static const char *const name[] = {"grid", "points", "product"};
    for (int g = 0; g < NGRID; g++)
        for (int pattern = 0; pattern < 3; pattern++) {
            double worst = 0;
            for (int n = 0; n < 4; n++) {
                struct shape s;
                choose(&s, grid[g], pattern, seed);
                worst = fmax(worst, against_cpu(&s, seed));
                drop(&s);
            }
            ok(worst < 3e-3, "%zu x %zu, %s: as the CPU (worst %.1e of the brightest)", grid[g][0],
               grid[g][1], name[pattern], worst);
        }
}

/* As many beams and rows as there are in use: all tiles of a channel, and all rows of a block. */
static void test_crowded(uint64_t *seed)
{
    for (int g = 0; g < NTENSOR; g++) {
        struct shape s;
        const struct wish wish = {3, (size_t)tap_between(seed, 1, 3), 1500 + 200 * (size_t)g};
        choose_as(&s, grid[g], PSR_BEAM_POINTS, wish, seed);
        const size_t heap = (size_t)tap_between(seed, 0, 2); /* all beams of a channel together */
        for (size_t b = 0; b < s.d.nbeam; b++)
            s.theta_ew[heap * s.d.nbeam + b] = 0.6 + 0.3 * tap_uniform(seed);
        double worst = against_cpu(&s, seed);
        ok(worst < 3e-3, "%zu x %zu, %zu beams: as the CPU (worst %.1e of the brightest)",
           grid[g][0], grid[g][1], s.d.nbeam, worst);
        drop(&s);
    }
}

/* Few channels and long sums, which several thread blocks share: in the same order each time. */
static void test_long(uint64_t *seed)
{
    for (int g = 0; g < NTENSOR; g++) {
        struct shape s;
        size_t nrow = 0, again = 0;
        const struct wish wish = {1 + (size_t)g % 3, (size_t)tap_between(seed, 300, 900), 0};
        choose_as(&s, grid[g], g % 3, wish, seed);
        free(s.in);
        s.nt = 2000;
        fill(&s, seed);
        double worst = against_cpu(&s, seed);
        psr_beam *p = make_plan(&s, "cuda");
        char *first = p ? run(p, &s, &nrow, NULL) : NULL;
        if (p)
            psr_beam_reset(p);
        char *second = p ? run(p, &s, &again, NULL) : NULL;
        size_t bytes = p ? psr_beam_count(p) * nrow * psr_beam_row_bytes(p) : 0;
        ok(worst < 3e-3, "%zu x %zu, %zu channels, sums of %zu: as the CPU (worst %.1e)",
           grid[g][0], grid[g][1], s.d.nfreq, wish.tds, worst);
        ok(first && second && again == nrow && !memcmp(first, second, bytes), "and the same again");
        free(first);
        free(second);
        psr_beam_destroy(p);
        drop(&s);
    }
}

/* --- direct sums ------------------------------------------------------------------------------ */

static void test_direct(uint64_t *seed)
{
    for (int g = 0; g < NGRID; g++) {
        struct shape s;
        double worst = 0;
        size_t nrow = 0;
        choose(&s, grid[g], g % 3, seed);
        psr_beam *p = make_plan(&s, "cuda");
        float *got = p ? (float *)(void *)run(p, &s, &nrow, NULL) : NULL;
        size_t nbeam = got ? psr_beam_count(p) : 0;
        double *most = find_brightest(&s);
        for (int n = 0; n < 60 && got; n++) {
            size_t f = (size_t)tap_between(seed, 0, (int64_t)s.d.nfreq - 1);
            size_t count = s.nt / s.tds[f], b = (size_t)tap_between(seed, 0, (int64_t)nbeam - 1);
            if (!count)
                continue;
            size_t k = (size_t)tap_between(seed, 0, (int64_t)count - 1);
            double ns, ew;
            ref_direction(&s.d, f, b, &ns, &ew);
            double off =
                (double)got[(b * nrow + k) * s.d.nfreq + f] - ref_beam(&s.d, s.in, f, k, ns, ew);
            worst = fmax(worst, fabs(off) / most[k * s.d.nfreq + f]);
        }
        ok(got && worst < 3e-3, "%zu x %zu: direct sums (worst %.1e of the brightest)", grid[g][0],
           grid[g][1], worst);
        free(most);
        free(got);
        psr_beam_destroy(p);
        drop(&s);
    }
}

/* Sample t has dish t % D alone, whose weight says which: all beams are |W|^2 |v|^2. */
static void test_one_hot(void)
{
    const size_t ndish = 512, nt = 2 * ndish, nf = 2;
    size_t tds[2] = {1, 1}, nrow = 0, bad = 0;
    uint64_t seed = 7;
    struct shape s = {.a = ref_array(24, 24, ndish, 0, &seed), .nt = nt};
    s.d = (struct psr_beam_desc){.size = sizeof(struct psr_beam_desc),
                                 .array = &s.a,
                                 .nfreq = nf,
                                 .tds = tds,
                                 .mem_bytes = 1 << 30};
    s.weight = tap_take(nf * 2 * ndish * 2, sizeof *s.weight);
    s.in = tap_take(nt * nf * 2 * ndish, 1);
    s.d.weight = s.weight;
    for (size_t i = 0; i < nf * 2 * ndish; i++)
        s.weight[2 * i] = 1 + (float)i / 2048;
    for (size_t t = 0; t < nt; t++)
        for (size_t f = 0; f < nf; f++)
            s.in[((t * nf + f) * 2 + t / ndish) * ndish + t % ndish] = ref_byte(3, -4, s.d.nibbles);
    psr_beam *p = make_plan(&s, "cuda");
    float *got = p ? (float *)(void *)run(p, &s, &nrow, NULL) : NULL;
    for (size_t b = 0; got && b < psr_beam_count(p); b++)
        for (size_t t = 0; t < nt; t++)
            for (size_t f = 0; f < nf; f++) {
                double w = (double)s.weight[2 * ((2 * f + t / ndish) * ndish + t % ndish)];
                double x = (double)got[(b * nt + t) * nf + f];
                bad += !(fabs(x - 25 * w * w) < 25 * w * w * 3e-3);
            }
    ok(got && nrow == nt && !bad, "each dish, polarisation, channel and time alone (%zu wrong)",
       bad);
    free(got);
    psr_beam_destroy(p);
    s.tds = NULL;
    drop(&s);
}

/* A beam in the direction where equal voltages are in phase. */
static void aim_at_zenith(struct shape *s)
{
    bool points = s->d.pattern == PSR_BEAM_POINTS;
    for (size_t f = 0; s->theta_ns && f < s->d.nfreq; f++) {
        s->theta_ns[f * (points ? s->d.nbeam : s->d.n_ns)] = 0;
        s->theta_ew[f * (points ? s->d.nbeam : s->d.n_ew)] = 0;
    }
}

/* The largest voltages there are, in phase in one direction, and T_ds = 1000. */
static void test_saturated(uint64_t *seed)
{
    static const uint8_t byte[] = {0x77, 0x88, 0x78};
    for (int g = 0; g < NTENSOR; g++)
        for (size_t n = 0; n < sizeof byte; n++) {
            struct shape s;
            choose(&s, grid[g], (int)n, seed);
            free(s.in);
            s.d.weight = NULL;
            s.d.nibbles = (struct psr_nibbles){0};
            s.nt = 2001;
            for (size_t f = 0; f < s.d.nfreq; f++)
                s.tds[f] = 1000;
            fill(&s, seed);
            memset(s.in, byte[n], s.nt * s.d.nfreq * 2 * s.a.ndish);
            aim_at_zenith(&s);
            double worst = against_cpu(&s, seed);
            ok(worst < 3e-3, "%zu x %zu: all voltages %02x for 1000 samples (worst %.1e)",
               grid[g][0], grid[g][1], byte[n], worst);
            drop(&s);
        }
}

/* --- the rest of the contract ----------------------------------------------------------------- */

static size_t count_levels_wrong(const struct shape *s, size_t nrow, size_t nbeam, int nbit,
                                 const float *x, const uint8_t *got, const float *offset,
                                 const float *scale)
{
    size_t nf = s->d.nfreq, bad = 0;
    for (size_t i = 0; i < nbeam * nrow * nf; i++) {
        size_t f = i % nf, k = i / nf % nrow;
        unsigned y = nbit == 8 ? got[i] : got[i / 2] >> (i % 2 * 4) & 15;
        unsigned want = psr_beam_quantise_value(x[i], offset[f], scale[f], nbit == 8 ? 255 : 15);
        bad += y != (k < s->nt / s->tds[f] ? want : 0);
    }
    return bad;
}

/* Levels that are wrong, of a plan that gave floats before. */
static size_t try_levels(const struct shape *s, psr_beam *p, int nbit)
{
    size_t nrow, n, bad = SIZE_MAX;
    float *offset = tap_take(s->d.nfreq, sizeof *offset);
    float *scale = tap_take(s->d.nfreq, sizeof *scale);
    char *x = p ? run(p, s, &nrow, NULL) : NULL, *y = NULL;
    psr_err err;
    for (size_t f = 0; x && f < s->d.nfreq; f++) {
        offset[f] = ((float *)(void *)x)[f] / 3;
        scale[f] = 8 / (offset[f] + 1e-30F);
    }
    if (x && !psr_beam_quantise(p, nbit, offset, scale, &err)) {
        psr_beam_reset(p);
        y = run(p, s, &n, NULL);
        if (y && n == nrow)
            bad = count_levels_wrong(s, nrow, psr_beam_count(p), nbit, (float *)(void *)x,
                                     (uint8_t *)y, offset, scale);
    }
    free(offset);
    free(scale);
    free(x);
    free(y);
    return bad;
}

/* Channels in whole pieces of 16 and not, many rows and few. */
static void test_quantised(uint64_t *seed)
{
    static const size_t nfreq[] = {2, 30, 160, 5};
    for (int g = 0; g < NGRID; g++)
        for (int pattern = 0; pattern < 3; pattern++) {
            struct shape s;
            struct wish wish = {.nfreq = nfreq[(g + pattern) % 4],
                                .tds = g % 2 ? 0 : (size_t)tap_between(seed, 1, 6)};
            choose_as(&s, grid[g], pattern, wish, seed);
            int nbit = g % 4 < 2 && s.d.nfreq % 2 == 0 ? 4 : 8;
            psr_beam *p = make_plan(&s, "cuda");
            size_t bad = try_levels(&s, p, nbit);
            ok(bad == 0, "%zu x %zu, pattern %d, %zu channels: %d bits are the floats quantised",
               grid[g][0], grid[g][1], pattern, s.d.nfreq, nbit);
            psr_beam_destroy(p);
            drop(&s);
        }
}

/* So many rows that a thread block has several of a channel. */
static void test_rows(uint64_t *seed)
{
    for (int g = 0; g < NTENSOR; g++) {
        struct shape s;
        const struct wish wish = {90, 1, 0};
        choose_as(&s, grid[g], PSR_BEAM_PRODUCT, wish, seed);
        s.d.n_ns = s.d.n_ns < 20 ? s.d.n_ns : 20;
        double worst = against_cpu(&s, NULL);
        ok(worst < 3e-3, "%zu x %zu, %zu rows of %zu x %zu: as the CPU (worst %.1e)", grid[g][0],
           grid[g][1], s.nt, s.d.n_ns, s.d.n_ew, worst);
        psr_beam *p = make_plan(&s, "cuda");
        ok(try_levels(&s, p, 8) == 0, "and as levels");
        psr_beam_destroy(p);
        drop(&s);
    }
}

/* A plan takes no more than it may, or says so. */
static void test_memory(uint64_t *seed)
{
    for (int pattern = 0; pattern < 3; pattern++)
        for (int g = 3; g < 6; g++) {
            struct shape s;
            struct psr_beam_info info;
            psr_beam *p;
            psr_err err;
            size_t made = 0, refused = 0, bad = 0, n;
            choose_as(&s, grid[g], pattern, (struct wish){.nfreq = 4, .tds = 10}, seed);
            for (s.d.mem_bytes = 1 << 28; s.d.mem_bytes > 1 << 10; s.d.mem_bytes /= 2) {
                s.d.backend = "cuda";
                psr_status st = psr_beam_create(&p, &s.d, &err);
                refused += st == PSR_ENOMEM && strstr(err.msg, "mem_bytes");
                if (st)
                    continue;
                made++;
                free(run(p, &s, &n, NULL));
                psr_beam_describe(p, &info);
                bad += info.bytes > s.d.mem_bytes || info.bytes <= 0;
                psr_beam_destroy(p);
            }
            ok(made && refused && !bad && made + refused == 18,
               "%zu x %zu, pattern %d: within mem_bytes (%zu) or refused (%zu)", grid[g][0],
               grid[g][1], pattern, made, refused);
            drop(&s);
        }
}

/* Points anew in the middle: the same as a plan that was created with those directions. */
static void test_pointed(uint64_t *seed)
{
    for (int g = 4; g < 6; g++) {
        struct shape s;
        psr_err err;
        size_t n;
        choose(&s, grid[g], PSR_BEAM_POINTS, seed);
        psr_beam *p = make_plan(&s, "cuda");
        double *ns = random_directions(s.d.nfreq * s.d.nbeam, s.a.m, seed);
        double *ew = random_directions(s.d.nfreq * s.d.nbeam, s.a.n, seed);
        char *first = p ? run(p, &s, &n, NULL) : NULL, *second = NULL, *want = NULL;
        if (first && !psr_beam_point(p, ns, ew, &err)) {
            psr_beam_reset(p);
            second = run(p, &s, &n, NULL);
        }
        psr_beam_destroy(p);
        s.d.theta_ns = ns;
        s.d.theta_ew = ew;
        p = make_plan(&s, "cuda");
        want = p ? run(p, &s, &n, NULL) : NULL;
        size_t bytes = p ? psr_beam_count(p) * n * psr_beam_row_bytes(p) : 0;
        ok(second && want && !memcmp(second, want, bytes) && memcmp(first, want, bytes),
           "%zu x %zu: pointed anew", grid[g][0], grid[g][1]);
        free(first);
        free(second);
        free(want);
        free(ns);
        free(ew);
        psr_beam_destroy(p);
        drop(&s);
    }
}

static void test_contract(uint64_t *seed)
{
    struct shape s;
    struct psr_beam_info info;
    psr_beam *p = NULL;
    psr_err err;
    void *memory = NULL;
    choose(&s, grid[4], PSR_BEAM_GRID, seed);
    s.d.device = 99;
    s.d.backend = "cuda";
    ok(psr_beam_create(&p, &s.d, &err) == PSR_EDEVICE && !p, "no device 99: %s", err.msg);
    s.d.device = 0;
    p = make_plan(&s, "cuda");
    if (!ok(p, "a plan"))
        return;
    psr_beam_describe(p, &info);
    ok(!strcmp(info.backend, "cuda") && info.bytes > 0, "takes %.1f MB", (double)info.bytes * 1e-6);
    ok(psr_beam_block(p) > 0, "likes blocks of %zu samples", psr_beam_block(p));
    ok(psr_beam_alloc(p, 1 << 20, &memory, &err) == PSR_OK && memory, "page-locked memory");
    psr_beam_destroy(p);
    psr_beam_free("cuda", memory);
    drop(&s);
}

int main(void)
{
    uint64_t seed = tap_seed();
    struct psr_device device;
    psr_err err;
    if (psr_device_describe(0, &device, &err)) {
        skip("beams on CUDA", err.msg);
        return done_testing();
    }
    diag("%s", device.name);
    test_agreement(&seed);
    test_crowded(&seed);
    test_long(&seed);
    test_direct(&seed);
    test_one_hot();
    test_saturated(&seed);
    test_quantised(&seed);
    test_rows(&seed);
    test_pointed(&seed);
    test_memory(&seed);
    test_contract(&seed);
    return done_testing();
}
