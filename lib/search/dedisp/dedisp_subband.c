/* Sums channels into sub-bands, the first of PRESTO's two dedispersion steps. */
#include "base/tool.h"
#include <psrkit/ddplan.h>

#include "base/threads/threads.h"
#include "dedisp_internal.h"
#include "dsp/block_sums.h"
#include "formats/spectra/unpack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Spectra that are widened together, at least; and where there is no memory for more. */
enum { MIN_CHUNK = 1024, LEAST_CHUNK = 64 };

struct psr_subband {
    struct psr_layout in;
    size_t downsamp, nsub;
    size_t *shift; /* [nchan] of each channel, in the order of the data */
    size_t *chan;  /* [nchan] kept channels of sub-band 0, then of 1, from the lowest each */
    size_t *first; /* [nsub + 1] where a sub-band's channels begin in chan */
    size_t maxshift;
    float *x;       /* [room][nchan] spectra that are still needed */
    size_t n, room; /* spectra in x */
    int nthread;
};

static psr_status check_desc(const struct psr_subband_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nsub < 1 || d->nchan % d->nsub)
        return psr_fail_field(err, PSR_EINVAL, "nsub", "sub-bands: %zu do not divide %zu channels",
                              d->nsub, d->nchan);
    if (d->downsamp < 1 || d->downsamp > 65536)
        return psr_fail_field(err, PSR_EINVAL, "downsamp",
                              "sub-bands: downsampling by %zu is outside 1 to 65536", d->downsamp);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s) || !(d->dm >= 0) || !isfinite(d->dm) ||
        !(d->dmconst > 0))
        return psr_fail_field(
            err, PSR_EINVAL, "tsamp_s",
            "sub-bands: sampling time %g s, DM %g, dispersion constant %g: must be "
            "above 0, 0 or more, above 0",
            d->tsamp_s, d->dm, d->dmconst);
    for (size_t c = 0; c < d->nchan; c++)
        if (!(d->freq_mhz[c] > 0) ||
            (c > 1 && (d->freq_mhz[c] > d->freq_mhz[c - 1]) != (d->freq_mhz[1] > d->freq_mhz[0])))
            return psr_fail_field(err, PSR_EINVAL, "freq_mhz",
                                  "sub-bands: channel %zu at %g MHz: channels must be in order of "
                                  "frequency, above 0",
                                  c, d->freq_mhz[c]);
    return PSR_OK;
}

static psr_status set_shifts(psr_subband *p, const struct psr_subband_desc *d, psr_err *err)
{
    const size_t most = (size_t)1 << 28;
    bool ascending = d->nchan < 2 || d->freq_mhz[0] < d->freq_mhz[1];
    size_t width = d->nchan / d->nsub, nkept = 0;
    for (size_t q = 0; q < d->nchan; q++) {
        size_t top = (q / width + 1) * width - 1;
        size_t c = ascending ? q : d->nchan - 1 - q;
        double ref_mhz = d->freq_mhz[ascending ? top : d->nchan - 1 - top];
        int64_t shift = psr_delay_samples(d->dmconst, d->dm, d->freq_mhz[c], ref_mhz, d->tsamp_s);
        if (shift < 0 || shift > (int64_t)most)
            return psr_fail_field(
                err, PSR_EINVAL, "dm",
                "sub-bands: DM %g sweeps over %lld samples inside a sub-band, at most %zu", d->dm,
                (long long)shift, most);
        p->shift[c] = (size_t)shift;
        p->maxshift = p->shift[c] > p->maxshift ? p->shift[c] : p->maxshift;
        if (!d->keep || d->keep[c])
            p->chan[nkept++] = c;
        p->first[q / width + 1] = nkept;
    }
    return PSR_OK;
}

static psr_status allocate(psr_subband *p, int64_t mem_bytes, psr_err *err)
{
    size_t needed = p->maxshift + p->downsamp, chunk = needed > MIN_CHUNK ? needed : MIN_CHUNK;
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    double row = (double)p->in.nchan * sizeof *p->x, fit = (double)mem_bytes / row - (double)needed;
    if (mem_bytes && fit < LEAST_CHUNK)
        return psr_fail_field(
            err, PSR_ENOMEM, "mem_bytes",
            "sub-bands: memory of %s is below the %s that %zu channels delayed by up "
            "to %zu spectra take",
            psr_size_text(have, (double)mem_bytes),
            psr_size_text(need, row * (double)(needed + LEAST_CHUNK)), p->in.nchan, p->maxshift);
    if (mem_bytes && fit < (double)chunk)
        chunk = (size_t)fit;
    p->room = needed + chunk;
    p->x = calloc(p->room, p->in.nchan * sizeof *p->x);
    return p->x ? PSR_OK : psr_fail_nomem(err, "spectra for sub-bands", (double)p->room * row);
}

psr_status psr_subband_create(psr_subband **out, const struct psr_subband_desc *d, psr_err *err)
{
    *out = NULL;
    psr_status st = check_desc(d, err);
    if (st)
        return st;
    psr_subband *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "sub-bands", sizeof *p);
    p->in = (struct psr_layout){d->nchan, d->nbit, d->kind, psr_row_bytes(d->nchan, d->nbit)};
    p->downsamp = d->downsamp;
    p->nsub = d->nsub;
    p->nthread = psr_count_threads(d->nthread);
    p->shift = calloc(d->nchan, sizeof *p->shift);
    p->chan = calloc(d->nchan, sizeof *p->chan);
    p->first = calloc(d->nsub + 1, sizeof *p->first);
    if (!p->shift || !p->chan || !p->first)
        st = psr_fail_nomem(err, "sub-bands", (double)d->nchan * 16);
    if (!st)
        st = set_shifts(p, d, err);
    if (!st)
        st = allocate(p, d->mem_bytes, err);
    if (st)
        psr_subband_destroy(p);
    else
        *out = p;
    return st;
}

size_t psr_subband_maxshift(const psr_subband *p)
{
    return p->maxshift;
}

int64_t psr_subband_bytes(const psr_subband *p)
{
    return (int64_t)(p->room * p->in.nchan * sizeof *p->x);
}

size_t psr_subband_ready(const psr_subband *p, size_t nsamp)
{
    size_t n = p->n + nsamp;
    return n > p->maxshift ? (n - p->maxshift) / p->downsamp : 0;
}

/* The float at which sub-band j stands at spectrum t of x: channels from the lowest, as PRESTO. */
static float sum_channels(const psr_subband *p, size_t j, size_t t)
{
    float sum = 0;
    for (size_t k = p->first[j]; k < p->first[j + 1]; k++) {
        size_t c = p->chan[k];
        sum += p->x[(t + p->shift[c]) * p->in.nchan + c];
    }
    return sum;
}

static float mean_sum(const psr_subband *p, size_t j, size_t t)
{
    float sum = sum_channels(p, j, t);
    for (size_t u = 1; u < p->downsamp; u++)
        sum += sum_channels(p, j, t + u);
    return p->downsamp > 1 ? sum / (float)p->downsamp : sum;
}

/* All samples that the spectra in x complete; drops those that no later sample needs. */
static size_t emit(psr_subband *p, float *out, size_t stride)
{
    size_t n = psr_subband_ready(p, 0), used = n * p->downsamp, nchan = p->in.nchan;
#pragma omp parallel for num_threads(p->nthread)
    for (size_t t = 0; t < n; t++)
        for (size_t j = 0; j < p->nsub; j++)
            out[j * stride + t] = mean_sum(p, j, t * p->downsamp);
    memmove(p->x, p->x + used * nchan, (p->n - used) * nchan * sizeof *p->x);
    p->n -= used;
    return n;
}

psr_status psr_subband_execute(psr_subband *p, const void *in, size_t nsamp, float *out,
                               size_t stride, size_t *nout, psr_err *err)
{
    const unsigned char *from = in;
    *nout = 0;
    if (psr_subband_ready(p, nsamp) > stride)
        return psr_fail_field(err, PSR_EINVAL, "stride", "sub-bands: stride %zu, must be %zu",
                              stride, psr_subband_ready(p, nsamp));
    while (nsamp > 0) {
        size_t n = p->room - p->n < nsamp ? p->room - p->n : nsamp;
#pragma omp parallel for num_threads(p->nthread)
        for (size_t t = 0; t < n; t++)
            psr_spectrum_widen(&p->in, from + t * p->in.row_bytes, p->x + (p->n + t) * p->in.nchan);
        p->n += n;
        from += n * p->in.row_bytes;
        nsamp -= n;
        *nout += emit(p, out + *nout, stride);
    }
    return PSR_OK;
}

void psr_subband_destroy(psr_subband *p)
{
    if (!p)
        return;
    free(p->shift);
    free(p->chan);
    free(p->first);
    free(p->x);
    free(p);
}
