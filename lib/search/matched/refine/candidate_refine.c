/* Refines boxes to candidates as accelsearch describes them. */
#include "candidate_refine_notes.h"
#include "candidate_refine_place.h"

#include "base/copy_desc.h"
#include "base/threads/threads.h"
#include "search/matched/response/accel_internal.h"

#include <psrkit/signif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SAME_R = 1, SAME_Z = 4; /* bins */

/* --- as accelsearch has it -------------------------------------------------------------------- */

static struct psr_accel_value with_error(double value, double error)
{
    return (struct psr_accel_value){value, error};
}

/* Errors as accelsearch gives them (Middleditch, Deich and Kulkarni 1993). */
static void fill_harmonic(struct psr_accel_harm *to, const struct psr_accel_template_peak *peak)
{
    double power = fmax(peak->power, PSR_REFINE_LEAST_POWER), purity = fmax(peak->purity, 0.01);
    to->r = with_error(peak->r, 3 / (M_PI * purity * sqrt(6 * power)));
    to->z = with_error(peak->z, 3 * sqrt(10 / power) / (M_PI * purity * purity));
    to->phase_rad = with_error(peak->phase_rad, 1 / sqrt(2 * power));
    to->centroid = with_error(peak->centroid, 1 / sqrt(24 * power));
    to->purity = with_error(peak->purity, 1 / (purity * sqrt(10 * power)));
}

/* The box's power as matched power: what as many harmonics need to be as improbable. */
static double equal_power(double ln_p, int nharm)
{
    return psr_chi2_threshold(psr_logp_from_sf(ln_p), 2.0 * nharm) / 2;
}

static void split_power(const struct psr_refine_box *b, const struct psr_pulscan_hit *hit,
                        struct psr_accel_harm *harm)
{
    double total = 0, over = fmax(0, equal_power(hit->ln_p, hit->nharm) - hit->nharm);
    for (int h = 0; h < hit->nharm; h++)
        total += fmax(0, b->excess[h]);
    for (int h = 0; h < hit->nharm; h++) {
        double share = total > 0 ? fmax(0, b->excess[h]) / total : 1.0 / hit->nharm;
        double power = 1 + share * over;
        harm[h].power = with_error(power, sqrt(2 * power));
        harm[h].sigma = fmax(0, psr_gauss_sigma(psr_chi2_logp(2 * power, 2)));
        harm[h].raw =
            b->matched[h] || b->chi2[h] > 0 ? b->chi2[h] / 2 : (double)hit->power / 2 / hit->nharm;
    }
}

/* Fills the harmonics' places and gives the coherent power there. */
static double respond_all(const struct psr_refine_box *b, const struct psr_refine_place *place,
                          struct psr_accel_harm *harm)
{
    double re = 0, im = 0, phase1 = 0;
    for (int h = 1; h <= b->hit->nharm; h++) {
        struct psr_accel_template_peak peak = {
            .r = h * place->r.value, .z = h * place->z.value, .centroid = 0.5, .purity = 1};
        if (b->matched[h - 1])
            psr_accel_template_respond(b->matched[h - 1], peak.r, peak.z, &peak);
        if (h == 1)
            phase1 = peak.phase_rad;
        double phase = peak.phase_rad + phase1 - h * phase1;
        re += sqrt(peak.power) * cos(phase);
        im += sqrt(peak.power) * sin(phase);
        fill_harmonic(&harm[h - 1], &peak);
    }
    return re * re + im * im;
}

static struct psr_accel_cand describe(const struct psr_pulscan_cand *cand,
                                      const struct psr_refine_box *b,
                                      const struct psr_refine_place *place, bool known,
                                      struct psr_accel_harm *harm)
{
    const struct psr_pulscan_hit *hit = &cand->best;
    split_power(b, hit, harm);
    return (struct psr_accel_cand){
        .sigma = hit->sigma,
        .power = (double)hit->power / 2,
        .coherent = respond_all(b, place, harm),
        .nharm = hit->nharm,
        .r = place->r,
        .z = place->z,
        .harm = harm,
        .dof = psr_pulscan_dof(hit->nharm, hit->z),
        .ln_p = hit->ln_p,
        .first = hit->first,
        .width = hit->z + 1,
        .sign_known = known,
        .members = (int64_t)cand->members,
    };
}

/* --- all -------------------------------------------------------------------------------------- */

/* What one candidate becomes. */
struct outcome {
    struct psr_accel_cand cand[2];
    int n;
    struct psr_accel_harm *harm; /* room for both */
    psr_status status;
    psr_err err;
};

static void refine_one(struct outcome *o, psr_pulscan *plan, size_t s,
                       const struct psr_pulscan_cand *cand, const struct psr_refine_desc *desc)
{
    struct psr_refine_box b;
    struct psr_refine_place place[2];
    bool known = false;
    o->status = psr_refine_box_take(&b, plan, s, cand, desc, &o->err);
    if (o->status == PSR_OK)
        o->n = psr_refine_places(&b, desc, place, &known);
    for (int k = 0; k < o->n; k++) {
        struct psr_accel_harm *harm = o->harm + k * b.hit->nharm;
        o->cand[k] = describe(cand, &b, &place[k], known, harm);
        if (cand->lines && !place[k].matched)
            strcpy(o->cand[k].note, "lines side by side");
        else if (o->n == 2)
            strcpy(o->cand[k].note, "z of either sign");
    }
    psr_refine_box_drop(&b);
}

static psr_status allocate(struct psr_measured *out, struct outcome *outcome,
                           const struct psr_pulscan_cand *cand, size_t ncand, psr_err *err)
{
    size_t nharm = 0;
    for (size_t i = 0; i < ncand; i++)
        nharm += 2 * (size_t)cand[i].best.nharm;
    out->cand = calloc(2 * ncand + 1, sizeof *out->cand);
    out->harm = calloc(nharm + 1, sizeof *out->harm);
    if (!outcome || !out->cand || !out->harm)
        return psr_fail_nomem(err, "candidates", (double)(nharm * sizeof *out->harm));
    struct psr_accel_harm *harm = out->harm;
    for (size_t i = 0; i < ncand; i++) {
        outcome[i].harm = harm;
        harm += 2 * (size_t)cand[i].best.nharm;
    }
    return PSR_OK;
}

/* Whether two are one signal: a bright line whose side lobes fill a box stands out of it. */
static bool is_same(const struct psr_accel_cand *better, const struct psr_accel_cand *c)
{
    return better->r.error < 1 && c->r.error < 1 && fabs(better->r.value - c->r.value) < SAME_R &&
           fabs(better->z.value - c->z.value) < SAME_Z;
}

static void drop_repeats(struct psr_measured *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        size_t k = 0;
        while (k < n && !is_same(&m->cand[k], &m->cand[i]))
            k++;
        if (k == n)
            m->cand[n++] = m->cand[i];
        else
            m->cand[k].members += m->cand[i].members;
    }
    m->n = n;
}

psr_status psr_candidate_refine(struct psr_measured *out, psr_pulscan *plan, size_t s,
                                const struct psr_pulscan_cand *cand, size_t ncand,
                                const struct psr_refine_desc *desc, psr_err *err)
{
    struct outcome *outcome = calloc(ncand ? ncand : 1, sizeof *outcome);
    struct psr_refine_desc d;
    *out = (struct psr_measured){0};
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "refinement", err);
    if (!st)
        st = allocate(out, outcome, cand, ncand, err);
    if (st == PSR_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(psr_count_threads(d.nthread))
        for (int64_t i = 0; i < (int64_t)ncand; i++)
            refine_one(&outcome[i], plan, s, &cand[i], &d);
    }
    for (size_t i = 0; i < ncand && st == PSR_OK; i++) {
        st = outcome[i].status;
        if (st != PSR_OK)
            psr_fail_field(err, st, outcome[i].err.field, "%s", outcome[i].err.msg);
        for (int k = 0; k < outcome[i].n; k++)
            out->cand[out->n++] = outcome[i].cand[k];
    }
    free(outcome);
    if (st != PSR_OK)
        psr_measured_clear(out);
    drop_repeats(out);
    psr_refine_note(out->cand, out->n);
    return st;
}

void psr_measured_clear(struct psr_measured *m)
{
    free(m->cand);
    free(m->harm);
    *m = (struct psr_measured){0};
}
