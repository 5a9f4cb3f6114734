/* Brings series and spectra into the form that a Fourier search takes. */
#include "formats/series/series_internal.h"
#include "fourier_state.h"

#include <stdlib.h>
#include <string.h>

/* A spectrum without red noise is not changed. */
static bool removes_red_noise(const struct psr_fourier *f, const struct psr_fourier_input *in)
{
    return f->d.rednoise && !in->shape.reddened;
}

/* With endwidth, numbers are those of realfft. */
static bool detrends_ends(const struct psr_fourier *f, const struct psr_fourier_input *in)
{
    return removes_red_noise(f, in) && !f->d.endwidth;
}

static psr_status transform(const struct psr_fourier *f, float *x, const char *name, psr_err *err)
{
    const size_t n = 2 * (size_t)f->shape.nbin;
    float *room = malloc((n + 2) * sizeof *room);
    if (!room)
        return psr_fail_nomem(err, name, 4.0 * (double)n);
    psr_rfft_execute(f->rfft, x, room);
    memcpy(x, room, n * sizeof *x);
    free(room);
    return PSR_OK;
}

/* Transforms, if the plans do not, and removes red noise. */
static psr_status make_spectrum(const struct psr_fourier *f, struct psr_fourier_input *in,
                                psr_err *err)
{
    const struct psr_redden how = psr_fourier_redden(f);
    const bool series = in->shape.series;
    const int64_t nbin = f->shape.nbin, bad = psr_spectrum_bad(in->x, 2 * nbin);
    psr_status st = PSR_OK;
    if (bad >= 0)
        return psr_fail(err, PSR_EFORMAT, "%s: %s %lld is no finite number", in->name,
                        series ? "sample" : "bin", (long long)(series ? bad : bad / 2));
    if (series)
        st = transform(f, in->x, in->name, err);
    else if (detrends_ends(f, in))
        psr_spectrum_detrend_ends(in->x, nbin);
    return !st && removes_red_noise(f, in) ? psr_spectrum_deredden(in->x, nbin, &how, err) : st;
}

psr_status psr_fourier_prepare(const psr_fourier *f, struct psr_fourier_input *in, int *exponent,
                               psr_err *err)
{
    const int64_t n = 2 * f->shape.nbin;
    const bool series = in->shape.series;
    const int divided = psr_spectrum_rescale(in->x, n, series);
    if (exponent)
        *exponent = divided;
    if (series && detrends_ends(f, in))
        psr_series_detrend_ends(in->x, n);
    if (f->shape.series || !(series || removes_red_noise(f, in)))
        return PSR_OK;
    return make_spectrum(f, in, err);
}

/* accelsearch fills lines with noise; bins that count as 0 would give another list. */
static psr_status zap_as_presto(const struct psr_fourier *f, float *x, psr_err *err)
{
    size_t nleft;
    const struct psr_zap how = {
        .list = f->d.zaplist, .tobs_s = f->shape.tobs_s, .baryv = f->d.baryv};
    return psr_spectrum_zap(x, f->shape.nbin, &how, &nleft, err);
}

psr_status psr_fourier_whiten_spectrum(const struct psr_fourier *f, struct psr_fourier_input *in,
                                       psr_err *err)
{
    const struct psr_fourier_desc *d = &f->d;
    const struct psr_redden how = psr_fourier_whitening(f);
    in->photons = (double)in->x[0];
    if (f->shape.series || !in->shape.series || d->rednoise)
        return PSR_OK;
    psr_status st = PSR_OK;
    if (!d->photon || d->presto)
        st = psr_spectrum_deredden(in->x, f->shape.nbin, &how, err);
    if (d->presto)
        in->photons = (double)in->x[0];
    if (d->presto && !d->photon)
        in->x[1] = 1;
    return !st && d->presto && d->zaplist ? zap_as_presto(f, in->x, err) : st;
}

psr_status psr_fourier_whiten(const psr_fourier *f, struct psr_fourier_input *in, psr_err *err)
{
    return f->d.boxes ? PSR_OK : psr_fourier_whiten_spectrum(f, in, err);
}
