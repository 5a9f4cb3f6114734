/* Dedisperses as prepsubband does, bit for bit. */
#include "dedisp_presto.h"

#include "base/obs_internal.h"
#include "dsp/dsp.h"
#include "formats/spectra/unpack.h"
#include "plan/ddplan_internal.h"
#include "rfi/rules/clean_internal.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

struct psr_compat {
    struct psr_compat_desc d; /* its arrays replaced by those below */
    size_t ncol;              /* samples of a spectrum: nchan, or nsub where they are summed */
    size_t worklen, piece;    /* spectra; samples after downsampling */
    double *dm;
    unsigned char *keep;
    size_t *pre;    /* [nchan] delay inside the sub-band, spectra */
    size_t *offset; /* [ndm][nsub] delay of the sub-band, samples */
    struct psr_clip clip;
    float *padding;              /* [nchan] what masked samples become */
    struct psr_zerodm zerodm;    /* set by the first block */
    unsigned char *masked;       /* [nchan] */
    float *z, *work;             /* [block] */
    double *sum;                 /* [nchan] */
    unsigned char *good, *bad;   /* [block] */
    float *now, *last;           /* [block][nchan] cleaned */
    float *band;                 /* [worklen][nsub] */
    float *band_now, *band_last; /* [piece][nsub] downsampled */
    size_t nfull;                /* blocks in band */
    int64_t nspectra;            /* PRESTO's count of spectra, which tells the time */
    bool primed, banded;         /* last and band_last hold something */
};

/* --- delays, in PRESTO's arithmetic ----------------------------------------------------------- */

static double delay_at(const struct psr_compat_desc *d, double dm, double freq_mhz)
{
    return psr_delay_s(PSR_DMCONST_PRESTO, dm, freq_mhz * (1.0 + d->voverc));
}

/* Of the highest channel of sub-band j. */
static double subband_delay(const struct psr_compat_desc *d, double dm, size_t j)
{
    double width = d->width_mhz * (double)(d->nchan / d->nsub);
    double lowest = d->lofreq_mhz + width - d->width_mhz;
    return delay_at(d, dm, lowest + (double)j * width);
}

static void set_delays(psr_compat *p)
{
    const struct psr_compat_desc *d = &p->d;
    double mean_dm = 0;
    for (size_t i = 0; i < d->ndm; i++)
        mean_dm += p->dm[i];
    mean_dm /= (double)d->ndm;
    for (size_t c = 0; c < d->nchan; c++) {
        double delay_s = delay_at(d, mean_dm, d->lofreq_mhz + (double)c * d->width_mhz) -
                         subband_delay(d, mean_dm, c / (d->nchan / d->nsub));
        p->pre[c] = (size_t)psr_round(delay_s / d->tsamp_s);
    }
    double dt_s = (double)d->downsamp * d->tsamp_s;
    for (size_t i = 0; i < d->ndm; i++)
        for (size_t j = 0; j < d->nsub; j++) {
            double delay_s =
                subband_delay(d, p->dm[i], j) - subband_delay(d, p->dm[i], d->nsub - 1);
            p->offset[i * d->nsub + j] = (size_t)psr_round(delay_s / dt_s);
        }
}

psr_status psr_compat_worklen(const struct psr_compat_desc *d, size_t *worklen, psr_err *err)
{
    if (!(d->lofreq_mhz > 0) || !(d->width_mhz > 0) || !(d->tsamp_s > 0) || d->nchan < 1 ||
        d->block < 1 || d->ndm < 1)
        return psr_fail_field(
            err, PSR_EINVAL, "nchan",
            "compat: %zu channels from %g MHz by %g MHz, %g s, blocks of %zu, %zu "
            "trials: all must be above 0",
            d->nchan, d->lofreq_mhz, d->width_mhz, d->tsamp_s, d->block, d->ndm);
    double dm = d->dm[d->ndm - 1];
    double highest = d->lofreq_mhz + (double)(d->nchan - 1) * d->width_mhz;
    double sweep_s = psr_delay_s(PSR_DMCONST_PRESTO, dm, d->lofreq_mhz) -
                     psr_delay_s(PSR_DMCONST_PRESTO, dm, highest);
    if (!(sweep_s >= 0) || sweep_s / d->tsamp_s > 1e9)
        return psr_fail_field(err, PSR_EINVAL, "dm",
                              "compat: DM %g sweeps over %g s, must be 0 to %g s", dm, sweep_s,
                              1e9 * d->tsamp_s);
    *worklen = d->block * ((size_t)(sweep_s / d->tsamp_s) / d->block + 1);
    return PSR_OK;
}

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status check_desc(const struct psr_compat_desc *d, psr_err *err)
{
    if (d->nsub < 1 || d->nchan % d->nsub)
        return psr_fail_field(err, PSR_EINVAL, "nsub",
                              "compat: %zu sub-bands do not divide %zu channels", d->nsub,
                              d->nchan);
    if (d->downsamp < 1 || d->block % d->downsamp)
        return psr_fail_field(
            err, PSR_EINVAL, "downsamp",
            "compat: downsampling by %zu does not divide PRESTO's block of %zu spectra",
            d->downsamp, d->block);
    if (!(d->clip_sigma >= 0) || !isfinite(d->clip_sigma))
        return psr_fail_field(err, PSR_EINVAL, "clip_sigma",
                              "compat: clipping at %g sigma, must be 0 or more", d->clip_sigma);
    if (d->mask && d->summed)
        return psr_fail_field(err, PSR_EINVAL, "mask",
                              "compat: a mask of channels, and the input is sub-bands");
    if (d->mask && (d->mask->nchan != d->nchan || !d->mask->padding))
        return psr_fail_field(err, PSR_EINVAL, "mask", "compat: a mask of %zu channels%s, of %zu",
                              d->mask->nchan, d->mask->padding ? "" : " without statistics",
                              d->nchan);
    return PSR_OK;
}

static psr_status check_delays(const psr_compat *p, psr_err *err)
{
    for (size_t c = 0; c < p->d.nchan && !p->d.summed; c++)
        if (p->pre[c] > p->d.block)
            return psr_fail(err, PSR_EINVAL,
                            "compat: %zu samples of dispersion across a sub-band, and PRESTO's "
                            "block has %zu: more sub-bands are needed",
                            p->pre[c], p->d.block);
    return PSR_OK;
}

static psr_status allocate(psr_compat *p, psr_err *err)
{
    const struct psr_compat_desc *d = &p->d;
    size_t f = sizeof(float), ncol = p->ncol, series = d->block * ncol;
    const struct {
        void *at; /* a pointer to the array's pointer */
        size_t n, size;
    } array[] = {
        {&p->dm, d->ndm, sizeof *p->dm},
        {&p->keep, ncol, 1},
        {&p->pre, d->nchan, sizeof *p->pre},
        {&p->offset, d->ndm * d->nsub, sizeof *p->offset},
        {&p->clip.level, ncol, f},
        {&p->padding, ncol, f},
        {&p->zerodm.bandpass, ncol, f},
        {&p->zerodm.weight, ncol, f},
        {&p->masked, ncol, 1},
        {&p->z, d->block, f},
        {&p->work, d->block, f},
        {&p->sum, ncol, sizeof *p->sum},
        {&p->good, d->block, 1},
        {&p->bad, d->block, 1},
        {&p->now, series, f},
        {&p->last, series, f},
        {&p->band, p->worklen * d->nsub, f},
        {&p->band_now, p->piece * d->nsub, f},
        {&p->band_last, p->piece * d->nsub, f},
    };
    for (size_t k = 0; k < sizeof array / sizeof *array; k++) {
        void *got = calloc(array[k].n, array[k].size);
        if (!got)
            return psr_fail_nomem(err, "the compat plan",
                                  (double)array[k].n * (double)array[k].size);
        memcpy(array[k].at, &got, sizeof got);
    }
    return PSR_OK;
}

void psr_compat_destroy(psr_compat *p)
{
    if (!p)
        return;
    void *const array[] = {p->dm,
                           p->keep,
                           p->pre,
                           p->offset,
                           p->clip.level,
                           p->padding,
                           p->zerodm.bandpass,
                           p->zerodm.weight,
                           p->masked,
                           p->z,
                           p->work,
                           p->sum,
                           p->good,
                           p->bad,
                           p->now,
                           p->last,
                           p->band,
                           p->band_now,
                           p->band_last};
    for (size_t k = 0; k < sizeof array / sizeof *array; k++)
        free(array[k]);
    free(p);
}

psr_status psr_compat_create(psr_compat **out, const struct psr_compat_desc *desc, psr_err *err)
{
    size_t worklen;
    *out = NULL;
    psr_status st = psr_compat_worklen(desc, &worklen, err);
    if (!st)
        st = check_desc(desc, err);
    if (st)
        return st;
    psr_compat *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "the compat plan", sizeof *p);
    p->d = *desc;
    p->ncol = desc->summed ? desc->nsub : desc->nchan;
    p->worklen = worklen;
    p->piece = worklen / desc->downsamp;
    st = allocate(p, err);
    if (!st) {
        memcpy(p->dm, desc->dm, desc->ndm * sizeof *p->dm);
        memset(p->keep, 1, p->ncol);
        if (desc->keep)
            memcpy(p->keep, desc->keep, p->ncol);
        if (desc->mask)
            memcpy(p->padding, desc->mask->padding, p->ncol * sizeof *p->padding);
        p->clip.sigma = desc->zerodm ? 0 : (float)desc->clip_sigma;
        p->clip.nchan = p->ncol;
        p->zerodm.nchan = p->ncol;
        p->nspectra = desc->first;
        set_delays(p);
        st = check_delays(p, err);
    }
    if (st)
        psr_compat_destroy(p);
    else
        *out = p;
    return st;
}

size_t psr_compat_piece(const psr_compat *p)
{
    return p->piece;
}

/* --- cleaning one block ----------------------------------------------------------------------- */

/* Of sub-bands PRESTO takes their plain mean. */
static void remove_mean(psr_compat *p, float *x)
{
    size_t ncol = p->ncol;
    for (size_t t = 0; t < p->d.block; t++, x += ncol) {
        float mean = psr_zerodm_sum(x, ncol) / (float)ncol;
        for (size_t c = 0; c < ncol; c++)
            x[c] -= mean;
    }
}

static void remove_zerodm(psr_compat *p, float *x)
{
    if (!p->zerodm.balanced)
        psr_zerodm_balance(&p->zerodm, p->padding, x, p->d.block);
    psr_zerodm_remove(&p->zerodm, x, p->d.block);
}

/* Clipping also makes its running means the padding of the mask. */
static void clip_block(psr_compat *p, float *x)
{
    size_t nchan = p->ncol, n = p->d.block;
    struct psr_clip_block block;
    for (size_t t = 0; t < n; t++)
        p->z[t] = psr_zerodm_sum(x + t * nchan, nchan);
    psr_clip_measure(&block, p->z, n, p->good, p->work, PSR_MOMENTS_RUNNING);
    memset(p->sum, 0, nchan * sizeof *p->sum);
    for (size_t t = 0; t < n; t++)
        for (size_t c = 0; p->good[t] && c < nchan; c++)
            p->sum[c] += (double)x[t * nchan + c];
    psr_clip_update(&p->clip, &block, p->sum);
    psr_clip_find(&p->clip, p->z, n, p->bad);
    memcpy(p->padding, p->clip.level, nchan * sizeof *p->padding);
    for (size_t t = 0; t < n; t++)
        if (p->bad[t])
            memcpy(x + t * nchan, p->clip.level, nchan * sizeof *x);
}

static void clean_block(psr_compat *p, float *x)
{
    const struct psr_compat_desc *d = &p->d;
    bool all = false;
    if (d->zerodm)
        (d->summed ? remove_mean : remove_zerodm)(p, x);
    if (d->mask)
        all = psr_mask_span(d->mask, (double)p->nspectra * d->tsamp_s,
                            (double)d->block * d->tsamp_s, PSR_MASK_PRESTO, p->masked);
    if (p->clip.sigma > 0 && !all)
        clip_block(p, x);
    for (size_t t = 0; t < d->block; t++, x += p->ncol)
        for (size_t c = 0; c < p->ncol; c++) {
            x[c] = p->masked[c] ? p->padding[c] : x[c];
            x[c] = p->keep[c] ? x[c] : 0;
        }
}

/* --- the two steps ---------------------------------------------------------------------------- */

static void swap(float **a, float **b)
{
    float *was = *a;
    *a = *b;
    *b = was;
}

/* The block before the newest one, to the end of band. */
static void sum_subbands(const psr_compat *p, float *to)
{
    const struct psr_compat_desc *d = &p->d;
    size_t width = d->nchan / d->nsub, n = d->block;
    for (size_t t = 0; t < n; t++)
        for (size_t j = 0; j < d->nsub; j++) {
            float sum = 0;
            for (size_t c = j * width; c < (j + 1) * width; c++) {
                size_t at = t + p->pre[c];
                sum += at < n ? p->last[at * d->nchan + c] : p->now[(at - n) * d->nchan + c];
            }
            to[t * d->nsub + j] = sum;
        }
}

/* Channels need the block after theirs before they are summed. */
static void take_block(psr_compat *p)
{
    const struct psr_compat_desc *d = &p->d;
    float *to = p->band + p->nfull * d->block * d->nsub;
    if (d->summed)
        memcpy(to, p->now, d->block * d->nsub * sizeof *to);
    else if (p->primed)
        sum_subbands(p, to);
    if (d->summed || p->primed) {
        p->nfull++;
        p->nspectra += (int64_t)d->block;
    }
    p->primed = true;
    swap(&p->now, &p->last);
}

static void downsample(psr_compat *p)
{
    size_t nsub = p->d.nsub, ds = p->d.downsamp;
    for (size_t t = 0; t < p->piece; t++)
        for (size_t j = 0; j < nsub; j++) {
            float sum = 0;
            for (size_t u = 0; u < ds; u++)
                sum += p->band[(t * ds + u) * nsub + j];
            p->band_now[t * nsub + j] = ds > 1 ? sum / (float)ds : sum;
        }
    p->nfull = 0;
}

static void sum_trial(const psr_compat *p, size_t i, float *out)
{
    size_t nsub = p->d.nsub, n = p->piece;
    for (size_t t = 0; t < n; t++) {
        float sum = 0;
        for (size_t j = 0; j < nsub; j++) {
            size_t at = t + p->offset[i * nsub + j];
            sum += at < n ? p->band_last[at * nsub + j] : p->band_now[(at - n) * nsub + j];
        }
        out[t] = sum;
    }
}

static void widen_block(psr_compat *p, const unsigned char *in)
{
    const struct psr_compat_desc *d = &p->d;
    struct psr_layout layout = {p->ncol, d->nbit, d->kind, psr_row_bytes(p->ncol, d->nbit)};
    for (size_t t = 0; t < d->block; t++) {
        float *x = p->now + t * p->ncol;
        psr_spectrum_widen(&layout, in + t * layout.row_bytes, x);
        for (size_t a = 0, b = p->ncol - 1; d->reverse && a < b; a++, b--) {
            float was = x[a];
            x[a] = x[b];
            x[b] = was;
        }
    }
}

void psr_compat_execute(psr_compat *p, const void *in, float *out, size_t stride, size_t *nout)
{
    const struct psr_compat_desc *d = &p->d;
    *nout = 0;
    widen_block(p, in);
    clean_block(p, p->now);
    take_block(p);
    if (p->nfull * d->block < p->worklen)
        return;
    downsample(p);
    if (p->banded) {
        size_t nsub = p->d.nsub;
        for (size_t i = 0; i < p->d.ndm && !p->d.subbands; i++)
            sum_trial(p, i, out + i * stride);
        for (size_t j = 0; j < nsub && p->d.subbands; j++)
            for (size_t t = 0; t < p->piece; t++)
                out[j * stride + t] = p->band_last[t * nsub + j];
        *nout = p->piece;
    }
    p->banded = true;
    swap(&p->band_now, &p->band_last);
}

/* Interprets headers as prepsubband does. */

static bool is_filterbank(const struct psr_obs *obs)
{
    return obs->block_nsamp == 0;
}

/* For a filterbank PRESTO treats fch1 as the highest channel, whatever the order, and reverses an
 * ascending band with or without -invert.  For PSRFITS with the highest channel first it stores the
 * lowest frequency in single precision, and computes the others from it. */
static double top_of_band_mhz(const struct psr_obs *obs, const struct psr_obs_band *band)
{
    size_t last = obs->nchan - 1;
    if (is_filterbank(obs))
        return obs->freq_mhz ? band->highest_mhz : obs->fch1_mhz;
    if (band->rising)
        return band->highest_mhz;
    return (double)(float)psr_obs_freq_mhz(obs, last) + (double)last * band->spacing_mhz;
}

void psr_presto_view_make(struct psr_presto_view *view, const struct psr_obs *obs, bool invert)
{
    const struct psr_obs_band band = psr_obs_band(obs);
    const bool filterbank = is_filterbank(obs), rising = band.rising;
    view->obs = *obs;
    view->obs.foff_mhz = -band.spacing_mhz;
    view->obs.fch1_mhz = top_of_band_mhz(obs, &band);
    view->obs.freq_mhz = NULL;
    /* PRESTO has names for machines, and forgets those it knows. */
    if (filterbank && strcmp(psr_machine_name(obs->machine_id), "Unknown") != 0)
        strcpy(view->obs.instrument, "unset");
    /* For PSRFITS PRESTO reverses a descending band once, with or without -invert. */
    view->reverse = filterbank ? !rising || invert : !rising && !invert;
}

/* Of sub-bands the .inf file tells of the channels they were summed from. */
static void describe_subbands(struct psr_compat_desc *d, size_t nsub, const struct psr_inf *inf)
{
    d->summed = true;
    d->nsub = nsub;
    d->nchan = (size_t)inf->nchan;
    d->lofreq_mhz = inf->lowest_mhz;
    d->width_mhz = inf->chan_width_mhz;
    d->reverse = false;
}

struct psr_compat_desc psr_presto_describe(const struct psr_presto_view *view,
                                           const struct psr_inf *inf, size_t nsub, const double *dm,
                                           size_t ndm)
{
    const struct psr_obs *obs = &view->obs;
    const double width_mhz = psr_obs_band(obs).spacing_mhz;
    struct psr_compat_desc d = {
        .nchan = obs->nchan,
        .nbit = obs->nbit,
        .kind = obs->kind,
        .reverse = view->reverse,
        .lofreq_mhz = obs->fch1_mhz - (double)(obs->nchan - 1) * width_mhz,
        .width_mhz = width_mhz,
        .tsamp_s = obs->tsamp_s,
        .block = obs->block_nsamp ? (size_t)obs->block_nsamp : PSR_COMPAT_BLOCK,
        .nsub = nsub,
        .ndm = ndm,
        .dm = dm,
    };
    if (inf)
        describe_subbands(&d, obs->nchan, inf);
    return d;
}

psr_status psr_presto_skip(const struct psr_compat_desc *desc, double start, int64_t nsamp,
                           int64_t *skip, psr_err *err)
{
    size_t worklen = 1;
    psr_status st = psr_compat_worklen(desc, &worklen, err);
    if (!st)
        *skip = (int64_t)(start * (double)nsamp / (double)worklen) * (int64_t)worklen;
    return st;
}
