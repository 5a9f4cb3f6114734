/* Makes synthetic voltages of a band: noise, and signals that are dispersed by their transform. */
#include "base/base.h"
#include "base/threads/threads.h"
#include "fake_internal.h"

#include <psrkit/ddplan.h>

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- dispersed pulses ------------------------------------------------------------------------- */

/* Streams of random numbers: noise of each polarisation; signals. */
enum { FAKEBAND_NOISE = 0, FAKEBAND_SIGNALS = 16 };

/* A dispersed pulse. */
struct psr_fakeband_pulse {
    size_t signal;
    int64_t number; /* of the pulsar's turns; 0 of a burst */
    size_t length;  /* samples */
    int64_t *first; /* [nchan] */
    float *x;       /* [npol][nchan][length][ndim] */
    int64_t end;    /* after its last sample, in any channel */
};

struct psr_fakeband {
    struct psr_fakeband_desc d;
    struct psr_fake_signal *signal; /* [d.nsignal] */
    size_t ndim;
    double rate_hz;
    int nthread;
    struct psr_fakeband_pulse *pulse; /* [npulse] that are at hand */
    size_t npulse, pulse_room;
};

/* Samples before and after a pulse, for what the edges of the band ring; the reach of a Gaussian,
 * in full widths at half maximum. */
enum { MARGIN = 256 };
static const double gaussian_reach = 2;

/* One channel: the band of its voltages. */
struct channel {
    double low_mhz, top_mhz; /* its edges */
    double delay_s;          /* of its upper edge, after that of the band */
};

static double delay_s(const psr_fakeband *p, double dm, double mhz)
{
    const double top = p->d.freq_mhz + p->d.bw_mhz / 2;
    return psr_delay_s(p->d.dmconst, dm, mhz) - psr_delay_s(p->d.dmconst, dm, top);
}

static struct channel channel_of(const psr_fakeband *p, double dm, size_t c)
{
    const double width = p->d.bw_mhz / (double)p->d.nchan,
                 low = p->d.freq_mhz - p->d.bw_mhz / 2 + width * (double)c;
    return (struct channel){low, low + width, delay_s(p, dm, low + width)};
}

static double reach_s(const struct psr_fake_signal *s)
{
    return s->shape == PSR_FAKE_GAUSSIAN ? gaussian_reach * s->width_s : s->width_s / 2;
}

/* Power at x seconds from the middle, of the peak's. */
static double envelope(const struct psr_fake_signal *s, double x_s)
{
    const double x = x_s / s->width_s;
    if (s->shape == PSR_FAKE_GAUSSIAN)
        return exp2(-4 * x * x);
    return fabs(x) <= 0.5 ? 1 : 0;
}

/* Middle of pulse k, at the upper edge of the band. */
static double middle_s(const struct psr_fake_signal *s, int64_t k)
{
    return s->kind == PSR_FAKE_BURST ? s->t_s : ((double)k + 0.5 - s->phase) * s->period_s;
}

/* --- one pulse -------------------------------------------------------------------------------- */

/* A transform of n samples of a channel. */
struct transform {
    size_t n;
    float *x;
    fftwf_complex *bin;
    fftwf_plan forward, back;
};

static void free_transform(struct transform *t)
{
    if (t->forward)
        fftwf_destroy_plan(t->forward);
    if (t->back)
        fftwf_destroy_plan(t->back);
    fftwf_free(t->x);
    fftwf_free(t->bin);
}

static psr_status make_transform(struct transform *t, size_t n, bool real, psr_err *err)
{
    const int size = (int)n;
    *t = (struct transform){.n = n,
                            .x = fftwf_malloc(2 * n * sizeof *t->x),
                            .bin = fftwf_malloc((n + 1) * sizeof *t->bin)};
    if (!t->x || !t->bin)
        return psr_fail_nomem(err, "a pulse", (double)n * 16);
    fftwf_complex *x = (fftwf_complex *)t->x;
    fftwf_make_planner_thread_safe();
    t->forward = real ? fftwf_plan_dft_r2c_1d(size, t->x, t->bin, FFTW_ESTIMATE)
                      : fftwf_plan_dft_1d(size, x, t->bin, FFTW_FORWARD, FFTW_ESTIMATE);
    t->back = real ? fftwf_plan_dft_c2r_1d(size, t->bin, t->x, FFTW_ESTIMATE)
                   : fftwf_plan_dft_1d(size, t->bin, x, FFTW_BACKWARD, FFTW_ESTIMATE);
    return t->forward && t->back ? PSR_OK
                                 : psr_fail_nomem(err, "a transform", (double)n * sizeof *t->bin);
}

/* Noise under the envelope, whose middle is middle samples after the first one. */
static void emit(const psr_fakeband *p, const struct psr_fakeband_pulse *pulse, size_t pol,
                 size_t c, double middle, struct transform *t)
{
    const struct psr_fake_signal *s = p->signal + pulse->signal;
    /* The peak's power over the noise's: a filter of the pulse's shape g adds up n = B npol (integral of
     * g^2 over time) independent complex samples, and so finds S/N peak sqrt(n). */
    const double squared_s =
        s->width_s * (s->shape == PSR_FAKE_GAUSSIAN ? sqrt(M_PI / (8 * log(2))) : 1);
    const double peak = s->snr / sqrt(squared_s * p->d.bw_mhz * 1e6 * (double)p->d.npol);
    const uint64_t each = (uint64_t)1 << 40; /* random numbers of a pulse in a channel */
    const uint64_t which = (uint64_t)pulse->number * p->d.npol * p->d.nchan + pol * p->d.nchan + c;
    psr_rng_normal(p->d.seed, (uint32_t)(FAKEBAND_SIGNALS + pulse->signal),
                   which % (1 << 23) * each, t->n * p->ndim, t->x);
    for (size_t k = 0; k < t->n; k++) {
        const double x_s = ((double)k + 0.5 - middle) / p->rate_hz;
        const float a = (float)sqrt(peak * envelope(s, x_s));
        for (size_t e = 0; e < p->ndim; e++)
            t->x[k * p->ndim + e] *= a;
    }
}

/* Samples of a pulse in the channel that disperses it most. */
static size_t length_of(const psr_fakeband *p, const struct psr_fake_signal *s)
{
    const struct channel lowest = channel_of(p, s->dm, 0);
    const double sweep_s = delay_s(p, s->dm, lowest.low_mhz) - lowest.delay_s;
    return (size_t)ceil((2 * reach_s(s) + sweep_s) * p->rate_hz) + 2 * MARGIN;
}

static size_t transform_length(size_t n)
{
    size_t size = 4;
    while (size < n)
        size *= 2;
    return size / 4 * 3 >= n ? size / 4 * 3 : size;
}

/* What it made stays with the pulse. */
static psr_status fill_pulse(const psr_fakeband *p, struct psr_fakeband_pulse *pulse, psr_err *err)
{
    const size_t n = p->d.npol * p->d.nchan * pulse->length * p->ndim;
    struct transform t;
    pulse->first = calloc(p->d.nchan, sizeof *pulse->first);
    pulse->x = malloc(n * sizeof *pulse->x);
    pulse->end = INT64_MIN;
    if (!pulse->first || !pulse->x)
        return psr_fail_nomem(err, "a pulse", (double)n * sizeof *pulse->x);
    psr_status st = make_transform(&t, transform_length(pulse->length), p->d.real, err);
    for (size_t c = 0; c < p->d.nchan && !st; c++) {
        const struct psr_fake_signal *s = p->signal + pulse->signal;
        const struct channel band = channel_of(p, s->dm, c);
        const double middle = (middle_s(s, pulse->number) + band.delay_s) * p->rate_hz;
        pulse->first[c] = (int64_t)floor(middle - reach_s(s) * p->rate_hz) - MARGIN;
        for (size_t pol = 0; pol < p->d.npol; pol++) {
            emit(p, pulse, pol, c, middle - (double)pulse->first[c], &t);
            fftwf_execute(t.forward);
            /* Bins turn by what a delay of delay(f) - delay(top) does: by its integral over frequency. */
            const double dm = s->dm;
            const size_t nbin = p->d.real ? t.n / 2 + 1 : t.n;
            const double step_mhz = p->rate_hz * 1e-6 / (double)t.n, top = band.top_mhz;
            const double zero_mhz = p->d.real ? band.low_mhz : (band.low_mhz + top) / 2;
            for (size_t k = 0; k < nbin; k++) {
                const double at =
                    p->d.real || k < (t.n + 1) / 2 ? (double)k : (double)k - (double)t.n;
                const double f = zero_mhz + step_mhz * at, d = f - top;
                const double turns = 1e6 * p->d.dmconst * dm * d * d / (f * top * top);
                const double phase = 2 * M_PI * (turns - floor(turns)), scale = 1 / (double)t.n;
                const float re = (float)(cos(phase) * scale), im = (float)(sin(phase) * scale);
                float *y = t.bin[k];
                const float was = y[0];
                y[0] = was * re - y[1] * im;
                y[1] = was * im + y[1] * re;
            }
            fftwf_execute(t.back);
            memcpy(pulse->x + (pol * p->d.nchan + c) * pulse->length * p->ndim, t.x,
                   pulse->length * p->ndim * sizeof *t.x);
        }
        const int64_t end = pulse->first[c] + (int64_t)pulse->length;
        pulse->end = end > pulse->end ? end : pulse->end;
    }
    free_transform(&t);
    return st;
}

static void free_pulse(struct psr_fakeband_pulse *pulse)
{
    free(pulse->first);
    free(pulse->x);
}

/* --- which there are -------------------------------------------------------------------------- */

static bool is_at_hand(const psr_fakeband *p, size_t signal, int64_t number)
{
    for (size_t i = 0; i < p->npulse; i++)
        if (p->pulse[i].signal == signal && p->pulse[i].number == number)
            return true;
    return false;
}

/* Turns of a pulsar whose pulses can reach the time from from_s to to_s. */
static void find_turns(const psr_fakeband *p, const struct psr_fake_signal *s, double from_s,
                       double to_s, int64_t *low, int64_t *high)
{
    const double around_s = reach_s(s) + (MARGIN + 1) / p->rate_hz,
                 most_s = delay_s(p, s->dm, p->d.freq_mhz - p->d.bw_mhz / 2);
    const double first_s = from_s - around_s - most_s, last_s = to_s + around_s;
    *low = *high = 0;
    if (s->kind == PSR_FAKE_PULSAR) {
        *low = (int64_t)ceil(first_s / s->period_s + s->phase - 0.5);
        *high = (int64_t)floor(last_s / s->period_s + s->phase - 0.5);
    } else if (s->t_s < first_s || s->t_s > last_s) {
        *high = -1;
    }
}

/* Makes the pulses that reach samples [first, first + n), and forgets those that ended before.
 * Status: PSR_ENOMEM */
static psr_status find_pulses(psr_fakeband *p, int64_t first, size_t n, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = p->npulse; i-- > 0;)
        if (p->pulse[i].end <= first) {
            free_pulse(p->pulse + i);
            p->pulse[i] = p->pulse[--p->npulse];
        }
    for (size_t i = 0; i < p->d.nsignal && !st; i++) {
        int64_t low, high;
        find_turns(p, p->signal + i, (double)first / p->rate_hz,
                   (double)(first + (int64_t)n) / p->rate_hz, &low, &high);
        for (int64_t k = low; k <= high && !st; k++)
            if (!is_at_hand(p, i, k)) {
                struct psr_fakeband_pulse pulse = {
                    .signal = i, .number = k, .length = length_of(p, p->signal + i)};
                st =
                    psr_grow(&p->pulse, &p->pulse_room, p->npulse, sizeof *p->pulse, "pulses", err);
                if (!st)
                    st = fill_pulse(p, &pulse, err);
                if (st)
                    free_pulse(&pulse);
                else
                    p->pulse[p->npulse++] = pulse;
            }
    }
    return st;
}

/* Samples that a thread makes at a time: whole groups of random numbers, and whole bytes. */
enum { PIECE = 4096 };

/* --- checks ----------------------------------------------------------------------------------- */

static psr_status check_signal(const struct psr_fake_signal *s, size_t i, psr_err *err)
{
    const bool pulsar = s->kind == PSR_FAKE_PULSAR;
    const struct {
        const char *name, *unit;
        double value, min, max;
    } field[] = {
        {"dm", " pc cm^-3", s->dm, 0, 1e6},
        {"width", " s", s->width_s, 1e-9, pulsar ? s->period_s : 1e3},
        {"snr", "", s->snr, 1e-9, 1e9},
        {"t", " s", s->t_s, -1e9, 1e9},
        {"period", " s", pulsar ? s->period_s : 1, 1e-6, 1e6},
        {"phase", " turns", s->phase, -1e9, 1e9},
    };
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (!(field[k].value >= field[k].min && field[k].value <= field[k].max))
            return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                  "signal %zu: %s is %g, must be %g to %g%s", i, field[k].name,
                                  field[k].value, field[k].min, field[k].max, field[k].unit);
    if (s->shape != PSR_FAKE_TOPHAT && s->shape != PSR_FAKE_GAUSSIAN)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "shape",
                              "signal %zu: voltages have pulses of shape tophat or gauss", i);
    return PSR_OK;
}

static psr_status check_desc(const struct psr_fakeband_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nchan > 1 << 16)
        return psr_fail_field(err, PSR_EINVAL, "nchan", "voltages: %zu channels, must be 1 to %d",
                              d->nchan, 1 << 16);
    if (d->npol < 1 || d->npol > 2)
        return psr_fail_field(err, PSR_EINVAL, "npol",
                              "voltages: %zu polarisations, must be 1 or 2", d->npol);
    if (d->nbit != 2 && d->nbit != 4 && d->nbit != 8)
        return psr_fail_field(err, PSR_EINVAL, "nbit", "voltages: %d bits, must be 2, 4 or 8",
                              d->nbit);
    if (!(d->bw_mhz > 0 && d->bw_mhz <= 1e6 && d->freq_mhz > d->bw_mhz / 2 && d->freq_mhz <= 1e9))
        return psr_fail_field(err, PSR_EINVAL, "bw_mhz",
                              "voltages: a band of %g MHz about %g MHz, must be above 0", d->bw_mhz,
                              d->freq_mhz);
    psr_status st = PSR_OK;
    for (size_t i = 0; i < d->nsignal && !st; i++)
        st = check_signal(d->signal + i, i, err);
    return st;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static psr_status prepare(psr_fakeband *p, psr_err *err)
{
    const size_t n = p->d.nsignal;
    psr_status st = check_desc(&p->d, err);
    if (st)
        return st;
    p->ndim = p->d.real ? 1 : 2;
    p->rate_hz = (p->d.real ? 2e6 : 1e6) * p->d.bw_mhz / (double)p->d.nchan;
    p->nthread = psr_count_threads(p->d.nthread);
    p->signal = calloc(n + 1, sizeof *p->signal);
    if (!p->signal)
        return psr_fail_nomem(err, "signals", (double)n * sizeof *p->signal);
    if (n)
        memcpy(p->signal, p->d.signal, n * sizeof *p->signal);
    p->d.signal = p->signal;
    return PSR_OK;
}

psr_status psr_fakeband_create(psr_fakeband **out, const struct psr_fakeband_desc *desc,
                               psr_err *err)
{
    *out = NULL;
    psr_fakeband *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "voltages", sizeof *p);
    psr_status st = psr_copy_desc(&p->d, sizeof p->d, desc, "synthetic voltages", err);
    if (!st)
        st = prepare(p, err);
    if (st) {
        psr_fakeband_destroy(p);
        return st;
    }
    *out = p;
    return PSR_OK;
}

double psr_fakeband_rate_hz(const psr_fakeband *p)
{
    return p->rate_hz;
}

void psr_fakeband_destroy(psr_fakeband *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->npulse; i++)
        free_pulse(p->pulse + i);
    free(p->pulse);
    free(p->signal);
    free(p);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void make_piece(const psr_fakeband *p, size_t pol, int64_t first, size_t n, float *x)
{
    const size_t row = p->d.nchan * p->ndim;
    psr_rng_normal(p->d.seed, (uint32_t)(FAKEBAND_NOISE + pol), (uint64_t)first * row, n * row, x);
    for (const struct psr_fakeband_pulse *pulse = p->pulse; pulse < p->pulse + p->npulse; pulse++)
        for (size_t c = 0; c < p->d.nchan; c++) {
            const int64_t begin = pulse->first[c], end = begin + (int64_t)pulse->length;
            const float *from = pulse->x + (pol * p->d.nchan + c) * pulse->length * p->ndim;
            int64_t t = begin > first ? begin : first;
            for (; t < end && t < first + (int64_t)n; t++)
                for (size_t e = 0; e < p->ndim; e++)
                    x[(size_t)(t - first) * row + c * p->ndim + e] +=
                        from[(size_t)(t - begin) * p->ndim + e];
        }
}

psr_status psr_fakeband_values(psr_fakeband *p, size_t pol, int64_t first, size_t nsamp, float *x,
                               psr_err *err)
{
    const size_t row = p->d.nchan * p->ndim, npiece = (nsamp + PIECE - 1) / PIECE;
    psr_status st = find_pulses(p, first, nsamp, err);
    if (st)
        return st;
#pragma omp parallel for num_threads(p->nthread) schedule(static)
    for (size_t k = 0; k < npiece; k++) {
        const size_t at = k * PIECE, n = nsamp - at < PIECE ? nsamp - at : PIECE;
        make_piece(p, pol, first + (int64_t)at, n, x + at * row);
    }
    return PSR_OK;
}

/* --- levels ----------------------------------------------------------------------------------- */

static unsigned level_of(float x, int nbit)
{
    if (nbit == 2)
        return x < -0.9816F ? 0 : x < 0 ? 1 : x < 0.9816F ? 2 : 3;
    const float top = (float)(1 << (nbit - 1));
    const float level = nbit == 8 ? floorf(x * 35.5F) : rintf(x * 2.95F);
    return (unsigned)(int)(fmaxf(-top, fminf(level, top - 1)) + top);
}

static void code(const float *x, size_t n, int nbit, uint8_t *to)
{
    const size_t each = 8 / (size_t)nbit;
    for (size_t i = 0; i < n; i += each) {
        unsigned byte = 0;
        for (size_t k = 0; k < each; k++)
            byte |= level_of(x[i + k], nbit) << k * (size_t)nbit;
        *to++ = (uint8_t)byte;
    }
}

psr_status psr_fakeband_execute(psr_fakeband *p, size_t pol, int64_t first, size_t nsamp,
                                void *levels, psr_err *err)
{
    const size_t row = p->d.nchan * p->ndim, bits = row * (size_t)p->d.nbit;
    const size_t npiece = (nsamp + PIECE - 1) / PIECE;
    if (nsamp * bits % 8)
        return psr_fail_field(err, PSR_EINVAL, "nsamp",
                              "voltages: %zu samples of %zu bits do not fill bytes", nsamp, bits);
    psr_status st = find_pulses(p, first, nsamp, err);
    float *scratch = malloc((size_t)p->nthread * PIECE * row * sizeof *scratch);
    if (!st && !scratch)
        st = psr_fail_nomem(err, "voltages", (double)p->nthread * PIECE * (double)row * 4);
#pragma omp parallel for num_threads(p->nthread) schedule(static)
    for (size_t k = 0; k < (st ? 0 : npiece); k++) {
        const size_t at = k * PIECE, n = nsamp - at < PIECE ? nsamp - at : PIECE;
        float *x = scratch + (size_t)psr_thread_number() * PIECE * row;
        make_piece(p, pol, first + (int64_t)at, n, x);
        code(x, n * row, p->d.nbit, (uint8_t *)levels + at * bits / 8);
    }
    free(scratch);
    return st;
}
