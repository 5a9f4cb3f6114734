/* Measures candidates where the summed power of their harmonics is largest. */
#include "accel_refine.h"
#include "search/matched/response/accel_internal.h"
#include "search/matched/response/response.h"
#include "stats/stats.h"

#include <psrkit/experimental/accel.h>
#include <psrkit/signif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The simplex's variables are the offsets of the highest harmonic's r, z and w, over these. */
static const double UNIT[PSR_SIMPLEX_MOST] = {1, 4, 40};
static const double STEP = 0.4, TOLERANCE = 1e-3, REACH = 0.02;
static const double LEAST_POWER = 0.01, LEAST_PURITY = 0.01;

/* Steps on which the variables lie in the end: spectra of two devices differ in their last bits, and what is
 * measured there, folded and said of it should not.  A power of 10^6 is measured to twice as much. */
static const double GRID = 1.0 / 4096;

/* --- what all have in common ------------------------------------------------------------------ */

psr_status psr_accel_measured_make(struct psr_accel_measured *out,
                                   const struct psr_accel_peaks *peaks, psr_err *err)
{
    size_t nharm = 0;
    for (size_t k = 0; k < peaks->n; k++)
        nharm += (size_t)peaks->peak[k].nharm;
    *out = (struct psr_accel_measured){
        .cand = calloc(peaks->n + 1, sizeof *out->cand),
        .harm = calloc(nharm + 1, sizeof *out->harm),
        .n = peaks->n,
    };
    if (!out->cand || !out->harm) {
        psr_accel_measured_clear(out);
        return psr_fail_nomem(err, "candidates", (double)(nharm * sizeof *out->harm));
    }
    struct psr_accel_harm *harm = out->harm;
    for (size_t k = 0; k < peaks->n; k++) {
        out->cand[k].harm = harm;
        harm += peaks->peak[k].nharm;
    }
    return PSR_OK;
}

void psr_accel_measured_clear(struct psr_accel_measured *m)
{
    free(m->cand);
    free(m->harm);
    *m = (struct psr_accel_measured){0};
}

void psr_accel_fill_errors(struct psr_accel_harm *h)
{
    const double power = h->power.value, purity = h->purity.value;
    h->sigma = fmax(0, psr_gauss_sigma(psr_chi2_logp(2 * power, 2)));
    h->power.error = sqrt(2 * power);
    h->phase_rad.error = 1 / h->power.error;
    h->centroid.error = 1 / sqrt(24 * power);
    h->purity.error = 1 / (purity * sqrt(10 * power));
    h->r.error = 3 / (M_PI * purity * sqrt(6 * power));
    h->z.error = 3 * sqrt(10 / power) / (M_PI * purity * purity);
    h->w.error = 30 * sqrt(14 / power) / (M_PI * purity * purity * purity);
}

double psr_accel_coherent(const struct psr_accel_harm *harm, int nharm, double mean)
{
    const double first = harm[0].phase_rad.value;
    double re = 0, im = 0;
    for (int h = 1; h <= nharm; h++) {
        double phase = harm[h - 1].phase_rad.value + first - fmod(h * first, 2 * M_PI);
        double amplitude = sqrt(mean > 0 ? harm[h - 1].raw / mean : harm[h - 1].power.value);
        re += amplitude * cos(phase);
        im += amplitude * sin(phase);
    }
    return re * re + im * im;
}

/* --- one peak --------------------------------------------------------------------------------- */

/* Bins around its harmonics from..to, and where the descent begins. */
struct place {
    const struct psr_accel_search *s;
    const struct psr_accel_normalise *norm;
    const struct psr_accel_lines *lines;
    const struct psr_accel_peak *peak;
    psr_accel_template *around[PSR_ACCELSEARCH_MAX_HARM]; /* by harmonic - 1 */
    int from, to;
};

static psr_status take_bins(struct place *p, int h, psr_err *err)
{
    const struct psr_accel_peak *k = p->peak;
    const int reach =
        psr_response_halfwidth(fabs(h * k->z) + UNIT[1], fabs(h * k->w) + UNIT[2], true);
    const size_t n = 2 * (size_t)reach;
    const int64_t first = (int64_t)floor(h * k->r) - reach;
    float *x = malloc(4 * n * sizeof *x);
    if (!x)
        return psr_fail_nomem(err, "a candidate's bins", 16.0 * (double)n);
    struct psr_split bin = {x + 2 * n, x + 3 * n};
    psr_accel_normalise_load(p->norm, first, n, bin);
    psr_accel_lines_clean(p->lines, h * k->r, first, n, bin);
    if (k->others >> (h - 1) & 1) { /* nothing of it is this one's */
        memset(bin.re, 0, n * sizeof *bin.re);
        memset(bin.im, 0, n * sizeof *bin.im);
    }
    for (size_t i = 0; i < n; i++) { /* mean power 1 to a variance of 1 in each part */
        x[2 * i] = (float)M_SQRT2 * bin.re[i];
        x[2 * i + 1] = (float)M_SQRT2 * bin.im[i];
    }
    psr_status st = psr_accel_template_make(&p->around[h - 1], p->s->plans, x, first, n, err);
    free(x);
    return st;
}

/* Of harmonic h at the simplex's x. */
struct spot {
    double r, z, w;
};

static struct spot spot_of(const struct place *p, const double *x, int h)
{
    const struct psr_accel_peak *k = p->peak;
    const double times = (double)h / p->to;
    return (struct spot){
        .r = h * k->r + times * UNIT[0] * x[0],
        .z = p->s->jmax > 0 ? h * k->z + times * UNIT[1] * x[1] : 0,
        .w = p->s->lmax > 0 ? h * k->w + times * UNIT[2] * x[2] : 0,
    };
}

static double minus_power(void *ctx, const double *x)
{
    const struct place *p = ctx;
    double sum = 0;
    for (int h = p->from; h <= p->to; h++) {
        const struct spot at = spot_of(p, x, h);
        sum += psr_accel_template_power(p->around[h - 1], at.r, at.z, at.w);
    }
    return -sum;
}

static void descend(struct place *p, int from, int to, double *x)
{
    struct psr_simplex f = {minus_power, p, 1 + (p->s->jmax > 0) + (p->s->lmax > 0)};
    p->from = from;
    p->to = to;
    psr_simplex_descend(&f, x, STEP, TOLERANCE);
    psr_simplex_polish(&f, x, REACH);
    for (int i = 0; i < f.n; i++)
        x[i] = GRID * rint(x[i] / GRID);
}

static void describe_harmonic(const struct place *p, const double *x, int h,
                              struct psr_accel_harm *harm)
{
    const struct spot at = spot_of(p, x, h);
    struct psr_accel_template_peak peak;
    psr_accel_template_respond_jerk(p->around[h - 1], at.r, at.z, at.w, &peak);
    *harm = (struct psr_accel_harm){
        .power.value = fmax(peak.power, LEAST_POWER),
        .raw = peak.power * psr_accel_normalise_at(p->norm, (int64_t)rint(peak.r)),
        .r.value = peak.r,
        .z.value = peak.z,
        .w.value = h * p->peak->w + (p->s->lmax > 0 ? h * UNIT[2] * x[2] / p->to : 0),
        .phase_rad.value = peak.phase_rad,
        .centroid.value = peak.centroid,
        .purity.value = fmax(peak.purity, LEAST_PURITY),
    };
    psr_accel_fill_errors(harm);
}

/* The same from spectra that differ in their last bits; a power of P is known to sqrt(2 P). */
static double round_to_13_bits(double x)
{
    int exponent;
    const double mantissa = frexp(x, &exponent);
    return ldexp(rint(ldexp(mantissa, 13)), exponent - 13);
}

/* Given:    p   around nothing yet */
static psr_status refine_one(struct place p, struct psr_accel_cand *cand,
                             struct psr_accel_harm *harm, psr_err *err)
{
    const struct psr_accel_search *s = p.s;
    const struct psr_accel_peak *peak = p.peak;
    psr_status st = PSR_OK;
    for (int h = 1; h <= peak->nharm && !st; h++)
        st = take_bins(&p, h, err);
    if (!st) {
        double x[PSR_SIMPLEX_MOST] = {0};
        descend(&p, 1, peak->nharm, x);
        for (int h = 1; h <= peak->nharm; h++)
            describe_harmonic(&p, x, h, &harm[h - 1]);
        /* For the fundamental of several harmonics: harmonic h determines r, z and w h times as
         * precisely. */
        const struct psr_accel_peak *k = p.peak;
        double weight = 0, r = k->r + UNIT[0] * x[0] / p.to;
        double z = p.s->jmax > 0 ? k->z + UNIT[1] * x[1] / p.to : 0;
        double w = p.s->lmax > 0 ? k->w + UNIT[2] * x[2] / p.to : 0;
        for (int h = 1; h <= k->nharm; h++)
            weight += h * h * harm[h - 1].power.value;
        /* It is r - w / 60 that is uncorrelated with w. */
        double zerr = 3 * sqrt(10 / weight) / M_PI, werr = 30 * sqrt(14 / weight) / M_PI;
        const double dof = 2.0 * (k->nharm - __builtin_popcount(k->others));
        double rerr = hypot(3 / (M_PI * sqrt(6 * weight)), p.s->lmax > 0 ? werr / 60 : 0);
        *cand = (struct psr_accel_cand){
            .sigma = k->sigma,
            .power = k->power,
            .nharm = k->nharm,
            .r = {r, rerr},
            .z = {z, p.s->jmax > 0 ? zerr : 2.0 / k->nharm},
            .w = {w, p.s->lmax > 0 ? werr : 20.0 / k->nharm},
            .harm = harm,
            .dof = dof,
            .ln_p = psr_chi2_logp(2 * k->power, dof).ln_sf,
            .first = (int64_t)floor(r - fabs(z) / 2),
            .width = (int64_t)fabs(z) + 1,
            .sign_known = true,
            .members = 1,
        };
        for (int h = 1; h <= peak->nharm && s->free_harmonics; h++) {
            double own[PSR_SIMPLEX_MOST] = {0};
            descend(&p, h, h, own);
            describe_harmonic(&p, own, h, &harm[h - 1]);
        }
        cand->coherent = round_to_13_bits(psr_accel_coherent(harm, peak->nharm, 0));
    }
    for (int h = 0; h < PSR_ACCELSEARCH_MAX_HARM; h++)
        psr_accel_template_destroy(p.around[h]);
    return st;
}

psr_status psr_accel_refine(struct psr_accel_measured *out, const struct psr_accel_search *s,
                            const struct psr_accel_normalise *norm,
                            const struct psr_accel_lines *lines,
                            const struct psr_accel_peaks *peaks, psr_err *err)
{
    psr_status all = psr_accel_measured_make(out, peaks, err);
    if (all)
        return all;
#pragma omp parallel for schedule(dynamic) num_threads(s->nthread) if (peaks->n > 1)
    for (size_t k = 0; k < peaks->n; k++) {
        psr_err why;
        struct psr_accel_cand *cand = &out->cand[k];
        struct psr_accel_harm *harm = out->harm + (cand->harm - out->harm);
        const struct place p = {s, norm, lines, &peaks->peak[k], {NULL}, 0, 0};
        psr_status st = psr_is_stopped(&s->stop) ? psr_fail(&why, PSR_ESTOPPED, "stopped")
                                                 : refine_one(p, cand, harm, &why);
#pragma omp critical(psr_accel_refine)
        if (st && !all) {
            all = st;
            if (err)
                *err = why;
        }
    }
    if (all)
        psr_accel_measured_clear(out);
    else
        psr_refine_note(out->cand, out->n);
    return all;
}
