/* pulscan: plans; what hits do not depend on, bad data, series, normalised bins, statuses. */
#include <psrkit/series.h>

#include "dsp/dsp.h"
#include "search/pulscan/pulscan_internal.h"

#include "formats/series/series_internal.h"
#include "tests/support/pulscan_truth.h"

static const int sums[] = {1, 2, 3, 4};

/* --- what does not matter --------------------------------------------------------------------- */

static const struct psr_pulscan_desc plain = {
    .size = sizeof plain,
    .nbin = 30000,
    .zmax = 50,
    .nharm = sums,
    .nnharm = 4,
    .block = 1000,
    .sigma = -3,
    .batch = 3,
    .nthread = 1,
    .backend = "cpu",
};

static bool same_hits(const struct psr_pulscan_result *a, const struct psr_pulscan_result *b)
{
    bool same = a->nhit == b->nhit && a->bad == b->bad;
    for (size_t k = 0; same && k < a->nhit; k++)
        same = a->hit[k].first == b->hit[k].first && a->hit[k].z == b->hit[k].z &&
               a->hit[k].nharm == b->hit[k].nharm && a->hit[k].power == b->hit[k].power &&
               a->hit[k].sigma == b->hit[k].sigma && a->hit[k].r == b->hit[k].r;
    return same;
}

static psr_pulscan *make_plan(const struct psr_pulscan_desc *d)
{
    psr_pulscan *plan = NULL;
    psr_err err;
    if (psr_pulscan_create(&plan, d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    return plan;
}

static bool run(psr_pulscan *plan, size_t n, float *const *in, struct psr_pulscan_result *r)
{
    psr_err err;
    psr_status st = psr_pulscan_execute(plan, n, (const float *const *)in, r, &err);
    if (st)
        diag("%s", err.msg);
    return st == PSR_OK;
}

static void test_threads_and_batches(uint64_t *seed)
{
    struct psr_pulscan_desc d = plain;
    float *in[3];
    for (int s = 0; s < 3; s++)
        in[s] = make_spectrum(d.nbin, 5, seed);
    struct psr_pulscan_result all[3], one;
    psr_pulscan *batch = make_plan(&d);
    d.nthread = 3;
    d.batch = 0;
    psr_pulscan *single = make_plan(&d);
    bool same = run(batch, 3, in, all);
    for (int s = 0; same && s < 3; s++)
        same = run(single, 1, in + s, &one) && same_hits(&one, &all[s]) && one.nhit > 0;
    ok(same, "three threads and single spectra give the bits of one thread and a batch");
    psr_pulscan_destroy(batch);
    psr_pulscan_destroy(single);
    for (int s = 0; s < 3; s++)
        free(in[s]);
}

/* --- bad data --------------------------------------------------------------------------------- */

static void test_bad_data(uint64_t *seed)
{
    struct psr_pulscan_desc d = plain;
    psr_pulscan *plan = make_plan(&d);
    struct psr_pulscan_result r[3];
    float *in[3];
    for (int s = 0; s < 3; s++)
        in[s] = make_spectrum(d.nbin, 5, seed);
    in[0][2 * 29990 + 1] = NAN;
    in[0][2 * 17] = -INFINITY;
    in[2][2 * 29999 + 1] = INFINITY;
    bool done = run(plan, 3, in, r);
    ok(done && r[0].bad == 17 && r[0].nhit == 0 && r[2].bad == 29999 && r[2].nhit == 0,
       "bins that are no numbers are named");
    ok(done && r[1].bad == -1 && r[1].nhit > 0, "and the spectrum between them is searched");
    memset(in[0], 0, 2 * d.nbin * sizeof **in);
    for (size_t i = 0; i < 2 * d.nbin; i++)
        in[1][i] = i % 2 ? 3e38f : -7;
    done = run(plan, 2, in, r);
    ok(done && r[0].nhit == 0 && r[0].bad == -1 && r[1].nhit == 0,
       "zeros and constants hold nothing");
    for (size_t i = 4000; i < 4200; i++)
        in[2][i] = i % 3 ? 3e38f : -3e38f;
    in[2][2 * 29999 + 1] = 1;
    done = run(plan, 1, in + 2, r);
    bool finite = done && r[0].nhit > 0;
    for (size_t k = 0; finite && k < r[0].nhit; k++)
        finite = isfinite(r[0].hit[k].power) && isfinite(r[0].hit[k].sigma);
    ok(finite, "the largest of floats have finite powers and sigmas");
    psr_pulscan_destroy(plan);
    for (int s = 0; s < 3; s++)
        free(in[s]);
}

/* --- series ----------------------------------------------------------------------------------- */

/* Series of a batch, with a bad one among them, against their spectra transformed outside. */
static void test_series(uint64_t *seed, bool redden)
{
    struct psr_pulscan_desc d = plain;
    d.nbin = 3001;
    if (redden)
        d.redden = (struct psr_redden){6, 50, 1000, false, false};
    float *series[3], *spectrum[3];
    psr_rfft *rfft;
    psr_err err;
    if (psr_rfft_create(&rfft, 2 * (int64_t)d.nbin, &err))
        diag("%s", err.msg);
    for (int s = 0; s < 3; s++) {
        series[s] = make_spectrum(d.nbin, 9, seed);
        for (size_t t = 0; t < 2 * d.nbin; t++)
            series[s][t] += (float)(2 * sin(0.7 * (double)t));
        spectrum[s] = tap_take(2 * d.nbin + 2, sizeof **spectrum);
        psr_rfft_execute(rfft, series[s], spectrum[s]);
        if (redden && psr_spectrum_deredden(spectrum[s], (int64_t)d.nbin, &d.redden, &err))
            diag("%s", err.msg);
    }
    series[1][4321] = NAN;
    psr_pulscan *of_spectra = make_plan(&d);
    d.series = true;
    psr_pulscan *of_series = make_plan(&d);
    struct psr_pulscan_result a[3], b[3];
    bool same = run(of_spectra, 3, spectrum, a) && run(of_series, 3, series, b);
    same = same && same_hits(&a[0], &b[0]) && same_hits(&a[2], &b[2]) && a[0].nhit > 0;
    ok(same, "series, %s, are searched as their spectra", redden ? "de-reddened" : "as they are");
    ok(b[1].bad == 4321 && b[1].nhit == 0, "a sample that is no number is named");
    float *own[2] = {psr_pulscan_input(of_series, 0), psr_pulscan_input(of_series, 1)};
    memcpy(own[0], series[2], 2 * d.nbin * sizeof **own);
    memcpy(own[1], series[0], 2 * d.nbin * sizeof **own);
    float *mixed[3] = {own[1], series[2], own[0]};
    same = run(of_series, 3, mixed, b) && same_hits(&a[0], &b[0]) && same_hits(&a[2], &b[1]) &&
           same_hits(&a[2], &b[2]);
    ok(same, "and from the plan's own memory, in any order");
    float x[2], y[2];
    bool known = !psr_pulscan_amplitudes(of_spectra, 2, 1234, 1, x, &err) &&
                 !psr_pulscan_amplitudes(of_series, 2, 1234, 1, y, &err);
    ok(known && !memcmp(x, y, sizeof x), "and so are their normalised bins");
    psr_rfft_destroy(rfft);
    psr_pulscan_destroy(of_spectra);
    psr_pulscan_destroy(of_series);
    for (int s = 0; s < 3; s++) {
        free(series[s]);
        free(spectrum[s]);
    }
}

/* --- amplitudes and input --------------------------------------------------------------------- */

static void test_amplitudes(uint64_t *seed)
{
    struct psr_pulscan_desc d = plain;
    d.normblock = 777;
    d.nbin = 5000;
    psr_pulscan *plan = make_plan(&d);
    float *x = make_spectrum(d.nbin, 3, seed), *in = psr_pulscan_input(plan, 1);
    memcpy(in, x, 2 * d.nbin * sizeof *x);
    ok(psr_pulscan_input(plan, 1) == in && psr_pulscan_input(plan, 3) == NULL,
       "memory for every spectrum of the batch");
    struct psr_pulscan_result r[2];
    float *both[2] = {x, in};
    bool done = run(plan, 2, both, r);
    struct truth t = find_truth(x, d.nbin, 777, &d);
    float *got = tap_take(2 * d.nbin + 40, sizeof *got);
    psr_err err;
    done = done && !psr_pulscan_amplitudes(plan, 1, -10, d.nbin + 20, got, &err);
    double worst = 0;
    for (size_t i = 2; i < 2 * d.nbin; i++)
        worst = fmax(worst, fabs((double)got[20 + i] - t.x[i]) / fmax(1, fabs(t.x[i])));
    for (size_t i = 0; i < 22; i++)
        worst =
            fmax(worst, fabs((double)got[i]) + fabs((double)got[2 * d.nbin + 18 + i] * (i > 1)));
    ok(done && worst < 1e-5, "normalised bins, zero beyond the ends: worst %.2g", worst);
    ok(psr_pulscan_amplitudes(plan, 2, 0, 1, got, &err) == PSR_EINVAL, "of spectra there are");
    free_truth(&t);
    free(got);
    free(x);
    psr_pulscan_destroy(plan);
}

/* --- statuses --------------------------------------------------------------------------------- */

enum field { NBIN, ZMAX, ZSTEP, NHARM, ORDER, NORM, RLO, RHI, ZAP, SIGMA, TRIALS, SIGNIF, COMPAT };

static void spoil(struct psr_pulscan_desc *d, enum field f)
{
    static const int falling[] = {1, 4, 3};
    static const struct psr_span backward = {10, -1};
    switch (f) {
    case NBIN:
        d->nbin = 15;
        break;
    case ZMAX:
        d->zmax = 15000;
        break;
    case ZSTEP:
        d->zstep = -1;
        break;
    case NHARM:
        d->nnharm = 0;
        break;
    case ORDER:
        d->nharm = falling;
        d->nnharm = 3;
        break;
    case NORM:
        d->normblock = 5;
        break;
    case RLO:
        d->rlo = 30000;
        break;
    case RHI:
        d->rlo = 9;
        d->rhi = 8;
        break;
    case ZAP:
        d->zap = &backward;
        d->nzap = 1;
        break;
    case SIGMA:
        d->sigma = NAN;
        break;
    case TRIALS:
        d->ntrials = -1;
        break;
    case SIGNIF:
        d->significance = (enum psr_pulscan_significance)7;
        break;
    case COMPAT:
        d->compat = true;
        d->rhi = 5;
        break;
    }
}

static void test_statuses(void)
{
    static const char *const field[] = {"nbin",      "zmax",         "zstep", "nnharm", "nharm",
                                        "normblock", "rlo",          "rhi",   "zap",    "sigma",
                                        "ntrials",   "significance", "compat"};
    psr_pulscan *plan;
    psr_err err;
    for (enum field f = NBIN; f <= COMPAT; f++) {
        struct psr_pulscan_desc d = plain;
        spoil(&d, f);
        psr_status st = psr_pulscan_create(&plan, &d, &err);
        if (!ok(st == PSR_EINVAL && !plan && !strcmp(err.field, field[f]), "refuses %s", field[f]))
            diag("%s", err.msg);
    }
    struct psr_pulscan_desc d = plain;
    d.backend = "abacus";
    ok(psr_pulscan_create(&plan, &d, &err) == PSR_EDEVICE && !strcmp(err.field, "backend"),
       "no such backend");
    d = plain;
    d.mem_bytes = 1000;
    ok(psr_pulscan_create(&plan, &d, &err) == PSR_ENOMEM && strstr(err.msg, "30000 bins"),
       "too little memory");
    plan = make_plan(&plain);
    const float *none[4] = {NULL};
    struct psr_pulscan_result r[4];
    ok(psr_pulscan_execute(plan, 4, none, r, &err) == PSR_EINVAL, "more than the batch");
    psr_pulscan_destroy(plan);
}

/* --- significance ----------------------------------------------------------------------------- */

/* N_eff / N as tests/science/README.md has it. */
static void test_trials(void)
{
    static const struct {
        int zmax;
        size_t nnharm;
        bool logz;
        double share[3]; /* of 2^15, 2^17, 2^19 bins */
    } rows[] = {{0, 1, false, {1.1, 1.1, 1.1}},       {0, 4, false, {1.8, 1.8, 1.8}},
                {50, 1, false, {5.9, 6.2, 6.4}},      {50, 4, false, {14.4, 15.2, 15.8}},
                {200, 1, false, {6.7, 7.1, 7.6}},     {200, 4, false, {16.9, 18.2, 19.3}},
                {200, 4, true, {8.9, 9.2, 9.4}},      {1200, 1, false, {6.9, 7.5, 8.0}},
                {1200, 4, false, {17.8, 19.4, 20.8}}, {1200, 4, true, {9.2, 9.5, 9.7}}};
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 3; k++) {
            struct psr_pulscan_desc d = plain;
            d.nbin = (size_t)1 << (15 + 2 * k);
            d.zmax = rows[i].zmax;
            d.nnharm = rows[i].nnharm;
            d.logz = rows[i].logz;
            d.block = 0;
            d.batch = 1;
            psr_pulscan *plan = make_plan(&d);
            double share = psr_pulscan_trials(plan, 1) / (double)d.nbin;
            if (!(fabs(share - rows[i].share[k]) < 0.0501)) {
                wrong++;
                diag("row %zu, %zu bins: %g, published %g", i, d.nbin, share, rows[i].share[k]);
            }
            psr_pulscan_destroy(plan);
        }
    ok(wrong == 0, "effective trials are those published (%d wrong)", wrong);
}

/* Blocks that are long measure the level so well that sigma is what it is of noise as it was. */
static void test_long_blocks(void)
{
    struct psr_significance white = {.nbin = 1 << 26, .normblock = 1 << 20, .trials = 1e8},
                            red = white;
    red.redden = (struct psr_redden){.start = 1 << 18, .end = 1 << 24, .stop_bin = 0x1p40};
    red.last = psr_significance_last_block(&red.redden, 1 << 26);
    double worst = 0;
    for (int nharm = 1; nharm <= 4; nharm++)
        for (int z = 0; z <= 200; z += 50) {
            struct psr_significance_box box = {nharm, z, 20000};
            double dof = psr_pulscan_dof(nharm, z), power = dof + 12 * sqrt(2 * dof) + 40;
            double off = psr_significance_sigma(&red, power, &box) /
                             psr_significance_sigma(&white, power, &box) -
                         1;
            worst = fmax(worst, fabs(off));
        }
    ok(worst < 1e-3, "long blocks of de-reddening leave sigma: within %.1e", worst);
}

/* Degrees of freedom that a box's power has, over those of chi^2, by the published fits. */
static double naive_spread(const struct psr_significance *o, const struct psr_significance_box *b)
{
    double bins = 0, sum = 0, weight = 0;
    for (int h = 1; h <= b->nharm; h++) {
        bins += (double)h * h * (b->z + 1);
        weight += h;
    }
    const double white = 1 / (1 + (40 + 1.2 * bins / weight) / o->normblock);
    for (int h = 1; h <= b->nharm && o->redden.start > 0; h++) {
        const int64_t first = h * b->first, last = first + (int64_t)h * (b->z + 1) - 1;
        int64_t n = psr_redden_length(&o->redden, first, INT64_MAX), before = first - n - n / 2;
        n = psr_redden_length(&o->redden, before > 1 ? before : 1, INT64_MAX);
        if (last >= o->last.first)
            n = o->last.count;
        sum += h / weight * (1.09 * log(30 * o->trials) - 4) * pow(h * (b->z + 1.0), 0.28) /
               ((double)n - 2 + h * (b->z + 1) / 3.5);
    }
    return white / pow(1 + sum / sqrt(b->nharm) / 2, 2);
}

static void test_spread(uint64_t *seed)
{
    double worst[2] = {0, 0};
    for (int i = 0; i < 2000; i++) {
        struct psr_significance o = {.nbin = 1 << 20,
                                     .normblock = (double)tap_between(seed, 100, 20000),
                                     .trials = exp(5 + 20 * tap_uniform(seed))};
        if (i % 2) {
            o.redden.start = (int)tap_between(seed, 4, 100);
            o.redden.end = o.redden.start + (int)tap_between(seed, 0, 2000);
            o.redden.stop_bin = 0x1p40;
            o.last = psr_significance_last_block(&o.redden, 1 << 20);
        }
        struct psr_significance_box b = {(int)tap_between(seed, 1, 8),
                                         (int)tap_between(seed, 0, 300), 0};
        b.first = tap_between(seed, b.nharm * (b.z + 1), (1 << 20) / b.nharm);
        double dof = psr_pulscan_dof(b.nharm, b.z),
               power = dof + 10 * tap_uniform(seed) * sqrt(dof);
        double s = naive_spread(&o, &b);
        double off =
            psr_significance_alone(&o, power, &b).ln_sf / psr_chi2_logp(power * s, dof * s).ln_sf -
            1;
        worst[i % 2] = fmax(worst[i % 2], fabs(off));
    }
    ok(worst[0] < 1e-9, "the spread of boxes is that published: within %.1e", worst[0]);
    ok(worst[1] < 1e-9, "and that of de-reddened spectra: within %.1e", worst[1]);
}

/* Every bin's level is set by blocks of the length that the next blocks tell. */
static void test_last_block(void)
{
    const struct psr_redden how = {.start = 10, .end = 1000, .stop_bin = 0x1p40};
    bool right = true;
    for (int64_t nbin = 50; nbin < 20000; nbin += 37) {
        const struct psr_span last = psr_significance_last_block(&how, nbin);
        int64_t k = 1, before = 0;
        while (k + psr_redden_length(&how, k, nbin) < nbin) {
            before = k + psr_redden_length(&how, k, nbin) / 2;
            k += psr_redden_length(&how, k, nbin);
        }
        right &= last.first == before && last.count == psr_redden_length(&how, k, nbin);
    }
    ok(right, "the last block, and from where its level counts");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_threads_and_batches(&seed);
    test_bad_data(&seed);
    test_series(&seed, false);
    test_series(&seed, true);
    test_amplitudes(&seed);
    test_spread(&seed);
    test_last_block();
    test_statuses();
    test_trials();
    test_long_blocks();
    return done_testing();
}
