/* Channelises a stream of voltages: checks, and what is kept from block to block. */
#include "spectra.h"

#include "base/base.h"
#include "base/threads/isa.h"
#include "base/threads/threads.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

/* --- the CPU ------------------------------------------------------------------------------------- */

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
static psr_status channelise_make_transforms(psr_channelise *p, psr_err *err)
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

/* Status: PSR_ENOMEM.  What was made is freed by free_transforms. */
static void channelise_free_transforms(psr_channelise *p)
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
PSR_CLONES static void psr_channelise_bins_reversed(const float *restrict bins, size_t n,
                                                    float scale, float *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        const float *y = bins + 2 * (n - 1 - i);
        to[2 * i] = y[0] * scale;
        to[2 * i + 1] = y[1] * scale;
    }
}

PSR_CLONES static void psr_channelise_bins_conjugate(const float *restrict bins, size_t n,
                                                     float scale, float *restrict to)
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
            psr_channelise_bins_reversed(bins, above, scale, to);
            psr_channelise_bins_reversed(bins + 2 * above, below, scale, to + 2 * above);
        } else {
            to += 2 * job->j * p->n;
            psr_channelise_bins_conjugate(bins + 2 * above, below, scale, to);
            psr_channelise_bins_conjugate(bins, above, scale, to + 2 * below);
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
static void channelise_transform(psr_channelise *p, const struct psr_channelise_samples *in)
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

/* --- checks ----------------------------------------------------------------------------------- */

static psr_status check_count(const char *field, size_t value, size_t least, size_t most,
                              psr_err *err)
{
    if (value >= least && value <= most)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, field, "channeliser: %s %zu, must be %zu to %zu", field,
                          value, least, most);
}

static psr_status check_band(const struct psr_channelise_desc *d, psr_err *err)
{
    if (!(fabs(d->bw_mhz) > 0 && fabs(d->bw_mhz) <= 1e9))
        return psr_fail_field(err, PSR_EINVAL, "bw_mhz",
                              "channeliser: band of %g MHz, must be wider than 0, up to 1e9",
                              d->bw_mhz);
    if (!(d->freq_mhz > fabs(d->bw_mhz) / 2 && d->freq_mhz <= 1e9))
        return psr_fail_field(
            err, PSR_EINVAL, "freq_mhz",
            "channeliser: centre %g MHz, must be above half the band, %g MHz, to 1e9 MHz",
            d->freq_mhz, fabs(d->bw_mhz) / 2);
    if (!(d->dm >= 0 && d->dm <= 1e6))
        return psr_fail_field(err, PSR_EINVAL, "dm", "channeliser: DM %g, must be 0 to 1e6", d->dm);
    if (d->dm > 0 && !(d->dmconst > 0 && d->dmconst <= 1e6))
        return psr_fail_field(err, PSR_EINVAL, "dmconst",
                              "channeliser: dispersion constant %g, must be above 0, to 1e6",
                              d->dmconst);
    return PSR_OK;
}

/* Sky frequency at a position among the bins of input channel j, MHz. */
static double bin_mhz(const psr_channelise *p, size_t j, double bin)
{
    const double width = p->d.bw_mhz / (double)p->d.nchan_in;
    const double centre = p->d.freq_mhz - p->d.bw_mhz / 2 + width * ((double)j + 0.5);
    const double zero = p->d.real ? (double)p->nbin / 2 : (double)(p->nbin / 2);
    return centre + width * (bin - zero) / (double)p->nbin;
}

/* Centre of output channel i, MHz, channels in the order of the input. */
static double channelise_centre_mhz(const psr_channelise *p, size_t i)
{
    const size_t nfft = p->d.nfft;
    return bin_mhz(p, i / p->n, (double)(i % p->n * nfft) + ((double)nfft - 1) / 2);
}

/* With the lower sideband, the spectrum is that of the conjugate. */
static void channelise_fill_response(const psr_channelise *p, float *response)
{
    const struct psr_channelise_desc *d = &p->d;
    const double turns = (d->bw_mhz > 0 ? -1e6 : 1e6) * d->dmconst * d->dm;
    for (size_t i = 0; i < d->nchan; i++) {
        const double centre = channelise_centre_mhz(p, i);
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

static void channelise_fill_window(const psr_channelise *p, float *window)
{
    const size_t length = p->shape.segment;
    double sum = 0;
    for (size_t k = 0; k < length; k++)
        sum += window_at(k, length, p->d.ntap);
    for (size_t k = 0; k < length; k++)
        window[k] = (float)(window_at(k, length, p->d.ntap) * (double)(length / p->d.ntap) / sum);
}

/* --- plan ------------------------------------------------------------------------------------- */

static psr_status make_tables(psr_channelise *p, psr_err *err)
{
    const size_t nresponse = 2 * p->d.nchan * p->d.nfft, nwindow = p->shape.segment;
    if (p->d.dm > 0 && !(p->response = malloc(nresponse * sizeof *p->response)))
        return psr_fail_nomem(err, "a dedispersing response",
                              (double)nresponse * sizeof *p->response);
    if (p->d.ntap > 1 && !(p->window = malloc(nwindow * sizeof *p->window)))
        return psr_fail_nomem(err, "a polyphase window", (double)nwindow * sizeof *p->window);
    if (p->response)
        channelise_fill_response(p, p->response);
    if (p->window)
        channelise_fill_window(p, p->window);
    return PSR_OK;
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

/* --- frequencies, lengths, window and dedispersing response of a channeliser ------------------ */

/* Bins per channel for each sample of dispersion: what is discarded is then a quarter at most. */
enum { FFT_PER_SWEEP = 4 };

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

/* Chooses nfft unless it is given; sets shape.
 * Status: PSR_EINVAL */
static psr_status channelise_measure(psr_channelise *p, psr_err *err)
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

static psr_status prepare(psr_channelise *p, psr_err *err)
{
    const struct psr_channelise_desc *d = &p->d;
    psr_status st = check_count("nchan_in", d->nchan_in, 1, PSR_CHANNELISE_CHAN_MAX, err);
    if (!st)
        st = check_count("npol", d->npol, 1, 2, err);
    if (!st)
        st = check_count("nchan", d->nchan, 1, PSR_CHANNELISE_CHAN_MAX, err);
    if (!st)
        st = check_count("ntap", d->ntap, 0, PSR_CHANNELISE_TAPS_MAX, err);
    if (!st)
        st = check_count("nfft", d->nfft, 0, PSR_CHANNELISE_FFT_MAX, err);
    if (!st && d->nchan % d->nchan_in)
        st = psr_fail_field(err, PSR_EINVAL, "nchan",
                            "channeliser: %zu channels, must be a multiple of the %zu of the input",
                            d->nchan, d->nchan_in);
    if (!st && d->ntap > 1 && (d->nfft > 1 || d->dm > 0))
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "ntap",
                            "channeliser: a polyphase filterbank of %zu taps has nfft 1 and DM 0",
                            d->ntap);
    if (!st)
        st = check_band(d, err);
    if (!st)
        st = psr_check_resources("channeliser", d->nthread, 0, err);
    if (!st && d->backend && strcmp(d->backend, "auto") != 0 && strcmp(d->backend, "cpu") != 0)
        st = psr_fail_field(err, PSR_EDEVICE, "backend", "channeliser: no backend %s, only cpu",
                            d->backend);
    if (st)
        return st;
    p->d.backend = NULL; /* the caller's text */
    p->d.ntap = p->d.ntap ? p->d.ntap : 1;
    p->n = p->d.nchan / p->d.nchan_in;
    p->ndim = p->d.real ? 1 : 2;
    p->nthread = psr_count_threads(p->d.nthread);
    st = channelise_measure(p, err);
    if (!st)
        st = make_tables(p, err);
    return st ? st : channelise_make_transforms(p, err);
}

void psr_channelise_destroy(psr_channelise *p)
{
    if (!p)
        return;
    channelise_free_transforms(p);
    free(p->response);
    free(p->window);
    free(p->held);
    free(p);
}

psr_status psr_channelise_create(psr_channelise **out, const struct psr_channelise_desc *desc,
                                 psr_err *err)
{
    *out = NULL;
    psr_channelise *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a channeliser", sizeof *p);
    psr_status st = psr_copy_desc(&p->d, sizeof p->d, desc, "psr_channelise_desc", err);
    if (!st)
        st = prepare(p, err);
    if (st) {
        psr_channelise_destroy(p);
        return st;
    }
    *out = p;
    return PSR_OK;
}

void psr_channelise_describe(const psr_channelise *p, struct psr_channelise_shape *shape)
{
    *shape = p->shape;
}

/* --- the stream ------------------------------------------------------------------------------- */

static size_t count_segments(const psr_channelise *p, size_t nsamp)
{
    const size_t all = p->nheld + nsamp;
    return all < p->shape.segment ? 0 : (all - p->shape.segment) / p->shape.step + 1;
}

size_t psr_channelise_ready(const psr_channelise *p, size_t nsamp)
{
    return count_segments(p, nsamp) * p->shape.keep;
}

/* Samples [from, from + n) of what was kept and the new ones behind it, for every input channel and
 * polarisation: *to [nplane][n]. */
static void copy_samples(const psr_channelise *p, const float *in, size_t nsamp, size_t from,
                         size_t n, float *to)
{
    const size_t nplane = p->d.nchan_in * p->d.npol, ndim = p->ndim;
    const size_t left = from < p->nheld ? p->nheld - from : 0, old = left < n ? left : n;
    const size_t skip = from > p->nheld ? from - p->nheld : 0;
    for (size_t k = 0; k < nplane; k++, to += n * ndim) {
        if (old)
            memcpy(to, p->held + (k * p->nheld + from) * ndim, old * ndim * sizeof *to);
        if (n > old)
            memcpy(to + old * ndim, in + (k * nsamp + skip) * ndim, (n - old) * ndim * sizeof *to);
    }
}

/* Segments that begin within what was kept. */
static size_t count_seam(const psr_channelise *p, size_t nsegment)
{
    const size_t n = (p->nheld + p->shape.step - 1) / p->shape.step;
    return n < nsegment ? n : nsegment;
}

psr_status psr_channelise_execute(psr_channelise *p, const float *in, size_t nsamp,
                                  const bool *wanted, float *out, size_t *nout, psr_err *err)
{
    const size_t nsegment = count_segments(p, nsamp), nseam = count_seam(p, nsegment);
    const size_t done = nsegment * p->shape.step, left = p->nheld + nsamp - done;
    const size_t sample = p->d.nchan_in * p->d.npol * p->ndim;
    const size_t nboth = nseam * p->shape.step + p->shape.segment;
    *nout = 0;
    float *seam = malloc(nboth * sample * sizeof *seam);
    float *held = malloc((left * sample + 1) * sizeof *held);
    if (!seam || !held) {
        free(seam);
        free(held);
        return psr_fail_nomem(err, "voltages",
                              (double)(nboth + left) * (double)sample * sizeof *seam);
    }
    const size_t n = nseam > 0 ? (nseam - 1) * p->shape.step + p->shape.segment : 0;
    if (n > 0)
        copy_samples(p, in, nsamp, 0, n, seam);
    channelise_transform(
        p, &(struct psr_channelise_samples){
               .x = seam, .stride = n, .nsegment = nseam, .wanted = wanted, .out = out});
    const size_t made = nseam * p->shape.keep;
    if (nseam < nsegment) /* the others, which are where they came */
        channelise_transform(p, &(struct psr_channelise_samples){
                                    .x = in + (nseam * p->shape.step - p->nheld) * p->ndim,
                                    .stride = nsamp,
                                    .nsegment = nsegment - nseam,
                                    .wanted = wanted ? wanted + made : NULL,
                                    .out = out + made * 2 * p->d.npol * p->d.nchan});
    copy_samples(p, in, nsamp, done, left, held);
    free(seam);
    free(p->held);
    p->held = held;
    p->nheld = left;
    *nout = nsegment * p->shape.keep;
    return PSR_OK;
}

double psr_channelise_freq_mhz(const psr_channelise *p, size_t c)
{
    return channelise_centre_mhz(p, p->d.bw_mhz > 0 ? p->d.nchan - 1 - c : c);
}
