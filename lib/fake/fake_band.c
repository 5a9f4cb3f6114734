/* Makes synthetic voltages of a band: noise, and signals that are dispersed by their transform. */
#include "fake_band.h"

#include "base/copy_desc.h"
#include "base/threads/threads.h"
#include "fake_internal.h"

#include <psrkit/ddplan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples that a thread makes at a time: whole groups of random numbers, and whole bytes. */
enum { PIECE = 4096 };

/* --- checks ----------------------------------------------------------------------------------- */

static psr_status check_signal(const struct psr_fake_signal *s, size_t i, psr_err *err)
{
    const bool pulsar = s->kind == PSR_FAKE_PULSAR;
    const struct {
        const char *name;
        double value, min, max;
    } field[] = {
        {"dm", s->dm, 0, 1e6},
        {"width", s->width_s, 1e-9, pulsar ? s->period_s : 1e3},
        {"snr", s->snr, 1e-9, 1e9},
        {"t", s->t_s, -1e9, 1e9},
        {"period", pulsar ? s->period_s : 1, 1e-6, 1e6},
        {"phase", s->phase, -1e9, 1e9},
    };
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (!(field[k].value >= field[k].min && field[k].value <= field[k].max))
            return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                  "signal %zu: %s is %g, must be %g to %g", i, field[k].name,
                                  field[k].value, field[k].min, field[k].max);
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
        psr_fakeband_free_pulse(p->pulse + i);
    free(p->pulse);
    free(p->signal);
    free(p);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Adds what of a pulse is in samples [first, first + n). */
static void add_pulse(const psr_fakeband *p, const struct psr_fakeband_pulse *pulse, size_t pol,
                      int64_t first, size_t n, float *x)
{
    const size_t row = p->d.nchan * p->ndim;
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

static void make_piece(const psr_fakeband *p, size_t pol, int64_t first, size_t n, float *x)
{
    const size_t row = p->d.nchan * p->ndim;
    psr_rng_normal(p->d.seed, (uint32_t)(FAKEBAND_NOISE + pol), (uint64_t)first * row, n * row, x);
    for (size_t i = 0; i < p->npulse; i++)
        add_pulse(p, p->pulse + i, pol, first, n, x);
}

psr_status psr_fakeband_values(psr_fakeband *p, size_t pol, int64_t first, size_t nsamp, float *x,
                               psr_err *err)
{
    const size_t row = p->d.nchan * p->ndim, npiece = (nsamp + PIECE - 1) / PIECE;
    psr_status st = psr_fakeband_find_pulses(p, first, nsamp, err);
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
    psr_status st = psr_fakeband_find_pulses(p, first, nsamp, err);
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
