/* Synthetic observations: phases of pulsars, and shapes and S/N of what is injected. */
#include "fake/fake_internal.h"
#include "tests/support/fake_made.h"

static const double two_pi = 6.283185307179586476925;

/* --- phase ------------------------------------------------------------------------------------ */

/* Integrates the clock's rate, 1 + v, and the phase's, 1 / P, over the eccentric anomaly in long
 * double, v coming from the true anomaly. */
static double integrate_orbits(const psr_fake *p, const struct psr_fake_signal *s, int orbits)
{
    enum { STEPS = 4000, LOOK = 97 };
    const struct psr_orbit *o = &s->orbit;
    const long double e = o->ecc, n = two_pi / (long double)o->period_s;
    const long double speed = n * o->asini_s / sqrtl(1 - e * e), h = two_pi / (long double)STEPS;
    long double t = 0, phase = s->phase, worst = 0;
    for (int k = 0; k < orbits * STEPS; k++) {
        long double dt = 0, dphase = 0;
        for (int q = 0; q < 5; q++) { /* Boole's rule */
            static const long double weight[5] = {7, 32, 12, 32, 7};
            long double big = (k + q / 4.0L) * h, turn = 1 - e * cosl(big);
            long double nu = 2 * atan2l(sqrtl(1 + e) * sinl(big / 2), sqrtl(1 - e) * cosl(big / 2));
            long double v = speed * (cosl(o->omega_rad + nu) + e * cosl(o->omega_rad));
            long double u = (big - e * sinl(big)) / n;
            dt += weight[q] * (1 + v) * turn / n;
            dphase += weight[q] / (s->period_s + s->pdot * u) * turn / n;
        }
        t += dt * h / 90;
        phase += dphase * h / 90;
        if (k % LOOK)
            continue;
        int64_t turns;
        double fraction;
        psr_fake_phase(p, 0, (double)t, &turns, &fraction);
        long double at = phase + ((double)t - t) / s->period_s; /* t as it was asked for */
        worst = fmaxl(worst, fabsl((turns - floorl(at)) + (fraction - (at - floorl(at)))));
    }
    return (double)worst;
}

static void test_phase(void)
{
    struct psr_obs obs = make_obs(8, 8, 1000, 1e-3);
    struct psr_fake_signal s = {.kind = PSR_FAKE_PULSAR,
                                .width_s = 1e-4,
                                .peak = 1,
                                .period_s = 0.005,
                                .phase = 0.3,
                                .binary = true};
    for (int k = 0; k < 4; k++) {
        s.orbit = (struct psr_orbit){7200, k < 3 ? 0.9 : 0, 4, 0.7 + k, 0};
        s.pdot = k == 2 ? 1e-9 : 0;
        psr_fake *p = make_plan(&obs, &s, 1, 1, 1);
        double worst = integrate_orbits(p, &s, 10);
        ok(worst < 1e-6, "e = %g, pdot %g: phase over 10 orbits is the integral (%.1e turns)",
           s.orbit.ecc, s.pdot, worst);
        psr_fake_destroy(p);
    }
    /* 1e9 turns and more: against whole-number arithmetic. */
    s = (struct psr_fake_signal){
        .kind = PSR_FAKE_PULSAR, .width_s = 1e-4, .peak = 1, .period_s = 0x1.9p-10};
    psr_fake *p = make_plan(&obs, &s, 1, 1, 1);
    int64_t turns;
    double fraction;
    psr_fake_phase(p, 0, 3000001.25, &turns, &fraction);
    /* t / P = 3000001.25 * 1024 / 1.5625 */
    ok(turns == 1966080819 && fabs(fraction - 0.2) < 1e-9, "2e9 turns: %lld and %.12f",
       (long long)turns, fraction);
    psr_fake_destroy(p);
}

static void test_drift(void)
{
    struct psr_obs obs = make_obs(8, 8, 60000, 1e-3);
    struct psr_fake_signal s = {
        .kind = PSR_FAKE_PULSAR, .width_s = 1e-3, .peak = 1, .period_s = 0.02, .pdot = 1e-6};
    struct psr_fake_truth now, legacy;
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .nsignal = 1,
                              .signal = &s,
                              .noise_sigma = 1,
                              .legacy_phase = true};
    psr_err err;
    psr_fake *p = make_plan(&obs, &s, 1, 1, 1), *q;
    bool good = !psr_fake_create(&q, &d, &err) && !psr_fake_report(p, 0, &now, &err) &&
                !psr_fake_report(q, 0, &legacy, &err);
    double f = 1 / (0.02 + 1e-6 * 30), want = -1e-6 * f * f * 3600;
    ok(good && fabs(now.z / want - 1) < 1e-9, "z is that of P(t) = P + Pdot t: %.6f", now.z);
    near(now.mean_hz * 60, log1p(1e-6 * 60 / 0.02) / 1e-6, 1e-6, "turns are the integral of 1/P");
    ok(fabs(legacy.z / now.z - 2) < 0.02, "-legacy-phase drifts twice as much: %.4f", legacy.z);
    psr_fake_destroy(p);
    psr_fake_destroy(q);
}

/* --- shapes and S/N --------------------------------------------------------------------------- */

/* A signal by brute force: means over instants in a sample and frequencies in a channel. */
static double naive_value(const struct psr_obs *obs, const struct psr_fake_signal *s, double peak,
                          int64_t t, size_t c, int fine)
{
    double sum = 0, top = 1e4 / 2.41 * s->dm / (obs->fch1_mhz * obs->fch1_mhz);
    for (int k = 0; k < fine; k++)
        for (int q = 0; q < fine; q++) {
            double f = obs->fch1_mhz + obs->foff_mhz * ((double)c + (q + 0.5) / fine - 0.5);
            if (!s->smear)
                f = obs->fch1_mhz + obs->foff_mhz * (double)c;
            double delay = 1e4 / 2.41 * s->dm / (f * f) - top;
            double x = ((double)t + (k + 0.5) / fine) * obs->tsamp_s - delay - s->t_s;
            if (s->kind == PSR_FAKE_PULSAR) {
                x = (x + s->t_s) / s->period_s + s->phase;
                x = (x - floor(x) - 0.5) * s->period_s;
            }
            x /= s->width_s;
            sum += s->shape == PSR_FAKE_GAUSSIAN ? exp2(-4 * x * x) : fabs(x) <= 0.5;
        }
    return peak * sum / (fine * fine);
}

enum { SNR_CHAN = 32, SNR_SAMP = 4096, SNR_SEEDS = 140 };

/* Adds up the channels at a DM, delays rounded to samples. */
static void dedisperse(const double *x, const struct psr_obs *obs, double dm, double *sum)
{
    for (int t = 0; t < SNR_SAMP; t++)
        sum[t] = 0;
    for (int c = 0; c < SNR_CHAN; c++) {
        double f = obs->fch1_mhz + c * obs->foff_mhz;
        int64_t d = psr_delay_samples(PSR_DMCONST_PRESTO, dm, f, obs->fch1_mhz, obs->tsamp_s);
        for (int64_t t = 0; t + d < SNR_SAMP; t++)
            sum[t] += x[(t + d) * SNR_CHAN + c];
    }
}

/* S/N of the matched filter over the first n samples of series y; level and noise as off the pulse.
 */
static double match(const double *y, const double *template, int n)
{
    double off = 0, mean = 0, square = 0, sum = 0, norm = 0;
    for (int t = 0; t < n; t++)
        if (template[t] < 1e-9) {
            off++;
            mean += y[t];
            square += y[t] * y[t];
        }
    mean /= off;
    for (int t = 0; t < n; t++) {
        sum += template[t] * (y[t] - mean);
        norm += template[t] * template[t];
    }
    return sum / sqrt(norm * (square / off - mean * mean));
}

static void test_snr(struct psr_fake_signal s, int nbit, uint64_t seed, const char *what)
{
    struct psr_obs obs = make_obs(SNR_CHAN, nbit, SNR_SAMP, 1e-3);
    double *model = malloc(sizeof *model * SNR_CHAN * SNR_SAMP);
    double template[SNR_SAMP], y[SNR_SAMP], sum = 0;
    struct psr_fake_truth truth;
    psr_err err;
    /* What the lowest channel's delay reaches is left out. */
    int sweep = (int)psr_delay_samples(PSR_DMCONST_PRESTO, s.dm, 1500 - 4 * (SNR_CHAN - 1), 1500,
                                       obs.tsamp_s);
    int n = SNR_SAMP - sweep;
    obs.nsamp = n; /* a pulsar's S/N is over what can be dedispersed */
    psr_fake *p = make_plan(&obs, &s, 1, 0, 1);
    bool good = !psr_fake_report(p, 0, &truth, &err);
    psr_fake_destroy(p);
    obs.nsamp = SNR_SAMP;
    s.snr = 0;
    s.peak = truth.peak;
    for (int t = 0; t < SNR_SAMP; t++)
        for (size_t c = 0; c < SNR_CHAN; c++)
            model[t * SNR_CHAN + (int)c] = naive_value(&obs, &s, truth.peak, t, c, 6);
    dedisperse(model, &obs, s.dm, template);
    for (uint64_t k = 0; k < SNR_SEEDS && good; k++) {
        p = make_plan(&obs, &s, 1, seed + k, 1);
        double *x = run_plan(p, &obs);
        dedisperse(x, &obs, s.dm, y);
        sum += match(y, template, n) / SNR_SEEDS;
        free(x);
        psr_fake_destroy(p);
    }
    ok(good && fabs(sum - truth.snr_folded) < 5 / sqrt(SNR_SEEDS),
       "%s, %d bits: mean S/N of %d seeds %.3f, truth %.3f", what, nbit, SNR_SEEDS, sum,
       truth.snr_folded);
    free(model);
}

static void test_shape(struct psr_fake_signal s, double bound, const char *what)
{
    struct psr_obs obs = make_obs(16, 32, 1500, 1e-3);
    psr_fake *p = make_plan(&obs, &s, 1, 0, 0);
    double *x = run_plan(p, &obs), worst = 0, area = 0, want = 0;
    for (int t = 0; t < 1500; t++)
        for (size_t c = 0; c < 16; c++) {
            double v = naive_value(&obs, &s, s.peak, t, c, 16);
            worst = fmax(worst, fabs(v - x[t * 16 + (int)c]));
            area += x[t * 16 + (int)c];
            want += v;
        }
    ok(worst < bound, "%s: every sample as by brute force (%.1e)", what, worst);
    ok(fabs(area / want - 1) < 2e-3, "%s: and their sum (%.1e)", what, area / want - 1);
    free(x);
    psr_fake_destroy(p);
}

static void test_scattering(void)
{
    struct psr_obs obs = make_obs(16, 32, 4000, 1e-3);
    struct psr_fake_signal s = {.kind = PSR_FAKE_BURST,
                                .width_s = 0.01,
                                .t_s = 0.5,
                                .peak = 1,
                                .scatter_s = 0.2,
                                .scatter_index = -4};
    psr_fake *p = make_plan(&obs, &s, 1, 0, 0);
    double *x = run_plan(p, &obs), sum = 0, worst = 0;
    for (int t = 0; t < 4000; t++)
        sum += x[t * 16];
    near(sum, 10, 2e-3, "a scattered pulse keeps its area");
    for (int c = 0; c < 16; c += 5) {
        double tau_s = 0.2 * pow((1500 - 4.0 * c) / 1000, -4);
        double ratio = x[700 * 16 + c] / x[600 * 16 + c];
        worst = fmax(worst, fabs(-0.1 / log(ratio) / tau_s - 1));
    }
    ok(worst < 0.01, "its tail falls as it should in each channel (%.1e)", worst);
    free(x);
    psr_fake_destroy(p);
    /* A pulsar's tail wraps: the mean over a turn stays. */
    s = (struct psr_fake_signal){.kind = PSR_FAKE_PULSAR,
                                 .period_s = 0.1,
                                 .width_s = 0.01,
                                 .peak = 1,
                                 .scatter_s = 0.5,
                                 .scatter_index = -4};
    p = make_plan(&obs, &s, 1, 0, 0);
    x = run_plan(p, &obs);
    for (int t = 2000, n = (sum = 0, 0); n < 100; t++, n++)
        sum += x[t * 16] / 100;
    near(sum, 0.1, 1e-4, "a tail longer than a turn keeps the mean flux");
    free(x);
    psr_fake_destroy(p);
}

static double *run_alone(struct psr_fake_signal s, struct psr_obs *obs)
{
    psr_fake *p = make_plan(obs, &s, 1, 0, 0);
    double *x = run_plan(p, obs);
    psr_fake_destroy(p);
    return x;
}

static void test_profiles(void)
{
    static const double bins[3] = {1, 3, 2};
    struct psr_obs obs = make_obs(8, 32, 1000, 1e-4);
    obs.nif = 2;
    struct psr_fake_signal s = {.kind = PSR_FAKE_PULSAR,
                                .shape = PSR_FAKE_VONMISES,
                                .width_s = 0.01,
                                .period_s = 0.1,
                                .peak = 1};
    double *x = run_alone(s, &obs), worst = 0;
    for (int i = 0; i < 16; i++) /* of all channels and IFs */
        worst = fmax(worst, fmax(fabs(x[500 * 16 + i] - 1), fabs(x[450 * 16 + i] - 0.5)));
    ok(worst < 0.02, "a von Mises pulse has its height and width (%.1e)", worst);
    free(x);
    s = (struct psr_fake_signal){.kind = PSR_FAKE_BURST,
                                 .shape = PSR_FAKE_PROFILE,
                                 .profile = bins,
                                 .nprofile = 3,
                                 .width_s = 0.03,
                                 .t_s = 0.05,
                                 .peak = 6};
    x = run_alone(s, &obs);
    ok(fabs(x[400 * 16] - 2) < 0.01 && fabs(x[500 * 16] - 6) < 0.01 &&
           fabs(x[600 * 16] - 4) < 0.01 && x[340 * 16] == 0 && x[660 * 16] == 0,
       "bins of a profile are where they belong");
    free(x);
    s.shape = PSR_FAKE_TOPHAT;
    s.peak = 1;
    s.spectral_index = -3;
    s.lowest_mhz = 1479;
    s.highest_mhz = 1493;
    x = run_alone(s, &obs);
    double sum = 0;
    for (int c = 0; c < 8; c++)
        sum += x[500 * 16 + c] / 4; /* 1492, 1488, 1484 and 1480 MHz */
    ok(x[500 * 16 + 1] == 0 && x[500 * 16 + 6] == 0, "outside its band a signal is not");
    near(sum, 1, 1e-6, "its mean over the band is its height");
    near(x[500 * 16 + 5] / x[500 * 16 + 2], pow(1480.0 / 1492, -3), 1e-6,
         "and it has its spectrum");
    free(x);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_phase();
    test_drift();
    struct psr_fake_signal burst = {
        .kind = PSR_FAKE_BURST, .dm = 60, .width_s = 0.02, .t_s = 1.0003, .snr = 20, .smear = true};
    struct psr_fake_signal pulsar = {.kind = PSR_FAKE_PULSAR,
                                     .dm = 40,
                                     .width_s = 0.01,
                                     .period_s = 0.1237,
                                     .snr = 25,
                                     .smear = true,
                                     .phase = 0.17};
    test_snr(burst, 8, seed, "burst");
    test_snr(burst, 2, seed, "burst");
    test_snr(pulsar, 8, seed, "pulsar");
    test_snr(pulsar, 1, seed, "pulsar");
    burst.snr = pulsar.snr = 0;
    burst.peak = pulsar.peak = 1;
    test_shape(burst, 0.1, "top-hat burst");
    test_shape(pulsar, 0.1, "top-hat pulsar");
    burst.shape = pulsar.shape = PSR_FAKE_GAUSSIAN;
    test_shape(burst, 2e-3, "Gaussian burst");
    test_shape(pulsar, 2e-3, "Gaussian pulsar");
    burst.smear = false;
    test_shape(burst, 2e-3, "Gaussian burst without smearing");
    test_scattering();
    test_profiles();
    return done_testing();
}
