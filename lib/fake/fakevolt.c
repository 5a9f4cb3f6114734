/* Makes synthetic 4-bit voltages of an array: noise and sources in the sky. */
#include "base/base.h"
#include "base/threads/threads.h"
#include "beam/beam_internal.h"
#include "fake_internal.h"
#include "formats/dada/dada_internal.h"

#include <psrkit/ddplan.h>
#include <psrkit/fake.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_NOISE = 0, STREAM_SOURCE = 1, NPOL = 2, TOP = 7 };

struct psr_fakevolt {
    struct psr_fakevolt_desc d;
    size_t nchan, nant;
    int32_t *cell; /* [nant] */
    size_t m, n;
    struct psr_fakevolt_source *source;
    double *amplitude; /* [nsource] of each part of a dish's signal */
    double *delay_s;   /* [nsource][nchan] against the highest channel */
    float *phasor;     /* [nsource][nchan][nant][2] */
    int nthread;
    struct psr_own own;
};

static psr_status check_desc(const struct psr_fakevolt_desc *d, psr_err *err)
{
    psr_status st = psr_array_check(d->array, "voltages: the array", err);
    if (st)
        return st;
    if ((size_t)d->header->nant != d->array->ndish)
        return psr_fail_field(err, PSR_EINVAL, "nant",
                              "voltages: %lld inputs of an array of %zu dishes",
                              (long long)d->header->nant, d->array->ndish);
    if (d->nsamp < 1)
        return psr_fail_field(err, PSR_EINVAL, "nsamp", "voltages: %lld samples is below 1",
                              (long long)d->nsamp);
    if (!(d->sigma >= 0 && d->sigma <= TOP))
        return psr_fail_field(err, PSR_EINVAL, "sigma", "voltages: noise of %g is outside 0 to %d",
                              d->sigma, TOP);
    for (size_t i = 0; i < d->nsource; i++) {
        const struct psr_fakevolt_source *s = d->source + i;
        const struct {
            const char *name, *unit;
            double value, min, max;
        } field[] = {
            {"theta", "", s->theta_ns, -1e6, 1e6}, {"theta'", "", s->theta_ew, -1e6, 1e6},
            {"snr", "", s->snr, 0, 1e9},           {"dm", " pc cm^-3", s->dm, 0, 1e6},
            {"width", " s", s->width_s, 0, 1e6},   {"t", " s", s->t_s, -1e9, 1e9},
        };
        for (size_t k = 0; k < sizeof field / sizeof *field; k++)
            if (!(field[k].value >= field[k].min && field[k].value <= field[k].max))
                return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                      "source %zu: %s is %g, must be %g to %g%s", i, field[k].name,
                                      field[k].value, field[k].min, field[k].max, field[k].unit);
    }
    return PSR_OK;
}

static double highest_mhz(const struct psr_dada *h)
{
    return fmax(psr_dada_freq_mhz(h, 0), psr_dada_freq_mhz(h, (size_t)h->nchan - 1));
}

/* A beam of D dishes has noise power 2 D sigma^2 and signal power D^2 a^2 in each of the n samples
 * that the source is on in; the noise power of n samples deviates by its own size times sqrt(n). */
static double find_amplitude(const psr_fakevolt *p, const struct psr_fakevolt_source *s)
{
    double tsamp_s = p->d.header->tsamp_us * 1e-6, ndish = 0;
    for (size_t d = 0; d < p->nant; d++)
        ndish += p->cell[d] >= 0;
    double on = s->width_s > 0 ? fmax(1, s->width_s / tsamp_s) : (double)p->d.nsamp;
    double n = on * (double)p->nchan * NPOL, sigma = p->d.sigma > 0 ? p->d.sigma : 1;
    double power = s->snr * 2 * sigma * sigma / (ndish * sqrt(n));
    return sqrt(power / 2);
}

static void fill_source(psr_fakevolt *p, size_t i)
{
    const struct psr_fakevolt_source *s = p->source + i;
    const struct psr_dada *h = p->d.header;
    p->amplitude[i] = find_amplitude(p, s);
    for (size_t f = 0; f < p->nchan; f++) {
        double mhz = psr_dada_freq_mhz(h, f), scale = mhz / h->freq_mhz;
        p->delay_s[i * p->nchan + f] = psr_delay_s(p->d.dmconst, s->dm, mhz) -
                                       psr_delay_s(p->d.dmconst, s->dm, highest_mhz(h));
        for (size_t d = 0; d < p->nant; d++) {
            float *to = p->phasor + 2 * ((i * p->nchan + f) * p->nant + d);
            if (p->cell[d] < 0)
                continue;
            double m = (double)((size_t)p->cell[d] / p->n), n = (double)((size_t)p->cell[d] % p->n);
            double turns = h->phase_sign * scale *
                           (m * s->theta_ns / (double)p->m + n * s->theta_ew / (double)p->n);
            to[0] = (float)cos(2 * M_PI * turns);
            to[1] = (float)sin(2 * M_PI * turns);
        }
    }
}

static psr_status copy_desc(psr_fakevolt *p, psr_err *err)
{
    const struct psr_array *a = p->d.array;
    const size_t ns = p->d.nsource;
    p->cell = psr_own(&p->own, a->ndish, sizeof *p->cell);
    p->source = psr_own(&p->own, ns, sizeof *p->source);
    p->amplitude = psr_own(&p->own, ns, sizeof *p->amplitude);
    p->delay_s = psr_own(&p->own, ns * p->nchan, sizeof *p->delay_s);
    p->phasor = psr_own(&p->own, ns * p->nchan * p->nant, 2 * sizeof *p->phasor);
    psr_status st = psr_own_check(&p->own, "sources of voltages", err);
    if (st)
        return st;
    memcpy(p->cell, a->cell, a->ndish * sizeof *p->cell);
    if (ns)
        memcpy(p->source, p->d.source, ns * sizeof *p->source);
    for (size_t i = 0; i < ns; i++)
        fill_source(p, i);
    return PSR_OK;
}

static psr_status create(psr_fakevolt **out, const struct psr_fakevolt_desc *desc, psr_err *err)
{
    psr_status st = check_desc(desc, err);
    if (st)
        return st;
    psr_fakevolt *p = calloc(1, sizeof *p);
    struct psr_dada *header = malloc(sizeof *header);
    if (!p || !header) {
        free(p);
        free(header);
        return psr_fail_nomem(err, "voltages", sizeof *p);
    }
    *header = *desc->header;
    header->other = NULL;
    p->d = *desc;
    p->d.header = header;
    p->nchan = (size_t)header->nchan;
    p->nant = (size_t)header->nant;
    p->m = desc->array->m;
    p->n = desc->array->n;
    p->nthread = psr_count_threads(desc->nthread);
    st = copy_desc(p, err);
    if (st)
        psr_fakevolt_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_fakevolt_create(psr_fakevolt **out, const struct psr_fakevolt_desc *desc,
                               psr_err *err)
{
    struct psr_fakevolt_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "synthetic voltages", err);
    if (!st && !(d.header && d.array))
        st = psr_fail_field(err, PSR_EINVAL, d.header ? "array" : "header",
                            "synthetic voltages: %s is NULL", d.header ? "array" : "header");
    return st ? st : create(out, &d, err);
}

/* --- samples ---------------------------------------------------------------------------------- */

static bool is_on(const psr_fakevolt *p, size_t i, size_t f, int64_t t)
{
    const struct psr_fakevolt_source *s = p->source + i;
    double at_s = ((double)t + 0.5) * p->d.header->tsamp_us * 1e-6;
    return s->width_s <= 0 || fabs(at_s - s->t_s - p->delay_s[i * p->nchan + f]) <= s->width_s / 2;
}

static unsigned nibble_of(float x, bool offset_binary)
{
    float level = rintf(x < -TOP ? -TOP : x > TOP ? TOP : x);
    return ((unsigned)(int)level & 15) ^ (offset_binary ? 8u : 0u);
}

/* Sample t of channel f; x [2][nant][2] is scratch. */
static void make_sample(const psr_fakevolt *p, size_t f, int64_t t, float *x, uint8_t *out)
{
    const size_t n = 2 * NPOL * p->nant;
    const float sigma = (float)p->d.sigma;
    psr_rng_normal(p->d.seed, STREAM_NOISE, ((uint64_t)t * p->nchan + f) * n, n, x);
    for (size_t i = 0; i < n; i++)
        x[i] *= sigma;
    for (size_t i = 0; i < p->d.nsource; i++)
        if (is_on(p, i, f, t)) {
            /* Adds source i to x [2][nant][2], sample t of channel f. */
            const float *phasor = p->phasor + 2 * (i * p->nchan + f) * p->nant;
            float s[2 * NPOL];
            psr_rng_normal(p->d.seed, (uint32_t)(STREAM_SOURCE + i),
                           ((uint64_t)t * p->nchan + f) * 2 * NPOL, 2 * NPOL, s);
            for (size_t pol = 0; pol < NPOL; pol++) {
                const float re = (float)p->amplitude[i] * s[2 * pol];
                const float im = (float)p->amplitude[i] * s[2 * pol + 1];
                for (size_t d = 0; d < p->nant; d++) {
                    float *to = x + 2 * (pol * p->nant + d);
                    to[0] += re * phasor[2 * d] - im * phasor[2 * d + 1];
                    to[1] += re * phasor[2 * d + 1] + im * phasor[2 * d];
                }
            }
        }
    const struct psr_nibbles how = p->d.header->nibbles;
    for (size_t i = 0; i < NPOL * p->nant; i++) {
        unsigned re = nibble_of(x[2 * i], how.offset_binary);
        unsigned im = nibble_of(x[2 * i + 1], how.offset_binary);
        out[i] = (uint8_t)(how.real_low ? im << 4 | re : re << 4 | im);
    }
}

psr_status psr_fakevolt_execute(psr_fakevolt *p, int64_t first, size_t nt, uint8_t *out,
                                psr_err *err)
{
    const size_t n = 2 * NPOL * p->nant, bytes = NPOL * p->nant;
    float *scratch = malloc((size_t)p->nthread * n * sizeof *scratch);
    if (!scratch)
        return psr_fail_nomem(err, "voltages", (double)n * p->nthread * sizeof *scratch);
#pragma omp parallel for schedule(static) num_threads(p->nthread)
    for (size_t i = 0; i < nt * p->nchan; i++)
        make_sample(p, i % p->nchan, first + (int64_t)(i / p->nchan),
                    scratch + (size_t)psr_thread_number() * n, out + i * bytes);
    free(scratch);
    return PSR_OK;
}

void psr_fakevolt_destroy(psr_fakevolt *p)
{
    if (!p)
        return;
    free((void *)(uintptr_t)p->d.header);
    psr_own_free(&p->own);
    free(p);
}
