/* pulscan: the search of random spectra against its definition in double precision. */
#include <psrkit/pulscan.h>
#include <psrkit/signif.h>
#include <psrkit/spectrum.h>

#include "tap.h"
#include <string.h>

/* --- random spectra --------------------------------------------------------------------------- */

static double gaussian(uint64_t *seed)
{
    return sqrt(-2 * log(1 - tap_uniform(seed))) * cos(2 * M_PI * tap_uniform(seed));
}

/* Noise of uneven level, DC, and a few bright bins alone or side by side. */
static float *make_spectrum(size_t nbin, int nbright, uint64_t *seed)
{
    float *x = tap_take(2 * nbin, sizeof *x);
    for (size_t i = 0; i < nbin; i++) {
        double level = 1 + 3 * exp(-(double)i / (double)nbin * 5);
        x[2 * i] = (float)(level * gaussian(seed) + 0.1);
        x[2 * i + 1] = (float)(2 * level * gaussian(seed));
    }
    x[0] = 1e9f;
    for (int b = 0; b < nbright; b++) {
        int64_t first = tap_between(seed, 1, (int64_t)nbin - 1), n = tap_between(seed, 1, 30);
        for (int64_t i = first; i < first + n && i < (int64_t)nbin; i++)
            x[2 * i] += (float)(10 * gaussian(seed));
    }
    return x;
}

/* --- the definition --------------------------------------------------------------------------- */

static int by_value(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static double lower_median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_value);
    return x[(n - 1) / 2];
}

/* x [nbin][2], normalised in place; a short last stretch takes its medians from the last bins. */
static void normalise(double *x, size_t nbin, size_t n, bool compat)
{
    double *out = tap_take(2 * nbin, sizeof *out), *work = tap_take(nbin, sizeof *work);
    for (size_t begin = 0; begin < nbin; begin += n)
        for (size_t part = 0; part < 2; part++) {
            size_t end = begin + n < nbin ? begin + n : nbin;
            size_t first = compat ? begin : end - n, count = end - first;
            for (size_t i = 0; i < count; i++)
                work[i] = x[2 * (first + i) + part];
            double m = lower_median(work, count);
            for (size_t i = 0; i < count; i++)
                work[i] = fabs(x[2 * (first + i) + part] - m);
            double d = 1.4826 * lower_median(work, count);
            for (size_t i = begin; i < end; i++)
                out[2 * i + part] = d > 0    ? (x[2 * i + part] - m) / d
                                    : compat ? x[2 * i + part]
                                             : 0;
        }
    memcpy(x, out, 2 * nbin * sizeof *x);
    free(out);
    free(work);
}

struct truth {
    size_t nbin;
    double *x;   /* [nbin][2] normalised */
    double *p;   /* [nbin] */
    double *sum; /* of the present H, zero beyond its end for nbin more */
};

static struct truth find_truth(const float *in, size_t nbin, size_t normblock,
                               const struct psr_pulscan_desc *d)
{
    struct truth t = {nbin, tap_take(2 * nbin, 8), tap_take(nbin, 8), tap_take(2 * nbin, 8)};
    for (size_t i = 0; i < 2 * nbin; i++)
        t.x[i] = (double)in[i];
    normalise(t.x, nbin, normblock, d->compat);
    for (size_t i = 0; i < nbin; i++)
        t.p[i] = t.x[2 * i] * t.x[2 * i] + t.x[2 * i + 1] * t.x[2 * i + 1];
    t.p[0] = 0;
    for (size_t k = 0; k < d->nzap; k++)
        for (int64_t i = d->zap[k].first; i < d->zap[k].first + d->zap[k].count; i++)
            if (i > 0 && i < (int64_t)nbin)
                t.p[i] = 2;
    return t;
}

static void free_truth(struct truth *t)
{
    free(t->x);
    free(t->p);
    free(t->sum);
}

static void sum_harmonics(struct truth *t, int nharm)
{
    memset(t->sum, 0, 2 * t->nbin * sizeof *t->sum);
    for (size_t i = 0; i < t->nbin / (size_t)nharm; i++)
        for (size_t h = 1; h <= (size_t)nharm; h++)
            for (size_t j = 0; j < h; j++)
                t->sum[i] += t->p[h * i + j];
}

static double box_power(const struct truth *t, int64_t first, int z)
{
    double power = 0;
    for (int64_t i = first; i <= first + z; i++)
        power += t->sum[i];
    return power;
}

static bool allowed(const struct psr_pulscan_desc *d, int64_t first, int nharm, int z)
{
    int64_t n = (int64_t)d->nbin / nharm;
    if (d->compat)
        return first >= 1 && first < n;
    return first >= 1 && first >= d->rlo && first + z < n && (d->rhi == 0 || first + z <= d->rhi) &&
           first >= (int64_t)(nharm - 1) * (z + 1);
}

/* --- comparison ------------------------------------------------------------------------------- */

struct tally {
    int boxes, hits, missed, extra, wrong;
};

static const struct psr_pulscan_hit *find_hit(const struct psr_pulscan_result *r, int nharm, int z,
                                              int64_t block, int64_t b)
{
    for (size_t k = 0; k < r->nhit; k++)
        if (r->hit[k].nharm == nharm && r->hit[k].z == z && (r->hit[k].first - 1) / block == b)
            return &r->hit[k];
    return NULL;
}

/* Powers may differ by 1e-5, so boxes that are equal to that may take each other's places, and
 * those at the threshold may come or not. */
static void compare_block(const struct truth *t, const struct psr_pulscan_desc *d,
                          const psr_pulscan *plan, const struct psr_pulscan_result *r, int nharm,
                          int z, int64_t b, struct tally *c)
{
    int64_t block = (int64_t)d->block;
    double best = -1;
    for (int64_t i = 1 + b * block; i < 1 + (b + 1) * block && i < (int64_t)t->nbin; i++)
        if (allowed(d, i, nharm, z))
            best = fmax(best, box_power(t, i, z));
    const struct psr_pulscan_hit *h = find_hit(r, nharm, z, block, b);
    c->boxes++;
    c->hits += h != NULL;
    if (best < 0 || psr_pulscan_sigma(plan, best * (1 + 1e-5), nharm, z) <= d->sigma)
        c->extra += h != NULL;
    else if (!h)
        c->missed += psr_pulscan_sigma(plan, best * (1 - 1e-5), nharm, z) > d->sigma;
    else {
        double here = d->rblock ? best : box_power(t, h->first, z);
        bool same = fabs((double)h->power - here) <= 1e-5 * here && here >= best * (1 - 1e-5) &&
                    (d->rblock || allowed(d, h->first, nharm, z)) &&
                    h->sigma == psr_pulscan_sigma(plan, (double)h->power, nharm, z);
        c->wrong += !same;
    }
}

static void compare(const float *in, const struct psr_pulscan_desc *d, const psr_pulscan *plan,
                    const struct psr_pulscan_result *r, struct tally *c)
{
    struct psr_pulscan_info info;
    psr_pulscan_describe(plan, &info);
    struct truth t = find_truth(in, d->nbin, info.normblock, d);
    for (size_t k = 0; k < d->nnharm; k++) {
        sum_harmonics(&t, d->nharm[k]);
        int end = d->zmax + !d->compat;
        for (int z = 0; z < end; z = d->logz ? (z ? 2 * z : 1) : z + (d->zstep ? d->zstep : 1))
            for (int64_t b = 0; b * (int64_t)d->block < (int64_t)d->nbin / d->nharm[k]; b++)
                compare_block(&t, d, plan, r, d->nharm[k], z, b, c);
    }
    free_truth(&t);
}

/* --- random searches -------------------------------------------------------------------------- */

static const int sums[] = {1, 2, 3, 4, 8, 16};

static struct psr_pulscan_desc random_desc(uint64_t *seed, struct psr_span *zap, size_t nzap)
{
    struct psr_pulscan_desc d = {
        .nbin = (size_t)tap_between(seed, 64, tap_random(seed) % 4 ? 3000 : 12000),
        .zmax = (int)tap_between(seed, 0, 31),
        .zstep = (int)tap_between(seed, 0, 4),
        .logz = tap_random(seed) & 1,
        .nharm = sums,
        .nnharm = (size_t)tap_between(seed, 1, 6),
        .block = (size_t)tap_between(seed, 20, 3000),
        .normblock = (size_t)tap_between(seed, 33, 1500),
        .rblock = tap_random(seed) % 4 == 0,
        .sigma = (double)tap_between(seed, -8, 12),
        .batch = 2,
        .nthread = (int)tap_between(seed, 1, 3),
        .backend = "cpu",
    };
    d.compat = d.zmax > 0 && tap_random(seed) % 4 == 0;
    if (d.compat) {
        d.nnharm = (size_t)tap_between(seed, 1, 4);
        d.rblock = false;
        return d;
    }
    d.significance = tap_random(seed) % 4 ? PSR_PULSCAN_EXACT : PSR_PULSCAN_POLY;
    d.rlo = tap_random(seed) % 2 ? tap_between(seed, 0, (int64_t)d.nbin / 8) : 0;
    d.rhi = tap_random(seed) % 2 ? tap_between(seed, d.rlo, 2 * (int64_t)d.nbin) : 0;
    for (size_t k = 0; k < nzap; k++)
        zap[k] =
            (struct psr_span){tap_between(seed, -5, (int64_t)d.nbin + 5), tap_between(seed, 0, 20)};
    for (size_t k = 0; k < nzap; k++)
        if (zap[k].first < 0)
            zap[k].first = 0;
    d.zap = zap;
    d.nzap = nzap;
    return d;
}

static void search_random(uint64_t *seed, struct tally *c)
{
    struct psr_span zap[6];
    struct psr_pulscan_desc d = random_desc(seed, zap, 6);
    float *in[2];
    for (int s = 0; s < 2; s++)
        in[s] = make_spectrum(d.nbin, 5, seed);
    psr_pulscan *plan;
    psr_err err;
    struct psr_pulscan_result r[2];
    if (psr_pulscan_create(&plan, &d, &err) ||
        psr_pulscan_execute(plan, 2, (const float *const *)in, r, &err)) {
        diag("%s", err.msg);
        c->wrong++;
    } else
        for (int s = 0; s < 2; s++)
            compare(in[s], &d, plan, &r[s], c);
    psr_pulscan_destroy(plan);
    free(in[0]);
    free(in[1]);
}

static void test_definition(uint64_t *seed)
{
    struct tally c = {0};
    for (int i = 0; i < 60; i++)
        search_random(seed, &c);
    diag("%d blocks and widths, %d hits", c.boxes, c.hits);
    ok(c.hits > 1000 && c.hits < c.boxes, "searches that find and that do not");
    ok(c.missed == 0, "every box above the threshold is there: %d missed", c.missed);
    ok(c.extra == 0, "and none below: %d too many", c.extra);
    ok(c.wrong == 0, "powers, places and sigmas: %d wrong", c.wrong);
}

/* --- what does not matter --------------------------------------------------------------------- */

static const struct psr_pulscan_desc plain = {
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
        const struct psr_redden how = {6, 50, 1000};
        if (redden && psr_spectrum_deredden(spectrum[s], (int64_t)d.nbin, &how, &err))
            diag("%s", err.msg);
    }
    series[1][4321] = NAN;
    psr_pulscan *of_spectra = make_plan(&d);
    d.series = true;
    d.redden_start = redden ? 6 : 0;
    d.redden_end = 50;
    d.redden_stop = 1000;
    psr_pulscan *of_series = make_plan(&d);
    struct psr_pulscan_result a[3], b[3];
    bool same = run(of_spectra, 3, spectrum, a) && run(of_series, 3, series, b);
    same = same && same_hits(&a[0], &b[0]) && same_hits(&a[2], &b[2]) && a[0].nhit > 0;
    ok(same, "series, %s, are searched as their spectra", redden ? "de-reddened" : "as they are");
    ok(b[1].bad == 4321 && b[1].nhit == 0, "a sample that is no number is named");
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
    static const char *const word[] = {
        "15 bins",   "zmax of 15000",  "zstep of -1",   "0 harmonic", "3 harmon",
        "by 5 bins", "rlo 30000",      "rhi 8",         "-1 bins",    "sigma of",
        "-1 trials", "significance 7", "nothing zapped"};
    psr_pulscan *plan;
    psr_err err;
    for (enum field f = NBIN; f <= COMPAT; f++) {
        struct psr_pulscan_desc d = plain;
        spoil(&d, f);
        psr_status st = psr_pulscan_create(&plan, &d, &err);
        if (!ok(st == PSR_EINVAL && !plan && strstr(err.msg, word[f]), "refuses %s", word[f]))
            diag("%s", err.msg);
    }
    struct psr_pulscan_desc d = plain;
    d.backend = "abacus";
    ok(psr_pulscan_create(&plan, &d, &err) == PSR_EDEVICE && strstr(err.msg, "abacus"),
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

int main(void)
{
    uint64_t seed = tap_seed();
    test_definition(&seed);
    test_threads_and_batches(&seed);
    test_bad_data(&seed);
    test_series(&seed, false);
    test_series(&seed, true);
    test_amplitudes(&seed);
    test_statuses();
    return done_testing();
}
