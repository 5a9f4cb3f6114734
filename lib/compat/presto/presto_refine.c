/* Measures candidates as accelsearch does. */
#include "presto_internal.h"

#include "search/matched/response/response.h"
#include "stats/stats.h"

#include <math.h>
#include <psrkit/signif.h>
#include <stdio.h>
#include <stdlib.h>

enum { NMEAN = 20, GAP = 5 };

static double within(const struct psr_presto_response *p, double r)
{
    return r < 0 ? 0 : r > (double)p->nbin ? (double)p->nbin : r;
}

/* --- the best place of the fine grid around a candidate with jerk ----------------------------- */

enum { PSR_PRESTO_GRID_MAX_HARM = 32 };

/* A place and its harmonics, of the fundamental. */
struct psr_presto_grid {
    int from, to; /* harmonics that are added up: 1 and all, or one alone */
    int wide;     /* steps of z and w of the search to either side: 2, or 1 for one harmonic */
    double r, z, w;
    double local[PSR_PRESTO_GRID_MAX_HARM]; /* power that each is over, by harmonic - 1 */
};

enum { FINER = 4, BETWEEN = 2 * FINER, NR = 3 * BETWEEN, SPARE = 10, MOST_STEPS = 17 };

/* The grid around one harmonic: z and w in proportion to it, r in eighths of a bin. */
struct box {
    double zlo, dz, wlo, dw;
    int64_t lobin;
    int half, length; /* bins of responses, points of a row that correlations give */
};

static int steps_of(const struct psr_presto_grid *g)
{
    return 2 * g->wide * FINER + 1;
}

static double farther(double lo, double hi)
{
    return fabs(lo) < fabs(hi) ? hi : lo;
}

static struct box box_of(const struct psr_presto_grid *g, int h)
{
    const int n = steps_of(g);
    const double share = (double)h / g->to, times = (double)h / g->from;
    const double z = g->z * times, w = g->w * times;
    const double zwide = g->wide * share * PSR_STEP_Z, wwide = g->wide * share * PSR_STEP_W;
    const int roomy = psr_response_halfwidth(fabs(z) + 2, fabs(w) + 20, false);
    int length = 1;
    while (length < BETWEEN * (2 * roomy + SPARE))
        length *= 2;
    struct box b = {
        .zlo = z - zwide,
        .dz = (z + zwide - (z - zwide)) / (n - 1),
        .wlo = w - wwide,
        .dw = (w + wwide - (w - wwide)) / (n - 1),
        .lobin = (int64_t)(g->r * times) - 1,
        .half = psr_response_halfwidth(farther(z - zwide, z + zwide), farther(w - wwide, w + wwide),
                                       false),
    };
    b.length = (length - 2 * BETWEEN * b.half) / BETWEEN * BETWEEN;
    return b;
}

/* Responses are k [2 BETWEEN half] from -half on. */
static double grid_power_at(const struct psr_presto_response *p, const struct box *b,
                            const float complex *k, int64_t i)
{
    double re = 0, im = 0;
    int64_t first = b->lobin + (i + BETWEEN - 1) / BETWEEN - b->half;
    for (int64_t bin = first;; bin++) {
        int64_t at = BETWEEN * (bin - b->lobin + b->half) - i;
        if (at >= 2 * BETWEEN * b->half)
            break;
        if (at < 0 || bin < 0 || bin >= p->nbin)
            continue;
        double xr = (double)p->x[2 * bin], xi = (double)p->x[2 * bin + 1];
        double kr = (double)crealf(k[at]), ki = (double)cimagf(k[at]);
        re += xr * kr + xi * ki;
        im += xi * kr - xr * ki;
    }
    return re * re + im * im;
}

/* Adds the powers of each drift and jerk to their row, and, as accelsearch reads the end of the previous
 * row before the beginning of one, to the next row. */
static psr_status add_harmonic(struct psr_presto_response *p, const struct psr_presto_grid *g,
                               int h, float *sum, psr_err *err)
{
    const struct box top = box_of(g, g->to), b = box_of(g, h);
    const int n = steps_of(g);
    float complex *k = malloc(2 * BETWEEN * (size_t)b.half * sizeof *k);
    psr_status st = k ? PSR_OK : psr_fail_nomem(err, "a response", 128.0 * b.half);
    for (int row = 0; row < n * n && !st; row++) {
        const double z = b.zlo + row % n * b.dz, w = b.wlo + row / n * b.dw;
        st = fabs(w) < 1e-4 ? psr_response_make(p->maker, z, 0, -b.half, BETWEEN,
                                                2 * BETWEEN * (size_t)b.half, k, err)
                            : psr_response_sample(p->maker, z, w, 0, BETWEEN, b.half, k, err);
        for (int i = row * NR; i < (row + 1) * NR && !st; i++) {
            /* Point of harmonic h's row for point i of the highest harmonic's. */
            double r = ((double)top.lobin + i % NR / (double)BETWEEN) * ((double)h / g->to);
            int64_t at = (int64_t)round((r - (double)b.lobin) * BETWEEN);
            if (at >= 0)
                sum[i] += (float)(grid_power_at(p, &b, k, at) / g->local[h - 1]);
            else if (row < n * n - 1)
                sum[NR + i] += (float)(grid_power_at(p, &b, k, b.length + at) / g->local[h - 1]);
        }
    }
    free(k);
    return st;
}

/* Takes r, z and w to where the sum of powers is highest: eighths of a bin of the highest harmonic
 * over three bins, quarters of the search's steps.
 * Status: PSR_ENOMEM */
static psr_status presto_grid_climb(struct psr_presto_response *p, struct psr_presto_grid *g,
                                    psr_err *err)
{
    const int n = steps_of(g);
    const struct box top = box_of(g, g->to);
    float *sum = calloc(MOST_STEPS * MOST_STEPS * NR, sizeof *sum);
    psr_status st = sum ? PSR_OK : psr_fail_nomem(err, "a grid", 4.0 * n * n * NR);
    for (int h = g->to; h >= g->from && !st; h--)
        st = add_harmonic(p, g, h, sum, err);
    int best = 0;
    for (int i = 1; i < n * n * NR && !st; i++)
        best = sum[i] > sum[best] ? i : best;
    free(sum);
    const double times = (double)g->to / g->from;
    g->r = ((double)top.lobin + best % NR / (double)BETWEEN) / times;
    g->z = (top.zlo + best / NR % n * (PSR_STEP_Z / (double)FINER)) / times;
    g->w = (top.wlo + best / NR / n * (PSR_STEP_W / (double)FINER)) / times;
    return st;
}

/* --- refining --------------------------------------------------------------------------------- */

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

/* The mean power 5 to 15 bins away to both sides; 1 after a failure. */
static double local_power(struct place *p, double r, double z, double w)
{
    const int half = psr_response_halfwidth(z, w, false);
    const double below = r - GAP - NMEAN / 2, above = r + GAP;
    const double range[2][2] = {{within(p->p, below), within(p->p, below + NMEAN / 2)},
                                {within(p->p, above), within(p->p, above + NMEAN / 2)}};
    double sum = 0;
    for (int side = 0; side < 2; side++)
        for (double at = range[side][0]; at < range[side][1] && !p->status; at += 1)
            sum += power_at(p, at, z, w, half);
    return p->status ? 1 : sum / NMEAN;
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
    double x[2] = {*r, *z / UNIT_Z};
    for (int pass = 0; pass < 2; pass++) {
        double drift = pass ? x[1] * times : *z * times;
        p->half = psr_response_halfwidth(fabs(drift) + SPARE_Z, 0, pass == 1);
        psr_presto_descend(&f, x, STEP[pass], TOLERANCE[pass]);
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
        p->status = presto_grid_climb(p->p, &g, p->err);
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
            p->status = presto_grid_climb(p->p, &g, p->err);
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
