/* Synthetic observations: noise and its levels, phases, shapes, S/N, and sameness however made. */
#include <psrkit/delays.h>
#include <psrkit/fake.h>
#include <psrkit/psrfits.h>
#include <psrkit/source.h>

#include "fil.h"
#include "scratch.h"

static const double two_pi = 6.283185307179586476925;

static struct psr_obs make_obs(size_t nchan, int nbit, int64_t nsamp, double tsamp_s)
{
    struct psr_obs obs;
    psr_obs_init(&obs);
    obs.nchan = nchan;
    obs.nif = 1;
    obs.nbit = nbit;
    obs.kind = nbit == 32 ? PSR_FLOAT : PSR_UINT;
    obs.fch1_mhz = 1500;
    obs.foff_mhz = -4;
    obs.tsamp_s = tsamp_s;
    obs.nsamp = nsamp;
    return obs;
}

static psr_fake *make_plan(const struct psr_obs *obs, const struct psr_fake_signal *signal,
                           size_t nsignal, uint64_t seed, double noise)
{
    psr_err err;
    psr_fake *p;
    struct psr_fake_desc d = {.obs = obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .nsignal = nsignal,
                              .signal = signal,
                              .noise_sigma = noise};
    if (psr_fake_create(&p, &d, &err))
        diag("%s", err.msg);
    return p;
}

/* All samples, unpacked. */
static double *run_plan(psr_fake *p, const struct psr_obs *obs)
{
    size_t n = (size_t)obs->nsamp * (size_t)obs->nif * obs->nchan;
    uint8_t *packed = malloc(n * 4);
    double *x = malloc(n * sizeof *x);
    psr_err err;
    if (psr_fake_execute(p, 0, (size_t)obs->nsamp, packed, &err))
        diag("%s", err.msg);
    for (size_t i = 0; i < n; i++) {
        size_t bit = i * (size_t)obs->nbit;
        if (obs->nbit == 32)
            x[i] = (double)((float *)(void *)packed)[i];
        else if (obs->nbit == 16)
            x[i] = ((uint16_t *)(void *)packed)[i];
        else
            x[i] = packed[bit / 8] >> bit % 8 & ((1 << obs->nbit) - 1);
    }
    free(packed);
    return x;
}

/* --- noise ------------------------------------------------------------------------------------ */

/* The share of noise in levels from .. from + width - 1 of nbit bits. */
static double level_share(int nbit, int from, int width)
{
    double scale = ((1 << nbit) - 1) / 8.0;
    double low = from == 0 ? -INFINITY : (from - 0.5) / scale - 4;
    double high = from + width == 1 << nbit ? INFINITY : (from + width - 0.5) / scale - 4;
    return 0.5 * (erfc(low / sqrt(2)) - erfc(high / sqrt(2)));
}

static void test_levels(int nbit, uint64_t seed)
{
    enum { NCHAN = 64, NSAMP = 1 << 14, NCELL = 256 };
    struct psr_obs obs = make_obs(NCHAN, nbit, NSAMP, 1e-3);
    psr_fake *p = make_plan(&obs, NULL, 0, seed, 1);
    double *x = run_plan(p, &obs), chi2 = 0, count[NCELL] = {0}, mean = 0, variance = 0;
    int width = nbit > 8 ? 1 << (nbit - 8) : 1, cells = nbit < 8 ? 1 << nbit : NCELL, used = 0;
    for (int i = 0; i < NCHAN * NSAMP; i++)
        count[(int)x[i] / width]++;
    for (int k = 0; k < cells; k++) {
        double share = level_share(nbit, k * width, width), want = share * NCHAN * NSAMP;
        mean += share * k;
        variance += share * k * k;
        if (want < 5) /* too few to be Gaussian */
            continue;
        chi2 += (count[k] - want) * (count[k] - want) / want;
        used++;
    }
    ok(fabs(chi2 - used) < 4.5 * sqrt(2.0 * used), "%d bits: chi-square %.1f of %d levels", nbit,
       chi2, used);
    variance -= mean * mean;
    double worst[2] = {0};
    for (int c = 0; c < NCHAN; c++) {
        double sum = 0, squares = 0;
        for (int t = 0; t < NSAMP; t++)
            sum += x[t * NCHAN + c] / width;
        sum /= NSAMP;
        for (int t = 0; t < NSAMP; t++)
            squares += pow(x[t * NCHAN + c] / width - sum, 2);
        double offset = nbit > 8 ? 0.5 - 0.5 / width : 0; /* of cells that hold several levels */
        worst[0] = fmax(worst[0], fabs(sum - offset - mean) / sqrt(variance / NSAMP));
        worst[1] = fmax(worst[1], fabs(squares / NSAMP / variance - 1) / sqrt(2.0 / NSAMP));
    }
    ok(worst[0] < 4.5, "%d bits: means of channels, %.1f sigma at worst", nbit, worst[0]);
    ok(worst[1] < 4.5, "%d bits: variances of channels, %.1f sigma at worst", nbit, worst[1]);
    free(x);
    psr_fake_destroy(p);
}

/* --- sameness --------------------------------------------------------------------------------- */

static void test_sameness(uint64_t *state)
{
    const struct psr_fake_signal signals[] = {
        {.kind = PSR_FAKE_PULSAR,
         .dm = 40,
         .width_s = 0.004,
         .peak = 1,
         .period_s = 0.03,
         .binary = true,
         .orbit = {20, 0.6, 1e-2, 1, 3}},
        {.kind = PSR_FAKE_BURST,
         .shape = PSR_FAKE_GAUSSIAN,
         .dm = 90,
         .width_s = 0.01,
         .t_s = 0.2,
         .peak = 2,
         .smear = true,
         .scatter_s = 0.01,
         .scatter_index = -4},
    };
    for (int trial = 0; trial < 12; trial++) {
        static const int depths[] = {1, 2, 4, 8, 16, 32};
        struct psr_obs obs = make_obs(8 * (size_t)tap_between(state, 1, 9), depths[trial % 6],
                                      tap_between(state, 200, 3000), 256e-6);
        psr_err err;
        obs.nif = 1 + trial % 2;
        struct psr_fake_desc d = {.obs = &obs,
                                  .seed = tap_random(state),
                                  .noise_sigma = 1,
                                  .dmconst = PSR_DMCONST_PRESTO,
                                  .nsignal = 2,
                                  .signal = signals,
                                  .red_sigma = trial % 3,
                                  .red_index = -2,
                                  .nthread = 1};
        psr_fake *one = NULL, *three = NULL;
        bool made = !psr_fake_create(&one, &d, &err) && (d.nthread = 3, true) &&
                    !psr_fake_create(&three, &d, &err);
        size_t row = psr_fake_row_bytes(one), n = (size_t)obs.nsamp;
        uint8_t *whole = malloc(n * row), *parts = malloc(n * row);
        made = made && !psr_fake_execute(one, 0, n, whole, &err);
        for (size_t done = 0, k; made && done < n; done += k) {
            k = (size_t)tap_between(state, 1, 700);
            k = k < n - done ? k : n - done;
            made = !psr_fake_execute(three, (int64_t)done, k, parts + done * row, &err);
        }
        ok(made && !memcmp(whole, parts, n * row),
           "%zu channels, %d bits: threads and blocks do not "
           "change a bit",
           obs.nchan, obs.nbit);
        free(whole);
        free(parts);
        psr_fake_destroy(one);
        psr_fake_destroy(three);
    }
}

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
    struct psr_fake_desc d = {.obs = &obs,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .nsignal = 1,
                              .signal = &s,
                              .noise_sigma = 1,
                              .legacy_phase = true};
    psr_err err;
    psr_fake *p = make_plan(&obs, &s, 1, 1, 1), *q;
    bool good = !psr_fake_create(&q, &d, &err) && !psr_fake_tell(p, 0, &now, &err) &&
                !psr_fake_tell(q, 0, &legacy, &err);
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

enum { SNR_CHAN = 32, SNR_SAMP = 4096, SNR_SEEDS = 50 };

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
    bool good = !psr_fake_tell(p, 0, &truth, &err);
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
    ok(good && fabs(sum - truth.snr_folded) < 3 / sqrt(SNR_SEEDS),
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

/* --- the rest --------------------------------------------------------------------------------- */

static void test_gain_and_red(uint64_t seed)
{
    struct psr_obs obs = make_obs(8, 32, 1 << 15, 1e-3);
    const double gain[8] = {0, 0.5, 1, 1, 1, 1, 1, 2};
    struct psr_fake_desc d = {
        .obs = &obs, .seed = seed, .dmconst = PSR_DMCONST_PRESTO, .noise_sigma = 1, .gain = gain};
    psr_err err;
    psr_fake *p;
    double mean[8] = {0}, square[8] = {0};
    ok(psr_fake_create(&p, &d, &err) == PSR_OK, "a bandpass is taken");
    double *x = run_plan(p, &obs);
    for (int i = 0; i < 8 << 15; i++) {
        mean[i % 8] += x[i] / (1 << 15);
        square[i % 8] += x[i] * x[i] / (1 << 15);
    }
    ok(fabs(mean[0] + 4) < 1e-6 && fabs(mean[1] + 2) < 0.02 && fabs(mean[7] - 4) < 0.05,
       "it moves the levels");
    ok(square[0] - mean[0] * mean[0] < 1e-6 && fabs(square[7] - mean[7] * mean[7] - 4) < 0.2,
       "and scales the noise");
    free(x);
    psr_fake_destroy(p);
    d.gain = NULL;
    d.noise_sigma = 0;
    d.red_sigma = 2;
    d.red_index = -2;
    double variance = 0, slow = 0, fast = 0;
    for (d.seed = 0; d.seed < 40; d.seed++) {
        if (psr_fake_create(&p, &d, &err))
            break;
        x = run_plan(p, &obs);
        for (int t = 0; t < 1 << 15; t++)
            variance += x[8 * t] * x[8 * t] / (40 << 15);
        for (int t = 0; t + 1024 < 1 << 15; t += 1024) {
            slow += pow(x[8 * t] - x[8 * (t + 1024)], 2);
            fast += pow(x[8 * t] - x[8 * (t + 64)], 2);
        }
        free(x);
        psr_fake_destroy(p);
    }
    ok(fabs(sqrt(variance) - 2) < 0.5, "red noise has its standard deviation: %.2f",
       sqrt(variance));
    ok(slow / fast > 8 && slow / fast < 32, "and walks as the root of time: %.1f for 16",
       slow / fast);
}

static void refuse(const struct psr_obs *obs, struct psr_fake_signal s, psr_status want,
                   const char *what)
{
    psr_err err = {0};
    psr_fake *p;
    struct psr_fake_desc d = {
        .obs = obs, .dmconst = PSR_DMCONST_PRESTO, .noise_sigma = 1, .nsignal = 1, .signal = &s};
    ok(psr_fake_create(&p, &d, &err) == want && !p && strstr(err.msg, what), "refused: %s",
       err.msg);
    psr_fake_destroy(p);
}

static void test_refusals(void)
{
    struct psr_obs obs = make_obs(8, 8, 100, 1e-3), bad = obs;
    const struct psr_fake_signal burst = {.kind = PSR_FAKE_BURST, .width_s = 0.01, .peak = 1};
    struct psr_fake_signal s = burst;
    bad.nsamp = 0;
    refuse(&bad, burst, PSR_EINVAL, "0 spectra");
    bad = obs;
    bad.nchan = 3;
    bad.nbit = 2;
    refuse(&bad, burst, PSR_EUNSUPPORTED, "within a byte");
    bad = obs;
    bad.kind = PSR_INT;
    refuse(&bad, burst, PSR_EUNSUPPORTED, "whole numbers");
    bad = obs;
    bad.tsamp_s = 0;
    refuse(&bad, burst, PSR_EFORMAT, "tsamp");
    refuse(&obs, (s.width_s = 0, s), PSR_EINVAL, "width");
    refuse(&obs, (s = burst, s.dm = -1, s), PSR_EINVAL, "dm");
    refuse(&obs, (s = burst, s.lowest_mhz = 2000, s), PSR_EINVAL, "no channel");
    refuse(&obs, (s = burst, s.kind = PSR_FAKE_PULSAR, s), PSR_EINVAL, "period");
    refuse(&obs, (s = burst, s.shape = PSR_FAKE_VONMISES, s), PSR_EINVAL, "von Mises");
    refuse(&obs, (s = burst, s.shape = PSR_FAKE_PROFILE, s), PSR_EINVAL, "profile");
    s = (struct psr_fake_signal){.kind = PSR_FAKE_PULSAR,
                                 .width_s = 0.01,
                                 .peak = 1,
                                 .period_s = 1,
                                 .binary = true,
                                 .orbit = {100, 1.5, 1, 0, 0}};
    refuse(&obs, s, PSR_EINVAL, "eccentricity");
    s.binary = false;
    refuse(&obs, (s.scatter_s = 100, s), PSR_EINVAL, "turns");
    struct heard heard = {.count = 0};
    struct psr_fake_desc d = {.obs = &obs,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .nsignal = 1,
                              .signal = &s,
                              .notes = {hear, &heard}};
    psr_fake *p;
    s = burst;
    s.peak = 3;
    ok(!psr_fake_create(&p, &d, NULL) && heard.count == 1 && strstr(heard.text, "clipped"),
       "a signal that clips is told: %.60s", heard.text);
    uint8_t out[8];
    ok(psr_fake_execute(p, -1, 1, out, NULL) == PSR_EINVAL, "samples before 0 are refused");
    psr_fake_destroy(p);
}

/* PSRFITS as written reads as what was put in. */
static void test_psrfits(int nbit, int nif, uint64_t seed)
{
    struct psr_obs obs = make_obs(16, nbit, 777, 256e-6);
    psr_outfile *f = NULL;
    psr_psrfits *w = NULL;
    psr_source *source = NULL;
    psr_err err = {0};
    size_t n = 777, got = 0;
    obs.nif = nif;
    obs.tstart = (struct psr_mjd){55555, 0.123};
    const char *path = scratch("x.fits");
    psr_fake *p = make_plan(&obs, NULL, 0, seed, 1);
    uint8_t *packed = malloc(n * psr_fake_row_bytes(p)), *back = malloc(n * 64 * 4);
    psr_status st = psr_fake_execute(p, 0, n, packed, &err);
    st = st ? st : psr_outfile_create(&f, path, &err);
    st = st ? st : psr_psrfits_create(&w, f, &obs, 64, &err);
    st = st ? st : psr_psrfits_append(w, packed, 100, &err);
    st = st ? st : psr_psrfits_append(w, packed + 100 * psr_fake_row_bytes(p), n - 100, &err);
    st = st ? st : psr_psrfits_finish(w, &err);
    st = st ? st : psr_outfile_commit(f, &err);
    psr_psrfits_destroy(w);
    const char *paths[] = {path};
    struct psr_source_desc d = {.path = paths, .npath = 1, .if_choice = 0};
    st = st ? st : psr_source_open(&source, &d, &err);
    st = st ? st : psr_source_read(source, n + 10, back, &got, &err);
    const struct psr_obs *o = st ? &obs : psr_source_obs(source);
    double *want = run_plan(p, &obs), worst = 0;
    for (size_t t = 0; t < got && !st; t++)
        for (size_t c = 0; c < 16; c++) {
            size_t i = t * 16 + c, bit = i * (size_t)o->nbit;
            double v = o->kind == PSR_FLOAT ? (double)((float *)(void *)back)[i]
                       : o->nbit == 16      ? ((uint16_t *)(void *)back)[i]
                                            : back[bit / 8] >> bit % 8 & ((1 << o->nbit) - 1);
            worst = fmax(worst, fabs(v - want[t * 16 * (size_t)nif + c]));
        }
    ok(!st && got == n && worst == 0, "PSRFITS of %d bits, %d IFs reads back: %zu spectra %s", nbit,
       nif, got, err.msg);
    ok(fabs(psr_mjd_diff_s(obs.tstart, o->tstart)) < 1e-6 && o->fch1_mhz == 1500 &&
           o->foff_mhz == -4 && fabs(o->tsamp_s - 256e-6) < 1e-12,
       "and its header too");
    psr_source_close(source);
    psr_fake_destroy(p);
    free(want);
    free(packed);
    free(back);
    unlink(path);
}

static void test_psrfits_refusals(void)
{
    struct psr_obs obs = make_obs(16, 8, 10, 1e-3);
    psr_psrfits *w;
    psr_outfile *f;
    psr_err err;
    uint8_t x[16 * 11] = {0};
    if (psr_outfile_create(&f, "/dev/null", &err))
        return;
    ok(psr_psrfits_create(&w, f, &obs, 12, &err) == PSR_EINVAL, "rows must be whole bytes");
    obs.nif = 3;
    ok(psr_psrfits_create(&w, f, &obs, 16, &err) == PSR_EUNSUPPORTED,
       "three polarisations are none");
    obs.nif = 1;
    ok(psr_psrfits_create(&w, f, &obs, 16, &err) == PSR_OK &&
           psr_psrfits_append(w, x, 11, &err) == PSR_EINVAL &&
           psr_psrfits_finish(w, &err) == PSR_EINVAL,
       "more or fewer spectra than promised are refused: %s", err.msg);
    psr_psrfits_destroy(w);
    psr_outfile_abort(f);
}

int main(void)
{
    static const int depths[] = {1, 2, 4, 8, 16};
    uint64_t seed = tap_seed(), state = seed;
    for (size_t k = 0; k < 5; k++)
        test_levels(depths[k], seed);
    test_sameness(&state);
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
    test_gain_and_red(seed);
    test_refusals();
    scratch_make();
    for (size_t k = 0; k < 5; k++)
        test_psrfits(depths[k], k % 2 ? 4 : 1, seed);
    test_psrfits(32, 1, seed);
    test_psrfits_refusals();
    return done_testing();
}
