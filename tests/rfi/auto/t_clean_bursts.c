/* Automatic cleaning: pulses that are dispersed are no sparks, and sparks beside them are: to the bit as a plain
 * reference, and by what is left of each. */
#include "tests/support/clean_stream.h"

enum { NCHAN = 64, WINDOW = 4096 };
static const double tsamp_s = 512e-6;

static struct stream make_sky(int nbit, size_t nwindow, const struct psr_fake_signal *signal,
                              const struct psr_fake_rfi *rfi_of, size_t nrfi, uint64_t seed)
{
    struct psr_obs obs = make_obs(NCHAN, nbit, (int64_t)nwindow * WINDOW, tsamp_s);
    obs.foff_mhz = -4;
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .signal = signal,
                              .nsignal = signal != NULL,
                              .rfi = rfi_of,
                              .nrfi = nrfi};
    return make_stream(&d);
}

static const struct psr_fake_signal pulsar = {
    .kind = PSR_FAKE_PULSAR, .dm = 8, .width_s = 12e-3, .period_s = 0.31, .peak = 0.6};
static const struct psr_fake_rfi rfi[] = {
    {.kind = PSR_FAKE_RFI_SPARK, .level = 1.5, .rate_hz = 2, .width_s = 4e-3},
    {.kind = PSR_FAKE_RFI_MAINS, .level = 0.2, .hz = 28.77, .wander_s = 10, .nharm = 1},
};
enum { SPARKS = 1, AND_HUM };

/* The same with the lowest frequency first, of floats. */
static void reverse_band(struct stream *s)
{
    float *packed = s->packed;
    for (size_t t = 0; t < (size_t)s->obs.nsamp; t++)
        for (size_t c = 0; c < NCHAN / 2; c++) {
            const size_t i = t * NCHAN + c, k = t * NCHAN + NCHAN - 1 - c;
            const float x = s->x[i];
            s->x[i] = packed[i] = s->x[k];
            s->x[k] = packed[k] = x;
        }
}

/* --- to the bit ------------------------------------------------------------------------------- */

static void test_bits(const char *name, int nbit, const struct psr_fake_signal *signal, size_t nrfi,
                      uint64_t seed)
{
    const size_t nsamp = (size_t)8 * WINDOW + 700;
    struct stream s = make_sky(nbit, 9, signal, rfi, nrfi, seed);
    s.obs.nsamp = (int64_t)nsamp;
    struct psr_clean_auto_desc desc = describe(&s);
    uint64_t state = seed;
    struct cleaned a = clean(&s, &desc, 3000, &state);
    unsigned char keep[NCHAN];
    memset(keep, 1, sizeof keep);
    struct ref r = {.nchan = NCHAN, .nsamp = nsamp, .x = s.x, .keep = keep, .clip_sigma = 6};
    ref_clean(&r, tsamp_s);
    ok(!memcmp(r.out, a.x, nsamp * NCHAN) && r.nspark == a.nspark && r.nfiltered == a.nfiltered,
       "%s, %d bits: as the reference, to the bit; %zu sparks of %zu runs, %zu windows filtered",
       name, nbit, a.nspark, r.ndelay, a.nfiltered);
    ok(r.ndelay > 0, "%zu runs were judged", r.ndelay);
    ref_clear(&r);
    clear_cleaned(&a);
    clear_stream(&s);
}

static void test_all_bits(uint64_t seed)
{
    const struct psr_fake_signal slow = {
        .kind = PSR_FAKE_PULSAR, .dm = 60, .width_s = 0.2, .period_s = 3.1, .snr = 150};
    test_bits("a pulsar", 8, &pulsar, 0, seed);
    test_bits("a pulsar", 2, &pulsar, 0, seed + 1);
    test_bits("a pulsar among sparks", 8, &pulsar, SPARKS, seed + 2);
    test_bits("a pulsar among sparks and hum", 8, &pulsar, AND_HUM, seed + 3);
    test_bits("a pulsar of long pulses", 8, &slow, SPARKS, seed + 4);
    test_bits("sparks", 8, NULL, SPARKS, seed + 5);
}

/* --- what is left ----------------------------------------------------------------------------- */

/* Of a signal, in interference that is there without it, too. */
static double left_of_signal(const struct psr_fake_signal *signal, int nbit, size_t nwindow,
                             size_t nrfi, uint64_t seed)
{
    uint64_t state = seed;
    struct stream with = make_sky(nbit, nwindow, signal, rfi, nrfi, seed),
                  without = make_sky(nbit, nwindow, NULL, rfi, nrfi, seed);
    struct psr_clean_auto_desc desc = describe(&with);
    struct cleaned a = clean(&with, &desc, 5000, &state), b = clean(&without, &desc, 5000, &state);
    const double left = share_kept(&with, &without, &a, &b);
    clear_cleaned(&a);
    clear_cleaned(&b);
    clear_stream(&with);
    clear_stream(&without);
    return left;
}

/* Of sparks, beside a signal or not. */
static double left_of_sparks(const struct psr_fake_signal *signal, size_t nwindow, uint64_t seed)
{
    uint64_t state = seed;
    struct stream with = make_sky(32, nwindow, signal, rfi, SPARKS, seed),
                  without = make_sky(32, nwindow, signal, rfi, 0, seed);
    struct psr_clean_auto_desc desc = describe(&with);
    struct cleaned a = clean(&with, &desc, 5000, &state), b = clean(&without, &desc, 5000, &state);
    const double left = share_kept(&with, &without, &a, &b);
    clear_cleaned(&a);
    clear_cleaned(&b);
    clear_stream(&with);
    clear_stream(&without);
    return left;
}

static void test_pulsars(uint64_t seed)
{
    double left = left_of_signal(&pulsar, 32, 16, 0, seed);
    ok(left > 0.85, "%.3f of a bright pulsar is left", left);
    left = left_of_signal(&pulsar, 32, 16, SPARKS, seed);
    ok(left > 0.8, "%.3f of it among sparks", left);
    left = left_of_sparks(&pulsar, 16, seed);
    ok(left < 0.1, "%.3f of sparks beside it", left);
    left = left_of_sparks(NULL, 16, seed);
    ok(left < 0.05, "%.3f of sparks without it", left);
}

/* No pulse before, and none after. */
static void test_burst(double dm, double width_s, double snr, double t_s, uint64_t seed)
{
    const struct psr_fake_signal burst = {
        .kind = PSR_FAKE_BURST, .dm = dm, .width_s = width_s, .t_s = t_s, .snr = snr};
    const double left = left_of_signal(&burst, 32, 4, 0, seed);
    ok(left > 0.9, "%.3f of a burst of S/N %g, %g s and DM %g at %g s is left", left, snr, width_s,
       dm, t_s);
}

static void test_bursts(uint64_t seed)
{
    test_burst(5, 5e-3, 1000, 3.3, seed);
    test_burst(5, 5e-3, 1000, 0.7, seed + 1);
    test_burst(2, 2e-3, 100, 3.3, seed + 2);
    test_burst(20, 20e-3, 50, 3.3, seed + 3);
    test_burst(60, 0.1, 100, 3.3, seed + 4);
    test_burst(60, 0.3, 200, 5.3, seed + 5);
}

/* What has no delay is a spark, however bright and wide. */
static void test_no_delay(double width_s, double snr, uint64_t seed)
{
    const struct psr_fake_signal spark = {
        .kind = PSR_FAKE_BURST, .dm = 0, .width_s = width_s, .t_s = 3.3, .snr = snr};
    const double left = left_of_signal(&spark, 32, 4, 0, seed);
    ok(left < 0.15, "%.3f of one of S/N %g and %g s without delay is left", left, snr, width_s);
}

/* --- bursts at random ------------------------------------------------------------------------- */

/* Delay across the band of make_sky. */
static double sweep_of(double dm)
{
    const double low = 1500.0 - 4 * (NCHAN - 1);
    return dm / 2.41e-4 * (1 / (low * low) - 1 / (1500.0 * 1500.0));
}

/* What is left of a burst, in a band of either order; width and sweep, its place in a window and the noise are drawn. */
static double left_of_random(double snr, double dm, double width_s, uint64_t *state)
{
    const struct psr_fake_signal burst = {.kind = PSR_FAKE_BURST,
                                          .dm = dm,
                                          .width_s = width_s,
                                          .t_s = 3 + 2 * tap_uniform(state),
                                          .snr = snr};
    const uint64_t seed = (uint64_t)(tap_uniform(state) * 1e9);
    const bool ascending = tap_uniform(state) < 0.5;
    struct stream with = make_sky(32, 3, &burst, NULL, 0, seed),
                  without = make_sky(32, 3, NULL, NULL, 0, seed);
    if (ascending) {
        reverse_band(&with);
        reverse_band(&without);
    }
    struct psr_clean_auto_desc desc = describe(&with);
    desc.ascending = ascending;
    struct cleaned a = clean(&with, &desc, 5000, state), b = clean(&without, &desc, 5000, state);
    const double left = share_kept(&with, &without, &a, &b);
    clear_cleaned(&a);
    clear_cleaned(&b);
    clear_stream(&with);
    clear_stream(&without);
    return left;
}

/* So many bursts by which a Gaussian pulse rejects DM 0 by chi-squared of least to most; S/N 12 to 30, DM 1 to 60, 1 to 30 ms.
 * Returned: those of which most is left */
static int count_kept(int n, double least, double most, uint64_t *state)
{
    int kept = 0;
    for (int i = 0; i < n;) {
        const double snr = 12 + 18 * tap_uniform(state), dm = pow(60, tap_uniform(state)),
                     width_s = 1e-3 * pow(30, tap_uniform(state)), ratio = sweep_of(dm) / width_s,
                     d = snr * snr * (1 - 1 / sqrt(1 + 0.462 * ratio * ratio));
        if (d < least || d >= most)
            continue;
        const double left = left_of_random(snr, dm, width_s, state);
        if (left < 0.6)
            diag("%.2f is left of S/N %.1f, DM %.2f, %.4f s: %.1f", left, snr, dm, width_s, d);
        kept += left >= 0.6;
        i++;
    }
    return kept;
}

static void test_random(uint64_t seed)
{
    enum { N = 24 };
    uint64_t state = seed;
    int kept = count_kept(N, 16, 400, &state);
    ok(kept >= N - 2, "%d of %d bursts that reject DM 0 by 16 to 400 are left", kept, N);
    kept = count_kept(N, 4, 16, &state);
    ok(kept >= N / 2, "%d of %d by 4 to 16", kept, N);
    kept = 0;
    for (int i = 0; i < N; i++)
        kept += left_of_random(15 + 15 * tap_uniform(&state), 0,
                               1e-3 * pow(30, tap_uniform(&state)), &state) >= 0.6;
    ok(kept <= N / 4, "%d of %d sparks", kept, N);
}

int main(void)
{
    const uint64_t seed = tap_seed();
    test_all_bits(seed);
    test_pulsars(seed);
    test_bursts(seed);
    test_no_delay(1e-3, 1000, seed);
    test_no_delay(5e-3, 1000, seed + 1);
    test_no_delay(5e-3, 50, seed + 2);
    test_no_delay(20e-3, 100, seed + 3);
    if (tap_long("bursts and sparks at random"))
        test_random(seed + 4);
    return done_testing();
}
