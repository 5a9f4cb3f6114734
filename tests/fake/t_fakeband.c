/* fakeband: noise and pulses of one telescope against transforms in double precision; and the frames
 * of psr_vdif_writer, read back. */
#include "formats/voltages/baseband.h"
#include <psrkit/ddplan.h>
#include <psrkit/experimental/source.h>
#include <psrkit/fake.h>

#include "fake/fake_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include <complex.h>
#include <math.h>
#include <string.h>

static const double rate_hz = 1e6;

static struct psr_fakeband_desc describe(bool real, size_t nchan, size_t npol, int nbit)
{
    return (struct psr_fakeband_desc){.size = sizeof(struct psr_fakeband_desc),
                                      .freq_mhz = 300,
                                      .bw_mhz = (real ? 0.5e-6 : 1e-6) * rate_hz * (double)nchan,
                                      .nchan = nchan,
                                      .npol = npol,
                                      .real = real,
                                      .nbit = nbit,
                                      .seed = 5,
                                      .dmconst = PSR_DMCONST_PRESTO};
}

static struct psr_fake_signal burst(double dm, double t_s, double width_s, double snr)
{
    return (struct psr_fake_signal){.kind = PSR_FAKE_BURST,
                                    .shape = PSR_FAKE_TOPHAT,
                                    .dm = dm,
                                    .t_s = t_s,
                                    .width_s = width_s,
                                    .snr = snr};
}

static psr_fakeband *make(const struct psr_fakeband_desc *d)
{
    psr_err err = {.msg = ""};
    psr_fakeband *p;
    if (psr_fakeband_create(&p, d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    return p;
}

/* Values of a polarisation: [n][nchan][ndim]. */
static float *values(const struct psr_fakeband_desc *d, size_t pol, size_t n)
{
    const size_t row = d->nchan * (d->real ? 1 : 2);
    psr_fakeband *p = make(d);
    float *x = tap_take(n * row, sizeof *x);
    psr_err err;
    if (psr_fakeband_values(p, pol, 0, n, x, &err))
        exit(EXIT_FAILURE);
    psr_fakeband_destroy(p);
    return x;
}

/* What the signals of *d add to the noise. */
static float *signal_alone(const struct psr_fakeband_desc *d, size_t pol, size_t n)
{
    struct psr_fakeband_desc quiet = *d;
    quiet.nsignal = 0;
    float *x = values(d, pol, n), *noise = values(&quiet, pol, n);
    for (size_t i = 0; i < n * d->nchan * (d->real ? 1 : 2); i++)
        x[i] -= noise[i];
    free(noise);
    return x;
}

/* --- dispersion ------------------------------------------------------------------------------- */

/* Turns of the phase at f: the integral of the delay from the top of the band. */
static double turns_at(const struct psr_fakeband_desc *d, double dm, double f)
{
    enum { STEPS = 200 };
    const double top = d->freq_mhz + d->bw_mhz / 2, h = (f - top) / STEPS;
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double at = top + h * i, weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * (psr_delay_s(d->dmconst, dm, at) - psr_delay_s(d->dmconst, dm, top));
    }
    return sum * h / 3 * 1e6;
}

/* Disperses x [n] by its transform, straight from the definition. */
static void disperse_plainly(const struct psr_fakeband_desc *d, double dm, const float *x, size_t n,
                             double complex *out)
{
    double complex *y = tap_take(n, sizeof *y), *turn = tap_take(n, sizeof *turn);
    for (size_t k = 0; k < n; k++)
        turn[k] = cexp(2 * M_PI * I * (double)k / (double)n);
    for (size_t k = 0; k < n; k++) {
        const double at =
            (2 * k < n ? (double)k : (double)k - (double)n) * rate_hz * 1e-6 / (double)n;
        const double f = d->real ? d->freq_mhz - d->bw_mhz / 2 + fabs(at) : d->freq_mhz + at;
        const double complex phase = cexp(-2 * M_PI * I * turns_at(d, dm, f));
        for (size_t t = 0; t < n; t++)
            y[k] += (d->real ? (double)x[t] : (double)x[2 * t] + I * (double)x[2 * t + 1]) *
                    conj(turn[k * t % n]);
        y[k] *= at < 0 && d->real ? conj(phase) : phase;
    }
    for (size_t t = 0; t < n; t++) {
        out[t] = 0;
        for (size_t k = 0; k < n; k++)
            out[t] += y[k] * turn[k * t % n] / (double)n;
    }
    free(y);
    free(turn);
}

static void test_dispersion(bool real)
{
    enum { N = 3072 };
    const double dm = 3;
    struct psr_fakeband_desc d = describe(real, 1, 1, 8);
    const struct psr_fake_signal before = burst(0, 700e-6, 200e-6, 1e6),
                                 after = burst(dm, 700e-6, 200e-6, 1e6);
    d.nsignal = 1;
    d.signal = &before;
    float *x = signal_alone(&d, 0, N);
    d.signal = &after;
    float *got = signal_alone(&d, 0, N);
    double complex *want = tap_take(N, sizeof *want);
    disperse_plainly(&d, dm, x, N, want);
    double power = 0, wrong = 0;
    for (size_t t = 0; t < N; t++) {
        const double complex is =
            real ? (double)got[t] : (double)got[2 * t] + I * (double)got[2 * t + 1];
        power += creal(want[t] * conj(want[t]));
        wrong += creal((is - want[t]) * conj(is - want[t]));
    }
    /* Transforms of other lengths ring otherwise at the edges of the band. */
    ok(power > 0 && wrong < 5e-3 * power, "%s voltages of DM %g: %.2g of the power is elsewhere",
       real ? "real" : "complex", dm, wrong / power);
    free(x), free(got), free(want);
}

/* Each channel has the delay of its own upper edge: the middle of its power says so. */
static void test_channels(void)
{
    enum { NCHAN = 4, N = 12000 };
    struct psr_fakeband_desc d = describe(false, NCHAN, 2, 8);
    const struct psr_fake_signal s = burst(5, 2e-3, 1e-4, 1e5);
    d.nsignal = 1;
    d.signal = &s;
    float *x = signal_alone(&d, 1, N);
    const double top = d.freq_mhz + d.bw_mhz / 2;
    for (size_t c = 0; c < NCHAN; c++) {
        double sum = 0, first = 0;
        for (size_t t = 0; t < N; t++) {
            const float *v = x + 2 * (t * NCHAN + c);
            const double power = (double)(v[0] * v[0] + v[1] * v[1]);
            sum += power;
            first += power * (double)t / rate_hz;
        }
        const double middle = d.freq_mhz - d.bw_mhz / 2 + (double)c + 0.5;
        const double late =
            psr_delay_s(d.dmconst, s.dm, middle) - psr_delay_s(d.dmconst, s.dm, top);
        near(first / sum, s.t_s + late, 2e-4, "middle of a channel's power");
    }
    free(x);
}

/* --- strength --------------------------------------------------------------------------------- */

static double power_of(const float *x, size_t from, size_t n)
{
    double sum = 0;
    for (size_t i = 2 * from; i < 2 * (from + n); i++)
        sum += (double)x[i] * (double)x[i];
    return sum / 2; /* of the noise: n */
}

static void test_strength(void)
{
    enum { N = 400000, WIDTH = 40000 };
    struct psr_fakeband_desc d = describe(false, 1, 2, 8);
    const struct psr_fake_signal s = burst(0, 0.2, WIDTH / rate_hz, 50);
    d.nsignal = 1;
    d.signal = &s;
    double on = 0, off = 0;
    for (size_t pol = 0; pol < 2; pol++) {
        float *x = values(&d, pol, N);
        on += power_of(x, 200000 - WIDTH / 2, WIDTH);
        off += power_of(x, 0, WIDTH);
        free(x);
    }
    near((on - 2 * WIDTH) / sqrt(2 * WIDTH), 50, 6, "S/N of a burst");
    near((off - 2 * WIDTH) / sqrt(2 * WIDTH), 0, 5, "S/N of nothing");
}

static void test_pulsar(void)
{
    enum { N = 500000, PERIOD = 100000, WIDTH = 5000 };
    struct psr_fakeband_desc d = describe(false, 1, 1, 8);
    const struct psr_fake_signal s = {.kind = PSR_FAKE_PULSAR,
                                      .shape = PSR_FAKE_GAUSSIAN,
                                      .width_s = WIDTH / rate_hz,
                                      .snr = 40,
                                      .period_s = PERIOD / rate_hz,
                                      .phase = 0.25};
    d.nsignal = 1;
    d.signal = &s;
    float *x = signal_alone(&d, 0, N);
    double all = power_of(x, 0, N), inside = 0;
    for (size_t k = 0; k < N / PERIOD; k++)
        inside += power_of(x, k * PERIOD + PERIOD / 4 - WIDTH, 2 * WIDTH);
    ok(inside > 0.97 * all, "pulses of a pulsar are at their phase: %.3f of the power",
       inside / all);
    /* of one pulse: peak times the integral of its shape */
    const double peak = s.snr / sqrt(s.width_s * sqrt(M_PI / 8 / log(2)) * rate_hz);
    near(all / (N / PERIOD), peak * WIDTH * sqrt(M_PI / 4 / log(2)), 0.05 * peak * WIDTH,
         "power of a pulse");
    free(x);
}

/* --- levels, and frames ----------------------------------------------------------------------- */

static float value_of(unsigned level, int nbit)
{
    static const float two[] = {-3.3165052F, -1, 1, 3.3165052F};
    return nbit == 2   ? two[level]
           : nbit == 4 ? ((float)level - 8) / 2.95F
                       : ((float)level - 127.5F) / 35.5F;
}

static unsigned level_at(const uint8_t *levels, size_t i, int nbit)
{
    return levels[i * (size_t)nbit / 8] >> i * (size_t)nbit % 8 & ((1U << nbit) - 1);
}

static void test_levels(uint64_t *random, int nbit)
{
    enum { N = 20000 };
    struct psr_fakeband_desc d = describe(false, 2, 2, nbit);
    const struct psr_fake_signal s[] = {burst(20, 5e-3, 1e-3, 30), burst(5, 12e-3, 2e-3, 30)};
    const size_t row = 4, bytes = N * row * (size_t)nbit / 8;
    psr_err err = {.msg = ""};
    d.nsignal = 2;
    d.signal = s;
    float *x = values(&d, 1, N);
    uint8_t *whole = tap_take(bytes, 1), *parts = tap_take(bytes, 1), *other = tap_take(bytes, 1);
    d.nthread = 3;
    psr_fakeband *p = make(&d);
    psr_status st = psr_fakeband_execute(p, 1, 0, N, whole, &err);
    for (size_t at = 0; at < N && !st;) {
        const size_t most = N - at, n = (size_t)tap_between(random, 1, 9000) / 2 * 2;
        const size_t part = n < most ? n : most;
        st = psr_fakeband_execute(p, 0, (int64_t)at, part, other, &err); /* in between */
        if (!st)
            st = psr_fakeband_execute(p, 1, (int64_t)at, part, parts + at * row * (size_t)nbit / 8,
                                      &err);
        at += part;
    }
    ok(!st && !memcmp(whole, parts, bytes), "%d bits: the same in any parts", nbit);
    size_t off = 0;
    const float half = nbit == 2 ? 10 : nbit == 4 ? 0.5001F / 2.95F : 0.5001F / 35.5F;
    for (size_t i = 0; i < N * row; i++) {
        const unsigned level = level_at(whole, i, nbit);
        const bool end = level == 0 || level == (1U << nbit) - 1;
        off += !end && fabsf(value_of(level, nbit) - x[i]) > half;
        off += nbit == 2 && (level != (x[i] < 0 ? 1U : 2U) - (x[i] < -0.9816F) + (x[i] >= 0.9816F));
    }
    ok(off == 0, "%d bits: levels next to the values", nbit);
    psr_fakeband_destroy(p);
    free(x), free(whole), free(parts), free(other);
}

static void test_frames(bool real, size_t nchan, size_t npol, int nbit)
{
    enum { FRAMES = 5 };
    struct psr_fakeband_desc d = describe(real, nchan, npol, nbit);
    psr_err err = {.msg = ""};
    const char *path = scratch("a.vdif");
    psr_fakeband *p = make(&d);
    psr_outfile *file;
    psr_vdif_writer *w = NULL;
    psr_status st = psr_outfile_create(&file, path, &err);
    struct psr_vdif_writer_desc wd = {.size = sizeof wd,
                                      .nchan = nchan,
                                      .npol = npol,
                                      .real = real,
                                      .nbit = nbit,
                                      .rate_hz = psr_fakeband_rate_hz(p),
                                      .start = {60500, 0.25}};
    wd.file = file;
    if (!st)
        st = psr_vdif_writer_create(&w, &wd, &err);
    const size_t each = st ? 0 : psr_vdif_writer_nsamp(w), n = each * FRAMES, ndim = real ? 1 : 2;
    const size_t bytes = n * nchan * ndim * (size_t)nbit / 8;
    uint8_t *levels[2] = {tap_take(bytes, 1), tap_take(bytes, 1)};
    for (size_t k = 0; k < npol && !st; k++)
        st = psr_fakeband_execute(p, k, 0, n, levels[k], &err);
    if (!st)
        st = psr_vdif_writer_append(w, (const void *const *)levels, FRAMES, &err);
    if (!st)
        st = psr_outfile_commit(file, &err);
    psr_baseband *b = NULL;
    const struct psr_baseband_desc bd = {
        .size = sizeof bd, .path = &path, .npath = 1, .freq_mhz = 300};
    if (!st)
        st = psr_baseband_open(&b, &bd, &err);
    if (st) {
        ok(false, "%s", err.msg);
        return;
    }
    const struct psr_baseband_header *h = psr_baseband_header(b);
    ok(h->nchan == nchan && h->npol == npol && h->real == real && h->nbit == nbit &&
           fabs(h->rate_hz - psr_fakeband_rate_hz(p)) < 1e-6 && h->start.day == 60500 &&
           fabs(h->start.frac - 0.25) < 1e-12 && fabs(h->bw_mhz - d.bw_mhz) < 1e-12,
       "%zu %s channels, %zu polarisations, %d bits: the header", nchan, real ? "real" : "complex",
       npol, nbit);
    float *x = tap_take(nchan * npol * n * ndim, sizeof *x);
    size_t got = 0, off = 0;
    st = psr_baseband_read(b, n, x, &got, &err);
    for (size_t c = 0; c < nchan; c++)
        for (size_t k = 0; k < npol; k++)
            for (size_t i = 0; i < n * ndim; i++) {
                const size_t at = (i / ndim * nchan + c) * ndim + i % ndim;
                off += fabsf(x[(c * npol + k) * n * ndim + i] -
                             value_of(level_at(levels[k], at, nbit), nbit)) > 1e-5F;
            }
    ok(!st && got == n && off == 0, "%d frames of %zu samples are read as they were made", FRAMES,
       each);
    psr_baseband_close(b);
    psr_vdif_writer_destroy(w);
    psr_fakeband_destroy(p);
    free(x), free(levels[0]), free(levels[1]);
}

/* --- what cannot be --------------------------------------------------------------------------- */

static void refuse_band(const struct psr_fakeband_desc *d, psr_status want, const char *field)
{
    psr_fakeband *p;
    psr_err err = {.msg = ""};
    ok(psr_fakeband_create(&p, d, &err) == want && !p && !strcmp(err.field, field), "%s: %s", field,
       err.msg);
    psr_fakeband_destroy(p);
}

static void test_refusals(void)
{
    struct psr_fakeband_desc d = describe(false, 1, 1, 3);
    refuse_band(&d, PSR_EINVAL, "nbit");
    d = describe(false, 0, 1, 8);
    d.bw_mhz = 1;
    refuse_band(&d, PSR_EINVAL, "nchan");
    d = describe(false, 1, 3, 8);
    refuse_band(&d, PSR_EINVAL, "npol");
    d = describe(false, 1, 1, 8);
    d.bw_mhz = 700;
    refuse_band(&d, PSR_EINVAL, "bw_mhz");
    d = describe(false, 1, 1, 8);
    struct psr_fake_signal s = burst(-1, 1, 1, 10);
    d.nsignal = 1;
    d.signal = &s;
    refuse_band(&d, PSR_EINVAL, "dm");
    s = burst(1, 1, 1, 10);
    s.shape = PSR_FAKE_VONMISES;
    refuse_band(&d, PSR_EUNSUPPORTED, "shape");
    const struct {
        const char *field;
        struct psr_vdif_writer_desc d;
    } bad[] = {
        {"nchan", {.nchan = 3, .npol = 1, .nbit = 8, .rate_hz = 1e6}},
        {"npol", {.nchan = 1, .npol = 0, .nbit = 8, .rate_hz = 1e6}},
        {"nbit", {.nchan = 1, .npol = 1, .nbit = 3, .rate_hz = 1e6}},
        {"rate_hz", {.nchan = 1, .npol = 1, .nbit = 8, .rate_hz = 0}},
        {"rate_hz", {.nchan = 1, .npol = 1, .nbit = 8, .rate_hz = 12345.5}},
        {"start", {.nchan = 1, .npol = 1, .nbit = 8, .rate_hz = 1e6, .start = {50000, 0}}},
        {"loss", {.nchan = 1, .npol = 1, .nbit = 8, .rate_hz = 1e6, .loss = 1}},
        {"twice", {.nchan = 1, .npol = 1, .nbit = 8, .rate_hz = 1e6, .twice = 2}},
        {"reorder", {.nchan = 1, .npol = 1, .nbit = 8, .rate_hz = 1e6, .reorder = -1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct psr_vdif_writer_desc w = bad[i].d;
        psr_vdif_writer *out;
        psr_err err = {.msg = ""};
        w.size = sizeof w;
        w.to = "udp://127.0.0.1:9";
        w.start.day = w.start.day ? w.start.day : 60000;
        ok(psr_vdif_writer_create(&out, &w, &err) == PSR_EINVAL && !out &&
               !strcmp(err.field, bad[i].field),
           "%s: %s", bad[i].field, err.msg);
    }
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    test_dispersion(false);
    test_dispersion(true);
    test_channels();
    test_strength();
    test_pulsar();
    for (int nbit = 2; nbit <= 8; nbit *= 2)
        test_levels(&random, nbit);
    test_frames(false, 1, 2, 8);
    test_frames(true, 1, 1, 2);
    test_frames(false, 4, 2, 4);
    test_refusals();
    return done_testing();
}
