/* The matched search on a CUDA device against the CPU: the same hits to the bit, and bounds that
 * hold.  PSRKIT_TEST_COUNT says how many random searches there are. */
#include "accel_fft_host.h"
#include "run/fourier/fourier_state.h"
#include "search/matched/accel_plan.h"
#include "search/matched/cuda/accel_cuda.h"
#include "tests/support/accel_truth.h"

#include <psrkit/device.h>
#include <psrkit/experimental/accelsearch.h>

enum { BATCH = 5, MOST_ZAP = 4 };

static void bail(const psr_err *err)
{
    printf("Bail out! %s\n", err->msg);
    exit(EXIT_FAILURE);
}

/* --- spectra ---------------------------------------------------------------------------------- */

static void add_line(float *x, int64_t nbin, double r, double z, double w, double a)
{
    for (int64_t k = (int64_t)r - 40; k < (int64_t)r + 40; k++)
        if (k >= 0 && k < nbin) {
            double complex v = a * truth_response((double)k - r, z, w);
            x[2 * k] += (float)creal(v);
            x[2 * k + 1] += (float)cimag(v);
        }
}

/* Noise of some power, now and then red, of few values, or none beyond a bin; lines and pulsars of
 * up to 1e6 times its amplitude. */
static float *make_spectrum(int64_t nbin, uint64_t *seed)
{
    int64_t style = tap_between(seed, 0, 7), empty = tap_between(seed, 0, nbin - 1);
    double scale = pow(10, 6 * tap_uniform(seed) - 3);
    float *x = tap_take(2 * (size_t)nbin, sizeof *x);
    for (int64_t k = 0; k < 2 * nbin; k++) {
        double level = style == 1 ? 1 + 1e4 / (double)(k + 2) : 1;
        x[k] = (float)(scale * level * tap_normal(seed));
        if (style == 2)
            x[k] = rintf(x[k] / (float)scale);
        if ((style == 3 && k > 2 * empty) || (style == 4 && nbin < 5000))
            x[k] = 0;
    }
    for (int n = (int)tap_between(seed, 0, 3); n > 0; n--) {
        double r = tap_uniform(seed) * (double)nbin, z = 60 * tap_uniform(seed) - 30;
        double a = scale * pow(10, (tap_uniform(seed) < 0.1 ? 6 : 2) * tap_uniform(seed));
        for (int h = 1; h <= 4; h++)
            add_line(x, nbin, h * r, h * z, 0, a);
    }
    return x;
}

/* --- searches --------------------------------------------------------------------------------- */

static int64_t pick(uint64_t *seed, int64_t a, int64_t b)
{
    return tap_between(seed, a < b ? a : b, a < b ? b : a);
}

static struct psr_accelsearch_desc random_desc(struct psr_span zap[MOST_ZAP], uint64_t *seed)
{
    struct psr_accelsearch_desc d = {
        .size = sizeof d, .batch = (size_t)tap_between(seed, 1, BATCH), .zap = zap};
    d.nbin = (size_t)pick(seed, tap_uniform(seed) < 0.1 ? 16 : 1000, 12000);
    d.zmax = (int)pick(seed, 0, tap_uniform(seed) < 0.05 ? 1200 : 80);
    if (tap_uniform(seed) < 0.3)
        d.wmax = (int)pick(seed, 1, 100);
    d.zmax = d.wmax && d.zmax > 60 ? 60 : d.zmax;
    d.numharm = 1 << tap_between(seed, 0, 5);
    d.sigma = 6 * tap_uniform(seed);
    if (tap_uniform(seed) < 0.3) {
        d.rlo = tap_uniform(seed) * (double)d.nbin / 2;
        d.rhi = d.rlo + tap_uniform(seed) * ((double)d.nbin - d.rlo);
    }
    d.norm = (enum psr_accelsearch_norm)tap_between(seed, 0, 2);
    d.nzap = (size_t)tap_between(seed, 0, MOST_ZAP);
    for (size_t n = 0; n < d.nzap; n++) {
        zap[n].first = tap_between(seed, 0, (int64_t)d.nbin - 1);
        zap[n].count = tap_between(seed, 1, 20);
    }
    return d;
}

struct spectra {
    size_t n;
    struct psr_accelsearch_input in[BATCH];
    struct psr_accel_normalise *level[BATCH];
};

static void search(const struct psr_accel_ops *ops, const struct psr_accel_search *s,
                   const struct spectra *x, size_t batch, struct psr_accel_hits *hits)
{
    const struct psr_accel_batch b = {.n = x->n, .in = x->in, .norm = x->level, .hits = hits};
    void *state = NULL;
    psr_err err;
    if (ops->create(&state, s, batch, &err))
        bail(&err);
    for (int times = 0; times < 2; times++) { /* nothing is left of the first */
        for (size_t k = 0; k < x->n; k++)
            hits[k].n = 0;
        if (ops->search(state, &b, &err))
            bail(&err);
    }
    ops->destroy(state);
}

static int by_place(const void *pa, const void *pb)
{
    const struct psr_accel_hit *a = pa, *b = pb;
    if (a->stage != b->stage)
        return a->stage - b->stage;
    return (a->i > b->i) - (a->i < b->i);
}

static bool same_bits(const struct psr_accel_hit *a, const struct psr_accel_hit *b)
{
    return a->i == b->i && a->j == b->j && a->l == b->l && a->stage == b->stage &&
           memcmp(&a->power, &b->power, sizeof a->power) == 0;
}

/* Hits that are not the same to the bit. */
static size_t count_wrong(struct psr_accel_hits *want, struct psr_accel_hits *got)
{
    size_t i = 0, j = 0, wrong = 0;
    qsort(want->hit, want->n, want->n ? sizeof *want->hit : 1, by_place);
    qsort(got->hit, got->n, got->n ? sizeof *got->hit : 1, by_place);
    while (i < want->n && j < got->n) {
        int way = by_place(&want->hit[i], &got->hit[j]);
        wrong += way != 0 || !same_bits(&want->hit[i], &got->hit[j]);
        i += way <= 0;
        j += way >= 0;
    }
    return wrong + want->n - i + got->n - j;
}

struct totals {
    size_t searches, hits, wrong, bands;
};

static void make_spectra(struct spectra *x, const struct psr_accelsearch_desc *d,
                         const struct psr_accel_search *s, uint64_t *seed)
{
    psr_err err;
    x->n = (size_t)tap_between(seed, 1, (int64_t)d->batch);
    for (size_t k = 0; k < x->n; k++) {
        float *bins = make_spectrum((int64_t)d->nbin, seed);
        x->in[k] = (struct psr_accelsearch_input){.x = bins, .photons = pow(10, tap_uniform(seed))};
        if (psr_accel_normalise_create(&x->level[k], s, psr_template_reach(s->jmax, s->lmax), &err))
            bail(&err);
    }
}

static void free_spectra(struct spectra *x)
{
    for (size_t k = 0; k < x->n; k++) {
        free((void *)x->in[k].x);
        psr_accel_normalise_destroy(x->level[k]);
    }
}

/* The most memory that makes a search go by several bands, if there is any. */
static int64_t band_memory(const struct psr_accel_search *s, size_t batch)
{
    struct psr_accel_cuda_plan p;
    psr_err err;
    if (psr_accel_cuda_plan_make(&p, s, ACCEL_FLOAT, batch, 1e12, &err))
        return 0;
    for (double limit = p.bytes;
         psr_accel_cuda_plan_make(&p, s, ACCEL_FLOAT, batch, limit, &err) == PSR_OK; limit *= 0.97)
        if (!p.whole)
            return (int64_t)limit;
    return 0;
}

static void compare_random(uint64_t *seed, struct totals *t)
{
    struct psr_span zap[MOST_ZAP];
    const struct psr_accelsearch_desc d = random_desc(zap, seed);
    struct psr_accel_hits want[BATCH] = {{0}}, got[BATCH] = {{0}};
    struct psr_accel_search s;
    struct spectra x;
    size_t wrong = 0;
    psr_err err;
    if (psr_accelsearch_check(&d, &err) || psr_accel_search_resolve(&s, &d, &err))
        bail(&err);
    make_spectra(&x, &d, &s, seed);
    search(&psr_accel_cpu, &s, &x, d.batch, want);
    int64_t less = tap_uniform(seed) < 0.3 ? band_memory(&s, d.batch) : 0;
    s.mem_bytes = less ? less : s.mem_bytes;
    search(&psr_accel_cuda, &s, &x, d.batch, got);
    for (size_t k = 0; k < x.n; k++) {
        t->hits += want[k].n;
        wrong += count_wrong(&want[k], &got[k]);
        free(want[k].hit);
        free(got[k].hit);
    }
    if (wrong)
        diag(
            "%zu wrong: %zu spectra of %zu bins, zmax %d wmax %d, %d harmonics, sigma %g, r %g %g, "
            "norm %d, %zu zapped, %lld bytes",
            wrong, x.n, d.nbin, d.zmax, d.wmax, d.numharm, d.sigma, d.rlo, d.rhi, (int)d.norm,
            d.nzap, (long long)less);
    t->wrong += wrong;
    t->bands += less > 0;
    t->searches++;
    free_spectra(&x);
    psr_accel_search_forget(&s);
}

static void test_agreement(int times, uint64_t seed)
{
    struct totals t = {0};
    for (int n = 0; n < times; n++) {
        compare_random(&seed, &t);
        if (n % 50 == 49)
            diag("%zu searches: %zu hits, %zu wrong", t.searches, t.hits, t.wrong);
    }
    ok(t.hits > 0 && t.wrong == 0,
       "%zu searches, %zu by bands, find what the CPU finds, to the bit: %zu hits, %zu wrong",
       t.searches, t.bands, t.hits, t.wrong);
}

/* So many places are above the cut that they are taken in parts. */
static void test_many_places(uint64_t seed)
{
    const struct psr_accelsearch_desc d = {.size = sizeof d,
                                           .nbin = 40000,
                                           .zmax = 100,
                                           .numharm = 2,
                                           .batch = 1,
                                           .rlo = 10,
                                           .norm = PSR_ACCELSEARCH_PHOTON};
    struct psr_accel_hits want[BATCH] = {{0}}, got[BATCH] = {{0}};
    struct psr_accel_search s;
    struct spectra x;
    psr_err err;
    if (psr_accelsearch_check(&d, &err) || psr_accel_search_resolve(&s, &d, &err))
        bail(&err);
    make_spectra(&x, &d, &s, &seed);
    for (size_t i = 0; i < 2 * d.nbin; i++)
        ((float *)x.in[0].x)[i] = (float)tap_normal(&seed);
    x.in[0].photons = 0.02;
    search(&psr_accel_cpu, &s, &x, d.batch, want);
    search(&psr_accel_cuda, &s, &x, d.batch, got);
    size_t wrong = count_wrong(&want[0], &got[0]);
    ok(want[0].n > 20000 && wrong == 0, "places in parts: %zu hits, %zu wrong", want[0].n, wrong);
    for (size_t k = 0; k < x.n; k++) {
        free(want[k].hit);
        free(got[k].hit);
    }
    free_spectra(&x);
    psr_accel_search_forget(&s);
}

/* --- bounds ----------------------------------------------------------------------------------- */

static float half_to_float(uint16_t half)
{
    int e = half >> 10 & 31, m = half & 1023;
    return e == 31 ? INFINITY : e ? ldexpf((float)(1024 + m), e - 25) : ldexpf((float)m, -24);
}

/* How many powers are above their bound, and the largest error of an amplitude that explains a
 * power, over what it may be. */
struct tightness {
    size_t ncell, above;
    double error;
};

static double error_of(const struct psr_accel_cuda *c, double power, double bound, double square)
{
    const double error = psr_accel_error(c->plan.kind), up = 1 + 0x1p-10, q = PSR_ACCEL_SPREAD;
    double seen = bound / up - (1 + q) * error * error * square;
    return (sqrt(power) - sqrt(fmax(seen, 0) / (1 + 1 / q))) / (error * sqrt(square));
}

static void look_at_cell(const struct psr_accel_cuda *c, const struct psr_accel_normalise *level,
                         int64_t cell, const uint16_t *bound, const float *square,
                         struct tightness *t)
{
    const struct psr_accel_strip *strip = &c->plan.strip[c->s->numharm];
    const int nstream = 16 / c->plan.cut.cell, nz = 2 * strip->jmax + 1;
    const int64_t at = cell - strip->origin;
    const int64_t place = at % nstream * (strip->pitch / nstream) + at / nstream;
    const double d2 = (double)square[2 * (at * c->plan.cut.cell / (2 * c->plan.cut.good))];
    struct psr_cell_sums sums;
    psr_err err;
    if (psr_cell_sums_create(&sums, c->s, c->bank, &err))
        bail(&err);
    psr_cell_sums_move(&sums, level, cell * c->plan.cut.cell);
    for (int row = 0; row < nz * (2 * strip->lmax + 1); row++) {
        float power[PSR_MOST_CELL] = {0}, most = 0;
        psr_cell_sums_add(&sums, power, row % nz - strip->jmax, row / nz - strip->lmax, 1, 0);
        for (int k = 0; k < c->plan.cut.cell; k++)
            most = fmaxf(most, power[k]);
        const float b = half_to_float(bound[2 * ((int64_t)row * strip->pitch + place)]);
        t->ncell++;
        t->above += !(most <= b);
        /* Where rounding of the bound does not count. */
        if (d2 > 0.1 && (double)most > 0.05 * d2 && (double)most < 4 * d2)
            t->error = fmax(t->error, error_of(c, (double)most, (double)b, d2));
    }
    psr_cell_sums_clear(&sums);
}

static void check_bounds(const struct psr_accel_cuda *c, const struct psr_accel_normalise *level,
                         uint64_t *seed, struct tightness *t)
{
    const struct psr_accel_strip *strip = &c->plan.strip[c->s->numharm];
    const size_t n = (size_t)strip->room;
    uint16_t *bound = tap_take(2 * n, sizeof *bound);
    float *square = tap_take(2 * (size_t)strip->nblock, sizeof *square);
    if (cudaMemcpy(bound, strip->d_bound, 2 * n * sizeof *bound, cudaMemcpyDeviceToHost) ||
        cudaMemcpy(square, c->d_square, 2 * (size_t)strip->nblock * sizeof *square,
                   cudaMemcpyDeviceToHost))
        ok(false, "bounds are not read");
    for (int k = 0; k < 200; k++)
        look_at_cell(c, level, tap_between(seed, c->plan.first, c->plan.end - 1), bound, square, t);
    free(bound);
    free(square);
}

/* Powers by their definition are below the device's bounds. */
static void test_bounds(enum accel_k_number kind, int times, uint64_t seed)
{
    struct tightness t = {0};
    for (int n = 0; n < times; n++) {
        const struct psr_accelsearch_desc d = {.size = sizeof d,
                                               .nbin = 9000,
                                               .zmax = n % 2 ? 40 : 200,
                                               .numharm = 1 << n % 6,
                                               .sigma = 6,
                                               .batch = 1,
                                               .wmax = n % 3};
        struct psr_accel_hits hits = {0};
        struct psr_accel_search s;
        struct psr_accel_cuda c = {.s = &s};
        struct spectra x;
        psr_err err;
        if (psr_accel_search_resolve(&s, &d, &err))
            bail(&err);
        make_spectra(&x, &d, &s, &seed);
        const struct psr_accel_batch b = {.n = 1, .in = x.in, .norm = x.level, .hits = &hits};
        if (psr_accel_cuda_start(&c, kind, 1, &err) ||
            psr_accel_cuda_upload(&c, &c.slot[0], &b, 0, &err) ||
            psr_accel_cuda_launch(&c, &c.slot[0], &err) ||
            psr_accel_cuda_collect(&c, &c.slot[0], &err))
            bail(&err);
        psr_accel_cuda_take_levels(&c, &c.slot[0], 0, &b);
        check_bounds(&c, x.level[0], &seed, &t);
        psr_accel_cuda_free(&c);
        free_spectra(&x);
        psr_accel_search_forget(&s);
    }
    /* Of floats, what is seen is how bounds are rounded, to 2.4e-4. */
    ok(t.above == 0 && t.error < (kind == ACCEL_HALF ? 0.7 : 1.3),
       "%s: %zu cells, of which %zu are above their bound; amplitudes off by %.2f of what they may",
       kind == ACCEL_HALF ? "halves" : "floats", t.ncell, t.above, t.error);
}

/* --- bins ------------------------------------------------------------------------------------- */

/* Floats of a slot's spectrum that are not the host's, and mean powers. */
static size_t count_levels(const struct psr_accel_cuda *c, const struct psr_accel_normalise *host,
                           const struct psr_accelsearch_input *in)
{
    const size_t nbin = c->s->nbin;
    float *got = tap_take(2 * nbin, sizeof *got), *want = tap_take(2 * nbin, sizeof *want);
    size_t wrong = 0;
    psr_err err;
    struct psr_accel_normalise *own;
    if (psr_accel_normalise_create(&own, c->s, psr_template_reach(c->s->jmax, c->s->lmax), &err) ||
        psr_accel_normalise_measure(own, in, &err))
        bail(&err);
    if (cudaMemcpy(got, c->slot[0].d_x[0], 2 * nbin * sizeof *got, cudaMemcpyDeviceToHost))
        ok(false, "bins are not read");
    psr_accel_normalise_load(own, 0, nbin, (struct psr_split){want, want + nbin});
    for (size_t k = 0; k < nbin; k++) {
        const double mean = psr_accel_normalise_at(own, (int64_t)k);
        const double here = psr_accel_normalise_at(host, (int64_t)k);
        wrong += memcmp(&got[2 * k], &want[k], sizeof *got) != 0;
        wrong += memcmp(&got[2 * k + 1], &want[nbin + k], sizeof *got) != 0;
        wrong += memcmp(&mean, &here, sizeof mean) != 0;
    }
    psr_accel_normalise_destroy(own);
    free(got);
    free(want);
    return wrong;
}

/* What the device searches, and what the host measures candidates in, is what the host would make. */
static void test_levels(int times, uint64_t seed)
{
    size_t wrong = 0, bins = 0;
    for (int n = 0; n < times; n++) {
        struct psr_span zap[MOST_ZAP];
        struct psr_accelsearch_desc d = random_desc(zap, &seed);
        struct psr_accel_hits hits = {0};
        struct psr_accel_search s;
        struct psr_accel_cuda c = {.s = &s};
        struct spectra x;
        psr_err err;
        d.nbin += n % 2 ? (size_t)tap_between(&seed, 0, 100000) : 0;
        d.batch = 1;
        if (psr_accel_search_resolve(&s, &d, &err))
            bail(&err);
        make_spectra(&x, &d, &s, &seed);
        const struct psr_accel_batch b = {.n = 1, .in = x.in, .norm = x.level, .hits = &hits};
        if (psr_accel_cuda_start(&c, ACCEL_FLOAT, 1, &err) ||
            psr_accel_cuda_upload(&c, &c.slot[0], &b, 0, &err))
            bail(&err);
        if (cudaStreamSynchronize(c.in))
            ok(false, "bins are not made");
        psr_accel_cuda_take_levels(&c, &c.slot[0], 0, &b);
        wrong += count_levels(&c, x.level[0], &x.in[0]);
        bins += d.nbin;
        psr_accel_cuda_free(&c);
        free_spectra(&x);
        psr_accel_search_forget(&s);
    }
    ok(wrong == 0, "%zu normalised bins of %d spectra are the host's: %zu wrong", bins, times,
       wrong);
}

static bool same_lists(const struct psr_accelsearch_result *a,
                       const struct psr_accelsearch_result *b)
{
    bool same = a->ncand == b->ncand && a->nremoved == b->nremoved;
    for (size_t k = 0; same && k < a->ncand; k++)
        same = memcmp(&a->cand[k].sigma, &b->cand[k].sigma, sizeof(double)) == 0 &&
               memcmp(&a->cand[k].r, &b->cand[k].r, sizeof a->cand[k].r) == 0 &&
               memcmp(&a->cand[k].z, &b->cand[k].z, sizeof a->cand[k].z) == 0 &&
               memcmp(&a->cand[k].harm[0], &b->cand[k].harm[0], sizeof *a->cand[k].harm) == 0;
    return same;
}

/* Noise, red now and then, and a tone, mostly of a low frequency, as the highest harmonic is in the
 * spectrum too. */
static float *make_series(size_t n, uint64_t *seed)
{
    float *x = tap_take(n, sizeof *x);
    const double scale = pow(10, 4 * tap_uniform(seed) - 2), drift = tap_uniform(seed) < 0.5;
    const double turns = pow(tap_uniform(seed), 3) * (double)n / 2, height = tap_uniform(seed);
    double walk = 0;
    for (size_t t = 0; t < n; t++) {
        walk += 0.1 * drift * tap_normal(seed);
        x[t] = (float)(scale * (5 + walk + tap_normal(seed) +
                                height * cos(2 * M_PI * turns * (double)t / (double)n)));
    }
    return x;
}

struct series_totals {
    size_t cands, unlike, bad;
    double error; /* of a bin, over what transforms may round */
};

static psr_accelsearch *make_plan(struct psr_accelsearch_desc d, const char *backend, bool series)
{
    psr_accelsearch *p = NULL;
    psr_err err;
    d.backend = backend;
    d.series = series;
    if (psr_accelsearch_create(&p, &d, &err))
        bail(&err);
    return p;
}

static void execute(psr_accelsearch *p, size_t n, const struct psr_accelsearch_input *in,
                    struct psr_accelsearch_result *r)
{
    psr_err err;
    if (psr_accelsearch_execute_batch(p, n, in, r, &err))
        bail(&err);
}

/* Whitened bins are off by some 2^-24 of the highest amplitude there can be, over that of the noise: of
 * red series much, as every bin has the roundings of the first. */
static double largest_error(const float *got, const float *want, const float *series, size_t nbin)
{
    double most = 0, square = 0, sum = 0, step = 0;
    for (size_t i = 2; i < 2 * nbin; i++) {
        most = fmax(most, fabs((double)got[i] - (double)want[i]));
        square += (double)want[i] * (double)want[i];
    }
    for (size_t t = 1; t < 2 * nbin; t++) {
        const double rise = (double)series[t] - (double)series[t - 1];
        sum += fabs((double)series[t]);
        step += rise * rise / 2;
    }
    return most / sqrt(square / (double)nbin) / (0x1p-24 * sum / sqrt(step));
}

/* The device's lists are the CPU's of the spectra that the device made, and these are the CPU's but
 * for rounding. */
static void compare_series(uint64_t *seed, struct series_totals *t)
{
    struct psr_span zap[MOST_ZAP];
    struct psr_accelsearch_desc d = random_desc(zap, seed);
    float *x[BATCH], *on_device[BATCH], *on_host[BATCH];
    struct psr_accelsearch_input in[BATCH], spectra[BATCH];
    struct psr_accelsearch_result got[BATCH], want[BATCH];
    size_t ncand[BATCH];
    d.redden = (struct psr_redden){.start = 6, .end = 200, .stop_bin = (double)d.nbin};
    d.redden.start = d.norm == PSR_ACCELSEARCH_PHOTON || tap_uniform(seed) < 0.2 ? 0 : 6;
    const size_t n = (size_t)tap_between(seed, 1, (int64_t)d.batch), size = 2 * d.nbin;
    for (size_t k = 0; k < n; k++) {
        x[k] = make_series(size, seed);
        on_device[k] = tap_take(size, sizeof *on_device[k]);
        on_host[k] = tap_take(size, sizeof *on_host[k]);
        in[k] = (struct psr_accelsearch_input){.x = x[k], .spectrum = on_host[k]};
    }
    psr_accelsearch *host = make_plan(d, "cpu", true), *device = make_plan(d, "cuda", true);
    psr_accelsearch *check = make_plan(d, "cpu", false);
    execute(host, n, in, want);
    for (size_t k = 0; k < n; k++) {
        in[k].spectrum = on_device[k];
        if (k % 2) { /* in its own place */
            memcpy(on_device[k], x[k], size * sizeof **x);
            in[k].x = on_device[k];
        }
    }
    execute(device, n, in, got);
    for (size_t k = 0; k < n; k++) {
        spectra[k] =
            (struct psr_accelsearch_input){.x = on_device[k], .photons = (double)on_device[k][0]};
        t->error = fmax(t->error, largest_error(on_device[k], on_host[k], x[k], d.nbin));
    }
    execute(check, n, spectra, want);
    for (size_t k = 0; k < n; k++) {
        t->cands += want[k].ncand;
        t->unlike += !same_lists(&got[k], &want[k]);
        ncand[k] = got[k].ncand;
    }
    for (int e = 0; e < 2; e++) { /* one that is not finite leaves the others */
        const size_t which = (size_t)tap_between(seed, 0, (int64_t)n - 1);
        const int64_t place = tap_between(seed, 0, (int64_t)size - 1);
        for (size_t k = 0; k < n; k++)
            in[k].x = memcpy(on_device[k], x[k], size * sizeof **x);
        on_device[which][place] = e ? -INFINITY : NAN;
        execute(device, n, in, got);
        for (size_t k = 0; k < n; k++)
            t->bad += k == which ? got[k].bad != place || got[k].ncand > 0
                                 : got[k].bad != -1 || got[k].ncand != ncand[k];
    }
    for (size_t k = 0; k < n; k++) {
        free(x[k]);
        free(on_device[k]);
        free(on_host[k]);
    }
    psr_accelsearch_destroy(host);
    psr_accelsearch_destroy(device);
    psr_accelsearch_destroy(check);
}

static void test_series(int times, uint64_t seed)
{
    struct series_totals t = {0};
    for (int n = 0; n < times; n++)
        compare_series(&seed, &t);
    ok(t.unlike == 0 && (t.cands > 0 || times < 20),
       "%d batches of series, %zu candidates: %zu lists unlike", times, t.cands, t.unlike);
    ok(t.bad == 0, "those that are not finite are told: %zu wrong", t.bad);
    ok(t.error < 10, "bins are off by %.1f roundings of the highest amplitude", t.error);
}

/* --- transforms, which run on the host too ------------------------------------------------------ */

/* The largest error of a transform against its definition, over the rms; all of it, every 7th point. */
static double transform_error(enum accel_k_number kind, uint64_t *seed)
{
    double(*in)[2] = tap_take(2 * ACCEL_BLOCK, sizeof *in);
    double(*out)[2] = tap_take(2 * ACCEL_BLOCK, sizeof *out), sum = 0, most = 0;
    for (int f = 0; f < 2 * ACCEL_BLOCK; f++)
        for (int part = 0; part < 2; part++) {
            in[f][part] = ldexp(rint(tap_normal(seed) * 256), -14); /* exact as halves */
            sum += in[f][part] * in[f][part];
        }
    ok(accel_fft_host(kind, (const double(*)[2])in, out), "transforms on the host");
    for (int n = 0; n < 2 * ACCEL_BLOCK; n += 7) {
        const int p = n / ACCEL_BLOCK, m = n % ACCEL_BLOCK;
        double complex want = 0;
        for (int f = 0; f < ACCEL_BLOCK; f++) {
            double angle = 2 * M_PI * (m * f % ACCEL_BLOCK) / ACCEL_BLOCK;
            const double *z = in[p * ACCEL_BLOCK + f];
            want += (z[0] + I * z[1]) * (cos(angle) + I * sin(angle));
        }
        most = fmax(most, cabs(out[n][0] + I * out[n][1] - want));
    }
    free(in);
    free(out);
    return most / sqrt(sum / 2);
}

static void test_transforms(uint64_t seed)
{
    double error = transform_error(ACCEL_FLOAT, &seed);
    ok(error < 2e-6, "transforms of floats are off by %.2g", error);
    error = transform_error(ACCEL_HALF, &seed);
    ok(error < 8e-3, "transforms of halves are off by %.2g", error);
}

/* --- statuses --------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    struct psr_accelsearch_desc d = {.size = sizeof d,
                                     .nbin = 60000,
                                     .zmax = 1200,
                                     .wmax = 4000,
                                     .numharm = 1,
                                     .sigma = 2,
                                     .backend = "cuda"};
    psr_accelsearch *p = NULL;
    psr_err err;
    psr_status st = psr_accelsearch_create(&p, &d, &err);
    ok(st == PSR_EUNSUPPORTED && !p, "responses wider than a block: %s", err.msg);
    d.zmax = 200;
    d.wmax = 0;
    d.mem_bytes = 1000000;
    st = psr_accelsearch_create(&p, &d, &err);
    ok(st == PSR_ENOMEM && !p, "no memory: %s", err.msg);
}

/* One bad spectrum leaves the others.  With one harmonic, noise at half of a line's frequency cannot
 * make that the candidate. */
static void test_bad_spectrum(uint64_t seed)
{
    const struct psr_accelsearch_desc d = {.size = sizeof d,
                                           .nbin = 5000,
                                           .zmax = 20,
                                           .numharm = 1,
                                           .sigma = 2,
                                           .batch = 3,
                                           .backend = "cuda"};
    struct psr_accelsearch_input in[3];
    struct psr_accelsearch_result r[3];
    psr_accelsearch *p = NULL;
    psr_err err;
    float *x[3];
    for (int k = 0; k < 3; k++) {
        x[k] = tap_take(2 * d.nbin, sizeof *x[k]);
        for (size_t i = 0; i < 2 * d.nbin; i++)
            x[k][i] = (float)tap_normal(&seed);
        add_line(x[k], (int64_t)d.nbin, 700 * k + 600, 4, 0, 20);
        in[k] = (struct psr_accelsearch_input){.x = x[k]};
    }
    x[1][77] = NAN;
    if (psr_accelsearch_create(&p, &d, &err) || psr_accelsearch_execute_batch(p, 3, in, r, &err))
        bail(&err);
    ok(r[1].bad == 38 && r[1].ncand == 0, "bin %lld is no number", (long long)r[1].bad);
    ok(r[0].bad == -1 && r[0].ncand > 0 && fabs(r[0].cand[0].r.value - 600) < 1 && r[2].bad == -1 &&
           r[2].ncand > 0 && fabs(r[2].cand[0].r.value - 2000) < 1,
       "the others have their lines");
    psr_accelsearch_destroy(p);
    for (int k = 0; k < 3; k++)
        free(x[k]);
}

int main(void)
{
    const char *text = getenv("PSRKIT_TEST_COUNT");
    const int times = text ? atoi(text) : 40;
    const uint64_t seed = tap_seed();
    psr_err err;
    test_transforms(seed);
    if (psr_device_count(&err) == 0) {
        skip("matched search on CUDA", err.msg);
        return done_testing();
    }
    test_bounds(ACCEL_HALF, times < 8 ? times : 8, seed);
    test_bounds(ACCEL_FLOAT, times < 8 ? times : 8, seed);
    test_levels(times < 20 ? times : 20, seed);
    test_series(times < 20 ? times : 20, seed);
    test_agreement(times, seed);
    test_many_places(seed);
    test_refusals();
    test_bad_spectrum(seed);
    return done_testing();
}
