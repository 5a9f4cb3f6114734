/* beam: every beam of the plan against direct sums in double, its outputs and refusals. */
#include "beam/beam_internal.h"
#include "tests/support/beam_ref.h"

/* --- plans ------------------------------------------------------------------------------------ */

struct trial {
    struct psr_beam_desc d;
    struct psr_array array;
    size_t tds[16];
    float *weight;
    double *theta_ns, *theta_ew;
    size_t nt, nbeam, nrow;
    uint8_t *in;
    float *out; /* [nbeam][nrow][nfreq] */
};

static void drop(struct trial *s)
{
    psr_array_clear(&s->array);
    free(s->weight);
    free(s->theta_ns);
    free(s->theta_ew);
    free(s->in);
    free(s->out);
}

static void choose_directions(struct trial *s, uint64_t *seed)
{
    struct psr_beam_desc *d = &s->d;
    size_t ns = 0, ew = 0;
    if (d->pattern == PSR_BEAM_POINTS)
        ns = ew = d->nbeam = (size_t)tap_between(seed, 1, 20);
    if (d->pattern == PSR_BEAM_PRODUCT) {
        ns = d->n_ns = (size_t)tap_between(seed, 1, 6);
        ew = d->n_ew = (size_t)tap_between(seed, 1, 6);
    }
    s->theta_ns = tap_take(ns * d->nfreq, sizeof *s->theta_ns);
    s->theta_ew = tap_take(ew * d->nfreq, sizeof *s->theta_ew);
    for (size_t i = 0; i < ns * d->nfreq; i++)
        s->theta_ns[i] = (tap_uniform(seed) - 0.5) * 3 * (double)s->array.m;
    for (size_t i = 0; i < ew * d->nfreq; i++)
        s->theta_ew[i] = (tap_uniform(seed) - 0.5) * 3 * (double)s->array.n;
    d->theta_ns = s->theta_ns;
    d->theta_ew = s->theta_ew;
}

static void choose(struct trial *s, uint64_t *seed)
{
    size_t m = (size_t)tap_between(seed, 1, 9), n = (size_t)tap_between(seed, 1, 9);
    memset(s, 0, sizeof *s);
    s->array = ref_array(m, n, (size_t)tap_between(seed, 1, (int64_t)(m * n)),
                         (size_t)tap_between(seed, 0, 3), seed);
    s->d = (struct psr_beam_desc){
        .size = sizeof(struct psr_beam_desc),
        .array = &s->array,
        .nfreq = (size_t)tap_between(seed, 1, 5),
        .tds = s->tds,
        .nibbles = {.offset_binary = tap_random(seed) >> 63, .real_low = tap_random(seed) >> 63},
        .pattern = (enum psr_beam_pattern)tap_between(seed, 0, 2),
        .nthread = (int)tap_between(seed, 1, 3),
        .backend = "cpu",
    };
    bool even = tap_random(seed) >> 63;
    for (size_t f = 0; f < s->d.nfreq; f++)
        s->tds[f] = even && f ? s->tds[0] : (size_t)tap_between(seed, 1, 11);
    s->nt = (size_t)tap_between(seed, 1, 120);
    size_t nweight = 4 * s->d.nfreq * s->array.ndish;
    s->weight = tap_take(nweight, sizeof *s->weight);
    for (size_t i = 0; i < nweight; i++)
        s->weight[i] = (float)(tap_uniform(seed) * 2 - 1);
    s->d.weight = tap_random(seed) >> 63 ? s->weight : NULL;
    choose_directions(s, seed);
    size_t bytes = s->nt * s->d.nfreq * 2 * s->array.ndish;
    s->in = tap_take(bytes, 1);
    for (size_t i = 0; i < bytes; i++)
        s->in[i] = (uint8_t)(tap_random(seed) >> 56);
}

/* The whole stream through a plan, in blocks of at most "most" samples.
 * Returned: [nbeam][nrow][nfreq], rows of shorter sums in their order */
static float *run(struct trial *s, size_t most, uint64_t *seed)
{
    psr_beam *p = NULL;
    psr_err err = {0};
    if (psr_beam_create(&p, &s->d, &err)) {
        diag("%s", err.msg);
        return NULL;
    }
    size_t nf = s->d.nfreq, done[16] = {0}, n, sample = nf * 2 * s->array.ndish;
    s->nbeam = psr_beam_count(p);
    s->nrow = psr_beam_rows(p, s->nt);
    float *all = tap_take(s->nbeam * s->nrow * nf, sizeof *all);
    for (size_t t = 0; t < s->nt; t += n) {
        n = most < s->nt ? (size_t)tap_between(seed, 0, (int64_t)most) : s->nt;
        n = n < s->nt - t ? n : s->nt - t;
        size_t stride = psr_beam_rows(p, n) + (size_t)tap_between(seed, 0, 2), nrow, ready[16];
        float *out = tap_take(s->nbeam * stride * nf, sizeof *out);
        for (size_t f = 0; f < nf; f++)
            ready[f] = psr_beam_ready(p, f, n);
        const bool at_once = tap_between(seed, 0, 1);
        if ((at_once ? psr_beam_execute : psr_beam_start)(p, s->in + t * sample, n, out, stride,
                                                          &nrow, &err) ||
            (!at_once && psr_beam_wait(p, 0, &err)))
            diag("%s", err.msg);
        for (size_t b = 0; b < s->nbeam; b++)
            for (size_t f = 0; f < nf; f++)
                for (size_t k = 0; k < ready[f]; k++)
                    all[(b * s->nrow + done[f] + k) * nf + f] = out[(b * stride + k) * nf + f];
        for (size_t f = 0; f < nf; f++)
            done[f] += ready[f];
        free(out);
    }
    psr_beam_destroy(p);
    return all;
}

/* Largest difference from the direct sums, relative to the brightest beam of that channel and sum.
 */
static double compare(const struct trial *s, const float *out)
{
    double worst = 0;
    for (size_t f = 0; f < s->d.nfreq; f++)
        for (size_t k = 0; k < s->nt / s->tds[f]; k++) {
            double brightest = 1e-30, off = 0, ns, ew;
            for (size_t p = 0; p < 4 * s->array.m * s->array.n; p++)
                brightest =
                    fmax(brightest, ref_beam(&s->d, s->in, f, k, (double)(p / (2 * s->array.n)) / 2,
                                             (double)(p % (2 * s->array.n)) / 2));
            for (size_t b = 0; b < s->nbeam; b++) {
                ref_direction(&s->d, f, b, &ns, &ew);
                double x = (double)out[(b * s->nrow + k) * s->d.nfreq + f];
                off = fmax(off, fabs(x - ref_beam(&s->d, s->in, f, k, ns, ew)));
            }
            worst = fmax(worst, off / brightest);
        }
    return worst;
}

static void test_random(uint64_t *seed)
{
    double worst = 0;
    bool same = true;
    for (int i = 0; i < 40; i++) {
        struct trial s;
        choose(&s, seed);
        s.out = run(&s, SIZE_MAX, seed);
        s.d.nthread = 1 + s.d.nthread % 3;
        float *again = run(&s, 13, seed);
        same = same && s.out && again &&
               !memcmp(s.out, again, s.nbeam * s.nrow * s.d.nfreq * sizeof *again);
        worst = fmax(worst, s.out ? compare(&s, s.out) : INFINITY);
        free(again);
        drop(&s);
    }
    ok(worst < 3e-6, "40 random plans agree with direct sums (worst %.2g of the brightest)", worst);
    ok(same, "blocks and threads change no bit");
}

/* --- indices ---------------------------------------------------------------------------------- */

/* An array, unit sums, grid beams. */
static void plain(struct trial *s, size_t m, size_t n, size_t ndish, size_t nfreq, size_t tds,
                  size_t nt, uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    s->array = ref_array(m, n, ndish, 0, seed);
    s->d = (struct psr_beam_desc){.size = sizeof(struct psr_beam_desc),
                                  .array = &s->array,
                                  .nfreq = nfreq,
                                  .tds = s->tds,
                                  .nthread = 1,
                                  .backend = "cpu"};
    for (size_t f = 0; f < nfreq; f++)
        s->tds[f] = tds;
    s->nt = nt;
    s->in = tap_take(nt * nfreq * 2 * ndish, 1);
}

/* Every element of E in turn, alone: its weight's power in every beam of its channel and sum, and
 * nothing elsewhere. */
static void test_one_hot(uint64_t *seed)
{
    struct trial s;
    plain(&s, 4, 5, 13, 3, 3, 7, seed);
    size_t n = s.nt * 3 * 2 * 13, nweight = 2 * 3 * 2 * 13, bad = 0;
    s.weight = tap_take(nweight, sizeof *s.weight);
    for (size_t i = 0; i < nweight; i++)
        s.weight[i] = (float)(i + 1);
    s.d.weight = s.weight;
    for (size_t i = 0; i < n; i++) {
        s.in[i] = 0x2d; /* 2 - 3i */
        float *out = run(&s, SIZE_MAX, seed);
        size_t t = i / (3 * 2 * 13), at = i % (3 * 2 * 13), f = at / (2 * 13);
        double re = s.weight[2 * at], im = s.weight[2 * at + 1];
        for (size_t x = 0; out && x < s.nbeam * 2 * 3; x++) {
            bool hit = x % 3 == f && x / 3 % 2 == t / 3;
            double want = hit ? (re * re + im * im) * 13 : 0;
            bad += !(fabs((double)out[x] - want) <= 1e-5 * want);
        }
        bad += !out;
        free(out);
        s.in[i] = 0;
    }
    ok(bad == 0, "one-hot: each time, channel, polarisation and dish (%zu of them)", n);
    drop(&s);
}

/* Two dishes at a time: the fringe tells where they stand. */
static void test_pairs(uint64_t *seed)
{
    struct trial s;
    plain(&s, 5, 6, 20, 2, 2, 2, seed);
    double worst = 0;
    for (size_t d = 0; d < 20; d++) {
        s.in[((1 * 2 + 1) * 2 + 0) * 20 + d] = 0x71;
        s.in[((1 * 2 + 1) * 2 + 0) * 20 + (d + 7) % 20] = 0x93;
        float *out = run(&s, SIZE_MAX, seed);
        worst = fmax(worst, out ? compare(&s, out) : INFINITY);
        free(out);
        memset(s.in, 0, s.nt * 2 * 2 * 20);
    }
    ok(worst < 1e-6, "fringe of each dish with another (worst %.2g)", worst);
    drop(&s);
}

/* The same sky whatever the order of the inputs. */
static void test_permutations(uint64_t *seed)
{
    struct trial s;
    bool same = true;
    plain(&s, 6, 5, 30, 1, 4, 8, seed);
    int32_t *cell = tap_take(30, sizeof *cell);
    uint8_t *sky = tap_take(s.nt * 2 * 30, 1); /* [t][p][place] */
    memcpy(cell, s.array.cell, 30 * sizeof *cell);
    for (size_t i = 0; i < s.nt * 2 * 30; i++)
        sky[i] = (uint8_t)(tap_random(seed) >> 56);
    for (int turn = 0; turn < 200; turn++) {
        for (size_t d = 29; d > 0 && turn > 0; d--) {
            size_t k = (size_t)tap_between(seed, 0, (int64_t)d);
            int32_t swap = s.array.cell[d];
            s.array.cell[d] = s.array.cell[k];
            s.array.cell[k] = swap;
        }
        for (size_t i = 0; i < s.nt * 2 * 30; i++)
            s.in[i] = sky[i / 30 * 30 + (size_t)s.array.cell[i % 30]];
        float *out = run(&s, SIZE_MAX, seed);
        if (turn == 0)
            s.out = out;
        else
            same = same && out && !memcmp(out, s.out, s.nbeam * s.nrow * sizeof *out);
        if (turn > 0)
            free(out);
    }
    ok(same, "200 orders of the dishes give the same bits");
    free(cell);
    free(sky);
    drop(&s);
}

static void test_off_grid(uint64_t *seed)
{
    struct trial s;
    plain(&s, 4, 4, 9, 1, 5, 5, seed);
    for (size_t i = 0; i < s.nt * 2 * 9; i++)
        s.in[i] = i % 9 == 4 ? 0x88 : 0;
    s.array.cell[4] = -1;
    float *out = run(&s, SIZE_MAX, seed), sum = 0;
    for (size_t i = 0; i < s.nbeam; i++)
        sum += out[i];
    ok(sum == 0, "an input that is off the grid is not heard, and empty places hold zero");
    free(out);
    drop(&s);
}

static void test_saturated(uint64_t *seed)
{
    struct trial s;
    plain(&s, 24, 24, 512, 1, 1000, 1000, seed);
    memset(s.in, 0x77, s.nt * 2 * 512);
    float *out = run(&s, SIZE_MAX, seed);
    double want = 512.0 * 512 * (49 + 49) * 2 * 1000;
    near((double)out[0], want, 1e-6 * want, "all inputs at 7 + 7i, 1000 samples: beam 0");
    free(out);
    drop(&s);
}

/* --- outputs ---------------------------------------------------------------------------------- */

static void check_levels(int nbit, uint64_t *seed)
{
    struct trial s;
    plain(&s, 3, 4, 9, 4, 5, 50, seed);
    for (size_t i = 0; i < s.nt * 4 * 2 * 9; i++)
        s.in[i] = (uint8_t)(tap_random(seed) >> 56);
    s.out = run(&s, SIZE_MAX, seed);
    float offset[4] = {2000, 2500, 1000, 4000}, scale[4] = {0.01f, 0.02f, 0.003f, 0.01f};
    psr_beam *p = NULL;
    psr_err err = {0};
    size_t nrow, bad = 0, row = 4 * (size_t)nbit / 8;
    uint8_t *out = tap_take(s.nbeam * s.nrow, row);
    ok(!psr_beam_create(&p, &s.d, &err) && !psr_beam_quantise(p, nbit, offset, scale, &err) &&
           psr_beam_row_bytes(p) == row &&
           !psr_beam_execute(p, s.in, s.nt, out, s.nrow, &nrow, &err),
       "a plan of %d bits", nbit);
    const double top = nbit == 8 ? 255 : 15, rounding = 1e-4; /* some ulps of 255 */
    for (size_t i = 0; i < s.nbeam * s.nrow * 4; i++) {
        double level = ((double)s.out[i] - (double)offset[i % 4]) * (double)scale[i % 4];
        unsigned got = nbit == 8 ? out[i] : out[i / 2] >> 4 * (i % 2) & 15;
        bad += fabs(fmin(fmax(level, 0), top) - got) > 0.5 + rounding;
    }
    ok(bad == 0, "levels of %d bits are those of the floats", nbit);
    psr_beam_destroy(p);
    free(out);
    drop(&s);
}

static void test_pointing(uint64_t *seed)
{
    struct trial s;
    plain(&s, 5, 4, 17, 2, 4, 8, seed);
    double north[2][4] = {{0.3, -1.2, 0.3, -1.2}, {2.2, 1.1, 2.2, 1.1}};
    double east[2][4] = {{1.3, 0.2, 1.3, 0.2}, {-0.7, 3.1, -0.7, 3.1}};
    for (size_t i = 0; i < s.nt * 2 * 2 * 17; i++)
        s.in[i] = (uint8_t)(tap_random(seed) >> 56);
    s.d.pattern = PSR_BEAM_POINTS;
    s.d.nbeam = 2;
    s.d.theta_ns = north[0];
    s.d.theta_ew = east[0];
    psr_beam *p = NULL;
    psr_err err = {0};
    float out[2][2];
    size_t nrow;
    double worst = psr_beam_create(&p, &s.d, &err) ? INFINITY : 0;
    for (size_t k = 0; k < 2 && worst < 1; k++) {
        if (k == 1 && psr_beam_point(p, north[1], east[1], &err))
            worst = INFINITY;
        if (psr_beam_execute(p, s.in + k * 4 * 2 * 2 * 17, 4, out, 1, &nrow, &err))
            worst = INFINITY;
        for (size_t i = 0; i < 4; i++) {
            double want = ref_beam(&s.d, s.in, i % 2, k, north[k][i / 2], east[k][i / 2]);
            worst = fmax(worst, fabs((double)out[i / 2][i % 2] - want) / 1e4);
        }
    }
    ok(worst < 1e-5, "beams that are pointed elsewhere (worst %.2g)", worst);
    psr_beam_destroy(p);
    drop(&s);
}

/* --- refusals --------------------------------------------------------------------------------- */

static void refused(struct psr_beam_desc d, psr_status want, const char *field)
{
    psr_beam *p = NULL;
    psr_err err = {0};
    psr_status st = psr_beam_create(&p, &d, &err);
    ok(st == want && !p && !strcmp(err.field, field), "refused: %s", err.msg);
    psr_beam_destroy(p);
}

static void test_refusals(uint64_t *seed)
{
    struct trial s;
    plain(&s, 3, 3, 6, 3, 2, 2, seed);
    struct psr_beam_desc d = s.d;
    double nan3[3] = {0, NAN, 0}, zero3[3] = {0};
    float w[3 * 2 * 6 * 2] = {0};
    d.nfreq = 0;
    refused(d, PSR_EINVAL, "nfreq");
    d = s.d;
    s.tds[1] = 0;
    refused(d, PSR_EINVAL, "tds");
    s.tds[1] = 2;
    d.nthread = -1;
    refused(d, PSR_EINVAL, "nthread");
    d.nthread = 4097;
    refused(d, PSR_EINVAL, "nthread");
    d = s.d;
    d.mem_bytes = -1;
    refused(d, PSR_EINVAL, "mem_bytes");
    d.mem_bytes = 1000;
    refused(d, PSR_ENOMEM, "mem_bytes");
    d = s.d;
    d.backend = "abacus";
    refused(d, PSR_EDEVICE, "backend");
    d = s.d;
    w[2 * (1 * 12 + 6 + 4) + 1] = INFINITY;
    d.weight = w;
    refused(d, PSR_EINVAL, "weight");
    d = s.d;
    d.pattern = PSR_BEAM_POINTS;
    refused(d, PSR_EINVAL, "nbeam");
    d.nbeam = 1;
    d.theta_ns = nan3;
    d.theta_ew = zero3;
    refused(d, PSR_EINVAL, "theta_ns");
    d.pattern = PSR_BEAM_PRODUCT;
    refused(d, PSR_EINVAL, "n_ns");
    d.pattern = (enum psr_beam_pattern)9;
    refused(d, PSR_EINVAL, "pattern");
    d = s.d;
    s.array.cell[2] = s.array.cell[1];
    refused(d, PSR_EFORMAT, "dish");
    s.array.cell[2] = 9;
    refused(d, PSR_EFORMAT, "dish");
    drop(&s);
}

static void test_later_refusals(uint64_t *seed)
{
    struct trial s;
    psr_beam *p = NULL;
    psr_err err = {0};
    float out[400], numbers[3] = {1, NAN, 1};
    double theta[3] = {0};
    size_t nrow;
    plain(&s, 3, 3, 6, 3, 2, 8, seed);
    ok(!psr_beam_create(&p, &s.d, &err), "a plan");
    ok(psr_beam_execute(p, s.in, 8, out, 3, &nrow, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_beam_point(p, theta, theta, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_beam_quantise(p, 4, numbers, numbers, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_beam_quantise(p, 8, numbers, numbers, &err) == PSR_EINVAL, "%s", err.msg);
    ok(psr_beam_quantise(p, 16, numbers, numbers, &err) == PSR_EINVAL, "%s", err.msg);
    struct psr_beam_info info;
    psr_beam_describe(p, &info);
    void *memory = NULL;
    ok(!strcmp(info.backend, "cpu") && info.bytes > 0 && !psr_beam_alloc(p, 100, &memory, &err) &&
           memory,
       "a description, and memory for blocks");
    psr_beam_free(info.backend, memory);
    psr_beam_free("cpu", NULL);
    psr_beam_destroy(p);
    psr_beam_destroy(NULL);
    drop(&s);
}

static void test_zeros(void)
{
    struct psr_beam_desc d = {.size = sizeof d};
    const struct psr_array array = {.m = 0};
    const size_t tds = 1;
    psr_beam *p;
    psr_err err;
    ok(psr_beam_create(&p, &d, &err) == PSR_EINVAL && !p && !strcmp(err.field, "array"),
       "a description of zeros is refused: %s", err.msg);
    d.array = &array;
    ok(psr_beam_create(&p, &d, &err) == PSR_EINVAL && !p && !strcmp(err.field, "tds"), "%s",
       err.msg);
    d.tds = &tds;
    d.pattern = PSR_BEAM_POINTS;
    d.nbeam = 1;
    ok(psr_beam_create(&p, &d, &err) == PSR_EINVAL && !p && !strcmp(err.field, "theta_ns"), "%s",
       err.msg);
    d.pattern = PSR_BEAM_GRID;
    ok(psr_beam_create(&p, &d, &err) != PSR_OK && !p, "an array of zeros is refused: %s", err.msg);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_random(&seed);
    test_one_hot(&seed);
    test_pairs(&seed);
    test_permutations(&seed);
    test_off_grid(&seed);
    test_saturated(&seed);
    check_levels(8, &seed);
    check_levels(4, &seed);
    test_pointing(&seed);
    test_refusals(&seed);
    test_later_refusals(&seed);
    test_zeros();
    return done_testing();
}
