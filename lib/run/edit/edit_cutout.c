/* Makes pictures of a burst for classifiers. */
#include "base/base.h"
#include "edit_state.h"

#include "stats/stats.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

/* Bins of time, DMs and channels of the pictures: what FETCH's networks take. */
enum { NTIME = 256, NDM = 256, NFREQ = 256, TILE = 16 };

struct psr_edit_cutout {
    struct psr_edit_cutout_desc d;
    struct psr_own own;
    int64_t width, step; /* of the burst, and of a bin, in samples */
    int64_t first;       /* sample of the first bin without delay, from the first that comes */
    int64_t nrow;        /* samples so far */
    size_t nchan;
    int32_t *delay;  /* [NDM + 1][nchan] samples; the last row is of the DM itself */
    double *mean;    /* [nchan] sums of all samples, then means */
    double *prefix;  /* [nchan][room + 1] sums of the samples of a block before each */
    double *dm_time; /* [NDM][NTIME] sums */
    double *by_chan; /* [nchan][NTIME] sums at the DM itself */
    float *picture;  /* [3][256][256]: frequency, DM, and what a median reorders */
    size_t room;
};

/* --- the range -------------------------------------------------------------------------------- */

static int64_t width_samples(const struct psr_edit_burst *b, double tsamp_s)
{
    const double width = rint(b->width_s / tsamp_s);
    return width > 1 ? (int64_t)width : 1;
}

static int64_t step_samples(const struct psr_edit_burst *b, double tsamp_s)
{
    const int64_t width = width_samples(b, tsamp_s);
    return width > 1 ? width / 2 : 1;
}

static psr_status check(const struct psr_edit_burst *b, const struct psr_obs *obs, psr_err *err)
{
    const double longest_s = 1e6, dm_max = 1e6;
    if (!(b->dm >= 0 && b->dm < dm_max))
        return psr_fail_field(err, PSR_EINVAL, "burst", "edit: burst: dm %g, must be 0 to %g",
                              b->dm, dm_max);
    if (!(b->width_s >= 0 && b->width_s < longest_s))
        return psr_fail_field(err, PSR_EINVAL, "burst", "edit: burst: width %g s, must be 0 to %g",
                              b->width_s, longest_s);
    if (obs->nsamp < 0)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "source",
                              "edit: a cut-out needs an input of known length");
    return PSR_OK;
}

psr_status psr_edit_cutout_range(const struct psr_edit_burst *b, const struct psr_obs *obs,
                                 int64_t tsum, int64_t *start, int64_t *count, psr_err *err)
{
    const double tsamp_s = obs->tsamp_s * (double)tsum,
                 length_s = (double)obs->nsamp * obs->tsamp_s;
    psr_status st = check(b, obs, err);
    if (st)
        return st;
    const double half_s = (double)(NTIME / 2 * step_samples(b, tsamp_s)) * tsamp_s,
                 sweep_s = psr_delay_s(PSR_DMCONST_PRESTO, 2 * b->dm, psr_obs_lowest_mhz(obs)) -
                           psr_delay_s(PSR_DMCONST_PRESTO, 2 * b->dm, psr_obs_highest_mhz(obs));
    if (!(b->t_s > -half_s && b->t_s < length_s + half_s))
        return psr_fail_field(err, PSR_EINVAL, "burst",
                              "edit: the burst at %.6f s lies outside of the input, %.6f s", b->t_s,
                              length_s);
    const double last =
                     (double)(obs->nsamp / tsum), /* one more, for a band whose highest is lower */
        from = fmax(0, floor((b->t_s - half_s) / tsamp_s) - 1),
                 end = fmin(last, ceil((b->t_s + half_s + sweep_s) / tsamp_s) + 2);
    if (end <= from)
        return psr_fail_field(err, PSR_EINVAL, "burst",
                              "edit: the burst at %.6f s: the input has no spectra of its cut-out",
                              b->t_s);
    *start = (int64_t)from * tsum;
    *count = (int64_t)(end - from) * tsum;
    return PSR_OK;
}

/* --- memory ----------------------------------------------------------------------------------- */

static double trial_dm(const psr_edit_cutout *c, size_t k)
{
    const double dm = c->d.burst->dm;
    return k == NDM ? dm : 2 * dm * (double)k / (NDM - 1);
}

static psr_status find_delays(psr_edit_cutout *c, psr_err *err)
{
    const struct psr_obs *obs = c->d.obs;
    const double highest_mhz = psr_obs_highest_mhz(obs);
    for (size_t k = 0; k <= NDM; k++)
        for (size_t ch = 0; ch < c->nchan; ch++) {
            const int64_t delay =
                psr_delay_samples(PSR_DMCONST_PRESTO, trial_dm(c, k), psr_obs_freq_mhz(obs, ch),
                                  highest_mhz, obs->tsamp_s);
            if (delay < 0 || delay > INT32_MAX)
                return psr_fail_field(err, PSR_EINVAL, "burst",
                                      "edit: burst: dm %g is a delay of %lld spectra, must be "
                                      "below %d",
                                      trial_dm(c, k), (long long)delay, INT32_MAX);
            c->delay[k * c->nchan + ch] = (int32_t)delay;
        }
    return PSR_OK;
}

psr_status psr_edit_cutout_create(psr_edit_cutout **out, const struct psr_edit_cutout_desc *desc,
                                  psr_err *err)
{
    *out = NULL;
    psr_edit_cutout *c = calloc(1, sizeof *c);
    if (!c)
        return psr_fail_nomem(err, "a cut-out", sizeof *c);
    const struct psr_obs *obs = desc->obs;
    const double highest_mhz = psr_obs_highest_mhz(obs), dm = desc->burst->dm;
    /* The time is that of the highest frequency of the input. */
    const double t_s = desc->burst->t_s + psr_delay_s(PSR_DMCONST_PRESTO, dm, highest_mhz) -
                       psr_delay_s(PSR_DMCONST_PRESTO, dm, psr_obs_highest_mhz(desc->input));
    c->d = *desc;
    c->nchan = obs->nchan;
    c->width = width_samples(desc->burst, obs->tsamp_s);
    c->step = step_samples(desc->burst, obs->tsamp_s);
    c->first = (int64_t)rint(t_s / obs->tsamp_s) - NTIME / 2 * c->step - desc->first;
    c->delay = psr_own(&c->own, (NDM + 1) * c->nchan, sizeof *c->delay);
    c->mean = psr_own(&c->own, c->nchan, sizeof *c->mean);
    c->dm_time = psr_own(&c->own, (size_t)NDM * NTIME, sizeof *c->dm_time);
    c->by_chan = psr_own(&c->own, c->nchan * NTIME, sizeof *c->by_chan);
    c->picture = psr_own(&c->own, 3 * (size_t)NTIME * NFREQ, sizeof *c->picture);
    psr_status st = psr_own_check(&c->own, "a cut-out", err);
    if (!st)
        st = find_delays(c, err);
    if (st)
        psr_edit_cutout_destroy(c);
    else
        *out = c;
    return st;
}

void psr_edit_cutout_destroy(psr_edit_cutout *c)
{
    if (!c)
        return;
    psr_own_free(&c->own);
    free(c->prefix);
    free(c);
}

/* --- sums ------------------------------------------------------------------------------------- */

static psr_status reserve(psr_edit_cutout *c, size_t nrow, psr_err *err)
{
    if (nrow <= c->room)
        return PSR_OK;
    psr_status st =
        psr_resize(&c->prefix, c->nchan * (nrow + 1), sizeof *c->prefix, "a cut-out", err);
    c->room = st ? c->room : nrow;
    return st;
}

/* Channels from "from" on that share cache lines.  What is no number counts as the mean so far. */
static void sum_up(psr_edit_cutout *c, size_t from, const float *row, size_t nrow)
{
    const size_t end = from + TILE < c->nchan ? from + TILE : c->nchan, stride = c->room + 1;
    double *p = c->prefix;
    for (size_t ch = from; ch < end; ch++)
        p[ch * stride] = 0;
    for (size_t t = 0; t < nrow; t++)
        for (size_t ch = from; ch < end; ch++) {
            const double n = (double)c->nrow + (double)t, before = p[ch * stride + t];
            const float x = row[t * c->nchan + ch];
            p[ch * stride + t + 1] = before + (isfinite(x) ? x
                                               : n > 0     ? (c->mean[ch] + before) / n
                                                           : 0);
        }
    for (size_t ch = from; ch < end; ch++)
        c->mean[ch] += p[ch * stride + nrow];
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Adds to the bins of a channel, of which the first begins at sample "begin", what the block has of them. */
static void add_bins(const psr_edit_cutout *c, size_t ch, int64_t begin, size_t nrow, double *bin)
{
    const double *p = c->prefix + ch * (c->room + 1);
    const int64_t from = begin - c->nrow, n = (int64_t)nrow, step = c->step;
    int64_t j = floor_div(-from, step), end = floor_div(n - 1 - from, step) + 1;
    j = j < 0 ? 0 : j;
    end = end > NTIME ? NTIME : end;
    for (; j < end; j++) {
        const int64_t low = from + j * step, high = low + step;
        bin[j] += p[high < n ? high : n] - p[low > 0 ? low : 0];
    }
}

/* Row k of the delays: the bins of a DM, or those of each channel. */
static double *bins_of(const psr_edit_cutout *c, size_t k, size_t ch)
{
    return k < NDM ? c->dm_time + k * NTIME : c->by_chan + ch * NTIME;
}

psr_status psr_edit_cutout_add(psr_edit_cutout *c, const float *row, size_t nrow, psr_err *err)
{
    psr_status st = reserve(c, nrow, err);
    if (st)
        return st;
#pragma omp parallel for schedule(static) num_threads(c->d.nthread)
    for (size_t from = 0; from < c->nchan; from += TILE)
        sum_up(c, from, row, nrow);
#pragma omp parallel for schedule(dynamic) num_threads(c->d.nthread)
    for (size_t k = 0; k <= NDM; k++)
        for (size_t ch = 0; ch < c->nchan; ch++)
            add_bins(c, ch, c->first + c->delay[k * c->nchan + ch], nrow, bins_of(c, k, ch));
    c->nrow += (int64_t)nrow;
    return PSR_OK;
}

/* --- pictures --------------------------------------------------------------------------------- */

/* Each row of the picture is the mean over its share of the band; channels count by how much of them is in it. */
static void share_band(const psr_edit_cutout *c, float *freq_time)
{
    const double share = (double)c->nchan / NFREQ;
    for (size_t f = 0; f < NFREQ; f++) {
        const double low = (double)f * share, high = low + share;
        const size_t end = (size_t)fmin((double)c->nchan, ceil(high));
        for (size_t j = 0; j < NTIME; j++) {
            double sum = 0;
            for (size_t ch = (size_t)low; ch < end; ch++)
                sum += c->by_chan[ch * NTIME + j] *
                       (fmin(high, (double)ch + 1) - fmax(low, (double)ch));
            freq_time[j * NFREQ + f] = (float)(sum / (share * (double)c->step));
        }
    }
}

/* Median 0 and scatter 1. */
static void normalise(float *x, float *scratch, size_t n)
{
    double sum = 0, squares = 0;
    memcpy(scratch, x, n * sizeof *x);
    const float median = (float)psr_quantile_median(scratch, n);
    for (size_t i = 0; i < n; i++) {
        x[i] -= median;
        sum += x[i];
        squares += (double)x[i] * x[i];
    }
    const double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
    const float scatter = variance > 0 ? (float)sqrt(variance) : 1;
    for (size_t i = 0; i < n; i++)
        x[i] /= scatter;
}

psr_status psr_edit_cutout_write(psr_edit_cutout *c, psr_outfile *f, psr_err *err)
{
    const size_t n = (size_t)NTIME * NFREQ;
    float *freq_time = c->picture, *dm_time = freq_time + n, *scratch = dm_time + n;
    const struct psr_edit_burst *b = c->d.burst;
    const struct psr_cutout file = {.t_s = b->t_s,
                                    .dm = b->dm,
                                    .snr = b->snr,
                                    .width = c->width,
                                    .label = b->label,
                                    .path = c->d.source->path,
                                    .npath = c->d.source->npath,
                                    .obs = c->d.obs,
                                    .input = c->d.input,
                                    .tsum = c->d.tsum,
                                    .fsum = c->d.fsum,
                                    .ntime = NTIME,
                                    .nfreq = NFREQ,
                                    .ndm = NDM,
                                    .freq_time = freq_time,
                                    .dm_time = dm_time};
    /* Samples of bins before the first spectrum and after the last. */
    for (size_t ch = 0; ch < c->nchan; ch++)
        c->mean[ch] /= (double)c->nrow;
    for (size_t k = 0; k <= NDM; k++)
        for (size_t ch = 0; ch < c->nchan; ch++) {
            const int64_t begin = c->first + c->delay[k * c->nchan + ch];
            double *bin = bins_of(c, k, ch);
            for (int64_t j = 0; j < NTIME; j++) {
                const int64_t low = begin + j * c->step, high = low + c->step;
                const int64_t has = (high < c->nrow ? high : c->nrow) - (low > 0 ? low : 0);
                if (has < c->step)
                    bin[j] += (double)(c->step - (has > 0 ? has : 0)) * c->mean[ch];
            }
        }
    share_band(c, freq_time);
    for (size_t i = 0; i < (size_t)NDM * NTIME; i++)
        dm_time[i] = (float)(c->dm_time[i] / (double)c->step);
    normalise(freq_time, scratch, n);
    normalise(dm_time, scratch, (size_t)NDM * NTIME);
    return psr_cutout_write(f, &file, err);
}
