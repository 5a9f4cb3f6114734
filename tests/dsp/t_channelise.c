/* Tests the channeliser against sums in double precision, tones and dispersed pulses. */
#include "tests/support/channelise_ref.h"

#include <psrkit/ddplan.h>

#include <string.h>

static uint64_t state;

static struct psr_channelise_desc describe(size_t nchan_in, size_t npol, bool real, double bw_mhz,
                                           size_t nchan)
{
    return (struct psr_channelise_desc){.size = sizeof(struct psr_channelise_desc),
                                        .nchan_in = nchan_in,
                                        .npol = npol,
                                        .real = real,
                                        .freq_mhz = 400,
                                        .bw_mhz = bw_mhz,
                                        .nchan = nchan,
                                        .dmconst = PSR_DMCONST_PRESTO};
}

static psr_channelise *create(const struct psr_channelise_desc *d)
{
    psr_channelise *p = NULL;
    psr_err err;
    if (psr_channelise_create(&p, d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    return p;
}

/* Spectra of x [nplane][nsamp] that are wanted, in blocks of at most block samples; the others are 0. */
static float *run_wanted(const struct psr_channelise_desc *d, const float *x, size_t nsamp,
                         size_t block, const bool *wanted, size_t *nout)
{
    psr_channelise *p = create(d);
    const size_t ndim = d->real ? 1 : 2, nplane = d->nchan_in * d->npol;
    const size_t row = 2 * d->npol * d->nchan;
    float *out = tap_take(psr_channelise_ready(p, nsamp) * row + 1, sizeof *out);
    float *part = tap_take(block * nplane * ndim, sizeof *part);
    psr_err err;
    *nout = 0;
    for (size_t at = 0; at < nsamp;) {
        size_t n = (size_t)tap_between(&state, 1, (int64_t)block), got;
        n = block == nsamp ? nsamp : n < nsamp - at ? n : nsamp - at;
        for (size_t k = 0; k < nplane; k++)
            memcpy(part + k * n * ndim, x + (k * nsamp + at) * ndim, n * ndim * sizeof *x);
        if (psr_channelise_execute(p, part, n, wanted ? wanted + *nout : NULL, out + *nout * row,
                                   &got, &err))
            printf("Bail out! %s\n", err.msg);
        *nout += got;
        at += n;
    }
    free(part);
    psr_channelise_destroy(p);
    return out;
}

static float *run(const struct psr_channelise_desc *d, const float *x, size_t nsamp, size_t block,
                  size_t *nout)
{
    return run_wanted(d, x, nsamp, block, NULL, nout);
}

/* --- the definition --------------------------------------------------------------------------- */

/* Largest difference between out and the definition, over the largest value. */
static double compare(const struct reference *r, const float *x, size_t nsamp, const float *out,
                      size_t nout)
{
    const size_t n = nout / r->s.keep * r->s.keep * r->d->npol * r->d->nchan;
    double complex *v = ref_spectra(r, x, nsamp, nout);
    double worst = 0, largest = 0;
    for (size_t k = 0; k < n; k++) {
        worst = fmax(worst, cabs(v[k] - out[2 * k] - I * out[2 * k + 1]));
        largest = fmax(largest, cabs(v[k]));
    }
    free(v);
    return worst / largest;
}

/* What the header says of early and late. */
static void check_sweep(const struct psr_channelise_desc *d, const struct psr_channelise_shape *s)
{
    const double w = fabs(d->bw_mhz) / (double)d->nchan;
    const double c = d->freq_mhz - fabs(d->bw_mhz) / 2 + w / 2;
    const double k = d->dmconst * d->dm * w * 1e6 * 1.1;
    ok(s->early == (size_t)ceil(k * (pow(c, -2) - pow(c + w / 2, -2))) &&
           s->late == (size_t)ceil(k * (pow(c - w / 2, -2) - pow(c, -2))) &&
           s->keep == s->nfft - s->early - s->late && s->keep > 0,
       "DM %g discards %zu and %zu of %zu", d->dm, s->early, s->late, s->nfft);
}

static struct psr_channelise_desc random_desc(void)
{
    const bool upper = tap_random(&state) >> 63, real = tap_random(&state) >> 63;
    const size_t nchan_in = (size_t)tap_between(&state, 1, 3);
    const double bw = 8 * tap_uniform(&state) + 1;
    struct psr_channelise_desc d =
        describe(nchan_in, (size_t)tap_between(&state, 1, 2), real, upper ? bw : -bw,
                 nchan_in * (size_t)tap_between(&state, 1, 9));
    const int64_t kind = tap_between(&state, 0, 3);
    if (kind == 1)
        d.ntap = (size_t)tap_between(&state, 2, 5);
    if (kind >= 2)
        d.nfft = (size_t)tap_between(&state, 2, 13);
    if (kind == 3) {
        d.nfft += 40;
        d.dm = 10 / (1.1e6 * d.dmconst * 2 * bw * bw / pow((double)d.nchan, 2) / pow(400, 3));
        d.dm *= tap_uniform(&state);
    }
    return d;
}

static void test_definition(void)
{
    const struct psr_channelise_desc d = random_desc();
    psr_channelise *p = create(&d);
    struct psr_channelise_shape shape;
    psr_channelise_describe(p, &shape);
    psr_channelise_destroy(p);
    struct reference r = ref_make(&d, &shape);
    const size_t ntap = d.ntap ? d.ntap : 1, ndim = d.real ? 1 : 2;
    const size_t nsamp = r.s.segment + r.s.step * (size_t)tap_between(&state, 0, 4) +
                         (size_t)tap_between(&state, 0, (int64_t)r.s.step - 1);
    const size_t total = nsamp * ndim * d.nchan_in * d.npol;
    float *x = tap_take(total, sizeof *x);
    size_t nout, nagain;
    for (size_t k = 0; k < total; k++)
        x[k] = (float)tap_normal(&state);
    float *out = run(&d, x, nsamp, nsamp, &nout), *again = run(&d, x, nsamp, 7, &nagain);
    const double worst = compare(&r, x, nsamp, out, nout);
    ok(nout == ((nsamp - r.s.segment) / r.s.step + 1) * r.s.keep && worst < 3e-6,
       "%zu of %zu input channels, %s, %s sideband, %zu taps, nfft %zu, DM %.3g: within %.1e",
       d.nchan, d.nchan_in, d.real ? "real" : "complex", d.bw_mhz > 0 ? "upper" : "lower", ntap,
       r.s.nfft, d.dm, worst);
    ok(nagain == nout && !memcmp(out, again, nout * 2 * d.npol * d.nchan * sizeof *out),
       "blocks of any length give the same bits");
    struct psr_channelise_desc one = d;
    one.nthread = 1;
    free(again);
    again = run(&one, x, nsamp, nsamp, &nagain);
    ok(nagain == nout && !memcmp(out, again, nout * 2 * d.npol * d.nchan * sizeof *out),
       "so does one thread");
    check_sweep(&d, &r.s);
    free(x);
    free(r.window);
    free(out);
    free(again);
}

/* --- spectra that are not wanted --------------------------------------------------------------- */

/* Runs of wanted spectra and of others, several segments long; *any [segment] have a wanted one. */
static bool *choose_wanted(size_t nspectrum, size_t keep, bool *any)
{
    bool *wanted = tap_take(nspectrum + 1, sizeof *wanted);
    bool on = tap_random(&state) >> 63;
    for (size_t i = 0, left = 0; i < nspectrum; i++, left--) {
        if (left == 0) {
            left = (size_t)tap_between(&state, 1, 4 * (int64_t)keep);
            on = !on;
        }
        wanted[i] = on;
        any[i / keep] |= on;
    }
    return wanted;
}

/* Samples that no wanted segment reaches are not numbers. */
static void spoil_samples(const struct psr_channelise_shape *s, const bool *any, size_t nsegment,
                          size_t nplane, size_t ndim, size_t nsamp, float *x)
{
    bool *used = tap_take(nsamp, sizeof *used);
    for (size_t k = 0; k < nsegment; k++)
        for (size_t u = 0; u < s->segment && any[k]; u++)
            used[k * s->step + u] = true;
    for (size_t t = 0; t < nplane * nsamp; t++)
        for (size_t e = 0; e < ndim && !used[t % nsamp]; e++)
            x[t * ndim + e] = NAN;
    free(used);
}

/* Segments of which a spectrum is wanted have the bits of a run that wants all; others stay 0. */
static size_t count_unlike(const float *all, const float *some, const bool *any, size_t nsegment,
                           size_t segment_floats)
{
    size_t wrong = 0;
    for (size_t k = 0; k < nsegment * segment_floats; k++) {
        const float want = any[k / segment_floats] ? all[k] : 0;
        wrong += memcmp(&want, some + k, sizeof want) != 0;
    }
    return wrong;
}

static void test_wanted(void)
{
    const struct psr_channelise_desc d = random_desc();
    psr_channelise *p = create(&d);
    struct psr_channelise_shape s;
    psr_channelise_describe(p, &s);
    psr_channelise_destroy(p);
    const size_t nsegment = (size_t)tap_between(&state, 20, 40), nplane = d.nchan_in * d.npol;
    const size_t nsamp = s.segment + (nsegment - 1) * s.step, ndim = d.real ? 1 : 2;
    float *x = tap_take(nsamp * nplane * ndim, sizeof *x);
    bool *any = tap_take(nsegment, sizeof *any);
    size_t nall, nsome, nagain, nany = 0;
    for (size_t k = 0; k < nsamp * nplane * ndim; k++)
        x[k] = (float)tap_normal(&state);
    float *all = run(&d, x, nsamp, nsamp, &nall);
    bool *wanted = choose_wanted(nall, s.keep, any);
    spoil_samples(&s, any, nsegment, nplane, ndim, nsamp, x);
    float *some = run_wanted(&d, x, nsamp, nsamp, wanted, &nsome);
    float *again = run_wanted(&d, x, nsamp, 2 * s.step + 3, wanted, &nagain);
    const size_t each = s.keep * 2 * d.npol * d.nchan;
    for (size_t k = 0; k < nsegment; k++)
        nany += any[k];
    ok(nsome == nall && !count_unlike(all, some, any, nsegment, each),
       "%zu taps, nfft %zu, DM %.3g, %zu of %zu segments wanted: the same bits, others not made",
       d.ntap, s.nfft, d.dm, nany, nsegment);
    ok(nagain == nall && !count_unlike(all, again, any, nsegment, each),
       "so it is with blocks of any length");
    free(x), free(any), free(wanted);
    free(all), free(some), free(again);
}

/* --- tones ------------------------------------------------------------------------------------ */

/* A tone in the sky is a tone at its distance from the centre (or the edge) of the band, towards
 * lower frequencies in the lower sideband. */
static void test_tone(bool real, double bw, size_t ntap, size_t nfft)
{
    enum { NCHAN = 16, NSAMP = 8192 };
    struct psr_channelise_desc d = describe(1, 1, real, bw, NCHAN);
    d.ntap = ntap;
    d.nfft = nfft;
    psr_channelise *p = create(&d);
    const size_t want = (size_t)tap_between(&state, 1, NCHAN - 2);
    /* of a bin: an even number of them has none in the middle */
    const double bin_mhz = nfft % 2 ? 0 : bw / (double)(2 * NCHAN * nfft);
    const double sky = psr_channelise_freq_mhz(p, want) + bin_mhz;
    const double f = (sky - 400) / bw + (real ? 0.5 : 0); /* turns per complex sample */
    const double amplitude = 3;
    float *x = tap_take(NSAMP * 2, sizeof *x);
    size_t nout, at = 0;
    for (size_t k = 0; k < NSAMP; k++) {
        const double phase = 2 * M_PI * f * (double)k * (real ? 0.5 : 1) + 0.3;
        x[real ? k : 2 * k] = (float)(amplitude * cos(phase));
        if (!real)
            x[2 * k + 1] = (float)(amplitude * sin(phase));
    }
    float *out = run(&d, x, NSAMP, NSAMP, &nout), *v = out + 2 * NCHAN * (nout / 2);
    for (size_t c = 0; c < NCHAN; c++)
        if (hypot(v[2 * c], v[2 * c + 1]) > hypot(v[2 * at], v[2 * at + 1]))
            at = c;
    const double level = hypot(v[2 * at], v[2 * at + 1]);
    ok(at == want && fabs(level - amplitude) < 1e-4 * amplitude,
       "%s tone at %.4f MHz, band of %g: channel %zu (%zu), amplitude %.4f",
       real ? "real" : "complex", sky, bw, at, want, level);
    psr_channelise_destroy(p);
    free(x);
    free(out);
}

/* --- pulses ----------------------------------------------------------------------------------- */

enum { PULSE_N = 8192, PULSE_AT = 3000, PULSE_CHAN = 8 };

/* A pulse of one sample at the centre of the band, dispersed over all of it: delayed at each
 * frequency by what psr_delay_s says. */
static void make_pulse(double bw, double dm, float *x)
{
    double complex *s = tap_take(PULSE_N, sizeof *s), *turn = tap_take(PULSE_N, sizeof *turn);
    for (size_t k = 0; k < PULSE_N; k++) {
        const double from = ((double)k - PULSE_N / 2.0) / PULSE_N * fabs(bw);
        const double phase =
            1e6 * PSR_DMCONST_PRESTO * dm * from * from / ((400 + from) * 400 * 400);
        s[k] = cexp(2 * M_PI * I * (phase - ((double)k - PULSE_N / 2.0) * PULSE_AT / PULSE_N));
        turn[k] = cexp(2 * M_PI * I * (double)k / PULSE_N);
    }
    for (size_t t = 0; t < PULSE_N; t++) {
        double complex sum = 0;
        for (size_t k = 0; k < PULSE_N; k++)
            sum += s[k] * turn[(k + PULSE_N / 2) * t % PULSE_N];
        x[2 * t] = (float)creal(sum);
        x[2 * t + 1] = (float)((bw > 0 ? 1 : -1) * cimag(sum));
    }
    free(s);
    free(turn);
}

/* Largest part of a channel's power in two samples that follow each other; *at, the first. */
static double sharpness(const float *out, size_t nout, size_t c, size_t *at)
{
    double all = 0, best = 0, before = 0;
    for (size_t t = 0; t < nout; t++) {
        const float *v = out + 2 * (t * PULSE_CHAN + c);
        const double power = v[0] * v[0] + v[1] * v[1];
        all += power;
        if (power + before > best) {
            best = power + before;
            *at = t - 1;
        }
        before = power;
    }
    return best / all;
}

/* In a channel with sharp edges a pulse is a sinc: two samples hold at least 8 / pi^2 = 0.81 of its
 * power, as much as if it had not been dispersed. */
static void test_pulse(double bw)
{
    const double dm = 0.03;
    float *x = tap_take(2 * PULSE_N, sizeof *x);
    make_pulse(bw, dm, x);
    struct psr_channelise_desc d = describe(1, 1, false, bw, PULSE_CHAN);
    size_t nout, at = 0;
    d.nfft = 128;
    float *smeared = run(&d, x, PULSE_N, PULSE_N, &nout);
    const double before = sharpness(smeared, nout, PULSE_CHAN - 1, &at);
    d.dm = dm;
    psr_channelise *p = create(&d);
    struct psr_channelise_shape s;
    psr_channelise_describe(p, &s);
    float *out = run(&d, x, PULSE_N, PULSE_N, &nout);
    for (size_t c = 0; c < PULSE_CHAN; c++) {
        const double f = psr_channelise_freq_mhz(p, c), part = sharpness(out, nout, c, &at);
        const double delay = psr_delay_s(d.dmconst, dm, f) - psr_delay_s(d.dmconst, dm, 400);
        const double want = (PULSE_AT / (1e6 * fabs(bw)) + delay - s.first_s) / s.tsamp_s;
        ok(part > 0.8 && fabs((double)at + 0.5 - want) <= 1,
           "pulse at %.3f MHz, band of %g: %.3f of it in samples %zu and %zu, %.2f", f, bw, part,
           at, at + 1, want);
    }
    ok(before < 0.4, "without dedispersion the lowest channel has %.3f of it there", before);
    psr_channelise_destroy(p);
    free(x);
    free(out);
    free(smeared);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void refuses(struct psr_channelise_desc d, psr_status want, const char *field)
{
    psr_channelise *p;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_channelise_create(&p, &d, &err);
    ok(st == want && !strcmp(err.field, field) && !p, "%s is refused: %s", field, err.msg);
}

#define REFUSES(change, status, field)                                                             \
    do {                                                                                           \
        struct psr_channelise_desc d = describe(2, 1, false, 8, 16);                               \
        change;                                                                                    \
        refuses(d, status, field);                                                                 \
    } while (0)

static void test_errors(void)
{
    REFUSES(d.nchan_in = 0, PSR_EINVAL, "nchan_in");
    REFUSES(d.npol = 3, PSR_EINVAL, "npol");
    REFUSES(d.nchan = 15, PSR_EINVAL, "nchan");
    REFUSES(d.nchan = (size_t)1 << 40, PSR_EINVAL, "nchan");
    REFUSES(d.ntap = 65, PSR_EINVAL, "ntap");
    REFUSES((d.ntap = 4, d.nfft = 8), PSR_EUNSUPPORTED, "ntap");
    REFUSES(d.nfft = (size_t)1 << 27, PSR_EINVAL, "nfft");
    REFUSES((d.dm = 50, d.nfft = 8), PSR_EINVAL, "nfft");
    REFUSES(d.dm = 1e6, PSR_EINVAL, "dm");
    REFUSES(d.dm = (double)NAN, PSR_EINVAL, "dm");
    REFUSES((d.dm = 1, d.dmconst = 0), PSR_EINVAL, "dmconst");
    REFUSES(d.bw_mhz = 0, PSR_EINVAL, "bw_mhz");
    REFUSES(d.freq_mhz = 4, PSR_EINVAL, "freq_mhz");
    REFUSES(d.nthread = -1, PSR_EINVAL, "nthread");
    REFUSES(d.backend = "cuda", PSR_EDEVICE, "backend");
    REFUSES(d.size = 0, PSR_EINVAL, "size");
    psr_channelise_destroy(NULL);
}

static void test_chosen(void)
{
    struct psr_channelise_desc d = describe(1, 2, true, -200, 64);
    d.dm = 5;
    psr_channelise *p = create(&d);
    struct psr_channelise_shape s;
    psr_channelise_describe(p, &s);
    check_sweep(&d, &s);
    ok(s.nfft >= 4 * (s.early + s.late) && s.nfft < 8 * (s.early + s.late),
       "nfft %zu is chosen for a sweep of %zu", s.nfft, s.early + s.late);
    psr_channelise_destroy(p);
}

int main(void)
{
    state = tap_seed();
    for (int i = 0; i < 30; i++)
        test_definition();
    for (int i = 0; i < 30; i++)
        test_wanted();
    for (int i = 0; i < 12; i++)
        test_tone(i % 2, i % 4 < 2 ? 16 : -16, i / 4 == 1 ? 8 : 1, i / 4 == 2 ? 32 : 1);
    test_pulse(16);
    test_pulse(-16);
    test_chosen();
    test_errors();
    return done_testing();
}
