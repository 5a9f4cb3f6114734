/* Transforms segments of voltages with FFTW. */
#include "base/threads/clones.h"
#include "base/threads/threads.h"
#include "spectra.h"

#include <stdlib.h>
#include <string.h>

enum { SHARES = 16 }; /* of a thread in the segments of a block */

/* Where one segment of one input channel and polarisation comes from and goes to. */
struct job {
    const float *x;
    float *out;    /* [keep][npol][nchan] of this segment */
    size_t j, pol; /* input channel, polarisation */
};

static psr_status make_scratch(psr_channelise *p, psr_err *err)
{
    const size_t samples = p->shape.segment / p->d.ntap * p->ndim;
    p->scratch = calloc((size_t)p->nthread, sizeof *p->scratch);
    if (!p->scratch)
        return psr_fail_nomem(err, "a channeliser", (double)p->nthread * sizeof *p->scratch);
    for (int k = 0; k < p->nthread; k++) {
        struct psr_channelise_scratch *s = p->scratch + k;
        s->x = fftwf_malloc(samples * sizeof *s->x);
        s->bins = fftwf_malloc((p->nbin + 1) * sizeof *s->bins);
        s->part = fftwf_malloc(p->d.nfft * sizeof *s->part);
        if (!s->x || !s->bins || !s->part)
            return psr_fail_nomem(err, "a channeliser",
                                  (double)(samples + 2 * p->nbin) * sizeof *s->x);
    }
    return PSR_OK;
}

/* Estimates look at no clock: a length always gets the same plan, and so the same bits. */
psr_status psr_channelise_make_transforms(psr_channelise *p, psr_err *err)
{
    psr_status st = make_scratch(p, err);
    if (st)
        return st;
    const struct psr_channelise_scratch *s = p->scratch;
    const int nbin = (int)p->nbin, nfft = (int)p->d.nfft;
    fftwf_make_planner_thread_safe();
    if (p->d.real)
        p->forward = fftwf_plan_dft_r2c_1d(2 * nbin, s->x, s->bins, FFTW_ESTIMATE);
    else
        p->forward =
            fftwf_plan_dft_1d(nbin, (fftwf_complex *)s->x, s->bins, FFTW_FORWARD, FFTW_ESTIMATE);
    if (nfft > 1)
        p->back = fftwf_plan_dft_1d(nfft, s->part, s->part, FFTW_BACKWARD, FFTW_ESTIMATE);
    if (!p->forward || (nfft > 1 && !p->back))
        return psr_fail_nomem(err, "a transform", (double)p->nbin * sizeof *s->bins);
    return PSR_OK;
}

void psr_channelise_free_transforms(psr_channelise *p)
{
    for (int k = 0; p->scratch && k < p->nthread; k++) {
        fftwf_free(p->scratch[k].x);
        fftwf_free(p->scratch[k].bins);
        fftwf_free(p->scratch[k].part);
    }
    free(p->scratch);
    if (p->forward)
        fftwf_destroy_plan(p->forward);
    if (p->back)
        fftwf_destroy_plan(p->back);
}

/* Sums the taps of a segment. */
static void weigh_taps(const psr_channelise *p, const float *x, float *y)
{
    const size_t n = p->shape.segment / p->d.ntap, ndim = p->ndim;
    if (!p->window) {
        memcpy(y, x, n * ndim * sizeof *y);
        return;
    }
    memset(y, 0, n * ndim * sizeof *y);
    for (size_t k = 0; k < p->d.ntap; k++)
        for (size_t u = 0; u < n; u++)
            for (size_t e = 0; e < ndim; e++)
                y[u * ndim + e] += p->window[k * n + u] * x[(k * n + u) * ndim + e];
}

/* Index of a bin, in order of frequency, in FFTW's output. */
static size_t find_bin(const psr_channelise *p, size_t b)
{
    const size_t below = p->d.real ? 0 : p->nbin / 2;
    return b < below ? b + p->nbin - below : b - below;
}

/* The last bin first, as where frequencies run up and channels down. */
PSR_CLONES static void channelise_bins_reversed(const float *restrict bins, size_t n, float scale,
                                                float *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        const float *y = bins + 2 * (n - 1 - i);
        to[2 * i] = y[0] * scale;
        to[2 * i + 1] = y[1] * scale;
    }
}

PSR_CLONES static void channelise_bins_conjugate(const float *restrict bins, size_t n, float scale,
                                                 float *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = bins[2 * i] * scale;
        to[2 * i + 1] = -(bins[2 * i + 1] * scale);
    }
}

static void transform_segment(const psr_channelise *p, const struct psr_channelise_scratch *s,
                              const struct job *job)
{
    weigh_taps(p, job->x, s->x);
    if (p->d.real)
        fftwf_execute_dft_r2c(p->forward, s->x, s->bins);
    else
        fftwf_execute_dft(p->forward, (fftwf_complex *)s->x, s->bins);
    if (!p->back && !p->response) {
        /* Each bin is a channel: as take_bins and put_channel, for all channels at once. */
        const size_t below = p->d.real ? 0 : p->n / 2, above = p->n - below;
        const float scale = 1 / (float)p->nbin, *bins = s->bins[0];
        float *to = job->out + 2 * job->pol * p->d.nchan;
        if (p->d.bw_mhz > 0) {
            to += 2 * (p->d.nchan - (job->j + 1) * p->n);
            channelise_bins_reversed(bins, above, scale, to);
            channelise_bins_reversed(bins + 2 * above, below, scale, to + 2 * above);
        } else {
            to += 2 * job->j * p->n;
            channelise_bins_conjugate(bins + 2 * above, below, scale, to);
            channelise_bins_conjugate(bins, above, scale, to + 2 * below);
        }
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        /* Takes the bins of output channel i, counted within the input channel, with the middle
         * one at frequency 0. */
        const size_t nfft = p->d.nfft, half = nfft / 2;
        const float scale = 1 / (float)p->nbin;
        const float *h = p->response ? p->response + 2 * (job->j * p->n + i) * nfft : NULL;
        for (size_t q = 0; q < nfft; q++) {
            const float *y = s->bins[find_bin(p, i * nfft + q)];
            const float re = h ? y[0] * h[2 * q] - y[1] * h[2 * q + 1] : y[0];
            const float im = h ? y[0] * h[2 * q + 1] + y[1] * h[2 * q] : y[1];
            float *to = s->part[q < half ? q + nfft - half : q - half];
            to[0] = re * scale;
            to[1] = im * scale;
        }
        if (p->back)
            fftwf_execute_dft(p->back, s->part, s->part);
        /* Frequencies of the output run up within channels, and channels run down. */
        const size_t channel = job->j * p->n + i, row = p->d.npol * p->d.nchan;
        const bool upper = p->d.bw_mhz > 0;
        float *to =
            job->out + 2 * (job->pol * p->d.nchan + (upper ? p->d.nchan - 1 - channel : channel));
        for (size_t m = 0; m < p->shape.keep; m++) {
            const float *v = s->part[p->shape.early + m];
            to[2 * m * row] = v[0];
            to[2 * m * row + 1] = upper ? v[1] : -v[1];
        }
    }
}

static bool is_wanted(const psr_channelise *p, const bool *wanted, size_t segment)
{
    const size_t keep = p->shape.keep;
    return !wanted || memchr(wanted + segment * keep, true, keep * sizeof *wanted);
}

/* Segments that are not wanted come in blocks: threads take few at a time. */
void psr_channelise_transform(psr_channelise *p, const struct psr_channelise_samples *in)
{
    const size_t nplane = p->d.nchan_in * p->d.npol, row = 2 * p->d.npol * p->d.nchan;
    const size_t njob = in->nsegment * nplane;
    const int nthread = p->nthread, few = (int)(njob / ((size_t)nthread * SHARES)) + 1;
    (void)few; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) schedule(dynamic, few)
    for (size_t k = 0; k < njob; k++) {
        const size_t s = k / nplane, plane = k % nplane;
        if (!is_wanted(p, in->wanted, s))
            continue;
        const struct job job = {.x = in->x + (plane * in->stride + s * p->shape.step) * p->ndim,
                                .out = in->out + s * p->shape.keep * row,
                                .j = plane / p->d.npol,
                                .pol = plane % p->d.npol};
        transform_segment(p, p->scratch + psr_thread_number(), &job);
    }
}
