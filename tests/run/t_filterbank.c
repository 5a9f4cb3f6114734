/* Tests the way from voltages to a filterbank against sums in double precision. */
#include "base/obs_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "tests/support/baseband_made.h"
#include "tests/support/tap.h"

#include <psrkit/experimental/filterbank.h>
#include <psrkit/experimental/source.h>

#include <complex.h>

#include <psrkit/device.h>

#ifndef FILTERBANK_DEVICE
#define FILTERBANK_DEVICE "cpu"
#endif

static uint64_t state;

/* --- running ---------------------------------------------------------------------------------- */

/* A filterbank file in memory. */
struct result {
    struct psr_obs obs;
    double *x; /* [nrow][nif][nchan] */
    size_t nrow, bytes;
    char *file;
};

static double level_at(const uint8_t *data, size_t i, int nbit)
{
    float value;
    if (nbit == 32) {
        memcpy(&value, data + 4 * i, sizeof value);
        return (double)value;
    }
    if (nbit == 16)
        return data[2 * i] | data[2 * i + 1] << 8;
    return data[i * (size_t)nbit / 8] >> i * (size_t)nbit % 8 & ((1 << nbit) - 1);
}

static void read_result(struct result *r, const char *path)
{
    psr_err err = {.msg = ""};
    size_t head;
    bool more;
    r->file = scratch_read(path, &r->bytes);
    if (!r->file || psr_sigproc_parse(&r->obs, &head, &more, r->file, r->bytes, path, NULL, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    const size_t row = (size_t)r->obs.nif * r->obs.nchan;
    r->nrow = (r->bytes - head) * 8 / (row * (size_t)r->obs.nbit);
    r->x = tap_take(r->nrow * row, sizeof *r->x);
    for (size_t i = 0; i < r->nrow * row; i++)
        r->x[i] = level_at((const uint8_t *)r->file + head, i, r->obs.nbit);
}

static void clear_result(struct result *r)
{
    psr_obs_clear(&r->obs);
    free(r->x);
    free(r->file);
}

static psr_status run(const struct psr_filterbank_desc *desc, psr_err *err)
{
    struct psr_filterbank_desc d = *desc;
    psr_filterbank *p;
    if (d.device && !strcmp(d.device, "auto"))
        d.device = FILTERBANK_DEVICE;
    psr_status st = psr_filterbank_create(&p, &d, err);
    if (!st)
        st = psr_filterbank_run(p, err);
    if (!st)
        st = psr_filterbank_finish(p, err);
    psr_filterbank_destroy(p);
    return st;
}

/* --- the definition --------------------------------------------------------------------------- */

struct reference {
    const struct made *m;
    const struct psr_filterbank_desc *d;
    size_t nchan, nsamp; /* channels; samples of a spectrum */
    const bool *lost;    /* [m->nsamp]; NULL: none */
    size_t nproduct, nvalue, nrow;
    double *x;     /* [nrow][nproduct][nchan / fsum] */
    double *share; /* [nrow] of the spectra that a row should have */
    bool *good;
};

static double complex ref_voltage(const struct reference *r, size_t chan, size_t pol, size_t t)
{
    const double re = (int8_t)made_level(r->m, chan, pol, t, 0);
    return r->m->ndim == 2 ? re + I * (int8_t)made_level(r->m, chan, pol, t, 1) : re;
}

/* Spectrum s of output channel c, the highest first; the made band runs up. */
static double complex ref_channel(const struct reference *r, size_t c, size_t pol, size_t s)
{
    const size_t n = r->nchan / r->m->nchan, o = r->nchan - 1 - c;
    const double bin = (double)(o % n) - (r->m->ndim == 2 ? (double)(n / 2) : 0);
    double complex sum = 0;
    for (size_t u = 0; u < r->nsamp; u++)
        sum += ref_voltage(r, o / n, pol, s * r->nsamp + u) *
               cexp(-2 * M_PI * I * fmod(bin * (double)u, (double)r->nsamp) / (double)r->nsamp);
    return sum / (double)n;
}

static void ref_products(const struct reference *r, double complex p, double complex q, double *x)
{
    const double pp = creal(p * conj(p)), qq = creal(q * conj(q));
    const double re = creal(conj(p) * q), im = cimag(conj(p) * q);
    const double all[][4] = {{pp, qq, 0, 0},
                             {pp, qq, 0, 0},
                             {pp, qq, re, im},
                             {pp + qq, pp - qq, 2 * re, 2 * im},
                             {pp + qq, 2 * re, 2 * im, pp - qq}};
    memcpy(x, all[r->d->products], 4 * sizeof *x);
}

/* Detects and sums. */
static void ref_detect(struct reference *r)
{
    const size_t tsum = (size_t)r->d->tsum, fsum = (size_t)r->d->fsum, n = r->nchan / fsum;
    for (size_t i = 0; i < r->nrow; i++) {
        size_t ngood = 0;
        for (size_t s = i * tsum; s < (i + 1) * tsum; s++) {
            bool lost = false;
            for (size_t u = 0; u < r->nsamp && r->lost; u++)
                lost |= r->lost[s * r->nsamp + u];
            ngood += !lost;
            for (size_t c = 0; c < r->nchan && !lost; c++) {
                double products[4];
                const double complex p = ref_channel(r, c, 0, s);
                ref_products(r, p, r->m->npol == 2 ? ref_channel(r, c, 1, s) : 0, products);
                for (size_t k = 0; k < r->nproduct; k++)
                    r->x[i * r->nvalue + k * n + c / fsum] += products[k];
            }
        }
        r->good[i] = ngood > 0;
        r->share[i] = (double)ngood / (double)tsum;
        for (size_t k = 0; k < r->nvalue && ngood > 0; k++)
            r->x[i * r->nvalue + k] *= (double)tsum / (double)ngood;
    }
}

/* Scales value k of rows [to, stop) by what rows [from, end) say. */
static void ref_scale(const struct reference *r, double *out, size_t k, size_t from, size_t end,
                      size_t to, size_t stop)
{
    double n = 0, sum = 0, squares = 0;
    for (size_t i = from; i < end; i++)
        if (r->good[i]) {
            n++;
            sum += r->x[i * r->nvalue + k];
        }
    for (size_t i = from; i < end; i++)
        squares += r->good[i] ? pow(r->x[i * r->nvalue + k] - sum / n, 2) : 0;
    for (size_t i = to; i < stop; i++)
        out[i * r->nvalue + k] =
            r->good[i] && squares > 0
                ? (r->x[i * r->nvalue + k] - sum / n) / sqrt(squares / n) * sqrt(r->share[i])
                : 0;
}

static void ref_rescale(struct reference *r, size_t interval)
{
    double *out = tap_take(r->nrow * r->nvalue, sizeof *out);
    for (size_t k = 0; k < r->nvalue; k++)
        for (size_t i = 0; i < r->nrow; i += interval) {
            const size_t stop = i + interval < r->nrow ? i + interval : r->nrow;
            const bool own = i == 0 || r->d->constant;
            const size_t end = own ? (interval < r->nrow ? interval : r->nrow) : i;
            ref_scale(r, out, k, own ? 0 : i - interval, end, i, stop);
        }
    memcpy(r->x, out, r->nrow * r->nvalue * sizeof *out);
    free(out);
}

static double ref_level(const struct reference *r, double x, bool power)
{
    const int nbit = (int)r->d->nbits;
    const double middle = nbit == 16 ? 32768 : (ldexp(1, nbit) - 1) / 2;
    const bool scaled = r->d->interval_s > 0;
    const double gain = scaled && nbit > 2 ? middle / 6 : 1;
    const double level = floor(x * gain * r->d->scale + (scaled || !power ? middle : 0) + 0.5);
    return nbit == 32 ? x : fmin(fmax(level, 0), ldexp(1, nbit) - 1);
}

/* What the file must hold: *nif values of each channel. */
static double *ref_file(struct reference *r, double row_s, size_t *nif)
{
    const struct psr_filterbank_desc *d = r->d;
    const bool adds = d->products == PSR_PRODUCTS_SUM && r->m->npol == 2;
    const size_t n = r->nchan / (size_t)d->fsum;
    r->nproduct = r->m->npol == 1 ? 1 : d->products <= PSR_PRODUCTS_EACH ? 2 : 4;
    r->nvalue = r->nproduct * n;
    r->x = tap_take(r->nrow * r->nvalue, sizeof *r->x);
    r->good = tap_take(r->nrow, sizeof *r->good);
    r->share = tap_take(r->nrow, sizeof *r->share);
    ref_detect(r);
    if (d->interval_s > 0)
        ref_rescale(r, (size_t)rint(d->interval_s / row_s));
    *nif = adds ? 1 : r->nproduct;
    double *out = tap_take(r->nrow * *nif * n, sizeof *out);
    for (size_t i = 0; i < r->nrow * *nif * n; i++) {
        const size_t row = i / (*nif * n), k = i % (*nif * n), product = k / n;
        const double *x = r->x + row * r->nvalue + k;
        const double v = adds ? (x[0] + x[n]) * (d->interval_s > 0 ? M_SQRT1_2 : 1) : *x;
        const bool power = product < (d->products < PSR_PRODUCTS_STOKES ? 2 : 1);
        out[i] = ref_level(r, v, power);
    }
    free(r->x);
    free(r->good);
    free(r->share);
    return out;
}

/* --- random runs ------------------------------------------------------------------------------ */

static struct psr_filterbank_desc random_desc(const struct made *m)
{
    const int nbits[] = {1, 2, 4, 8, 16, 32};
    struct psr_filterbank_desc d;
    psr_filterbank_defaults(&d);
    d.fsum = tap_between(&state, 1, 3);
    d.nchan = (int64_t)m->nchan * 8 * d.fsum;
    d.tsum = tap_between(&state, 1, 4);
    d.products = tap_between(&state, 0, 4);
    d.nbits = nbits[tap_between(&state, 0, 5)];
    d.constant = tap_random(&state) >> 63;
    d.block_mb = tap_between(&state, 0, 1) ? 0.004 : 0; /* of devices */
    d.output = scratch("out.fil");
    return d;
}

static void write_dada(const struct made *m, const char *name, size_t from, size_t n)
{
    struct made_bytes b = {0};
    char more[64];
    snprintf(more, sizeof more, "OBS_OFFSET %zu\n", from * m->nchan * m->npol * m->ndim);
    made_dada_header(&b, m, more);
    made_dada_samples(&b, m, "TFP", 0, from, n);
    scratch_write(scratch(name), b.bytes, b.n);
    free(b.bytes);
}

/* Values that differ by more than rounding: levels may differ by one, seldom. */
static size_t count_wrong(const double *want, const struct result *r, int nbit, size_t *off)
{
    size_t wrong = 0;
    double largest = 0;
    const size_t n = r->nrow * (size_t)r->obs.nif * r->obs.nchan;
    *off = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        const double differs = fabs(want[i] - r->x[i]);
        *off += differs > 0;
        wrong += nbit == 32 ? !(differs <= 2e-5 * largest) : !(differs <= 1);
    }
    return wrong;
}

static void test_run(void)
{
    struct made m = {.nchan = (size_t)tap_between(&state, 1, 3),
                     .npol = (size_t)tap_between(&state, 1, 2),
                     .ndim = (size_t)tap_between(&state, 1, 2),
                     .nsamp = 4000,
                     .nbit = 8};
    made_fill(&m, &state);
    struct psr_filterbank_desc d = random_desc(&m);
    struct reference ref = {.m = &m, .d = &d, .nchan = (size_t)d.nchan};
    struct result r, again;
    psr_err err = {.msg = ""};
    ref.nsamp = ref.nchan / m.nchan * (m.ndim == 2 ? 1 : 2);
    const size_t nspectrum = m.nsamp / ref.nsamp;
    const double row_s =
        (double)d.tsum * (double)ref.nsamp * (m.ndim == 2 ? 0.0625e-6 : 0.03125e-6);
    ref.nrow = nspectrum / (size_t)d.tsum;
    d.interval_s = tap_between(&state, 0, 2) ? row_s * (double)tap_between(&state, 5, 40) : 0;
    write_dada(&m, "in.dada", 0, m.nsamp);
    const char *path = scratch("in.dada");
    d.path = &path;
    d.npath = 1;
    psr_status st = run(&d, &err);
    if (!ok(!st, "a run %s", err.msg))
        return;
    size_t nif, off = 0;
    double *want = ref_file(&ref, row_s, &nif);
    read_result(&r, d.output);
    const bool shape = r.nrow == ref.nrow && r.obs.nif == (int)nif &&
                       r.obs.nchan == ref.nchan / (size_t)d.fsum &&
                       fabs(r.obs.tsamp_s - row_s) < 1e-9 * row_s;
    const size_t wrong = shape ? count_wrong(want, &r, (int)d.nbits, &off) : 1;
    ok(shape && wrong == 0 && (d.nbits == 32 || off * 100 <= r.nrow * nif * r.obs.nchan),
       "%zu %s channels, %zu polarisations to %d, products %d, -t %d -f %d, %d bits, rescaled each "
       "%.3g s%s: %zu wrong, %zu off by one of %zu rows (%zu)",
       m.nchan, m.ndim == 2 ? "complex" : "real", m.npol, (int)d.nchan, (int)d.products,
       (int)d.tsum, (int)d.fsum, (int)d.nbits, d.interval_s, d.constant ? " (constant)" : "", wrong,
       off, r.nrow, ref.nrow);
    d.nthread = 1;
    st = run(&d, &err);
    read_result(&again, d.output);
    ok(!st && again.bytes == r.bytes && !memcmp(again.file, r.file, r.bytes),
       "one thread gives the same bytes");
    clear_result(&r);
    clear_result(&again);
    free(want);
    free(m.level);
}

/* Two files with a gap: what came is as without it; sums that lack spectra are enlarged, and have no
 * more noise than others once they are scaled. */
static void test_gap(double interval_s)
{
    struct made m = {.nchan = 1, .npol = 2, .ndim = 2, .nsamp = 4000, .nbit = 8};
    const size_t from = 1003, stop = 1133;
    bool *lost = tap_take(m.nsamp, sizeof *lost);
    struct psr_filterbank_desc d;
    struct result r;
    psr_err err = {.msg = ""};
    made_fill(&m, &state);
    write_dada(&m, "a.dada", 0, from);
    write_dada(&m, "b.dada", stop, m.nsamp - stop);
    const char *path[] = {scratch("b.dada"), scratch("a.dada")};
    for (size_t t = from; t < stop; t++)
        lost[t] = true;
    psr_filterbank_defaults(&d);
    d.path = path;
    d.npath = 2;
    d.nchan = 16;
    d.tsum = 3;
    d.nbits = 32;
    d.interval_s = interval_s;
    d.output = scratch("gap.fil");
    struct reference ref = {.m = &m, .d = &d, .nchan = 16, .nsamp = 16, .lost = lost};
    ref.nrow = m.nsamp / 16 / 3;
    size_t nif, off;
    double *want = ref_file(&ref, 3e-6, &nif);
    psr_status st = run(&d, &err);
    ok(!st, "a gap %s", err.msg);
    read_result(&r, d.output);
    const size_t wrong = count_wrong(want, &r, 32, &off);
    ok(r.nrow == ref.nrow && wrong == 0, "%zu wrong of %zu rows beside a gap", wrong, r.nrow);
    clear_result(&r);
    free(want);
    free(lost);
    free(m.level);
}

/* -S and -T: the same as a file that begins and ends there. */
static void test_part(void)
{
    struct made m = {.nchan = 2, .npol = 1, .ndim = 2, .nsamp = 4000, .nbit = 8};
    struct psr_filterbank_desc d;
    struct result all, part;
    psr_err err = {.msg = ""};
    made_fill(&m, &state);
    write_dada(&m, "all.dada", 0, m.nsamp);
    write_dada(&m, "part.dada", 800, 1600);
    const char *path = scratch("all.dada"), *other = scratch("part.dada");
    psr_filterbank_defaults(&d);
    d.path = &path;
    d.npath = 1;
    d.nchan = 16;
    d.nbits = 8;
    d.start_s = 800 * 0.0625e-6;
    d.total_s = 1600 * 0.0625e-6;
    d.output = scratch("all.fil");
    psr_status st = run(&d, &err);
    d.path = &other;
    d.start_s = d.total_s = 0;
    d.output = scratch("part.fil");
    st = st ? st : run(&d, &err);
    ok(!st, "parts %s", err.msg);
    read_result(&all, scratch("all.fil"));
    read_result(&part, scratch("part.fil"));
    ok(all.nrow == 200 && part.nrow == 200 && !memcmp(all.x, part.x, 200 * 16 * sizeof *all.x) &&
           fabs(psr_mjd_diff_s(all.obs.tstart, part.obs.tstart)) < 1e-6,
       "seconds 50e-6 to 150e-6 are those of a file that begins there");
    clear_result(&all);
    clear_result(&part);
    free(m.level);
}

/* --- a tone and a pulse ------------------------------------------------------------------------ */

enum { PULSE_N = 32768, PULSE_AT = 14000 };

/* 8-bit voltages of a pulse dispersed at 400 MHz, 16 MHz wide, of one sample. */
static void make_pulse(struct made *m, double dm)
{
    double complex *spectrum = tap_take(PULSE_N, sizeof *spectrum), *turn, *x;
    turn = tap_take(PULSE_N, sizeof *turn);
    x = tap_take(PULSE_N, sizeof *x);
    double largest = 0;
    for (size_t k = 0; k < PULSE_N; k++) {
        const double d = ((double)k - PULSE_N / 2.0) / PULSE_N * 16;
        const double phase = 1e6 / 2.41e-4 * dm * d * d / ((400 + d) * 400 * 400);
        spectrum[k] =
            cexp(2 * M_PI * I * (phase - ((double)k - PULSE_N / 2.0) * PULSE_AT / PULSE_N));
        turn[k] = cexp(2 * M_PI * I * (double)k / PULSE_N);
    }
    const size_t from = PULSE_AT - 1500, stop = PULSE_AT + 1500; /* it is over then */
    for (size_t t = from; t < stop; t++) {
        for (size_t k = 0; k < PULSE_N; k++)
            x[t] += spectrum[k] * turn[(k + PULSE_N / 2) * t % PULSE_N];
        largest = fmax(largest, cabs(x[t]));
    }
    for (size_t t = 0; t < PULSE_N; t++) {
        m->level[2 * t] = (unsigned)(int)rint(creal(x[t]) / largest * 100) & 0xff;
        m->level[2 * t + 1] = (unsigned)(int)rint(cimag(x[t]) / largest * 100) & 0xff;
    }
    free(spectrum);
    free(turn);
    free(x);
}

/* Part of a channel's power in its two largest neighbouring rows. */
static double sharpness(const struct result *r, size_t c)
{
    double sum = 0, best = 0;
    for (size_t i = 0; i < r->nrow; i++) {
        sum += r->x[i * r->obs.nchan + c];
        if (i > 0)
            best = fmax(best, r->x[i * r->obs.nchan + c] + r->x[(i - 1) * r->obs.nchan + c]);
    }
    return best / sum;
}

/* A sinc has at least 8 / pi^2 = 0.81 of its power in two samples; 8 bits leave some noise. */
static void test_pulse(void)
{
    const double dm = 0.05;
    struct made m = {.nchan = 1, .npol = 1, .ndim = 2, .nsamp = PULSE_N, .nbit = 8};
    struct psr_filterbank_desc d;
    struct result r, smeared;
    psr_err err = {.msg = ""};
    double least = 1, before;
    m.level = tap_take(2 * PULSE_N, sizeof *m.level);
    make_pulse(&m, dm);
    write_dada(&m, "pulse.dada", 0, m.nsamp);
    const char *path = scratch("pulse.dada");
    psr_filterbank_defaults(&d);
    d.path = &path;
    d.npath = 1;
    d.nchan = 8;
    d.nbits = 32;
    d.interval_s = 0;
    d.freq_res = 512;
    d.output = scratch("pulse.fil");
    psr_status st = run(&d, &err);
    read_result(&smeared, d.output);
    d.dm = dm;
    st = st ? st : run(&d, &err);
    read_result(&r, d.output);
    before = sharpness(&smeared, 7);
    for (size_t c = 0; c < 8; c++)
        least = fmin(least, sharpness(&r, c));
    ok(!st && least > 0.76 && before < 0.3,
       "a pulse at DM %g: at least %.3f of its power in two samples, %.3f without dedispersion %s",
       dm, least, before, err.msg);
    clear_result(&r);
    clear_result(&smeared);
    free(m.level);
}

static void test_tone(void)
{
    struct made m = {.nchan = 1, .npol = 1, .ndim = 2, .nsamp = 4096, .nbit = 8};
    struct psr_filterbank_desc d;
    struct result r;
    psr_err err = {.msg = ""};
    m.level = tap_take(2 * m.nsamp, sizeof *m.level);
    for (size_t t = 0; t < m.nsamp; t++) { /* 5/32 of the band of 16 MHz above 400 MHz */
        m.level[2 * t] = (unsigned)(int)rint(100 * cos(2 * M_PI * 5 * (double)t / 32)) & 0xff;
        m.level[2 * t + 1] = (unsigned)(int)rint(100 * sin(2 * M_PI * 5 * (double)t / 32)) & 0xff;
    }
    write_dada(&m, "tone.dada", 0, m.nsamp);
    const char *path = scratch("tone.dada");
    psr_filterbank_defaults(&d);
    d.path = &path;
    d.npath = 1;
    d.nchan = 32;
    d.nbits = 32;
    d.interval_s = 0;
    d.output = scratch("tone.fil");
    psr_status st = run(&d, &err);
    read_result(&r, d.output);
    size_t at = 0;
    double rest = 0;
    for (size_t c = 0; c < 32; c++)
        at = r.x[c] > r.x[at] ? c : at;
    for (size_t c = 0; c < 32; c++)
        rest = c != at ? fmax(rest, r.x[c]) : rest;
    ok(!st && fabs(r.obs.fch1_mhz + (double)at * r.obs.foff_mhz - 402.5) < 1e-6 &&
           fabs(r.x[at] - 1e4) < 100 && rest < 10,
       "a tone at 402.5 MHz: power %.1f at %.4f MHz, elsewhere %.2g %s", r.x[at],
       r.obs.fch1_mhz + (double)at * r.obs.foff_mhz, rest, err.msg);
    clear_result(&r);
    free(m.level);
}

/* --- errors ----------------------------------------------------------------------------------- */

#define REFUSES(change, status, name)                                                              \
    do {                                                                                           \
        struct psr_filterbank_desc d;                                                              \
        psr_err err = {.msg = "none"};                                                             \
        psr_filterbank_defaults(&d);                                                               \
        d.path = &path;                                                                            \
        d.npath = 1;                                                                               \
        d.nchan = 16;                                                                              \
        d.output = scratch("bad.fil");                                                             \
        change;                                                                                    \
        const psr_status st = run(&d, &err);                                                       \
        ok(st == (status) && !strcmp(err.field, name) && scratch_count("bad") == 0,                \
           "%s is refused: %s", name, err.msg);                                                    \
    } while (0)

static void test_errors(void)
{
    struct made m = {.nchan = 1, .npol = 2, .ndim = 1, .nsamp = 100, .nbit = 8};
    made_fill(&m, &state);
    write_dada(&m, "real.dada", 0, m.nsamp);
    char text[4096];
    snprintf(text, sizeof text, "%s", scratch("real.dada"));
    const char *path = text;
    REFUSES(d.npath = 0, PSR_EINVAL, "npath");
    REFUSES(d.output = NULL, PSR_EINVAL, "output");
    REFUSES(d.nbits = 3, PSR_EINVAL, "nbits");
    REFUSES(d.nbits = 64, PSR_EINVAL, "nbits");
    REFUSES(d.nchan = 1, PSR_EINVAL, "nchan");
    REFUSES(d.nchan = 1 << 21, PSR_EINVAL, "nchan");
    REFUSES((d.nchan = 6, d.nbits = 2), PSR_EINVAL, "nbits");
    REFUSES(d.fsum = 3, PSR_EINVAL, "fsum");
    REFUSES(d.tsum = 0, PSR_EINVAL, "tsum");
    REFUSES(d.tsum = 1000, PSR_EUNSUPPORTED, "nchan");
    REFUSES(d.pol = 2, PSR_EINVAL, "pol");
    REFUSES(d.products = 5, PSR_EINVAL, "products");
    REFUSES(d.interval_s = -1, PSR_EINVAL, "interval_s");
    REFUSES(d.interval_s = (double)NAN, PSR_EINVAL, "interval_s");
    REFUSES((d.ntap = 4, d.freq_res = 8), PSR_EUNSUPPORTED, "ntap");
    REFUSES(d.bw_mhz = 3, PSR_EUNSUPPORTED, "bw_mhz");
    REFUSES(d.output = path, PSR_EIO, "");
    REFUSES(d.device = NULL, PSR_EINVAL, "device");
    REFUSES(d.device = "opencl", PSR_EDEVICE, "backend");
    REFUSES(d.block_mb = -1, PSR_EINVAL, "block_mb");
    REFUSES(d.start_s = 1, PSR_EUNSUPPORTED, "nchan");
    REFUSES(d.size = 1, PSR_EINVAL, "size");
    psr_filterbank_destroy(NULL);
    free(m.level);
}

int main(void)
{
    psr_err err;
    state = tap_seed();
    if (strcmp(FILTERBANK_DEVICE, "cpu") != 0 && psr_device_count(&err) == 0) {
        skip("a filterbank on a device", err.msg);
        return done_testing();
    }
    scratch_make();
    for (int i = 0; i < 20; i++)
        test_run();
    test_gap(0);
    test_gap(40 * 3e-6);
    test_part();
    test_tone();
    test_pulse();
    test_errors();
    return done_testing();
}
