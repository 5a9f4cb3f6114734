/* Orders the kept channels of a plan, and computes the delay of each at every trial. */
#include "dedisp_internal.h"

#include "base/threads/threads.h"
#include "base/tool.h"
#include "formats/spectra/unpack.h"
#include "plan/ddplan_internal.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>

/* --- checks the description of a dedispersion plan -------------------------------------------- */

static psr_status check_data(const struct psr_dedisp_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nchan > (size_t)1 << 20)
        return psr_fail_field(err, PSR_EINVAL, "nchan",
                              "dedispersion: %zu channels is outside 1 to 1048576", d->nchan);
    if (!psr_row_known(d->nbit, d->kind))
        return psr_fail_field(err, PSR_EINVAL, "nbit", "dedispersion: no %d-bit samples of kind %d",
                              d->nbit, (int)d->kind);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s))
        return psr_fail_field(err, PSR_EINVAL, "tsamp_s",
                              "dedispersion: sampling time of %g s is not positive", d->tsamp_s);
    if (!(d->dmconst > 0) || !isfinite(d->dmconst))
        return psr_fail_field(err, PSR_EINVAL, "dmconst",
                              "dedispersion: constant of %g MHz^2 s is not positive", d->dmconst);
    if (d->downsamp < 1 || d->downsamp > 65536)
        return psr_fail_field(err, PSR_EINVAL, "downsamp",
                              "dedispersion: downsampling by %zu is outside 1 to 65536",
                              d->downsamp);
    for (size_t c = 0; c < d->nchan; c++)
        if (!(d->freq_mhz[c] > 0) || !isfinite(d->freq_mhz[c]))
            return psr_fail_field(err, PSR_EINVAL, "freq_mhz",
                                  "dedispersion: channel %zu at %g MHz is not positive", c,
                                  d->freq_mhz[c]);
    return PSR_OK;
}

static psr_status check_trials(const struct psr_dedisp_desc *d, psr_err *err)
{
    if (d->ndm < 1 || d->ndm > (size_t)1 << 24)
        return psr_fail_field(err, PSR_EINVAL, "ndm",
                              "dedispersion: %zu trials is outside 1 to 16777216", d->ndm);
    for (size_t i = 0; i < d->ndm; i++)
        if (!(d->dm[i] >= 0) || !isfinite(d->dm[i]))
            return psr_fail_field(err, PSR_EINVAL, "dm",
                                  "dedispersion: DM %g of trial %zu is below 0", d->dm[i], i);
    if (d->tol < 0 || d->tol > 1)
        return psr_fail_field(err, PSR_EINVAL, "tol",
                              "dedispersion: tolerance of %d samples is outside 0 to 1", d->tol);
    if (d->ndevice > 1024)
        return psr_fail_field(err, PSR_EINVAL, "ndevice",
                              "dedispersion: %zu devices is outside 0 to 1024", d->ndevice);
    return psr_check_resources("dedispersion", d->nthread, d->mem_bytes, err);
}

psr_status psr_dedisp_check(const struct psr_dedisp_desc *d, psr_err *err)
{
    psr_status st;
    if ((st = check_data(d, err)) || (st = check_trials(d, err)))
        return st;
    if (d->algo == PSR_DEDISP_TREE && d->smear != 0 && !(d->smear >= 1.01 && d->smear <= 100))
        return psr_fail_field(err, PSR_EINVAL, "smear",
                              "dedispersion: smearing by a factor of %g is outside 1.01 to 100",
                              d->smear);
    if (d->algo == PSR_DEDISP_DIRECT || d->algo == PSR_DEDISP_TREE)
        return PSR_OK;
    if (d->late)
        return psr_fail_field(err, PSR_EINVAL, "late", "dedispersion: late sub-bands, must be 0");
    if (d->algo != PSR_DEDISP_SUBBAND)
        return psr_fail_field(err, PSR_EINVAL, "algo", "dedispersion: no algorithm %d",
                              (int)d->algo);
    if (d->nsub < 1 || d->nchan % d->nsub)
        return psr_fail_field(err, PSR_EINVAL, "nsub",
                              "dedispersion: %zu sub-bands do not divide %zu channels", d->nsub,
                              d->nchan);
    for (size_t c = 2; c < d->nchan; c++)
        if ((d->freq_mhz[c] > d->freq_mhz[c - 1]) != (d->freq_mhz[1] > d->freq_mhz[0]))
            return psr_fail_field(
                err, PSR_EINVAL, "freq_mhz",
                "dedispersion: sub-bands want channels in order of frequency, and "
                "channel %zu at %g MHz is not",
                c, d->freq_mhz[c]);
    return PSR_OK;
}

/* --- orders the kept channels of a plan, and computes the delay of each at every trial -------- */

struct ranked {
    double freq_mhz;
    size_t c;
};

PSR_COMPARE(by_falling_frequency, struct ranked, PSR_THEN(PSR_FALLING(freq_mhz), PSR_RISING(c)));

static psr_status rank_channels(const struct psr_dedisp_desc *d, struct ranked **out, psr_err *err)
{
    struct ranked *r = calloc(d->nchan, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "channels", (double)d->nchan * sizeof *r);
    for (size_t c = 0; c < d->nchan; c++)
        r[c] = (struct ranked){d->freq_mhz[c], c};
    qsort(r, d->nchan, sizeof *r, by_falling_frequency);
    *out = r;
    return PSR_OK;
}

/* The divisor of dm in psr_delay_s. */
static double dispersion_coeff(double dmconst, double freq_mhz)
{
    return 1.0 / dmconst * freq_mhz * freq_mhz;
}

static double mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

static psr_status make_tree(struct psr_dedisp_layout *s, const struct psr_dedisp_desc *d,
                            const struct ranked *rank, const int32_t *position, psr_err *err)
{
    double *slope = calloc(2 * s->nkept, sizeof *slope), *width = slope + s->nkept;
    if (!slope)
        return psr_fail_nomem(err, "channels", 16.0 * (double)s->nkept);
    for (size_t q = 0; q < d->nchan; q++) {
        int32_t k = position[rank[q].c];
        if (k < 0)
            continue;
        slope[k] = (1 / s->coeff[k] - 1 / s->coeff_top) / s->dt_s;
        /* How far the delay changes over each channel by itself, per DM, for channels that
         * touch. */
        size_t up = q ? q - 1 : q, down = q + 1 < d->nchan ? q + 1 : q;
        double from = 1 / dispersion_coeff(d->dmconst, rank[up].freq_mhz);
        double to = 1 / dispersion_coeff(d->dmconst, rank[down].freq_mhz);
        width[k] = down > up ? (to - from) / s->dt_s / (double)(down - up) : 0;
    }
    psr_status st =
        psr_merge_create(&s->tree,
                         &(struct psr_merge_desc){
                             .nchan = s->nkept,
                             .ndm = s->ndm,
                             .slope = slope,
                             .width = width,
                             .slope_low = (1 / s->coeff_low - 1 / s->coeff_top) / s->dt_s,
                             .dm = s->dm,
                             .tolerance = s->smear,
                             .bytes = (double)s->mem_bytes,
                         },
                         err);
    free(slope);
    for (size_t i = 0; i < s->ndm && !st; i++) {
        int32_t last = psr_dedisp_layout_last(s, i);
        s->maxoff = last > s->maxoff ? last : s->maxoff;
    }
    return st;
}

int32_t psr_dedisp_layout_last(const struct psr_dedisp_layout *s, size_t i)
{
    int32_t exact =
        (int32_t)psr_round((s->dm[i] / s->coeff_low - s->dm[i] / s->coeff_top) / s->dt_s);
    int32_t last = s->algo == PSR_DEDISP_TREE ? psr_merge_last(&s->tree, i) : exact;
    return last > exact ? last : exact;
}

static int64_t highest_dm_shift(const struct psr_dedisp_layout *s)
{
    double dm = s->dm[0];
    for (size_t i = 1; i < s->ndm; i++)
        dm = s->dm[i] > dm ? s->dm[i] : dm;
    double shift = (dm / s->coeff_low - dm / s->coeff_top) / s->dt_s;
    return shift < 1e9 ? psr_round(shift) : INT64_C(1) << 31;
}

static psr_status align_trials(struct psr_dedisp_layout *s, psr_err *err)
{
    s->align = malloc(s->ndm * sizeof *s->align);
    if (!s->align)
        return psr_fail_nomem(err, "trials", 4.0 * (double)s->ndm);
    for (size_t i = 0; i < s->ndm; i++)
        s->align[i] = s->maxoff - psr_dedisp_layout_last(s, i);
    return PSR_OK;
}

static psr_status set_shifts(struct psr_dedisp_layout *s, const struct psr_dedisp_desc *d,
                             const struct ranked *rank, const int32_t *position, psr_err *err)
{
    double widest = psr_delay_s(d->dmconst, mean(d->dm, d->ndm), rank[d->nchan - 1].freq_mhz);
    if (!(widest / d->tsamp_s < 1e9))
        return psr_fail_field(err, PSR_EINVAL, "dm",
                              "dedispersion: delays of %g s are beyond 1e9 samples of tsamp = %g s",
                              widest, d->tsamp_s);
    s->coeff_top = dispersion_coeff(d->dmconst, rank[0].freq_mhz);
    if (d->algo == PSR_DEDISP_SUBBAND) {
        /* PRESTO's two steps: inside a sub-band the delays of the mean DM, in samples of the
         * input; the whole sub-band then moves with its highest channel. */
        size_t width = d->nchan / d->nsub;
        double mean_dm = mean(d->dm, d->ndm);
        s->maxpre = 0;
        for (size_t q = 0; q < d->nchan; q++) {
            double ref_mhz = rank[q / width * width].freq_mhz;
            int64_t pre =
                psr_delay_samples(d->dmconst, mean_dm, rank[q].freq_mhz, ref_mhz, d->tsamp_s);
            int32_t k = position[rank[q].c];
            if (k >= 0) {
                s->coeff[k] = dispersion_coeff(d->dmconst, ref_mhz);
                s->pre[k] = (int32_t)pre;
            }
            s->maxpre = pre > s->maxpre ? (int32_t)pre : s->maxpre;
        }
        s->coeff_low = dispersion_coeff(d->dmconst, rank[d->nchan - width].freq_mhz);
    } else {
        for (size_t k = 0; k < s->nkept; k++)
            s->coeff[k] = dispersion_coeff(d->dmconst, d->freq_mhz[s->chan[k]]);
        s->coeff_low = dispersion_coeff(d->dmconst, rank[d->nchan - 1].freq_mhz);
    }
    int64_t maxoff = highest_dm_shift(s);
    if (maxoff > 1000000000)
        return psr_fail_field(
            err, PSR_EINVAL, "dm",
            "dedispersion: the highest DM delays the lowest channel by more than 1e9 "
            "samples of tsamp = %g s",
            s->dt_s);
    s->maxoff = (int32_t)maxoff;
    if (s->algo == PSR_DEDISP_TREE) {
        psr_status st = make_tree(s, d, rank, position, err);
        if (st)
            return st;
    }
    s->maxshift = (size_t)s->maxoff + ((size_t)s->maxpre + s->downsamp - 1) / s->downsamp;
    return d->late ? align_trials(s, err) : PSR_OK;
}

psr_status psr_dedisp_layout_make(struct psr_dedisp_layout *s, const struct psr_dedisp_desc *d,
                                  int32_t *position, double *top_mhz, psr_err *err)
{
    struct ranked *rank = NULL;
    psr_status st = rank_channels(d, &rank, err);
    if (st)
        return st;
    s->nkept = 0;
    for (size_t q = 0; q < d->nchan; q++) {
        size_t c = rank[q].c;
        position[c] = -1;
        if (d->keep && !d->keep[c])
            continue;
        position[c] = (int32_t)s->nkept;
        s->chan[s->nkept++] = c;
    }
    *top_mhz = rank[0].freq_mhz;
    if (s->nkept)
        st = set_shifts(s, d, rank, position, err);
    else
        st = psr_fail_field(err, PSR_EINVAL, "keep", "dedispersion: none of %zu channels is kept",
                            d->nchan);
    free(rank);
    return st;
}

struct psr_delay_frame psr_dedisp_layout_frame(const struct psr_dedisp_layout *s)
{
    return (struct psr_delay_frame){s->coeff_top, s->coeff_low, s->dt_s};
}

void psr_dedisp_layout_delays(const struct psr_dedisp_layout *s, size_t k, size_t i0, size_t n,
                              int32_t *d)
{
    const struct psr_delay_frame frame = psr_dedisp_layout_frame(s);
    const double *dm = s->dm + i0, coeff = s->coeff[k];
    const double first = s->coeff[k / PSR_TOL_GROUP * PSR_TOL_GROUP];
    if (s->algo == PSR_DEDISP_TREE)
        for (size_t i = 0; i < n; i++)
            d[i] = psr_merge_delay(&s->tree, i0 + i, k);
    else if (s->tol && s->algo == PSR_DEDISP_DIRECT)
        for (size_t i = 0; i < n; i++)
            d[i] = psr_dedisp_delay_tolerant(dm[i], coeff, first, &frame);
    else
        for (size_t i = 0; i < n; i++)
            d[i] = psr_dedisp_delay_of(dm[i], coeff, s->coeff_top, s->dt_s);
    for (size_t i = 0; i < n && s->align; i++)
        d[i] += s->align[i0 + i];
}

uint64_t psr_dedisp_layout_sample_max(const struct psr_dedisp_layout *s)
{
    return s->sample_max * s->downsamp;
}

uint32_t psr_dedisp_layout_bias(const struct psr_dedisp_layout *s)
{
    return s->kind == PSR_INT ? s->sample_bias : 0;
}

double psr_dedisp_layout_offset(const struct psr_dedisp_layout *s)
{
    return (double)s->sample_bias * (double)s->downsamp * (double)s->nkept;
}

double psr_dedisp_layout_divisor(const struct psr_dedisp_layout *s)
{
    return (double)s->summed * (double)s->downsamp;
}
