/* Automatic cleaning: to the bit as a plain reference, however it is called; what survives it, and
 * what does not; what noise loses; refusals. */
#include "rfi/auto/clean_auto_plan.h"
#include "tests/support/clean_pair.h"

/* --- to the bit ------------------------------------------------------------------------------- */

static const struct psr_fake_rfi rfi[] = {
    {.kind = PSR_FAKE_RFI_TONE, .level = 2, .freq_mhz = 1480, .t_s = 3, .duration_s = 2},
    {.kind = PSR_FAKE_RFI_PHONE,
     .level = 20,
     .freq_mhz = 1450,
     .bw_mhz = 60,
     .modulation = 0.3,
     .rate_hz = 3,
     .width_s = 0.3,
     .carrier_mhz = 4,
     .frame_s = 4.615e-3,
     .slot_s = 0.577e-3},
    {.kind = PSR_FAKE_RFI_SPARK, .level = 2, .rate_hz = 1, .width_s = 4e-3},
    {.kind = PSR_FAKE_RFI_MAINS, .level = 0.4, .hz = 50, .wander_s = 10, .nharm = 2},
    {.kind = PSR_FAKE_RFI_JUMP, .level = 1.5, .t_s = 8.2},
    {.kind = PSR_FAKE_RFI_JUMP, .level = 1, .t_s = 6, .freq_mhz = 1420, .bw_mhz = 40},
    {.kind = PSR_FAKE_RFI_BANDPASS, .level = 0.2, .period_mhz = 50, .rolloff = 0.1},
};

struct scene {
    const char *name;
    size_t nchan;
    int nbit;
    int64_t nsamp;
    double tsamp_s, red;
    bool zerodm, drop, nan;
    double clip;
    bool weights, lost;
};

/* Leaves no data in the part from first to end of a stream of floats: samples are far below all others. */
static void lose(struct stream *s, double first, double end)
{
    const double all = (double)s->obs.nsamp;
    for (size_t i = (size_t)(first * all) * s->obs.nchan; i < (size_t)(end * all) * s->obs.nchan;
         i++)
        ((float *)s->packed)[i] = s->x[i] = -20;
}

static struct stream make_scene(const struct scene *k, uint64_t seed)
{
    const struct psr_fake_signal burst = {
        .kind = PSR_FAKE_BURST, .dm = 200, .width_s = 4e-3, .t_s = 0.5, .peak = 5};
    struct psr_obs obs = make_obs(k->nchan, k->nbit, k->nsamp, k->tsamp_s);
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .red_sigma = k->red,
                              .red_index = -2,
                              .signal = &burst,
                              .nsignal = 1,
                              .rfi = rfi,
                              .nrfi = sizeof rfi / sizeof *rfi};
    struct stream s = make_stream(&d);
    for (size_t i = 7; k->nan && i < (size_t)k->nsamp * k->nchan; i += 40009)
        ((float *)s.packed)[i] = s.x[i] = i % 2 ? NAN : INFINITY;
    if (k->lost)
        lose(&s, 0.55, 0.6);
    return s;
}

static void test_scene(const struct scene *k, uint64_t seed)
{
    struct stream s = make_scene(k, seed);
    unsigned char *keep = malloc(k->nchan);
    uint64_t state = seed;
    for (size_t c = 0; c < k->nchan; c++)
        keep[c] = !k->drop || c % 7 != 3;
    struct psr_clean_auto_desc d = describe(&s);
    d.clip_sigma = k->clip;
    d.zerodm = k->zerodm;
    d.weights = k->weights;
    d.keep = k->drop ? keep : NULL;
    d.nthread = 1;
    struct ref r = {.nchan = k->nchan,
                    .nsamp = (size_t)k->nsamp,
                    .x = s.x,
                    .keep = keep,
                    .clip_sigma = k->clip,
                    .zerodm = k->zerodm,
                    .weights = k->weights};
    ref_clean(&r, k->tsamp_s);
    struct cleaned one = clean(&s, &d, (size_t)k->nsamp, &state);
    d.nthread = 3;
    struct cleaned three = clean(&s, &d, 900, &state);
    size_t differ = 0, at = 0, untold = 0;
    double masked = 0;
    for (size_t i = 0; i < (size_t)k->nsamp * k->nchan; i++) {
        masked += r.cell[i];
        if (one.x[i] != r.out[i] && !differ++)
            at = i;
        const float w = (float)r.q[i] / 5, missing = r.gone[i] ? 1 : 1 - w * w;
        untold += keep[i % k->nchan] && (one.missing[i] != missing || three.missing[i] != missing);
    }
    masked /= (double)k->nsamp * (double)k->nchan;
    ok(differ == 0, "%s: as the reference, to the bit: %zu differ, the first at %zu, channel %zu",
       k->name, differ, at / k->nchan, at % k->nchan);
    ok(!memcmp(one.x, three.x, (size_t)k->nsamp * k->nchan), "%s: in pieces by three threads too",
       k->name);
    ok(untold == 0, "%s: steps tell what is masked: %zu samples differ", k->name, untold);
    ok(fabs(one.masked - masked) < 1e-12 && one.nspark == r.nspark && one.nfiltered == r.nfiltered,
       "%s: and counts: %.3f masked, %zu of sparks, %zu windows filtered", k->name, one.masked,
       one.nspark, one.nfiltered);
    clear_cleaned(&one);
    clear_cleaned(&three);
    free(keep);
    ref_clear(&r);
    clear_stream(&s);
}

static void test_bits(uint64_t seed)
{
    static const struct scene scenes[] = {
        {"8 bits", 64, 8, 40000, 256e-6, 0, false, false, false, 6, false, false},
        {"1 bit, ignored channels", 48, 1, 20000, 512e-6, 0, false, true, false, 6, false, false},
        {"2 bits", 40, 2, 12000, 1e-3, 0, false, false, false, 6, false, false},
        {"4 bits, zero-DM", 32, 4, 12000, 1e-3, 0, true, false, false, 6, false, false},
        {"16 bits", 37, 16, 9000, 2e-3, 0, false, false, false, 5, false, false},
        {"floats, some none", 50, 32, 9000, 1e-3, 0, false, true, true, 6, false, false},
        {"red noise common to all", 64, 8, 9000, 1e-3, 1, false, false, false, 6, false, false},
        {"red noise, 24 windows", 40, 8, 24 * 1024, 2e-3, 1, false, false, false, 6, false, false},
        {"floats, no data for 1 s", 48, 32, 20000, 1e-3, 0, false, false, false, 6, false, true},
        {"no clipping", 33, 8, 9000, 1e-3, 0, false, false, false, 0, false, false},
        {"weights", 64, 8, 30000, 256e-6, 0, false, false, false, 6, true, false},
        {"weights, 4 bits, ignored channels", 48, 4, 20000, 512e-6, 0, false, true, false, 6, true,
         false},
        {"weights, floats, zero-DM", 40, 32, 9000, 1e-3, 0, true, false, true, 6, true, false},
        {"few channels", 7, 8, 5000, 1e-3, 0.5, false, false, false, 6, false, false},
        {"one channel", 1, 8, 5000, 1e-3, 0, false, false, false, 6, false, false},
        {"less than four blocks", 24, 8, 400, 1e-3, 0, false, false, false, 6, false, false},
        {"40 spectra", 24, 8, 40, 1e-3, 0, false, false, false, 6, false, false},
        {"20 spectra", 24, 8, 20, 1e-3, 0, false, false, false, 6, false, false},
        {"a window and two blocks", 24, 8, 2048 + 300, 1e-3, 0, false, false, false, 6, false,
         false},
        {"a window and six blocks", 24, 8, 2048 + 800, 1e-3, 0, false, false, false, 6, false,
         false},
        {"many windows", 12, 8, 60000, 8e-3, 0, false, false, false, 6, false, false},
    };
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++)
        test_scene(&scenes[k], seed);
}

/* Stretches without data, shorter and longer than what sparks and steps are found in, get the level of all that is around them. */
static void test_lost(uint64_t seed)
{
    static const double length_s[] = {0.01, 0.05, 0.11, 0.2, 0.45, 0.7};
    struct psr_obs obs = make_obs(64, 32, (int64_t)(16 / 512e-6), 512e-6);
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1};
    struct stream s = make_stream(&d);
    uint64_t state = seed;
    for (size_t k = 0; k < sizeof length_s / sizeof *length_s; k++)
        lose(&s, (2.2 + 2.3 * (double)k) / 16, (2.2 + 2.3 * (double)k + length_s[k]) / 16);
    struct psr_clean_auto_desc desc = describe(&s);
    struct cleaned a = clean(&s, &desc, 5000, &state);
    for (size_t k = 0; k < sizeof length_s / sizeof *length_s; k++) {
        const size_t first = (size_t)((2.2 + 2.3 * (double)k) / 16 * (double)s.obs.nsamp),
                     n = (size_t)(length_s[k] / 512e-6);
        double sum = 0;
        for (size_t i = first * 64; i < (first + n) * 64; i++)
            sum += a.x[i];
        const double off = (sum / ((double)n * 64) - 32) / 5 * sqrt(64);
        ok(fabs(off) < 1, "%g s without data are %.2f sigmas of the band off its level",
           length_s[k], off);
    }
    clear_cleaned(&a);
    clear_stream(&s);
}

/* --- what survives ---------------------------------------------------------------------------- */

static void test_survival(const char *name, const struct psr_fake_signal *signal, double tobs_s,
                          double least, uint64_t seed)
{
    struct psr_obs obs = make_obs(128, 32, (int64_t)(tobs_s / 256e-6), 256e-6);
    uint64_t state = seed;
    obs.foff_mhz = -2;
    struct stream without, with = make_with_and_without(&obs, signal, NULL, seed, &without);
    struct psr_clean_auto_desc desc = describe(&with);
    struct cleaned a = clean(&with, &desc, 5000, &state), b = clean(&without, &desc, 5000, &state);
    double kept = share_kept(&with, &without, &a, &b);
    ok(kept > least,
       "%s: %.4f of the S/N is left; %.2g masked, %zu sparks, noise alone %.2g and %zu", name, kept,
       a.masked, a.nspark, b.masked, b.nspark);
    /* Two or three cells of 10^6 of noise are masked, by chance: more than three of a stream are not. */
    ok(b.masked * (double)obs.nsamp / 512 * 128 < 3.5 && b.nspark == 0 && b.nfiltered == 0,
       "and noise alone loses nothing but chance cells");
    clear_cleaned(&a);
    clear_cleaned(&b);
    clear_stream(&with);
    clear_stream(&without);
}

static void test_survivors(uint64_t seed)
{
    struct psr_fake_signal burst = {
        .kind = PSR_FAKE_BURST, .dm = 500, .width_s = 3e-3, .t_s = 2.2, .snr = 20, .smear = true};
    test_survival("a burst of S/N 20", &burst, 6, 0.98, seed);
    burst.snr = 1000;
    test_survival("a burst of S/N 1000", &burst, 6, 0.97, seed);
    if (!tap_long("bursts of S/N 100 and 250, and a pulsar of 30 s"))
        return;
    burst.snr = 100;
    test_survival("a burst of S/N 100", &burst, 6, 0.99, seed);
    burst.snr = 250;
    test_survival("a burst of S/N 250", &burst, 6, 0.97, seed);
    const struct psr_fake_signal pulsar = {
        .kind = PSR_FAKE_PULSAR, .dm = 50, .width_s = 0.5, .period_s = 30, .snr = 40, .phase = 0.3};
    test_survival("a pulsar of 30 s", &pulsar, 90, 0.95, seed);
}

/* --- receivers -------------------------------------------------------------------------------- */

/* Adds to the channels of three receivers gains of their own: steps at random, and a slow wander. */
static void add_gains(struct stream *s, uint64_t *seed)
{
    static const size_t edge[] = {0, 30, 48, 64};
    float *x = s->packed;
    for (int k = 0; k < 3; k++) {
        double step = 0, wander = 0;
        for (size_t t = 0; t < (size_t)s->obs.nsamp; t++) {
            if (tap_between(seed, 0, 400) == 0)
                step = step != 0 ? 0 : 0.4 * tap_normal(seed);
            wander += 0.01 * tap_normal(seed) - 0.002 * wander;
            for (size_t c = edge[k]; c < edge[k + 1]; c++)
                x[t * 64 + c] = s->x[t * 64 + c] += (float)(step + wander);
        }
    }
}

/* Scatter of means over the channels of a receiver and 32 spectra, in that of noise of scatter 1. */
static double scatter_of(const struct stream *s, const unsigned char *x, size_t from, size_t to)
{
    const size_t n = (size_t)s->obs.nsamp / 32;
    float *mean = malloc(n * sizeof *mean);
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t t = 32 * j; t < 32 * (j + 1); t++)
            for (size_t c = from; c < to; c++)
                sum += x ? (x[t * 64 + c] - 32) / 5.0 : (double)s->x[t * 64 + c];
        mean[j] = (float)(sum / sqrt(32.0 * (double)(to - from)));
    }
    double scatter = ref_scatter(mean, n, ref_median_copy(mean, n));
    free(mean);
    return scatter;
}

/* What receivers add is found, each for itself, to the bit as the reference; a dispersed burst stays. */
static void test_receivers(uint64_t seed)
{
    struct psr_fake_signal burst = {
        .kind = PSR_FAKE_BURST, .dm = 300, .width_s = 4e-3, .t_s = 2.2, .snr = 100};
    struct psr_obs obs = make_obs(64, 32, 16000, 512e-6);
    uint64_t state = seed, again = seed;
    obs.foff_mhz = -4;
    struct stream without, with = make_with_and_without(&obs, &burst, NULL, seed, &without);
    add_gains(&with, &state);
    add_gains(&without, &again);
    struct psr_clean_auto_desc d = describe(&with);
    struct cleaned a = clean(&with, &d, 3000, &state), b = clean(&without, &d, 16000, &state);
    unsigned char keep[64];
    memset(keep, 1, sizeof keep);
    struct ref r = {.nchan = 64, .nsamp = 16000, .x = with.x, .keep = keep, .clip_sigma = 6};
    ref_clean(&r, 512e-6);
    ok(!memcmp(r.out, a.x, 16000 * 64), "three receivers: as the reference, to the bit");
    static const size_t edge[] = {0, 30, 48, 64};
    for (int k = 0; k < 3; k++) {
        double before = scatter_of(&without, NULL, edge[k], edge[k + 1]),
               after = scatter_of(&without, b.x, edge[k], edge[k + 1]);
        ok(after < 0.5 * before, "receiver %d: scatter %.2f of noise, then %.2f", k, before, after);
    }
    double kept = share_kept(&with, &without, &a, &b);
    ok(kept > 0.85, "%.3f of a burst of S/N 100 is left", kept);
    ref_clear(&r);
    clear_cleaned(&a);
    clear_cleaned(&b);
    clear_stream(&with);
    clear_stream(&without);
}

/* Mean over channels and half a second of spectra, in sigmas. */
static double level_of(const struct cleaned *a, size_t nchan, size_t from, size_t to, size_t t)
{
    double sum = 0;
    for (size_t i = t; i < t + 1000; i++)
        for (size_t c = from; c < to; c++)
            sum += a->x[i * nchan + c] - 32;
    return sum / 5 / 1000 / (double)(to - from);
}

/* Steps of part of the band and of all of it that stay: the next window has the level of noise again. */
static void test_steps(uint64_t seed)
{
    struct psr_obs obs = make_obs(64, 32, 48 * 1024, 512e-6);
    uint64_t state = seed;
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1};
    struct stream s = make_stream(&d);
    float *x = s.packed;
    for (size_t t = 3 * 4096 + 1500; t < 48 * 1024; t++)
        for (size_t c = 0; c < 64; c++)
            x[t * 64 + c] = s.x[t * 64 + c] +=
                (c >= 20 && c < 24 ? 1.0F : 0.0F) + (t >= 7 * 4096 + 2500 ? 0.5F : 0.0F);
    struct psr_clean_auto_desc desc = describe(&s);
    struct cleaned a = clean(&s, &desc, 5000, &state);
    for (size_t w = 2; w < 12; w++) {
        double part = level_of(&a, 64, 20, 24, w * 4096 + 1500),
               all = level_of(&a, 64, 0, 64, w * 4096 + 1500);
        ok(fabs(part) < 0.2 && fabs(all) < 0.05,
           "window %zu: four channels that step are at %.3f sigma, the band at %.3f", w, part, all);
    }
    clear_cleaned(&a);
    clear_stream(&s);
}

/* --- steps of the band ------------------------------------------------------------------------ */

/* Noise of 64 channels in so many windows of 2.1 s, with such interference. */
static struct stream make_windows(size_t nwindow, const struct psr_fake_rfi *rfi_of, size_t nrfi,
                                  uint64_t seed)
{
    struct psr_obs obs = make_obs(64, 8, (int64_t)nwindow * 4096, 512e-6);
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .rfi = rfi_of,
                              .nrfi = nrfi};
    return make_stream(&d);
}

/* Steps at random, of all sizes: to the bit as the reference. */
static void test_jumps_bits(double width_s, uint64_t seed)
{
    const struct psr_fake_rfi jumps = {
        .kind = PSR_FAKE_RFI_JUMP, .level = 1.5, .rate_hz = 1 / width_s, .width_s = width_s};
    struct stream s = make_windows(16, &jumps, 1, seed);
    struct psr_clean_auto_desc desc = describe(&s);
    uint64_t state = seed;
    struct cleaned a = clean(&s, &desc, 5000, &state);
    unsigned char keep[64];
    memset(keep, 1, sizeof keep);
    struct ref r = {.nchan = 64, .nsamp = 16 * 4096, .x = s.x, .keep = keep, .clip_sigma = 6};
    ref_clean(&r, 512e-6);
    ok(!memcmp(r.out, a.x, (size_t)16 * 4096 * 64) && r.nfiltered == a.nfiltered,
       "steps of %.1f s: as the reference, to the bit; in %zu windows", width_s, a.nfiltered);
    ref_clear(&r);
    clear_cleaned(&a);
    clear_stream(&s);
}

/* A step of the whole band at some place of a window, in hum that is removed: nothing is left of it in any half of a
 * second, before it, after it, or around it. */
static void test_step_in_hum(double share, double level, uint64_t seed)
{
    const size_t at = 9 * 4096 + (size_t)(share * 4096);
    const struct psr_fake_rfi events[] = {
        {.kind = PSR_FAKE_RFI_MAINS, .level = 0.3, .hz = 28.77, .wander_s = 10, .nharm = 1},
        {.kind = PSR_FAKE_RFI_JUMP, .level = level, .t_s = (double)at * 512e-6}};
    struct stream s = make_windows(14, events, 2, seed);
    struct psr_clean_auto_desc desc = describe(&s);
    uint64_t state = seed;
    struct cleaned a = clean(&s, &desc, 5000, &state);
    double most = 0;
    for (size_t t = 7 * 4096; t + 1000 < 14 * 4096; t += 100)
        most = fmax(most, fabs(level_of(&a, 64, 0, 64, t)));
    ok(most < 0.05, "a step of %.1f sigma at %.3f of a window leaves at most %.3f", level, share,
       most);
    clear_cleaned(&a);
    clear_stream(&s);
}

/* A step of the whole band, in hum, that a stream ends in, so many spectra after a window. */
static void test_step_at_end(size_t after, uint64_t seed)
{
    enum { NCHAN = 256, WINDOW = 4096, FEW = 32 };
    const struct psr_fake_rfi hum = {
        .kind = PSR_FAKE_RFI_MAINS, .level = 0.17, .hz = 28.77, .wander_s = 10, .nharm = 1};
    const size_t n = 12 * (size_t)WINDOW + after;
    const struct psr_obs obs = make_obs(NCHAN, 32, (int64_t)n, 512e-6);
    uint64_t state = seed;
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .rfi = &hum,
                              .nrfi = 1};
    struct stream s = make_stream(&d);
    float *x = s.packed;
    for (size_t i = (11 * (size_t)WINDOW + 3300) * NCHAN; i < n * NCHAN; i++)
        x[i] = s.x[i] += 1;
    struct psr_clean_auto_desc desc = describe(&s);
    struct cleaned a = clean(&s, &desc, 5000, &state);
    double most = 0;
    for (size_t t = 8 * (size_t)WINDOW; t + FEW <= n; t += 8) {
        double sum = 0;
        for (size_t i = t * NCHAN; i < (t + FEW) * NCHAN; i++)
            sum += a.x[i] - PSR_AUTO_ZERO;
        most = fmax(most, sum / (PSR_AUTO_SIGMA * NCHAN * FEW));
    }
    ok(most < 0.1, "a step that ends %zu spectra after a window: %.3f of it is left", after, most);
    clear_cleaned(&a);
    clear_stream(&s);
}

static void test_jumps(uint64_t seed)
{
    test_step_at_end(700, seed);
    test_step_at_end(40, seed);
    if (tap_long("steps of 0.4 s"))
        test_jumps_bits(0.4, seed);
    test_jumps_bits(5, seed);
    for (int k = 0; k < 10; k++)
        test_step_in_hum(0.003 + 0.1 * k, k % 2 ? -1 : 1, seed);
    test_step_in_hum(0.996, 1, seed);
}

/* --- endless streams -------------------------------------------------------------------------- */

/* Spectra that calls told of as masked, one after the other; *most ranges at once. */
static size_t count_lost(const struct stream *s, const struct psr_clean_auto_desc *d, size_t *most)
{
    enum { PIECE = 3000 };
    const size_t nsamp = (size_t)s->obs.nsamp;
    unsigned char *room = tap_take((PIECE + nsamp) * s->obs.nchan, 1), *lost = tap_take(nsamp, 1);
    psr_clean_auto *p;
    psr_err err;
    if (psr_clean_auto_create(&p, d, &err))
        exit(EXIT_FAILURE);
    bool good = true;
    for (size_t t = 0, got; t <= nsamp && good; t += PIECE) {
        const size_t n = nsamp - t < PIECE ? nsamp - t : PIECE;
        const struct psr_span *span;
        good = n ? !psr_clean_auto_execute(p, (char *)s->packed + t * s->row, n, room, &got, &err)
                 : !psr_clean_auto_finish(p, room, &got, &err);
        const size_t nspan = psr_clean_auto_lost(p, &span);
        *most = nspan > *most ? nspan : *most;
        for (size_t k = 0; k < nspan; k++)
            memset(lost + span[k].first, 1, (size_t)span[k].count);
    }
    size_t n = 0;
    for (size_t t = 0; t < nsamp; t++)
        n += lost[t];
    psr_clean_auto_destroy(p);
    free(lost);
    free(room);
    return good ? n : 0;
}

/* Without an account of what is past all else is the same: what comes out, what is missing of it, and what is masked. */
static void test_endless(uint64_t seed)
{
    const struct psr_fake_rfi jumps = {
        .kind = PSR_FAKE_RFI_JUMP, .level = 1.5, .rate_hz = 0.2, .width_s = 5};
    struct stream s = make_windows(20, &jumps, 1, seed);
    for (size_t k = 0; k < 9; k++) /* nothing came */
        memset((char *)s.packed + (5000 + 8500 * k) * s.row, 0, 3000 * s.row);
    struct psr_clean_auto_desc d = describe(&s);
    uint64_t state = seed;
    size_t most = 0, few = 0;
    struct cleaned a = clean(&s, &d, 5000, &state);
    const size_t lost = count_lost(&s, &d, &most);
    d.endless = true;
    struct cleaned b = clean(&s, &d, 5000, &state);
    const size_t told = count_lost(&s, &d, &few);
    const size_t n = (size_t)s.obs.nsamp * s.obs.nchan;
    ok(!memcmp(a.x, b.x, n) && !memcmp(a.missing, b.missing, n * sizeof *a.missing) &&
           a.nspark == b.nspark && a.masked == b.masked && a.nfiltered == b.nfiltered,
       "an endless stream is cleaned alike");
    ok(lost == told && lost > 0 && few < most,
       "and tells of %zu masked spectra in %zu ranges at once, not %zu", told, few, most);
    clear_cleaned(&a);
    clear_cleaned(&b);
    clear_stream(&s);
}

/* --- refusals --------------------------------------------------------------------------------- */

static void refuse(struct psr_clean_auto_desc d, const char *field)
{
    psr_clean_auto *p;
    psr_err err = {0};
    ok(psr_clean_auto_create(&p, &d, &err) == PSR_EINVAL && !p && !strcmp(err.field, field),
       "refused: %s", err.msg);
}

static void test_refusals(void)
{
    const struct psr_clean_auto_desc good = {
        .size = sizeof good, .nchan = 8, .nbit = 8, .kind = PSR_UINT, .tsamp_s = 1e-3};
    struct psr_clean_auto_desc d;
    refuse((d = good, d.size = 0, d), "size");
    refuse((d = good, d.nchan = 0, d), "nchan");
    refuse((d = good, d.nbit = 3, d), "nbit");
    refuse((d = good, d.tsamp_s = 0, d), "tsamp_s");
    refuse((d = good, d.clip_sigma = NAN, d), "clip_sigma");
    refuse((d = good, d.nbit = 2, d.weights = true, d), "weights");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_bits(seed);
    test_lost(seed);
    test_survivors(seed);
    test_receivers(seed);
    test_steps(seed);
    test_jumps(seed);
    test_endless(seed);
    test_refusals();
    return done_testing();
}
