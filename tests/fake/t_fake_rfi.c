/* Interference in synthetic observations, beside a plain reference for each kind; threads, blocks and
 * IFs; the list of what happens; refusals. */
#include "fake/fake_internal.h"
#include "tests/support/fake_made.h"

enum { NCHAN = 24, NSAMP = 700 };
static const double tsamp_s = 1e-3;

static double uniform(uint64_t seed, uint64_t k)
{
    return psr_rng_uniform(seed, PSR_FAKE_RFI_STREAM, k);
}

static double normal(uint64_t seed, uint64_t k)
{
    float x;
    psr_rng_normal(seed, PSR_FAKE_RFI_STREAM + 1, k, 1, &x);
    return (double)x;
}

static double factor(const struct psr_fake_rfi *r, uint64_t seed, int t, int c)
{
    return r->modulation > 0 ? 1 + r->modulation * normal(seed, (uint64_t)(t * NCHAN + c)) : 1;
}

static bool in_band(const struct psr_obs *obs, int c, double freq, double bw)
{
    double off = psr_obs_freq_mhz(obs, (size_t)c) - freq, w = fmax(bw, fabs(obs->foff_mhz));
    return freq == 0 || (off >= -w / 2 && off < w / 2);
}

/* Share of sample t in which something is on that has a begin, an end and perhaps pulses: pulse by
 * pulse. */
static double share_on(int t, double begin, double end, double period, double width)
{
    double sum = 0, from = t * tsamp_s, to = (t + 1) * tsamp_s;
    for (int k = 0; period > 0 ? begin + k * period < end && begin + k * period < to : k < 1; k++) {
        double on = begin + k * period, off = period > 0 ? fmin(on + width, end) : end;
        sum += fmax(0, fmin(off, to) - fmax(on, from));
    }
    return sum / tsamp_s;
}

static double end_of(const struct psr_fake_rfi *r)
{
    return r->duration_s > 0 ? r->t_s + r->duration_s : INFINITY;
}

/* Tones, radar, and a single jump. */
static double plain_steady(const struct psr_obs *obs, const struct psr_fake_rfi *r, uint64_t seed,
                           int t, int c)
{
    double t_s = (t + 0.5) * tsamp_s, height = r->level;
    if (!in_band(obs, c, r->freq_mhz > 0 ? r->freq_mhz + r->drift_mhz_s * (t_s - r->t_s) : 0,
                 r->bw_mhz))
        return 0;
    if (r->kind == PSR_FAKE_RFI_RADAR) {
        double turns = (t_s - r->t_s) / r->rotation_s, x = fabs(turns - round(turns));
        height *= pow(2, -pow(2 * x / r->beam, 2));
    }
    return height * share_on(t, r->t_s, end_of(r), r->period_s, r->width_s) * factor(r, seed, t, c);
}

static double plain_mains(const struct psr_obs *obs, const struct psr_fake_rfi *r, uint64_t seed,
                          int t, int c)
{
    double t_s = (t + 0.5) * tsamp_s, k = floor(t_s / r->wander_s), x = t_s / r->wander_s - k;
    double a = normal(seed, (uint64_t)k), b = normal(seed, (uint64_t)k + 1), sum = 0;
    double phi =
        r->hz * t_s + r->wander_hz * r->wander_s * (a + (b - a) * (3 * x * x - 2 * x * x * x));
    for (int h = 1; h <= r->nharm; h++)
        sum += r->level * cos(2 * M_PI * h * phi) / h;
    return in_band(obs, c, r->freq_mhz, r->bw_mhz) * sum * share_on(t, r->t_s, end_of(r), 0, 0);
}

/* Every event of every slot that can matter. */
static double plain_random(const struct psr_obs *obs, const struct psr_fake_rfi *r, uint64_t seed,
                           int t, int c)
{
    double sum = 0;
    for (uint64_t s = 0; (double)s < (NSAMP * tsamp_s - r->t_s) * r->rate_hz + 1; s++) {
        double poisson = exp(-1), below = 0;
        int n = 0;
        for (; n < 7; n++, poisson /= n) {
            below += poisson;
            if (uniform(seed, 32 * s) < below)
                break;
        }
        for (uint64_t e = 0; e < (uint64_t)n; e++) {
            uint64_t k = 32 * s + 4 * e;
            double begin = r->t_s + ((double)s + uniform(seed, k + 1)) / r->rate_hz;
            double length = fmin(-log(1 - uniform(seed, k + 2)), 8) * r->width_s;
            double draw = uniform(seed, k + 3), height = r->level, freq = r->freq_mhz,
                   bw = r->bw_mhz, frame = 0;
            if (r->kind == PSR_FAKE_RFI_SPARK)
                height *= -log(1 - draw);
            if (r->kind == PSR_FAKE_RFI_JUMP)
                height *= normal(seed, 8 * s + e);
            if (r->kind == PSR_FAKE_RFI_PHONE) {
                freq += bw * (draw - 0.5);
                bw = r->carrier_mhz;
                frame = r->frame_s;
            }
            if (begin < end_of(r) && in_band(obs, c, freq, bw))
                sum += height * share_on(t, begin, begin + length, frame, r->slot_s) *
                       factor(r, seed, t, c);
        }
    }
    return sum;
}

/* The value of a sample, without noise. */
static double plain(const struct psr_obs *obs, const struct psr_fake_rfi *r, uint64_t seed, int t,
                    int c)
{
    double from = (c + 0.5) / NCHAN, y = fmin(from, 1 - from);
    switch (r->kind) {
    case PSR_FAKE_RFI_MAINS:
        return plain_mains(obs, r, seed, t, c);
    case PSR_FAKE_RFI_BANDPASS: {
        double ripple =
            r->period_mhz > 0
                ? r->level * cos(2 * M_PI * psr_obs_freq_mhz(obs, (size_t)c) / r->period_mhz)
                : 0;
        double edge = r->rolloff > 0 && y < r->rolloff ? sin(M_PI * y / (2 * r->rolloff)) : 1;
        return 4 * fmax(0, (1 + ripple) * edge * edge) - 4;
    }
    case PSR_FAKE_RFI_DROP: {
        int n = (int)fmax(1, rint(r->width_s / tsamp_s));
        int m = r->bw_mhz == 0 ? NCHAN : (int)fmin(NCHAN, fmax(1, rint(r->bw_mhz / 4)));
        int groups = (NCHAN + m - 1) / m;
        return uniform(seed, (uint64_t)(t / n * groups + c / m)) < r->share ? -4 : 0;
    }
    default:
        return r->rate_hz > 0 ? plain_random(obs, r, seed, t, c) : plain_steady(obs, r, seed, t, c);
    }
}

/* One of each kind, and variants of them. */
static const struct {
    const char *name;
    struct psr_fake_rfi r;
} scenes[] = {
    {"steady tone", {.kind = PSR_FAKE_RFI_TONE, .level = 3, .freq_mhz = 1470, .modulation = 0.3}},
    {"wide tone that ends",
     {.kind = PSR_FAKE_RFI_TONE,
      .level = 3,
      .freq_mhz = 1470,
      .bw_mhz = 17,
      .t_s = 0.1,
      .duration_s = 0.3333}},
    {"drifting tone",
     {.kind = PSR_FAKE_RFI_TONE,
      .level = -2,
      .freq_mhz = 1400,
      .drift_mhz_s = 130,
      .bw_mhz = 5,
      .modulation = 1}},
    {"pulsed tone",
     {.kind = PSR_FAKE_RFI_TONE,
      .level = 2,
      .freq_mhz = 1450,
      .t_s = -0.3,
      .period_s = 0.0317,
      .width_s = 0.0041}},
    {"radar",
     {.kind = PSR_FAKE_RFI_RADAR,
      .level = 20,
      .freq_mhz = 1440,
      .bw_mhz = 12,
      .modulation = 0.2,
      .t_s = 0.05,
      .period_s = 3.3e-3,
      .width_s = 0.2e-3,
      .rotation_s = 0.4,
      .beam = 0.1}},
    {"phones",
     {.kind = PSR_FAKE_RFI_PHONE,
      .level = 9,
      .freq_mhz = 1460,
      .bw_mhz = 60,
      .modulation = 0.3,
      .rate_hz = 20,
      .width_s = 0.05,
      .carrier_mhz = 5,
      .frame_s = 4.615e-3,
      .slot_s = 0.577e-3}},
    {"mains",
     {.kind = PSR_FAKE_RFI_MAINS,
      .level = 0.7,
      .hz = 50,
      .wander_hz = 0.5,
      .wander_s = 0.13,
      .nharm = 4}},
    {"sparks",
     {.kind = PSR_FAKE_RFI_SPARK, .level = 2, .rate_hz = 50, .width_s = 3e-3, .modulation = 0.1}},
    {"sparks in a band, for a while",
     {.kind = PSR_FAKE_RFI_SPARK,
      .level = 2,
      .rate_hz = 90,
      .width_s = 1e-4,
      .freq_mhz = 1450,
      .bw_mhz = 40,
      .t_s = 0.2,
      .duration_s = 0.2}},
    {"a jump", {.kind = PSR_FAKE_RFI_JUMP, .level = 2, .t_s = 0.2505}},
    {"jumps",
     {.kind = PSR_FAKE_RFI_JUMP,
      .level = 2,
      .rate_hz = 9,
      .width_s = 0.1,
      .freq_mhz = 1470,
      .bw_mhz = 50}},
    {"bandpass", {.kind = PSR_FAKE_RFI_BANDPASS, .level = 0.3, .period_mhz = 31, .rolloff = 0.2}},
    {"lost packets", {.kind = PSR_FAKE_RFI_DROP, .share = 0.1, .width_s = 7e-3, .bw_mhz = 20}},
    {"lost spectra", {.kind = PSR_FAKE_RFI_DROP, .share = 0.1, .width_s = 1e-4}},
};
enum { NSCENE = sizeof scenes / sizeof *scenes };

static struct psr_fake_desc describe(const struct psr_obs *obs, const struct psr_fake_rfi *r,
                                     size_t n, uint64_t seed)
{
    return (struct psr_fake_desc){.size = sizeof(struct psr_fake_desc),
                                  .obs = obs,
                                  .seed = seed,
                                  .dmconst = PSR_DMCONST_PRESTO,
                                  .rfi = r,
                                  .nrfi = n};
}

static void test_scene(size_t k, uint64_t seed, bool ascending)
{
    struct psr_obs obs = make_obs(NCHAN, 32, NSAMP, tsamp_s);
    psr_err err = {0};
    psr_fake *p;
    if (ascending) {
        obs.fch1_mhz = 1500 - 4 * (NCHAN - 1);
        obs.foff_mhz = 4;
    }
    obs.nif = 1 + (int)(k % 2);
    struct psr_fake_desc d = describe(&obs, &scenes[k].r, 1, seed);
    if (!ok(!psr_fake_create(&p, &d, &err), "%s: %s", scenes[k].name, err.msg))
        return;
    double *x = run_plan(p, &obs), worst = 0, largest = 0;
    for (int t = 0; t < NSAMP; t++)
        for (int c = 0; c < NCHAN; c++) {
            double want = plain(&obs, &scenes[k].r, seed, t, c);
            for (int i = 0; i < obs.nif; i++)
                worst = fmax(worst, fabs(x[(t * obs.nif + i) * NCHAN + c] - want));
            largest = fmax(largest, fabs(want));
        }
    ok(worst < 2e-6 * (1 + largest) && largest > 0, "%s: as the plain reference, to %.1e of %.2g",
       scenes[k].name, worst, largest);
    free(x);
    psr_fake_destroy(p);
}

/* All kinds together: the same bits by one thread at once and by three in pieces; what was there stays. */
static void test_sameness(uint64_t seed, int nbit)
{
    struct psr_obs obs = make_obs(NCHAN, nbit, NSAMP, tsamp_s);
    struct psr_fake_rfi all[NSCENE];
    uint64_t state = seed;
    psr_err err = {0};
    psr_fake *one = NULL, *three = NULL;
    for (size_t k = 0; k < NSCENE; k++)
        all[k] = scenes[k].r;
    struct psr_fake_desc d = describe(&obs, all, NSCENE, seed);
    d.noise_sigma = 1;
    bool good = (d.nthread = 1, !psr_fake_create(&one, &d, &err)) &&
                (d.nthread = 3, !psr_fake_create(&three, &d, &err));
    size_t row = psr_fake_row_bytes(one);
    uint8_t *whole = malloc(NSAMP * row), *parts = malloc(NSAMP * row);
    good = good && !psr_fake_execute(one, 0, NSAMP, whole, &err);
    for (size_t done = 0, n; good && done < NSAMP; done += n) {
        n = (size_t)tap_between(&state, 1, 200);
        n = n < NSAMP - done ? n : NSAMP - done;
        good = !psr_fake_execute(three, (int64_t)done, n, parts + done * row, &err);
    }
    ok(good && !memcmp(whole, parts, NSAMP * row),
       "all kinds, %d bits: threads and blocks do not change a bit %s", nbit, err.msg);
    free(whole);
    free(parts);
    psr_fake_destroy(one);
    psr_fake_destroy(three);
}

struct heard_events {
    struct psr_fake_rfi_event last;
    int n, stop_at;
    double time_s;
    bool inside;
};

static psr_status hear_event(void *ctx, const struct psr_fake_rfi_event *e, psr_err *err)
{
    struct heard_events *h = ctx;
    h->inside = (h->n == 0 || h->inside) && e->t_s >= 0 && e->t_s < NSAMP * tsamp_s &&
                e->lowest_mhz >= 1500 - 4 * (NCHAN - 1) && e->highest_mhz <= 1500;
    h->last = *e;
    h->time_s += e->width_s * ((e->highest_mhz - e->lowest_mhz) / 4 + 1);
    return ++h->n == h->stop_at ? psr_fail(err, PSR_ESTOPPED, "enough") : PSR_OK;
}

static void test_list(uint64_t seed)
{
    struct psr_obs obs = make_obs(NCHAN, 32, NSAMP, tsamp_s);
    struct psr_fake_rfi all[NSCENE];
    psr_err err = {0};
    psr_fake *p;
    for (size_t k = 0; k < NSCENE; k++)
        all[k] = scenes[k].r;
    struct psr_fake_desc d = describe(&obs, all, NSCENE, seed);
    if (!ok(!psr_fake_create(&p, &d, &err), "a plan of all kinds %s", err.msg))
        return;
    for (size_t k = 0; k < NSCENE; k++) {
        struct heard_events h = {.n = 0};
        bool many = all[k].rate_hz > 0 || all[k].kind == PSR_FAKE_RFI_DROP;
        ok(!psr_fake_rfi_list(p, k, hear_event, &h, &err) && h.inside && (many || h.n == 1),
           "%s: %d listed, all within the observation", scenes[k].name, h.n);
    }
    struct heard_events tone = {.n = 0}, packets = {.n = 0}, few = {.stop_at = 2};
    ok(!psr_fake_rfi_list(p, 1, hear_event, &tone, &err) && fabs(tone.last.t_s - 0.1) < 1e-9 &&
           fabs(tone.last.width_s - 0.3333) < 1e-9 && tone.last.lowest_mhz == 1464 &&
           tone.last.highest_mhz == 1476 && tone.last.level == 3,
       "a tone's time, band and level: %g to %g MHz", tone.last.lowest_mhz, tone.last.highest_mhz);
    struct heard_events drift = {.n = 0};
    ok(!psr_fake_rfi_list(p, 2, hear_event, &drift, &err) && drift.last.lowest_mhz == 1408 &&
           drift.last.highest_mhz == 1492,
       "the channels a tone drifts over: %g to %g MHz", drift.last.lowest_mhz,
       drift.last.highest_mhz);
    d.rfi = &all[12];
    d.nrfi = 1;
    psr_fake_destroy(p);
    if (!ok(!psr_fake_create(&p, &d, &err), "a plan of packets"))
        return;
    double *x = run_plan(p, &obs);
    int lost = 0;
    for (int i = 0; i < NSAMP * NCHAN; i++)
        lost += x[i] == -4;
    ok(!psr_fake_rfi_list(p, 0, hear_event, &packets, &err) &&
           fabs(packets.time_s / tsamp_s - lost) < 0.5,
       "the packets listed are those lost: %d values of %d", lost, NSAMP * NCHAN);
    ok(psr_fake_rfi_list(p, 0, hear_event, &few, &err) == PSR_ESTOPPED && few.n == 2,
       "who listens may stop");
    free(x);
    psr_fake_destroy(p);
}

/* The mean number of random events is their rate, their mean length the width. */
static void test_rates(uint64_t seed)
{
    struct psr_obs obs = make_obs(8, 8, 1000000, tsamp_s);
    const struct psr_fake_rfi spark = {
        .kind = PSR_FAKE_RFI_SPARK, .level = 1, .rate_hz = 10, .width_s = 2e-3};
    struct psr_fake_desc d = describe(&obs, &spark, 1, seed);
    struct heard_events h = {.n = 0};
    psr_err err = {0};
    psr_fake *p;
    if (!ok(!psr_fake_create(&p, &d, &err) && !psr_fake_rfi_list(p, 0, hear_event, &h, &err),
            "sparks are listed"))
        return;
    ok(fabs(h.n - 1e4) < 600, "%d sparks in 1000 s at 10 Hz", h.n);
    near(h.time_s / h.n / 8, 2e-3, 1.4e-4, "their mean length is the width");
    psr_fake_destroy(p);
}

static void refuse(struct psr_fake_rfi r, const char *field)
{
    struct psr_obs obs = make_obs(NCHAN, 8, NSAMP, tsamp_s);
    struct psr_fake_desc d = describe(&obs, &r, 1, 1);
    psr_err err = {0};
    psr_fake *p;
    ok(psr_fake_create(&p, &d, &err) == PSR_EINVAL && !p && !strcmp(err.field, field) &&
           strstr(err.msg, "interference 0: "),
       "refused: %s", err.msg);
}

static void test_refusals(void)
{
    struct psr_fake_rfi tone = scenes[0].r, radar = scenes[4].r, phone = scenes[5].r,
                        mains = scenes[6].r, spark = scenes[7].r, s;
    refuse((s = tone, s.level = NAN, s), "level");
    refuse((s = tone, s.freq_mhz = -1, s), "freq_mhz");
    refuse((s = tone, s.period_s = 1, s.width_s = 2, s), "width_s");
    refuse((s = radar, s.period_s = 0, s), "period_s");
    refuse((s = radar, s.beam = 0, s), "beam");
    refuse((s = phone, s.freq_mhz = 0, s), "freq_mhz");
    refuse((s = phone, s.slot_s = 1, s), "slot_s");
    refuse((s = mains, s.nharm = 0, s), "nharm");
    refuse((s = mains, s.wander_s = 0, s), "wander_s");
    refuse((s = spark, s.rate_hz = 0, s), "rate_hz");
    refuse((s = spark, s.width_s = 0, s), "width_s");
    refuse((struct psr_fake_rfi){.kind = PSR_FAKE_RFI_DROP, .width_s = 1, .share = 2}, "share");
    refuse((struct psr_fake_rfi){.kind = PSR_FAKE_RFI_BANDPASS, .rolloff = 0.6}, "rolloff");
}

int main(void)
{
    uint64_t seed = tap_seed();
    for (size_t k = 0; k < NSCENE; k++)
        test_scene(k, seed, k % 3 == 1);
    test_sameness(seed, 32);
    test_sameness(seed, 8);
    test_sameness(seed, 2);
    test_list(seed);
    test_rates(seed);
    test_refusals();
    return done_testing();
}
