/* Computes blocks, widths and power thresholds of a search from its description. */
#include "pulscan_internal.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "dsp/dsp.h"
#include "stats/signif_core.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Converts between the power of a box and its sigma. */

/* --- noise of finite stretches ---------------------------------------------------------------- */

/* --- noise that was de-reddened --------------------------------------------------------------- */

struct psr_span psr_significance_last_block(const struct psr_redden *redden, int64_t nbin)
{
    int64_t before = 0, k = 1, n = 1;
    while (redden->start > 0 && k < nbin) {
        n = psr_redden_length(redden, k, nbin);
        if (k + n >= nbin)
            return (struct psr_span){before, n};
        before = k + n / 2;
        k += n;
    }
    return (struct psr_span){nbin, 1};
}

/* Bins of the shorter of the two blocks between whose middles bin first lies, or near enough. */
static double block_bins(const struct psr_significance *o, int64_t first, int64_t last)
{
    if (last >= o->last.first)
        return (double)o->last.count;
    int64_t n = psr_redden_length(&o->redden, first, INT64_MAX), before = first - 3 * n / 2;
    return (double)psr_redden_length(&o->redden, before > 1 ? before : 1, INT64_MAX);
}

/* A median of n powers, n some tens, scatters by 1.44 / sqrt(n), which spreads what it normalises
 * far wider than the medians of stretches do; the more so the rarer the box: L is -ln of the chance
 * that matters.  A box wider than n bins takes its own level with it.  Harmonics have levels of
 * their own, which are wrong each in its own way.  As with stretches a factor to the degrees of
 * freedom is what is left, which keeps the order of boxes, and of bright signals the sigma; form
 * and numbers were fitted to exceedances of 1e-4 to 1e-7 for n = 30 .. 200, w = 1 .. 513 and 1 to 8
 * harmonics, which it meets within a factor of 2, mostly (tests/science). */
static double spread_of_levels(const struct psr_significance *o,
                               const struct psr_significance_box *box)
{
    const double rarity = 1.09 * log(30 * o->trials) - 4;
    double sum = 0, weight = box->nharm * (box->nharm + 1) / 2.0;
    for (int h = 1; h <= box->nharm; h++) {
        double bins = (double)h * (box->z + 1);
        int64_t first = h * box->first, last = h * (box->first + box->z) + h - 1;
        double n = box->first < 0
                       ? (double)psr_redden_length(&o->redden, (int64_t)o->nbin, INT64_MAX)
                       : block_bins(o, first, last);
        sum += h / weight * rarity * pow(bins, 0.28) / (n - 2 + bins / 3.5);
    }
    double half = sum / sqrt(box->nharm) / 2;
    return 1 / ((1 + half) * (1 + half));
}

/* --- stretches -------------------------------------------------------------------------------- */

static size_t normblock(const struct psr_pulscan_desc *d)
{
    size_t n = d->normblock;
    if (n == 0)
        n = d->compat || d->zmax > 136 ? 30 * (size_t)d->zmax : 4096;
    return n < d->nbin ? n : d->nbin;
}

static double spread(const struct psr_significance *o, const struct psr_significance_box *box)
{
    /* Medians and deviations of stretches of n bins scatter, and so do the powers they
     * normalise: a box of w bins (h w of harmonic h) is spread a little wider than chi^2, as if
     * it had fewer degrees of freedom by this factor.  The box is part of its stretch, which
     * takes back three quarters of what the scatter alone would add in wide boxes; in narrow
     * ones, whose tails are of few bright bins, it does not.  The two numbers were fitted to
     * exceedances of 1e-3 to 1e-5 of noise (tests/science). */
    int nharm = box->nharm;
    int z = box->z;
    double bins = (2 * nharm + 1) / 3.0 * (z + 1); /* mean over harmonics, by their own bins */
    double s = 1 / (1 + (40 + 1.2 * bins) / o->normblock);
    return o->redden.start > 0 ? s * spread_of_levels(o, box) : s;
}

/* --- effective number of trials --------------------------------------------------------------- */

/* Boxes that overlap are trials of the same noise.  One that begins at a given bin, of w bins after
 * boxes of v < w, is worth I T / (I + T) independent trials:
 *
 *   I = b ln((1 + W / (v + 1/2)) / (1 + W / (w + 1/2)))   what w adds to v, if shifts are free,
 *   T = 1 / (1 + w / (1.4 L))                             what boxes of w alone are worth,
 *   b = 2.5 + 2.75 (1 - 1/H),  W = 14 (L / 15)^3.5,
 *
 * and that of one bin 1, or 0.6 where sums of fewer harmonics were searched before.  L is -ln of
 * the chance of a single box at which the search has a false alarm in one spectrum of 300: the
 * rarer, the less neighbours share it, so that N_eff / nbin grows with nbin.  Widths add little
 * beyond some tens of bins: N_eff / nbin is 1 for zmax 0 and one harmonic, 6 for zmax 1200, 15 for
 * four harmonics, 7 of these with z = 0, 1, 2, 4 .. (at 65536 bins).
 *
 * The form is a guess at Siegmund and Venkatraman's (1995) asymptotics for intervals of unknown
 * place and length; its six numbers were fitted to 2^14 .. 2^21 bins, zmax 0 .. 1200, 1 to 4
 * harmonics, every z, every other z and log z, at false alarms of 0.16 to 0.001, which it meets
 * within 8 % (rms).  The tenth on top keeps false alarms below what sigma says. */
static double worth(double l, int nharm, int narrower, int width)
{
    double b = 2.5 + 2.75 * (1 - 1.0 / nharm), reach = 14 * pow(l / 15, 3.5);
    double i = b * log((1 + reach / (narrower + 0.5)) / (1 + reach / (width + 0.5)));
    double t = 1 / (1 + width / (1.4 * l));
    return i * t / (i + t);
}

static double trials_at(const struct psr_pulscan_search *s, double l)
{
    double n = 0;
    for (size_t h = 0; h < s->nharm; h++)
        for (size_t k = 0; k < s->nz; k++) {
            const struct psr_boxes *b = &s->boxes[h * s->nz + k];
            double each = k ? worth(l, s->harm[h], s->z[k - 1] + 1, s->z[k] + 1) : h ? 0.6 : 1;
            n += b->hi > b->lo ? (double)(b->hi - b->lo) * each : 0;
        }
    return fmax(1, 1.1 * n);
}

/* N_eff of a search whose boxes have their lo and hi. */
static double significance_calibrated(const struct psr_pulscan_search *s)
{
    double n = 10 * (double)s->nbin;
    for (int i = 0; i < 4; i++)
        n = trials_at(s, log(n * 300));
    return n;
}

double psr_significance_trials(const struct psr_significance *o, int nharm)
{
    return o->compat ? o->zmax * (floor(o->nbin / nharm) - 1) / 6.95 : o->trials;
}

/* --- Pulscan's own arithmetic ----------------------------------------------------------------- */

static double compat_shift(double dof)
{
    /* ln gamma(a) less its series for large a (Abramowitz and Stegun 6.1.41, four terms), which Pulscan
     * takes for all a. */
    const double a = dof / 2;
    double y = 1 / (a * a);
    double tail = (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - y / 1680) * y) * y) / a;
    return lgamma(a) - ((a - 0.5) * log(a) - a + 0.5 * log(2 * M_PI) + tail);
}

/* Pulscan takes the rough formula for ln p < -600. */
static double compat_sigma(double ln_p)
{
    double sigma = ln_p < -600 ? signif_rough_quantile(ln_p)
                   : ln_p >= 0 ? 0
                               : psr_gauss_sigma(psr_logp_from_sf(ln_p));
    return fmax(sigma, 0);
}

/* --- the paper's polynomial ------------------------------------------------------------------- */

/* Between dof / 1.05 and this many dof the polynomial falls, from -0.09 dof to -0.03 dof, where it
 * should rise from nothing: such powers are taken to be noise. */
static const double poly_knee = 1.2223;

static struct psr_logp poly_alone(double power, double dof)
{
    return psr_logp_from_sf(power < poly_knee * dof ? 0 : psr_pulscan_logp(power, dof));
}

static double poly_power(double ln_p, double dof)
{
    double lo = poly_knee * dof, hi = 2 * lo;
    while (psr_pulscan_logp(hi, dof) > ln_p && hi < 1e12)
        hi *= 2;
    for (int i = 0; i < 60; i++) {
        double mid = (lo + hi) / 2;
        if (psr_pulscan_logp(mid, dof) > ln_p)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* --- powers and sigmas ------------------------------------------------------------------------ */

struct psr_logp psr_significance_alone(const struct psr_significance *o, double power,
                                       const struct psr_significance_box *box)
{
    double dof = psr_pulscan_dof(box->nharm, box->z);
    if (o->significance == PSR_PULSCAN_POLY)
        return poly_alone(power, dof);
    if (!o->compat) {
        double s = spread(o, box);
        return psr_chi2_logp(power * s, dof * s);
    }
    struct psr_logp p = psr_chi2_logp(power, dof);
    return power > dof ? psr_logp_from_sf(fmin(p.ln_sf + compat_shift(dof), 0)) : p;
}

double psr_significance_sigma(const struct psr_significance *o, double power,
                              const struct psr_significance_box *box)
{
    struct psr_logp p = psr_significance_alone(o, power, box);
    double n = psr_significance_trials(o, box->nharm);
    if (o->compat)
        return compat_sigma(p.ln_sf + log(n));
    return psr_gauss_sigma(psr_logp_trials(p, n, PSR_TRIALS_SIDAK));
}

/* The power whose sigma is this, wherever that needs least: of no smaller power is sigma above it,
 * and where spectra are as they were transformed, of any larger one it is. */
static double significance_power(const struct psr_significance *o, double sigma, int nharm, int z)
{
    double dof = psr_pulscan_dof(nharm, z), n = psr_significance_trials(o, nharm);
    if (o->compat && sigma < 0)
        return -1; /* sigmas below 0 are 0 */
    if (o->compat) {
        double l = psr_gauss_logp(sigma).ln_sf - log(n) - compat_shift(dof);
        return fmax(psr_chi2_threshold(psr_logp_from_sf(fmin(l, 0)), dof), dof);
    }
    struct psr_logp p = psr_logp_trials(psr_gauss_logp(sigma), 1 / n, PSR_TRIALS_SIDAK);
    if (o->significance == PSR_PULSCAN_POLY)
        return poly_power(p.ln_sf, dof);
    double s = spread(o, &(struct psr_significance_box){nharm, z, -1});
    return psr_chi2_threshold(p, dof * s) / s;
}

/* --- widths and harmonics --------------------------------------------------------------------- */

static int next_z(const struct psr_pulscan_desc *d, int z)
{
    if (d->logz)
        return z ? 2 * z : 1;
    return z + (d->zstep ? d->zstep : 1);
}

static psr_status set_widths(struct psr_pulscan_search *s, const struct psr_pulscan_desc *d,
                             psr_err *err)
{
    int end = d->zmax + !d->compat;
    for (int z = 0; z < end; z = next_z(d, z))
        s->nz++;
    s->nharm = d->nnharm;
    s->z = psr_own(&s->own, s->nz, sizeof *s->z);
    s->harm = psr_own(&s->own, s->nharm, sizeof *s->harm);
    s->nprefilter = psr_own(&s->own, s->nharm, sizeof *s->nprefilter);
    s->boxes = psr_own(&s->own, s->nharm * s->nz, sizeof *s->boxes);
    s->prefilter = psr_own(&s->own, s->nharm * s->nz, sizeof *s->prefilter);
    psr_status st = psr_own_check(&s->own, "widths of boxes", err);
    if (st)
        return st;
    for (size_t k = 0, z = 0; z < (size_t)end; z = (size_t)next_z(d, (int)z))
        s->z[k++] = (int)z;
    memcpy(s->harm, d->nharm, s->nharm * sizeof *s->harm);
    return PSR_OK;
}

/* The last block's medians include bins before it, so that they scatter like the others. */
static psr_status set_stretches(struct psr_pulscan_search *s, psr_err *err)
{
    int64_t nbin = (int64_t)s->nbin, n = (int64_t)s->normblock;
    s->nnorm_block = (size_t)((nbin + n - 1) / n);
    s->norm_block = psr_own(&s->own, s->nnorm_block, sizeof *s->norm_block);
    for (size_t k = 0; s->norm_block && k < s->nnorm_block; k++) {
        int64_t begin = (int64_t)k * n, end = begin + n < nbin ? begin + n : nbin;
        int64_t first = s->compat ? begin : end - n;
        s->norm_block[k] = (struct psr_norm_block){begin, end, first, end - first};
    }
    return psr_own_check(&s->own, "normalisation", err);
}

static psr_status set_zaps(struct psr_pulscan_search *s, const struct psr_pulscan_desc *d,
                           psr_err *err)
{
    if (d->nzap == 0)
        return PSR_OK;
    s->zap = psr_own(&s->own, d->nzap, sizeof *s->zap);
    if (!s->zap)
        return psr_own_check(&s->own, "bins to zap", err);
    memcpy(s->zap, d->zap, d->nzap * sizeof *s->zap);
    s->nzap = psr_spans_tidy(s->zap, d->nzap, 1, (int64_t)s->nbin);
    return PSR_OK;
}

/* --- boxes ------------------------------------------------------------------------------------ */

/* Below (H - 1)(z + 1) the bins of harmonic H - 1 reach into those of harmonic H. */
static void set_starts(const struct psr_pulscan_search *s, const struct psr_pulscan_desc *d,
                       int harm, int z, struct psr_boxes *b)
{
    int64_t n = psr_pulscan_length(s, harm);
    *b = (struct psr_boxes){.lo = 1, .hi = s->compat ? n : n - z};
    if (s->compat)
        return;
    int64_t apart = (int64_t)(harm - 1) * (z + 1);
    b->lo = d->rlo > 1 ? d->rlo : 1;
    b->lo = apart > b->lo ? apart : b->lo;
    if (d->rhi && d->rhi - z + 1 < b->hi)
        b->hi = d->rhi - z + 1;
}

/* Largest float that is not above power. */
static float round_down(double power)
{
    float f = (float)fmin(power, 3e38);
    return (double)f > power ? nextafterf(f, -INFINITY) : f;
}

static void set_floors(struct psr_pulscan_search *s, const struct psr_significance *o, double sigma)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(s->nthread)
    for (size_t k = 0; k < s->nharm * s->nz; k++)
        if (!psr_is_stopped(&s->stop))
            s->boxes[k].floor =
                round_down(significance_power(o, sigma, s->harm[k / s->nz], s->z[k % s->nz]));
}

/* Widths are taken together as long as noise puts the widest box of some thousands above the floor
 * of the narrowest, or of any between, only now and then: once in 500 tiles. */
static void set_prefilter(struct psr_pulscan_search *s, size_t h)
{
    enum { TILE = 4096 };
    const struct psr_boxes *box = s->boxes + h * s->nz;
    struct psr_prefilter *prefilter = s->prefilter + h * s->nz;
    const double ln_rare = log(0.002 / TILE);
    size_t n = 0;
    for (size_t k = 0; k < s->nz; n++) {
        prefilter[n] = (struct psr_prefilter){s->z[k] + 1, box[k].floor};
        for (k++; k < s->nz; k++) {
            float floor = fminf(prefilter[n].floor, box[k].floor);
            if (psr_chi2_logp((double)floor, psr_pulscan_dof(s->harm[h], s->z[k])).ln_sf > ln_rare)
                break;
            prefilter[n] = (struct psr_prefilter){s->z[k] + 1, floor};
        }
    }
    s->nprefilter[h] = n;
}

/* --- the whole -------------------------------------------------------------------------------- */

psr_status psr_pulscan_resolve(struct psr_pulscan_search *s, struct psr_significance *o,
                               const struct psr_pulscan_desc *d, psr_err *err)
{
    *s = (struct psr_pulscan_search){
        .nbin = d->nbin,
        .series = d->series,
        .redden = d->redden,
        .batch = d->batch ? d->batch : 1,
        .compat = d->compat,
        .normblock = normblock(d),
        .by_block = d->compat || d->rblock,
        .block = (d->compat || d->rblock) && d->block ? (int64_t)d->block : 4096,
        .rlo = d->rlo,
        .rhi = d->rhi && d->rhi < (int64_t)d->nbin ? d->rhi : (int64_t)d->nbin - 1,
        .logz = d->logz,
        .nthread = psr_count_threads(d->nthread),
        .mem_bytes = psr_count_memory(d->mem_bytes),
        .device = d->device,
        .stop = {d->should_stop, d->ctx, d->progress},
    };
    psr_status st;
    if ((st = set_widths(s, d, err)) || (st = set_stretches(s, err)) || (st = set_zaps(s, d, err)))
        return st;
    for (size_t k = 0; k < s->nharm * s->nz; k++)
        set_starts(s, d, s->harm[k / s->nz], s->z[k % s->nz], &s->boxes[k]);
    *o = (struct psr_significance){
        .significance = d->significance,
        .compat = d->compat,
        .nbin = (double)d->nbin,
        .normblock = (double)s->normblock,
        .zmax = d->zmax,
        .trials = d->ntrials > 0 ? d->ntrials : significance_calibrated(s),
        .redden = d->redden,
        .last = psr_significance_last_block(&d->redden, (int64_t)d->nbin),
    };
    set_floors(s, o, d->sigma);
    for (size_t h = 0; h < s->nharm && !psr_is_stopped(&s->stop); h++)
        set_prefilter(s, h);
    return psr_is_stopped(&s->stop) ? psr_fail(err, PSR_ESTOPPED, "stopped") : PSR_OK;
}

void psr_pulscan_forget(struct psr_pulscan_search *s)
{
    psr_own_free(&s->own);
}

/* --- a list of peaks that grows --------------------------------------------------------------- */

psr_status psr_pulscan_room(struct psr_pulscan_found *found, size_t n, psr_err *err)
{
    psr_status st = PSR_OK;
    if (n > found->most || found->n > found->most - n)
        return psr_fail(err, PSR_ENOMEM,
                        "search: %zu boxes above the threshold of sigma are more than the limit of "
                        "memory has room for, which are %zu: raise either",
                        found->n + n, found->most);
    while (!st && found->cap - found->n < n)
        st = psr_grow(&found->peak, &found->cap, found->cap, sizeof *found->peak, "peaks", err);
    return st;
}
