/* Automatic cleaning on a CUDA device: every byte, cell and count as on the CPU, however the stream is cut. */
#include "tests/support/tap.h"

#include "formats/spectra/unpack.h"
#include "rfi/auto/clean_auto_plan.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <psrkit/device.h>
#include <psrkit/experimental/clean_auto.h>
#include <string.h>

/* --- spectra ---------------------------------------------------------------------------------- */

struct shape {
    size_t nchan, nsamp;
    int nbit;
    enum psr_kind kind;
    double tsamp_s, clip_sigma;
    bool zerodm, keeps, weights; /* keeps: some channels are not kept */
    double tone, spark, hum, drift, step;
    double jump;   /* of the whole band, in the second quarter and a bit more */
    double pulsar; /* pulses in the sum of the band, longer than their sweep */
};

struct spectra {
    unsigned char *packed; /* [nsamp][row] */
    size_t row;
    unsigned char *keep;
};

/* Levels and scatters of a format: what holds the noise of most samples. */
static void choose_scale(const struct shape *s, double *level, double *sd)
{
    static const struct {
        int nbit;
        double level, sd;
    } scale[] = {{1, 0.5, 0.4}, {2, 1.5, 0.9}, {4, 7, 2.5}, {8, 90, 11}, {16, 9000, 700}};
    *level = 3e6;
    *sd = 2e5;
    for (size_t k = 0; k < sizeof scale / sizeof *scale; k++)
        if (scale[k].nbit == s->nbit) {
            *level = scale[k].level;
            *sd = scale[k].sd;
        }
    *level = s->kind == PSR_UINT ? *level : *sd / 3;
}

static double find_pulsar(const struct shape *s, size_t t, size_t c)
{
    const double n = (double)s->nchan, at = ((double)(t % 330) - 150 - 12 * (double)c / n) / 8;
    return s->pulsar > 0 ? s->pulsar / sqrt(n) * exp(-0.5 * at * at) : 0;
}

/* What all channels of a receiver, the first third or the rest, have in common at t; in sigmas. */
static double find_common(const struct shape *s, size_t t, bool first)
{
    const double at = (double)t;
    double x = s->hum * sin(2 * M_PI * at / (first ? 37.7 : 211));
    x += s->drift * sin(at / 900 + (first ? 0 : 1));
    x += 4 * t > s->nsamp && 9 * t < 5 * s->nsamp ? s->jump : 0;
    return x + (first && t > s->nsamp / 2 ? s->step : 0);
}

static void make_spectrum(const struct shape *s, size_t t, uint64_t *seed, double *x)
{
    double level, sd;
    choose_scale(s, &level, &sd);
    const bool spark = tap_uniform(seed) < s->spark;
    const double height = spark ? 8 * tap_normal(seed) : 0;
    const size_t tone = s->nchan / 2, burst = s->nsamp / 3 + (s->nchan - 1) * 2;
    for (size_t c = 0; c < s->nchan; c++) {
        double now = tap_normal(seed) + find_common(s, t, 3 * c < s->nchan) + height;
        now += c == tone && t % 700 < 300 ? s->tone : 0;
        now += t + 2 * c > burst && t + 2 * c < burst + 6 ? 5 : 0;
        now += find_pulsar(s, t, c);
        x[c] = level * (1 + 0.2 * sin((double)c)) + sd * now;
        if (s->kind == PSR_FLOAT && tap_uniform(seed) < 2e-5)
            x[c] = NAN;
    }
    if (s->nchan > 5)
        x[5] = level; /* a dead channel */
}

static struct spectra make_spectra(const struct shape *s, uint64_t *seed)
{
    struct spectra out = {.row = psr_row_bytes(s->nchan, s->nbit)};
    double *x = tap_take(s->nchan, sizeof *x);
    out.packed = tap_take(s->nsamp, out.row);
    out.keep = tap_take(s->nchan, 1);
    for (size_t t = 0; t < s->nsamp; t++) {
        make_spectrum(s, t, seed, x);
        psr_row_pack(out.packed + t * out.row, x, s->nchan, s->nbit, s->kind);
    }
    for (size_t c = 0; c < s->nchan; c++)
        out.keep[c] = !s->keeps || tap_uniform(seed) < 0.9;
    free(x);
    return out;
}

static void free_spectra(struct spectra *s)
{
    free(s->packed);
    free(s->keep);
}

/* --- cleaning --------------------------------------------------------------------------------- */

struct cleaned {
    unsigned char *x; /* [n][nchan] */
    size_t n;
    struct psr_step *step; /* [nstep] what all calls tell of missing noise */
    size_t nstep;
    psr_clean_auto *plan;
};

static bool fine(psr_status st, const psr_err *err)
{
    if (st)
        diag("%s", err->msg);
    return !st;
}

/* The next spectra, or with none the last ones; those that stay on the device are fetched. */
static bool clean_next(psr_clean_auto *p, const struct shape *s, const void *in, size_t n,
                       bool stays, unsigned char *out, size_t *got)
{
    psr_err err;
    void *d_out;
    if (!stays)
        return fine(n ? psr_clean_auto_execute(p, in, n, out, got, &err)
                      : psr_clean_auto_finish(p, out, got, &err),
                    &err);
    return fine(n ? psr_clean_auto_execute_device(p, in, n, &d_out, got, &err)
                  : psr_clean_auto_finish_device(p, &d_out, got, &err),
                &err) &&
           !cudaMemcpy(out, d_out, *got * s->nchan, cudaMemcpyDeviceToHost);
}

static void keep_steps(struct cleaned *c)
{
    const struct psr_step *step;
    const size_t n = psr_clean_auto_missing(c->plan, &step);
    struct psr_step *all = tap_take(c->nstep + n + 1, sizeof *all);
    if (c->nstep)
        memcpy(all, c->step, c->nstep * sizeof *all);
    if (n)
        memcpy(all + c->nstep, step, n * sizeof *all);
    free(c->step);
    c->step = all;
    c->nstep += n;
}

static struct cleaned clean(const struct shape *s, const struct spectra *in, const char *backend,
                            bool stays, uint64_t *seed)
{
    const struct psr_clean_auto_desc desc = {.size = sizeof desc,
                                             .nchan = s->nchan,
                                             .nbit = s->nbit,
                                             .kind = s->kind,
                                             .tsamp_s = s->tsamp_s,
                                             .clip_sigma = s->clip_sigma,
                                             .zerodm = s->zerodm,
                                             .keep = in->keep,
                                             .weights = s->weights,
                                             .backend = backend};
    struct cleaned c = {.n = 0};
    psr_err err;
    if (!fine(psr_clean_auto_create(&c.plan, &desc, &err), &err))
        exit(EXIT_FAILURE);
    c.x = tap_take(s->nsamp, s->nchan);
    const int64_t most = tap_between(seed, 1, 3 * (int64_t)psr_clean_auto_window(c.plan));
    bool good = true;
    for (size_t t = 0, got; good && t <= s->nsamp; c.n += got) {
        size_t n = (size_t)tap_between(seed, 1, most);
        n = n < s->nsamp - t ? n : s->nsamp - t;
        good =
            clean_next(c.plan, s, in->packed + t * in->row, n, stays, c.x + c.n * s->nchan, &got);
        t += n ? n : 1;
        keep_steps(&c);
    }
    if (!good)
        exit(EXIT_FAILURE);
    return c;
}

static void free_cleaned(struct cleaned *c)
{
    free(c->x);
    free(c->step);
    psr_clean_auto_destroy(c->plan);
}

/* --- comparing -------------------------------------------------------------------------------- */

static size_t count_differences(const unsigned char *a, const unsigned char *b, size_t n)
{
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += a[i] != b[i];
    return differ;
}

static bool same_reports(const struct cleaned *a, const struct cleaned *b, size_t nchan)
{
    struct psr_clean_auto_report p, q;
    psr_clean_auto_describe(a->plan, &p);
    psr_clean_auto_describe(b->plan, &q);
    const struct psr_span *pspan, *qspan;
    const size_t n = psr_clean_auto_lost(a->plan, &pspan), cells = p.nwindow * nchan;
    diag("sparks %lld and %lld, filtered %zu and %zu of %zu windows", (long long)p.nspark,
         (long long)q.nspark, p.nfiltered, q.nfiltered, p.nwindow);
    return p.nwindow == q.nwindow && p.nspark == q.nspark && p.nfiltered == q.nfiltered &&
           p.nsamp == q.nsamp && !memcmp(p.masked, q.masked, nchan * sizeof *p.masked) &&
           !memcmp(p.mask, q.mask, cells) && !memcmp(p.level, q.level, cells * sizeof *p.level) &&
           !memcmp(p.sd, q.sd, cells * sizeof *p.sd) && !p.weight == !q.weight &&
           (!p.weight || !memcmp(p.weight, q.weight, nchan)) &&
           n == psr_clean_auto_lost(b->plan, &qspan) &&
           (!n || !memcmp(pspan, qspan, n * sizeof *pspan));
}

static bool same_steps(const struct cleaned *a, const struct cleaned *b)
{
    bool same = a->nstep == b->nstep;
    for (size_t k = 0; k < a->nstep && same; k++)
        same = a->step[k].t == b->step[k].t && a->step[k].c == b->step[k].c &&
               a->step[k].value == b->step[k].value;
    return same;
}

/* What is told again of some spectra, of before the first and after the last, too. */
static bool same_marks(const struct cleaned *a, const struct cleaned *b, size_t nchan,
                       uint64_t *seed)
{
    enum { SPECTRA = 200 };
    const size_t values = SPECTRA * nchan;
    const int64_t first = tap_between(seed, -SPECTRA, (int64_t)a->n);
    float *x = tap_take(2 * values, sizeof *x);
    for (size_t k = 0; k < 2 * values; k++)
        x[k] = (float)(k % values) + 1;
    psr_clean_auto_mark(a->plan, first, SPECTRA, x);
    psr_clean_auto_mark(b->plan, first, SPECTRA, x + values);
    bool same = true;
    for (size_t k = 0; k < values; k++)
        same &= x[k] == x[values + k] || (isnan(x[k]) && isnan(x[values + k]));
    free(x);
    return same;
}

static struct psr_clean_auto_report compare(const struct shape *s, uint64_t *seed, bool stays)
{
    struct spectra in = make_spectra(s, seed);
    struct cleaned host = clean(s, &in, "cpu", false, seed),
                   device = clean(s, &in, "cuda", stays, seed);
    struct psr_clean_auto_report report;
    psr_clean_auto_describe(device.plan, &report);
    const size_t differ = count_differences(host.x, device.x, s->nsamp * s->nchan);
    ok(host.n == s->nsamp && device.n == s->nsamp && !differ,
       "%zu spectra of %zu channels, %d bits, kind %d, %g s%s%s: %zu of %zu bytes differ", s->nsamp,
       s->nchan, s->nbit, (int)s->kind, s->tsamp_s, s->zerodm ? ", zero DM" : "",
       s->weights ? ", weights" : "", differ, s->nsamp * s->nchan);
    ok(same_reports(&host, &device, s->nchan), "and every cell and count is the same");
    ok(same_steps(&host, &device) && same_marks(&host, &device, s->nchan, seed),
       "and what is missing, %zu steps", host.nstep);
    free_cleaned(&host);
    free_cleaned(&device);
    free_spectra(&in);
    return report;
}

/* --- the shapes ------------------------------------------------------------------------------- */

static struct shape choose_shape(uint64_t *seed, int number)
{
    static const struct {
        int nbit;
        enum psr_kind kind;
    } format[] = {{8, PSR_UINT},  {8, PSR_UINT}, {1, PSR_UINT}, {2, PSR_UINT},  {4, PSR_UINT},
                  {16, PSR_UINT}, {8, PSR_INT},  {16, PSR_INT}, {32, PSR_UINT}, {32, PSR_FLOAT}};
    const size_t k = (size_t)number % (sizeof format / sizeof *format);
    struct shape s = {.nbit = format[k].nbit, .kind = format[k].kind};
    s.nchan = (size_t)tap_between(seed, 1, tap_between(seed, 0, 3) ? 300 : 20);
    s.tsamp_s = tap_uniform(seed) < 0.7 ? 1.9e-3 : 1e-3; /* blocks of 64 and 128 */
    s.nsamp = (size_t)tap_between(seed, 1, tap_between(seed, 0, 4) ? 9000 : 400);
    s.clip_sigma = tap_uniform(seed) < 0.85 ? 6 : 0;
    s.zerodm = tap_uniform(seed) < 0.15;
    s.keeps = tap_uniform(seed) < 0.5;
    s.weights = s.nbit >= 4 && tap_uniform(seed) < 0.35;
    s.tone = 3 * tap_uniform(seed);
    s.spark = tap_uniform(seed) < 0.7 ? 2e-3 : 0;
    s.hum = tap_uniform(seed) < 0.6 ? tap_uniform(seed) : 0;
    s.drift = tap_uniform(seed) < 0.5 ? tap_uniform(seed) : 0;
    s.step = tap_uniform(seed) < 0.3 ? 1 : 0;
    s.jump = tap_uniform(seed) < 0.4 ? 2 * tap_normal(seed) : 0;
    s.pulsar = tap_uniform(seed) < 0.5 ? 12 : 0;
    return s;
}

static void test_random(uint64_t *seed, int count)
{
    int64_t nspark = 0;
    size_t nfiltered = 0;
    for (int k = 0; k < count; k++) {
        const struct shape s = choose_shape(seed, k);
        const struct psr_clean_auto_report r = compare(&s, seed, k % 2);
        nspark += r.nspark;
        nfiltered += r.nfiltered;
    }
    ok(nspark > 0 && nfiltered > 0, "there were sparks (%lld) and common noise (%zu windows)",
       (long long)nspark, nfiltered);
}

/* As surveys have: blocks of 2048 spectra, windows of 32768. */
static void test_survey(uint64_t *seed)
{
    const struct shape s = {.nchan = 96,
                            .nsamp = 80000,
                            .nbit = 8,
                            .kind = PSR_UINT,
                            .tsamp_s = 64e-6,
                            .clip_sigma = 6,
                            .tone = 2,
                            .spark = 1e-4,
                            .hum = 0.6,
                            .drift = 0.5,
                            .step = 1,
                            .jump = 1,
                            .pulsar = 12};
    (void)compare(&s, seed, true);
}

static void test_refusals(void)
{
    struct psr_clean_auto_desc desc = {
        .size = sizeof desc, .nchan = 8, .nbit = 8, .tsamp_s = 1e-3, .backend = "tpu"};
    psr_clean_auto *p;
    psr_err err;
    unsigned char in[8] = {0};
    void *d_out;
    size_t nout;
    ok(psr_clean_auto_create(&p, &desc, &err) == PSR_EDEVICE && !strcmp(err.field, "backend"), "%s",
       err.msg);
    desc.backend = "cuda";
    desc.device = 999;
    ok(psr_clean_auto_create(&p, &desc, &err) == PSR_EDEVICE && !p, "%s", err.msg);
    desc.backend = "cpu";
    if (!fine(psr_clean_auto_create(&p, &desc, &err), &err))
        exit(EXIT_FAILURE);
    ok(psr_clean_auto_execute_device(p, in, 1, &d_out, &nout, &err) == PSR_EUNSUPPORTED, "%s",
       err.msg);
    ok(psr_clean_auto_finish_device(p, &d_out, &nout, &err) == PSR_EUNSUPPORTED, "at the end");
    ok(psr_clean_auto_blank_device(p, 1, &d_out, &err) == PSR_EUNSUPPORTED, "blank spectra");
    psr_clean_auto_destroy(p);
}

/* Given: arguments   how many random shapes */
int main(int argc, char **argv)
{
    psr_err err;
    if (psr_device_count(&err) == 0) {
        skip("automatic cleaning on a device", err.msg);
        return done_testing();
    }
    uint64_t seed = tap_seed();
    test_random(&seed, argc > 1 ? atoi(argv[1]) : 40);
    if (argc < 3)
        test_survey(&seed);
    test_refusals();
    return done_testing();
}
