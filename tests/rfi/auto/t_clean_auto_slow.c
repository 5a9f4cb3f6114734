/* Automatic cleaning: what it leaves of slow pulsars. */
#include "rfi/auto/clean_auto_math.h"
#include "tests/support/clean_pair.h"

/* A pulsar of wide pulses, in interference that is faster than they are, and not removed with it; but some
 * of the first four of eight pulses may be, and edges of others: before there is a history, nothing tells them from a receiver's gain. */
static void test_slow(const char *name, const struct psr_fake_rfi *rfi_of, double least,
                      uint64_t seed)
{
    const struct psr_fake_signal pulsar = {
        .kind = PSR_FAKE_PULSAR, .dm = 50, .width_s = 0.3, .period_s = 5, .snr = 40, .phase = 0.3};
    struct psr_obs obs = make_obs(128, 32, (int64_t)(40 / 256e-6), 256e-6);
    uint64_t state = seed;
    obs.foff_mhz = -2;
    struct stream without, with = make_with_and_without(&obs, &pulsar, rfi_of, seed, &without);
    struct psr_clean_auto_desc desc = describe(&with);
    struct cleaned a = clean(&with, &desc, 5000, &state), b = clean(&without, &desc, 5000, &state);
    double kept = share_kept(&with, &without, &a, &b);
    ok(kept > least,
       "a pulsar of 5 s in %s: %.4f of the S/N is left; %zu windows filtered, %zu sparks", name,
       kept, a.nfiltered, a.nspark);
    clear_cleaned(&a);
    clear_cleaned(&b);
    clear_stream(&with);
    clear_stream(&without);
}

static void test_fast_interference(uint64_t seed)
{
    const struct psr_fake_rfi hum = {.kind = PSR_FAKE_RFI_MAINS,
                                     .level = 0.3,
                                     .hz = 28.77,
                                     .wander_hz = 0.02,
                                     .wander_s = 10,
                                     .nharm = 1},
                              drop = {.kind = PSR_FAKE_RFI_DROP, .share = 1e-3, .width_s = 1e-3};
    test_slow("hum", &hum, 0.45, seed);
    if (tap_long("a slow pulsar in lost packets"))
        test_slow("lost packets", &drop, 0.6, seed);
}

/* Adds to three parts of the band gains of their own that drift: random walks of a scatter, which come back within so many
 * spectra. */
static void add_drifts(struct stream *s, double scatter, double length, uint64_t *seed)
{
    const size_t nchan = s->obs.nchan;
    float *x = s->packed;
    for (size_t k = 0; k < 3; k++) {
        double gain = scatter * tap_normal(seed);
        for (size_t t = 0; t < (size_t)s->obs.nsamp; t++) {
            gain += scatter * sqrt(2 / length) * tap_normal(seed) - gain / length;
            for (size_t c = k * nchan / 3; c < (k + 1) * nchan / 3; c++)
                x[t * nchan + c] = s->x[t * nchan + c] += (float)gain;
        }
    }
}

/* A pulsar whose pulses are much weaker than the drifts of three receivers, but much faster, loses only the share of them
 * that these have in what is as fast: what is subtracted there does not depend on how far a receiver has drifted. */
static void test_drifts(double period_s, double duty, double least, uint64_t seed)
{
    const struct psr_fake_signal pulsar = {.kind = PSR_FAKE_PULSAR,
                                           .dm = 40,
                                           .width_s = duty * period_s,
                                           .period_s = period_s,
                                           .snr = 25,
                                           .phase = 0.3};
    struct psr_obs obs = make_obs(64, 32, (int64_t)(30 / 512e-6), 512e-6);
    uint64_t state = seed, again = seed;
    obs.foff_mhz = -4.7;
    struct stream without, with = make_with_and_without(&obs, &pulsar, NULL, seed, &without);
    add_drifts(&with, 0.2, 40000, &state);
    add_drifts(&without, 0.2, 40000, &again);
    struct psr_clean_auto_desc desc = describe(&with);
    struct cleaned a = clean(&with, &desc, 5000, &state), b = clean(&without, &desc, 5000, &state);
    double kept = share_kept(&with, &without, &a, &b);
    ok(kept > least && b.nfiltered > 0,
       "a pulsar of %.2f s beside drifts: %.4f of its pulses is left; %zu windows filtered",
       period_s, kept, b.nfiltered);
    clear_cleaned(&a);
    clear_cleaned(&b);
    clear_stream(&with);
    clear_stream(&without);
}

/* S/N of a pulsar by pulses less what is beside them, which red noise has too, over the scatter of the same at other phases.
 * Given: put    [n][nchan] the pulses
 *        x, y   [n][nchan] without them, and what they become
 *        beside spectra between a pulse and what is taken off on either side */
static double snr_of(size_t n, size_t nchan, const float *put, const float *x, const float *y,
                     size_t beside)
{
    enum { PHASES = 41 };
    double sum[PHASES] = {0}, squares = 0;
    for (size_t t = beside; t + beside < n; t++)
        for (size_t c = 0; c < nchan; c++) {
            const double h = (double)put[t * nchan + c] -
                             0.5 * (double)put[(t - beside) * nchan + c] -
                             0.5 * (double)put[(t + beside) * nchan + c];
            sum[0] += h * (double)y[t * nchan + c];
            for (size_t k = 1; k < PHASES; k++)
                sum[k] += h * (double)x[(t + k * n / PHASES) % n * nchan + c];
        }
    for (size_t k = 1; k < PHASES; k++)
        squares += sum[k] * sum[k] / (PHASES - 1);
    return sum[0] / sqrt(squares);
}

/* Slow pulsars of wide pulses, in red noise that all channels have, of slope 2. */
static void test_red(double red, double period_s, double duty, double snr, uint64_t seed)
{
    const struct psr_fake_signal pulsar = {.kind = PSR_FAKE_PULSAR,
                                           .dm = 70,
                                           .width_s = duty * period_s,
                                           .period_s = period_s,
                                           .snr = snr,
                                           .phase = 0.3};
    const struct psr_obs obs = make_obs(64, 32, (int64_t)(40 / 512e-6), 512e-6);
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .red_sigma = red,
                              .red_index = -2};
    uint64_t state = seed;
    struct stream without = make_stream(&d);
    d.signal = &pulsar;
    d.nsignal = 1;
    struct stream with = make_stream(&d);
    struct psr_clean_auto_desc desc = describe(&with);
    struct cleaned a = clean(&with, &desc, 5000, &state), b = clean(&without, &desc, 5000, &state);
    const size_t n = (size_t)obs.nsamp, beside = (size_t)(2 * duty * period_s / obs.tsamp_s);
    float *put = malloc(n * 64 * sizeof *put), *left = malloc(n * 64 * sizeof *left),
          *noise = malloc(n * 64 * sizeof *noise);
    for (size_t i = 0; i < n * 64; i++) {
        put[i] = with.x[i] - without.x[i];
        left[i] = (float)(a.x[i] - b.x[i]);
        noise[i] = (float)(b.x[i] - PSR_AUTO_ZERO);
    }
    const double before = snr_of(n, 64, put, without.x, put, beside),
                 after = snr_of(n, 64, put, noise, left, beside);
    ok(after > 0.9 * before && a.nfiltered > 0,
       "a pulsar of %.1f s in red noise of %.2f: S/N %.2f of %.2f; %zu windows filtered", period_s,
       red, after, before, a.nfiltered);
    free(put);
    free(left);
    free(noise);
    clear_cleaned(&a);
    clear_cleaned(&b);
    clear_stream(&with);
    clear_stream(&without);
}

/* What is taken from a pulse beside a mode is the mode's share of the variance, however far the mode's level is off; what is
 * far beyond both is taken whole. */
static void test_share(uint64_t seed)
{
    size_t wrong = 0, left = 0, whole = 0;
    for (int i = 0; i < 1000; i++) {
        const size_t width = (size_t)1 << tap_between(&seed, 0, 9);
        const double mode = exp(2 * tap_normal(&seed)), all = mode + psr_auto_median_noise(width),
                     sigma = sqrt(all / (double)width), level = 20 * sigma * tap_normal(&seed);
        struct psr_auto_modes m = {.n = 1,
                                   .width = {width},
                                   .value = {1 + mode},
                                   .beyond = {PSR_AUTO_BEYOND},
                                   .middle = {level}};
        const double pulse = 1.2 * sigma * cos(i), step = 50 * sigma * (i % 2 ? 1 : -1),
                     share =
                         (psr_auto_shrink(&m, 0, level + pulse) - psr_auto_shrink(&m, 0, level)) /
                         pulse;
        wrong += fabs(share - mode / all) > 1e-9;
        left += fabs(step - psr_auto_shrink(&m, 0, level + step) + psr_auto_shrink(&m, 0, level)) >
                0.001 * fabs(step);
        m.beyond[0] = INFINITY;
        whole +=
            fabs((psr_auto_shrink(&m, 0, level + step) - psr_auto_shrink(&m, 0, level)) / step -
                 mode / all) > 1e-9;
    }
    ok(whole == 0, "of a mode of the whole band, only the share goes: %zu of 1000 lose more",
       whole);
    ok(wrong == 0, "a pulse loses a mode's share at any level of it: %zu of 1000 do not", wrong);
    ok(left == 0, "and a step goes: %zu of 1000 do not", left);
}

/* What noise is left with of running medians, by draws. */
static void test_median_noise(uint64_t seed)
{
    enum { DRAWS = 40000 };
    for (size_t width = 1; width <= 32; width *= 2) {
        const size_t n = width / 2 * 2 + 1;
        double squares = 0;
        for (int i = 0; i < DRAWS; i++) {
            float x[33];
            for (size_t k = 0; k < n; k++)
                x[k] = (float)tap_normal(&seed);
            const double middle = psr_quantile_median(x, n);
            squares += middle * middle;
        }
        const double drawn = squares / DRAWS * (double)width, said = psr_auto_median_noise(width);
        ok(fabs(drawn / said - 1) < 0.05, "noise of medians of %zu spectra: %.3f, drawn %.3f", n,
           said, drawn);
    }
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_median_noise(seed);
    test_share(seed);
    test_fast_interference(seed);
    test_drifts(0.9, 0.1, 0.39, seed);
    test_red(0.03, 3, 0.075, 26, seed);
    test_red(0.1, 2.4, 0.05, 21, seed);
    return done_testing();
}
