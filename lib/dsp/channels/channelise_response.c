/* Frequencies, lengths, window and dedispersing response of a channeliser. */
#include "channelise_plan.h"

#include <psrkit/ddplan.h>

#include <math.h>
#include <stdint.h>

/* Bins per channel for each sample of dispersion: what is discarded is then a quarter at most. */
enum { FFT_PER_SWEEP = 4 };

/* Sky frequency at a position among the bins of input channel j, MHz. */
static double bin_mhz(const psr_channelise *p, size_t j, double bin)
{
    const double width = p->d.bw_mhz / (double)p->d.nchan_in;
    const double centre = p->d.freq_mhz - p->d.bw_mhz / 2 + width * ((double)j + 0.5);
    const double zero = p->d.real ? (double)p->nbin / 2 : (double)(p->nbin / 2);
    return centre + width * (bin - zero) / (double)p->nbin;
}

double psr_channelise_centre_mhz(const psr_channelise *p, size_t i)
{
    const size_t nfft = p->d.nfft;
    return bin_mhz(p, i / p->n, (double)(i % p->n * nfft) + ((double)nfft - 1) / 2);
}

double psr_channelise_freq_mhz(const psr_channelise *p, size_t c)
{
    return psr_channelise_centre_mhz(p, p->d.bw_mhz > 0 ? p->d.nchan - 1 - c : c);
}

/* Delays across the halves of the lowest channel of the band, in output samples with a margin. */
static void find_sweep(psr_channelise *p, double *early, double *late)
{
    const struct psr_channelise_desc *d = &p->d;
    const double width = fabs(d->bw_mhz) / (double)d->nchan, rate = 1.1e6 * width;
    const double centre = d->freq_mhz - fabs(d->bw_mhz) / 2 + width / 2;
    const double here = psr_delay_s(d->dmconst, d->dm, centre);
    *early = ceil(rate * (here - psr_delay_s(d->dmconst, d->dm, centre + width / 2)));
    *late = ceil(rate * (psr_delay_s(d->dmconst, d->dm, centre - width / 2) - here));
}

static psr_status choose_nfft(psr_channelise *p, double sweep, psr_err *err)
{
    struct psr_channelise_desc *d = &p->d;
    const double most = (double)PSR_CHANNELISE_FFT_MAX / (double)(2 * p->n);
    double least = 1;
    while (sweep > 0 && least < FFT_PER_SWEEP * sweep)
        least *= 2;
    if (d->nfft == 0 && least > most)
        return psr_fail_field(err, PSR_EINVAL, "dm",
                              "channeliser: DM %g sweeps over %.0f samples of the lowest channel, "
                              "limit %.0f: use more channels",
                              d->dm, sweep, most / FFT_PER_SWEEP);
    if (d->nfft == 0)
        d->nfft = (size_t)least;
    if ((double)d->nfft > most)
        return psr_fail_field(err, PSR_EINVAL, "nfft",
                              "channeliser: nfft %zu is above %.0f with %zu channels", d->nfft,
                              floor(most), p->n);
    if (sweep >= (double)d->nfft)
        return psr_fail_field(err, PSR_EINVAL, "nfft",
                              "channeliser: nfft %zu, needs more than %.0f samples for DM %g",
                              d->nfft, sweep, d->dm);
    return PSR_OK;
}

psr_status psr_channelise_measure(psr_channelise *p, psr_err *err)
{
    const struct psr_channelise_desc *d = &p->d;
    struct psr_channelise_shape *s = &p->shape;
    double early = 0, late = 0;
    if (d->dm > 0)
        find_sweep(p, &early, &late);
    psr_status st = choose_nfft(p, early + late, err);
    if (st)
        return st;
    const size_t per_bin = d->real ? 2 : 1;
    p->nbin = p->n * d->nfft;
    s->nfft = d->nfft;
    s->early = (size_t)early;
    s->late = (size_t)late;
    s->keep = s->nfft - s->early - s->late;
    s->step = s->keep * p->n * per_bin;
    s->segment = p->nbin * per_bin * d->ntap;
    s->tsamp_s = (double)d->nchan / (1e6 * fabs(d->bw_mhz));
    s->first_s = ((double)s->early + ((double)d->ntap - 1) / 2) * s->tsamp_s;
    if (s->segment > PSR_CHANNELISE_FFT_MAX)
        return psr_fail_field(err, PSR_EINVAL, "nchan",
                              "channeliser: segments of %zu samples, limit %d", s->segment,
                              (int)PSR_CHANNELISE_FFT_MAX);
    return PSR_OK;
}

/* With the lower sideband, the spectrum is that of the conjugate. */
void psr_channelise_fill_response(const psr_channelise *p, float *response)
{
    const struct psr_channelise_desc *d = &p->d;
    const double turns = (d->bw_mhz > 0 ? -1e6 : 1e6) * d->dmconst * d->dm;
    for (size_t i = 0; i < d->nchan; i++) {
        const double centre = psr_channelise_centre_mhz(p, i);
        for (size_t q = 0; q < d->nfft; q++) {
            const double f = bin_mhz(p, i / p->n, (double)(i % p->n * d->nfft + q));
            const double from = f - centre, turn = turns * from * from / (f * centre * centre);
            const double phase = 2 * M_PI * (turn - floor(turn));
            response[2 * (i * d->nfft + q)] = (float)cos(phase);
            response[2 * (i * d->nfft + q) + 1] = (float)sin(phase);
        }
    }
}

static double window_at(size_t k, size_t length, size_t ntap)
{
    const double at = ((double)k + 0.5) / (double)length; /* of the whole window, 0 to 1 */
    const double x = M_PI * (double)ntap * (at - 0.5);
    return (x == 0 ? 1 : sin(x) / x) * (0.5 - 0.5 * cos(2 * M_PI * at));
}

void psr_channelise_fill_window(const psr_channelise *p, float *window)
{
    const size_t length = p->shape.segment;
    double sum = 0;
    for (size_t k = 0; k < length; k++)
        sum += window_at(k, length, p->d.ntap);
    for (size_t k = 0; k < length; k++)
        window[k] = (float)(window_at(k, length, p->d.ntap) * (double)(length / p->d.ntap) / sum);
}
