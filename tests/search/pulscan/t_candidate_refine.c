/* measure: what candidates of boxes become in accelsearch's words. */
#include <psrkit/experimental/accel.h>
#include <psrkit/series.h>
#include <psrkit/signif.h>

#include "formats/series/series_internal.h"
#include "search/matched/refine/accel_refine.h"
#include "search/matched/response/accel_internal.h"
#include "search/pulscan/pulscan_internal.h"
#include "tests/support/tap.h"

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
        x[t] = (float)(v + tap_normal(random));
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
    const struct psr_pulscan_desc desc = {.size = sizeof desc,
                                          .nbin = NBIN,
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
    const struct psr_refine_desc measure = {.size = sizeof measure,
                                            .zmax = ZMAX,
                                            .boxes_only = rblock,
                                            .zap = zap,
                                            .nzap = zap != NULL};
    *f = (struct found){.plan = NULL};
    psr_status st = psr_pulscan_create(&f->plan, &desc, err);
    if (st == PSR_OK)
        st = psr_pulscan_execute(f->plan, 1, &x, &result, err);
    if (st == PSR_OK)
        st = psr_pulscan_merge(
            result.hit, result.nhit,
            &(struct psr_pulscan_merge_desc){.size = sizeof(struct psr_pulscan_merge_desc),
                                             .max = 20,
                                             .plan = rblock ? NULL : f->plan},
            &f->cand, &f->ncand, NULL, err);
    if (st == PSR_OK)
        st = psr_candidate_refine(&f->measured, f->plan, 0, f->cand, f->ncand, &measure, err);
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
        {5000.3, 60, {0.075, 0.075, 0.05, 0.03}},
        {23456.75, -100.5, {0.12, 0, 0, 0}},
        {9000.25, 0, {0.06, 0, 0, 0}},
        {31111.5, -14, {0.08, 0, 0, 0}},
        {14000.6, 25, {0.02, 0.07, 0, 0}},
    };
    float *x = make_spectrum(signals, 5, random);
    struct found f;
    psr_err err = {.msg = ""};
    psr_status st;
    st = search(&f, x, 4, false, NULL, &err);
    ok(st == PSR_OK, "searched and measured: %zu candidates", f.measured.n);
    for (size_t i = 0; i < 5; i++) {
        const struct signal *s = &signals[i];
        /* The 2nd harmonic of the last is the strong one; half the frequency of another can be listed
         * in its place, where noise adds to it there. */
        double scale = find_near(&f, s->r) ? 1 : i == 4 ? 2 : 0.5;
        const struct psr_accel_cand *c = find_near(&f, scale * s->r);
        if (!ok(c != NULL, "the signal at %g is found", s->r))
            continue;
        ok(fabs(c->r.value - scale * s->r) < 5 * c->r.error &&
               fabs(c->z.value - scale * s->z) < 5 * c->z.error && c->r.error < 0.2,
           "its r %.3f(%.3f), z %.2f(%.2f), %d harmonics", c->r.value, c->r.error, c->z.value,
           c->z.error, c->nharm);
        const struct psr_accel_harm *one = &c->harm[0];
        near(one->z.error / one->r.error, sqrt(60) / fmax(one->purity.value, 0.01), 1e-6,
             "the errors of z and r, by the purity");
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
    psr_status st;
    float rms = 0;
    for (int64_t i = 2; i < 2 * NBIN; i++)
        rms += x[i] * x[i];
    rms = (float)sqrt((double)rms / (2.0 * NBIN));
    for (int64_t k = 12000; k < 12041; k++) { /* power without phase */
        double angle = 2 * M_PI * tap_uniform(random);
        x[2 * k] = (float)(3.4 * (double)rms * cos(angle));
        x[2 * k + 1] = (float)(3.4 * (double)rms * sin(angle));
    }
    st = search(&f, x, 4, false, NULL, &err);
    ok(st == PSR_OK && f.ncand > 0, "a box of power: %s", err.msg);
    const struct psr_accel_cand *c = f.measured.cand;
    bool two = f.measured.n == f.ncand + 1 && fabs(c[0].z.value + c[1].z.value) < 1e-9 &&
               fabs(c[0].r.value - c[1].r.value) < 1e-9 && !c[0].sign_known;
    bool one = f.measured.n == f.ncand && c[0].sign_known;
    ok((two || one) && fabs(c[0].r.value - 12020) < c[0].r.error &&
           fabs(fabs(c[0].z.value) - 40) < c[0].z.error,
       "stands as a box, %s: r %.1f(%.1f), z %.1f(%.1f)", two ? "twice" : "once", c[0].r.value,
       c[0].r.error, c[0].z.value, c[0].z.error);
    ok(holds_together(c), "its powers hold together");
    forget(&f);
    const struct psr_span zap = {11990, 70};
    st = search(&f, x, 4, false, &zap, &err);
    ok(st == PSR_OK && f.ncand == 0, "zapped, it is not found");
    forget(&f);
    st = search(&f, x, 4, true, NULL, &err);
    ok(st == PSR_OK && f.ncand > 0 && f.measured.cand[0].coherent <= 0,
       "blocks alone: no responses");
    ok(f.ncand > 0 && holds_together(f.measured.cand), "but powers that hold together");
    forget(&f);
    free(x);
}

/* Takes the noise from where harmonics of r / 16 to r / 2 would be below r: with it, one line in a
 * hundred has a name of which it is the second harmonic. */
static void clear_below(float *x, double r)
{
    for (int k = 2; k <= 16; k++)
        for (int h = 1; h < k; h++) {
            int64_t at = (int64_t)(r * h / k);
            memset(x + 2 * (at - 2), 0, 12 * sizeof *x);
        }
}

/* A bright signal is measured to a small part of a bin, and its high harmonics are known for what
 * they are. */
static void test_bright(uint64_t *random)
{
    static const struct signal signals[] = {{1234.56789, 0, {3, 3, 3, 3}},
                                            {1234.56789 * 19, 0, {0.5, 0, 0, 0}},
                                            {1234.56789 * 7.5, 0, {0.3, 0, 0, 0}},
                                            {30000.4, 0, {0.2, 0, 0, 0}}};
    float *x = make_spectrum(signals, 4, random);
    clear_below(x, signals[3].r);
    struct found f;
    psr_err err = {.msg = ""};
    psr_status st = search(&f, x, 4, false, NULL, &err);
    const struct psr_accel_cand *c = f.measured.cand;
    if (!ok(st == PSR_OK && f.measured.n == 4, "four signals: %zu candidates", f.measured.n))
        for (size_t i = 0; i < f.measured.n; i++)
            diag("sigma %g, r %g, z %g, %d harmonics, %lld bins: '%s'", c[i].sigma, c[i].r.value,
                 c[i].z.value, c[i].nharm, (long long)c[i].width, c[i].note);
    double scale = round(c[0].r.value / signals[0].r), off = c[0].r.value - scale * signals[0].r;
    ok(fabs(off) < 1e-3 && c[0].r.error < 1e-3, "r of the brightest is off by %.5f(%.5f)", off,
       c[0].r.error);
    char want[2][32] = {"H 19 of Cand 1", "H 15/2 of Cand 1"};
    if (scale > 1.5)
        strcpy(want[0], "H 19/2 of Cand 1"), strcpy(want[1], "H 15/4 of Cand 1");
    ok(!c[0].note[0] && !strcmp(c[1].note, want[0]) && !strcmp(c[2].note, want[1]) && !c[3].note[0],
       "notes: '%s', '%s', '%s', '%s'", c[0].note, c[1].note, c[2].note, c[3].note);
    forget(&f);
    free(x);
}

static void test_even_only(void)
{
    static const double power[3][4] = {{1.2, 400, 0.7, 90}, {9, 400, 1, 90}, {1, 12, 1, 4}};
    static const char *const want[3] = {"even harmonics only", "", ""};
    for (int i = 0; i < 3; i++) {
        struct psr_accel_harm harm[4] = {0};
        struct psr_accel_cand c = {.nharm = 4, .harm = harm, .r = {5000, 0.01}};
        for (int h = 0; h < 4; h++)
            harm[h].power.value = power[i][h];
        psr_refine_note(&c, 1);
        ok(!strcmp(c.note, want[i]), "powers %g, %g, %g, %g: '%s'", power[i][0], power[i][1],
           power[i][2], power[i][3], c.note);
    }
}

int main(void)
{
    uint64_t random = tap_seed();
    test_signals(&random);
    test_no_drift(&random);
    test_bright(&random);
    test_even_only();
    return done_testing();
}
