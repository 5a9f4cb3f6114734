/* dedisp_shape.h: random and chosen dedispersion plans, and their naive sums, in exact integers. */
#ifndef PSR_TESTS_DEDISP_SHAPE_H
#define PSR_TESTS_DEDISP_SHAPE_H

#include <psrkit/ddplan.h>
#include <psrkit/experimental/dedisp.h>

#include "search/dedisp/dedisp_internal.h"
#include "tap.h"
#include <string.h>

enum { MAXCHAN = 4200, MAXDM = 300 };

/* An observation, a sweep, and the samples as numbers. */
struct shape {
    struct psr_dedisp_desc d;
    double freq_mhz[MAXCHAN], dm[MAXDM];
    unsigned char keep[MAXCHAN];
    size_t nsamp, row_bytes;
    double *x;           /* [nsamp][nchan] */
    unsigned char *data; /* the same, packed */
    size_t nout;
    float *out; /* [ndm][nout] */
};

static void drop(struct shape *s)
{
    free(s->x);
    free(s->data);
    free(s->out);
    s->x = NULL;
    s->data = NULL;
    s->out = NULL;
}

/* --- making shapes ---------------------------------------------------------------------------- */

static void set_sample(struct shape *s, size_t t, size_t c, uint32_t bits)
{
    const int nbit = s->d.nbit;
    unsigned char *row = s->data + t * s->row_bytes;
    double *x = s->x + t * s->d.nchan + c;
    if (nbit < 8) {
        bits &= (1u << nbit) - 1;
        row[c * (size_t)nbit / 8] |= (unsigned char)(bits << c * (size_t)nbit % 8);
        *x = bits;
    } else if (s->d.kind == PSR_FLOAT) {
        float f = (float)((int32_t)bits * 0x1p-31);
        memcpy(row + 4 * c, &f, 4);
        *x = f;
    } else {
        memcpy(row + (size_t)nbit / 8 * c, &bits, (size_t)nbit / 8);
        if (nbit == 32)
            *x = bits;
        else
            *x = s->d.kind == PSR_INT ? (nbit == 8 ? (int8_t)bits : (int16_t)bits)
                                      : (nbit == 8 ? (uint8_t)bits : (uint16_t)bits);
    }
}

static void fill(struct shape *s, size_t nsamp, uint64_t *seed, bool all_ones)
{
    s->nsamp = nsamp;
    s->row_bytes = (s->d.nchan * (size_t)s->d.nbit + 7) / 8;
    s->x = tap_take(nsamp * s->d.nchan, sizeof *s->x);
    s->data = tap_take(nsamp, s->row_bytes);
    for (size_t t = 0; t < nsamp; t++)
        for (size_t c = 0; c < s->d.nchan; c++)
            set_sample(s, t, c, all_ones ? UINT32_MAX : (uint32_t)(tap_random(seed) >> 32));
}

static void choose_samples(struct shape *s, uint64_t *seed)
{
    static const struct {
        int nbit;
        enum psr_kind kind;
    } kinds[] = {{1, PSR_UINT},  {2, PSR_UINT}, {4, PSR_UINT}, {8, PSR_UINT},   {16, PSR_UINT},
                 {32, PSR_UINT}, {8, PSR_INT},  {16, PSR_INT}, {32, PSR_FLOAT}, {8, PSR_UINT}};
    size_t n = (size_t)tap_between(seed, 0, sizeof kinds / sizeof *kinds - 1);
    s->d.nbit = kinds[n].nbit;
    s->d.kind = kinds[n].kind;
}

static void choose_band(struct shape *s, uint64_t *seed)
{
    double width = 0.1 + tap_uniform(seed) * 4, lowest = 300 + tap_uniform(seed) * 1200;
    int order = (int)tap_between(seed, 0, s->d.algo == PSR_DEDISP_SUBBAND ? 1 : 2);
    for (size_t c = 0; c < s->d.nchan; c++) {
        size_t up = order == 0 ? c : s->d.nchan - 1 - c;
        s->freq_mhz[c] = lowest + (double)up * width;
        if (order == 2)
            s->freq_mhz[c] = lowest + tap_uniform(seed) * width * (double)s->d.nchan;
    }
}

static void choose_keep(struct shape *s, uint64_t *seed)
{
    int style = (int)tap_between(seed, 0, 3);
    size_t only = (size_t)tap_between(seed, 0, (int64_t)s->d.nchan - 1);
    for (size_t c = 0; c < s->d.nchan; c++)
        s->keep[c] = style == 0 ? c == only : c == only || tap_uniform(seed) < 0.8;
    s->d.keep = style == 3 ? NULL : s->keep;
}

/* Trials in steps of up to a sample or many, in order, repeated or shuffled; largest delay near
 * "shift" samples of the output. */
static void choose_trials(struct shape *s, double shift, uint64_t *seed)
{
    double low = s->freq_mhz[0], high = low;
    for (size_t c = 1; c < s->d.nchan; c++) {
        low = s->freq_mhz[c] < low ? s->freq_mhz[c] : low;
        high = s->freq_mhz[c] > high ? s->freq_mhz[c] : high;
    }
    double per_dm = psr_delay_s(s->d.dmconst, 1, low) - psr_delay_s(s->d.dmconst, 1, high);
    double top = per_dm > 0 ? shift * s->d.tsamp_s * (double)s->d.downsamp / per_dm : 100;
    double from = tap_uniform(seed) * top;
    int style = (int)tap_between(seed, 0, 3);
    for (size_t i = 0; i < s->d.ndm; i++) {
        double part = (double)i / (double)s->d.ndm;
        s->dm[i] = style == 0   ? part * top
                   : style == 1 ? from + part * (top - from)
                   : style == 2 ? tap_uniform(seed) * top
                                : (i % 3 ? from : 0);
    }
}

/* tree: of the tree algorithm, else of any other. */
__attribute__((unused)) static void choose(struct shape *s, bool tree, uint64_t *seed)
{
    static const size_t factors[] = {1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 16, 128};
    memset(s, 0, sizeof *s);
    bool large = tap_uniform(seed) < 0.05;
    s->d = (struct psr_dedisp_desc){
        .size = sizeof(struct psr_dedisp_desc),
        .nchan = (size_t)tap_between(seed, 1, large ? 300 : 40),
        .freq_mhz = s->freq_mhz,
        .tsamp_s = 64e-6,
        .downsamp = factors[tap_between(seed, 0, 11)],
        .dmconst = PSR_DMCONST_PRESTO,
        .ndm = (size_t)tap_between(seed, 1, large ? 150 : 12),
        .dm = s->dm,
        .nthread = (int)tap_between(seed, 1, 3),
        .backend = "cpu",
    };
    int algo = tree ? 5 : (int)tap_between(seed, 0, 4);
    s->d.tol = algo == 3;
    if (algo == 5) {
        static const double smear[] = {0, 1.01, 1.1, 1.5, 3, 100};
        s->d.algo = PSR_DEDISP_TREE;
        s->d.smear = smear[tap_between(seed, 0, 5)];
    }
    if (algo == 4) {
        s->d.algo = PSR_DEDISP_SUBBAND;
        s->d.nsub = (size_t)tap_between(seed, 1, 8);
        s->d.nchan = (s->d.nchan + s->d.nsub - 1) / s->d.nsub * s->d.nsub;
    }
    s->d.late = s->d.algo != PSR_DEDISP_SUBBAND && tap_uniform(seed) < 0.3;
    choose_samples(s, seed);
    choose_band(s, seed);
    choose_keep(s, seed);
    choose_trials(s, (double)tap_between(seed, 0, large ? 700 : 150), seed);
    size_t n = (size_t)tap_between(seed, 1, large ? 3000 : 500) * s->d.downsamp;
    fill(s, n < 16000 ? n : 16000, seed, tap_uniform(seed) < 0.1);
}

/* --- the naive sums --------------------------------------------------------------------------- */

static double extreme(const struct shape *s, int sign)
{
    double f = s->freq_mhz[0];
    for (size_t c = 1; c < s->d.nchan; c++)
        f = sign * s->freq_mhz[c] > sign * f ? s->freq_mhz[c] : f;
    return f;
}

/* Shift of channel c at trial i: pre samples of the input, then off of the output. */
static void shifts_of(const struct shape *s, const psr_dedisp *p, size_t i, size_t c, int64_t *pre,
                      int64_t *off)
{
    const struct psr_dedisp_desc *d = &s->d;
    double f = s->freq_mhz[c], top = extreme(s, 1), dt = d->tsamp_s * (double)d->downsamp;
    *pre = 0;
    if (d->algo != PSR_DEDISP_SUBBAND) {
        *off = d->tol || d->algo == PSR_DEDISP_TREE
                   ? psr_dedisp_delay(p, i, c)
                   : psr_delay_samples(d->dmconst, s->dm[i], f, top, dt) -
                         (d->late ? psr_delay_samples(d->dmconst, s->dm[i], extreme(s, -1), top, dt)
                                  : 0);
        return;
    }
    size_t width = d->nchan / d->nsub;
    bool rising = d->nchan > 1 && s->freq_mhz[1] > s->freq_mhz[0];
    size_t up = rising ? c : d->nchan - 1 - c, head = up / width * width + width - 1;
    double ref = s->freq_mhz[rising ? head : d->nchan - 1 - head], mean_dm = 0;
    for (size_t j = 0; j < d->ndm; j++)
        mean_dm += s->dm[j];
    mean_dm /= (double)d->ndm;
    *pre = psr_delay_samples(d->dmconst, mean_dm, f, ref, d->tsamp_s);
    *off = psr_delay_samples(d->dmconst, s->dm[i], ref, top, dt);
}

/* One output: the exact sum, and the sum of absolute values.  Before the first spectrum all is 0. */
static double naive(const struct shape *s, const int64_t *pre, const int64_t *off, size_t t,
                    double *weight)
{
    const size_t ds = s->d.downsamp;
    double sum = 0;
    *weight = 0;
    for (size_t c = 0; c < s->d.nchan; c++) {
        if (s->d.keep && !s->keep[c])
            continue;
        int64_t at = (int64_t)t + off[c];
        size_t from = (size_t)at * ds + (size_t)pre[c];
        for (size_t u = 0; u < ds && at >= 0; u++) {
            double x = s->x[(from + u) * s->d.nchan + c];
            sum += x;
            *weight += fabs(x);
        }
    }
    return sum;
}

/* Whether all outputs are the naive sums: bit for bit, or within 1e-6 for 32-bit samples. */
static bool matches(const struct shape *s, const psr_dedisp *p, size_t step)
{
    int64_t pre[MAXCHAN], off[MAXCHAN];
    for (size_t i = 0; i < s->d.ndm; i++) {
        for (size_t c = 0; c < s->d.nchan; c++)
            shifts_of(s, p, i, c, pre + c, off + c);
        for (size_t t = 0; t < s->nout; t += step) {
            double weight, sum = naive(s, pre, off, t, &weight), ds = (double)s->d.downsamp;
            float got = s->out[i * s->nout + t], want = (float)(sum / ds);
            bool pass = s->d.nbit == 32 ? fabs(got - sum / ds) <= 1e-6 * weight / ds : got == want;
            if (!pass) {
                diag("trial %zu sample %zu: got %.9g, want %.9g", i, t, got, want);
                return false;
            }
        }
    }
    return true;
}

static bool delays_agree(const struct shape *s, const psr_dedisp *p)
{
    bool pass = true;
    double top = extreme(s, 1), dt = s->d.tsamp_s * (double)s->d.downsamp;
    for (size_t i = 0; i < s->d.ndm; i++)
        for (size_t c = 0; c < s->d.nchan; c++) {
            int64_t got = psr_dedisp_delay(p, i, c);
            got += s->d.late ? (int64_t)psr_dedisp_shift(p, i) : 0;
            int64_t want = psr_delay_samples(s->d.dmconst, s->dm[i], s->freq_mhz[c], top, dt);
            bool kept = !s->d.keep || s->keep[c];
            bool exact = s->d.algo == PSR_DEDISP_DIRECT || (s->d.algo == PSR_DEDISP_TREE && !kept);
            pass &= !exact || llabs(got - want) <= s->d.tol;
            if (s->d.algo == PSR_DEDISP_SUBBAND && !kept)
                continue;
            pass &= got >= 0 && got <= (int64_t)psr_dedisp_maxshift(p) &&
                    got <= (int64_t)psr_dedisp_shift(p, i);
        }
    return pass;
}

/* --- running a plan --------------------------------------------------------------------------- */

/* Pushes all spectra in pieces of "piece", or of random sizes where it is 0. */
static bool run(struct shape *s, psr_dedisp *p, size_t piece, uint64_t *seed)
{
    size_t whole = s->nsamp / s->d.downsamp, shift = psr_dedisp_maxshift(p), done = 0;
    s->nout = s->d.late ? whole : whole > shift ? whole - shift : 0;
    free(s->out);
    s->out = tap_take(s->d.ndm * s->nout, sizeof *s->out);
    for (size_t t = 0; t < s->nsamp;) {
        size_t n = piece;
        if (!piece) {
            static const size_t odd[] = {0, 1, 2, 31, 64, 65};
            int kind = (int)tap_between(seed, 0, 7);
            n = kind < 6 ? odd[kind] : kind == 6 ? shift + 1 : s->nsamp / 3 + 1;
        }
        n = n < s->nsamp - t ? n : s->nsamp - t;
        size_t ready = psr_dedisp_ready(p, n), got;
        psr_err err = {0};
        if (psr_dedisp_execute(p, s->data + t * s->row_bytes, n, s->out + done, s->nout, &got,
                               &err) ||
            got != ready) {
            diag("execute: %s", err.msg);
            return false;
        }
        done += got;
        t += n;
    }
    return done == s->nout;
}

static void describe(const struct shape *s)
{
    diag("nchan %zu nbit %d kind %d ds %zu ndm %zu algo %d tol %d nsub %zu smear %g nsamp %zu "
         "thread %d late %d",
         s->d.nchan, s->d.nbit, (int)s->d.kind, s->d.downsamp, s->d.ndm, (int)s->d.algo, s->d.tol,
         s->d.nsub, s->d.smear, s->nsamp, s->d.nthread, s->d.late);
}

/* Frees the nth shape, and tells of one that failed how to make it again.  Returned: pass */
__attribute__((unused)) static bool end_shape(struct shape *s, bool pass, int n, uint64_t state)
{
    if (!pass) {
        diag("shape %d, state %llu", n, (unsigned long long)state);
        describe(s);
    }
    drop(s);
    return pass;
}

__attribute__((unused)) static bool check_shape(struct shape *s, uint64_t *seed)
{
    psr_dedisp *p;
    psr_err err;
    if (psr_dedisp_create(&p, &s->d, &err)) {
        diag("create: %s", err.msg);
        return false;
    }
    bool pass = delays_agree(s, p) && run(s, p, s->nsamp, seed) && matches(s, p, 1);
    size_t bytes = s->d.ndm * s->nout * sizeof *s->out;
    float *first = tap_take(bytes, 1);
    memcpy(first, s->out, bytes);
    psr_dedisp_reset(p);
    pass = pass && run(s, p, s->nsamp < 3000 ? (size_t)tap_between(seed, 0, 1) : 0, seed) &&
           !memcmp(first, s->out, bytes);
    free(first);
    psr_dedisp_destroy(p);
    return pass;
}
/* --- chosen shapes ---------------------------------------------------------------------------- */

static void set_band(struct shape *s, size_t nchan, size_t ndm, double dm_step)
{
    memset(s, 0, sizeof *s);
    s->d = (struct psr_dedisp_desc){
        .size = sizeof(struct psr_dedisp_desc),
        .nchan = nchan,
        .freq_mhz = s->freq_mhz,
        .tsamp_s = 128e-6,
        .nbit = 8,
        .kind = PSR_UINT,
        .downsamp = 1,
        .dmconst = PSR_DMCONST_PRESTO,
        .ndm = ndm,
        .dm = s->dm,
        .nthread = 2,
        .backend = "cpu",
    };
    for (size_t c = 0; c < nchan; c++)
        s->freq_mhz[c] = 1550 - 300.0 / (double)nchan * (double)c;
    for (size_t i = 0; i < ndm; i++)
        s->dm[i] = 10 + dm_step * (double)i;
}

#endif
