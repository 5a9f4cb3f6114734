/* measure: what candidates of boxes become in accelsearch's words. */
#include <psrkit/measure.h>
#include <psrkit/signif.h>
#include <psrkit/spectrum.h>

#include "tap.h"

#include <string.h>

enum { NSAMP = 1 << 17, NBIN = NSAMP / 2, ZMAX = 128 };

struct signal {
    double r, z, amplitude[4]; /* of its harmonics; mean r, drift z of the fundamental */
};

/* A spectrum of noise of variance 1 and signals. */
static float *make_spectrum(const struct signal *signal, size_t n, uint64_t *random)
{
    float *x = tap_take(NSAMP + 2, sizeof *x);
    psr_rfft *plan = NULL;
    psr_err err;
    for (int64_t t = 0; t < NSAMP; t++) {
        double u = ((double)t + 0.5) / NSAMP, v = 0;
        for (size_t i = 0; i < n; i++)
            for (int h = 1; h <= 4; h++) {
                double turns = (signal[i].r - signal[i].z / 2) * u + signal[i].z * u * u / 2;
                v += signal[i].amplitude[h - 1] * cos(2 * M_PI * h * turns + 0.3 * h);
            }
        double noise = sqrt(-2 * log(tap_uniform(random) + 1e-300));
        x[t] = (float)(v + noise * cos(2 * M_PI * tap_uniform(random)));
    }
    if (psr_rfft_create(&plan, NSAMP, &err) != PSR_OK)
        diag("%s", err.msg);
    psr_rfft_execute(plan, x, x);
    psr_rfft_destroy(plan);
    return x;
}

struct found {
    psr_pulscan *plan;
    struct psr_pulscan_cand *cand;
    size_t ncand;
    struct psr_measured measured;
};

static psr_status search(struct found *f, const float *x, double sigma, bool rblock,
                         const struct psr_span *zap, psr_err *err)
{
    static const int nharm[] = {1, 2, 3, 4};
    struct psr_pulscan_result result;
    const struct psr_pulscan_desc desc = {.nbin = NBIN,
                                          .zmax = ZMAX,
                                          .zstep = 2,
                                          .nharm = nharm,
                                          .nnharm = 4,
                                          .rblock = rblock,
                                          .rlo = 100,
                                          .zap = zap,
                                          .nzap = zap != NULL,
                                          .sigma = sigma,
                                          .backend = "cpu"};
    const struct psr_measure_desc measure = {
        .zmax = ZMAX, .boxes_only = rblock, .zap = zap, .nzap = zap != NULL};
    *f = (struct found){.plan = NULL};
    psr_status st = psr_pulscan_create(&f->plan, &desc, err);
    if (st == PSR_OK)
        st = psr_pulscan_execute(f->plan, 1, &x, &result, err);
    if (st == PSR_OK)
        st = psr_pulscan_merge(result.hit, result.nhit, &(struct psr_pulscan_merge_desc){.max = 20},
                               &f->cand, &f->ncand, NULL, err);
    if (st == PSR_OK)
        st = psr_measure(&f->measured, f->plan, 0, f->cand, f->ncand, &measure, err);
    return st;
}

static void forget(struct found *f)
{
    psr_measured_clear(&f->measured);
    psr_measured_clear(&f->measured);
    free(f->cand);
    psr_pulscan_destroy(f->plan);
}

static const struct psr_accel_cand *find_near(const struct found *f, double r)
{
    for (size_t i = 0; i < f->measured.n; i++)
        if (fabs(f->measured.cand[i].r.value - r) < 4)
            return &f->measured.cand[i];
    return NULL;
}

/* What the header promises of every candidate. */
static bool holds_together(const struct psr_accel_cand *c)
{
    double raw = 0, power = 0;
    for (int h = 0; h < c->nharm; h++) {
        raw += c->harm[h].raw;
        power += c->harm[h].power.value;
    }
    struct psr_logp alone = psr_chi2_logp(2 * power, 2 * c->nharm);
    return fabs(raw / c->power - 1) < 1e-5 && fabs(alone.ln_sf / c->ln_p - 1) < 1e-6 &&
           fabs(c->dof - psr_pulscan_dof(c->nharm, (double)c->width - 1)) < 1e-9;
}

static void test_signals(uint64_t *random)
{
    static const struct signal signals[] = {
        {5000.3, 60, {0.085, 0.06, 0.05, 0.03}}, {23456.75, -100.5, {0.12, 0, 0, 0}},
        {9000.25, 0, {0.05, 0, 0, 0}},           {31111.5, -14, {0.08, 0, 0, 0}},
        {14000.6, 25, {0.02, 0.07, 0, 0}},
    };
    float *x = make_spectrum(signals, 5, random);
    struct found f;
    psr_err err = {.msg = ""};
    ok(search(&f, x, 4, false, NULL, &err) == PSR_OK, "searched and measured: %zu candidates %s",
       f.measured.n, err.msg);
    for (size_t i = 0; i < 5; i++) {
        const struct signal *s = &signals[i];
        double scale =
            i == 4 && !find_near(&f, s->r) ? 2 : 1; /* its 2nd harmonic is the strong one */
        const struct psr_accel_cand *c = find_near(&f, scale * s->r);
        if (!ok(c != NULL, "the signal at %g is found", s->r))
            continue;
        ok(fabs(c->r.value - scale * s->r) < 5 * c->r.error &&
               fabs(c->z.value - scale * s->z) < 5 * c->z.error && c->r.error < 0.2,
           "its r %.3f(%.3f), z %.2f(%.2f), %d harmonics", c->r.value, c->r.error, c->z.value,
           c->z.error, c->nharm);
        ok(c->sign_known || fabs(s->z) < 1, "the sign of its z is known");
        ok(holds_together(c), "its powers hold together");
    }
    const struct psr_accel_cand *c = find_near(&f, 5000.3);
    double matched = 0;
    for (int h = 0; c && h < c->nharm; h++)
        matched += signals[0].amplitude[h] * signals[0].amplitude[h] * NSAMP / 4;
    ok(c && c->nharm > 1 && fabs(c->harm[1].r.value - 2 * c->r.value) < 1e-9 &&
           fabs(c->harm[0].centroid.value - 0.5) < 0.1 && fabs(c->harm[0].purity.value - 1) < 0.15,
       "harmonics lie at multiples and are on throughout");
    ok(c && c->coherent > 0.5 * matched && c->coherent < 5 * matched,
       "coherent power %.0f, of matched powers that add up to %.0f", c ? c->coherent : 0, matched);
    forget(&f);
    free(x);
}

/* A drift that reverses fits no matched response: the box stands, with both signs. */
static void test_no_drift(uint64_t *random)
{
    float *x = make_spectrum(NULL, 0, random);
    struct found f;
    psr_err err = {.msg = ""};
    float rms = 0;
    for (int64_t i = 2; i < 2 * NBIN; i++)
        rms += x[i] * x[i];
    rms = (float)sqrt((double)rms / (2.0 * NBIN));
    for (int64_t k = 12000; k < 12041; k++) { /* power without phase */
        double angle = 2 * M_PI * tap_uniform(random);
        x[2 * k] = (float)(3.4 * (double)rms * cos(angle));
        x[2 * k + 1] = (float)(3.4 * (double)rms * sin(angle));
    }
    ok(search(&f, x, 4, false, NULL, &err) == PSR_OK && f.ncand > 0, "a box of power: %s", err.msg);
    const struct psr_accel_cand *c = f.measured.cand;
    bool two = f.measured.n == f.ncand + 1 && fabs(c[0].z.value + c[1].z.value) < 1e-9 &&
               fabs(c[0].r.value - c[1].r.value) < 1e-9 && !c[0].sign_known;
    bool one = f.measured.n == f.ncand && c[0].sign_known;
    ok((two || one) && fabs(c[0].r.value - 12020) < 3 && fabs(fabs(c[0].z.value) - 40) < 6,
       "stands as a box, %s: r %.1f(%.1f), z %.1f(%.1f)", two ? "twice" : "once", c[0].r.value,
       c[0].r.error, c[0].z.value, c[0].z.error);
    ok(holds_together(c), "its powers hold together");
    forget(&f);
    const struct psr_span zap = {11990, 70};
    ok(search(&f, x, 4, false, &zap, &err) == PSR_OK && f.ncand == 0, "zapped, it is not found");
    forget(&f);
    ok(search(&f, x, 4, true, NULL, &err) == PSR_OK && f.ncand > 0 &&
           f.measured.cand[0].coherent <= 0,
       "blocks alone: no responses");
    ok(f.ncand > 0 && holds_together(f.measured.cand), "but powers that hold together");
    forget(&f);
    free(x);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_signals(&random);
    test_no_drift(&random);
    return done_testing();
}
