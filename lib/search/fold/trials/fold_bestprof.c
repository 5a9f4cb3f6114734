/* The best profile of a searched fold, its statistics and errors, as prepfold derives them from the
 * .pfd. */
#include "formats/series/series_internal.h"
#include "search/fold/fold_internal.h"
#include "search/fold/kernels/fold_sums.h"

#include <psrkit/series.h>
#include <psrkit/signif.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the period ------------------------------------------------------------------------------- */

/* The best period on the clock of the samples. */
static const struct psr_fold_period *choose_period(const struct psr_pfd *p)
{
    return p->fold.flag == 1 ? &p->bary : &p->topo;
}

/* Delay of every part in bins, for the best period rather than the folded one.  prepfold has times of
 * parts in single precision. */
static void find_delays(const struct psr_pfd *p, double *delay)
{
    const struct psr_fold_period *best = choose_period(p);
    const double f = p->fold.f, fd = p->fold.fd, fdd = p->fold.fdd, period_s = 1 / f;
    const double folded_pd = fd == 0 ? 0 : -fd / (f * f);
    const double df = 1 / best->p - f, dfd = -best->pd / (period_s * period_s) - fd;
    const double part_s = p->stats[0].numdata * p->tsamp_s;
    double dfdd = 0;
    if (best->pdd != 0)
        dfdd = 2 * folded_pd * folded_pd / (period_s * period_s * period_s) -
               best->pdd / (period_s * period_s) - fdd;
    for (int32_t i = 0; i < p->npart; i++) {
        const double s = (double)(float)(i * part_s);
        const double turns = dfdd * s * s * s / 6 + dfd * s * s / 2 + df * s;
        delay[i] = turns * p->nbin;
    }
}

/* --- the profile ------------------------------------------------------------------------------ */

/* Rotates part i by the nearest bin of its delay and adds it. */
static void add_part(const struct psr_fold_trials *t, const double *part, double delay,
                     double *profile)
{
    double bins = fmod(delay, (double)t->nbin);
    bins += bins < 0 ? (double)t->nbin : 0;
    const size_t shift = (size_t)(bins + 0.5) % t->nbin;
    for (size_t b = 0; b < t->nbin; b++)
        profile[(b + shift) % t->nbin] += part[b];
}

/* What the bins of a profile are correlated by, because samples are spread over bins: the effective
 * degrees of freedom over bins less one (PRESTO's formula of 2020, from simulations). */
static double find_correlation(double samples_per_bin)
{
    static const double power = 1.806, factor = 0.96;
    return samples_per_bin * factor * pow(1 + pow(samples_per_bin, power), -1 / power);
}

static double samples_per_bin(const struct psr_pfd *p, double period_s)
{
    return period_s / p->nbin / p->tsamp_s;
}

double psr_fold_correction(const struct psr_pfd *p)
{
    return (double)(float)(1 / find_correlation(samples_per_bin(p, choose_period(p)->p)));
}

/* Given: work   [npart + nbin]; part_stats   [npart] */
static void sum_profile(const struct psr_fold_trials *t, double *work, size_t *offset,
                        struct psr_fold_stats *part_stats, double *profile,
                        struct psr_fold_stats *stats)
{
    const struct psr_pfd *p = t->fold;
    double *delay = work, *part = work + t->npart, chi2 = 0;
    *stats = (struct psr_fold_stats){.numprof = p->nbin};
    find_delays(p, delay);
    psr_fold_trials_add_stats(t, part_stats);
    if (p->nsub > 1)
        psr_fold_trials_dm_offsets(t, p->dm, offset);
    for (size_t i = 0; i < t->npart; i++) {
        memset(part, 0, t->nbin * sizeof *part);
        psr_fold_trials_add_bands(t, i, offset, part);
        add_part(t, part, delay[i], profile);
        const struct psr_fold_stats *from = p->nsub > 1 ? &part_stats[i] : &p->stats[i];
        stats->numdata += from->numdata;
        stats->data_avg += from->data_avg;
        stats->data_var += from->data_var;
        stats->prof_avg += from->prof_avg;
        stats->prof_var += from->prof_var;
    }
    stats->data_avg /= p->npart;
    stats->data_var /= p->npart;
    for (size_t b = 0; b < t->nbin; b++)
        chi2 += (profile[b] - stats->prof_avg) * (profile[b] - stats->prof_avg);
    stats->redchi = stats->prof_var > 0 && p->nbin > 1
                        ? chi2 / stats->prof_var / (p->nbin - 1.0) * psr_fold_correction(p)
                        : 0;
}

/* --- errors ----------------------------------------------------------------------------------- */

/* Standard deviations of r, z and w, the frequency and its derivatives in units of the fold's
 * length. */
struct deviation {
    double r, z, w;
};

/* Each significant harmonic gives an estimate (Middleditch, Deich and Kulkarni 1993); they are
 * averaged, each with the inverse of its variance as its weight.
 * Given: spectrum   [nbin / 2 + 1] complex; norm   makes noise's powers 1 */
static struct deviation average_harmonics(const float *spectrum, int32_t nbin, double norm)
{
    static const double significant = 2.7;
    static const double one[3] = {0.38984840062, 3.01975272627, 19.5702343923};
    double sum[3] = {0, 0, 0}, weight[3] = {0, 0, 0};
    for (int32_t h = 1; h < nbin / 2; h++) {
        const double re = (double)spectrum[2 * h], im = (double)spectrum[2 * h + 1];
        const double power = (re * re + im * im) * norm;
        for (int k = 0; k < 3 && power > significant; k++) {
            const double error = one[k] / (sqrt(power) * h);
            const double inverse = 2 * power / (error * error);
            sum[k] += error * inverse;
            weight[k] += inverse;
        }
    }
    if (!(weight[0] > 0))
        return (struct deviation){0.5, 7.8, 50.2};
    return (struct deviation){sum[0] / weight[0], sum[1] / weight[1], sum[2] / weight[2]};
}

/* Of an odd number of bins, for which there is no fast transform: the first harmonics. */
static void transform_slowly(const float *in, int32_t nbin, float *out)
{
    enum { HARMONICS = 4096 };
    for (int64_t h = 0; h < nbin / 2 && h < HARMONICS; h++) {
        double re = 0, im = 0;
        for (int64_t b = 0; b < nbin; b++) {
            const double angle = 2 * M_PI * (double)(h * b % nbin) / nbin;
            re += (double)in[b] * cos(angle);
            im -= (double)in[b] * sin(angle);
        }
        out[2 * h] = (float)re;
        out[2 * h + 1] = (float)im;
    }
}

/* Errors of period and derivatives: by the errors of r, z and w.  error: [3] s, s/s, s/s^2 */
static psr_status find_errors(const struct psr_pfd *p, const double *profile, double ndata,
                              double data_var, double error[3], psr_err *err)
{
    const bool topo = p->tepoch_mjd != 0 || p->bary.p == 0;
    const struct psr_fold_period *best = topo ? &p->topo : &p->bary;
    const double length_s = ndata * p->tsamp_s, r = length_s / best->p, z = -best->pd * r * r;
    const double w = best->pdd == 0 ? 0 : 2 * z * z / r - best->pdd * r * r * length_s;
    const double norm = find_correlation(samples_per_bin(p, best->p)) / (ndata * data_var);
    float *spectrum = NULL;
    const int32_t nbin = p->nbin;
    psr_rfft *plan = NULL;
    psr_status st = PSR_OK;
    float *in = calloc((size_t)nbin + 2, sizeof *in);
    spectrum = calloc((size_t)nbin + 4, sizeof *spectrum);
    if (!in || !spectrum)
        st = psr_fail_nomem(err, "a profile", 8.0 * nbin);
    for (int32_t b = 0; b < nbin && !st; b++)
        in[b] = (float)profile[b];
    if (!st && nbin % 2)
        transform_slowly(in, nbin, spectrum);
    else if (!st && !(st = psr_rfft_create(&plan, nbin, err)))
        psr_rfft_execute(plan, in, spectrum);
    psr_rfft_destroy(plan);
    free(in);
    if (!st) {
        const struct deviation d = average_harmonics(spectrum, p->nbin, norm);
        const double r2 = r * r, r4 = r2 * r2, rw = r * w - 3 * z * z;
        error[0] = length_s * d.r / r2;
        error[1] = sqrt(4 * z * z * d.r * d.r / (r4 * r2) + d.z * d.z / r4);
        error[2] = sqrt((d.w * d.w * r4 + 16 * z * z * d.z * d.z * r2 + 4 * rw * rw * d.r * d.r) /
                        (r4 * r4 * length_s * length_s));
    }
    free(spectrum);
    return st;
}

/* --- the file's numbers ----------------------------------------------------------------------- */

static void set_text(char *to, const char *from)
{
    snprintf(to, PSR_TEXT_MAX, "%s", from ? from : "");
}

static void set_period(struct psr_bestprof_value *to, const struct psr_fold_period *from,
                       bool applies, const double error[3])
{
    const double value[3] = {from->p * 1000, from->pd, from->pdd};
    for (int k = 0; k < 3; k++)
        to[k] = applies ? (struct psr_bestprof_value){value[k], error[k] * (k ? 1 : 1000)}
                        : (struct psr_bestprof_value){NAN, 0};
}

double psr_fold_sigma_trials(double redchi, double dof, double ntrial)
{
    const struct psr_logp one = psr_chi2_logp(redchi * dof, fmax(dof, 1));
    return ntrial >= 1 ? fmax(psr_gauss_sigma(psr_logp_trials(one, ntrial, PSR_TRIALS_SIDAK)), 0)
                       : NAN;
}

static psr_status set_numbers(struct psr_bestprof *best, const struct psr_pfd *p,
                              const struct psr_fold_stats *stats, psr_err *err)
{
    double error[3];
    for (int32_t i = 0; i < p->npart; i++)
        best->ndata += p->stats[i * p->nsub].numdata;
    psr_status st = find_errors(p, best->profile, best->ndata, stats->data_var, error, err);
    if (st)
        return st;
    best->data_avg = stats->data_avg;
    best->data_std = sqrt(stats->data_var);
    best->prof_avg = stats->prof_avg;
    best->prof_std = sqrt(stats->prof_var);
    best->redchi = stats->redchi;
    set_text(best->input, p->input);
    set_text(best->candidate, p->candidate);
    set_text(best->telescope, p->telescope);
    best->tepoch_mjd = p->tepoch_mjd == 0 || p->tepoch_mjd == -1 ? NAN : p->tepoch_mjd;
    best->bepoch_mjd = p->bepoch_mjd == 0 ? NAN : p->bepoch_mjd;
    best->tsamp_s = p->tsamp_s;
    best->dm = p->nsub > 1 ? p->dm : NAN;
    const bool orbit = p->orbit.period_s != 0;
    best->orb_period_s = orbit ? p->orbit.period_s : NAN;
    best->asini_s = orbit ? p->orbit.asini_s : NAN;
    best->ecc = orbit ? p->orbit.ecc : NAN;
    best->omega_deg = orbit ? p->orbit.omega_deg : NAN;
    best->t0_mjd = orbit ? p->orbit.t0_mjd : NAN;
    const double dof = (p->nbin - 1.0) * find_correlation(samples_per_bin(p, choose_period(p)->p));
    const struct psr_logp logp = psr_chi2_logp(best->redchi * dof, fmax(dof, 1));
    best->prob = exp(logp.ln_sf);
    best->sigma = fmax(psr_gauss_sigma(logp), 0);
    best->ntrial = p->ntrial >= 1 ? p->ntrial : NAN;
    best->sigma_trials = psr_fold_sigma_trials(best->redchi, dof, p->ntrial);
    set_period(best->topo, &p->topo, p->tepoch_mjd != 0, error);
    set_period(best->bary, &p->bary, p->bepoch_mjd != 0, error);
    for (size_t b = 0; b < best->nbin; b++)
        best->profile[b] = (double)(float)best->profile[b];
    return PSR_OK;
}

psr_status psr_fold_bestprof(struct psr_bestprof *best, const struct psr_pfd *p, psr_err *err)
{
    const struct psr_fold_times none = {0, 1, 1};
    const double numbers = (double)p->npart * 9 + p->nbin + p->nsub;
    struct psr_fold_trials t;
    struct psr_fold_stats stats;
    memset(best, 0, sizeof *best);
    if (!(choose_period(p)->p > 0) || !(p->fold.f > 0))
        return psr_fail(err, PSR_EINVAL,
                        "fold: best period = %g s, folded at %g Hz: must be above 0",
                        choose_period(p)->p, p->fold.f);
    psr_status st = psr_fold_trials_init(&t, p, &none, err);
    if (st)
        return st;
    double *work = calloc(t.npart + t.nbin, sizeof *work);
    size_t *offset = calloc(t.nsub, sizeof *offset);
    struct psr_fold_stats *part_stats = calloc(t.npart, sizeof *part_stats);
    best->profile = calloc(t.nbin, sizeof *best->profile);
    best->nbin = t.nbin;
    if (!work || !offset || !part_stats || !best->profile)
        st = psr_fail_nomem(err, "a profile", numbers * 8);
    else {
        sum_profile(&t, work, offset, part_stats, best->profile, &stats);
        st = set_numbers(best, p, &stats, err);
    }
    free(work);
    free(offset);
    free(part_stats);
    psr_fold_trials_clear(&t);
    return st;
}
