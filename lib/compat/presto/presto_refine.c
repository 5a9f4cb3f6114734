/* Measures candidates as accelsearch does. */
#include "presto_refine.h"
#include "presto_grid.h"
#include "presto_response.h"
#include "stats/simplex.h"

#include "stats/presto_sigma.h"

#include <psrkit/signif.h>

#include <math.h>
#include <stdio.h>

/* A descent's variables are r and z / 4; it ends once with short responses and once with long ones.
 */
enum { MOST_NOTED = 60 };
static const double UNIT_Z = 4, STEP[2] = {0.4, 0.01}, TOLERANCE[2] = {1e-4, 1e-7}, SPARE_Z = 4;
static const double APART = 0.003; /* bins between the five places that derivatives come from */

/* A candidate being refined. */
struct place {
    struct psr_presto_response *p;
    const struct psr_accel_peak *peak;
    int from, to; /* harmonics that are added up */
    int half;
    double local[PSR_ACCELSEARCH_MAX_HARM]; /* power that each is over, by harmonic - 1 */
    psr_status status;
    psr_err *err;
};

static double rounded(double x)
{
    return (double)(float)x;
}

/* --- powers ----------------------------------------------------------------------------------- */

static double power_at(struct place *p, double r, double z, double w, int half)
{
    double complex a = 0;
    if (!p->status)
        p->status = psr_presto_amplitude(p->p, r, z, w, half, &a, p->err);
    return creal(a) * creal(a) + cimag(a) * cimag(a);
}

static double local_power(struct place *p, double r, double z, double w)
{
    double power = 1;
    if (!p->status)
        p->status = psr_presto_local_power(p->p, r, z, w, &power, p->err);
    return power;
}

/* Places are those of harmonic from, so that 1 means the fundamental's. */
static double minus_power(void *ctx, const double *x)
{
    struct place *p = ctx;
    double sum = 0;
    for (int h = p->from; h <= p->to; h++) {
        double times = (double)h / p->from;
        sum += power_at(p, times * x[0], times * UNIT_Z * x[1], 0, p->half) / p->local[h - 1];
    }
    return isfinite(sum) ? -sum : 0;
}

/* --- descents and grids ----------------------------------------------------------------------- */

/* From (r, z) of harmonic from; the second responses are as long as a quarter of the drift wants: z
 * is still in its unit there. */
static void climb(struct place *p, double *r, double *z)
{
    const double times = (double)p->to / p->from;
    const struct psr_simplex f = {minus_power, p, 2};
    double x[PSR_SIMPLEX_MOST] = {*r, *z / UNIT_Z};
    for (int pass = 0; pass < 2; pass++) {
        double drift = pass ? x[1] * times : *z * times;
        p->half = psr_response_halfwidth(fabs(drift) + SPARE_Z, 0, pass == 1);
        psr_simplex_descend(&f, x, STEP[pass], TOLERANCE[pass]);
    }
    *r = x[0];
    *z = x[1] * UNIT_Z;
}

/* --- one harmonic ----------------------------------------------------------------------------- */

/* Powers and phases at five places give their derivatives; a phase that falls by more than half a
 * turn is taken to have risen, and so is one that rises. */
static void describe(struct place *p, double r, double z, double w, double local,
                     struct psr_accel_harm *harm)
{
    const int half = psr_response_halfwidth(z, w, true);
    double power[5], phase[5], at = r - 2 * APART; /* added up: on a bin may be just below it */
    for (int k = 0; k < 5; k++, at += APART) {
        double complex a = 0;
        if (!p->status)
            p->status = psr_presto_amplitude(p->p, at, z, w, half, &a, p->err);
        power[k] = creal(a) * creal(a) + cimag(a) * cimag(a);
        phase[k] = carg(a) > 0 ? carg(a) : carg(a) + 2 * M_PI;
    }
    for (int k = 0; k < 4; k++)
        if (fabs(phase[k + 1] - phase[k]) > M_PI)
            phase[k + 1] -= 2 * M_PI;
    double curve = (power[4] - 2 * power[2] + power[0]) / (4 * APART * APART);
    double over = power[2] / local;
    *harm = (struct psr_accel_harm){
        .power.value = rounded(over),
        .raw = rounded(power[2]),
        .r.value = r,
        .z.value = z,
        .w.value = w,
        .phase_rad.value = rounded(phase[2]),
        .centroid.value = rounded((phase[1] - phase[3]) / (2 * APART) / (2 * M_PI)),
        .purity.value = rounded(sqrt(1.5 * fabs(curve / local) / over) / M_PI),
    };
    psr_accel_fill_errors(harm);
    harm->sigma = psr_presto_sigma(over, 1, 1);
    harm->w.error = 6 * sqrt(105 / over) / (M_PI * pow(harm->purity.value, 3));
}

/* Mean power near harmonic h, as accelsearch keeps it: in single precision where harmonics go
 * together. */
static double near_power(struct place *p, int h, double r, double z, double w)
{
    double local = local_power(p, h * r, h * z, h * w);
    return local > 0 ? rounded(local) : 1;
}

static void refine_together(struct place *p, bool jerk, struct psr_accel_harm *harm)
{
    const struct psr_accel_peak *k = p->peak;
    struct psr_presto_grid g = {.from = 1, .to = k->nharm, .wide = 2, k->r, k->z, k->w, {0}};
    p->from = 1;
    p->to = k->nharm;
    for (int h = 1; h <= p->to; h++)
        g.local[h - 1] = p->local[h - 1] = near_power(p, h, k->r, k->z, k->w);
    if (!jerk)
        climb(p, &g.r, &g.z);
    else if (!p->status)
        p->status = psr_presto_grid_climb(p->p, &g, p->err);
    for (int h = 1; h <= p->to; h++)
        describe(p, h * g.r, h * g.z, h * g.w, near_power(p, h, g.r, g.z, g.w), &harm[h - 1]);
}

static void refine_apart(struct place *p, bool jerk, struct psr_accel_harm *harm)
{
    const struct psr_accel_peak *k = p->peak;
    for (int h = 1; h <= k->nharm; h++) {
        struct psr_presto_grid g = {h, h, 1, h * k->r, h * k->z, h * k->w, {0}};
        double local = near_power(p, 1, g.r, g.z, g.w);
        p->from = p->to = h;
        g.local[h - 1] = p->local[h - 1] = 1;
        if (!jerk)
            climb(p, &g.r, &g.z);
        else if (!p->status)
            p->status = psr_presto_grid_climb(p->p, &g, p->err);
        describe(p, g.r, g.z, g.w, jerk ? local : local_power(p, g.r, g.z, g.w), &harm[h - 1]);
    }
}

/* With photons > 0, powers are over their number where harmonics are added in phase. */
static psr_status refine_one(struct psr_presto_response *p, const struct psr_accel_search *s,
                             double photons, const struct psr_accel_peak *peak,
                             struct psr_accel_cand *cand, struct psr_accel_harm *harm, psr_err *err)
{
    struct place place = {.p = p, .peak = peak, .err = err};
    (s->free_harmonics ? refine_apart : refine_together)(&place, s->lmax > 0, harm);
    *cand = (struct psr_accel_cand){
        .sigma = peak->sigma,
        .power = peak->power,
        .coherent = psr_accel_coherent(harm, peak->nharm, photons),
        .nharm = peak->nharm,
        .r = {peak->r, rounded(0.5 / peak->nharm)},
        .z = {peak->z, rounded(2.0 / peak->nharm)},
        .w = {peak->w, rounded(20.0 / peak->nharm)},
        .harm = harm,
        .dof = 2.0 * peak->nharm,
        .ln_p = psr_chi2_logp(2 * peak->power, 2.0 * peak->nharm).ln_sf,
        .first = (int64_t)floor(peak->r - fabs(peak->z) / 2),
        .width = (int64_t)fabs(peak->z) + 1,
        .sign_known = true,
        .members = 1,
    };
    return place.status;
}

/* --- notes ------------------------------------------------------------------------------------ */

/* accelsearch's note on cand beside another candidate, number k. */
static void note_other(struct psr_accel_cand *cand, const struct psr_accel_cand *other, size_t k)
{
    char text[64] = "";
    if (fabs(other->r.value - cand->r.value) < 15 && fabs(other->z.value - cand->z.value) > 1 &&
        other->harm[0].power.value > cand->harm[0].power.value) {
        snprintf(text, sizeof text, "SL? of Cand %zu", k);
    } else {
        for (int h = 1; h <= MOST_NOTED && !text[0]; h++)
            if (fabs(other->r.value - cand->r.value / h) < 3 * cand->r.error &&
                fabs(other->z.value - cand->z.value / h) < 2 * cand->z.error)
                snprintf(text, sizeof text, "H %d of Cand %zu", h, k);
    }
    snprintf(cand->note, sizeof cand->note, "%.20s", text);
}

static void note_all(struct psr_accel_cand *cand, size_t n)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            if (i != k && !cand[i].note[0])
                note_other(&cand[i], &cand[k], k + 1);
}

/* --- all -------------------------------------------------------------------------------------- */

psr_status psr_presto_refine(struct psr_accel_measured *out, const struct psr_accel_search *s,
                             const struct psr_accelsearch_input *in,
                             const struct psr_accel_peaks *peaks, psr_err *err)
{
    const double photons = s->norm == PSR_ACCELSEARCH_PHOTON ? in->photons : 0;
    psr_status all = psr_accel_measured_make(out, peaks, err);
    if (all)
        return all;
#pragma omp parallel num_threads(s->nthread)
    {
        struct psr_presto_response p;
        psr_err why;
        psr_status st = psr_presto_response_make(&p, in->x, (int64_t)s->nbin, &why);
#pragma omp for schedule(dynamic)
        for (size_t k = 0; k < peaks->n; k++) {
            struct psr_accel_cand *cand = &out->cand[k];
            if (!st && psr_is_stopped(&s->stop))
                st = psr_fail(&why, PSR_ESTOPPED, "stopped");
            else if (!st)
                st = refine_one(&p, s, photons, &peaks->peak[k], cand,
                                out->harm + (cand->harm - out->harm), &why);
        }
#pragma omp critical(psr_presto_refine)
        if (st && !all) {
            all = st;
            if (err)
                *err = why;
        }
        psr_presto_response_clear(&p);
    }
    if (all)
        psr_accel_measured_clear(out);
    else
        note_all(out->cand, out->n);
    return all;
}
