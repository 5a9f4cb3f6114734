/* accelsearch: signals found and measured, what lists do not depend on, statuses. */
#include <psrkit/experimental/accelsearch.h>
#include <psrkit/signif.h>

#include "search/matched/response/accel_internal.h"
#include "search/matched/response/response.h"

#include "formats/series/series_internal.h"
#include "run/fourier/fourier_state.h"
#include "tests/support/accel_truth.h"

enum { NBIN = 30000 };

static void bail(const psr_err *err)
{
    printf("Bail out! %s\n", err->msg);
    exit(EXIT_FAILURE);
}

static psr_accelsearch *make_plan(const struct psr_accelsearch_desc *d)
{
    psr_accelsearch *plan = NULL;
    psr_err err;
    if (psr_accelsearch_create(&plan, d, &err))
        bail(&err);
    return plan;
}

static struct psr_accelsearch_result run(psr_accelsearch *plan, const float *x, double photons)
{
    const struct psr_accelsearch_input in = {.x = x, .photons = photons};
    struct psr_accelsearch_result r;
    psr_err err;
    if (psr_accelsearch_execute(plan, &in, &r, &err))
        bail(&err);
    return r;
}

/* Noise of mean power 1 in bin k. */
static float *make_noise(uint64_t *random)
{
    float *x = tap_take(2 * NBIN, sizeof *x);
    for (size_t i = 0; i < 2 * NBIN; i++)
        x[i] = (float)(tap_normal(random) * M_SQRT1_2);
    return x;
}

/* Harmonics of power p each, all of phase 0 at the start of the observation. */
static void add_pulsar(float *x, double r, double z, double w, int nharm, double p)
{
    for (int h = 1; h <= nharm; h++)
        for (int64_t k = (int64_t)(h * r) - 600; k < (int64_t)(h * r) + 600; k++)
            if (k > 0 && k < NBIN) {
                double complex v = sqrt(p) * truth_response((double)k - h * r, h * z, h * w);
                x[2 * k] += (float)creal(v);
                x[2 * k + 1] += (float)cimag(v);
            }
}

/* Of a candidate at "times" the fraction of the frequency. */
static bool is_near(struct psr_accel_value v, double truth, int times)
{
    return fabs(v.value * times - truth) < 5 * v.error * times;
}

/* ln p of a power in the trials of a plan. */
static double ln_chance(const psr_accelsearch *plan, double power, int nharm)
{
    return psr_chi2_logp(2 * power, 2 * nharm).ln_sf + log(psr_accelsearch_trials(plan, nharm));
}

/* Whether a candidate at half the frequency of a signal is less likely by chance than the one that a
 * search for the signal's number of harmonics finds at its own: noise at the odd harmonics is high. */
static bool is_better_halved(const psr_accelsearch *plan, struct psr_accelsearch_desc d,
                             const float *x, double r, const struct psr_accel_cand *c)
{
    d.numharm = c->nharm / 2;
    psr_accelsearch *half = make_plan(&d);
    struct psr_accelsearch_result found = run(half, x, 0);
    const struct psr_accel_cand *own = NULL;
    for (size_t i = 0; i < found.ncand && !own; i++)
        if (fabs(found.cand[i].r.value - r) < 2 && found.cand[i].nharm == d.numharm)
            own = &found.cand[i];
    double ln_p = ln_chance(plan, c->power, c->nharm);
    double ln_own = own ? ln_chance(plan, own->power, own->nharm) : -INFINITY;
    diag("at half the frequency: ln p %.3f, at its own %.3f", ln_p, ln_own);
    psr_accelsearch_destroy(half);
    return ln_p < ln_own;
}

/* |sum of harmonics|^2 with the fundamental at phase 0. */
static double add_in_phase(const struct psr_accel_cand *c, double fundamental_rad)
{
    double complex sum = 0;
    for (int h = 1; h <= c->nharm; h++)
        sum += sqrt(c->harm[h - 1].power.value) *
               cexp(I * (c->harm[h - 1].phase_rad.value - h * fundamental_rad));
    return creal(sum * conj(sum));
}

/* The same at the fundamental's best phase: an error of the measured one counts h times for harmonic
 * h, so that of 8 harmonics in phase little may add up. */
static double add_at_best(const struct psr_accel_cand *c)
{
    enum { STEPS = 3600 };
    double best = 0;
    for (int k = 0; k < STEPS; k++)
        best = fmax(best, add_in_phase(c, 2 * M_PI * k / STEPS));
    return best;
}

static void test_signals(uint64_t *random)
{
    static const struct {
        double r, z, w, power;
        int nharm;
    } pulsars[] = {
        {1234.3, 3.3, 0, 24, 8}, {3300.7, -15.2, 22, 30, 4}, {20000.2, 58.9, -71, 80, 1}};
    const struct psr_accelsearch_desc d = {.size = sizeof d,
                                           .nbin = NBIN,
                                           .zmax = 64,
                                           .wmax = 100,
                                           .numharm = 8,
                                           .sigma = 5,
                                           .rlo = 100};
    float *x = make_noise(random);
    for (int k = 0; k < 3; k++)
        add_pulsar(x, pulsars[k].r, pulsars[k].z, pulsars[k].w, pulsars[k].nharm, pulsars[k].power);
    psr_accelsearch *plan = make_plan(&d);
    struct psr_accelsearch_result found = run(plan, x, 0);
    ok(found.ncand >= 3 && found.ncand < 6, "three pulsars: %zu candidates", found.ncand);
    for (int k = 0; k < 3; k++) {
        const struct psr_accel_cand *c = NULL;
        int m = 1; /* 2 at half the frequency */
        for (size_t i = 0; i < found.ncand; i++)
            for (int times = 1; times <= 2 && !c; times++)
                if (fabs(found.cand[i].r.value * times - pulsars[k].r) < 2)
                    c = &found.cand[i], m = times;
        bool there = c && is_near(c->r, pulsars[k].r, m) && is_near(c->z, pulsars[k].z, m) &&
                     is_near(c->w, pulsars[k].w, m) && c->nharm == m * pulsars[k].nharm &&
                     (m == 1 || is_better_halved(plan, d, x, pulsars[k].r, c));
        ok(there, "r %.2f z %.2f w %.1f, %d harmonics: is found where it is", pulsars[k].r,
           pulsars[k].z, pulsars[k].w, pulsars[k].nharm);
        if (!c)
            continue;
        diag("r %.3f +- %.3f, z %.2f +- %.2f, w %.1f +- %.1f, sigma %.2f, power %.1f", c->r.value,
             c->r.error, c->z.value, c->z.error, c->w.value, c->w.error, c->sigma, c->power);
        double sum = pulsars[k].power * pulsars[k].nharm, all = 0;
        for (int h = 0; h < c->nharm; h++)
            all += c->harm[h].power.value;
        ok(fabs(all - sum - c->nharm) < 6 * sqrt(2 * sum), "harmonics' powers add up to %.0f", all);
        const double own = add_in_phase(c, c->harm[0].phase_rad.value), best = add_at_best(c);
        ok(m == 2 || (best > 0.8 * c->nharm * all && fabs(c->coherent - own) < 1e-3 * own),
           "and are in phase: %.0f of %.0f", best, c->nharm * all);
        ok(c->power < 1.02 * all && c->power > 0.7 * all, "the search had %.0f of it", c->power);
    }
    psr_accelsearch_destroy(plan);
    free(x);
}

/* Where a signal lies. */
struct spot {
    double r, z, w;
};

/* A(r, z, w) at harmonic h of "at", over the bins that a candidate there is measured from. */
static double complex amplitude(const float *x, int h, struct spot at, struct spot there)
{
    const int reach = psr_response_halfwidth(fabs(h * there.z) + 4, fabs(h * there.w) + 40, true);
    const int64_t middle = (int64_t)floor(h * there.r);
    double complex sum = 0;
    for (int64_t k = middle - reach; k < middle + reach; k++)
        if (k >= 0 && k < NBIN)
            sum += (x[2 * k] + I * x[2 * k + 1]) *
                   conj(truth_response((double)k - h * at.r, h * at.z, h * at.w));
    return sum;
}

static double power_of(const float *x, int nharm, struct spot at, struct spot there)
{
    double sum = 0;
    for (int h = 1; h <= nharm; h++)
        sum += pow(cabs(amplitude(x, h, at, there)), 2);
    return sum;
}

/* By how much the power of harmonics is higher a little away from where it should be highest. */
static double rise_around(const float *x, int nharm, struct spot there)
{
    const double here = power_of(x, nharm, there, there);
    double most = -INFINITY;
    for (int d = 0; d < 3; d++)
        for (int sign = -1; sign <= 1; sign += 2) {
            struct spot at = there;
            at.r += (d == 0) * sign * 0.01 / nharm;
            at.z += (d == 1) * sign * 0.08 / nharm;
            at.w += (d == 2) * sign * 1.0 / nharm;
            most = fmax(most, power_of(x, nharm, at, there) - here);
        }
    return most;
}

static bool is_close(double got, double want, double tol)
{
    return fabs(got - want) <= tol * (1 + fabs(want));
}

/* A harmonic of a candidate: its amplitude where it was measured, but for noise in some bins at the ends
 * of the response, 70 from its middle, where it is 1 / (70 pi); errors by Ransom, Eikenberry and
 * Middleditch 2002, equations 57 to 62. */
static void check_harmonic(const float *x, const struct psr_accel_harm *m)
{
    const struct spot there = {m->r.value, m->z.value, m->w.value};
    const double complex a = amplitude(x, 1, there, there);
    const double p = m->power.value, pure = m->purity.value, off = 0.1, least = 0.01;
    ok(fabs(sqrt(p) - fmax(cabs(a), sqrt(least))) < off && is_close(fmax(m->raw, least), p, 1e-6),
       "amplitude %.3f of %.3f", sqrt(p), cabs(a));
    ok(fabs(remainder(m->phase_rad.value - carg(a), 2 * M_PI)) * cabs(a) < off,
       "phase %.4f of %.4f", m->phase_rad.value, carg(a));
    ok(is_close(m->power.error, sqrt(2 * p), 1e-9) &&
           is_close(m->phase_rad.error, 1 / sqrt(2 * p), 1e-9) &&
           is_close(m->r.error, 3 / (M_PI * pure * sqrt(6 * p)), 1e-9) &&
           is_close(m->z.error, 3 * sqrt(10 / p) / (M_PI * pure * pure), 1e-9) &&
           is_close(m->w.error, 30 * sqrt(14 / p) / (M_PI * pow(pure, 3)), 1e-9) &&
           is_close(m->centroid.error, 1 / sqrt(24 * p), 1e-9) &&
           is_close(m->purity.error, 1 / (pure * sqrt(10 * p)), 1e-9),
       "errors of a harmonic");
    ok(is_close(m->sigma, fmax(0, psr_gauss_sigma(psr_chi2_logp(2 * p, 2))), 1e-9), "sigma %.3f",
       m->sigma);
}

/* Candidates are measured where the power of their harmonics, or of each of them, is highest. */
static void test_measured(uint64_t *random)
{
    float *x = make_noise(random);
    add_pulsar(x, 3456.7, -7.3, 31, 3, 60);
    struct psr_accelsearch_desc d = {.size = sizeof d,
                                     .nbin = NBIN,
                                     .zmax = 30,
                                     .wmax = 100,
                                     .numharm = 4,
                                     .sigma = 8,
                                     .rlo = 100,
                                     .norm = PSR_ACCELSEARCH_PHOTON};
    for (int own = 0; own < 2; own++) {
        d.free_harmonics = own;
        psr_accelsearch *plan = make_plan(&d);
        struct psr_accelsearch_result found = run(plan, x, 1);
        const struct psr_accel_cand *c = found.cand;
        if (ok(found.ncand == 1 && c->nharm >= 2 && fabs(c->r.value - 3456.7) < 0.1,
               "one signal is found")) {
            const int n = c->nharm;
            double rise = rise_around(x, n, (struct spot){c->r.value, c->z.value, c->w.value}),
                   weight = 0;
            ok(rise < 0, "the power of %d harmonics is highest there (%.1e)", n, rise);
            for (int h = 1; h <= n; h++) {
                const struct psr_accel_harm *m = &c->harm[h - 1];
                check_harmonic(x, m);
                weight += h * h * m->power.value;
                rise =
                    own ? rise_around(x, 1, (struct spot){m->r.value, m->z.value, m->w.value}) : 0;
                ok(own ? rise < 0.02 : is_close(m->r.value, h * c->r.value, 1e-12),
                   "harmonic %d has %s (%.1e)", h, own ? "a place of its own" : "its place", rise);
            }
            const double w_error = 30 * sqrt(14 / weight) / M_PI;
            ok(own ||
                   (is_close(c->w.error, w_error, 1e-9) &&
                    is_close(c->z.error, 3 * sqrt(10 / weight) / M_PI, 1e-9) &&
                    is_close(c->r.error, hypot(3 / (M_PI * sqrt(6 * weight)), w_error / 60), 1e-9)),
               "errors of all harmonics together");
            ok(c->first == (int64_t)floor(c->r.value - fabs(c->z.value) / 2) &&
                   c->width == (int64_t)fabs(c->z.value) + 1 && c->members == 1 && c->sign_known,
               "its bins: %lld from %lld on", (long long)c->width, (long long)c->first);
            ok(is_close(c->dof, 2 * n, 0) &&
                   is_close(c->ln_p, psr_chi2_logp(2 * c->power, 2 * n).ln_sf, 1e-12),
               "its chance");
        }
        psr_accelsearch_destroy(plan);
    }
    free(x);
}

static bool same_lists(const struct psr_accelsearch_result *a,
                       const struct psr_accelsearch_result *b)
{
    bool same = a->ncand == b->ncand && a->nremoved == b->nremoved;
    for (size_t k = 0; same && k < a->ncand; k++)
        same = memcmp(&a->cand[k].sigma, &b->cand[k].sigma, sizeof(double)) == 0 &&
               memcmp(&a->cand[k].r, &b->cand[k].r, sizeof a->cand[k].r) == 0 &&
               memcmp(&a->cand[k].harm[0], &b->cand[k].harm[0], sizeof *a->cand[k].harm) == 0 &&
               strcmp(a->cand[k].note, b->cand[k].note) == 0;
    return same;
}

/* Lists do not depend on threads, memory, or what the plan did before. */
static void test_independence(uint64_t *random)
{
    struct psr_accelsearch_desc d = {.size = sizeof d,
                                     .nbin = NBIN,
                                     .zmax = 20,
                                     .numharm = 8,
                                     .sigma = 0.5,
                                     .rlo = 40,
                                     .nthread = 1};
    float *x = make_noise(random), *y = make_noise(random);
    add_pulsar(x, 777.7, 4, 0, 16, 60);
    add_pulsar(x, 4001.2, -3, 0, 1, 60);
    psr_accelsearch *one = make_plan(&d);
    d.nthread = 4;
    d.mem_bytes = 24000000;
    d.backend = "cpu";
    psr_accelsearch *four = make_plan(&d);
    struct psr_accelsearch_result before = run(four, y, 0), a = run(one, x, 0), b = run(four, x, 0);
    (void)before;
    ok(a.ncand > 1 && same_lists(&a, &b), "%zu candidates: the same on four threads in bands",
       a.ncand);
    psr_accelsearch_destroy(four);
    d.keep_harmonics = true;
    psr_accelsearch *all = make_plan(&d);
    struct psr_accelsearch_result c = run(all, x, 0);
    ok(a.nremoved > 0 && c.ncand == a.ncand + a.nremoved, "%zu with harmonics", c.ncand);
    d.max = c.ncand - 1;
    psr_accelsearch *few = make_plan(&d);
    struct psr_accelsearch_result most = run(few, x, 0);
    ok(c.nleft == 0 && most.ncand == c.ncand - 1 && most.nleft == 1, "all but the %zu left out",
       most.nleft);
    psr_accelsearch_destroy(few);
    psr_accelsearch_destroy(one);
    psr_accelsearch_destroy(all);
    free(x);
    free(y);
}

/* What lists of both kinds say of a candidate beside its place. */
static void test_fields(uint64_t *random)
{
    float *x = make_noise(random);
    add_pulsar(x, 2345.6, 13, 0, 2, 60);
    for (int compat = 0; compat < 2; compat++) {
        const struct psr_accelsearch_desc d = {.size = sizeof d,
                                               .nbin = NBIN,
                                               .zmax = 30,
                                               .numharm = 2,
                                               .sigma = 8,
                                               .rlo = 100,
                                               .compat = compat};
        psr_accelsearch *plan = make_plan(&d);
        struct psr_accelsearch_result found = run(plan, x, 0);
        const struct psr_accel_cand *c = found.cand;
        bool right = found.ncand > 0 && fabs(c->r.value - 2345.6) < 1 && c->nharm == 2;
        if (right) {
            double ln_p = psr_chi2_logp(2 * c->power, 2 * c->nharm).ln_sf;
            right = is_close(c->dof, 2 * c->nharm, 0) && is_close(c->ln_p, ln_p, 1e-9) &&
                    c->sign_known && c->members == 1 && c->width == (int64_t)fabs(c->z.value) + 1 &&
                    c->first == (int64_t)floor(c->r.value - fabs(c->z.value) / 2);
            double trials = psr_accelsearch_trials(plan, c->nharm);
            double sigma = psr_gauss_sigma(psr_logp_from_sf(ln_p + log(trials)));
            ok(is_close(c->sigma, sigma, compat ? 1e-3 : 1e-6), "%s sigma %.4f of %.4f",
               compat ? "a compatible" : "a", c->sigma, sigma);
        }
        ok(right, "fields of a%s candidate", compat ? " compatible" : "");
        psr_accelsearch_destroy(plan);
    }
    free(x);
}

/* The mean power of the bins that are 6 to 15 away from bin k. */
static double mean_around(const float *x, int64_t k)
{
    double sum = 0;
    for (int64_t d = 6; d <= 15; d++)
        for (int64_t j = k - d; j <= k + d; j += 2 * d)
            sum += (double)(x[2 * j] * x[2 * j] + x[2 * j + 1] * x[2 * j + 1]) / 20;
    return sum;
}

/* However powers are normalised, a signal over noise of known level has its power. */
static void test_normalisation(uint64_t *random)
{
    float *x = make_noise(random);
    add_pulsar(x, 5000.5, 0, 0, 1, 200);
    for (size_t i = 0; i < 2 * NBIN; i++)
        x[i] *= 30;
    const double around = (mean_around(x, 5000) + mean_around(x, 5001)) / 2;
    double power[PSR_ACCELSEARCH_PHOTON + 1] = {0};
    for (int norm = PSR_ACCELSEARCH_PHOTON; norm >= PSR_ACCELSEARCH_MEDIAN; norm--) {
        const struct psr_accelsearch_desc d = {.size = sizeof d,
                                               .nbin = NBIN,
                                               .numharm = 1,
                                               .sigma = 6,
                                               .rlo = 50,
                                               .norm = (enum psr_accelsearch_norm)norm};
        psr_accelsearch *plan = make_plan(&d);
        struct psr_accelsearch_result r = run(plan, x, 900);
        /* Noise above the power of 6 sigma over 2e5 points, 33, is one in 1e8; over the mean of 20
         * bins, (1 + 33 / 20)^-20, once in a thousand spectra. */
        const size_t most = norm == PSR_ACCELSEARCH_LOCAL ? 2 : 1;
        power[norm] = r.ncand >= 1 && r.ncand <= most && is_near(r.cand[0].r, 5000.5, 1)
                          ? r.cand[0].power
                          : 0;
        psr_accelsearch_destroy(plan);
    }
    const double photons = power[PSR_ACCELSEARCH_PHOTON];
    ok(photons > 100 && photons < 330, "over noise of known power: %.0f", photons);
    near(power[PSR_ACCELSEARCH_MEDIAN] / photons, 1, 0.25, "over the median of a block");
    near(power[PSR_ACCELSEARCH_LOCAL] / photons * around / 900, 1, 0.2, "over the bins around it");
    free(x);
}

static void test_bad(uint64_t *random)
{
    const struct psr_accelsearch_desc d = {
        .size = sizeof d, .nbin = NBIN, .zmax = 3, .wmax = 1, .numharm = 2};
    psr_accelsearch *plan = make_plan(&d);
    struct psr_accelsearch_info info;
    psr_accelsearch_describe(plan, &info);
    ok(info.zmax == 4 && info.wmax == 20 && info.ntemplate == 15 && info.bytes > 0,
       "zmax 3 is 4, wmax 1 is 20");
    float *x = make_noise(random);
    x[2 * 777 + 1] = NAN;
    x[2 * 800] = INFINITY;
    struct psr_accelsearch_result r = run(plan, x, 0);
    ok(r.bad == 777 && r.ncand == 0, "a bin that is no number is said: %lld", (long long)r.bad);
    memset(x, 0, 2 * NBIN * sizeof *x);
    r = run(plan, x, 0);
    ok(r.bad == -1 && r.ncand == 0, "zeros hold nothing");
    ok(psr_accelsearch_threshold(plan, 1) > 10 &&
           psr_accelsearch_trials(plan, 2) < psr_accelsearch_trials(plan, 1),
       "thresholds and trials");
    psr_accelsearch_destroy(plan);
    free(x);
}

/* Transforms and whitens as the search does.
 * Returned: the sum of the series */
static double whiten(float *x, const struct psr_redden *how)
{
    float *room = tap_take(2 * NBIN + 2, sizeof *room);
    psr_rfft *rfft;
    psr_err err;
    if (psr_rfft_create(&rfft, 2 * NBIN, &err))
        bail(&err);
    psr_rfft_execute(rfft, x, room);
    memcpy(x, room, 2 * NBIN * sizeof *x);
    psr_rfft_destroy(rfft);
    free(room);
    const double sum = (double)x[0];
    if (how->start && psr_spectrum_deredden(x, NBIN, how, &err))
        bail(&err);
    return sum;
}

/* Series are searched as the spectra that are made of them, which come back. */
static void test_series(uint64_t *random)
{
    const size_t bytes = 2 * NBIN * sizeof(float);
    float *x = make_noise(random), *y = tap_take(1, bytes), *z = tap_take(1, bytes);
    for (size_t t = 0; t < 2 * NBIN; t++)
        x[t] += 7 + 0.15F * (float)cos(M_PI * 1000.3 * (double)t / NBIN);
    for (int norm = PSR_ACCELSEARCH_MEDIAN; norm <= PSR_ACCELSEARCH_PHOTON; norm++) {
        const int start = norm == PSR_ACCELSEARCH_PHOTON ? 0 : 6;
        struct psr_accelsearch_desc d = {.size = sizeof d,
                                         .nbin = NBIN,
                                         .zmax = 6,
                                         .numharm = 2,
                                         .rlo = 20,
                                         .sigma = 1,
                                         .norm = (enum psr_accelsearch_norm)norm,
                                         .redden = {start, 200, NBIN, false, false},
                                         .backend = "cpu"};
        memcpy(z, x, bytes);
        const double photons = whiten(z, &d.redden);
        psr_accelsearch *spectra = make_plan(&d);
        d.series = true;
        psr_accelsearch *series = make_plan(&d);
        memcpy(y, x, bytes);
        const struct psr_accelsearch_input in = {.x = y, .spectrum = y};
        struct psr_accelsearch_result a = run(spectra, z, photons), b;
        psr_err err;
        psr_status st = psr_accelsearch_execute(series, &in, &b, &err);
        ok(!st && a.ncand > 0 && same_lists(&a, &b) && memcmp(y, z, bytes) == 0,
           "a series, by norm %d: %zu candidates of its spectrum", norm, b.ncand);
        memcpy(y, x, bytes);
        y[77] = INFINITY;
        st = psr_accelsearch_execute(series, &in, &b, &err);
        ok(!st && b.bad == 77, "sample %lld is no number", (long long)b.bad);
        psr_accelsearch_destroy(spectra);
        psr_accelsearch_destroy(series);
    }
    free(x);
    free(y);
    free(z);
}

/* 2^31 samples are planned in the memory that is allowed; indices are beyond 32 bits. */
static void test_longest(void)
{
    const int64_t nbin = INT64_C(1) << 30;
    struct psr_accelsearch_info info;
    struct psr_accelsearch_desc d = {.size = sizeof d,
                                     .nbin = (size_t)nbin,
                                     .zmax = 200,
                                     .numharm = 16,
                                     .sigma = 2,
                                     .rlo = 1,
                                     .nthread = 2,
                                     .backend = "cpu",
                                     .mem_bytes = 400000000};
    for (int compat = 0; compat < 2; compat++) {
        d.compat = compat;
        psr_accelsearch *plan = make_plan(&d);
        psr_accelsearch_describe(plan, &info);
        ok(info.bytes <= d.mem_bytes && !info.inmem, "2^31 samples in %.0f MB",
           (double)info.bytes / 1e6);
        ok(info.rhi > (double)nbin - 1.5 && info.rhi < (double)nbin - 0.5, "to bin %.0f", info.rhi);
        double places = (info.rhi - info.rlo) * 202 * 2 / 6.95;
        ok(fabs(psr_accelsearch_trials(plan, 1) / (compat ? 1 : 25) / places - 1) < 1e-9,
           "%.4g trials", psr_accelsearch_trials(plan, 1));
        psr_accelsearch_destroy(plan);
    }
}

static void test_harmonics(uint64_t *random)
{
    int wrong = 0;
    for (int k = 0; k < 1000; k++) {
        const int H = 1 << tap_between(random, 0, 5), h = (int)tap_between(random, 1, H);
        const int64_t i = (INT64_C(1) << 31) - 1 - tap_between(random, 0, 100000);
        const long double exact = (long double)i * h / H;
        const int64_t bin = psr_harmonic_bin(i, h, H);
        wrong += bin != (int64_t)floorl(exact + 0.5L);
    }
    ok(wrong == 0, "half bins of harmonics near 2^31");
}

static void refuse(struct psr_accelsearch_desc d, psr_status want, const char *field)
{
    psr_accelsearch *plan = NULL;
    psr_err err = {.msg = ""};
    psr_status st = psr_accelsearch_create(&plan, &d, &err);
    ok(st == want && !plan && !strcmp(err.field, field), "%s", err.msg);
}

/* Asked so often, "limit" times, the caller wants an end; 0: never. */
struct patience {
    long asked, limit;
};

static bool is_tired(void *ctx)
{
    struct patience *p = ctx;
    long asked;
#pragma omp atomic capture
    asked = ++p->asked;
    return p->limit && asked >= p->limit;
}

static psr_status search_patiently(const struct psr_accelsearch_desc *d, const float *x,
                                   struct patience *p, psr_err *err)
{
    struct psr_accelsearch_desc mine = *d;
    struct psr_accelsearch_result found;
    const struct psr_accelsearch_input in = {.x = x};
    psr_accelsearch *plan;
    mine.should_stop = is_tired;
    mine.ctx = p;
    psr_status st = psr_accelsearch_create(&plan, &mine, err);
    if (!st)
        st = psr_accelsearch_execute(plan, &in, &found, err);
    psr_accelsearch_destroy(plan);
    return st;
}

/* Templates, bounds, sums and measurements all end when asked to. */
static void test_stop(uint64_t *random)
{
    float *x = make_noise(random);
    for (int compat = 0; compat < 2; compat++) {
        const struct psr_accelsearch_desc d = {.size = sizeof d,
                                               .nbin = NBIN,
                                               .zmax = 8,
                                               .wmax = 40,
                                               .numharm = 2,
                                               .sigma = 1,
                                               .rlo = 20,
                                               .compat = compat,
                                               .compat_jerk = compat,
                                               .backend = "cpu"};
        struct patience whole = {0, 0};
        psr_err err = {.msg = ""};
        psr_status st = search_patiently(&d, x, &whole, &err);
        ok(!st && whole.asked > 50, "compat %d: asked %ld times: %s", compat, whole.asked, err.msg);
        int wrong = 0;
        for (int k = 0; k < 12; k++) {
            struct patience p = {0, 1 + (whole.asked - 1) * k / 11};
            wrong += search_patiently(&d, x, &p, &err) != PSR_ESTOPPED;
        }
        ok(wrong == 0, "compat %d: stops wherever it is asked to: %d do not", compat, wrong);
    }
    free(x);
}

static void test_statuses(void)
{
    const struct psr_span span = {5, -1};
    struct psr_accelsearch_desc d = {.size = sizeof d, .nbin = 1000, .numharm = 1};
#define WITH(...)                                                                                  \
    ((struct psr_accelsearch_desc){                                                                \
        .size = sizeof(struct psr_accelsearch_desc), .nbin = 1000, .numharm = 1, __VA_ARGS__})
    refuse(WITH(.zmax = 1201), PSR_EINVAL, "zmax");
    refuse(WITH(.zmax = -1), PSR_EINVAL, "zmax");
    refuse(WITH(.wmax = 4001), PSR_EINVAL, "wmax");
    refuse(WITH(.sigma = NAN), PSR_EINVAL, "sigma");
    refuse(WITH(.rlo = 1000), PSR_EINVAL, "rlo");
    refuse(WITH(.rlo = 10, .rhi = 9), PSR_EINVAL, "rhi");
    refuse(WITH(.rhi = NAN), PSR_EINVAL, "rhi");
    refuse(WITH(.norm = (enum psr_accelsearch_norm)7), PSR_EINVAL, "norm");
    refuse(WITH(.nthread = -1), PSR_EINVAL, "nthread");
    refuse(WITH(.mem_bytes = -1), PSR_EINVAL, "mem_bytes");
    refuse(WITH(.mem_bytes = 1000), PSR_ENOMEM, "mem_bytes");
    refuse(WITH(.zap = &span, .nzap = 1), PSR_EINVAL, "zap");
    refuse(WITH(.backend = "tpu"), PSR_EDEVICE, "backend");
    refuse(WITH(.series = true, .compat = true), PSR_EINVAL, "series");
    refuse(WITH(.redden = {.start = 1, .end = 6}), PSR_EINVAL, "redden");
    refuse(WITH(.redden = {.start = 6, .end = 5}), PSR_EINVAL, "redden");
    d.numharm = 3;
    refuse(d, PSR_EINVAL, "numharm");
    d.numharm = 1;
    d.nbin = 15;
    refuse(d, PSR_EINVAL, "nbin");
    d.nbin = ((size_t)1 << 31) + 1;
    d.series = true;
    refuse(d, PSR_EINVAL, "nbin");
    psr_accelsearch_destroy(NULL);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_signals(&random);
    test_measured(&random);
    test_fields(&random);
    test_independence(&random);
    test_normalisation(&random);
    test_bad(&random);
    test_series(&random);
    test_longest();
    test_harmonics(&random);
    test_stop(&random);
    test_statuses();
    return done_testing();
}
