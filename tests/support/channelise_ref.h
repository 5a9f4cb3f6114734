/* channelise_ref.h: the definition of dsp/channels/spectra.h in double precision, term by term, for tests. */
#ifndef PSR_TESTS_CHANNELISE_REF_H
#define PSR_TESTS_CHANNELISE_REF_H

#include "dsp/channels/spectra.h"
#include "tap.h"

#include <complex.h>

struct reference {
    const struct psr_channelise_desc *d;
    struct psr_channelise_shape s;
    size_t n, nbin, nfold; /* channels and bins of an input channel; samples of a transform */
    double width;          /* of an input channel, signed */
    double *window;        /* NULL: one tap */
};

static double ref_window(const struct reference *r, size_t k)
{
    const double length = (double)r->s.segment, at = ((double)k + 0.5) / length;
    const double x = (at - 0.5) * (double)r->d->ntap;
    return (fabs(x) < 1e-12 ? 1 : sin(M_PI * x) / (M_PI * x)) * pow(sin(M_PI * at), 2);
}

static double ref_sky(const struct reference *r, size_t j, double bin)
{
    const struct psr_channelise_desc *d = r->d;
    const double edge = d->freq_mhz + d->bw_mhz * ((double)j / (double)d->nchan_in - 0.5);
    const double zero = d->real ? 0 : r->nbin % 2 ? 0.5 / (double)r->nbin : 0;
    return edge + r->width * (bin / (double)r->nbin + zero);
}

static double complex ref_sample(const struct reference *r, const float *x, size_t k)
{
    return r->d->real ? x[k] : x[2 * k] + I * x[2 * k + 1];
}

/* Bin b of the segment that begins at x, in order of frequency. */
static double complex ref_bin(const struct reference *r, const float *x, size_t b)
{
    const double f = (double)b - (r->d->real ? 0 : (double)(r->nbin / 2));
    double complex sum = 0;
    for (size_t k = 0; k < r->s.segment; k++) {
        const double phase = -2 * M_PI * fmod(f * (double)(k % r->nfold), (double)r->nfold);
        sum += ref_sample(r, x, k) * (r->window ? r->window[k] : 1) *
               cexp(I * phase / (double)r->nfold);
    }
    return sum / (double)r->nbin;
}

static double complex ref_response(const struct reference *r, size_t j, size_t i, size_t q)
{
    const size_t nfft = r->s.nfft;
    const double c = ref_sky(r, j, (double)(i * nfft) + ((double)nfft - 1) / 2);
    const double f = ref_sky(r, j, (double)(i * nfft + q)), d = f - c;
    const double turns = 1e6 * r->d->dmconst * r->d->dm * d * d / (f * c * c);
    return cexp((r->d->bw_mhz > 0 ? -1 : 1) * 2 * M_PI * I * fmod(turns, 1));
}

/* Channel i of input channel j, all that a segment keeps; v [keep]. */
static void ref_channel(const struct reference *r, const double complex *bins, size_t j, size_t i,
                        double complex *v)
{
    const size_t nfft = r->s.nfft;
    for (size_t m = 0; m < r->s.keep; m++) {
        v[m] = 0;
        for (size_t q = 0; q < nfft; q++) {
            const double turn = ((double)q - (double)(nfft / 2)) * (double)(m + r->s.early);
            v[m] += bins[i * nfft + q] * ref_response(r, j, i, q) *
                    cexp(2 * M_PI * I * turn / (double)nfft);
        }
        if (r->d->bw_mhz < 0)
            v[m] = conj(v[m]);
    }
}

/* The reference of a description; its window is to be freed. */
static struct reference ref_make(const struct psr_channelise_desc *d,
                                 const struct psr_channelise_shape *shape)
{
    const size_t ntap = d->ntap ? d->ntap : 1;
    struct reference r = {.d = d,
                          .s = *shape,
                          .n = d->nchan / d->nchan_in,
                          .width = d->bw_mhz / (double)d->nchan_in,
                          .nfold = shape->segment / ntap};
    double sum = 0;
    r.nbin = r.nfold / (d->real ? 2 : 1);
    if (ntap == 1)
        return r;
    r.window = tap_take(shape->segment, sizeof *r.window);
    for (size_t k = 0; k < shape->segment; k++)
        sum += r.window[k] = ref_window(&r, k);
    for (size_t k = 0; k < shape->segment; k++)
        r.window[k] *= (double)r.nfold / sum;
    return r;
}

/* Voltages of every spectrum: out [nspectrum][npol][nchan]. */
static double complex *ref_spectra(const struct reference *r, const float *x, size_t nsamp,
                                   size_t nspectrum)
{
    const struct psr_channelise_desc *d = r->d;
    const size_t nplane = d->nchan_in * d->npol;
    double complex *out = tap_take(nspectrum * d->npol * d->nchan + 1, sizeof *out);
    double complex *bins = tap_take(r->nbin, sizeof *bins), *v = tap_take(r->s.keep, sizeof *v);
    for (size_t k = 0; k < nspectrum / r->s.keep * nplane; k++) {
        const size_t s = k / nplane, plane = k % nplane, pol = plane % d->npol;
        const float *at = x + (plane * nsamp + s * r->s.step) * (d->real ? 1 : 2);
        for (size_t b = 0; b < r->nbin; b++)
            bins[b] = ref_bin(r, at, b);
        for (size_t i = 0; i < r->n; i++) {
            const size_t o = plane / d->npol * r->n + i, c = d->bw_mhz > 0 ? d->nchan - 1 - o : o;
            ref_channel(r, bins, plane / d->npol, i, v);
            for (size_t m = 0; m < r->s.keep; m++)
                out[((s * r->s.keep + m) * d->npol + pol) * d->nchan + c] = v[m];
        }
    }
    free(bins);
    free(v);
    return out;
}

#endif
